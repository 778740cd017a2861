"""What follows from the scores on the deciding examples: one sentence, the table behind it, and the model."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from cseb.analysis.paired import Sample, compared
from cseb.data.files import whole_folder, written
from cseb.data.finished_models import refuse_taken
from cseb.errors import BadResults, BadSpec
from cseb.methods.grammar import parse_method
from cseb.methods.spec import refuse_unsaved
from cseb.statistics.items import Interval, freedom, variance
from cseb.statistics.paired import MARGIN, Design
from cseb.text import aligned

AS_IT_IS, TF_IDF = "encoder as it is", "TF-IDF"
CORRELATION = 0.9  # of what examples contribute to the scores of an encoder before and after a short training
HEAD = ("", "selecting", "deciding", "difference", "seeds")
Row = tuple[str, str, str, str, str]  # cells of a line of the table, below HEAD


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The result of `cseb.recommend`; printed, it is the sentence and the table.

    chosen: the recommended encoder, as the table names it; "" without a conclusion. rows: of the table, below HEAD.
    notes: the lines below the table. model: the folder of the model, None if none was written.
    """

    sentence: str
    chosen: str = ""
    rows: tuple[Row, ...] = ()
    notes: tuple[str, ...] = ()
    model: Path | None = None

    def table(self) -> str:
        """Return the table and its notes; a column without content is left out."""
        columns = [column for column in zip(HEAD, *self.rows, strict=True) if not column[0] or any(column[1:])]
        head, *rows = zip(*columns, strict=True)
        return "\n".join([*(aligned(rows, head) if rows else []), *self.notes])

    def __str__(self) -> str:
        return f"{self.sentence}\n\n{self.table()}".rstrip()


@dataclass(frozen=True, slots=True)
class Difference:
    """The score of an encoder minus that of a base, in points, with its 95 % interval."""

    mean: float
    interval: Interval | None  # None if only one seed, and nothing about examples, is known

    @classmethod
    def between(cls, base: Sample, other: Sample) -> Difference:
        """Compare two samples, paired by seed and example."""
        comparison = compared(base, other, sorted(set(base.points) & set(other.points)))
        return cls(comparison.mean, comparison.interval(comparison.scope) if comparison.scope else None)

    @property
    def sign(self) -> int:
        """1 if it is significantly above zero, -1 if below, else 0."""
        return 0 if self.interval is None else int(self.interval.low > 0) - int(self.interval.high < 0)

    def __str__(self) -> str:
        """`1.2 lower (-2.4 to -0.1)`."""
        return f"{abs(self.mean):.1f} {'lower' if self.mean < 0 else 'higher'}{self.range()}"

    def range(self) -> str:
        """Return ` (-2.4 to -0.1)`."""
        return "" if self.interval is None else f" ({self.interval.low:.1f} to {self.interval.high:.1f})"


def best_base(selecting: Sequence[Sample]) -> str:
    """Return the pooling to compare with: the first, which is the encoder's own, unless one is better by the margin."""
    best = max(selecting, key=lambda sample: sample.mean)
    return best.method if best.mean > selecting[0].mean + MARGIN else selecting[0].method


def detectable(base: Sample, seeds: int) -> float:
    """Return the difference in points that these examples detect with 80 % power. base: without training."""
    [contributions] = base.contributions.values()
    expected = 2 * (1 - CORRELATION) * variance(contributions)
    return Design(seeds, 0.0, expected, freedom(contributions)).detectable() or 0.0


def conclude(base: Sample, trained: Sample | None, words: Sample | None, tried: int) -> tuple[str, str]:
    """Return the conclusion in one sentence, and the name of the recommended encoder.

    A trained model is recommended only if it is significantly better than the encoder without training, `base`.
    words: TF-IDF, if it has a score. tried: number of methods that were compared. All samples are those of the
    deciding examples.
    """
    own = base.method == AS_IT_IS
    keep = "Keep the encoder as it is" if own else f"Use {base.method} without training"
    if trained is None:
        sentence, chosen = f"{keep}: no method could be trained.", base
    else:
        gain = Difference.between(base, trained)
        name = trained.method if tried == 1 else f"{trained.method}, the best of {tried} methods,"
        if gain.sign > 0:
            than = f"the {AS_IT_IS}" if own else f"{base.method} without training"
            sentence, chosen = f"Train with {trained.method}: it is {gain} than {than}.", trained
        else:
            sentence, chosen = f"{keep}: {name} is {gain}{'' if gain.sign else ', not a significant difference'}.", base
    if words is not None and (loss := Difference.between(words, chosen)).sign < 0:
        best = chosen.method if chosen is base else f"trained with {chosen.method}"
        return f"Use TF-IDF: the best encoder ({best}) is {loss}.", TF_IDF
    return sentence, chosen.method


def row(base: Sample, selecting: Sample | None, deciding: Sample | None) -> Row:
    """Return the line of a method, with its difference to `base` on the deciding examples."""
    sample, difference = deciding or selecting, ""
    assert sample is not None, "a method has a score on one of the parts"
    if deciding is not None and deciding.method != base.method:
        gain = Difference.between(base, deciding)
        difference = f"{gain.mean:+.1f}{gain.range()}"
    scores = ["" if part is None else f"{part.mean:.2f}" for part in (selecting, deciding)]
    return sample.method, *scores, difference, str(len(sample.points)) if len(sample.points) > 1 else ""  # type: ignore[return-value]


CARD = """
## Recommendation

{recommendation}

This is the model that was scored: when it was saved, its vectors were compared with those of the scored one.
"""


def check(methods: Sequence[str], out: Path | None) -> None:
    """Refuse methods that do not train or cannot be saved, and a folder that cannot be written. Raises: CsebError."""
    for label in methods:
        method = parse_method(label).at(1.0)
        if not dict(method.recipe.options)["steps"]:
            raise BadSpec(f"{label} does not train; untrained poolings are always among the baselines")
        if out:
            refuse_unsaved(label, method)
    if out:
        refuse_taken(out)
        if not out.parent.is_dir():
            raise BadResults(f"{out} cannot be written: the folder {out.parent} does not exist; create it first")
        with written(out), TemporaryDirectory(dir=out.parent):
            pass


def pooler_of(folder: Path) -> str:
    """Return the pooling that a folder of sentence-transformers names, `cls` or `last`; `mean` for any other."""
    try:
        settings = json.loads((folder / "1_Pooling" / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return "mean"
    mode = settings.get("pooling_mode")
    if settings.get("pooling_mode_cls_token") or mode == "cls":
        return "cls"
    return "last" if settings.get("pooling_mode_lasttoken") or mode == "lasttoken" else "mean"


def export(source: Path, out: Path, recommendation: Recommendation) -> None:
    """Copy a saved model to `out` with a card, and replace an older one there. Raises: BadResults."""
    with written(out), whole_folder(out, replaced=True) as staged:
        shutil.copytree(source, staged, dirs_exist_ok=True)
        card = (staged / "README.md").read_text("utf-8").replace(str(source), str(out))
        text = str(recommendation).replace("\n\n", "\n\n```\n", 1) + "\n```"
        (staged / "README.md").write_text(card + CARD.format(recommendation=text), encoding="utf-8")
