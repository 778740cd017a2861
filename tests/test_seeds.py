"""Random streams: reproducible, and independent of each other."""

import hashlib

from cseb.seeds import stream_seed


def test_a_stream_depends_on_seed_and_name_alone() -> None:
    expected = int.from_bytes(hashlib.sha256(b"3/order").digest()[:8], "big") >> 1
    assert stream_seed(3, "order") == expected < 2**63
    assert len({stream_seed(seed, name) for seed in range(10) for name in ("order", "dropout", "init/mlp")}) == 30
