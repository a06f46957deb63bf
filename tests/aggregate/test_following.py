"""Methods that follow items over time: histories end where the ranking stands, forecasts know the past only."""

from __future__ import annotations

import numpy as np
import pytest

import concordant as cc
from concordant import registry
from concordant.support.dates import shown_time

METHODS = ("elo", "trueskill", "glicko2")


@pytest.fixture
def games():
    rng = np.random.default_rng(1)
    winner = rng.integers(0, 6, 150)
    loser = (winner + rng.integers(1, 6, 150)) % 6
    names = np.array([f"p{k}" for k in range(6)])
    days = np.datetime64("2001-01-01") + np.sort(rng.integers(0, 900, 150))
    return cc.Preferences.from_pairs(names[winner], names[loser], tie=rng.random(150) < 0.1, time=days)


@pytest.mark.parametrize("method", METHODS)
def test_the_last_row_of_an_item_is_its_rating(games, method):
    ranking = cc.rank(games, method)
    history = ranking.history
    assert np.all(np.diff(history.time) >= 0)
    last = {history.items[code]: score for code, score in zip(history.item, history.score, strict=True)}
    assert last == pytest.approx(dict(zip(ranking.items, ranking.scores.tolist(), strict=True)), rel=1e-12)
    if method != "glicko2":  # whose intervals grow after the last game
        assert len(history) == 2 * games.n_ballots
        assert history.at("2010-01-01").scores.tolist() == pytest.approx(ranking.scores.tolist(), rel=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_the_history_before_a_day_is_that_of_the_games_before_it(games, method):
    period = {"period": "day"} if method == "glicko2" else {}
    whole = cc.rank(games, method, **period).history.at("2002-01-01")
    day = (np.datetime64("2002-01-01") - np.datetime64("1970-01-01")).astype(int)
    part = cc.rank(games.take(games.time <= day), method, **period)
    assert whole.items == part.items
    assert whole.scores == pytest.approx(part.scores, rel=1e-12)


def test_conservative_skills_have_their_history_too(games):
    ranking = cc.rank(games, "trueskill", score="conservative")
    history = ranking.history.at("2010-01-01")
    assert history.items == ranking.items
    assert history.low == pytest.approx(ranking.low, rel=1e-12)
    assert history.high == pytest.approx(ranking.high, rel=1e-12)


def test_a_ranking_without_its_history_does_not_ask_for_the_trail(games, monkeypatch):
    from concordant import kernels

    asked = []
    stream = kernels.elo_stream
    monkeypatch.setattr(kernels, "elo_stream", lambda *given: asked.append(given[-1]) or stream(*given))
    ranking = cc.rank(games, "elo")
    assert asked == [False]
    assert len(ranking.history) == len(ranking.history)
    assert asked == [False, True]


@pytest.mark.parametrize(
    ("method", "settings"), [("elo", {}), ("trueskill", {"drift": 0.0}), ("glicko2", {"period": "day"})]
)
def test_a_forecast_is_what_the_model_of_the_past_says(games, method, settings):
    """TrueSkill's next game adds a drift, which its model leaves out: here there is none."""
    chance = registry.make(method, **settings).forecasts(games, shown_time(games.time[60], True))
    assert np.isnan(chance[games.time < games.time[60]]).all()
    pairs = games.item.reshape(-1, 2)
    for b in (70, 100, 149):
        past = games.take(slice(0, b)) if method != "glicko2" else games.take(games.time < games.time[b])
        if method == "glicko2" and games.time[b] - past.time[-1] > 1:
            continue  # deviations grow on the days between
        model = cc.rank(past, method, **settings).model
        first, second = (games.items[code] for code in pairs[b])
        assert chance[b] == pytest.approx(model.p_beats(first, second), rel=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_what_happens_later_changes_no_forecast(games, method):
    made = registry.make(method)
    before = games.time[100]
    tier = games.tier.copy()
    later = np.repeat(games.time > before, 2)
    item = games.item.reshape(-1, 2).copy()
    item[games.time > before] = item[games.time > before][:, ::-1]  # all later games end the other way round
    turned = games.replace(item=item.reshape(-1), tier=np.where(later, np.tile([0, 1], games.n_ballots), tier))
    known = games.time <= before
    np.testing.assert_array_equal(made.forecasts(games)[known], made.forecasts(turned)[known])


@pytest.mark.parametrize("method", METHODS)
def test_newcomers_and_long_ballots_are_not_forecast(method):
    prefs = cc.Preferences.from_rankings([["a", "b"], ["a", "b", "c"], ["c", "a"], ["d", "a"], ["a", "d"]])
    assert np.isnan(registry.make(method).forecasts(prefs)).tolist() == [True, True, False, True, False]


def test_since_is_a_moment_of_the_games(games):
    with pytest.raises(cc.InputError, match="a date like"):
        registry.make("elo").forecasts(games, "soon")
    with pytest.raises(cc.InputError, match="give a number"):
        registry.make("elo").forecasts(games.replace(time=None, is_dated=False), "2001-01-01")


def test_the_home_advantage_is_part_of_the_forecast():
    prefs = cc.Preferences.from_pairs(["a", "a", "b"], ["b", "b", "a"], winner_first=[True, True, False])
    chance = registry.make("elo", stake=0.0, advantage=400.0).forecasts(prefs)
    assert chance[1:] == pytest.approx([10 / 11, 1 / 11])


@pytest.mark.parametrize("method", METHODS)
def test_ballots_that_are_not_in_order_are_refused(games, method):
    with pytest.raises(cc.InputError, match="older than the ballot before"):
        cc.rank(games.replace(time=games.time[::-1]), method)


@pytest.mark.parametrize("method", METHODS)
def test_a_history_knows_instances_apart(games, method):
    names = games.items.take(games.item)
    both = cc.Preferences.from_pairs(
        names[::2], names[1::2], time=games.time, instance=["x" if k % 3 else "y" for k in range(games.n_ballots)]
    )
    ranking = cc.rank(both, method)
    for instance in "xy":
        alone = ranking[instance]
        last = alone.history.at(1e6)
        assert last.items == alone.items
        assert last.scores == pytest.approx(alone.scores, rel=1e-12)
