"""``concordant simulate`` draws from every model and writes any format."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

import concordant as cc
from concordant.cli.__main__ import cli
from concordant.registry import SIMULATORS


def run(*arguments):
    return CliRunner().invoke(cli, ["simulate", *arguments])


@pytest.mark.parametrize("model", SIMULATORS.modules())
def test_every_model_can_be_drawn_and_read_back(model, tmp_path):
    path = tmp_path / "drawn.csv"
    result = run(model, "--items", "5", "--ballots", "20", "--seed", "3", "-o", str(path))
    assert result.exit_code == 0, result.output
    assert cc.read(path).n_items == 5


def test_the_format_follows_the_name_or_the_option(tmp_path):
    path = tmp_path / "drawn.jsonl"
    run("mallows", "--items", "a,b,c", "--phi", "0", "--ballots", "2", "-o", str(path))
    assert path.read_text().count("a > b > c") == 2
    assert '"ranking"' in run("mallows", "--items", "a,b,c", "--to", "jsonl").stdout


def test_the_centre_and_the_scores_can_be_given():
    result = run("mallows", "--items", "a,b,c", "--centre", "c,a,b", "--phi", "0", "--ballots", "1")
    assert "c > a > b" in result.stdout
    result = run("plackett-luce", "--items", "a,b", "--scores", "50,-50", "--ballots", "3")
    assert "b > a" not in result.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("mpm", "--phi", "0.5"), "has no option --phi"),
        (("mallows", "--phi", "much"), "not a list of numbers"),
        (("moon",), "moon"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, words):
    result = run(*arguments)
    assert result.exit_code == 2
    assert words in result.output
