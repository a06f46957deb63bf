"""Tables of metrics of a trained model next to its baselines, with significance tests; and the verdict on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from concordant import metrics as measures
from concordant.narrative.verdict import Dots
from concordant.reporting.sections import Cell, Part, ReportTable, Scale, Text, Track
from concordant.support.text import format_p, p_value
from concordant.types import Floats

Values = Mapping[str, Mapping[str, Floats]]


@dataclass(frozen=True)
class Contrast:
    """A model against its best baseline: the means of a metric, and the adjusted p-value of the difference."""

    baseline: str
    mean: float
    mean_of_baseline: float
    p: float

    @property
    def is_significant(self) -> bool:
        """Whether the difference is significant at the 5% level."""
        return self.p < 0.05

    @property
    def is_better(self) -> bool:
        """Whether the model has the higher mean."""
        return self.mean > self.mean_of_baseline


def _known(values: Values, metric: str) -> dict[str, Floats]:
    """Return a metric by system, for the units that have a value for all of them."""
    columns = {name: of_metric[metric] for name, of_metric in values.items()}
    is_known = ~np.isnan(np.stack(list(columns.values()))).any(axis=0)
    return {name: column[is_known] for name, column in columns.items()}


def contrast_of(values: Values, metric: str) -> Contrast | None:
    """Compare the first system with the best of the others by a paired t test; None without others."""
    known = _known(values, metric)
    if len(known) < 2 or not len(next(iter(known.values()))):
        return None
    first, *rows = measures.compare_systems(known, baseline=next(iter(known))).rows
    best = max(rows, key=lambda row: row.mean)
    return Contrast(best.system, first.mean, best.mean, best.p_holm)


def contrast_sentence(contrast: Contrast, model: str, baseline: str, metric: str, over: str) -> str:
    """Return a sentence on the means and on the significance of their difference."""
    shown = short_name(metric)
    means = f"{over}, {model} has {shown} {contrast.mean:.3f}, and {baseline} {contrast.mean_of_baseline:.3f}"
    is_or_not = "is" if contrast.is_significant else "is not"
    return f"{means}; the difference {is_or_not} statistically significant: {p_value(contrast.p, 'Holm')}."


def short_name(metric: str) -> str:
    """Return a metric as people write it in a sentence: nDCG@10, MAP."""
    name, at, cutoff = metric.partition("@")
    return {"ndcg": "nDCG"}.get(name, name.upper()) + at + cutoff


def span_of(count: Any) -> str:
    """Return the range of some counts with their median."""
    low, middle, high = float(count.min()), float(np.median(count)), float(count.max())
    return f"{low:,g} to {high:,g} (median {middle:,.4g})" if low < high else f"{low:,g}"


def dots_of(values: Values, metric: str, titles: Mapping[str, str]) -> Dots:
    """Return a picture of the means of a metric."""
    means = {name: measures.mean(column) for name, column in _known(values, metric).items()}
    order = sorted(means, key=lambda name: -means[name])
    unknown = (None,) * len(order)
    labels = tuple(titles.get(name, name) for name in order)
    return Dots(short_name(metric), labels, tuple(float(means[name]) for name in order), unknown, unknown)


def metrics_table(values: Values, titles: Mapping[str, str], title: str) -> list[Part]:
    """Return the means of all metrics, best first, with a paired t test of the first metric against the model."""
    names, metrics = list(values), list(next(iter(values.values())))
    known = _known(values, metrics[0])
    tests = {row.system: row for row in measures.compare_systems(known, baseline=names[0]).rows[1:]}
    means = {name: {metric: measures.mean(values[name][metric]) for metric in metrics} for name in names}
    headings, plot = measures.headings(metrics), f"{measures.headings(metrics[:1])[0]} (plot)"
    rows: list[tuple[Cell, ...]] = []
    order = sorted(names, key=lambda name: -means[name][metrics[0]])
    for name in order:
        test = tests.get(name)
        told = ("", "") if test is None else (f"{test.difference:+.4f}", format_p(test.p_holm))
        cells = [f"{means[name][metric]:.4f}" for metric in metrics]
        rows.append((titles.get(name, name), cells[0], Track(float(means[name][metrics[0]])), *told, *cells[1:]))
    n = len(metrics)
    header = ("system", headings[0], plot, "difference", "p (Holm)", *headings[1:])
    right = frozenset([1, *range(3, n + 4)])
    own = frozenset([order.index(names[0])])
    table = ReportTable(
        title, header, tuple(rows), right, frozenset([0]), Scale(0.0, 1.0, plot, is_bar=True),
        minor=frozenset(range(3, n + 4)), chosen=own,
    )  # fmt: skip
    parts: list[Part] = [
        table,
        Text(f"Differences from {titles.get(names[0], names[0])} in {headings[0]}; paired t test, Holm's correction."),
    ]
    told_conventions = measures.conventions(metrics)
    return [*parts, *(Text(f"{heading}: {text}.") for heading, text in _by_heading(told_conventions, metrics))]


def _by_heading(conventions: Mapping[str, str], metrics: list[str]) -> list[tuple[str, str]]:
    headings = dict(zip(metrics, measures.headings(metrics), strict=True))
    return [(headings[metric], text) for metric, text in conventions.items()]
