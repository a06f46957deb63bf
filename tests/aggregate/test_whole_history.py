"""Whole-history and windowed Bradley-Terry: what they become in the limit, what they say of time, what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

import concordant as cc
from concordant import simulate


def by_item(ranking):
    return dict(zip(ranking.items, ranking.scores.tolist(), strict=True))


def ends(ranking):
    return dict(zip(ranking.items, zip(ranking.low.tolist(), ranking.high.tolist(), strict=True), strict=True))


@pytest.fixture(scope="module")
def games():
    return simulate.drifting(8, 600, drift=0.5, moments=40, seed=2)


@pytest.fixture(scope="module")
def turn():
    """In the first year a beats b, in the third b beats a; c keeps losing to both, and stops playing early."""
    rows = [("a", "b", f"2020-0{k}-01") for k in range(1, 7)] + [("a", "c", "2020-03-01"), ("b", "c", "2020-04-01")]
    rows += [("b", "a", f"2022-0{k}-01") for k in range(1, 7)]
    winner, loser, day = (list(column) for column in zip(*rows, strict=True))
    return cc.Preferences.from_pairs(winner, loser, time=day)


# ---- limits ----
def test_without_drift_it_is_bradley_terry(games):
    still = cc.rank(games, "whole-history", drift=0, prior=0.7)
    plain = cc.rank(games, "bradley-terry", prior=0.7)
    assert by_item(still) == pytest.approx(by_item(plain), abs=1e-6)
    for item, (low, high) in ends(plain).items():
        assert ends(still)[item] == pytest.approx((low, high), abs=1e-5)


def test_a_tiny_drift_is_hardly_any(games):
    still = cc.rank(games, "whole-history", drift=1e-3, prior=0.7)
    assert by_item(still) == pytest.approx(by_item(cc.rank(games, "bradley-terry", prior=0.7)), abs=1e-3)


def test_a_huge_drift_fits_every_period_on_its_own():
    prefs = simulate.drifting(4, 400, drift=1.0, moments=2, seed=1)
    last = prefs.take(prefs.time == prefs.time.max())
    free, alone = by_item(cc.rank(prefs, "whole-history", drift=1e3)), by_item(cc.rank(last, "bradley-terry", prior=0))
    for item, score in alone.items():
        assert free[item] - free["item 1"] == pytest.approx(score - alone["item 1"], abs=1e-3)


def test_equal_ballots_count_like_one_with_their_weight(turn):
    twice = cc.Preferences.from_pairs(["a", "a"], ["b", "b"], time=[1, 1])
    heavy = cc.Preferences.from_pairs(["a"], ["b"], time=[1], weight=[2])
    assert by_item(cc.rank(twice, "whr")) == pytest.approx(by_item(cc.rank(heavy, "whr")))


def test_a_tie_is_half_a_win_each_way():
    tied = cc.Preferences.from_pairs(["a", "b"], ["b", "c"], tie=[True, False], time=[1, 2])
    half = cc.Preferences.from_pairs(["a", "b", "b"], ["b", "a", "c"], weight=[0.5, 0.5, 1.0], time=[1, 1, 2])
    assert by_item(cc.rank(tied, "whr", drift=0.3)) == pytest.approx(by_item(cc.rank(half, "whr", drift=0.3)))


# ---- time ----
def test_the_score_follows_a_turn_and_the_history_shows_it(turn):
    ranking = cc.rank(turn, "whole-history", drift=1.0)
    assert ranking.items[0] == "b"
    history = ranking.history.columns()
    at = {(day, item): k for k, (day, item) in enumerate(zip(history["time"], history["item"], strict=True))}
    early = history["score"][at["2020-03-01", "a"]] - history["score"][at["2020-03-01", "b"]]
    late = history["score"][at["2022-06-01", "a"]] - history["score"][at["2022-06-01", "b"]]
    assert early > 0.5 > -0.5 > late
    assert (np.array(history["low"]) < history["score"]).all()
    assert history["time"] == sorted(history["time"])
    assert history["score"][at["2022-06-01", "b"]] == pytest.approx(by_item(ranking)["b"])


def test_whoever_stops_playing_keeps_a_score_that_gets_less_sure(turn):
    ranking = cc.rank(turn, "whole-history", drift=0.5, all_items=True)
    model = ranking.model
    then, error = model.score_at("c", "2020-04-01")
    assert by_item(ranking)["c"] == pytest.approx(then)
    years = (np.datetime64("2022-06-01") - np.datetime64("2020-04-01")).astype(int) / 365.25
    assert model.score_at("c", "2022-06-01")[1] ** 2 == pytest.approx(error**2 + 0.5**2 * years, rel=1e-6)
    assert np.ptp(ends(ranking)["c"]) > np.ptp(ends(ranking)["a"])
    assert model.score_at("c", "2030-01-01")[1] > model.score_at("c", "2023-01-01")[1]
    assert model.score_at("c", "2010-01-01")[1] > error


def test_between_two_games_the_score_is_what_a_game_without_weight_would_find(turn):
    settled = {"drift": 0.5, "prior": 1.0}
    days = ["2020-03-15", "2021-06-01", "2022-05-20", "2022-05-21"]
    plain = cc.rank(turn, "whole-history", **settled).model
    pairs = turn.item.reshape(-1, 2)
    winner, loser = (turn.items.take(pairs[:, side]) for side in (0, 1))
    then = (np.datetime64("1970-01-01") + turn.time.astype(int)).tolist()
    light = cc.Preferences.from_pairs(
        [*winner, *("a" for _ in days)],
        [*loser, *("b" for _ in days)],
        time=[*(str(day) for day in then), *days],
        weight=[1.0] * len(turn) + [1e-9] * len(days),
    )
    asked = cc.rank(light, "whole-history", **settled).model
    for day in days:
        assert plain.score_at("a", day) == pytest.approx(asked.score_at("a", day), abs=1e-5)


def test_the_chance_of_a_win_depends_on_the_moment(turn):
    model = cc.rank(turn, "whole-history", drift=1.0).model
    assert model.p_beats("a", "b", time="2020-03-01") > 0.6 > 0.4 > model.p_beats("a", "b")
    assert model.p_beats("a", "b") == pytest.approx(model.p_beats("a", "b", time="2022-06-01"))
    assert model.p_beats("a", "b") + model.p_beats("b", "a") == pytest.approx(1)
    assert model.p_beats("b", "a") > model.p_beats("b", "a", time="2040-01-01") > 0.5  # ever less sure
    lead, error = model.difference("b", "a")
    assert lead == pytest.approx(model.score_at("b", "2022-06-01")[0] - model.score_at("a", "2022-06-01")[0])
    assert 0 < error < 3


def test_the_likelihood_of_other_results_is_that_of_their_times(turn):
    model = cc.rank(turn, "whole-history", drift=1.0).model
    other = cc.Preferences.from_pairs(["a", "b"], ["b", "a"], time=["2020-03-01", "2023-01-01"], tie=[False, True])
    up = model.p_beats("a", "b", time="2020-03-01")
    even = model.p_beats("a", "b", time="2023-01-01")
    wanted = np.log(up) + (np.log(even) + np.log(1 - even)) / 2
    assert model.log_likelihood(other) == pytest.approx(wanted)
    with pytest.raises(cc.InputError, match="times of this model are dates"):
        model.log_likelihood(cc.Preferences.from_pairs(["a"], ["b"], time=[3]))
    with pytest.raises(cc.InputError, match="not a valid time"):
        model.p_beats("a", "b", time="someday")


def drawn_chance(courses, one, other, time, n=200_000):
    """The chance of a win at an exact time of two nodes or after them, by Monte Carlo on the dense posterior."""
    walk = courses.walk
    nodes = [int(np.flatnonzero((walk.nodes.slot == slot) & (walk.nodes.time <= time))[-1]) for slot in (one, other)]
    joint = walk.covariance()[np.ix_(nodes, nodes)]
    joint = joint + walk.drift**2 * np.diag(time - walk.nodes.time[nodes])
    drawn = np.random.default_rng(0).multivariate_normal(walk.score[nodes], joint, n)
    return float((1 / (1 + np.exp(drawn[:, 1] - drawn[:, 0]))).mean())


@pytest.fixture(scope="module")
def leagues():
    """Two leagues that never meet; a wins 900 of 1,000 games against b, c as many against d."""
    winner, loser = ["a"] * 900 + ["b"] * 100 + ["c"] * 900 + ["d"] * 100, ["b"] * 900 + ["a"] * 100
    return cc.Preferences.from_pairs(winner, [*loser, *["d"] * 900, *["c"] * 100], time=[1.0] * 2_000)


def test_items_that_met_often_are_known_relative_to_each_other_however_vague_the_rest(leagues):
    for prior in (0.01, 1.0, "auto"):
        model = cc.rank(leagues, "whole-history", drift=0.1, prior=prior).model
        assert model.p_beats("a", "b") == pytest.approx(0.9, abs=0.002)
        assert model.p_beats("a", "b") == pytest.approx(drawn_chance(model.courses, 0, 1, 1.0), abs=0.001)
        assert model.p_beats("a", "c") == pytest.approx(0.5)
        assert model.matrix()[2, 3] == pytest.approx(model.p_beats("c", "d"))


def test_the_chance_of_a_win_is_that_of_draws_from_the_joint_posterior(turn):
    model = cc.rank(turn, "whole-history", drift=0.8, prior=0.2).model
    courses = model.courses
    for one, other in ((0, 1), (1, 2), (0, 2)):
        found = model.p_beats("abc"[one], "abc"[other])
        assert found == pytest.approx(drawn_chance(courses, one, other, float(courses.end[0])), abs=0.015)
        lead, error = model.difference("abc"[one], "abc"[other])
        assert found == pytest.approx(1 / (1 + np.exp(-lead / np.sqrt(1 + np.pi / 8 * error**2))))


def test_many_nodes_give_the_same_chances_as_few(games, monkeypatch):
    from concordant.models.time import courses

    def chances():
        model = cc.rank(games, "whole-history", drift=0.5, prior=0.05).model
        return model.matrix(), model.p_beats("item 1", "item 2", time=3.21), model.difference("item 1", "item 5")

    exact = chances()
    monkeypatch.setattr(courses, "LARGEST_DENSE", 0)  # one solution per moment of an item
    for found, wanted in zip(chances(), exact, strict=True):
        assert np.asarray(found) == pytest.approx(np.asarray(wanted), abs=1e-6)
    monkeypatch.setattr(courses, "MIN_SOLVED", 0)  # draws
    monkeypatch.setattr(courses, "SOLVED", 0)
    assert chances()[0] == pytest.approx(exact[0], abs=0.05)


def test_the_intervals_of_a_ranking_are_those_given_the_mean_of_all(turn):
    ranking = cc.rank(turn, "whole-history", drift=0.5, prior=1.0, all_items=True)
    courses = ranking.model.courses
    walk, last = courses.walk, np.flatnonzero(courses.walk.nodes.is_last)
    whole = walk.covariance()[np.ix_(last, last)] + np.diag(0.25 * (courses.end - walk.nodes.time[last]))
    mean = np.full(3, 1 / 3)
    given = whole - np.outer(whole @ mean, whole @ mean) / (mean @ whole @ mean)
    found = dict(zip(ranking.items, ranking.detail("stderr"), strict=True))
    assert [found[item] for item in "abc"] == pytest.approx(np.sqrt(np.diag(given)), rel=1e-5)


# ---- which score is ranked ----
def test_the_peak_is_the_highest_score_of_the_history(turn):
    ranking = cc.rank(turn, "whole-history", drift=1.0, score="peak")
    history = ranking.history
    best = {"abc"[k]: max(history.score[history.item == k]) for k in range(3)}
    assert by_item(ranking) == pytest.approx(best)
    assert (ranking.low < ranking.scores).all()


def test_the_lower_end_sinks_with_time_not_played():
    rows = [("old", "x", 1), ("old", "y", 1), ("new", "x", 50), ("new", "y", 50), ("x", "y", 50), ("y", "x", 1)]
    winner, loser, when = (list(column) for column in zip(*rows, strict=True))
    prefs = cc.Preferences.from_pairs(winner, loser, time=when)
    ranking = cc.rank(prefs, "whole-history", drift=0.5, prior=1, score="low")
    assert ranking.items.index("new") < ranking.items.index("old")
    assert ranking.scores == pytest.approx(ranking.low)


def test_since_leaves_out_who_no_longer_plays_but_not_what_they_did(turn):
    everybody, some = (cc.rank(turn, "whole-history", drift=1.0, **more) for more in ({}, {"since": "2022-01-01"}))
    assert sorted(some.items) == ["a", "b"]
    assert by_item(some)["a"] == pytest.approx(by_item(everybody)["a"])
    assert ends(some)["b"] == pytest.approx(ends(everybody)["b"])
    assert some.model.p_beats("a", "c") == pytest.approx(everybody.model.p_beats("a", "c"))
    for since in ("soon", "3"):
        with pytest.raises(cc.ParameterError, match="not a valid time"):
            cc.rank(turn, "whole-history", since=since)
    with pytest.raises(cc.InputError, match="No item has a result on or after"):
        cc.rank(turn, "whole-history", since="2030-01-01")


def test_since_ranks_several_instances_each_among_those_left():
    prefs = cc.Preferences.from_pairs(list("abab"), list("bcba"), time=[1, 1, 9, 9], instance=list("ppqq"))
    ranking = cc.rank(prefs, "whole-history", since="5")
    assert [sorted(one.items) for one in ranking] == [["a", "b"]]


def test_the_first_who_no_longer_play_are_named():
    rows = [("old", "x", 1), ("old", "y", 1), ("x", "y", 40), ("y", "x", 41)]
    winner, loser, when = (list(column) for column in zip(*rows, strict=True))
    ranking = cc.rank(cc.Preferences.from_pairs(winner, loser, time=when), "whole-history", drift=0.5)
    notice = next(one for one in ranking.warnings if one.name == "no-longer-playing")
    assert notice.items == ("old",)


# ---- periods and instances ----
@pytest.mark.parametrize("period", ["day", "week", "month", "quarter", "year", 30])
def test_periods_of_any_length_give_about_the_same(turn, period):
    ranking = cc.rank(turn, "whole-history", drift=0.5, prior=1, period=period)
    assert by_item(ranking) == pytest.approx(by_item(cc.rank(turn, "whr", drift=0.5, prior=1)), abs=0.25)


def test_too_many_nodes_make_longer_periods(games, monkeypatch):
    from concordant.models.time import courses

    fine = cc.rank(games, "whole-history", drift=0.5).fit["nodes"]
    monkeypatch.setattr(courses, "MAX_NODES", 100)
    assert 8 <= cc.rank(games, "whole-history", drift=0.5).fit["nodes"] <= 100 < fine


def test_names_of_the_calendar_need_dates(games):
    with pytest.raises(cc.InputError, match="not dates"):
        cc.rank(games, "whole-history", period="month")


def test_every_instance_is_fitted_on_its_own_with_one_drift():
    one, other = simulate.drifting(5, 200, seed=1), simulate.drifting(5, 200, seed=2)
    winner, loser, when = [], [], []
    for part in (one, other):
        pairs = part.item.reshape(-1, 2)
        winner += part.items.take(pairs[:, 0])
        loser += part.items.take(pairs[:, 1])
        when += part.time.tolist()
    both = cc.Preferences.from_pairs(winner, loser, time=when, instance=["p"] * 200 + ["q"] * 200)
    together = cc.rank(both, "whole-history")
    settled = {name: together.fit[name] for name in ("drift", "prior")}
    assert by_item(together["q"]) == pytest.approx(by_item(cc.rank(other, "whole-history", **settled)), abs=1e-6)
    assert len(together.history) == len(together.history.instance)


def test_items_never_compared_stand_in_the_middle():
    prefs = cc.Preferences.from_pairs(["a", "b"], ["b", "a"], time=[1, 2])
    prefs = cc.Preferences(["a", "b", "c"], prefs.indptr, prefs.item, prefs.tier, time=prefs.time, slot_ptr=[0, 3],
                           slot_item=[0, 1, 2])  # fmt: skip
    ranking = cc.rank(prefs, "whole-history", prior=1, drift=0.1)
    assert by_item(ranking)["c"] == 0
    assert np.isfinite(ranking.low).all()
    assert "never-compared" in {notice.name for notice in ranking.warnings}
    nothing = prefs.take([])
    assert cc.rank(nothing, "whole-history").scores.tolist() == [0.0, 0.0, 0.0]


def test_ballots_without_times_are_refused():
    for method in ("whole-history", "windowed-bradley-terry"):
        with pytest.raises(cc.NeedError, match="give the times with time="):
            cc.rank(cc.Preferences.from_pairs(["a"], ["b"]), method)


# ---- forecasts ----
def log_loss(chance):
    return -np.log(chance[~np.isnan(chance)]).mean()


def test_forecasts_know_nothing_of_what_comes_later(games):
    method = cc.WholeHistory(drift=0.5, prior=1)
    whole = method.forecasts(games, 5.0)
    half = games.take(games.time <= 7.5)
    assert method.forecasts(half, 5.0, every=0.25) == pytest.approx(
        method.forecasts(games, 5.0, every=0.25)[: len(half)], nan_ok=True
    )
    assert np.isnan(whole[games.time < 5.0]).all()
    assert not np.isnan(whole[games.time >= 5.0]).any()


def test_the_first_forecast_is_that_of_a_fit_to_the_past(games):
    method = cc.WholeHistory(drift=0.5, prior=1)
    past, first = games.take(games.time < 5.0), int(np.searchsorted(games.time, 5.0))
    winner, loser = games.items.take(games.item[2 * first : 2 * first + 2])
    wanted = method.rank(past).model.p_beats(winner, loser, time=float(games.time[first]))
    assert method.forecasts(games, 5.0)[first] == pytest.approx(wanted, abs=0.02)


def test_a_newcomer_has_no_forecast():
    prefs = cc.Preferences.from_pairs(["a", "b", "a", "c", "c"], ["b", "a", "b", "a", "b"], time=[1, 2, 3, 4, 5])
    found = cc.WholeHistory(drift=0.5, prior=1).forecasts(prefs, 3)
    assert np.isnan(found).tolist() == [True, True, False, True, False]


def test_forecasts_are_better_than_those_of_elo():
    prefs = simulate.drifting(40, 6_000, drift=0.7, moments=200, seed=4)
    chance = cc.WholeHistory().forecasts(prefs, 5.0)
    later = np.flatnonzero(prefs.time >= 5.0)
    for stake in (16.0, 32.0, 64.0):
        value = [cc.rank(prefs.take(slice(0, k)), "elo", stake=stake).fit["log_likelihood"]
                 for k in (int(later[0]), len(prefs))]  # fmt: skip
        assert log_loss(chance) < -(value[1] - value[0]) / len(later)


def test_strengths_cannot_be_chosen_without_a_past(games):
    with pytest.raises(cc.ParameterError, match="There are no comparisons before"):
        cc.WholeHistory().forecasts(games, -1.0)
    assert np.isnan(cc.WholeHistory().forecasts(games, 99.0)).all()


# ---- windows ----
def test_the_last_window_is_a_plain_fit_to_it(games):
    ranking = cc.rank(games, "windowed-bradley-terry", window=2.0, period=1.0, prior=0.5)
    alone = cc.rank(games.take(games.time > 8.0), "bradley-terry", prior=0.5)
    assert by_item(ranking) == pytest.approx(by_item(alone), abs=1e-6)
    assert ends(ranking)["item 1"] == pytest.approx(ends(alone)["item 1"], abs=1e-5)
    assert sorted(set(ranking.history.time.tolist())) == [float(k) for k in range(1, 11)]


def test_a_half_life_makes_old_results_count_less(games):
    ranking = cc.rank(games, "windowed-bradley-terry", window=100.0, period=1.0, half_life=2.0, prior=0.5)
    weight = 0.5 ** ((10 - np.ceil(games.time)) / 2.0)
    faded = cc.rank(games.replace(weight=weight), "bradley-terry", prior=0.5)
    assert by_item(ranking) == pytest.approx(by_item(faded), abs=1e-6)


def test_who_is_not_in_the_last_window_keeps_an_older_score(turn):
    ranking = cc.rank(turn, "windowed", window="year", period="year", prior=1.0, all_items=True)
    alone = cc.rank(turn.take(turn.time < turn.time[8]), "bradley-terry", prior=1.0)
    assert by_item(ranking)["c"] == pytest.approx(by_item(alone)["c"], abs=1e-6)
    assert next(one for one in ranking.warnings if one.name == "not-in-window").items == ("c",)
    with pytest.raises(cc.ParameterError, match="needs dates"):
        cc.rank(simulate.drifting(3, 5), "windowed", window="year")
    with pytest.raises(cc.ParameterError, match="window=0 is out of range"):
        cc.rank(turn, "windowed", window=0)
