"""Base class of transformers that append columns to the features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from concordant.learn._base import Learner
from concordant.types import AnyArray


class Appending(TransformerMixin, Learner):  # type: ignore[misc]
    """A transformer that appends columns to X, or returns only the new columns, in the floating-point type of X."""

    _takes_sparse: ClassVar[bool] = False
    include_first: bool

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> AnyArray:
        """Return the names of the output columns.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the input features; by default those seen in ``fit``.

        Returns
        -------
        ndarray of str
            Names of the original features, unless they are left out, followed by those of the new columns.
        """
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        return np.array([*(names if self.include_first else ()), *self._new_names(names)], dtype=object)

    def _new_names(self, names: Sequence[str]) -> Sequence[str]:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: the type of X is preserved."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
