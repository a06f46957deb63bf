"""Report section with the explanation of the ranking by its method.

What stands above it is left out: the certainty, in the verdict, and what the method counts, in the ranking.
"""

from __future__ import annotations

from concordant import registry
from concordant.errors import ConcordantError
from concordant.narrative.fields import Field
from concordant.narrative.sentences import COUNTS
from concordant.ranking import Ranking
from concordant.reporting.sections import Fold, Part, Picture, ReportTable, Section, Text
from concordant.reporting.study import Study
from concordant.results.explanation import Reason
from concordant.support.text import capital


def why_section(study: Study) -> Section | None:
    """Show the first reason expanded and the others collapsed; None with several instances."""
    ranking = study.ranking
    if ranking.n_instances != 1 or ranking.why is None:
        return None
    try:
        explanation = ranking.explain()
    except ConcordantError:  # it does not fit into memory, say: the report goes without
        return None
    title = registry.usual_name(ranking.method, ranking.params)
    parts: list[Part] = []
    for number, reason in enumerate(explanation.reasons):
        reason_parts = _parts(reason, _said(ranking), study.field)
        parts += reason_parts if number == 0 else [Fold(reason.title, reason_parts)]
    if explanation.draw is not None:
        parts.append(Picture(f"Explanation: {title}", explanation.draw()))
    return Section("why", "Why", tuple(parts), f"What decides the first places by {title}.") if parts else None


def _said(ranking: Ranking) -> frozenset[str]:
    """Return the sentences on the certainty of the first place."""
    certainty = ranking.certainty
    return frozenset([*certainty.sentences(), certainty.sentence()])


def _parts(reason: Reason, said: frozenset[str], field: Field) -> tuple[Part, ...]:
    """Return a reason as sentences and a table, with the words of the field for an item and an agent."""
    nouns = {"item": field.item[0], "agent": field.agent[0]}
    sentences = [sentence for sentence in reason.sentences if sentence not in said and not sentence.startswith(COUNTS)]
    parts: list[Part] = [Text(sentence) for sentence in sentences]
    if reason.rows:
        names = frozenset(range(len(reason.header))) - reason.right
        rows = tuple(tuple(row) for row in reason.rows)
        header = tuple(capital(nouns.get(name, name)) for name in reason.header)
        parts.append(ReportTable(reason.title, header, rows, frozenset(reason.right), names))
    return tuple(parts)
