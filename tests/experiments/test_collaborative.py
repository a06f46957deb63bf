"""Recommending films by the protocol of the ordered-partition paper, on ratings of our own making."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import concordant as cc
from concordant.experiments import _collaborative_models as models
from concordant.experiments import collaborative


@pytest.fixture(scope="module")
def movielens(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty users with two real tastes, who rate about a hundred of 240 films in half stars."""
    root = tmp_path_factory.mktemp("data")
    (root / "ml-1m").mkdir()
    rng = np.random.default_rng(0)
    taste, kind = rng.normal(size=(40, 2)), rng.normal(size=(2, 240))
    rating = np.clip(np.round((3.2 + taste @ kind + 0.4 * rng.normal(size=(40, 240))) * 2) / 2, 0.5, 5)
    lines = [f"{u + 1}::{i + 1}::{rating[u, i]:g}" for u in range(40) for i in range(240) if rng.random() < 0.9]
    (root / "ml-1m" / "ratings.dat").write_text("\n".join(lines) + "\n")
    return root


def test_the_half_of_least_entropy_and_users_with_few_ratings_are_left_out() -> None:
    rng = np.random.default_rng(1)
    user = np.repeat(np.arange(3), [100, 100, 30])
    item = np.concatenate([np.arange(100), np.arange(100), np.arange(30)])
    rating = np.where(item < 40, 4.0, rng.integers(1, 6, len(item)).astype(float))  # films 0 … 39: all agree
    prefs = cc.Preferences.from_ratings(user, item, rating)
    keep = collaborative.has_entropy(item, rating, 100)
    assert keep.sum() == 50
    assert not keep[:40].any()
    with pytest.raises(cc.InputError, match="No user has 60 ratings"):
        collaborative.filtered(prefs)


def test_ratings_are_rounded_half_up(movielens: Path) -> None:
    prefs = collaborative.filtered(cc.datasets.load("ml-1m", movielens))
    assert set(prefs.value) <= {1.0, 2.0, 3.0, 4.0, 5.0}
    assert prefs.n_items == 120
    assert np.bincount(prefs.agent, np.diff(prefs.indptr)).min() >= 60


def test_fifty_ratings_of_every_user_train_and_the_others_test(movielens: Path) -> None:
    prefs = collaborative.filtered(cc.datasets.load("ml-1m", movielens))
    parts = collaborative._parts(prefs, 0)
    sizes = {name: np.diff(part.indptr) for name, part in parts.items()}
    assert (sizes["whole"] == 50).all()
    assert (sizes["train"] == 40).all()
    assert (sizes["valid"] == 10).all()
    assert (sizes["test"] + 50 == np.diff(prefs.indptr)).all()
    pairs = {name: set(zip(np.repeat(p.agent, np.diff(p.indptr)), p.item, strict=True)) for name, p in parts.items()}
    assert not pairs["train"] & pairs["valid"]
    assert pairs["train"] | pairs["valid"] == pairs["whole"]
    assert not pairs["whole"] & pairs["test"]


def test_tables_come_out_and_ordered_partitions_fit_better(movielens: Path, tmp_path: Path) -> None:
    names = ["popular", "pmf-variational", "ordered-partition-mf"]
    result = collaborative.run(movielens, ["ml-1m"], names, seeds=2)
    found = result["ml-1m"]
    assert np.mean(found["means"]["ordered-partition-mf"]["ndcg@5"]) > np.mean(found["means"]["popular"]["ndcg@5"])
    assert found["tests"]["popular"]["ndcg@5"][1] < 0.01
    gaps = [one["partitions"] - one["plackett-luce"] for one in found["likelihood"].values()]
    assert (np.diff(gaps) > 0).all()
    assert gaps[0] > 0
    text = collaborative.to_markdown(result)
    assert "| ordered-partition-mf (variational) |" in text
    assert "published, MovieLens 10M" not in text
    assert Path(collaborative.draw(result, tmp_path)[0]).is_file()
    with pytest.raises(cc.InputError, match="no model 'x'"):
        collaborative.run(movielens, ["ml-1m"], ["x"])
    with pytest.raises(cc.InputError, match="no set 'ml-2m'"):
        collaborative.run(movielens, ["ml-2m"])


def test_published_figures_stand_below_the_published_model(movielens: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    method, tried = models.OURS["pmop"]
    assert method == "ordered-partition-mf"
    known = {"factors": 100, "beta": 0.01, "biases": False, "centred": False, "initial": "uniform"}
    assert all(known.items() <= settings.items() for settings in tried)  # only the ridge and the sweeps are chosen
    assert all(settings.keys() - known.keys() == {"ridge", "sweeps"} for settings in tried)
    monkeypatch.setitem(models.OURS, "pmop", (method, tried[::3]))
    result = collaborative.run(movielens, ["ml-1m"], ["pmop", "ordered-partition-mf"], seeds=1)
    (table,) = [one for one in collaborative.tables(result) if one.title.startswith("Table 3")]
    first, published, default = table.rows
    assert first[0] == "pmop (as published)"
    assert published == ["  published, MovieLens 10M", "0.684", "0.576", "0.602"]
    assert default[0] == "ordered-partition-mf (variational)"
    assert result["ml-1m"]["likelihood_of"] == "pmop"
    assert set(collaborative.PUBLISHED) <= set(models.OURS)


def test_settings_are_chosen_on_validation_ratings_only(movielens: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prefs = collaborative.filtered(cc.datasets.load("ml-1m", movielens))
    parts = collaborative._parts(prefs, 0)
    monkeypatch.setitem(models.OURS, "pmf", ("pmf", models.grid(factors=[2], ridge=[1e-3, 1e3])))
    chosen = models.run_ours("pmf", **parts).settings
    other = models.run_ours("pmf", **{**parts, "test": parts["valid"]}).settings
    assert chosen == other
    assert chosen["ridge"] == 1e-3  # the other one leaves nothing of the factors


@pytest.mark.data
def test_movielens_100k_prefers_personal_lists() -> None:
    root = Path(os.environ.get("CONCORDANT_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")
    if not (root / "ml-100k").is_dir():
        pytest.skip("the public data sets are not here: set CONCORDANT_DATA")
    found = collaborative.run(root, ["ml-100k"], ["popular", "ordered-partition-mf"], seeds=1)["ml-100k"]
    assert (found["agents"], found["items"]) == (369, 841)
    assert found["means"]["ordered-partition-mf"]["ndcg@5"][0] > 0.60
    assert found["tests"]["popular"]["ndcg@5"][1] < 0.01
