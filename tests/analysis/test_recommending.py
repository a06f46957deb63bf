"""Recommenders are trained on all ratings, after an evaluation on held-out ones."""

from __future__ import annotations

import io

import numpy as np
import pytest
from tests.conftest import ROOT

import concordant as cc
from concordant import saving
from concordant.analysis.recommending import train_recommender
from concordant.recommend import OrderedPartitionMF
from concordant.support import progress

pytestmark = pytest.mark.once


@pytest.fixture(scope="module")
def prefs() -> cc.Preferences:
    """The example ratings."""
    return cc.read(ROOT / "examples" / "ratings.csv")


def test_the_final_model_is_the_one_that_the_best_sweep_suggests(prefs: cc.Preferences) -> None:
    trained = train_recommender(prefs)
    assert trained.best is not None
    assert trained.best.quality == max(sweep.quality or 0.0 for sweep in trained.sweeps)
    expected = OrderedPartitionMF(sweeps=trained.best.number).fit(prefs)
    assert trained.model.recommend("u01").items == expected.recommend("u01").items
    assert trained.params == {"sweeps": trained.best.number}


def test_the_trained_recommender_comes_before_its_baselines(prefs: cc.Preferences) -> None:
    trained = train_recommender(prefs, "pmf", {"factors": 2}, metrics=["map"])
    assert [*trained.values] == ["pmf", "popular", "consensus-recommender"]
    assert {len(values["map"]) for values in trained.values.values()} == {60}
    assert trained.means["pmf"]["map"] == pytest.approx(np.nanmean(trained.values["pmf"]["map"]))


def test_nothing_is_held_out_if_that_is_wanted(prefs: cc.Preferences) -> None:
    trained = train_recommender(prefs, held_out=0.0)
    assert (trained.values, trained.best, trained.sweeps) == ({}, None, ())


def test_a_baseline_is_not_compared_with_itself(prefs: cc.Preferences) -> None:
    assert [*train_recommender(prefs, "popular").values] == ["popular", "consensus-recommender"]


def test_a_model_file_says_how_it_was_trained(prefs: cc.Preferences) -> None:
    trained, file = train_recommender(prefs), io.BytesIO()
    saving.save(trained.model, file, about=trained.about())
    about = saving.read_about(io.BytesIO(file.getvalue()))
    assert about["agents"] == 60
    assert {*about["metrics"]} == {*trained.values}


def test_sweeps_are_told(prefs: cc.Preferences) -> None:
    heard: list[progress.Progress] = []
    with progress.listen(heard.append):
        train_recommender(prefs)
    assert any("sweep 2, objective" in one.text for one in heard)
    assert max(one.done for one in heard if one.total == 2) > 1, "two trainings: without and with the held-out part"
