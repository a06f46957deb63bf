"""The choice of a prior: a guess saves the way, and what it finds is what going through the whole grid finds."""

from __future__ import annotations

import numpy as np
import pytest

from concordant.kernels import links
from concordant.models.likelihoods.evidence import PriorSearch, choose_prior, log_evidence, strength
from concordant.models.likelihoods.observed import ObservedDuels
from concordant.models.likelihoods.priors import Prior
from concordant.models.observations.duels import Counting
from concordant.models.solve import costs, factors, strategies
from concordant.preferences import Preferences


def votes(seed, m, n, spread=1.0):
    rng = np.random.default_rng(seed)
    score = spread * rng.normal(size=m)
    a = rng.integers(m, size=n)
    b = (a + rng.integers(1, m, size=n)) % m
    ahead = score[a] - score[b] + rng.logistic(size=n) > 0
    return Preferences.from_pairs(np.where(ahead, a, b), np.where(ahead, b, a))


def prior_of(precision):
    return Prior(np.full(1, precision), np.full(1, 0.01))


@pytest.mark.parametrize("guess", [None, -3, 4, 9])
def test_the_grid_is_climbed_to_its_top_from_anywhere(guess):
    best, variance = choose_prior(lambda one: -3 * np.log(one / 0.5) ** 2, 1.0, guess)
    assert best == strength(-3, 1.0)
    assert 0 < variance < np.log(10) ** 2


@pytest.mark.parametrize(("m", "n", "spread"), [(150, 2000, 0.5), (150, 150, 2.0), (400, 60_000, 1.0)])
def test_a_search_finds_the_top_of_the_exact_evidence(m, n, spread):
    observed = ObservedDuels(Counting().duels(votes(1, m, n, spread)), links.BRADLEY_TERRY)
    best, _ = PriorSearch(observed, prior_of).best()

    def exact(k):
        parts = strategies.fit(observed, prior_of(strength(k, 1.0)), strategy="matrix", with_log_det=True)
        return log_evidence(parts) - 0.5 * (k / 10) ** 2

    found = round(10 * np.log10(best))
    assert exact(found) >= max(exact(found + side) for side in (-3, -2, -1, 1, 2, 3)) - 1e-2


def test_one_step_from_a_fit_is_nearly_the_fit():
    observed = ObservedDuels(Counting().duels(votes(2, 500, 400_000)), links.BRADLEY_TERRY)
    start = strategies.fit(observed, prior_of(1.0), strategy="matrix", with_log_det=True)
    for strategy in ("matrix", "products"):
        exact = strategies.fit(observed, prior_of(1.3), start, strategy=strategy, with_log_det=True)
        near = strategies.one_step(observed, prior_of(1.3), start, costs.same_strategy("matrix", 1))
        assert near is not None
        assert near[0].value + near[0].log_prior == pytest.approx(exact[0].value + exact[0].log_prior, abs=0.01)
        assert near[0].score == pytest.approx(exact[0].score, abs=1e-2)
    assert strategies.one_step(observed, prior_of(1e4), start, costs.same_strategy("matrix", 1)) is None


@pytest.mark.parametrize("n", [1, 95, 96, 97, 250])
def test_factors_solve_and_invert(n):
    rng = np.random.default_rng(n)
    root = rng.normal(size=(n, n))
    matrix = root @ root.T + n * np.eye(n)
    factor = factors.factor_of(matrix)
    assert factor is not None
    for right in (rng.normal(size=n), rng.normal(size=(n, 3))):
        assert matrix @ factors.solved(factor, right) == pytest.approx(right)
    assert factors.inverted(factor) @ matrix == pytest.approx(np.eye(n), abs=1e-10)
    assert factors.log_determinant(factor) == pytest.approx(np.linalg.slogdet(matrix)[1])
    assert factors.factor_of(-matrix) is None
