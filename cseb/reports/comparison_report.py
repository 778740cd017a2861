"""The sheets of one study: which families are compared, in which order they are shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cseb.analysis import paired
from cseb.analysis.comparable import tag
from cseb.analysis.item_scores import ItemScores
from cseb.analysis.paired import Family, Sample
from cseb.analysis.significance import MOST
from cseb.analysis.study import Study
from cseb.errors import BadResults, did_you_mean
from cseb.records.record import Select
from cseb.reports.captions import not_shown, signature
from cseb.reports.comparison import About, chances, clusters_in_words, effects
from cseb.reports.document import Value
from cseb.reports.learning_curve import learning_curve_sheet
from cseb.reports.ranking import ranks, single_tasks, where_curves_cross
from cseb.reports.sheet import Sheet
from cseb.statistics.paired import MARGIN
from cseb.text import percent, plain, quantity

UNRANKED = f"No groups and ranks of more than {MOST} methods: too many pairs to correct for; choose with --methods."
DEFAULT_BASELINE = "simcse"  # the baseline where none is named and the study has it


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be compared.

    baseline: a method as typed, "" for all pairs. tasks: as records name them, () for those that share the first one's
    protocol. singles: whether single tasks are shown as well. learning_curve: what more sentences bring to each
    method.
    """

    baseline: str
    select: Select
    tasks: Sequence[str] = ()
    margin: float = MARGIN
    singles: bool = False
    learning_curve: bool = False


def sheets(study: Study, wanted: Wanted, item_scores: ItemScores) -> list[Sheet]:
    """Comparisons, probabilities and ranks at every fraction, single tasks, the curve over fractions, what more brings.

    Raises: BadResults for a baseline that no record has, or if there is nothing to compare.
    """
    if wanted.baseline and wanted.baseline not in study.methods:
        raise BadResults(f"no record is of {wanted.baseline!r}; {did_you_mean(wanted.baseline, study.methods)}")
    if wanted.select == "best" and not study.records[0].protocol.dev:
        raise BadResults("no dev set has chosen a best checkpoint in these records; compare the last one instead")
    tasks, sizes = study.chosen(wanted.tasks), list(study.sizes)
    found = {size: paired.samples(study, size, tasks, wanted.select, item_scores) for size in sizes}
    shown: list[Sheet] = []
    for size in sizes:
        shown += _column(found[size], _about(study, wanted, tasks, size, found[size]), wanted, study.methods)
        if wanted.singles and _comparable(found[size], wanted.baseline):
            shown.append(_singles(study, wanted, size, tasks, item_scores))
    if len(sizes) > 1:
        shown += _curve(study, wanted, tasks, [found[size] for size in sizes], sizes)
    if wanted.learning_curve and (more := learning_curve_sheet(study, found, tasks, wanted.select)):
        shown.append(more)
    if not shown:
        raise BadResults("there are no two methods with scores at the same fraction and seeds; nothing can be compared")
    last = shown[-1]
    shown[-1] = replace(last, notes=(*last.notes, *_origin(study, wanted, tasks, sizes, item_scores)))
    return _once(shown)


def baseline_of(study: Study, asked: str) -> str:
    """The baseline that was asked for, or simcse, or the first method. Every comparison says which it was."""
    return asked or (DEFAULT_BASELINE if DEFAULT_BASELINE in study.methods else study.methods[0])


def _once(shown: Sequence[Sheet]) -> list[Sheet]:
    """Every note where it is first needed, and nowhere again."""
    said: set[str] = set()
    found = []
    for sheet in shown:
        found.append(replace(sheet, notes=tuple(note for note in sheet.notes if note not in said)))
        said |= set(sheet.notes)
    return found


def _column(found: Sequence[Sample], about: About, wanted: Wanted, methods: Sequence[str]) -> Iterator[Sheet]:
    """What is said of one set of samples; nothing if there is nothing to compare."""
    if not _comparable(found, wanted.baseline):
        return
    chosen = paired.family(_pairs(found, wanted.baseline), wanted.margin)
    if not chosen.pairs:
        return
    few = len(found) <= MOST
    shown = effects(chosen, about, (*_unequal(found), *_absent(methods, found), *([] if few else [UNRANKED])))
    yield from filter(None, (shown, chances(chosen, about, shown)))
    everyone = paired.family(paired.all_pairs(found), wanted.margin) if few else None
    if everyone and (ranked := ranks(found, everyone, about)):
        yield ranked


def _singles(study: Study, wanted: Wanted, size: int, tasks: Sequence[str], item_scores: ItemScores) -> Sheet:
    families = []
    for task in tasks:
        found = paired.samples(study, size, (task,), wanted.select, item_scores)
        families.append((task, paired.family(_pairs(found, wanted.baseline), wanted.margin)))
    return single_tasks(families, _about(study, wanted, tasks, size, ()))


def _curve(
    study: Study, wanted: Wanted, tasks: Sequence[str], by_size: Sequence[Sequence[Sample]], sizes: Sequence[int]
) -> list[Sheet]:
    found = paired.curve(sizes, by_size)
    what = f"{_average(tasks)}, mean over the curve from {sizes[0]:,} to {quantity(sizes[-1], 'sentence')} (log scale)"
    known: dict[str, Value] = {"encoder": study.encoder, "corpus": study.corpus, "sizes": " ".join(map(str, sizes))}
    known |= {"select": wanted.select, "tasks": " ".join(tasks)}
    lacking = next((one.lacking for one in found if one.lacking), "")
    about = About(what=what, where="over all fractions", baseline=wanted.baseline, known=known, lacking=lacking)
    shown = list(_column(found, about, wanted, study.methods))
    if shown:
        families = [paired.family(_pairs(each, wanted.baseline)) for each in by_size]
        notes = where_curves_cross(sizes, families, about, _covariances(families, by_size))
        shown[0] = replace(shown[0], notes=(*shown[0].notes, *notes))
    return shown


def _covariances(families: Sequence[Family], by_size: Sequence[Sequence[Sample]]) -> dict[tuple[str, str], np.ndarray]:
    """Covariance over items of the mean differences at all sizes, (F, F), of pairs whose items are known."""
    found = {}
    known = [{one.method: one for one in samples if one.contributions} for samples in by_size]
    for a, b in {(one.a, one.b) for each in families for one in each.pairs}:
        rows = []
        for held in known:
            if a in held and b in held:
                seeds = sorted(set(held[a].contributions) & set(held[b].contributions))
                each = [held[b].contributions[seed] - held[a].contributions[seed] for seed in seeds]
                if each:  # else the two have no seed in common here
                    rows.append(np.mean(each, axis=0))
        if len(rows) == len(by_size):
            found[a, b] = np.stack(rows) @ np.stack(rows).T
    return found


def _pairs(found: Sequence[Sample], baseline: str) -> list[tuple[Sample, Sample]]:
    if not _comparable(found, baseline):
        return []
    return paired.against(baseline, found) if baseline else paired.all_pairs(found)


def _comparable(found: Sequence[Sample], baseline: str) -> bool:
    return len(found) > 1 and (not baseline or any(one.method == baseline for one in found))


def _about(study: Study, wanted: Wanted, tasks: Sequence[str], size: int, found: Sequence[Sample]) -> About:
    fraction = study.sizes[size]
    known: dict[str, Value] = {"encoder": study.encoder, "corpus": study.corpus, "fraction": fraction, "size": size}
    known |= {"select": wanted.select, "tasks": " ".join(tasks)}
    return About(
        what=f"{_average(tasks)}, {wanted.select} checkpoint",
        where=f"at {percent(fraction)} of the corpus ({quantity(size, 'sentence')})",
        baseline=wanted.baseline,
        known=known,
        lacking=next((one.lacking for one in found if one.lacking), ""),
    )


def _unequal(found: Sequence[Sample]) -> list[str]:
    """Seeds that some methods have and others lack, failed and collapsed runs among them."""
    everything = sorted({seed for one in found for seed in one.points})
    lacking = {one.method: [seed for seed in everything if seed not in one.points] for one in found}
    named = [f"{plain(method)} {', '.join(map(str, seeds))}" for method, seeds in lacking.items() if seeds]
    return (
        [f"Seeds without scores (missing, failed or collapsed), excluded from pairs: {'; '.join(named)}."]
        if named
        else []
    )


def _absent(methods: Sequence[str], found: Sequence[Sample]) -> list[str]:
    """Methods that are not compared because they have no points here."""
    there = {one.method for one in found}
    named = [plain(method) for method in methods if method not in there]
    return [f"Not compared, without scores here: {', '.join(named)}."] if named else []


def _origin(
    study: Study, wanted: Wanted, tasks: Sequence[str], sizes: Sequence[int], item_scores: ItemScores
) -> Iterator[str]:
    """What all sheets rest on, said once."""
    first = study.records[0]
    yield from clusters_in_words(item_scores.clusters, tasks)
    if wanted.select == "best":
        yield (
            f"Best: the checkpoint with the highest score on the dev set {plain(first.protocol.dev)} "
            f"({quantity(first.protocol.dev_pairs, 'labelled item')})."
        )
    if not wanted.tasks:
        yield from not_shown(study, tasks)
    yield f"Encoder {tag(first.encoder)}; corpus {tag(first.corpus)}."
    yield signature(study, {size: study.sizes[size] for size in sizes}, tasks, [wanted.select])


def _average(tasks: Sequence[str]) -> str:
    return f"average of {len(tasks)} tasks" if len(tasks) > 1 else plain(tasks[0]).rpartition("@")[0]
