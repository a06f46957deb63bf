"""Preferences from the result of a query: sqlite3, DuckDB, ADBC, and psycopg on a Postgres server of its own."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import pytest

import concordant as cc
from concordant.tables.values import text_of

ROWS = [("a", "b", "x", 1), ("b", "c", "y", 2), ("a", "c", "x", 1)]
EXPECTED = cc.Preferences.from_pairs(["a", "b", "a"], ["b", "c", "c"], agent=["x", "y", "x"])


def filled(connection: Any) -> Any:
    connection.execute("CREATE TABLE votes(winner TEXT, loser TEXT, judge TEXT, turn INTEGER)")
    connection.executemany("INSERT INTO votes VALUES (?, ?, ?, ?)", ROWS)
    return connection


@pytest.mark.parametrize("connect", [sqlite3.connect, duckdb.connect])
def test_a_query_of_an_open_connection_is_read(connect: Any) -> None:
    with closing(filled(connect(":memory:"))) as connection:
        assert cc.read_sql(connection, "SELECT * FROM votes") == EXPECTED
        assert cc.read_sql(connection, "SELECT * FROM votes WHERE turn = ?", (2,)).n_ballots == 1
        prefs = cc.read_sql(connection, "SELECT * FROM votes", where="turn = 1", agent=None, drop_duplicates="judge")
        assert (prefs.n_ballots, prefs.agents) == (1, None)
        assert "left out 1 of 3 rows that does not meet the condition where='turn = 1'" in prefs.notes
        with pytest.raises(cc.InputError, match=r"The query failed \(.*nothing.*check the query"):
            cc.read_sql(connection, "SELECT * FROM nothing")
        with pytest.raises(cc.InputError, match="the query: there are no rows of data"):
            cc.read_sql(connection, "SELECT * FROM votes WHERE turn = 9")
        with pytest.raises(cc.InputError, match="none of the 3 rows meets"):
            cc.read_sql(connection, "SELECT * FROM votes", where="turn = 9")
        assert cc.read_sql(connection, "SELECT * FROM votes") == EXPECTED  # it stays open


def test_a_query_of_adbc_comes_as_arrow(tmp_path: Path) -> None:
    adbc = pytest.importorskip("adbc_driver_sqlite.dbapi", reason="the ADBC driver of SQLite is not installed")
    with closing(filled(sqlite3.connect(tmp_path / "votes.sqlite"))) as connection:
        connection.commit()
    with adbc.connect(str(tmp_path / "votes.sqlite")) as connection:
        assert cc.read_sql(connection, "SELECT winner, loser, judge FROM votes") == EXPECTED


def test_what_is_no_connection_or_query_is_refused() -> None:
    with pytest.raises(cc.InputError, match=r"has a method cursor, but str has none.*raw_connection"):
        cc.read_sql("votes.sqlite", "SELECT 1")
    with closing(sqlite3.connect(":memory:")) as connection:
        with pytest.raises(cc.InputError, match="must be a text"):
            cc.read_sql(connection, 7)  # type: ignore[arg-type]
        with pytest.raises(cc.InputError, match="The query returns no rows: write a SELECT statement"):
            cc.read_sql(connection, "CREATE TABLE t(x)")
        with pytest.raises(cc.UnknownNameError, match="Unknown argument 'sheet'"):
            cc.read_sql(connection, "SELECT 1", sheet=1)


class FakeConnection:
    """A driver without Arrow whose values have all the types that drivers return."""

    description = (("item", None), ("rating", None), ("agent", None))

    def __init__(self, rows: list[tuple[Any, ...]]) -> None:
        self.rows = rows

    def cursor(self) -> FakeConnection:
        return self

    def execute(self, query: str) -> None:
        pass

    def fetchmany(self, count: int) -> list[tuple[Any, ...]]:
        some, self.rows = self.rows[:count], self.rows[count:]
        return some

    def close(self) -> None:
        pass


def test_values_of_all_types_become_text_and_numbers() -> None:
    key = UUID("12345678-1234-5678-1234-567812345678")
    rows: list[tuple[Any, ...]] = [
        (key, Decimal("3.50"), 7),
        (b"bytes", 2, 7.0),
        (date(2024, 5, 31), 1.5, Decimal("7.0")),
        (True, "4", "7"),
        ("plain", Decimal("1E+1"), memoryview(b"7")),
    ]
    prefs = cc.read_sql(FakeConnection(rows), "SELECT …")
    assert prefs.agents is not None
    assert prefs.agents.labels == ["7"]
    assert prefs.value is not None
    ratings = dict(zip(prefs.items.take(prefs.item), prefs.value.tolist(), strict=True))
    assert ratings == {str(key): 3.5, "bytes": 2.0, "2024-05-31": 1.5, "true": 4.0, "plain": 10.0}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, None),
        (float("nan"), None),
        (Decimal("NaN"), None),
        ("", ""),
        (1.0, "1"),
        (1e300, "1e+300"),
        (Decimal("1.250"), "1.25"),
        (Decimal("100"), "100"),
        (datetime(2024, 5, 31, 12, 30, tzinfo=UTC), "2024-05-31 12:30:00+00:00"),
        (time(12, 30), "12:30:00"),
        (timedelta(days=1), "1 day, 0:00:00"),
        (b"\xff\x00", "ff00"),
        ([1, "x", None], '[1, "x", null]'),
        ({"a": Decimal("1.5")}, '{"a": "1.5"}'),
        (False, "false"),
    ],
)
def test_a_value_as_text(value: Any, text: str | None) -> None:
    assert text_of(value) == text


# ---- Postgres ----
def test_a_query_of_psycopg_on_postgres_is_read(postgres: Any) -> None:
    with postgres.cursor() as cursor:
        cursor.execute(
            "CREATE TABLE ratings(id uuid, item text, rating numeric(4, 2), judge integer, at timestamptz, "
            "is_hidden boolean, tags jsonb, raw bytea)"
        )
        cursor.executemany(
            "INSERT INTO ratings VALUES (gen_random_uuid(), %s, %s, %s, %s, %s, '[1, 2]', %s)",
            [
                ("ann", Decimal("4.50"), 1, datetime(2024, 5, 31, tzinfo=UTC), False, b"x"),
                ("bob", Decimal("3.00"), 1, datetime(2024, 6, 1, tzinfo=UTC), False, b"x"),
                ("ann", Decimal("1.00"), 2, datetime(2024, 6, 2, tzinfo=UTC), True, b"x"),
                ("bob", None, 3, datetime(2024, 6, 3, tzinfo=UTC), None, None),
            ],
        )
    postgres.commit()
    query = "SELECT * FROM ratings WHERE rating IS NOT NULL ORDER BY at"
    prefs = cc.read_sql(postgres, query, agent="judge")
    assert prefs.value is not None
    assert prefs.value.tolist() == [4.5, 3.0, 1.0]
    assert prefs.agents is not None
    assert prefs.agents.labels == ["1", "2"]
    assert cc.read_sql(postgres, query, agent="judge", where="NOT is_hidden").n_ballots == 1
    assert cc.read_sql(postgres, query, agent="judge", where="at < DATE '2024-06-01'").n_ballots == 1
    some = cc.read_sql(postgres, "SELECT item, rating, judge FROM ratings WHERE judge = %s", (1,))
    assert some.n_ballots == 1
    with pytest.raises(cc.InputError, match=r"The query failed \(UndefinedTable"):
        cc.read_sql(postgres, "SELECT * FROM nothing")
    postgres.rollback()
