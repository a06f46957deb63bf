"""Second-order features: products of two features (squares included) that correlate with the label.

A product x_a x_b is kept if |Pearson correlation with y| > ``threshold``. The products need not be computed for all
rows: with centred features z = x - m,

    x_a x_b = m_a m_b + m_a z_b + m_b z_a + z_a z_b,

so covariances and variances of all products follow from four matrix products, Z'Z, (Z^2)'Z, (Z^2)'(Z^2) and (yZ)'Z,
summed over blocks of rows. Centring first also avoids cancellation. ``transform`` computes only the selected columns.
Linear rankers benefit most.

Cost: O(n F^2) time in matrix products, O(F^2) memory. Reference: T. Tran, D. Phung and S. Venkatesh, Modelling human
preferences for ranking and collaborative filtering, Knowledge and Information Systems 47, 2016.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from concordant.learn import _data
from concordant.learn._features import Appending
from concordant.params import param
from concordant.support.state import Kind, floats, whole
from concordant.types import AnyArray, Floats

NO_SPREAD = 1e-14  # variance over mean square below which a product is constant


@dataclass(eq=False, repr=False)
class SecondOrderFeatures(Appending):
    """Append products of two features that correlate with the label."""

    learns: ClassVar[Mapping[str, Kind]] = {
        **Appending.learns,
        "pairs_": whole("pairs", 2, below="n_features_in_"),
        "correlations_": floats("pairs", low=-2, high=2),
    }

    threshold: float = param(0.15, "minimum absolute correlation with the label", low=0, high=1)
    include_first: bool = param(True, "keep the original features, before the products")
    max_features: int | None = param(None, "maximum number of products to keep, by correlation; none: keep all", low=1)
    block: int = param(4096, "number of rows processed at a time", low=1)

    def fit(self, X: Any, y: ArrayLike | None = None) -> Self:
        """Find the products that correlate with the label.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Labels; required.

        Returns
        -------
        SecondOrderFeatures
            The transformer itself.
        """
        self._begin_fit()
        X = self._checked(X, reset=True)
        label = _data.labels_only(self._labels(y), len(X))
        correlation = _correlations(X, label, self.block)
        first, second = np.triu_indices(X.shape[1])
        candidates = correlation[first, second]
        kept = np.flatnonzero(np.abs(candidates) > self.threshold)
        if self.max_features is not None and len(kept) > self.max_features:
            largest = np.argsort(-np.abs(candidates[kept]), kind="stable")[: self.max_features]
            kept = np.sort(kept[largest])
        self.pairs_ = np.stack([first[kept], second[kept]], axis=1).astype(np.int64)
        self.correlations_ = candidates[kept]
        return self

    def transform(self, X: Any) -> AnyArray:
        """Append the selected products.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray
            The features, unless they are left out, followed by the products, in the floating-point type of X.
        """
        check_is_fitted(self, "correlations_")
        X = self._checked(X, reset=False)
        n_first = X.shape[1] if self.include_first else 0
        widened = np.empty((len(X), n_first + len(self.pairs_)), X.dtype)
        for start in range(0, len(X), self.block):
            rows = slice(start, start + self.block)
            widened[rows, :n_first] = X[rows, :n_first]
            widened[rows, n_first:] = X[rows][:, self.pairs_[:, 0]] * X[rows][:, self.pairs_[:, 1]]
        return widened

    def _new_names(self, names: Sequence[str]) -> Sequence[str]:
        return [f"{names[a]}^2" if a == b else f"{names[a]} {names[b]}" for a, b in self.pairs_.tolist()]


def _correlations(X: AnyArray, label: Floats, block: int) -> Floats:
    """Return the correlation of every product of two features with the label: F x F, 0 if either is constant.

    The moments of the products follow from those of the centred features; the module docstring has the formula.
    """
    n, n_features = X.shape
    mean = X.mean(axis=0, dtype=np.float64)
    y = label - label.mean()
    linear, with_label = np.zeros(n_features), np.zeros((n_features, n_features))
    products, skewed, squares = (np.zeros_like(with_label) for _ in range(3))
    for start in range(0, n, block):
        z = X[start : start + block] - mean
        y_block = y[start : start + block]
        squared = z * z
        linear += y_block @ z
        products += z.T @ z
        skewed += squared.T @ z
        squares += squared.T @ squared
        with_label += (z * y_block[:, None]).T @ z
    linear, with_label, products, skewed, squares = (
        sums / n for sums in (linear, with_label, products, skewed, squares)
    )
    variance = np.diag(products)
    covariance = with_label + np.outer(mean, linear) + np.outer(linear, mean)
    cross_terms = 2 * mean[None, :] * skewed  # 2 m_b E[z_a^2 z_b], and transposed 2 m_a E[z_a z_b^2]
    # E[(m_a z_b + m_b z_a + z_a z_b)²], the second moment of a product minus m_a m_b
    second_moment = np.outer(variance, mean**2) + np.outer(mean**2, variance) + squares + cross_terms + cross_terms.T
    second_moment += 2 * np.outer(mean, mean) * products
    spread = second_moment - products**2
    magnitude = second_moment + np.outer(mean, mean) ** 2
    deviation = np.sqrt(np.where(spread > NO_SPREAD * magnitude, spread, np.inf) * (y @ y / n or np.inf))
    return np.asarray(covariance / deviation)
