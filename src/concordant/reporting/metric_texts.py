"""Names and values of metrics as text: headings, names in sentences, means and differences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from concordant.metrics import headings

ACRONYMS = frozenset(["err", "f1", "map", "mrr", "ndcg", "p", "rbp"])
CHANGED = 0.00005  # differences below this look like none


def metric_name(metric: str) -> str:
    """Return a metric as people write it in a sentence, without its options: NDCG@10, MAP, recall@100."""
    return metric_heading(metric).partition(" (")[0]


def short_headings(metrics: Iterable[str]) -> dict[str, str]:
    """Return the headings of metrics: their names, or with the conventions where names would be the same."""
    names = {metric: metric_name(metric) for metric in metrics}
    counts = Counter(names.values())
    return {metric: name if counts[name] == 1 else metric_heading(metric) for metric, name in names.items()}


def metric_heading(metric: str) -> str:
    """Return the heading of a metric, with the conventions in which tools differ: NDCG@10 (exponential)."""
    whole, colon, options = headings([metric])[0].partition(":")
    name, at, rest = whole.partition("@")
    shown = f"{name.upper() if name in ACRONYMS else name}{at}{rest}"
    return f"{shown} ({options.replace(':', ', ')})" if colon else shown


def shown_value(value: float) -> str:
    """Return the value of a metric for a table."""
    return "skipped" if value != value else f"{value:.4f}"


def signed(value: float) -> str:
    """Return a difference with its sign."""
    return "0" if abs(value) < CHANGED else f"{value:+.4f}".replace("-", "−")


def known(value: float) -> float:
    """Return a value for sorting and drawing; a skipped metric counts as 0."""
    return 0.0 if value != value else float(value)
