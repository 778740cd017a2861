"""Where things and numbers come from: show, sample, verify, rerun, diff."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cseb.errors import BadBenchmark, BadResults
from cseb.progress import tell

if TYPE_CHECKING:
    from cseb.data.corpus import Corpus
    from cseb.explain.diff import Variant
    from cseb.explain.verify import Checked
    from cseb.records.record import Record

RECORD = re.compile(r"[0-9a-f]{4,16}|.*\.json")  # what means a record rather than a method
PUBLISHED = "published"


def show(name: str, results: str | Path = "results", *, benchmark: str = "") -> str:
    """A method, a part or a record in full.

    Args:
        name: a method such as ``simcse+ami``, a part, or a record by its key, the beginning of one, or its file.
        results: folder of records.
        benchmark: of a method: also what this benchmark's scale and steps put in place of its own options.

    Returns:
        Sources, options, deviations from the paper and published numbers; of a record its whole origin.

    Raises:
        CsebError: if there is no such thing.

    Examples:
        >>> import cseb
        >>> cseb.show("infonce").splitlines()[0][:7]
        'infonce'
    """
    from cseb.explain import describe

    if RECORD.fullmatch(name):
        return _origin(name, Path(results))
    return "\n\n".join(filter(None, (describe.show(name), _replaced(benchmark, name) if benchmark else "")))


def sample(
    corpus: str,
    *,
    fraction: float | None = None,
    size: int | None = None,
    seed: int = 0,
    column: str = "",
    data_dir: str | Path = "",
) -> list[str]:
    """The very sentences that a run with this seed trains on.

    Args:
        corpus: a file, ``wikipedia``, ``microworld:COUNT`` or ``hub:OWNER/NAME/FILE``.
        fraction: of the corpus, in (0, 1]; or `size`.
        size: number of sentences.
        seed: the seed that draws them.
        column: the column of a table's sentences, or several and what they are: ``anchor=title,positive=body``.
        data_dir: folder of task and corpus files in SentEval's layout, for a corpus ``data:FILE``.

    Returns:
        The sentences, in the order drawn; those of a smaller fraction come first in a larger one.

    Raises:
        BadData: if the corpus cannot be read.
        BadBenchmark: if it has too few sentences, or not exactly one of fraction and size is given.

    Examples:
        >>> import cseb
        >>> len(cseb.sample("microworld:1000", fraction=0.01))
        10
    """
    from cseb.data.subset import draw

    held, count = _counted(corpus, column, fraction, size, data_dir)
    return held.take(draw(len(held), count, seed))


@dataclass(frozen=True, slots=True)
class Written:
    """A file of sentences. corpus: how many there were to draw from. manifest: what says which ones they are."""

    size: int
    corpus: int
    manifest: Path | None


def write_sample(
    out: Path,
    corpus: str,
    *,
    fraction: float | None = None,
    size: int | None = None,
    seed: int = 0,
    column: str = "",
    data_dir: str | Path = "",
) -> Written:
    """What `sample` draws, in a file with a manifest beside it. Raises: CsebError."""
    from cseb.data.subset import write_subset

    held, count = _counted(corpus, column, fraction, size, data_dir)
    return Written(count, len(held), write_subset(out, held, count, seed))


def _counted(
    corpus: str, column: str, fraction: float | None, size: int | None, data_dir: str | Path
) -> tuple[Corpus, int]:
    from cseb.data.read_corpus import read_corpus
    from cseb.data.subset import size_of

    if (fraction is None) == (size is None):
        raise BadBenchmark("give --fraction or --size, one of them")
    held = read_corpus(corpus, column, str(data_dir))
    return held, size if size is not None else size_of(fraction or 0.0, len(held))


def verify(results: str | Path = "results", *, data_dir: str | Path = "") -> list[Checked]:
    """Work out every number of every record again from its items and the task files alone.

    Args:
        results: folder of records.
        data_dir: folder of task files; by default that of each record's benchmark.

    Returns:
        One entry for each record: `good`, `figures` (how many), `wrong` and `unknown` (why it cannot be checked).

    Raises:
        BadResults: if there is no such folder.
    """
    from cseb.experiment.load_item_scores import as_it_was_run
    from cseb.explain.verify import verify as verified
    from cseb.records.store import Store

    store, given = Store(Path(results)), str(data_dir)

    def place(name: str) -> str:
        loaded = None if given else as_it_was_run(store.folder, name)
        return loaded.data_dir if loaded else given

    return list(
        verified(store, {name: place(name) for name in {one.benchmark for one in store.load()[0]}} | {"": given})
    )


@dataclass(frozen=True, slots=True)
class Rerun:
    """A job run again. differing: what is not as in the record, and how far. conditions: what else differs here."""

    key: str
    differing: tuple[tuple[str, str], ...]
    conditions: tuple[str, ...]
    items: bool  # whether the record has items, which were compared too
    left_out: int  # how many scores have items that an archive leaves out on purpose

    @property
    def equal(self) -> bool:
        """Whether every score and item came back to the last bit."""
        return not self.differing


def rerun(
    record: str,
    results: str | Path = "results",
    *,
    data_dir: str | Path = "",
    column: str = "",
    trust_remote_code: bool = False,
) -> Rerun:
    """Run the very job of a record again and compare scores and items bit by bit.

    Args:
        record: its key, the beginning of one, or its file.
        results: folder of records.
        data_dir: folder of task files; by default that of the record's benchmark.
        column: the column of the sentences; by default the benchmark's.
        trust_remote_code: run Python code that comes with the encoder.

    Raises:
        CsebError: if the job cannot be run here as it was.
    """
    from cseb.experiment.load_item_scores import as_it_was_run
    from cseb.explain import rerun as again
    from cseb.records.find import find

    store, there = find(record, Path(results))
    loaded = as_it_was_run(store.folder, there.benchmark)
    job = again.job_of(
        there,
        column or (loaded.column if loaded and loaded.corpus == there.corpus.name else ""),
        str(data_dir) or (loaded.data_dir if loaded else ""),
        trust_remote_code,
    )
    try:
        held = store.read_items(there.key)
    except BadResults:
        held = None
    here, items = again.again(job, lambda seen: tell("training, step", seen.step, seen.steps))
    absent = items.keys() - (held or {}) if store.is_archived(there.key) else set()
    differing = tuple(again.compared(here, there, {name: items[name] for name in items.keys() - absent}, held))
    conditions = tuple(again.condition_differences(here, there))
    return Rerun(there.key, differing, conditions, held is not None, len(absent))


def diff(a: str | Path, b: str | Path, results: str | Path = "results") -> str:
    """What differs between two results, and how much of their gap each reading of them explains.

    Args:
        a: a record (its key, the beginning of one, or its file), or a folder of records.
        b: another one, or ``published`` for what papers print.
        results: folder of records named by key.

    Raises:
        BadResults: if there are no such records.
    """
    from cseb.explain import diff as differ
    from cseb.reports.text_table import aligned

    here = _side(str(a), Path(results))
    lines: list[str] = []
    if str(b) == PUBLISHED:
        for row in differ.printed_for(here[0]):
            reasons, variants = differ.against_printed(here, row)
            lines.append(f"{row.where}: {row.text}" + (f" ± {row.std_text}" if row.std_text else ""))
            lines += [f"  not as in the paper: {reason}" for reason in reasons] or ["  conditions as in the paper"]
            lines += [_read(variants, "ours", "theirs"), ""]
        return "\n".join(lines)
    there = _side(str(b), Path(results))
    rows = differ.field_differences(here, there)
    lines += aligned([("differs", "A", "B"), *rows]) if rows else ["nothing differs but the run itself"]
    cells = differ.matched(here, there) if Path(a).is_dir() or Path(b).is_dir() else [("", here, there)]
    for name, ours, theirs in cells:
        lines += [f"\n{name}" if name else "", _read(differ.variants(ours, theirs), "A", "B")]
    return "\n".join(lines)


def _origin(text: str, results: Path) -> str:
    from cseb.explain.provenance import story
    from cseb.records.find import find
    from cseb.reports.text_table import aligned

    store, record = find(text, results)
    blocks = [[heading, *(f"  {line}" for line in aligned(rows))] for heading, rows in story(record, store) if rows]
    return "\n\n".join("\n".join(block) for block in blocks)


def _replaced(benchmark: str, method: str) -> str:
    """What a benchmark's scale and steps replace in a method, at each of its fractions. Raises: CsebError."""
    from cseb.experiment import benchmark as benchmarks
    from cseb.experiment.plan import scaled
    from cseb.explain.provenance import replaced
    from cseb.methods.grammar import parse_method

    loaded, parsed = benchmarks.load(benchmark), parse_method(method)
    found: dict[str, None] = {}
    for fraction in loaded.fractions or (1.0,):
        rows = replaced(parsed.at(fraction).resolved(), scaled(loaded, parsed, fraction).resolved())
        found |= dict.fromkeys(f"  {name}: {message}" for name, message in rows)
    return "\n".join([f"replaced by the scale and steps of {loaded.name}", *(found or ["  nothing"])])


def _side(text: str, results: Path) -> Sequence[Record]:
    from cseb.records.find import find
    from cseb.records.store import Store

    if not Path(text).is_dir():
        return [find(text, results)[1]]
    records = Store(Path(text)).load()[0]
    if not records:
        raise BadResults(f"{text} holds no records")
    return records


def _read(variants: Sequence[Variant], a: str, b: str) -> str:
    """Readings as a table; the last column says how much of the gap as reported each explains."""
    from cseb.reports.text_table import aligned

    if not variants:
        return "  neither side has points: failed or collapsed"
    first = variants[0].gap
    rows = [("points", a, b, f"{b} - {a}", "explains")]
    for place, one in enumerate(variants):
        gap = one.gap
        explained = "" if not place or first is None or gap is None else f"{first - gap:+.2f} of {first:+.2f}"
        rows.append((one.name, _points(one.a), _points(one.b), "--" if gap is None else f"{gap:+.2f}", explained))
    return "\n".join(f"  {line}" for line in aligned(rows))


def _points(value: float | None) -> str:
    return "--" if value is None else f"{value:.2f}"
