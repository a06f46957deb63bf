"""Small workbooks from rows of cells; xlsx and ods are made by the script that makes the examples."""

from __future__ import annotations

import importlib.util
import io
import struct
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

_PATH = Path(__file__).resolve().parent.parent / "examples" / "make.py"
_SPEC = importlib.util.spec_from_file_location("make_examples", _PATH)
assert _SPEC is not None
assert _SPEC.loader is not None
_MODULE = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(_MODULE)

xlsx, ods, archive = _MODULE.xlsx, _MODULE.ods, _MODULE.archive


# ---- the binary workbooks of old: records in a file that is a small file system ----
_END, _FREE, _TABLE, _SECTOR = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD, 512


def xls(rows: Sequence[Sequence[str | float | None]], name: str = "Sheet") -> bytes:
    """Return an Excel 97 workbook of one sheet of text, numbers and empty cells (None), at most some 60 kB."""
    cells = b"".join(_xls_cell(r, c, cell) for r, row in enumerate(rows) for c, cell in enumerate(row) if cell)
    size = _record(0x0200, struct.pack("<IIHHH", 0, len(rows), 0, max(map(len, rows)), 0))
    begin, end = _record(0x0809, struct.pack("<HHHHII", 0x0600, 5, 0, 0, 0, 6)), _record(0x000A)
    at = len(begin) + 12 + len(name) + len(end)
    named = _record(0x0085, struct.pack("<IBBBB", at, 0, 0, len(name), 0) + name.encode("ascii"))
    sheet = _record(0x0809, struct.pack("<HHHHII", 0x0600, 0x10, 0, 0, 0, 6)) + size + cells + end
    return _compound("Workbook", begin + named + end + sheet)


def _xls_cell(row: int, column: int, cell: str | float) -> bytes:
    if isinstance(cell, str):
        text = struct.pack("<HHHHB", row, column, 0, len(cell), 1) + cell.encode("utf-16-le")
        return _record(0x0204, text)
    return _record(0x0203, struct.pack("<HHHd", row, column, 0, cell))


def _record(kind: int, content: bytes = b"") -> bytes:
    return struct.pack("<HH", kind, len(content)) + content


def _compound(name: str, content: bytes) -> bytes:
    """Return a compound file that holds one stream: a header, the table of sectors, the folder, the content."""
    count = max(8, -(-len(content) // _SECTOR))
    table = [_TABLE, _END, *range(3, count + 2), _END]
    header = bytes.fromhex("d0cf11e0a1b11ae1") + b"\0" * 16
    header += struct.pack("<6H10I", 0x3E, 3, 0xFFFE, 9, 6, 0, 0, 0, 1, 1, 0, 4096, _END, 0, _END, 0)
    header += struct.pack("<109I", 0, *[_FREE] * 108)
    folder = _entry("Root Entry", 5, 1, _END, 0) + _entry(name, 2, _FREE, 2, count * _SECTOR)
    sectors = struct.pack("<128I", *table, *[_FREE] * (128 - len(table)))
    return header + sectors + folder.ljust(_SECTOR, b"\0") + content.ljust(count * _SECTOR, b"\0")


def _entry(name: str, kind: int, child: int, start: int, size: int) -> bytes:
    text = (name + "\0").encode("utf-16-le")
    about = struct.pack("<HBBIII", len(text), kind, 1, _FREE, _FREE, child)
    return text.ljust(64, b"\0") + about + b"\0" * 36 + struct.pack("<IQ", start, size)


def with_parts(content: bytes, parts: Mapping[str, bytes]) -> bytes:
    """Return a workbook with further parts, such as the settings of a printer, or with other content for its own."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            if name not in parts:
                new.writestr(name, old.read(name))
        for name, part in parts.items():
            new.writestr(name, part)
    return out.getvalue()


PRINTER = {"xl/printerSettings/printerSettings1.bin": b"P\0D\0F\0" * 40}
