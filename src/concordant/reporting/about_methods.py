"""Report section that compares methods: agreement, differences and their reasons."""

from __future__ import annotations

import numpy as np

from concordant import registry
from concordant.analysis.comparing import Comparison
from concordant.analysis.disagreeing import disagreements
from concordant.ballots.vocabulary import shorten_apart
from concordant.reporting.about_labels import metrics_of_methods
from concordant.reporting.sections import (
    BumpChart,
    Cell,
    Fold,
    Message,
    Messages,
    Named,
    Part,
    ReportTable,
    Section,
    Text,
)
from concordant.reporting.study import Study
from concordant.support.text import capital

LINES = 10  # items of the bump chart


def methods_section(study: Study) -> Section | None:
    """Compare methods; None if there is only one."""
    compared, notes = study.compared
    items = study.field.item[1]
    parts: list[Part] = []
    if compared is not None and len(compared.names) > 1:
        beyond = study.beyond("This comparison ranks")
        parts += [Text(beyond)] if beyond else []
        parts += [Text(study.dispute, "lead")] if study.dispute else []
        parts += [Text(_agreement(compared))]
        if study.prefs.n_instances == 1:
            names = [registry.usual_name(name) for name in compared.names]
            why = disagreements(study.prefs, compared.rankings, names, study.data.matrices.matrix())
            if why:
                parts.append(Messages(tuple(Message("why", text, "attention") for text in why)))
            chart = bump_chart(compared)
            parts.append(chart)
            if len(chart.labels) < study.prefs.n_slots:
                note_on_picture = (
                    f"The chart shows the {len(chart.labels)} {items} in the top {LINES} of at least one method."
                )
                parts.append(Text(note_on_picture, "left-out"))
        metrics = metrics_of_methods(study)
        parts += [] if metrics is None else [metrics]
        parts += _tables(compared)
    parts += [Text(note, "left-out") for note in notes]
    note = f"Rank of the {items} by each method." if compared is not None else ""
    return Section("methods", "Methods compared", tuple(parts), note) if parts else None


def _agreement(compared: Comparison) -> str:
    """Return a sentence on the mean Kendall tau of the methods and the pair with the lowest."""
    n = len(compared.names)
    tau = compared.tau[~np.eye(n, dtype=bool)]
    if tau.min() > 1 - 1e-9:
        return f"All {n} methods give the same order."
    i, j = np.unravel_index(np.argmin(compared.tau), compared.tau.shape)
    return (
        f"The mean Kendall tau of {n} methods is {tau.mean():.2f} (1 means the same order); it is lowest between "
        f"{registry.usual_name(compared.names[i])} and {registry.usual_name(compared.names[j])}, "
        f"{compared.tau[i, j]:.2f}."
    )


def bump_chart(compared: Comparison) -> BumpChart:
    """Return the ranks of the top items of all methods, in the order of the first method."""
    ranks = np.stack([ranking.rank_by_slot for ranking in compared.rankings])
    first = compared.rankings[0]
    best = ranks.min(axis=0)
    shown = [slot for slot in first.order.tolist() if best[slot] <= LINES][: 2 * LINES]
    labels = tuple(shorten_apart(first.vocabulary.take(first.slot_item[shown]), 24))
    return BumpChart(
        "Ranks by method",
        tuple(map(registry.title_of, compared.names)),
        labels,
        tuple(tuple(int(rank) for rank in ranks[:, slot]) for slot in shown),
    )


def _tables(compared: Comparison) -> list[Part]:
    """Return the table of fit and the table of agreement."""
    n, columns = len(compared.names), compared.columns()
    firsts = compared.firsts() if compared.rankings[0].n_instances == 1 else []  # those of one query say little
    fit, tau = columns[:-n], columns[-n:]
    header = ("Method", *(capital(text) for text, _ in fit), *(["First places"] if firsts else []))
    shown = [Named(registry.title_of(name), name) for name in compared.names]
    rows: list[tuple[Cell, ...]] = [
        (name, *(cells[k] for _, cells in fit), *firsts[k : k + 1]) for k, name in enumerate(shown)
    ]
    title = "Fit of each method to the ballots"
    fits = ReportTable(
        title,
        header,
        tuple(rows),
        frozenset(range(1, 1 + len(fit))),
        frozenset([1 + len(fit)] if firsts else []),
        minor=frozenset(range(2, 1 + len(fit))),
    )
    agreement: list[tuple[Cell, ...]] = [(name, *(cells[k] for _, cells in tau)) for k, name in enumerate(shown)]
    names = ("Method", *map(registry.title_of, compared.names))
    return [
        fits,
        *(Text(note) for note in compared.notes(registry.usual_name)),
        Fold(
            "Agreement of the methods",
            (ReportTable("Kendall's tau between methods", names, tuple(agreement), frozenset(range(1, n + 1))),),
        ),
    ]
