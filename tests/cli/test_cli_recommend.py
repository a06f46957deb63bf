"""``concordant recommend``: from ratings to a model to lists for agents and newcomers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.conftest import ROOT, Run

import concordant as cc
from concordant.recommend import BPR, OrderedPartitionMF

RATINGS = ROOT / "examples" / "ratings.csv"


@pytest.fixture
def model(run: Run, tmp_path: Path) -> Path:
    """A model trained on the example ratings."""
    path = tmp_path / "model.zip"
    code, _, err = run("recommend", "train", RATINGS, "--validation", "0", "-o", path)
    assert code == 0, err
    return path


def test_training_shows_the_model_beside_lists_for_everybody(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "model.zip"
    code, out, err = run("recommend", "train", RATINGS, "--metrics", "ndcg@5,err", "-o", path)
    assert code == 0, err
    lines = [line.split() for line in out.splitlines()]
    assert lines[0] == ["held-out", "ratings", "ndcg@5:exponential", "err"]
    assert [line[0] for line in lines[1:]] == ["ordered-partition-mf", "popular", "consensus-recommender"]
    assert float(lines[1][1]) > float(lines[2][1])
    assert ": 60 agents and 12 items, after" in err
    assert f"wrote {path}" in err
    assert isinstance(cc.load(path), OrderedPartitionMF)


def test_the_model_is_trained_on_all_ratings_with_the_sweeps_that_validation_chose(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "model.zip"
    code, out, err = run("recommend", "train", RATINGS, "--json", "-o", path)
    assert code == 0, err
    said = json.loads(out)
    best = max(said["sweeps"], key=lambda sweep: sweep["quality"])["number"]
    assert said["params"]["sweeps"] == best
    expected = OrderedPartitionMF(sweeps=best).fit(cc.read(str(RATINGS))).recommend("u01", 3)
    assert cc.load(path).recommend("u01", 3).items == expected.items


def test_other_recommenders_have_their_own_options(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "model.zip"
    how = ("--method", "bpr", "--contrast", "rated", "--passes", "3", "--factors", "2", "--validation", "0")
    code, _, err = run("recommend", "train", RATINGS, *how, "-o", path)
    assert code == 0, err
    fitted = cc.load(path)
    assert isinstance(fitted, BPR)
    assert (fitted.contrast, fitted.passes, fitted.factors) == ("rated", 3, 2)
    code, out, _ = run("recommend", "train", "--method", "consensus", "--help")
    assert code == 0
    assert "--aggregator" in out


def test_lists_are_those_of_the_model(run: Run, model: Path) -> None:
    fitted = cc.load(model)
    code, out, err = run("recommend", "for", model, "u01", "u02", "-n", "3", "--json")
    assert code == 0, err
    lists = json.loads(out)
    assert list(lists) == ["u01", "u02"]
    assert [row["item"] for row in lists["u02"]] == fitted.recommend("u02", 3).items
    code, out, _ = run("recommend", "for", model, "--all", "-n", "1", "--csv")
    assert code == 0
    assert out.splitlines()[0] == "agent,rank,item,score"
    assert len(out.splitlines()) == 1 + len(fitted.agents)
    code, out, _ = run("recommend", "for", model, "u01", "--seen", "-n", "12")
    assert len(out.splitlines()) == 2 + 12


def test_newcomers_are_folded_in_with_and_without_names(run: Run, model: Path, tmp_path: Path) -> None:
    one = tmp_path / "one.csv"
    one.write_text("item,rating\nPaper Boats,5\nSalt and Thunder,2\n")
    code, out, err = run("recommend", "for", model, "--ratings", one, "-n", "2", "--json")
    assert code == 0, err
    expected = cc.load(model).fold_in({"Paper Boats": 5, "Salt and Thunder": 2}).recommend(n=2).items
    assert [row["item"] for row in json.loads(out)] == expected
    two = tmp_path / "two.csv"
    two.write_text("user,item,rating\nx,Paper Boats,5\nx,Salt and Thunder,2\ny,Copper Moon,1\ny,Paper Boats,2\n")
    code, out, err = run("recommend", "for", model, "--ratings", two, "-n", "2", "--json")
    assert code == 0, err
    lists = json.loads(out)
    assert [row["item"] for row in lists["x"]] == expected
    assert list(lists) == ["x", "y"]


def test_items_like_another_are_listed(run: Run, model: Path) -> None:
    code, out, err = run("recommend", "for", model, "--like", "Paper Boats", "-n", "2")
    assert code == 0, err
    assert len(out.splitlines()) == 4
    assert "Paper Boats" not in out


def test_a_model_is_evaluated_on_ratings(run: Run, model: Path) -> None:
    code, out, err = run("recommend", "evaluate", model, RATINGS, "--metrics", "ndcg@5", "--json")
    assert code == 0, err
    said = json.loads(out)
    assert said["unknown_agents"] == 0
    assert said["metrics"]["ndcg@5"] == pytest.approx(cc.load(model).score(cc.read(str(RATINGS)), "ndcg@5"))
    code, out, err = run("recommend", "evaluate", model, RATINGS)
    assert out.splitlines()[0].split() == ["model", "ndcg@10:exponential", "ndcg@5:exponential", "err"]


def test_training_goes_on_from_a_model(run: Run, model: Path, tmp_path: Path) -> None:
    path = tmp_path / "again.zip"
    how = ("--validation", "0", "--sweeps", "1", "--resume", model)
    code, _, err = run("recommend", "train", RATINGS, *how, "-o", path)
    assert code == 0, err
    assert cc.load(path).score(cc.read(str(RATINGS))) > 0.9


def test_mistakes_get_one_sentence(run: Run, model: Path, tmp_path: Path) -> None:
    votes = ROOT / "examples" / "model-votes.csv"
    for arguments, said in (
        (("for", model), "Specify the users"),
        (("for", model, "u01", "--all"), "Specify the users"),
        (("for", model, "nobody"), "no agent 'nobody'"),
        (("for", model, "--like", "Nothing"), "no item 'Nothing'"),
        (("for", RATINGS, "u01"), "not a model file"),
        (("train", RATINGS, "--method", "oracle"), "no recommender 'oracle'"),
        (("train", votes, "--validation", "0"), "learns from ratings"),
        (("train", RATINGS, "-o", tmp_path / "no" / "model.zip"), "does not exist"),
    ):
        code, _, err = run("recommend", *arguments)
        assert code != 0
        assert said in err
        assert "Traceback" not in err
    method = tmp_path / "method.zip"
    cc.save(cc.Borda(), method)
    code, _, err = run("recommend", "for", method, "u01")
    assert code == 1
    assert "an aggregation method (borda): use it with `concordant rank --model`" in err


def test_recommenders_are_listed_and_explained(run: Run) -> None:
    code, out, _ = run("recommenders")
    assert code == 0
    assert {"pmf", "bpr", "popular"} <= {line.split()[0] for line in out.splitlines()[1:]}
    code, out, _ = run("recommenders", "pmf")
    assert "concordant recommend train --method pmf" in out
    assert "--ridge" in out
