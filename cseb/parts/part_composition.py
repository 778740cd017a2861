"""CompCSE: sentences cut into parts, and views composed from the parts' vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, ClassVar, Literal

import torch
from torch import Tensor, nn

from cseb.encoder.interface import ATTENTIONS, LAYERS, EncodedView, Pieces, Shape, Text
from cseb.errors import BadData, BadSpec
from cseb.methods.option_types import AtLeast, Count
from cseb.parts import Term
from cseb.parts.base import BasePart, EncoderPart, ModulePart
from cseb.parts.heads import new_linear
from cseb.parts.views import read_columns

Triple = tuple[Sequence[str], Sequence[str], Sequence[str]]

SHORTEST = 2  # words of a clause
# Words that open a clause in English: conjunctions, relative pronouns, and the commonest subordinators.
OPENERS = frozenset(
    {
        "and", "but", "or", "nor", "so", "yet", "because", "since", "although", "though", "while", "whereas",
        "unless", "until", "when", "where", "whenever", "wherever", "which", "who", "whose", "whom", "that",
        "if", "as", "after", "before", "once", "than",
    }
)  # fmt: skip


def clauses(sentence: str) -> list[str]:
    """Split a sentence into clauses by rule: after , ; : and dashes, and before a word that opens a clause.

    A cut that would leave fewer than two words on either side is not made. Joined by blanks, the clauses are the words
    of the sentence again.
    """
    words = sentence.split()
    parts: list[list[str]] = [[]]
    for place, word in enumerate(words):
        behind = place > 0 and (words[place - 1][-1] in ",;:" or words[place - 1] in ("-", "--", "–", "—"))
        opens = word.lower().strip("\"'(") in OPENERS
        if (behind or opens) and len(parts[-1]) >= SHORTEST and len(words) - place >= SHORTEST:
            parts.append([])
        parts[-1].append(word)
    return [" ".join(clause) for clause in parts if clause]


def adjacent(units: Sequence[str]) -> list[Triple]:
    """Return disjoint pairs: (e1 e2, e1, e2), (e3 e4, e3, e4), ... Source: Chanchani & Huang 2023, table 2."""
    return [_pair(units, at) for at in range(0, len(units) - 1, 2)]


def overlapping(units: Sequence[str]) -> list[Triple]:
    """Return all neighbouring pairs: (e1 e2, e1, e2), (e2 e3, e2, e3), ... Source: Chanchani & Huang 2023, table 2."""
    return [_pair(units, at) for at in range(len(units) - 1)]


def subsuming(units: Sequence[str]) -> list[Triple]:
    """Return every run of two units or more, with its halves, recursively. Source: Chanchani & Huang 2023, table 2."""
    if len(units) < 2:
        return []
    left, right = units[: len(units) // 2], units[len(units) // 2 :]
    return [(units, left, right), *subsuming(left), *subsuming(right)]


Strategy = Literal["none", "adjacent", "overlapping", "subsuming"]
STRATEGIES: dict[Strategy, Callable[[Sequence[str]], list[Triple]]] = {
    "none": lambda units: [],
    "adjacent": adjacent,
    "overlapping": overlapping,
    "subsuming": subsuming,
}


def _pair(units: Sequence[str], at: int) -> Triple:
    return units[at : at + 2], units[at : at + 1], units[at + 1 : at + 2]


PieceCount = Annotated[int, AtLeast(2)]
Side = Literal["positive", "anchor", "both"]  # the view that is composed of parts


def cut(total: int, starts: Sequence[int], k: int) -> list[slice]:
    """Return the k runs of `total` word pieces: boundaries at floor(i * total / k), moved left to a word start.

    starts: where words start, the first at 0; at least k. A boundary moves right where its part would be empty.
    Source: Chanchani & Huang 2023, table 1 (halves) and 5 (their number); where exactly to cut is our choice.
    """
    edges, word = [0], 0
    for part in range(1, k):
        nearest = max(number for number, start in enumerate(starts) if start <= part * total // k)
        word = min(max(nearest, word + 1), len(starts) - (k - part))  # a word for this part, and one for each to come
        edges.append(starts[word])
    return [slice(left, right) for left, right in zip(edges, [*edges[1:], total], strict=True)]


class Halves(BasePart):
    """The sentence, and its word pieces cut into k parts at word starts.

    side: which view is composed of the parts: "positive", "anchor" or "both" (two independent passes over the parts).
    extra: further training items from clauses that rules for English find: "none", "adjacent", "overlapping" or
    "subsuming". The full sentence is cut, so the parts together may be longer than what the anchor keeps. A sentence of
    fewer than k words is each of its parts: a dropout positive. Source: Chanchani & Huang, ACL 2023, tables 1 to 5.
    Raises: BadSpec if no sentence has k words.
    """

    english: ClassVar[Mapping[str, tuple[str, ...]] | None] = {"extra": ("adjacent", "overlapping", "subsuming")}

    # CompCSE, table 1
    def __init__(self, k: PieceCount = 2, side: Side = "positive", extra: Strategy = "none", *, shape: Shape) -> None:
        self.k, self.side, self.triples = k, side, STRATEGIES[extra]
        if extra != "none" and k != 2:
            raise BadSpec(f"halves: extra={extra} makes items of two parts and k is {k}; take k=2 or extra=none")
        if shape.pieces is None:
            raise BadSpec("halves: this encoder's tokenizer does not say where words start; take another encoder")
        self.pieces = shape.pieces
        self.units: Callable[[str], Sequence[str]] = clauses
        self.groups = {"positive": (1, k), "anchor": (k, 1), "both": (k, k)}[side]
        self.views = sum(self.groups)
        self.notes: tuple[str, ...] = ()

    def __call__(self, sentences: Sequence[str]) -> tuple[Sequence[Text], ...]:
        """Return the sentence and k parts of N sentences, in the order of `groups`; extra items follow the N."""
        short = 0
        rows: list[Sequence[Text]] = []
        for piece in self.pieces(sentences):
            fits = len(piece.starts) >= self.k
            short += not fits
            rows.append(self._parts(piece) if fits else [piece.ids] * self.k)
        if short == len(sentences):
            raise BadSpec(f"halves: no sentence of this subset has {self.k} words; take a smaller k, or longer text")
        items = [triple for sentence in sentences for triple in self.triples(self.units(sentence))]
        rows += [[" ".join(left), " ".join(right)] for _, left, right in items]
        anchors = [*sentences, *(" ".join(anchor) for anchor, _, _ in items)]
        parts = [list(column) for column in zip(*rows, strict=True)]
        self.notes = (
            f"halves: {short} of {len(sentences)} sentences are shorter than {self.k} words; their positive is dropout",
            *([f"halves: clauses add {len(items)} items to {len(sentences)} sentences"] if items else []),
        )
        return {"positive": (anchors, *parts), "anchor": (*parts, anchors), "both": (*parts, *parts)}[self.side]

    def _parts(self, piece: Pieces) -> list[Sequence[int]]:
        return [piece.ids[run] for run in cut(len(piece.ids), piece.starts, self.k)]


def read_units(file: str) -> dict[str, list[str]]:
    """Read discourse units by sentence, from UTF-8 lines "sentence TAB unit TAB unit ...". Raises: BadSpec, BadData."""
    units_by_sentence = {}
    for number, (sentence, *units) in read_columns(file, "unit_halves", "sentence TAB unit ..."):
        if not (units and all(units)):
            raise BadData(f"unit_halves: {file} line {number} has no units, or an empty one; write sentence TAB unit")
        units_by_sentence[sentence] = units
    return units_by_sentence


class UnitHalves(Halves):
    """Halves whose extra items come from discourse units in a file: lines "sentence TAB unit TAB unit ...".

    A sentence that the file lacks adds no items. Source: Chanchani & Huang, ACL 2023, table 2 (units from DMRST).
    """

    data_seen: ClassVar[str] = "external"
    external: ClassVar[Mapping[str, str]] = {"file": "file"}
    requires: ClassVar[str] = "discourse units"
    english = None

    def __init__(
        self, k: PieceCount = 2, side: Side = "positive", extra: Strategy = "subsuming", file: str = "", *, shape: Shape
    ) -> None:
        super().__init__(k, side, extra, shape=shape)
        units_by_sentence = read_units(file)
        self.units = lambda sentence: units_by_sentence.get(sentence, ())


def first_last(parts: Sequence[Tensor]) -> Tensor:
    """Return (B, D): the first D/k coordinates of the first of k parts (B, D), the next of the second, and so on."""
    blocks = [part.chunk(len(parts), dim=-1) for part in parts]
    return torch.cat([block[place] for place, block in enumerate(blocks)], dim=-1)


Aggregate = Literal["avg", "sum", "max", "first_last", "concat_project", "concat_diff_project"]
AGGREGATES: dict[Aggregate, Callable[[Sequence[Tensor]], Tensor]] = {
    "avg": lambda parts: torch.stack(list(parts)).mean(dim=0),
    "sum": lambda parts: torch.stack(list(parts)).sum(dim=0),
    "max": lambda parts: torch.stack(list(parts)).amax(dim=0),
    "first_last": first_last,
    "concat_project": lambda parts: torch.cat(list(parts), dim=-1),
    "concat_diff_project": lambda parts: torch.cat([*parts, (parts[0] - parts[1]).abs()], dim=-1),
}
# How many widths a vector has that a new layer maps to one.
TIMES: dict[Aggregate, int] = {"concat_project": 2, "concat_diff_project": 3}


class Compose(EncoderPart, ModulePart):
    """Compose runs of parts into one view each, and pass only the first coordinates to the terms.

    aggregate: how parts become one vector. before_head: the head sees the composed vector (authors' code, figure 1);
    False aggregates behind it (the text). first: coordinates of z that terms see, none for all; at test the embedding
    is whole. Rows whose parts are all the same text were too short to cut; the view is that text.
    Source: Chanchani & Huang, ACL 2023, figure 1, tables 3 and 6; sizes of the projections are ours.
    """

    version: ClassVar[int] = 2
    aggregate: Aggregate = "avg"
    before_head: bool = True
    first: Count | None = None  # CompCSE's tables 2 to 5 use all coordinates

    def __post_init__(self) -> None:
        width, first = self.shape.width, self.first
        if first is not None and first > width:
            raise BadSpec(f"compose: first is {first}; this encoder's vectors have {width} coordinates")
        if self.aggregate == "first_last" and first is not None and first < width:
            raise BadSpec(f"compose: first_last fills coordinates by part and first={first} cuts them; take first=none")
        self.project: nn.Module = nn.Identity()
        if self.aggregate in TIMES:
            self.project = new_linear(TIMES[self.aggregate] * width, width)

    def check(self, groups: Sequence[int], terms: Sequence[Term], queue: bool) -> None:
        if not groups:
            raise BadSpec("compose: the views are whole sentences, there is nothing to compose; add +halves")
        k = max(groups)
        if self.aggregate in TIMES and k != 2:
            raise BadSpec(f"compose: {self.aggregate} takes two parts, halves gives {k}; take k=2 or another aggregate")
        if self.aggregate == "first_last" and (width := self.shape.width) % k:
            raise BadSpec(f"compose: first_last needs a width that {k} parts divide; this encoder's is {width}")
        if any(term.needs & {ATTENTIONS, LAYERS} for term in terms):
            raise BadSpec("compose: a composed view has no tokens, and a term of this method needs them; remove it")
        if queue and (groups[0] > 1 or (self.first or self.shape.width) < self.shape.width):
            raise BadSpec("compose: a queue has whole sentences, all coordinates; take side=positive and first=none")

    def forward(
        self, views: Sequence[EncodedView], groups: Sequence[int], head: Callable[[Tensor], Tensor]
    ) -> list[EncodedView]:
        remaining = iter(views)
        runs = [[next(remaining) for _ in range(size)] for size in groups]
        return [self._narrow(run[0] if len(run) == 1 else self._composed(run, head)) for run in runs]

    def _composed(self, run: Sequence[EncodedView], head: Callable[[Tensor], Tensor]) -> EncodedView:
        ids = torch.stack([part.ids for part in run])  # (k, B, T)
        uncut = (ids == ids[0]).all(dim=2).all(dim=0)  # (B,)
        h = self._together([part.h for part in run], uncut)
        z = head(h) if self.before_head else self._together([part.z for part in run], uncut)
        none = run[0].ids[:, :0]
        return EncodedView(h, z, none, none, none)

    def _together(self, parts: Sequence[Tensor], uncut: Tensor) -> Tensor:
        return torch.where(uncut[:, None], parts[0], self.project(AGGREGATES[self.aggregate](parts)))

    def _narrow(self, view: EncodedView) -> EncodedView:
        return EncodedView(view.h, view.z[:, : self.first], view.ids, view.mask, view.content)
