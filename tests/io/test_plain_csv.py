"""Plain csv files come out the same with and without DuckDB, and only they are read without it."""

import os
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import concordant as cc
from concordant.errors import ConcordantError
from concordant.io._csv import Dialect, sniff
from concordant.io._duckdb import CsvTable
from concordant.io._plain_csv import _NUMBER, _WORD, MAX_SMALL, LargeCsvTable, PlainCsvTable, open_csv
from concordant.io._source import Source
from concordant.tables.options import Options

ODD = [
    *("", " ", "a", "Ann", "inf", "-inf", "nan", "NaN", "1", "-1", "+1", "007", "1.5", ".5", "5.", "1e5", "1e400"),
    *("1_000", "0x1A", "true", "null", "NULL", "1,5", "é", "\xa0", "\xa01", " 1", "1 ", "'", "\\", "#", "\u2028"),
    *("123456789012345", "0.1234567890123456789", "9007199254740993", "-0", "e5", "1e", "--1", "1.2.3"),
    *("١", "日本", "x" * 50),
]
HEADED = Options(format="csv", header=True)
CELL = st.sampled_from(ODD) | st.floats(allow_nan=False).map(repr) | st.text("ab0.1-eé ", max_size=4)


@st.composite
def tables(draw: st.DrawFn) -> str:
    """Draw the text of a table, mostly plain."""
    width, delimiter, end = (
        draw(st.integers(1, 4)),
        draw(st.sampled_from(",\t;|")),
        draw(st.sampled_from(["\n", "\r\n"])),
    )
    rows = draw(st.lists(st.lists(CELL, min_size=width, max_size=width), min_size=1, max_size=8))
    text = end.join(delimiter.join(row) for row in rows) + draw(st.sampled_from(["", end, end + end]))
    return draw(st.sampled_from(["", "\ufeff"])) + text


def described(table: CsvTable, *, by_column: bool) -> list[object]:
    """Return all that a table says; column by column, one odd number does not send the others to DuckDB."""
    said: list[object] = [table.line(row) for row in range(3)]
    texts, numbers = ({}, {}) if by_column else table.fetch(table.columns, table.columns)
    for name in table.columns:
        codes, labels = table.fetch([name], [])[0][name] if by_column else texts[name]
        values = table.fetch([], [name])[1][name] if by_column else numbers[name]
        said += [name, codes.dtype, codes.tolist(), list(labels), values.dtype, repr(values.tolist())]
        cells = [None if code < 0 else labels[code] for code in codes.tolist()]
        said.append(table.cells(name, range(len(codes))) if by_column else cells)
    return said


def compare(path: Path, content: bytes, options: Options) -> bool:
    """Read a file in both ways, which must agree; say whether it was plain."""
    path.write_bytes(content)
    with Source(path, options) as source:
        dialect = sniff(source, options)
        table = open_csv(source, dialect, options)
        if not isinstance(table, PlainCsvTable):
            return False
        duck = described(CsvTable(source, dialect, options), by_column=False)
        assert described(table, by_column=True) == duck
        large = LargeCsvTable(source, dialect, options)
        assert large._columns(set(large.columns)), "what is plain when small is plain when large"
        assert described(large, by_column=False) == duck
        assert described(LargeCsvTable(source, dialect, options), by_column=True) == duck
        return True


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=tables(), header=st.sampled_from([None, False, True]), skip=st.booleans())
def test_both_ways_give_the_same_table(text: str, header: bool | None, skip: bool, tmp_path: Path) -> None:
    try:
        was_plain = compare(tmp_path / "t.csv", text.encode(), Options(format="csv", header=header, skip_bad_rows=skip))
    except ConcordantError:
        was_plain = False
    assume(was_plain)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=6) | st.text('a1,"\n\r;\t é', max_size=12).map(str.encode))
def test_odd_bytes_are_either_refused_alike_or_read_alike(content: bytes, tmp_path: Path) -> None:
    try:
        compare(tmp_path / "t.csv", b"a,b\n1,x\n" + content, Options(format="csv"))
    except ConcordantError:
        assume(False)


def test_numbers_and_words_are_what_duckdb_takes_them_for(tmp_path: Path) -> None:
    draw = random.Random(1)
    texts = [cell for cell in ODD if cell.strip() == cell and not {",", "\u2028"} & set(cell)]
    texts += [repr(draw.uniform(-1, 1) * 10.0 ** draw.randint(-30, 30)) for _ in range(2000)]
    texts += [f"{draw.randint(-(10**15) + 1, 10**15 - 1)}" for _ in range(500)]
    texts += [f"{draw.random():.{draw.randint(1, 20)}f}e{draw.randint(-99, 99)}" for _ in range(1000)]
    texts += ["".join(draw.choices("0123456789.-+eE_xXinfaINFAtyTY ", k=draw.randint(1, 6))) for _ in range(3000)]
    texts += ["".join(draw.choices("aeinNyztE 01.é", k=draw.randint(1, 5))) for _ in range(2000)]
    sure = [text for text in texts if _NUMBER.fullmatch(text) or _WORD.match(text)]
    assert len(sure) > 5000
    assert compare(tmp_path / "t.csv", ("x,number\n" + "".join(f"k,{text}\n" for text in sure)).encode(), HEADED)


@pytest.mark.parametrize(
    ("content", "is_plain"),
    [
        ("winner,loser\na,b\nb,c\n", True),
        ("winner,loser\r\na,b\r\n", True),
        ("winner,loser\na,b", True),
        ("winner;weight\nå;1,5\n", True),
        ("winner,loser\na,b\r\nb,c\n", False),  # lines that end in different ways
        ("winner,loser\ra,b\r", False),
        ('winner,loser\n"a",b\n', False),
        ("winner,loser\na,b,c\n", False),
        ("winner,loser\n\na,b\n", False),
        ("winner, loser\na, b\n", False),
        ("winner,loser\n", False),
    ],
)
def test_what_is_plain(tmp_path: Path, content: str, is_plain: bool) -> None:
    assert compare(tmp_path / "t.csv", content.encode(), HEADED) == is_plain


def test_other_delimiters_are_left_to_duckdb(tmp_path: Path) -> None:
    assert not compare(tmp_path / "t.csv", b"a b\nc d\n", Options(format="csv", header=True, delimiter=" "))


def test_large_files_are_read_in_the_plain_way_until_they_prove_not_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, rows = tmp_path / "t.csv", b"a,b\n" * (MAX_SMALL // 4 + 1)
    for content, is_plain in ((rows, True), (rows + b'"a",b\n', False), (rows + b"a\n", False)):
        path.write_bytes(b"winner,loser\n" + content)
        with Source(path) as source:
            table = open_csv(source, Dialect(",", True, ("winner", "loser")), Options(format="csv", skip_bad_rows=True))
            assert type(table) is LargeCsvTable
            (codes, labels), count = table.fetch(["loser"], [])[0]["loser"], len(rows) // 4 + (b'"' in content)
            assert (codes.tolist(), list(labels)) == ([0] * count, ["b"])
            assert table._is_plain == is_plain
    path.write_bytes(b'winner,"loser"\n' + rows)
    monkeypatch.setenv("CONCORDANT_MEMORY", "100GB")
    with Source(path) as source:
        assert type(open_csv(source, Dialect(",", True, ("a", "b")), Options(format="csv"))) is CsvTable
    path.write_bytes(rows * 40)
    monkeypatch.setenv("CONCORDANT_MEMORY", "100MB")
    with Source(path) as source:
        assert type(open_csv(source, Dialect(",", True, ("a", "b")), Options(format="csv"))) is CsvTable


@pytest.mark.parametrize(("values", "is_plain"), [(["1", "2.5", ""], True), (["1", "inf"], False)])
def test_numbers_of_large_files_are_sure_or_left_to_duckdb(
    tmp_path: Path, values: list[str], is_plain: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("item,rating\n" + "".join(f"a,{value}\n" for value in values))
    for distinct, sure in ((9, is_plain), (1, False)):
        monkeypatch.setattr("concordant.io._plain_csv.DISTINCT", distinct)
        with Source(path) as source:
            table = LargeCsvTable(source, Dialect(",", True, ("item", "rating")), Options(format="csv"))
            found = table.fetch(["item"], ["rating"])[1]["rating"]
        assert repr(found.tolist()) == repr([float(value or "nan") for value in values])
        assert table._is_plain == sure


def test_a_column_with_what_may_be_a_number_is_left_to_duckdb(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("item,rating,user\na,inf,u\nb,2,u\n")
    with pytest.raises(cc.FormatError, match=r"line 2.*'inf', not a finite number"):
        cc.read(tmp_path / "t.csv")


def test_preferences_of_both_ways_are_equal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draw, path = random.Random(0), tmp_path / "votes.csv"
    names = [f"model {k}" for k in range(9)]
    rows = [[*draw.sample(names, 2), draw.choice(["1", "2", "0.5", ""])] for _ in range(300)]
    path.write_text("winner,loser,weight\n" + "".join(",".join(row) + "\n" for row in rows))
    read = {}
    for most, room in ((MAX_SMALL, 8), (0, 8), (0, 1 << 60)):
        monkeypatch.setattr("concordant.io._plain_csv.MAX_SMALL", most)
        monkeypatch.setattr("concordant.io._plain_csv.ROOM", room)
        most = most or room
        read[most] = cc.read(path, skip_bad_rows=True)
        with pytest.raises(cc.FormatError) as refused:
            cc.read(path)
        read[most, "refused"] = str(refused.value)
    for way in (8, 1 << 60):
        assert read[way] == read[MAX_SMALL]
        assert read[way].notes == read[MAX_SMALL].notes
        assert read[way, "refused"] == read[MAX_SMALL, "refused"]
        assert np.array_equal(read[way].item, read[MAX_SMALL].item)
    assert os.path.getsize(path) < MAX_SMALL
