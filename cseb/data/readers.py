"""Rows of files with text, by the ending of their name: .txt, .csv, .tsv, .jsonl, .json or .parquet.

A folder that `save_to_disk` of the library datasets wrote is read like a file.
A line ends at a line feed and nowhere else: text from the web is full of characters (U+2028, U+0085, ...) that
Python's own `splitlines` takes for line ends.
"""

from __future__ import annotations

import csv
import io
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from io import BufferedIOBase
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from cseb.data.bounded import MIB, UNPACKED, is_file, open_unpacked
from cseb.errors import BadData, first_line
from cseb.text import quantity

LONGEST_FIELD = 2**24  # characters; a longer one means a quotation mark that is never closed
LONGEST_LINE = 2 * LONGEST_FIELD  # bytes
BATCH = 64  # rows of a parquet file at a time: a dictionary of one long text can stand for all of them
LONGEST_ARRAY = 256 * MIB  # bytes of a JSON array, which is read at once
SAVED, SPLITS = "state.json", "dataset_dict.json"  # in a folder that `save_to_disk` wrote, and in one of several splits
HEADED = (".csv", ".tsv")  # endings of files whose first line names the columns
_BOM = b"\xef\xbb\xbf"
_QUOTED = re.compile('"[^"]*"')

Row = tuple[int, Sequence[object]]  # the line on which it ends, or its place from 1; its cells, none of a blank row
# From the columns of a file to those that are read. A plain text file has none. Raises: BadData.
Choose = Callable[[list[str]], Sequence[str]]
Reader = Callable[[BufferedIOBase, str, Choose], Iterator[Row]]  # file, its name for messages, columns


def ending(path: Path) -> str:
    """Return the ending of a file's name: `.csv` for a.csv, A.CSV and a.csv.gz."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


def read_rows(path: Path, choose: Choose, allowed: Sequence[str], hint: str) -> Iterator[Row]:
    """Yield the rows of a file, which may be gzipped, or of a folder of `save_to_disk`. Raises: BadData with the line.

    choose: returns the columns to read among those of the file. allowed: endings of its name. hint: what to try.
    """
    if ending(path) not in allowed and not path.is_dir():
        raise BadData(f"{path} does not end in {', '.join(allowed)}, with or without .gz; {hint}")
    if is_saved(path):
        yield from _saved(path, choose)
        return
    with _opened(path, hint) as file:
        yield from READERS[ending(path)](file, str(path), choose)


@contextmanager
def _opened(path: Path, hint: str) -> Iterator[BufferedIOBase]:
    """Open a file, unpacked if its name ends in .gz. Raises: BadData, also for errors while it is read."""
    try:
        if path.is_dir():
            tables = any(ending(file) in READERS for file in path.iterdir())
            also = f", or read it as a data set with hub:{path}" if tables else ""
            raise BadData(f"{path} is a folder; give a file of sentences{also}")
        if not path.exists():
            raise BadData(f"there is no file {path}; {hint}")
        with open_unpacked(path) as file:
            yield file
    except (OSError, EOFError, ValueError, RecursionError, zlib.error) as error:
        raise BadData(f"{path} cannot be read: {first_line(error)}") from error


def _lines(file: BufferedIOBase, name: str) -> Iterator[str]:
    for number, line in enumerate(iter(partial(file.readline, LONGEST_LINE + 1), b""), 1):
        if len(line) > LONGEST_LINE:
            raise BadData(f"{name}, line {number} is longer than {LONGEST_LINE:,} bytes; put one sentence on each line")
        try:
            text = (line.removeprefix(_BOM) if number == 1 else line).decode()
        except UnicodeDecodeError as error:
            byte = f"byte 0x{line[error.start]:02x}" if error.start < len(line) else "a byte"
            raise BadData(f"{name}, line {number} is not UTF-8 ({byte}); save the file as UTF-8") from None
        if number == 1 and not text.endswith("\n") and "\r" in text.rstrip("\r"):
            raise BadData(f"{name} has carriage returns (CR) as line ends; save it with line feeds (LF)")
        yield text


def _text(file: BufferedIOBase, name: str, choose: Choose) -> Iterator[Row]:
    choose([])
    for number, line in enumerate(_lines(file, name), 1):
        yield number, (line,)


def _delimited(
    file: BufferedIOBase, name: str, choose: Choose, *, delimiter: str, quoting: Literal[0, 3]
) -> Iterator[Row]:
    """Yield rows of .csv and .tsv; semicolons separate columns if the first line has more of them than commas."""
    csv.field_size_limit(LONGEST_FIELD)
    lines = _lines(file, name)
    first = next(lines, "")
    unquoted = _QUOTED.sub("", first)
    if delimiter == "," and unquoted.count(";") > unquoted.count(","):
        delimiter = ";"
    rows = csv.reader(chain([first] if first else [], lines), delimiter=delimiter, quoting=quoting, strict=True)
    try:
        header = [cell.strip() for cell in next(rows, [])]
        if not header:
            raise BadData(f"{name} is empty; a header line and at least one row are needed")
        columns = choose(header)
        places = [*range(len(header))] if columns is header else [header.index(column) for column in columns]
        for row in rows:
            if row and len(row) != len(header):
                fields = quantity(len(row), "field")
                raise BadData(f"{name}, line {rows.line_num} has {fields}, the header {len(header)}; quote the text")
            yield rows.line_num, [row[place] for place in places] if row else ()
    except csv.Error as error:
        raise BadData(f"{name}, line {rows.line_num}: {error}; is a quotation mark not closed?") from None


def _json_lines(file: BufferedIOBase, name: str, choose: Choose) -> Iterator[Row]:
    def objects() -> Iterator[object]:
        for number, line in enumerate(_lines(file, name), 1):
            try:
                yield json.loads(line) if line.strip() else None
            except (ValueError, RecursionError) as error:
                raise BadData(f"{name}, line {number} is not JSON: {first_line(error)}") from None

    return _objects(objects(), name, choose)


def _json_array(file: BufferedIOBase, name: str, choose: Choose) -> Iterator[Row]:
    content = file.read(LONGEST_ARRAY + 1)
    if len(content) > LONGEST_ARRAY:
        raise BadData(f"{name} is longer than {LONGEST_ARRAY:,} bytes; save it as .jsonl (one object per line)")
    objects = json.loads(content.removeprefix(_BOM).decode())
    if not isinstance(objects, list):
        raise BadData(f"{name} is not a list of objects such as [{{...}}, {{...}}]; one object per line is .jsonl")
    return _objects(objects, name, choose)


def _objects(objects: Iterable[object], name: str, choose: Choose) -> Iterator[Row]:
    """Yield the rows of JSON objects. The columns are those of the first object; others may leave some out, not all."""
    columns: Sequence[str] | None = None
    for number, row in enumerate(objects, 1):
        if row is None:
            yield number, ()
            continue
        if not isinstance(row, dict):
            kind = type(row).__name__
            raise BadData(f'{name}, line {number} is a {kind}; an object such as {{"text": "..."}} is needed')
        if columns is None:
            columns = choose(list(row))
        if row and row.keys().isdisjoint(columns):
            raise BadData(
                f"{name}, line {number} has {', '.join(map(repr, row))}, but not {' or '.join(map(repr, columns))} as "
                f"the first one; give all objects the same keys"
            )
        yield number, [row.get(column) for column in columns]


def _parquet(file: BufferedIOBase, name: str, choose: Choose) -> Iterator[Row]:
    import pyarrow
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(file if file.seekable() else io.BytesIO(file.read())) as table:
            columns = list(choose(table.schema_arrow.names))
            batches = table.iter_batches(batch_size=BATCH, columns=columns, use_threads=False)
            yield from batch_rows((batch.to_pydict() for batch in batches), columns, name)
    except (pyarrow.ArrowException, MemoryError) as error:
        raise BadData(f"{name} is not a valid parquet file: {error}") from error


def is_saved(folder: Path) -> bool:
    """Return whether `save_to_disk` wrote a folder."""
    return any(is_file(folder / name) for name in (SAVED, SPLITS))


def _saved(folder: Path, choose: Choose) -> Iterator[Row]:
    """Yield the rows of a folder that `save_to_disk` wrote: Arrow streams, named in a file beside them."""
    import pyarrow

    try:
        if is_file(folder / SPLITS):
            folder = folder / _only_split(folder)
        state = json.loads((folder / SAVED).read_bytes())
        with ExitStack() as opened:
            files = [opened.enter_context((folder / part["filename"]).open("rb")) for part in state["_data_files"]]
            tables = [opened.enter_context(pyarrow.ipc.open_stream(file)) for file in files]
            columns = choose(tables[0].schema.names if tables else [])
            yield from batch_rows(_slices(chain.from_iterable(tables), columns), columns, str(folder))
    except (pyarrow.ArrowException, MemoryError, OSError, ValueError, LookupError, TypeError, RecursionError) as error:
        raise BadData(f"{folder} cannot be read as a data set of save_to_disk: {first_line(error)}") from error


def _only_split(folder: Path) -> str:
    splits = list(map(str, json.loads((folder / SPLITS).read_bytes())["splits"]))
    if len(splits) > 1:
        raise BadData(f"{folder} has the splits {', '.join(splits)}; name one of them, such as {folder / splits[0]}")
    return splits[0]


def _slices(batches: Iterable[Any], columns: Sequence[str]) -> Iterator[dict[str, list[object]]]:
    for batch in batches:
        batch.validate(full=True)
        for start in range(0, len(batch), BATCH):
            part = batch.slice(start, BATCH)
            yield {column: part.column(column).to_pylist() for column in columns}


def batch_rows(
    batches: Iterable[dict[str, list[object]]], columns: Sequence[str], name: str, number: int = 0
) -> Iterator[Row]:
    """Yield the rows of batches of columns. number: of rows before. Raises: BadData for more text than is allowed."""
    length = 0
    for batch in batches:
        for cells in zip(*(batch[column] for column in columns), strict=True):
            number += 1
            sizes = [len(cell) for cell in cells if isinstance(cell, str)]
            length += sum(sizes)
            if max(sizes, default=0) > LONGEST_FIELD or length > UNPACKED:
                raise BadData(f"{name}, row {number}: more text than is allowed")
            yield number, cells


READERS: dict[str, Reader] = {
    ".txt": _text,
    ".csv": partial(_delimited, delimiter=",", quoting=csv.QUOTE_MINIMAL),
    ".tsv": partial(_delimited, delimiter="\t", quoting=csv.QUOTE_NONE),  # in a .tsv a quotation mark is text
    ".jsonl": _json_lines,
    ".json": _json_array,
    ".parquet": _parquet,
}
