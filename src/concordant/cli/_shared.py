"""Code shared by commands: reading options, options of methods, messages."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import click

from concordant.cli._help import Command, HelpOption
from concordant.cli._help import option as help_option
from concordant.cli._options import complete as complete
from concordant.cli._options import listed as listed
from concordant.cli._output import Output as Output
from concordant.cli._output import output_options as output_options
from concordant.cli._output import records as records
from concordant.cli._output import table as table
from concordant.cli._output import to_csv as to_csv
from concordant.cli._output import to_json as to_json
from concordant.cli._output import write_text as write_text
from concordant.params import Param
from concordant.support import progress
from concordant.support.text import capital, visible
from concordant.tables.options import Option, options_of

if TYPE_CHECKING:
    from concordant.errors import Words
    from concordant.preferences import Preferences

F = TypeVar("F", bound=Callable[..., Any])


def reading_options(
    what: str, *, groups: bool = False, hidden: Collection[str] = (), only: Collection[str] | None = None
) -> Callable[[F], F]:
    """Add the options for reading preferences, labels or features; with ``groups`` also ``--by``.

    ``hidden`` options, which do not apply to a command, are accepted but not shown in its help; ``only`` names the
    options of a command that takes no others.
    """

    def add(command: F) -> F:
        for declared in reversed(options_of(what)):
            is_wanted = declared.name in only if only is not None else groups or declared.name != "by"
            if declared.flag is not None and is_wanted:
                command = _reading_option(declared, declared.name in hidden)(command)
        return command

    return add


def _reading_option(declared: Option, hidden: bool) -> Callable[[F], F]:
    """Return the click option of a declared reading option."""
    names = [declared.flag or declared.option, f"read_{declared.name}"]
    text = capital(declared.doc) + "."
    option = partial(help_option, heading=declared.heading, rare=not declared.common, hidden=hidden, help=text)
    if declared.name == "format":
        names.insert(1, "-f")
    if declared.flag_value is not None:
        return option(*names, flag_value=declared.flag_value)
    if declared.kind is bool and declared.optional:
        names[0] = f"{names[0]}/--no-{declared.name}"
        return option(*names, default=None)
    if declared.kind is bool:
        return option(*names, is_flag=True)
    if declared.bare_value is not None:
        return option(*names, is_flag=False, flag_value=declared.bare_value, metavar=declared.metavar)
    if declared.many:
        return option(*names, multiple=True, metavar=declared.metavar)
    kind = click.Choice(declared.choices) if declared.choices else int if declared.kind is int else None
    return option(*names, type=kind, metavar=declared.metavar)


def pop_reading_options(options: dict[str, Any]) -> dict[str, Any]:
    """Remove the reading options that were given from ``options`` and return them."""
    return _pop_given(options, "read_")


def _pop_given(options: dict[str, Any], prefix: str) -> dict[str, Any]:
    """Remove options with this prefix and return those that were given, without the prefix."""
    given = {key: options.pop(key) for key in list(options) if key.startswith(prefix)}
    return {key.removeprefix(prefix): value for key, value in given.items() if value not in (None, ())}


def read_preferences(path: Sequence[str], options: dict[str, Any]) -> Preferences:
    """Read preferences with the reading options, which are removed from ``options``."""
    from concordant.io import read

    return read(path[0] if len(path) == 1 else path, **pop_reading_options(options))


def method_options(params: Iterable[Param], **how: Any) -> list[click.Option]:
    """Create command-line options from the declared hyper-parameters of a method; ``how`` places them in the help."""
    return [_option(declared, **how) for declared in params]


def _option(declared: Param, **placement: Any) -> click.Option:
    """Return the click option of a hyper-parameter."""
    text = capital(declared.doc)
    names = [declared.option, f"param_{declared.name}"]
    shown = f"{text}.  [{declared.name}; default: {declared.default}]"
    if declared.kind is bool:
        names[0] = f"{declared.option}/--no-{declared.name.replace('_', '-')}"
        return HelpOption(names, default=None, help=shown, **placement)
    if declared.choices:
        return HelpOption(names, type=click.Choice(declared.choices), default=None, help=shown, **placement)
    if declared.words:
        return HelpOption(names, type=_NumberOrWord(declared), default=None, help=shown, **placement)
    return HelpOption(names, type=declared.kind, default=None, help=shown, **placement)


class _NumberOrWord(click.ParamType):  # type: ignore[type-arg]
    """A number, or one of a few words such as "auto"."""

    def __init__(self, declared: Param) -> None:
        self.declared = declared
        self.name = "|".join([declared.kind.__name__, *declared.words])

    def get_metavar(self, *_: Any, **__: Any) -> str:
        return "|".join([self.declared.kind.__name__.upper(), *self.declared.words])

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value in self.declared.words:
            return value
        try:
            return self.declared.kind(value)
        except ValueError:
            self.fail(f"{value!r} is neither a number nor {' or '.join(self.declared.words)}.", param, ctx)


class MethodCommand(Command):
    """A command whose options depend on the named method."""

    default_method: str | None = None
    method_in_use: str | None = None
    """The named method, in any spelling, or the default one; set after parsing."""
    hints = {"method": ('--method NAME --help adds its options, "concordant methods" lists methods',)}

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Add the options of the method named on the command line (or the default one), then parse."""
        from concordant.errors import ConcordantError

        named = named_method(args)
        name = named or self.default_method
        fixed = [parameter for parameter in self.params if not (parameter.name or "").startswith("param_")]
        self.params, self.method_in_use = fixed, None
        if name:
            try:
                declared = self.params_of(name)
            except ConcordantError as error:
                raise click.UsageError(str(error), ctx) from None
            self.method_in_use = name
            taken = {name for option in fixed for name in option.opts}
            added = method_options(declared, heading=f"options of {name}", rare=named is None)
            self.params = fixed + [option for option in added if not taken.intersection(option.opts)]
        return super().parse_args(ctx, args)

    def params_of(self, name: str) -> tuple[Param, ...]:
        """Return the hyper-parameters of a method by its name in any spelling."""
        from concordant import registry
        from concordant.params import params_of

        return params_of(registry.load(registry.resolve(name)[0]))


def named_method(args: Sequence[str]) -> str | None:
    """Return the method named on a command line, or None."""
    for k, arg in enumerate(args):
        if arg in ("-m", "--method"):
            return args[k + 1] if k + 1 < len(args) else None
        if arg.startswith("--method="):
            return arg.partition("=")[2]
        if arg.startswith("-m") and not arg.startswith("--"):
            return arg[2:]
    return None


def pop_params(options: dict[str, Any]) -> dict[str, Any]:
    """Remove the method's hyper-parameters that were given from ``options`` and return them."""
    return _pop_given(options, "param_")


def check_plots(*paths: str | None) -> None:
    """Reject names of plots with an unknown extension before anything is read."""
    for path in filter(None, paths):
        from concordant.narrative.plots import check_path

        check_path(path)


def tell_of_plot(figure: Any) -> None:
    """Print the notes of a plot, such as a script that no installed font has."""
    from concordant.narrative.lettering import notes

    tell(notes(figure), "note: ")


def words() -> Words:
    """Return how the current command names parameters."""
    from concordant.cli._words import option_words

    context = click.get_current_context(silent=True)
    return option_words(context.command if context else None)


def tell(lines: Iterable[object], prefix: str) -> None:
    """Print notes, warnings or other lines on standard error."""
    from concordant.errors import in_words

    named = words()
    progress.hide()
    for line in lines:
        message = in_words(line, named)
        click.echo(f"{prefix}{visible(message, colours=False) if sys.stderr.isatty() else message}", err=True)
