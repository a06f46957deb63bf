"""Workbooks: what a sheet becomes, which one is read, and what is refused."""

from __future__ import annotations

import datetime
import io
import sys
import zipfile
from typing import Any

import pytest
from tests.conftest import MakeFile
from tests.workbooks import PRINTER, archive, ods, with_parts, xls, xlsx

import concordant as cc
from concordant.errors import FormatError
from concordant.io import _sheets
from concordant.io._source import OLE, Source
from concordant.support import processes, workbooks

pytest.importorskip("python_calamine", reason="workbooks need python-calamine")
PAIRS = [["winner", "loser"], ["a", "b"], ["b", "c"], ["a", "c"]]
POINTS = [["name", "x", "y"], ["ann", 5, 3.5], ["bob", 4, None]]


def pairs(prefs: cc.Preferences) -> list[str]:
    return prefs.items.take(prefs.item)


@pytest.mark.parametrize(("write", "name"), [(xlsx, "t.xlsx"), (ods, "t.ods"), (xlsx, "upload"), (ods, "upload")])
def test_a_sheet_is_a_table(make: MakeFile, write: Any, name: str) -> None:
    prefs = cc.read(make(write({"Games": PAIRS}), name))
    assert pairs(prefs) == ["a", "b", "b", "c", "a", "c"]
    rated = cc.read(make(write({"Points": POINTS}), name))
    assert rated.value is not None
    assert rated.value.tolist() == [5, 3.5, 4]
    assert {one.name for one in cc.io.list_formats()} >= {"xlsx", "xlsb", "xls", "ods"}


def test_labels_and_features_come_from_workbooks_too(make: MakeFile) -> None:
    path = make(xlsx({"S": [["item", "label", "age"], ["a", 1, 2.5], ["b", 0, None]]}), "t.xlsx")
    assert cc.read_labels(path).label.tolist() == [1, 0]
    assert cc.read_features(path).X[0].tolist() == [2.5]


def test_cells_are_the_text_a_csv_file_would_hold() -> None:
    day = datetime.date(2024, 5, 31)
    moment = datetime.datetime(2024, 5, 31, 12, 30)
    cells = [1.0, 2.5, 1e300, True, False, day, moment, datetime.time(8, 5), " x ", "", -0.0]
    texts = ["1", "2.5", "1e+300", "TRUE", "FALSE", "2024-05-31", "2024-05-31 12:30:00", "08:05:00", "x", None, "0"]
    assert [_sheets._text(cell) for cell in cells] == texts


@pytest.mark.parametrize("write", [xlsx, ods])
def test_titles_and_empty_rows_and_columns_are_left_out(make: MakeFile, write: Any) -> None:
    rows = [[], [None, "Autumn"], [None, "second line"], [], *([None, *row] for row in PAIRS[:2]), [], [None, "b", "c"]]
    prefs = cc.read(make(write({"S": rows}), "t"))
    assert pairs(prefs) == ["a", "b", "b", "c"]
    assert "left out above the header: Autumn; second line" in prefs.notes
    with pytest.raises(FormatError, match="sheet 'S', row 8: the loser is missing"):
        cc.read(make(write({"S": [*rows[:-1], [None, "b"]]}), "t"))


def test_a_sheet_of_one_column_has_no_title(make: MakeFile) -> None:
    prefs = cc.read(make(xlsx({"S": [["ranking"], ["a > b"], ["b > a"]]}), "t.xlsx"))
    assert prefs.n_ballots == 2


def test_merged_cells_hold_one_value_together(make: MakeFile) -> None:
    rows = [["voter", "item", "rank"], ["ann", "x", 1], [None, "y", 2], ["bob", "y", 1], [None, "x", 2]]
    prefs = cc.read(make(xlsx({"S": rows}, merged=["A2:A3", "A4:A5"]), "t.xlsx"))
    assert prefs.n_agents == 2
    assert dict(prefs.describe().first) == {"ann": "x > y", "bob": "y > x"}


def test_the_first_sheet_with_data_is_read_and_others_are_named(make: MakeFile) -> None:
    path = make(xlsx({"Empty": [], "Games": PAIRS, "Points": POINTS}), "t.xlsx")
    prefs = cc.read(path)
    assert prefs.form == "pairs"
    assert any("the sheet Games; other sheets with data: Points (sheet= selects" in note for note in prefs.notes)
    for sheet in ("Points", "points", 3, "3"):
        assert cc.read(path, sheet=sheet).scale == "rating"
    with pytest.raises(FormatError, match="there is no sheet 'x': the sheets are Empty, Games, Points"):
        cc.read(path, sheet="x")
    with pytest.raises(FormatError, match="the sheet 'Empty' is empty"):
        cc.read(path, sheet="Empty")
    with pytest.raises(FormatError, match="all sheets of the workbook are empty"):
        cc.read(make(xlsx({"S": []}), "t.xlsx"))


def test_sheets_are_swapped_and_have_headers_as_asked(make: MakeFile) -> None:
    path = make(xlsx({"S": [list(row) for row in zip(*PAIRS, strict=True)]}), "t.xlsx")
    assert pairs(cc.read(path, transpose=True)) == ["a", "b", "b", "c", "a", "c"]
    bare = make(xlsx({"S": PAIRS[1:]}), "t.xlsx")
    assert cc.read(bare, header=False).n_ballots == 3


def test_a_workbook_may_be_packed(make: MakeFile) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        packed.writestr("games.xlsx", xlsx({"S": PAIRS}))
    assert cc.read(make(out.getvalue(), "games.zip")).n_ballots == 3


def test_a_preview_shows_a_sheet(make: MakeFile) -> None:
    looked = cc.io.preview(make(xlsx({"S": POINTS}), "t.xlsx"))
    assert looked.format == "xlsx"
    assert looked.rows[0] == ("ann", "5", "3.5")


# ---- refused ----
def test_a_workbook_needs_its_reader(make: MakeFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(FormatError, match=r"pip install 'concordant\[sheets\]'"):
        cc.read(make(xlsx({"S": PAIRS}), "t.xlsx"))


def test_a_locked_workbook_is_refused(make: MakeFile) -> None:
    locked = OLE + b"\0" * 600 + "EncryptedPackage".encode("utf-16-le") + b"\0" * 600
    with pytest.raises(FormatError, match="protected by a password"):
        cc.read(make(locked, "t.xlsx"))


@pytest.mark.parametrize("content", [OLE + b"\0" * 600, b"PK\x03\x04nothing", b"a,b\n1,2\n", b"<html><table></table>"])
@pytest.mark.parametrize("name", ["t.xls", "t.xlsx", "t.ods"])
def test_what_is_no_workbook_is_refused_in_a_sentence(make: MakeFile, content: bytes, name: str) -> None:
    with pytest.raises(FormatError, match=r"t\.\w+: the .*(cannot be read|damaged|early)"):
        cc.read(make(content, name))


def test_a_workbook_without_sense_is_refused_in_a_sentence(make: MakeFile) -> None:
    nonsense = archive({"[Content_Types].xml": "<x/>", "xl/workbook.xml": "<x/>"})
    with pytest.raises(FormatError, match="the workbook cannot be read"):
        cc.read(make(nonsense, "t.xlsx"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("</table:table>", ""),  # the reader would look for it for ever
        ("<office:document-content", "<!DOCTYPE a [<!ENTITY b 'c'>]><office:document-content"),
        ("<office:document-content", "<?xml version='1.0' encoding='klingon'?><office:document-content"),
        ("winner", "winner\0"),
    ],
)
def test_text_that_is_not_well_formed_is_refused(make: MakeFile, old: str, new: str) -> None:
    parts = _parts(ods({"S": PAIRS}))
    parts["content.xml"] = parts["content.xml"].replace(old, new)
    with pytest.raises(FormatError, match="the workbook is damaged"):
        cc.read(make(archive(parts), "t.ods"))


@pytest.mark.parametrize("write", [xlsx, ods])
def test_damaged_workbooks_are_read_or_refused(make: MakeFile, write: Any) -> None:
    whole = write({"S": POINTS})
    refused = 0
    for k in range(0, len(whole), 37):
        for damaged in (whole[:k], whole[:k] + bytes([whole[k] ^ 255]) + whole[k + 1 :]):
            try:
                cc.read(make(damaged, "t.bin"))
            except FormatError:
                refused += 1
    assert refused > 10


def test_a_panic_of_the_reader_is_one_sentence(make: MakeFile, monkeypatch: pytest.MonkeyPatch) -> None:
    class PanicError(BaseException):
        pass

    class Workbook:
        @staticmethod
        def from_filelike(file: object) -> None:
            raise PanicError("index out of bounds")

    monkeypatch.setattr("python_calamine.CalamineWorkbook", Workbook)
    with pytest.raises(FormatError, match=r"the workbook cannot be read \(PanicError: index out of bounds\)"):
        cc.read(make(xlsx({"S": PAIRS}), "t.xlsx"))


def test_what_cannot_be_measured_is_read_by_a_process_of_its_own(make: MakeFile) -> None:
    with Source(make(xlsx({"S": POINTS, "T": []}), "t.xlsx")) as source:
        first, second = _sheets.in_child(source, source.read_bytes())
    assert (first.name, first.is_shown, first.cells) == (
        "S",
        True,
        [["name", "x", "y"], ["ann", 5, 3.5], ["bob", 4, ""]],
    )
    assert second.cells == []


def test_a_reader_that_dies_is_one_sentence(make: MakeFile, monkeypatch: pytest.MonkeyPatch) -> None:
    run = processes.run_python
    monkeypatch.setattr(
        processes, "run_python", lambda *_, content: run("-c", "import os; os.abort()", content=content)
    )
    with pytest.raises(
        FormatError, match=r"cannot be read \(its reader stopped early, probably out of memory or time\)"
    ):
        cc.read(make(xls(PAIRS), "t.xls"))


def test_an_old_workbook_is_a_table(make: MakeFile) -> None:
    assert pairs(cc.read(make(xls(PAIRS), "t.xls"))) == ["a", "b", "b", "c", "a", "c"]
    rated = cc.read(make(xls(POINTS), "t.xls"))
    assert rated.value is not None
    assert rated.value.tolist() == [5, 3.5, 4]


def test_settings_of_a_printer_need_no_process_of_their_own(make: MakeFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_sheets, "in_child", None)
    assert cc.read(make(with_parts(xlsx({"S": PAIRS}), PRINTER), "t.xlsx")).n_ballots == 3


FAR = b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>'


@pytest.mark.parametrize("name", ["sheet1.bin", "printerSettings1.bin", "sheet1.dat", "sharedStrings.xml"])
def test_a_sheet_under_another_name_is_not_read_unmeasured(
    make: MakeFile, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    book = xlsx({"S": PAIRS})
    parts = {path: text.encode() for path, text in _parts(book).items()}
    moved = parts.pop("xl/worksheets/sheet1.xml").replace(b"</sheetData>", FAR)
    links = parts.pop("xl/_rels/workbook.xml.rels").replace(b"sheet1.xml", name.encode())
    odd = with_parts(archive({}), {**parts, "xl/_rels/workbook.xml.rels": links, f"xl/worksheets/{name}": moved})
    seen: list[bytes] = []
    monkeypatch.setattr(workbooks, "sheets_in", fail)
    monkeypatch.setattr(workbooks, "sheets_in_child", lambda content: seen.append(content) or {"problem": "too large"})
    with pytest.raises(FormatError, match="too large"):
        cc.read(make(odd, "t.xlsx"))
    assert seen == [odd]


def test_a_sheet_in_capitals_is_measured(make: MakeFile) -> None:
    parts = {path: text.encode() for path, text in _parts(xlsx({"S": PAIRS})).items()}
    parts["xl/worksheets/SHEET1.XML"] = parts.pop("xl/worksheets/sheet1.xml").replace(b"</sheetData>", FAR)
    with pytest.raises(FormatError, match="a sheet spans 17,179,869,184 cells"):
        cc.read(make(with_parts(archive({}), parts), "t.xlsx"))


def fail(*_: object) -> None:
    raise AssertionError("this must not be called")


def test_a_small_workbook_that_unpacks_into_a_large_one_is_refused(make: MakeFile) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(xlsx({"S": PAIRS}))) as plain, zipfile.ZipFile(out, "w") as packed:
        for name in plain.namelist():
            packed.writestr(name, plain.read(name), zipfile.ZIP_DEFLATED)
        packed.writestr("xl/media/image.png", b"\0" * (80 << 20), zipfile.ZIP_DEFLATED)
    path = make(out.getvalue(), "t.xlsx")
    with pytest.raises(FormatError, match="unpack into more than 200 times as many"):
        cc.read(path)
    with pytest.raises(FormatError, match="larger than 1,000,000 bytes"):
        cc.read(path, max_bytes=1_000_000)
    assert cc.read(path, max_ratio=1e6).n_ballots == 3


def test_two_cells_at_the_far_ends_of_a_sheet_take_no_room(make: MakeFile) -> None:
    for far in ("A2147483648", "a99999999999999999999", "XFD1048577"):
        odd = _parts(xlsx({"S": PAIRS}))
        odd["xl/worksheets/sheet1.xml"] = odd["xl/worksheets/sheet1.xml"].replace('r="A1"', f"r = '{far}'")
        with pytest.raises(FormatError, match="a sheet spans"):
            cc.read(make(archive(odd), "t.xlsx"))
    far = '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>'
    wide = _parts(xlsx({"S": PAIRS}))
    wide["xl/worksheets/sheet1.xml"] = wide["xl/worksheets/sheet1.xml"].replace("</sheetData>", far)
    with pytest.raises(FormatError, match="a sheet spans 17,179,869,184 cells"):
        cc.read(make(archive(wide), "t.xlsx"))
    long = _parts(ods({"S": PAIRS}))
    gap = '<table:table-row table:number-rows-repeated="1000000"/><table:table-row><table:table-cell '
    gap += 'table:number-columns-repeated="16000"/><table:table-cell office:value-type="string"><text:p>x</text:p>'
    gap += "</table:table-cell></table:table-row></table:table>"
    long["content.xml"] = long["content.xml"].replace("</table:table>", gap)
    with pytest.raises(FormatError, match="a sheet spans 16,001"):
        cc.read(make(archive(long), "t.ods"))


def _parts(content: bytes) -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(content)) as archived:
        texts = {name: archived.read(name).decode() for name in archived.namelist()}
    return {name: text.partition("?>\n")[2] or text for name, text in texts.items()}
