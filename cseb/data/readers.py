"""Rows of text from files, by the ending of their name: one row in, one string out, blank ones included.

A sentence ends at a line feed and nowhere else: text from the web is full of characters (U+2028, U+0085, ...) that
Python's own `splitlines` takes for line ends.
"""

from __future__ import annotations

import csv
import io
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from io import BufferedIOBase
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from cseb.data.bounded import MIB
from cseb.data.columns import DEFAULT_COLUMNS, Columns
from cseb.data.gzip_files import UNPACKED, open_unpacked
from cseb.errors import BadData, first_line
from cseb.text import quantity

LONGEST_FIELD = 2**24  # characters; a longer one means a quotation mark that is never closed
LONGEST_LINE = 2 * LONGEST_FIELD  # bytes; no sentence has as many
BATCH = 64  # rows of a parquet file at a time: a dictionary of one long text can stand for all of them
LONGEST_ARRAY = 256 * MIB  # bytes of a JSON array, which is read at once
ARROW_FILE = b"ARROW1"  # first bytes of an Arrow file; an Arrow stream has none of its own
_BOM = b"\xef\xbb\xbf"
_QUOTED = re.compile('"[^"]*"')
_NO_NAME = re.compile(r"[\s|]")  # a sentence, or several columns between something else than commas and semicolons

Reader = Callable[[BufferedIOBase, str, Columns], Iterator[str]]  # file, its name for messages, columns


def file_rows(path: Path, column: str) -> Iterator[str]:
    """Yield the text of every row of a file, or its texts joined by TABs. column: see `Columns`. Raises: BadData."""
    columns = Columns.of(column)
    reader = FORMATS.get(ending(path))
    if reader is None and not path.is_dir():
        raise BadData(
            f"{path} does not end in {', '.join(FORMATS)}, with or without .gz; see also hub:NAME and wikipedia"
        )
    with opened(path, hint="name a file, hub:NAME or wikipedia") as file:
        assert reader is not None  # a folder has been answered
        yield from reader(file, str(path), columns)


def ending(path: Path) -> str:
    """`.csv` of a.csv, A.CSV and a.csv.gz."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


@contextmanager
def opened(path: Path, hint: str) -> Iterator[BufferedIOBase]:
    """The bytes of a file, unpacked if its name ends in .gz.

    Raises: BadData, also for what goes wrong while the file is read. hint: what to try when there is no such file.
    """
    try:
        if path.is_dir():
            raise BadData(f"{path} is a folder; give a file in it, or read it as a data set with hub:{path}")
        if not path.exists():
            raise BadData(f"there is no file {path}; {hint}")
        with open_unpacked(path) as file:
            yield file
    except (
        OSError,
        EOFError,
        ValueError,
        RecursionError,
        zlib.error,
    ) as error:
        raise BadData(f"{path} cannot be read: {first_line(error)}") from error


def _lines(file: BufferedIOBase, name: str) -> Iterator[str]:
    for number, line in enumerate(iter(partial(file.readline, LONGEST_LINE + 1), b""), 1):
        if len(line) > LONGEST_LINE:
            raise BadData(f"{name}, line {number} is longer than {LONGEST_LINE:,} bytes; put one sentence on each line")
        try:
            text = (line.removeprefix(_BOM) if number == 1 else line).decode()
        except UnicodeDecodeError as error:
            found = f"byte 0x{line[error.start]:02x}" if error.start < len(line) else "a byte"
            raise BadData(f"{name}, line {number} is not UTF-8 ({found}); save the file as UTF-8") from None
        if number == 1 and not text.endswith("\n") and "\r" in text.rstrip("\r"):
            raise BadData(f"{name} has carriage returns (CR) as line ends; save it with line feeds (LF)")
        yield text


def _txt(file: BufferedIOBase, name: str, columns: Columns) -> Iterator[str]:
    if columns.names[0]:
        raise BadData(f"{name} is plain text and has no column {columns.names[0]!r}; leave `column` out")
    return _lines(file, name)


def cells(
    file: BufferedIOBase, name: str, *, delimiter: str, quoting: Literal[0, 3]
) -> Iterator[tuple[int, list[str]]]:
    """Yield number of the last line and cells of every row, the header included; a blank row has none.

    Where the first line has more semicolons than commas, semicolons separate the columns of a .csv file.

    Raises:
        BadData: for a row of another width than the header, or a quotation mark that is not closed.
    """
    csv.field_size_limit(LONGEST_FIELD)
    lines = _lines(file, name)
    first = next(lines, "")
    unquoted = _QUOTED.sub("", first)
    if delimiter == "," and unquoted.count(";") > unquoted.count(","):
        delimiter = ";"
    rows = csv.reader(chain([first] if first else [], lines), delimiter=delimiter, quoting=quoting, strict=True)
    width = 0
    try:
        for row in rows:
            width = width or len(row)
            if row and len(row) != width:
                fields = quantity(len(row), "field")
                raise BadData(f"{name}, line {rows.line_num} has {fields}, the header {width}; quote the text")
            yield rows.line_num, row
    except csv.Error as error:
        raise BadData(f"{name}, line {rows.line_num}: {error}; is a quotation mark not closed?") from None


def _check_header(header: Sequence[str], name: str, columns: Columns) -> None:
    """Check that a header is not a sentence taken for the name of the only column. Raises: BadData."""
    if not header:
        raise BadData(f"{name} is empty; a header line and at least one row are needed")
    if twice := [each for each in {*DEFAULT_COLUMNS, *columns.names} if each and header.count(each) > 1]:
        raise BadData(f"{name} has {header.count(twice[0])} columns {twice[0]!r}; rename one")
    if len(header) == 1 and not columns.names[0] and _NO_NAME.search(header[0]):
        raise BadData(
            f"{name} has one column and line 1 is {header[0][:40]!r}, not a header; put a line such as text above "
            "it, save several columns with commas (or as .tsv), or name it with `column`"
        )


def objects(file: BufferedIOBase, name: str) -> Iterator[tuple[int, dict[str, object] | None]]:
    """Number and content of every line of JSON; a blank one has none. Raises: BadData."""
    for number, line in enumerate(_lines(file, name), 1):
        if not line.strip():
            yield number, None
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise BadData(f"{name}, line {number} is not JSON: {first_line(error)}") from None
        if not isinstance(row, dict):
            raise BadData(
                f'{name}, line {number} is a {type(row).__name__}; an object such as {{"text": "..."}} is needed'
            )
        yield number, row


def listed_objects(file: BufferedIOBase, name: str) -> Iterator[tuple[int, dict[str, object] | None]]:
    """Yield place, from 1, and content of every object of a JSON array.

    Raises:
        BadData: for anything else than an array of objects.
    """
    content = file.read(LONGEST_ARRAY + 1)
    if len(content) > LONGEST_ARRAY:
        raise BadData(f"{name} is longer than {LONGEST_ARRAY:,} bytes; save it as .jsonl (one object per line)")
    rows = json.loads(content.removeprefix(_BOM).decode())  # `opened` answers what cannot be read
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise BadData(f"{name} is not a list of objects such as [{{...}}, {{...}}]; one object per line is .jsonl")
    yield from enumerate(rows, 1)


def _delimited(
    file: BufferedIOBase, name: str, columns: Columns, *, delimiter: str, quoting: Literal[0, 3]
) -> Iterator[str]:
    rows = cells(file, name, delimiter=delimiter, quoting=quoting)
    header = [cell.strip() for cell in next(rows, (0, []))[1]]
    _check_header(header, name, columns)
    columns = columns.found(header, name)
    at = [header.index(one) for one in columns.names]
    for number, row in rows:
        yield columns.line((row[one] for one in at), name, number) if row else ""


def _objects(
    file: BufferedIOBase,
    name: str,
    columns: Columns,
    *,
    read: Callable[[BufferedIOBase, str], Iterator[tuple[int, dict[str, object] | None]]],
) -> Iterator[str]:
    for number, row in read(file, name):
        if row is None:
            yield ""
            continue
        columns = columns.found(list(row), f"{name}, row {number}")
        yield columns.line((row[one] for one in columns.names), name, number)


def _parquet(file: BufferedIOBase, name: str, columns: Columns) -> Iterator[str]:
    import pyarrow
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(file if file.seekable() else io.BytesIO(file.read())) as table:
            columns = columns.found(table.schema_arrow.names, name)
            batches = table.iter_batches(batch_size=BATCH, columns=list(columns.names), use_threads=False)
            yield from _batch_lines(batches, name, columns)
    except pyarrow.ArrowException as error:
        raise BadData(f"{name} is not a valid parquet file: {error}") from error


def _arrow(file: BufferedIOBase, name: str, columns: Columns) -> Iterator[str]:
    """Yield the lines of an Arrow stream, as the library datasets writes it, or of an Arrow (Feather) file."""
    import pyarrow

    source = file if file.seekable() else io.BytesIO(file.read())
    is_file = source.read(len(ARROW_FILE)) == ARROW_FILE
    source.seek(0)
    try:
        with (pyarrow.ipc.open_file if is_file else pyarrow.ipc.open_stream)(source) as table:
            columns = columns.found(table.schema.names, name)
            batches = map(table.get_batch, range(table.num_record_batches)) if is_file else table
            yield from _batch_lines(_small(batches), name, columns)
    except pyarrow.ArrowException as error:
        raise BadData(f"{name} is not a valid Arrow file: {error}") from error


def _small(batches: Iterable[Any]) -> Iterator[Any]:
    """Yield checked pieces of at most BATCH rows of Arrow record batches."""
    for batch in batches:
        batch.validate(full=True)
        for start in range(0, len(batch), BATCH):
            yield batch.slice(start, BATCH)


def _batch_lines(batches: Iterable[Any], name: str, columns: Columns) -> Iterator[str]:
    number = length = 0
    for batch in batches:
        for row in zip(*(batch.column(column).to_pylist() for column in columns.names), strict=True):
            number += 1
            text = columns.line(row, name, number)
            length += len(text)
            if len(text) > LONGEST_FIELD or length > UNPACKED:
                raise BadData(f"{name}, row {number}: more text than allowed for such a file")
            yield text


FORMATS: dict[str, Reader] = {
    ".txt": _txt,
    ".csv": partial(_delimited, delimiter=",", quoting=csv.QUOTE_MINIMAL),
    ".tsv": partial(_delimited, delimiter="\t", quoting=csv.QUOTE_NONE),  # in a .tsv a quotation mark is text
    ".jsonl": partial(_objects, read=objects),
    ".json": partial(_objects, read=listed_objects),
    ".parquet": _parquet,
    ".arrow": _arrow,
}
