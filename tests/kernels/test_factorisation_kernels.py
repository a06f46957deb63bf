"""The kernels of factorisations: both back ends alike, and against sums written out entry by entry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from concordant import kernels
from concordant.kernels import twins
from concordant.kernels.bundles import Rows, Side, StepsFrom, Terms
from concordant.types import AnyArray, Floats, Int32s, Int64s

compiled = pytest.importorskip("concordant.kernels._compiled", reason="the compiled kernels are not built")

NOTHING, VARIANCES, COVARIANCES = "nothing", "variances", "covariances"
CLOSE: dict[type, dict[str, float]] = {
    np.float64: {"rtol": 1e-8, "atol": 1e-8},
    np.float32: {"rtol": 5e-3, "atol": 5e-3},
}


class Problem(NamedTuple):
    """One side to solve with the other fixed."""

    side: Side
    terms: Terms
    row: AnyArray
    other_row: AnyArray
    other_spread: AnyArray
    ridge: Floats
    mean: float

    def solved(self, backend: Any = kernels, threads: int = 1) -> Rows:
        return backend.ridge_rows(
            self.side, self.terms, self.other_row, self.other_spread, self.ridge, self.mean, threads
        )

    def stepped(self, steps: int, backend: Any = kernels, threads: int = 1) -> Rows:
        begin = StepsFrom(self.row, steps)
        return backend.ridge_steps(
            self.side, self.terms, self.other_row, self.other_spread, self.ridge, self.mean, begin, threads
        )


def problem(
    seed: int,
    sizes: list[int],
    *,
    n_others: int = 5,
    factors: int = 2,
    spread: str = NOTHING,
    dtype: type = np.float64,
    is_common: bool = False,
) -> Problem:
    """A random problem: row r has ``sizes[r]`` entries, and the terms stand in another order than the entries."""
    rng, width = np.random.default_rng(seed), factors + 1
    ptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    n = int(ptr[-1])
    whole = 0.3 * rng.normal(size=(n_others, width, width))
    covariance = whole @ whole.transpose(0, 2, 1)
    packed = {
        NOTHING: np.zeros((n_others, 0)),
        VARIANCES: np.einsum("naa->na", covariance),
        COVARIANCES: covariance[:, *np.tril_indices(width)],
    }[spread]
    return Problem(
        Side(ptr, rng.integers(0, n_others, n).astype(np.int32), rng.permutation(n)),
        Terms(rng.normal(size=n), rng.uniform(0.2, 2.0, 1 if is_common else n)),
        rng.normal(size=(len(sizes), width)).astype(dtype),
        rng.normal(size=(n_others, width)).astype(dtype),
        np.ascontiguousarray(packed, dtype),
        rng.uniform(0.5, 3.0, width),
        float(rng.normal()),
    )


seeds, row_sizes = st.integers(0, 10_000), st.lists(st.integers(0, 20), min_size=1, max_size=6)
dtypes = st.sampled_from([np.float64, np.float32])
factor_counts = st.integers(1, 9)


def assert_alike(one: Rows, two: Rows, dtype: type) -> None:
    for name in Rows._fields:
        ours, theirs = getattr(one, name), getattr(two, name)
        assert ours.dtype == theirs.dtype == (np.float64 if name in ("doubt", "log_det") else dtype)
        np.testing.assert_allclose(ours, theirs, **CLOSE[dtype], err_msg=name)


# ---- both back ends ----
@settings(max_examples=60)
@given(seeds, row_sizes, factor_counts, st.sampled_from([NOTHING, COVARIANCES]), dtypes, st.booleans())
def test_rows_are_solved_alike(
    seed: int, sizes: list[int], factors: int, spread: str, dtype: type, is_common: bool
) -> None:
    given_ = problem(seed, sizes, factors=factors, spread=spread, dtype=dtype, is_common=is_common)
    assert_alike(given_.solved(compiled), given_.solved(twins), dtype)


@settings(max_examples=60)
@given(seeds, row_sizes, factor_counts, st.sampled_from([NOTHING, VARIANCES]), dtypes, st.booleans(), st.integers(0, 4))
def test_steps_towards_rows_are_taken_alike(
    seed: int, sizes: list[int], factors: int, spread: str, dtype: type, is_common: bool, steps: int
) -> None:
    given_ = problem(seed, sizes, factors=factors, spread=spread, dtype=dtype, is_common=is_common)
    assert_alike(given_.stepped(steps, compiled), given_.stepped(steps, twins), dtype)


@settings(max_examples=40)
@given(seeds, row_sizes, factor_counts, dtypes)
def test_scores_are_the_mean_both_biases_and_the_product(
    seed: int, sizes: list[int], factors: int, dtype: type
) -> None:
    side, _, row, other_row, _, _, mean = problem(seed, sizes, factors=factors, dtype=dtype)
    ours, twin = (backend.factor_scores(side.ptr, side.other, row, other_row, mean, 1) for backend in (compiled, twins))
    expected = []
    for r in range(len(sizes)):
        for k in range(side.ptr[r], side.ptr[r + 1]):
            own, theirs = row[r].tolist(), other_row[side.other[k]].tolist()
            expected.append(
                mean + own[-1] + theirs[-1] + sum(a * b for a, b in zip(own[:-1], theirs[:-1], strict=True))
            )
    close = {"rtol": 1e-10, "atol": 1e-10} if dtype is np.float64 else {"rtol": 1e-4, "atol": 1e-4}
    np.testing.assert_allclose(ours, twin, **close)
    np.testing.assert_allclose(ours, expected, **close)


@settings(max_examples=40)
@given(seeds, st.integers(0, 30), factor_counts, dtypes)
def test_steps_on_pairs_are_taken_alike_and_leave_what_they_are_given(
    seed: int, n: int, factors: int, dtype: type
) -> None:
    rng = np.random.default_rng(seed)
    of_agent, of_item = (rng.normal(size=(size, factors + 1)).astype(dtype) for size in (4, 6))
    before = of_agent.copy(), of_item.copy()
    agent, better = rng.integers(0, 4, n).astype(np.int32), rng.integers(0, 6, n).astype(np.int32)
    worse = ((better + rng.integers(1, 6, n)) % 6).astype(np.int32)
    ours, twin = (
        backend.pair_steps(agent, better, worse, of_agent, of_item, 0.1, 0.05) for backend in (compiled, twins)
    )
    for one, two in zip(ours[:2], twin[:2], strict=True):
        assert one.dtype == two.dtype == dtype
        np.testing.assert_allclose(one, two, **CLOSE[dtype])
    assert ours[2] == pytest.approx(twin[2], rel=1e-3 if dtype is np.float32 else 1e-10)
    np.testing.assert_array_equal(of_agent, before[0])
    np.testing.assert_array_equal(of_item, before[1])


# ---- against sums written out ----
def covariance_of(packed: AnyArray, width: int) -> Floats:
    """Unpack a lower triangle, or variances, or nothing, one number at a time."""
    full, values = np.zeros((width, width)), packed.tolist()
    if len(values) == width:
        return np.diag(values)
    for a in range(width) if values else ():
        for b in range(a + 1):
            full[a, b] = full[b, a] = values[a * (a + 1) // 2 + b]
    return full


def entries_of(one: Problem, r: int) -> list[tuple[float, float, Floats, Floats]]:
    """Target, curve, mean and covariance of the other row, of every entry of a row."""
    found = []
    for k in range(one.side.ptr[r], one.side.ptr[r + 1]):
        e, other = one.side.entry[k], one.side.other[k]
        curve = one.terms.curve[0] if len(one.terms.curve) == 1 else one.terms.curve[e]
        row, width = one.other_row[other], one.other_row.shape[1]
        found.append((float(one.terms.target[e]), float(curve), row, covariance_of(one.other_spread[other], width)))
    return found


def expected_loss(one: Problem, r: int, w: Floats) -> float:
    """The mean of curve f² / 2 - target f over what is uncertain of the other side, and the ridge."""
    total = 0.5 * float(one.ridge @ (w * w))
    for target, curve, theirs, covariance in entries_of(one, r):
        along = np.append(w[:-1], 1.0)  # f = mean + own bias + (factors, 1) · (their factors, their bias)
        score = one.mean + w[-1] + along @ theirs
        total += 0.5 * curve * (score**2 + along @ covariance @ along) - target * score
    return total


def hessian_of(function: Callable[[Floats], float], at: Floats) -> tuple[Floats, Floats]:
    """Gradient and second derivatives of a quadratic by differences, which are exact but for rounding."""
    n, step = len(at), 0.5 * np.eye(len(at))
    gradient = np.array([function(at + one) - function(at - one) for one in step])
    second = np.zeros((n, n))
    for a in range(n):
        for b in range(n):
            corners = ((1, 1), (1, -1), (-1, 1), (-1, -1))
            second[a, b] = sum(s * t * function(at + s * step[a] + t * step[b]) for s, t in corners)
    return gradient, second


def variance_of_score(own: Floats, own_cov: Floats, theirs: Floats, their_cov: Floats) -> float:
    """The variance of own bias + their bias + product of the factors, two independent Gaussian vectors."""
    p, v, own_f, their_f = own[:-1], theirs[:-1], own_cov[:-1, :-1], their_cov[:-1, :-1]
    product = p @ their_f @ p + v @ own_f @ v + float(np.sum(own_f * their_f))
    biases = own_cov[-1, -1] + their_cov[-1, -1]
    return float(product + biases + 2 * own_cov[-1, :-1] @ v + 2 * their_cov[-1, :-1] @ p)


@pytest.mark.parametrize("spread", [NOTHING, COVARIANCES])
@pytest.mark.parametrize("is_common", [False, True])
@pytest.mark.usefixtures("backend")
def test_a_row_minimises_the_mean_loss_and_knows_how_sure_it_is(spread: str, is_common: bool) -> None:
    one = problem(3, [4, 0, 1, 7], spread=spread, is_common=is_common)
    found = one.solved()
    for r in range(4):
        w = found.row[r]
        gradient, second = hessian_of(lambda w, r=r: expected_loss(one, r, w), w)
        np.testing.assert_allclose(gradient, 0.0, atol=1e-10)
        assert found.log_det[r] == pytest.approx(np.linalg.slogdet(second)[1], abs=1e-8)
        if spread == NOTHING:
            assert found.doubt[r] == 0
            continue
        covariance = covariance_of(found.spread[r], 3)
        np.testing.assert_allclose(covariance, np.linalg.inv(second), atol=1e-8)
        parts = [curve * variance_of_score(w, covariance, *theirs) for _, curve, *theirs in entries_of(one, r)]
        assert found.doubt[r] == pytest.approx(sum(parts), abs=1e-8)


def test_the_variance_of_a_score_is_that_of_draws() -> None:
    """The formula the other tests rely on, once against chance itself."""
    rng = np.random.default_rng(0)
    own, theirs = rng.normal(size=(2, 3))
    whole = rng.normal(size=(2, 3, 3))
    covariance = whole @ whole.transpose(0, 2, 1)
    a = rng.multivariate_normal(own, covariance[0], 200_000)
    b = rng.multivariate_normal(theirs, covariance[1], 200_000)
    drawn = a[:, 2] + b[:, 2] + (a[:, :2] * b[:, :2]).sum(axis=1)
    assert variance_of_score(own, covariance[0], theirs, covariance[1]) == pytest.approx(drawn.var(), rel=0.03)


@pytest.mark.usefixtures("backend")
def test_many_steps_reach_the_minimum_of_the_mean_loss_with_variances() -> None:
    one = problem(5, [4, 0, 1, 7], spread=VARIANCES)
    found = one.stepped(30)
    for r in range(4):
        w = found.row[r]
        gradient, second = hessian_of(lambda w, r=r: expected_loss(one, r, w), w)
        np.testing.assert_allclose(gradient, 0.0, atol=1e-7)
        np.testing.assert_allclose(found.spread[r], 1 / np.diag(second), atol=1e-8)
        assert found.log_det[r] == pytest.approx(np.log(np.diag(second)).sum(), abs=1e-8)
        own = np.diag(found.spread[r])
        parts = [curve * variance_of_score(w, own, *theirs) for _, curve, *theirs in entries_of(one, r)]
        assert found.doubt[r] == pytest.approx(sum(parts), abs=1e-8)


@settings(max_examples=30)
@given(seeds, row_sizes, factor_counts, st.booleans())
def test_many_steps_give_the_rows_that_are_solved_at_once(
    seed: int, sizes: list[int], factors: int, is_common: bool
) -> None:
    one = problem(seed, sizes, factors=factors, is_common=is_common)
    for backend in (compiled, twins):
        np.testing.assert_allclose(one.stepped(60, backend).row, one.solved(backend).row, atol=1e-7)


@pytest.mark.usefixtures("backend")
def test_a_row_without_entries_is_its_prior() -> None:
    one = problem(0, [0, 3], spread=COVARIANCES)
    found = one.solved()
    np.testing.assert_array_equal(found.row[0], 0.0)
    np.testing.assert_allclose(covariance_of(found.spread[0], 3), np.diag(1 / one.ridge))
    assert found.doubt[0] == 0
    assert found.log_det[0] == pytest.approx(np.log(one.ridge).sum())


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_threads_change_no_bit(dtype: type) -> None:
    sizes = np.random.default_rng(0).integers(0, 60, 200).tolist()
    common = {"n_others": 50, "dtype": dtype}
    one = problem(1, sizes, factors=10, spread=COVARIANCES, **common)  # type: ignore[arg-type]
    two = problem(1, sizes, factors=40, spread=VARIANCES, **common)  # type: ignore[arg-type]
    for solve in (lambda threads: one.solved(compiled, threads), lambda threads: two.stepped(3, compiled, threads)):
        alone, together = solve(1), solve(2)
        for name in Rows._fields:
            np.testing.assert_array_equal(getattr(alone, name), getattr(together, name))
    scores = [
        compiled.factor_scores(two.side.ptr, two.side.other, two.row, two.other_row, two.mean, threads)
        for threads in (1, 2)
    ]
    assert len(scores[0]) * 41 > 2e5  # enough work for threads to take part
    np.testing.assert_array_equal(*scores)


# ---- the order of tiers ----
def some_lists(seed: int, sizes: list[int]) -> tuple[Floats, Int64s, Int32s, Floats]:
    """Scores, bounds, tiers (ties among them) and weights of queries."""
    rng = np.random.default_rng(seed)
    ptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    tier = [np.sort(rng.integers(0, max(1, size), size)) for size in sizes]
    score = 2 * rng.normal(size=ptr[-1])
    return score, ptr, np.concatenate(tier).astype(np.int32), rng.uniform(0.5, 2.0, len(sizes))


lists = st.lists(st.integers(0, 8), min_size=1, max_size=5)


@settings(max_examples=60)
@given(seeds, lists)
def test_the_bound_of_ordered_partitions_comes_with_their_loss_and_gradient(seed: int, sizes: list[int]) -> None:
    score, ptr, tier, weight = some_lists(seed, sizes)
    ours, twin = (backend.mean_partitions_bound(score, ptr, tier, weight) for backend in (compiled, twins))
    for one, two in zip(ours, twin, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-9)
    loss, gradient = kernels.mean_partitions(score, ptr, tier, np.empty(0), weight)
    np.testing.assert_allclose(ours[0], loss, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ours[1], gradient, rtol=1e-9, atol=1e-9)


@settings(max_examples=60)
@given(seeds, lists)
def test_ordered_partitions_bend_no_more_than_their_bound(seed: int, sizes: list[int]) -> None:
    score, ptr, tier, weight = some_lists(seed, sizes)
    bound = kernels.mean_partitions_bound(score, ptr, tier, weight)[2]
    assert (bound >= 0).all()
    rng = np.random.default_rng(seed + 1)
    for _ in range(5):
        along = rng.normal(size=len(score))
        bent = along @ kernels.mean_partitions_hessian_product(score, ptr, tier, np.empty(0), weight, along)
        assert bent <= bound @ along**2 + 1e-9


@pytest.mark.usefixtures("backend")
def test_one_tier_says_nothing_and_bends_nothing() -> None:
    score, ptr, tier = np.array([1.0, -2.0, 0.5]), np.array([0, 3]), np.zeros(3, np.int32)
    for part in kernels.mean_partitions_bound(score, ptr, tier, np.ones(1)):
        np.testing.assert_allclose(part, 0.0, atol=1e-12)
