"""Bradley-Terry and Elo against evalica."""

from __future__ import annotations

import numpy as np
import pytest

import concordant as cc

evalica = pytest.importorskip("evalica", reason="evalica is not installed: it comes with the dev extra")
pytestmark = pytest.mark.filterwarnings("default")


def matches(seed, n=5):
    """Random matches with draws in which everybody wins and loses: (first, second, result)."""
    rng = np.random.default_rng(seed)
    a = np.concatenate([np.arange(n), np.arange(n), rng.integers(0, n, 60)])
    b = np.concatenate([(np.arange(n) + 1) % n, (np.arange(n) + 1) % n, (a[2 * n :] + rng.integers(1, n, 60)) % n])
    result = np.concatenate([np.zeros(n), np.ones(n), rng.integers(0, 3, 60)]).astype(int)
    return [f"m{i}" for i in a], [f"m{i}" for i in b], result.tolist()


def ours(first, second, result):
    winner = [b if r == 1 else a for a, b, r in zip(first, second, result, strict=True)]
    loser = [a if r == 1 else b for a, b, r in zip(first, second, result, strict=True)]
    return cc.Preferences.from_pairs(winner, loser, tie=[r == 2 for r in result])


def theirs(result):
    kinds = [evalica.Winner.X, evalica.Winner.Y, evalica.Winner.Draw]
    return [kinds[r] for r in result]


def test_bradley_terry_finds_the_same_strengths():
    for seed in range(100):
        first, second, result = matches(seed)
        ranking = cc.rank(ours(first, second, result), "bradley-terry", prior=0.0)
        found = evalica.bradley_terry(first, second, theirs(result), tolerance=1e-12, limit=10_000).scores
        logs = np.log([found[item] for item in ranking.items])
        np.testing.assert_allclose(ranking.scores, logs - logs.mean(), atol=1e-5)


def test_elo_gives_the_same_ratings():
    for seed in range(100):
        first, second, result = matches(seed)
        ranking = cc.rank(ours(first, second, result), "elo", stake=16.0, start=1000.0)
        found = evalica.elo(first, second, theirs(result), k=16.0, initial=1000.0).scores
        np.testing.assert_allclose(ranking.scores, [found[item] for item in ranking.items], atol=1e-6)
