"""ListMLE and ListNet: values by definition, gradients by finite differences, on both back ends."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from tests.cases import assert_gradient_is_the_slope

from concordant.losses.base import Loss
from concordant.losses.list_mle import ListMLELoss
from concordant.losses.list_net import ListNetLoss
from concordant.losses.ordered_partitions import MeanPartitionLoss
from concordant.losses.queries import Queries
from concordant.types import Floats

LOSSES = [ListMLELoss(), ListMLELoss(is_best=True), ListNetLoss()]


def some_queries(seed: int = 0, *, n_rows: int = 40, n_queries: int = 6) -> tuple[Floats, Queries]:
    rng = np.random.default_rng(seed)
    query = np.sort(np.concatenate([np.arange(n_queries), rng.integers(0, n_queries, n_rows - n_queries)]))
    label = rng.integers(0, 4, n_rows).astype(float)
    queries = Queries.from_rows(label, query).weighted(rng.uniform(0.5, 2, n_queries))
    return rng.normal(size=n_rows), queries


def one_query(labels: list[float]) -> Queries:
    return Queries.from_rows(np.array(labels, float), np.zeros(len(labels), np.int64))


def plackett_luce(scores: Floats) -> float:
    return float(sum(np.log(np.exp(scores[k:]).sum()) - scores[k] for k in range(len(scores))))


@pytest.mark.usefixtures("backend")
class TestBothLosses:
    @pytest.mark.parametrize("loss", LOSSES, ids=repr)
    def test_the_gradient_is_the_slope(self, loss: Loss) -> None:
        scores, queries = some_queries()
        assert_gradient_is_the_slope(loss, scores, queries)

    @pytest.mark.parametrize("loss", LOSSES, ids=repr)
    def test_the_curvature_is_the_slope_of_the_gradient(self, loss: Loss) -> None:
        scores, queries = some_queries(1)
        direction = np.random.default_rng(2).normal(size=len(scores))
        ahead, behind = (loss.evaluate(scores + h * direction, queries).gradient for h in (1e-6, -1e-6))
        found = loss.hessian_product(scores, queries, direction)
        np.testing.assert_allclose(found, (ahead - behind) / 2e-6, atol=1e-7)

    @pytest.mark.parametrize("loss", LOSSES, ids=repr)
    def test_queries_add_up_with_their_weights(self, loss: Loss) -> None:
        scores, queries = some_queries(3)
        total = sum(
            loss.evaluate(scores[queries.ptr[q] : queries.ptr[q + 1]], queries.part(q, q + 1)).value
            for q in range(len(queries))
        )
        assert loss.evaluate(scores, queries).value == pytest.approx(total)
        doubled = loss.evaluate(scores, queries.weighted(2 * queries.weight))
        assert doubled.value == pytest.approx(2 * total)
        np.testing.assert_allclose(doubled.gradient, 2 * loss.evaluate(scores, queries).gradient)

    @pytest.mark.parametrize("loss", LOSSES, ids=repr)
    def test_equal_shifts_of_a_query_change_nothing(self, loss: Loss) -> None:
        scores, queries = some_queries(4)
        moved = loss.evaluate(scores + 1000.0, queries)
        assert moved.value == pytest.approx(loss.evaluate(scores, queries).value, rel=1e-9)
        assert np.add.reduceat(moved.gradient, queries.ptr[:-1]) == pytest.approx(np.zeros(len(queries)), abs=1e-9)

    @pytest.mark.parametrize("loss", LOSSES, ids=repr)
    @pytest.mark.parametrize("spread", [250.0, 1e3, 1e6])
    def test_scores_may_lie_far_apart(self, loss: Loss, spread: float) -> None:
        scores, queries = some_queries(5)
        found = loss.evaluate(spread * scores, queries)
        assert np.isfinite(found.value)
        assert np.isfinite(found.gradient).all()
        assert np.isfinite(loss.hessian_product(spread * scores, queries, scores)).all()
        assert np.add.reduceat(found.gradient, queries.ptr[:-1]) == pytest.approx(np.zeros(len(queries)), abs=1e-9)

    @pytest.mark.parametrize("loss", LOSSES, ids=repr)
    def test_a_single_object_cannot_be_misplaced(self, loss: Loss) -> None:
        found = loss.evaluate(np.array([3.0]), one_query([1]))
        assert found.value == pytest.approx(0)
        assert found.gradient.tolist() == [0]

    @pytest.mark.parametrize("loss", LOSSES, ids=repr)
    def test_a_query_of_a_hundred_thousand_objects_is_no_trouble(self, loss: Loss) -> None:
        rng = np.random.default_rng(6)
        label = rng.integers(0, 5, 100_000).astype(float)
        found = loss.evaluate(rng.normal(size=100_000), Queries.from_rows(label, np.zeros(100_000, np.int64)))
        assert np.isfinite(found.value)
        assert found.gradient.sum() == pytest.approx(0, abs=1e-6)


@pytest.mark.usefixtures("backend")
def test_list_mle_is_minus_the_log_likelihood_of_plackett_luce() -> None:
    scores = np.array([0.3, -1.2, 2.0, 0.1])
    value = ListMLELoss().evaluate(scores, one_query([3, 2, 1, 0])).value
    assert value == pytest.approx(plackett_luce(scores))


@pytest.mark.usefixtures("backend")
def test_the_chances_of_all_orders_add_up_to_one() -> None:
    scores, queries = np.array([0.3, -1.2, 2.0, 0.1]), one_query([3, 2, 1, 0])
    chances = [np.exp(-ListMLELoss().evaluate(scores[list(order)], queries).value) for order in permutations(range(4))]
    assert sum(chances) == pytest.approx(1)


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("seed", range(5))
def test_best_ties_are_the_least_loss_over_orders_that_agree_with_the_labels(seed: int) -> None:
    scores = np.random.default_rng(seed).normal(size=6)
    tiers = [[0, 1, 2], [3, 4], [5]]
    orders = product(*(permutations(tier) for tier in tiers))
    least = min(plackett_luce(scores[np.concatenate(order)]) for order in orders)
    assert ListMLELoss(is_best=True).evaluate(scores, one_query([2, 2, 2, 1, 1, 0])).value == pytest.approx(least)


@pytest.mark.usefixtures("backend")
def test_list_mle_without_ties_is_the_mean_partition_loss() -> None:
    rng = np.random.default_rng(7)
    scores, queries = rng.normal(size=9), one_query(list(range(9)))
    one, other = ListMLELoss().evaluate(scores, queries), MeanPartitionLoss().evaluate(scores, queries)
    assert one.value == pytest.approx(other.value)
    np.testing.assert_allclose(one.gradient, other.gradient, atol=1e-12)


@pytest.mark.usefixtures("backend")
def test_list_net_is_least_where_scores_are_labels() -> None:
    queries = one_query([2, 1, 1, 0])
    found = ListNetLoss().evaluate(queries.label + 5, queries)
    np.testing.assert_allclose(found.gradient, np.zeros(4), atol=1e-12)
    target = np.exp(queries.label) / np.exp(queries.label).sum()
    assert found.value == pytest.approx(-(target @ np.log(target)))


def test_win_and_loss_share_all_chances_where_ties_cannot_be() -> None:
    chances = ListMLELoss().probabilities(np.array([0.0, 2.0, -1e4]))
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    np.testing.assert_allclose(chances[:, 0], [0.5, 1 / (1 + np.exp(-2)), 0], atol=1e-12)
