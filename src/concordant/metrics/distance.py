"""Distances between rankings of the same items, with ties and missing items.

A ranking is a vector of ranks, one per item: lower is better, equal ranks are ties, and NaN marks unranked items. Only
the order of the values matters, not their size. The first argument is the reference (the truth, if there is one). The
treatment of unranked items is an explicit choice where it matters:

- ``missing="ignore"``: only the items that both rank are compared;
- ``missing="last"``: unranked items are tied in last place;
- ``missing="last-free"``: the same, but pairs of unranked items cost nothing.
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
    """Compare a ranking with a reference ranking by several distance metrics.

    Parameters
    ----------
    reference : array-like of shape (n_items,)
        Ranks of the reference (the truth, if there is one); NaN for unranked items.
    ranks : array-like of shape (n_items,)
        Ranks to compare with it.
    metrics : str, Metric or iterable of these
        Distance metrics, such as ``"kendall tau-b"``.

    Returns
    -------
    dict of str to float
        Values by metric.

    Raises
    ------
    ParameterError
        If a metric needs relevance labels.

    Examples
    --------
    >>> from concordant import metrics
    >>> metrics.compare_ranks([1, 2, 3], [1, 3, 2], "kendall footrule")
    {'kendall': 1.0, 'footrule': 2.0}
    """
    values = {}
    for metric in parse_all(metrics):
        if not isinstance(metric, DistanceMetric):
            raise ParameterError(f"{metric} needs relevance labels, not a second ranking: use evaluate_arrays.")
        values[str(metric)] = metric.compare(reference, ranks)
    return values


@dataclass(frozen=True)
class DistanceMetric(Metric):
    """A metric that compares a ranking with a reference ranking of the same items.

    ``function`` takes the two vectors of ranks, and the options by name.
    """

    kind: ClassVar[str] = "distance"
    higher_is_better: ClassVar[bool] = False
    function: ClassVar[Callable[..., float]]

    def compare(self, reference: ArrayLike, ranks: ArrayLike) -> float:
        """Compare two vectors of ranks.

        Parameters
        ----------
        reference : array-like of shape (n_items,)
            Ranks of the reference (the truth, if there is one); NaN for unranked items.
        ranks : array-like of shape (n_items,)
            Ranks to compare with it.

        Returns
        -------
        float
            The value of the metric.
        """
        return type(self).function(reference, ranks, **values_of(self))
