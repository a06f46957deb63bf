"""Rank names of files: reduced where the method allows, with the answers of the whole data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import concordant as cc
from concordant.cli.__main__ import cli
from concordant.errors import FormatError, ParameterError
from concordant.io import write_table


def scores(ranking: cc.Ranking) -> dict[str, float]:
    return dict(zip(ranking.items, ranking.scores, strict=True))


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    rng = np.random.default_rng(2)
    for k in range(3):
        winner = rng.integers(0, 8, 200)
        loser = (winner + rng.integers(1, 8, 200)) % 8
        columns = {"winner": [f"m{i}" for i in winner], "loser": [f"m{i}" for i in loser]}
        write_table({**columns, "voter": [f"v{i}" for i in rng.integers(0, 9, 200)]}, tmp_path / f"{k}.parquet")
    return tmp_path


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    rng = np.random.default_rng(4)
    rated = {(int(u), int(i)) for u, i in zip(rng.integers(0, 60, 900), rng.integers(0, 12, 900), strict=True)}
    rows = [(f"u{u}", f"film {i}", float(rng.integers(1, 11)) / 2) for u, i in sorted(rated)]
    for k in range(3):  # the ratings of a user stand in all files
        user, film, stars = (list(column) for column in zip(*rows[k::3], strict=True))
        write_table({"user": user, "film": film, "stars": stars}, tmp_path / f"{k}.csv")
    return tmp_path


@pytest.mark.parametrize("method", [None, "bradley-terry", "borda", "kemeny", "schulze", "plackett-luce"])
def test_votes_are_ranked_as_if_read_at_once(votes: Path, method: str | None) -> None:
    whole = cc.rank(cc.read(votes), method)
    for named in (votes, str(votes / "*.parquet"), sorted(votes.iterdir())):
        found = cc.rank(named, method, **({"reduce": True} if isinstance(named, list) else {}))
        expected = scores(whole)
        assert scores(found) == pytest.approx(expected, abs=1e-9)
        assert "600 rows of 3 files counted by DuckDB in this process" in found.ran
    if method in (None, "bradley-terry"):
        np.testing.assert_allclose(np.sort(found.low), np.sort(whole.low), atol=1e-8)


def test_workers_count_the_same(votes: Path) -> None:
    found = cc.rank(votes, "bradley-terry", workers=2, prior=1.0)
    assert scores(found) == scores(cc.rank(votes, "bradley-terry", prior=1.0))
    assert "2 processes" in found.ran


def test_options_go_to_the_method_or_to_reading(votes: Path) -> None:
    found = cc.rank(votes, "bradley-terry", winner="loser", loser="winner", prior=2.0, memory_limit="500MB")
    assert found.params["prior"] == 2.0
    assert found.items[::-1] == cc.rank(votes, "bradley-terry", prior=2.0).items
    with pytest.raises(ParameterError, match="has no parameter"):
        cc.rank(votes, "bradley-terry", nonsense=1)


def test_methods_that_need_the_order_of_events_read_everything(votes: Path) -> None:
    assert cc.rank(votes, "elo").ran == ""


@pytest.mark.parametrize("method", [None, "mpm", "mean-rating", "borda"])
@pytest.mark.parametrize("missing", [None, "last", "ignore"])
def test_ratings_are_ranked_from_their_sums(ratings: Path, method: str | None, missing: str | None) -> None:
    params: dict[str, Any] = {"missing": missing} if missing and method == "borda" else {}
    found, whole = cc.rank(ratings, method, **params), cc.rank(cc.read(ratings), method, **params)
    assert found.method == whole.method
    assert scores(found) == pytest.approx(scores(whole), abs=1e-9)
    assert "reduced to" in found.ran


def test_ranks_by_instance_are_ranked_from_their_sums(tmp_path: Path) -> None:
    rows = [("q1", "u", "a", 1), ("q1", "u", "b", 2), ("q1", "v", "c", 1), ("q2", "u", "b", 1), ("q2", "v", "a", 1)]
    query, judge, item, rank = (list(column) for column in zip(*rows, strict=True))
    write_table({"query": query, "judge": judge, "item": item, "rank": rank}, tmp_path / "x.csv")
    found = cc.rank(tmp_path, "borda", instance="query")
    whole = cc.rank(cc.read(tmp_path, instance="query"), "borda")
    assert "positional sums" in found.ran
    for name in ("q1", "q2"):
        assert scores(found[name]) == scores(whole[name])


def test_bad_rows_of_ratings_are_named_as_ever(ratings: Path) -> None:
    with open(ratings / "1.csv", "a") as file:
        file.write("u1,film 3,much\n")
    with pytest.raises(FormatError, match=r"1\.csv.*the rating is 'much'"):
        cc.rank(ratings, "mpm")
    assert cc.rank(ratings, "mpm", skip_bad_rows=True).ran == ""


def test_what_sums_do_not_tell_is_read(ratings: Path) -> None:
    assert cc.rank(ratings, "mpm", variances="learnt").ran == ""
    assert cc.rank(ratings, "mpm", min_ballots=3).ran == ""
    assert "reduced-to-sums" in {notice.name for notice in cc.rank(ratings, "mpm").warnings}


def test_the_command_line_says_where_it_ran(votes: Path) -> None:
    run = CliRunner().invoke(cli, ["rank", str(votes), "--memory-limit", "500MB", "--top", "2"])
    assert run.exit_code == 0, run.output
    assert "600 rows of 3 files counted by DuckDB in this process" in run.output
    broken = votes / "1.parquet"
    broken.write_bytes(b"PAR1 nothing")
    kept = CliRunner().invoke(cli, ["rank", str(votes), "--skip-bad-files", "--workers", "2"])
    assert kept.exit_code == 0, kept.output
    assert "left out a file" in kept.output
    assert "400 rows of 2 files counted by DuckDB on 2 processes" in kept.output


def test_pairs_of_a_lazy_frame_are_counted_by_its_engine(votes: Path) -> None:
    polars = pytest.importorskip("polars")
    lazy = polars.scan_parquet(str(votes / "*.parquet"))
    whole = cc.read(votes)
    assert scores(cc.rank(lazy, "bradley-terry")) == pytest.approx(scores(cc.rank(whole, "bradley-terry")), abs=1e-9)
    found = cc.Preferences.from_frame(lazy, agent="voter")
    assert found.is_merged
    assert found.weight.sum() == 600
    assert found.n_agents == 9
    assert "counted by its engine" in found.notes[-1]


def test_a_relation_of_duckdb_is_a_lazy_frame(votes: Path) -> None:
    import duckdb

    relation = duckdb.sql(f"SELECT winner, loser, 2 AS weight FROM '{votes}/*.parquet'")
    found = cc.Preferences.from_frame(relation)
    assert found.weight.sum() == 1200
