"""What the data are, in plain words; and all that a reader must know before trusting the result."""

from __future__ import annotations

from concordant.ballots.vocabulary import shorten
from concordant.reporting.sections import Facts, Message, Messages, Part, ReportTable, Section, Text
from concordant.reporting.study import Study

MAX_NAMED = 4


def data_section(study: Study) -> Section:
    """Say what the data are, what was found in them, and which methods fit."""
    found = study.data.description
    rows = tuple((what, text) for what, text in found.rows() if what != "note")
    parts: list[Part] = [Text(note) for note in study.prefs.notes]
    parts.append(Facts(rows))
    told = [one for one in found.findings if one.name != "top two"]  # of another method: this ranking says its own
    if told:
        tones = {True: "fine", False: "attention"}
        parts.append(Messages(tuple(Message(one.name, one.text, tones[one.is_fine]) for one in told)))
    if found.methods:
        suitable = tuple((advice.method, advice.reason) for advice in found.methods)
        parts.append(ReportTable("Methods that fit", ("method", "why"), suitable))
    return Section("data", "What the data are", tuple(parts))


def warnings_section(study: Study) -> Section | None:
    """List the warnings of the ranking and of the others beside it; nothing where there are none."""
    said: dict[str, Message] = {}
    for method, ranking in study.rankings.items():
        for notice in ranking.warnings:
            items = ", ".join(shorten(label, 30) for label in notice.items[:MAX_NAMED])
            more = f" ({items}{', …' if len(notice.items) > MAX_NAMED else ''})" if items else ""
            said.setdefault(f"{method} {notice.name}", Message(f"{method}, {notice.name}", notice.text + more))
    for system, evaluation in study.evaluations.items():
        for notice in evaluation.warnings:
            said.setdefault(f"{system} {notice.name}", Message(f"{system}, {notice.name}", notice.text))
    if not said:
        return None
    return Section("warnings", "Warnings", (Messages(tuple(said.values())),))
