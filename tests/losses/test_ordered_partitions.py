"""Ordered partitions: every promise against enumeration of all sets, on both back ends."""

from __future__ import annotations

import numpy as np
import pytest
from tests.cases import assert_gradient_is_the_slope
from tests.losses.enumeration import (
    EXACT,
    MEANS,
    SAMPLED,
    AtMost,
    Falling,
    laid_out,
    log_chance,
    loss_of,
    normaliser,
    ordered_partitions,
    phi,
    sets_of,
    some_queries,
    weight_of,
)

from concordant import kernels
from concordant.kernels.bundles import StageRows, Subsets
from concordant.losses.list_mle import ListMLELoss
from concordant.losses.ordered_partitions import MeanPartitionLoss, OrderedPartitionLoss
from concordant.losses.queries import Queries
from concordant.losses.set_sizes import SizeBias, TieOdds, tables


@pytest.mark.parametrize("seed", range(5))
def test_the_five_means_of_a_set_stand_in_order_and_rise_with_its_members(seed: int) -> None:
    scores = np.random.default_rng(seed).normal(size=6)
    for some in sets_of(6):
        values = [phi(mean, scores[some]) for mean in MEANS]
        assert values == pytest.approx(sorted(values, reverse=True))
        raised = scores.copy()
        raised[some[0]] += 0.5
        assert all(phi(mean, raised[some]) >= value - 1e-12 for mean, value in zip(MEANS, values, strict=True))


@pytest.mark.parametrize("is_harmonic", [False, True])
def test_the_kernel_knows_the_means(is_harmonic: bool, backend: str) -> None:
    scores, some = np.random.default_rng(1).normal(size=6), sets_of(6)
    member = np.array([[k in chosen for k in range(6)] for chosen in some], np.uint8).reshape(-1)
    sets = Subsets(np.zeros(len(some), np.int64), np.full(len(some), 6), member)
    found = kernels.subset_worths(scores, sets, is_harmonic)
    expected = [np.log(phi("harmonic" if is_harmonic else "geometric", scores[chosen])) for chosen in some]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    raised = kernels.subset_worths(scores + 1e-6 * np.eye(6)[2], sets, is_harmonic)
    lowered = kernels.subset_worths(scores - 1e-6 * np.eye(6)[2], sets, is_harmonic)
    for k in (0, 30, 62):  # one set at a time
        weight = (np.arange(len(some)) == k).astype(float)
        slope = kernels.subset_slopes(scores, sets, weight, is_harmonic)
        assert slope[2] == pytest.approx((raised - lowered)[k] / 2e-6, abs=1e-8)


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("bias", [TieOdds(), TieOdds(0.3), Falling()], ids=repr)
@pytest.mark.parametrize("mean", EXACT)
def test_the_likelihood_is_the_definition(mean: str, bias: SizeBias, backward: bool) -> None:
    rng = np.random.default_rng(2)
    for _ in range(4):
        scores, labels = rng.normal(size=6), rng.integers(0, 3, 6).astype(float)
        found = loss_of(mean, bias=bias, backward=backward).log_likelihood(*laid_out(scores, labels))
        assert found[0] == pytest.approx(log_chance(mean, scores, labels, bias, backward=backward))


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize(("n", "count"), [(3, 13), (4, 75), (5, 541)])
@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("mean", EXACT)
def test_the_chances_of_all_ordered_partitions_add_up_to_one(mean: str, backward: bool, n: int, count: int) -> None:
    scores = np.random.default_rng(n).normal(size=n)
    labels = np.array(list(ordered_partitions(n)))
    assert len(labels) == count
    queries = Queries.from_rows(labels.reshape(-1), np.repeat(np.arange(count), n))
    found = loss_of(mean, backward=backward).log_likelihood(np.tile(scores, count)[queries.row], queries)
    assert np.exp(found).sum() == pytest.approx(1)


@pytest.mark.parametrize("mean", SAMPLED)
def test_the_chances_of_sampled_models_add_up_to_one_by_definition(mean: str) -> None:
    scores = np.random.default_rng(4).normal(size=4)
    assert sum(np.exp(log_chance(mean, scores, labels, TieOdds())) for labels in ordered_partitions(4)) == (
        pytest.approx(1)
    )


@pytest.mark.usefixtures("backend")
def test_without_ties_the_mean_model_is_plackett_luce_up_to_the_number_of_sets() -> None:
    scores, queries = laid_out(np.random.default_rng(5).normal(size=7), np.arange(7.0))
    remaining = np.arange(7, 0, -1)
    constant = np.log((2.0**remaining - 1) / remaining).sum()
    found = MeanPartitionLoss().log_likelihood(scores, queries)[0]
    assert found == pytest.approx(-ListMLELoss().evaluate(scores, queries).value - constant)


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("bias", [TieOdds(0.0), AtMost(1)], ids=repr)
@pytest.mark.parametrize("mean", MEANS)
def test_every_mean_is_plackett_luce_where_sets_have_one_member(mean: str, bias: SizeBias) -> None:
    scores, queries = laid_out(np.random.default_rng(6).normal(size=7), np.arange(7.0))
    expected = -ListMLELoss().evaluate(scores, queries).value
    if mean in EXACT:
        assert loss_of(mean, bias=bias).log_likelihood(scores, queries)[0] == pytest.approx(expected)
        np.testing.assert_allclose(
            loss_of(mean, bias=bias).evaluate(scores, queries).gradient,
            ListMLELoss().evaluate(scores, queries).gradient,
            atol=1e-12,
        )
    else:
        model = loss_of(mean, bias=bias, sampler="metropolis")
        found = model.log_likelihood(scores, queries, temperatures=60, runs=300)
        assert found[0] == pytest.approx(expected, abs=0.1)


@pytest.mark.parametrize("bias", [TieOdds(0.4), Falling(), AtMost(3)], ids=repr)
def test_counts_of_sets_are_what_counting_gives(bias: SizeBias) -> None:
    known = tables(bias, 6)
    for n in range(1, 7):
        total = sum(weight_of(bias, len(some)) for some in sets_of(n))
        assert known.log_total[n] == pytest.approx(np.log(total))
        with_first = sum(weight_of(bias, len(some)) for some in sets_of(n) if 0 in some)
        assert known.log_spread[n] == pytest.approx(np.log(total / with_first))
    assert known.shrink[2] == pytest.approx(
        sum(weight_of(bias, len(some)) for some in sets_of(3) if 0 in some)
        / sum(weight_of(bias, len(some)) for some in sets_of(4) if 0 in some)
    )


@pytest.mark.usefixtures("backend")
class TestGradients:
    @pytest.mark.parametrize("backward", [False, True])
    @pytest.mark.parametrize("rank_weighting", [False, True])
    @pytest.mark.parametrize("mean", EXACT)
    def test_the_gradient_is_the_slope(self, mean: str, rank_weighting: bool, backward: bool) -> None:
        loss = loss_of(mean, rank_weighting=rank_weighting, backward=backward, bias=TieOdds(0.7))
        scores, queries = some_queries()
        assert_gradient_is_the_slope(loss, scores, queries)

    @pytest.mark.parametrize("backward", [False, True])
    @pytest.mark.parametrize("rank_weighting", [False, True])
    def test_the_curvature_is_the_slope_of_the_gradient(self, rank_weighting: bool, backward: bool) -> None:
        loss = MeanPartitionLoss(rank_weighting=rank_weighting, backward=backward)
        scores, queries = some_queries(1)
        direction = np.random.default_rng(2).normal(size=len(scores))
        ahead, behind = (loss.evaluate(scores + h * direction, queries).gradient for h in (1e-6, -1e-6))
        np.testing.assert_allclose(loss.hessian_product(scores, queries, direction), (ahead - behind) / 2e-6, atol=1e-7)

    @pytest.mark.parametrize("spread", [100.0, 1e3, 1e6])
    @pytest.mark.parametrize("mean", MEANS)
    def test_scores_may_lie_far_apart(self, mean: str, spread: float) -> None:
        scores, queries = some_queries(3)
        found = loss_of(mean).evaluate(spread * scores, queries)
        assert np.isfinite(found.value)
        assert np.add.reduceat(found.gradient, queries.ptr[:-1]) == pytest.approx(np.zeros(len(queries)), abs=1e-9)
        assert np.isfinite(MeanPartitionLoss().hessian_product(spread * scores, queries, scores)).all()

    @pytest.mark.parametrize("mean", MEANS)
    def test_a_hundred_thousand_objects_in_one_query_are_no_trouble(self, mean: str) -> None:
        if mean in SAMPLED and kernels.gibbs_subsets.__module__.endswith("losses.subsets"):
            pytest.skip("the NumPy sampler goes through the objects one by one")
        rng = np.random.default_rng(4)
        label = rng.integers(0, 5, 100_000).astype(float)
        queries = Queries.from_rows(label, np.zeros(100_000, np.int64))
        found = loss_of(mean).evaluate(rng.normal(size=100_000), queries)
        assert np.isfinite(found.value)
        assert found.gradient.sum() == pytest.approx(0, abs=1e-6)

    @pytest.mark.parametrize("mean", EXACT)
    def test_all_means_lose_alike_where_scores_are_equal(self, mean: str) -> None:
        _, queries = some_queries(5)
        expected = MeanPartitionLoss().evaluate(np.zeros(len(queries.row)), queries).value
        assert loss_of(mean).evaluate(np.zeros(len(queries.row)), queries).value == pytest.approx(expected)

    def test_rank_weighting_multiplies_stages(self) -> None:
        scores, queries = laid_out(np.array([0.5, -0.3, 0.1, 1.0]), np.array([3.0, 1.0, 0.0, 0.0]))
        first = np.log(np.exp(scores).sum()) - scores[0]
        second = np.log(np.exp(scores[1:]).sum()) - scores[1]
        found = MeanPartitionLoss(rank_weighting=True).evaluate(scores, queries).value
        assert found == pytest.approx((1 + np.log(3)) * first + second)


def every_distinct_stage(loss: OrderedPartitionLoss, n: int) -> float:
    rng = np.random.default_rng(8)
    queries = Queries.from_rows(np.arange(float(n)), np.zeros(n, np.int64))
    return float(loss.evaluate(3 * rng.normal(size=n), queries).value)


@pytest.mark.skipif(kernels.active() != "compiled", reason="the compiled kernels are not built or not chosen")
@pytest.mark.parametrize("mean", EXACT)
def test_as_many_stages_as_objects_are_no_trouble(mean: str) -> None:
    assert np.isfinite(every_distinct_stage(loss_of(mean), 100_000))


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("mean", ["arithmetic", "maximum", "minimum"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_scores_that_are_no_numbers_spoil_their_own_query_only(mean: str) -> None:
    queries = Queries.from_rows(np.arange(300) % 3.0, np.repeat([0, 1], [200, 100]))
    scores = np.random.default_rng(0).normal(size=300)
    scores[:200:7] = np.nan
    gradient = loss_of(mean, rank_weighting=True).evaluate(scores, queries).gradient
    assert np.isnan(gradient[:200]).any()
    assert np.isfinite(gradient[200:]).all()


def test_both_back_ends_agree_on_exact_models() -> None:
    compiled = pytest.importorskip("concordant.kernels._compiled", reason="the compiled kernels are not built")
    from concordant.kernels import twins

    known = tables(TieOdds(0.9), 400)
    for n_rows, spread in ((36, 1.0), (900, 2.0), (900, 50.0), (900, 500.0)):
        scores, queries = some_queries(16, n_rows=n_rows)
        factor = np.random.default_rng(17).uniform(0, 2, len(queries.tier_ptr) - 1)
        shared = (spread * scores, queries.ptr, queries.tier, factor, queries.weight)
        for is_maximum in (False, True):
            more = (known.shrink, known.log_spread, is_maximum)
            for a, b in zip(
                compiled.extreme_partitions(*shared, *more), twins.extreme_partitions(*shared, *more), strict=True
            ):
                np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
        for a, b in zip(compiled.mean_partitions(*shared), twins.mean_partitions(*shared), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
        direction = np.random.default_rng(18).normal(size=n_rows)
        np.testing.assert_allclose(
            compiled.mean_partitions_hessian_product(*shared, direction),
            twins.mean_partitions_hessian_product(*shared, direction),
            atol=1e-9,
        )


@pytest.mark.parametrize("mean", MEANS)
def test_two_objects_win_tie_or_lose_by_the_model(mean: str) -> None:
    bias = TieOdds(0.5)
    a, b = 0.8, -0.3
    total = normaliser(mean, np.array([a, b]), bias)
    chances = loss_of(mean, bias=bias).probabilities(np.array([a - b, 0.0, -2000.0, 2000.0]))
    expected = [np.exp(a) / total, 0.5 * phi(mean, np.array([a, b])) / total, np.exp(b) / total]
    np.testing.assert_allclose(chances[0], expected)
    np.testing.assert_allclose(chances[1], [0.4, 0.2, 0.4])
    np.testing.assert_allclose(chances.sum(axis=1), 1)


@pytest.mark.usefixtures("backend")
def test_the_aggregate_method_of_the_same_name_has_the_same_likelihood() -> None:
    rng = np.random.default_rng(19)
    scores, queries = laid_out(rng.normal(size=9), rng.integers(0, 4, 9).astype(float))
    starts = queries.tier_ptr[:-1]
    mark = np.zeros(9, np.uint8)
    mark[starts] = 1
    rows = StageRows(queries.ptr, np.arange(9, dtype=np.int32), mark, queries.weight)
    value, gain, rate = kernels.stage_sums(rows, np.exp(scores))
    is_alone = np.diff(queries.tier_ptr) == 1
    found = MeanPartitionLoss().evaluate(scores, queries)
    assert found.value == pytest.approx(-value - scores[starts[is_alone]].sum())
    wins = np.zeros(9)
    wins[starts[is_alone]] = 1
    np.testing.assert_allclose(found.gradient, np.exp(scores) * (rate - gain) - wins, atol=1e-12)
