"""Probabilistic matrix factorisation."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import concordant as cc
from concordant.recommend.pmf import PMF, FittedPMF


def ratings(seed=0, n_users=60, n_items=40, share=0.5):
    """Ratings with two real factors and little noise; the first array says which are known."""
    rng = np.random.default_rng(seed)
    full = 3 + rng.normal(size=(n_users, 1)) / 2 + rng.normal(size=n_items) / 2
    full = full + rng.normal(size=(n_users, 2)) @ rng.normal(size=(2, n_items)) + rng.normal(size=full.shape) / 20
    return rng.random(full.shape) < share, full


def objective(model: FittedPMF, user: np.ndarray, item: np.ndarray, rating: np.ndarray) -> float:
    """Return what ``fit`` minimises: squared error plus the priors."""
    error, sides = model.predict(user, item) - rating, (model.of_user, model.of_item)
    squares, biases = (sum(float((side[:, part] ** 2).sum()) for side in sides) for part in (slice(-1), -1))
    return float(error @ error) + model.settings.ridge * squares + model.settings.bias_ridge * biases


def test_hidden_factors_are_found():
    known, full = ratings()
    user, item = np.nonzero(known)
    fitted = PMF(factors=2, ridge=0.1, bias_ridge=0.1, sweeps=50).fit(user, item, full[known])
    user, item = np.nonzero(~known)
    assert fitted.score(user, item, full[~known]) < 0.2
    assert full[~known].std() > 1


def test_every_sweep_improves_the_objective():
    known, full = ratings()
    user, item = np.nonzero(known)
    values = [
        objective(PMF(factors=3, ridge=1.0, sweeps=sweeps).fit(user, item, full[known]), user, item, full[known])
        for sweeps in (1, 2, 5, 10, 20)
    ]
    assert (np.diff(values) < 1e-9).all()


def test_the_fit_is_a_stationary_point():
    known, full = ratings(n_users=15, n_items=12)
    user, item = np.nonzero(known)
    fitted = PMF(factors=2, ridge=1.0, sweeps=2000).fit(user, item, full[known])
    value = objective(fitted, user, item, full[known])
    rng = np.random.default_rng(0)
    for side in (fitted.of_user, fitted.of_item):
        for _ in range(5):
            step = 1e-4 * rng.normal(size=side.shape)
            changes = []
            for sign in (1, -2):
                side += sign * step
                changes.append(objective(fitted, user, item, full[known]) - value)
            side += step
            assert abs(changes[0] - changes[1]) / 2 < 1e-6 * value


def test_the_same_seed_gives_the_same_answer():
    known, full = ratings()
    user, item = np.nonzero(known)
    first, second = (PMF(sweeps=3, seed=7).fit(user, item, full[known]).complete() for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_strangers_are_average():
    fitted = PMF(factors=1, sweeps=5).fit(["u", "u", "v"], ["a", "b", "a"], [5, 3, 4])
    assert fitted.predict(["nobody"], ["nothing"]) == pytest.approx([fitted.mean])
    assert fitted.predict(["u"], ["nothing"]) == pytest.approx([fitted.mean + fitted.of_user[0, -1]])
    assert fitted.complete().shape == (2, 2)
    assert fitted.complete()[0, 1] == pytest.approx(fitted.predict(["u"], ["b"])[0])


def test_bad_input_is_refused():
    with pytest.raises(cc.InputError, match="one of each"):
        PMF().fit(["u"], ["a", "b"], [1, 2])
    with pytest.raises(cc.InputError, match="no ratings"):
        PMF().fit([], [], [])
    with pytest.raises(cc.ParameterError):
        PMF(factors=0)


@pytest.mark.data
def test_movielens_is_predicted_well():
    """u1 of MovieLens 100K: a root mean squared error of 0.92 to 0.93 is what matrix factorisations reach."""
    root = Path(os.environ.get("CONCORDANT_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")
    if not (root / "ml-100k").is_dir():
        pytest.skip("the public data sets are not here: set CONCORDANT_DATA")
    train, test = (np.loadtxt(root / "ml-100k" / name, dtype=np.int64) for name in ("u1.base.gz", "u1.test.gz"))
    fitted = PMF().fit(*train.T[:3])
    assert fitted.score(*test.T[:3]) < 0.93
