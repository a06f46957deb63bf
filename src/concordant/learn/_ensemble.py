"""Base class of ensembles that average rankers: unfitted copies and standardised scores."""

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
    """Mean of rankers, after the scores of each are divided by their standard deviation within queries."""

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
    """Return an unfitted copy of an estimator, or raise an error for the parameter ``name`` if it lacks a method."""
    if isinstance(estimator, type) or not all(hasattr(estimator, method) for method in ("fit", "get_params", *methods)):
        raise ParameterError(arg(name, estimator) + " is not an estimator: give an unfitted instance of one.")
    return clone(estimator)


def refuse_places(ranker: Any, remedy: str) -> None:
    """Raise an error for a ranker that predicts positions within a query, which cannot be averaged like scores."""
    if "qid" in inspect.signature(ranker.predict).parameters:
        raise NeedError(
            f"{type(ranker).__name__} predicts an order per query, so it has no scores to average: {remedy}."
        )


def watching(ranker: Any, valid: tuple[Any, ...] | None) -> Mapping[str, Any]:
    """Return the validation set as an argument of ``fit``, or no argument if the ranker does not accept one."""
    takes = ranker.takes if hasattr(ranker, "takes") else inspect.signature(ranker.fit).parameters
    return {"valid": valid} if valid is not None and "valid" in takes else {}
