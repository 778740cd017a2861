"""Where the task files lie: in a folder the user names, or in the copy that the papers' authors put on the hub."""

from __future__ import annotations

import shutil
import tarfile
import uuid
import zlib
from pathlib import Path

from platformdirs import user_cache_path

from cseb.data.hub import hub_file
from cseb.errors import BadData

# Data set and file: the files the papers were scored on. Other copies hold raw text without subsets: another protocol.
HUB = ("princeton-nlp/datasets-for-simcse", "senteval.tar")
ROOTS = (".", "senteval", "downstream", "data/downstream")  # where the folders may lie below --data-dir
FOLDERS = ("STS", "SICK", "MR", "CR", "SUBJ", "MPQA", "SST", "TREC", "MRPC")
WANTED = (
    "wanted below it: STS/STS12-en-test/STS.input.MSRpar.txt and STS.gs.MSRpar.txt, ..., "
    f"STS/STSBenchmark/sts-test.csv, SICK/SICK_test_annotated.txt, MR/rt-polarity.pos, ..., "
    f"as in {HUB[1]} of the data set {HUB[0]}"
)


def data_root(data_dir: Path | None) -> Path:
    """The folder that holds STS/, SICK/, MR/, ...; without `data_dir`, that of a download. Raises: BadData."""
    if data_dir is None:
        return _downloaded()
    for root in ROOTS:
        if any(folder in _names(data_dir / root) for folder in FOLDERS):
            return data_dir / root
    names = "/, ".join(FOLDERS)
    raise BadData(f"{data_dir} holds none of {names}/, nor do its folders {', '.join(ROOTS[1:])}; {WANTED}")


def _names(folder: Path) -> set[str]:
    try:
        return {each.name for each in folder.iterdir()}
    except OSError:  # not there, no folder, not ours to read
        return set()


def _downloaded() -> Path:
    try:
        archive = hub_file(*HUB)
        # the hub's cache calls a file by the hash of its content
        return data_root(unpacked(archive, user_cache_path("cseb") / f"senteval-{archive.resolve().name[:16]}"))
    except BadData as error:
        raise BadData(f"{error}; or name a folder with --data-dir; {WANTED}") from error


def unpacked(archive: Path, folder: Path) -> Path:
    """`folder`, with the content of the archive; it appears complete or not at all. Raises: BadData."""
    if folder.is_dir():
        return folder
    part = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}")
    try:
        with tarfile.open(archive) as tar:
            tar.extractall(part, filter="data")
        part.rename(folder)
    except (OSError, EOFError, tarfile.TarError, zlib.error) as error:
        if not folder.is_dir():  # otherwise another process was faster
            raise BadData(f"{archive} cannot be unpacked into {folder}: {error}") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return folder
