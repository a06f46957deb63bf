"""``concordant rank --by COLUMN``: rank groups separately and test their differences."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from concordant.cli import _shared as shared
from concordant.cli.rank import draw, learnt, on_scale, why
from concordant.errors import ConcordantError
from concordant.ranking import SORTED_BY
from concordant.support.display import Block, DisplayTable

if TYPE_CHECKING:
    from concordant.analysis.groups.comparison import GroupComparison
    from concordant.preferences import Preferences
    from concordant.request import Request


def read_groups(request: Request) -> Preferences:
    """Read preferences whose instances are groups; the former option ``--by low`` raises an error that suggests
    ``--sort``.
    """
    from concordant.analysis.groups.rank_groups import grouped_preferences

    by = str(request.reading["by"])
    try:
        return grouped_preferences(request, by)
    except ConcordantError as problem:
        if by in SORTED_BY and (problem.column == by or problem.parameter == "by"):
            raise click.UsageError(
                f"There is no column {by!r} to group by; to sort by {by}, use --sort {by}."
            ) from None
        raise


def show(
    request: Request,
    permutations: int | None,
    seed: int,
    sort: str,
    top: int | None,
    pictures: dict[str, str | None],
    output: shared.Output,
) -> None:
    """Compare groups; plot, write and print the result."""
    from concordant.analysis.groups.rank_groups import compare_groups, request_for_all

    grouped = read_groups(request)
    whole = request_for_all(request, grouped)
    comparison = compare_groups(grouped, whole, permutations=permutations, seed=seed).sorted_by(sort)
    if (path := pictures.pop("plot_groups")) is not None:
        shared.tell_of_plot(comparison.plot(path))
    draw(comparison.whole, whole.read(), pictures)
    comparison = comparison if top is None else comparison.head(top)
    takes_options = request.method is None or isinstance(request.method, str)
    if output.is_for_people:
        chosen = [*why(whole.choice), *learnt(comparison.whole, takes_options), *on_scale(comparison.whole)]
        shared.tell([*grouped.notes, *chosen], "note: ")
    output.show(data=comparison.to_dict, columns=comparison.columns, blocks=lambda: _blocks(comparison), title="groups")
    if output.format != "json":
        shared.tell(comparison.warnings, "warning: ")


def _blocks(comparison: GroupComparison) -> list[Block]:
    """Return the table and the sentences; a note on omitted groups says how to get all."""
    table, *rest = comparison.blocks()
    assert isinstance(table, DisplayTable)
    more = [f"{line}: use --csv or --json for all" for line in comparison.left_out()]
    return [replace(table, notes=[*more, comparison.legend]), *rest]
