"""Report section on instances: a table of all instances, and the top items of each."""

from __future__ import annotations

from typing import Any

import numpy as np

from concordant.ballots.vocabulary import shorten
from concordant.narrative.certainty import summary
from concordant.narrative.fields import Field
from concordant.reporting.about_ranking import LABEL, embedded, method_note, ranking_table
from concordant.reporting.metric_texts import metric_heading, shown_value
from concordant.reporting.sections import Fold, Part, ReportTable, Section, Text
from concordant.reporting.study import Study
from concordant.support.text import capital

MAX_OPENED = 20


def instances_section(study: Study, top: int) -> Section | None:
    """Show a table of all instances, and the top items of each; None if there is only one."""
    ranking = study.ranking
    if ranking.n_instances == 1:
        return None
    field = study.field
    item, items, instances = *field.item, field.instance[1]
    table, folds = _instances_table(study, field, top), []
    for q, part in enumerate(ranking):
        if q >= min(top, MAX_OPENED):
            break
        if len(part.score):
            best = ranking_table(part, 10, f"Best {items} of {part.instance}", item=item)
            folds.append(Fold(str(part.instance), (best,), _anchor(q), True))
    parts: list[Part] = [Text(summary(ranking.certainties, instances)), table]
    if len(table.rows) < ranking.n_instances:
        sentence = f"The table shows the first {len(table.rows):,} of {ranking.n_instances:,} {instances}."
        parts.append(Text(sentence, "left-out"))
    parts += embedded(ranking, f"Download all {instances} and {items} (csv)")
    if len(folds) < ranking.n_instances:
        parts.append(Text(f"The best {items} of the first {len(folds)} {instances} follow.", "left-out screen"))
    title = f"Best {items} by {field.instance[0]}" if study.labels is not None else capital(instances)
    return Section("instances", title, (*parts, *folds), method_note(ranking))


def _instances_table(study: Study, field: Field, top: int) -> ReportTable:
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
    names = (field.instance[0], field.item[1], field.ballot[1])
    header = (*map(capital, names), "First", "Second", *map(metric_heading, metrics))
    right = frozenset([1, 2, *range(5, len(header))])
    return ReportTable(
        capital(field.instance[1]),
        header,
        tuple(rows),
        right,
        frozenset([0, 3, 4]),
        links=tuple(links),
        minor=frozenset([1, 2, 4]),
    )


def _by_instance(evaluation: Any) -> dict[str, dict[str, str]]:
    """Return the values of all metrics as text, by instance and metric."""
    return {
        name: {metric: shown_value(values[k]) for metric, values in evaluation.per_instance.items()}
        for k, name in enumerate(evaluation.instances.labels)
    }


def _anchor(q: int) -> str:
    return f"instance-{q + 1}"
