"""Report section on instances: a table of all instances, and the top items of each."""

from __future__ import annotations

from typing import Any

import numpy as np

from concordant.ballots.vocabulary import shorten
from concordant.metrics import headings
from concordant.narrative.certainty import summary
from concordant.reporting.about_ranking import LABEL, download, ranking_table
from concordant.reporting.sections import Fold, Part, ReportTable, Section, Text
from concordant.reporting.study import Study

MAX_OPENED = 50


def instances_section(study: Study, top: int) -> Section | None:
    """Show a table of all instances, and the top items of each; None if there is only one."""
    ranking = study.ranking
    if ranking.n_instances == 1:
        return None
    table, folds = _instances_table(study, top), []
    for q, part in enumerate(ranking):
        if q >= min(top, MAX_OPENED):
            break
        if len(part.score):
            folds.append(
                Fold(str(part.instance), (ranking_table(part, 10, f"Top items of {part.instance}"),), _anchor(q), True)
            )
    parts: list[Part] = [
        Text(f"{ranking.n_instances:,} instances, each ranked by {ranking.method}.", "lead"),
        Text(summary(ranking.certainties)),
        table,
    ]
    if len(table.rows) < ranking.n_instances:
        sentence = f"The table shows the first {len(table.rows):,} of {ranking.n_instances:,} instances."
        parts.append(Text(sentence, "left-out"))
    if len(folds) < ranking.n_instances:
        parts.append(Text(f"The top items of {len(folds)} instances follow; the csv file has all.", "left-out"))
    parts.append(download(ranking, "Download all instances and items (csv)"))
    return Section("instances", "Instances", (*parts, *folds))


def _instances_table(study: Study, top: int) -> ReportTable:
    """Return one row per instance: sizes, first two items, metrics, and a link to its top items."""
    ranking, prefs = study.ranking, study.prefs
    n_ballots = np.bincount(prefs.instance_of_ballot, minlength=prefs.n_instances)
    evaluation = study.evaluations.get(ranking.method) if study.labels is not None else None
    values = {} if evaluation is None or evaluation.instances is None else _by_instance(evaluation)
    metrics = list(evaluation.per_instance) if values and evaluation is not None else []
    rows, links = [], []
    for q, part in enumerate(ranking):
        if q >= 2 * top:
            break
        first = [shorten(label, 60) for label in part.items[:2]]
        name = str(part.instance)
        metric_values = [values[name][metric] if name in values else "" for metric in metrics]
        sizes = (f"{len(part.items):,}", f"{n_ballots[q]:,}")
        rows.append((shorten(name, LABEL), *sizes, *first, *[""] * (2 - len(first)), *metric_values))
        links.append(_anchor(q) if q < min(top, MAX_OPENED) and len(part.score) else "")
    header = ("instance", "candidates", "ballots", "first", "second", *headings(metrics))
    right = frozenset([1, 2, *range(5, len(header))])
    return ReportTable("Instances", header, tuple(rows), right, frozenset([0, 3, 4]), links=tuple(links))


def _by_instance(evaluation: Any) -> dict[str, dict[str, str]]:
    """Return the values of all metrics as text, by instance and metric."""
    return {
        name: {metric: _value(values[k]) for metric, values in evaluation.per_instance.items()}
        for k, name in enumerate(evaluation.instances.labels)
    }


def _value(value: float) -> str:
    return "skipped" if np.isnan(value) else f"{value:.4f}"


def _anchor(q: int) -> str:
    return f"instance-{q + 1}"
