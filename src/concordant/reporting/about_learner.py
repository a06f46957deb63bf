"""Report sections on a ranker of feature rows: metrics on held-out queries, features, and the predicted order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from concordant.analysis.training import RANDOM, SINGLE, HeldOut, importance
from concordant.ballots.vocabulary import shorten
from concordant.io.formats.features import Features
from concordant.narrative.verdict import Chip, Verdict
from concordant.reporting.about_comparison import (
    contrast_of,
    contrast_sentence,
    dots_of,
    metrics_table,
    span_of,
)
from concordant.reporting.metric_texts import metric_name
from concordant.reporting.sections import Cell, Message, Messages, Part, ReportTable, Scale, Section, Text, Track
from concordant.support.text import capital

TOP = 100  # rows of a table
BETTER = "Better than any single feature"
NO_BETTER = "Not shown to be better than a single feature"
TITLES = {
    "bagged-ranker": "Bagged rankers",
    "blended-ranker": "Blend of rankers",
    "davidson-ranker": "Davidson",
    "forest-ranker": "Randomised forest",
    "lambda-rank": "LambdaRank",
    "light-gbm-ranker": "LightGBM",
    "list-mle": "ListMLE",
    "list-net": "ListNet",
    "loss-ranker": "Any loss",
    "ordered-partition-ranker": "Ordered partitions",
    "ordinal-ranker": "Ordinal regression",
    "pairwise-ranker": "Pairwise classification",
    "rank-boost": "RankBoost",
    "rank-net": "RankNet",
    "rank-regressor": "Regression",
    "rank-svm": "Ranking SVM",
    "rao-kupper-ranker": "Rao-Kupper",
    "xgboost-ranker": "XGBoost",
}


@dataclass(frozen=True, eq=False)
class Learnt:
    """Feature rows, and a ranker that was trained on some of their queries and evaluated on the others."""

    rows: Features
    tried: HeldOut

    @property
    def title(self) -> str:
        """The usual name of the ranker."""
        return title_of(self.tried.trained.name)

    @property
    def metric(self) -> str:
        """The metric of the verdict."""
        return next(iter(self.tried.values[self.tried.trained.name]))

    @cached_property
    def titles(self) -> dict[str, str]:
        """The names of the ranker and of the baselines in tables."""
        single = f"{SINGLE}: {shorten(self.tried.single, 40)}"
        return {self.tried.trained.name: self.title, RANDOM: "Random order", SINGLE: single}


def title_of(name: str) -> str:
    """Return the usual name of a ranker."""
    return TITLES.get(name, name)


def _said(of: Learnt) -> str:
    contrast = contrast_of(of.tried.values, of.metric)
    n = of.tried.test.n_queries
    over = "On 1 held-out query" if n == 1 else f"On {n:,} held-out queries"
    if contrast is None:
        mean = of.tried.trained.values["held-out"][of.metric]
        return f"{over}, {of.title} has {metric_name(of.metric)} {mean:.3f}."
    name = {RANDOM: "a random order", SINGLE: f"the best single feature ({_feature(of.tried.single)})"}
    return contrast_sentence(contrast, of.title, name[contrast.baseline], of.metric, over)


def learner_verdict(of: Learnt) -> Verdict:
    """Return the verdict: whether the ranker orders held-out queries better than the baselines."""
    numbers = (
        (f"{of.rows.n_queries:,}", "query" if of.rows.n_queries == 1 else "queries"),
        (f"{len(of.rows.y):,}", "rows"),
        (f"{of.rows.X.shape[1]:,}", "features"),
    )
    titles = {of.tried.trained.name: "this model", RANDOM: "Random order", SINGLE: shorten(of.tried.single, 15)}
    figure = dots_of(of.tried.values, of.metric, titles)
    over = "Evaluation on held-out queries"
    verdict = Verdict(over, BETTER, False, _said(of), (), numbers, of.title, of.tried.trained.name, figure)
    contrast = contrast_of(of.tried.values, of.metric)
    if contrast is not None and contrast.is_better and contrast.is_significant:
        return verdict
    chip = Chip("A single feature may do as well", "warn", "quality")
    return replace(verdict, headline=NO_BETTER, chips=(chip,))


def quality_section(of: Learnt) -> Section:
    """Show the metrics on held-out queries next to the baselines."""
    tried = of.tried
    n, m = tried.train.n_queries, tried.test.n_queries
    parts: list[Part] = [Text(_said(of), "lead")]
    parts += metrics_table(tried.values, of.titles, f"Mean over {m:,} held-out {'query' if m == 1 else 'queries'}")
    how = (
        f"{m:,} of {n + m:,} queries were held out at random, and the ranker was trained on the {n:,} others. The best "
        "single feature was chosen on the training queries. The downloaded model is trained on all queries."
    )
    parts.append(Text(how))
    if tried.trained.warnings:
        parts.append(Messages(tuple(Message("Training", text) for text in tried.trained.warnings)))
    return Section("quality", "Evaluation", tuple(parts))


def _feature(name: str) -> str:
    """Return the name of a feature; a number is called one."""
    return f"feature {name}" if name.isdecimal() else shorten(name, 60)


def features_section(of: Learnt) -> Section | None:
    """Show what each feature contributes; None if the model does not tell."""
    found = importance(of.tried.trained.model, of.tried.train)
    if found is None:
        return None
    what, value = found
    order = np.argsort(-np.abs(value), kind="stable")[:TOP]
    largest = float(np.abs(value).max()) or 1.0
    plot = f"{capital(what)} (plot)"
    is_bar = bool((value >= 0).all())
    scale = Scale(0.0 if is_bar else -largest, largest, plot, None if is_bar else 0.0, is_bar=is_bar)
    rows = tuple(
        (_feature(of.rows.names[k]), f"{value[k]:.4g}", Track(float(value[k]))) for k in order.tolist()
    )  # fmt: skip
    header, title = ("Feature", capital(what), plot), "Features, largest contribution first"
    table = ReportTable(title, header, rows, frozenset([1]), frozenset([0]), scale)
    left_out = [] if len(value) <= TOP else [Text(f"The table shows {TOP} of {len(value):,} features.", "left-out")]
    notes = {
        "importance": "Share of the improvement of the trees that is due to the feature.",
        "weight per standard deviation": "Change of the score when the feature rises by one standard deviation.",
        "total vote": "Sum of the votes of the rules on the feature.",
    }
    return Section("features", "Features", (table, *left_out), notes[what])


def queries_section(of: Learnt) -> Section:
    """Show the value of the metric for each held-out query, worst first."""
    test, name = of.tried.test, of.tried.trained.name
    value = of.tried.values[name][of.metric]
    single = of.tried.values[SINGLE][of.metric]
    order = np.argsort(np.where(np.isnan(value), np.inf, value), kind="stable")[:TOP]
    size = np.bincount(test.query, minlength=test.n_queries)
    heading = metric_name(of.metric)
    plot = f"{heading} (plot)"
    rows: list[tuple[Cell, ...]] = []
    for k in order.tolist():
        label = str(k + 1) if test.queries is None else shorten(test.queries[k], 60)
        is_known = not np.isnan(value[k])
        cells: tuple[Cell, ...] = ("skipped", "") if not is_known else (
            f"{value[k]:.3f}", Track(float(value[k]), other=float(single[k]))
        )  # fmt: skip
        rows.append((label, f"{size[k]:,}", *cells))
    table = ReportTable(
        "Held-out queries, worst first", ("Query", "Rows", heading, plot), tuple(rows), frozenset([1, 2]),
        frozenset([0]), Scale(0.0, 1.0, plot), minor=frozenset([1]),
    )  # fmt: skip
    left_out = [] if test.n_queries <= TOP else [Text(f"The table shows {TOP} of {test.n_queries:,}.", "left-out")]
    note = f"The hollow dot is the best single feature ({_feature(of.tried.single)})."
    return Section("queries", "Queries", (table, *left_out), note)


def data_rows(of: Learnt) -> list[tuple[str, str]]:
    """Return facts on the rows."""
    rows = of.rows
    size = np.bincount(rows.query)
    labels, count = np.unique(rows.y, return_counts=True)
    shown = ", ".join(f"{label:g} ({n:,})" for label, n in zip(labels[:10].tolist(), count.tolist(), strict=False))
    names = ", ".join(shorten(name, 30) for name in rows.names[:12])
    return [
        ("rows", f"{len(rows.y):,}"),
        ("queries", f"{rows.n_queries:,}, with {span_of(size)} rows each"),
        ("features", f"{rows.X.shape[1]:,}: {names}{', …' if len(rows.names) > 12 else ''}"),
        ("labels", shown + (", …" if len(labels) > 10 else "")),
    ]


def predictions(rows: Features, scores: Any) -> dict[str, list[Any]]:
    """Return the score and the rank of every row in its query as columns, in the order of the rows."""
    rank = np.empty(len(scores), np.int64)
    order = np.lexsort((-scores, rows.query))
    start = np.searchsorted(rows.query[order], np.arange(rows.n_queries))
    rank[order] = np.arange(len(order)) - start[rows.query[order]] + 1
    queries = rows.query + 1 if rows.queries is None else np.asarray(rows.queries.take(rows.query), object)
    items = list(range(1, len(scores) + 1)) if rows.items is None else rows.items
    return {
        "query": queries.tolist(),
        "row" if rows.items is None else "item": list(items),
        "label": rows.y.tolist(),
        "score": scores.tolist(),
        "rank": rank.tolist(),
    }
