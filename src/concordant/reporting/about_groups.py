"""Groups: where they differ from the rest, in sentences, a heat map and a table, and the ranking of each."""

from __future__ import annotations

from concordant.analysis.groups.comparison import GroupComparison
from concordant.ballots.vocabulary import shorten
from concordant.reporting.about_ranking import LABEL, download, ranking_table
from concordant.reporting.sections import Fold, GroupMap, Message, Messages, Part, ReportTable, Section, Text
from concordant.reporting.study import Study

DRAWN = 40  # items and groups of the picture
COLUMNS = 12  # groups that the table shows
OPENED = 30  # groups whose own ranking is shown


def groups_section(study: Study, top: int) -> Section | None:
    """Show what differs between groups; nothing where none were named."""
    found = study.groups
    if found is None:
        return None
    n = min(top, len(found.whole.items))
    hold = len(found.significant)
    lead = f"{hold or 'None'} of {found.n_compared:,} differences between groups and the rest hold."
    beyond = study.beyond("This section ranks") if len(found.whole.score) > len(study.ranking.score) else ""
    parts: list[Part] = [
        Text(lead, "lead"),
        *([Text(beyond)] if beyond else []),
        *(Text(f"{line}.") for line in found.sentences()),
    ]
    known = study.ranking.warnings
    notices = [Message(one.name, one.text) for one in found.warnings if one not in known]
    parts += [_picture(found), _table(found, n), *([Messages(tuple(notices))] if notices else [])]
    if len(found.names) > COLUMNS or n < len(found.whole.items):
        shown = f"{min(COLUMNS, len(found.names))} of {len(found.names):,} groups"
        parts.append(Text(f"The table shows {n:,} of {len(found.whole.items):,} items and {shown}.", "left-out"))
    parts.append(Text(f"{found.legend[:1].upper()}{found.legend[1:]}."))
    parts.append(download(found.columns(), "All groups and items as csv", "groups"))
    for part in list(found.groups)[:OPENED]:
        title = f"{part.instance}"
        parts.append(Fold(title, (ranking_table(part, min(top, 20), f"First of {title}"),), title_is_label=True))
    return Section("groups", "Groups" if found.by == "group" else f"Groups by {shorten(found.by, 30)}", tuple(parts))


def _picture(found: GroupComparison) -> GroupMap:
    items, groups = found.whole.items[:DRAWN], found.names[:DRAWN]
    cells = [[found.cells.get((group, item)) for group in groups] for item in items]
    return GroupMap(
        "Scores of each group less those of all others; a star where the difference is significant",
        tuple(items),
        tuple(groups),
        tuple(tuple(None if one is None else one.difference for one in row) for row in cells),
        tuple(tuple(one is not None and one.holds for one in row) for row in cells),
    )


def _table(found: GroupComparison, n: int) -> ReportTable:
    columns = found.written(n, COLUMNS)
    columns["item"] = [shorten(item, LABEL) for item in found.whole.items[:n]]
    rows = tuple(zip(*columns.values(), strict=True))
    right = frozenset([0, *range(2, len(columns))])
    return ReportTable("The whole and its groups", tuple(columns), rows, right, frozenset([1]))
