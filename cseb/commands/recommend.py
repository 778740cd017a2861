"""The command that recommends a training method for a user's sentences, or to keep the encoder as it is."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cseb.commands.arguments import joined
from cseb.commands.command_line import Call, Quiet
from cseb.commands.screen import say, say_folded
from cseb.errors import BadSpec
from cseb.parameters import (
    COLUMN,
    CORPUS_HELP,
    DATA_DIR,
    DEVICE,
    ENCODER,
    TRUST_REMOTE_CODE,
    argument,
    command,
    option,
)
from cseb.progress import reading, remark
from cseb.text import duration, quantity

if TYPE_CHECKING:
    from cseb.advice.conclusion import Recommendation
    from cseb.commands.trials import Runs, Trials

EVAL = option(
    "Labelled examples that decide, 30 or more: a file of rated pairs, of labelled sentences or of questions and "
    "answers, or a task such as banking77."
)


@command
def recommend(
    corpus: Annotated[str, argument(CORPUS_HELP)],
    *,
    encoder: Annotated[str, ENCODER] = "cseb-tiny",
    eval: Annotated[str | Path, EVAL] = "",
    methods: Annotated[str | Sequence[str], option("Methods to compare, best guess first. Default: four.")] = "",
    make_pairs: Annotated[int, option("Write a file of so many pairs of sentences to rate, such as 40, and stop.")] = 0,
    budget: Annotated[str, option("Time, such as 30m or 2h, which limits the number of methods and seeds.")] = "",
    steps: Annotated[int, option("Optimiser steps of every method.", least=1)] = 100,
    out: Annotated[str | Path, option("Folder for the recommended model.")] = "",
    results: Annotated[str | Path, option("Folder of records. Default: my.recommend beside my.txt.")] = "",
    data_dir: Annotated[str | Path, DATA_DIR] = "",
    column: Annotated[str, COLUMN] = "",
    workers: Annotated[str | int, option("Runs at a time; auto is one for each core or GPU.")] = "auto",
    device: Annotated[str, DEVICE] = "auto",
    trust_remote_code: Annotated[bool, TRUST_REMOTE_CODE] = False,
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
    from cseb.advice.model import check_target
    from cseb.commands import hosts
    from cseb.commands.trials import Trials

    if bool(eval) == bool(make_pairs):
        raise BadSpec("give labelled examples with `eval`, or write pairs of sentences to rate with `make_pairs` 40")
    if make_pairs and (methods or budget or out):
        raise BadSpec("`methods`, `budget` and `out` need `eval`; `make_pairs` only writes pairs to rate")
    limit, where = hosts.seconds_of(budget, "budget"), hosts.device_of(device)
    settings = {"data_dir": str(data_dir), "threads": 1, "device": where, "trust_remote_code": trust_remote_code}
    folder = Path(results) if results else None
    trials = Trials(corpus, column, encoder, steps, folder, hosts.workers_of(str(workers), 1, where), settings)
    if make_pairs:
        return _pairs(trials, make_pairs)
    named = trials.methods(joined(methods), "") if methods else []
    target = Path(out) if out else None
    if target is not None:
        check_target(target, named)
    return _compared(trials, str(eval), joined(methods), limit, target, dry_run)


def print_recommendation(call: Call[Recommendation], *, quiet: Quiet = False) -> None:
    """Print the plan, then the recommendation."""
    with nullcontext() if quiet else reading(partial(say_folded, err=True)):
        recommendation = call()
    say_folded(recommendation.sentence if quiet else str(recommendation))
    if recommendation.model is not None and not quiet:
        say(f"model: {recommendation.model}")


def _pairs(trials: Trials, count: int) -> Recommendation:
    """Write pairs of sentences to rate."""
    from cseb.advice import rating
    from cseb.advice.conclusion import Recommendation
    from cseb.embedders import find
    from cseb.embedders.interface import EncoderOptions
    from cseb.tasks.words import transductive_tf_idf

    file = trials.folder.with_name(f"{trials.folder.stem}-pairs.csv")
    options = EncoderOptions(**{name: trials.settings[name] for name in ("device", "trust_remote_code")})
    sentences = rating.sampled(trials.sentences)
    embeds = [find(trials.as_it_is, options).open(), transductive_tf_idf]
    rating.write_pairs(file, rating.pairs_to_rate(sentences, count, embeds))
    return Recommendation(
        f"Wrote {quantity(count, 'pair')} to {file}. Rate each in the column score, from 0 (unrelated) to 5 (same "
        f"meaning). Then run: cseb recommend {trials.corpus} --encoder {trials.encoder} --eval {file}"
    )


def _compared(
    trials: Trials, task: str, methods: str, limit: float | None, out: Path | None, dry_run: bool
) -> Recommendation:
    """Compare methods with the encoder without training on labelled examples."""
    from cseb.advice.conclusion import TF_IDF, Recommendation, best_base, conclude, row
    from cseb.advice.examples import Examples, repeated
    from cseb.advice.schedule import detectable, fitting
    from cseb.commands.trials import POOLED

    examples = Examples.read(task, trials.settings["data_dir"])
    selecting, deciding = map(len, examples.parts)
    texts, shared = examples.overlap(set(trials.sentences))
    if shared:
        remark(f"{shared:,} of {texts:,} texts of {task} are also training sentences; their labels are not used.")
    baselines = examples.scored(trials.baselines(task))
    scores = ", ".join(f"{name} {samples[1].mean:.2f}" for name, samples in baselines.items())
    remark(f"Baselines on {deciding:,} deciding examples: {scores}.")
    base = best_base([samples[0] for name, samples in baselines.items() if name != TF_IDF])
    untrained = baselines[base][1]
    seconds = trials.seconds(trials.methods(methods, base))
    plan = fitting(seconds, trials.workers, limit)
    remark(
        f"Plan: {plan}, about {duration(plan.seconds(seconds, trials.workers))} in all. Differences below about "
        f"{detectable(untrained, plan.deciding):.1f} points cannot be detected with these examples."
    )
    rows = [row(untrained, *samples) for samples in baselines.values()]
    notes = [
        f"{selecting:,} examples select pooling and method, {deciding:,} others decide.",
        f"Difference: to {base} on the deciding examples, with 95 % interval.",
    ]
    if dry_run:
        return Recommendation("Nothing was trained (--dry-run).", "", tuple(rows), tuple(notes))
    runs = trials.run(plan.methods, range(plan.selecting), task)
    tried = examples.scored(runs.items, runs.failures)
    best = max(tried, key=lambda name: tried[name][0].mean, default=plan.methods[0])
    if tried or not plan.selecting:
        runs |= trials.run([best], plan.deciding_seeds[:1], task, save=out is not None)
        runs |= trials.run([best], plan.deciding_seeds[1:], task)
    decided = {seed: items for seed, items in runs.items.get(best, {}).items() if seed in plan.deciding_seeds}
    _, final = examples.scored({best: decided} if decided else {}, runs.failures).get(best, (None, None))
    reference, words = (repeated(baselines[name][1], plan.deciding_seeds) for name in (base, TF_IDF))
    sentence, chosen = conclude(reference, final, words, len(plan.methods))
    for name in dict.fromkeys([*tried, *([best] if final else [])]):
        rows.append(row(reference, tried.get(name, (None, None))[0], final if name == best else None))
    notes += [f"A run of {name} failed: {reason}." for name, reason in runs.failures.items()]
    if chosen == base and base.endswith(POOLED) and out is not None:
        best = base.removesuffix(POOLED)
        runs = trials.run([best], range(1), task, save=True)
    elif chosen in baselines and out is not None:
        notes.append(f"No model was written: use {TF_IDF if chosen == TF_IDF else trials.encoder} as it is.")
        out = None
    return _with_model(Recommendation(sentence, chosen, tuple(rows), tuple(notes)), runs, best, out, task, trials)


def _with_model(
    recommendation: Recommendation, runs: Runs, method: str, out: Path | None, task: str, trials: Trials
) -> Recommendation:
    """Write the model of a method, the first of its seeds that was saved, to `out`, if there is one."""
    from cseb.advice.model import export

    if out is None:
        return recommendation
    folder, seed = runs.models[method]
    export(folder, out, recommendation, runs.items[method][seed], task, trials.settings["data_dir"])
    return replace(recommendation, model=out)
