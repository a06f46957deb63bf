"""Glicko-2: the paper's example, periods, silence, and a plain loop over items as an oracle."""

from __future__ import annotations

import math

import numpy as np
import pytest

import concordant as cc
from concordant.aggregate.pairwise.glicko2 import SCALE
from concordant.kernels.models import glicko


def rated(ranking, column="score"):
    values = ranking.scores if column == "score" else ranking.detail(column)
    return dict(zip(ranking.items, values.tolist(), strict=True))


def test_the_worked_example_of_the_paper():
    """Glickman 2013: 1500 (200) beats 1400 (30), loses to 1550 (100) and 1700 (300) in one period; tau 0.5.

    The paper rounds on the way and prints 1464.06, 151.52 and 0.05999.
    """
    state = glicko.State(
        (np.array([1500, 1400, 1550, 1700]) - 1500) / SCALE, np.array([200, 30, 100, 300]) / SCALE, np.full(4, 0.06)
    )
    games = glicko.Games(np.array([0, 2, 3]), np.array([1, 0, 0]), np.ones(3), np.ones(3))
    found = glicko.updated(state, games, 0.5)
    assert 1500 + SCALE * found.mean[0] == pytest.approx(1464.06, abs=0.02)
    assert SCALE * found.sd[0] == pytest.approx(151.52, abs=0.01)
    assert found.volatility[0] == pytest.approx(0.05999, abs=1e-5)


def plain_update(own, games, tau):
    """Return an item's (mean, sd, volatility) after games [(mean, sd, result)], as the paper's steps read."""
    mean, sd, volatility = own
    told = gain = 0.0
    for other, other_sd, result in games:
        g = 1 / math.sqrt(1 + 3 * other_sd**2 / math.pi**2)
        e = 1 / (1 + math.exp(-g * (mean - other)))
        told += g * g * e * (1 - e)
        gain += g * (result - e)
    delta = gain / told

    def f(x):
        power = math.exp(x)
        total = sd**2 + 1 / told + power
        return power * (delta**2 - total) / (2 * total**2) - (x - math.log(volatility**2)) / tau**2

    low, high = -60.0, 20.0  # f falls: bisect
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if f(middle) > 0 else (low, middle)
    new = math.exp(low / 2)
    after = 1 / (1 / (sd**2 + new**2) + told)
    return mean + after * gain, math.sqrt(after), new


def test_many_periods_are_the_steps_of_the_paper_one_by_one():
    rng = np.random.default_rng(3)
    n, tau = 120, 0.8
    winner = rng.integers(0, 5, n)
    loser = (winner + rng.integers(1, 5, n)) % 5
    tie = rng.random(n) < 0.2
    time = np.sort(rng.integers(1, 40, n))
    names = np.array(list("abcde"))
    prefs = cc.Preferences.from_pairs(names[winner], names[loser], tie=tie, time=time)
    found = cc.rank(prefs, "glicko2", tau=tau, volatility=0.2)
    state = dict.fromkeys(names, (0.0, 350 / SCALE, 0.2))
    seen = {}
    for now in range(1, 40):
        for name in seen:
            if name not in {*names[winner[time == now]], *names[loser[time == now]]}:
                mean, sd, volatility = state[name]
                state[name] = mean, min(math.sqrt(sd**2 + volatility**2), 350 / SCALE), volatility
        games = {name: [] for name in names}
        for k in np.flatnonzero(time == now):
            a, b, result = names[winner[k]], names[loser[k]], 0.5 if tie[k] else 1.0
            games[a].append((*state[b][:2], result))
            games[b].append((*state[a][:2], 1 - result))
        state |= {name: plain_update(state[name], games[name], tau) for name in names if games[name]}
        seen |= {name: now for name in names if games[name]}
    last = max(seen.values())
    assert last == time[-1]
    assert rated(found) == pytest.approx({name: 1500 + SCALE * own[0] for name, own in state.items()}, abs=1e-5)
    assert rated(found, "stderr") == pytest.approx({name: SCALE * own[1] for name, own in state.items()}, abs=1e-5)
    assert rated(found, "volatility") == pytest.approx({name: own[2] for name, own in state.items()}, abs=1e-7)


def test_who_does_not_play_is_known_less_and_never_less_than_a_newcomer():
    winner, loser, days = ["a", "a", "b", "b"], ["b", "c", "c", "c"], ["2020-01-05", "2020-01-06", "2020-02-01"]
    soon = cc.rank(cc.Preferences.from_pairs(winner[:3], loser[:3], time=days), "glicko2")
    more = cc.Preferences.from_pairs(winner, loser, time=[*days, "2030-01-01"])
    late = cc.rank(more, "glicko2", all_items=True)
    assert rated(soon, "stderr")["a"] < rated(late, "stderr")["a"] <= 350.0
    assert rated(soon)["a"] == rated(late)["a"]
    ages = cc.rank(more, "glicko2", all_items=True, volatility=5.0, tau=0.0)
    assert rated(ages, "stderr")["a"] == pytest.approx(350.0)


def test_games_of_one_period_count_alike_whatever_their_order():
    days = ["2024-03-01", "2024-03-10", "2024-03-31"]
    winner, loser = ["a", "b", "c"], ["b", "c", "a"]
    one = cc.rank(cc.Preferences.from_pairs(winner, loser, time=days), "glicko-2")
    other = cc.rank(cc.Preferences.from_pairs(winner[::-1], loser[::-1], time=days), "glicko-2")
    assert rated(one) == pytest.approx(rated(other))
    weekly = cc.rank(cc.Preferences.from_pairs(winner, loser, time=days), "glicko-2", period="week")
    assert rated(weekly) != pytest.approx(rated(one))
    assert weekly.fit["periods"] == 3


def test_a_weight_in_one_period_is_repetition():
    weighted = cc.Preferences.from_pairs(["a", "b"], ["b", "c"], weight=[3, 2], time=[1, 1])
    repeated = cc.Preferences.from_pairs(["a"] * 3 + ["b"] * 2, ["b"] * 3 + ["c"] * 2, time=[1] * 5)
    assert rated(cc.rank(weighted, "glicko2")) == pytest.approx(rated(cc.rank(repeated, "glicko2")))


def test_without_times_periods_are_ballots_and_each_instance_has_its_own():
    winner, loser = ["a", "b", "a", "c"] * 15, ["b", "c", "c", "a"] * 15
    prefs = cc.Preferences.from_pairs(winner, loser)
    assert cc.rank(prefs, "glicko2").fit["periods"] == 4  # ten games of three items are fifteen ballots
    assert cc.rank(prefs, "glicko2", period=20).fit["periods"] == 3
    assert cc.rank(prefs, "glicko2", period=20).history.time.tolist() == [20.0] * 3 + [40.0] * 3 + [60.0] * 3
    both = cc.Preferences.from_pairs(winner * 2, loser * 2, instance=["x"] * 60 + ["y"] * 60)
    found = cc.rank(both, "glicko2", period=20)
    for instance in "xy":
        assert rated(found[instance]) == rated(cc.rank(prefs, "glicko2", period=20))
    assert found["y"].history.time.tolist() == [80.0] * 3 + [100.0] * 3 + [120.0] * 3


def test_words_of_the_calendar_need_dates():
    prefs = cc.Preferences.from_pairs(["a"], ["b"])
    with pytest.raises(cc.InputError, match="not dates"):
        cc.rank(prefs, "glicko2", period="month")
    with pytest.raises(cc.ParameterError, match="period"):
        cc.rank(prefs, "glicko2", period="fortnight")


def test_the_chance_of_a_win_takes_both_deviations_into_account():
    prefs = cc.Preferences.from_pairs(["a"] * 3, ["b", "b", "c"], time=[1, 1, 1])
    ranking = cc.rank(prefs, "glicko2")
    score, sd = rated(ranking), rated(ranking, "stderr")
    g = 1 / math.sqrt(1 + 3 * ((sd["a"] ** 2 + sd["b"] ** 2) / SCALE**2) / math.pi**2)
    expected = 1 / (1 + math.exp(-g * (score["a"] - score["b"]) / SCALE))
    assert ranking.model.p_beats("a", "b") == pytest.approx(expected)
    assert ranking.model.p_beats("b", "a") == pytest.approx(1 - expected)
    assert ranking.model.difference("a", "b")[1] == pytest.approx(math.hypot(sd["a"], sd["b"]))


def test_hopeless_mismatches_stay_finite():
    winner = ["a"] * 400 + ["b"]
    loser = ["b"] * 400 + ["a"]
    prefs = cc.Preferences.from_pairs(winner, loser, time=np.arange(401))
    ranking = cc.rank(prefs, "glicko2", volatility=5.0)
    assert np.isfinite(ranking.scores).all()
    assert np.isfinite(ranking.detail("volatility")).all()
    assert np.isfinite(ranking.fit["log_likelihood"])
    untouched = cc.rank(cc.Preferences.from_rankings([["a"], ["b"]]), "glicko2")
    assert untouched.scores.tolist() == [1500.0, 1500.0]
    assert len(untouched.history) == 0


def test_long_ballots_are_all_their_pairs():
    ballot = cc.Preferences.from_rankings([["a", ["b", "c"], "d"]])
    pairs = cc.Preferences.from_pairs(list("aaabcb"), list("bcdddc"), tie=[False] * 5 + [True], time=[1] * 6)
    assert rated(cc.rank(ballot, "glicko2")) == pytest.approx(rated(cc.rank(pairs, "glicko2")))
