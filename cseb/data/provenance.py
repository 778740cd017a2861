"""Provenance of sentences that a language model wrote: a small YAML file beside the corpus, read and checked."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, ConfigDict, StringConstraints, ValidationError
from pydantic.dataclasses import dataclass

from cseb.data.bounded import is_file, read_yaml
from cseb.data.readers import ending
from cseb.errors import BadData, did_you_mean

SUFFIX = ".provenance.yaml"
GENERATED = "generated"  # as parts state what they see
UNKNOWN = "unknown"
LONGEST = 500  # characters of a field
NEEDED = ("generator", "date", "prompt_sha256", "licence")
FORM = f"write {', '.join(NEEDED)} there, such as `generator: gpt-3.5-turbo`, a field a line; {UNKNOWN} is allowed"
ALLOWED = {
    "generator": "a name without blanks, commas and colons, such as gpt-3.5-turbo",
    "date": f"a date such as 2023-05, or {UNKNOWN}",
    "prompt_sha256": f"the sha256 of the prompt, 64 hexadecimal digits, or {UNKNOWN}",
    **dict.fromkeys(("licence", "seed_sentences", "filters"), f"one line of at most {LONGEST} characters"),
}


def _as_text(value: object) -> object:
    """Return the text of a date or year, which YAML reads as a date and a number."""
    is_year = isinstance(value, int) and not isinstance(value, bool)
    return str(value)[:10] if isinstance(value, datetime.date) or is_year else value


Word = Annotated[str, StringConstraints(pattern=r"^[^\s,:\x00-\x1f\x7f]+$", max_length=100)]
Line = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]+$", max_length=LONGEST)]
Hash = Annotated[str, StringConstraints(pattern=rf"^([0-9a-f]{{64}}|{UNKNOWN})$")]
Day = Annotated[
    str,
    StringConstraints(pattern=rf"^([0-9]{{4}}(-[0-9]{{2}}(-[0-9]{{2}})?)?|{UNKNOWN})$"),
    BeforeValidator(_as_text),
]


@dataclass(frozen=True, slots=True, kw_only=True, config=ConfigDict(extra="forbid", strict=True))
class Provenance:
    """Origin of the sentences of a corpus."""

    generator: Word  # the language model, in one word
    date: Day  # when it wrote them, a year at least
    prompt_sha256: Hash  # hash of the prompt's text
    licence: Line  # of the sentences
    seed_sentences: Line = UNKNOWN  # what they were written from: "subset" for the sentences drawn, "none", or a corpus
    filters: Line = "none"  # what was left out afterwards, and by which model

    def __str__(self) -> str:
        return (
            f"{self.generator}, {self.date}; sha256 of the prompt: {self.prompt_sha256}; licence: {self.licence}; "
            f"written from: {self.seed_sentences}; filters: {self.filters}"
        )


def sidecar(path: Path) -> Path:
    """Return the provenance file of a corpus: a.provenance.yaml for a.jsonl and a.jsonl.gz."""
    name = re.sub(r"\.gz$", "", path.name, flags=re.IGNORECASE)
    return path.with_name(name[: len(name) - len(ending(path))] + SUFFIX)


def provenance_of(path: Path, needed: bool = False) -> Provenance | None:
    """Return the provenance beside a corpus file, None if there is none. Raises: BadData, also if it is `needed`."""
    if not path.name:
        return None
    beside = sidecar(path)
    if is_file(beside):
        return read_provenance(beside)
    if needed:
        raise BadData(f"{path} is declared as generated and has no {beside.name} beside it; {FORM}")
    return None


def read_provenance(path: Path) -> Provenance:
    """Read a file of provenance. Raises: BadData, one line that names the field."""
    fields = read_yaml(path)
    if not isinstance(fields, dict):
        raise BadData(f"{path} holds no fields; {FORM}")
    names = list(Provenance.__dataclass_fields__)
    if unknown := [str(name)[:40] for name in fields if name not in names]:
        raise BadData(f"{path}: no field is called {unknown[0]!r}; {did_you_mean(unknown[0], names)}")
    if lacking := [name for name in NEEDED if name not in fields]:
        raise BadData(f"{path}: the field {lacking[0]} is missing; {FORM}")
    try:
        return Provenance(**fields)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        field = str(fault["loc"][0])
        raise BadData(f"{path}: {field} is {str(fault['input'])[:60]!r}; {ALLOWED[field]} is needed") from None


def seen_in(seen: Sequence[str], provenance: Provenance | None) -> tuple[str, ...]:
    """Return the data a method sees (`Method.data_seen`), given sentences of this provenance; none if untrained."""
    if provenance is None or not seen:
        return tuple(seen)
    return tuple(sorted({*seen} - {GENERATED} | {f"{GENERATED}:{provenance.generator}"}))
