"""Export a trained encoder: a checked folder that transformers and sentence-transformers can load, or ONNX."""

from __future__ import annotations

import importlib.util
import json
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import nn

from cseb.data.files import whole_folder
from cseb.data.weights import LIBRARY_CONFIG, ORIGIN
from cseb.embedders import onnx_graph
from cseb.embedders.folders import saved_encoder
from cseb.embedders.interface import OWN_MODULE, PART_WEIGHTS
from cseb.encoder.encoder import Encoder
from cseb.encoder.families import family_of
from cseb.encoder.load_check import LONG, TEXTS
from cseb.errors import BadData, BadResults, first_line
from cseb.exchange.result_files import CHECKPOINT
from cseb.experiment.job import Job
from cseb.experiment.plan import versioned
from cseb.methods.spec import refuse_unsaved
from cseb.records.record import Record
from cseb.reports.formats.markdown import code, pipe
from cseb.tasks.evaluate import data_sha256, load_task, score_all
from cseb.tasks.names import parse_tasks
from cseb.tasks.pairs import row_cosine
from cseb.tasks.task import Task, Vectors
from cseb.text import points, quantity

CLOSE = 1e-3  # difference of a cosine from 1
CLOSE_INT8 = 0.1
MOST_WORDS = 600  # of the longest text, which most encoders cut


def check_saved(encoder: Encoder, folder: Path) -> None:
    """Compare the vectors of a folder with those of its encoder: loaded by cseb, and by sentence-transformers.

    Short and long texts are encoded together. Raises: BadResults if vectors differ.
    """
    texts = _texts(encoder)
    precision, encoder.eval_precision = encoder.eval_precision, "fp32"  # a saved model computes in float32
    expected = encoder.embed(texts)
    encoder.eval_precision = precision
    _compare("cseb", expected, lambda: saved_encoder(folder).embed(texts))
    if importlib.util.find_spec("sentence_transformers") is not None:
        _compare("sentence-transformers", expected, lambda: _by_library(folder, texts))


def check_onnx(encoder: Encoder, through_onnx: Encoder, int8: bool) -> None:
    """Compare the vectors of an ONNX file with those of its encoder. Raises: BadResults if they differ."""
    texts = _texts(encoder)
    _compare("onnxruntime", encoder.embed(texts), lambda: through_onnx.embed(texts), CLOSE_INT8 if int8 else CLOSE)


def _texts(encoder: Encoder) -> list[str]:
    """Return short texts, and one that most encoders cut."""
    return [*TEXTS, "a", LONG.upper(), " ".join([LONG] * (min(encoder.limit(), MOST_WORDS) // 16 + 1))]


def _by_library(folder: Path, texts: Sequence[str]) -> Vectors:
    from sentence_transformers import SentenceTransformer

    kind: Any = SentenceTransformer
    model = kind(str(folder), device="cpu", local_files_only=True, trust_remote_code=True)
    vectors: Vectors = model.encode(list(texts), show_progress_bar=False)
    return vectors


def _compare(loader: str, expected: Vectors, encode: Callable[[], Vectors], close: float = CLOSE) -> None:
    try:
        with warnings.catch_warnings(), torch.random.fork_rng(devices=[]):
            warnings.simplefilter("ignore")
            vectors = encode()
    except Exception as error:  # loaders raise errors of all kinds
        raise BadResults(f"the saved model cannot be loaded by {loader}: {first_line(error)}") from error
    same_shape = vectors.shape == expected.shape
    cosine = float(row_cosine(expected, np.asarray(vectors, np.float32)).min()) if same_shape else 0.0
    if not cosine >= 1 - close:
        raise BadResults(
            f"the saved model is not the model that was scored: loaded by {loader}, its vectors have a cosine of "
            f"{cosine:.3f} with the scored ones. Take another pooler, or report this encoder and method"
        )


# Poolers, and the same pooling modes of sentence-transformers.
POOLING = {"cls": "cls_token", "mean": "mean_tokens", "last": "lasttoken", "weighted_mean": "weightedmean_tokens"}
KEPT = "its record is stored; the same command saves the model once this is fixed"  # of a job of a grid


def export(encoder: Encoder, job: Job, folder: Path, advice: str = KEPT, card: str = "") -> None:
    """Write the encoder as scored: weights, tokenizer, and `cseb.json` with pooler, head and origin.

    `cseb.safetensors` contains the weights of pooler, head and post-processor at test, if they have any. The folder is
    loaded by cseb and by sentence-transformers, and its vectors are compared with those of the encoder. It appears
    complete or not at all.

    advice: what to do if it cannot be written. card: content of README.md, "" for none. Raises: BadResults.
    """
    refuse_unsaved(job.label, job.method)
    try:
        with whole_folder(folder, replaced=True) as part:
            _write(encoder, job, part)
            check_saved(encoder, part)
            if card:
                (part / "README.md").write_text(card, encoding="utf-8")
    except (OSError, SafetensorError) as error:
        raise BadResults(f"the model {folder} cannot be written: {first_line(error)}; {advice}") from error


def loads(encoder: Encoder, job: Job) -> bool:
    """Return whether SentenceTransformer loads the folder with modules of its own."""
    pooler, family = job.method.pooler.name, family_of(encoder.config.model_type)
    pools = pooler == "mean" if family.pools else pooler in POOLING
    return pools and (not encoder.head.keep or _saves_modules(encoder.head)) and encoder.post is None


def _saves_modules(head: Any) -> bool:
    """Return whether a head consists of modules of sentence-transformers."""
    return hasattr(head, "save_modules")


def _write(encoder: Encoder, job: Job, folder: Path) -> None:
    encoder.save(folder)
    about = {
        "key": job.key,
        "method": job.label,
        "resolved": job.method.resolved(),
        "encoder": asdict(job.encoder),
        "corpus": asdict(job.corpus),
        "size": job.size,
        "seed": job.seed,
        "pooler": str(job.method.pooler),
        "head_at_test": encoder.head.keep,
        "head": str(job.method.head),
        "post": str(job.method.post) if job.method.post else None,
    }
    family, head = family_of(encoder.config.model_type), cast(Any, encoder.head)
    parts = [("", family.module)] if family.pools else [("", family.module), ("1_Pooling", "Pooling")]
    if _saves_modules(head):
        parts += head.save_modules(folder, len(parts))
        about["prompt"] = encoder.prompt
    modules = [
        {"idx": index, "name": str(index), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for index, (path, kind) in enumerate(parts)
    ]
    _json(folder / ORIGIN, {**about, "modules": modules})
    weights = {
        f"{name}.{key}": value.contiguous()
        for name in ("pooler", "post", *(["head"] if encoder.head.keep else []))
        if isinstance(module := getattr(encoder, name), nn.Module)
        for key, value in module.state_dict().items()
    }
    if weights:
        save_file(weights, folder / PART_WEIGHTS)
    if not loads(encoder, job):
        _json(folder / "modules.json", [{"idx": 0, "name": "0", "path": "", "type": OWN_MODULE}])
        return
    _json(folder / "modules.json", modules)
    if encoder.prompt:
        _json(folder / LIBRARY_CONFIG, {"prompts": {"prompt": encoder.prompt}, "default_prompt_name": "prompt"})
    if family.pools:
        return
    chosen = POOLING[job.method.pooler.name]
    flags = {f"pooling_mode_{mode}": mode == chosen for mode in POOLING.values()}
    (folder / "1_Pooling").mkdir(exist_ok=True)
    _json(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": encoder.config.hidden_size, **flags})
    longest = encoder.limit() + encoder.prompt_tokens()
    _json(folder / "sentence_bert_config.json", {"max_seq_length": longest, "do_lower_case": False})


def _json(file: Path, content: object) -> None:
    file.write_text(json.dumps(content, indent=2) + "\n")


@dataclass(frozen=True, slots=True)
class Drift:
    """Scores of one task, of the trained model and of its ONNX file; None if all embeddings are equal."""

    task: str
    trained: float | None
    onnx: float | None

    @property
    def change(self) -> float | None:
        """The score of the file minus that of the model."""
        return None if self.trained is None or self.onnx is None else self.onnx - self.trained

    def cells(self) -> tuple[str, str, str]:
        """Return both scores and the change, such as `-0.12`, as tables show them."""
        change = "--" if self.change is None else f"{round(self.change, 2) + 0.0:+.2f}"  # no -0.00
        return points(self.trained), points(self.onnx), change


def export_onnx(folder: Path, form: str, record: Record, data_dir: str) -> tuple[Drift, ...]:
    """Write the ONNX file of a saved model into its folder, and score it on the tasks of the run. Raises: CsebError."""
    place = Path(data_dir) if data_dir else None
    tasks, dev = _named(*record.protocol.tasks), _named(record.protocol.dev)
    if data_sha256((*tasks, *dev), place) != record.protocol.data:
        raise BadData(f"the data of the tasks are not those of the record {record.key}; give its `data_dir`")
    loaded = [(task, load_task(task, place)) for task in tasks]
    encoder = saved_encoder(folder)
    file = onnx_graph.write(encoder, folder, form)
    through_onnx = onnx_graph.through(encoder, file, record.protocol.threads)
    try:
        check_onnx(encoder, through_onnx, int8=form == "onnx-int8")
    except BadResults:
        file.unlink()
        raise
    outcomes = score_all(loaded, through_onnx.embed)
    before = record.points(CHECKPOINT)
    return tuple(
        Drift(versioned(task), before.get(versioned(task)), outcome.value)
        for (task, _), (outcome, _) in zip(loaded, outcomes, strict=True)
    )


def _named(*tasks: str) -> tuple[Task, ...]:
    """Return tasks by their names in a record."""
    return tuple(parse_tasks(",".join(task.partition("@")[0] for task in tasks))) if any(tasks) else ()


def section(form: str, drifts: Sequence[Drift]) -> list[str]:
    """Return the paragraphs of a model card on the file."""
    file = onnx_graph.FILES[form]
    kind = "weights and activations in 8 bits (dynamic quantisation)" if form == "onnx-int8" else "32 bits"
    rows = [f"| {pipe(drift.task)} | {' | '.join(drift.cells())} |" for drift in drifts]
    return [
        "## ONNX",
        f"{code(file)}: the backbone, {kind}. From {code('input_ids')} and {code('attention_mask')} it makes "
        f"{code('last_hidden_state')}; what follows is that of the model. Scored with onnxruntime on the "
        f"{quantity(len(drifts), 'task')} of the run:",
        "\n".join(["| task | trained model | ONNX | drift, points |", "| --- | --- | --- | --- |", *rows]),
    ]
