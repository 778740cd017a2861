"""What is known of families of encoders, and the table of families, views and parts in the docs."""

import contextlib
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.marked import with_table
from cseb.encoder import linear
from cseb.encoder.families import BIDIRECTIONAL, DECODER, family_of
from cseb.encoder.interface import BOTH_SIDES, EMBEDDINGS, GIVEN
from cseb.errors import BadData, BadSpec
from cseb.parts.base import NEEDS
from cseb.training.build import build
from tests.conftest import ROOT, SENTENCES, script_of
from tests.training.small_runs import DOCUMENTS, LINES, SMALL, TRAINED, letters, method, run

needs_onednn = pytest.mark.skipif(not linear.available(), reason="this PyTorch cannot take oneDNN")


@pytest.mark.parametrize("name", ["bert", "roberta", "xlm-roberta", "electra", "albert", "deberta-v2", "modernbert"])
def test_encoders_see_both_sides(name: str) -> None:
    assert family_of(name) == BIDIRECTIONAL


@pytest.mark.parametrize("name", ["opt", "llama", "qwen3", "gpt_neox", "gpt2", "mistral", "modernbert-decoder"])
def test_decoders_are_those_that_only_name_next_words(name: str) -> None:
    assert family_of(name) == DECODER
    assert BOTH_SIDES not in DECODER.gives


@pytest.mark.parametrize("name", ["eurobert", "longformer"])
def test_embedding_layers_that_parts_cannot_use(name: str) -> None:
    assert {EMBEDDINGS} == GIVEN - family_of(name).gives


def test_quantised_word_embeddings_are_refused(tmp_path: Path) -> None:
    assert "its word embeddings are a QuantEmbedding" in script_of("families").checked("ibert", tmp_path)


def test_attention_maps_of_a_window_are_refused(tmp_path: Path) -> None:
    script = script_of("families")
    with pytest.raises(BadSpec, match="returns no full attention maps"):
        script.trained(script.made("longformer", tmp_path), "+delete+ami(layers=(0,1))", "yes")


def test_word_noise_where_the_network_pads_batches_itself(tmp_path: Path) -> None:
    script = script_of("families")
    assert script.trained(script.made("longformer", tmp_path), "+word_noise", "dropout")


def test_everything_that_a_family_may_lack_has_words_for_it() -> None:
    assert set(NEEDS) == GIVEN


@pytest.mark.slow
def test_the_table_of_the_docs_is_what_the_checks_say_and_every_cell_of_it_trains(tmp_path: Path) -> None:
    script = script_of("families")
    page = (ROOT / script.PAGE).read_text(encoding="utf-8")
    assert with_table(page, script.MARKER, script.made_table(tmp_path, train=True)) == page, (
        "run python -m benchmarks.families"
    )


def listed() -> list[str]:
    """The families that the guide lists as supported."""
    page = (ROOT / "docs" / "guide" / "encoders.md").read_text("utf-8")
    return re.findall("`(.+?)`", re.findall(r"(?m)^\| (.+) \| supported \|$", page)[0])


@pytest.mark.slow
@pytest.mark.parametrize("name", listed())
def test_every_method_trains_or_is_refused_in_words(tmp_path: Path, name: str) -> None:
    folder, trained = script_of("families").made(name, tmp_path), 0
    for each in TRAINED:
        with contextlib.suppress(BadData, BadSpec):
            built = build(method(each, f"{SMALL}+recipe(steps=2,eval_every=1,dropout=0.1)"), folder, 0)
            found = run(replace(built, teacher=letters), (LINES | DOCUMENTS).get(each, SENTENCES))
            assert all(math.isfinite(loss) for _, loss, _ in found.curve)
            trained += 1
    assert trained >= 18


@pytest.mark.slow
@pytest.mark.parametrize("library", ["blas", pytest.param("onednn", marks=needs_onednn)])
def test_every_supported_family_trains(tmp_path: Path, library: linear.Library) -> None:
    script = script_of("families")
    with linear.taking(library):
        assert [name for name in listed() if not script.trained(script.made(name, tmp_path), "+delete", "yes")] == []


def test_two_rows_of_the_table_are_what_the_checks_say(tmp_path: Path) -> None:
    script = script_of("families")
    page = (ROOT / script.PAGE).read_text(encoding="utf-8")
    for name in ("ModernBERT", "OPT"):
        folder = script.made(script.ROWS[name], tmp_path)
        row = " | ".join(script.verdict(folder, edits) for edits in script.COLUMNS.values())
        assert f"| {name} | {row} |\n" in page, "python -m benchmarks.families"
