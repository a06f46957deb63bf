"""The tennis experiment: on leagues of our own making, and its figures where the public data are."""

from __future__ import annotations

import json

import numpy as np
import pytest

import concordant as cc
from concordant.experiments import tennis

GRIDS = {
    "elo": {"stake": (1.0, 24.0)},
    "trueskill": {"draw": (0.0,), "drift": (0.2,)},
    "glicko2": {"period": ("month",)},
    "bradley-terry": {"years": (1.0, 3.0), "prior": (1.0,)},
}
SPANS = (("2001-01-01", "2001-12-31"), ("2002-01-01", "2003-12-31"))


@pytest.fixture(scope="module")
def matches():
    """Four years of a league whose order turns round: the best become the worst."""
    rng = np.random.default_rng(5)
    n, players = 3000, 10
    day = np.sort(rng.integers(0, 4 * 365, n))
    one = rng.integers(0, players, n)
    other = (one + rng.integers(1, players, n)) % players
    angle = np.pi * day / day.max()
    first, second = np.linspace(2, -2, players), 2 * np.cos(np.arange(players))
    lead = np.cos(angle) * (first[one] - first[other]) + np.sin(angle) * (second[one] - second[other])
    wins = rng.random(n) < 1 / (1 + np.exp(-lead))
    names = np.array([f"player {k}" for k in range(players)])
    return cc.Preferences.from_pairs(
        names[np.where(wins, one, other)],
        names[np.where(wins, other, one)],
        time=np.datetime64("2000-01-01") + day,
        instance=rng.choice(["Clay", "Grass"], n),
    )


@pytest.fixture(scope="module")
def found(matches):
    return tennis.run_on(matches, GRIDS, *SPANS)


def test_all_surfaces_together_are_the_same_matches_in_the_same_order(matches):
    joined = tennis.together(matches)
    assert joined.n_instances == 1
    assert joined.items.take(joined.item) == matches.items.take(matches.item)
    assert joined.time.tolist() == matches.time.tolist()


def test_what_is_learnt_fast_enough_is_chosen(found):
    settings = {row["method"]: row["settings"] for row in found["rows"]}
    assert settings["elo"] == {"stake": 24.0}
    assert settings["bradley-terry"]["years"] == 1.0


def test_all_methods_are_compared_on_the_same_matches_and_beat_a_coin(matches, found):
    assert found["compared"] == found["tested"] == int((matches.time >= 11_688).sum())
    for row in found["rows"]:
        assert row["log-loss"] < np.log(2)
        assert row["brier"] < 0.25
        assert row["accuracy"] > 0.5
    assert {row["method"] for row in found["tests"]} == set(GRIDS) - {"elo"}
    mean = sum(row["elo"] * row["matches"] for row in found["by year"]) / found["compared"]
    assert mean == pytest.approx(found["rows"][0]["log-loss"])


def test_measures_are_those_of_the_definition():
    assert tennis.measures(np.array([0.8, 0.5, 0.25])) == pytest.approx(
        {"log-loss": -np.log(0.8 * 0.5 * 0.25) / 3, "brier": (0.04 + 0.25 + 0.5625) / 3, "accuracy": 0.5}
    )


def test_a_window_forgets_what_is_older_and_knows_nothing_of_the_month(matches):
    joined = tennis.together(matches)
    chance = tennis.windowed(joined, "2002-01-01", years=0.5, prior=1.0)
    begin = int(np.searchsorted(joined.time, 11_688.0))
    past = joined.take((joined.time >= joined.time[begin] - 0.5 * 365.25) & (np.arange(joined.n_ballots) < begin))
    model = cc.rank(past, "bradley-terry", prior=1.0).model
    winner, loser = (joined.items[code] for code in joined.item[2 * begin : 2 * begin + 2])
    assert chance[begin] == pytest.approx(model.p_beats(winner, loser), abs=1e-6)
    assert np.isnan(chance[:begin]).all()


def test_leaders_and_peaks_follow_the_turn(found):
    for of in found["leaders"].values():
        led = {row["year"]: row["item"] for row in of}
        assert led["2000"] != led["2003"]
        assert int(led["2003"].split()[1]) >= 7


def test_tables_page_and_pictures(found, tmp_path):
    titles = [table.title for table in tennis.tables(found)]
    assert len(titles) == 8
    assert titles[-1].startswith("Questions of this experiment")
    page = tennis.to_markdown(found)
    assert all(title in page for title in titles)
    assert "Notes" in page
    json.dumps(tennis.plain(found), allow_nan=False)
    pytest.importorskip("matplotlib", reason="plots are an extra")
    assert len(tennis.draw(found, tmp_path)) == 3


def test_methods_that_are_not_here_are_left_out():
    assert set(tennis.grids()) >= {"elo", "glicko2", "trueskill", "bradley-terry"}
    assert tennis.n_steps(True) < tennis.n_steps()


@pytest.mark.slow
def test_the_figures_on_the_tour(data_folder):
    if not (data_folder / "tennis-atp").is_dir():
        pytest.skip("tennis-atp is not here")
    found = tennis.run(data_folder, quick=True)
    loss = {row["method"]: row["log-loss"] for row in found["rows"]}
    assert loss["elo"] == pytest.approx(0.606, abs=0.002)
    assert loss["elo"] < loss["glicko2"] < loss["bradley-terry"] < 0.62
    led = {row["year"]: row["item"] for row in found["leaders"]["elo"]}
    assert (led["1980"], led["1988"], led["2006"], led["2015"]) == (
        "Bjorn Borg", "Ivan Lendl", "Roger Federer", "Novak Djokovic",
    )  # fmt: skip
