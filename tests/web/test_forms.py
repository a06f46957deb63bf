"""Forms come from declarations: what they show, what is typed into them, and the commands that say the same."""

from __future__ import annotations

import copy
import html
import re
import shlex
from typing import Any

import pytest
from tests.conftest import ROOT
from tests.reporting.test_reporting import HOSTILE, Tree
from tests.web.asking import Page

from concordant import registry
from concordant.cli.__main__ import main
from concordant.errors import ParameterError
from concordant.io import Preview, preview
from concordant.params import Param, params_of
from concordant.support.markup import joined
from concordant.web import commands, forms
from concordant.web.reading import Source
from concordant.web.settings import typed

pytestmark = pytest.mark.once
METHODS = list(registry.modules())


def declared(name: str) -> tuple[Param, ...]:
    return params_of(registry.load(name))


def source(looked: Preview, roles: dict[str, str]) -> Source:
    """Return a file with these first rows, and these roles of its columns."""
    return Source(("votes.csv",), looked, roles, {}, "")


@pytest.mark.parametrize("name", METHODS)
def test_every_hyper_parameter_of_every_method_has_a_field_with_its_sentence(name: str) -> None:
    tree = Tree(joined(forms.option_field(one) for one in declared(name)))
    fields = {attributes["data-setting"]: attributes for _, attributes in tree.tags if "data-setting" in attributes}
    assert fields.keys() == {f"o.{one.name}" for one in declared(name)}
    text = " ".join(tree.texts)
    for one in declared(name):
        attributes = fields[f"o.{one.name}"]
        assert one.doc[1:] in text
        assert {"for": attributes["id"]}.items() <= {
            key: value for _, label in tree.tags for key, value in label.items() if value == attributes["id"]
        }.items()
        if attributes.get("type") == "number" and one.low is not None:
            assert float(attributes["min"] or "nan") == one.low


@pytest.mark.parametrize("name", METHODS)
def test_a_default_that_is_typed_again_changes_nothing(name: str) -> None:
    texts = {one.name: "" if one.default is None else str(one.default) for one in declared(name)}
    assert typed(declared(name), texts) == {}


@pytest.mark.parametrize("name", METHODS)
def test_what_is_typed_makes_the_method_and_the_command_makes_the_same(name: str) -> None:
    from concordant.cli.rank import command

    texts = {one.name: _other(one) for one in declared(name)}
    params = typed(declared(name), {key: text for key, text in texts.items() if text})
    line = commands.shell_command(["votes.csv"], {"winner": "a", "agent": None}, name, params)
    words = shlex.split(line)
    assert words[:3] == ["concordant", "rank", "votes.csv"]
    context = copy.copy(command).make_context("rank", words[2:])  # the command keeps its own --help
    taken = {key.removeprefix("param_"): value for key, value in context.params.items() if key.startswith("param_")}
    taken["seed"] = context.params["seed"]  # an option of the command itself
    assert {key: value for key, value in taken.items() if value is not None} == params
    assert context.params["output"] == "-", "no hyper-parameter becomes a file to write"
    assert context.params["read_winner"] == "a"
    assert context.params["read_agent"] == "none"


def _other(one: Param) -> str:
    """Return a text that stands for another value than the default."""
    if one.kind is bool:
        return str(not one.default)
    if one.choices:
        return next((choice for choice in one.choices if choice != one.default), "")
    if one.kind in (int, float):
        wanted = one.low if one.low is not None else 1
        upper = one.high if one.high is not None else wanted + 2
        value = one.kind((wanted + upper) / 2)
        return "" if value == one.default else str(value)
    return ""


@pytest.mark.parametrize(
    ("text", "why"), [("-1", "out of range"), ("x", "not a number"), ("nan", "out of range"), ("<b>", "not a number")]
)
def test_what_cannot_be_is_refused_in_a_sentence(text: str, why: str) -> None:
    with pytest.raises(ParameterError, match=why):
        typed(declared("bradley-terry"), {"prior": text})


def test_words_stand_instead_of_numbers() -> None:
    assert typed(declared("bradley-terry"), {"prior": "auto", "unknown": "1"}) == {}


def test_the_roles_that_were_guessed_stand_above_their_columns() -> None:
    looked = preview(ROOT / "examples" / "election.csv")
    roles = forms.role_by_column(looked)
    assert roles["count"] == "weight"
    assert roles["first"] == roles["fifth"] == forms.PLACE
    tree = Tree(forms.preview_table(source(looked, roles)))
    columns = [attributes["data-setting"] for attributes in tree.attributes("select")]
    assert columns == [f"role.{name}" for name in looked.columns]
    chosen = [attributes["value"] for attributes in tree.attributes("option") if "selected" in attributes]
    assert chosen == [roles[column] for column in looked.columns]


def test_roles_that_nobody_plays_any_more_are_switched_off() -> None:
    assert forms.roles_of({"a": "loser", "b": "", "c": forms.PLACE}, ["winner", "loser"]) == {
        "winner": None,
        "loser": "a",
        "places": ["c"],
    }


def test_hostile_columns_and_cells_are_text(tmp_path: Any) -> None:
    import csv

    path = tmp_path / "odd.csv"
    labels = [label.replace("\x00", "") for label in HOSTILE]
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([labels, labels])
    looked = preview(path, header=True)
    tree = Tree(forms.preview_table(source(looked, {})))
    assert not {tag for tag, _ in tree.tags} & {"script", "img", "style"}
    assert looked.problem


def test_lines_of_python_run_and_say_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "examples")
    lines = commands.python_lines(
        ["model-votes.csv"], {"agent": None}, "bradley-terry", {"prior": 2.0}, 3.0, methods=["borda", "elo"]
    )
    names: dict[str, Any] = {}
    exec(lines, names)
    assert names["ranking"].params["prior"] == 2.0
    assert names["prefs"].agents is None


def lines_on(page: Page) -> tuple[str, str]:
    """Return the shell commands and the Python code on a page."""
    shell, python = re.findall(r"<pre[^>]*>(.*?)</pre>", page.regions["download"], re.DOTALL)
    return html.unescape(re.sub("<[^>]+>", "", shell)), html.unescape(re.sub("<[^>]+>", "", python))


def test_lines_contain_the_comparison_and_the_scores_over_time(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(ROOT / "examples")
    page = Page("league.csv", **{"role.date": "time", "method": "glicko2"})
    assert page.error == ""
    shell, python = lines_on(page)
    ranked, compared = shell.splitlines()
    assert "--peaks --best-of year" in ranked
    assert compared.startswith("concordant compare league.csv")
    methods = compared.rpartition(" ")[2].split(",")
    assert f"cc.compare(prefs, {methods!r})" in python
    exec(python, {})
    assert "Cleo" in capsys.readouterr().out


def test_lines_of_judged_runs_test_against_the_baseline_of_the_page(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any, capsys: Any
) -> None:
    for path in [*sorted((ROOT / "examples" / "runs").glob("*.run")), ROOT / "examples" / "qrels.txt"]:
        (tmp_path / path.name).write_text(path.read_text())
    monkeypatch.chdir(tmp_path)
    page = Page(*(f"engine{k}.run" for k in (1, 2, 3, 4)), "qrels.txt")
    assert page.error == ""
    shell, python = lines_on(page)
    assert "--baseline engine1" in shell
    names: dict[str, Any] = {}
    exec(python, names)
    capsys.readouterr()
    tests = names["paired_tests"](names["results"], "engine1")
    for command in shell.splitlines():
        with pytest.raises(SystemExit) as ended:
            main(shlex.split(command)[1:])
        assert ended.value.code == 0, command
    shown = capsys.readouterr().out
    for system in ("engine2", "engine4"):
        p = next(row["p_holm"] for row in tests if row["system"] == system)
        assert f"{p:.4f}" in page.sections["labels"]
        assert f"{p:.2g}" in shown


@pytest.mark.parametrize(
    "name", ["votes.csv", "votes.tsv", "votes.jsonl", "votes.json", "votes.parquet", "votes.csv.gz"]
)
def test_the_first_rows_of_every_kind_of_table_are_shown(name: str, tmp_path: Any) -> None:
    import concordant as cc

    prefs = cc.Preferences.from_pairs(list("abcabcabca"), list("bcabcabcab"))
    cc.write(prefs, tmp_path / name)
    looked = preview(tmp_path / name, 3)
    assert looked.columns[:2] == ("winner", "loser")
    assert [row[:2] for row in looked.rows] == [("a", "b"), ("b", "c"), ("c", "a")]
    assert looked.plan is not None
    assert looked.plan.layout == "pairs"


ARENA = {"model_a": "left", "model_b": "right", "winner": "outcome"}


def test_two_covariates_of_the_sides_are_one_difference_as_on_the_command_line() -> None:
    import concordant as cc

    file = str(ROOT / "examples" / "arena-style.csv")
    chosen = {**ARENA, "length_a": "covariate", "length_b": "covariate"}
    page = Page(file, **{f"role.{column}": role for column, role in chosen.items()})
    assert page.error == ""
    assert "--covariate length_a,length_b" in page.regions["download"]
    assert "covariate=[&#x27;length_a,length_b&#x27;]" in page.regions["download"]
    same = cc.rank(cc.read(file, covariate="length_a,length_b"), "bradley-terry")
    assert [one.name for one in same.coefficients] == ["length"]
    assert forms.roles_of(forms.paired(chosen), [])["covariate"] == ["length_a,length_b"]


def test_the_other_side_of_a_covariate_can_be_picked() -> None:
    looked = preview(ROOT / "examples" / "arena-style.csv")
    chosen = {**ARENA, "length_a": "covariate", "length_b": ""}
    tree = Tree(forms.preview_table(source(looked, chosen)))
    offered = [attributes["value"] for attributes in tree.attributes("option")]
    assert offered.count(f"{forms.OTHER_SIDE}length_a") == len(looked.columns) - 1
    chosen["length_b"] = f"{forms.OTHER_SIDE}length_a"
    assert forms.roles_of(forms.paired(chosen), [])["covariate"] == ["length_a,length_b"]
    assert "covariate" not in forms.roles_of(forms.paired({**chosen, "length_a": ""}), [])


def test_a_pair_of_covariates_is_read_back_as_it_was_picked() -> None:
    looked = preview(ROOT / "examples" / "arena-style.csv", covariate="length_a,length_b")
    roles = forms.role_by_column(looked)
    assert (roles["length_a"], roles["length_b"]) == ("covariate", f"{forms.OTHER_SIDE}length_a")


@pytest.mark.parametrize(
    ("one", "two", "sides", "is_pair"),
    [
        ("winner_length", "loser_length", ("w", "l"), True),
        ("chars home", "chars away", ("x", "y"), True),
        ("tokens_gpt", "tokens_llama", ("answer_gpt", "answer_llama"), True),
        ("length_a", "cost_a", ("model_a", "model_b"), False),
        ("length_a", "cost_b", ("model_a", "model_b"), False),
        ("length", "length_diff", ("model_a", "model_b"), False),
    ],
)
def test_only_names_that_differ_as_the_sides_do_are_pairs(
    one: str, two: str, sides: tuple[str, str], is_pair: bool
) -> None:
    chosen = {sides[0]: "left", sides[1]: "right", one: "covariate", two: "covariate"}
    assert (forms.paired(chosen)[two] == f"{forms.OTHER_SIDE}{one}") is is_pair


def test_without_two_sides_covariates_stay_single() -> None:
    chosen = {"film": "item", "stars": "rating", "length_a": "covariate", "length_b": "covariate"}
    assert forms.paired(chosen) == chosen
