"""A saved model on its way: a folder with its card."""

from pathlib import Path

import pytest
from huggingface_hub import ModelCard
from typer.testing import Result

from cseb.records.record import Record
from cseb.records.store import Store
from tests.command_line import call
from tests.factory import stored

pytestmark = pytest.mark.xdist_group("api")  # in one process, so that their grid is run once

Saved = tuple[Store, list[Record]]


def export(saved: Saved, *options: object, key: str = "") -> Result:
    store, (first, _) = saved
    given = ["export", key or first.key, "--results", store.folder, *options]
    return call(*given)


def test_a_folder_has_the_saved_files_and_a_card_that_knows_the_other_seeds(saved: Saved, tmp_path: Path) -> None:
    store, (first, _) = saved
    result = export(saved, "--to", tmp_path / "mine")
    assert (result.exit_code, result.stdout) == (0, f"written to {tmp_path / 'mine'}\n"), result.output
    model = store.folder / "models" / first.key
    for path in (path for path in model.rglob("*") if path.is_file() and path.name != "README.md"):
        assert (tmp_path / "mine" / path.relative_to(model)).read_bytes() == path.read_bytes()
    text = (tmp_path / "mine" / "README.md").read_text("utf-8")
    assert ModelCard(text).data.library_name == "sentence-transformers"
    assert "mean of 2 seeds" in text
    assert f"SentenceTransformer('{tmp_path / 'mine'}')" in text
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]  # nothing half made lies beside it


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--to", "."), "exists already"),
        (("--to", "no/such/place"), "no/such/place cannot be written: No such file or directory"),
    ],
)
def test_what_cannot_be_exported_is_one_line(
    saved: Saved, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    result = export(saved, *options)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1), result.output
    assert words in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_run_without_a_model_says_how_one_is_saved(saved: Saved, tmp_path: Path) -> None:
    _, (first, _) = saved
    bare = stored(tmp_path / "bare")
    bare.write(first, {})
    result = call("export", first.key, "--results", str(bare.folder), "--to", str(tmp_path / "x"))
    assert (result.exit_code, "`cseb run --save-models` saves them" in result.stderr) == (2, True)
