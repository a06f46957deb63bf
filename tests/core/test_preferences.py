import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import random_preferences

import concordant as cc
from concordant.errors import InputError, UnknownNameError


def ballots(prefs: cc.Preferences) -> list[list[tuple[str, int]]]:
    return [
        [(prefs.items[prefs.item[k]], int(prefs.tier[k])) for k in range(prefs.indptr[b], prefs.indptr[b + 1])]
        for b in range(prefs.n_ballots)
    ]


def test_inner_lists_and_sets_are_ties() -> None:
    prefs = cc.Preferences.from_rankings([["a", ["b", "c"], "d"], [{"c", "b"}, "a"]])
    assert ballots(prefs) == [[("a", 0), ("b", 1), ("c", 1), ("d", 2)], [("b", 0), ("c", 0), ("a", 1)]]


def test_candidates_nobody_ranks_are_slots() -> None:
    prefs = cc.Preferences.from_rankings([["a", "b", "c"]], candidates=["z", "a", "b", "c"])
    assert prefs.items.take(prefs.slot_item) == ["z", "a", "b", "c"]
    assert cc.rank(prefs, "borda").items == ["a", "b", "c", "z"]


def test_pairs_become_ballots_of_two() -> None:
    prefs = cc.Preferences.from_pairs(["a", "c"], ["b", "a"], tie=[False, True], weight=[7, 1])
    assert ballots(prefs) == [[("a", 0), ("b", 1)], [("c", 0), ("a", 0)]]
    assert prefs.weight.tolist() == [7.0, 1.0]
    assert prefs.form == "pairs"


def test_ratings_group_by_agent_and_tie_equal_ratings() -> None:
    prefs = cc.Preferences.from_ratings(["u", "v", "u", "u"], ["x", "x", "y", "z"], [3, 1, 5, 3])
    assert ballots(prefs) == [[("y", 0), ("x", 1), ("z", 1)], [("x", 0)]]
    assert prefs.agents is not None
    assert prefs.agents.labels == ["u", "v"]
    assert prefs.value is not None
    assert prefs.value.tolist() == [5, 3, 3, 1]


def test_ranks_group_by_instance_and_agent_in_any_row_order() -> None:
    rows = [("q1", "e1", "a", 2), ("q2", "e1", "b", 1), ("q1", "e2", "a", 1), ("q1", "e1", "b", 1)]
    instance, agent, item, rank = zip(*rows, strict=True)
    prefs = cc.Preferences.from_ranks(list(agent), list(item), list(rank), instance=list(instance))
    assert ballots(prefs) == [[("b", 0), ("a", 1)], [("b", 0)], [("a", 0)]]
    assert prefs.instance is not None
    assert prefs.instances is not None
    assert prefs.instances.take(prefs.instance) == ["q1", "q2", "q1"]


def test_a_rank_matrix_leaves_gaps_where_nan() -> None:
    prefs = cc.Preferences.from_rank_matrix(
        [[1, np.nan], [2, 1], [np.nan, np.nan]], items=["x", "y", "z"], agents=["e1", "e2"]
    )
    assert ballots(prefs) == [[("x", 0), ("y", 1)], [("y", 0)]]
    assert prefs.n_slots == 3


def test_a_frame_names_its_columns() -> None:
    frame = pd.DataFrame({"winner": ["a", "b"], "loser": ["b", "c"]})
    assert ballots(cc.Preferences.from_frame(frame)) == [[("a", 0), ("b", 1)], [("b", 0), ("c", 1)]]


def test_slots_follow_first_appearance_inside_each_instance(backend: str) -> None:
    prefs = cc.Preferences.from_rankings([["b", "a"], ["c", "a"], ["a", "d"]], instance=["q1", "q2", "q1"])
    assert prefs.slot_ptr.tolist() == [0, 3, 5]
    assert prefs.items.take(prefs.slot_item) == ["b", "a", "d", "c", "a"]
    assert prefs.entry_slot.tolist() == [0, 1, 3, 4, 1, 2]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: cc.Preferences.from_rankings([["a", "b", "a"]]), "Ballot 1 contains 'a' twice"),
        (lambda: cc.Preferences.from_pairs(["a"], ["a"]), "contains 'a' twice"),
        (lambda: cc.Preferences.from_rankings([["a"]], weight=[-1]), "weight in row 1 is -1"),
        (lambda: cc.Preferences.from_rankings([["a"]], weight=[np.nan]), "weight in row 1 is nan"),
        (lambda: cc.Preferences.from_rankings([["a"]], weight=[np.inf]), "weight in row 1 is inf"),
        (lambda: cc.Preferences.from_rankings([["a"]], weight=["x"]), "weight in row 1 is 'x'"),
        (lambda: cc.Preferences.from_rankings([["a"]], weight=[1, 2]), "2 values for 1 rows"),
        (lambda: cc.Preferences.from_rankings(["ab"]), "Ranking 1 is 'ab'"),
        (lambda: cc.Preferences.from_rankings([3]), "Ranking 1 is 3"),  # type: ignore[list-item]
        (lambda: cc.Preferences.from_rankings([["a"]], candidates=["b"]), "is not a candidate"),
        (lambda: cc.Preferences.from_pairs(["a"], ["b", "c"]), "same length"),
        (lambda: cc.Preferences.from_pairs(["a"], ["b"], tie=[3]), "true/false"),
        (lambda: cc.Preferences.from_ratings(["u"], ["x"], [np.nan]), "rating in row 1"),
        (lambda: cc.Preferences.from_ratings(["u", "u"], ["x", "x"], [1, 2]), "contains 'x' twice"),
        (lambda: cc.Preferences.from_rank_matrix([1, 2]), "two dimensions"),
        (lambda: cc.Preferences.from_rank_matrix([[1], [2]], items=["x", "x"]), "not unique"),
        (lambda: cc.Preferences(["a", "a"], [0], [], []), "lists a label twice"),
        (lambda: cc.Preferences(["a"], [0, 1], [3], [0]), "code is outside"),
        (lambda: cc.Preferences(["a"], [0, 2], [0], [0]), "must increase from 0"),
    ],
)
def test_bad_input_is_one_clear_sentence(make: object, message: str, backend: str) -> None:
    with pytest.raises(InputError, match=message):
        make()  # type: ignore[operator]


def test_zero_weights_are_dropped_and_counted_but_their_items_remain_candidates() -> None:
    prefs = cc.Preferences.from_rankings([["a", "b", "d"], ["c", "a"]], weight=[1, 0])
    assert prefs.n_ballots == 1
    assert prefs.notes == ("1 ballot with weight zero dropped",)
    assert cc.rank(prefs, "borda").items == ["a", "b", "d", "c"]


def test_selection_keeps_what_is_asked_for_and_shrinks_the_rest() -> None:
    prefs = cc.Preferences.from_rankings(
        [["a", "b", "c"], ["c", "b"], ["d", "a"]], agent=["u", "v", "u"], instance=["q1", "q1", "q2"]
    )
    one = prefs.select(instances="q1")
    assert one.instances is not None
    assert (one.instances.labels, one.items.labels, one.n_ballots) == (["q1"], ["a", "b", "c"], 2)
    assert ballots(prefs.select(items=["a", "c"])) == [[("a", 0), ("c", 2)], [("c", 0)], [("a", 1)]]
    assert prefs.select(agents=["v"]).n_ballots == 1
    assert prefs.take([2]).n_ballots == 1
    with pytest.raises(UnknownNameError, match="no agent 'w'"):
        prefs.select(agents="w")
    with pytest.raises(InputError, match="have no agents"):
        cc.Preferences.from_rankings([["a"]]).select(agents="u")


def test_merging_adds_the_weights_of_equal_ballots() -> None:
    lists = [["a", "b"], [["b", "a"]], ["a", "b"], [["a", "b"]], ["b", "a"]]
    merged = cc.Preferences.from_rankings(lists, agent=["u", "u", "v", "u", "u"]).merge(agents=False)
    assert sorted(merged.weight.tolist()) == [1.0, 2.0, 2.0]
    assert merged.is_merged
    assert merged.agents is None


@given(st.integers(0, 2**32 - 1))
def test_merging_changes_no_count_and_repetition_is_weight(seed: int) -> None:
    prefs = random_preferences(np.random.default_rng(seed), n_items=3, n_ballots=15)
    merged = prefs.merge(agents=False)
    assert merged.n_ballots <= prefs.n_ballots
    assert merged.weight.sum() == prefs.weight.sum()
    assert merged.merge(agents=False) == merged
    for ours, theirs in zip(cc.views.wins_and_losses(prefs), cc.views.wins_and_losses(merged), strict=True):
        np.testing.assert_allclose(ours, theirs)


def test_equality_is_by_content_whatever_the_numbering() -> None:
    one = cc.Preferences.from_rankings([["a", ["b", "c"]]])
    same = cc.Preferences.from_rankings([["a", ["c", "b"]]])
    assert one == same
    assert one != cc.Preferences.from_rankings([["a", "b", "c"]])
    assert one != cc.Preferences.from_rankings([["a", ["b", "d"]]])
    assert one != cc.Preferences.from_rankings([["a", ["b", "c"]]], weight=[2])


@pytest.mark.parametrize(
    ("prefs", "form"),
    [
        (cc.Preferences.from_pairs(["a"], ["b"]), "pairs"),
        (cc.Preferences.from_rankings([["a", ["b", "c"]]]), "approvals"),
        (cc.Preferences.from_rankings([["a", "b", "c"]]), "rankings"),
        (cc.Preferences.from_ratings(["u"] * 3, ["a", "b", "c"], [1, 2, 3]), "ratings"),
        (cc.Preferences(["a", "b", "c"], [0, 3], [0, 1, 2], [0, 1, 1], open=[True]), "choices"),
        (cc.Preferences(["a", "b", "c"], [0, 3], [0, 1, 2], [0, 1, 2], open=[True]), "top-k"),
        (cc.Preferences.from_rankings([]), "empty"),
    ],
)
def test_the_form_is_recognised(prefs: cc.Preferences, form: str) -> None:
    assert prefs.form == form


def test_entries_are_sorted_by_tier_on_construction() -> None:
    prefs = cc.Preferences(["a", "b"], [0, 2], [0, 1], [1, 0], value=[2.0, 1.0], scale="rank")
    assert ballots(prefs) == [[("b", 0), ("a", 1)]]
    assert prefs.value is not None
    assert prefs.value.tolist() == [1.0, 2.0]


def test_a_description_finds_the_structure() -> None:
    prefs = cc.Preferences.from_pairs(["a", "b", "c", "x"], ["b", "c", "a", "y"])
    found = prefs.describe()
    assert found.n_components == 2
    assert not found.is_connected
    assert found.cyclic_triads == 1
    assert (found.never_lost, found.never_won) == (("x",), ("y",))
    assert "groups that are never compared" in str(found)
    assert found.to_dict()["never_lost"] == ["x"]
    assert "</table>" in prefs._repr_html_()
    assert repr(prefs) == "Preferences(4 ballots (pairs), 5 items)"


def test_ties_link_items_both_ways_but_open_tiers_do_not() -> None:
    tied = cc.Preferences.from_pairs(["a", "a"], ["b", "b"], tie=[True, False])
    assert tied.describe().is_strongly_connected
    rest = cc.Preferences(["a", "b", "c"], [0, 3], [0, 1, 2], [0, 1, 1], open=[True])
    assert not rest.describe().is_strongly_connected
    assert rest.describe().tied_share == 0.0


def test_describing_nothing_is_fine() -> None:
    assert cc.Preferences.from_rankings([]).describe().n_items == 0


def test_nobody_can_write_into_preferences() -> None:
    weight, item = np.array([1.0, 2.0]), np.array([0, 1, 1, 0], np.int32)
    prefs = cc.Preferences(["a", "b"], [0, 2, 4], item, [0, 1, 0, 1], weight=weight)
    weight[0] = item[0] = 99
    assert prefs.weight.tolist() == [1, 2]
    assert prefs.item.tolist() == [0, 1, 1, 0]
    for made in (prefs, cc.Preferences.from_pairs(["a", "b"], ["b", "a"], weight=weight), prefs.merge()):
        for name in ("indptr", "item", "tier", "weight", "slot_ptr", "slot_item", "entry_slot"):
            with pytest.raises(ValueError, match="read-only"):
                getattr(made, name)[0] = 99
    assert weight.flags.writeable


def test_nobody_can_set_attributes_of_preferences_and_labels() -> None:
    prefs, labels = cc.Preferences.from_rankings([["a", "b"]]), cc.Labels(None, ["a"], [1])
    for frozen, name in ((prefs, "weight"), (prefs, "notes"), (prefs, "_slots"), (labels, "label")):
        with pytest.raises(AttributeError, match="is immutable"):
            setattr(frozen, name, np.ones(1))
    with pytest.raises(AttributeError, match=r"use replace\(…\)"):
        del prefs.weight
    with pytest.raises(ValueError, match="read-only"):
        labels.label[0] = 99


def test_preferences_travel_between_processes() -> None:
    prefs = cc.Preferences.from_pairs(["a", "b"], ["b", "c"], weight=[1, 2])
    assert pickle.loads(pickle.dumps(prefs)) == copy.deepcopy(prefs) == prefs


def test_notes_are_added_to_a_copy() -> None:
    prefs = cc.Preferences.from_rankings([["a", "b"]])
    assert prefs.noted("by hand").notes == ("by hand",)
    assert prefs.notes == ()


def test_replace_checks_what_it_changes() -> None:
    prefs = cc.Preferences.from_pairs(["a", "b"], ["b", "c"])
    heavy = prefs.replace(weight=[3, 1])
    assert heavy.weight.tolist() == [3, 1]
    assert heavy.form == "pairs"
    assert prefs.weight.tolist() == [1, 1]
    with pytest.raises(cc.InputError, match="outside"):
        prefs.replace(item=[0, 1, 1, 7])


def test_plain_pairs_make_bounds_and_weights_when_asked_for() -> None:
    votes = cc.Preferences.from_pairs(["a", "b", "c"], ["b", "c", "a"], tie=[False, True, False])
    listed = cc.Preferences(votes.items, [0, 2, 4, 6], votes.item, votes.tier, form="pairs")
    for name in ("indptr", "weight"):
        assert name not in vars(votes)
    assert (votes.n_ballots, votes.form, cc.rank(votes).items) == (3, "pairs", cc.rank(listed).items)
    for same in (votes, votes.noted("seen"), pickle.loads(pickle.dumps(votes)), votes.replace(notes=["seen"])):
        assert same.indptr.tolist() == [0, 2, 4, 6]
        assert same.weight.tolist() == [1.0, 1.0, 1.0]
        assert not same.indptr.flags.writeable
        assert not same.weight.flags.writeable
    assert votes.merge().weight.tolist() == listed.merge().weight.tolist()
    assert votes.take([1]).indptr.tolist() == [0, 2]


def test_no_pairs_at_all_are_empty() -> None:
    assert (cc.Preferences.from_pairs([], []).form, cc.Preferences.from_pairs([], []).n_ballots) == ("empty", 0)


def test_a_third_tier_is_found_wherever_it_stands() -> None:
    ballots = [["a", ["b", "c"]]] * 150
    assert cc.Preferences.from_rankings(ballots).form == "approvals"
    assert cc.Preferences.from_rankings([*ballots, ["a", "b", "c"]]).form == "rankings"
    assert cc.Preferences.from_rankings([["a", "b", "c"], *ballots]).form == "rankings"


@pytest.mark.parametrize("kind", [list, np.array, pd.Series, lambda rank: np.array(rank, np.int64)])
def test_ranks_of_the_caller_stay_his_own(kind: object) -> None:
    rank = kind([1.0, 2.0, 1.0, 2.0])  # type: ignore[operator]
    prefs = cc.Preferences.from_ranks(["u", "u", "v", "v"], ["a", "b", "b", "a"], rank)
    rank[0] = 7.0
    assert prefs.value is not None
    assert prefs.value.tolist() == [1.0, 2.0, 1.0, 2.0]
    assert not prefs.value.flags.writeable


# ---- taking ballots ----
def test_taken_ballots_keep_their_order_and_repeats():
    prefs = cc.Preferences.from_rankings(
        [["a", "b"], ["b", "c", "a"], ["c"]], agent=["x", "y", "x"], instance=["q", "r", "q"], weight=[1, 2, 3]
    )
    taken = prefs.take([2, 1, 1, -3])
    assert taken.weight.tolist() == [3, 2, 2, 1]
    assert taken.agents.take(taken.agent) == ["x", "y", "y", "x"]
    assert taken.instances.take(taken.instance) == ["q", "r", "r", "q"]
    assert taken.items.take(taken.item) == ["c", "b", "c", "a", "b", "c", "a", "a", "b"]
    assert taken.indptr.tolist() == [0, 1, 4, 7, 9]
    assert prefs.take(slice(None, None, -1)) == prefs.take([2, 1, 0])
    assert prefs.take(np.array([True, False, True])) == prefs.take([0, 2])
    assert prefs.take([]).n_ballots == 0


def test_taking_a_ballot_twice_counts_it_twice():
    prefs = cc.Preferences.from_pairs(["a", "b", "c"], ["b", "c", "a"])
    twice = prefs.take([0, 0, 1, 2])
    expected = cc.Preferences.from_pairs(["a", "b", "c"], ["b", "c", "a"], weight=[2, 1, 1])
    assert cc.rank(twice, "bradley-terry").scores == pytest.approx(cc.rank(expected, "bradley-terry").scores)


def test_taking_all_ballots_changes_nothing():
    prefs = cc.Preferences([*"abc"], [0, 2, 2, 3], [0, 1, 2], [0, 1, 0])  # the second is empty
    assert prefs.take(range(3)) == prefs
    assert prefs.take(np.ones(3, bool)) == prefs


def test_an_empty_ballot_goes_with_its_instance():
    prefs = cc.Preferences(
        [*"abc"],
        [0, 2, 2],
        [0, 1],
        [0, 1],
        instances=["p", "q"],
        instance=[0, 1],
        slot_ptr=[0, 2, 3],
        slot_item=[0, 1, 2],
    )
    assert prefs.select(items=["a", "b"]).instances.labels == ["p"]
    assert prefs.select(items=["a", "c"]).n_ballots == 2
    bare = prefs.replace(slot_ptr=[0, 2, 2], slot_item=[0, 1])
    assert bare.merge().n_ballots == 1
    assert prefs.merge() == prefs


@pytest.mark.parametrize("wrong", [[5], [-4], [True, False], [0.5], [[0, 1]]])
def test_ballots_that_are_not_there_cannot_be_taken(wrong):
    prefs = cc.Preferences.from_rankings([["a", "b"]] * 3)
    with pytest.raises(cc.InputError, match="give a mask, indices or a slice"):
        prefs.take(wrong)


def test_a_bootstrap_by_hand_has_the_errors_of_the_method():
    rng = np.random.default_rng(1)
    score = np.array([0.0, 0.4, 0.8, 1.2])
    first = rng.integers(0, 4, 600)
    second = (first + rng.integers(1, 4, 600)) % 4
    wins = rng.random(600) < 1 / (1 + np.exp(score[second] - score[first]))
    prefs = cc.Preferences.from_pairs(np.where(wins, first, second), np.where(wins, second, first))
    whole = cc.rank(prefs, "bradley-terry", prior=0.0, errors="bootstrap", replicates=400)
    drawn = []
    for _ in range(400):
        sample = prefs.take(rng.integers(len(prefs), size=len(prefs)))
        ranking = cc.rank(sample, "bradley-terry", prior=0.0, errors="none")
        drawn.append([dict(zip(ranking.items, ranking.scores, strict=True))[item] for item in whole.items])
    assert np.std(drawn, axis=0) == pytest.approx(whole.detail("stderr"), rel=0.12)
