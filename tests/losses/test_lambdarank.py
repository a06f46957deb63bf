"""LambdaRank: every pair counts by what swapping the two really does to the metric."""

from __future__ import annotations

import numpy as np
import pytest

from concordant import metrics
from concordant.errors import NeedError, ParameterError
from concordant.kernels import twins
from concordant.kernels.bundles import LabelledQueries, LambdaGoal
from concordant.losses.base import Step
from concordant.losses.lambdarank import LambdaRankLoss
from concordant.losses.queries import Pairs, Queries
from concordant.metrics.relevance.err import ERR
from concordant.metrics.relevance.map import MAP
from concordant.metrics.relevance.ndcg import NDCG

TARGETS = ["ndcg", "ap", "err"]
CUTOFFS = [None, 1, 3, 50]


def measured(target, lists, cutoff, largest):
    """The metric of every row of labels, best place first."""
    metric = {
        "ndcg": NDCG(cutoff=cutoff),
        "ap": MAP(cutoff=cutoff),
        "err": ERR(cutoff=cutoff, lmax=largest),
    }[target]
    label, ptr = lists.reshape(-1), np.arange(len(lists) + 1) * lists.shape[1]
    (values,) = metrics.evaluate_ranked(label, ptr, label, ptr, metric).values()
    return values


def by_hand(target, cutoff, scores, queries, largest):
    """Swap the two of every pair, measure again, and add up."""
    value, gradient = 0.0, np.zeros(len(scores))
    for q in range(len(queries)):
        span = np.arange(queries.ptr[q], queries.ptr[q + 1])
        order = span[np.lexsort((queries.row[span], -scores[span]))]
        label = queries.label[order]
        better, worse = np.nonzero(label[:, None] > label)
        lists = np.tile(label, (len(better) + 1, 1))  # the last one stays as it is
        pair = np.arange(len(better))
        lists[pair, better], lists[pair, worse] = label[worse], label[better]
        values = measured(target, lists, cutoff, largest)
        weight = queries.weight[q] * np.abs(values[:-1] - values[-1])
        margin = scores[order[better]] - scores[order[worse]]
        value += weight @ np.logaddexp(0, -margin)
        pull = weight / (1 + np.exp(margin))
        np.subtract.at(gradient, order[better], pull)
        np.add.at(gradient, order[worse], pull)
    return value, gradient


def some_queries(rng, sizes=(6, 1, 9, 4), levels=4):
    query = np.repeat(np.arange(len(sizes)), sizes)
    label = rng.integers(0, levels, len(query)).astype(float)
    label[query == len(sizes) - 1] = 0  # nothing relevant, nothing to learn
    return Queries.from_rows(label, query, rng.uniform(0.5, 2, len(sizes))[query])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("cutoff", CUTOFFS)
def test_pairs_count_by_what_swapping_them_does(backend, target, cutoff):
    rng = np.random.default_rng(0)
    loss = LambdaRankLoss(target=target, cutoff=cutoff, largest=4)
    for scores_are_equal in (False, True):
        queries = some_queries(rng)
        scores = np.round(rng.normal(0, 1, len(queries.tier)), 0 if scores_are_equal else 3)
        found = loss.evaluate(scores, queries)
        value, gradient = by_hand(target, cutoff, scores, queries, 4)
        assert found.value == pytest.approx(value, rel=1e-9)
        np.testing.assert_allclose(found.gradient, gradient, atol=1e-12)


@pytest.mark.parametrize("target", TARGETS)
def test_large_queries_take_the_same_weights(backend, target):
    """Above 64 objects places come from sorting."""
    rng = np.random.default_rng(1)
    queries = some_queries(rng, sizes=(70, 3, 2))
    scores = rng.normal(0, 2, len(queries.tier))
    found = LambdaRankLoss(target=target, largest=3).evaluate(scores, queries)
    value, gradient = by_hand(target, None, scores, queries, 3)
    assert found.value == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(found.gradient, gradient, atol=1e-11)


@pytest.mark.parametrize("target", TARGETS)
def test_the_largest_label_at_hand_is_the_default_scale(target, backend):
    queries = some_queries(np.random.default_rng(2), sizes=(8, 6, 2))
    scores = np.random.default_rng(2).normal(size=16)
    given, default = (LambdaRankLoss(target=target, largest=top).evaluate(scores, queries) for top in (3.0, None))
    assert queries.label.max() == 3
    assert given.value == default.value


@pytest.mark.parametrize("target", TARGETS)
def test_the_gradient_is_the_slope_while_the_order_stays(backend, target):
    rng = np.random.default_rng(3)
    queries = some_queries(rng)
    scores = rng.normal(0, 2, len(queries.tier))
    loss = LambdaRankLoss(target=target)
    found, move = loss.evaluate(scores, queries), rng.normal(size=len(scores))
    up, down = (loss.evaluate(scores + step * move, queries).value for step in (1e-6, -1e-6))
    assert found.gradient @ move == pytest.approx((up - down) / 2e-6, rel=1e-6)


@pytest.mark.parametrize("target", TARGETS)
def test_equal_scores_stand_in_row_order_whatever_the_labels(backend, target):
    """The layout puts better labels first; that must not leak into the order of equal scores."""
    worst_first = Queries.from_rows(np.array([0.0, 1.0, 2.0]), np.zeros(3, int))
    loss = LambdaRankLoss(target=target, largest=2)
    value, gradient = by_hand(target, None, np.zeros(3), worst_first, 2)
    assert loss.evaluate(np.zeros(3), worst_first).value == pytest.approx(value)
    np.testing.assert_allclose(loss.evaluate(np.zeros(3), worst_first).gradient, gradient, atol=1e-15)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("scores", [[1e3, -1e3, 0, 5], [-1e3, 1e3, 1e3, 0], [0.0] * 4])
@pytest.mark.parametrize("label", [[3.0, 1, 1, 0], [2000.0, 1000, 60, -5], [0.0, -1, -2, -2]])
def test_extreme_scores_and_labels_stay_finite(backend, target, scores, label):
    queries = Queries.from_rows(np.array(label), np.zeros(4, int))
    found = LambdaRankLoss(target=target).evaluate(np.array(scores, float), queries)
    assert np.isfinite(found.value)
    assert np.isfinite(found.gradient).all()
    if label[0] == 0:
        assert found.value == 0
        assert not found.gradient.any()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("cutoff", CUTOFFS)
def test_both_back_ends_give_the_same_numbers(target, cutoff):
    compiled = pytest.importorskip("concordant.kernels._compiled", reason="the compiled kernels are not built")
    rng = np.random.default_rng(4)
    queries = some_queries(rng, sizes=(30, 200, 5, 1, 2), levels=6)
    scores = np.round(rng.normal(0, 5, len(queries.tier)), 1)
    layout = LabelledQueries(queries.ptr, queries.tier, queries.label, queries.row, queries.weight)
    code = TARGETS.index(target)
    ours, twin = (
        kernels.lambda_terms(scores, layout, LambdaGoal(code, cutoff or 0, 5.0)) for kernels in (compiled, twins)
    )
    assert ours[0] == pytest.approx(twin[0], rel=1e-9)
    np.testing.assert_allclose(ours[1], twin[1], rtol=1e-9, atol=1e-11)


def test_lists_cannot_be_had_from_pairs_and_settings_are_checked():
    pairs = Pairs(np.array([0]), np.array([1]), np.ones(1), np.zeros(1, bool))
    with pytest.raises(NeedError, match="listwise"):
        LambdaRankLoss().evaluate_pairs(np.zeros(2), pairs)
    with pytest.raises(ParameterError, match="ndcg, ap, err"):
        LambdaRankLoss(target="mrr")
    with pytest.raises(ParameterError, match="at least 1"):
        LambdaRankLoss(cutoff=0)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("target", TARGETS)
def test_a_pass_in_one_call_is_the_pass_step_by_step(target, kind):
    rng = np.random.default_rng(5)
    queries = some_queries(rng, sizes=(7, 20, 1, 3), levels=4)
    X = rng.normal(size=(len(queries.tier), 11)).astype(kind)
    theta, visits = rng.normal(size=11), np.array([2, 0, 3, 1, 0])
    loss = LambdaRankLoss(target=target).fitted_to(queries)
    moved, value = loss.descend(X, queries, visits, theta, Step(0.1, 0.02))
    expected, met = theta.copy(), 0.0
    for q in visits.tolist():
        part = queries.part(q, q + 1)
        found = loss.evaluate(X[part.row].astype(float) @ expected, part)
        met += found.value
        expected = 0.98 * expected - 0.1 * (found.gradient @ X[part.row].astype(float))
    np.testing.assert_allclose(moved, expected, rtol=1e-9)
    assert value == pytest.approx(met, rel=1e-9)


@pytest.mark.parametrize("target", TARGETS)
def test_both_back_ends_descend_alike(target):
    compiled = pytest.importorskip("concordant.kernels._compiled", reason="the compiled kernels are not built")
    rng = np.random.default_rng(6)
    queries = some_queries(rng, sizes=(30, 5, 1, 70), levels=5)
    layout = LabelledQueries(queries.ptr, queries.tier, queries.label, queries.row, queries.weight)
    X, goal = rng.normal(size=(len(queries.tier), 9)), LambdaGoal(TARGETS.index(target), 0, 4.0)
    visits = rng.integers(0, 4, 12)
    ours, twin = (
        kernels.lambda_descent(X, layout, visits, np.zeros(9), 0.05, 0.001, goal) for kernels in (compiled, twins)
    )
    np.testing.assert_allclose(ours[0], twin[0], rtol=1e-9)
    assert ours[1] == pytest.approx(twin[1], rel=1e-9)
    away = [
        kernels.lambda_descent(X, layout, visits, np.full(9, np.inf), 0.05, 0.0, goal) for kernels in (compiled, twins)
    ]
    assert all(np.isnan(weights).all() and np.isnan(value) for weights, value in away)
