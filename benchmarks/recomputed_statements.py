"""Conclusions that a page of results states in comments, compared with the archived records; see `recompute`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from benchmarks.recomputed_scores import against, growth, tasks_of

ROOT = Path(__file__).parents[1]


def named(path: Path) -> Path:
    """Return a path as differences show it: from the repository's root, if it lies below it."""
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path


@dataclass(frozen=True)
class Statement:
    """A conclusion that a page states, in a comment in the same paragraph.

    `<!-- msse,compcse > simcse; 1000,10000 -->`: both methods are significantly better at both sizes, with Holm's
    correction over all comparisons with the baseline in the folder. `<`: significantly worse; `=`: not significantly
    different; `!>`: not significantly better. `*` stands for any characters; `only:A,B > C`: A and B are, and no other
    method is. A number in place of the baseline compares each method with itself at that smaller size. `p=0.066` is
    the corrected p-value, or several with commas: of each method, at each size. `folder=PATH`, `tasks=NAME` and
    `select=last` replace the folder of the page, its first protocol and the best checkpoint.
    """

    methods: tuple[str, ...]
    relation: str
    baseline: str
    sizes: tuple[int, ...]
    options: Mapping[str, str]
    only: bool = False

    @classmethod
    def read(cls, text: str) -> Statement:
        """Return the statement of a comment. Raises: ValueError."""
        parts = [part.strip() for part in text.split(";")]
        words = re.fullmatch(r"(\S+) (!?>|<|=) (\S+)", parts[0])
        if words is None or len(parts) < 2:
            raise ValueError(f"{text!r} is no statement; write `METHODS > BASELINE; SIZES`")
        sizes = tuple(int(size) for size in parts[1].split(","))
        options = dict(part.split("=", 1) for part in parts[2:])
        methods = tuple(re.split(r",(?![^(]*\))", words[1].removeprefix("only:")))
        return cls(methods, words[2], words[3], sizes, options, words[1].startswith("only:"))

    def wrong(self, folder: Path) -> Iterator[str]:
        """Return the conclusions that are not as stated."""
        folder = ROOT / self.options["folder"] if "folder" in self.options else folder
        select = self.options.get("select", "best")
        tasks = tasks_of(folder, self.options.get("tasks", ""))
        if not tasks:
            yield f"{named(folder)} has no task {self.options.get('tasks')}"
            return
        allowed = {">": {"better"}, "<": {"worse"}, "=": {"inconclusive", "equivalent", "identical"}}.get(
            self.relation, {"worse", "inconclusive", "equivalent", "identical", "too few seeds"}
        )
        values = []
        for size in self.sizes:
            if self.baseline.isdigit():
                pairs = growth(folder, tasks, select, int(self.baseline), size)
            else:
                pairs = against(folder, tasks, select, size, self.baseline)
            if self.only:
                others = [m for m, pair in pairs.items() if pair.conclusion in allowed and m not in self.methods]
                yield from (f"{other} {self.relation} {self.baseline} with {size} sentences, too" for other in others)
            for name in self.methods:
                for method in [each for each in pairs if fnmatchcase(each, name)] or [name]:
                    found = pairs[method].conclusion if method in pairs else "without records"
                    values.append(f"{pairs[method].adjusted or 0.0:.3f}" if method in pairs else "none")
                    if found not in allowed:
                        yield f"{method} {self.relation} {self.baseline} with {size} sentences: it is {found}"
        if self.p and list(self.p) != values:
            yield f"{','.join(self.methods)} {self.relation} {self.baseline}: p = {', '.join(values)}"

    @property
    def p(self) -> tuple[str, ...]:
        """Return the p-values that it states."""
        return tuple(self.options["p"].split(",")) if "p" in self.options else ()


STATEMENT = re.compile(r"<!-- ((?:\S+) (?:!?>|<|=) .*?) -->", re.DOTALL)
P_VALUES = re.compile(r"\(p = ([^)]*)\)")


def check_statements(path: Path, folder: Path) -> Iterator[str]:
    """Return the stated conclusions of a page that are wrong, and conclusions and p-values without a comment."""
    for paragraph in re.split(r"\n(?=- |\n)", path.read_text("utf-8")):
        statements = STATEMENT.findall(paragraph)
        where = f"{named(path)}, {' '.join(paragraph.split())[:60]!r}"
        stated: set[str] = set()
        for statement in map(Statement.read, statements):
            yield from (f"{where}: {wrong}" for wrong in statement.wrong(folder))
            stated |= {*statement.p}
        sentences = STATEMENT.sub("", paragraph)
        printed = {p for text in P_VALUES.findall(sentences) for p in re.split(r", | and | to ", text)}
        yield from (f"{where}: p = {p} has no comment that says of what" for p in sorted(printed - stated))
        if "significant" in sentences and not statements and "no statement" not in paragraph:
            yield f"{where}: a conclusion without a comment that says which"
