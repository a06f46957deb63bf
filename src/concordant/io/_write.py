"""Write preferences, rankings and labels to files, atomically.

A file is written next to its destination and then renamed, so an interrupted or failed write leaves the existing file
unchanged. Data that a format cannot represent without changing a ballot are rejected. The notes list other information
that the format cannot represent.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

from concordant.errors import InputError, arg
from concordant.io._formats import Format, Writing, built_in, by_ending, named
from concordant.io._source import COMPRESSIONS, MODULES
from concordant.preferences import Preferences
from concordant.support.files import replace_file


def write(data: Any, path: Any, format: str | None, **how: Any) -> list[str]:
    """Write data to a path, an open file or standard output; return notes on what the format cannot represent."""
    name = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    compression, kind = _kind(name, format)
    writing = Writing(kind=kind, name=name, asked=format, **how)
    if writing.spreadsheet and kind.name not in ("csv", "tsv"):
        raise InputError(arg("spreadsheet", of="write") + " only applies to csv and tsv files: leave it out.")
    if writing.layout is not None and not (kind.is_table and isinstance(data, Preferences)):
        raise InputError(arg("layout", of="write") + " only applies to preferences written as a table: leave it out.")
    if writing.tag is not None and kind.is_table:
        raise InputError(arg("tag", of="write") + " only applies to TREC runs: leave it out.")
    content, notes = kind.function("write")(data, writing)
    _deliver(_packed(content, compression), path, name)
    return list(notes)


def _kind(name: str | None, format: str | None) -> tuple[str | None, Format]:
    """Return the compression and the format, derived from the file name unless the format is given."""
    stem, compression = name or "", None
    for ending, packing in COMPRESSIONS.items():
        if stem.lower().endswith(ending):
            stem, compression = stem[: -len(ending)], packing
    if format is not None:
        kind = named(format)
    elif name in (None, "-"):
        kind = named("csv")
    else:
        by_name = by_ending(os.path.splitext(stem.lower())[1])
        if by_name is None:
            what = f"The name {name} does not determine its format"
            raise InputError(
                what + ": use a file extension such as .csv or .run, or give " + arg("format", of="write") + "."
            )
        kind = by_name
    if not kind.can_write:
        writable = ", ".join(known.name for known in built_in() if known.can_write)
        raise InputError(f"The format {kind.name} cannot be written: choose one of {writable}.")
    return compression, kind


def _packed(content: bytes, compression: str | None) -> bytes:
    """Return the compressed content; gzip has no time stamp, so that equal content gives equal files."""
    if compression is None:
        return content
    if compression == "zip":
        raise InputError("Zip archives cannot be written: use the file extension .gz, .xz, .bz2 or .zst.")
    if compression == "gzip":
        import gzip

        return gzip.compress(content, mtime=0)
    packed: bytes = import_module(MODULES[compression]).compress(content)
    return packed


def _deliver(content: bytes, path: Any, name: str | None) -> None:
    """Write the content to standard output, to an open file (as text if it does not accept bytes), or to a path."""
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
