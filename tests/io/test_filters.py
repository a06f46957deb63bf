"""Conditions where files are counted, shared by workers, joined, or no tables at all."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.conftest import ROOT, Run

import concordant as cc

EXAMPLES = ROOT / "examples"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write three files of votes; none of the last one is of turn 1."""
    rng = np.random.default_rng(0)
    for k in range(3):
        pairs = np.array([rng.permutation(5)[:2] for _ in range(60)])
        turns = rng.integers(1, 4, 60) if k < 2 else np.full(60, 2)
        frame = pd.DataFrame(
            {"winner": pairs[:, 0], "loser": pairs[:, 1], "turn": turns, "judge": rng.integers(0, 3, 60)}
        )
        frame.to_csv(tmp_path / f"part{k}.csv", index=False)
    return tmp_path


def scores(prefs: Any, **options: Any) -> dict[str, float]:
    ranking = cc.rank(prefs, "copeland", **options)
    return dict(zip(ranking.items, ranking.scores.tolist(), strict=True))


def note_of(prefs: cc.Preferences) -> str:
    return next(note for note in prefs.notes if "condition" in note)


@pytest.mark.parametrize("how", [{"reduce": True}, {"reduce": True, "workers": 2}, {"reduce": True, "agent": "judge"}])
def test_counted_files_are_filtered_like_whole_ones(folder: Path, how: dict[str, Any]) -> None:
    where = "turn = 1 AND judge <> 2"
    frames = [pd.read_csv(path) for path in sorted(folder.glob("*.csv"))]
    frame = pd.concat(frames)
    kept = frame[(frame.turn == 1) & (frame.judge != 2)]
    expected = scores(cc.Preferences.from_frame(kept.drop(columns="turn")))
    whole = cc.read(folder, where=where)
    counted = cc.read(folder, where=where, **how)
    assert whole.n_ballots == counted.weight.sum() == len(kept)
    assert scores(whole) == scores(counted) == scores(folder, where=where) == expected
    left_out = f"left out {180 - len(kept)} of 180 rows that do not meet the condition where='{where}'"
    assert note_of(whole) == note_of(counted) == left_out


def test_a_condition_that_no_row_of_any_file_meets_is_an_error(folder: Path) -> None:
    for how in ({}, {"reduce": True}, {"merge": True}):
        with pytest.raises(cc.InputError, match="none of the 180 rows meets the condition where='turn = 9'"):
            cc.read(folder, where="turn = 9", **how)


def test_sums_of_ratings_are_filtered_by_the_engine(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows = {"user": np.repeat(np.arange(50), 4), "item": np.tile(np.arange(4), 50), "rating": rng.integers(1, 6, 200)}
    frame = pd.DataFrame({**rows, "year": np.repeat(rng.integers(2020, 2023, 50), 4)})
    frame.to_parquet(tmp_path / "ratings.parquet")
    expected = cc.rank(cc.Preferences.from_frame(frame[frame.year > 2020]), "mean")
    for options in ({"memory_limit": "1GB"}, {"workers": 2}, {}):
        ranking = cc.rank(tmp_path / "ratings.parquet", "mean", where="year > 2020", **options)  # type: ignore[arg-type]
        assert ranking.items == expected.items
        np.testing.assert_allclose(ranking.scores, expected.scores)


def test_groups_and_other_commands_take_a_condition(folder: Path, run: Run) -> None:
    words = (folder / "part0.csv", "--where", "turn = 1")
    for command in ("rank", "describe", "compare", "convert"):
        more = (folder / f"{command}.csv",) if command == "convert" else ()
        code, _, told = run(command, words[0], *more, *words[1:])
        assert code == 0, told
    code, out, _ = run("rank", *words, "--by", "judge")
    assert code == 0
    assert "judge" in out
    assert cc.compare(words[0], ["borda", "copeland"], where="turn = 1") is not None


def test_rows_that_cannot_be_read_are_still_reported(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text('winner,loser,turn\na,b,1\na,b,1,extra\n"b",c,1\nb,a,2\n')
    prefs = cc.read(path, where="turn = 1", skip_bad_rows=True)
    assert prefs.n_ballots == 2
    assert any("left out 1 row:" in note for note in prefs.notes)


def test_columns_that_are_words_of_sql_need_no_quotes() -> None:
    text = "left,right,outcome,user,order,group\na,b,left,u,1,g\nb,c,right,v,2,h\n"
    for where in ("left = 'a'", "user = 'u'", "order = 1", "group = 'g' AND left = 'a'", "\"left\" = 'a'"):
        assert cc.read(io.StringIO(text), where=where).n_ballots == 1


# ---- formats that are no tables ----
RUN = "q1 Q0 d1 1 9.5 bm25\nq1 Q0 d2 2 8 bm25\nq1 Q0 d3 3 7 bm25\nq1 Q0 d2 1 3 dense\nq2 Q0 d1 1 2 dense\n"


def test_a_condition_on_runs_names_roles() -> None:
    prefs = cc.read(io.StringIO(RUN), where="rank <= 2 AND instance = 'q1'")
    assert (prefs.n_ballots, len(prefs.item), prefs.items.labels) == (2, 3, ["d1", "d2"])
    assert note_of(prefs).startswith("left out 2 of 5 ranked items that do not meet the condition")
    assert len(cc.read(io.StringIO(RUN), where="score >= 8").item) == 2
    assert len(cc.read(io.StringIO(RUN), where="rating >= 8").item) == 2
    with pytest.raises(cc.InputError, match="The columns are agent, instance, item, rank, rating, score"):
        cc.read(io.StringIO(RUN), where="topic = 'q1'")
    with pytest.raises(cc.InputError, match="none of the 5 rows meets"):
        cc.read(io.StringIO(RUN), where="rank > 9")


def test_a_condition_on_an_election_leaves_out_candidates() -> None:
    whole = cc.read(EXAMPLES / "election.soc")
    first = whole.items.labels[0]
    prefs = cc.read(EXAMPLES / "election.soc", where=f"item <> '{first}'")
    assert prefs.items.labels == whole.items.labels[1:]
    assert cc.read(EXAMPLES / "election.soc", where="rank = 1").n_ballots == whole.n_ballots
    heavy = cc.read(EXAMPLES / "election.soc", where=f"weight >= {whole.weight.max()}")
    assert set(heavy.weight) == {whole.weight.max()}


def test_a_condition_on_judgements_and_features() -> None:
    qrels = "1 0 d1 2\n1 0 d2 0\n2 0 d1 1\n"
    labels = cc.read_labels(io.StringIO(qrels), where="label > 0 AND instance = '1'")
    assert labels.items.labels == ["d1"]
    table = "topic,item,label,judge\n1,a,2,x\n1,b,0,y\n"
    assert len(cc.read_labels(io.StringIO(table), where="judge = 'x'")) == 1
    letor = "2 qid:1 1:0.5 2:1 #docid = a\n0 qid:1 1:0.2\n1 qid:2 1:3\n"
    features = cc.read_features(io.StringIO(letor), where='"1" > 0.3')
    assert features.y.tolist() == [2, 1]
    assert features.query.tolist() == [0, 1]
    assert cc.read_features(io.StringIO(letor), where="query = 2").query.tolist() == [0]
    with pytest.raises(cc.InputError, match="none of the 3 rows meets"):
        cc.read_labels(io.StringIO(qrels), where="label > 7")
