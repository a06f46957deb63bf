"""Messages keep the parameters that they name, whatever else is in them; no face's words stand in the library."""

from __future__ import annotations

import ast
import copy
import pickle
import re
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path

import pytest
from tests.conftest import ROOT

import concordant as cc
from concordant import registry
from concordant.cli import _words as cli_words
from concordant.errors import FormatError, InputError, Reference, Sentence, action, arg, clause, in_words, phrase
from concordant.io._formats import FUNCTIONS
from concordant.params import params_of
from concordant.tables.options import BALLOTS, FILES, options_of
from concordant.web import words as web_words

SOURCE = ROOT / "src" / "concordant"
SENTENCE = "Say " + arg("left", "Team A") + ", " + arg("reduce", True) + " or " + arg("by", shown="COLUMN") + "."


def loudly(reference: Reference) -> str | None:
    """Name only two of the three parameters."""
    return None if reference.name == "by" else f"<{reference.name}:{reference.value}>"


# ---- sentences ----
def test_a_sentence_is_text_in_the_words_of_python() -> None:
    assert SENTENCE == "Say left='Team A', reduce=True or by=COLUMN."
    assert str(InputError(SENTENCE)) == SENTENCE
    assert [one.name for one in SENTENCE.references] == ["left", "reduce", "by"]


def test_a_face_names_the_parameters_it_knows_and_python_the_others() -> None:
    assert in_words(SENTENCE, loudly) == "Say <left:Team A>, <reduce:True> or by=COLUMN."
    assert in_words(InputError(SENTENCE), loudly) == in_words(SENTENCE, loudly)
    assert in_words(cc.Notice("name", SENTENCE), loudly) == f"name: {in_words(SENTENCE, loudly)}"
    assert in_words("plain reduce=True", loudly) == "plain reduce=True"


def test_joined_sentences_keep_their_parameters() -> None:
    joined = Sentence("; ").join(["first", SENTENCE, "last"])
    assert joined == f"first; {SENTENCE}; last"
    assert in_words(joined, loudly) == f"first; {in_words(SENTENCE, loudly)}; last"
    assert Sentence(", ").join([]) == ""


def test_a_phrase_takes_values_as_they_are() -> None:
    sentence = phrase("{} of {}: say {}.", "{}", 3, arg("left", "{}"))
    assert sentence == "{} of 3: say left='{}'."
    assert in_words(sentence, loudly) == "{} of 3: say <left:{}>."
    with pytest.raises(ValueError, match="zip"):
        phrase("{} and {}", "one value")


@pytest.mark.parametrize("odd", ["reduce=True", "left='x'", "{0}", "%s", "\x00\x02", "“left”", "--left", "\ud800", "…"])
def test_what_a_user_wrote_is_never_taken_for_a_parameter(odd: str) -> None:
    sentence = f"The item {odd} is bad: say " + arg("item", odd) + f", not {odd}."
    assert in_words(sentence, lambda one: f"<{one.value}>") == f"The item {odd} is bad: say <{odd}>, not {odd}."
    assert sentence == f"The item {odd} is bad: say item={odd!r}, not {odd}."


def test_a_face_leaves_out_the_clause_of_a_parameter_that_it_does_not_have() -> None:
    sentence = "Correct it" + clause(", or say ", arg("by", "x"), " at once") + "."
    assert sentence == "Correct it, or say by='x' at once."
    assert in_words(sentence, loudly) == "Correct it."
    assert in_words(sentence, lambda _: "--by") == "Correct it, or say --by at once."
    assert in_words(sentence, str) == sentence


def test_a_face_has_words_of_its_own_for_an_action() -> None:
    sentence = "It is not trained: " + action("fit", "call fit(prefs)") + arg("by")
    assert sentence == "It is not trained: call fit(prefs)by="
    assert in_words(sentence, lambda one: one.name.upper()) == "It is not trained: FITBY"
    assert InputError(sentence).parameter == "by"


def test_parameters_of_a_method_are_known_as_its_own() -> None:
    said = SENTENCE.of_method("borda", ["left"])
    assert said == SENTENCE
    assert [one.of for one in said.references] == ["borda", "", ""]


# ---- errors ----
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_an_error_is_copied_with_its_parts(copied: object) -> None:
    error = FormatError(SENTENCE, path="votes.csv", line=3).at(column="winner", item="a")
    again = copied(error)  # type: ignore[operator]
    assert type(again) is FormatError
    assert (again.path, again.line, again.column, again.item) == ("votes.csv", 3, "winner", "a")
    assert str(again) == f"votes.csv, line 3: {SENTENCE}"
    assert in_words(again, loudly) == f"votes.csv, line 3: {in_words(SENTENCE, loudly)}"
    assert again.parameter == "left"


def test_a_parameter_of_any_value_passes_to_another_process() -> None:
    error = InputError(arg("loss", lambda: 0) + " is no loss.")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def _fail() -> None:
    raise InputError(SENTENCE)


@pytest.mark.once
def test_an_error_of_a_worker_keeps_its_parts() -> None:
    with ProcessPoolExecutor(1) as pool, pytest.raises(InputError) as caught:
        pool.submit(_fail).result()
    assert in_words(caught.value, loudly) == in_words(SENTENCE, loudly)


def test_an_error_says_where_and_which_parameter_mends_it(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("winner,loser,votes\na,b,1\na,b,x\n")
    with pytest.raises(FormatError) as caught:
        cc.read(path)
    error = caught.value
    assert (error.path, error.line, error.column, error.parameter) == (str(path), 3, "votes", "skip_bad_rows")
    with pytest.raises(InputError) as caught_column:
        cc.read(path, winner="no such column")
    wrong: cc.ConcordantError = caught_column.value  # type: ignore[assignment]
    assert (wrong.path, wrong.column, wrong.parameter) == (str(path), "no such column", "winner")
    path.write_text("winner,loser,day\na,b,2020-01-01\na,b,soon\n")
    with pytest.raises(FormatError) as bad_time:
        cc.read(path, time="day")
    assert (bad_time.value.line, bad_time.value.column) == (3, "day")
    with pytest.raises(cc.ParameterError) as no_parameter:
        cc.rank(cc.Preferences.from_rankings([["a", "b"]]), "davidson", winner="x")
    assert no_parameter.value.parameter == "winner"
    with pytest.raises(FormatError, match="The file name is empty"):
        cc.rank("")
    path.write_text("agent,item,rank\nann,a,1\nann,a,2\n")
    with pytest.raises(FormatError) as repeated:
        cc.read(path)
    assert (repeated.value.line, repeated.value.item) == (3, "a")
    with pytest.raises(cc.UnknownNameError) as unknown:
        cc.Preferences.from_rankings([["a", "b"]]).items.code("z", "item")
    assert unknown.value.item == "z"
    assert InputError("No parameter.").parameter is None


def test_what_is_no_method_is_refused() -> None:
    prefs = cc.Preferences.from_rankings([["a", "b"]])
    for odd in (5, cc.Borda):
        with pytest.raises(cc.ParameterError, match="is not a method: give the name of a method"):
            cc.rank(prefs, odd)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="must be a list of methods, not text"):
        cc.compare(prefs, "borda")


def test_a_column_of_teams_is_not_suggested_as_the_item() -> None:
    with pytest.raises(InputError, match="choose one with item='player' and team='team'"):
        cc.read(ROOT / "examples" / "doubles.csv")


# ---- the words of the library ----
class Literals(ast.NodeVisitor):
    """What a module may say: every literal that is no docstring; a value in an f-string is {}."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.said: list[tuple[str, str]] = []
        self.flattened: list[str] = []
        """Where an f-string makes plain text of a parameter, or a template of values."""
        self.actions: list[str] = []

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            self.said.append((f"{self.name}:{node.lineno}", node.value))

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        parts = [str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values]
        self.said.append((f"{self.name}:{node.lineno}", "".join(parts)))
        calls = (one.func for value in node.values for one in ast.walk(value) if isinstance(one, ast.Call))
        if any(isinstance(called, ast.Name) and called.id in ("arg", "Sentence", "phrase") for called in calls):
            self.flattened.append(f"{self.name}:{node.lineno}")

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name) and node.func.id == "phrase" and isinstance(node.args[0], ast.JoinedStr):
            self.flattened.append(f"{self.name}:{node.lineno}")  # values could hold {}
        if isinstance(node.func, ast.Name) and node.func.id == "action":  # its text is for Python alone
            self.actions += [node.args[0].value] if isinstance(node.args[0], ast.Constant) else [*FUNCTIONS.values()]
        else:
            self.generic_visit(node)


@cache
def library() -> tuple[Literals, ...]:
    """Return the literals of all modules but those of the faces."""
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        if not name.startswith(("cli/", "web/")):
            found.append(Literals(name))
            found[-1].visit(ast.parse(path.read_text("utf-8")))
    return tuple(found)


def places(pattern: str, but: tuple[str, ...] = ()) -> list[str]:
    """Return where a literal holds a pattern, and more than that, but for some files."""
    found = re.compile(pattern)
    said = [one for module in library() if not module.name.startswith(but) for one in module.said]
    return [where for where, text in said if found.search(text) and not found.fullmatch(text)]


def known_parameters() -> set[str]:
    of_reading = {one.name for what in {*FILES, *BALLOTS} for one in options_of(what)}
    return of_reading | {one.name for name in registry.names() for one in params_of(registry.load(name))}


def test_the_library_names_no_option_of_the_command_line() -> None:
    assert places(r"(?<![\w-])--[a-z][a-z0-9-]+") == []


def test_the_library_names_parameters_by_arg_alone() -> None:
    names = "|".join(sorted(known_parameters()))
    # SQL, HTML, XML and SVG
    markup = ("io/_duckdb.py", "support/duck.py", "io/_xlsx.py", "reporting/", "results/flow_picture.py")
    pages = ("experiments/",)  # settings that were published
    # Neither a call f(name=…), nor p@5:name=…, nor the settings "name=…,name=…" of a learner.
    assert places(rf"(?<!\w\()(?<![\w.:%,\"-])({names})=(?!=)", (*markup, *pages)) == []


def test_the_library_names_functions_by_action_alone() -> None:
    python = ("request.py", "evaluation.py", "ranking.py", "method.py", "analysis/fusing.py", "analysis/comparing.py")
    others = ("learn/_data.py", "preferences.py", "io/_duckdb.py")  # what no face can bring about, and SQL
    functions = (
        r"\b(read_labels|read_features|from_(ranks|ratings|rankings|pairs|frame)|replace\(|crowd\.|fit\(|select\()"
    )
    assert places(functions, (*python, *others, "datasets/", "experiments/")) == []


def test_the_library_names_no_parameter_by_its_bare_name() -> None:
    long = "|".join(sorted(name for name in known_parameters() if "_" in name))
    assert places(rf"(?<![\w.{{`'\"/-])({long})(?![\w=(:\]']|\.\w)", ("experiments/", "io/_duckdb.py", "laws.py")) == []
    short = "reduce|strict|workers|cluster|format|transpose|header|sheet|delimiter|missing|categories"
    assert places(rf"\b(leave out|without|say|give|with) ({short})[.,;:]") == []


def test_every_action_has_words_in_every_face() -> None:
    named = {name for module in library() for name in module.actions}
    assert named == set(cli_words.ACTIONS) == set(web_words.ACTIONS)


def test_no_f_string_makes_plain_text_of_a_parameter() -> None:
    assert [where for module in library() for where in module.flattened] == []
