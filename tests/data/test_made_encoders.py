"""Tables of token vectors as folders of encoders: what is read from each source, and what is refused."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from cseb.data.made_encoders import LONGEST, static
from cseb.data.weights import find_encoder, locate
from cseb.errors import BadData

Tiny = Callable[[str], Path]
GLOVE = "the 0.5 -0.25\ndog 1.0 0.75\nu.s. 9.0 9.0\nDog 8.0 8.0\n, 0.0 0.125\n"


def table(folder: Path) -> np.ndarray:
    return load_file(folder / "model.safetensors")["embedding.weight"]


def vocabulary(folder: Path) -> dict[str, int]:
    return json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]


def model2vec(folder: Path, tiny: Path, **more: np.ndarray) -> Path:
    """A folder as model2vec's persistence.py writes it."""
    folder.mkdir()
    rows = np.random.default_rng(1).standard_normal((80, 3)).astype(np.float16)
    save_file({"embeddings": rows, **more}, folder / "model.safetensors")
    (folder / "tokenizer.json").write_bytes((tiny / "tokenizer.json").read_bytes())
    (folder / "config.json").write_text(json.dumps({"model_type": "model2vec", "hidden_dim": 3, "normalize": True}))
    return folder


def test_word_vectors_become_rows_of_the_words_that_its_tokenizer_can_give(tmp_path: Path) -> None:
    (file := tmp_path / "vectors.txt").write_text(GLOVE)
    folder, sha256 = find_encoder(f"static:glove:{file}")
    assert vocabulary(folder) == {"[UNK]": 0, "the": 1, "dog": 2, ",": 3}
    assert table(folder).tolist() == [[0, 0], [0.5, -0.25], [1, 0.75], [0, 0.125]]
    assert find_encoder(f"static:glove:{file}") == (folder, sha256)
    file.write_text(GLOVE.replace("0.5", "0.6"))
    assert find_encoder(f"static:glove:{file}")[1] != sha256


def test_a_random_table_has_a_row_for_every_token_and_is_the_same_everywhere(tiny: Tiny) -> None:
    folder = locate(f"static:random-32:{tiny('bert')}")
    rows = table(folder)
    assert rows.shape == (len(vocabulary(tiny("bert"))), 32)
    assert abs(rows.mean()) < 0.1
    assert abs(rows.std() - 1) < 0.1
    again = np.random.default_rng(0).standard_normal(rows.shape, dtype=np.float32)
    assert np.array_equal(rows, again)


@pytest.mark.parametrize("family", ["bert", "modernbert"])
def test_word_embeddings_of_another_encoder_are_taken_as_they_are(tiny: Tiny, family: str) -> None:
    stored = load_file(tiny(family) / "model.safetensors")
    (own,) = (
        value for name, value in stored.items() if name.endswith(("word_embeddings.weight", "tok_embeddings.weight"))
    )
    folder = locate(f"static:{tiny(family)}")
    assert np.array_equal(table(folder), own)
    content = json.loads((folder / "tokenizer.json").read_text())
    assert content["post_processor"] is None
    assert json.loads((folder / "tokenizer_config.json").read_text())["model_max_length"] == LONGEST


def test_model2vec_s_mapping_and_weights_are_folded_into_the_rows(tiny: Tiny, tmp_path: Path) -> None:
    plain = table(locate(f"static:{model2vec(tmp_path / 'plain', tiny('bert'))}"))
    mapping, weights = np.arange(79, -1, -1, dtype=np.int64), np.linspace(0, 1, 80)
    folder = model2vec(tmp_path / "folded", tiny("bert"), mapping=mapping, weights=weights)
    folded = table(locate(f"static:{folder}"))
    for token in (0, 17, 79):
        assert folded[token] == pytest.approx(plain[79 - token] * weights[token], rel=1e-6)


def test_a_table_in_a_module_s_own_folder_is_found(tiny: Tiny, tmp_path: Path) -> None:
    inner = tmp_path / "0_StaticEmbedding"
    inner.mkdir()
    save_file({"embedding.weight": np.ones((80, 2), dtype=np.float32)}, inner / "model.safetensors")
    (inner / "tokenizer.json").write_bytes((tiny("bert") / "tokenizer.json").read_bytes())
    assert table(locate(f"static:{tmp_path}")).shape == (80, 2)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("", "say of what"),
        ("random-0:cseb-tiny", "static:random-256:cseb-tiny"),
        ("random:cseb-tiny", "static:random-256:cseb-tiny"),
        ("glove:no/such/file.txt", "no such file"),
        ("no/such/folder", "no such folder"),
    ],
)
def test_a_source_that_is_none_is_one_line(source: str, message: str) -> None:
    with pytest.raises(BadData, match=message):
        static(source, locate)


def test_folders_without_a_table_or_tokenizer_are_refused(tiny: Tiny, tmp_path: Path) -> None:
    for name in ("none", "flat", "wide"):
        (tmp_path / name).mkdir()
    save_file({"dense.weight": np.ones((2, 2), dtype=np.float32)}, tmp_path / "none/model.safetensors")
    save_file({"embeddings": np.ones(4, dtype=np.float32)}, tmp_path / "flat/model.safetensors")
    save_file({"embeddings": np.ones((4, 2), dtype=np.float32)}, tmp_path / "wide/model.safetensors")
    for name, message in (("none", "no table"), ("flat", "shape"), ("wide", "no tokenizer.json")):
        with pytest.raises(BadData, match=message):
            locate(f"static:{tmp_path / name}")
    astray = model2vec(tmp_path / "astray", tiny("bert"), mapping=np.array([80], dtype=np.int64))
    with pytest.raises(BadData, match="mapping names rows"):
        locate(f"static:{astray}")
