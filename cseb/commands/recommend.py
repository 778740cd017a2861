"""The command that recommends a training method for a user's sentences, or to keep the encoder as it is."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cseb import parameters
from cseb.commands.command_line import Call
from cseb.commands.results import joined
from cseb.commands.screen import say, say_folded
from cseb.errors import BadResults, BadSpec
from cseb.parameters import argument, command, option
from cseb.progress import reading, remark
from cseb.text import quantity

if TYPE_CHECKING:
    from cseb.advice.conclusion import Recommendation
    from cseb.commands.trials import Trials
    from cseb.tasks.task import Embed

SELECTING, DECIDING = 3, 5  # seeds
EVAL = option(
    "Labelled examples that decide, 30 or more: a file of rated pairs, of labelled sentences or of questions and "
    "answers, or a task such as banking77."
)


@command
def recommend(
    corpus: Annotated[str, argument(parameters.CORPUS_HELP)],
    *,
    encoder: Annotated[str, parameters.ENCODER] = "cseb-tiny",
    eval: Annotated[str | Path, EVAL] = "",
    methods: Annotated[str | Sequence[str], option("Methods to compare, best guess first. Default: four.")] = "",
    make_pairs: Annotated[int, option("Write a file of so many pairs of sentences to rate, such as 40, and stop.")] = 0,
    steps: Annotated[int, option("Optimiser steps of every method.", least=1)] = 100,
    out: Annotated[str | Path, option("Folder for the recommended model.")] = "",
    results: Annotated[str | Path, option("Folder of records. Default: my.recommend beside my.txt.")] = "",
    data_dir: Annotated[str | Path, parameters.DATA_DIR] = "",
    column: Annotated[str, parameters.COLUMN] = "",
    workers: Annotated[str | int, parameters.WORKERS] = "auto",
    device: Annotated[str, parameters.DEVICE] = "auto",
    trust_remote_code: Annotated[bool, parameters.TRUST_REMOTE_CODE] = False,
    dry_run: Annotated[bool, option("Score the baselines and print the plan only.")] = False,
) -> Recommendation:
    """Recommend a training method for your sentences, or to keep the encoder as it is.

    Baselines come first: the encoder as it is, other poolings, TF-IDF. A few methods are then trained with 3 seeds. A
    third of the examples selects the best method; 5 further seeds and the other examples decide. Runs are ordinary
    records: repeat the command to continue after an interruption.

    Returns:
        The recommendation: a sentence, a table, and the folder of the model. With more than one worker, a script calls
        this under ``if __name__ == "__main__":``.

    Raises:
        CsebError: for what cannot be read, compared or trained, before the first run.
        KeyboardInterrupt: if it is interrupted; finished runs keep their records.
    """
    from cseb.advice.conclusion import check
    from cseb.commands import hosts
    from cseb.commands.trials import Trials
    from cseb.methods.grammar import labels

    if bool(eval) == bool(make_pairs):
        raise BadSpec("give labelled examples with `eval`, or write pairs of sentences to rate with `make_pairs` 40")
    if make_pairs and (methods or out):
        raise BadSpec("`methods` and `out` need `eval`; `make_pairs` only writes pairs to rate")
    where = hosts.device_of(device)
    settings = {"data_dir": str(data_dir), "threads": 1, "device": where, "trust_remote_code": trust_remote_code}
    folder = Path(results) if results else None
    trials = Trials(corpus, column, encoder, steps, folder, hosts.workers_of(str(workers), 1, where), settings)
    if make_pairs:
        return _pairs(trials, make_pairs)
    named, target = list(labels(joined(methods))) if methods else [], Path(out) if out else None
    check(named, target)
    return _compared(trials, str(eval), named, target, dry_run)


def print_recommendation(call: Call[Recommendation]) -> None:
    """Print the plan, then the recommendation."""
    with reading(partial(say_folded, err=True)):
        recommendation = call()
    say_folded(str(recommendation))
    if recommendation.model is not None:
        say(f"model: {recommendation.model}")


def _pairs(trials: Trials, count: int) -> Recommendation:
    """Write pairs of sentences to rate."""
    from cseb.advice import examples
    from cseb.advice.conclusion import Recommendation
    from cseb.embedders import find
    from cseb.embedders.interface import EncoderOptions
    from cseb.embedders.word_vectors import TfIdf

    folder = trials.folder.resolve()
    file = trials.folder.parent / f"{folder.stem}-pairs.csv"
    examples.refuse_written(file)
    options = EncoderOptions(**{name: trials.settings[name] for name in ("device", "trust_remote_code")})
    sentences = examples.sampled(trials.sentences)
    embeds: list[Embed] = [find(trials.as_it_is, options).open(), TfIdf(trials.sentences)]
    examples.write_pairs(file, examples.pairs_to_rate(sentences, count, embeds))
    column = ["--column", trials.column] if trials.column else []
    return Recommendation(
        f"Wrote {quantity(count, 'pair')} to {file}. Rate each in the column score, from 0 (unrelated) to 5 (same "
        f"meaning). Then run: cseb recommend {shlex.join([trials.corpus, *column])} --encoder {trials.encoder} --eval "
        f"{shlex.quote(str(file))}"
    )


def _compared(trials: Trials, task: str, named: list[str], out: Path | None, dry_run: bool) -> Recommendation:
    """Compare methods with the encoder without training on labelled examples."""
    from cseb.advice import conclusion
    from cseb.advice.conclusion import TF_IDF, Recommendation, best_base, conclude, detectable, row
    from cseb.advice.examples import Examples, repeated
    from cseb.commands.trials import POOLED

    examples = Examples.read(task, trials.settings["data_dir"])
    texts, shared = examples.overlap(set(trials.sentences))
    if shared:
        remark(f"{shared:,} of {texts:,} texts of {task} are also training sentences; their labels are not used.")
    trials.check(named, task)
    baselines = examples.scored(trials.baselines(task))
    base = best_base([samples[0] for samples in baselines.values()])
    untrained = baselines[base][1]
    failures: dict[str, str] = {}
    baselines |= examples.scored(examples.tf_idf(trials.sentences, failures), failures)
    scores = ", ".join(f"{name} {samples[1].mean:.2f}" for name, samples in baselines.items())
    remark(f"Baselines on {len(examples.parts[1]):,} deciding examples: {scores}.")
    methods = trials.chosen(named, base, task)
    seeds = SELECTING if len(methods) > 1 else 0  # of every method; a single one needs no selection
    last = range(seeds, seeds + DECIDING)
    plan = f"{len(methods)} methods with {seeds} seeds each, then {DECIDING} seeds of the best" if seeds else ""
    remark(
        f"Plan: {plan or f'{methods[0]} with {DECIDING} seeds'}. Differences below about "
        f"{detectable(untrained, DECIDING):.1f} points cannot be detected with these examples."
    )
    rows = [row(untrained, *samples) for samples in baselines.values()]
    notes = [
        *examples.notes(),
        f"Difference: to {base} on the deciding examples, with 95 % interval.",
        *(f"{name} has no score and is left out: {reason}." for name, reason in failures.items()),
    ]
    if dry_run:
        return Recommendation("Nothing was trained (--dry-run).", "", tuple(rows), tuple(notes))
    trials.run(methods, range(seeds), task, after=DECIDING)
    tried = examples.scored(trials.items, trials.failures)
    best = max(tried, key=lambda name: tried[name][0].mean, default=methods[0])
    if tried or not seeds:
        trials.run([best], last[:1], task, save=out is not None, after=DECIDING - 1)
        trials.run([best], last[1:], task)
    decided = {seed: items for seed, items in trials.items.get(best, {}).items() if seed in last}
    _, final = examples.scored({best: decided} if decided else {}, trials.failures).get(best, (None, None))
    words = repeated(baselines[TF_IDF][1], last) if TF_IDF in baselines else None
    reference = repeated(untrained, last)
    sentence, chosen = conclude(reference, final, words, len(methods))
    for name in dict.fromkeys([*tried, *([best] if final else [])]):
        rows.append(row(reference, tried.get(name, (None, None))[0], final if name == best else None))
    notes += [f"A run of {name} failed: {reason}." for name, reason in trials.failures.items()]
    if chosen == base and base.endswith(POOLED) and out is not None:
        best = trials.untrained(base)
        trials.run([best], range(1), task, save=True)
    elif chosen in baselines and out is not None:
        notes.append(f"No model was written: use {TF_IDF if chosen == TF_IDF else trials.encoder} as it is.")
        out = None
    recommendation = Recommendation(sentence, chosen, tuple(rows), tuple(notes))
    if out is None:
        return recommendation
    if best not in trials.models:
        raise BadResults(f"the model of {best} was not saved: {trials.failures.get(best, 'its folder is missing')}")
    conclusion.export(trials.models[best], out, recommendation)
    return replace(recommendation, model=out)
