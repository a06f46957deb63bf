"""What the wrappers of gradient-boosted trees share: rows brought together by query, grades, early stopping."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from concordant.errors import ConcordantError
from concordant.learn._base import METRIC, Ranker
from concordant.learn._data import Rows, measure
from concordant.params import param
from concordant.scorers.base import Matrix
from concordant.support.state import Curves, Kind, Text, whole
from concordant.types import Floats, Int64s

LARGEST_GRADE = 30  # gains are 2^grade - 1


class Grouped(NamedTuple):
    """Rows sorted by query: features, labels, the size of every query, and a weight per query or None."""

    X: Matrix
    label: Floats
    size: Int64s
    weight: Floats | None

    @property
    def query(self) -> Int64s:
        """The query of every row, from 0."""
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
    """Labels as whole numbers from 0 on, and the gain of each."""

    grade: Int64s
    gain: Floats
    is_plain: bool
    """Whether grades are the labels themselves and gains 2^label - 1."""

    @classmethod
    def of(cls, label: Floats) -> Grades:
        """Take whole labels from 0 to 30 as they are; number the distinct values of any others, with linear gains."""
        if (label == np.rint(label)).all() and label.min() >= 0 and label.max() <= LARGEST_GRADE:
            grade = label.astype(np.int64)
            return cls(grade, np.exp2(np.arange(int(grade.max()) + 1)) - 1, True)
        _, number = np.unique(label, return_inverse=True)
        return cls(number.astype(np.int64), np.arange(int(number.max()) + 1.0), False)


def library(name: str, needs: str) -> Any:
    """Import a library that may be missing; ``needs`` starts the error message."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise ConcordantError(f"{needs}: install it with pip install 'concordant[learn]'.") from None


class Trained(NamedTuple):
    """What a library returns: the model as text, its number of trees, the metric on the validation set after each."""

    text: str
    trees: int
    curve: list[float]


@dataclass(eq=False, repr=False)
class BoostedTrees(Ranker):
    """Base of the wrappers: a library's rankers under the face of all others, kept as the library's own text."""

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
    patience: int = param(50, "early stopping: number of trees without a better validation metric", low=1)
    metric: str = param(METRIC, "metric monitored on the validation set")
    threads: int = param(0, "number of threads; 0 for all processors", low=0)
    seed: int = param(0, "seed of the feature sampling", low=0, high=2**31 - 1)

    def _fit_rows(self, rows: Rows, valid: tuple[Any, ...] | None) -> None:
        """Train the library's model on rows sorted by query; keep its text and, with ``valid``, the learning curve."""
        watched = None
        if valid is not None:
            validation = self._validation(valid, self.metric)
            watched = Grouped.of(Rows(validation.X, validation.label, validation.query))
        trained = self._train(Grouped.of(rows), watched)
        self.booster_text_, self.n_iter_ = trained.text, trained.trees
        self.history_: dict[str, list[float]] = {} if watched is None else {"valid": trained.curve}

    def predict(self, X: Any) -> Floats:
        """Return a score per row, higher for better; only rows of the same query should be compared."""
        check_is_fitted(self, "booster_text_")
        return self._finite(self._scores(self._checked(X, reset=False)))

    @property
    def _n_threads(self) -> int:
        """The threads asked for, at most one per processor: otherwise the libraries end the process."""
        return min(self.threads, os.cpu_count() or 1)

    @property
    def feature_importances_(self) -> Floats:
        """The share of every feature in the gain of all splits; they add up to 1."""
        check_is_fitted(self, "booster_text_")
        gain = self._gains()
        return np.asarray(gain / gain.sum() if gain.sum() > 0 else gain)

    def _gains(self) -> Floats:
        """Return, for every feature, the total gain of the splits by it."""
        raise NotImplementedError

    def _train(self, train: Grouped, valid: Grouped | None) -> Trained:
        raise NotImplementedError

    def _scores(self, X: Matrix) -> Floats:
        raise NotImplementedError

    def _measure(self, scores: Floats, valid: Grouped) -> float:
        return measure(self.metric, np.asarray(scores, np.float64), valid.label, valid.query)
