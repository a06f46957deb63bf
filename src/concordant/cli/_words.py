"""Wording of messages on the command line: a parameter appears as the option to type."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import click

from concordant.errors import ACTION, ROLE, Reference, UnknownNameError, Words

# Parameters of Python whose option has another name, in the commands that have that option.
CALLED = {"qid": "query", "folder": "data", "n_ballots": "ballots", "n": "number", "share": "validation"}
ELSEWHERE = {("write", "format"): "to", ("sort", "by"): "sort"}
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]+")
# What to do instead of calling a function: the first text whose options the command has; None keeps Python's words.
ACTIONS: dict[str, tuple[str | None, ...]] = {
    "classes": ("find the class of each item with `concordant crowd`",),
    "features": (
        "; rows of features are read by `concordant train` and `concordant predict`, relevance judgements by "
        "`concordant evaluate`",
    ),
    "fit": (
        "train it with `concordant train-fusion`, and apply the saved model with --model",
        "train it with `concordant train-fusion`, and apply the saved model with `concordant rank`",
    ),
    "gold_file": ("; --gold with this file compares the answers with them", ""),
    "gold": ("evaluate answers with `concordant crowd`",),
    "judgements": ("",),
    "list": (None,),
    "no_teams": ("",),
    "open_file": ("",),
    "one_instance": (": choose one with --query.", ", but this output shows only one: use data with one instance."),
    "one_agent": ("give one file per system",),
    "read": ("use it with `concordant rank`",),
    "read_features": ("use it with `concordant train`",),
    "read_labels": ("evaluate rankings against it with `concordant evaluate`",),
    "refit": ("train it with `concordant recommend train`",),
    "select": ("",),
    "select_one": (": combine them with --instance none", ""),
    "sides": ("",),
    "teamless": (", or drop the teams with --team none, which makes their members tied items", ""),
    "unmerged": ("use data that keep the order of events",),
    "values": ("name their column with --rating or --rank", "use ratings or ranks"),
    "whole": ("rank without --reduce and --workers", "read the files as they are"),
}
_SAFE = re.compile(r"[\w@%+=:,./…-]+")  # needs no quotes in a shell


def option_words(command: click.Command | None) -> Words:
    """Return how a command names parameters: its own options, and options of other methods with the method's name."""
    known = {_parameter(option): option for option in _options(command)}
    others = {option.name: option for option in known.values()}  # those of reading and methods as read_…, param_…
    typed = {name for option in known.values() for name in (*option.opts, *option.secondary_opts)}

    def words(reference: Reference) -> str | None:
        name, of = reference.name, reference.of
        if of == ACTION:
            return next((text for text in ACTIONS[name] if text is None or typed.issuperset(OPTION.findall(text))), "")
        if of == ROLE:
            return reference.shown
        if of in ("write", "sort", "evaluate"):
            option = others.get(ELSEWHERE.get((of, name), name))
        elif of and not _is_in_use(command, of):
            return _of_method(reference, "" if "--method" in typed else "rank ")
        else:
            option = known.get(name) or known.get(CALLED.get(name, "")) or _of_a_default(command, name)
        said = None if option is None else _written(option, reference)
        return reference.plain if said is None and not reference.before else said

    return words


def _options(command: click.Command | None) -> Iterator[click.Option]:
    """Yield the options of a command, for a group also those of its commands."""
    if isinstance(command, click.Group):
        for subcommand in command.commands.values():
            yield from _options(subcommand)
    yield from (parameter for parameter in (command.params if command else ()) if isinstance(parameter, click.Option))


def _parameter(option: click.Option) -> str:
    return (option.name or "").removeprefix("read_").removeprefix("param_")


def _is_in_use(command: click.Command | None, method: str) -> bool:
    """Return whether the command line names this method, in any spelling."""
    from concordant import registry

    named = getattr(command, "method_in_use", None)
    try:
        return named == method or (named is not None and registry.resolve(named)[0] == method)
    except UnknownNameError:  # a learner or a recommender
        return False


def _of_method(reference: Reference, command: str) -> str | None:
    """Return the option of a method other than the current one, after the name of the method."""
    from concordant import registry
    from concordant.cli._shared import method_options
    from concordant.params import params_of

    declared = [one for one in params_of(registry.load(reference.of)) if one.name == reference.name]
    said = _written(method_options(declared)[0], reference) if declared else None
    return reference.plain if said is None else f"{command}--method {reference.of} {said}"


def _of_a_default(command: click.Command | None, name: str) -> click.Option | None:
    """Return the option of a default method, if the method depends on the data."""
    from concordant.cli._default_options import DefaultCommand

    if not isinstance(command, DefaultCommand) or command.method_in_use is not None:
        return None
    return next((one for one in command.options_of_defaults() if _parameter(one) == name), None)


def _written(option: click.Option, reference: Reference) -> str | None:
    """Return an option as it is typed; None if it cannot express this value."""
    name = max(option.opts, key=len)
    if not reference.shown:
        return name
    if option.is_flag:
        typed = {"True": name, "False": next(iter(option.secondary_opts), None), str(option.flag_value): name}
        return typed.get(reference.value)
    if reference.value == "True" and option.flag_value == "":  # its value may be left out
        return name
    if reference.value in ("False", "None"):
        return f"{name} none"
    is_plain = not reference.is_text or _SAFE.fullmatch(reference.value)
    return f"{name} {reference.value if is_plain else _quoted(reference.value)}"


def _quoted(text: str) -> str:
    """Return a text quoted for a shell: in double quotes if that is enough and it contains single ones, as SQL does."""
    return f'"{text}"' if "'" in text and not set(text.replace("!=", "")) & set('"$`\\!') else shlex.quote(text)
