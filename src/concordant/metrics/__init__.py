"""Retrieval metrics, distances between rankings and significance tests, computed on arrays.

>>> from concordant import metrics
>>> metrics.evaluate_arrays([0.9, 0.5, 0.1], [0, 2, 1], None, ["ndcg@2", "map"])["map"].round(3).tolist()
[0.583]
>>> metrics.kendall([1, 2, 3], [3, 2, 1])
3.0

Evaluation, learners and reports import from this package; it imports kernels, parameters and the registry.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from concordant.metrics.distance import DistanceMetric, compare_ranks
from concordant.metrics.evaluating import evaluate_arrays, evaluate_ranked, mean
from concordant.metrics.lists import Lists
from concordant.metrics.retrieval import ListMetric, RetrievalMetric
from concordant.metrics.significance import (
    SystemComparison,
    SystemRow,
    compare_systems,
    holm,
    paired_t_test,
    randomisation_test,
)
from concordant.metrics.value import Description, Metric, conventions, describe, headings, names, parse, parse_all

if TYPE_CHECKING:
    from concordant.metrics.distances.agree import agree
    from concordant.metrics.distances.discounted_error import discounted_error
    from concordant.metrics.distances.footrule import footrule
    from concordant.metrics.distances.kemeny import kemeny, kendall_matrix, kendall_to_each
    from concordant.metrics.distances.kendall import kendall
    from concordant.metrics.distances.position_error import position_error
    from concordant.metrics.distances.spearman import spearman
    from concordant.metrics.distances.tau_b import tau_b

__all__ = [
    "Description",
    "DistanceMetric",
    "ListMetric",
    "Lists",
    "Metric",
    "RetrievalMetric",
    "SystemComparison",
    "SystemRow",
    "agree",
    "compare_ranks",
    "compare_systems",
    "conventions",
    "describe",
    "discounted_error",
    "evaluate_arrays",
    "evaluate_ranked",
    "footrule",
    "headings",
    "holm",
    "kemeny",
    "kendall",
    "kendall_matrix",
    "kendall_to_each",
    "mean",
    "names",
    "paired_t_test",
    "parse",
    "parse_all",
    "position_error",
    "randomisation_test",
    "spearman",
    "tau_b",
]


def __getattr__(name: str) -> object:
    """Return the function of a distance, which is defined in the module of the same name."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = {"kendall_matrix": "kemeny", "kendall_to_each": "kemeny"}.get(name, name)
    globals()[name] = getattr(importlib.import_module(f"{__name__}.distances.{home}"), name)
    return globals()[name]
