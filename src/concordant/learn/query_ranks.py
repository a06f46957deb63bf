"""Ranks of features within their query, as additional features for rankers that score rows independently.

Whether a row is the best of its query depends on the other rows, which a score of the single row cannot take into
account. For every feature this transformer appends the row's mid-rank among the rows of its query, divided by their
number: 1 for the largest value, independent of the scale of the feature. It uses only the features of the rows to be
ranked, so it also applies to new queries, but each query must be complete. On MQ2008 (LETOR 4.0), the ranks improve
every linear loss by about half a point of MAP. Cost: O(F n log n) per query of n rows. Pass ``qid`` to ``transform``;
in a Pipeline, metadata routing passes it on, and BlendedRanker does this itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from concordant import kernels
from concordant.learn import _data
from concordant.learn._features import Appending
from concordant.losses.queries import Queries
from concordant.params import param
from concordant.types import AnyArray


@dataclass(eq=False, repr=False)
class QueryRanks(Appending):
    """Append the rank of each feature within its query."""

    __metadata_request__fit: ClassVar[dict[str, bool]] = {"qid": True}
    __metadata_request__transform: ClassVar[dict[str, bool]] = {"qid": True}

    include_first: bool = param(True, "keep the original features, before the ranks")

    def fit(self, X: Any, y: object = None, *, qid: ArrayLike | None = None) -> Self:
        """Record the number of features.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.
        y : object, optional
            Ignored.
        qid : array-like, optional
            Ignored.

        Returns
        -------
        QueryRanks
            The transformer itself.
        """
        self._begin_fit()
        self._checked(X, reset=True)
        return self

    def transform(self, X: Any, *, qid: ArrayLike | None = None) -> AnyArray:
        """Append the ranks of the features within their queries.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.
        qid : array-like of shape (n_samples,), optional
            Query of every row, in any order; without it, all rows form one query.

        Returns
        -------
        ndarray
            The features, unless they are left out, followed by their ranks, in the floating-point type of X.
        """
        check_is_fitted(self)
        X = np.ascontiguousarray(self._checked(X, reset=False))
        # Only the layout of the queries matters here, not the labels.
        queries = Queries.from_rows(np.zeros(len(X)), _data.checked_queries(len(X), qid))
        ranks = kernels.query_ranks(X, queries.ptr, queries.row)
        return np.concatenate([X, ranks], axis=1) if self.include_first else ranks

    def fit_transform(self, X: Any, y: object = None, *, qid: ArrayLike | None = None) -> AnyArray:
        """Fit to X and return it with the ranks of the features within their queries.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.
        y : object, optional
            Ignored.
        qid : array-like of shape (n_samples,), optional
            Query of every row, in any order; without it, all rows form one query.

        Returns
        -------
        ndarray
            The result of ``transform``.
        """
        return self.fit(X, y, qid=qid).transform(X, qid=qid)

    def _new_names(self, names: Sequence[str]) -> Sequence[str]:
        return [f"rank of {name}" for name in names]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_features_in_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags
