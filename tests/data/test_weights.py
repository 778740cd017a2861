"""A folder of an encoder: its identity, and what is missing in one that is none."""

import json
from pathlib import Path

import pytest

from cseb.data import weights
from cseb.data.weights import find_encoder
from cseb.errors import BadData
from tests.conftest import save_lookalike


@pytest.fixture
def encoder(tmp_path: Path) -> Path:
    return save_lookalike(tmp_path / "encoder")


def test_an_encoder_is_what_is_in_its_files(encoder: Path) -> None:
    folder, first = find_encoder(str(encoder))
    assert folder == encoder
    (encoder / "README.md").write_text("no part of it")
    assert find_encoder(str(encoder))[1] == first
    hashes = {first}
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        (encoder / name).write_text("changed")
        hashes.add(find_encoder(str(encoder))[1])
    (encoder / "vocab.txt").write_text("new")
    hashes.add(find_encoder(str(encoder))[1])
    assert len(hashes) == 5


@pytest.mark.parametrize("config", ["config.json", "tokenizer_config.json"])
def test_code_that_a_configuration_names_is_part_of_the_hash(encoder: Path, config: str) -> None:
    def changes() -> bool:
        """Whether editing a file of code changes the hash."""
        hashes = set()
        for code in ("K = 1", "K = 2"):
            (encoder / "helpers.py").write_text(code)  # which modeling_x.py may import
            hashes.add(find_encoder(str(encoder))[1])
        return len(hashes) == 2

    assert not changes()  # a script beside the weights, which is never imported
    (encoder / config).write_text('{"auto_map": {"AutoModel": "modeling_x.XModel"}}')
    assert changes()


def test_a_maximum_length_is_part_of_the_hash_where_it_is_in_effect(
    encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sha256(longest: object) -> str:
        (encoder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": longest}))
        return find_encoder(str(encoder))[1]

    (encoder / "config.json").write_text('{"max_position_embeddings": 512}')
    (encoder / "tokenizer_config.json").write_text('{"model_max_length": 128}')
    unlimited = find_encoder(str(encoder))[1]
    assert [sha256(longest) for longest in (None, "8", 128, 512)] == [unlimited] * 4
    assert len({unlimited, sha256(8), sha256(127)}) == 3
    eight = sha256(8)
    monkeypatch.setitem(weights.PUBLISHED, unlimited, 8)  # published records name this hash
    assert sha256(8) == unlimited
    assert len({eight, unlimited, sha256(7), sha256(128)}) == 4


def test_pickles_are_never_opened(encoder: Path) -> None:
    (encoder / "model.safetensors").rename(encoder / "pytorch_model.bin")
    with pytest.raises(BadData, match=r"pytorch_model.bin.*never opened.*save_pretrained"):
        find_encoder(str(encoder))


def test_a_folder_that_is_no_encoder_is_told_what_is_missing(encoder: Path) -> None:
    (encoder / "model.safetensors").unlink()
    with pytest.raises(BadData, match=r"has no model\.safetensors"):
        find_encoder(str(encoder))
    (encoder / "config.json").unlink()
    with pytest.raises(BadData, match=r"no config.json"):
        find_encoder(str(encoder))
    with pytest.raises(BadData, match="is a file"):
        find_encoder(str(encoder / "tokenizer.json"))
    for name in ("", "a b", "a/b/c", "\x00", "../up", "x" * 5000):
        with pytest.raises(BadData, match="no such folder"):
            find_encoder(name)


def test_without_a_network_the_hub_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(BadData, match=r"someone/no-such-model.*no such folder.*cseb-tiny"):
        find_encoder("someone/no-such-model@main")
