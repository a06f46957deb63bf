"""Expected NDCG: every order drawn with its probability, measured as the metric measures it."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from tests.cases import assert_gradient_is_the_slope

from concordant import metrics
from concordant.errors import InputError, ParameterError
from concordant.kernels import twins
from concordant.kernels.bundles import LabelledQueries
from concordant.losses.expected_ndcg import ExpectedNdcgLoss
from concordant.losses.queries import Queries
from concordant.metrics.relevance.ndcg import NDCG


def some_queries(rng, sizes=(5, 1, 6, 3, 2)):
    query = np.repeat(np.arange(len(sizes)), sizes)
    label = rng.integers(0, 3, len(query)).astype(float)
    label[query == len(sizes) - 1] = 0  # nothing to gain
    return Queries.from_rows(label, query, rng.uniform(0.5, 2, len(sizes))[query])


def by_enumeration(scores, queries, cutoff):
    """Draw every order of every query with its probability."""
    value = 0.0
    for q in range(len(queries)):
        span = slice(queries.ptr[q], queries.ptr[q + 1])
        score, label = scores[span], queries.label[span]
        if label[0] <= 0 or label[0] == label[-1]:
            continue
        orders = np.array(list(permutations(range(len(score)))))
        energy = score[orders] @ (1 / np.log2(np.arange(len(score)) + 2))
        chance = np.exp(energy - energy.max())
        lists = label[orders]
        flat, ptr = lists.reshape(-1), np.arange(len(lists) + 1) * lists.shape[1]
        (gained,) = metrics.evaluate_ranked(flat, ptr, flat, ptr, NDCG(cutoff=cutoff)).values()
        value += queries.weight[q] * (1 - chance @ gained / chance.sum())
    return value


@pytest.mark.parametrize("cutoff", [None, 1, 3, 50])
@pytest.mark.parametrize("spread", [0.0, 1.0, 20.0, 500.0])
def test_the_value_is_that_of_all_orders(backend, cutoff, spread):
    rng = np.random.default_rng(0)
    queries = some_queries(rng)
    scores = rng.normal(0, 1, len(queries.tier)) * spread + 1000
    found = ExpectedNdcgLoss(cutoff).evaluate(scores, queries)
    assert found.value == pytest.approx(by_enumeration(scores, queries, cutoff), rel=1e-9)


@pytest.mark.parametrize("cutoff", [None, 2])
@pytest.mark.parametrize("spread", [0.0, 1.0, 5.0])
def test_the_gradient_is_the_slope(backend, cutoff, spread):
    rng = np.random.default_rng(1)
    queries = some_queries(rng)
    scores = rng.normal(0, 1, len(queries.tier)) * spread
    assert_gradient_is_the_slope(ExpectedNdcgLoss(cutoff), scores, queries)


def test_far_apart_scores_are_the_metric_itself(backend):
    queries = Queries.from_rows(np.array([2.0, 1, 0, 0]), np.zeros(4, int))
    scores = np.array([0.0, 3000, 2000, 1000])
    (one,) = metrics.evaluate_arrays(scores, queries.label, np.zeros(4, int), ["ndcg"]).values()
    assert ExpectedNdcgLoss().evaluate(scores, queries).value == pytest.approx(1 - one[0], abs=1e-12)


@pytest.mark.parametrize("scores", [[1e300, -1e300, 0, 5], [0.0] * 4, [1e3, 1e3, -1e3, 0]])
@pytest.mark.parametrize("label", [[3.0, 1, 1, 0], [2000.0, 1000, 60, -5], [0.0, -1, -2, -2]])
def test_extreme_scores_and_labels_stay_finite(backend, scores, label):
    queries = Queries.from_rows(np.array(label), np.zeros(4, int))
    found = ExpectedNdcgLoss().evaluate(np.array(scores, float), queries)
    assert np.isfinite(found.value)
    assert np.isfinite(found.gradient).all()


@pytest.mark.parametrize("cutoff", [0, 4])
def test_both_back_ends_give_the_same_numbers(cutoff):
    compiled = pytest.importorskip("concordant.kernels._compiled", reason="the compiled kernels are not built")
    rng = np.random.default_rng(2)
    for spread in (1.0, 80.0, 1000.0):
        queries = some_queries(rng, sizes=(9, 11, 1, 4, 2))
        layout = LabelledQueries(queries.ptr, queries.tier, queries.label, queries.row, queries.weight)
        scores = rng.normal(0, spread, len(queries.tier))
        ours, twin = (kernels.expected_ndcg(scores, layout, cutoff) for kernels in (compiled, twins))
        assert ours[0] == pytest.approx(twin[0], rel=1e-9)
        np.testing.assert_allclose(ours[1], twin[1], rtol=1e-8, atol=1e-11)


def test_of_a_large_query_some_objects_are_drawn_and_every_label_is_among_them():
    rng = np.random.default_rng(3)
    label = np.repeat([2.0, 1.0, 0.0], [1, 3, 26])
    queries = Queries.from_rows(np.concatenate([label, [1.0, 0.0]]), np.repeat([0, 1], [30, 2]))
    loss = ExpectedNdcgLoss(largest=6)
    times = np.zeros(len(queries.label))
    for _ in range(400):
        found = loss.evaluate(rng.normal(size=len(times)), queries)
        times += found.gradient != 0
    per_query = times[:30].sum()
    assert per_query == pytest.approx(6 * 400, rel=0.02)  # a gradient may be 0 by chance, hardly ever
    assert times[0] == 400  # the only one of its label
    assert (times[30:] == 400).all()
    assert times[4:30].min() > 0.5 * times[4:30].mean()


def test_the_same_seed_draws_the_same_objects():
    queries = Queries.from_rows(np.array([1.0] * 5 + [0.0] * 20), np.zeros(25, int))
    scores = np.random.default_rng(4).normal(size=25)
    one, same, other = (ExpectedNdcgLoss(largest=4, seed=s).evaluate(scores, queries).value for s in (7, 7, 8))
    assert one == same != other


def test_settings_and_queries_that_tell_nothing_are_refused():
    with pytest.raises(ParameterError, match="at least 1"):
        ExpectedNdcgLoss(cutoff=0)
    with pytest.raises(ParameterError, match="2 to 16"):
        ExpectedNdcgLoss(largest=40)
    with pytest.raises(InputError, match="above 0"):
        ExpectedNdcgLoss().fitted_to(Queries.from_rows(np.zeros(3), np.zeros(3, int)))
