"""A user's own file as a task: `my.tsv`, or `my.tsv:KIND` where the columns do not say what is meant."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np

from cseb.data.readers import ending
from cseb.data.tables import ENDINGS, HINT, read_table
from cseb.errors import BadData, BadSpec, did_you_mean, number, whole
from cseb.tasks.column_roles import FORMS, Sheet, sheet
from cseb.tasks.geometry import ABOVE, MEASURES, Name, shape
from cseb.tasks.judged import faq, judged, reranking
from cseb.tasks.labelled import classification, clustering, labelled
from cseb.tasks.pair_classification import pair_classification
from cseb.tasks.pairs import Pairs, RatedPairs
from cseb.tasks.task import Loaded
from cseb.tasks.triplets import Triplets

# What may be set in brackets behind a kind, with its default.
OPTIONS: Mapping[str, Mapping[str, float]] = {
    "classification": {"folds": 5},
    "clustering": {"clusters": 0},  # as many as there are labels
    "retrieval": {"folds": 5},
    "pair-classification": {"folds": 5},
    "alignment": {"above": ABOVE},
}
LOWEST: Mapping[str, int] = {"folds": 1, "clusters": 0}  # of whole numbers; how many there may be, the data say
MEASURED = {  # what the protocol of a kind is called
    "pairs": "spearman",
    "classification": "logistic-regression",
    "clustering": "k-means",
    "triplets": "triplet-accuracy",
}
_TYPED = re.compile(r"(?P<path>.+?)(?::(?P<kind>[a-z-]+)(?:\((?P<options>[^()]*)\))?)?")


@dataclass(frozen=True, slots=True)
class TaskFile:
    """Rated pairs, labelled sentences, or questions and answers in a file of the user.

    The name in records is that of the file, with what was typed behind it; the folder is not part of it. What the file
    says goes into the data hash of the record. `stamp`: the file as it was when the task was named.
    """

    name: str
    path: Path
    kind: str
    guessed: bool
    options: tuple[tuple[str, float], ...]
    stamp: tuple[int, int] = field(repr=False)
    version: int = 1

    @property
    def protocol(self) -> str:
        """For example logistic-regression(folds=5)@1, k-means@1 or alignment(of=my.tsv above=4)@1."""
        of = [f"of={_safe(self.path.name)}"] if self.kind in MEASURES else []
        options = " ".join([*of, *(f"{name}={value:g}" for name, value in self.options if value)])
        return f"{MEASURED.get(self.kind, self.kind)}{f'({options})' if options else ''}@1"

    def load(self, data_dir: Path | None) -> Loaded:
        """Read and check the file; `data_dir` is not used. Raises: BadData."""
        held = _sheet(self.path, self.kind if not self.guessed else "", self.stamp)
        if not held.table.rows:
            raise BadData(f"{self.path} is empty: {'a header without rows' if held.table.columns else 'no lines'}")
        return LOADERS[self.kind](held, dict(self.options), str(self.path))

    def says(self) -> str:
        """How the file was interpreted, in one line."""
        held = _sheet(self.path, self.kind if not self.guessed else "", self.stamp)
        columns = ", ".join(f"{part}: {column}" for part, column in held.parts.items())
        rows = f"{len(held.table.rows):,} rows"
        return (
            f"{self.name}: {'interpreted as ' if self.guessed else ''}{self.kind}, {rows} ({columns}); {self.protocol}"
        )


def is_path(word: str) -> bool:
    """Whether a word typed for a task names a file, judged by the word alone."""
    typed = _TYPED.fullmatch(word)
    return typed is not None and ("/" in typed["path"] or ending(Path(typed["path"])) in ENDINGS)


def spread(word: str) -> list[str]:
    """`my.tsv:geometry` as its four measures, anything else as it is."""
    path, _, kind = word.rpartition(":")
    return [f"{path}:{measure}" for measure in MEASURES] if kind == "geometry" else [word]


def name_of(word: str) -> str:
    """The name in records: `my.tsv` or `my.tsv:clustering`, without the folder and without what names cannot hold."""
    typed = _TYPED.fullmatch(word)
    assert typed is not None  # is_path has seen it
    kind, options = typed["kind"], typed["options"]
    behind = f":{kind}" + (f"({options.replace(' ', '')})" if options else "") if kind else ""
    return _safe(Path(typed["path"]).name) + behind


def task_file(word: str) -> TaskFile:
    """The task that `word` names; the file is read to see its columns. Raises: BadData, BadSpec."""
    typed = _TYPED.fullmatch(word)
    assert typed is not None
    path, kind = Path(typed["path"]), typed["kind"] or ""
    if kind and kind not in FORMS:
        raise BadSpec(f"no kind of task is called {kind!r}; {did_you_mean(kind, (*FORMS, 'geometry'))}")
    try:
        found = path.stat()
    except OSError:
        raise BadData(f"there is no task file {path}; {HINT}") from None
    stamp = (found.st_mtime_ns, found.st_size)
    held = _sheet(path, kind, stamp)
    options = _options(held.kind, typed["options"] or "", word)
    return TaskFile(name_of(word), path, held.kind, held.guessed, tuple(options.items()), stamp)


@lru_cache(maxsize=8)
def _sheet(path: Path, kind: str, stamp: tuple[int, int]) -> Sheet:
    """stamp: part of the key, so that a file that was written again is read again."""
    table = read_table(path)
    if not table.columns:
        raise BadData(f"{path} is empty; a header and at least one row are needed")
    return sheet(table, kind)


def _options(kind: str, text: str, word: str) -> dict[str, float]:
    found = dict(OPTIONS.get(kind, {}))
    for each in filter(None, map(str.strip, text.split(","))):
        name, _, value = map(str.strip, each.partition("="))
        if name not in found:
            known = ", ".join(f"{one}=" for one in found) or "none"
            raise BadSpec(f"in {word!r} {kind} has no option {name!r}; known: {known}")
        try:
            given = float(value) if name == "above" else int(value)
        except ValueError:
            raise BadSpec(f"in {word!r} {name} is {value!r}; a number is needed, such as {found[name]:g}") from None
        what = f"in {word!r} {name}"
        found[name] = whole(LOWEST[name], given, what) if isinstance(given, int) else number(given, what)
    return found


def _rated(held: Sheet) -> RatedPairs:
    left, right = held.text("first"), held.text("second")
    return RatedPairs((Pairs("all", left, right, held.numbers("score")),))


def _pairs(held: Sheet, options: Mapping[str, float], name: str) -> Loaded:
    rated = _rated(held)
    if np.ptp(rated.subsets[0].gold) == 0:
        raise BadData(
            f"{name} rates every pair {rated.subsets[0].gold[0]:g}; a correlation is undefined on constant ratings"
        )
    return rated


def _classification(held: Sheet, options: Mapping[str, float], name: str) -> Loaded:
    data = labelled(held.text("sentence"), held.names("label"), name)
    return classification(data, int(options["folds"]), name)


def _clustering(held: Sheet, options: Mapping[str, float], name: str) -> Loaded:
    data = labelled(held.text("sentence"), held.names("label"), name)
    return clustering(data, int(options["clusters"]), name)


def _judgements(held: Sheet) -> dict[str, dict[str, bool]]:
    """For each query its candidates; one that is judged twice is relevant if one judgement says so."""
    found: dict[str, dict[str, bool]] = {}
    for query, document, value in zip(
        held.text("query"), held.text("document"), held.numbers("relevance"), strict=True
    ):
        known = found.setdefault(query, {})
        known[document] = known.get(document, False) or value > 0
    return found


def _retrieval(held: Sheet, options: Mapping[str, float], name: str) -> Loaded:
    folds = int(options["folds"])
    if "relevance" not in held.parts:
        return faq(held.text("query"), held.text("document"), name=name, folds=folds)
    found = _judgements(held)
    places = {text: place for place, text in enumerate(dict.fromkeys(held.text("document")))}
    relevant = [[places[text] for text, good in each.items() if good] for each in found.values()]
    return judged([(query, query) for query in found], list(places), relevant, name=name, folds=folds)


def _reranking(held: Sheet, options: Mapping[str, float], name: str) -> Loaded:
    return reranking(_judgements(held), name=name)


def _pair_classification(held: Sheet, options: Mapping[str, float], name: str) -> Loaded:
    left, right, classes = held.text("first"), held.text("second"), held.classes("yes or no")
    return pair_classification(left, right, classes, int(options["folds"]), name)


def _triplets(held: Sheet, options: Mapping[str, float], name: str) -> Loaded:
    return Triplets(held.text("anchor"), held.text("positive"), held.text("negative"))


def _shape(measure: Name) -> Callable[[Sheet, Mapping[str, float], str], Loaded]:
    return lambda held, options, name: shape(measure, _rated(held), options.get("above", ABOVE), name)


LOADERS: Mapping[str, Callable[[Sheet, Mapping[str, float], str], Loaded]] = {
    "pairs": _pairs,
    "classification": _classification,
    "clustering": _clustering,
    "retrieval": _retrieval,
    "reranking": _reranking,
    "pair-classification": _pair_classification,
    "triplets": _triplets,
    **{measure: _shape(measure) for measure in MEASURES},
}


def _safe(name: str) -> str:
    """A name that can stand in a record: letters, digits, dots, hyphens."""
    return re.sub(r"[^\w.-]", "_", name)
