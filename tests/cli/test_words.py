"""The command line names options, whatever a message of the library names."""

from __future__ import annotations

import copy
import re
from pathlib import Path

import click
import pytest
from tests.conftest import Run

import concordant as cc
from concordant import registry
from concordant.cli.__main__ import cli, work
from concordant.cli._default_options import DefaultCommand
from concordant.cli._shared import MethodCommand
from concordant.cli._words import ACTIONS, OPTION, option_words
from concordant.errors import InputError, Sentence, action, arg, clause, in_words
from concordant.params import params_of
from concordant.tables.options import BALLOTS, FILES, options_of


def said(command: str, sentence: Sentence) -> str:
    return in_words(sentence, option_words(fresh(command)))


def fresh(name: str, *line: str) -> click.Command:
    """Return a command as if this line had been given, whatever other tests gave before."""
    found = copy.copy(cli.get_command(click.Context(cli), name))
    assert found is not None
    if isinstance(found, MethodCommand):
        found.parse_args(click.Context(found, resilient_parsing=True), list(line))
    return found


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        (arg("winner"), "--winner"),
        (arg("winner", shown="…"), "--winner …"),
        (arg("layout", "rank-matrix"), "--layout rank-matrix"),
        (arg("left", "Team A"), "--left 'Team A'"),
        (arg("left", "it's $5"), "--left 'it'\"'\"'s $5'"),
        (arg("left", "é…"), "--left é…"),
        (arg("left", ""), "--left ''"),
        (arg("reduce", True), "--reduce"),
        (arg("header", False), "--no-header"),
        (arg("style_control", False), "--no-style-control"),
        (arg("seats"), "seats"),
        (arg("adherence", True, of="mpm"), "--method mpm --adherence"),
        (arg("missing", "ignore", of="borda"), "--method borda --missing ignore"),
        (arg("instance", None), "--instance none"),
        (arg("max_bytes"), "max bytes"),
        (arg("n_features", 3), "n features 3"),
    ],
)
def test_a_parameter_is_the_option_to_type_where_there_is_one(sentence: Sentence, words: str) -> None:
    assert said("rank", sentence) == words


@pytest.mark.parametrize(
    ("command", "sentence", "words"),
    [
        ("train", arg("features"), "--feature-columns"),
        ("train", arg("dtype", "float32"), "--float32"),
        ("train", arg("dtype", "float64"), "dtype float64"),
        ("train", arg("qid"), "--query"),
        ("recommend", arg("agent"), "--agent"),
        ("datasets", arg("folder"), "--data"),
        ("rank", arg("by"), "--by"),
        ("rank", arg("by", "low", of="sort"), "--sort low"),
        ("convert", arg("format"), "--format"),
        ("convert", arg("format", "csv", of="write"), "--to csv"),
        ("convert", arg("layout", "rankings", of="write"), "layout rankings"),
        ("convert", arg("spreadsheet", of="write"), "--spreadsheet"),
        ("compare", arg("methods", shown="A,B"), "--methods A,B"),
        ("describe", arg("seats", of="stv"), "rank --method stv --seats"),
        ("evaluate", arg("ties", "average", of="evaluate"), "--ties average"),
        ("report", clause("x: ", arg("ties", "average", of="evaluate"), "."), ""),
        ("evaluate", clause(", or use ", arg("skip_bad_rows", True)), ""),
        ("rank", clause(", or use ", arg("skip_bad_rows", True), "!"), ", or use --skip-bad-rows!"),
        ("rank", action("values", "use from_ranks"), "name their column with --rating or --rank"),
        ("evaluate", action("values", "use from_ranks"), "use ratings or ranks"),
    ],
)
def test_options_have_the_names_of_their_command(command: str, sentence: Sentence, words: str) -> None:
    assert said(command, sentence) == words


def test_an_error_a_note_and_a_warning_name_options(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "games.csv"
    path.write_text("winner,loser,day\na,b,2020-01-01\nc,b,\n,b,2020-01-02\n")
    with pytest.raises(InputError, match=r"use skip_bad_rows=True to leave such rows out\.$"):
        cc.read(path)
    code, _, err = run("rank", str(path))
    assert code == 1
    assert err.endswith("the winner is missing: correct the row, or use --skip-bad-rows to leave such rows out.\n")
    path.write_text("winner,loser,day\na,b,2020-01-01\nb,c,2023-01-02\n")
    code, _, err = run(
        "rank", str(path), "--method", "whole-history", "--time", "day", "--since", "2022", "--all-items"
    )
    assert code == 1
    assert "--all-items and --since 2022 contradict each other" in err
    _, _, err = run("rank", str(path), "--method", "whole-history", "--time", "day")
    assert "(--since changes the limit, --all-items ranks every item)" in err


def test_labels_that_look_like_parameters_stay_as_they_are(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "games.csv"
    path.write_text("winner,loser,reduce=True,winner=x\na,b,1,2\n,b,1,2\n")
    code, _, err = run("rank", str(path), "--strict")
    assert code == 1
    assert "the columns reduce=True, winner=x would not be read" in err


def test_a_description_names_options(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "ballots.csv"
    path.write_text("ranking\na > b > c\nb > c\na\nc > a\n")
    assert "elects several (seats=) by proportional representation" in str(cc.read(path).describe())
    _, out, _ = run("describe", str(path))
    assert "elects several (rank --method stv --seats) by proportional" in " ".join(out.split())
    assert "ranked last by voting rules, ignored by score models" in " ".join(out.split())


# ---- every option that is named exists ----
METHODS = ["borda", "davidson", "whole-history"]


def commands() -> list[tuple[str, click.Command]]:
    """Return every command, those whose options depend on a method also as if it were named."""
    found = []
    for name in work():
        found.append((name, fresh(name)))
        named = METHODS if name in ("rank", "fuse", "report") else []
        found += [(f"{name} {method}", fresh(name, "--method", method)) for method in named]
    return found


def accepted(command: click.Command) -> set[str]:
    inner = command.commands.values() if isinstance(command, click.Group) else ()
    own = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
    return own.union(*(accepted(one) for one in inner))


@pytest.mark.parametrize(("name", "command"), commands(), ids=lambda one: one if isinstance(one, str) else "")
def test_every_option_that_is_named_is_one_of_the_command(name: str, command: click.Command) -> None:
    defaults = command.options_of_defaults() if isinstance(command, DefaultCommand) and " " not in name else []
    known = accepted(command) | {one for option in defaults for one in (*option.opts, *option.secondary_opts)}
    declared = {one.name for method in registry.names() for one in params_of(registry.load(method))}
    reading = {one.name for what in {*FILES, *BALLOTS} for one in options_of(what)}
    said = [arg(one) for one in declared | reading] + [action(one, "") for one in ACTIONS]
    said += [arg(one, of=of) for of in ("write", "sort", "evaluate") for one in ("format", "by", "ties", "tag")]
    words = option_words(command)
    assert {one for text in said for one in OPTION.findall(in_words(text, words))} <= known
    others = [arg(one.name, of=method) for method in METHODS for one in params_of(registry.load(method))]
    for text in others:
        shown = in_words(text, words)
        assert shown.startswith(("rank --method ", "--method ")) or set(OPTION.findall(shown)) <= known
        assert not shown.startswith("--method") or "--method" in known


def test_actions_name_commands_that_exist() -> None:
    texts = " ".join(text or "" for alternatives in ACTIONS.values() for text in alternatives)
    assert set(re.findall("`concordant ([a-z-]+)", texts)) <= set(work())


def test_metrics_are_named_as_they_were_written() -> None:
    for text, words in {"ndcg@0": "'ndcg@0': cutoff 0 is out", "rbp:p=2": "'rbp:p=2': p 2 is out"}.items():
        with pytest.raises(cc.ParameterError, match=f"^{words}"):
            cc.metrics.parse(text)
