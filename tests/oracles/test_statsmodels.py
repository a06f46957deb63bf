"""Bradley-Terry with its standard errors against a logistic regression of statsmodels."""

from __future__ import annotations

import numpy as np
import pytest

import concordant as cc

sm = pytest.importorskip("statsmodels.api", reason="statsmodels is not installed: it comes with the dev extra")
pytestmark = pytest.mark.filterwarnings("default")


def test_scores_and_standard_errors_of_differences_are_those_of_a_regression():
    for seed in range(100):
        rng = np.random.default_rng(seed)
        n = 3 + seed % 5
        circle = np.arange(n)
        a = np.concatenate([circle, (circle + 1) % n, rng.integers(0, n, 10 * n)])
        b = np.concatenate([(circle + 1) % n, circle, (a[2 * n :] + rng.integers(1, n, 10 * n)) % n])
        ranking = cc.rank(
            cc.Preferences.from_pairs([f"{i}" for i in a], [f"{i}" for i in b]), "bradley-terry", prior=0.0
        )
        flip = rng.random(len(a)) < 0.5  # who is called first is no matter
        design = np.zeros((len(a), n))
        design[np.arange(len(a)), a], design[np.arange(len(a)), b] = 1, -1
        design[flip] *= -1
        fit = sm.Logit((~flip).astype(float), design[:, 1:]).fit(disp=0, tol=1e-12, maxiter=100)
        score = dict(zip(map(int, ranking.items), ranking.scores.tolist(), strict=True))
        np.testing.assert_allclose([score[i] - score[0] for i in range(1, n)], fit.params, atol=1e-6)
        # of centred scores: the covariance with item 0 at zero, centred
        covariance = np.zeros((n, n))
        covariance[1:, 1:] = fit.cov_params()
        centre = np.eye(n) - 1 / n
        expected = np.sqrt(np.diag(centre @ covariance @ centre))
        error = dict(zip(map(int, ranking.items), ranking.detail("stderr").tolist(), strict=True))
        np.testing.assert_allclose([error[i] for i in range(n)], expected, rtol=1e-5)
