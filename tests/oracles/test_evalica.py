"""What the page for users of evalica promises, against evalica: the same numbers, or that they differ."""

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


def by_item(ranking, scores):
    return np.array([scores[item] for item in ranking.items])


def test_newman_is_the_model_of_ties_of_davidson():
    for seed in range(20):
        first, second, result = matches(seed)
        ranking = cc.rank(ours(first, second, result), "davidson", prior=1e-9)
        found = evalica.newman(first, second, theirs(result), tolerance=1e-10, limit=10_000).scores
        ratio = np.exp(ranking.scores) / by_item(ranking, found)
        np.testing.assert_allclose(ratio, ratio[0], rtol=1e-4)


def test_elo_with_the_defaults_of_evalica():
    first, second, result = matches(1)
    ranking = cc.rank(ours(first, second, result), "elo", start=1000, stake=4)
    found = evalica.elo(first, second, theirs(result)).scores
    np.testing.assert_allclose(ranking.scores, by_item(ranking, found), atol=1e-9)
    wider = evalica.elo(first, second, theirs(result), scale=200.0).scores
    ranking = cc.rank(ours(first, second, result), "elo", start=1000, stake=4, spread=200.0)
    np.testing.assert_allclose(ranking.scores, by_item(ranking, wider), atol=1e-9)


def test_counting_is_wins_and_half_the_ties_which_borda_divides_by_comparisons():
    first, second, result = matches(2)
    prefs = ours(first, second, result)
    wins, losses, ties = cc.views.wins_and_losses(prefs)
    found = evalica.counting(first, second, theirs(result)).scores
    assert dict(zip(prefs.items, wins + ties / 2, strict=True)) == found.to_dict()
    ranking = cc.rank(prefs, "borda")
    share = dict(zip(prefs.items, (wins + ties / 2) / (wins + losses + ties), strict=True))
    np.testing.assert_allclose(ranking.scores, by_item(ranking, share))


def test_the_other_scores_have_no_exact_counterpart():
    first, second, result = matches(3)
    prefs = ours(first, second, result)
    for name, method in (("average_win_rate", "borda"), ("eigen", "rank-centrality"), ("pagerank", "markov-chain")):
        ranking = cc.rank(prefs, method)
        found = by_item(ranking, getattr(evalica, name)(first, second, theirs(result)).scores)
        own = np.exp(ranking.scores) if method == "rank-centrality" else ranking.scores
        assert not np.allclose(own / own.sum(), found / found.sum(), atol=1e-3), name
