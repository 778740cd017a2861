"""The Hugging Face hub: text of data sets, also from a folder that has a copy. No remote code is run."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from cseb.data.readers import Choose, Row, batch_rows
from cseb.errors import BadData, CsebError, first_line

_REF = re.compile(
    r"(?P<name>[\w.-]+(/[\w.-]+)?)(/(?P<file>[^:@]+))?(:(?P<config>[^:@/]+))?(@(?P<revision>[^:@]+))?", re.ASCII
)
_BATCH = 1000  # rows


class Reference(NamedTuple):
    """What follows `hub:` in the name of a corpus: a folder, a data set or one of its files."""

    name: str
    file: str = ""
    config: str | None = None
    revision: str | None = None
    is_folder: bool = False


def parse_reference(place: str) -> Reference:
    """Parse FOLDER, OWNER/NAME[:CONFIG][@REVISION] or OWNER/NAME/FILE[@REVISION].

    A folder has files (.parquet, .jsonl, .csv, ...). Raises: BadData.
    """
    with contextlib.suppress(OSError, ValueError):  # a path too long to be one
        if place and Path(place).is_dir():
            return Reference(place, is_folder=True)
    match = _REF.fullmatch(place)
    if match is None:
        raise BadData(
            f"hub:{place} is neither a folder nor OWNER/NAME[:CONFIG][@REVISION] or OWNER/NAME/FILE[@REVISION]"
        )
    return Reference(match["name"], match["file"] or "", match["config"], match["revision"])


def hub_rows(ref: str, reference: Reference, choose: Choose) -> Iterator[Row]:
    """Yield the rows of the `train` split of a data set. ref: its name for messages. Raises: BadData.

    choose: see `cseb.data.readers`.
    """
    number = 0
    try:
        for batch in _train_split(reference).iter(_BATCH):
            rows = batch_rows([batch], choose(list(batch)), ref, number)
            for number, cells in rows:
                yield number, cells
    except CsebError:
        raise
    except Exception as error:  # the library raises anything, from httpx to pyarrow
        raise BadData(
            f"{ref} cannot be read ({first_line(error)}); without a network, put its .parquet, .jsonl or .csv "
            "files into a folder and name it hub:FOLDER, or put one sentence on each line of a .txt file and name that"
        ) from error


def _train_split(reference: Reference) -> Any:
    import datasets

    if not reference.is_folder:
        _check_reachable(reference.name, reference.revision)
        return datasets.load_dataset(reference.name, name=reference.config, revision=reference.revision, split="train")
    return datasets.load_dataset(reference.name, split="train", streaming=True)  # read in place, no copy in a cache


def hub_file(name: str, file: str, revision: str | None = None) -> Path:
    """Return the local path of one file of a data set, downloaded if necessary. Raises: BadData."""
    from huggingface_hub import hf_hub_download

    wanted: dict[str, Any] = {"repo_id": name, "filename": file, "revision": revision, "repo_type": "dataset"}
    with contextlib.suppress(Exception):  # whatever is wrong with the local copy, a fresh one repairs it
        return Path(hf_hub_download(**wanted, local_files_only=True))
    try:
        _check_reachable(name, revision)
        return Path(hf_hub_download(**wanted))
    except Exception as error:
        raise BadData(
            f"{file} of the data set {name} cannot be fetched from the hub ({first_line(error)}); "
            f"without a network, copy it from another machine and name it by its path"
        ) from error


def _check_reachable(name: str, revision: str | None) -> None:
    """Fail at once when there is no network: the download itself would try for twenty seconds."""
    from huggingface_hub import HfApi, constants

    if not constants.HF_HUB_OFFLINE:
        HfApi().dataset_info(name, revision=revision, timeout=10)
