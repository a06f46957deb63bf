"""Recognise sums (see ``engine.sums`` and ``io.sums``) without importing what reads them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from concordant.io._source import Source
from concordant.io.paths import expand, is_read_once
from concordant.tables.options import Options

KEY = "concordant_sums"
"""Key of the metadata of a Parquet file of sums."""
UNUSABLE, FORM = "unusable", "form"
"""The columns that tell a table of sums from any other."""
MAX_FOOTER = 1 << 28
START = 4096


def is_stored(source: Source) -> bool:
    """Return whether a file is one of sums, by the metadata at the end of a Parquet file."""
    return KEY.encode() in _footer(source)


def are_sums(names: Iterable[str]) -> bool:
    """Return whether columns with these names may be those of a table of sums."""
    return {"item", "weight", UNUSABLE, FORM} <= {name.lower() for name in names}


def may_hold_sums(path: Any, options: Options) -> bool:
    """Return whether files may hold sums, by the first one."""
    paths = expand(path)
    if any(map(is_read_once, paths)) or options.sql is not None:
        return False
    with Source(paths[0], options) as source:
        footer = _footer(source)
        return KEY.encode() in footer or UNUSABLE.encode() in (footer or source.head[:START]).lower()


def _footer(source: Source) -> bytes:
    """Return the end of a Parquet file (names of columns, metadata); empty for other files."""
    if not source.head.startswith(b"PAR1"):
        return b""
    with open(source.plain_path(), "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - 8, 0))
        length = int.from_bytes(file.read(4), "little")
        if not 0 < length <= min(size, MAX_FOOTER):
            return b""
        file.seek(max(size - 8 - length, 0))
        return file.read(length)
