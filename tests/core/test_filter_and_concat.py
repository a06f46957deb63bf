"""Preferences can be filtered by names, masks, functions and conditions, and joined with others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import concordant as cc

RATINGS = cc.Preferences.from_ratings(
    ["ann", "ann", "bob", "bob", "cy"], ["x", "y", "x", "z", "y"], [5, 3, 1, 2, 4], instance=["q", "q", "q", "q", "r"]
)
RANKINGS = cc.Preferences.from_rankings(
    [["a", "b", "c"], ["c", "a"], ["b"]], weight=[3, 1, 2], agent=["ann", "bob", "ann"], candidates="abcd"
)


def orders(prefs: cc.Preferences) -> list[list[str]]:
    return [prefs.items.take(prefs.item[a:b]) for a, b in zip(prefs.indptr, prefs.indptr[1:], strict=False)]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"where": "rank <= 2"}, [["a", "b"], ["c", "a"], ["b"]]),
        ({"where": "agent = 'ann'"}, [["a", "b", "c"], ["b"]]),
        ({"where": "weight > 1 AND item <> 'b'"}, [["a", "c"]]),
        ({"where": "ballot = 2"}, [["c", "a"]]),
        ({"where": np.array([True, False, True])}, [["a", "b", "c"], ["b"]]),
        ({"where": lambda prefs: prefs.weight < 3}, [["c", "a"], ["b"]]),
        ({"agents": "bob"}, [["c", "a"]]),
        ({"agents": lambda name: name < "b"}, [["a", "b", "c"], ["b"]]),
        ({"items": ["a", "c"]}, [["a", "c"], ["c", "a"]]),
        ({"items": lambda name: name != "a"}, [["b", "c"], ["c"], ["b"]]),
        ({"min_weight": 2}, [["a", "b", "c"], ["b"]]),
        ({"where": "rank = 1", "agents": "ann", "min_weight": 3}, [["a"]]),
    ],
)
def test_the_ballots_and_items_that_remain(options: dict[str, Any], expected: list[list[str]]) -> None:
    assert orders(RANKINGS.filter(**options)) == expected


def test_notes_say_how_many_were_left_out() -> None:
    notes = RANKINGS.noted("read").filter("rank = 1", agents="ann").notes
    assert notes == (
        "read",
        "left out 2 of 4 ranked items that do not meet the condition where='rank = 1'",
        "left out 1 of 3 ballots by a filter",
    )


def test_candidates_that_nobody_ranks_remain_unless_the_condition_excludes_them() -> None:
    assert "d" in RANKINGS.filter("rank = 1").items.labels
    assert "d" not in RANKINGS.filter("item <> 'd'").items.labels
    assert RANKINGS.filter("agent = 'bob'").items.labels == ["a", "c", "d"]
    assert RANKINGS.filter(agents="bob").items.labels == ["a", "c", "d"]


def test_instances_and_ratings() -> None:
    assert RATINGS.filter(instances="r").n_ballots == 1
    assert RATINGS.filter("instance = 'q' AND rating >= 2").items.labels == ["x", "y", "z"]
    assert RATINGS.filter("rating > 4").instances.labels == ["q"]  # type: ignore[union-attr]


def test_pairs_have_winners_and_losers_and_dates() -> None:
    pairs = cc.Preferences.from_pairs(["a", "b", "a"], ["b", "c", "c"], time=["2024-01-01", "2024-02-01", "2024-03-01"])
    assert orders(pairs.filter("winner = 'a'")) == [["a", "b"], ["a", "c"]]
    assert orders(pairs.filter("item <> 'c'")) == [["a", "b"]]
    assert orders(pairs.filter("time >= DATE '2024-02-01'")) == [["b", "c"], ["a", "c"]]


def test_what_cannot_be_filtered_is_refused() -> None:
    with pytest.raises(cc.InputError, match="No ballot is left"):
        RANKINGS.filter(min_weight=99)
    with pytest.raises(cc.InputError, match="No ballot is left"):
        RANKINGS.filter(np.zeros(3, bool))
    with pytest.raises(cc.InputError, match=r"The mask has 2 values of type bool, but there are 3 ballots"):
        RANKINGS.filter(np.ones(2, bool))
    with pytest.raises(cc.InputError, match="of type int64"):
        RANKINGS.filter(np.array([0, 1, 2]))
    with pytest.raises(cc.UnknownNameError, match="no agent 'eve'"):
        RANKINGS.filter(agents="eve")
    with pytest.raises(cc.InputError, match="have no instances"):
        RANKINGS.filter(instances="q")
    with pytest.raises(cc.InputError, match=r"^there is no column 'judge', which where= names"):
        RANKINGS.filter("judge = 'x'")


# ---- joining ----
def test_joined_ballots_are_those_of_all() -> None:
    more = cc.Preferences.from_rankings([["e", "a"]], agent=["bob"])
    joined = cc.concat([RANKINGS, more])
    assert orders(joined) == [*orders(RANKINGS), ["e", "a"]]
    assert joined.items.labels == ["a", "b", "c", "d", "e"]
    assert joined.n_slots == 5
    assert joined.agents.take(joined.agent) == ["ann", "bob", "ann", "bob"]  # type: ignore[union-attr,arg-type]
    assert joined.weight.tolist() == [3, 1, 2, 1]
    assert joined.notes == ()


def test_a_split_and_joined_again_is_the_same() -> None:
    for prefs in (RANKINGS, RATINGS):
        halves = [prefs.take(slice(0, 1)), prefs.take(slice(1, None))]
        assert cc.concat(halves) == prefs
    assert cc.concat([RATINGS]) is RATINGS


def test_what_only_some_have_is_left_out_with_a_note() -> None:
    plain = cc.Preferences.from_rankings([["a", "b"]])
    joined = cc.concat([RANKINGS, plain])
    assert joined.agents is None
    assert "agents are not kept, because only 1 of 2 preferences have them" in joined.notes
    ratings, ranks = RATINGS.replace(instance=None, instances=None, slot_ptr=None, slot_item=None), RANKINGS
    joined = cc.concat([ratings, ranks])
    assert joined.scale is None
    assert any("values are not kept" in note for note in joined.notes)


def test_times_sort_the_joined_ballots() -> None:
    first = cc.Preferences.from_pairs(["a", "b"], ["b", "c"], time=[1, 5])
    second = cc.Preferences.from_pairs(["c"], ["a"], time=[3])
    joined = cc.concat([first, second])
    assert joined.time is not None
    assert joined.time.tolist() == [1, 3, 5]
    assert joined.form == "pairs"
    with pytest.raises(cc.InputError, match="Some preferences have dates and others have numbers"):
        cc.concat([first, cc.Preferences.from_pairs(["a"], ["b"], time=["2024-01-01"])])


def test_covariates_and_positions_are_matched_by_name() -> None:
    def pairs(**covariates: Any) -> cc.Preferences:
        return cc.Preferences.from_pairs(["a"], ["b"], covariates=covariates, winner_first=[True])

    joined = cc.concat([pairs(x=([1], [2]), y=([3], [4])), pairs(y=([5], [6]))])
    assert joined.covariates == ("y",)
    assert joined.covariate is not None
    assert joined.covariate[:, 0].tolist() == [3, 4, 5, 6]
    assert joined.shown is not None
    assert "covariates that not all preferences have are not kept: x" in joined.notes


def test_instances_are_united_or_refused() -> None:
    again = RATINGS.filter(instances="r")
    assert cc.concat([RATINGS, again]).instances.labels == ["q", "r"]  # type: ignore[union-attr]
    with pytest.raises(cc.InputError, match="Only 1 of the 2 preferences have instances"):
        cc.concat([RATINGS, RANKINGS])


def test_what_is_no_preferences_is_refused() -> None:
    with pytest.raises(cc.InputError, match="concat joins preferences, not str"):
        cc.concat(["votes.csv"])  # type: ignore[list-item]
    with pytest.raises(cc.InputError, match="There are no preferences to join"):
        cc.concat([])


def test_answers_are_joined_over_all_classes_and_not_with_rankings() -> None:
    first = cc.Preferences.from_answers(["w1", "w2"], ["t", "t"], ["cat", "dog"])
    second = cc.Preferences.from_answers(["w3", "w1"], ["t", "u"], ["bird", "dog"])
    joined = cc.concat([first, second])
    assert joined.classes is not None
    assert joined.value is not None
    assert [joined.classes[int(code)] for code in joined.value] == ["cat", "dog", "bird", "dog"]
    with pytest.raises(cc.errors.InputError, match="cannot be joined with ranks or ratings"):
        cc.concat([first, cc.Preferences.from_rankings([["a", "b"]])])


def test_points_and_the_library_are_joined() -> None:
    played = cc.Preferences.from_pairs(["a"], ["b"], points=([2], [1]))
    joined = cc.concat([played, cc.Preferences.from_pairs(["b"], ["a"])])
    assert joined.points is not None
    np.testing.assert_array_equal(joined.points, [2, 1, np.nan, np.nan])
    pd = pytest.importorskip("pandas")
    frame = cc.Preferences.from_frame(pd.DataFrame({"winner": ["a"], "loser": ["b"]}))
    assert cc.concat([frame, frame]).library == "pandas"
    assert cc.concat([frame, played]).library is None
