"""Workbooks (xlsx, xlsb, xls, ods) as tables of text, read by python-calamine.

A sheet is read as if it were saved as csv: whole numbers without a decimal point, dates as 2024-05-31, empty cells
missing. Empty rows, empty columns and titles above the header are left out. Every cell of a merged range has the value
of the range. A workbook is usually a zip archive. Its unpacked size and the number of its cells are checked first,
because a reader allocates memory for every cell between the first and the last one, even if few are filled.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from importlib.util import find_spec
from typing import Any
from xml.parsers import expat

from concordant.ballots.vocabulary import shorten
from concordant.errors import FormatError, arg
from concordant.io._csv import has_header
from concordant.io._source import CHUNK, OLE, Source
from concordant.support import workbooks
from concordant.tables.cells import CellTable
from concordant.tables.options import Options

MAX_CELLS = 1 << 25  # a reader takes some 30 bytes for each, filled or not
LONGEST_TAG = 16 << 20
_ATTRIBUTES = rb"""((?:[^>"']|"[^"]*"|'[^']*')*)"""
_REFERENCE = re.compile(rb"""\br\s*=\s*["']([A-Za-z]*)([0-9]+)["']""")
_ODS_CELL = re.compile(rb"<table:(?:(table-row|table-cell|covered-table-cell)\b" + _ATTRIBUTES + rb">|table\b)")
_REPEATED = re.compile(rb"""number-(?:rows|columns)-repeated\s*=\s*["']([0-9]+)""")
_TARGET = re.compile(rb"""\bTarget\s*=\s*(?:"([^"]*)"|'([^']*)')""")

Row = list[str | None]


@dataclass(frozen=True)
class Sheet:
    """The cells of a sheet from the first filled one, and the ranges of merged cells."""

    name: str
    is_shown: bool
    start: tuple[int, int]
    cells: list[list[Any]]
    merged: Sequence[tuple[tuple[int, int], tuple[int, int]]] = ()


def open_sheet(source: Source, options: Options) -> CellTable:
    """Open the sheet of a workbook that the options name, or the first one with data."""
    sheets = sheets_of(source)
    sheet, other_sheets = _chosen(source, sheets, options)
    rows, notes = _filled(_texts(sheet))
    if not rows:
        raise source.error(f"the sheet {sheet.name!r} is empty: there is nothing to read.")
    wanted = [value for value in options.roles.values() if isinstance(value, str)]
    texts = [[cell or "" for cell in row] for _, row in rows]
    is_named = has_header(texts[:200], wanted) if options.header is None else options.header
    columns = [cell.strip() for cell in texts[0]] if is_named else [""] * len(texts[0])
    data = rows[1:] if is_named else rows
    table = CellTable(
        source.name,
        columns,
        [row for _, row in data],
        lambda row: f"sheet {sheet.name!r}, row {sheet.start[0] + data[row][0] + 1}",
        has_header=is_named,
    )
    table.sheets = tuple(one.name for one in sheets if one.cells)
    if other_sheets:
        shown = ", ".join(map(shorten, other_sheets[:6]))
        what = f"read the sheet {shorten(sheet.name)}; other sheets with data: {shown}"
        table.notes.append(f"{what} (" + arg("sheet") + " selects another sheet)")
    table.notes += notes
    return table


def sheets_of(source: Source) -> list[Sheet]:
    """Return the sheets of a workbook, in order."""
    if not find_spec("python_calamine"):
        raise source.error(
            "workbooks need python-calamine: pip install 'concordant[sheets]', or save the sheet as csv."
        )
    content = source.read_bytes()
    is_measured = _check_size(source, content)
    if content.startswith(OLE) and "EncryptedPackage".encode("utf-16-le") in content:
        raise _locked(source)
    if not is_measured:
        return in_child(source, content)
    try:
        return [Sheet(*sheet) for sheet in workbooks.sheets_in(content)]
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as problem:  # a panic of the reader is no Exception
        raise _unreadable(source, f"{type(problem).__name__}: {problem}") from None


def in_child(source: Source, content: bytes) -> list[Sheet]:
    """Read a workbook whose size cannot be measured in a separate process, which can be killed safely."""
    answer = workbooks.sheets_in_child(content)
    if "problem" in answer:
        raise _unreadable(source, answer["problem"])
    return [Sheet(name, shown, tuple(start), *rest) for name, shown, start, *rest in answer["sheets"]]


def _unreadable(source: Source, problem: str) -> FormatError:
    """Create the error for a workbook that the reader could not read."""
    if "assword" in problem:
        return _locked(source)
    why = problem.removeprefix("CalamineError: ").partition("\n")[0][:100]
    return source.error(f"the workbook cannot be read ({why}): check that the file is a complete workbook.")


def _locked(source: Source) -> FormatError:
    return source.error("the workbook is protected by a password: save a copy without a password and read that.")


def _chosen(source: Source, sheets: Sequence[Sheet], options: Options) -> tuple[Sheet, list[str]]:
    """Return the sheet to read, and the names of the other sheets with data."""
    if options.sheet is not None:
        text = str(options.sheet).strip()
        matching = [sheet for sheet in sheets if sheet.name == text]
        matching = matching or [sheet for sheet in sheets if sheet.name.casefold() == text.casefold()]
        if not matching and text.isdecimal() and len(text) < 10 and 1 <= int(text) <= len(sheets):
            matching = [sheets[int(text) - 1]]
        if not matching:
            names = ", ".join(shorten(sheet.name) for sheet in sheets[:12])
            raise source.error(f"there is no sheet {text!r}: the sheets are {names}.")
        return matching[0], []
    filled = [sheet for sheet in sheets if sheet.is_shown and sheet.cells]
    if not filled:
        raise source.error("all sheets of the workbook are empty: check that this is the right file.")
    return filled[0], [further.name for further in filled[1:] if len(further.cells) > 1]


# ---- from cells to a table ----
def _texts(sheet: Sheet) -> list[Row]:
    """Return the cells of a sheet as text; a value merged over several rows is repeated in each of them."""
    rows = [[_text(cell) for cell in row] for row in sheet.cells]
    top, left = sheet.start
    for (first, column), (last, last_column) in sheet.merged:
        if first == last or first < top or column < left or first - top >= len(rows):
            continue  # what spans columns is a title, or the head of several columns
        first_row = rows[first - top]
        for k in range(column - left, min(last_column - left + 1, len(first_row))):
            for row in rows[first - top + 1 : last - top + 1]:
                row[k] = row[k] or first_row[column - left]
    return rows


def _text(cell: object) -> str | None:
    """Return a cell as the text it would have in csv."""
    if isinstance(cell, bool):
        return "TRUE" if cell else "FALSE"
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 2**53 else repr(cell)
    if isinstance(cell, datetime):
        return cell.isoformat(" ")
    if isinstance(cell, (date, time)):
        return cell.isoformat()
    return str(cell).strip() or None


def _filled(cells: Sequence[Row]) -> tuple[list[tuple[int, Row]], list[str]]:
    """Return (number, row) of the non-empty rows, without titles and empty columns, and a note on the titles."""
    rows = [(k, row) for k, row in enumerate(cells) if any(row)]
    n_titles = next((k for k, (_, row) in enumerate(rows) if not _is_title(row)), 0)
    titles = [shorten(str(row[0])) for _, row in rows[:n_titles]]
    rows = rows[n_titles:]
    keep = [k for k in range(len(rows[0][1]) if rows else 0) if any(row[k] for _, row in rows)]
    notes = [f"left out above the header: {'; '.join(titles)}"] if titles else []
    return [(number, [row[k] for k in keep]) for number, row in rows], notes


def _is_title(row: Row) -> bool:
    """Return whether only the first cell of a row is filled, in a sheet of several columns."""
    return bool(row[0]) and sum(map(bool, row)) == 1 and len(row) > 1


# ---- how large it gets ----
def _check_size(source: Source, content: bytes) -> bool:
    """Unpack a workbook piece by piece to limit its size; return whether the number of its cells could be measured."""
    if not content.startswith(b"PK"):
        return False
    total, is_measured = 0, True
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for member in archive.infolist():
                extent = _Extent(member.filename)
                with archive.open(member) as file:
                    while chunk := file.read(CHUNK):
                        total += len(chunk)
                        source.check_limits(total, len(content))
                        extent.add(chunk)
                extent.end()
                is_measured &= extent.is_measured
                if extent.cells > MAX_CELLS:
                    what = f"a sheet spans {extent.cells:,} cells, more than {MAX_CELLS:,}"
                    raise source.error(f"{what}: save the part with data as csv.")
    except FormatError:
        raise
    except (
        zipfile.BadZipFile,
        zlib.error,
        expat.ExpatError,
        RuntimeError,
        EOFError,
        ValueError,
        OSError,
        LookupError,
    ) as problem:
        if "password" in str(problem):
            raise _locked(source) from None
        raise source.error(f"the workbook is damaged ({problem}): download or save it again.") from None
    return is_measured


class _Extent:
    """Number of cells between the first and the last one that a part of a workbook refers to.

    Text that is not well-formed XML is rejected, because the reader might never terminate. The number of cells cannot
    be measured if the workbook has parts that are not XML (cells of xlsb, macros) or if its texts look like cell
    references. Other parts that are not XML (pictures, printer settings) are never read.
    """

    def __init__(self, name: str) -> None:
        """Decide from the name of a part how to measure it."""
        name = name.lower()  # the reader finds parts in either case
        self.is_ods = name == "content.xml"
        self.is_text = name.endswith((".xml", ".rels"))
        self.is_shared = name.endswith("sharedstrings.xml")
        self.is_measured = name != "xl/workbook.bin"
        self._names_parts = name.endswith("workbook.xml.rels")
        self.rows = self.columns = self._row = self._column = 0
        self._rest = b""
        self._parser = expat.ParserCreate()
        self._parser.EntityDeclHandler = _refuse_entities

    @property
    def cells(self) -> int:
        return self.rows * self.columns if not self.is_shared else 0

    def add(self, chunk: bytes) -> None:
        """Scan the next bytes for references to cells, up to the last complete tag."""
        if not self.is_text:
            return
        self._parser.Parse(chunk, False)
        text = self._rest + chunk
        if b"\0" in chunk or len(text) > LONGEST_TAG:
            raise ValueError("a sheet has an unsupported text encoding")
        cut = text.rfind(b"<") if self.is_ods else text.rfind(b">") + 1
        text, self._rest = text[: max(cut, 0)], text[max(cut, 0) :]
        if self.is_ods:
            self._add_ods(text)
            return
        if self._names_parts:
            self.is_measured &= all(b"".join(groups).lower().endswith(b".xml") for groups in _TARGET.findall(text))
        for letters, digits in _REFERENCE.findall(text):
            self.rows = max(self.rows, int(digits[:18]))
            self.columns = max(self.columns, _number(letters[:9].upper()))

    def end(self) -> None:
        """Check that the XML is complete."""
        if self.is_text:
            self._parser.Parse(b"", True)
        self.is_measured &= not (self.is_shared and self.rows * self.columns > MAX_CELLS)

    def _add_ods(self, text: bytes) -> None:
        """Count the rows and cells of an OpenDocument sheet, including repeated ones."""
        for match in _ODS_CELL.finditer(text):
            attributes = match[2] or b""
            repeated = _REPEATED.search(attributes)
            count = int(repeated[1][:18]) if repeated else 1
            if match[1] is None:
                self._row = 0
            elif match[1] == b"table-row":
                self._row, self._column = self._row + count, 0
            else:
                self._column += count
                if b"value" in attributes or not attributes.endswith(b"/"):
                    self.rows, self.columns = max(self.rows, self._row), max(self.columns, self._column)


def _refuse_entities(*_: object) -> None:
    raise ValueError("it declares XML entities, which workbooks do not need")


def _number(letters: bytes) -> int:
    """Return the number of a column named by letters: A is 1, AA is 27."""
    number = 0
    for letter in letters:
        number = 26 * number + letter - 64
    return number
