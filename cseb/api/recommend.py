"""Sentences in, advice out: which method, how much does it help, and the trained model."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from cseb.advice import judges, questions, trust
from cseb.advice.candidates import UNTRAINED
from cseb.advice.estimate import FRESH
from cseb.advice.options import Options, refuse_taken
from cseb.advice.race import ROUNDS
from cseb.commands.arguments import joined
from cseb.data import hub_upload
from cseb.errors import BadBenchmark
from cseb.methods.recipe import Recipe
from cseb.progress import tell
from cseb.records.store import Store
from cseb.text import duration

if TYPE_CHECKING:
    from cseb.advice.advise import Advice, Asker
    from cseb.advice.hold_out import Parts
    from cseb.advice.judges import Judge
    from cseb.advice.verdict import Recommendation
    from cseb.experiment.grid import Grid
    from cseb.launchers.events import Watch

STEPS = 100  # of every training of a race: a short one, so that a verdict on a CPU takes minutes
# What a short race on few sentences replaces in the methods' own recipes, which are made for a million sentences.
SCALE = "recipe(batch_size=32, eval_every=10), queue(size=64)"
MINUTES = 30.0


def recommend(
    corpus: str,
    *,
    encoder: str = "cseb-tiny",
    budget: float = MINUTES,
    judge: str | Path = "",
    tasks: str | Sequence[str] = "",
    teacher: str = "",
    ask: int = 0,
    asker: Asker | None = None,
    methods: str | Sequence[str] = "",
    steps: int = STEPS,
    out: str | Path | None = None,
    push: str = "",
    results: str | Path | None = None,
    data_dir: str | Path = "",
    column: str = "",
    workers: int | str = "auto",
    threads: int = 1,
    linear: str = "auto",
    device: str = "auto",
    trust_remote_code: bool = False,
    say: Callable[[str], None] = lambda _: None,
    show: Callable[[Grid], AbstractContextManager[Watch]] | None = None,
) -> Recommendation:
    """Race methods on a corpus and say which one to use, if any, as `cseb recommend` does.

    A fifth of the distinct sentences is held out; nothing trains on it. Every run is an ordinary record in `results`,
    so that the same call goes on where an earlier one was stopped. In a script with more than one worker, call it under
    ``if __name__ == "__main__":``.

    Args:
        corpus: a file with one sentence a line, a table, or a corpus by name; see `cseb.run`.
        encoder: what to start from: a folder, a hub name, or one that comes with cseb.
        budget: minutes for everything, earlier calls with the same `results` included.
        judge: your own task file, best of all rated pairs: two sentences and a score a line.
        tasks: tasks by name that judge instead, such as ``["snli", "clinc150"]``.
        teacher: a better encoder, whose similarities on held-out sentences judge instead.
        ask: how many questions about pairs of your sentences are answered instead, after the first round.
        asker: asks them: is given the answers so far, whose `answer` it calls for each, and the pairs of sentences.
        methods: that race; by default some that need nothing but sentences.
        steps: of every training.
        out: folder for the chosen model, trained on all distinct sentences.
        push: repository OWNER/NAME of the Hugging Face hub that this folder is pushed to.
        results: folder of records; by default ``my.recommend`` beside ``my.txt``.
        data_dir: folder of task files in SentEval's layout.
        column: the column of the sentences, if the corpus is a table, or several and what they are, as of `cseb.run`:
            methods take what they read, and sentences are held out of the first.
        workers: jobs at a time; ``auto`` is one for each core or GPU.
        threads: CPU threads of each job.
        linear: library of the linear layers on a CPU: ``blas``, ``onednn`` or ``auto``.
        device: ``auto``, ``cpu`` or ``cuda``.
        trust_remote_code: run Python code that comes with the encoder.
        say: is told one line after each step.
        show: makes what is told of every event of a round.

    Returns:
        The winner, its gain over the best untrained pooling with an interval, and the table behind it.

    Raises:
        CsebError: for what cannot be judged, raced or read, before anything trains.
        KeyboardInterrupt: if it is stopped before there is anything to say; later `Recommendation.stopped` says so.
    """
    options = Options(
        corpus=corpus,
        encoder=encoder,
        budget=budget,
        judge=str(judge),
        tasks=joined(tasks),
        teacher=teacher,
        ask=ask,
        methods=joined(methods),
        steps=steps,
        out=None if out is None else Path(out),
        push=push,
        results=None if results is None else Path(results),
        data_dir=str(data_dir),
        column=column,
        workers=workers,
        threads=threads,
        linear=linear,
        device=device,
        trust_remote_code=trust_remote_code,
    )
    return advise(options, say, show, asker)


def advise(
    options: Options,
    say: Callable[[str], None] = lambda _: None,
    show: Callable[[Grid], AbstractContextManager[Watch]] | None = None,
    asker: Asker | None = None,
) -> Recommendation:
    """As `recommend`, which says what the arguments are."""
    started = time.monotonic()
    if options.ask and asker is None:
        raise BadBenchmark("ask is given and nobody who asks; give asker, or run cseb recommend in a terminal")
    if options.out is not None:
        refuse_taken(options.out)
    store = Store(options.folder)
    advice, whole = _prepared(options, store, started, say, show)
    advice.asker = asker
    try:
        advice.run()
    except KeyboardInterrupt:
        return advice.found(stopped=True)
    found = advice.found()
    if options.out is not None and found.estimate is not None:
        from cseb.advice.model import train_and_export

        say(f"training {found.chosen} on all {len(whole.train):,} distinct sentences")
        try:
            name = options.push or str(options.out)
            train_and_export(found, whole, advice.runs, advice.judge.decide, options.out, name, options.command())
        except KeyboardInterrupt:
            return replace(found, stopped=True)
        if options.push:
            tell(f"pushing {options.push}")
            say(f"pushed to {hub_upload.push(options.out, options.push)}")
    return found


def forecast(options: Options, say: Callable[[str], None]) -> list[str]:
    """What a call would run and how long that takes, without leaving anything in the folder of records."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder))
        advice, _ = _prepared(options, store, time.monotonic(), say, None)
        first, whole = advice.outlook()
    rounds = ", ".join(map(str, ROUNDS))
    lines = [
        f"races: {', '.join(advice.methods)}",
        f"rounds of {rounds} seeds in all, {options.steps} steps each, on {advice.size:,} sentences; untrained beside "
        f"them: {', '.join(UNTRAINED)}",
        f"then {len(FRESH)} fresh seeds of the winner, judged by {advice.judge.by}",
        *(f"left out: {label}: {why}" for label, why in advice.unfit.items()),
    ]
    if first is None or whole is None:
        return [*lines, "Run time unknown."]
    said = f"about {duration(first)} for the first round, {duration(whole)} for all, of {options.budget:g} min"
    return [*lines, said]


def _prepared(
    options: Options,
    store: Store,
    started: float,
    say: Callable[[str], None],
    show: Callable[[Grid], AbstractContextManager[Watch]] | None,
) -> tuple[Advice, Parts]:
    """Everything up to the race, and the distinct lines of the corpus, all to train on. Raises: CsebError."""
    tell("loading PyTorch")
    from cseb.advice.advise import Advice, beginning
    from cseb.advice.budget import Budget
    from cseb.advice.candidates import contestants
    from cseb.advice.hold_out import Parts, sentences_of, split
    from cseb.advice.look import look
    from cseb.advice.runs import Runs
    from cseb.api import hosts
    from cseb.data.read_corpus import read_corpus
    from cseb.data.weights import find_encoder
    from cseb.encoder import tokenizer
    from cseb.methods.grammar import labels

    device = hosts.device_of(options.device)
    at_once = hosts.workers_of(str(options.workers), options.threads, device)
    if options.tasks:
        judges.named(options.tasks)
    folder, _ = find_encoder(options.encoder)
    corpus = read_corpus(options.corpus, options.column, options.data_dir)
    limit = int(str(Recipe.preset["max_length"]))
    seen = look(sentences_of(corpus), tokenizer.read(folder, options.trust_remote_code), limit, options.encoder)
    for line in seen.lines():
        say(line)
    if corpus.provenance is not None:
        say(f"written by {corpus.provenance}")
    parts = split(corpus, seen.distinct)
    judge, vouched = _judge(options, trust.kind_of(folder), parts.held_out, store.folder, device)
    say(f"{len(parts.train):,} sentences to train on, {len(parts.held_out):,} held out; judge: {judge.by}")
    if options.judge or options.tasks:
        texts = [text for line in parts.train for text in line.split("\t")] if parts.roles else parts.train
        for line in _overlap(judge.tasks, options.data_dir, texts):
            say(line)
    runs = Runs(
        encoder=options.encoder,
        corpus=parts.save(store.folder),
        column=parts.column,
        tasks=judge.tasks,
        data_dir=options.data_dir,
        steps=options.steps,
        scale=SCALE,
        store=store,
        workers=at_once,
        threads=options.threads,
        device=device,
        linear=options.linear,
        trust_remote_code=options.trust_remote_code,
        show=show or (lambda _: nullcontext(lambda _: None)),
    )
    few = beginning(len(parts.train))
    advice = Advice(
        runs=runs,
        look=seen,
        judge=judge,
        methods=labels(options.methods) if options.methods else contestants(folder),
        size=len(parts.train),
        few=few,
        budget=Budget(runs, 60 * options.budget, started, 0 if options.out is None else 1, few > 0),
        say=say,
        trust=vouched,
        ask=options.ask,
    )
    advice.fit(named=bool(options.methods), saved=options.out is not None)
    return advice, Parts(corpus.take(seen.distinct), (), corpus.roles, corpus.provenance)


def _judge(options: Options, start: str, held_out: Sequence[str], folder: Path, device: str) -> tuple[Judge, str]:
    """The judge that was asked for, or the label-free one that is trusted most; and what is known of it."""
    if options.judge:
        return judges.rated(options.judge, folder), ""
    if options.tasks:
        return judges.named(options.tasks), ""
    if options.ask:
        task = questions.pool(held_out, folder)
        return judges.Judge(task, task, "agreement with your answers"), ""
    known = trust.measured(start)
    if options.teacher:
        from cseb.embedders import find
        from cseb.embedders.interface import EncoderOptions

        how = EncoderOptions(device=device, trust_remote_code=options.trust_remote_code)
        made = judges.teacher(options.teacher, find(options.teacher, how).open(), held_out, folder)
        return made, str(known.get("teacher", f"no teacher was tried on {trust.KINDS[start]}"))
    name = trust.best_label_free(known)
    return judges.LABEL_FREE[name](held_out, folder), str(known[name])


def _overlap(tasks: str, data_dir: str, sentences: Sequence[str]) -> list[str]:
    """One line for each task that has texts among the sentences to train on."""
    from cseb.data.overlap import TaskTexts
    from cseb.tasks.evaluate import load_task
    from cseb.tasks.names import parse_tasks

    folder = Path(data_dir) if data_dir else None
    texts = TaskTexts.of({task.name: load_task(task, folder).sentences() for task in parse_tasks(tasks)})
    return [
        f"overlap: {one.exact:,} of {one.texts:,} texts of {one.task} are among the sentences to train on, "
        f"{one.near:,} more nearly so (without their labels)"
        for one in texts.overlap(sentences)
        if one.exact or one.near
    ]
