"""Distances between rankings of the same items, with ties and missing items.

A ranking is a vector of ranks, one per item: lower is better, equal is tied, NaN is not ranked. Only the order
inside a vector matters, never the size of its numbers. The first argument is the reference (the truth, where
there is one).

What happens to items that a ranking leaves out is an explicit choice where it matters:

- ``missing="ignore"``: only the items both rank are compared;
- ``missing="last"``: unranked items are one last bucket;
- ``missing="last-free"``: one last bucket, and pairs inside it cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar

from numpy.typing import ArrayLike

from concordant.errors import ParameterError
from concordant.metrics.value import Metric, parse_all
from concordant.params import values_of


def compare_ranks(
    reference: ArrayLike, ranks: ArrayLike, metrics: str | Metric | Iterable[str | Metric]
) -> dict[str, float]:
    """Compare a ranking with a reference: the value of every distance metric by its name."""
    values = {}
    for metric in parse_all(metrics):
        if not isinstance(metric, DistanceMetric):
            raise ParameterError(f"{metric} needs relevance labels, not a second ranking: use evaluate_arrays.")
        values[str(metric)] = metric.compare(reference, ranks)
    return values


@dataclass(frozen=True)
class DistanceMetric(Metric):
    """A metric of one ranking against a reference ranking of the same items.

    ``function`` takes the two vectors of ranks and the options by name.
    """

    kind: ClassVar[str] = "distance"
    higher_is_better: ClassVar[bool] = False
    function: ClassVar[Callable[..., float]]

    def compare(self, reference: ArrayLike, ranks: ArrayLike) -> float:
        """Compare two vectors of ranks."""
        return type(self).function(reference, ranks, **values_of(self))
