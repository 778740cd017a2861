"""Random streams: reproducible, independent of each other, and varied one at a time."""

import hashlib

from cseb.seeds import DROPOUT, INIT, ORDER, SUBSET, TERMS, VARIED, VIEWS, SingleStreamSeed, stream_seed

STREAMS = (SUBSET, ORDER, INIT, DROPOUT, VIEWS, TERMS)


def test_a_stream_depends_on_seed_and_name_alone() -> None:
    expected = int.from_bytes(hashlib.sha256(b"3/order").digest()[:8], "big") >> 1
    assert stream_seed(3, "order") == expected < 2**63
    assert len({stream_seed(seed, name) for seed in range(10) for name in ("order", "dropout", "init/mlp")}) == 30


def test_varying_one_purpose_leaves_the_others_at_seed_0() -> None:
    assert sorted(name for names in VARIED.values() for name in names) == sorted(STREAMS)
    for vary, streams in VARIED.items():
        seed = SingleStreamSeed(7, vary)
        for other in {name for names in VARIED.values() for name in names}:
            assert stream_seed(seed, other) == stream_seed(7 if other in streams else 0, other)


def test_the_weights_of_a_part_belong_to_init() -> None:
    assert SingleStreamSeed(7, "init").of("init/mlp") == 7
    assert SingleStreamSeed(7, "order").of("init/mlp") == 0
