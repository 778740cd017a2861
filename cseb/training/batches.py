"""Draw the sentences of each batch; tokenise them once and pad all views of a batch to one width."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from cseb.data.lines import columns
from cseb.encoder.device_batches import tensors
from cseb.encoder.encoder import Encoder
from cseb.encoder.interface import Rows, Text
from cseb.encoder.tokenizer import Tokens
from cseb.methods.recipe import Recipe
from cseb.parts import Mined, Paired, Redrawn, View
from cseb.seeds import ORDER, VIEWS, stream_seed
from cseb.words import fold

GROUP = 50  # batches sorted by length together when padding is "grouped"

Lengths = npt.NDArray[np.int64]


def texts_per_line(maker: View) -> int:
    """Return the number of texts that this view maker reads from a line of the corpus: several if it has columns.

    One per view, unless it states `texts`.
    """
    count: int = getattr(maker, "texts", maker.views) if getattr(maker, "columns", ()) else 1
    return count


def texts_of(maker: View, lines: Sequence[str]) -> Sequence[Text]:
    """Return what post-processors are fitted on: the lines, or their texts if they have columns, anchors first."""
    if not (allowed := getattr(maker, "columns", ())):
        return lines
    texts = columns(lines, allowed, f"lines of {' or '.join(map(str, allowed))} texts joined by TABs")
    return [text for column in texts[: texts_per_line(maker)] for text in column]


@dataclass(frozen=True, slots=True)
class Batch:
    """B sentences in V views. fields: ids, mask, content (V B, T) and anchor (V B,). rows: (B,) their numbers.

    sids: rows as a tensor. same: (B,), True where all views render one sentence; None = everywhere. scores: (B,) of
    the view maker, None where it has none.
    """

    fields: tuple[Tensor, ...]
    rows: Rows
    sids: Tensor
    same: Tensor | None
    scores: Tensor | None = None

    @property
    def views(self) -> int:
        """V, edits included."""
        return len(self.fields[0]) // len(self.rows)


class Feed:
    """The batches of one training run, in order. Only rendered texts that occur in a batch are tokenised.

    sentences: their number. texts, tokens: of every view, in rows as batches number them.
    """

    def __init__(
        self, maker: View, encoder: Encoder, recipe: Recipe, sentences: Sequence[str], seed: int, device: torch.device
    ) -> None:
        self.maker, self.encoder, self.recipe, self.device = maker, encoder, recipe, device
        order, self.rng = (np.random.Generator(np.random.PCG64(stream_seed(seed, name))) for name in (ORDER, VIEWS))
        own = [encoder.prompt_tokens(template) for template in getattr(maker, "templates", None) or ()]
        longer = max([0, *(count - encoder.prompt_tokens() for count in own)])  # than the prompt of the pooler
        self.longest = min(recipe.max_length, encoder.limit() - longer)  # no encoder can place more
        texts = maker(sentences)
        self.sentences = len(texts[0])
        lengths = encoder.tokenise(texts[0], self.longest).lengths() if recipe.padding == "grouped" else None
        mined = None
        if isinstance(maker, Mined):
            mined = maker.mine(*(encoder.embed([str(text) for text in view]) for view in texts[:2]))
        keys = _folded(texts, mined) if recipe.batch == "no_duplicates" else None
        rows = list(batches(self.sentences, recipe, order, lengths, keys))
        partners = [maker.pair(each, self.sentences, self.rng) if isinstance(maker, Paired) else each for each in rows]
        templates: Sequence[str] = getattr(maker, "templates", None) or [""] * len(texts)
        drawn = np.unique(np.concatenate([*rows, *partners]))
        self.rows, self.partners = ([np.searchsorted(drawn, each) for each in some] for some in (rows, partners))
        used = {id(text): [text[i] for i in drawn] for text in texts}
        views = [(id(text), template) for text, template in zip(texts, templates, strict=True)]
        cut = {view: encoder.tokenise(used[view[0]], self.longest, view[1]) for view in dict.fromkeys(views)}
        self.texts, self.tokens = [used[id(text)] for text in texts], [cut[view] for view in views]
        scores: Sequence[float] | None = getattr(maker, "scores", None)
        self.scores = None if scores is None else torch.tensor([scores[i] for i in drawn])
        self.fixed = self.longest + encoder.prompt_tokens() if recipe.padding == "fixed" else 0

    def __iter__(self) -> Iterator[Batch]:
        for rows, partners in zip(self.rows, self.partners, strict=True):
            fields = self._padded(rows, partners, self._fresh(partners))
            other = isinstance(self.maker, Paired) and not isinstance(self.maker, Mined)
            same = torch.from_numpy(partners == rows).to(self.device) if other else None
            sids = torch.from_numpy(rows)
            scores = None if self.scores is None else self.scores[sids].to(self.device)
            yield Batch(fields, rows, sids.to(self.device), same, scores)

    def _fresh(self, rows: Rows) -> Tokens | None:
        """Return tokens of the last view, or of the edits in its place, if they are drawn anew at every step."""
        if not isinstance(self.maker, Redrawn):
            return None
        chosen = [
            text for text in (self.texts[-1][i] for i in rows) if isinstance(text, str)
        ]  # redrawn is text, not ids
        return self.maker.redraw(self.encoder, chosen, self.longest, self.rng)

    def _padded(self, rows: Rows, partners: Rows, fresh: Tokens | None) -> tuple[Tensor, ...]:
        """Return all views of a batch stacked, padded to one width."""
        partners = rows if np.array_equal(partners, rows) else partners  # the same block twice is padded once
        last = (self.tokens[-1], partners) if fresh is None else (fresh, np.arange(len(fresh)))
        blocks = [*((view, rows) for view in self.tokens[:-1]), last]
        longest = max(int(view.lengths()[chosen].max()) for view, chosen in blocks)
        width = self.encoder.width(max(self.fixed, longest), self.recipe.precision)
        padded = {(id(view), id(chosen)): tensors(view.batch(chosen, width), self.device) for view, chosen in blocks}
        stacked = zip(*(padded[id(view), id(chosen)] for view, chosen in blocks), strict=True)
        return tuple(torch.cat(blocks) for blocks in stacked)


def batches(
    sentences: int,
    recipe: Recipe,
    rng: np.random.Generator,
    lengths: Lengths | None = None,
    texts: Sequence[Collection[Hashable]] | None = None,
) -> Iterator[Rows]:
    """Yield row numbers (B,) of `recipe.steps` batches: epoch after epoch, each sentence at most once in an epoch.

    A subset without a complete batch has one all the same where incomplete batches are dropped. sentences: their
    number. lengths: (N,) tokens, needed when padding is "grouped". texts: of every sentence the folded texts of its
    line, needed for batches without duplicates.
    """
    done = 0
    while done < recipe.steps:
        order = rng.permutation(sentences)
        if texts is not None:
            epoch = without_duplicates(order, texts, recipe.batch_size)
            complete = [batch for batch in epoch if len(batch) == recipe.batch_size] or epoch[:1]
            epoch = complete if recipe.last_batch == "drop" else epoch
            yield from epoch[: recipe.steps - done]
            done += len(epoch)
            continue
        if recipe.last_batch == "drop" and len(order) > recipe.batch_size:
            order = order[: len(order) - len(order) % recipe.batch_size]  # before sorting, which puts the longest last
        starts = list(range(0, len(order), recipe.batch_size))
        if lengths is not None:
            order = _grouped(order, lengths, recipe.batch_size)
            starts = [starts[i] for i in rng.permutation(len(starts))]
        for start in starts[: recipe.steps - done]:
            yield order[start : start + recipe.batch_size]
        done += len(starts)


def without_duplicates(order: Rows, texts: Sequence[Collection[Hashable]], size: int) -> list[Rows]:
    """Return the batches of an epoch in which no text occurs twice; a row that repeats one waits for a later batch.

    order: (N,), in which rows are taken. texts: of every row. Source: sentence-transformers, NoDuplicatesBatchSampler.
    """
    remaining, waiting, epoch = iter(order.tolist()), iter(list[int]()), list[Rows]()
    while True:
        batch, repeating, seen = list[int](), list[int](), set[Hashable]()
        for row in chain(waiting, remaining):
            if not seen.isdisjoint(texts[row]):
                repeating.append(row)
                continue
            batch.append(row)
            seen.update(texts[row])
            if len(batch) == size:
                break
        if not batch:
            return epoch
        epoch.append(np.array(batch))
        waiting = iter([*repeating, *waiting])


def _folded(texts: Sequence[Sequence[Text]], negatives: Rows | None) -> list[tuple[Hashable, ...]]:
    """Return of every row its texts in all views, folded; token ids as they are. negatives: rows (N,) of the last."""
    views = {id(view): [fold(text) if isinstance(text, str) else tuple(text) for text in view] for view in texts}
    mined = [] if negatives is None else [[views[id(texts[-1])][row] for row in negatives]]
    return list(zip(*views.values(), *mined, strict=True))


def _grouped(order: Rows, lengths: Lengths, batch_size: int) -> Rows:
    """Return the order with similar lengths side by side within every GROUP batches; batches still differ by epoch."""
    size = GROUP * batch_size
    runs = [order[start : start + size] for start in range(0, len(order), size)]
    return np.concatenate([run[np.argsort(lengths[run], kind="stable")] for run in runs])
