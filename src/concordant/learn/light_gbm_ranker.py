"""Gradient-boosted trees by LightGBM, with the interface of the other rankers.

``objective="lambdarank"`` is LambdaMART: trees fitted to the gradients of a pairwise logistic loss in which each pair
is weighted by the change of NDCG if its rows were swapped. ``"rank_xendcg"`` is a listwise cross entropy that bounds
NDCG. Use trees if the label depends non-linearly on the features and there are at least a few thousand rows; linear
rankers are faster and often as good on small data. NaN marks missing features, queries may come in any order, and
``valid=`` enables early stopping on any metric of concordant. The defaults (small trees, each grown on half of the
features) suit data sets of about ten thousand rows.

Integer labels from 0 to 30 have gains 2^label - 1; other labels are numbered in increasing order and have linear gains.
The fitted model is stored in LightGBM's text format in ``booster_text_``.

Cost: O(rows x features) per tree. References: C. Burges, From RankNet to LambdaRank to LambdaMART, Microsoft Research
MSR-TR-2010-82; G. Ke et al., LightGBM, NeurIPS 2017; S. Bruch, An alternative cross entropy loss for learning-to-rank,
WWW 2021.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from concordant.errors import InputError
from concordant.learn._booster_texts import lightgbm_text
from concordant.learn._boosters import BoostedTrees, Grades, Grouped, Trained, library
from concordant.params import param
from concordant.scorers.base import Matrix
from concordant.support.interrupts import interruptible
from concordant.types import Floats

LARGEST_QUERY = 10_000  # rows LightGBM takes in one query


@dataclass(eq=False, repr=False)
class LightGBMRanker(BoostedTrees):
    """LambdaMART or listwise cross-entropy (XE-NDCG) with boosted trees, by LightGBM."""

    objective: str = param("lambdarank", "objective of the trees", choices=("lambdarank", "rank_xendcg"))
    leaves: int = param(15, "maximum number of leaves per tree", low=2)
    min_rows: int | None = param(
        None, "minimum number of rows per leaf; by default 1% of all rows, between 5 and 100", low=1
    )

    def _train(self, train: Grouped, valid: Grouped | None, step: Callable[[], None]) -> Trained:
        """Train LightGBM on rows sorted by query; with a validation set, stop early on the metric."""
        lightgbm = _library()
        if train.size.max() > LARGEST_QUERY:
            raise InputError(
                f"A query has {train.size.max():,} rows, but LightGBM takes at most {LARGEST_QUERY:,}: "
                "split it, or use a concordant ranker."
            )
        grades = Grades.of(train.label)
        if self.objective == "rank_xendcg" and not grades.is_plain:
            raise InputError("rank_xendcg needs integer labels from 0 to 30: convert the labels.")
        by_row = None if train.weight is None else np.repeat(train.weight, train.size)
        settings = self._settings(grades, len(train.label))
        data = lightgbm.Dataset(_readable(train.X), grades.grade, weight=by_row, group=train.size, params=settings)
        interruptible(data.construct)
        if valid is None:
            booster = lightgbm.train(settings, data, self.trees, callbacks=[lambda _: step()])
            text = self._reproducible(booster.model_to_string(num_iteration=-1), settings)
            return Trained(text, booster.current_iteration(), [])
        watched = lightgbm.Dataset(
            _readable(valid.X), np.zeros(len(valid.label)), group=valid.size, reference=data, params=settings
        )
        evaluations: dict[str, Any] = {}
        booster = lightgbm.train(
            settings,
            data,
            self.trees,
            valid_sets=[watched],
            valid_names=["valid"],
            feval=lambda scores, _data: (self.metric, self._measure(scores, valid), True),
            callbacks=[
                lambda _: step(),
                lightgbm.early_stopping(self.patience, verbose=False),
                lightgbm.record_evaluation(evaluations),
            ],
        )
        text = self._reproducible(booster.model_to_string(num_iteration=booster.best_iteration), settings)
        return Trained(text, booster.best_iteration, list(evaluations["valid"][self.metric]))

    def _settings(self, grades: Grades, n_rows: int) -> dict[str, Any]:
        """Return the parameters of LightGBM."""
        return {
            "objective": self.objective,
            "metric": "None",
            "label_gain": grades.gain.tolist(),
            "learning_rate": self.learning_rate,
            "num_leaves": self.leaves,
            "min_data_in_leaf": min(max(n_rows // 100, 5), 100) if self.min_rows is None else self.min_rows,
            "feature_fraction": self.columns,
            "lambda_l2": self.l2,
            "seed": self.seed,
            "deterministic": True,
            "force_row_wise": True,
            "num_threads": self._n_threads,
            "verbosity": -1,
        }

    def _reproducible(self, text: str, settings: dict[str, Any]) -> str:
        """Return the text of a model with the number of threads that was asked for instead of the one that was idle."""
        return text.replace(f"[num_threads: {settings['num_threads']}]", f"[num_threads: {self.threads}]", 1)

    @property
    def _n_threads(self) -> int:
        """Number of threads, by default one per idle processor; the model does not depend on it."""
        return super()._n_threads or idle_processors()

    def _gains(self) -> Floats:
        return np.asarray(_booster(self.booster_text_, self.n_features_in_).feature_importance("gain"), np.float64)

    def _scores(self, X: Matrix) -> Floats:
        booster = _booster(self.booster_text_, self.n_features_in_)
        return np.asarray(booster.predict(_readable(X), num_threads=self._n_threads), np.float64)

    def check_learnt(self) -> None:
        """Raise ValueError if the text is not a valid LightGBM model with this number of features."""
        lightgbm_text(self.booster_text_, self.n_features_in_)


def idle_processors() -> int:
    """Return the number of processors that other work leaves idle, at least 1 and at most ``OMP_NUM_THREADS``.

    The threads of LightGBM wait for each other in busy loops after every leaf: where two of them share a processor with
    other work, training takes many times as long as in one thread.
    """
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit = os.environ.get("OMP_NUM_THREADS", "")
    usable = min(usable, int(limit)) if limit.isdecimal() and int(limit) else usable
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return max(1, int(usable - load + 0.5))


@lru_cache(maxsize=8)
def _booster(text: str, n_features: int) -> Any:
    """Return the model from its text; the library's parser receives only checked parts."""
    return _library().Booster(model_str=lightgbm_text(text, n_features))


def _readable(X: Matrix) -> Matrix:
    """Return sparse arrays as sparse matrices, which LightGBM requires, without copying."""
    if isinstance(X, np.ndarray):
        return X
    from scipy.sparse import csr_matrix

    return csr_matrix(X)


def _library() -> Any:
    return library("lightgbm", "LightGBMRanker needs LightGBM")
