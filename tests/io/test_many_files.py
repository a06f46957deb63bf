"""Files, folders and patterns reduced to counts: the same whatever the cut; bad files named; nothing left behind."""

from __future__ import annotations

import gzip
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import Run

import concordant as cc
from concordant.errors import FormatError, InputError, ParameterError
from concordant.io import _coded, _duckdb, _many, write_table
from concordant.request import Request
from concordant.support import duck

ROW = st.tuples(
    st.sampled_from(["a", "b", "é c", "d"]),
    st.sampled_from(["x", "y", "z"]),
    st.booleans(),
    st.one_of(st.integers(1, 5).map(float), st.floats(0.001, 1e6)),
    st.sampled_from(["u", "v", "w"]),
)


def equal(one: cc.Preferences, other: cc.Preferences) -> bool:
    """Say whether two are the same bit by bit, also in the order of labels and ballots."""
    arrays = ("item", "tier", "weight", "agent", "instance")
    pairs = [(getattr(one, name), getattr(other, name)) for name in arrays]
    return one.items == other.items and all(a is b is None or np.array_equal(a, b) for a, b in pairs)


def write(rows: list[Any], path: Path) -> Path:
    """Write all columns, also where a part has no tie or weighs every row once."""
    columns = dict(zip(("winner", "loser", "tie", "weight", "agent"), map(list, zip(*rows, strict=True)), strict=True))
    columns["tie"] = ["yes" if tie else "no" for tie in columns["tie"]]
    write_table(columns, path)
    return path


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
@settings(max_examples=15)
@given(data=st.data())
def test_any_cut_into_files_gives_the_same_preferences(
    tmp_path_factory: pytest.TempPathFactory, ending: str, data: Any
) -> None:
    rows = data.draw(st.lists(ROW, min_size=1, max_size=25))
    place = data.draw(st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows)))
    folder = tmp_path_factory.mktemp("cut")
    for part in range(3):
        own = [row for row, p in zip(rows, place, strict=True) if p == part]
        if own:
            write(own, folder / f"part-{part}.{ending}")
    whole = write(rows, folder / f"_whole.{ending}")
    for agent in (None, "agent"):
        once = cc.read(whole, reduce=True, agent=agent)
        assert equal(cc.read(folder, reduce=True, agent=agent), once)
        assert equal(cc.read(str(folder / f"part-*.{ending}"), reduce=True, agent=agent), once)
        plain = cc.read(whole).merge(agents=agent is not None)
        assert once.n_ballots == plain.n_ballots
        np.testing.assert_allclose(np.sort(once.weight), np.sort(plain.weight), rtol=1e-12)


@settings(max_examples=25)
@given(rows=st.lists(ROW, min_size=1, max_size=40), has_weights=st.booleans())
def test_numbering_labels_first_counts_the_same(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Any], has_weights: bool
) -> None:
    path = write(
        rows if has_weights else [(*row[:3], 1.0, row[4]) for row in rows], tmp_path_factory.mktemp("x") / "v.parquet"
    )
    plain = cc.read(path, reduce=True, agent="agent")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_coded, "LARGE", 0)
        patch.setattr(_coded, "ROWS_AT_ONCE", 7)
        assert equal(cc.read(path, reduce=True, agent="agent"), plain)


def test_missing_cells_are_named_also_where_labels_are_numbered_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("winner,loser,judge\na,b,u\n,b,u\na,b,v\n")
    monkeypatch.setattr(_coded, "LARGE", 0)
    with pytest.raises(FormatError, match=r"votes.csv, line 3: the winner is missing"):
        cc.read(path, reduce=True, agent="judge")
    kept = cc.read(path, reduce=True, agent="judge", skip_bad_rows=True)
    assert kept.weight.tolist() == [1, 1]


def test_a_corrupt_file_is_named_and_refused_or_left_out(tmp_path: Path) -> None:
    for k in range(3):
        write([("a", "x", False, 1.0, "u")] * (k + 1), tmp_path / f"{k}.parquet")
    whole = (tmp_path / "1.parquet").read_bytes()
    (tmp_path / "1.parquet").write_bytes(whole[:60] + b"\0" * 40 + whole[100:-20])
    with pytest.raises(FormatError, match=r"1\.parquet"):
        cc.read(tmp_path, reduce=True)
    kept = cc.read(tmp_path, reduce=True, skip_bad_files=True)
    assert kept.weight.tolist() == [4.0]
    assert any(note.startswith("left out a file: ") and "1.parquet" in note for note in kept.notes)
    for k in (0, 2):
        (tmp_path / f"{k}.parquet").write_bytes(b"PAR1 nothing")
    with pytest.raises(InputError, match=r"No file could be read. First error: .*0.parquet"):
        cc.read(tmp_path, reduce=True, skip_bad_files=True)


def queries(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the queries that group rows."""
    grouped: list[str] = []
    stream = _duckdb.DuckTable.stream

    def recorded(table: Any, connection: Any, query: Any) -> list[Any]:
        if "GROUP BY k0" in query():
            grouped.append(query())
        return stream(table, connection, query)

    monkeypatch.setattr(_duckdb.DuckTable, "stream", recorded)
    return grouped


def votes_in(folder: Path, ending: str, parts: int = 8) -> Path:
    """Files of 50 votes each, with a judge and a time that are not read, the first item of each file its own."""
    rng = np.random.default_rng(4)
    for k in range(parts):
        winner = rng.integers(0, 6, 50)
        loser = (winner + rng.integers(1, 6, 50)) % 6
        columns = {"winner": [f"m{i}" for i in winner], "loser": [f"m{i}" for i in loser]}
        columns["winner"][0] = f"own {k}"
        columns |= {"judge": [f"j{i % 7}" for i in range(50)], "timestamp": [str(100 * k + i) for i in range(50)]}
        write_table(columns, folder / f"{k}.{ending}")
    return folder


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("reading", [{}, {"where": "judge != 'j1'"}, {"agent": "judge"}], ids=str)
def test_one_query_counts_files_whose_columns_agree(
    tmp_path: Path, ending: str, reading: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = votes_in(tmp_path, ending)
    grouped = queries(monkeypatch)
    together = cc.read(folder, reduce=True, **reading)
    assert len(grouped) == 1
    monkeypatch.setattr(_many, "MAX_TOGETHER", 1)
    assert equal(cc.read(folder, reduce=True, **reading), together)
    assert len(grouped) == 9
    whole = cc.read(folder, **reading).merge(agents="agent" in reading)
    assert together.n_ballots == whole.n_ballots
    assert together.weight.sum() == whole.weight.sum()


def test_files_that_differ_are_counted_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [f"a,b,{k}" for k in range(5)]
    (tmp_path / "0.csv").write_text("\n".join(["winner,loser,x", *rows]))
    (tmp_path / "1.csv").write_text("\n".join(["winner;loser;x", *(row.replace(",", ";") for row in rows)]))
    (tmp_path / "2.csv").write_text("\n".join(["x,loser,winner", "1,c,a"]))
    (tmp_path / "3.csv.gz").write_bytes(gzip.compress(b"winner,loser,x\na,d,1\n"))
    (tmp_path / "4[x].csv").write_text("\n".join(["winner,loser,x", *rows]))
    (tmp_path / "5.csv").write_text("\n".join(["winner,loser,x", *rows]), encoding="utf-16")
    (tmp_path / "6.csv").write_text("\r\n".join(["winner,loser,x", *rows]))
    write_table({"winner": ["a"], "loser": ["b"], "x": [1.5]}, tmp_path / "7.parquet")
    write_table({"winner": [1], "loser": [2], "x": [1.5]}, tmp_path / "8.parquet")
    grouped = queries(monkeypatch)
    prefs = cc.read(tmp_path, reduce=True)
    assert list(prefs.items) == ["1", "2", "a", "b", "c", "d"]
    assert prefs.weight.sum() == 5 * 5 + 4
    assert len(grouped) == 8  # 0 and 6 together


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_row_that_cannot_be_used_is_named_among_many_files(tmp_path: Path, ending: str) -> None:
    folder = votes_in(tmp_path, ending)
    write_table(
        {"winner": ["a", ""], "loser": ["b", "c"], "judge": ["u", "u"], "timestamp": ["1", "2"]}, folder / f"5.{ending}"
    )
    where = "line 3" if ending == "csv" else "row 2"
    with pytest.raises(FormatError, match=rf"5\.{ending}(, |: ){where}: the winner is missing"):
        cc.read(folder, reduce=True)
    kept = cc.read(folder, reduce=True, skip_bad_files=True)
    assert kept.weight.sum() == 7 * 50
    assert sum(note.startswith("left out a file: ") for note in kept.notes) == 1
    rows = cc.read(folder, reduce=True, skip_bad_rows=True)
    assert rows.weight.sum() == 7 * 50 + 1
    assert any("left out 1 row: the winner is missing (first: " in note for note in rows.notes)
    if ending == "parquet":
        assert any("(first: row 2 of 5.parquet)" in note for note in rows.notes)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_file_without_rows_is_named_among_many_files(tmp_path: Path, ending: str) -> None:
    folder = votes_in(tmp_path, ending)
    if ending == "csv":
        (folder / "3.csv").write_text("winner,loser,judge,timestamp\n")
    else:
        import duckdb

        none = duckdb.sql(f"SELECT * FROM '{folder}/3.parquet' LIMIT 0")
        none.write_parquet(str(folder / "none.parquet"))
        (folder / "none.parquet").replace(folder / "3.parquet")
    with pytest.raises(FormatError, match=rf"3\.{ending}: there are no rows of data"):
        cc.read(folder, reduce=True)
    assert cc.read(folder, reduce=True, skip_bad_files=True).weight.sum() == 7 * 50


def test_shares_hold_every_file_once_in_order(tmp_path: Path) -> None:
    sizes = [0, 5, 1_000, 3, 3, 90, 2_000, 1, 1, 1]
    paths = [tmp_path / f"{k}.csv" for k in range(len(sizes))]
    for path, size in zip(paths, sizes, strict=True):
        path.write_bytes(b"x" * size)
    for workers in (1, 2, 3, 10, 50):
        shares = _many.shares(paths, workers)
        assert [path for share in shares for path in share] == paths
        assert len(shares) <= workers
        assert all(shares)


def test_a_bad_file_is_found_by_halves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = votes_in(tmp_path, "parquet", 16)
    whole = (folder / "11.parquet").read_bytes()
    (folder / "11.parquet").write_bytes(whole[:40] + b"\xff" * 60 + whole[100:])
    grouped = queries(monkeypatch)
    kept = cc.read(folder, reduce=True, skip_bad_files=True)
    assert kept.weight.sum() == 15 * 50
    assert len(grouped) == 2 * 4 + 1  # all, then two halves four times
    assert [note for note in kept.notes if "11.parquet" in note]


def test_files_must_agree_in_their_columns(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("winner,loser\na,b\n")
    (tmp_path / "b.csv").write_text("chosen,rejected\na,b\n")
    with pytest.raises(
        FormatError, match=r"b\.csv: the columns \(loser 'rejected', winner 'chosen'\) differ from those of"
    ):
        cc.read(tmp_path, reduce=True)


def test_only_pairs_become_counts(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("user,item,stars\nu,a,5\nu,b,3\n")
    with pytest.raises(FormatError, match="the rows are ratings, but only pairs can be reduced"):
        cc.read(tmp_path, reduce=True)
    with pytest.raises(InputError, match="add reduce=True"):
        cc.read(tmp_path / "a.csv", workers=2)


@pytest.mark.parametrize(
    ("name", "said"), [("none-*.csv", "no file matches"), ("empty", "the folder contains no files")]
)
def test_a_pattern_or_folder_without_files_is_refused(tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(FormatError, match=said):
        cc.read(str(tmp_path / name), reduce=True)


def test_a_full_spill_folder_is_said_and_emptied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import duckdb

    path, spill = tmp_path / "votes.parquet", tmp_path / "spill"
    spill.mkdir()
    duckdb.sql(
        "SELECT 'item-' || (range * 7919 % 1000003) AS winner, 'other-' || (range * 104729 % 999983) AS loser "
        "FROM range(1500000)"
    ).write_parquet(str(path))
    monkeypatch.setattr(tempfile, "tempdir", str(spill))
    monkeypatch.setattr(duck, "SPILL_LIMIT", "1MB")
    for skips in (False, True):  # the file is good: it must not be left out as a bad one
        with pytest.raises(InputError, match=r"spill folder .* is full: free some space"):
            cc.read(path, reduce=True, memory_limit="120MB", skip_bad_files=skips)
        assert os.listdir(spill) == []


def test_ctrl_c_ends_counting_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write([("a", "x", False, 1.0, "u")], tmp_path / "votes.parquet")

    def interrupted(*_: object) -> None:
        raise RuntimeError("Query interrupted")

    spill = tmp_path / "spill"
    spill.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(spill))
    monkeypatch.setattr(_duckdb.DuckTable, "stream", interrupted)
    with pytest.raises(KeyboardInterrupt):
        cc.read(tmp_path / "votes.parquet", reduce=True)
    assert os.listdir(spill) == []


def test_an_amount_of_memory_must_be_one(tmp_path: Path) -> None:
    path = write([("a", "x", False, 1.0, "u")], tmp_path / "votes.csv")
    with pytest.raises(ParameterError, match="memory_limit='lots' is not an amount of memory"):
        cc.read(path, reduce=True, memory_limit="lots")


def with_odd_entries(folder: Path) -> Path:
    """A folder with a file of votes, and three entries that are no files."""
    (folder / "votes.csv").write_text("winner,loser\na,b\nb,c\n")
    (folder / "gone.csv").symlink_to(folder / "nowhere.csv")
    (folder / "older").mkdir()
    os.mkfifo(folder / "pipe.csv")
    return folder


ODD = ("gone.csv: this is a link to a file", "pipe.csv: this is neither a file nor a folder", "older: this is a folder")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
@pytest.mark.parametrize("reading", [{}, {"reduce": True}])
def test_what_is_no_file_in_a_folder_is_named(tmp_path: Path, reading: dict[str, Any]) -> None:
    folder = with_odd_entries(tmp_path)
    notes = "\n".join(cc.read(folder, **reading).notes)
    assert all(text in notes for text in ODD)
    assert notes.count("left out") == 3
    assert "\n".join(cc.read(str(folder / "*"), **reading).notes).count("left out") == 2
    for method in (None, "borda", "schulze"):
        request = Request(folder, method, reading=reading)
        assert "\n".join(request.run().notes).count("left out") == 3
        assert "\n".join(request.read().notes).count("left out") == 3
    with pytest.raises(FormatError, match=r"gone\.csv: this is a link to a file that does not exist: remove it"):
        cc.read(folder, strict=True, **reading)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_labels_and_features_of_a_folder_tell_what_is_no_file(tmp_path: Path) -> None:
    folder = with_odd_entries(tmp_path)
    (folder / "votes.csv").write_text("item,label,x\na,1,2\nb,0,3\n")
    assert "\n".join(cc.read_features(folder).notes).count("left out") == 3
    with pytest.raises(FormatError, match=r"gone\.csv: this is a link"):
        cc.read_labels(folder)


def test_a_folder_is_named_by_the_command(tmp_path: Path, run: Run) -> None:
    (tmp_path / "votes.csv").write_text("winner,loser\na,b\nb,c\n")
    (tmp_path / "gone.csv").symlink_to(tmp_path / "nowhere.csv")
    code, out, err = run("rank", tmp_path)
    assert code == 0
    assert "gone.csv: this is a link to a file that does not exist" in out + err
