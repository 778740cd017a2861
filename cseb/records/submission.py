"""A submission: one zip file of records, scores per example and benchmarks. It may come from a stranger."""

from __future__ import annotations

import io
import re
import stat
import struct
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from cseb.data.bounded import MIB, read_bytes
from cseb.data.files import write_whole, written
from cseb.errors import BadData, BadResults
from cseb.records.items import LARGEST as LARGEST_ITEMS
from cseb.records.store import LARGEST as LARGEST_RECORD
from cseb.text import plain

PACKED, UNPACKED = 256 * MIB, 2048 * MIB  # bytes
DIRECTORY = 8 * MIB  # bytes of the list of members, 90 each: refused before zipfile makes an object of each
LIMITS = {  # bytes, by form of the name
    re.compile(r"runs/[0-9a-f]{16}\.json"): LARGEST_RECORD,
    re.compile(r"items/[0-9a-f]{16}\.npz"): LARGEST_ITEMS,
    re.compile(r"benchmark-[A-Za-z0-9][A-Za-z0-9._-]{0,63}\.yaml"): MIB,
}
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others may ask for gigabytes of memory
END = struct.Struct("<4s4H2LH")  # of a zip file without a comment: marker, disks, members, size of their list, ...
EPOCH = (1980, 1, 1, 0, 0, 0)  # the time of every member: the same records give the same bytes


def pack(path: Path, members: Iterable[tuple[str, bytes]]) -> None:
    """Write a submission of files by name. Raises: BadResults if it cannot be written or is larger than allowed."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members:
            member = zipfile.ZipInfo(name, EPOCH)
            member.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(member, content, zipfile.ZIP_DEFLATED)
        faults = _faults(archive.infolist())
    if len(buffer.getbuffer()) > PACKED or faults:
        reason = faults[0] if faults else f"has more than {PACKED:,} bytes"
        raise BadResults(f"the submission {reason}; submit fewer records")
    with written(path):
        write_whole(path, [buffer.getvalue()])


def unpack(path: Path, folder: Path) -> None:
    """Unpack a submission into a new folder. Raises: BadResults.

    Nothing is written outside of the folder, and nothing of an archive that breaks a rule: a whole zip file within
    bounds, whose members are regular files with the names that `pack` gives them, each once, and no items without a
    record. Their content is not examined.
    """
    name = plain(str(path))
    try:
        content = read_bytes(path, PACKED)
        marker, *_, size, _, comment = END.unpack(content[-END.size :].rjust(END.size, b"\0"))
        if (marker, comment) != (b"PK\5\6", 0) or size > DIRECTORY:
            raise BadResults(f"{name} is no zip file as cseb submit writes it")
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if faults := _faults(archive.infolist()):
                raise BadResults(f"{name} {faults[0]}; it is refused")
            for member in archive.infolist():
                place = folder / member.filename
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(archive.read(member))  # as many bytes as declared at most, with the declared checksum
    except BadData as error:
        raise BadResults(str(error)) from None
    except BadResults:
        raise
    except Exception as error:  # zipfile raises half a dozen kinds for damaged bytes
        raise BadResults(f"{name} cannot be read: {plain(str(error))}; it is damaged, get it again") from None


def _faults(members: Sequence[zipfile.ZipInfo]) -> list[str]:
    """Return what forbids these members, one text each."""
    names = {member.filename for member in members}
    faults = ["has a file twice"] if len(names) < len(members) else []
    if sum(member.file_size for member in members) > UNPACKED:
        faults.append(f"unpacks to more than {UNPACKED:,} bytes")
    for member in members:
        name = member.filename
        limit = next((limit for form, limit in LIMITS.items() if form.fullmatch(name)), None)
        mode = stat.S_IFMT(member.external_attr >> 16)
        if limit is None:
            faults.append(f"has the file {plain(name)[:80]!r}; allowed are runs/KEY.json, items/KEY.npz, benchmarks")
        elif mode not in (0, stat.S_IFREG):
            faults.append(f"has {name}, which is a link or no regular file")
        elif member.flag_bits & 1 or member.compress_type not in METHODS:
            faults.append(f"has {name}, which is encrypted or compressed in an unusual way")
        elif member.file_size > limit:
            faults.append(f"has {name}, which unpacks to {member.file_size:,} bytes, at most {limit:,} are allowed")
        elif name.startswith("items/") and f"runs/{name[6:-4]}.json" not in names:
            faults.append(f"has {name} without its record")
    return faults if names else ["has no files"]
