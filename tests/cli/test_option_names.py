"""No hyper-parameter is hidden by an option of the command it is used in."""

from __future__ import annotations

import pytest
from tests.cli.test_help import every_command
from tests.conftest import ROOT

import concordant as cc
from concordant import registry
from concordant.cli._shared import MethodCommand
from concordant.tables.options import PREFERENCES, options_of

SAME = {"--seed"}  # the command hands it to the method


def used_in(name: str) -> list[str]:
    """Name what a command takes with --method."""
    kinds = {"train": registry.LEARNERS, "recommend train": registry.RECOMMENDERS}
    if name in kinds:
        return kinds[name].names()
    learns = {one: "labels" in registry.load(one).needs for one in registry.names()}
    return [one for one in learns if learns[one] == (name == "train-fusion")]


def with_methods() -> dict[str, MethodCommand]:
    return {path: command for path, command in every_command() if isinstance(command, MethodCommand)}


def test_the_commands_that_take_a_method_are_all_looked_at() -> None:
    assert {"rank", "report", "fuse", "train", "train-fusion", "recommend train"} <= set(with_methods())


@pytest.mark.parametrize("name", ["rank", "report", "fuse", "train", "train-fusion", "recommend train"])
def test_no_hyper_parameter_shares_its_name_with_an_option(name: str) -> None:
    command = with_methods()[name]
    options = {
        option
        for one in command.params
        if not str(one.name).startswith("param_")
        for option in (*one.opts, *one.secondary_opts)
    }
    hidden = {
        (method, declared.option)
        for method in used_in(name)
        for declared in command.params_of(method)
        if declared.option in options - SAME
    }
    assert hidden == set()


def test_no_hyper_parameter_shares_its_name_with_an_option_of_reading() -> None:
    """``cc.rank(path, method, ...)`` takes both."""
    known = {one.name for one in options_of(PREFERENCES)}
    shared = {
        (method, declared.name)
        for method in registry.names()
        for declared in cc.params.params_of(registry.load(method))
        if declared.name in known
    }
    assert shared == set()


def test_the_committee_alone_is_a_result_and_no_file(tmp_path, monkeypatch) -> None:
    from click.testing import CliRunner

    from concordant.cli.__main__ import cli

    monkeypatch.chdir(tmp_path)
    asked = ["rank", str(ROOT / "examples" / "approvals.csv"), "--method", "pav", "--seats", "3"]
    found = CliRunner().invoke(cli, [*asked, "--result", "committee", "--csv"])
    assert found.exit_code == 0, found.output
    assert [line.split(",")[0] for line in found.stdout.splitlines()[1:5]] == ["1", "1", "1", "4"]
    assert not list(tmp_path.iterdir())
