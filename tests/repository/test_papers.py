"""The page about the papers names only things that exist: tests, methods, learners, metrics, commands, public names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click
import pytest

import concordant as cc
from concordant import registry
from concordant.cli.__main__ import cli
from concordant.params import params_of

pytestmark = pytest.mark.once
ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "papers.md"
KINDS = ("methods", "learners", "losses", "recommenders", "metrics", "experiments", "simulators")
CODE = sorted(set(re.findall(r"`([^`]+)`", " ".join(PAGE.read_text(encoding="utf-8").split()))))
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
VALUES = {  # choices of parameters that the page names
    *("arithmetic", "geometric", "harmonic", "maximum", "minimum", "binary", "difference", "scaled-difference", "log"),
    *("exact", "greedy", "beta", "mean", "samples", "steps", "persistent", "notes"),
}


def knows(kind: str, name: str) -> bool:
    try:
        registry.KINDS[kind].resolve(name)
    except cc.UnknownNameError:
        return False
    return True


@pytest.mark.parametrize("name", [code for code in CODE if NAME.fullmatch(code) and code not in VALUES])
def test_every_name_is_known(name: str) -> None:
    assert any(knows(kind, name) for kind in KINDS)


@pytest.mark.parametrize("path", [code for code in CODE if code.startswith("tests/")])
def test_every_test_is_there(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize("line", [code for code in CODE if code.startswith("concordant ")])
def test_every_command_exists(line: str) -> None:
    words = line.split()[1:]
    context = click.Context(cli)
    found = cli.get_command(context, words[0])
    assert found is not None
    if words[0] in ("methods", "learners", "recommenders"):
        assert knows(words[0], words[1])
    if words[0] == "reproduce" and words[1] != "NAME":
        assert isinstance(found, click.Group)
        assert found.get_command(context, words[1]) is not None


@pytest.mark.parametrize("call", [code for code in CODE if code.startswith("cc.")])
def test_every_public_name_exists(call: str) -> None:
    value: Any = cc
    for part in call.removeprefix("cc.").partition("(")[0].split("."):
        value = getattr(value, part)
    named = re.findall(r"(\w+)=", re.sub(r'"[^"]*"', "", call.partition("(")[2]))
    assert not named or set(named) <= {declared.name for declared in params_of(value)}
