"""Any task of the library mteb by name: mteb loads the data, calls our encoder and computes the metric.

`mteb:Banking77Classification` has all subsets of the data set that the library evaluates, and
`mteb:MassiveIntentClassification/en` one of them. The test split counts where there is one, as on the leaderboard. The
five tasks of MSSE's figure 5 are `mteb-msse`; that paper names neither subset nor split.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cseb.data.bounded import is_dir
from cseb.errors import BadData, BadSpec, CsebError, UnknownName, first_line
from cseb.registry import MTEB_PREFIX
from cseb.tasks.task import Embed, Influence, Items, Outcome, Vectors

ROWS = 1000  # of a table that are hashed at a time
INSTALL = "the package mteb is not installed: pip install 'cseb[mteb]'"


@dataclass(frozen=True, slots=True)
class MTEBTask:
    """A task of mteb. Scores are comparable within a task type of the library, which the protocol names."""

    name: str
    version: int = 1

    @property
    def protocol(self) -> str:
        """Return, for example, mteb-classification@1."""
        return f"mteb-{str(library_task(self.name).metadata.type).lower()}@1"

    def load(self, data_dir: Path | None) -> LoadedMTEB:
        """Return the data, fetched or found by the library; `data_dir` is not used. Raises: BadData."""
        task = library_task(self.name)
        where = str(task.metadata.dataset.get("path", ""))
        if is_dir(where):
            raise BadData(f"{self.name}: the folder {where} here would be read in place of the hub's data; rename it")
        try:
            with _quiet():
                task.load_data()
                content = _content(task.dataset)
        except Exception as error:  # each task has a loader of its own
            raise BadData(f"{self.name}: its data {where} cannot be read ({first_line(error)}); see HF_HOME") from None
        return LoadedMTEB(self.name, task, content)


class LoadedMTEB:
    """A task with its data. The library calls the encoder itself, so the sentences are not listed beforehand.

    items: the library's main score for each split and subset, 0 to 1 in most tasks. Results on single sentences are
    unknown, so there is no interval over items. The score is 100 x their mean.
    """

    calls_encoder = True

    def __init__(self, name: str, task: Any, content: str) -> None:
        """content: a hash of the loaded data; evaluation may change them."""
        self.name, self.task, self.content = name, task, content
        splits = list(task.metadata.eval_splits)
        self.splits = ["test"] if "test" in splits else splits
        self.subsets = list(task.hf_subsets)

    def sentences(self) -> list[str]:
        """Return an empty list: the sentences are not known beforehand."""
        return []

    def sha256(self) -> str:
        """Return the hash of the data, their path and revision on the hub, splits and subsets.

        Without a network the library uses any revision in its cache, so the data are part of the hash.
        """
        named = [self.name, self.task.metadata.dataset, self.splits, self.subsets, self.content]
        return hashlib.sha256(json.dumps(named, sort_keys=True, default=str).encode()).hexdigest()

    def items(self, embed: Embed) -> Items:
        """Return the main scores by split, then subset. Raises: BadData if the library fails."""
        model = _Model(embed)
        results: list[float] = []
        try:
            with _quiet():
                for split in self.splits:
                    scores = self.task.evaluate(model, split, encode_kwargs={"batch_size": 1024})
                    results += [float(scores[subset]["main_score"]) for subset in self.subsets]
        except CsebError:
            raise
        except Exception as error:  # the library is no part of this program
            raise BadData(f"{self.name}: mteb fails: {type(error).__name__}: {first_line(error)}") from error
        return np.asarray(results, dtype=np.float32)

    def outcome(self, items: Items) -> Outcome:
        """Return 100 x the mean main score, and the scores by split and subset under the library's names."""
        main = str(self.task.metadata.main_score)
        names = [f"{main}/{split}/{subset}" for split in self.splits for subset in self.subsets]
        each = [100 * float(item) if np.isfinite(item) else None for item in items]
        whole = 100 * float(items.astype(np.float64).mean()) if np.isfinite(items).all() else None
        return Outcome(whole, dict(zip(names, each, strict=True)))

    def influence(self, items: Items) -> Influence:
        """Return NaN: results on single sentences are unknown."""
        return np.full(len(items), np.nan)

    def clusters(self) -> npt.NDArray[np.int64]:
        return np.arange(len(self.splits) * len(self.subsets))


class _Model:
    """An `Embed` as the encoder that mteb expects: without prompts, compared by the cosine."""

    def __init__(self, embed: Embed) -> None:
        from mteb.models.model_meta import ModelMeta

        self.embed = embed
        self.mteb_model_meta = ModelMeta.create_empty({"name": "cseb/encoder", "revision": "1"})

    def encode(self, inputs: Any, **_: object) -> Vectors:
        """Return (N, D) for batches of texts."""
        vectors = self.embed([text for batch in inputs for text in batch["text"]])
        if not np.isfinite(vectors).all():
            raise CsebError("the encoder returns vectors that are not finite")
        return vectors

    def similarity(self, left: Any, right: Any) -> Any:
        """Return the cosines of all pairs."""
        from mteb.similarity_functions import cos_sim

        return cos_sim(left, right)

    def similarity_pairwise(self, left: Any, right: Any) -> Any:
        """Return the cosines row by row."""
        from mteb.similarity_functions import pairwise_cos_sim

        return pairwise_cos_sim(left, right)


def library_task(name: str) -> Any:
    """Return the library's task. Raises: BadData without the library, UnknownName."""
    try:
        with _quiet():
            import mteb
    except ImportError:
        raise BadData(f"{name}: {INSTALL}") from None
    bare, _, subset = name.removeprefix(MTEB_PREFIX).partition("/")
    with _quiet():
        try:
            task = mteb.get_task(bare)
        except KeyError as error:
            hint = str(error.args[0]).partition("found. ")[2] or "`mteb available-tasks` lists them"
            raise BadSpec(f"no task of mteb is called {bare!r}; {hint}") from None
        if subset and subset not in task.hf_subsets:
            raise UnknownName(f"subset of {MTEB_PREFIX}{bare}", subset, task.hf_subsets)
        return mteb.get_task(bare, hf_subsets=[subset]) if subset else task


def _content(data: Any) -> str:
    """Return a hash of nested dictionaries of data sets by subset and split."""
    total = hashlib.sha256()
    if isinstance(data, Mapping):
        for name in sorted(data, key=str):
            total.update(f"{name} {_content(data[name])}\n".encode())
    elif hasattr(data, "with_format"):
        for rows in data.with_format("arrow").iter(ROWS):
            total.update(repr(rows.to_pydict()).encode(errors="surrogatepass"))
    else:
        total.update(repr(data).encode(errors="surrogatepass"))
    return total.hexdigest()


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Suppress the library's warnings and progress bars."""
    import datasets

    shown = datasets.utils.logging.is_progress_bar_enabled()
    datasets.utils.logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        if shown:
            datasets.utils.logging.enable_progress_bar()
