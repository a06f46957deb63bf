"""Counts and sums made by the user's engine: the answers of the rows themselves, from lazy frames and from SQL."""

from __future__ import annotations

import importlib.util
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from click.testing import CliRunner

import concordant as cc
from concordant.cli.__main__ import cli
from concordant.engine.statistics import ITEM_SUMS, NET_WINS, POSITIONS
from concordant.errors import ConcordantError
from concordant.io import write_table

pytestmark = pytest.mark.filterwarnings("ignore")  # of other libraries about one another
Columns = Mapping[str, Sequence[Any]]
HOSTILE = ['w"; DROP TABLE votes; --', "l`x,y\\", "a 'b' [c]", "sélect"]


def pairs() -> Columns:
    rng = np.random.default_rng(1)
    winner = rng.integers(0, 6, 300)
    loser = (winner + rng.integers(1, 6, 300)) % 6
    return {
        "winner": [f"m {k}'é" for k in winner],
        "loser": [f"m {k}'é" for k in loser],
        "n": [float(k) for k in rng.integers(1, 4, 300)],
        "judge": [f"j{k}" for k in rng.integers(0, 4, 300)],
    }


def ratings(weighted: bool = False) -> Columns:
    rng = np.random.default_rng(4)
    drawn = zip(rng.integers(0, 40, 500), rng.integers(0, 9, 500), strict=True)
    rows = sorted({(int(user), int(film)) for user, film in drawn})
    stars = [float(rng.integers(1, 50)) / 10 for _ in rows]
    columns: dict[str, Sequence[Any]] = {
        "user": [f"u{user}" for user, _ in rows],
        "film": [f"film {film}" for _, film in rows],
        "stars": stars,
    }
    return columns | ({"weight": [1 + user % 3 / 4 for user, _ in rows]} if weighted else {})


def ranks() -> Columns:
    given = ratings()
    order: dict[str, int] = {}
    places = []
    for user in given["user"]:
        order[user] = order.get(user, 0) + 1
        places.append(order[user])
    return {"user": given["user"], "film": given["film"], "rank": places}


def frame(columns: Columns) -> Any:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(dict(columns))


def rows_of(columns: Columns) -> list[tuple[Any, ...]]:
    return list(zip(*columns.values(), strict=True))


def same(found: cc.Ranking, wanted: cc.Ranking) -> bool:
    """Return whether two rankings agree; ``found`` may lack what sums do not tell."""
    assert found.method == wanted.method
    expected = dict(zip(wanted.items, wanted.scores, strict=True))
    return dict(zip(found.items, found.scores, strict=True)) == pytest.approx(expected, abs=1e-9)


# ---- engines ----
Make = Callable[[Columns], Any]


@pytest.fixture(params=["polars", "duckdb", "dask", "ibis-sqlite", "ibis-duckdb", "ibis-postgres", "spark"])
def lazily(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, Make]]:
    """Yield the name of an engine, and what makes a lazy frame of it."""
    kind = request.param
    library = kind.split("-")[0]
    if library != "spark":
        pytest.importorskip(library)
    if kind == "polars":
        import polars

        yield "polars", lambda columns: polars.LazyFrame(dict(columns))
    elif kind == "duckdb":
        with duckdb.connect() as database:
            yield "DuckDB", lambda columns: database.from_arrow(arrow(columns))
    elif kind == "dask":
        if importlib.util.find_spec("dask.dataframe") is None:
            pytest.skip("dask.dataframe is not installed")
        import dask.dataframe

        yield "Dask", lambda columns: dask.dataframe.from_pandas(frame(columns), npartitions=3)
    elif kind == "ibis-sqlite":
        import ibis

        yield "SQLite through ibis", lambda columns: ibis.sqlite.connect(in_sqlite(columns, tmp_path)).table("t")
    elif kind == "ibis-duckdb":
        import ibis

        def make(columns: Columns) -> Any:
            with duckdb.connect(str(tmp_path / "t.duckdb")) as database:
                database.from_arrow(arrow(columns)).create("t")
            return ibis.duckdb.connect(str(tmp_path / "t.duckdb")).table("t")

        yield "DuckDB through ibis", make
    elif kind == "ibis-postgres":
        import ibis

        connection = request.getfixturevalue("postgres")
        backends: list[Any] = []

        def make(columns: Columns) -> Any:
            in_postgres(connection, columns, "lazily")
            about = connection.info
            backends.append(
                ibis.postgres.connect(host=about.host, port=about.port, user=about.user, database=about.dbname)
            )
            return backends[0].table("lazily")

        yield "Postgres through ibis", make
        for backend in backends:
            backend.disconnect()
        connection.execute('DROP TABLE "lazily"')
        connection.commit()
    else:
        session = request.getfixturevalue("spark")
        yield "Spark", lambda columns: session.createDataFrame(rows_of(columns), list(columns))


def arrow(columns: Columns) -> Any:
    return pytest.importorskip("pyarrow").table(dict(columns))


def in_sqlite(columns: Columns, folder: Path, name: str = "t") -> str:
    path = str(folder / "t.sqlite")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(ddl(name, columns))
        marks = ", ".join("?" * len(columns))
        connection.executemany(f"INSERT INTO `{name}` VALUES ({marks})", rows_of(columns))
    return path


def ddl(name: str, columns: Columns, mark: str = "`", real: str = "REAL") -> str:
    """Return the CREATE TABLE of these columns."""
    kinds = {str: "TEXT", float: real, int: "INTEGER", bool: "BOOLEAN"}
    parts = [
        f"{mark}{column.replace(mark, mark * 2)}{mark} {kinds[type(next(v for v in values if v is not None))]}"
        for column, values in columns.items()
    ]
    return f"CREATE TABLE {mark}{name.replace(mark, mark * 2)}{mark} ({', '.join(parts)})"


def in_postgres(connection: Any, columns: Columns, name: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(ddl(name, columns, '"', "DOUBLE PRECISION"))
        marks = ", ".join(["%s"] * len(columns))
        table = '"' + name.replace('"', '""') + '"'
        cursor.executemany(f"INSERT INTO {table} VALUES ({marks})", rows_of(columns))
    connection.commit()


# ---- lazy frames ----
@pytest.mark.slow
@pytest.mark.parametrize("case", ["pairs", "weighted pairs", "ratings", "weighted ratings", "ranks"])
def test_the_engine_of_a_lazy_frame_reduces_it(lazily: tuple[str, Make], case: str) -> None:
    engine, make = lazily
    options: dict[str, Any] = {}
    if "pairs" in case:
        columns, methods = pairs(), ["bradley-terry"]
        columns = {name: values for name, values in columns.items() if name != "n" or "weighted" in case}
    else:
        columns = ranks() if case == "ranks" else ratings(weighted="weighted" in case)
        methods = ["borda", "mpm"] if case == "ranks" else ["mpm", "borda", "mean-rating"]
    lazy, eager = make(columns), frame(columns)
    for method in methods:
        found = cc.rank(lazy, method, **options)
        assert same(found, cc.rank(eager, method, **options))
        rows = len(next(iter(columns.values())))
        assert found.ran.startswith(f"{rows} rows "), found.ran
        assert f"by {engine}, which returned" in found.ran


@pytest.mark.slow
def test_methods_that_need_agents_get_those_of_a_lazy_frame(lazily: tuple[str, Make]) -> None:
    _, make = lazily
    given = {name: values for name, values in pairs().items() if name != "n"}
    found = cc.rank(make(given), "bradley-terry", errors="sandwich")
    wanted = cc.rank(frame(given), "bradley-terry", errors="sandwich")
    assert sorted(found.low) == pytest.approx(sorted(wanted.low), abs=1e-8)


def test_rows_that_cannot_be_summed_are_read() -> None:
    polars = pytest.importorskip("polars")
    twice = {"user": ["u", "u", "v"], "item": ["a", "a", "b"], "rating": [1.0, 2.0, 3.0]}
    unclear = {"user": ["u", "u", "v"], "item": ["a", None, "b"], "rating": [1.0, 2.0, 3.0]}
    for columns in (twice, unclear):
        with pytest.raises(ConcordantError) as eager:
            cc.rank(polars.DataFrame(columns), "borda")
        with pytest.raises(ConcordantError) as lazy:
            cc.rank(polars.LazyFrame(columns), "borda")
        assert str(lazy.value) == str(eager.value)


def test_the_default_method_of_a_lazy_frame_is_that_of_its_rows() -> None:
    polars = pytest.importorskip("polars")
    equal = {"user": ["u", "u", "v"], "item": ["a", "b", "b"], "rating": [1.0, 1.0, 1.0]}
    for columns in (ratings(), ranks(), equal):
        found, wanted = cc.rank(polars.LazyFrame(dict(columns))), cc.rank(polars.DataFrame(dict(columns)))
        assert same(found, wanted)


def test_item_sums_are_those_of_both_statistics() -> None:
    prefs = cc.Preferences.from_frame(frame(ratings(weighted=True)))
    both, positions, wins = (one.of(prefs).sorted for one in (ITEM_SUMS, POSITIONS, NET_WINS))
    is_item = both.keys["item"] >= 0
    for name in POSITIONS.sums:
        assert both.sums[name].value.tolist() == positions.sums[name].value.tolist()
    for name in NET_WINS.sums:
        assert both.sums[name].value[is_item].tolist() == wins.sums[name].value.tolist()
        assert not both.sums[name].value[~is_item].any()


# ---- SQL ----
class Database:
    """A database to which the queries of ``concordant sql`` are sent."""

    def __init__(self, kind: str, connection: Any, folder: Path) -> None:
        self.dialect, self.connection, self.folder = kind, connection, folder

    def make(self, name: str, columns: Columns) -> None:
        if self.dialect == "postgres":
            in_postgres(self.connection, columns, name)
        elif self.dialect == "sqlite":
            self.connection = sqlite3.connect(in_sqlite(columns, self.folder, name))
        elif self.dialect == "duckdb":
            self.connection.execute(ddl(name, columns, '"', "DOUBLE"))
            marks = ", ".join("?" * len(columns))
            self.connection.executemany(
                'INSERT INTO "' + name.replace('"', '""') + f'" VALUES ({marks})',
                [list(row) for row in rows_of(columns)],
            )
        else:
            self.connection.createDataFrame(rows_of(columns), list(columns)).createOrReplaceTempView(name)

    def run(self, query: str) -> tuple[list[str], list[Any]]:
        query = query.strip().removesuffix(";")
        if self.dialect == "spark":
            found = self.connection.sql(query)
            return found.columns, [tuple(row) for row in found.collect()]
        cursor = self.connection.execute(query)
        return [column[0] for column in cursor.description], cursor.fetchall()


@pytest.fixture(params=["duckdb", "sqlite", "postgres", "spark"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    kind = request.param
    if kind == "duckdb":
        with duckdb.connect() as connection:
            yield Database(kind, connection, tmp_path)
    elif kind == "sqlite":
        found = Database(kind, None, tmp_path)
        yield found
        found.connection.close()
    elif kind == "postgres":
        connection = request.getfixturevalue("postgres")
        yield Database(kind, connection, tmp_path)
        connection.rollback()
        names = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        for (name,) in names:
            connection.execute('DROP TABLE "' + name.replace('"', '""') + '"')
        connection.commit()
    else:
        yield Database(kind, request.getfixturevalue("spark"), tmp_path)


def text_of(cell: object) -> str:
    return "" if cell is None else repr(cell) if isinstance(cell, float) else str(cell)


def reduced(database: Database, table: str, *options: str) -> Path:
    """Run the query of ``concordant sql`` and save its result as csv."""
    run = CliRunner().invoke(cli, ["sql", "--table", table, "--dialect", database.dialect, *options])
    assert run.exit_code == 0, run.output
    names, rows = database.run(run.stdout)
    path = database.folder / "counts.csv"
    import csv

    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows([text_of(cell) for cell in row] for row in rows)
    return path


@pytest.mark.slow
def test_a_query_counts_pairs(database: Database) -> None:
    given = pairs()
    database.make("votes", given)
    path = reduced(database, "votes", "--winner", "winner", "--loser", "loser", "--weight", "n")
    assert same(cc.rank(path, "bradley-terry"), cc.rank(frame(given), "bradley-terry", agent=None))
    plain = {"winner": given["winner"], "loser": given["loser"]}
    path = reduced(database, "votes", "--winner", "winner", "--loser", "loser")
    assert same(cc.rank(path), cc.rank(frame(plain)))


@pytest.mark.slow
def test_a_query_counts_ties_and_sides(database: Database) -> None:
    given = dict(pairs())
    outcome = [("left", "right", "tie")[k % 3] for k in range(300)]
    table = {"a": given["winner"], "b": given["loser"], "result": outcome}
    database.make("games", table)
    path = reduced(database, "games", "--left", "a", "--right", "b", "--outcome", "result")
    wanted = cc.rank(frame(table), "davidson", left="a", right="b", outcome="result")
    assert same(cc.rank(path, "davidson"), wanted)
    draws = {"w": given["winner"], "l": given["loser"], "is_draw": [k % 4 == 0 for k in range(300)]}
    database.make("drawn", draws)
    path = reduced(database, "drawn", "--winner", "w", "--loser", "l", "--tie", "is_draw")
    wanted = cc.rank(frame(draws), "davidson", winner="w", loser="l", tie="is_draw")
    assert same(cc.rank(path, "davidson"), wanted)
    points = {"a": given["winner"], "b": given["loser"], "x": [k % 5 for k in range(300)], "y": [2] * 300}
    database.make("scored", points)
    named = {"left": "a", "right": "b", "left_score": "x", "right_score": "y"}
    options = [word for role, name in named.items() for word in (f"--{role.replace('_', '-')}", name)]
    path = reduced(database, "scored", *options)
    assert same(cc.rank(path, "davidson"), cc.rank(frame(points), "davidson", **named))


@pytest.mark.slow
@pytest.mark.parametrize("is_weighted", [False, True])
def test_a_query_sums_ratings(database: Database, is_weighted: bool) -> None:
    given = ratings(weighted=is_weighted)
    database.make("ratings", given)
    roles = ["--agent", "user", "--item", "film", "--rating", "stars", *(["--weight", "weight"] * is_weighted)]
    path = reduced(database, "ratings", *roles)
    assert same(cc.rank(path), cc.rank(frame(given)))
    assert same(cc.rank(path, "borda", missing="last"), cc.rank(frame(given), "borda", missing="last"))
    assert "sums read from counts.csv" in cc.rank(path).ran
    with pytest.raises(ConcordantError, match=r"item sums.*not for mean-rating"):
        cc.rank(path, "mean-rating")
    path = reduced(database, "ratings", *roles, "--sums", "levels")
    assert same(cc.rank(path, "mean-rating"), cc.rank(frame(given), "mean-rating"))


@pytest.mark.slow
def test_a_query_sums_ranks_by_instance(database: Database) -> None:
    given = dict(ranks())
    given["topic"] = [f"t{int(user[1:]) % 3}" for user in given["user"]]
    database.make("ranked", given)
    path = reduced(*(database, "ranked", "--agent", "user", "--item", "film", "--rank", "rank", "--instance", "topic"))
    found = cc.rank(path, "borda")
    wanted = cc.rank(frame(given), "borda", instance="topic")
    for topic in ("t0", "t1", "t2"):
        assert same(found[topic], wanted[topic])


@pytest.mark.slow
def test_a_query_counts_rows_that_cannot_be_used(database: Database) -> None:
    given = {
        "user": ["u", "u", "v", "w", "w"],
        "film": ["a", "a", None, "b", "c"],
        "stars": [1.0, 2.0, 3.0, None, 2.0],
    }
    if database.dialect == "spark":
        given = {**given, "film": ["a", "a", "", "b", "c"]}
    database.make("bad", given)
    path = reduced(database, "bad", "--agent", "user", "--item", "film", "--rating", "stars")
    with pytest.raises(ConcordantError, match=r"4 rows of the reduced table have a missing cell"):
        cc.rank(path)


@pytest.mark.slow
def test_a_weight_out_of_range_is_not_counted(database: Database) -> None:
    database.make("odd", {"w": ["a", "a", "b"], "l": ["b", "b", "a"], "n": [1.0, -1.0, 2.0]})
    path = reduced(database, "odd", "--winner", "w", "--loser", "l", "--weight", "n")
    with pytest.raises(ConcordantError, match="weight"):
        cc.rank(path)


@pytest.mark.slow
def test_hostile_names_are_quoted(database: Database) -> None:
    given = pairs()
    names = HOSTILE[:2] if database.dialect != "spark" else ['w"; DROP TABLE votes', "l`x,y"]
    table = {names[0]: given["winner"], names[1]: given["loser"]}
    name = 'vo"tes; --' if database.dialect != "spark" else "votes"
    database.make(name, table)
    quoted = '"' + name.replace('"', '""') + '"'
    path = reduced(database, quoted, "--winner", names[0], "--loser", names[1])
    wanted = cc.Preferences.from_pairs(list(given["winner"]), list(given["loser"]))
    assert same(cc.rank(path), cc.rank(wanted))


def query(*options: str) -> str:
    run = CliRunner().invoke(cli, ["sql", *options])
    assert run.exit_code == 0, run.output
    return run.stdout


def test_names_are_quoted_as_each_dialect_does() -> None:
    roles = ("--winner", "a`b", "--loser", 'c"d')
    assert "`a\\`b`" in query("--table", "p.d.t", "--dialect", "bigquery", *roles)
    assert "`a``b`" in query("--table", "t", "--dialect", "spark", *roles)
    assert '"c""d"' in query("--table", "t", "--dialect", "snowflake", *roles)
    assert 'FROM "shop"."votes.2026"' in query("--table", 'shop."votes.2026"', "--dialect", "postgres", *roles)
    assert "FROM `p`.`d`.`t`" in query("--table", "p.d.t", "--dialect", "bigquery", *roles)


@pytest.mark.parametrize("dialect", ["postgres", "bigquery", "snowflake", "spark", "duckdb", "sqlite"])
@pytest.mark.parametrize("sums", ["items", "levels"])
def test_every_query_is_sql_of_its_dialect(dialect: str, sums: str) -> None:
    sqlglot = pytest.importorskip("sqlglot")
    text = query(
        *("--table", "s.t", "--dialect", dialect, "--sums", sums, "--agent", "u", "--item", "f", "--rating", "r"),
        *("--instance", "q", "--weight", "n"),
    )
    (tree,) = sqlglot.parse(text, dialect=dialect)
    assert tree is not None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--table", "t", "--winner", "w"], "The columns do not say what a row means"),
        (["--table", "t..u", "--winner", "w", "--loser", "l"], "is not the name of a table"),
        (["--table", 't"', "--winner", "w", "--loser", "l"], "is not the name of a table"),
        (["--table", "t", "--winner", "w", "--loser", "l", "--item", "i"], "--item i does not apply to pairs"),
        (["--table", "t", "--item", "i", "--rating", "r", "--rank", "k"], "--rank k does not apply to ratings"),
        (["--table", "t", "--winner", "", "--loser", "l"], "empty"),
    ],
)
def test_what_cannot_be_queried_is_refused(options: list[str], message: str) -> None:
    run = CliRunner().invoke(cli, ["sql", "--dialect", "postgres", *options])
    assert run.exit_code == 1, run.output
    assert message in run.output


# ---- tables of sums ----
@pytest.fixture
def sums(tmp_path: Path) -> dict[str, Any]:
    """Return a correct table of item sums."""
    given = ratings()
    with duckdb.connect() as connection:
        database = Database("duckdb", connection, tmp_path)
        database.make("r", given)
        text = query(*("--table", "r", "--dialect", "duckdb", "--agent", "user", "--item", "film", "--rating", "stars"))
        names, rows = database.run(text)
    return {name: [row[k] for row in rows] for k, name in enumerate(names)}


def test_a_frame_of_sums_is_ranked(sums: dict[str, Any]) -> None:
    assert same(cc.rank(frame(sums)), cc.rank(frame(ratings())))
    assert same(cc.rank(frame({name.upper(): column for name, column in sums.items()})), cc.rank(frame(ratings())))


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("better", float("nan"), "better is not a sum of ballots"),
        ("worse", -1.0, "worse is not a sum of ballots"),
        ("net", 1e300, "net is not a sum of ballots"),
        ("weight", 1e6, "more ballots than there are"),
        ("unusable", 3, "3 rows of the reduced table have a missing cell"),
        ("form", "grades", "must be 'ratings' or 'rankings'"),
    ],
)
def test_sums_that_no_ballots_have_are_refused(
    sums: dict[str, Any], tmp_path: Path, column: str, value: object, message: str
) -> None:
    row = next(k for k, item in enumerate(sums["item"]) if item is not None)
    sums[column][row] = value
    path = tmp_path / "sums.csv"
    write_table({name: [text_of(cell) for cell in cells] for name, cells in sums.items()}, path)
    with pytest.raises(ConcordantError, match=message) as error:
        cc.rank(path)
    assert "sums.csv" in str(error.value)


def test_sums_without_the_number_of_ballots_are_refused(sums: dict[str, Any]) -> None:
    row = sums["item"].index(None)
    with pytest.raises(ConcordantError, match="which counts the ballots, is missing"):
        cc.rank(frame({name: cells[:row] + cells[row + 1 :] for name, cells in sums.items()}))


def test_sums_are_not_read_as_ballots(sums: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "sums.parquet"
    write_table({name: [text_of(cell) for cell in cells] for name, cells in sums.items()}, path)
    with pytest.raises(ConcordantError, match="which only rank can use"):
        cc.read(path)
    with pytest.raises(ConcordantError, match="holds item sums"):
        cc.rank(path, "borda", min_ballots=2)


def test_ranking_a_frame_imports_nothing_of_sums() -> None:
    code = (
        "import sys, concordant as cc, pandas; cc.rank(pandas.DataFrame({'winner': ['a'], 'loser': ['b']}));"
        "sys.exit('concordant.io.sums' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
