"""Base class of the gradient-boosted trees: grouping of rows by query, relevance grades and early stopping."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from concordant.errors import ConcordantError
from concordant.learn._base import METRIC, Ranker
from concordant.learn._data import Rows, measure
from concordant.params import param
from concordant.scorers.base import Matrix
from concordant.support import progress
from concordant.support.state import Curves, Kind, Text, whole
from concordant.types import Floats, Int64s

LARGEST_GRADE = 30  # gains are 2^grade - 1


class Grouped(NamedTuple):
    """Rows sorted by query: features, labels, query sizes and query weights (or None)."""

    X: Matrix
    label: Floats
    size: Int64s
    weight: Floats | None

    @property
    def query(self) -> Int64s:
        """The query of every row, numbered from 0."""
        return np.repeat(np.arange(len(self.size)), self.size)

    @classmethod
    def of(cls, rows: Rows) -> Grouped:
        """Sort the rows by query; X is copied only if they are not sorted yet.

        A query's weight is that of its first row: ``fit`` has checked that the rows of a query share it.
        """
        X, label, query, weight = rows.X, rows.label, rows.query, rows.weight
        if len(query) and (np.diff(query) < 0).any():
            order = np.argsort(query, kind="stable")
            X, label, query = X[order], label[order], query[order]
            weight = None if weight is None else weight[order]
        size = np.bincount(query).astype(np.int64, copy=False)
        return cls(X, label, size, None if weight is None else weight[np.cumsum(size) - size])


class Grades(NamedTuple):
    """Labels as integer grades from 0, and the gain of each grade."""

    grade: Int64s
    gain: Floats
    is_plain: bool
    """Whether the grades are the labels themselves, with gains 2^label - 1."""

    @classmethod
    def of(cls, label: Floats) -> Grades:
        """Use integer labels from 0 to 30 directly; otherwise number the distinct labels and use linear gains."""
        if (label == np.rint(label)).all() and label.min() >= 0 and label.max() <= LARGEST_GRADE:
            grade = label.astype(np.int64)
            return cls(grade, np.exp2(np.arange(int(grade.max()) + 1)) - 1, True)
        _, number = np.unique(label, return_inverse=True)
        return cls(number.astype(np.int64), np.arange(int(number.max()) + 1.0), False)


def library(name: str, needs: str) -> Any:
    """Import an optional library; ``needs`` is the beginning of the error message if it is missing."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise ConcordantError(f"{needs}: install it with pip install 'concordant[learn]'.") from None


class Trained(NamedTuple):
    """A trained model: its text, its number of trees, and the validation metric after each tree."""

    text: str
    trees: int
    curve: list[float]


@dataclass(eq=False, repr=False)
class BoostedTrees(Ranker):
    """Base class of rankers that wrap a library of boosted trees; the model is stored in the library's text format."""

    learns: ClassVar[Mapping[str, Kind]] = {
        **Ranker.learns,
        "booster_text_": Text(),
        "n_iter_": whole(),
        "history_": Curves(),
    }
    takes: ClassVar[tuple[str, ...]] = ("valid",)
    _takes_missing = True

    trees: int = param(300, "maximum number of trees", low=1)
    learning_rate: float = param(0.05, "learning rate (shrinkage)", low=0)
    columns: float = param(0.5, "share of the features sampled for each tree", low=0.01, high=1)
    l2: float = param(1.0, "ridge (L2) penalty on the leaf values", low=0)
    patience: int = param(50, "early stopping: number of trees without improvement of the validation metric", low=1)
    metric: str = param(METRIC, "metric monitored on the validation set")
    threads: int = param(0, "number of threads; 0 for all processors (in LightGBM, for those that are idle)", low=0)
    seed: int = param(0, "seed for feature sampling", low=0, high=2**31 - 1)

    def _fit_rows(self, rows: Rows, valid: tuple[Any, ...] | None) -> None:
        """Train the model on rows sorted by query; store its text and, with ``valid``, the learning curve."""
        watched = None
        if valid is not None:
            validation = self._validation(valid, self.metric)
            watched = Grouped.of(Rows(validation.X, validation.label, validation.query))
        with progress.stage("training trees", self.trees) as step:
            trained = self._train(Grouped.of(rows), watched, step)
        self.booster_text_, self.n_iter_ = trained.text, trained.trees
        self.history_: dict[str, list[float]] = {} if watched is None else {"valid": trained.curve}

    def predict(self, X: Any) -> Floats:
        """Return a score per row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features of the rows to score.

        Returns
        -------
        ndarray of shape (n_samples,)
            One score per row; higher is better. Only scores of the same query are comparable.
        """
        check_is_fitted(self, "booster_text_")
        return self._finite(self._scores(self._checked(X, reset=False)))

    @property
    def _n_threads(self) -> int:
        """Number of threads, at most one per processor, because the libraries abort the process otherwise."""
        return min(self.threads, os.cpu_count() or 1)

    @property
    def feature_importances_(self) -> Floats:
        """Share of each feature in the total gain of all splits; the shares add up to 1."""
        check_is_fitted(self, "booster_text_")
        gain = self._gains()
        return np.asarray(gain / gain.sum() if gain.sum() > 0 else gain)

    def _gains(self) -> Floats:
        """Return the total gain of the splits on each feature."""
        raise NotImplementedError

    def _train(self, train: Grouped, valid: Grouped | None, step: Callable[[], None]) -> Trained:
        raise NotImplementedError

    def _scores(self, X: Matrix) -> Floats:
        raise NotImplementedError

    def _measure(self, scores: Floats, valid: Grouped) -> float:
        return measure(self.metric, np.asarray(scores, np.float64), valid.label, valid.query)
