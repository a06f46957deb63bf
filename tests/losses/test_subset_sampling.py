"""Samplers of sets, their gradients and normalisers, against enumeration of all sets, on both back ends."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from tests.losses.enumeration import (
    SAMPLED,
    laid_out,
    log_chance,
    loss_of,
    normaliser,
    phi,
    sets_of,
    some_queries,
    weight_of,
)

from concordant.losses.ordered_partitions import Stages
from concordant.losses.set_sizes import SizeBias, TieOdds, tables
from concordant.losses.subset_sampling import Chains, SampledPartitionLoss
from concordant.types import Floats


def drawn_sets(loss: SampledPartitionLoss, scores: Floats, *, chains: int, steps: int) -> Counter[int]:
    """The sets where many chains are after some steps, as bit patterns; all start at the set of the first object."""
    n, rng = len(scores), np.random.default_rng(0)
    all_chains = Chains(np.zeros(chains, np.int64), np.full(chains, n))
    member = all_chains.first_members(np.ones(chains, np.int64))
    for _ in range(steps):
        member = loss.step(scores, all_chains, member, rng)
    codes = member.reshape(chains, n).astype(np.int64) @ (1 << np.arange(n))
    return Counter(codes.tolist())


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("bias", [TieOdds(), TieOdds(0.4)], ids=repr)
@pytest.mark.parametrize(("sampler", "steps"), [("gibbs", 20), ("metropolis", 60)])
@pytest.mark.parametrize("mean", SAMPLED)
def test_samples_come_from_the_model(mean: str, sampler: str, steps: int, bias: SizeBias) -> None:
    scores = np.array([1.5, -1.0, 0.3, 0.0, -0.4, 2.0])
    loss = SampledPartitionLoss(is_harmonic=mean == "harmonic", sampler=sampler, bias=bias)
    chains = 10_000
    counts = drawn_sets(loss, scores, chains=chains, steps=steps)
    total = normaliser(mean, scores, bias)
    chi_square = 0.0
    for some in sets_of(6):
        expected = chains * weight_of(bias, len(some)) * phi(mean, scores[some]) / total
        chi_square += (counts[sum(1 << k for k in some)] - expected) ** 2 / expected
    assert counts[0] == 0
    assert chi_square < 104  # 62 degrees of freedom: exceeded once in a thousand draws of the exact model


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("sampler", ["gibbs", "metropolis"])
@pytest.mark.parametrize("mean", SAMPLED)
def test_annealing_finds_the_normaliser(mean: str, sampler: str) -> None:
    rng = np.random.default_rng(9)
    scores = 1.5 * rng.normal(size=21)
    begin, end = np.array([0, 6, 13]), np.array([6, 13, 21])
    loss = SampledPartitionLoss(is_harmonic=mean == "harmonic", sampler=sampler, bias=TieOdds(0.8))
    found = loss.log_normalisers(scores, Chains(begin, end), temperatures=60, runs=300, rng=rng)
    expected = [np.log(normaliser(mean, scores[a:b], TieOdds(0.8))) for a, b in zip(begin, end, strict=True)]
    np.testing.assert_allclose(found, expected, atol=0.03)


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("mean", SAMPLED)
def test_annealed_likelihoods_are_near_the_definition(mean: str, backward: bool) -> None:
    rng = np.random.default_rng(10)
    scores, labels = rng.normal(size=7), rng.integers(0, 3, 7).astype(float)
    loss = loss_of(mean, backward=backward, rank_weighting=True)
    found = loss.log_likelihood(*laid_out(scores, labels), temperatures=50, runs=200)[0]
    assert found == pytest.approx(log_chance(mean, scores, labels, TieOdds(), backward=backward), abs=0.05)


def exact_gradient(mean: str, scores: Floats, labels: Floats) -> Floats:
    gradient = np.zeros(len(scores))
    for k in range(len(scores)):
        step = np.zeros(len(scores))
        step[k] = 1e-6
        ahead, behind = (log_chance(mean, scores + h * step, labels, TieOdds()) for h in (1, -1))
        gradient[k] = -(ahead - behind) / 2e-6
    return gradient


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("mean", SAMPLED)
@pytest.mark.parametrize("backward", [False, True])
def test_with_many_steps_the_sampled_gradient_is_the_exact_one(mean: str, backward: bool) -> None:
    rng = np.random.default_rng(11)
    scores, labels = rng.normal(size=7), np.array([2.0, 1, 1, 0, 0, 2, 0])
    expected = -exact_gradient(mean, -scores, -labels) if backward else exact_gradient(mean, scores, labels)
    laid, queries = laid_out(scores, labels)
    loss = loss_of(mean, samples=4000, steps=12, backward=backward)
    gradient = np.empty(7)
    gradient[queries.row] = loss.evaluate(laid, queries).gradient
    np.testing.assert_allclose(gradient, expected, atol=0.03)


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("mean", SAMPLED)
@pytest.mark.parametrize("sampler", ["gibbs", "metropolis"])
@pytest.mark.parametrize("persistent", [False, True])
def test_one_step_from_the_data_points_downhill_on_average(mean: str, sampler: str, persistent: bool) -> None:
    rng = np.random.default_rng(12)
    scores, labels = rng.normal(size=7), np.array([2.0, 1, 1, 0, 0, 2, 0])
    laid, queries = laid_out(scores, labels)
    loss = loss_of(mean, samples=20, sampler=sampler, persistent=persistent)
    found = np.mean([loss.evaluate(laid, queries).gradient for _ in range(100)], axis=0)
    assert found @ exact_gradient(mean, scores, labels)[queries.row] > 0


@pytest.mark.usefixtures("backend")
def test_persistent_chains_reach_the_model_where_restarted_ones_do_not() -> None:
    rng = np.random.default_rng(13)
    scores, labels = rng.normal(size=7), np.array([2.0, 1, 1, 0, 0, 2, 0])
    laid, queries = laid_out(scores, labels)
    expected = exact_gradient("geometric", scores, labels)[queries.row]
    errors = {}
    for persistent in (False, True):
        loss = SampledPartitionLoss(samples=40, persistent=persistent)
        slopes = [loss.evaluate(laid, queries).gradient for _ in range(100)]
        errors[persistent] = float(np.abs(np.mean(slopes[10:], axis=0) - expected).max())
    assert errors[True] < 0.03 < errors[False]


@pytest.mark.usefixtures("backend")
def test_persistent_chains_follow_their_query_into_any_batch() -> None:
    scores, queries = some_queries(14)
    loss = SampledPartitionLoss(persistent=True)
    loss.evaluate(scores, queries)
    before = loss._memory.member.copy()
    part = queries.part(2, 4)
    loss.evaluate(scores[queries.ptr[2] : queries.ptr[4]], part)
    own = np.zeros(len(before), bool)
    for begin, end in zip(*Stages.of(part)[0:3:2], strict=True):
        first = loss._memory.start[part.row[begin]]
        own[first : first + end - begin] = True
    assert len(loss._memory.member) == len(before)
    assert (loss._memory.member == before)[~own].all()
    assert (loss._memory.member != before)[own].any()


@pytest.mark.usefixtures("backend")
def test_observed_sets_of_an_impossible_size_are_left_at_once() -> None:
    loss = SampledPartitionLoss(sampler="metropolis", bias=TieOdds(0.0))
    chains = Chains(np.zeros(200, np.int64), np.full(200, 4))
    member = chains.first_members(np.full(200, 3))
    rng = np.random.default_rng(0)
    for _ in range(40):
        member = loss.step(np.array([0.1, 0.2, 0.3, 0.4]), chains, member, rng)
    assert (member.reshape(200, 4).sum(axis=1) == 1).all()


def test_both_back_ends_draw_the_same_sets() -> None:
    compiled = pytest.importorskip("concordant.kernels._compiled", reason="the compiled kernels are not built")
    from concordant.kernels import twins
    from concordant.kernels.bundles import Subsets

    rng = np.random.default_rng(15)
    begin = np.array([0, 3, 0, 7, 12])
    end = np.array([3, 12, 12, 12, 13])
    known = tables(TieOdds(0.9), 12)
    for spread in (1.0, 40.0, 1000.0):
        scores = spread * rng.normal(size=13)
        member = Chains(begin, end).first_members(np.array([1, 4, 2, 5, 1]))
        for _ in range(50):
            uniform, choice = rng.random(len(member)), rng.random((5, 2))
            for is_harmonic in (False, True):
                shared = (scores, Subsets(begin, end, member), uniform)
                more = (0.7, known.log_bias, is_harmonic)
                ours, other = compiled.gibbs_subsets(*shared, *more), twins.gibbs_subsets(*shared, *more)
                np.testing.assert_array_equal(ours, other)
                more = (choice, 0.7, known.log_bias, known.log_factorial, is_harmonic)
                moved = compiled.metropolis_subsets(*shared, *more)
                np.testing.assert_array_equal(moved, twins.metropolis_subsets(*shared, *more))
                member = ours
