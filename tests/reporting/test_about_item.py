"""The card of one item: its counts are those of the ballots, whatever their form, and hostile names stay text."""

from __future__ import annotations

import numpy as np
import pytest
from tests.conftest import random_preferences
from tests.reporting.test_reporting import EXAMPLES, HOSTILE, Tree

import concordant as cc
from concordant import views
from concordant.analysis.groups.comparison import GroupComparison
from concordant.reporting import about_item
from concordant.reporting.about_item import item_card, results_of
from concordant.reporting.pages import rendered
from concordant.reporting.sections import Chips, Control, Facts, Fold, ReportTable, Section, Sparkline, Split, Text
from concordant.reporting.study import Data, Study

pytestmark = pytest.mark.once


def study_of(prefs: cc.Preferences, method: str | None = None, **params: object) -> Study:
    return Study(Data(prefs), cc.rank(prefs, method, **params))


def card_of(study: Study, item: str) -> Section:
    section = item_card(study, item)
    assert section is not None
    return section


def parts_of(section: Section, kind: type) -> list:
    inner = [part for fold in section.parts if isinstance(fold, Fold) for part in fold.parts]
    return [part for part in [*section.parts, *inner] if isinstance(part, kind)]


def opponents(section: Section) -> dict[str, Split]:
    tables = [table for table in parts_of(section, ReportTable) if table.header[0] == "Opponent"]
    return {row[0]: row[1] for table in tables for row in table.rows}


# ---- counts ----
@pytest.mark.parametrize("seed", range(5))
def test_results_are_those_of_the_matrices_of_pairs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    prefs = random_preferences(rng, n_items=7, n_ballots=30, n_instances=1)
    if seed % 2:
        prefs = prefs.replace(open=rng.random(prefs.n_ballots) < 0.5)
    matrices = views.win_matrices(prefs, "auto")
    wins, ties = matrices.matrix(), matrices.tie_matrix()
    for slot in range(prefs.n_slots):
        results = results_of(prefs, slot)
        is_other = np.arange(prefs.n_slots) != slot
        assert np.array_equal(results.won, wins[slot])
        assert np.array_equal(results.lost, wins[:, slot])
        assert np.array_equal(results.tied[is_other], ties[slot][is_other])
        assert results.tied[slot] == 0


def test_results_do_not_depend_on_how_many_ballots_are_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    prefs = random_preferences(np.random.default_rng(3), n_items=7, n_ballots=40, n_instances=1)
    whole = results_of(prefs, 2)
    monkeypatch.setattr(about_item, "AT_ONCE", 3.0)
    in_pieces = results_of(prefs, 2)
    for name in ("won", "tied", "lost", "won_on_ballot", "tied_on_ballot", "lost_on_ballot"):
        assert np.array_equal(getattr(whole, name), getattr(in_pieces, name))


def test_an_approved_item_beats_those_that_are_not_approved() -> None:
    prefs = cc.Preferences.from_rankings([[["a", "b"]], [["a"]], [["c", "a"]], [["b"]]], weight=[3, 2, 1, 4])
    prefs = prefs.replace(form="approvals")
    assert prefs.form == "approvals"
    matrices = views.win_matrices(prefs, "last")
    for slot in range(3):
        results = results_of(prefs, slot)
        others = np.arange(3) != slot
        assert np.array_equal(results.won[others], matrices.matrix()[slot][others])
        assert np.array_equal(results.lost[others], matrices.matrix()[:, slot][others])


def test_members_of_one_team_are_no_opponents() -> None:
    prefs = cc.Preferences.from_teams([[["ann", "bob"], ["cy", "dan"]], [["ann", "cy"], ["bob", "dan"]]])
    assert {name: (split.won, split.tied, split.lost) for name, split in
            opponents(card_of(study_of(prefs), "ann")).items()} == {
        "bob": (1, 0, 0), "cy": (1, 0, 0), "dan": (2, 0, 0)}  # fmt: skip


def test_opponents_are_listed_from_the_strongest() -> None:
    prefs = cc.Preferences.from_pairs(["a", "a", "b", "c", "b"], ["b", "c", "c", "a", "a"], tie=[0, 0, 0, 0, 1])
    study = study_of(prefs, "copeland")
    card = card_of(study, "c")
    assert list(opponents(card)) == [item for item in study.ranking.items if item != "c"]
    assert opponents(card)["a"] == Split(1.0, 0.0, 1.0)
    assert opponents(card_of(study, "b"))["a"] == Split(0.0, 1.0, 1.0)


def test_of_many_opponents_the_strongest_and_the_closest_are_shown() -> None:
    names = [f"i{k:02}" for k in range(60)]
    prefs = cc.Preferences.from_rankings([names] * 3)
    card = card_of(study_of(prefs, "borda"), "i50")
    shown = list(opponents(card))
    assert len(shown) == about_item.MOST
    assert shown[:15] == names[:15]
    assert shown[15:] == [*names[42:50], *names[51:58]]
    assert "of 59 opponents" in parts_of(card, Text)[-1].text


# ---- facts ----
def test_the_facts_are_those_of_the_ranking() -> None:
    prefs = cc.read(EXAMPLES / "model-votes.csv")
    study = study_of(prefs)
    ranking = study.ranking
    for place, item in enumerate(ranking.items):
        facts = dict(parts_of(card_of(study, item), Facts)[0].rows)
        assert facts["Rank"].split()[0] == str(ranking.ranks[place])
        assert float(facts["Score"].replace("−", "-")) == pytest.approx(ranking.scores[place], abs=6e-4)
        assert "95% CI" in facts


def test_ratings_are_counted() -> None:
    prefs = cc.Preferences.from_ratings(["u", "u", "v", "v", "w"], ["a", "b", "a", "b", "a"], [5, 3, 5, 1, 2])
    card = card_of(study_of(prefs), "a")
    table = next(table for table in parts_of(card, ReportTable) if table.title == "Ratings")
    assert [(row[0], row[1].value) for row in table.rows] == [("5", 2.0), ("2", 1.0)]


def test_ratings_of_many_values_are_counted_in_ranges() -> None:
    rng = np.random.default_rng(0)
    value = rng.normal(size=400)
    prefs = cc.Preferences.from_ratings(np.arange(400) // 2, ["a", "b"] * 200, value)
    table = next(t for t in parts_of(card_of(study_of(prefs, "borda"), "a"), ReportTable) if t.title == "Ratings")
    assert sum(row[1].value for row in table.rows) == 200
    assert len(table.rows) == about_item.BARS


def test_positions_are_counted_with_those_who_do_not_rank_the_item() -> None:
    prefs = cc.Preferences.from_rankings([["a", "b", "c"], ["b", "a", "c"], ["b", "c"]], weight=[4, 2, 1])
    table = next(t for t in parts_of(card_of(study_of(prefs, "borda"), "a"), ReportTable) if "Positions" in t.title)
    assert [(row[0], row[1].value) for row in table.rows] == [("1st", 4.0), ("2nd", 2.0), ("not ranked", 1.0)]


def test_who_prefers_an_item_is_shown_by_agent() -> None:
    winner, loser = ["a", "a", "b", "a"], ["b", "b", "a", "b"]
    prefs = cc.Preferences.from_pairs(winner, loser, agent=["ann", "ann", "bob", "bob"], weight=[1, 1, 3, 1])
    table = next(t for t in parts_of(card_of(study_of(prefs), "a"), ReportTable) if "Win rate by" in t.title)
    assert [(row[0], row[2]) for row in table.rows] == [("ann", "100%"), ("bob", "25%")]


def test_ranks_by_method_are_shown_only_if_methods_were_compared() -> None:
    study = study_of(random_preferences(np.random.default_rng(1), n_instances=1), "borda")
    item = study.ranking.items[0]
    assert not parts_of(card_of(study, item), Chips)
    assert "compared" not in vars(study), "a card starts no slow work"
    compared = study.compared[0]
    assert compared is not None
    (chips,) = parts_of(card_of(study, item), Chips)
    code = study.prefs.items.code(item)
    ranks = [chip[0].rpartition(" ")[2] for chip in chips.chips]
    assert ranks == [str(one.rank_by_slot[code]) for one in compared.rankings]
    assert ("Borda count 1",) in chips.chips


def test_ranks_by_group_are_shown_if_groups_were_compared() -> None:
    comparison = cc.rank_groups(EXAMPLES / "arena-languages.csv", by="language")
    assert isinstance(comparison, GroupComparison)
    prefs = cc.read(EXAMPLES / "arena-languages.csv")
    study = Study(Data(prefs), cc.rank(prefs), grouping=lambda: comparison)
    item = study.ranking.items[0]
    assert not parts_of(card_of(study, item), Chips)
    _ = study.groups
    (chips,) = parts_of(card_of(study, item), Chips)
    assert chips.title == "Rank by language"
    assert [name for _, name, _ in chips.chips] == comparison.names


def test_the_curve_ends_at_the_score() -> None:
    prefs = cc.read(EXAMPLES / "league.csv", time="date")
    study = study_of(prefs, "glicko2")
    item = study.ranking.items[0]
    card = card_of(study, item)
    (curve,) = parts_of(card, Sparkline)
    history = study.ranking.history.of(item)
    assert curve.values[-1] == history.score[-1]
    assert curve.first == "2016-02-29"
    assert next(part for part in card.parts if isinstance(part, Control)).setting == "curve"


# ---- what is not there ----
def test_an_unknown_item_has_no_card() -> None:
    study = study_of(random_preferences(np.random.default_rng(1), n_instances=1))
    assert item_card(study, "nobody") is None
    assert item_card(study, "") is None


def test_an_item_of_several_contests_has_no_card() -> None:
    study = study_of(random_preferences(np.random.default_rng(1), n_instances=3))
    assert item_card(study, "i0") is None


def test_an_item_without_comparisons_says_so() -> None:
    prefs = cc.Preferences.from_ratings(["x", "x", "y"], ["a", "b", "c"], [5.0, 3.0, 4.0])
    card = card_of(study_of(prefs, "borda"), "c")
    assert any("compares" in part.text for part in parts_of(card, Text))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_text(name: str) -> None:
    prefs = cc.Preferences.from_pairs([name, name, "b"], ["b", "c", name], agent=["<b>x</b>", name, name])
    study = study_of(prefs)
    _ = study.compared
    for item in (name, "b"):
        tree = Tree(rendered([card_of(study, item)]))
        assert not {tag for tag, _ in tree.tags} & {"script", "img", "style", "b", "iframe"}
        for link in tree.attributes("a"):
            assert str(link["href"]).startswith("?item=")
        assert not any(key.startswith("on") for _, attributes in tree.tags for key in attributes)


def test_a_card_of_many_votes_needs_no_matrix_of_pairs() -> None:
    rng = np.random.default_rng(0)
    n, m = 200_000, 5_000
    one = rng.integers(0, m, n)
    other = (one + rng.integers(1, m, n)) % m
    prefs = cc.Preferences.from_pairs(one, other)
    study = study_of(prefs, "elo")
    card_of(study, "7")
    assert "matrices" not in vars(study.data)
