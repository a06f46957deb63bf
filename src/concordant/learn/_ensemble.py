"""What means of several rankers share: copies with seeds of their own, and scores brought to one scale."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from concordant.errors import NeedError, ParameterError, arg
from concordant.learn._base import Ranker
from concordant.scorers.base import Matrix
from concordant.support.state import SMALLEST, Kind, ListOf, floats, part
from concordant.types import Floats


@dataclass(eq=False, repr=False)
class MeanRanker(Ranker):
    """The mean of rankers, each one's scores divided by their standard deviation within queries."""

    learns: ClassVar[Mapping[str, Kind]] = {
        **Ranker.learns,
        "scales_": floats("members", low=SMALLEST),
        "rankers_": ListOf(kind=part("widened"), size="members"),
    }
    takes: ClassVar[tuple[str, ...]] = ("valid",)

    def _mean(self, X: Matrix) -> Floats:
        """Return the mean of the rankers' scores, each divided by its scale."""
        parts = [ranker.predict(X) / scale for ranker, scale in zip(self.rankers_, self.scales_.tolist(), strict=True)]
        return self._finite(np.asarray(np.mean(parts, axis=0), np.float64))


def fresh_copy(estimator: Any, name: str, *methods: str) -> Any:
    """Return an unfitted copy of an estimator, or raise (naming the parameter ``name``) if it lacks a method."""
    if isinstance(estimator, type) or not all(hasattr(estimator, method) for method in ("fit", "get_params", *methods)):
        raise ParameterError(arg(name, estimator) + " is not an estimator: give an instance of one, unfitted.")
    return clone(estimator)


def refuse_places(ranker: Any, remedy: str) -> None:
    """Reject a ranker that predicts places in a set, which are not scores that could be averaged."""
    if "qid" in inspect.signature(ranker.predict).parameters:
        raise NeedError(f"{type(ranker).__name__} orders whole sets and has no scores to average: {remedy}.")


def watching(ranker: Any, valid: tuple[Any, ...] | None) -> Mapping[str, Any]:
    """Return the validation set as an argument of ``fit``, or nothing if the ranker does not take one."""
    takes = ranker.takes if hasattr(ranker, "takes") else inspect.signature(ranker.fit).parameters
    return {"valid": valid} if valid is not None and "valid" in takes else {}
