"""Bad input gets one sentence: what is wrong, where it stands, what to do. Nothing is dropped silently."""

from __future__ import annotations

import gzip
import io
import re
import zipfile
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import concordant as cc
from concordant.errors import ConcordantError, FormatError, InputError
from concordant.io import _source
from concordant.io._csv import sniff
from concordant.io._duckdb import CsvTable
from concordant.tables.options import Options
from concordant.tables.ranking_text import _split_outside_braces

PACK = {kind: import_module(module).compress for kind, module in _source.MODULES.items()}


def complaint(path: Any, **options: Any) -> str:
    """Return the sentence a reader says about a file, with the folder left out."""
    with pytest.raises(ConcordantError) as caught:
        cc.read(path, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value).replace(f"{Path(path).parent}/", "")


def test_an_empty_file(make: Any) -> None:
    assert complaint(make("")) == "votes.csv: the file is empty: there is nothing to read."
    assert complaint(make("\n \n")) == "votes.csv: the file is empty: there is nothing to read."


def test_a_header_only(make: Any, backend: str) -> None:
    assert complaint(make("winner,loser\n")).startswith("votes.csv: there are no rows of data")


def test_a_missing_file(tmp_path: Path) -> None:
    assert complaint(tmp_path / "nothing.csv").startswith("nothing.csv: there is no such file")
    assert "the folder contains no files" in complaint(tmp_path)


def test_a_duplicate_item_in_a_wide_ballot(make: Any, backend: str) -> None:
    path = make("first,second,third\na,b,c\nb,c,b\n")
    prefs = cc.read(path)
    assert prefs.n_ballots == 2
    assert [prefs.items[code] for code in prefs.item.tolist()] == ["a", "b", "c", "b", "c"]
    says = "an item occurs twice in the ballot and is counted once, in its best place"
    assert prefs.notes[1] == f"1 row: {says} (first: line 3)"
    assert f"line 3: {says}, which strict=True rejects" in complaint(path, strict=True)


def test_a_duplicate_item_in_rows_names_both_lines(make: Any, backend: str) -> None:
    path = make("user,item,rating\nu,x,1\nv,x,2\nu,x,3\n")
    assert complaint(path).startswith(
        "votes.csv, line 4: the item 'x' is given twice for agent 'u' (first in line 2); keep one of these rows"
    )
    prefs = cc.read(path, skip_bad_rows=True)
    assert prefs.value is not None
    assert prefs.value.tolist() == [1, 2]


def test_a_duplicate_item_in_a_ranking_text(make: Any) -> None:
    assert "line 2: the item 'a' occurs twice" in complaint(make("ranking\na > b > a\n"))


def test_an_item_compared_with_itself(make: Any) -> None:
    assert "line 3: 'b' is compared with itself" in complaint(make("winner,loser\na,b\nb,b\n"))


def test_ratings_without_agents_say_what_may_be_missing(make: Any) -> None:
    assert "name the agent column with agent=" in complaint(make("item,rating\nx,1\nx,2\n"))
    only = make("who,item,rating\na,x,1\nb,x,2\n")
    assert "name the agent column with agent='who'" in complaint(only), "the only column that may be"


@pytest.mark.parametrize("weight", ["nan", "inf", "-1", "-inf", "many", ""])
def test_a_weight_that_is_no_count(make: Any, weight: str, backend: str) -> None:
    path = make(f"winner,loser,weight\na,b,2\nb,c,{weight}\n")
    said = (
        "the weight is missing"
        if weight == ""
        else f"the weight is '{weight}', not 0 or a number between 1e-50 and 9e15"
    )
    assert complaint(path).startswith(f"votes.csv, line 3: {said}: correct the row")
    prefs = cc.read(path, skip_bad_rows=True)
    assert (prefs.n_ballots, prefs.items.labels) == (1, ["a", "b"])


def test_weights_that_differ_within_a_ballot(make: Any) -> None:
    assert "line 3: the weight differs" in complaint(make("user,item,rank,weight\nu,x,1,2\nu,y,2,3\n"))


def test_a_rating_that_is_no_number(make: Any, backend: str) -> None:
    path = make("user,item,rating\nu,x,4\nu,y,abc\nu,z,\n")
    assert complaint(path).startswith(
        "votes.csv, line 3: the rating is 'abc', not a finite number between -1e30 and 1e30: correct"
    )
    prefs = cc.read(path, skip_bad_rows=True)
    assert "left out 2 rows: the rating is not a number (first: line 3)" in prefs.notes


def test_mixed_types_in_a_frame_column() -> None:
    import pandas as pd

    frame = pd.DataFrame({"winner": pd.Series(["a", 1], dtype=object), "loser": ["b", "1"]})
    assert cc.Preferences.from_frame(frame.iloc[:1]).n_ballots == 1
    mixed = pd.DataFrame({"winner": pd.Series(["1", 1], dtype=object), "loser": ["b", "c"]})
    with pytest.raises(InputError, match="both as text and as a number"):
        cc.Preferences.from_frame(mixed)


def test_ballots_of_one_item_are_kept(make: Any) -> None:
    prefs = cc.read(make("first,second\na,\nb,\n"))
    assert (prefs.n_ballots, prefs.indptr.tolist()) == (2, [0, 1, 2])


def test_a_row_with_too_few_or_too_many_fields(make: Any) -> None:
    assert complaint(make("winner,loser\na,b\nc\nd,e\n")).startswith(
        "votes.csv, line 3: the row has 1 field, but the table has 2 columns: correct the row"
    )
    path = make('winner,loser\n"a\nx",b\nc,d,e\nd,e\n')
    assert complaint(path).startswith("votes.csv, line 4: the row has 3 fields, but the table has 2")
    prefs = cc.read(path, skip_bad_rows=True)
    assert prefs.n_ballots == 2
    assert "left out 1 row: the row has 3 fields, but the table has 2 columns (first: line 4)" in prefs.notes


def test_lines_are_counted_past_quoted_breaks_blank_lines_and_left_out_rows(make: Any) -> None:
    text = 'item,rating\n"two\nlines",1\n\na,b,c\nx,oops\n'
    assert "line 5: the row has 3 fields" in complaint(make(text))
    prefs = cc.read(make(text), skip_bad_rows=True)
    assert "left out 1 row: the rating is not a number (first: line 6)" in prefs.notes


def test_a_quotation_mark_that_is_not_closed(make: Any) -> None:
    assert complaint(make('winner,loser\na,b\n"c,d\ne,f\n')).startswith("votes.csv, line 3: a quotation mark")


def test_a_missing_item(make: Any, backend: str) -> None:
    assert complaint(make("winner,loser\na,b\n,c\n")).startswith("votes.csv, line 3: the winner is missing")


def test_an_outcome_that_names_nobody(make: Any) -> None:
    assert "line 2: the outcome is 'maybe', which is neither model_a nor model_b nor a tie" in complaint(
        make("model_a,model_b,winner\nx,y,maybe\n")
    )


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
def test_a_truncated_compressed_file(make: Any, kind: str) -> None:
    packed = PACK[kind](b"winner,loser\n" + b"a,b\nb,c\n" * 40_000)
    for cut in (len(packed) // 2, len(packed) - 4):
        assert complaint(make(packed[:cut], "votes.csv.gz")) == (
            f"votes.csv.gz: the {kind} data end too early: the file is truncated, download it again."
        )


@pytest.mark.parametrize("kind", PACK)
def test_damaged_compressed_data(make: Any, kind: str) -> None:
    content = bytearray(PACK[kind](b"winner,loser\n" + bytes(range(97, 122)) * 4000))
    content[len(content) // 2 :] = b"\xff" * 30
    assert f"votes.csv.gz: the {kind} data " in complaint(make(bytes(content), "votes.csv.gz"))


def test_bytes_after_the_zstd_data_are_refused(make: Any) -> None:
    packed = PACK["zstd"](b"winner,loser\na,b\n")
    assert "votes.csv.zst: the zstd data are damaged" in complaint(make(packed + b"more", "votes.csv.zst"))


@pytest.mark.parametrize("pack", PACK.values())
def test_a_bomb_is_refused_by_ratio(make: Any, pack: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_source, "RATIO_FROM", 1 << 20)
    path = make(pack(b"winner,loser\n" + b"a,b\n" * 1_000_000), "bomb.csv.gz")
    assert "unpack into more than 200 times as many: raise max_ratio=" in complaint(path)
    assert cc.read(path, max_ratio=1e9).n_ballots == 1_000_000


@pytest.mark.parametrize("pack", PACK.values())
def test_a_bomb_is_refused_by_size(make: Any, pack: Any) -> None:
    path = make(pack(b"winner,loser\n" + b"a,b\n" * 100_000), "bomb.csv.gz")
    assert "the content is larger than 1,000 bytes: raise max_bytes=" in complaint(path, max_bytes=1000)


def test_a_zip_archive_of_one_file_is_read_and_of_several_refused(tmp_path: Path) -> None:
    one, two = tmp_path / "one.zip", tmp_path / "two.zip"
    with zipfile.ZipFile(one, "w") as archive:
        archive.writestr("votes.csv", "winner,loser\na,b\n")
    with zipfile.ZipFile(two, "w") as archive:
        archive.writestr("votes.csv", "winner,loser\na,b\n")
        archive.writestr("more.csv", "x")
    assert cc.read(one).n_ballots == 1
    assert complaint(two) == (
        "two.zip: the zip archive contains 2 files (votes.csv, more.csv): unpack it and name the file to read."
    )


def test_a_label_of_a_million_characters(make: Any, backend: str) -> None:
    label = "é" * 1_000_000
    prefs = cc.read(make(f"winner,loser\n{label},b\nb,c\n"))
    assert prefs.items[0] == label
    assert len(repr(prefs)) < 200
    assert len(complaint(make(f"winner,loser\n{label},{label}\n"))) < 300


def test_text_that_is_not_utf_8_names_line_and_option(make: Any) -> None:
    path = make("winner,loser\na,b\ncafé,b\n".encode("latin-1"))
    assert complaint(path) == (
        "votes.csv, line 3: the text is not UTF-8: give its encoding, for example encoding='latin-1'."
    )
    assert cc.read(path, encoding="latin-1").items.labels == ["a", "b", "café"]
    late = make(b"winner,loser\n" + b"a,b\n" * 30_000 + b"caf\xe9,b\n")
    assert complaint(late).startswith("votes.csv, line 30002: the text is not UTF-8")
    assert "Unknown encoding 'klingon'" in complaint(path, encoding="klingon")


def test_utf_16_is_recognised_by_its_mark(make: Any) -> None:
    assert cc.read(make("winner,loser\nä,ß\n".encode("utf-16"))).items.labels == ["ä", "ß"]


def test_nul_bytes_are_no_text(make: Any) -> None:
    assert "the file contains NUL bytes" in complaint(make(b"winner,loser\na\0,b\n"))


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_byte_order_marks_change_nothing(make: Any, line_end: str, mark: str) -> None:
    text = mark + "winner,loser\na,b\nb,c\n".replace("\n", line_end)
    prefs = cc.read(make(text))
    assert prefs.items.labels == ["a", "b", "c"]


def test_mixed_line_ends_are_read(make: Any) -> None:
    assert cc.read(make("winner,loser\r\na,b\nb,c\r\n")).n_ballots == 2


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters_are_found(make: Any, delimiter: str) -> None:
    prefs = cc.read(make('user,item,rating\nu,"x, y; z",4\nv,w,2\n'.replace(",", delimiter)))
    assert prefs.n_agents == 2


def test_spaces_after_delimiters_and_decimal_commas(make: Any) -> None:
    assert cc.read(make("winner, loser\na, b\nb, a\n")).items.labels == ["a", "b"]
    prefs = cc.read(make("user;item;rating\nu;x;4,5\n"))
    assert prefs.value is not None
    assert prefs.value.tolist() == [4.5]


def test_deep_json_is_refused_without_a_crash(make: Any) -> None:
    deep = "[" * 100_000 + "]" * 100_000
    for field in ("loser", "ranking"):
        path = make(f'{{"winner": "a", "{field}": {deep}}}\n', "votes.jsonl")
        assert complaint(path).startswith("votes.jsonl, line 1: the JSON is nested too deeply")
    assert "recursion depth" in complaint(make(deep, "votes.json"))


def test_broken_json_names_its_line(make: Any) -> None:
    path = make('{"winner": "a", "loser": "b"}\n{"winner": "a", \n', "votes.jsonl")
    assert complaint(path).startswith("votes.jsonl, line 2: the line is not valid JSON")
    path = make('{"winner": "a", "loser": "b"}\n[1, 2]\n', "votes.jsonl")
    assert complaint(path).startswith("votes.jsonl, line 2: the line is not a JSON object")
    assert "this is not JSON" in complaint(make("hello\n", "votes.json"))


def test_a_missing_field_of_json_names_its_line(make: Any) -> None:
    path = make('{"winner": "a", "loser": "b"}\n\n{"winner": "a"}\n', "votes.jsonl")
    assert complaint(path).startswith("votes.jsonl, line 3: the loser is missing")
    path = make('[{"winner": "a", "loser": "b"},\n{"winner": "a"}]', "votes.json")
    assert complaint(path).startswith("votes.json: row 2: the loser is missing")


def test_broken_parquet_and_arrow(make: Any) -> None:
    assert complaint(make(b"PAR1 nonsense", "votes.parquet")).startswith("votes.parquet: the file cannot be read")
    assert complaint(make(b"ARROW1 nonsense", "votes.arrow")).startswith("votes.arrow: the Arrow data cannot be read")


def test_an_unknown_format_or_layout_is_named(make: Any) -> None:
    path = make("winner,loser\na,b\n")
    assert "There is no format 'cvs'. Did you mean csv" in complaint(path, format="cvs")
    assert "Unknown layout 'pears'. Did you mean pairs" in complaint(path, layout="pears")


def test_tables_that_share_no_column_are_not_one(make: Any) -> None:
    path, other = make("winner,loser\na,b\n"), make("item,rating\na,5\n", "other.csv")
    with pytest.raises(FormatError, match=r"no column in common with .*: read the files separately"):
        cc.read([path, other])
    with pytest.raises(FormatError, match="tables of features are read one at a time"):
        cc.read_features([path, path])


def test_a_table_where_the_wrong_reader_is_used(make: Any) -> None:
    assert "read it with read_labels" in complaint(make("1 0 d1 1\n", "qrels.txt"))
    with pytest.raises(FormatError, match="no column was recognised as the label"):
        cc.read_features(make("winner,loser\na,b\n"))


def test_pickles_are_not_opened(make: Any) -> None:
    import pickle

    assert "votes.pkl" in complaint(make(pickle.dumps({"winner": ["a"], "loser": ["b"]}), "votes.pkl"))


def test_no_temporary_file_stays_behind(make: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    packed = gzip.compress(b"winner,loser\na,b\n" * 10)
    cc.read(io.BytesIO(packed[:0] + gzip.compress(b"winner,loser\na,b\n")))
    complaint(make(packed, "votes.csv.gz"), max_bytes=10)
    with pytest.raises(ConcordantError):
        cc.read(io.BytesIO(packed), max_bytes=10)
    assert list(folder.iterdir()) == []


def test_a_row_of_thousands_of_fields_is_named_at_once(make: Any) -> None:
    path = make('winner,loser\n"' + "a," * 500 + '",b\na' + ",b" * 50_000 + "\n")
    for options in ({}, {"skip_bad_rows": True}):
        assert complaint(path, **options) == (
            "votes.csv, line 3: the row has 50,001 fields, but the table has 2 columns: remove the extra fields, "
            "or quote fields that contain the delimiter."
        )


@pytest.mark.parametrize("skips", [False, True])
def test_a_complaint_leaves_the_table_as_it_was(make: Any, skips: bool) -> None:
    source = _source.Source(str(make("winner,loser\na,b\na" + ",b" * 50_000 + "\n")))
    options = Options(format="csv", skip_bad_rows=skips)
    table = CsvTable(source, sniff(source, options), options)
    with pytest.raises(FormatError, match="50,001 fields"):
        table.fetch(["winner"], [])
    assert table.skip is skips


# ---- whatever a file holds, its reader answers in a sentence ----
@pytest.mark.parametrize(
    ("content", "options", "sentence"),
    [
        ("winner,loser\na,b\n", {"layout": "places"}, "no columns are named first, second, …"),
        ("item\na\nb\n", {"layout": "rank-matrix"}, "there is no column of ranks next to the items"),
        ("a\nb\n", {"layout": "rank-matrix", "header": False}, "there is no column of ranks next to the items"),
        ("a,b\nb,a\n", {"places": True}, "places=True names no columns"),
        ("a,b\nb,a\n", {"places": []}, "places=[] names no columns"),
        ("a,b\nb,a\n", {"item": "²"}, "has no column '²'"),
        ("a,b\nb,a\n", {"item": "9" * 5000}, "has no column"),
        (",,\n,,\n", {}, "the first rows are empty"),
        ("a,b\nb,a\n", {"delimiter": '"'}, "must be a single character"),
        ("a,b\nb,a\n", {"delimiter": "\n"}, "must be a single character"),
        ("a,b\nb,a\n", {"encoding": "base64"}, "Unknown encoding 'base64'"),
        ("a,b\nb,a\n", {"encoding": "rot13"}, "Unknown encoding 'rot13'"),
        ("a,b\nb,a\n", {"encoding": 8}, "Unknown encoding 8"),
    ],
)
def test_a_careless_option_is_answered_in_a_sentence(
    make: Any, content: str, options: dict[str, Any], sentence: str
) -> None:
    assert sentence in complaint(make(content), **options)


def test_one_place_may_be_named_by_its_position(make: Any) -> None:
    prefs = cc.read(make("who,vote\nx,a\ny,b\n"), places=2, header=True)
    assert prefs.n_ballots == 2
    assert prefs.items.labels == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("x.score", "\n \n", "the file contains no scores"),
        ("x.order", "99999999999999999999 1\n0 2 1 2\n", "line 1: the line is not '0 length item item …'"),
        ("x.order", "999999999 1\n0 2 1 2\n", "the header declares 999,999,999 items"),
        ("x.order", f"0 1 {'9' * 5000}\n", "line 1: the line is not '0 length item item …'"),
        ("x.letor", "1 qid:1 2000000000:1 #docid = a\n", "line 1: there is a list numbered 2,000,000,000"),
        ("x.soc", f"{'9' * 5000}\n1,a\n1,1,1\n", "line 1"),
    ],
)
def test_numbers_beyond_all_measure_are_refused(make: Any, name: str, content: str, sentence: str) -> None:
    assert sentence in complaint(make(content, name))


def test_a_zip_archive_of_a_later_version_or_with_a_password_is_refused(make: Any) -> None:
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as archive:
        archive.writestr("votes.csv", "a,b\nb,a\n")
    content = bytearray(memory.getvalue())
    entry = content.index(b"PK\x01\x02")
    locked = bytearray(content)
    locked[6] |= 1
    locked[entry + 8] |= 1
    content[entry + 6] = 99
    assert "the zip archive cannot be opened (zip file version" in complaint(make(bytes(content), "later.zip"))
    assert "password" in complaint(make(bytes(locked), "locked.zip"))
    strange = bytearray(memory.getvalue())
    strange[entry + 10] = 77
    assert "compression" in complaint(make(bytes(strange), "strange.zip"))


def test_the_name_of_a_parquet_column_that_is_no_text_is_refused(make: Any, tmp_path: Path) -> None:
    path = tmp_path / "votes.parquet"
    cc.write(cc.Preferences.from_pairs(["ann"], ["bob"]), path)
    spoilt = path.read_bytes().replace(b"winner", b"winn\xffr")
    assert "the name of a column is not UTF-8" in complaint(make(spoilt, "spoilt.parquet"))


def test_what_a_reader_did_not_foresee_is_a_sentence_too(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise KeyError("deep inside")

    monkeypatch.setattr("concordant.io.formats.sushi.read", fail)
    assert "x.order: the reader failed (KeyError: 'deep inside')" in complaint(make("0 1 1\n", "x.order"))

    def exhaust(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("concordant.io.formats.sushi.read", exhaust)
    assert "the file does not fit in memory" in complaint(make("0 1 1\n", "x.order"))


@given(st.text("ab{},;", max_size=20), st.sampled_from(",;"))
def test_ties_in_braces_are_split_as_the_pattern_says(text: str, separator: str) -> None:
    assert _split_outside_braces(text, separator) == re.split(re.escape(separator) + r"(?![^{]*\})", text)


def test_frames_that_cannot_be_read_are_refused_in_a_sentence() -> None:
    pandas = pytest.importorskip("pandas")
    arrow = pytest.importorskip("pyarrow")
    for frame in (
        pandas.DataFrame([["a", "b", "c"]], columns=["winner", "loser", "loser"]),
        arrow.Table.from_arrays([arrow.array(["a"])] * 3, names=["winner", "loser", "loser"]),
        pandas.DataFrame([["a", "b", "c"]], columns=["loser", 1, "1"]),
    ):
        with pytest.raises(InputError, match=r"the frame has several columns with the same name \('(loser|1)'\)"):
            cc.Preferences.from_frame(frame)
    beyond = arrow.table({"winner": arrow.array([2**62], arrow.timestamp("s")), "loser": ["a"]})
    with pytest.raises(InputError, match="the column 'winner' cannot be read"):
        cc.Preferences.from_frame(beyond)


def test_columns_of_a_frame_may_be_named_by_numbers() -> None:
    pandas = pytest.importorskip("pandas")
    prefs = cc.Preferences.from_frame(pandas.DataFrame([["a", "b"], ["b", "c"]]), winner=0, loser=1)
    assert prefs.items.labels == ["a", "b", "c"]
