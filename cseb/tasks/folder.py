"""Locate the task files: in the user's folder, or in the copy of the papers' authors on the hub."""

from __future__ import annotations

from pathlib import Path

from cseb.data.files import unpacked
from cseb.data.hub import hub_file
from cseb.data.manifest import OnHub, data_sets
from cseb.data.places import ROOTS, unpacked_at
from cseb.errors import BadData

# The files that the papers used. Other copies contain raw text without subsets, which is another protocol.
HUB = data_sets()["stsb"].hub or OnHub("", "")
FOLDERS = ("STS", "SICK", "MR", "CR", "SUBJ", "MPQA", "SST", "TREC", "MRPC")
WANTED = (
    "expected below it: STS/STS12-en-test/STS.input.MSRpar.txt and STS.gs.MSRpar.txt, ..., "
    "STS/STSBenchmark/sts-test.csv, SICK/SICK_test_annotated.txt, MR/rt-polarity.pos, ..., "
    f"as in {HUB.file} of the data set {HUB.repository}"
)


def data_root(data_dir: Path | None) -> Path:
    """Return the folder with STS/, SICK/, MR/, ...; without `data_dir`, that of a download. Raises: BadData."""
    if data_dir is None:
        return _downloaded()
    for root in ROOTS:
        if any(folder in _names(data_dir / root) for folder in FOLDERS):
            return data_dir / root
    names = "/, ".join(FOLDERS)
    raise BadData(f"{data_dir} holds none of {names}/, nor do its folders {', '.join(ROOTS[1:])}; {WANTED}")


def _names(folder: Path) -> set[str]:
    try:
        return {path.name for path in folder.iterdir()}
    except OSError:  # missing, not a folder, or not readable
        return set()


def _downloaded() -> Path:
    try:
        archive = hub_file(HUB.repository, HUB.file)
        return data_root(unpacked(archive, unpacked_at(archive)))
    except BadData as error:
        raise BadData(f"{error}; or name a folder with `data_dir`; {WANTED}") from error
