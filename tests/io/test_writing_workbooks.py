"""Workbooks that are written: numbers are numbers, text is text, never a formula."""

from __future__ import annotations

import io
import math
import xml.etree.ElementTree as ET
import zipfile
from pathlib import Path

import pytest

import concordant as cc
from concordant.io import _xlsx, write_table
from concordant.io._xlsx import workbook

calamine = pytest.importorskip("python_calamine", reason="reading workbooks is an extra")
AWKWARD = ["=1+1", "+1", "-1", "@x", "<b>&\"'", "a\nb", "_x0041_", "ünïcode 🐧", " padded ", "1.0", "TRUE"]


def cells(content: bytes) -> list[list[object]]:
    book = calamine.CalamineWorkbook.from_filelike(io.BytesIO(content))
    rows: list[list[object]] = book.get_sheet_by_index(0).to_python()
    return rows


def test_numbers_stay_numbers_in_full_precision_and_text_stays_text() -> None:
    rows = cells(workbook({"item": AWKWARD, "score": [math.pi / 10**k for k in range(len(AWKWARD))]}, "ranking"))
    assert rows[0] == ["item", "score"]
    assert [row[0] for row in rows[1:]] == AWKWARD
    assert [row[1] for row in rows[1:]] == [math.pi / 10**k for k in range(len(AWKWARD))]


def test_no_cell_is_a_formula() -> None:
    with zipfile.ZipFile(io.BytesIO(workbook({"=HEAD()": AWKWARD}, "x"))) as archive:
        sheet = archive.read("xl/worksheets/sheet1.xml").decode()
        assert "<f>" not in sheet
        for name in archive.namelist():
            ET.fromstring(archive.read(name))  # every part is well-formed


def test_unknown_values_are_empty_and_truth_values_are_kept() -> None:
    rows = cells(workbook({"a": [None, math.nan, 1.5, True], "b": [2**60, -1e300, math.inf, 0]}, "x"))
    assert [row[0] for row in rows[1:]] == ["", "", 1.5, True]
    assert [row[1] for row in rows[1:]] == [str(2**60), -1e300, "inf", 0.0]


def test_characters_that_xml_cannot_hold_are_coded() -> None:
    with zipfile.ZipFile(io.BytesIO(workbook({"item": ["a\x07b", "\ud800"]}, "x"))) as archive:
        sheet = archive.read("xl/worksheets/sheet1.xml").decode()
    assert "a_x0007_b" in sheet
    assert "_xD800_" in sheet


def test_the_header_is_bold_and_the_sheet_is_named() -> None:
    content = workbook({"item": ["a"]}, "a/b: [ranking] " + "x" * 40)
    book = calamine.CalamineWorkbook.from_filelike(io.BytesIO(content))
    (name,) = book.sheet_names
    assert len(name) <= 31
    assert not set(name) & set("[]:*?/\\")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert 'r="A1" s="1"' in archive.read("xl/worksheets/sheet1.xml").decode()
        assert "<b/>" in archive.read("xl/styles.xml").decode()


def test_equal_content_gives_equal_files() -> None:
    assert workbook({"a": [1]}, "x") == workbook({"a": [1]}, "x")


def test_more_rows_than_a_sheet_holds_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_xlsx, "MAX_ROWS", 3)
    with pytest.raises(cc.InputError, match=r"use the extension \.csv or \.parquet"):
        workbook({"a": [1, 2, 3]}, "x")


def test_columns_have_letters() -> None:
    assert [_xlsx._letters(c) for c in (0, 25, 26, 701, 702)] == ["A", "Z", "AA", "ZZ", "AAA"]


def test_preferences_written_as_a_workbook_are_read_back(tmp_path: Path) -> None:
    prefs = cc.Preferences.from_ratings(["u", "u", "v"], ["=x", "y", "=x"], [5, 2.5, 4])
    cc.write(prefs, tmp_path / "ratings.xlsx")
    assert cc.read(tmp_path / "ratings.xlsx") == prefs
    write_table({"a": [1]}, tmp_path / "table.xlsx", title="history")
    assert calamine.CalamineWorkbook.from_path(tmp_path / "table.xlsx").sheet_names == ["history"]


def test_a_workbook_with_macros_is_not_written(tmp_path: Path) -> None:
    prefs = cc.Preferences.from_rankings([["a", "b"]])
    with pytest.raises(cc.InputError, match=r"use the extension \.xlsx"):
        cc.write(prefs, tmp_path / "x.xlsm")
