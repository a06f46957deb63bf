"""Options shared by several commands, with the same names, texts and headings."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import click

from concordant.cli._help import HelpOption, option

F = TypeVar("F", bound=Callable[..., Any])
ROWS = 50  # of a table on a terminal, unless more are asked for
ALL_ROWS = "all_rows"
_OUTPUT = 'File to write; "-" for standard output.'
_BY_ENDING = "File to write, in the format of its extension."


def complete(plural: str) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Return the shell completion for the names of a registry kind: "methods", "learners", …"""

    def names(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
        from concordant.registry import KINDS

        return [name for name in KINDS[plural].modules() if name.startswith(incomplete)]

    return names


def listed(text: str) -> list[str]:
    """Split a comma-separated list."""
    return [name.strip() for name in text.split(",") if name.strip()]


def parse_metrics(_: click.Context, __: click.Parameter, text: str) -> list[str]:
    """Parse a comma-separated list of metrics."""
    from concordant import metrics

    return [str(metrics.parse(name)) for name in listed(text)]


def method(plural: str = "methods", default: str | None = None) -> Callable[[F], F]:
    """Declare the option for the method; the default depends on the data."""
    return option(
        *("--method", "-m"),
        default=default,
        metavar="NAME",
        show_default="fits the data" if default is None else True,
        shell_complete=complete(plural),
        heading="method",
        help="Name of the method.",
    )


def methods(*short: str) -> Callable[[F], F]:
    """Declare the option for methods to compare, separated by commas."""
    text = "Methods to compare; by default some that fit the data."
    return option("--methods", *short, metavar="A,B,…", heading="method", help=text)


def top(default: int | None = None) -> Callable[[F], F]:
    """Declare the option for the number of items to show."""
    text = "Maximum number of items per instance."
    kind = click.IntRange(1)
    return option(
        "--top", type=kind, default=default, show_default=default is not None, metavar="N", heading="output", help=text
    )


def all_rows(name: str = "--all") -> HelpOption:
    """Return the option that shows long tables in full on a terminal; ``row_limit`` asks for it."""

    def remember(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
        ctx.meta[ALL_ROWS] = wanted

    text = f"Show all rows of a table on a terminal, not only {ROWS}."
    return HelpOption(
        [name, ALL_ROWS], is_flag=True, expose_value=False, callback=remember, heading="output", rare=True, help=text
    )


def row_limit() -> tuple[int | None, str]:
    """Return the maximum number of rows of a table on a terminal, and the option that shows all of them.

    It is None with that option, and for commands without it. A larger number in ``--top`` or ``--number`` replaces it.
    """
    context = click.get_current_context(silent=True)
    declared = [one for one in context.command.params if one.name == ALL_ROWS] if context else []
    if context is None or not declared or context.meta.get(ALL_ROWS):
        return None, ""
    return max(ROWS, *(context.params.get(name) or 0 for name in ("top", "number"))), declared[0].opts[0]


def metrics(default: str) -> Callable[[F], F]:
    """Declare the option for metrics, separated by commas."""
    return option(
        "--metrics",
        default=default,
        show_default=True,
        callback=parse_metrics,
        metavar="A,B,…",
        heading="output",
        help="Metrics to print.",
    )


def labels(*names: str, required: bool = False, multiple: bool = False) -> Callable[[F], F]:
    """Declare the option for the file of relevance judgements; ``multiple`` allows several."""
    text = "Relevance judgements (gold): qrels or a table."
    return option(
        *("--labels", "-l", *names), required=required, multiple=multiple, metavar="FILE", heading="input", help=text
    )


def model() -> Callable[[F], F]:
    """Declare the option for the saved model to rank with."""
    text = 'Model saved by "concordant train-fusion".'
    return option("--model", metavar="FILE", heading="method", help=text)


def validation(default: float | None = None, shown: bool | str = True) -> Callable[[F], F]:
    """Declare the option for the held-out share."""
    text = "Fraction held out for validation (0: none)."
    share = click.FloatRange(0, 1, max_open=True)
    return option(
        "--validation", type=share, default=default, show_default=shown, metavar="SHARE", heading="method", help=text
    )


def seed(default: int | None = None) -> Callable[[F], F]:
    """Declare the option for the random seed."""
    text = "Random seed."
    more: Any = {"default": default, "show_default": default is not None, "rare": default is None}
    return option("--seed", type=int, metavar="N", heading="method", help=text, **more)


def plot(what: str) -> Callable[[F], F]:
    """Declare the option for a plot."""
    return option("--plot", metavar="FILE", heading="plots", help=f"Save a plot of {what} (svg, png or pdf).")


def to(*formats: str) -> Callable[[F], F]:
    """Declare the option for the output format: one of the given formats, or any known format."""
    text = "Format to write; by default from the file name."
    kind = click.Choice(formats) if formats else None
    return option("--to", type=kind, metavar="NAME", heading="output", help=text)


valid = option("--valid", metavar="FILE", heading="input", help="Validation data, to choose the best iteration.")
metric = option(
    *("--metric", "-k", "wanted"),
    multiple=True,
    metavar="NAME",
    heading="output",
    help="Metric, repeatable.  [default: ndcg@10, map]",
)
min_ballots = option(
    "--min-ballots",
    type=click.FloatRange(0),
    metavar="N",
    heading="method",
    help="Minimum number of ballots per item.",
)
explain = option("--explain", is_flag=True, heading="output", help="Explain the result, with the numbers behind it.")
json = option("--json", "as_json", is_flag=True, heading="output", help="Print JSON.")
csv = option("--csv", "as_csv", is_flag=True, heading="output", help="Print comma-separated values.")
_rare_flag = partial(option, is_flag=True, heading="output", rare=True)
markdown = _rare_flag("--markdown", "as_markdown", help="Print a Markdown table.")
latex = _rare_flag("--latex", "as_latex", help="Print a LaTeX table (booktabs).")
html = _rare_flag("--html", "as_html", help="Print an HTML table to paste into a page.")
result_output = option(*("--output", "-o"), default="-", metavar="FILE", heading="output", help=_BY_ENDING)
output = option(*("--output", "-o"), default="-", metavar="FILE", heading="output", help=_OUTPUT)
required_output = option(*("--output", "-o"), required=True, metavar="FILE", heading="output", help=_OUTPUT)
model_output = option("--output", "-o", metavar="FILE", heading="output", help="File to save the model to.")
