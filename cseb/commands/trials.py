"""The baselines and runs behind a recommendation, all of them ordinary records in one folder."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cseb.errors import BadData, BadSpec
from cseb.progress import heard, reading, remark
from cseb.text import quantity

if TYPE_CHECKING:
    from cseb.commands.planned_grid import PlannedGrid
    from cseb.launchers.job_runner import Event
    from cseb.records.items import Items
    from cseb.records.store import Store

METHODS = ("crops", "simcse", "esimcse")  # those that need nothing but sentences, the most promising first
OF_RAW, OF_FINISHED = "tsdae", "skd+own_teacher"  # a few steps of TSDAE spoil a finished encoder: results/practitioner
RATE, WIDTH = 3e-5, 768  # SimCSE's learning rate and the width that it is for; Adam's scales with 1 / width (muP)
FEWEST = 100  # sentences of a corpus
POOLED = " pooling"  # behind the name of a pooling, in the table
POOLINGS = ("mean", "cls")  # beside the encoder's own; both are in sentence-transformers, too
DROPOUT = "+recipe(dropout=0.1)"  # for methods whose views differ by dropout, where an encoder has none


@dataclass(frozen=True)
class Trials:
    """The settings of all baselines and runs, which are options of `recommend`, and the finished runs."""

    corpus: str
    column: str
    encoder: str
    steps: int
    results: Path | None
    workers: int
    settings: Mapping[str, Any]  # further ones that scoring and training take
    items: dict[str, dict[int, Items]] = field(default_factory=dict)  # what a run did on each example, by method, seed
    failures: dict[str, str] = field(default_factory=dict)  # reasons, by method
    models: dict[str, Path] = field(default_factory=dict)  # folders of saved models, by method
    ended: set[str] = field(default_factory=set)  # keys of the runs that this command has trained

    @cached_property
    def sentences(self) -> list[str]:
        """Return the sentences of the corpus; of pairs the first of each. Raises: BadData if they are few."""
        from cseb.data.corpus import read_corpus
        from cseb.experiment.corpus_checks import remarks

        corpus = read_corpus(self.corpus, self.column, self.settings["data_dir"])
        if len(corpus) < FEWEST:
            raise BadData(f"{self.corpus} has {quantity(len(corpus), 'sentence')}; {FEWEST} or more are needed")
        for line in remarks(corpus):
            remark(line)
        return corpus.texts(range(len(corpus)), ())

    @cached_property
    def folder(self) -> Path:
        """Return the folder of records."""
        path = Path(self.corpus)
        name = re.sub(r"[^\w.-]+", "-", path.name.partition(".")[0] if path.is_file() else self.corpus)
        return self.results or (path.parent if path.is_file() else Path()) / f"{name}.recommend"

    @cached_property
    def store(self) -> Store:
        """Return the store of the records."""
        from cseb.records.store import Store

        return Store(self.folder)

    @cached_property
    def start(self) -> Path:
        """Return the folder of the encoder."""
        from cseb.data.weights import find_encoder

        return find_encoder(self.encoder)[0]

    @property
    def as_it_is(self) -> str:
        """Return the encoder with its own modules, as `cseb eval` names it."""
        modules = (self.start / "modules.json").is_file() and not Path(self.encoder).is_dir()
        return f"st:{self.encoder}" if modules else self.encoder

    @cached_property
    def scale(self) -> str:
        """Return options in place of the methods' own recipes, which are for a million sentences."""
        from cseb.encoder.loading import shape_of

        rate = RATE * WIDTH / shape_of(self.start, trust_remote_code=self.settings["trust_remote_code"]).width
        return f"recipe(batch_size=32, learning_rate={float(f'{rate:.1g}')}), queue(size=64)"

    def baselines(self, task: str) -> dict[str, dict[int, Items]]:
        """Return what each pooling of the encoder did on each example, by its name and seed 0, its own first.

        A pooling that the encoder does not have, or whose vectors are all equal, is left out.
        """
        from cseb.advice.conclusion import AS_IT_IS
        from cseb.commands.evaluate import evaluate
        from cseb.data.finished_models import is_finished
        from cseb.embedders.folders import default_pooler

        finished = is_finished(self.start)
        own = [] if finished else [default_pooler(self.start, self.settings["trust_remote_code"])]
        poolers = {AS_IT_IS: ""} if finished else {}
        poolers |= {f"{pooler}{POOLED}": pooler for pooler in dict.fromkeys([*own, *POOLINGS])}
        items = {}
        for name, pooler in poolers.items():
            encoder = self.as_it_is if name == AS_IT_IS else self.encoder
            try:
                scores = evaluate(encoder, task, pooler=pooler, results=self.folder, **self.settings)
            except BadSpec:
                if pooler not in POOLINGS:
                    raise
                continue
            if not scores.failed:
                items[name] = {0: self._items(scores.record.key)}
            elif name == AS_IT_IS:
                raise BadData(f"{name} has no score on {task}: {next(iter(scores.failed.values()))}")
        if not items:
            raise BadData(f"{self.encoder} has no score on {task}: with every pooling all vectors are equal")
        return items

    def methods(self, base: str) -> list[str]:
        """Return the methods for this encoder, with the pooling, and maybe the modules, of the baseline `base`."""
        from cseb.advice.conclusion import AS_IT_IS, pooler_of
        from cseb.data.finished_models import is_finished
        from cseb.methods.grammar import parse_method

        pooler = base.removesuffix(POOLED) if base.endswith(POOLED) else pooler_of(self.start)
        names = (*METHODS, OF_FINISHED if is_finished(self.start) else OF_RAW)
        same = {name: parse_method(name).at(1.0).pooler.name == pooler for name in names}
        kept = "+own_modules" if base == AS_IT_IS and self._keeps_modules() else ""
        return [f"{name}{kept}" if same[name] else f"{name}+{pooler}{kept}" for name in names]

    def untrained(self, base: str) -> str:
        """Return the method that pools like the baseline `base` and trains nothing, such as `mean` or `cls+last`."""
        from cseb.embedders.folders import untrained_method

        return str(untrained_method(base.removesuffix(POOLED)))

    def _keeps_modules(self) -> bool:
        """Return whether training can keep what the encoder does after the pooling, such as dividing by the norm."""
        from cseb.methods.grammar import parse_method
        from cseb.training.build import check

        try:
            check(parse_method("mean+own_modules").at(1.0), self.start, self.settings["trust_remote_code"])
        except BadSpec:
            return False
        return True

    def check(self, methods: Sequence[str], task: str) -> None:
        """Raise BadSpec if a method cannot be trained on this encoder."""
        for method, reason in self._refused(methods, task).items():
            raise BadSpec(f"{method}: {reason}")

    def _refused(self, methods: Sequence[str], task: str) -> dict[str, str]:
        """Return why methods cannot be trained on this encoder, by method."""
        from cseb.experiment.grid import check_parts

        reasons: dict[str, str] = {}
        for job in self._planned(methods, 1, task).grid.jobs if methods else ():
            try:
                check_parts([job])
            except BadSpec as error:
                reasons[job.label] = str(error).removeprefix(f"{job.label}: ")
        return reasons

    def fitting(self, methods: Sequence[str], task: str) -> list[str]:
        """Return the methods that can be trained on this encoder, with a dropout rate where they need one.

        A remark names the others. Raises: BadSpec if no method is left.
        """
        refused = self._refused(methods, task)
        still = self._refused([f"{method}{DROPOUT}" for method in refused], task)
        for method, reason in refused.items():
            if f"{method}{DROPOUT}" in still:
                remark(f"{method} is left out: {reason.partition(';')[0]}.")
        labels = [f"{method}{DROPOUT}" if method in refused else method for method in methods]
        if not (fitting := [label for label in labels if label not in still]):
            raise BadSpec(f"no default method can be trained on {self.encoder}; name one with `methods`")
        return fitting

    def chosen(self, named: list[str], base: str, task: str) -> list[str]:
        """Return the methods named, else the default ones that fit. A remark says if they cut many sentences."""
        from cseb.experiment.corpus_checks import length_remark
        from cseb.methods.grammar import parse_method

        methods = named or self.fitting(self.methods(base), task)
        if line := length_remark([parse_method(method).at(1.0) for method in methods], self.sentences):
            remark(line)
        return methods

    def _planned(self, methods: Sequence[str], seeds: int, task: str, save: bool = False) -> PlannedGrid:
        """Return the grid of methods and seeds on all sentences."""
        from cseb.commands.run import plan_grid
        from cseb.experiment.benchmark import Benchmark

        grid: dict[str, Any] = {"methods": ",".join(methods), "fractions": (1.0,), "seeds": seeds, "tasks": task}
        own: dict[str, Any] = {name: getattr(self, name) for name in ("encoder", "corpus", "column", "scale", "steps")}
        options = dict(self.settings)
        benchmark = Benchmark(name="recommend", data_dir=options.pop("data_dir"), **grid, **own)
        with reading(lambda _: None):  # what planning remarks about the corpus was said before
            return plan_grid(benchmark, self.folder, workers=self.workers, save_models=save, **options)

    def run(self, methods: Sequence[str], seeds: range, task: str, save: bool = False, after: int = 0) -> None:
        """Train and score methods on all sentences; runs that have a record are not repeated.

        seeds: of every method. save: whether to save the models. after: runs that follow, for the progress. Raises:
        KeyboardInterrupt if it is interrupted.
        """
        from cseb.launchers.job_runner import Broken, Finished

        if not seeds:
            return
        planned = self._planned(methods, seeds.stop, task, save)
        jobs = {job.key: job for job in planned.grid.jobs if job.seed in seeds}
        todo = [job for job in planned.grid.todo if job.key in jobs]
        listener, total = heard(), len(self.ended) + len(todo) + after

        def watch(event: Event) -> None:
            if isinstance(event, Broken):
                self.failures[jobs[event.key].label] = event.reason
            if isinstance(event, Broken | Finished):
                self.ended.add(event.key)
            if listener is not None:
                listener("training", len(self.ended), total)

        planned = replace(planned, grid=replace(planned.grid, jobs=list(jobs.values()), todo=todo))
        if todo and planned.run(lambda _: nullcontext(watch)).stopped:
            raise KeyboardInterrupt
        for key, job in jobs.items():
            if (record := self.store.find(key)) is None:
                continue
            if record.failure is not None:
                self.failures[job.label] = record.failure.reason
                continue
            self.items.setdefault(job.label, {})[job.seed] = self._items(key)
            if save and (folder := self.folder / "models" / key).is_dir():
                self.models[job.label] = folder

    def _items(self, key: str) -> Items:
        """Return what the run of a record did on each example, at its last checkpoint."""
        return next(items for name, items in self.store.read_items(key).items() if name.endswith("/last"))
