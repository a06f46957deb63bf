"""Intervals of the multinomial preference model: against matrices written out, and whether they cover."""

from __future__ import annotations

import numpy as np

import concordant as cc
from concordant import laws
from concordant.models.multinomial_errors import moves_of
from concordant.models.observations.preference_counts import count
from concordant.models.solve.multinomial import Solver


def errors_from_dense_matrices(prefs, counts, prior):
    """The sandwich with every matrix written out, and one more ballot of the usual strength for each item."""
    corpus = count(prefs, counts)
    solver = Solver(corpus, prior, "equal")
    solution = solver.solve(np.ones(prefs.n_ballots))
    expected = np.zeros(prefs.n_slots)
    for q in np.flatnonzero(corpus.total_by_instance > 0):
        own = slice(int(prefs.slot_ptr[q]), int(prefs.slot_ptr[q + 1]))
        s, own_prior = solution.score[own], solver.prior_by_instance[q]

        def expectation(s):
            x = np.exp(s[:, None] - s)
            np.fill_diagonal(x, 0)
            return (x.sum(1) - x.sum(0)) / x.sum()

        h = 1e-5
        bend = np.stack([(expectation(s + h * e) - expectation(s - h * e)) / (2 * h) for e in np.eye(len(s))])
        inverse = np.linalg.inv(bend + own_prior * np.eye(len(s)))
        meat, squares, entries = np.zeros_like(bend), 0.0, 0.0
        for b in np.flatnonzero(prefs.instance_of_ballot == q):
            span = slice(prefs.indptr[b], prefs.indptr[b + 1])
            u = np.zeros(len(s))
            u[prefs.entry_slot[span] - own.start] = corpus.net[span]
            squares += prefs.weight[b] * (u**2).sum()
            entries += prefs.weight[b] * (span.stop - span.start)
            u -= corpus.total[b] * (expectation(s) + own_prior * s)
            meat += prefs.weight[b] * np.outer(u, u)
        up, down = np.exp(s), np.exp(-s)
        z = up.sum() * down.sum() - len(s)
        diagonal = (up * down.sum() + down * up.sum()) / z + own_prior
        variance = np.diag(inverse @ meat @ inverse) + squares / entries / diagonal**2
        expected[own] = np.sqrt(variance) / corpus.divisor[q]
    moves = moves_of(corpus, solution, solver.prior_by_instance)
    assert moves is not None
    return expected, np.sqrt(moves.variance)


def test_standard_errors_are_those_of_the_matrices_written_out():
    rng = np.random.default_rng(3)
    for k in range(30):
        prefs = laws.random_preferences(rng, frozenset({"values"}))
        if prefs.n_slots:
            expected, found = errors_from_dense_matrices(prefs, ("difference", "binary")[k % 2], 10.0 ** -(k % 3))
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-9)


def test_intervals_cover_the_scores_of_all_agents():
    rng = np.random.default_rng(4)
    quality, fame = rng.normal(0, 1, 20), rng.uniform(0.1, 0.8, 20)

    def asked(n):
        named = rng.random((n, 20)) < fame
        stars = np.clip(np.round(3 + quality + rng.normal(0, 1.2, (n, 20)) + rng.normal(0, 0.7, (n, 1))), 1, 5)
        agent, item = np.nonzero(named)
        return cc.Preferences.from_ratings(agent.tolist(), item.tolist(), stars[agent, item])

    everybody = cc.rank(asked(20_000), "mpm")
    truth = dict(zip(everybody.items, everybody.scores, strict=True))
    covered = []
    for _ in range(60):
        ranking = cc.rank(asked(100), "mpm")
        target = np.array([truth[item] for item in ranking.items])
        covered.append(((ranking.low <= target) & (target <= ranking.high)).mean())
    assert 0.93 < np.mean(covered) < 0.97


def test_an_item_rated_once_is_not_sure_even_in_the_middle():
    rows = [(f"u{k}", film, stars) for k in range(30) for film, stars in (("a", 5), ("b", 1 + k % 3))]
    rows += [("u0", "c", 3)]
    users, films, stars = zip(*rows, strict=True)
    ranking = cc.rank(cc.Preferences.from_ratings(users, films, stars), "mpm")
    width = dict(zip(ranking.items, ranking.high - ranking.low, strict=True))
    assert width["c"] > 0.05 * width["b"] > 0
