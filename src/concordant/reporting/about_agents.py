"""Report section on agents: agreement with the others, outliers, and weights."""

from __future__ import annotations

import numpy as np

from concordant.ballots.vocabulary import shorten
from concordant.reporting.about_data import finding_text
from concordant.reporting.sections import Part, ReportTable, Scale, Section, Text, Track
from concordant.reporting.study import Study
from concordant.support.text import capital


def agents_section(study: Study, top: int) -> Section | None:
    """Show each agent's agreement with the majority of the others; None if agents are not named.

    If there are many agents, the table shows ``top`` of them: half with the lowest and half with the highest agreement.
    """
    prefs, agreement = study.prefs, study.data.agreement
    if prefs.agents is None or prefs.agent is None or len(prefs.agents) < 2:
        return None
    outlying = study.data.description.finding("outlier agents")
    parts: list[Part] = [Text(finding_text(outlying, study.field))] if outlying is not None else []
    is_known = agreement is not None and not np.isnan(agreement.share).all()
    weights = study.ranking.agents
    if not is_known and not weights:
        return None
    share = agreement.share if agreement is not None and is_known else np.full(len(prefs.agents), np.nan)
    outliers = frozenset(agreement.outliers().tolist()) if agreement is not None and is_known else frozenset[int]()
    order = sorted(range(len(prefs.agents)), key=lambda k: (np.isnan(share[k]), share[k], k))
    shown = order if len(order) <= top else [*order[: top // 2], *order[-(top - top // 2) :]]
    n_ballots = np.bincount(prefs.agent, minlength=len(prefs.agents))
    field = study.field
    agents = field.agent[1]
    ballots = field.ballot[1] if field.ballot != field.agent else "ballots"
    header, right = [capital(field.agent[0]), capital(ballots)], {1}
    if is_known:
        header += ["Agreement", "Agreement (plot)"]
        right.add(2)
    if weights:
        header.append("Weight")
        right.add(len(header) - 1)
    rows = []
    for k in shown:
        agent = prefs.agents[k]
        cells: list[str | Track] = [shorten(agent, 60), f"{n_ballots[k]:,}"]
        if is_known:
            unknown = np.isnan(share[k])
            cells += ["unknown" if unknown else f"{share[k]:.0%}", "" if unknown else Track(float(share[k]))]
        if weights:
            cells.append(f"{weights[agent]:.4g}" if agent in weights else "")
        rows.append(tuple(cells))
    scale = Scale(0.0, 1.0, "Agreement (plot)", agreement.median) if is_known and agreement is not None else None
    marked = frozenset(row for row, k in enumerate(shown) if k in outliers)
    title = f"Agreement of {agents} with the majority of the others, lowest first; the line is the median"
    parts.append(ReportTable(title, tuple(header), tuple(rows), frozenset(right), frozenset([0]), scale, marked))
    if len(shown) < len(order):
        ends = f"the {top // 2} with the lowest and the {top - top // 2} with the highest agreement"
        parts.append(Text(f"The table shows {ends} of {len(order):,} {agents}.", "left-out"))
    return Section("agents", capital(agents), tuple(parts))
