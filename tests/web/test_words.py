"""The page names its controls, whatever a message of the library names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import ROOT

from concordant import registry
from concordant.errors import Sentence, action, arg, clause, in_words
from concordant.params import params_of
from concordant.web import pages
from concordant.web.answers import Answerer
from concordant.web.settings import offered_roles
from concordant.web.words import LABELS, control_words

PARAMS = [one.name for one in params_of(registry.load("bradley-terry"))]


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        (arg("winner"), "the role “winner”"),
        (arg("winner", shown="…"), "the role “winner”"),
        (arg("left_won", "A wins?"), "the role “left won” for A wins?"),
        (arg("places", "x,y"), "the role “place” for x,y"),
        (arg("instance", "none"), "“not read” for the instance"),
        (arg("layout", "rank-matrix"), "“Layout” rank-matrix"),
        (arg("skip_bad_rows", True), "“Skip rows that cannot be read”"),
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


def test_the_labels_are_those_of_the_page() -> None:
    page = pages.page({})
    assert all(f">{label}" in page for label in LABELS.values())
    assert {"winner", "agent", "place"} <= set(offered_roles())


def asked(path: Path, **settings: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    told: dict[str, Any] = {}
    question = {"do": "show", "files": [str(path)], "labels": None, "title": "", "settings": settings}
    return Answerer(told.update).answer(question), told


def test_an_error_names_the_control_that_mends_it(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("winner,loser\na,b\n,b\n")
    answer, _ = asked(path)
    wanted = "correct the row, or use “Skip rows that cannot be read” to leave such rows out."
    assert answer["error"].endswith(wanted)
    path.write_text("winner,loser\na,b\nb,a\n")
    answer, _ = asked(path, method="bradley-terry", params={"prior": "-1"})
    assert answer["error"].startswith("“prior” -1.0 is out of range")
    path.write_text("x,y\nfoo,1\nbar,2\n")
    answer, _ = asked(path)
    assert "for example the role “winner” and the role “loser”" in answer["error"]
    assert "“Layout” rank-matrix" in answer["error"]


def test_notes_and_results_name_controls(tmp_path: Path) -> None:
    path = tmp_path / "games.csv"
    path.write_text("winner,loser,day\na,b,2020-01-01\nb,c,2023-01-02\n")
    roles = {"winner": "winner", "loser": "loser", "day": "time"}
    answer, told = asked(path, method="whole-history", roles=roles)
    assert answer["error"] is None
    assert "(“since” changes the limit, “all items” True ranks every item)" in told["results"]
    assert "since=" not in told["results"]


@pytest.mark.parametrize(
    ("file", "settings", "error"),
    [
        ("qrels.txt", {}, "which does not contain preferences: add it as relevance judgements."),
        ("election.csv", {"method": "brda"}, "There is no method 'brda'. Did you mean borda?"),
        ("election.csv", {"method": "mean-rating"}, "choose the role “rating” or the role “rank” for a column."),
    ],
)
def test_an_error_names_neither_functions_nor_commands(file: str, settings: dict[str, Any], error: str) -> None:
    answer, _ = asked(ROOT / "examples" / file, **settings)
    assert answer["error"].endswith(error)


@pytest.mark.parametrize(
    ("file", "settings"),
    [
        ("league.csv", {"method": "davidson", "min_ballots": 2}),
        ("ratings.csv", {"method": "mpm"}),
        ("election.csv", {"view": "compare"}),
    ],
)
def test_the_page_has_no_words_of_python(file: str, settings: dict[str, Any]) -> None:
    answer, told = asked(ROOT / "examples" / file, **settings)
    assert answer["error"] is None
    shown = re.sub(r"<svg.*?</svg>|<[^>]*>", " ", " ".join([told["results"], told["understood"], answer["methods"]]))
    assert re.findall(r"[a-z_]+=\S*|`concordant [a-z]+`|--[a-z]\S+", shown) == []
