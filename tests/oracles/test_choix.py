"""Bradley-Terry and Plackett-Luce against choix."""

from __future__ import annotations

import numpy as np
import pytest

import concordant as cc

choix = pytest.importorskip("choix", reason="choix is not installed: it comes with the dev extra")


def by_item(ranking, n):
    found = dict(zip(map(int, ranking.items), ranking.scores.tolist(), strict=True))
    return np.array([found[i] for i in range(n)])


def duels(rng, n):
    """Random comparisons in which everybody wins and loses: a circle, and more."""
    a = rng.integers(0, n, 12 * n)
    b = (a + rng.integers(1, n, 12 * n)) % n
    circle = [(i, (i + 1) % n) for i in range(n)] + [((i + 1) % n, i) for i in range(n)]
    return circle + list(zip(a.tolist(), b.tolist(), strict=True))


@pytest.mark.parametrize("prior", [0.01, 1.0])
def test_bradley_terry_is_at_the_optimum_of_choix(prior):
    for seed in range(100):
        n = 3 + seed % 6
        data = duels(np.random.default_rng(seed), n)
        winner, loser = zip(*data, strict=True)
        scores = by_item(cc.rank(cc.Preferences.from_pairs(winner, loser), "bradley-terry", prior=prior), n)
        gradient = choix.opt.PairwiseFcts(data, prior / 2).gradient(scores)
        assert np.abs(gradient).max() < 1e-6
        if seed < 10:
            found = choix.opt_pairwise(n, data, alpha=prior / 2, tol=1e-10)
            np.testing.assert_allclose(scores, found, atol=1e-5)


@pytest.mark.parametrize("prior", [0.01, 1.0])
def test_plackett_luce_is_at_the_optimum_of_choix(prior):
    for seed in range(100):
        rng = np.random.default_rng(seed)
        n = 3 + seed % 5
        data = [tuple(rng.permutation(n)[: rng.integers(2, n + 1)].tolist()) for _ in range(4 * n)]
        prefs = cc.Preferences.from_rankings([[str(i) for i in ranking] for ranking in data])
        scores = by_item(cc.rank(prefs, "plackett-luce", prior=prior), n)
        assert np.abs(choix.opt.Top1Fcts.from_rankings(data, prior / 2).gradient(scores)).max() < 1e-6


def test_the_likelihood_of_rankings_is_the_same():
    for seed in range(50):
        rng = np.random.default_rng(seed)
        n = 4 + seed % 4
        data = [tuple(rng.permutation(n).tolist()) for _ in range(20)]
        prefs = cc.Preferences.from_rankings([[str(i) for i in ranking] for ranking in data])
        ranking = cc.rank(prefs, "plackett-luce", prior=0.1)
        theirs = choix.log_likelihood_rankings(data, by_item(ranking, n))
        assert ranking.fit["log_likelihood"] == pytest.approx(theirs, rel=1e-9)
