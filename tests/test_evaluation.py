import numpy as np
import pytest

import concordant as cc
from concordant.comparing import distances_to_ballots
from concordant.evaluation import ranking_of_run

RUNS = cc.Preferences.from_ranks(
    ["e"] * 5, ["d1", "d2", "d3", "d1", "d4"], [1, 2, 3, 1, 2], instance=["q1", "q1", "q1", "q2", "q2"]
)
LABELS = cc.Labels(["q1", "q1", "q2", "q3"], ["d3", "d9", "d1", "d1"], [2, 1, 1, 1])


def test_labels_join_by_name_and_unretrieved_relevant_items_count(backend: str) -> None:
    result = cc.evaluate(cc.rank(RUNS, "rrf"), LABELS, ["map", "mrr", "recall@3", "p@1"])
    assert result.instances is not None
    assert result.instances.labels == ["q1", "q2"]
    assert result.per_instance["map"].tolist() == pytest.approx([(1 / 3) / 2, 1.0])
    assert result.per_instance["recall@3"].tolist() == [0.5, 1.0]
    assert result["mrr"] == pytest.approx((1 / 3 + 1) / 2)
    assert result["p@1"] == 0.5


def test_an_instance_without_labels_counts_as_empty_and_is_reported() -> None:
    result = cc.evaluate(cc.rank(RUNS, "rrf"), cc.Labels(["q1"], ["d1"], [1]), "ndcg@3")
    assert result.per_instance["ndcg@3"].tolist() == [1.0, 0.0]
    assert result.n_without_labels == 1
    skipped = cc.evaluate(cc.rank(RUNS, "rrf"), cc.Labels(["q1"], ["d1"], [1]), "ndcg@3:skip")
    assert skipped["ndcg@3:skip"] == 1.0
    assert skipped.to_dict()["instances"][1]["ndcg@3:skip"] is None


def test_unjudged_items_can_be_left_out() -> None:
    ranking = cc.rank(RUNS, "rrf")
    assert cc.evaluate(ranking, LABELS, "mrr", unjudged="skip").per_instance["mrr"][0] == 1.0
    with pytest.raises(cc.InputError, match="unjudged='no'"):
        cc.evaluate(ranking, LABELS, "mrr", unjudged="no")


def test_one_unnamed_instance_joins_one_unnamed_set_of_labels() -> None:
    ranking = cc.fuse([["a", "b"]])
    assert cc.evaluate(ranking, cc.Labels(None, ["b"], [1]), ["mrr"])["mrr"] == 0.5
    with pytest.raises(cc.InputError, match="names instances"):
        cc.evaluate(ranking, LABELS, "map")


@pytest.mark.parametrize(
    ("instance", "item", "label", "message"),
    [
        (["q", "q"], ["d", "d"], [1, 0], "labelled twice in instance 'q'"),
        (["q"], ["d"], [np.nan], "label in row 1"),
        (["q"], ["d", "e"], [1, 1], "1 instances for 2 labelled items"),
    ],
)
def test_labels_refuse_what_contradicts_itself(instance: list[str], item: list[str], label: list[float], message: str):
    with pytest.raises(cc.InputError, match=message):
        cc.Labels(instance, item, label)


def test_labels_are_looked_up_for_any_numbering() -> None:
    found = LABELS.for_items(np.array([0, 0, 1]), RUNS.instances, RUNS.items, RUNS.items.codes(["d3", "d1", "d1"]))
    assert found.tolist()[0] == 2.0
    assert np.isnan(found[1])
    assert found[2] == 1.0


def test_a_run_is_ordered_by_score_in_single_precision_then_by_document_descending() -> None:
    near = 1.0 + 1e-9  # equal to 1 in single precision
    prefs = cc.Preferences.from_ratings(["r"] * 4, ["b", "a", "c", "d"], [1.0, near, 2.0, 1.0], instance=["t"] * 4)
    assert ranking_of_run(prefs)["t"].items == ["c", "d", "b", "a"]


def test_a_run_is_one_system_with_values() -> None:
    with pytest.raises(cc.InputError, match="one system"):
        ranking_of_run(cc.Preferences.from_ratings(["r", "s"], ["a", "a"], [1, 2]))
    with pytest.raises(cc.InputError, match="scores or ranks"):
        ranking_of_run(cc.Preferences.from_rankings([["a", "b"]]))
    by_rank = cc.Preferences.from_ranks(["r"] * 2, ["a", "b"], [2, 1])
    assert ranking_of_run(by_rank).items == ["b", "a"]


def test_methods_that_agree_have_tau_one_and_opposites_minus_one() -> None:
    prefs = cc.Preferences.from_rankings([["a", "b", "c"]] * 2 + [["c", "b", "a"]])
    result = cc.compare(prefs, ["borda", cc.Copeland()])
    assert result.names == ("borda", "copeland")
    assert result.tau.tolist() == [[1, 1], [1, 1]]
    assert result.distance.tolist() == pytest.approx([1 / 3, 1 / 3])
    assert "borda" in str(result)
    with pytest.raises(cc.InputError, match="nothing to compare"):
        cc.compare(prefs, [])


def test_distance_to_ballots_counts_ties_half() -> None:
    prefs = cc.Preferences.from_rankings([["a", "b"]])
    assert distances_to_ballots(prefs, np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 1.0]])).tolist() == [0.0, 1.0, 0.5]
