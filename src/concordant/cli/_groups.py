"""``concordant rank --by COLUMN``: rank groups separately and test their differences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from concordant.cli import _shared as shared
from concordant.cli.rank import draw, learnt, on_scale, why
from concordant.errors import ConcordantError
from concordant.ranking import SORTED_BY
from concordant.results.rendering import named

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
        comparison.plot(path)
    draw(comparison.whole, whole.read(), pictures)
    comparison = comparison if top is None else comparison.head(top)
    takes_options = request.method is None or isinstance(request.method, str)
    if output.format == "text":
        shared.tell(
            [
                *grouped.notes,
                *why(whole.choice),
                *learnt(comparison.whole, takes_options),
                *on_scale(comparison.whole),
            ],
            "note: ",
        )
    output.show(data=comparison.to_dict, columns=comparison.columns, text=lambda: text(comparison, output))
    if output.format != "json":
        shared.tell(comparison.warnings, "warning: ")


def text(comparison: GroupComparison, output: shared.Output) -> str:
    """Return the table of the overall ranking and the largest groups, and sentences on the significant differences."""
    columns = comparison.written()
    rows = list(zip(*columns.values(), strict=True))
    table = output.table(
        list(columns), rows, {0, *range(2, len(columns))}, named(comparison.whole, f" by {comparison.by}")
    )
    more = [f"{line}: use --csv or --json for all" for line in comparison.left_out()]
    return "\n".join([table.rstrip("\n"), *more, comparison.legend, "", *comparison.sentences()])
