"""Metrics on arrays: retrieval metrics, distances between rankings, significance of differences.

>>> from concordant import metrics
>>> metrics.evaluate_arrays([0.9, 0.5, 0.1], [0, 2, 1], None, ["ndcg@2", "map"])["map"].round(3).tolist()
[0.583]
>>> metrics.kendall([1, 2, 3], [3, 2, 1])
3.0
"""

from __future__ import annotations

from concordant.metrics.distance import (
    DistanceMetric,
    agree,
    compare_ranks,
    discounted_error,
    footrule,
    kemeny,
    kendall,
    kendall_matrix,
    kendall_to_each,
    position_error,
    spearman,
    tau_b,
)
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
