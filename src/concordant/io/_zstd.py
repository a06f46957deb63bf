"""Text packed with zstd, read and written line by line through DuckDB: no package for it is needed."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

from concordant.errors import FormatError, InputError
from concordant.io._duckdb import LONGEST_LINE, connect, quoted


class ZstdLines:
    """An open zstd file of text that DuckDB unpacks line by line."""

    def __init__(self, path: str, name: str) -> None:
        self._chunks = _zstd_lines(os.path.abspath(path), name)

    def read(self, _size: int = -1) -> bytes:
        """Return the next lines."""
        return next(self._chunks, b"")

    def __enter__(self) -> ZstdLines:
        return self

    def __exit__(self, *_: object) -> None:
        self._chunks.close()


def _zstd_lines(path: str, name: str) -> Generator[bytes]:
    import duckdb

    with connect(path, small=True) as connection:
        try:
            cursor = connection.execute(f"SELECT line FROM {_scan_lines(path, 'zstd')}")
            while rows := cursor.fetchmany(10_000):
                yield "".join(f"{line or ''}\n" for (line,) in rows).encode()
        except duckdb.Error:
            raise FormatError(
                "the zstd data cannot be unpacked here: check the file, or pip install zstandard.", path=name
            ) from None


def zstd_compress_lines(content: bytes) -> bytes:
    """Pack text with zstd, line by line through DuckDB, where Python has no zstd of its own."""
    from tempfile import TemporaryDirectory

    if b"\r" in content or b"\x1f" in content or not content.endswith(b"\n"):
        raise InputError("This content cannot be packed with zstd here: pip install zstandard, or choose .gz or .xz.")
    with TemporaryDirectory(prefix="concordant-") as folder:
        plain, packed = os.path.join(folder, "plain"), os.path.join(folder, "packed")
        Path(plain).write_bytes(content)
        with connect(plain, packed, small=True) as connection:
            connection.execute(
                f"COPY (SELECT coalesce(line, '') FROM {_scan_lines(plain, 'none')}) TO {quoted(packed)} "
                "(FORMAT csv, HEADER false, DELIMITER '\x1f', QUOTE '', ESCAPE '', COMPRESSION zstd)"
            )
        return Path(packed).read_bytes()


def _scan_lines(path: str, compression: str) -> str:
    """Return the call that reads a file as a column of lines."""
    return (
        f"read_csv({quoted(path)}, columns={{line: 'VARCHAR'}}, auto_detect=false, header=false, delim='\x1f', "
        f"quote='', escape='', strict_mode=false, compression='{compression}', max_line_size={LONGEST_LINE // 4})"
    )
