"""Numbers and tables as people read them: one format per column, words never broken."""

from __future__ import annotations

import io
import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

import concordant as cc
from concordant.cli import _shared as shared
from concordant.metrics import compare_systems
from concordant.support.text import (
    display_width,
    format_p,
    interval_cells,
    interval_heading,
    isolate,
    number_format,
    p_value,
    short_number,
    text_width,
    tick_labels,
    typeset,
    typeset_number,
    visible,
    without_isolates,
)


@pytest.mark.parametrize(
    ("values", "written"),
    [
        ([1162770.5, 1136130.0], ["1162770", "1136130"]),
        ([3.0, -2.0, 0.0], ["3", "-2", "0"]),
        ([0.5, 1.25, 3.0], ["0.50", "1.25", "3.00"]),
        ([0.0325226, 0.0161290], ["0.03252", "0.01613"]),
        ([1 / 3, -1 / 3], ["0.3333", "-0.3333"]),
        ([1234.5, 0.0123], ["1234", "0"]),
        ([1e-20, 3e-20], ["1.000e-20", "3.000e-20"]),
        ([1.5e15, 2.0], ["1.500e+15", "2.000e+00"]),
        ([-0.0, -1e-9, 1.5], ["0.0", "0.0", "1.5"]),
        ([], []),
        ([0.81234, 0.81229, 0.5], ["0.81234", "0.81229", "0.50000"]),
        ([0.81234, 0.5, 0.81234], ["0.8123", "0.5000", "0.8123"]),
        ([0.8123456, 0.8123458], ["0.8123", "0.8123"]),
        ([float("nan"), 1.0], ["nan", "1"]),
    ],
)
def test_a_column_of_numbers_has_one_format(values: list[float], written: list[str]) -> None:
    write = number_format(values)
    assert [write(value) for value in values] == written


@given(st.lists(st.floats(-1e12, 1e12, allow_nan=False), min_size=1))
def test_written_numbers_stay_near_the_numbers(values: list[float]) -> None:
    write = number_format(values)
    texts = [write(value) for value in values]
    largest = max(abs(value) for value in values)
    assert len({"e" in text for text in texts}) == 1
    assert len({len(text.partition(".")[2]) for text in texts if "e" not in text}) <= 1
    for value, text in zip(values, texts, strict=True):
        assert float(text) == pytest.approx(value, rel=1e-3, abs=max(1e-3 * largest, 1e-320))


def test_ends_of_intervals_do_not_add_digits() -> None:
    write = number_format([1.5, 0.5], [2.00001, 2.00002])
    assert interval_cells([1.0, -0.5], [2.00001, 2.00002], write) == ["[ 1.0, 2.0]", "[-0.5, 2.0]"]
    assert interval_cells([1.0, float("nan")], [2.0, 1.0], write) == ["[1.0, 2.0]", ""]


@pytest.mark.parametrize(
    ("level", "heading"), [(0.95, "95% CI"), (0.9, "90% CI"), (0.999, "99.9% CI"), (None, "95% CI"), ("auto", "95% CI")]
)
def test_the_heading_of_intervals_names_their_level(level: object, heading: str) -> None:
    assert interval_heading(level) == heading


def test_a_number_in_a_sentence_has_four_digits_and_votes_have_all() -> None:
    values = (1944.0, 1834.5, 12345.678, 0.599739, -0.0, 250.0, 1e-9, 0.0000123456, float("nan"))
    shown = ["1,944", "1,834.5", "12,346", "0.5997", "0", "250", "1e-09", "0.00001235", "nan"]
    assert [short_number(value) for value in values] == shown


def test_a_p_value_in_a_sentence_names_the_correction() -> None:
    assert [p_value(p, "Holm") for p in (0.03894, 0.00001, 1.0)] == [
        "p = 0.039 (Holm)",
        "p < 0.001 (Holm)",
        "p = 1 (Holm)",
    ]
    assert p_value(0.25) == "p = 0.25"


def test_small_p_values_are_said_to_be_small() -> None:
    assert [format_p(p) for p in (0.0, 0.00009, 0.0001, 0.05, 1.0)] == [
        "<0.0001",
        "<0.0001",
        "0.0001",
        "0.0500",
        "1.0000",
    ]
    table = str(compare_systems({"base": [0.1] * 50, "better": [0.2] * 50}))
    assert "<0.0001" in table


HEADER = ["method", "distance", "tau borda", "tau instant-runoff", "tau schulze", "first"]
ROW = ["borda", "0.1234", "1.000", "0.600", "0.600", "Clara Lindqvist > Ben Okoro = Ada Marsh > Dev Rao"]


def drawn(monkeypatch: pytest.MonkeyPatch, columns: int, header: list[str], row: list[str], right: set[int]) -> str:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(sys, "stdout", Terminal())
    text = shared.table(header, [row], right)
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@pytest.mark.parametrize("columns", [40, 60, 80, 100, 160])
def test_a_table_fits_the_terminal_and_breaks_no_word(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    text = drawn(monkeypatch, columns, HEADER, ROW, {1, 2, 3, 4})
    table = [line for line in text.splitlines() if line[:1] in "│┃┏┡└"]
    assert max(map(len, table)) <= columns
    words = set(re.findall(r"[^\s│┃]+", "\n".join(line for line in table if line[:1] in "│┃")))
    assert words <= {word for cell in [*HEADER, *ROW] for word in cell.split()}
    assert {"0.1234", "Clara", "Lindqvist", "Rao", "borda"} <= words


def test_columns_without_room_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "not shown" not in drawn(monkeypatch, 160, HEADER, ROW, {1, 2, 3, 4})
    narrow = drawn(monkeypatch, 60, HEADER, ROW, {1, 2, 3, 4})
    assert "columns not shown, because the terminal is too narrow: tau instant-runoff, tau schulze" in narrow
    assert "0.600" not in narrow


def test_piped_and_saved_tables_have_a_row_per_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    assert len(shared.table(HEADER, [ROW], {1, 2, 3, 4}).splitlines()) == 2
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert len(shared.table(HEADER, [ROW], {1, 2, 3, 4}, output="file.txt").splitlines()) == 2


def test_describe_respects_the_width_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    prefs = cc.Preferences.from_rankings([["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]])
    monkeypatch.setenv("COLUMNS", "70")
    assert text_width() == 70
    narrow = str(prefs.describe())
    assert max(map(len, narrow.splitlines())) <= 70
    monkeypatch.setenv("COLUMNS", "140")
    wide = str(prefs.describe())
    assert 100 < max(map(len, wide.splitlines())) <= 140
    assert wide.split() == narrow.split()


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("abc", 3),
        ("日本", 4),
        ("한국", 4),
        ("e\u0301", 1),
        ("\u200bx", 1),
        ("❤\ufe0f", 2),
        ("👍\U0001f3fd", 2),
        ("👨\u200d👩\u200d👧", 2),
        ("🇩🇪", 2),
        ("Ａｂ", 4),
        ("ｱ", 1),
    ],
)
def test_wide_characters_take_two_columns_and_marks_none(text: str, width: int) -> None:
    from rich.cells import cell_len

    assert display_width(text) == width == cell_len(text)


def test_tables_with_wide_characters_are_aligned() -> None:
    prefs = cc.Preferences.from_rankings([["東京", "Oslo", "e\u0301", "👍🏽"]])
    lines = cc.rank(prefs, "borda").to_text().splitlines()
    assert len({display_width(line) for line in lines}) == 1
    assert cc.rank(prefs, "borda").to_text() == "\n".join(lines)


def test_a_table_of_systems_is_aligned() -> None:
    table = str(compare_systems({"基準": [0.1, 0.3] * 10, "better": [0.2] * 20})).splitlines()[:3]
    assert len({display_width(line.split("0.")[0]) for line in table[1:]}) == 1


def test_isolated_names_stay_isolated_and_nothing_else_moves_the_text() -> None:
    shown = isolate("שלום\u202e\u2068x")
    assert shown == "\u2068שלום\\u202e\\u2068x\u2069"
    assert visible(f"{shown} is first", colours=False) == f"{shown} is first"
    assert without_isolates(f"{shown} is first") == f"{shown[1:-1]} is first"
    assert isolate("Zürich") == "Zürich"
    for hostile in ("a\u2068b\u2069", "\u2068ש", "ש\u2069", "\u2067ש\u2069", "\u2068ש\u202e\u2069"):
        assert not set(visible(hostile, colours=False)) & set("\u2067\u2068\u2069\u202e"), ascii(hostile)


def test_numbers_of_an_axis_are_written_in_full() -> None:
    assert tick_labels([0.0, 500_000.0, 1_000_000.0]) == ["0", "500,000", "1,000,000"]
    assert tick_labels([-0.25, 0.0, 0.30000000000000004]) == ["−0.25", "0.00", "0.30"]
    assert tick_labels([1e15]) == ["1e+15"]


def test_text_of_pages_has_true_minus_signs_and_one_full_stop() -> None:
    assert (
        typeset("Ahead by -0.5 (95% CI -129 to -12) of Acme Inc..") == "Ahead by −0.5 (95% CI −129 to −12) of Acme Inc."
    )
    assert typeset("Wait ... gpt-4 beats T-1000 on 2024-05-31.") == "Wait ... gpt-4 beats T-1000 on 2024-05-31."
    assert typeset_number("[ 0.155, -0.957]") == "[0.155, −0.957]"
    assert typeset_number("2024-05-31") == "2024-05-31"


def test_scores_have_no_more_digits_than_their_intervals() -> None:
    write = number_format([1685.98, 1685.31], [1599.9, 1600.1, 1771.2, 1771.9])
    assert [write(1685.98), write(1685.31)] == ["1686", "1685"]
    assert number_format([1685.98, 1685.96])(1685.98) == "1685.98"
    assert number_format([1685.98, 1685.96], [1599.9, 1600.1, 1771.2, 1771.9])(1685.98) == "1686"
    narrow = number_format([1000.12, 1000.34], [1000.02, 1000.24, 1000.22, 1000.44])
    assert narrow(1000.12) == "1000.1"
