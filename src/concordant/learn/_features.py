"""What transformers share that append columns to the features."""

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
    """A transformer that keeps the type of X and appends columns, unless told to give the new ones alone."""

    _takes_sparse: ClassVar[bool] = False
    include_first: bool

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> AnyArray:
        """Return the names of the columns: those of the features, then those of the new ones."""
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
