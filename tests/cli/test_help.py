"""What --help and --help-all show, and that every text of theirs has one source."""

from __future__ import annotations

import inspect
import re
from collections import defaultdict
from collections.abc import Iterator

import click
import pytest
from tests.conftest import Run

from concordant.cli.__main__ import cli, commands
from concordant.cli._help import HEADINGS, LONG

OF_PAIRS = {"--winner", "--loser", "--tie", "--left", "--right", "--outcome", "--team", "--covariate", "--ballot"}


def every_command(command: click.Command = cli, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from every_command(found, (*path, name))
    else:
        yield " ".join(path), command


def options_of(command: click.Command) -> list[click.Option]:
    return [one for one in command.params if isinstance(one, click.Option) and not str(one.name).startswith("param_")]


def named_in(text: str) -> set[str]:
    return set(re.findall(r"--[a-z][a-z0-9-]*", text.partition("Examples")[0]))


@pytest.mark.parametrize(("command", "lines"), [("rank", 76), ("recommend train", 54), ("compare", 74), ("report", 74)])
def test_help_fits_a_screen_or_two(run: Run, command: str, lines: int) -> None:
    text = run(*command.split(), "--help")[1]
    assert len(text.splitlines()) <= lines
    assert max(map(len, text.partition("Examples")[0].splitlines())) <= 80


def test_the_help_of_rank_has_a_heading_for_every_purpose(run: Run) -> None:
    headings = re.findall(r"^(\w+):$", run("rank", "--help")[1], re.MULTILINE)
    assert headings == [*(name.capitalize() for name in HEADINGS), "Help"]


@pytest.mark.parametrize(
    "command", ["rank", "fuse", "train-fusion", "report", "convert", "train", "predict", "recommend for", "crowd"]
)
def test_help_names_every_option_and_help_all_explains_it(run: Run, command: str) -> None:
    shown = [one for one in options_of(dict(every_command())[command]) if not one.hidden]
    assert len(shown) > LONG
    assert {one.opts[0] for one in shown} <= named_in(run(*command.split(), "--help")[1])
    full = run(*command.split(), "--help-all")[1]
    explained = re.findall(r"^  (?:-\w, )?(--[\w-]+)", full.partition("Examples")[0], re.MULTILINE)
    assert {one.opts[0] for one in shown} <= set(explained)


def test_a_command_with_few_options_has_one_list_and_takes_help_all_too(run: Run) -> None:
    text = run("datasets", "--help")[1]
    assert "Options:" in text
    assert "--help-all" not in text
    assert run("datasets", "--help-all")[1] == text


def test_a_method_that_is_named_explains_its_options(run: Run) -> None:
    text = run("rank", "--method", "bradley-terry", "--help")[1]
    assert "Options of bradley-terry:\n  --prior" in text


@pytest.mark.parametrize("command", ["recommend train", "recommend for", "recommend evaluate", "crowd"])
def test_roles_of_pairs_are_not_offered_for_ratings(run: Run, command: str) -> None:
    assert not OF_PAIRS & named_in(run(*command.split(), "--help-all")[1])


def test_roles_that_are_not_offered_are_taken_nevertheless() -> None:
    known = {one.opts[0]: one for one in options_of(dict(every_command())["recommend train"])}
    assert known.keys() >= OF_PAIRS
    assert all(known[name].hidden for name in OF_PAIRS)


def test_a_command_says_what_it_does_in_one_place(run: Run) -> None:
    text = " ".join(run("--help")[1].split())
    for name in commands():
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        assert f" {name} {inspect.cleandoc(str(command.help)).splitlines()[0]} " in text


def test_an_option_has_the_same_text_and_metavar_in_all_commands() -> None:
    said: dict[str, set[tuple[str, str | None]]] = defaultdict(set)
    for path, command in every_command():
        has_own = path.split()[0] in ("reproduce", "simulate")  # options of experiments and of models
        for one in options_of(command):
            if not has_own or one.opts[0] in ("--json", "--seed", "--output", "--to"):
                said[one.opts[0]].add((str(one.help), one.metavar))
    different = {name: {text for text, _ in texts} for name, texts in said.items() if len(texts) > 1}
    assert different.keys() == {"--output", "--plot", "--item", "--weight", "--table", "--test", "--scale", "--all"}
    assert different["--output"] == {
        'File to write; "-" for standard output.',
        "File to write, in the format of its extension.",
        "File to save the model to.",
        "Parquet file of sums to add to.",
    }
    assert all(text.startswith("Save a plot of ") for text in different["--plot"])  # each command plots something else
    assert all(text.startswith("Column with ") for text in different["--item"] | different["--weight"])  # of two tables
    assert len(different["--scale"]) == 2  # of scores, of features
    assert len(different["--table"]) == 2  # of a database file, of a database elsewhere
    assert len(different["--all"]) == 2  # of agents, of rows
    assert len(different["--test"]) == 2  # a file of rows, a statistical test
