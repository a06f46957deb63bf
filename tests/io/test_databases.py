"""Tables of DuckDB and SQLite files, and SQL queries over databases and files."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.conftest import Run
from tests.workbooks import xlsx

import concordant as cc

VOTES = [("a", "b", "x", 1, 0.5), ("b", "c", "y", 2, 2.0), ("a", "c", "x", 1, None), ("c", "a", "z", 3, 1.5)]
EXPECTED = cc.Preferences.from_pairs(["a", "b", "a", "c"], ["b", "c", "c", "a"], agent=["x", "y", "x", "z"])
COLUMNS = "winner TEXT, loser TEXT, judge TEXT, turn INTEGER, score REAL"


def fill(connection: Any, more: str = "") -> None:
    """Create the table of votes, and more."""
    connection.execute(f"CREATE TABLE votes({COLUMNS})")
    connection.executemany("INSERT INTO votes VALUES (?, ?, ?, ?, ?)", VOTES)
    for statement in filter(None, more.split(";")):
        connection.execute(statement)
    connection.commit()


def database(path: Path, more: str = "") -> Path:
    """Write a database with the table of votes, and more; the ending of the name decides which kind."""
    connect: Any = duckdb.connect if path.suffix == ".duckdb" else sqlite3.connect
    with closing(connect(str(path))) as connection:
        fill(connection, more)
    return path


@pytest.fixture(params=["votes.duckdb", "votes.sqlite"])
def votes(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return database(tmp_path / request.param)


@pytest.fixture
def unchanged(tmp_path: Path) -> Iterator[None]:
    """Check that a test changes no file and leaves none behind, though it is run as somebody who may."""
    yield
    assert not [path.name for path in tmp_path.iterdir() if path.name.endswith(("-shm", "-wal", "-journal", ".wal"))]


@pytest.mark.usefixtures("unchanged")
def test_the_only_table_of_a_database_is_read_whatever_the_file_is_called(votes: Path, tmp_path: Path) -> None:
    before = hashlib.sha256(votes.read_bytes()).hexdigest(), votes.stat().st_mtime_ns
    assert cc.read(votes) == EXPECTED
    assert cc.read(votes, table="votes") == EXPECTED
    assert (hashlib.sha256(votes.read_bytes()).hexdigest(), votes.stat().st_mtime_ns) == before
    renamed = tmp_path / "renamed.txt"
    renamed.write_bytes(votes.read_bytes())
    packed = tmp_path / "packed.gz"
    packed.write_bytes(gzip.compress(votes.read_bytes()))
    for other in (renamed, packed, io.BytesIO(votes.read_bytes())):
        assert cc.read(other) == EXPECTED


def test_numbers_have_no_decimal_point_as_text(votes: Path) -> None:
    prefs = cc.read(votes, agent="turn", where="score = 2 OR score > 1")
    assert prefs.agents is not None
    assert prefs.agents.labels == ["2", "3"]
    assert cc.read(votes, agent="score", skip_bad_rows=True).agents.labels == ["0.5", "2", "1.5"]  # type: ignore[union-attr]


def test_all_faces_read_databases(votes: Path, run: Run) -> None:
    assert cc.rank(votes, table="votes", method="copeland").items == cc.rank(EXPECTED, "copeland").items
    code, _, told = run("rank", votes, "--table", "votes", "--where", "turn < 3", "--method", "copeland")
    assert code == 0
    assert "left out 1 of 4 rows that does not meet the condition --where 'turn < 3'" in told
    assert cc.read(votes, reduce=True, agent="judge", where="turn = 1").weight.sum() == 2
    assert cc.read(votes, merge=True).weight.sum() == 4


@pytest.mark.parametrize("ending", ["duckdb", "sqlite"])
def test_several_tables_are_listed(ending: str, tmp_path: Path, run: Run) -> None:
    more = "CREATE TABLE judges(name TEXT);CREATE VIEW good AS SELECT * FROM votes WHERE turn = 1"
    path = database(tmp_path / f"many.{ending}", more)
    listed = r"has 3 tables \((votes, judges|judges, votes), good \(view\)\): choose one"
    with pytest.raises(cc.InputError, match=listed):
        cc.read(path)
    assert "choose one with --table." in run("rank", path)[2]
    with pytest.raises(cc.InputError, match=r"no table 'vote'. Did you mean votes\? The tables are"):
        cc.read(path, table="vote")
    assert cc.read(path, table="Votes") == EXPECTED
    assert cc.read(path, table="good").n_ballots == 2


def test_tables_of_other_schemas_have_qualified_names(tmp_path: Path) -> None:
    more = "CREATE SCHEMA old;CREATE TABLE old.votes AS SELECT 'p' AS winner, 'q' AS loser"
    path = database(tmp_path / "schemas.duckdb", more)
    assert cc.read(path, table="old.votes").items.labels == ["p", "q"]
    assert cc.read(path, sql="SELECT * FROM old.votes").items.labels == ["p", "q"]


def test_options_of_databases_are_refused_elsewhere(tmp_path: Path, votes: Path) -> None:
    with pytest.raises(cc.InputError, match="table= only applies to databases, but the format is csv"):
        cc.read(io.StringIO("winner,loser\na,b\n"), table="votes")
    with pytest.raises(cc.InputError, match="sql= only applies to databases and tables, but the format is trec"):
        cc.read(io.StringIO("1 Q0 d 1 1 x\n"), sql="SELECT 1")
    with pytest.raises(cc.InputError, match="table= and sql= cannot be combined"):
        cc.read(votes, table="votes", sql="SELECT * FROM votes")


def test_an_empty_database_says_so(tmp_path: Path) -> None:
    for path, connect in ((tmp_path / "no.duckdb", duckdb.connect), (tmp_path / "no.sqlite", sqlite3.connect)):
        with closing(connect(str(path))) as connection:  # type: ignore[operator]
            connection.execute("CREATE TABLE x(y INTEGER)")
            connection.execute("DROP TABLE x")
            connection.commit()
        with pytest.raises(cc.InputError, match="the database has no tables"):
            cc.read(path)


@pytest.mark.parametrize("share", [0.3, 0.7, 0.99])
def test_a_truncated_database_is_refused(votes: Path, share: float) -> None:
    content = votes.read_bytes()
    votes.write_bytes(content[: int(share * len(content))])
    with pytest.raises(cc.InputError, match=r"cannot be read|is shorter than its header says"):
        cc.read(votes)


def test_labels_and_features_are_read_from_databases(tmp_path: Path) -> None:
    for name, connect in (("judged.duckdb", duckdb.connect), ("judged.sqlite", sqlite3.connect)):
        with closing(connect(str(tmp_path / name))) as connection:  # type: ignore[operator]
            connection.execute("CREATE TABLE t(query TEXT, item TEXT, label INTEGER, price REAL)")
            connection.execute("INSERT INTO t VALUES ('q', 'a', 2, 1.5), ('q', 'b', 0, 3.0), ('r', 'a', 1, NULL)")
            connection.commit()
        assert len(cc.read_labels(tmp_path / name)) == 3
        X, y, _ = cc.read_features(tmp_path / name, where="label > 0")
        assert X.shape == (2, 1)
        assert y.tolist() == [2, 1]


# ---- changes that are not in the file yet ----
def test_a_write_ahead_log_is_read_but_not_applied(tmp_path: Path) -> None:
    path, live = tmp_path / "live.sqlite", sqlite3.connect(tmp_path / "live.sqlite")
    with closing(live):
        live.execute("PRAGMA journal_mode = WAL")
        fill(live)
        before = path.read_bytes()
        assert cc.read(path) == EXPECTED
        assert path.read_bytes() == before
    with closing(duckdb.connect(str(tmp_path / "live.duckdb"))) as engine:
        engine.execute("SET checkpoint_threshold = '1GB'")
        fill(engine)
        for ending in ("", ".wal"):
            (tmp_path / f"copy.duckdb{ending}").write_bytes((tmp_path / f"live.duckdb{ending}").read_bytes())
    before = (tmp_path / "copy.duckdb").read_bytes()
    assert cc.read(tmp_path / "copy.duckdb") == EXPECTED
    assert (tmp_path / "copy.duckdb").read_bytes() == before


def test_a_database_that_is_open_for_writing_says_so(tmp_path: Path) -> None:
    path = database(tmp_path / "busy.duckdb")
    with (
        closing(duckdb.connect(str(path))),
        pytest.raises(cc.InputError, match="open for writing elsewhere: close it there"),
    ):
        cc.read(path)
    with closing(duckdb.connect(str(path), read_only=True)):
        assert cc.read(path) == EXPECTED


# ---- hostile files ----
def test_a_view_of_a_duckdb_file_cannot_reach_other_files(tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("winner,loser\nsecret,b\n")
    path = database(tmp_path / "evil.duckdb", f"CREATE VIEW evil AS SELECT * FROM read_csv('{secret}')")
    with pytest.raises(cc.InputError, match=r"Cannot access file|cannot be read") as caught:
        cc.read(path, table="evil")
    assert "secret,b" not in str(caught.value)


def test_a_macro_of_a_duckdb_file_replaces_no_function(tmp_path: Path) -> None:
    path = database(tmp_path / "evil.duckdb", "CREATE MACRO nullif(a, b) AS 'hijacked';CREATE MACRO lower(a) AS 'x'")
    assert cc.read(path, where="lower(judge) = 'z'").n_ballots == 1
    assert cc.read(path, sql="SELECT * FROM votes WHERE lower(judge) = 'z'").n_ballots == 1


@pytest.mark.parametrize(
    "view",
    [
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n AS winner, -n AS loser FROM r",
        "SELECT load_extension('x') AS winner, 'b' AS loser",
        "SELECT fts3_tokenizer('simple') AS winner, 'b' AS loser",
    ],
)
def test_a_view_of_a_sqlite_file_runs_nothing_but_reading(view: str, tmp_path: Path) -> None:
    path = database(tmp_path / "evil.sqlite", f"CREATE VIEW evil AS {view}")
    with pytest.raises(cc.InputError, match="the database cannot be read"):
        cc.read(path, table="evil")
    assert cc.read(path) == EXPECTED


REFUSED = {
    "DROP TABLE votes": "SELECT",
    "DELETE FROM votes": "SELECT",
    "SELECT 1; DROP TABLE votes": "SELECT|one statement",
    "ATTACH 'other.db' AS other": "SELECT",
    "COPY votes TO 'stolen.csv'": "SELECT",
    "SELECT * FROM nothing": r"nothing.*it must be one SELECT statement over votes",
    "SELECT * FROM read_csv('/etc/passwd')": r"Cannot access file|no such table|syntax error",
    "SELECT * FROM '/etc/passwd'": r"Cannot access file|no such table|does not exist",
    "SELECT * FROM secret_frame": "does not exist|no such table",
    "PRAGMA user_version = 7": "SELECT",
    "SELEC": "SELECT",
}


@pytest.mark.parametrize("query", REFUSED)
def test_a_query_only_reads(query: str, votes: Path) -> None:
    import pandas as pd

    secret_frame = pd.DataFrame({"winner": ["a"], "loser": ["b"]})
    before = votes.read_bytes()
    with pytest.raises(cc.InputError, match=REFUSED[query]):
        cc.read(votes, sql=query)
    assert votes.read_bytes() == before
    assert not os.path.exists("stolen.csv")
    assert len(secret_frame) == 1


# ---- queries ----
def test_a_query_over_a_database(votes: Path, run: Run) -> None:
    query = "SELECT winner, loser, judge FROM votes WHERE turn < 3 ORDER BY turn"
    prefs = cc.read(votes, sql=query)
    assert prefs == cc.Preferences.from_pairs(["a", "a", "b"], ["b", "c", "c"], agent=["x", "x", "y"])
    assert cc.read(votes, sql=query + ";", where="judge = 'y'").n_ballots == 1
    assert run("rank", votes, "--sql", query, "--method", "copeland")[0] == 0


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "xlsx"])
def test_a_query_over_files_joins_them_by_their_names(ending: str, tmp_path: Path) -> None:
    votes, judges = tmp_path / f"votes.{ending}", tmp_path / "judges.csv"
    judges.write_text("judge,country,experience\nx,de,10\ny,fr,9\nz,de,2\n")
    rows = [dict(zip(("winner", "loser", "judge", "turn"), row, strict=False)) for row in VOTES]
    if ending == "xlsx":
        votes.write_bytes(xlsx({"Votes": [list(rows[0]), *(list(row.values()) for row in rows)]}))
    else:
        cc.io.write_table({name: [row[name] for row in rows] for name in rows[0]}, votes)
    query = "SELECT votes.* FROM votes JOIN judges USING (judge) WHERE experience > 5 AND turn < 2"
    assert cc.read([votes, judges], sql=query).n_ballots == 2
    assert cc.read(votes, sql="SELECT * FROM data WHERE turn = 3").n_ballots == 1
    assert cc.rank([votes, judges], sql=query, method="copeland").items[0] == "a"
    with pytest.raises(cc.InputError, match="sql= relates the rows of several files"):
        cc.read([votes, judges], sql=query, reduce=True)
    with pytest.raises(cc.InputError, match="it must be one SELECT statement over votes, judges"):
        cc.read([votes, judges], sql="SELECT * FROM vote")


def test_a_query_joins_databases_with_files(tmp_path: Path, votes: Path) -> None:
    judges = tmp_path / "judges.csv"
    judges.write_text("judge,country\nx,de\ny,fr\n")
    query = "SELECT votes.* FROM votes JOIN judges USING (judge) WHERE turn = 1"
    assert cc.read([votes, judges], sql=query).n_ballots == 2
    again = tmp_path / "again"
    again.mkdir()
    with pytest.raises(cc.InputError, match="two tables are called 'votes'"):
        cc.read([votes, database(again / "more.duckdb")], sql="SELECT * FROM votes")


def test_columns_of_a_query_are_numbers_only_if_all_cells_are_written_so(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("winner,loser,score\n007,7,1.5\n7,8,10\n")
    prefs = cc.read(path, sql="SELECT * FROM t WHERE score > 9 OR winner = '007'")
    assert prefs.items.labels == ["007", "7", "8"]


def test_rows_that_a_query_cannot_read_are_still_reported(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('winner,loser\na,b\na,b,c,d\n"b",c\n')
    with pytest.raises(cc.InputError, match=r"the row has \d fields"):
        cc.read(path, sql="SELECT * FROM t")
    assert any("left out 1 row" in note for note in cc.read(path, sql="SELECT * FROM t", skip_bad_rows=True).notes)


def test_a_large_query_is_counted_by_the_engine(tmp_path: Path) -> None:
    path = tmp_path / "votes.duckdb"
    with closing(duckdb.connect(str(path))) as connection:
        rows = "'item ' || (i % 7) AS winner, 'item ' || (i % 7 + 1 + i % 3) AS loser, i % 10 AS turn"
        connection.execute(f"CREATE TABLE votes AS SELECT {rows} FROM range(100000) t(i)")
    whole = cc.rank(cc.read(path, where="turn < 5"), "copeland")
    for options in ({"where": "turn < 5"}, {"sql": "SELECT winner, loser FROM votes WHERE turn < 5"}):
        counted = cc.read(path, reduce=True, **options)  # type: ignore[arg-type]
        assert counted.weight.sum() == 50_000
        ranking = cc.rank(counted, "copeland")
        both = [dict(zip(one.items, one.scores, strict=True)) for one in (ranking, whole)]
        assert both[0] == both[1]


# ---- names of other places, and open files ----
@pytest.mark.parametrize(
    "name", ["s3://bucket/votes.csv", "https://example.org/votes.parquet", "gs://bucket/votes.csv"]
)
def test_remote_names_say_what_works(name: str, run: Run) -> None:
    with pytest.raises(cc.InputError, match=r"this is a URL: download the file first.*cc.read\(fsspec.open\(url\)"):
        cc.read(name)
    assert "download the file first, and name the copy." in run("rank", name)[2]


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "csv.zst", "tsv", "json", "jsonl", "jsonl.xz", "parquet"])
def test_open_files_of_fsspec_are_read(ending: str, tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    path = tmp_path / f"votes.{ending}"
    cc.write(EXPECTED, path)
    with fsspec.open(str(path), "rb") as file:
        assert cc.read(file) == EXPECTED
    memory = fsspec.filesystem("memory")
    with memory.open("/votes", "wb") as target:
        target.write(path.read_bytes())
    if ending != "tsv":  # whose content alone does not tell it from csv with a tab in a name
        with memory.open("/votes", "rb") as file:
            assert cc.read(file) == EXPECTED


@pytest.mark.parametrize("place", ["a text", "the name of a column"])
def test_text_of_a_sqlite_file_that_is_not_utf_8_is_refused(place: str, tmp_path: Path) -> None:
    path = database(tmp_path / "votes.sqlite", "INSERT INTO votes VALUES ('QQQQ', 'b', 'x', 1, 1)")
    content, word = path.read_bytes(), b"QQQQ" if place == "a text" else b"judge"
    assert word in content
    path.write_bytes(content.replace(word, word[:-1] + b"\xff"))
    with pytest.raises(cc.InputError, match="text that is not UTF-8"):
        cc.read(path)
