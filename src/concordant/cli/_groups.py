"""``concordant rank --by COLUMN``: groups beside the whole, and which of their differences hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from concordant.cli import _shared as shared
from concordant.cli._default_options import method_and_params
from concordant.cli.rank import draw, learnt
from concordant.errors import ConcordantError
from concordant.ranking import SORTED_BY

if TYPE_CHECKING:
    from concordant.analysis.groups.comparison import GroupComparison
    from concordant.preferences import Preferences


def read_groups(file: Sequence[str], reading: Mapping[str, Any]) -> Preferences:
    """Read preferences whose instances are groups; who means the old ``--by low`` hears of ``--sort``."""
    try:
        return shared.read_preferences(file, {f"read_{name}": value for name, value in reading.items()})
    except ConcordantError as problem:
        by = str(reading["by"])
        if by in SORTED_BY and (problem.column == by or problem.parameter == "by"):
            raise click.UsageError(
                f"There is no column {by!r} of groups to compare; to sort by it, use --sort {by}."
            ) from None
        raise


def show(
    command: shared.MethodCommand,
    file: Sequence[str],
    reading: Mapping[str, Any],
    method: str | None,
    params: dict[str, Any],
    asked: Mapping[str, Any],
    sort: str,
    top: int | None,
    pictures: dict[str, str | None],
    output: shared.Output,
) -> None:
    """Compare groups, and draw, write and say what was found; ``asked`` goes to ``compare_groups``."""
    from concordant import registry
    from concordant.analysis.groups.ranking import checked_groups, compare_groups, pooled
    from concordant.api import default_choice

    grouped = checked_groups(read_groups(file, reading))
    together = pooled(grouped)
    choice = default_choice(together)
    name, params = method_and_params(command, choice.method, method, params, asked["seed"])
    made = registry.make(name, **params)
    found = compare_groups(grouped, made, **{**asked, "seed": asked["seed"] or 0}).sorted_by(sort)
    if (path := pictures.pop("plot_groups")) is not None:
        found.plot(path)
    least = asked["min_ballots"]
    draw(found.whole, together if least is None else together.min_ballots(least), pictures)
    found = found if top is None else found.head(top)
    if output.format == "text":
        chosen = [] if method else [f"ranked by {name}, because the data are {choice.reason}; --method takes another"]
        shared.tell([*grouped.notes, *chosen, *learnt(found.whole)], "note: ")
    output.show(data=found.to_dict, columns=found.columns, text=lambda: text(found, output))
    if output.format != "json":
        shared.tell(found.warnings, "warning: ")


def text(found: GroupComparison, output: shared.Output) -> str:
    """Return the table of the whole and the largest groups, and the differences that hold in sentences."""
    columns = found.written()
    rows = list(zip(*columns.values(), strict=True))
    table = output.table(list(columns), rows, {0, *range(2, len(columns))}, f"{found.whole.method} by {found.by}")
    more = [f"{line}: --csv and --json have all" for line in found.left_out()]
    return "\n".join([table.rstrip("\n"), *more, found.legend, "", *found.sentences()])
