"""A saved model of a run, on its way to its users: a folder of its own, an ONNX file, the hub."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cseb.api.card import written
from cseb.errors import BadBenchmark, BadResults, first_line, one_of
from cseb.progress import tell

if TYPE_CHECKING:
    from cseb.experiment.onnx_export import Drift
    from cseb.records.record import Record

FORMATS = ("transformers", "onnx", "onnx-int8")


@dataclass(frozen=True, slots=True)
class Exported:
    """What has left. folder: "" if it was pushed alone; address: on the hub, "" if it was not pushed.

    drifts: for each task of the run, points of the ONNX file beside those of the model; empty without such a file.
    """

    folder: str = ""
    address: str = ""
    drifts: tuple[Drift, ...] = ()


def export(
    record: str,
    results: str | Path = "results",
    *,
    to: str | Path = "",
    format: str = "transformers",
    push: str = "",
    private: bool = False,
    data_dir: str | Path = "",
    licence: str = "",
) -> Exported:
    """Copy a saved model with its card into a folder, push it to the Hugging Face hub, or both.

    Args:
        record: the key of a run with a saved model, the beginning of one, or the record's file.
        results: folder of records.
        to: the new folder.
        format: ``transformers``, safetensors that ``AutoModel`` and ``SentenceTransformer`` read; ``onnx`` and
            ``onnx-int8`` add an ONNX file, score it on the tasks of the run, and say in the card what it costs.
        push: the model repository OWNER/NAME; made if there is none. Its files of the same names are replaced.
        private: a new repository is visible to its owner alone.
        data_dir: folder of task files; by default that of the record's benchmark.
        licence: of the encoder, as the hub names them; by default what the card of the first encoder says.

    Returns:
        Where it is now, and the drift of an ONNX file.

    Raises:
        BadResults: if there is no such record or model, the folder is there already, or the hub refuses.
        BadBenchmark: without a folder and a repository.
        BadSpec: for a bad name of a repository, or if ``cseb[onnx]`` is not installed.
        BadData: if the data of a task are missing, or the backbone cannot be written as ONNX.
    """
    from cseb.data import hub_upload
    from cseb.records.find import find

    one_of(FORMATS, format, "--format")
    if not str(to) and not push:
        raise BadBenchmark("where to? give a new folder with --to, a repository of the hub with --push, or both")
    if private and not push:
        raise BadBenchmark("--private is about the hub; give --push OWNER/NAME too")
    if push:
        hub_upload.check(push)
    if str(to) and Path(to).exists():
        raise BadResults(f"{to} is there already; name a folder that is not, or remove it")
    store, found = find(record, Path(results))
    model = store.folder / "models" / found.key
    if not model.is_dir():
        raise BadResults(f"no model of the run {found.key} in {model}; `cseb run --save-models` saves them")
    try:
        with tempfile.TemporaryDirectory(prefix=".cseb-", dir=Path(to).parent if str(to) else None) as place:
            staged = Path(place, "model")
            shutil.copytree(model, staged)
            drifts, further = _onnx(staged, format, found, store.folder, str(data_dir))
            text = written(store, found, data_dir=str(data_dir), licence=licence, name=push or str(to), further=further)
            (staged / "README.md").write_text(text, encoding="utf-8")
            if str(to):
                staged = staged.rename(to)
            if not push:
                return Exported(str(to), "", drifts)
            tell(f"pushing {push}")
            message = f"{found.method}, {found.subset.size:,} sentences, seed {found.seed}: run {found.key} of cseb"
            return Exported(str(to), hub_upload.push(staged, push, private=private, message=message), drifts)
    except OSError as error:
        raise BadResults(
            f"{to or error.filename} cannot be written: {error.strerror or first_line(error)}; make the folder it lies "
            "in, or name another"
        ) from error


def _onnx(
    folder: Path, format: str, record: Record, results: Path, data_dir: str
) -> tuple[tuple[Drift, ...], list[str]]:
    """The drifts of the ONNX file that is asked for, and what the card says of it."""
    if format == "transformers":
        return (), []
    from cseb.embedders import onnx_graph
    from cseb.experiment.load_item_scores import as_it_was_run
    from cseb.experiment.onnx_export import export_onnx, section

    onnx_graph.check()
    tell("writing the ONNX file")
    if not data_dir and (ran := as_it_was_run(results, record.benchmark)) is not None:
        data_dir = ran.data_dir
    drifts = export_onnx(folder, format, record, data_dir)
    return drifts, section(format, drifts)
