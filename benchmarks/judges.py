"""How far judges can be trusted: their rank correlation with human-labelled tasks, between methods and within them.

    python -m benchmarks.judges run --corpora wikipedia:2000,banking77.txt --records FOLDER
        [--encoder cseb-tiny] [--teacher FOLDER] [--seeds 2]
    python -m benchmarks.judges read --records FOLDER

`run` trains methods on each corpus, less a held-out fifth, and scores every run on judges made of that fifth and on
human-labelled tasks; it goes on where it was stopped, and further encoders may follow. `read` works out the figures
from these records alone: points.csv and README.md in results/judges, and cseb/advice/trust.csv, which `cseb recommend`
goes by. Run it in the repository's root.
"""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from math import atanh, inf, sqrt, tanh
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cseb.advice import judges, trust
from cseb.advice.candidates import UNTRAINED, contestants
from cseb.advice.hold_out import split, write
from cseb.advice.judges import LABEL_FREE
from cseb.advice.look import look
from cseb.advice.runs import Runs
from cseb.api.recommend import SCALE
from cseb.data.read_corpus import read_corpus
from cseb.data.weights import find_encoder
from cseb.embedders import find
from cseb.embedders.interface import EncoderOptions
from cseb.encoder import tokenizer
from cseb.methods.grammar import parse_method
from cseb.records.record import Record
from cseb.records.store import Store
from cseb.reports.text_table import aligned
from cseb.statistics.intervals import Floats, Interval, quantile
from cseb.text import quantity

HUMAN = ("snli-dev", "banking77-dev", "clinc150-dev")
GEOMETRY = ("alignment", "uniformity")  # of sentences and what edits have left of them; lower is better
POINTS = Path("results") / "judges" / "points.csv"
PAGE = POINTS.with_name("README.md")
MARKER = "<!-- figures, by benchmarks/judges.py -->\n"
ALL = "all"


class Point(NamedTuple):
    """A judge's or a human task's figure of one run. start: the kind of encoder, as `trust` has it."""

    start: str
    encoder: str
    corpus: str
    method: str
    size: int
    seed: int
    task: str
    points: float


class Figure(NamedTuple):
    """A judge against a human task, or against all of them: between methods, and within a method over its seeds."""

    start: str
    judge: str
    human: str
    between: float
    interval: Interval
    methods: int
    within: float
    origin: str


def run(corpora: Sequence[str], records: Path, encoder: str, teacher: str, seeds: int, steps: int) -> None:
    """Train on each corpus and score; one folder of records each, in that of the kind of encoder."""
    folder, _ = find_encoder(encoder)
    records = records / trust.kind_of(folder)
    records.mkdir(parents=True, exist_ok=True)
    made = []
    for name in corpora:
        store = Store(records / name.rpartition("/")[2].replace(":", "-").removesuffix(".txt"))
        store.prepare()
        corpus = read_corpus(name)
        found = look(corpus, tokenizer.read(folder, False), 32, encoder)
        parts = split(corpus, found.distinct)
        made.append((store, parts, parts.save(store.folder), _tasks(parts.held_out, store.folder, teacher)))
    for seed in range(seeds):  # stopped early, all corpora have the same seeds
        for store, parts, file, tasks in made:
            runs = Runs(
                encoder, file, tasks, "", steps, SCALE, store, 1, 1, "cpu", "auto", False,
                lambda _: nullcontext(lambda event: print(type(event).__name__, getattr(event, "key", ""), flush=True)),
            )  # fmt: skip
            methods = [*UNTRAINED, *contestants(folder)]
            runs.run(runs.grid(methods, [seed], [len(parts.train)]))


def _tasks(held_out: Sequence[str], folder: Path, teacher: str) -> str:
    """Human tasks, the judges without labels, and the geometry of what `edits` has made."""
    found = [LABEL_FREE[name](held_out, folder).tasks for name in LABEL_FREE]
    if teacher:
        found.append(judges.teacher(teacher, find(teacher, EncoderOptions()).open(), held_out, folder).tasks)
    rows = [
        line for part in ("choose", "decide") for line in (folder / f"edits-{part}.tsv").read_text().splitlines()[1:]
    ]
    pairs = folder / "edits-pairs.tsv"
    write(pairs, "".join(["sentence1\tsentence2\tscore\n", *(f"{line}\t5\n" for line in rows)]))
    return ",".join([*HUMAN, *found, *(f"{pairs}:{measure}" for measure in GEOMETRY)])


def points(folder: Path) -> Iterator[Point]:
    """Of every record of every corpus, the last checkpoint; choose and decide of a judge averaged."""
    for place in sorted(path.parent for path in folder.glob("*/*/runs")):
        for record in Store(place).load()[0]:
            yield from _points(record, place.parent.name, place.name)


def _points(record: Record, start: str, corpus: str) -> Iterator[Point]:
    by: dict[str, list[float]] = {}
    for task, value in record.points("last").items():
        name = task.partition("@")[0]
        if value is not None:
            judge = _judge(name)
            by.setdefault(judge, []).append(-value if judge in GEOMETRY else value)
    for task, values in by.items():
        size, seed = record.subset.size, record.seed
        yield Point(
            start, Path(record.encoder.name).name, corpus, record.method, size, seed, task, float(np.mean(values))
        )


def _judge(name: str) -> str:
    """What a task is called here, from `crops-choose.tsv:retrieval` or `edits-pairs.tsv:alignment`."""
    if name in HUMAN:
        return name
    file, _, kind = name.partition(":")
    return kind if file.startswith("edits-pairs") else file.partition("-")[0]


def figures(found: Sequence[Point]) -> list[Figure]:
    """Each kind of start by itself: judges that order methods of one may fail with the other."""
    starts = list(dict.fromkeys(one.start for one in found))
    return [row for start in starts for row in _figures(start, [one for one in found if one.start == start])]


def _figures(start: str, found: Sequence[Point]) -> Iterator[Figure]:
    """Every judge against every human task, averaged over corpora; the last row of a judge is all of these tasks."""
    named = [name for name in dict.fromkeys(one.task for one in found) if name not in HUMAN]
    human = [name for name in HUMAN if any(one.task == name for one in found)]
    corpora = sorted({one.corpus for one in found})
    seeds = {one.seed for one in found}
    encoders = ", ".join(sorted({one.encoder for one in found}))
    methods = len({one.method for one in found})
    ran = f"{methods} methods, {quantity(len(seeds), 'seed')}"
    origin = f"{encoders}; {', '.join(corpora)}; {ran}; results/judges/points.csv"
    for judge in named:
        for names in (*([name] for name in human), human):
            pairs = [_paired(found, corpus, judge, task) for corpus in corpora for task in names]
            between = float(np.mean([_rank_correlation(*_means(pair)) for pair in pairs]))
            least = min(len(_means(pair)[0]) for pair in pairs)
            rest = np.concatenate([_deviations(pair) for pair in pairs])
            within = _rank_correlation(*rest.T) if len(rest) > 2 else float("nan")
            name = names[0] if len(names) == 1 else ALL
            yield Figure(start, judge, name, between, interval(between, least), least, within, origin)


def _paired(found: Sequence[Point], corpus: str, judge: str, task: str) -> Mapping[str, list[tuple[float, float]]]:
    """By method the judge's and the human figure of each run; nobody is judged by what it was trained for."""
    named = {one.method for one in found}
    fair = {method for method in named if not judges.trained_for(judge, parse_method(method))}
    held: dict[tuple[str, int, int], dict[str, float]] = {}
    for one in found:
        if one.corpus == corpus and one.task in (judge, task) and one.method in fair:
            held.setdefault((one.method, one.size, one.seed), {})[one.task] = one.points
    pairs: dict[str, list[tuple[float, float]]] = {}
    for (method, size, _), each in sorted(held.items()):
        if len(each) == 2:
            pairs.setdefault(f"{method} at {size}", []).append((each[judge], each[task]))
    return pairs


def _means(pairs: Mapping[str, list[tuple[float, float]]]) -> tuple[np.ndarray, np.ndarray]:
    means = np.array([np.mean(values, axis=0) for values in pairs.values()])
    return means[:, 0], means[:, 1]


def _deviations(pairs: Mapping[str, list[tuple[float, float]]]) -> Floats:
    """What runs differ by from the mean of their method, in standard deviations of all of them: (N, 2).

    None where a figure does not move with the seed, as those of untrained encoders do not.
    """
    several = [np.array(values) - np.mean(values, axis=0) for values in pairs.values() if len(values) > 1]
    left = np.concatenate(several) if several else np.zeros((0, 2))
    left = left[np.abs(left).sum(axis=1) > 0]
    spread = left.std(axis=0) if len(left) else np.zeros(2)
    scaled: Floats = left / spread if spread.all() else np.zeros((0, 2))
    return scaled


def _rank_correlation(a: np.ndarray, b: np.ndarray) -> float:
    from scipy.stats import spearmanr

    return float(spearmanr(a, b).statistic)


def interval(rho: float, count: int) -> Interval:
    """95 % of Spearman's rho over `count` methods, by Fisher's z with the variance of Bonett & Wright 2000.

    A mean over tasks and corpora is given that of a single one: they share their methods, so that this is too wide
    rather than too narrow.
    """
    if count < 5:
        return Interval(-1.0, 1.0)
    reach = quantile(inf) * sqrt((1 + rho**2 / 2) / (count - 3))
    centre = atanh(max(-0.999, min(0.999, rho)))
    return Interval(tanh(centre - reach), tanh(centre + reach))


def table(rows: Sequence[Figure]) -> str:
    """For a page."""
    cells = [
        (row.start, row.judge, row.human, f"{row.between:.2f}", f"{row.interval.low:.2f} to {row.interval.high:.2f}",
         str(row.methods), "--" if np.isnan(row.within) else f"{row.within:.2f}")
        for row in rows
    ]  # fmt: skip
    return "\n".join(aligned(cells, ("start", "judge", "human labels", "between", "95 %", "methods", "within")))


def read(records: Path) -> None:
    """From records to points.csv, the page and what the command goes by."""
    found = list(points(records))
    rows = figures(found)
    write(POINTS, _csv(Point._fields, [(*one[:-1], f"{one.points:.4f}") for one in found]))
    known = [
        (
            one.start,
            one.judge,
            one.human,
            *(f"{value:.3f}" for value in (one.between, *_ends(one.interval))),
            one.methods,
            one.origin,
        )
        for one in rows
    ]
    write(trust.FIGURES, _csv(("start", "judge", "human", "rho", "low", "high", "methods", "origin"), known))
    origins = "\n".join(
        f"- {start}: {origin}" for start, origin in dict.fromkeys((one.start, one.origin) for one in rows)
    )
    before = PAGE.read_text().partition(MARKER)[0] if PAGE.is_file() else ""
    write(PAGE, f"{before}{MARKER}\n```\n{table(rows)}\n```\n\n{origins}\n")
    print(table(rows))


def _ends(found: Interval) -> tuple[float, float]:
    return found.low, found.high


def _csv(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue()


def main() -> None:
    """Train and score, or work out the figures."""
    parser = argparse.ArgumentParser(description="How far judges can be trusted.")
    parser.add_argument("what", choices=("run", "read"))
    parser.add_argument("--corpora", default="", help="with commas between them")
    parser.add_argument("--records", type=Path, required=True, help="folder with one folder of records a corpus")
    parser.add_argument("--encoder", default="cseb-tiny")
    parser.add_argument("--teacher", default="", help="an encoder, agreement with which is a judge, too")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--steps", type=int, default=100)
    given = parser.parse_args()
    if given.what == "run":
        run(given.corpora.split(","), given.records, given.encoder, given.teacher, given.seeds, given.steps)
    else:
        read(given.records)


if __name__ == "__main__":
    main()
