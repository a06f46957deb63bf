"""TrueSkill against the trueskill package: games of several players with ties."""

from __future__ import annotations

import numpy as np
import pytest

import concordant as cc

trueskill = pytest.importorskip("trueskill", reason="trueskill is not installed: it comes with the dev extra")


@pytest.mark.parametrize("draw", [0.1, 0.4])
def test_beliefs_are_the_same_after_games_with_ties(draw):
    rng = np.random.default_rng(0)
    names = [f"p{i}" for i in range(6)]
    for _ in range(100):
        env = trueskill.TrueSkill(draw_probability=draw)
        skill, games = {name: env.create_rating() for name in names}, []
        for _ in range(int(rng.integers(1, 8))):
            players = [names[i] for i in rng.permutation(6)[: rng.integers(2, 7)]]
            places = np.sort(rng.integers(0, len(players), len(players)))
            rated = env.rate([(skill[name],) for name in players], ranks=places.tolist(), min_delta=1e-10)
            skill.update({name: new for name, (new,) in zip(players, rated, strict=True)})
            games.append([[players[i] for i in np.flatnonzero(places == place)] for place in np.unique(places)])
        ranking = cc.rank(cc.Preferences.from_rankings(games, candidates=names), "trueskill", draw=draw)
        means, deviations = ([getattr(skill[item], what) for item in ranking.items] for what in ("mu", "sigma"))
        # the package ends after ten rounds of messages
        np.testing.assert_allclose(ranking.scores, means, atol=2e-4)
        np.testing.assert_allclose(ranking.detail("stderr"), deviations, atol=2e-4)


@pytest.mark.parametrize("sizes", [(2, 2), (1, 3), (2, 2, 2), (1, 2, 3), (1, 1, 2, 1)])
def test_beliefs_about_members_of_teams_are_the_same(sizes):
    rng = np.random.default_rng(sum(sizes))
    names = [f"p{i}" for i in range(8)]
    for _ in range(20):
        env = trueskill.TrueSkill(draw_probability=0.2)
        skill, matches, ranks = {name: env.create_rating() for name in names}, [], []
        for _ in range(6):
            players = iter(rng.permutation(names).tolist())
            teams = [[next(players) for _ in range(size)] for size in rng.permutation(sizes)]
            places = np.sort(rng.integers(0, len(teams), len(teams))).tolist()
            rated = env.rate([tuple(skill[name] for name in team) for team in teams], ranks=places, min_delta=1e-10)
            for team, after in zip(teams, rated, strict=True):
                skill.update(zip(team, after, strict=True))
            matches.append(teams)
            ranks.append(places)
        ranking = cc.rank(cc.Preferences.from_teams(matches, rank=ranks), "trueskill", draw=0.2)
        means, deviations = ([getattr(skill[item], what) for item in ranking.items] for what in ("mu", "sigma"))
        np.testing.assert_allclose(ranking.scores, means, atol=2e-4)
        np.testing.assert_allclose(ranking.detail("stderr"), deviations, atol=2e-4)


def test_the_chance_of_a_team_is_that_of_the_sum_of_performances():
    ranking = cc.rank(cc.Preferences.from_teams([[["a", "b"], ["c", "d"]], [["a", "c"], ["b"]]]), "trueskill")
    env = trueskill.TrueSkill()
    mean, sigma = (dict(zip(ranking.items, of, strict=True)) for of in (ranking.scores, ranking.detail("stderr")))
    lead = mean["a"] + mean["d"] - mean["b"]
    spread = np.sqrt(sum(sigma[name] ** 2 + env.beta**2 for name in "adb"))
    margin = trueskill.calc_draw_margin(0.1, 3, env)
    model = ranking.model
    assert model.p_beats(["a", "d"], "b") == pytest.approx(env.cdf((lead - margin) / spread), abs=1e-6)
    assert model.p_beats(["a", "d"], ["b"]) + model.p_beats("b", ["a", "d"]) + model.p_tie(
        "b", ["a", "d"]
    ) == pytest.approx(1)
    with pytest.raises(cc.InputError, match="two teams without common items"):
        model.p_beats(["a", "b"], ["b"])
