"""The page names its controls, whatever a message of the library names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import ROOT
from tests.web.asking import Page
from tests.workbooks import xlsx

from concordant import registry
from concordant.errors import ROLE, Reference, Sentence, action, arg, clause, in_words
from concordant.params import params_of
from concordant.web.settings import PageSettings, offered_roles
from concordant.web.words import LABELS, control_words

pytestmark = pytest.mark.once

PARAMS = [one.name for one in params_of(registry.load("bradley-terry"))]


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        (arg("winner"), "the role “winner”"),
        (Sentence(Reference("left", "left = model_a", "model_a", ROLE)), "model_a (first side)"),
        (Sentence(Reference("winner", "winner = Winner", "Winner", ROLE)), "Winner"),
        (Sentence(Reference("covariate", "covariate x = a - b", "a − b", ROLE)), "a − b (style)"),
        (arg("winner", shown="…"), "the role “winner”"),
        (arg("left_won", "A wins?"), "the role “first side won” for A wins?"),
        (arg("places", "x,y"), "the role “place” for x,y"),
        (arg("instance", "none"), "“not read” for the query or contest"),
        (arg("layout", "rank-matrix"), "“Kind of data: Matrix of ranks (1 is best)”"),
        (arg("transpose", True), "“Every row is a person”"),
        (arg("date_order", "day"), "“Dates begin with: the day”"),
        (arg("max_ratio"), "the limit on the command line"),
        (arg("skip_bad_rows", True), "“Skip unreadable rows”"),
        (arg("min_ballots"), "“Minimum number of ballots per item”"),
        (arg("prior", -1), "“prior” -1"),
        (arg("reduce", True), "reduce"),
        (arg("seats"), "seats"),
        (arg("seats", of="stv"), "“seats” of the method stv"),
        (arg("prior", 2, of="bradley-terry"), "“prior” 2"),
        (clause(", or say ", arg("format")), ""),
        (action("list", "`concordant methods` lists them all."), ""),
    ],
)
def test_a_parameter_is_the_control_to_use_where_there_is_one(sentence: Sentence, words: str) -> None:
    assert in_words(sentence, control_words(PARAMS, "bradley-terry")) == words


def test_every_setting_that_a_message_can_name_is_a_control_of_some_page(tmp_path: Path) -> None:
    path = tmp_path / "games.csv"
    path.write_text("winner,loser,day,kind\na,b,2020-01-01,x\nb,c,2023-01-02,y\nc,a,2023-01-03,x\na,c,2023-01-04,y\n")
    (tmp_path / "book.xlsx").write_bytes(xlsx({"S": [["winner", "loser"], ["a", "b"], ["b", "a"]]}))
    further = {"table": "x", "transpose": "true", "date_order": "day", "categories": "a,b", "repeated": "last"}
    runs = ("qrels.txt", "runs/engine1.run", "runs/engine2.run")
    pages = [
        Page(path, scale="elo", min_ballots="1", by="kind"),
        Page(path, **further),
        Page(tmp_path / "book.xlsx"),
        Page(*(ROOT / "examples" / name for name in runs)),
    ]
    offered = {name for page in pages for name in re.findall(r'data-setting="([a-z_]+)"', page.html)}
    assert set(LABELS) - {"question"} <= offered
    assert offered <= {one.name for one in params_of(PageSettings)}
    assert {"winner", "agent", "place"} <= set(offered_roles())


def test_an_error_names_the_control_that_mends_it(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("winner,loser\na,b\n,b\n")
    page = Page(path)
    wanted = "correct the row, or use “Skip unreadable rows” to leave such rows out."
    assert page.error.endswith(wanted)
    path.write_text("winner,loser\na,b\nb,a\n")
    page = Page(path, **{"method": "bradley-terry", "o.prior": "-1"})
    assert page.error.startswith("“prior” -1.0 is out of range")
    path.write_text("x,y\nfoo,1\nbar,2\n")
    page = Page(path)
    assert "for example the role “winner” and the role “loser”" in page.error
    assert "“Kind of data: Matrix of ranks (1 is best)”" in page.error


def test_notes_and_results_name_controls(tmp_path: Path) -> None:
    path = tmp_path / "games.csv"
    path.write_text("winner,loser,day\na,b,2020-01-01\nb,c,2023-01-02\n")
    page = Page(path, **{"method": "whole-history", "role.day": "time"})
    assert page.error == ""
    assert "(“only items active since” changes the limit, “all items” ranks every item)" in page.html
    assert "since=" not in "".join(page.sections.values())


@pytest.mark.parametrize(
    ("file", "settings", "error"),
    [
        ("qrels.txt", {}, "which does not contain preferences: add it as relevance judgements."),
        ("election.csv", {"method": "brda"}, "There is no method 'brda'. Did you mean borda?"),
        ("election.csv", {"method": "mean-rating"}, "choose the role “rating” or the role “rank” for a column."),
    ],
)
def test_an_error_names_neither_functions_nor_commands(file: str, settings: dict[str, Any], error: str) -> None:
    assert Page(ROOT / "examples" / file, **settings).error.endswith(error)


@pytest.mark.parametrize(
    ("file", "settings"),
    [
        ("league.csv", {"method": "davidson", "min_ballots": "2"}),
        ("ratings.csv", {"method": "mpm"}),
        ("election.csv", {}),
    ],
)
def test_the_page_has_no_words_of_python(file: str, settings: dict[str, Any]) -> None:
    page = Page(ROOT / "examples" / file, **settings)
    assert page.error == ""
    regions = [html for name, html in page.regions.items() if name != "download"]  # which shows both lines
    shown = re.sub(r"<svg.*?</svg>|<[^>]*>", " ", " ".join([*regions, *page.sections.values()]))
    assert re.findall(r"[a-z_]+=\S*|`concordant [a-z]+`|--[a-z]\S+", shown) == []
