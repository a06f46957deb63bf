"""Distances between rankings against pair-by-pair counting, SciPy and worked examples."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from concordant import metrics
from concordant.errors import InputError, ParameterError

NAN = math.nan
MISSING = ["ignore", "last", "last-free"]


def pair_by_pair(a, b, p, missing, normalised):
    """The Kemeny distance as its definition reads: look at every pair of items."""
    cost, comparable = 0.0, 0
    for i, j in itertools.combinations(range(len(a)), 2):
        unranked = [(math.isnan(one[i]), math.isnan(one[j])) for one in (a, b)]
        if missing == "ignore" and any(any(pair) for pair in unranked):
            continue
        if missing == "last-free" and any(all(pair) for pair in unranked):
            continue
        a_i, a_j, b_i, b_j = (math.inf if math.isnan(x) else x for x in (a[i], a[j], b[i], b[j]))
        tied_a, tied_b = a_i == a_j, b_i == b_j
        if not tied_a and not tied_b:
            comparable += 1
            cost += (a_i < a_j) != (b_i < b_j)
        elif tied_a != tied_b:
            comparable += p > 0
            cost += p
    if normalised:
        return cost / comparable if comparable else 0.0
    return cost


ranks = st.sampled_from([1.0, 2.0, 3.0, 5.0, 2.5, NAN])
two_rankings = st.integers(1, 9).flatmap(lambda n: st.tuples(*[st.lists(ranks, min_size=n, max_size=n)] * 2))


@settings(max_examples=150)
@given(two_rankings, st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from(MISSING), st.booleans())
def test_kemeny_is_the_sum_over_pairs(pair, p, missing, normalised):
    a, b = pair
    found = metrics.kemeny(a, b, p=p, missing=missing, normalised=normalised)
    assert found == pytest.approx(pair_by_pair(a, b, p, missing, normalised))
    assert found == metrics.kemeny(b, a, p=p, missing=missing, normalised=normalised)
    matrix = metrics.kendall_matrix([a, b], p, missing, normalised)
    np.testing.assert_allclose(matrix, [[0, found], [found, 0]])


@pytest.mark.parametrize("items", [1, 2, 12, 63, 190, 230, 300])
@pytest.mark.parametrize("form", ["strict", "ties", "missing"])
def test_the_matrix_holds_every_pair_at_every_size(items, form):
    random = np.random.default_rng(items)
    many = np.argsort(random.random((6, items)), axis=1).astype(float)
    if form != "strict":
        many = np.floor(many / 3)
    if form == "missing":
        many[random.random(many.shape) < 0.3] = NAN
    for missing in MISSING:
        matrix = metrics.kendall_matrix(many, missing=missing)
        np.testing.assert_array_equal(matrix, matrix.T)
        for row, one in zip(matrix, many, strict=True):
            np.testing.assert_array_equal(row, metrics.kendall_to_each(one, many, missing=missing))
    assert matrix[0, -1] == pair_by_pair(many[0], many[-1], 0.5, "last-free", False)


def test_long_rankings_agree_with_scipy():
    random = np.random.default_rng(5)
    a, b = random.permutation(6000) + 1.0, random.permutation(6000) + 1.0
    pairs = 6000 * 5999 // 2
    tau = stats.kendalltau(a, b).statistic
    assert metrics.kendall(a, b) == round((1 - tau) / 2 * pairs)
    assert metrics.kendall(a, b, normalised=True) == pytest.approx((1 - tau) / 2)
    assert metrics.kendall(a, 6001 - a) == pairs
    assert metrics.kendall_matrix([a, 6001 - a])[0, 1] == pairs


def test_the_lecture_example_has_four_inverted_pairs():
    # J. Rousu's lecture on preference learning (2023): predicted A B E C D against the truth E B C A D.
    truth = {"E": 1, "B": 2, "C": 3, "A": 4, "D": 5}
    predicted = {"A": 1, "B": 2, "E": 3, "C": 4, "D": 5}
    a, b = ([ranking[item] for item in "ABCDE"] for ranking in (truth, predicted))
    assert metrics.kendall(a, b) == 4
    assert metrics.kendall(a, b, normalised=True) == 0.4
    assert metrics.footrule(a, b) == 3 + 0 + 1 + 0 + 2
    assert metrics.position_error(a, b) == 2
    assert metrics.discounted_error(a, b) == pytest.approx(3 / math.log2(5) + 1 / math.log2(4) + 2 / math.log2(2))
    assert metrics.compare_ranks(a, b, "agree kendall:normalised") == {"agree": 6.0, "kendall:normalised": 0.4}


def test_only_the_order_of_the_numbers_matters():
    assert metrics.kendall([1, 2, 3], [10, 300, 20]) == 1
    assert metrics.footrule([0.1, 0.2, 0.3], [-5, 5, 0]) == 2


def test_missing_items_are_an_explicit_choice():
    # a ranks x y and leaves z w out; b ranks all
    a, b = [1, 2, NAN, NAN], [2, 1, 3, 4]
    assert metrics.kemeny(a, b) == 1
    assert metrics.kemeny(a, b, missing="last") == 1.5
    assert metrics.kemeny(a, b, missing="last-free") == 1


def test_nothing_to_compare_is_no_distance():
    assert metrics.kemeny([NAN, 1], [1, NAN], normalised=True) == 0
    assert metrics.kendall([1, 1], [1, 2], normalised=True) == 0
    np.testing.assert_array_equal(metrics.kendall_matrix([[1], [1]], normalised=True), np.zeros((2, 2)))


def named_by_both(pair):
    a, b = np.array(pair)
    both = ~np.isnan(a) & ~np.isnan(b)
    return a[both], b[both]


@settings(max_examples=50)
@given(two_rankings)
def test_correlations_are_scipys_over_common_items(pair):
    a, b = np.array(pair)
    x, y = named_by_both(pair)
    if len(set(x)) > 1 and len(set(y)) > 1:
        assert metrics.tau_b(a, b) == pytest.approx(stats.kendalltau(x, y).statistic)
        assert metrics.spearman(a, b) == pytest.approx(stats.spearmanr(x, y).statistic)
    else:
        assert math.isnan(metrics.tau_b(a, b))
        assert math.isnan(metrics.spearman(a, b))


@settings(max_examples=50)
@given(two_rankings)
def test_footrule_uses_mean_positions_of_buckets(pair):
    common = [(x, y) for x, y in zip(*pair, strict=True) if not math.isnan(x) and not math.isnan(y)]

    def position(column, item):
        return 1 + sum(x < column[item] for x in column) + (sum(x == column[item] for x in column) - 1) / 2

    columns = list(zip(*common, strict=True)) or [(), ()]
    expected = sum(abs(position(columns[0], k) - position(columns[1], k)) for k in range(len(common)))
    assert metrics.footrule(*pair) == pytest.approx(expected)


def test_footrule_can_place_missing_items_last():
    assert metrics.footrule([1, 2, NAN, NAN], [1, 2, 3, 4], missing="last") == 1.0
    assert metrics.compare_ranks([1, 2, NAN, NAN], [1, 2, 3, 4], "footrule:last") == {"footrule:last": 1.0}


def test_position_error_counts_what_stands_before_the_best():
    assert metrics.position_error([1, 2, 3], [3, 1, 2]) == 2
    assert metrics.position_error([1, 2, 3], [1, 1, 1]) == 1  # in the middle of one bucket
    assert metrics.position_error([1, 2, 3], [NAN, 1, 2]) == 2  # not predicted: last
    assert metrics.position_error([1, 1, 3], [3, 2, 1]) == 1  # the better placed of two best
    with pytest.raises(InputError, match="ranks no item"):
        metrics.position_error([NAN], [1])


def test_discounted_error_takes_weights():
    assert metrics.discounted_error([1, 2, 3], [2, 1, 3], [5, 1, 1]) == 6
    with pytest.raises(InputError, match="one weight per item"):
        metrics.discounted_error([1, 2, 3], [2, 1, 3], [5])


def test_agree_sums_the_preferences_kept():
    preferences = np.array([[0, 0.7, 0.4], [0.3, 0, 0.9], [0.6, 0.1, 0]])
    assert metrics.agree(preferences, [1, 2, 3]) == pytest.approx(0.7 + 0.4 + 0.9)
    assert metrics.agree(preferences, [1, 1, 2]) == pytest.approx(0.4 + 0.9)
    assert metrics.agree(preferences, [1, NAN, 2]) == pytest.approx(0.4)
    first, second = np.nonzero(preferences)
    assert metrics.agree((first, second, preferences[first, second]), [3, 2, 1]) == pytest.approx(0.3 + 0.6 + 0.1)


@settings(max_examples=50)
@given(two_rankings)
def test_agree_with_a_ranking_counts_kept_pairs(pair):
    a, b = named_by_both(pair)
    preferences = (a[:, None] < a) + 0.5 * (a[:, None] == a)
    assert metrics.compare_ranks(*pair, "agree")["agree"] == pytest.approx(metrics.agree(preferences, b))


@pytest.mark.parametrize("name", [one.name for one in metrics.describe() if one.kind == "distance"])
def test_every_distance_metric_compares_a_ranking_with_itself(name):
    ranking = [2.0, 1.0, 3.0, 4.0]
    value = metrics.compare_ranks(ranking, ranking, name)[name]
    assert value == pytest.approx({"tau-b": 1, "spearman": 1, "agree": 6}.get(name, 0))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: metrics.kendall([1, 2], [1]), "2 and 1 items"),
        (lambda: metrics.kendall([], []), "empty"),
        (lambda: metrics.kendall([[1]], [[1]]), "dimensions"),
        (lambda: metrics.kendall_matrix([1, 2]), "rankings x items"),
        (lambda: metrics.kendall_matrix(np.empty((0, 3))), "rankings x items"),
        (lambda: metrics.kendall_to_each([1, 2], [[1, 2, 3]]), "same items"),
        (lambda: metrics.agree(np.zeros((2, 3)), [1, 2]), r"must have shape \(2, 2\)"),
        (lambda: metrics.agree(np.full((2, 2), NAN), [1, 2]), "NaN or infinite"),
        (lambda: metrics.agree(([0], [2], [1.0]), [1, 2]), "outside 0..1"),
        (lambda: metrics.agree(([0], [1, 0], [1.0]), [1, 2]), "differ in length"),
        (lambda: metrics.kendall(["a"], ["b"]), "must be an array of numbers"),
    ],
)
def test_bad_rankings_are_refused_in_one_sentence(call, words):
    with pytest.raises(InputError, match=words) as error:
        call()
    assert "\n" not in str(error.value)


def test_bad_options_are_refused():
    with pytest.raises(ParameterError, match="ignore, last, last-free"):
        metrics.kendall_matrix([[1, 2]], missing="first")
    with pytest.raises(ParameterError, match="between 0 and 1"):
        metrics.kendall_matrix([[1, 2]], p=-1)
    with pytest.raises(ParameterError, match="'ignore' or 'last'"):
        metrics.footrule([1], [1], missing="last-free")
    with pytest.raises(ParameterError, match="evaluate_arrays"):
        metrics.compare_ranks([1], [1], "ndcg")
