"""NDCG and penalised Bradley-Terry against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest

import concordant as cc
from concordant import metrics

pytest.importorskip("sklearn", reason="scikit-learn is not installed: it comes with the dev extra")


def test_ndcg_with_linear_gains_is_the_same():
    from sklearn.metrics import ndcg_score

    rng = np.random.default_rng(0)
    for _ in range(200):
        n = int(rng.integers(2, 30))
        label, score = rng.integers(0, 4, n), rng.permutation(n).astype(float)
        label[0] = max(label[0], 1)
        for cutoff in (1, 5, 10):
            name = f"ndcg@{cutoff}:linear"
            (ours,) = metrics.evaluate_arrays(score, label, None, [name])[name]
            assert ours == pytest.approx(ndcg_score([label], [score], k=cutoff))


def test_a_prior_is_the_penalty_of_a_logistic_regression():
    from sklearn.linear_model import LogisticRegression

    for seed in range(30):
        rng = np.random.default_rng(seed)
        n, prior = 3 + seed % 6, (0.1, 1.0, 10.0)[seed % 3]
        a = rng.integers(0, n, 10 * n)
        b = (a + rng.integers(1, n, 10 * n)) % n
        design = np.zeros((2 * len(a), n))
        rows = np.arange(len(a))
        design[rows, a], design[rows, b] = 1, -1
        design[len(a) :] = -design[: len(a)]
        model = LogisticRegression(C=1 / prior, fit_intercept=False, tol=1e-8, max_iter=10_000)
        # every duel twice, as a win of one and a defeat of the other: half the weight each
        answer = np.repeat([1, 0], len(a))
        model.fit(design, answer, sample_weight=np.full(2 * len(a), 0.5))
        prefs = cc.Preferences.from_pairs([f"{i}" for i in a], [f"{i}" for i in b])
        ranking = cc.rank(prefs, "bradley-terry", prior=prior)
        found = dict(zip(map(int, ranking.items), ranking.scores.tolist(), strict=True))
        np.testing.assert_allclose([found[i] for i in sorted(found)], model.coef_[0][sorted(found)], atol=1e-5)
