"""The scale of scores and further columns, for commands that show a ranking."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

from concordant.cli._help import option
from concordant.cli._options import listed

if TYPE_CHECKING:
    from concordant.request import Request

F = TypeVar("F", bound=Callable[..., Any])


class _Scale(click.Choice[str]):
    """The name of a scale; a number is a value of the former parameter of elo."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if _is_number(value):
            text = f"{value!r} is not a scale: use --scale elo. The parameter of the method elo is --spread."
            self.fail(text, param, ctx)
        return super().convert(value, param, ctx)


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def scale_options(command: F) -> F:
    """Add the options for the scale of the scores and for further columns, which ``with_scale`` takes."""
    declared = (
        option(
            *("--scale", "scale"),
            type=_Scale(["elo"]),
            heading="output",
            help="Scale of the scores (elo: mean 1000).",
        ),
        option(
            *("--anchor", "anchor"),
            metavar="ITEM[=N]",
            heading="output",
            rare=True,
            help="Item with a fixed Elo rating, by default 1000.",
        ),
        option(
            *("--centre", "centre"),
            type=float,
            metavar="N",
            heading="output",
            rare=True,
            help="Mean Elo rating (or rating of the anchor) instead of 1000.",
        ),
        option(
            *("--add-columns", "add_columns"),
            metavar="A,B,…",
            heading="output",
            rare=True,
            help="Further columns: rank_ub, margin, votes, stderr, p_best, ….",
        ),
    )
    for add in reversed(declared):
        command = add(command)
    return command


def with_scale(request: Request, options: dict[str, Any]) -> Request:
    """Return the request with the given scale and columns; remove their options from ``options``."""
    scale, anchor, centre = (options.pop(name) for name in ("scale", "anchor", "centre"))
    columns = tuple(listed(options.pop("add_columns") or ""))
    if scale is None:
        given = "--anchor" if anchor is not None else "--centre" if centre is not None else None
        if given is not None:
            raise click.UsageError(f"{given} needs the Elo scale: add --scale elo.")
        return replace(request, columns=columns)
    from concordant.results.scales import anchor_of, scale_of

    return replace(
        request, scale=scale_of(scale, centre, None if anchor is None else anchor_of(anchor)), columns=columns
    )
