"""Text from the Hugging Face hub, or from a folder that holds a copy of a data set. No remote code is run."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cseb.data.checkpoint import MOST_FILES
from cseb.data.columns import Columns
from cseb.data.gzip_files import UNPACKED
from cseb.data.readers import LONGEST_FIELD, file_rows
from cseb.errors import BadData, CsebError
from cseb.progress import Listener, heard

_REF = re.compile(
    r"(?P<name>[\w.-]+(/[\w.-]+)?)(/(?P<file>[^:@]+))?(:(?P<config>[^:@/]+))?(@(?P<revision>[^:@]+))?", re.ASCII
)
_BATCH = 1000  # rows
SAVED = ("state.json", "dataset_dict.json")  # written by `save_to_disk` of a data set, and of one with splits


def hub_rows(place: str, column: str) -> Iterator[str]:
    """Return the text of every row of the `train` split of a data set, or of one of its files.

    place: what follows `hub:` in the name of a corpus, one of
    FOLDER (of .parquet, .jsonl, .csv, ... files, or written by `save_to_disk`),
    OWNER/NAME[:CONFIG][@REVISION], OWNER/NAME/FILE[@REVISION].

    Raises: BadData, which says what to do without a network.
    """
    with contextlib.suppress(OSError):  # a path too long to be one
        if place and Path(place).is_dir():
            _check_folder(Path(place))
            return _split_rows(f"hub:{place}", column, path=place, streaming=True)  # read in place, no copy in a cache
    ref = _REF.fullmatch(place)
    if ref is None:
        raise BadData(
            f"hub:{place} is neither a folder nor OWNER/NAME[:CONFIG][@REVISION] or OWNER/NAME/FILE[@REVISION]"
        )
    if ref["file"]:
        return file_rows(hub_file(ref["name"], ref["file"], ref["revision"]), column)
    return _split_rows(f"hub:{place}", column, path=ref["name"], name=ref["config"], revision=ref["revision"])


def _check_folder(folder: Path) -> None:
    """Raises: BadData if the library would wait for a FIFO or a device in it, or walk through a whole disk."""
    seen = 0
    for here, _, names in os.walk(folder):
        for name in names:
            seen += 1
            path = Path(here, name)
            if seen > MOST_FILES:
                raise BadData(f"hub:{folder} holds more than {MOST_FILES:,} files; name the folder of one data set")
            if path.exists() and not path.is_file():
                raise BadData(f"{path} is no regular file, and the data set hub:{folder} cannot be read; remove it")


def hub_file(name: str, file: str, revision: str | None = None) -> Path:
    """Local path of one file of a data set, downloaded if necessary. Raises: BadData."""
    from huggingface_hub import hf_hub_download

    wanted: dict[str, Any] = {"repo_id": name, "filename": file, "revision": revision, "repo_type": "dataset"}
    try:
        return Path(hf_hub_download(**wanted, local_files_only=True))
    except Exception:  # noqa: S110  whatever is wrong with the local copy, a fresh one repairs it
        pass
    try:
        _reach(name, revision)
        listener = heard()
        return Path(hf_hub_download(**wanted, tqdm_class=_told(listener, file) if listener else None))
    except Exception as error:
        raise BadData(
            f"{file} of the data set {name} cannot be fetched from the hub ({_brief(error)}); "
            f"without a network, copy it from another machine and name it by its path"
        ) from error


def _told(listener: Listener, file: str) -> Any:
    """What the hub's client takes for its bar, which it may draw from threads of its own: it only tells how far it is.

    The client's own bar is drawn where nobody listens.
    """
    from huggingface_hub.utils.tqdm import tqdm

    class Told(tqdm):
        def __init__(self, *args: Any, **options: Any) -> None:
            self.received, self.whole = int(options.get("initial") or 0), int(options.get("total") or 0)
            super().__init__(*args, **options | {"disable": True})  # type: ignore[no-untyped-call]

        def update(self, n: float | None = 1) -> bool | None:
            self.received += int(n or 0)
            listener(f"fetching {file}, bytes", self.received, int(getattr(self, "total", 0) or self.whole))
            return None

    return Told


def _split_rows(ref: str, column: str, **where: Any) -> Iterator[str]:
    columns = Columns.of(column)
    number = length = 0
    try:
        if "streaming" not in where:
            _reach(where["path"], where["revision"])
        for batch in _opened(where).iter(_BATCH):
            columns = columns.found(list(batch), ref)
            for row in zip(*(batch[column_name] for column_name in columns.names), strict=True):
                number += 1
                text = columns.line(row, ref, number)
                length += len(text)
                if len(text) > LONGEST_FIELD or length > UNPACKED:
                    raise BadData(f"{ref}, row {number}: more text than a corpus may have")
                yield text
    except CsebError:
        raise
    except Exception as error:  # the library raises anything, from httpx to pyarrow
        raise BadData(
            f"{ref} cannot be read ({_brief(error)}); without a network, put its .parquet, .jsonl or .csv files into a "
            f"folder and name it hub:FOLDER, or put one sentence on each line of a .txt file and name that"
        ) from error


def _opened(where: Mapping[str, Any]) -> Any:
    """Return the `train` split of a data set: from the hub, a folder of files, or a folder of `save_to_disk`."""
    import datasets

    if "streaming" in where and any((Path(where["path"]) / name).is_file() for name in SAVED):
        saved = datasets.load_from_disk(where["path"])
        return saved if isinstance(saved, datasets.Dataset) else saved["train"]
    return datasets.load_dataset(split="train", **where)


def _reach(name: str, revision: str | None) -> None:
    """Fail at once when there is no network: the download itself would try for twenty seconds."""
    from huggingface_hub import HfApi, constants

    if not constants.HF_HUB_OFFLINE:
        HfApi().dataset_info(name, revision=revision, timeout=10)


def _brief(error: Exception) -> str:
    first = (str(error).strip() or type(error).__name__).splitlines()[0]
    return first[:200]
