"""The model card of a run: what the hub reads of it, and what a person reads."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from huggingface_hub import ModelCard

import cseb
from cseb.experiment.card import base_model, licence_of
from cseb.records.record import Overlap, Record
from cseb.records.store import Store
from tests.command_line import call, printed
from tests.factory import record, source, stored

pytestmark = pytest.mark.xdist_group("api")  # in one process, so that their grid is run once


def test_the_hub_reads_scores_of_the_exported_checkpoint(saved: tuple[Store, list[Record]]) -> None:
    store, (first, _) = saved
    card = ModelCard.load(store.folder / "models" / first.key / "README.md")
    points = first.points("best")
    assert card.data.pipeline_tag == "sentence-similarity"
    assert card.data.library_name == "sentence-transformers"
    assert {score.dataset_type: score.metric_value for score in card.data.eval_results or []} == {
        task.partition("@")[0]: round(value or 0, 2) for task, value in points.items()
    }


def test_the_card_of_the_folder_and_of_the_command_agree(saved: tuple[Store, list[Record]]) -> None:
    store, (first, _) = saved
    there = (store.folder / "models" / first.key / "README.md").read_text("utf-8")
    result = printed("export", first.key, "--results", str(store.folder))
    average = next(line for line in result.splitlines() if line.startswith("| average |"))
    assert average.count(" to ") == 2  # over items, and over the two seeds
    assert average.rsplit("|", 2)[0].rstrip() == next(
        line.rstrip(" |") for line in there.splitlines() if line.startswith("| average |")
    )
    assert f"`{first.subset.sha256}`" in there
    assert "No interval" not in there


@pytest.mark.parametrize(
    ("name", "base"),
    [
        *(("bert-base-uncased", "bert-base-uncased"), ("org/model@main", "org/model")),
        *((name, "") for name in ("cseb-tiny", "./my-bert", "/home/me/bert")),
    ],
)
def test_a_base_model_is_a_name_on_the_hub(name: str, base: str) -> None:
    assert base_model(record().model_copy(update={"encoder": source(name)})) == base


@pytest.mark.parametrize(
    ("text", "licence"),
    [
        ("---\nlanguage: en\nlicense: mit\n---\n", "mit"),
        ("---\nlanguage: en\n---\nlicense: mit\n", ""),
        ("no card", ""),
    ],
)
def test_the_licence_is_that_of_the_first_encoders_card(tmp_path: Path, text: str, licence: str) -> None:
    assert licence_of(tmp_path) == ""
    (tmp_path / "README.md").write_text(text)
    assert licence_of(tmp_path) == licence


def test_a_card_says_what_is_not_known_and_what_was_seen(tmp_path: Path) -> None:
    store = stored(tmp_path)
    seen = (Overlap(task="sts12@1", texts=9, exact=1, near=0),)
    run = record().model_copy(update={"overlap": seen, "encoder": source("nowhere|`x`")})
    store.write(run, {})
    text = cseb.export(run.key, tmp_path).card
    assert "licence: unknown" in text
    assert "texts of tasks among the training sentences: sts12@1: 1 of 9 texts" in text
    assert "No interval: " in text
    assert "The model of this run was not saved." in text and "sentence-transformers" not in text
    assert ModelCard(text).data.base_model is None


def test_a_card_of_an_untrained_encoder_states_no_training(tmp_path: Path) -> None:
    run = record("mean", data_seen=())
    stored(tmp_path, run, record("mean", seed=1, data_seen=()))
    text = cseb.export(run.key, tmp_path).card
    assert "\n# mean\n" in text
    assert "`bert` with the method `mean`, scored without further training, by cseb" in text
    assert "no training sentences: this run trained nothing" in text
    for false in ("trained with", "100 sentences", "nother seed", "selected the checkpoint", "`wiki`"):
        assert false not in text
    assert run.trace is not None
    whitened = record("bert-whitening").model_copy(update={"trace": replace(run.trace, steps=0, best_step=0)})
    Store(tmp_path).write(whitened, {})
    text = cseb.export(whitened.key, tmp_path).card
    assert "fitted with the method `bert-whitening` on 100 sentences of `wiki`" in text
    assert "the last one. " in text and "Another seed gives another encoder." in text
    assert whitened.protocol.dev and "selected the checkpoint" not in text and "the best one" not in text


def test_a_card_of_an_evaluation_has_its_scores(tmp_path: Path) -> None:
    scores = cseb.evaluate("cseb-tiny", "snli", pooler="mean", results=tmp_path)
    text = cseb.export(scores.record.key, tmp_path).card
    value = scores.record.points("last")["snli@1"]
    assert f"| snli@1 | `snli-grades@1` | {value:.2f} | " in text and "No interval" not in text
    assert "`cseb eval` scored the encoder as it is and saved no model." in text
    assert "`cseb-tiny` with the method `mean`, scored without further training" in text


def test_the_command_in_a_card_lists_the_inputs_of_the_run(tmp_path: Path) -> None:
    run = record()
    store = stored(tmp_path / "records", run)
    (command,) = re.findall("`cseb (show .*?)`", cseb.export(run.key, store.folder).card)
    shown = printed(*(str(store.folder) if word == "FOLDER" else word for word in command.split()))
    assert run.encoder.sha256 in shown and run.corpus.sha256 in shown and run.subset.sha256 in shown
    told = " ".join(call("export", "--help").stdout.split())
    assert "the cseb show command that lists all inputs and options of the run" in told.replace("`", "")
    assert "repeats the run" not in told
