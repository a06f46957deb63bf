"""Products of features that correlate with the label."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="the learn extra is not installed")

from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from concordant.errors import InputError, ParameterError
from concordant.learn.second_order_features import SecondOrderFeatures, _correlations


def naive_correlations(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Every product written out, in extended precision."""
    wide, label = X.astype(np.longdouble), y.astype(np.longdouble) - y.mean()
    answer = np.zeros((X.shape[1], X.shape[1]))
    for a in range(X.shape[1]):
        for b in range(X.shape[1]):
            product = wide[:, a] * wide[:, b]
            if np.ptp(product) > 0:
                product -= product.mean()
                answer[a, b] = (product * label).sum() / np.sqrt((product**2).sum() * (label**2).sum())
    return answer


@pytest.mark.parametrize(("scale", "shift"), [(1.0, 0.0), (10.0, 3.0), (0.01, 100.0)])
@pytest.mark.parametrize("block", [7, 4096])
def test_correlations_are_those_of_the_products_written_out(scale: float, shift: float, block: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6)) * scale + shift
    X[:, 4] = 2.0
    y = X[:, 0] * X[:, 1] + scale**2 * rng.normal(size=300)
    assert _correlations(X, y, block) == pytest.approx(naive_correlations(X, y), abs=1e-10)


def test_only_products_that_correlate_are_kept_in_order() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2000, 5))
    y = X[:, 1] * X[:, 3] - X[:, 2] ** 2 + 0.1 * rng.normal(size=2000)
    model = SecondOrderFeatures(threshold=0.3).fit(X, y)
    assert model.pairs_.tolist() == [[1, 3], [2, 2]]
    assert model.correlations_[0] > 0.3 > -0.3 > model.correlations_[1]
    wide = model.transform(X)
    assert np.array_equal(wide, np.column_stack([X, X[:, 1] * X[:, 3], X[:, 2] ** 2]))
    assert model.get_feature_names_out().tolist() == ["x0", "x1", "x2", "x3", "x4", "x1 x3", "x2^2"]


def test_the_strongest_products_are_kept_when_there_are_too_many() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(500, 4))
    y = 3 * X[:, 0] * X[:, 2] + X[:, 1] ** 2 + X[:, 3] * X[:, 1]
    every = SecondOrderFeatures(threshold=0.0).fit(X, y)
    model = SecondOrderFeatures(threshold=0.0, max_features=2, include_first=False).fit(X, y)
    assert len(every.pairs_) == 10
    assert model.transform(X).shape == (500, 2)
    assert set(np.abs(model.correlations_)) == set(np.sort(np.abs(every.correlations_))[-2:])


def test_float32_stays_float32() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 3))
    y = X[:, 0] ** 2
    wide = SecondOrderFeatures().fit(X.astype(np.float32), y).transform(X.astype(np.float32))
    assert wide.dtype == np.float32
    assert wide == pytest.approx(SecondOrderFeatures().fit(X, y).transform(X), rel=1e-5)


def test_rows_are_widened_in_blocks_alike() -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(100, 3))
    one, other = (SecondOrderFeatures(threshold=0.0, block=block).fit(X, X[:, 0]) for block in (1, 1000))
    assert one.transform(X) == pytest.approx(other.transform(X))


@pytest.mark.filterwarnings("ignore::concordant.OneQueryWarning")
def test_a_linear_model_of_products_sees_what_a_line_cannot() -> None:
    from concordant.learn.ordinal_ranker import OrdinalRanker

    rng = np.random.default_rng(5)
    X = rng.normal(size=(600, 3)) + 5
    y = ((X[:, 0] - 5) * (X[:, 1] - 5) > 0).astype(float)
    qid = np.repeat(np.arange(60), 10)
    plain = make_pipeline(StandardScaler(), OrdinalRanker()).fit(X, y)
    wide = make_pipeline(StandardScaler(), SecondOrderFeatures(), StandardScaler(), OrdinalRanker()).fit(X, y)
    assert wide.score(X, y) > plain.score(X, y)
    assert wide[-1].score(wide[:-1].transform(X), y, qid=qid) > 0.97


def test_nothing_correlates_with_a_constant_label() -> None:
    model = SecondOrderFeatures().fit(np.random.default_rng(6).normal(size=(20, 3)), np.ones(20))
    assert len(model.pairs_) == 0


def test_bad_settings_are_refused_with_a_reason() -> None:
    with pytest.raises(ParameterError, match="threshold"):
        SecondOrderFeatures(threshold=2.0).fit([[1.0], [2.0]], [0, 1])
    with pytest.raises(InputError, match="requires y"):
        SecondOrderFeatures().fit([[1.0], [2.0]])
