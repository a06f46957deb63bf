"""Report section on groups: significant differences, a heat map, ranks, and the ranking of each group."""

from __future__ import annotations

from concordant.analysis.groups.comparison import GroupComparison, GroupDifference
from concordant.ballots.vocabulary import shorten, shorten_apart
from concordant.narrative import fields
from concordant.reporting.about_data import notice_text, notice_title
from concordant.reporting.about_ranking import LABEL, download, ranking_table
from concordant.reporting.sections import Chips, Fold, GroupMap, Message, Messages, Part, ReportTable, Section, Text
from concordant.reporting.study import Study
from concordant.support.text import capital, p_value, short_number

DRAWN = 40  # items and groups of the picture
COLUMNS = 12  # groups that the table shows
OPENED = 30  # groups whose own ranking is shown
CHIPS = 12  # significant differences that are shown as chips
NAME = 40  # characters of a label in a chip


def groups_section(study: Study, top: int) -> Section | None:
    """Show the differences between groups; None without groups."""
    groups = study.groups
    if groups is None:
        return None
    field = study.field
    n = min(top, len(groups.whole.items))
    n_significant = len(groups.significant)
    lead = f"{n_significant or 'None'} of {groups.n_compared:,} differences between a group and the rest "
    lead += f"{'is' if n_significant == 1 else 'are'} significant."
    if not groups.n_compared:
        lead = "The differences between the groups were not tested."
    beyond = study.beyond("This section ranks") if len(groups.whole.score) > len(study.ranking.score) else ""
    known = study.ranking.warnings
    notices = [Message(notice_title(notice), notice_text(notice)) for notice in groups.warnings if notice not in known]
    parts: list[Part] = [
        Text(lead, "lead"),
        *([Text(beyond)] if beyond else []),
        *_chips(groups),
        _picture(groups, field),
        _ranks(groups, n, field),
        *([Messages(tuple(notices))] if notices else []),
    ]
    if len(groups.names) > COLUMNS or n < len(groups.whole.items):
        shown = f"{min(COLUMNS, len(groups.names))} of {len(groups.names):,} groups"
        n_items = len(groups.whole.items)
        parts.append(Text(f"The table shows {n:,} of {n_items:,} {field.item[1]} and {shown}.", "left-out"))
    parts.append(download(groups.columns(), f"Download all groups and {field.item[1]} (csv)", "groups"))
    for part in list(groups.groups)[:OPENED]:
        title = f"{part.instance}"
        table = ranking_table(part, min(top, 20), f"Top {field.item[1]} of {title}")
        parts.append(Fold(title, (table,), title_is_label=True))
    tested = f"Test: {groups.tested}. ★ marks a significant difference." if groups.n_compared else ""
    title = "Groups" if groups.by == "group" else f"Groups: {shorten(groups.by, 30)}"
    return Section("groups", title, tuple(parts), tested)


def _chips(comparison: GroupComparison) -> list[Part]:
    """Return the significant differences, smallest p-value first; without any, the smallest p-value as a sentence."""
    significant = comparison.significant
    if not significant:
        return [Text(f"{capital(line)}.") for line in comparison.sentences() if comparison.n_compared]
    if len(comparison.names) == 2:  # what one group has more the other has less
        significant = [row for row in significant if row.group == comparison.names[0]]
    chips = tuple(_chip(row, comparison) for row in significant[:CHIPS])
    more = len(significant) - len(chips)
    rest = [Text(f"{more:,} more {'is' if more == 1 else 'are'} marked in the table.", "left-out")] if more else []
    return [Chips("Significant differences", chips), *rest]


def _chip(row: GroupDifference, comparison: GroupComparison) -> tuple[str, ...]:
    assert row.difference is not None
    assert row.p_adjusted is not None
    direction = "▲" if row.difference > 0 else "▼"
    amount = f"{abs(round(row.difference, comparison.decimals)):.{comparison.decimals}f}"
    said = f": {direction} {amount}, {p_value(row.p_adjusted, comparison.correction)}"
    return ("★ ", shorten(row.item, NAME), " in ", shorten(row.group, NAME), said)


def _picture(comparison: GroupComparison, field: fields.Field) -> GroupMap:
    """Return the heat map of differences, items x groups."""
    items, groups = comparison.whole.items[:DRAWN], comparison.names[:DRAWN]
    cells = [[comparison.cells.get((group, item)) for group in groups] for item in items]
    left_out = [
        f"{len(items)} of {total:,} {what}"
        for items, total, what in (
            (items, len(comparison.whole.items), field.item[1]), (groups, len(comparison.names), "groups")
        )
        if len(items) < total
    ]  # fmt: skip
    title = f"{field.score.capitalize()} in each group minus {field.score} in all other groups"
    return GroupMap(
        f"{title} ({', '.join(left_out)})" if left_out else title,
        tuple(shorten(item, LABEL) for item in items),
        tuple(shorten(group, NAME) for group in groups),
        tuple(tuple(None if cell is None else cell.difference for cell in row) for row in cells),
        tuple(tuple(cell is not None and cell.holds for cell in row) for row in cells),
        tuple(
            f"{short_number(comparison.sizes[group])} {field.ballot[int(comparison.sizes[group] != 1)]}"
            for group in groups
        ),
    )


def _ranks(comparison: GroupComparison, n: int, field: fields.Field) -> ReportTable:
    """Return the ranks of the best items overall and in the largest groups."""
    groups, whole = comparison.names[:COLUMNS], comparison.whole
    rows, names = [], shorten_apart(whole.items[:n], LABEL)
    for item, name, rank in zip(whole.items[:n], names, whole.ranks[:n].tolist(), strict=True):
        cells = [comparison.cells.get((group, item)) for group in groups]
        rows.append((str(rank), name, *("" if cell is None else str(cell.rank) for cell in cells)))
    header = ("Rank", capital(field.item[0]), *(shorten(group, NAME) for group in groups))
    right = frozenset([0, *range(2, len(header))])
    return ReportTable("Rank overall and in each group", header, tuple(rows), right, frozenset([1]))
