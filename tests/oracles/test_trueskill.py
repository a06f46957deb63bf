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
