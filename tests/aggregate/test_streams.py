"""Elo and TrueSkill: known numbers, order of events, and rankings of any length."""

from __future__ import annotations

import numpy as np
import pytest

import concordant as cc


def ratings(ranking, column="score"):
    values = ranking.scores if column == "score" else ranking.detail(column)
    return dict(zip(ranking.items, values.tolist(), strict=True))


# ---- Elo ----
def test_equals_exchange_half_the_stake():
    found = ratings(cc.rank(cc.Preferences.from_pairs(["a"], ["b"]), "elo"))
    assert found == {"a": 1516.0, "b": 1484.0}


def test_an_upset_moves_more_than_an_expected_win():
    games = cc.Preferences.from_pairs(["a", "a", "b"], ["b", "b", "a"])
    first, second = (ratings(cc.rank(games.take(slice(0, k)), "elo"))["a"] for k in (1, 2))
    last = ratings(cc.rank(games, "elo"))["a"]
    assert second - first < first - 1500 < second - last


def test_a_draw_between_equals_changes_nothing():
    found = ratings(cc.rank(cc.Preferences.from_pairs(["a"], ["b"], tie=[True]), "elo"))
    assert found == {"a": 1500.0, "b": 1500.0}


def test_the_order_of_games_matters_and_merged_games_are_refused():
    games = cc.Preferences.from_pairs(["a", "b", "b"], ["b", "a", "c"])
    backwards = cc.Preferences.from_pairs(["b", "b", "a"], ["c", "a", "b"])
    assert ratings(cc.rank(games, "elo")) != ratings(cc.rank(backwards, "elo"))
    for method in ("elo", "trueskill"):
        with pytest.raises(cc.NeedError, match="order of events"):
            cc.rank(games.merge(), method)


def test_the_chance_of_a_win_is_ten_times_that_of_a_loss_at_one_scale():
    model = cc.rank(cc.Preferences.from_pairs(["a"], ["b"]), "elo", stake=400.0).model
    assert model.p_beats("a", "b") == pytest.approx(10 / 11)


def test_playing_at_home_is_worth_its_points():
    prefs = cc.Preferences(["a", "b"], [0, 2], [0, 1], [0, 1], shown=[0, 1])
    at_home = ratings(cc.rank(prefs, "elo", advantage=400.0))["a"] - 1500
    assert at_home == pytest.approx(32 / 11)


# ---- TrueSkill ----
def test_one_win_between_newcomers():
    """The example in the documentation of the trueskill package: 25 ± 8.333 becomes 29.396 and 20.604 ± 7.171."""
    ranking = cc.rank(cc.Preferences.from_pairs(["a"], ["b"]), "trueskill")
    assert ratings(ranking) == pytest.approx({"a": 29.396, "b": 20.604}, abs=1e-3)
    assert ratings(ranking, "stderr") == pytest.approx({"a": 7.171, "b": 7.171}, abs=1e-3)


def test_a_draw_teaches_without_moving_equals():
    ranking = cc.rank(cc.Preferences.from_pairs(["a"], ["b"], tie=[True]), "trueskill")
    assert ratings(ranking) == pytest.approx({"a": 25.0, "b": 25.0})
    assert ratings(ranking, "stderr")["a"] < 7.0


def test_beliefs_after_one_game_are_the_moments_of_the_posterior():
    """Brute force over a fine grid of skill and performance differences."""
    rng = np.random.default_rng(0)
    n = 2_000_000
    beta = sigma = 1.0
    skill = rng.normal(0, sigma, (n, 3))
    shown = skill + rng.normal(0, beta, (n, 3))
    kept = skill[(shown[:, 0] > shown[:, 1]) & (shown[:, 1] > shown[:, 2])]
    ranking = cc.rank(
        cc.Preferences.from_rankings([["a", "b", "c"]]),
        "trueskill",
        mean=0.0,
        sigma=sigma,
        beta=beta,
        drift=0.0,
        draw=0.0,
    )
    assert ranking.scores == pytest.approx(kept.mean(axis=0), abs=0.02)
    assert ranking.detail("stderr") == pytest.approx(kept.std(axis=0), abs=0.02)


def test_in_a_tie_neighbours_draw():
    tied = ratings(cc.rank(cc.Preferences.from_rankings([["a", ["b", "c"], "d"]]), "trueskill"))
    assert tied["a"] > tied["c"] > tied["b"] > tied["d"]  # a beats b, b draws with c, c beats d
    assert tied["c"] - 25 == pytest.approx(25 - tied["b"])


def test_those_left_open_are_beaten_and_do_not_meet():
    top = cc.Preferences(["a", "b", "c", "d"], [0, 4], [0, 1, 2, 3], [0, 1, 2, 2], open=[True])
    found = ratings(cc.rank(top, "trueskill"))
    assert found["a"] > found["b"] > found["c"] == pytest.approx(found["d"])
    unsaid = cc.Preferences(["a", "b", "c"], [0, 3], [0, 1, 2], [0, 0, 0], open=[True])
    assert set(ratings(cc.rank(unsaid, "trueskill")).values()) == {25.0}


def test_with_all_pairs_tied_items_of_a_ranking_are_treated_alike():
    ranking = cc.rank(cc.Preferences.from_rankings([["a", ["b", "c", "d"], "e"]]), "trueskill", ties="pairs")
    found = ratings(ranking)
    assert found["b"] == pytest.approx(found["c"]) == pytest.approx(found["d"])
    assert found["a"] > found["b"] > found["e"]


def test_a_conservative_score_punishes_the_unknown():
    prefs = cc.Preferences.from_rankings([["a", "b"]] * 20 + [["c", "b"]])
    assert cc.rank(prefs, "trueskill", score="conservative").items[0] == "a"


def test_skills_find_the_true_order():
    rng = np.random.default_rng(1)
    skill = np.arange(6.0)
    a = rng.integers(0, 6, 1500)
    b = (a + rng.integers(1, 6, 1500)) % 6
    wins = skill[a] + rng.normal(0, 1, 1500) > skill[b] + rng.normal(0, 1, 1500)
    games = cc.Preferences.from_pairs(np.where(wins, a, b), np.where(wins, b, a))
    assert cc.rank(games, "trueskill").items == ["5", "4", "3", "2", "1", "0"]
    chance = cc.rank(games, "trueskill").model
    assert chance.p_beats("5", "0") > 0.95
    assert chance.p_beats("5", "4") + chance.p_beats("4", "5") + chance.p_tie("4", "5") == pytest.approx(1)


def test_a_skill_model_is_asked_like_all_fitted_models() -> None:
    winner, loser = ["a", "b", "a", "c", "a", "c"], ["b", "c", "c", "b", "b", "a"]
    model = cc.rank(cc.Preferences.from_pairs(winner, loser), "trueskill").model
    lead, error = model.difference("a", "b")
    skill = dict(zip(model.items, model.score, strict=True))
    assert lead == pytest.approx(skill["a"] - skill["b"])
    assert error == pytest.approx(float(np.hypot(*model.sigma[:2])))
    assert model.matrix()[0, 1] == pytest.approx(model.p_beats("a", "b"))
    game = cc.Preferences.from_pairs(["a"], ["b"])
    assert model.log_likelihood(game) == pytest.approx(np.log(model.p_beats("a", "b")))
    drawn = model.sample(20_000, seed=1)
    met = [(x, y) for x, y in zip(drawn.item[::2], drawn.item[1::2], strict=True) if {x, y} == {0, 1}]
    is_tie = (drawn.tier[1::2] == 0)[[{x, y} == {0, 1} for x, y in zip(drawn.item[::2], drawn.item[1::2], strict=True)]]
    first_wins = np.array([x == 0 for x, _ in met]) & ~is_tie
    assert first_wins.mean() == pytest.approx(model.p_beats("a", "b"), abs=0.03)
    assert is_tie.mean() == pytest.approx(model.p_tie("a", "b"), abs=0.03)
    several = cc.Preferences.from_pairs(winner, loser, instance=["q"] * 3 + ["r"] * 3)
    with pytest.raises(cc.ConcordantError, match="several instances"):
        cc.rank(several, "trueskill").model.p_beats("a", "b")
    assert 0 < cc.rank(several, "trueskill").model.p_beats("a", "b", instance="q") < 1


# ---- teams ----
def test_players_who_always_play_together_stay_equal() -> None:
    together = cc.Preferences.from_teams([[["a", "b"], ["c", "d"]], [["c", "a", "b"], ["d"]], [["d"], ["a", "b"]]])
    found = ratings(cc.rank(together, "trueskill"))
    assert found["a"] == found["b"]


def test_teams_of_one_are_items() -> None:
    games = [["a", "b", "c"], ["c", "a"], ["b", "d"]]
    alone, plain = cc.Preferences.from_teams(games), cc.Preferences.from_rankings(games)
    for ties in ("chain", "pairs"):
        assert ratings(cc.rank(alone, "trueskill", ties=ties)) == pytest.approx(
            ratings(cc.rank(plain, "trueskill", ties=ties))
        )


def test_the_least_sure_member_moves_most() -> None:
    games = [["a", "b"], ["b", "a"]] * 10 + [[["a", "newcomer"], ["b", "c"]]]
    before = ratings(cc.rank(cc.Preferences.from_teams(games[:-1]), "trueskill")) | {"newcomer": 25.0}
    after = ratings(cc.rank(cc.Preferences.from_teams(games), "trueskill"))
    assert after["newcomer"] - before["newcomer"] > 5 * (after["a"] - before["a"]) > 0


def test_the_members_of_teams_are_found_in_their_true_order() -> None:
    rng, skill = np.random.default_rng(2), np.linspace(2, -2, 6)
    matches = []
    for _ in range(800):
        players = rng.permutation(6)
        teams = [players[:2], players[2:4], players[4:]]
        shown = [skill[team].sum() + rng.normal() for team in teams]
        matches.append([teams[k].tolist() for k in np.argsort(shown)[::-1]])
    assert cc.rank(cc.Preferences.from_teams(matches), "trueskill").items == ["0", "1", "2", "3", "4", "5"]


def test_methods_that_know_no_teams_refuse_them() -> None:
    prefs = cc.Preferences.from_teams([[["a", "b"], ["c", "d"]]])
    for method in ("borda", "elo", "schulze", "mpm"):
        with pytest.raises(cc.NeedError, match="does not support teams: use"):
            cc.rank(prefs, method)
    assert cc.rank(prefs.replace(team=None), "borda").tiers == [["a", "b"], ["c", "d"]]
    with pytest.raises(cc.InputError, match="use p_beats with two teams"):
        cc.rank(prefs, "trueskill").model.log_likelihood(prefs)
