"""Retrieval metrics against their definitions, hand-computed answers and awkward input."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from concordant import kernels, metrics
from concordant.errors import InputError, ParameterError

EVERY_METRIC = [
    "ndcg", "ndcg@1", "ndcg@3", "ndcg@3:letor", "ndcg@6:letor", "ndcg:letor:linear", "ndcg@5:one", "ndcg@2:skip",
    "p", "p@1", "p@4", "p@3:threshold=2", "map", "map@3", "map:skip:threshold=2", "err", "err@2", "err:one:lmax=4",
    "mrr", "mrr@2", "mrr:threshold=3", "recall", "recall@2", "hit", "hit@2", "rprec", "rprec:threshold=2",
    "f1", "f1@3", "f1@2:threshold=2", "rbp", "rbp@3:p=0.5", "bpref", "bpref:skip:threshold=2",
]  # fmt: skip


def by_definition(metric, ranked, judged, largest):
    """The value of one query from labels best first and all judged labels, as the formulas are written."""
    metric = metrics.parse(metric)
    documents = sum(math.isnan(label) for label in ranked) + sum(not math.isnan(label) for label in judged)
    if metric.name == "bpref":
        return bpref_by_definition(metric, ranked, judged)
    ranked = [0.0 if math.isnan(label) else max(label, 0.0) for label in ranked]
    judged = [max(label, 0.0) for label in judged if not math.isnan(label)]
    threshold = getattr(metric, "threshold", None)
    relevant = sum(label >= threshold if threshold else label > 0 for label in judged)
    if not relevant:
        return {"zero": 0.0, "one": 1.0, "skip": math.nan}[metric.empty]
    cutoff = getattr(metric, "cutoff", None)
    top = ranked[:cutoff]
    if metric.name == "ndcg":
        if metric.discount == "letor" and (cutoff or 0) > documents:
            return 0.0

        def gain(labels):
            total = 0.0
            for i, label in enumerate(labels, start=1):
                amount = label if metric.gain == "linear" else 2**label - 1
                total += amount / (math.log2(i + 1) if metric.discount == "log2" else math.log2(max(i, 2)))
            return total

        return gain(top) / gain(sorted(judged, reverse=True)[:cutoff])
    if metric.name == "err":
        value, unsatisfied = 0.0, 1.0
        for i, label in enumerate(top, start=1):
            stop = (2**label - 1) / 2 ** (largest if metric.lmax is None else metric.lmax)
            value += unsatisfied * stop / i
            unsatisfied *= 1 - stop
        return value
    hits = [label >= threshold for label in top]
    if metric.name == "p":
        return sum(hits) / (cutoff or len(ranked)) if ranked else 0.0
    if metric.name == "map":
        return sum(sum(hits[: i + 1]) / (i + 1) for i in range(len(hits)) if hits[i]) / relevant
    if metric.name == "mrr":
        return next((1 / (i + 1) for i in range(len(hits)) if hits[i]), 0.0)
    if metric.name == "recall":
        return sum(hits) / relevant
    if metric.name == "f1":
        precision, recall = sum(hits) / (cutoff or max(len(ranked), 1)), sum(hits) / relevant
        return 2 * precision * recall / (precision + recall) if any(hits) else 0.0
    if metric.name == "rbp":
        return (1 - metric.p) * sum(metric.p**i for i, hit in enumerate(hits) if hit)
    if metric.name == "hit":
        return float(any(hits))
    return sum(hits[:relevant]) / relevant


def bpref_by_definition(metric, ranked, judged):
    relevant = sum(label >= metric.threshold for label in judged)
    poor = sum(0 <= label < metric.threshold for label in judged)
    if not relevant:
        return {"zero": 0.0, "one": 1.0, "skip": math.nan}[metric.empty]
    value, above = 0.0, 0
    for label in ranked:
        if label >= metric.threshold:
            value += 1 - (min(above, relevant) / min(relevant, poor) if above else 0)
        elif label >= 0:
            above += 1
    return value / relevant


labels_with_holes = st.one_of(st.sampled_from([0.0, 1.0, 2.0, 3.0]), st.just(math.nan), st.just(-1.0), st.just(0.5))
queries = st.lists(
    st.tuples(
        st.lists(labels_with_holes, max_size=8),
        st.lists(st.sampled_from([-2.0, 0.0, 1.0, 2.0, 3.0, math.nan]), max_size=4),
    ),
    min_size=1,
    max_size=5,
)


def pointers(lists):
    return np.concatenate([[0], np.cumsum([len(one) for one in lists])])


def joined(lists):
    return np.array([label for one in lists for label in one], float)


@settings(max_examples=100)
@given(queries, st.sampled_from(["zero", "skip"]))
def test_ranked_lists_score_as_defined(given_queries, unjudged):
    ranked = [list(one) for one, _ in given_queries]
    judged = [list(one) + extra for one, extra in given_queries]
    values = metrics.evaluate_ranked(
        joined(ranked), pointers(ranked), joined(judged), pointers(judged), EVERY_METRIC, unjudged=unjudged
    )
    largest = max([0.0, *(label for one in judged for label in one if not math.isnan(label))])
    for name in EVERY_METRIC:
        expected = [
            by_definition(name, [x for x in one if unjudged == "zero" or not math.isnan(x)], all_of_it, largest)
            for one, all_of_it in zip(ranked, judged, strict=True)
        ]
        np.testing.assert_allclose(values[name], expected, rtol=1e-12, atol=1e-15, err_msg=name)


rows = st.lists(
    st.tuples(st.sampled_from([-1.5, 0.0, 0.25, 1.0, math.inf]), labels_with_holes, st.integers(0, 3)),
    min_size=1,
    max_size=30,
)


@settings(max_examples=100)
@given(rows, st.sampled_from(["zero", "skip"]), st.sampled_from([int, str, float]))
def test_unsorted_rows_score_as_their_sorted_lists(given_rows, unjudged, group_type):
    groups = list(dict.fromkeys(group for _, _, group in given_rows))
    ranked = []
    for wanted in groups:
        of_group = [(score, label) for score, label, group in given_rows if group == wanted]
        ranked.append([label for _, label in sorted(of_group, key=lambda row: -row[0])])
    score, label, group = (np.array(column) for column in zip(*given_rows, strict=True))
    values = metrics.evaluate_arrays(score, label, group.astype(group_type), EVERY_METRIC, unjudged=unjudged)
    expected = metrics.evaluate_ranked(
        joined(ranked), pointers(ranked), joined(ranked), pointers(ranked), EVERY_METRIC, unjudged=unjudged
    )
    for name in EVERY_METRIC:
        np.testing.assert_allclose(values[name], expected[name], rtol=1e-12, atol=1e-15, err_msg=name)


@pytest.mark.parametrize("positives", [3, 64, 65, 400])
def test_many_positives_among_tied_scores_find_their_places(positives):
    random = np.random.default_rng(positives)
    score = random.integers(0, 40, 500).astype(float)
    label = np.zeros(500)
    label[random.choice(500, positives, replace=False)] = random.integers(1, 4, positives)
    order = np.argsort(-score, kind="stable")
    found = metrics.evaluate_arrays(score, label, None, EVERY_METRIC)
    expected = metrics.evaluate_ranked(label[order], [0, 500], label, [0, 500], EVERY_METRIC)
    for name in EVERY_METRIC:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-12, err_msg=name)


def test_known_values_by_hand():
    # labels best first: 0 2 1, nothing else judged
    values = metrics.evaluate_arrays(
        [0.9, 0.5, 0.1], [0, 2, 1], None, ["ndcg", "ndcg:letor", "ndcg@2:linear", "map", "p@2", "p@10", "err", "mrr"]
    )
    assert values["ndcg"][0] == pytest.approx((3 / math.log2(3) + 1 / 2) / (3 + 1 / math.log2(3)))
    assert values["ndcg:letor"][0] == pytest.approx((3 + 1 / math.log2(3)) / (3 + 1))
    assert values["ndcg@2:linear"][0] == pytest.approx((2 / math.log2(3)) / (2 + 1 / math.log2(3)))
    assert values["map"][0] == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert values["p@2"][0] == 0.5
    assert values["p@10"][0] == 0.2  # divides by T even when the list is shorter
    assert values["err"][0] == pytest.approx(3 / 4 / 2 + (1 - 3 / 4) * (1 / 4) / 3)
    assert values["mrr"][0] == 0.5


def test_the_first_two_places_weigh_the_same_in_the_letor_convention():
    first = metrics.evaluate_arrays([2, 1], [1, 0], None, "ndcg@2:letor")["ndcg@2:letor"]
    second = metrics.evaluate_arrays([2, 1], [0, 1], None, "ndcg@2:letor")["ndcg@2:letor"]
    assert first == second == 1.0


def test_letor_gives_nothing_to_a_query_with_fewer_documents_than_places():
    """So the N@6 to N@10 that LETOR 4.0 publishes come out; half of MQ2008's queries have under 9 documents."""
    perfect = metrics.evaluate_arrays([3, 2, 1], [2, 1, 0], None, ["ndcg@3:letor", "ndcg@4:letor", "ndcg@4"])
    assert [values[0] for values in perfect.values()] == [1.0, 0.0, 1.0]
    judged_too = metrics.evaluate_ranked([2.0, 1.0], [0, 2], [2.0, 1.0, 0.0, 0.0], [0, 4], "ndcg@4:letor")
    assert judged_too["ndcg@4:letor"][0] == 1.0  # the query has four documents, though the run found two


def test_the_largest_label_of_err_is_the_data_sets():
    alone = metrics.evaluate_arrays([1.0], [1], [0], "err")["err"]
    beside = metrics.evaluate_arrays([1.0, 1.0], [1, 3], [0, 1], "err")["err"]
    assert alone[0] == 1 / 2
    assert beside[0] == 1 / 8


def test_a_query_without_anything_relevant_is_an_explicit_choice():
    values = metrics.evaluate_arrays([1, 2, 1], [1, 0, 0], [7, 8, 8], ["map", "map:one", "map:skip", "ndcg@5:skip"])
    np.testing.assert_array_equal(values["map"], [1, 0])
    np.testing.assert_array_equal(values["map:one"], [1, 1])
    np.testing.assert_array_equal(values["map:skip"], [1, np.nan])
    assert metrics.mean(values["map"]) == 0.5
    assert metrics.mean(values["map:skip"]) == metrics.mean(values["ndcg@5:skip"]) == 1.0
    assert math.isnan(metrics.mean([np.nan]))


def test_equal_scores_keep_row_order():
    values = metrics.evaluate_arrays([1, 1, 1], [0, 1, 0], None, "mrr")
    assert values["mrr"][0] == 0.5


def test_groups_come_in_order_of_first_appearance():
    values = metrics.evaluate_arrays([3, 2, 1, 0], [0, 1, 1, 0], ["z", "a", "z", "a"], "mrr")
    np.testing.assert_array_equal(values["mrr"], [0.5, 1.0])
    far_apart = metrics.evaluate_arrays([3, 2, 1, 0], [0, 1, 1, 0], [2**62, -(2**62), 2**62, -(2**62)], "mrr")
    np.testing.assert_array_equal(far_apart["mrr"], [0.5, 1.0])


def test_relevant_documents_that_were_not_retrieved_lower_recall_and_map():
    values = metrics.evaluate_ranked([1.0], [0, 1], [1.0, 1.0], [0, 2], ["recall", "map", "ndcg"])
    assert values["recall"][0] == values["map"][0] == 0.5
    assert values["ndcg"][0] == pytest.approx(1 / (1 + 1 / math.log2(3)))


def test_a_query_with_an_empty_list_scores_zero():
    values = metrics.evaluate_ranked([], [0, 0], [2.0], [0, 1], EVERY_METRIC)
    assert all(value[0] == 0 for name, value in values.items() if "threshold=3" not in name)


def test_labels_join_rankings_by_item():
    nan = np.nan
    label = kernels.join_labels(
        np.array([0, 3, 3, 5]),
        np.array([4, 0, 2, 4, 40_000], np.int32),
        np.array([0, 2, 3, 4]),
        np.array([2, 4, 0, 4], np.int32),
        np.array([1.0, 2.0, 3.0, 0.0]),
        50_000,
    )
    np.testing.assert_array_equal(label, [2, nan, 1, 0, nan])
    none = kernels.join_labels(
        np.array([0, 1]), np.array([0], np.int32), np.array([0, 0]), np.empty(0, np.int32), np.empty(0), 1
    )
    np.testing.assert_array_equal(none, [nan])


items = st.one_of(st.integers(0, 12), st.integers(32_768, 32_780), st.integers(0, 70_000))


@settings(max_examples=50)
@given(st.lists(st.tuples(st.lists(items), st.lists(st.integers(0, 9), unique=True)), min_size=1))
def test_joining_agrees_with_a_dictionary(groups):
    ranked = [one for one, _ in groups]
    judged = [one for _, one in groups]
    label = kernels.join_labels(
        pointers(ranked), joined(ranked).astype(np.int32), pointers(judged), joined(judged).astype(np.int32),
        joined(judged) * 10, 70_001,
    )  # fmt: skip
    expected = [
        10.0 * item if item in known else np.nan for one, known in zip(ranked, judged, strict=True) for item in one
    ]
    np.testing.assert_array_equal(label, expected)


def test_text_groups_and_integer_groups_agree():
    random = np.random.default_rng(0)
    group = random.integers(0, 20, 300)
    score, label = random.random(300), random.integers(0, 3, 300)
    by_number = metrics.evaluate_arrays(score, label, group, "map ndcg")
    by_text = metrics.evaluate_arrays(score, label, [f"q{one}" for one in group], "map ndcg")
    np.testing.assert_array_equal(by_number["map"], by_text["map"])


@pytest.mark.parametrize(
    ("score", "label", "group", "words"),
    [
        ([1.0, np.nan], [1, 0], [0, 0], "row 1 is NaN"),
        ([1.0, 2.0], [1], [0, 0], "2 scores but 1 labels"),
        ([1.0, 2.0], [1, 0], [0], "one group per score"),
        ([1.0, 2.0], [1, np.inf], [0, 0], "row 1 is infinite"),
        ([1.0, 2.0], [-np.inf, 1], [0, 0], "row 0 is infinite"),
        ([1.0, 2.0, 3.0], [0, 1, np.inf], [0, 1, 0], "row 2 is infinite"),
        ([], [], [], "nothing to evaluate"),
        ([1.0], [2000], [0], "overflows"),
        ([1.0, 2.0], [1.7e308, -1.7e308], [0, 0], "A label is 1.7e.308 and 2.label overflows"),
        (["x"], [1], [0], "must be an array of numbers"),
        ([[1.0]], [[1]], [0], "one-dimensional"),
        (1.0, 1.0, 0, "one-dimensional"),
    ],
)
def test_bad_rows_are_refused_in_one_sentence(score, label, group, words):
    with pytest.raises(InputError, match=words) as error:
        metrics.evaluate_arrays(score, label, group, "ndcg")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("ptr", "judged_ptr", "words"),
    [
        ([0, 1, 2], [0, 2], "2 ranked lists but 1"),
        ([0, 3], [0, 2], "increase from 0 to 2"),
        ([0, 2, 1, 2], [0, 2, 2, 2], "increase from 0"),
        ([0], [0, 2], "is empty"),
        ([1, 2], [0, 2], "increase from 0"),
    ],
)
def test_bad_pointers_are_refused(ptr, judged_ptr, words):
    with pytest.raises(InputError, match=words):
        metrics.evaluate_ranked([1.0, 0.0], ptr, [1.0, 0.0], judged_ptr, "ndcg")


def test_large_labels_work_with_linear_gain():
    assert metrics.evaluate_arrays([1, 0], [2000, 1999], None, "ndcg:linear")["ndcg:linear"][0] == 1.0


def test_labels_at_both_ends_of_the_numbers_are_finite():
    values = metrics.evaluate_arrays([2, 1], [1.7e308, -1.7e308], None, "map ndcg:linear")
    assert values["map"][0] == values["ndcg:linear"][0] == 1.0


def test_metrics_that_do_not_fit_are_refused():
    with pytest.raises(ParameterError, match="compare_ranks"):
        metrics.evaluate_arrays([1.0], [1], None, "kendall")
    with pytest.raises(ParameterError, match="below the largest label"):
        metrics.evaluate_arrays([1.0], [3], None, "err:lmax=2")
    with pytest.raises(ParameterError, match="'zero' or 'skip'"):
        metrics.evaluate_arrays([1.0], [3], None, "ndcg", unjudged="drop")


def over_all_orders(metric, scored, judged, largest, unjudged):
    """The mean of a metric over all orders of documents with equal scores."""
    ties = [[label for score, label in scored if score == one] for one in sorted({s for s, _ in scored}, reverse=True)]
    values = []
    for orders in itertools.product(*(list(itertools.permutations(tie)) for tie in ties)):
        ranked = [label for order in orders for label in order]
        if unjudged == "skip":
            ranked = [label for label in ranked if not math.isnan(label)]
        values.append(by_definition(metric, ranked, judged, largest))
    return sum(values) / len(values)


few_rows = st.lists(st.tuples(st.integers(0, 2), labels_with_holes), min_size=1, max_size=6)


@settings(max_examples=60)
@given(st.lists(few_rows, min_size=1, max_size=3), st.sampled_from(["zero", "skip"]))
def test_averaged_ties_are_the_mean_over_all_orders(given_queries, unjudged):
    rows = [(score, label, q) for q, one in enumerate(given_queries) for score, label in one]
    score, label, group = (np.array(column) for column in zip(*rows, strict=True))
    values = metrics.evaluate_arrays(score, label, group, EVERY_METRIC, unjudged=unjudged, ties="average")
    largest = max([0.0, *(x for x in label if not math.isnan(x))])
    for name in EVERY_METRIC:
        expected = [over_all_orders(name, one, [label for _, label in one], largest, unjudged) for one in given_queries]
        np.testing.assert_allclose(values[name], expected, rtol=1e-10, atol=1e-12, err_msg=name)


def test_averaged_ties_do_not_depend_on_the_order_of_rows():
    random = np.random.default_rng(0)
    score, label, group = random.integers(0, 4, 300), random.integers(0, 3, 300), random.integers(0, 9, 300)
    first = metrics.evaluate_arrays(score, label, group, EVERY_METRIC, ties="average")
    order = np.lexsort((random.random(300), group))
    again = metrics.evaluate_arrays(score[order], label[order], group[order], EVERY_METRIC, ties="average")
    for name in EVERY_METRIC:
        assert metrics.mean(again[name]) == pytest.approx(metrics.mean(first[name]), rel=1e-12), name
    assert metrics.evaluate_arrays([1, 1], [1, 0], None, "ndcg@2", ties="average")["ndcg@2"][0] == pytest.approx(
        (1 + 1 / math.log2(3)) / 2
    )


def test_without_ties_the_average_is_the_value():
    random = np.random.default_rng(1)
    score, label, group = random.random(300), random.integers(0, 3, 300), random.integers(0, 9, 300)
    plain = metrics.evaluate_arrays(score, label, group, EVERY_METRIC)
    averaged = metrics.evaluate_arrays(score, label, group, EVERY_METRIC, ties="average")
    for name in EVERY_METRIC:
        np.testing.assert_allclose(averaged[name], plain[name], rtol=1e-12, atol=1e-14, err_msg=name)


def test_a_huge_tie_keeps_its_precision():
    label = np.zeros(20_000)
    label[:50] = 1
    value = metrics.evaluate_arrays(np.zeros(20_000), label, None, ["p@100", "hit@100", "mrr"], ties="average")
    assert value["p@100"][0] == pytest.approx(50 / 20_000, rel=1e-12)
    missed = np.prod([(19_950 - k) / (20_000 - k) for k in range(100)])
    assert value["hit@100"][0] == pytest.approx(1 - missed, rel=1e-10)


def test_levels_name_the_ties_of_ranked_lists():
    by_level = metrics.evaluate_ranked([0, 1, 2], [0, 2, 3], [0, 1, 2], [0, 2, 3], "mrr", level=[1, 1, 1])
    np.testing.assert_allclose(by_level["mrr"], [0.75, 1.0])
    with pytest.raises(InputError, match="one level per label"):
        metrics.evaluate_ranked([0, 1], [0, 2], [0, 1], [0, 2], "mrr", level=[1])
    with pytest.raises(ParameterError, match="'order' or 'average'"):
        metrics.evaluate_arrays([1.0], [3], None, "ndcg", ties="drop")


def test_labels_whose_sum_is_no_number_are_refused() -> None:
    with pytest.raises(InputError, match="sum of the labels overflows"):
        metrics.evaluate_arrays([2.0, 1.0], [1.7e308, 1.7e308], [0, 0], "ndcg:linear")
