"""The words of the command line: a parameter that a message names, as the option to type."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import click

from concordant.errors import Reference, Words

# Parameters of Python whose option has another name, in the commands that have that option.
CALLED = {"qid": "query", "folder": "data", "n_ballots": "ballots", "n": "number", "share": "validation"}
ELSEWHERE = {("write", "format"): "to", ("sort", "by"): "sort"}
_SAFE = re.compile(r"[\w@%+=:,./…-]+")  # needs no quotes in a shell


def option_words(command: click.Command | None) -> Words:
    """Return the function that names parameters as options of a command, else as those of the methods."""
    known = {_parameter(option): option for option in _options(command)}
    by_option_name = {option.name: option for option in known.values()}  # reading options start with read_

    def words(reference: Reference) -> str | None:
        name = reference.name
        if reference.of:
            option = by_option_name.get(ELSEWHERE.get((reference.of, name), name))
        else:
            option = known.get(name) or known.get(CALLED.get(name, "")) or _of_a_method(name)
        return None if option is None else _written(option, reference)

    return words


def _options(command: click.Command | None) -> Iterator[click.Option]:
    """Yield the options of a command, for a group also those of its commands."""
    if isinstance(command, click.Group):
        for subcommand in command.commands.values():
            yield from _options(subcommand)
    yield from (parameter for parameter in (command.params if command else ()) if isinstance(parameter, click.Option))


def _parameter(option: click.Option) -> str:
    return (option.name or "").removeprefix("read_").removeprefix("param_")


def _of_a_method(name: str) -> click.Option | None:
    """Return the option of the first method that has a parameter of this name; all methods are searched."""
    from concordant import registry
    from concordant.cli._shared import method_options
    from concordant.params import params_of

    methods = (registry.load(method) for method in registry.METHODS.modules())
    declared = next((param for method in methods for param in params_of(method) if param.name == name), None)
    return None if declared is None else method_options([declared])[0]


def _written(option: click.Option, reference: Reference) -> str | None:
    """Return an option as it is typed; None where it cannot express this value."""
    name = max(option.opts, key=len)
    if not reference.shown:
        return name
    if option.is_flag:
        typed = {"True": name, "False": next(iter(option.secondary_opts), None), str(option.flag_value): name}
        return typed.get(reference.value)
    if reference.value in ("False", "None"):
        return f"{name} none"
    is_plain = not reference.is_text or _SAFE.fullmatch(reference.value)
    return f"{name} {reference.value if is_plain else shlex.quote(reference.value)}"
