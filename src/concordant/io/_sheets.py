"""Workbooks (xlsx, xlsb, xls, ods) as tables of text, read by python-calamine.

A sheet becomes what it would be as csv: whole numbers without a point, dates as 2024-05-31, empty cells missing. Empty
rows and titles above the header are left out, and so are empty columns; cells that were merged into one all hold its
value. A workbook is a zip archive as a rule: what it unpacks into is measured before anything is done with it, because
a reader takes room for every cell between the first and the last one, however few are filled.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time
from typing import Any

from concordant.cells import CellTable
from concordant.errors import FormatError
from concordant.io._csv import has_header
from concordant.io._source import CHUNK, OLE, Source
from concordant.reading import Options
from concordant.vocabulary import shorten

MOST_CELLS = 1 << 25  # a reader takes some 30 bytes for each, filled or not
_REFERENCE = re.compile(rb'\br="([A-Z]{0,3})([0-9]{1,7})"')
_ODS_CELL = re.compile(
    rb"<table:(table-row|table-cell|covered-table-cell)\b([^>]*)>|<table:table\b", re.DOTALL
)  # fmt: skip
_REPEATED = re.compile(rb'number-(?:rows|columns)-repeated="([0-9]{1,10})"')

Row = list[str | None]


def open_sheet(source: Source, options: Options) -> CellTable:
    """Open the sheet of a workbook that the options name, or the first with data in it."""
    content = source.read_bytes()
    _check_size(source, content)
    workbook = _workbook(source, content)
    name, sheet, others = _chosen(source, workbook, options)
    rows, first_row, notes = _filled(_texts(source, sheet), sheet)
    if not rows:
        raise source.error(f"the sheet {name!r} is empty: there is nothing to read.")
    wanted = [value for value in options.roles.values() if isinstance(value, str)]
    texts = [[cell or "" for cell in row] for _, row in rows]
    named = has_header(texts[:200], wanted) if options.header is None else options.header
    columns = [cell.strip() for cell in texts[0]] if named else [""] * len(texts[0])
    data = rows[1:] if named else rows
    table = CellTable(
        source.name,
        columns,
        [row for _, row in data],
        lambda row: f"sheet {name!r}, row {first_row + data[row][0] + 1}",
        has_header=named,
    )
    if others:
        shown = ", ".join(map(shorten, others[:6]))
        table.notes.append(f"read: the sheet {shorten(name)}; others with data: {shown} (sheet= takes one of them)")
    table.notes += notes
    return table


def _workbook(source: Source, content: bytes) -> Any:
    try:
        import python_calamine
    except ImportError:
        raise source.error(
            "workbooks need python-calamine: pip install 'concordant[sheets]', or save the sheet as csv."
        ) from None
    if content.startswith(OLE) and "EncryptedPackage".encode("utf-16-le") in content:
        raise _locked(source)
    return _guarded(source, lambda: python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(content)))


def _guarded(source: Source, call: Any) -> Any:
    """Call the reader; whatever it says of a damaged file becomes one sentence."""
    try:
        return call()
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as problem:  # a panic of the reader is no Exception
        if "assword" in f"{type(problem).__name__} {problem}":
            raise _locked(source) from None
        why = (str(problem).splitlines() or [type(problem).__name__])[0][:100]
        raise source.error(f"the workbook cannot be read ({why}): check that it is one, and whole.") from None


def _locked(source: Source) -> FormatError:
    return source.error("the workbook is locked with a password: save a copy without one, and read that.")


def _chosen(source: Source, workbook: Any, options: Options) -> tuple[str, Any, list[str]]:
    """Return the sheet that is wanted, its name, and the names of others with data."""
    names: list[str] = list(workbook.sheet_names)
    wanted = options.sheet
    if wanted is not None:
        text = str(wanted).strip()
        found = [name for name in names if name == text] or [n for n in names if n.casefold() == text.casefold()]
        if not found and text.isdecimal() and 1 <= int(text) <= len(names):
            found = [names[int(text) - 1]]
        if not found:
            raise source.error(f"there is no sheet {text!r}: the sheets are {', '.join(map(shorten, names[:12]))}.")
        return found[0], _guarded(source, lambda: workbook.get_sheet_by_name(found[0])), []
    filled: dict[str, Any] = {}
    for about in workbook.sheets_metadata:
        if "WorkSheet" in str(about.typ) and str(about.visible).endswith("Visible"):
            sheet = _guarded(source, lambda name=about.name: workbook.get_sheet_by_name(name))
            if sheet.height > 0:
                filled[about.name] = sheet
    if not filled:
        raise source.error("no sheet of the workbook has anything in it: check that this is the right file.")
    name, *others = filled
    return name, filled[name], [other for other in others if filled[other].height > 1]


# ---- from cells to a table ----
def _texts(source: Source, sheet: Any) -> list[Row]:
    """Return the cells of a sheet as text, those merged into one all with its value."""
    rows = [[_text(cell) for cell in row] for row in _guarded(source, sheet.to_python)]
    top, left = sheet.start or (0, 0)
    for (first_row, first_column), (last_row, last_column) in _guarded(source, lambda: sheet.merged_cell_ranges) or ():
        if last_row == first_row or not 0 <= first_row - top < len(rows):
            continue  # what spans columns is a title, or the head of several columns
        line = rows[first_row - top]
        for column in range(max(first_column - left, 0), min(last_column - left + 1, len(line))):
            for row in rows[first_row - top + 1 : last_row - top + 1]:
                row[column] = row[column] or line[max(first_column - left, 0)]
    return rows


def _text(cell: object) -> str | None:
    """Return a cell as csv would have it."""
    if isinstance(cell, bool):
        return "TRUE" if cell else "FALSE"
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 2**53 else repr(cell)
    if isinstance(cell, datetime):
        return cell.isoformat(" ")
    if isinstance(cell, (date, time)):
        return cell.isoformat()
    return str(cell).strip() or None


def _filled(cells: Sequence[Row], sheet: Any) -> tuple[list[tuple[int, Row]], int, list[str]]:
    """Return (number, row) of the rows with something in them, without titles and empty columns; where they begin."""
    rows = [(k, row) for k, row in enumerate(cells) if any(row)]
    titles: list[str] = []
    while (len(rows) > 1 and _is_title(rows[0][1]) and sum(map(bool, rows[1][1])) > 1) or _are_titles(rows):
        titles.append(next(cell for cell in rows.pop(0)[1] if cell))
    keep = [k for k in range(len(rows[0][1]) if rows else 0) if any(row[k] for _, row in rows)]
    notes = [f"left out above the header: {'; '.join(map(shorten, titles))}"] if titles else []
    return [(number, [row[k] for k in keep]) for number, row in rows], (sheet.start or (0, 0))[0], notes


def _is_title(row: Row) -> bool:
    return bool(row[0]) and sum(map(bool, row)) == 1 and len(row) > 1


def _are_titles(rows: Sequence[tuple[int, Row]]) -> bool:
    """Whether the table begins after several titles: lines of one cell, then one of several."""
    ahead = [_is_title(row) for _, row in rows[:5]]
    return len(ahead) > 2 and ahead[0] and ahead[1] and False in ahead


# ---- how large it gets ----
def _check_size(source: Source, content: bytes) -> None:
    """Unpack a workbook piece by piece, to see whether it is whole and how much room its cells take."""
    if not content.startswith(b"PK"):
        return
    total = 0
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for member in archive.infolist():
                with archive.open(member) as file:
                    seen = _Extent(member.filename)
                    while chunk := file.read(CHUNK):
                        total += len(chunk)
                        source.check_limits(total, len(content))
                        seen.add(chunk)
                if seen.cells > MOST_CELLS:
                    raise source.error(
                        f"a sheet spans {seen.cells:,} cells, more than {MOST_CELLS:,}: save the part with data as csv."
                    )
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError, ValueError, OSError, KeyError) as problem:
        if isinstance(problem, FormatError):
            raise
        if "password" in str(problem):
            raise _locked(source) from None
        raise source.error(f"the workbook is damaged ({problem}): fetch or save it again.") from None
    except zipfile.zlib.error as problem:  # type: ignore[attr-defined]
        raise source.error(f"the workbook is damaged ({problem}): fetch or save it again.") from None


class _Extent:
    """How many cells lie between the first and the last one that a part of a workbook speaks of."""

    def __init__(self, name: str) -> None:
        self.is_ods = name == "content.xml"
        self.is_sheet = self.is_ods or (name.endswith(".xml") and "sharedStrings" not in name)
        self.rows = self.columns = self._row = self._column = 0
        self._rest = b""

    @property
    def cells(self) -> int:
        return self.rows * self.columns

    def add(self, chunk: bytes) -> None:
        """Look through the next bytes."""
        if not self.is_sheet:
            return
        text = self._rest + chunk
        cut = text.rfind(b"<") if self.is_ods else text.rfind(b">") + 1
        text, self._rest = (text[:cut], text[cut:]) if cut > 0 else (text, b"")
        if self.is_ods:
            self._add_ods(text)
        else:
            for letters, digits in _REFERENCE.findall(text):
                self.rows = max(self.rows, int(digits))
                self.columns = max(self.columns, _number(letters))

    def _add_ods(self, text: bytes) -> None:
        for found in _ODS_CELL.finditer(text):
            repeated = _REPEATED.search(found[2] or b"")
            count = int(repeated[1]) if repeated else 1
            if found[1] is None:
                self._row = 0
            elif found[1] == b"table-row":
                self._row, self._column = self._row + count, 0
            else:
                self._column += count
                if b"value-type" in found[2]:
                    self.rows, self.columns = max(self.rows, self._row), max(self.columns, self._column)


def _number(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + letter - 64
    return number


def numbers(source: Source) -> Iterator[list[Any]]:
    """Yield the rows of the first sheet as they are: for formats of other publishers."""
    content = source.read_bytes()
    _check_size(source, content)
    workbook = _workbook(source, content)
    yield from _guarded(source, lambda: workbook.get_sheet_by_index(0).to_python())
