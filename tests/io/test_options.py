"""Every option of reading is declared once; Python, the command line, the stub and the documentation follow."""

from __future__ import annotations

import inspect
import re
from typing import Any

import click
import pytest
from tests.cases import load_file
from tests.conftest import ROOT

import concordant as cc
from concordant.cli import rank, train
from concordant.errors import ConcordantError
from concordant.tables.options import FEATURES, FRAME, LABELS, PREFERENCES, options_of

READERS = {PREFERENCES: cc.read, LABELS: cc.read_labels, FEATURES: cc.read_features, FRAME: cc.Preferences.from_frame}


@pytest.mark.parametrize("what", READERS)
def test_the_signature_spells_out_what_is_declared(what: str) -> None:
    taken = [name for name, one in inspect.signature(READERS[what]).parameters.items() if one.kind is one.KEYWORD_ONLY]
    assert taken == [one.name for one in options_of(what)]


@pytest.mark.parametrize("what", [PREFERENCES, LABELS, FEATURES])
def test_editors_are_told_every_option(what: str) -> None:
    stub = (ROOT / "src" / "concordant" / "__init__.pyi").read_text(encoding="utf-8")
    spelled = re.search(rf"def {READERS[what].__name__}\((.*?)\) ->", stub, re.DOTALL)
    assert spelled is not None
    assert all(f" {one.name}: {one.typed} = ..." in spelled[1] for one in options_of(what))


@pytest.mark.parametrize(("command", "what"), [(rank.command, PREFERENCES), (train.command, FEATURES)])
def test_the_command_line_has_every_option_but_those_kept_from_it(command: click.Command, what: str) -> None:
    flags = {flag for one in command.params for flag in one.opts}
    for one in options_of(what):
        assert ((one.flag or one.option) in flags) == (one.flag is not None), one.name


def test_the_documentation_has_every_option() -> None:
    page = load_file(ROOT / "docs" / "_ext" / "registry_pages.py").pages()["reading.md"]
    for what in READERS:
        section = page.partition(f"## {what.capitalize()}\n")[2].partition("\n## ")[0]
        assert all(f"`{one.name}=`" in section for one in options_of(what))


@pytest.mark.parametrize(
    ("reader", "given", "said"),
    [
        (cc.read, {"delimeter": ";"}, "Unknown argument 'delimeter'. Did you mean delimiter"),
        (cc.read_labels, {"winner": "w"}, "Unknown argument 'winner'. Columns can be given for item, instance, label."),
        (cc.read_features, {"querry": "q"}, "Unknown argument 'querry'. Did you mean query"),
        (cc.read, {"strict": "yes"}, "strict='yes' has the wrong type: give True or False."),
        (cc.read_features, {"n_features": 2.5}, "n_features=2.5 has the wrong type: give a whole number."),
    ],
)
def test_what_is_no_option_is_said_in_one_sentence(make: Any, reader: Any, given: dict[str, Any], said: str) -> None:
    with pytest.raises(ConcordantError, match=re.escape(said)):
        reader(make("winner,loser\na,b\n"), **given)
