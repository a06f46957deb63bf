"""Files are recognised by name and content, compressed or not, from paths, open files and standard input."""

from __future__ import annotations

import gzip
import io
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

import concordant as cc
from concordant.errors import InputError
from concordant.io import list_formats
from concordant.io._formats import recognise
from concordant.io._source import MODULES, Source

TEXT = b"winner,loser\na,b\nb,c\n"
EXPECTED = cc.Preferences.from_pairs(["a", "b"], ["b", "c"])


@pytest.mark.parametrize("module", MODULES.values())
@pytest.mark.parametrize("name", ["votes.csv.gz", "votes.csv", "votes", "votes.csv.xz"])
def test_compression_is_known_by_content_not_by_name(make: Any, module: str, name: str) -> None:
    assert cc.read(make(import_module(module).compress(TEXT), name)) == EXPECTED


@pytest.mark.parametrize("module", MODULES.values())
def test_parts_compressed_one_by_one_are_one_file(make: Any, module: str) -> None:
    pack = import_module(module).compress
    assert cc.read(make(pack(TEXT[:20]) + pack(TEXT[20:]))) == EXPECTED


def test_open_files_and_standard_input_are_read(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cc.read(io.BytesIO(gzip.compress(TEXT))) == EXPECTED
    assert cc.read(io.StringIO(TEXT.decode())) == EXPECTED
    with open(make(TEXT), "rb") as file:
        assert cc.read(file) == EXPECTED
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(TEXT)))
    prefs = cc.read("-")
    assert prefs == EXPECTED
    assert prefs.notes[0].startswith("standard input: 2 pairs")


@pytest.mark.parametrize("name", ["votes[1].csv", "it's *.csv", "ü {x}.csv", "a b.csv"])
def test_odd_file_names_are_taken_literally(make: Any, name: str) -> None:
    make(b"winner,loser\nx,y\n", "votes1.csv")
    assert cc.read(make(TEXT, name)) == EXPECTED


@pytest.mark.parametrize(
    ("content", "name", "format"),
    [
        (b"winner\tloser\na\tb\n", "votes.tsv", "tsv"),
        (b"winner\tloser\na\tb\n", "votes.txt", "csv"),
        (b'{"winner": "a", "loser": "b"}\n', "votes.jsonl", "jsonl"),
        (b'{"winner": "a", "loser": "b"}\n', "votes.txt", "jsonl"),
        (b'[{"winner": "a", "loser": "b"}]\n', "votes.json", "json"),
        (b'{"winner": "a", "loser": "b"}\n', "votes.json", "jsonl"),
        (b'{"ranking": ["a", ["b", "c"], "d"]}\n', "votes.ndjson", "jsonl"),
        (b"1 Q0 d1 1 0.5 tag\n1 Q0 d2 2 0.4 tag\n1 Q0 d3 3 0.3 tag\n", "anything", "trec"),
        (b"0 qid:1 1:1 2:NULL #docid = a\n1 qid:1 1:2 2:1 #docid = b\n", "A1.txt", "letor"),
    ],
)
def test_formats_are_recognised(make: Any, content: bytes, name: str, format: str) -> None:
    path = make(content, name)
    with Source(path) as source:
        assert recognise(source).name == format
    assert cc.read(path).n_ballots > 0


def test_parquet_and_feather_say_the_same_as_csv(tmp_path: Path) -> None:
    table = pa.table({"user": [1, 1, 2], "item": ["x", "y", "x"], "rating": [4.0, 3.5, 1.0], "id": [1.0, 2.0, 3.0]})
    pyarrow.parquet.write_table(table, tmp_path / "r.parquet")
    pyarrow.feather.write_feather(table, tmp_path / "r.feather")
    expected = cc.Preferences.from_ratings(["1", "1", "2"], ["x", "y", "x"], [4, 3.5, 1])
    assert cc.read(tmp_path / "r.parquet") == expected
    assert cc.read(tmp_path / "r.feather") == expected
    assert cc.read(tmp_path / "r.parquet", item="id").items.labels == ["1", "2", "3"]


def test_lists_in_parquet_are_rankings(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pa.table({"ranking": [["a", "b"], ["b", "a"]]}), tmp_path / "r.parquet")
    assert cc.read(tmp_path / "r.parquet") == cc.Preferences.from_rankings([["a", "b"], ["b", "a"]])


def test_a_missing_cell_of_parquet_names_its_row(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pa.table({"winner": ["a", None], "loser": ["b", "c"]}), tmp_path / "r.parquet")
    with pytest.raises(InputError, match="row 2: the winner is missing"):
        cc.read(tmp_path / "r.parquet")


def test_files_of_different_formats_do_not_mix(make: Any) -> None:
    run = make(b"1 Q0 d1 1 0.5 tag\n", "a.run")
    with pytest.raises(InputError, match="this looks like csv, but the first file looks like trec"):
        cc.read([run, make(TEXT)])
    with pytest.raises(InputError, match="No file was named"):
        cc.read([])


def test_formats_are_listed() -> None:
    listed = {one.name: one for one in list_formats()}
    assert {"csv", "tsv", "jsonl", "parquet", "arrow", "trec", "qrels", "letor"} <= set(listed)
    assert all(one.doc for one in listed.values())
    assert all(one.endings for one in listed.values() if one.can_write)
    assert listed["csv"].can_read
    assert listed["csv"].can_write
    assert not listed["letor"].can_write
