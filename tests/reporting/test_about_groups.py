"""Groups in a report: significant differences as chips, the heat map, and ranks by group."""

from __future__ import annotations

import pytest
from tests.conftest import ROOT
from tests.reporting.test_reporting import HOSTILE, Tree

import concordant as cc
from concordant.reporting.about_groups import groups_section
from concordant.reporting.pages import page
from concordant.reporting.sections import Chips, GroupMap, ReportTable, Section, Text
from concordant.reporting.study import Data, Study

pytestmark = pytest.mark.once


def study_of(prefs: cc.Preferences, by: list[str]) -> Study:
    comparison = cc.rank_groups(prefs, by)
    return Study(Data(prefs), cc.rank(prefs), grouping=lambda: comparison)


def two_camps(items: tuple[str, str, str] = ("a", "b", "c"), groups: tuple[str, str] = ("left", "right")) -> Study:
    """Two groups of voters that rank three items in opposite orders."""
    one, two, three = items
    ballots = [[one, two, three]] * 40 + [[three, two, one]] * 60
    return study_of(cc.Preferences.from_rankings(ballots), [groups[0]] * 40 + [groups[1]] * 60)


def made(study: Study) -> Section:
    section = groups_section(study, 100)
    assert section is not None
    return section


def part_of(section: Section, kind: type) -> object:
    return next(part for part in section.parts if isinstance(part, kind))


def test_opposite_groups_differ_significantly() -> None:
    section = made(two_camps())
    chips = part_of(section, Chips)
    assert isinstance(chips, Chips)
    assert {chip[1] for chip in chips.chips} == {"a", "c"}
    assert all(chip[3] == "right" and "p = 0.001 (Westfall-Young)" in chip[4] for chip in chips.chips)
    assert section.note.startswith("Test: ")
    assert "over 3 comparisons" in section.note


def test_equal_groups_do_not_differ() -> None:
    prefs = cc.Preferences.from_rankings([["a", "b"], ["b", "a"]] * 30)
    section = made(study_of(prefs, ["one", "one", "two", "two"] * 15))
    assert not [part for part in section.parts if isinstance(part, Chips)]
    said = " ".join(part.text for part in section.parts if isinstance(part, Text))
    assert "No difference between groups is significant" in said


def test_the_heat_map_and_the_ranks_are_those_of_the_comparison() -> None:
    study = two_camps()
    groups, section = study.groups, made(study)
    assert groups is not None
    heat, table = part_of(section, GroupMap), part_of(section, ReportTable)
    assert isinstance(heat, GroupMap)
    assert isinstance(table, ReportTable)
    assert heat.groups == ("right", "left")
    assert [size.split()[0] for size in heat.sizes] == ["60", "40"]
    for i, item in enumerate(heat.labels):
        for j, group in enumerate(heat.groups):
            assert heat.apart[i][j] == groups.cells[group, item].difference
            assert table.rows[i][2 + j] == str(groups.cells[group, item].rank)


def test_the_one_difference_of_the_example_is_found() -> None:
    votes = ROOT / "examples" / "arena-languages.csv"
    comparison = cc.rank_groups(votes, "language")
    prefs = cc.read(votes)
    section = made(Study(Data(prefs), cc.rank(prefs), grouping=lambda: comparison))
    chips = part_of(section, Chips)
    assert isinstance(chips, Chips)
    assert [(chip[1], chip[3]) for chip in chips.chips] == [("wren-mini", "German")]
    assert chips.chips[0][4].endswith("p = 0.039 (Holm)")


@pytest.mark.parametrize("hostile", HOSTILE)
def test_no_label_becomes_a_tag(hostile: str) -> None:
    tree = Tree(page("Groups", [made(two_camps((hostile, "b", "c"), (hostile + "2", "right")))]))
    assert len(tree.attributes("script")) == 1
    assert not tree.attributes("img")
