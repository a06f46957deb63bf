"""Metasearch on the LETOR 4.0 aggregation sets (paper 002, table 3; paper 000, table 1).

Each query comes with the ranked lists of 25 (MQ2008-agg) or 21 (MQ2007-agg) search engines and with judged
documents. A method fuses the lists of a query; its ranking is scored by NDCG and precision at 1..5 and by average
precision, averaged over the test queries of a fold, then over the five folds, in percent.

Conventions that carry the published figures: NDCG with the LETOR script's discount, a query without relevant
documents scores 0 and stays in the mean, label >= 1 is relevant, every document of the file is a candidate, ranked
by an engine or not. Fold f tests on part A(f+4), cyclically, so the five test sets are the five parts.

The published BordaCount rows come from the LETOR site and do not follow from these lists: a Borda count of them
does far better. The row is shown for comparison and is not a target.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from concordant import api
from concordant.errors import InputError
from concordant.evaluation import evaluate
from concordant.experiments import data_folder
from concordant.registry import resolve

SETS = ("MQ2008-agg", "MQ2007-agg")
PARTS = tuple(f"A{k}" for k in range(1, 6))
COLUMNS = (*(f"{letter}@{k}" for letter in "NP" for k in range(1, 6)), "MAP")
METRICS = (*(f"ndcg@{k}:letor" for k in range(1, 6)), *(f"p@{k}" for k in range(1, 6)), "map")
DEFAULT_METHODS = ("rrf", "borda", "median-rank", "copeland", "condorcet-fuse", "schulze", "combmnz")

# Rows of paper 002, table 3, by the name the method has here.
PUBLISHED: dict[str, dict[str, tuple[float, ...]]] = {
    "MQ2008-agg": {
        "borda": (23.68, 28.06, 30.80, 34.32, 37.13, 29.72, 30.42, 29.38, 29.75, 29.03, 39.45),
        "cps": (26.52, 31.38, 34.59, 37.63, 40.04, 31.63, 32.27, 32.27, 31.66, 30.64, 41.02),
        "svp": (32.49, 36.20, 38.62, 40.17, 41.85, 38.52, 36.42, 34.65, 32.01, 30.23, 43.61),
        "bradley-terry": (38.05, 39.24, 40.77, 41.79, 42.62, 44.77, 39.73, 36.26, 33.19, 30.28, 44.35),
        "plackett-luce": (35.20, 38.49, 39.70, 40.49, 41.55, 41.32, 38.96, 35.33, 32.02, 29.62, 42.20),
        "condorcet-fuse": (35.67, 37.39, 39.11, 40.50, 41.59, 40.94, 37.43, 34.73, 32.08, 29.59, 42.63),
        "rrf": (38.77, 40.73, 43.48, 45.70, 47.17, 44.89, 41.32, 38.82, 36.51, 34.13, 47.71),
    },
    "MQ2007-agg": {
        "borda": (19.02, 20.14, 20.81, 21.28, 21.88, 24.88, 25.24, 25.69, 25.80, 25.97, 32.52),
        "cps": (31.96, 33.18, 33.86, 34.09, 34.76, 38.65, 38.65, 38.14, 37.19, 37.02, 40.69),
        "svp": (35.82, 35.91, 36.53, 37.16, 37.50, 41.61, 40.28, 39.50, 38.88, 38.10, 42.73),
        "bradley-terry": (39.88, 39.86, 40.40, 40.60, 40.91, 46.34, 44.65, 43.48, 41.98, 40.95, 43.98),
        "plackett-luce": (40.63, 40.39, 40.26, 40.71, 40.96, 46.93, 45.10, 43.09, 42.32, 41.09, 43.64),
        "condorcet-fuse": (37.31, 37.63, 38.03, 38.37, 38.66, 43.26, 42.14, 40.94, 39.85, 38.75, 42.56),
        "rrf": (41.93, 42.66, 42.42, 42.73, 43.13, 48.70, 47.20, 44.84, 43.52, 42.52, 46.72),
    },
}


def run(
    data: str | os.PathLike[str] | None,
    sets: Sequence[str] = SETS,
    methods: Sequence[str] = DEFAULT_METHODS,
    progress: Callable[[str], None] = lambda _: None,
) -> list[dict[str, Any]]:
    """Return one row per set and method: dataset, method, the columns in percent, and what was published."""
    from concordant.io import read, read_labels

    for name in sets:
        if name not in SETS:
            raise InputError(f"There is no set {name!r}: use {' or '.join(SETS)}.")
    known = [(resolve(name)[0], name) for name in methods]
    rows = []
    for dataset in sets:
        folder = data_folder(data, "letor4-agg", dataset)
        folds = []
        for part in PARTS:
            path = next((p for p in (folder / f"{part}.txt", folder / f"{part}.txt.gz") if p.is_file()), None)
            if path is None:
                raise InputError(f"{folder / part}.txt is not there: this experiment needs the parts A1 to A5.")
            folds.append((read(path), read_labels(path)))
            progress(f"{dataset}: read {part}")
        for method, spelt in known:
            values = []
            for prefs, labels in folds:
                means = evaluate(api.rank(prefs, spelt), labels, METRICS).means
                values.append([100 * mean for mean in means.values()])
                progress(f"{dataset}: {spelt}")
            means_of_folds = [sum(column) / len(folds) for column in zip(*values, strict=True)]
            published = PUBLISHED[dataset].get(method)
            rows.append(
                {
                    "dataset": dataset,
                    "method": spelt,
                    **dict(zip(COLUMNS, means_of_folds, strict=True)),
                    "published": None if published is None else dict(zip(COLUMNS, published, strict=True)),
                }
            )
    return rows


def n_steps(sets: Sequence[str], methods: Sequence[str]) -> int:
    """Return how many times ``run`` reports progress."""
    return len(sets) * len(PARTS) * (1 + len(methods))
