"""Style control in a report: covariate effects in words, changes of rank, and hollow dots in the ranking."""

from __future__ import annotations

import numpy as np
import pytest
from tests.conftest import ROOT
from tests.reporting.test_reporting import HOSTILE, Tree

import concordant as cc
from concordant.ranking import Ranking
from concordant.reporting.about_ranking import ranking_section
from concordant.reporting.about_style import style_section, uncontrolled, with_other
from concordant.reporting.pages import page
from concordant.reporting.sections import Columns, Fold, ReportTable, Section, Text, Track
from concordant.reporting.study import Data, Study

pytestmark = pytest.mark.once

ARENA = ROOT / "examples" / "arena-style.csv"


@pytest.fixture(scope="module")
def arena() -> cc.Preferences:
    return cc.read(ARENA, covariate="length_a,length_b")


def study_of(prefs: cc.Preferences, ranking: Ranking | None = None) -> Study:
    return Study(Data(prefs), cc.rank(prefs, "bradley-terry") if ranking is None else ranking)


def all_parts(parts: tuple) -> list:
    out = []
    for part in parts:
        inner = part.parts if isinstance(part, Fold) else sum(part.columns, ()) if isinstance(part, Columns) else ()
        out += [part, *all_parts(inner)]
    return out


def made(study: Study) -> Section:
    section = style_section(study, uncontrolled(study))
    assert section is not None
    return section


def texts(section: Section) -> str:
    return " ".join(part.text for part in all_parts(section.parts) if isinstance(part, Text))


def votes_for_length(slope: float, n: int = 600, names: tuple[str, str] = ("a", "b")) -> cc.Preferences:
    """Comparisons of two equal items, whose winner depends on a length that differs between the sides."""
    rng = np.random.default_rng(3)
    length = rng.normal(size=(n, 2))
    first_wins = rng.random(n) < 1 / (1 + np.exp(-slope * (length[:, 0] - length[:, 1])))
    winner = [names[0] if wins else names[1] for wins in first_wins]
    loser = [names[1] if wins else names[0] for wins in first_wins]
    of_winner = np.where(first_wins, length[:, 0], length[:, 1])
    of_loser = np.where(first_wins, length[:, 1], length[:, 0])
    return cc.Preferences.from_pairs(winner, loser, covariates={"length": (of_winner, of_loser)})


def test_the_effect_is_that_of_one_standard_deviation(arena: cc.Preferences) -> None:
    study = study_of(arena)
    (length,) = study.ranking.coefficients
    said = texts(made(study))
    assert f"raises the score by {length.value * length.spread:.2f}" in said
    assert f"(95% CI {length.low * length.spread:.3f} to {length.high * length.spread:.2f}, p < 0.001)" in said
    assert "wins 77% of the comparisons" in said


def test_on_the_elo_scale_the_effect_is_in_points(arena: cc.Preferences) -> None:
    ranking = cc.rank(arena, "bradley-terry").on_scale("elo")
    (length,) = ranking.coefficients
    said = texts(made(study_of(arena, ranking)))
    assert f"by {length.per_deviation:.0f} points (95% CI" in said
    assert "wins 77% of the comparisons" in said


def test_a_covariate_that_lowers_the_chance_to_win_lowers_the_score() -> None:
    study = study_of(votes_for_length(-1.0))
    said = texts(made(study))
    assert "lowers the score by" in said
    assert "not significant" not in said


def test_a_covariate_without_an_effect_is_not_significant() -> None:
    assert "The effect is not significant." in texts(made(study_of(votes_for_length(0.0))))


def test_without_covariates_there_is_no_section() -> None:
    study = study_of(cc.Preferences.from_pairs(["a", "b"], ["b", "c"]))
    assert uncontrolled(study) is None
    assert style_section(study, None) is None


def test_the_ranking_without_covariates_is_that_of_the_plain_model(arena: cc.Preferences) -> None:
    plain = cc.rank(arena, "bradley-terry", style_control=False)
    without = uncontrolled(study_of(arena))
    assert without is not None
    assert without.items == plain.items
    np.testing.assert_allclose(without.scores, plain.scores)
    on_scale = uncontrolled(study_of(arena, cc.rank(arena, "bradley-terry").on_scale("elo")))
    assert on_scale is not None
    np.testing.assert_allclose(on_scale.scores, plain.on_scale("elo").scores)


def test_the_largest_changes_come_first(arena: cc.Preferences) -> None:
    section = made(study_of(arena))
    changes = next(part for part in all_parts(section.parts) if isinstance(part, ReportTable) and "With" in part.header)
    assert [(row[0], row[3]) for row in changes.rows][:3] == [
        ("heron-small", "1 → 6"), ("osprey-2", "5 → 1"), ("kestrel", "2 → 5"),
    ]  # fmt: skip
    assert "Style control changes the rank of 6 of 8 " in texts(section)


def test_hollow_dots_are_the_scores_without_style_control(arena: cc.Preferences) -> None:
    study = study_of(arena)
    without, section = uncontrolled(study), ranking_section(study, 5)
    assert without is not None
    assert section is not None
    table = next(part for part in with_other(section, without).parts if isinstance(part, ReportTable))
    by_item = dict(zip(without.items, without.scores.tolist(), strict=True))
    others = [cell.other for row in table.rows for cell in row if isinstance(cell, Track)]
    assert others == [by_item[row[1]] for row in table.rows]
    assert table.scale is not None
    assert table.scale.low <= min(others)
    assert table.scale.high >= max(others)


def test_what_the_section_on_style_control_shows_is_not_repeated(arena: cc.Preferences) -> None:
    study = study_of(arena)
    without, section = uncontrolled(study), ranking_section(study, 5)
    assert without is not None
    assert section is not None
    tables = [part for part in with_other(section, without).parts if isinstance(part, ReportTable)]
    assert len(tables) == 1
    assert not [name for name in tables[0].header if "uncorrected" in name.lower()]
    assert {len(row) for row in tables[0].rows} == {len(tables[0].header)}


def test_several_instances_have_a_row_of_effects_each() -> None:
    votes = votes_for_length(1.0)
    prefs = votes.replace(instances=["one", "two"], instance=[0, 1] * 300, slot_ptr=None, slot_item=None)
    section = made(study_of(prefs))
    table = next(part for part in section.parts if isinstance(part, ReportTable))
    assert [row[0] for row in table.rows] == ["one", "two"]


def test_no_label_becomes_a_tag() -> None:
    study = study_of(votes_for_length(1.0, names=(HOSTILE[0], HOSTILE[1])))
    without, section = uncontrolled(study), ranking_section(study, 5)
    assert without is not None
    assert section is not None
    tree = Tree(page("Style", [with_other(section, without), made(study)]))
    assert len(tree.attributes("script")) == 1
    assert not tree.attributes("img")
