import re
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import random_preferences

import concordant as cc
from concordant.analysis import comparing
from concordant.analysis.comparing import distances_to_ballots
from concordant.evaluation import on_shared_instances, ranking_of_run

RUNS = cc.Preferences.from_ranks(
    ["e"] * 5, ["d1", "d2", "d3", "d1", "d4"], [1, 2, 3, 1, 2], instance=["q1", "q1", "q1", "q2", "q2"]
)
LABELS = cc.Labels(["q1", "q1", "q2", "q3"], ["d3", "d9", "d1", "d1"], [2, 1, 1, 1])


def test_labels_join_by_name_and_unretrieved_relevant_items_count(backend: str) -> None:
    result = cc.evaluate(cc.rank(RUNS, "rrf"), LABELS, ["map", "mrr", "recall@3", "p@1"], queries="shared")
    assert result.instances is not None
    assert result.instances.labels == ["q1", "q2"]
    assert result.per_instance["map"].tolist() == pytest.approx([(1 / 3) / 2, 1.0])
    assert result.per_instance["recall@3"].tolist() == [0.5, 1.0]
    assert result["mrr"] == pytest.approx((1 / 3 + 1) / 2)
    assert result["p@1"] == 0.5


def test_judged_instances_that_are_not_ranked_count_zero_and_are_named() -> None:
    result = cc.evaluate(cc.rank(RUNS, "rrf"), LABELS, ["map", "ndcg@3:one"])
    assert result.instances is not None
    assert result.instances.labels == ["q1", "q2", "q3"]
    assert result.per_instance["map"][2] == result.per_instance["ndcg@3:one"][2] == 0.0
    assert result["map"] == pytest.approx((1 / 6 + 1) / 3)
    assert result.missing == ("q3",)
    assert [notice.name for notice in result.warnings] == ["missing-instances"]
    assert "1 of 3 judged instances are not ranked (q3)" in str(result)
    shared = cc.evaluate(cc.rank(RUNS, "rrf"), LABELS, "map", queries="shared")
    assert shared["map"] == pytest.approx((1 / 6 + 1) / 2)
    assert "left out" in shared.warnings[0].text


def test_ranked_instances_without_labels_do_not_count_and_are_named() -> None:
    result = cc.evaluate(cc.rank(RUNS, "rrf"), cc.Labels(["q1"], ["d1"], [1]), "ndcg@3")
    assert result.per_instance["ndcg@3"].tolist() == [1.0]
    assert result.unjudged == ("q2",)
    assert result.to_dict()["unjudged"] == ["q2"]
    assert "1 ranked instance has no labels (q2)" in str(result)


def test_instances_named_differently_are_refused() -> None:
    with pytest.raises(cc.InputError, match=r"'q1'.*'301'.*same instance names"):
        cc.evaluate(cc.rank(RUNS, "rrf"), cc.Labels(["301"], ["d1"], [1]), "map")


def test_a_run_holds_only_what_its_system_returned() -> None:
    both = cc.Preferences.from_ratings(
        ["A", "A", "B", "B"], ["d1", "d2", "d3", "d4"], [3, 2, 5, 4], instance=["q1", "q1", "q1", "q2"]
    )
    run = ranking_of_run(both.select(agents="A"))
    assert [part.items for part in run] == [["d1", "d2"]]
    assert run.instance == "q1"
    labels = cc.Labels(["q1", "q2"], ["d3", "d4"], [1, 1])
    assert cc.evaluate(both.select(agents="A"), labels, "recall")["recall"] == 0.0


def test_runs_and_labels_may_be_dictionaries() -> None:
    run = {"q1": {"d1": 0.9, "d2": 0.5, "d3": 0.1}, "q2": {"d1": 2.0, "d4": 1.0}}
    qrels = {"q1": {"d3": 2, "d9": 1}, "q2": {"d1": 1}, "q3": {"d1": 1}}
    assert cc.evaluate(run, qrels, "map").means == cc.evaluate(cc.rank(RUNS, "rrf"), LABELS, "map").means
    assert cc.evaluate(RUNS, LABELS, "map").means == cc.evaluate(cc.rank(RUNS, "rrf"), LABELS, "map").means
    assert cc.evaluate({"a": 0.1, "b": 0.9}, {"a": 1}, "mrr")["recip_rank"] == 0.5
    with pytest.raises(cc.InputError, match="mix"):
        cc.evaluate({"q1": {"a": 1.0}, "b": 2.0}, qrels, "map")
    with pytest.raises(cc.InputError, match=r"takes a Ranking.*not list.*cc\.rank"):
        cc.evaluate(["a", "b"], qrels, "map")
    with pytest.raises(cc.InputError, match=r"takes Labels.*not list"):
        cc.evaluate(run, [1, 0], "map")


def test_many_tied_relevant_items_are_told_and_can_be_averaged() -> None:
    tied = {"q1": {"a": 1.0, "b": 1.0, "c": 0.0}}
    result = cc.evaluate(tied, {"q1": {"a": 1, "b": 0}}, "mrr")
    assert [notice.name for notice in result.warnings] == ["tied-scores"]
    average = cc.evaluate(tied, {"q1": {"a": 1, "b": 0}}, "mrr", ties="average")
    assert average["mrr"] == pytest.approx(0.75)
    assert average.warnings == ()
    harmless = cc.evaluate(tied, {"q1": {"a": 1, "b": 1}}, "mrr")
    assert harmless.warnings == ()


def test_several_systems_are_compared_on_the_instances_they_share() -> None:
    qrels = {"q1": {"a": 1}, "q2": {"a": 1}, "q3": {"a": 1}}
    one = cc.evaluate({"q1": {"a": 1.0}, "q2": {"a": 1.0}}, qrels, "mrr", queries="shared")
    two = cc.evaluate({"q3": {"a": 1.0}, "q2": {"b": 1.0}}, qrels, "mrr", queries="shared")
    shared = on_shared_instances({"one": one, "two": two})
    assert [result.instances.labels for result in shared.values() if result.instances] == [["q2"], ["q2"]]
    assert [result["mrr"] for result in shared.values()] == [1.0, 0.0]
    with pytest.raises(cc.InputError, match="no judged instance in common"):
        on_shared_instances({"one": one.over(["q1"]), "two": two})


@pytest.mark.parametrize("choice", [{"queries": "some"}, {"ties": "drop"}, {"unjudged": "no"}])
def test_an_unknown_choice_is_refused(choice: dict[str, str]) -> None:
    with pytest.raises(cc.InputError, match="is not valid"):
        cc.evaluate(RUNS, LABELS, "map", **choice)


TREC_EVAL = ["map", "ndcg_cut_5", "P_5", "recall_10", "recip_rank", "Rprec", "bpref", "set_F", "success_1", "map_cut_5"]


@pytest.mark.parametrize("seed", range(20))
def test_means_are_those_of_trec_eval_with_and_without_completion(seed: int) -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    random = np.random.default_rng(seed)
    documents = [f"d{k}" for k in range(40)]
    run = {
        f"q{q}": {d: float(random.integers(0, 12)) / 4 for d in random.choice(documents, 25, replace=False)}
        for q in random.choice(12, 8, replace=False)
    }
    qrels = {
        f"q{q}": {d: int(random.integers(-1, 4)) for d in random.choice(documents, 20, replace=False)}
        for q in random.choice(12, 9, replace=False)
    }
    asked = {re.sub(r"_(\d+)$", r".\1", metric) for metric in TREC_EVAL}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, asked).evaluate(run)
    shared, judged = (cc.evaluate(run, qrels, TREC_EVAL, queries=choice) for choice in ("shared", "judged"))
    for metric in TREC_EVAL:
        total = sum(values[metric] for values in theirs.values())
        assert shared[metric] == pytest.approx(total / len(theirs), rel=1e-9), metric
        assert judged[metric] == pytest.approx(total / len(qrels), rel=1e-9), metric


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


def test_distance_to_ballots_is_the_same_however_instances_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    prefs = random_preferences(np.random.default_rng(3), n_ballots=40, n_instances=7)
    ranks = np.random.default_rng(4).random((3, prefs.n_slots))
    whole = distances_to_ballots(prefs, ranks)
    monkeypatch.setattr(comparing, "CELLS_AT_ONCE", 60)
    assert len(comparing._parts(prefs)) > 2
    assert distances_to_ballots(prefs, ranks).tolist() == whole.tolist()


def test_distance_to_ballots_counts_ties_half() -> None:
    prefs = cc.Preferences.from_rankings([["a", "b"]])
    assert distances_to_ballots(prefs, np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 1.0]])).tolist() == [0.0, 1.0, 0.5]


def test_a_ranking_that_was_written_has_the_values_of_the_one_in_memory(tmp_path: Path) -> None:
    prefs = cc.Preferences.from_ranks(
        ["r"] * 6, ["z", "b", "a", "c", "a", "b"], [1, 2, 2, 2, 1, 1], instance=["1"] * 4 + ["2"] * 2
    )
    ranking = cc.rank(prefs, "borda")
    labels = {"1": {"b": 1, "c": 2}, "2": {"b": 1}}
    expected = cc.evaluate(ranking, labels, ["map", "ndcg@2"]).means
    for name in ("ranking.run", "ranking.csv"):
        cc.write(ranking, tmp_path / name)
        assert cc.evaluate(cc.read(tmp_path / name), labels, ["map", "ndcg@2"], ties="input").means == expected
        assert cc.evaluate(cc.read(tmp_path / name), labels, ["map", "ndcg@2"]).means != expected


def test_scores_in_input_order_have_double_precision() -> None:
    run = {"1": {"a": 1.0, "b": 1.0 + 1e-9}}
    assert cc.evaluate(run, {"1": {"b": 1}}, "mrr", ties="input")["mrr"] == 1
    assert cc.evaluate({"1": {"b": 1.0, "a": 1.0 + 1e-9}}, {"1": {"b": 1}}, "mrr", ties="input")["mrr"] == 0.5
    assert cc.evaluate({"1": {"b": 1.0, "a": 1.0}}, {"1": {"b": 1}}, "mrr", ties="input")["mrr"] == 1
