"""`cseb recommend` on domains whose labels it never sees: what it advised, and what the labels say afterwards.

    python -m benchmarks.recommend_trials run --records FOLDER --data-dir DATA [--domains banking77,cr,trec]
        [--encoder cseb-tiny] [--methods ...] [--steps 100] [--budget 10] [--ask 0]
    python -m benchmarks.recommend_trials read --records FOLDER

`run` takes the sentences of each domain without their labels, asks for a recommendation, and then trains and scores
every contestant on all sentences by the labels, under two seeds; it goes on where it was stopped. With --ask the
questions are answered from the labels, as a user would: two sentences of one class belong together more than two of
different ones, and nothing can be said of two alike pairs. `read` writes trials.csv and the table of
results/recommend/README.md from what `run` has left.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import cseb
from benchmarks.domains import sentences
from cseb.advice import trust
from cseb.advice.candidates import UNTRAINED, contestants
from cseb.advice.hold_out import write
from cseb.advice.questions import FIRST, SECOND, SKIPPED, Answers
from cseb.advice.runs import Runs
from cseb.api.hosts import workers_of
from cseb.api.recommend import SCALE
from cseb.data.weights import find_encoder
from cseb.errors import BadBenchmark
from cseb.methods.grammar import labels
from cseb.records.store import Store
from cseb.reports.text_table import aligned
from cseb.tasks.evaluate import load_task
from cseb.tasks.transfer.labelled import LabelledTexts

SEEDS = (0, 1)  # of every contestant by the labels
OUTCOME = "trial.json"
TABLE = Path("results") / "recommend" / "trials.csv"
PAGE = TABLE.with_name("README.md")
MARKER = "<!-- trials, by benchmarks/recommend_trials.py -->\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A recommendation, and the accuracy by the domain's labels of what it was about, in points.

    judge: its name where it needs no labels, else how many questions were asked. gain, low, high: as the judge had it.
    minutes: of the call, by the clock. by_labels: mean over seeds of every contestant and of the untrained poolings,
    trained on all sentences.
    """

    domain: str
    encoder: str
    start: str
    judge: str
    verdict: str
    finding: str
    chosen: str
    baseline: str
    gain: float | None
    low: float | None
    high: float | None
    minutes: float
    budget: float
    by_labels: Mapping[str, float]

    def followed(self) -> float:
        """What following the advice brings over the baseline that it names."""
        return self.by_labels[self.chosen] - self.by_labels[self.baseline]

    def missed(self) -> float:
        """What the best of all contestants and untrained poolings, by labels, has above what was advised."""
        return max(self.by_labels.values()) - self.by_labels[self.chosen]


def answers_of(domain: str, data_dir: Path | None) -> Callable[[Answers, Sequence[tuple[str, str]]], None]:
    """A user who knows the labels, and answers by nothing else. Raises: BadBenchmark for a task without classes."""
    loaded = load_task(domain, data_dir)
    if not isinstance(loaded, LabelledTexts):
        raise BadBenchmark(f"{domain} has no classes to answer from; take banking77, cr, subj or trec")
    known = {
        " ".join(text.split()): label
        for part in loaded.parts
        for (text, *_), label in zip(part.texts, part.labels, strict=True)
    }

    def answer(answers: Answers, pairs: Sequence[tuple[str, str]]) -> None:
        alike = [known[left] == known[right] for left, right in pairs]
        while (number := answers.next) is not None:
            question = answers.questions[number]
            first, second = alike[question.first], alike[question.second]
            answers.answer(number, SKIPPED if first == second else FIRST if first else SECOND)

    return answer


def run(given: argparse.Namespace) -> None:
    """A recommendation for each domain, then all contestants by the labels."""
    folder, _ = find_encoder(given.encoder)
    start = trust.kind_of(folder)
    methods = labels(given.methods) if given.methods else contestants(folder)
    for domain in given.domains.split(","):
        place = given.records / start / (f"{domain}-asked" if given.ask else domain)
        place.mkdir(parents=True, exist_ok=True)
        corpus = place / f"{domain}.txt"
        lines = sentences(domain, given.data_dir)
        write(corpus, "".join(f"{line}\n" for line in lines))
        if not (place / OUTCOME).is_file():
            _advised(given, domain, start, methods, place, corpus)
        outcome = json.loads((place / OUTCOME).read_text())
        outcome["by_labels"] = _by_labels(given, domain, methods, place, corpus)
        write(place / OUTCOME, json.dumps(outcome, indent=1))
        print(_row(Trial(**outcome)), flush=True)


def _advised(
    given: argparse.Namespace, domain: str, start: str, methods: Sequence[str], place: Path, corpus: Path
) -> None:
    """What the command says without labels, and how long it takes; kept once it is known."""
    began = time.monotonic()
    found = cseb.recommend(
        str(corpus),
        encoder=given.encoder,
        budget=given.budget,
        methods=methods,
        steps=given.steps,
        ask=given.ask,
        asker=answers_of(domain, given.data_dir) if given.ask else None,
        results=place / "race",
        out=place / "model",
        say=lambda line: print(f"{domain}: {line}", flush=True),
    )
    minutes = (time.monotonic() - began) / 60
    print(f"{domain}: {found.verdict()}\n\n{found.table()}\n", flush=True)
    around = found.estimate.interval if found.estimate else None
    outcome = {
        "domain": domain,
        "encoder": Path(given.encoder).name,
        "start": start,
        "judge": found.judge.name or f"{given.ask} questions",
        "verdict": found.verdict(),
        "finding": found.estimate.finding if found.estimate else "none",
        "chosen": found.chosen,
        "baseline": found.baseline,
        "gain": found.estimate.gain if found.estimate else None,
        "low": around.low if around else None,
        "high": around.high if around else None,
        "minutes": minutes,
        "budget": given.budget,
    }
    write(place / OUTCOME, json.dumps(outcome, indent=1))


def _by_labels(
    given: argparse.Namespace, domain: str, methods: Sequence[str], place: Path, corpus: Path
) -> dict[str, float]:
    """Mean accuracy of everything that could have been advised."""
    store = Store(place / "labels")
    store.prepare()
    data_dir = str(given.data_dir) if given.data_dir else ""
    at_once = workers_of("auto", 1, "cpu")
    runs = Runs(
        given.encoder, corpus, domain, data_dir, given.steps, SCALE, store, at_once, 1, "cpu", "auto", False,
        lambda _: nullcontext(lambda event: print(type(event).__name__, getattr(event, "key", ""), flush=True)),
    )  # fmt: skip
    size = len(corpus.read_text(encoding="utf-8").splitlines())
    names = [*UNTRAINED, *methods]
    runs.run(runs.grid(names, SEEDS, [size]))
    found = runs.samples(names, SEEDS, size, domain)
    return {name: fmean(one.points.values()) for name, one in found.items()}


def trials(records: Path) -> list[Trial]:
    """All that are whole."""
    held = [json.loads(path.read_text()) for path in sorted(records.glob(f"*/*/{OUTCOME}"))]
    return [Trial(**one) for one in held if "by_labels" in one]


def _row(one: Trial) -> tuple[str, ...]:
    judged = "--" if one.gain is None else f"{one.gain:+.1f}"
    if one.low is not None and one.high is not None:
        judged += f" ({one.low:+.1f} to {one.high:+.1f})"
    advised = one.chosen if one.chosen != one.baseline else f"keep {one.baseline}"
    return (
        one.encoder, one.domain, one.judge, one.finding, advised, judged, f"{one.by_labels[one.baseline]:.2f}",
        f"{one.followed():+.2f}", f"{one.missed():.2f}", f"{one.minutes:.1f} of {one.budget:g}",
    )  # fmt: skip


HEADER = (
    "start",
    "domain",
    "judge",
    "finding",
    "advised",
    "by the judge",
    "untrained",
    "followed",
    "missed",
    "minutes",
)


def read(records: Path) -> None:
    """From what `run` has left to trials.csv and the page."""
    found = trials(records)
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("encoder", "domain", "judge", "finding", "verdict", "minutes", "budget", "method", "accuracy"))
        for one in found:
            for method, points in one.by_labels.items():
                head = (one.encoder, one.domain, one.judge, one.finding, one.verdict)
                writer.writerow((*head, f"{one.minutes:.2f}", f"{one.budget:g}", method, f"{points:.4f}"))
    page = PAGE.read_text(encoding="utf-8")
    before, marker, after = page.partition(MARKER)
    rest = after.partition("\n<!-- end -->")[2]
    table = "\n".join(aligned([_row(one) for one in found], HEADER))
    said = "\n".join(f"- {one.encoder}, {one.domain}: {one.verdict}" for one in found)
    write(PAGE, f"{before}{marker or MARKER}\n```\n{table}\n```\n\n{said}\n\n<!-- end -->{rest}")
    print(table)


def main() -> None:
    """Recommend and score, or write the page."""
    parser = argparse.ArgumentParser(description="Recommendations for domains with hidden labels.")
    parser.add_argument("what", choices=("run", "read"))
    parser.add_argument("--records", type=Path, required=True)
    parser.add_argument("--data-dir", type=Path, help="folder of SentEval's files")
    parser.add_argument("--domains", default="banking77,cr,trec")
    parser.add_argument("--encoder", default="cseb-tiny")
    parser.add_argument("--methods", default="")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--budget", type=float, default=10)
    parser.add_argument("--ask", type=int, default=0, help="questions that are answered from the labels")
    given = parser.parse_args()
    if given.what == "run":
        run(given)
    else:
        read(given.records)


if __name__ == "__main__":
    main()
