"""Conditions on rows: how columns are read, what is rejected, and the same answer for every kind of table."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pytest
from tests.workbooks import ods, xlsx

import concordant as cc
from concordant.errors import UnknownColumnError
from concordant.tables.conditions import parse_condition
from concordant.tables.derived import DerivedTable
from concordant.tables.frames import FrameTable
from concordant.tables.plans import Names

ROWS: dict[str, list[Any]] = {
    "winner": ["a", "a", "b", "c", "a"],
    "loser": ["b", "b", "c", "a", "c"],
    "judge": ["x", "y", "y", "z", "007"],
    "turn": [1, 1, 2, 10, None],
    "day": ["2024-01-05", "2024-02-01", "2024-02-03", None, "2023-12-31"],
    "hidden": ["true", "no", "0", "yes", None],
    "left": ["u", "v", "u", "w", "v"],
}
# The rows that meet a condition, counted from 0.
CASES = {
    "turn = 1": [0, 1],
    "turn >= 2": [2, 3],
    "turn > 9 OR judge = '007'": [3, 4],
    "judge != 'x' AND turn = 1": [1],
    "judge = 'X'": None,
    "lower(judge) = 'x'": [0],
    "judge LIKE '%z%'": [3],
    "judge IN ('x', 'z')": [0, 3],
    "turn IN (2, 10)": [2, 3],
    "turn NOT BETWEEN 1 AND 2": [3],
    "turn IS NULL": [4],
    "coalesce(turn, 0) = 0": [4],
    "turn * 2 + 1 = 5": [2],
    "turn % 2 = 0": [2, 3],
    "-turn < -1": [2, 3],
    "day > DATE '2024-01-31'": [1, 2],
    "day >= '2024-02-01'": [1, 2],
    "year(day) = 2023": [4],
    "hidden": [0, 3],
    "NOT hidden": [1, 2],
    "hidden = true": [0, 3],
    "hidden IS TRUE": [0, 3],
    "left = 'u'": [0, 2],
    "winner = loser": None,
    "length(judge) = 3": [4],
    "CASE WHEN turn = 1 THEN judge = 'y' ELSE false END": [1],
    "TRY_CAST(judge AS INT) = 7": [4],
    "JUDGE = 'x'": [0],
    "judge = 'column_0'": None,
    "turn = 1 -- the first turn": [0, 1],
}
KINDS = ("csv", "quoted csv", "large csv", "jsonl", "json", "parquet", "arrow", "xlsx", "ods")
FRAMES = ("pandas", "polars", "lazy")


def table_of(kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the rows as a file or frame of this kind."""
    frame, path = pd.DataFrame({**ROWS, "turn": pd.array(ROWS["turn"], "Int64")}), folder / f"votes.{kind.split()[-1]}"
    if "csv" in kind:
        if kind == "large csv":
            monkeypatch.setattr("concordant.io._plain_csv.MAX_SMALL", 10)
        frame.to_csv(path, index=False, quoting=1 if kind == "quoted csv" else 0)
    elif kind in ("json", "jsonl"):
        frame.to_json(path, orient="records", lines=kind == "jsonl")
    elif kind == "parquet":
        frame.to_parquet(path)
    elif kind == "arrow":
        pa.feather.write_feather(pa.table(ROWS), path)
    elif kind in ("xlsx", "ods"):
        filled = ([("" if cell is None else cell) for cell in column] for column in ROWS.values())
        cells = [list(ROWS), *map(list, zip(*filled, strict=True))]
        path.write_bytes((xlsx if kind == "xlsx" else ods)({"Votes": cells}))
    else:
        return {"pandas": frame, "polars": pl.DataFrame(ROWS), "lazy": pl.LazyFrame(ROWS)}[kind]
    return path


def rows_of(source: Any, where: str) -> list[int]:
    """Return which rows meet a condition, by the pairs and judges that remain."""
    roles = {"winner": "winner", "loser": "loser", "agent": "judge", "left": None}
    read = cc.read if isinstance(source, Path) else cc.Preferences.from_frame
    prefs = read(source, where=where, **roles)
    assert prefs.agents is not None
    assert prefs.agent is not None
    found = list(zip(prefs.items.take(prefs.item[0::2]), prefs.agents.take(prefs.agent), strict=True))
    rows = list(zip(ROWS["winner"], ROWS["judge"], strict=True))
    assert f"left out {5 - len(found)} of 5 rows" in " ".join(prefs.notes)
    return [rows.index(one) for one in found]


@pytest.mark.parametrize("kind", [*KINDS, *FRAMES])
def test_a_condition_keeps_the_same_rows_of_every_kind_of_table(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = table_of(kind, tmp_path, monkeypatch)
    for where, expected in CASES.items():
        if expected is None:
            with pytest.raises(cc.InputError, match="none of the 5 rows meets the condition where="):
                rows_of(source, where)
        else:
            assert rows_of(source, where) == expected, where


REFUSED = {
    "jugde = 'x'": (r"no column 'jugde', which where= names. Did you mean judge\? The columns are winner, loser"),
    "judge = x": "no column 'x'.*put texts in single quotes",
    "judge = 7": "reads the column 'judge' as a number, but a cell is 'x': compare it with a text in single quotes",
    "judge": "reads the column 'judge' as true or false, but a cell is '",
    "judge > DATE '2020-01-01'": "reads the column 'judge' as a date, but a cell is",
    "winner < loser": "reads the column 'winner' as a number",
    "turn = 1 AND": "is not a valid condition.*syntax error",
    "turn IN (1, 'x')": "numbers and texts at once",
    "turn IN (SELECT 1)": "contains a subquery",
    "EXISTS (SELECT 1 FROM read_csv('/etc/passwd'))": "contains a subquery",
    "row_number() OVER () = 1": "contains a window function",
    "sum(turn) > 1": "contains the function sum",
    "random() < 0.5": "contains the function random",
    "getenv('HOME') = 'x'": "contains the function getenv",
    "turn = ?": r"contains a parameter \(\?\)",
    "COLUMNS(*) = 1": "contains star",
    "1 = 1) UNION SELECT * FROM (t": "more than a condition",
    "turn = 1) ORDER BY (turn": "more than a condition",
    "turn = 1) LIMIT (1": "more than a condition",
    "turn = 1; DROP TABLE t": "syntax error",
    " ": "where=' ' is not a condition",
    "CAST(judge AS INT) = 7": "is not a valid condition.*Could not convert",
}


@pytest.mark.parametrize("where", REFUSED)
def test_other_conditions_are_refused_with_a_sentence(where: str, tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    pd.DataFrame(ROWS).to_csv(path, index=False)
    for read, source in ((cc.read, path), (cc.Preferences.from_frame, pd.read_csv(path, dtype={"judge": str}))):
        with pytest.raises(cc.InputError, match=REFUSED[where]) as caught:
            read(source, where=where)
        assert isinstance(caught.value, UnknownColumnError) == ("no column" in REFUSED[where])


def test_the_sentence_names_the_option_of_the_command_line(tmp_path: Path) -> None:
    with pytest.raises(cc.InputError) as caught:
        cc.read(io.StringIO("winner,loser\na,b\n"), where="x = 1")
    assert caught.value.parameter == "where"


def test_missing_words_are_no_error_and_meet_no_comparison() -> None:
    text = "winner,loser,turn\na,b,1\nb,c,NA\nc,a,n/a\na,c,3\n"
    assert cc.read(io.StringIO(text), where="turn >= 1").n_ballots == 2
    assert cc.read(io.StringIO(text), where="NOT turn = 1").n_ballots == 1


def test_a_column_may_be_read_in_two_ways() -> None:
    condition = parse_condition("turn > 1 OR turn = 'x'", Names("t", ["turn"]))
    assert [use.kind for use in condition.uses] == ["number", "text"]


def test_numbers_with_a_decimal_comma_are_compared_as_numbers() -> None:
    text = "user;item;rating\nu;a;4,5\nu;b;3\nv;a;1\n"
    assert cc.read(io.StringIO(text), where="rating > 4").n_ballots == 1


def test_rows_left_out_keep_the_lines_of_the_others_in_messages(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text("user,item,rating,turn\nu,a,3,2\nu,b,x,1\nv,a,4,1\n")
    with pytest.raises(cc.InputError, match="line 3: the rating is 'x'"):
        cc.read(path, where="turn = 1")
    assert cc.read(path, where="turn = 2").n_ballots == 1
    frame = pd.read_csv(path)
    with pytest.raises(cc.InputError, match="row 2: the rating is 'x'"):
        cc.Preferences.from_frame(frame, where="turn = 1")


def test_items_that_only_left_out_rows_name_are_no_candidates() -> None:
    prefs = cc.Preferences.from_frame(pd.DataFrame(ROWS), where="turn = 1", left=None)
    assert prefs.items.labels == ["a", "b"]


# ---- derived tables ----
def test_a_derived_table_has_rows_of_its_base_and_columns_of_its_own() -> None:
    base = FrameTable(pd.DataFrame({"x": ["a", "b", None], "y": [1.0, 2.0, 3.0]}))
    labels = cc.Preferences.from_rankings([["p", "q"]]).items
    derived = DerivedTable(
        base, np.array([2, 0, 0]), {"y": np.array([7.0, 8.5, np.nan]), "z": (np.array([1, -1, 0], np.int32), labels)}
    )
    texts, numbers = derived.fetch(["x", "z", "y"], ["y", "z"])
    assert texts["x"][0].tolist() == [-1, 0, 0]
    assert texts["x"][1].labels == ["a"]
    assert texts["y"][1].labels == ["7", "8.5"]
    assert derived.columns == ["x", "y", "z"]
    assert numbers["y"].tolist()[:2] == [7.0, 8.5]
    assert np.isnan(numbers["z"]).all()
    assert derived.cells("z", [0, 1]) == ["q", None]
    assert derived.first(1) == [[None], ["7"], ["q"]]
    assert derived.place(0) == "row 3"
    assert "row 1" in str(derived.error(1, "bad"))


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_a_condition_names_nested_fields(tmp_path: Path, ending: str) -> None:
    lines = [
        '{"winner": "a", "loser": "b", "meta": {"turns": 1, "tag_v0.1": {"math": true}}}',
        '{"winner": "b", "loser": "a", "meta": {"turns": 2, "tag_v0.1": {"math": false}}}',
        '{"winner": "a", "loser": "c", "meta": {"turns": 3, "tag_v0.1": {"math": true}}}',
    ]
    path = tmp_path / f"votes.{ending}"
    if ending == "jsonl":
        path.write_text("\n".join(lines))
    else:
        pq = pytest.importorskip("pyarrow.parquet")
        pq.write_table(pa.Table.from_pylist([json.loads(line) for line in lines]), path)
    assert cc.read(path, where="meta.turns >= 2").n_ballots == 2
    assert list(cc.read(path, where='"meta.tag_v0.1.math" = true').items) == ["a", "b", "c"]
