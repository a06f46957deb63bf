"""Write an Excel workbook of one sheet, with the standard library: a zip archive of a few XML files.

Numbers are written as numbers in full precision and text as text, so a label such as ``=1+1`` is never a formula. The
header is bold and stays visible. Equal content gives equal files.
"""

from __future__ import annotations

import io
import math
import re
import zipfile
from collections.abc import Mapping, Sequence
from html import escape
from itertools import zip_longest

from concordant.errors import InputError

MAX_ROWS, MAX_COLUMNS, MAX_LETTERS = 1_048_576, 16_384, 32_767  # Excel's limits
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/>'
    f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_TYPE}.worksheet+xml"/>'
    f'<Override PartName="/xl/styles.xml" ContentType="{_TYPE}.styles+xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{_OFFICE}/worksheet" Target="worksheets/sheet1.xml"/>'
    f'<Relationship Id="rId2" Type="{_OFFICE}/styles" Target="styles.xml"/></Relationships>',
    "xl/styles.xml": f'<styleSheet xmlns="{_MAIN}">'
    '<fonts count="2"><font><sz val="11"/><name val="Calibri"/></font>'
    '<font><b/><sz val="11"/><name val="Calibri"/></font></fonts>'
    '<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill>'
    '</fills><borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>'
    '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>'
    '<cellXfs count="2"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>'
    '<xf numFmtId="0" fontId="1" fillId="0" borderId="0" xfId="0" applyFont="1"/></cellXfs>'
    '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>',
}


def workbook(columns: Mapping[str, Sequence[object]], title: str) -> bytes:
    """Return the content of a workbook with one sheet: a header, and a row per value."""
    n_rows = max((len(column) for column in columns.values()), default=0)
    if n_rows + 1 > MAX_ROWS or len(columns) > MAX_COLUMNS:
        raise InputError(
            f"A sheet holds {MAX_ROWS:,} rows and {MAX_COLUMNS:,} columns, but there are {n_rows + 1:,} and "
            f"{len(columns):,}: use the extension .csv or .parquet."
        )
    name = re.sub(r"[\[\]:*?/\\']", " ", title)[:31].strip() or "data"  # what Excel allows
    parts = {
        **_PARTS,
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>'
        f'<sheet name="{_text(name)}" sheetId="1" r:id="rId1"/></sheets></workbook>',
        "xl/worksheets/sheet1.xml": _sheet(columns),
    }
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for part, xml in parts.items():
            entry = zipfile.ZipInfo(part, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, (_HEAD + xml).encode("utf-8", "backslashreplace"))
    return content.getvalue()


def _sheet(columns: Mapping[str, Sequence[object]]) -> str:
    """Return the sheet; the header stays visible while scrolling."""
    letters = [_letters(c) for c in range(len(columns))]
    rows = [_row(1, letters, list(columns), ' s="1"')]
    rows += [_row(r, letters, row) for r, row in enumerate(zip_longest(*columns.values()), 2)]
    pane = '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/>'
    view = f'<sheetViews><sheetView workbookViewId="0">{pane}</sheetView></sheetViews>'
    return f'<worksheet xmlns="{_MAIN}">{view}<sheetData>{"".join(rows)}</sheetData></worksheet>'


def _row(number: int, letters: Sequence[str], cells: Sequence[object], style: str = "") -> str:
    written = "".join(_cell(f"{letter}{number}", cell, style) for letter, cell in zip(letters, cells, strict=True))
    return f'<row r="{number}">{written}</row>'


def _cell(place: str, value: object, style: str) -> str:
    """Return a cell: a number, a truth value, text, or nothing for an unknown value."""
    if value is None or value != value:
        return ""
    if isinstance(value, bool):
        return f'<c r="{place}"{style} t="b"><v>{int(value)}</v></c>'
    if isinstance(value, (int, float)) and abs(value) < 2**53 and math.isfinite(value):
        return f'<c r="{place}"{style}><v>{value!r}</v></c>'
    if isinstance(value, float) and math.isfinite(value):
        return f'<c r="{place}"{style}><v>{value!r}</v></c>'
    text = _text(str(value)[:MAX_LETTERS])
    return f'<c r="{place}"{style} t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>'


def _text(plain: str) -> str:
    """Escape text; characters that XML cannot hold are written as _x0007_, as Excel does."""
    coded = re.sub(r"_(?=x[0-9A-Fa-f]{4}_)", "_x005F_", plain)
    coded = re.sub(r"[\x00-\x08\x0b-\x1f\ufffe\uffff\ud800-\udfff]", lambda found: f"_x{ord(found[0]):04X}_", coded)
    return escape(coded, quote=True)


def _letters(column: int) -> str:
    """Return the letters of a column: A, B, …, Z, AA, …"""
    return (_letters(column // 26 - 1) if column >= 26 else "") + chr(65 + column % 26)
