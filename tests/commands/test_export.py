"""A saved model on its way: a folder with its card, the hub, an ONNX file with what it costs."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from huggingface_hub import ModelCard
from typer.testing import Result

import cseb
from cseb.embedders import onnx_graph
from cseb.embedders.folders import saved_encoder
from cseb.errors import BadData, BadSpec
from cseb.experiment.export import Drift, export_onnx, section
from cseb.records.record import Record
from cseb.records.store import Store
from cseb.tasks.evaluate import score_all
from cseb.tasks.task import Embed
from tests.command_line import call
from tests.conftest import SENTENCES
from tests.factory import stored
from tests.hub_server import serving
from tests.world.toy_world import Toy, pairs

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


@pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")
def test_a_push_sends_the_folder_under_its_name(saved: Saved, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, (first, _) = saved
    with serving(monkeypatch) as hub:
        result = export(saved, "--push", "me/small", "--private")
        assert result.exit_code == 0, result.output
        assert result.stdout == f"written to {hub.address}/me/small\n"
        assert hub.private == {"me/small": True}
        files = hub.files["me/small"]
        model = store.folder / "models" / first.key
        assert set(files) == {str(path.relative_to(model)) for path in model.rglob("*") if path.is_file()}
        assert b"SentenceTransformer('me/small')" in files["README.md"]
        assert ModelCard(files["README.md"].decode()).data.model_name == "small"
        both = cseb.export(first.key, store.folder, to=tmp_path / "here", push="me/both")
        assert (both.folder, both.address) == (str(tmp_path / "here"), f"{hub.address}/me/both")
        assert (tmp_path / "here" / "README.md").read_bytes() == hub.files["me/both"]["README.md"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--format", "onnx"), "--format needs a place for the file: a new folder with --to"),
        (("--to", "new", "--private"), "--private is about the hub"),
        (("--to", "new", "--format", "gguf"), "allowed: 'transformers', 'onnx', 'onnx-int8'"),
        (("--to", "."), "exists already"),
        (("--to", "no/such/place"), "no/such/place cannot be written: No such file or directory"),
        (("--push", "small"), "OWNER/NAME is needed"),
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


def test_an_onnx_file_needs_named_packages(saved: Saved, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx_graph, "PACKAGES", ("json", "no_such_runtime"))
    result = export(saved, "--to", tmp_path / "x", "--format", "onnx")
    assert (result.exit_code, list(tmp_path.iterdir())) == (2, [])
    assert "ONNX needs no_such_runtime, not installed here; pip install 'cseb[onnx]'" in result.stderr


def test_the_card_says_what_an_onnx_file_costs() -> None:
    drifts = [Drift("a@1", 50.0, 49.5), Drift("b@1", 50.0, None)]
    assert [drift.change for drift in drifts] == [-0.5, None]
    assert [drift.cells()[2] for drift in (*drifts, Drift("c@1", 50.0, 49.999))] == ["-0.50", "--", "+0.00"]
    said = "\n".join(section("onnx-int8", drifts))
    assert "| a@1 | 50.00 | 49.50 | -0.50 |\n| b@1 | 50.00 | collapsed | -- |" in said
    assert "`onnx/model_int8.onnx`: the backbone, weights and activations in 8 bits" in said


def cosines(embed: Embed, name: str) -> np.ndarray:
    """Return the cosine of each pair of a toy task, (200,)."""
    texts = pairs(name)
    left, right = (vectors.astype(np.float64) for vectors in (embed(texts.left), embed(texts.right)))
    return (left * right).sum(axis=1) / np.linalg.norm(left, axis=1) / np.linalg.norm(right, axis=1)


@pytest.fixture(scope="module")
def with_onnx(saved: Saved, tmp_path_factory: pytest.TempPathFactory) -> Path:
    for name in onnx_graph.PACKAGES:
        pytest.importorskip(name, reason="cseb[onnx] is not installed")
    store, (first, _) = saved
    folder = tmp_path_factory.mktemp("onnx")
    for form in onnx_graph.FILES:
        result = cseb.export(first.key, store.folder, to=folder / form, format=form)
        (folder / form / "drifts.json").write_text(json.dumps([drift.change for drift in result.drifts]))
    return folder


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the exporters' own making
def test_vectors_of_the_onnx_file_are_those_of_the_model(with_onnx: Path) -> None:
    encoder = saved_encoder(with_onnx / "onnx")
    expected = encoder.embed(SENTENCES)
    result = onnx_graph.through(encoder, with_onnx / "onnx" / onnx_graph.FILES["onnx"]).embed(SENTENCES)
    np.testing.assert_allclose(result, expected, atol=1e-5)
    np.testing.assert_array_equal(encoder.embed(SENTENCES), expected)  # which is as it was
    short = onnx_graph.through(encoder, with_onnx / "onnx-int8" / onnx_graph.FILES["onnx-int8"]).embed(SENTENCES)
    assert 1e-5 < np.abs(short - expected).max() < 0.2 * np.abs(expected).max()
    through = onnx_graph.through(encoder, with_onnx / "onnx" / onnx_graph.FILES["onnx"])
    for name in ("toy-captions", "toy-relations"):
        mine, theirs = (cosines(each.embed, name) for each in (encoder, through))
        # Only pairs that vectors within 1e-5 cannot tell from each other may change places.
        order = np.sign(mine[:, None] - mine) == np.sign(theirs[:, None] - theirs)
        assert order[np.abs(mine[:, None] - mine) > 4e-5].all()
    drifts = json.loads((with_onnx / "onnx" / "drifts.json").read_text())
    tasks = [(task, task.load(None)) for task in (Toy("toy-captions"), Toy("toy-relations"))]
    own, other = ([outcome.value for outcome, _ in score_all(tasks, each.embed)] for each in (encoder, through))
    assert drifts == pytest.approx(np.subtract(other, own), abs=1e-9)
    assert np.abs(json.loads((with_onnx / "onnx-int8" / "drifts.json").read_text())).max() < 10


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_card_of_an_onnx_folder_has_its_table(with_onnx: Path, saved: Saved) -> None:
    _, (first, _) = saved
    text = (with_onnx / "onnx" / "README.md").read_text("utf-8")
    table = text[text.index("## ONNX") : text.index("## Training data")]
    for task in first.protocol.tasks:
        assert f"| {task} |" in table
    with pytest.raises(BadData, match="are not those of the record"):
        other = first.model_copy(update={"protocol": replace(first.protocol, data="0" * 64)})
        export_onnx(with_onnx / "onnx", "onnx", other, "")


@pytest.mark.slow
def test_a_pooler_that_reads_more_than_the_last_layer_is_refused(saved: Saved, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="cseb[onnx] is not installed")
    store, (first, _) = saved
    encoder = saved_encoder(store.folder / "models" / first.key)
    encoder.needs |= {"layers"}
    with pytest.raises(BadSpec, match="reads layers; ONNX files have the last layer alone"):
        onnx_graph.write(encoder, tmp_path, "onnx")
