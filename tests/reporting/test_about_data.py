"""The section on the data."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

import concordant as cc
from concordant.errors import arg
from concordant.narrative.fields import SEARCH
from concordant.reporting.about_agents import agents_section
from concordant.reporting.about_data import data_section, in_field, notice_text, notice_title, warnings_section
from concordant.reporting.sections import Facts, Message, Messages, Text
from concordant.reporting.study import Data, Study
from concordant.results.uncertain import Notice

pytestmark = pytest.mark.once


def messages(prefs: cc.Preferences) -> dict[str, Message]:
    """Return the findings that the section shows, by name."""
    section = data_section(Study(Data(prefs), cc.rank(prefs, "borda")))
    return {one.name: one for part in section.parts if isinstance(part, Messages) for one in part.messages}


def test_a_test_that_is_too_large_is_neither_good_nor_bad() -> None:
    names = [f"item {k}" for k in range(20_001)]
    shown = messages(cc.Preferences.from_rankings([names, names[::-1]]))
    assert "not counted" in shown["majority cycles"].text
    assert shown["majority cycles"].tone == "neutral"


def test_a_cycle_needs_attention() -> None:
    cyclic = messages(cc.Preferences.from_rankings([["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]]))
    assert cyclic["majority cycles"].tone == "attention"
    assert messages(cc.Preferences.from_rankings([["a", "b", "c"]] * 3))["majority cycles"].tone == "fine"


def facts(prefs: cc.Preferences) -> dict[str, str]:
    """Return the facts that the section shows, by name."""
    section = data_section(Study(Data(prefs), cc.rank(prefs)))
    return {name: text for part in section.parts if isinstance(part, Facts) for name, text in part.rows}


def test_facts_of_a_league_are_in_its_words_and_say_nothing_void(tmp_path: Path) -> None:
    file = tmp_path / "league.csv"
    rows = [("2024-01-01", "Ann", "Bea"), ("2024-01-08", "Bea", "Cid"), ("2024-01-15", "Cid", "Ann")]
    file.write_text("date,winner,loser\n" + "\n".join(map(",".join, rows)) + "\n")
    prefs = cc.read(file, time="date")
    assert facts(prefs) == {"form": "pairs", "competitors": "3", "matches": "3", "ties": "0% of the matches"}
    said = messages(prefs)
    assert said["connection"].text == "Comparisons link all competitors, so their scores are comparable."
    assert "No competitor beats every other in direct comparison" in said["majority cycles"].text


def test_a_column_of_times_that_was_not_read_is_named(tmp_path: Path) -> None:
    file = tmp_path / "votes.csv"
    file.write_text("model_a,model_b,winner,timestamp\nx,y,model_a,2025-01-01\ny,x,model_b,2025-01-02\n")

    def notes(prefs: cc.Preferences) -> list[str]:
        section = data_section(Study(Data(prefs), cc.rank(prefs)))
        return [part.text for part in section.parts if isinstance(part, Text) and part.kind == "left-out"]

    assert notes(cc.read(file)) == ["The column timestamp was not read; time='timestamp' adds scores over time."]
    assert notes(cc.read(file, time="timestamp")) == []


def test_findings_on_agents_are_in_the_words_of_the_field(tmp_path: Path) -> None:
    file = tmp_path / "votes.csv"
    rows = [(judge, *pair) for judge in "stuv" for pair in (("a", "b"), ("a", "c"), ("b", "c")) for _ in range(6)]
    file.write_text("judge,winner,loser\n" + "\n".join(map(",".join, rows)) + "\n")
    prefs = cc.read(file)
    section = agents_section(Study(Data(prefs), cc.rank(prefs)), 10)
    assert section is not None
    assert isinstance(section.parts[0], Text)
    assert section.parts[0].text == (
        "No outliers: the median judge agrees with the majority of the others on 100% of its pairs."
    )


def test_labels_in_findings_keep_their_words() -> None:
    prefs = cc.Preferences.from_rankings([["item agent", "ballot", "c"]] * 3)
    assert messages(prefs)["majority cycles"].text.count("item agent beats every other item") == 1


# ---- warnings ----
def test_a_warning_is_a_sentence_that_names_items_once() -> None:
    named = Notice("broken-ties", "ties were broken by Borda points: Ann, Bo", ("Ann", "Bo"))
    assert (notice_title(named), notice_text(named)) == ("Broken ties", "Ties were broken by Borda points: Ann, Bo.")
    assert notice_text(Notice("x", "some scores are rough", ("Ann",))) == "Some scores are rough (Ann)."
    on_parameter = notice_text(Notice("x", "idle (" + arg("since") + " leaves them out)"))
    assert [part.name for part in on_parameter.references] == ["since"]


def test_a_warning_on_a_run_keeps_the_name_of_the_run() -> None:
    tied = cc.rank(cc.Preferences.from_rankings([[("d", "e", "f", "g")]]), "borda")
    evaluation = cc.evaluate(tied, cc.Labels(["1"] * 4, ["d", "e", "f", "g"], [1, 0, 0, 2]), "map")
    section = warnings_section(SimpleNamespace(known_rankings={}, known_evaluations={"lower01": evaluation}))
    (part,) = section.parts
    assert [one.name for one in part.messages] == ["Tied scores (lower01)"]


def test_words_of_the_field_begin_sentences_too() -> None:
    assert in_field("Agents rank items.", SEARCH) == "Runs rank documents."
