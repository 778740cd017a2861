"""Where sentences that a language model wrote are from: a small YAML file beside the corpus, read and checked."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import ConfigDict, StringConstraints, ValidationError
from pydantic.dataclasses import dataclass

from cseb.data.bounded import is_file
from cseb.data.readers import ending
from cseb.data.yaml_files import read_yaml
from cseb.errors import BadData, did_you_mean

SUFFIX = ".provenance.yaml"
GENERATED = "generated"  # what has been seen, as parts state it
UNKNOWN = "unknown"
LONGEST = 500  # characters of a field
NEEDED = ("generator", "date", "prompt_sha256", "licence")

Word = Annotated[str, StringConstraints(pattern=r"^[^\s,:\x00-\x1f\x7f]+$", max_length=100)]
Line = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]+$", max_length=LONGEST)]
Hash = Annotated[str, StringConstraints(pattern=rf"^([0-9a-f]{{64}}|{UNKNOWN})$")]
Day = Annotated[str, StringConstraints(pattern=rf"^([0-9]{{4}}(-[0-9]{{2}}(-[0-9]{{2}})?)?|{UNKNOWN})$")]


@dataclass(frozen=True, slots=True, kw_only=True, config=ConfigDict(extra="forbid", strict=True))
class Provenance:
    """Who wrote the sentences of a corpus, and from what.

    generator: the language model, in one word. date: when it wrote, a year at least. prompt_sha256: of the prompt's
    text. licence: of the sentences. seed_sentences: what it wrote from: "subset" where nothing but the sentences drawn,
    "none" where from nothing, else a corpus. filters: what was left out afterwards, and by which model.
    """

    generator: Word
    date: Day
    prompt_sha256: Hash
    licence: Line
    seed_sentences: Line = UNKNOWN
    filters: Line = "none"

    def __str__(self) -> str:
        prompt = self.prompt_sha256 if self.prompt_sha256 == UNKNOWN else f"sha256 {self.prompt_sha256}"
        return (
            f"{self.generator}, {self.date}; prompt: {prompt}; licence: {self.licence}; written from: "
            f"{self.seed_sentences}; filters: {self.filters}"
        )


def sidecar(path: Path) -> Path:
    """Return the file that says where a corpus is from: a.provenance.yaml for a.jsonl and a.jsonl.gz."""
    name = re.sub(r"\.gz$", "", path.name, flags=re.IGNORECASE)
    return path.with_name(name[: len(name) - len(ending(path))] + SUFFIX)


def provenance_of(path: Path, needed: bool = False) -> Provenance | None:
    """What stands beside a corpus file, None where there is nothing. Raises: BadData, also for nothing if `needed`."""
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
    found = read_yaml(path)
    if not isinstance(found, dict) or not all(isinstance(key, str) for key in found):
        raise BadData(f"{path} holds no fields; {FORM}")
    known = list(Provenance.__dataclass_fields__)
    if other := [key for key in found if key not in known]:
        raise BadData(f"{path}: no field is called {other[0][:40]!r}; {did_you_mean(other[0][:40], known)}")
    if lacking := [key for key in NEEDED if key not in found]:
        raise BadData(f"{path}: the field {lacking[0]} is missing; {FORM}")
    try:
        return Provenance(**{key: _plain(key, value) for key, value in found.items()})  # type: ignore[arg-type]  # checked here
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = str(first["loc"][0])
        raise BadData(f"{path}: {field} is {str(first['input'])[:60]!r}; {ALLOWED[field]} is needed") from None


def seen_in(seen: Sequence[str], provenance: Provenance | None) -> tuple[str, ...]:
    """What a method sees (`Method.data_seen`) on sentences of this provenance; an untrained one still sees nothing."""
    if provenance is None or not seen:
        return tuple(seen)
    return tuple(sorted({*seen} - {GENERATED} | {f"{GENERATED}:{provenance.generator}"}))


ALLOWED = {
    "generator": "a name without blanks, commas and colons, such as gpt-3.5-turbo",
    "date": f"a date such as 2023-05, or {UNKNOWN}",
    "prompt_sha256": f"the sha256 of the prompt, 64 hexadecimal digits, or {UNKNOWN}",
    **dict.fromkeys(("licence", "seed_sentences", "filters"), f"one line of at most {LONGEST} characters"),
}
FORM = f"write {', '.join(NEEDED)} there, such as `generator: gpt-3.5-turbo`, a field a line; {UNKNOWN} is allowed"


def _plain(field: str, value: object) -> object:
    """YAML reads a date as a date and a year as a number."""
    if field == "date" and isinstance(value, datetime.date):
        return value.isoformat()[:10]
    return str(value) if field == "date" and isinstance(value, int) and not isinstance(value, bool) else value
