"""Options of default methods, accepted when no method is named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from concordant.cli import _shared as shared

if TYPE_CHECKING:
    from concordant.request import Request


class DefaultCommand(shared.MethodCommand):
    """A command whose default method depends on the data: it accepts the options of every default method."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line; an option that is unknown without a method is looked up among those of the default
        methods.
        """
        if shared.named_method(args) is not None:
            return super().parse_args(ctx, args)
        try:
            return super().parse_args(ctx, list(args))
        except click.NoSuchOption:
            self.params = [*self.params, *self.options_of_defaults()]
            return click.Command.parse_args(self, ctx, args)

    def options_of_defaults(self) -> list[click.Option]:
        """Return each option of the default methods once; its value is converted when the method is known."""
        taken = {name for option in self.params for name in option.opts}
        option_of_name: dict[str, click.Option] = {}
        for declared in (param for name in default_methods() for param in self.params_of(name)):
            if declared.option not in taken:
                (option,) = shared.method_options([declared])
                if not option.is_flag:
                    option.type = click.STRING  # methods differ in the type: _settled converts it
                option_of_name.setdefault(declared.name, option)
        return list(option_of_name.values())


def default_methods() -> list[str]:
    """Return the methods that are the default for some form of data."""
    from concordant.api import DEFAULTS

    return list(dict.fromkeys(row.method for row in DEFAULTS))


def _settled(command: shared.MethodCommand, method: str, given: dict[str, Any]) -> dict[str, Any]:
    """Convert options given without a method to those of the default method for the data."""
    known = {declared.name: declared for declared in command.params_of(method)}
    settled = {}
    for name, value in given.items():
        if name not in known:
            owners = [
                method_name
                for method_name in default_methods()
                if name in {param.name for param in command.params_of(method_name)}
            ]
            option = "--" + name.replace("_", "-")
            raise click.UsageError(
                f"{option} is an option of {' and '.join(owners)}, but these data are ranked by {method}: leave it "
                f"out, or name the method with --method."
            )
        (option_of_method,) = shared.method_options([known[name]])
        settled[name] = option_of_method.type.convert(value, option_of_method, None) if value is not None else None
    return settled


def requested(
    command: shared.MethodCommand,
    file: Sequence[str],
    method: str | None,
    seed: int | None,
    min_ballots: float | None,
    options: dict[str, Any],
    model: str | None = None,
) -> Request:
    """Return the request of a command; remove the method and reading options from ``options``."""
    from concordant.request import Request

    given, reading = shared.pop_params(options), shared.pop_reading_options(options)
    if model is not None:
        from concordant.cli._models import model_method

        is_of_method = seed is not None and "by" not in reading
        return Request(file, model_method(model, [*given, *["seed"] * is_of_method]), {}, reading, min_ballots)

    def params(name: str) -> dict[str, Any]:
        method_params = given if method is not None else _settled(command, name, given)
        has_seed = any(declared.name == "seed" for declared in command.params_of(name))
        return method_params | ({"seed": seed} if seed is not None and has_seed else {})

    return Request(file, method, params, reading, min_ballots)
