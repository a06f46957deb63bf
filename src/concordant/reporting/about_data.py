"""Report sections on the data and on warnings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from concordant import registry
from concordant.analysis.describing import Description
from concordant.analysis.findings import Finding
from concordant.ballots.form import READ_AS
from concordant.ballots.vocabulary import in_sentence, shorten
from concordant.errors import Sentence, arg
from concordant.narrative.fields import OTHER, Field
from concordant.preferences import Preferences
from concordant.reporting.sections import Facts, Message, Messages, Named, Part, ReportTable, Section, Text
from concordant.reporting.study import Study
from concordant.results.uncertain import Notice
from concordant.support.text import capital
from concordant.tables.options import normalise

MAX_NAMED = 4
TIMES = ("date", "datetime", "day", "time", "timestamp", "tstamp")  # names of columns that hold times
LISTS = ("never lost", "never won")  # facts that name items
OF_LONGER_BALLOTS = ("items per ballot", "density", "unlisted items")  # facts that say nothing about pairs
TITLES = {"connected": "connection", "separated": "separation", "cyclic": "majority cycles"}  # of findings

BESIDE_LABELS = (  # what findings that name items or agents say
    "beats every other item in direct comparison",
    "No item beats every other in direct comparison",
    "The items fall into groups that are never compared",
    "Some items only win or only lose against the others",
    " instances have a Condorcet winner",
    "a group never loses to the other items",
    "than the median agent (",
    ". Inspect these ballots, or use a method that weights agents.",
)


def data_section(study: Study) -> Section:
    """Describe the data, the findings and the suitable methods."""
    description, field = study.data.description, study.field
    parts: list[Part] = [Text(note) for note in study.prefs.notes]
    parts += [Text(note, "left-out") for note in _times_not_read(study.prefs)]
    parts.append(Facts(tuple(_facts(description, field))))
    # "top two" is of another method: this ranking says its own.
    shown = [finding for finding in description.findings if finding.name != "top two"]
    if shown:
        titles = {**TITLES, "outlier agents": f"outlier {field.agent[1]}"}
        parts.append(
            Messages(
                tuple(Message(titles.get(one.name, one.name), finding_text(one, field), _tone(one)) for one in shown)
            )
        )
    if description.methods:
        suitable = tuple(
            (Named(registry.title_of(advice.method), advice.method), in_field(advice.reason, field))
            for advice in description.methods
        )
        parts.append(ReportTable("Suitable methods", ("Method", "Why"), suitable))
    return Section("data", "Data", tuple(parts))


def _tone(finding: Finding) -> str:
    """Return how a finding is shown; what was not tested is neither good nor bad."""
    if not finding.is_tested:
        return "neutral"
    return "fine" if finding.is_fine else "attention"


def _times_not_read(prefs: Preferences) -> Iterator[Sentence]:
    """Yield a sentence on a column of times that was not read, which would give scores over time."""
    known = prefs.meta.get(READ_AS)
    unread = known.get("unread", ()) if isinstance(known, Mapping) and prefs.form == "pairs" else ()
    column = next((name for name in unread if normalise(name) in TIMES), None)
    if column is not None and prefs.time is None:
        yield Sentence(
            f"The column {in_sentence(column)} was not read; ", arg("time", column), " adds scores over time."
        )


def _facts(description: Description, field: Field) -> Iterator[tuple[str, str]]:
    """Yield the facts of a description in the words of a field, without those that say nothing here."""
    is_of_pairs = description.form == "pairs"
    for what, text in description.rows(field):
        is_void = (what == "instances" and description.n_instances == 1) or (
            what == "agents" and description.n_agents is None and field.agent == OTHER.agent
        )
        if what == "note" or is_void or (is_of_pairs and what in OF_LONGER_BALLOTS):
            continue
        if what == "ballots" and description.total_weight == description.n_ballots:
            text = f"{description.n_ballots:,}"
        if what == "ties" and is_of_pairs:
            text = f"{100 * description.tied_share:.3g}% of the ballots"
        yield in_field(what, field), text if what in LISTS or what == "covariates" else in_field(text, field)


def in_field(text: str, field: Field) -> Sentence:
    """Return a text without labels, in which items, agents and ballots have the names that the field has for them."""
    ballot = field.ballot if field.ballot != field.agent else OTHER.ballot
    nouns = {"item": field.item, "candidate": field.item, "agent": field.agent, "ballot": ballot}
    nouns["instance"] = field.instance
    forms = {f"{noun}{'s' * number}": pair[number] for noun, pair in nouns.items() for number in (0, 1)}
    forms |= {capital(noun): capital(named) for noun, named in forms.items()}
    pattern = rf"\b({'|'.join(forms)})\b"
    said = text if isinstance(text, Sentence) else Sentence(text)
    return said.each(lambda part: re.sub(pattern, lambda found: forms[found[0]], part))


def finding_text(finding: Finding, field: Field) -> str:
    """Return a finding in the words of a field; what may be a label is left alone."""
    if not finding.is_tested or (finding.is_fine and finding.name != "cyclic"):
        return in_field(finding.text, field)
    text = finding.text
    for words in BESIDE_LABELS:
        text = text.replace(words, in_field(words, field))
    return text


def warnings_section(study: Study) -> Section | None:
    """List the warnings of the rankings and evaluations computed so far; None if there are none."""
    messages: dict[str, Message] = {}
    for method, ranking in study.known_rankings.items():
        for notice in ranking.warnings:
            of_method = f"{notice_title(notice)} ({registry.usual_name(ranking.method or method, ranking.params)})"
            messages.setdefault(f"{method} {notice.name}", Message(of_method, notice_text(notice)))
    for system, evaluation in study.known_evaluations.items():
        for notice in evaluation.warnings:
            is_method = system in study.known_rankings
            named = (
                registry.usual_name(system, study.known_rankings[system].params) if is_method else in_sentence(system)
            )
            of_system = f"{notice_title(notice)} ({named})"
            messages.setdefault(f"{system} {notice.name}", Message(of_system, notice_text(notice)))
    if not messages:
        return None
    return Section("warnings", "Warnings", (Messages(tuple(messages.values())),))


def notice_title(notice: Notice) -> str:
    """Return the name of a notice in words."""
    return capital(notice.name.replace("-", " "))


def notice_text(notice: Notice) -> Sentence:
    """Return the text of a notice as a sentence; items that it does not name itself follow."""
    items = ", ".join(in_sentence(shorten(label, 30)) for label in notice.items[:MAX_NAMED])
    is_named = not items or shorten(notice.items[0], 20).rstrip("…") in notice.text
    text = Sentence(notice.text, "" if is_named else f" ({items}{', …' if len(notice.items) > MAX_NAMED else ''})")
    first, *others = text.parts
    begun = capital(first) if isinstance(first, str) else first
    return Sentence(begun, *others, "" if text.endswith((".", "…")) else ".")
