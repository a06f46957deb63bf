"""Losses of pairs: right by brute force, gradients by finite differences, fast forms equal to the plain ones."""

from __future__ import annotations

import math

import numpy as np
import pytest

from concordant.errors import NeedError
from concordant.kernels import twins
from concordant.losses.davidson import DavidsonLoss
from concordant.losses.exponential import ExponentialLoss
from concordant.losses.hinge import HingeLoss
from concordant.losses.queries import Pairs, Queries
from concordant.losses.rank_regress import RankRegressLoss
from concordant.losses.ranknet import RankNetLoss
from concordant.losses.rao_kupper import RaoKupperLoss
from concordant.losses.squared_hinge import SquaredHingeLoss

PLAIN = [RankNetLoss(), HingeLoss(), SquaredHingeLoss(), RankRegressLoss(), ExponentialLoss()]
WITH_TIES = [DavidsonLoss(), RaoKupperLoss()]
EVERY = [*PLAIN, *WITH_TIES]


def named(loss):
    return loss.name


def softplus(x):
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


def of_pair(loss, d, tied, own):
    """The loss of one pair, straight from its formula."""
    if loss.name == "davidson":
        log_of_all = np.logaddexp.reduce([0.0, -d, own[0] - d / 2])
        return log_of_all - (own[0] - d / 2 if tied else 0.0)
    if loss.name == "rao-kupper":
        theta = 1 + math.exp(own[0])
        win, lose = 1 / (1 + theta * math.exp(-d)), 1 / (1 + theta * math.exp(d))
        return -math.log(1 - win - lose if tied else win)
    if tied:
        return 0.0
    return {
        "ranknet": lambda: softplus(-d),
        "hinge": lambda: max(0.0, 1 - d),
        "squared-hinge": lambda: max(0.0, 1 - d) ** 2,
        "rank-regress": lambda: (1 - d) ** 2,
        "exponential": lambda: math.exp(-d),
    }[loss.name]()


def by_hand(loss, scores, queries, own):
    total = 0.0
    for q in range(len(queries)):
        low, high = int(queries.ptr[q]), int(queries.ptr[q + 1])
        for i in range(low, high):
            for j in range(i + 1, high):
                tied = queries.tier[i] == queries.tier[j]
                total += queries.weight[q] * of_pair(loss, scores[i] - scores[j], tied, own)
    return total


def some_queries(rng, sizes=(7, 1, 4, 12, 2, 9), levels=3):
    """Queries of several sizes: one of a single object, one with all labels equal, different weights."""
    label = [rng.integers(0, levels, size).astype(float) for size in sizes]
    label[2][:] = 1
    query = np.repeat(np.arange(len(sizes)), sizes)
    weight = rng.uniform(0.5, 2, len(sizes))[query]
    return Queries.from_rows(np.concatenate(label), query, weight)


def large_size(loss, backend):
    """Enough objects for the form that large queries take, if there is one."""
    return 100 if backend == "numpy" and loss.name in ("ranknet", "davidson", "rao-kupper") else 1100


def own_of(loss, at=-0.4):
    return np.full(len(loss.own_start), at)


def differences(function, x, step=1e-5):
    rows = []
    for k in range(len(x)):
        up, down = x.copy(), x.copy()
        up[k] += step
        down[k] -= step
        rows.append((function(up) - function(down)) / (2 * step))
    return np.array(rows)


@pytest.mark.parametrize("loss", EVERY, ids=named)
def test_the_value_is_the_sum_over_pairs(loss, backend):
    rng = np.random.default_rng(0)
    queries = some_queries(rng)
    for spread in (0.1, 2.0, 4.0):
        scores = rng.normal(3, spread, len(queries.tier))
        expected = by_hand(loss, scores, queries, own_of(loss))
        assert loss.evaluate(scores, queries, own_of(loss)).value == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("loss", EVERY, ids=named)
def test_the_gradient_is_the_slope_of_the_value(loss, backend):
    rng = np.random.default_rng(1)
    queries = some_queries(rng)
    scores, own = rng.normal(0, 1.3, len(queries.tier)), own_of(loss)
    found = loss.evaluate(scores, queries, own)
    slopes = differences(lambda f: loss.evaluate(f, queries, own).value, scores)
    np.testing.assert_allclose(found.gradient, slopes, rtol=1e-6, atol=1e-6)
    slopes = differences(lambda o: loss.evaluate(scores, queries, o).value, own)
    np.testing.assert_allclose(found.own, slopes.reshape(-1), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("loss", [loss for loss in PLAIN if loss.is_smooth], ids=named)
def test_the_hessian_is_the_slope_of_the_gradient(loss, backend):
    rng = np.random.default_rng(2)
    queries = some_queries(rng)
    scores, move = rng.normal(0, 1.3, (2, len(queries.tier)))
    slopes = differences(lambda t: loss.evaluate(scores + t[0] * move, queries).gradient, np.zeros(1), 1e-6)[0]
    np.testing.assert_allclose(loss.hessian_product(scores, queries, move), slopes, rtol=1e-6, atol=1e-6)


def test_hinge_and_squared_hinge_have_the_hessians_they_should(backend):
    queries = some_queries(np.random.default_rng(4))
    with pytest.raises(NeedError, match="lbfgs"):
        HingeLoss().hessian_product(np.zeros(len(queries.tier)), queries, np.zeros(len(queries.tier)))


@pytest.mark.parametrize("loss", EVERY, ids=named)
@pytest.mark.parametrize("levels", [4, 3000])
def test_large_queries_agree_with_all_pairs(loss, backend, levels):
    """Large queries go through sorted, summed or tiled forms; pairs are summed one by one here."""
    rng = np.random.default_rng(5)
    queries = some_queries(rng, sizes=(large_size(loss, backend), 6, 3), levels=levels)
    scores, own = rng.normal(10, 2, len(queries.tier)), own_of(loss)
    found = loss.evaluate(scores, queries, own)
    value, gradient = 0.0, np.zeros(len(scores))
    for low, high, weight in zip(queries.ptr[:-1], queries.ptr[1:], queries.weight, strict=True):
        i, j = np.triu_indices(high - low, 1)
        i, j = i + low, j + low
        tied = queries.tier[i] == queries.tier[j]
        pairs = Pairs(i, j, np.full(len(i), weight), tied)
        if loss in PLAIN:
            pairs = Pairs(i[~tied], j[~tied], pairs.weight[~tied], tied[~tied])
        part = loss.evaluate_pairs(scores, pairs, own)
        value, gradient = value + part.value, gradient + part.gradient
    assert found.value == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(found.gradient, gradient, rtol=1e-9, atol=1e-9 * np.abs(gradient).max())


@pytest.mark.parametrize("loss", [loss for loss in PLAIN if loss.is_smooth], ids=named)
def test_hessians_of_large_queries_agree_with_finite_differences(loss, backend):
    rng = np.random.default_rng(6)
    queries = some_queries(rng, sizes=(large_size(loss, backend), 5, 3), levels=4)
    scores, move = rng.normal(0, 3, (2, len(queries.tier)))
    # the squared hinge's gradient has kinks: a step that crosses few of them
    step = 1e-9 if loss.name == "squared-hinge" else 1e-6
    slopes = differences(lambda t: loss.evaluate(scores + t[0] * move, queries).gradient, np.zeros(1), step)[0]
    found = loss.hessian_product(scores, queries, move)
    np.testing.assert_allclose(found, slopes, rtol=1e-4, atol=1e-4 * np.abs(found).max())


@pytest.mark.parametrize("loss", EVERY, ids=named)
@pytest.mark.parametrize("scores", [[1e3, -1e3, 0, 5, 1e3], [-1e3, 1e3, 1e3, -1e3, 0], [0.0] * 5, [350, 0, 0, 0, -350]])
def test_extreme_scores_stay_finite(loss, backend, scores):
    queries = Queries.from_rows(np.array([2.0, 1, 1, 0, 0]), np.zeros(5, int))
    scores, move = np.array(scores, float), np.arange(5.0)
    for own in (own_of(loss), own_of(loss, 700.0), own_of(loss, -700.0)):
        found = loss.evaluate(scores, queries, own)
        for number in (found.value, found.gradient, found.own):
            assert np.isfinite(number).all()
    if loss in PLAIN and loss.is_smooth:
        assert np.isfinite(loss.hessian_product(scores, queries, move)).all()


@pytest.mark.parametrize("loss", EVERY, ids=named)
def test_the_safe_path_continues_the_fast_one(loss, backend):
    """Scores 599 and 601 apart are computed differently; the loss and the gradient move on smoothly."""
    queries = Queries.from_rows(np.array([1.0, 1, 0]), np.zeros(3, int))
    near, far = (loss.evaluate(np.array([0.0, gap, gap / 2]), queries, own_of(loss)) for gap in (599.0, 601.0))
    if loss.name == "exponential":
        assert near.value == pytest.approx(far.value / math.e, rel=1e-9)
        return
    np.testing.assert_allclose(near.gradient, far.gradient, rtol=0.01, atol=1e-9)
    assert near.value == pytest.approx(far.value, rel=0.01)


@pytest.mark.parametrize("loss", EVERY, ids=named)
def test_queries_without_pairs_cost_nothing(loss, backend):
    one_each = Queries.from_rows(np.array([1.0, 0.0, 2.0]), np.arange(3))
    found = loss.evaluate(np.array([5.0, -1.0, 2.0]), one_each, own_of(loss))
    assert found.value == 0
    assert not found.gradient.any()
    assert not found.own.any()
    if loss in PLAIN:
        equal = Queries.from_rows(np.ones(4), np.zeros(4, int))
        found = loss.evaluate(np.arange(4.0), equal)
        assert found.value == 0
        assert not found.gradient.any()


@pytest.mark.parametrize("loss", EVERY, ids=named)
def test_weights_equal_repetition(loss, backend):
    rng = np.random.default_rng(7)
    label, scores = rng.integers(0, 3, 8).astype(float), rng.normal(size=8)
    twice = Queries.from_rows(np.tile(label, 2), np.repeat([0, 1], 8))
    heavy = Queries.from_rows(label, np.zeros(8, int), np.full(8, 2.0))
    one, two = (
        loss.evaluate(np.tile(scores, copies)[queries.row], queries, own_of(loss))
        for queries, copies in ((twice, 2), (heavy, 1))
    )
    assert one.value == pytest.approx(two.value)
    np.testing.assert_allclose(one.own, two.own)


@pytest.mark.parametrize("loss", EVERY, ids=named)
def test_explicit_pairs_equal_the_pairs_of_a_query(loss, backend):
    rng = np.random.default_rng(8)
    label, scores, own = rng.integers(0, 3, 9).astype(float), rng.normal(0, 2, 9), own_of(loss)
    queries = Queries.from_rows(label, np.zeros(9, int))
    whole = loss.evaluate(scores[queries.row], queries, own)
    i, j = (queries.row[side] for side in np.triu_indices(9, 1))
    tied = label[i] == label[j]
    kept = np.ones(len(i), bool) if loss in WITH_TIES else ~tied
    pairs = Pairs(i[kept], j[kept], np.ones(kept.sum()), tied[kept])
    found = loss.evaluate_pairs(scores, pairs, own)
    assert found.value == pytest.approx(whole.value)
    np.testing.assert_allclose(found.gradient[queries.row], whole.gradient, atol=1e-12)
    np.testing.assert_allclose(found.own, whole.own)


@pytest.mark.parametrize("loss", PLAIN, ids=named)
def test_tied_pairs_are_refused_by_losses_without_ties(loss):
    pairs = Pairs(np.array([0, 1]), np.array([1, 2]), np.ones(2), np.array([False, True]))
    with pytest.raises(NeedError, match="DavidsonRanker"):
        loss.evaluate_pairs(np.zeros(3), pairs)


@pytest.mark.parametrize("loss", [RankNetLoss(), *WITH_TIES], ids=named)
def test_probabilities_are_those_the_loss_is_made_of(loss):
    own = own_of(loss, 0.3)
    margin = np.array([-800.0, -3.0, 0.0, 0.5, 800.0])
    chances = loss.probabilities(margin, own)
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    np.testing.assert_allclose(chances, loss.probabilities(-margin, own)[:, ::-1])
    for d, (win, tie, _) in zip(margin[1:4], chances[1:4], strict=True):
        assert -math.log(win) == pytest.approx(of_pair(loss, d, False, own))
        if loss in WITH_TIES:
            assert -math.log(tie) == pytest.approx(of_pair(loss, d, True, own))
        else:
            assert tie == 0


@pytest.mark.parametrize("loss", WITH_TIES, ids=named)
def test_equal_objects_tie_one_time_in_three_at_the_start(loss):
    np.testing.assert_allclose(loss.probabilities(np.zeros(1), np.array(loss.own_start)), 1 / 3)


@pytest.mark.parametrize("loss", [HingeLoss(), SquaredHingeLoss()], ids=named)
def test_a_pair_exactly_at_the_margin_is_free_however_it_is_computed(loss, backend):
    for size in (3, 1100):
        label = np.repeat([1.0, 0.0], [1, size - 1])
        queries = Queries.from_rows(label, np.zeros(size, int))
        scores = np.where(label > 0, 3.0, 2.0)
        found = loss.evaluate(scores, queries)
        assert found.value == 0
        assert not found.gradient.any()


@pytest.mark.parametrize("seed", range(4))
def test_both_back_ends_give_the_same_numbers(seed):
    compiled = pytest.importorskip("concordant.kernels._compiled", reason="the compiled kernels are not built")
    rng = np.random.default_rng(seed)
    queries = some_queries(rng, sizes=(30, 200, 5, 1), levels=int(rng.integers(2, 40)))
    scores, move = rng.normal(0, rng.choice([0.5, 5, 50]), (2, len(queries.tier)))
    layout = (queries.ptr, queries.tier, queries.weight)
    calls = {
        "logistic_hessian_product": (scores, *layout, move),
        "regress_terms": (scores, *layout, 1.0),
        "hinge_terms": (scores, *layout),
        "squared_hinge_terms": (scores, *layout),
        "squared_hinge_hessian_product": (scores, *layout, move),
        "exponential_terms": (scores, *layout),
        "exponential_hessian_product": (scores, *layout, move),
    }
    duels = [("query_duel_terms", (scores, *layout, tie, model)) for tie, model in ((0.0, 0), (-0.7, 2), (0.3, 3))]
    for name, arguments in [*calls.items(), *duels]:
        ours, twin = (getattr(kernels, name)(*arguments) for kernels in (compiled, twins))
        pairs = [(ours, twin)] if isinstance(twin, np.ndarray) else zip(ours, twin, strict=True)
        for a, b in pairs:
            scale = max(np.abs(b).max(), 1e-300)
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10 * scale, err_msg=name)


@pytest.mark.parametrize("loss", EVERY, ids=named)
@pytest.mark.parametrize("size", [5, 1100])
def test_scores_that_are_no_numbers_are_not_hidden(loss, backend, size):
    queries = Queries.from_rows(np.arange(size) % 3.0, np.zeros(size, int))
    scores = np.arange(float(size))
    scores[[1, 3]] = np.nan
    assert np.isnan(loss.evaluate(scores, queries, own_of(loss)).value)


@pytest.mark.parametrize("loss", [loss for loss in PLAIN if loss.name != "ranknet"], ids=named)
@pytest.mark.parametrize("levels", [2, 10**9])
def test_a_hundred_thousand_objects_are_no_trouble(loss, backend, levels):
    """All pairs would be five billion; pulls within a query still cancel."""
    rng = np.random.default_rng(9)
    queries = Queries.from_rows(rng.integers(0, levels, 100_000).astype(float), np.zeros(100_000, int))
    found = loss.evaluate(rng.normal(size=100_000), queries)
    assert np.isfinite(found.value)
    assert abs(found.gradient.sum()) < 1e-9 * np.abs(found.gradient).sum()
