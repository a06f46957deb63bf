"""Report section on groups: significant differences, a heat map, a table, and the ranking of each group."""

from __future__ import annotations

from concordant.analysis.groups.comparison import GroupComparison
from concordant.ballots.vocabulary import shorten, shorten_apart
from concordant.reporting.about_ranking import LABEL, download, ranking_table
from concordant.reporting.sections import Fold, GroupMap, Message, Messages, Part, ReportTable, Section, Text
from concordant.reporting.study import Study

DRAWN = 40  # items and groups of the picture
COLUMNS = 12  # groups that the table shows
OPENED = 30  # groups whose own ranking is shown


def groups_section(study: Study, top: int) -> Section | None:
    """Show the differences between groups; None without groups."""
    groups = study.groups
    if groups is None:
        return None
    n = min(top, len(groups.whole.items))
    n_significant = len(groups.significant)
    lead = (
        f"{n_significant or 'None'} of {groups.n_compared:,} differences between a group and the rest are significant."
    )
    beyond = study.beyond("This section ranks") if len(groups.whole.score) > len(study.ranking.score) else ""
    parts: list[Part] = [
        Text(lead, "lead"),
        *([Text(beyond)] if beyond else []),
        *(Text(f"{line}.") for line in groups.sentences()),
    ]
    known = study.ranking.warnings
    notices = [Message(notice.name, notice.text) for notice in groups.warnings if notice not in known]
    parts += [_picture(groups), _table(groups, n), *([Messages(tuple(notices))] if notices else [])]
    if len(groups.names) > COLUMNS or n < len(groups.whole.items):
        shown = f"{min(COLUMNS, len(groups.names))} of {len(groups.names):,} groups"
        parts.append(Text(f"The table shows {n:,} of {len(groups.whole.items):,} items and {shown}.", "left-out"))
    parts.append(Text(f"{groups.legend[:1].upper()}{groups.legend[1:]}."))
    parts.append(download(groups.columns(), "Download all groups and items (csv)", "groups"))
    for part in list(groups.groups)[:OPENED]:
        title = f"{part.instance}"
        parts.append(Fold(title, (ranking_table(part, min(top, 20), f"Top items of {title}"),), title_is_label=True))
    return Section("groups", "Groups" if groups.by == "group" else f"Groups by {shorten(groups.by, 30)}", tuple(parts))


def _picture(comparison: GroupComparison) -> GroupMap:
    """Return the heat map of differences, items x groups."""
    items, groups = comparison.whole.items[:DRAWN], comparison.names[:DRAWN]
    cells = [[comparison.cells.get((group, item)) for group in groups] for item in items]
    return GroupMap(
        "Score in each group minus score in all other groups; a star marks significant differences",
        tuple(items),
        tuple(groups),
        tuple(tuple(None if cell is None else cell.difference for cell in row) for row in cells),
        tuple(tuple(cell is not None and cell.holds for cell in row) for row in cells),
    )


def _table(comparison: GroupComparison, n: int) -> ReportTable:
    """Return the table of the overall ranking and the largest groups."""
    columns = comparison.written(n, COLUMNS)
    columns["item"] = shorten_apart(comparison.whole.items[:n], LABEL)
    rows = tuple(zip(*columns.values(), strict=True))
    right = frozenset([0, *range(2, len(columns))])
    return ReportTable("Overall ranking and groups", tuple(columns), rows, right, frozenset([1]))
