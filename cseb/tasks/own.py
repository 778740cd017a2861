"""Task files of users: `my.tsv`, or `my.tsv:KIND` where the columns do not determine the kind."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from cseb.data.readers import HEADED, ending
from cseb.data.tables import ENDINGS, HINT, read_table
from cseb.errors import BadData, BadSpec, did_you_mean, number, whole
from cseb.tasks.column_roles import FORMS, Sheet, sheet
from cseb.tasks.geometry import ABOVE, MEASURES, Name, shape
from cseb.tasks.labelled import Labelled, classification, clustering, labelled
from cseb.tasks.pairs import Pairs, RatedPairs, Triplets, pair_classification
from cseb.tasks.retrieval import Ranked, faq, judged, reranking
from cseb.tasks.task import Loaded
from cseb.text import quantity

LOWEST: Mapping[str, int] = {"folds": 1, "clusters": 0}  # of whole numbers; the data decide on the highest
Loader = Callable[[Sheet, Mapping[str, float], str], Loaded]  # content, options, path for messages


class Kind(NamedTuple):
    """A kind of task: its data, its options in brackets with their defaults, and its protocol if not called like it."""

    load: Loader
    options: Mapping[str, float] = MappingProxyType({})
    protocol: str = ""


_TYPED = re.compile(r"(?P<path>.+?)(?::(?P<kind>[a-z-]+)(?:\((?P<options>[^()]*)\))?)?")


Stamp = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class TaskFile:
    """A task in a file of the user.

    The name in records is that of the file without its folder, with kind and options as typed. The content of the file
    is part of the data hash. stamp: modification time and size of the file, or of a folder and its files, when the task
    was named.
    """

    name: str
    path: Path
    kind: str
    guessed: bool
    options: tuple[tuple[str, float], ...]
    stamp: Stamp = field(repr=False)
    version: int = 1

    @property
    def protocol(self) -> str:
        """Return, for example, logistic-regression(folds=5)@1, k-means@1 or alignment(of=my.tsv above=4)@1."""
        of = [f"of={_safe(self.path.name)}"] if self.kind in MEASURES else []
        options = " ".join([*of, *(f"{name}={value:g}" for name, value in self.options if value)])
        return f"{KINDS[self.kind].protocol or self.kind}{f'({options})' if options else ''}@1"

    def load(self, data_dir: Path | None) -> Loaded:
        """Return the checked content of the file; `data_dir` is not used. Raises: BadData."""
        data = _sheet(self.path, self.kind if not self.guessed else "", self.stamp)
        if not data.table.rows:
            raise BadData(f"{self.path} is empty: {'a header without rows' if data.table.columns else 'no lines'}")
        return KINDS[self.kind].load(data, dict(self.options), str(self.path))

    def says(self) -> str:
        """Return one line on how the file was interpreted."""
        data = _sheet(self.path, self.kind if not self.guessed else "", self.stamp)
        columns = ", ".join(f"{part}: {column}" for part, column in data.parts.items())
        rows = quantity(len(data.table.rows), "row")
        rows += f", {quantity(data.table.blank, 'blank row')} left out" if data.table.blank else ""
        header = "; line 1 is read as the header, not as a row" if data.by_order and ending(self.path) in HEADED else ""
        kind = f"{'interpreted as ' if self.guessed else ''}{self.kind}"
        return f"{self.name}: {kind}, {rows} ({columns}); {self.protocol}{header}"


def is_path(word: str) -> bool:
    """Return whether a word typed as a task names a file; the file system is not read."""
    typed = _TYPED.fullmatch(word)
    return typed is not None and ("/" in typed["path"] or ending(Path(typed["path"])) in ENDINGS)


def spread(word: str) -> list[str]:
    """Return the four measures for `my.tsv:geometry`, and any other word unchanged."""
    path, _, kind = word.rpartition(":")
    return [f"{path}:{measure}" for measure in MEASURES] if kind == "geometry" else [word]


def name_of(word: str) -> str:
    """Return the name in records: `my.tsv` or `my.tsv:clustering`, without folder and special characters.

    A folder of `save_to_disk` is called `my.arrow`, which cannot be the name of another task.
    """
    typed = _TYPED.fullmatch(word)
    assert typed is not None  # is_path has seen it
    path, kind, options = Path(typed["path"]), typed["kind"], typed["options"]
    behind = f":{kind}" + (f"({options.replace(' ', '')})" if options else "") if kind else ""
    return _safe(path.name) + ("" if ending(path) in ENDINGS else ".arrow") + behind


def task_file(word: str) -> TaskFile:
    """Return the task that `word` names; the file is read for its columns. Raises: BadData, BadSpec."""
    typed = _TYPED.fullmatch(word)
    assert typed is not None
    path, kind = Path(typed["path"]), typed["kind"] or ""
    if kind and kind not in FORMS:
        raise BadSpec(f"no kind of task is called {kind!r}; {did_you_mean(kind, (*FORMS, 'geometry'))}")
    try:
        files = [path, *(sorted(path.iterdir()) if path.is_dir() else ())]
        stamp = tuple((status.st_mtime_ns, status.st_size) for status in (file.stat() for file in files))
    except OSError:
        raise BadData(f"there is no task file {path}; {HINT}") from None
    data = _sheet(path, kind, stamp)
    options = _options(data.kind, typed["options"] or "", word)
    return TaskFile(name_of(word), path, data.kind, data.guessed, tuple(options.items()), stamp)


@lru_cache(maxsize=8)
def _sheet(path: Path, kind: str, stamp: Stamp) -> Sheet:
    """Return the table with its kind. stamp: part of the cache key, so that a changed file is read again."""
    table = read_table(path)
    if not table.columns:
        raise BadData(f"{path} is empty; at least one row is needed")
    return sheet(table, kind)


def _options(kind: str, text: str, word: str) -> dict[str, float]:
    options = dict(KINDS[kind].options)
    for option in filter(None, map(str.strip, text.split(","))):
        name, _, typed = map(str.strip, option.partition("="))
        if name not in options:
            allowed = ", ".join(f"{name}=" for name in options) or "none"
            raise BadSpec(f"in {word!r} {kind} has no option {name!r}; known: {allowed}")
        try:
            value = float(typed) if name == "above" else int(typed)
        except ValueError:
            raise BadSpec(f"in {word!r} {name} is {typed!r}; a number is needed, such as {options[name]:g}") from None
        what = f"in {word!r} {name}"
        options[name] = whole(LOWEST[name], value, what) if isinstance(value, int) else number(value, what)
    return options


def _rated(data: Sheet) -> RatedPairs:
    return RatedPairs((Pairs("all", data.text("first"), data.text("second"), data.numbers("score")),))


def _pairs(data: Sheet, options: Mapping[str, float], name: str) -> Loaded:
    rated = _rated(data)
    if np.ptp(gold := rated.subsets[0].gold) == 0:
        raise BadData(f"{name} rates every pair {gold[0]:g}; a correlation is undefined on constant ratings")
    return rated


def _labelled(data: Sheet, name: str) -> Labelled:
    return labelled(data.text("sentence"), data.names("label"), name)


def _judgements(data: Sheet) -> dict[str, dict[str, float]]:
    """Return the candidates of each query with their relevance; of several judgements the highest."""
    candidates: dict[str, dict[str, float]] = {}
    rows = zip(data.text("query"), data.text("document"), data.numbers("relevance"), strict=True)
    for query, document, value in rows:
        relevance = candidates.setdefault(query, {})
        relevance[document] = max(relevance.get(document, 0.0), value)
    return candidates


def _with_gains(ranked: Ranked, judgements: Mapping[str, Mapping[str, float]] | None = None) -> Ranked:
    """Return the task with the relevance of each relevant document, 1 without judgements."""
    gains = [
        [judgements[query][ranked.documents[number]] if judgements else 1.0 for number in relevant]
        for query, relevant in zip(ranked.queries, ranked.relevant, strict=True)
    ]
    return replace(ranked, gains=gains)


def _retrieval(data: Sheet, options: Mapping[str, float], name: str) -> Loaded:
    if "relevance" not in data.parts:
        return _with_gains(faq(data.text("query"), data.text("document"), name=name))
    judgements = _judgements(data)
    places = {text: place for place, text in enumerate(dict.fromkeys(data.text("document")))}
    relevant = [[places[text] for text, value in each.items() if value > 0] for each in judgements.values()]
    return _with_gains(judged(list(judgements), list(places), relevant, name), judgements)


def _reranking(data: Sheet, options: Mapping[str, float], name: str) -> Loaded:
    judgements = _judgements(data)
    relevance = {query: {text: value > 0 for text, value in each.items()} for query, each in judgements.items()}
    return _with_gains(reranking(relevance, name=name), judgements)


def _pair_classification(data: Sheet, options: Mapping[str, float], name: str) -> Loaded:
    left, right, classes = data.text("first"), data.text("second"), data.classes("yes or no")
    return pair_classification(left, right, classes, int(options["folds"]), name)


def _shape(measure: Name) -> Loader:
    return lambda data, options, name: shape(measure, _rated(data), options.get("above", ABOVE), name)


KINDS: Mapping[str, Kind] = {
    "pairs": Kind(_pairs, protocol="spearman"),
    "classification": Kind(
        lambda data, options, name: classification(_labelled(data, name), int(options["folds"]), name),
        {"folds": 5},
        "logistic-regression",
    ),
    "clustering": Kind(
        lambda data, options, name: clustering(_labelled(data, name), int(options["clusters"]), name),
        {"clusters": 0},  # one per label
        "k-means",
    ),
    "retrieval": Kind(_retrieval),
    "reranking": Kind(_reranking),
    "pair-classification": Kind(_pair_classification, {"folds": 5}),
    "triplets": Kind(
        lambda data, options, name: Triplets(*map(data.text, ("anchor", "positive", "negative"))),
        protocol="triplet-accuracy",
    ),
    **{measure: Kind(_shape(measure)) for measure in MEASURES},
    "alignment": Kind(_shape("alignment"), {"above": ABOVE}),
}


def _safe(name: str) -> str:
    """Return a name for records: letters, digits, dots, hyphens."""
    return re.sub(r"[^\w.-]", "_", name)
