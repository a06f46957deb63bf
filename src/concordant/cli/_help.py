"""Grouped help: ``--help`` shows common options, ``--help-all`` all of them.

An option declares its heading, and whether it is rare. A command with at most ``LONG`` options has a plain list; one
with more has headings, each of which ends with the names of its rare options.
"""

from __future__ import annotations

import inspect
import os
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

HEADINGS = ("input", "columns", "method", "output", "plots", "time", "scale")  # in this order; others follow
OTHERS, HELP = "options", "help"
LONG = 15  # options of a command, from which on it has headings
EXAMPLES = 4  # that --help shows of a command with headings
WIDTH = 24  # of the column of options; a longer one has a line of its own
_ALL = "concordant.cli.help_all"


class HelpOption(click.Option):
    """An option with a heading; a rare option is described by ``--help-all`` only."""

    def __init__(self, *args: Any, heading: str = OTHERS, rare: bool = False, **more: Any) -> None:
        super().__init__(*args, **more)
        self.heading, self.rare = heading, rare


def option(*names: str, heading: str = OTHERS, rare: bool = False, **more: Any) -> Callable[[F], F]:
    """Declare an option of a command, as ``click.option`` does, with its heading."""
    return click.option(*names, cls=HelpOption, heading=heading, rare=rare, **more)


class Command(click.Command):
    """A command that groups its options under headings if it has many."""

    hints: Mapping[str, Sequence[str]] = {}
    """Additional hints at the end of a heading."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._help_all = HelpOption(
            ["--help-all"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_show_all,
            help="Show all options and exit.",
            heading=HELP,
        )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words of a command line; a file after an option whose value may be left out is not its value."""
        bare = {name for option in self.params if _may_be_bare(option) for name in option.opts}
        words = [
            f"{word}=" if word in bare and (k == len(args) or os.path.exists(args[k])) else word
            for k, word in enumerate(args, 1)
        ]
        return super().parse_args(ctx, words)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters, with --help and, if it shows more, --help-all."""
        self._help_all.hidden = not (self._is_long() and any(map(_is_rare, self.params)))
        return [*super().get_params(ctx), self._help_all]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options under their headings, rare ones only with --help-all."""
        if not self._is_long():
            super().format_options(ctx, formatter)
            return
        groups = self._groups(ctx)
        width = min(WIDTH, max(len(first) for rows in groups.values() for _, (first, _) in rows))
        for heading, rows in groups.items():
            shown = [record for parameter, record in rows if wants_all(ctx) or not _is_rare(parameter)]
            rare = [parameter.opts[0] for parameter, _ in rows if _is_rare(parameter)] if len(shown) < len(rows) else []
            with formatter.section(heading[:1].upper() + heading[1:]):
                formatter.write_dl([(first.ljust(width), text) for first, text in shown], col_max=width)
                _write_end(formatter, rare, self.hints.get(heading, ()))

    def _groups(self, ctx: click.Context) -> dict[str, list[tuple[click.Parameter, tuple[str, str]]]]:
        """Return visible options with help records by heading; headings with only rare options merge into "help"."""
        groups: dict[str, list[tuple[click.Parameter, tuple[str, str]]]] = {heading: [] for heading in HEADINGS}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None:
                heading = (
                    parameter.heading
                    if isinstance(parameter, HelpOption)
                    else HELP
                    if "--help" in parameter.opts
                    else OTHERS
                )
                groups.setdefault(heading, []).append((parameter, record))
        help_rows = groups.pop(HELP, [])
        for heading, rows in () if wants_all(ctx) else [*groups.items()]:
            if all(_is_rare(parameter) for parameter, _ in rows):  # its names are listed under "help"
                help_rows += groups.pop(heading)
        return {heading: rows for heading, rows in (*groups.items(), (HELP, help_rows)) if rows}

    def _is_long(self) -> bool:
        return sum(isinstance(parameter, click.Option) and not parameter.hidden for parameter in self.params) > LONG

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples; only the first ones if the command has headings."""
        whole = self.epilog
        if self._is_long() and not wants_all(ctx):
            self.epilog = _shortened(whole or "")
        super().format_epilog(ctx, formatter)
        self.epilog = whole


class Group(click.Group):
    """A group of commands with grouped help."""

    command_class = Command


def wants_all(ctx: click.Context) -> bool:
    """Return whether to show all options."""
    return bool(ctx.meta.get(_ALL))


def full_help(command: click.Command, ctx: click.Context) -> str:
    """Return the help text with all options."""
    ctx.meta[_ALL] = True
    return command.get_help(ctx)


def _show_all(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        click.echo(full_help(ctx.command, ctx), color=ctx.color)
        ctx.exit()


def _write_end(formatter: click.HelpFormatter, rare: Sequence[str], hints: Sequence[str]) -> None:
    """Write the options that ``--help-all`` adds under a heading, and the hints of the heading."""
    text = "; ".join([*([f"--help-all adds {', '.join(rare)}"] if rare else []), *hints])
    indent = " " * formatter.current_indent
    how: Any = {"initial_indent": indent, "subsequent_indent": indent, "break_on_hyphens": False}
    formatter.write("".join(f"{line}\n" for line in textwrap.wrap(text, formatter.width, **how)))


def _may_be_bare(parameter: click.Parameter) -> bool:
    """Return whether an option may be given with or without a value."""
    return isinstance(parameter, click.Option) and not parameter.is_flag and parameter.flag_value == ""


def _is_rare(parameter: click.Parameter) -> bool:
    return isinstance(parameter, HelpOption) and parameter.rare and not parameter.hidden


def _shortened(epilog: str) -> str:
    """Return the epilog with the first few examples."""
    examples, *rest = inspect.cleandoc(epilog).split("\n\n")
    first, more = examples.splitlines()[: EXAMPLES + 2], examples.splitlines()[EXAMPLES + 2 :]
    shown = "\n".join(first)
    return "\n\n".join([shown.replace("Examples:", "Examples: (--help-all shows more)") if more else shown, *rest])
