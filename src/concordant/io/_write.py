"""Writing: preferences, rankings and labels to tables, TREC runs and qrels; whole files or none.

A file is written beside its destination and then renamed, so an interrupted or failed write leaves what was there.
Content a format cannot hold without changing a ballot is refused; what is merely left behind is said.
"""

from __future__ import annotations

import os
import sys
from typing import IO, TYPE_CHECKING, Any

from concordant.errors import InputError
from concordant.files import replace_file
from concordant.io import _compose, _formats
from concordant.io._source import COMPRESSIONS, PathLike
from concordant.labels import Labels
from concordant.preferences import Preferences
from concordant.ranking import Ranking

if TYPE_CHECKING:
    from concordant.io._compose import Columns


def write(
    data: Preferences | Ranking | Labels,
    path: PathLike | IO[Any],
    *,
    format: str | None,
    form: str | None,
    tag: str | None,
    spreadsheet: bool = False,
) -> list[str]:
    """Write data to a path, an open file or standard output; return what the format could not carry."""
    name = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    compression, kind = _kind(name, format)
    if spreadsheet and kind.name not in ("csv", "tsv"):
        raise InputError("spreadsheet= is for csv and tsv files: leave it out.")
    if form is not None and (kind.module != "table" or not isinstance(data, Preferences)):
        raise InputError("form= is for preferences written as a table: leave it out.")
    if kind.name in ("trec", "qrels"):
        lines, notes = _compose.run_lines(data, tag) if kind.name == "trec" else _compose.qrels_lines(data)
        content = "".join(lines).encode("utf-8")
    elif kind.name == "preflib":
        from concordant.io import _compose_preflib

        lines, notes = _compose_preflib.lines(data, name, format)
        content = "".join(lines).encode("utf-8")
    else:
        if tag is not None:
            raise InputError("tag= names a TREC run: leave it out for tables.")
        columns, notes = _compose.columns(data, form)
        if spreadsheet:
            columns = {text_cell(name): list(map(text_cell, _cells(column))) for name, column in columns.items()}
        content = _ENCODERS[kind.name](columns)
    _deliver(_packed(content, compression), path, name)
    return notes


def _kind(name: str | None, format: str | None) -> tuple[str | None, _formats.Format]:
    """Return the compression and the format, from the name where they are not said."""
    stem, compression = name or "", None
    for ending, packing in COMPRESSIONS.items():
        if stem.lower().endswith(ending):
            stem, compression = stem[: -len(ending)], packing
    if format is not None:
        kind = _formats.named(format)
    elif name in (None, "-"):
        kind = _formats.named("csv")
    else:
        found = _formats.by_ending(os.path.splitext(stem.lower())[1])
        if found is None:
            raise InputError(f"The name {name} does not say its format: end it in .csv, .run, … or say format=.")
        kind = found
    if not kind.can_write:
        writable = ", ".join(one.name for one in _formats.FORMATS if one.can_write)
        raise InputError(f"The format {kind.name} is not written: choose one of {writable}.")
    return compression, kind


def text_cell(cell: Any) -> Any:
    """Return a cell that a spreadsheet takes for text, not for a formula to run: with an apostrophe before it."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(("=", "+", "-", "@", "\t", "\r")) else cell


# ---- content ----
def _csv(columns: Columns, delimiter: str = ",") -> bytes:
    import csv
    import io

    cells = [_cells(column) for column in columns.values()]
    # The csv module leaves a lone carriage return unquoted, which readers take for the end of a line.
    has_return = any(isinstance(cell, str) and "\r" in cell for column in cells for cell in column)
    text = io.StringIO(newline="")
    writer = csv.writer(
        text,
        delimiter=delimiter,
        lineterminator="\n",
        quoting=csv.QUOTE_NONNUMERIC if has_return else csv.QUOTE_MINIMAL,
    )
    writer.writerow(columns)
    writer.writerows(zip(*cells, strict=True))
    return text.getvalue().encode("utf-8")


def _tsv(columns: Columns) -> bytes:
    return _csv(columns, "\t")


def _json_objects(columns: Columns) -> list[str]:
    import json

    names = list(columns)
    rows = zip(*map(_cells, columns.values()), strict=True)
    return [json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) for row in rows]


def _jsonl(columns: Columns) -> bytes:
    return "".join(line + "\n" for line in _json_objects(columns)).encode("utf-8")


def _json(columns: Columns) -> bytes:
    return ("[\n" + ",\n".join(_json_objects(columns)) + "\n]\n").encode("utf-8")


def _parquet(columns: Columns) -> bytes:
    import tempfile
    from pathlib import Path

    from concordant.io._duckdb import write_parquet

    with tempfile.TemporaryDirectory(prefix="concordant-") as folder:
        path = os.path.join(folder, "table")
        write_parquet(columns, path)
        return Path(path).read_bytes()


_ENCODERS = {"csv": _csv, "tsv": _tsv, "jsonl": _jsonl, "json": _json, "parquet": _parquet}


def _cells(column: Any) -> list[Any]:
    """Return plain Python values, whole numbers without a point."""
    values = column.tolist() if hasattr(column, "tolist") else column
    if values and isinstance(values[0], float):
        return [int(value) if value.is_integer() and abs(value) < 2**53 else value for value in values]
    return values  # type: ignore[no-any-return]


def _packed(content: bytes, compression: str | None) -> bytes:
    if compression is None:
        return content
    if compression == "gzip":
        import gzip

        return gzip.compress(content, mtime=0)
    if compression == "bzip2":
        import bz2

        return bz2.compress(content)
    if compression == "xz":
        import lzma

        return lzma.compress(content)
    if compression == "zip":
        raise InputError("Zip archives are not written: end the name in .gz, .xz, .bz2 or .zst.")
    return _zstd(content)


def _zstd(content: bytes) -> bytes:
    import importlib

    for module in ("compression.zstd", "backports.zstd", "zstandard"):
        try:
            packed: bytes = importlib.import_module(module).compress(content)
            return packed
        except ImportError:
            continue
    from concordant.io._duckdb import zstd_compress_lines

    return zstd_compress_lines(content)


# ---- delivery ----
def _deliver(content: bytes, path: Any, name: str | None) -> None:
    if name == "-":
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    elif name is None:
        try:
            path.write(content)
        except TypeError:
            path.write(content.decode("utf-8"))
    else:
        replace_file(name, content)
