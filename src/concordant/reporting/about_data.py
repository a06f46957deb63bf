"""Report sections on the data and on warnings."""

from __future__ import annotations

from concordant import registry
from concordant.analysis.findings import Finding
from concordant.ballots.vocabulary import shorten
from concordant.narrative.fields import Field
from concordant.reporting.sections import Facts, Message, Messages, Named, Part, ReportTable, Section, Text
from concordant.reporting.study import Study

MAX_NAMED = 4
TITLES = {"connected": "connection", "separated": "separation", "cyclic": "majority cycles"}  # of findings


def data_section(study: Study) -> Section:
    """Describe the data, the findings and the suitable methods."""
    description = study.data.description
    words, is_plain = _words(study.field), description.total_weight == description.n_ballots
    rows = tuple(
        (words.get(what, what), f"{description.n_ballots:,}" if what == "ballots" and is_plain else text)
        for what, text in description.rows(study.field)
        if what != "note" and not (what == "instances" and description.n_instances == 1)
    )
    parts: list[Part] = [Text(note) for note in study.prefs.notes]
    parts.append(Facts(rows))
    # "top two" is of another method: this ranking says its own.
    shown = [finding for finding in description.findings if finding.name != "top two"]
    if shown:
        titles = TITLES | words
        parts.append(Messages(tuple(Message(titles.get(one.name, one.name), one.text, _tone(one)) for one in shown)))
    if description.methods:
        suitable = tuple(
            (Named(registry.title_of(advice.method), advice.method), advice.reason) for advice in description.methods
        )
        parts.append(ReportTable("Suitable methods", ("Method", "Why"), suitable))
    return Section("data", "Data", tuple(parts))


def _tone(finding: Finding) -> str:
    """Return how a finding is shown; what was not tested is neither good nor bad."""
    if not finding.is_tested:
        return "neutral"
    return "fine" if finding.is_fine else "attention"


def _words(field: Field) -> dict[str, str]:
    """Return what the facts of a description are called in a field."""
    items = field.item[1]
    ballot, ballots = field.ballot if field.ballot != field.agent else ("ballot", "ballots")
    return {
        "items": items,
        "agents": field.agent[1],
        "instances": field.instance[1],
        "ballots": ballots,
        "items per ballot": f"{items} per {ballot}",
        "outlier agents": f"outlier {field.agent[1]}",
        "unlisted items": f"unlisted {items}",
    }


def warnings_section(study: Study) -> Section | None:
    """List the warnings of the rankings and evaluations computed so far; None if there are none."""
    messages: dict[str, Message] = {}
    for method, ranking in study.known_rankings.items():
        for notice in ranking.warnings:
            items = ", ".join(shorten(label, 30) for label in notice.items[:MAX_NAMED])
            more = f" ({items}{', …' if len(notice.items) > MAX_NAMED else ''})" if items else ""
            messages.setdefault(f"{method} {notice.name}", Message(_about(method, notice.name), notice.text + more))
    for system, evaluation in study.known_evaluations.items():
        for notice in evaluation.warnings:
            messages.setdefault(f"{system} {notice.name}", Message(_about(system, notice.name), notice.text))
    if not messages:
        return None
    return Section("warnings", "Warnings", (Messages(tuple(messages.values())),))


def _about(system: str, what: str) -> str:
    """Return what a warning is about: the usual name of a method, or the name of a run, and the kind of problem."""
    named = registry.title_of(system) if system in registry.names() else shorten(system, 40)
    return f"{named}, {what.replace('-', ' ')}"
