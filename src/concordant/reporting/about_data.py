"""Report sections on the data and on warnings."""

from __future__ import annotations

from concordant.ballots.vocabulary import shorten
from concordant.reporting.sections import Facts, Message, Messages, Part, ReportTable, Section, Text
from concordant.reporting.study import Study

MAX_NAMED = 4


def data_section(study: Study) -> Section:
    """Describe the data, the findings and the suitable methods."""
    description = study.data.description
    rows = tuple((what, text) for what, text in description.rows() if what != "note")
    parts: list[Part] = [Text(note) for note in study.prefs.notes]
    parts.append(Facts(rows))
    # "top two" is of another method: this ranking says its own.
    shown = [finding for finding in description.findings if finding.name != "top two"]
    if shown:
        tones = {True: "fine", False: "attention"}
        parts.append(
            Messages(
                tuple(
                    Message(shown_finding.name, shown_finding.text, tones[shown_finding.is_fine])
                    for shown_finding in shown
                )
            )
        )
    if description.methods:
        suitable = tuple((advice.method, advice.reason) for advice in description.methods)
        parts.append(ReportTable("Suitable methods", ("method", "why"), suitable))
    return Section("data", "Data", tuple(parts))


def warnings_section(study: Study) -> Section | None:
    """List the warnings of all rankings and evaluations; None if there are none."""
    messages: dict[str, Message] = {}
    for method, ranking in study.rankings.items():
        for notice in ranking.warnings:
            items = ", ".join(shorten(label, 30) for label in notice.items[:MAX_NAMED])
            more = f" ({items}{', …' if len(notice.items) > MAX_NAMED else ''})" if items else ""
            messages.setdefault(f"{method} {notice.name}", Message(f"{method}, {notice.name}", notice.text + more))
    for system, evaluation in study.evaluations.items():
        for notice in evaluation.warnings:
            messages.setdefault(f"{system} {notice.name}", Message(f"{system}, {notice.name}", notice.text))
    if not messages:
        return None
    return Section("warnings", "Warnings", (Messages(tuple(messages.values())),))
