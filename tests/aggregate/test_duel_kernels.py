"""The kernels behind the models of comparisons give the same numbers compiled and in NumPy."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

from concordant.kernels import twins
from concordant.kernels.bundles import Ballots, Belief, DuelRows, WarmStart

compiled = pytest.importorskip("concordant.kernels._compiled", reason="the compiled kernels are not built")


@pytest.fixture(params=range(4))
def rng(request, backend):
    if backend == "twins":
        pytest.skip("both back ends are called by name here")
    return np.random.default_rng(request.param)


def same(one, two):
    one, two = ((x,) if isinstance(x, np.ndarray) else x for x in (one, two))
    assert len(one) == len(two)
    for a, b in zip(one, two, strict=True):
        np.testing.assert_allclose(np.asarray(a, float), np.asarray(b, float), rtol=1e-9, atol=1e-9)


def duels(rng, sizes=(5, 1, 7, 2)):
    slot_ptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    cells = int((np.array(sizes) ** 2).sum())
    wins = rng.integers(0, 3, cells) * rng.integers(0, 2, cells).astype(float)
    ties = np.concatenate([(lambda t: (t + t.T).reshape(-1))(rng.integers(0, 2, (m, m))) for m in sizes]).astype(float)
    return slot_ptr, wins, ties


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_votes_are_tallied_alike(rng, kind):
    winner, loser = (rng.integers(-3, 5, 200).astype(kind) for _ in range(2))
    for tie in (np.empty(0, np.uint8), rng.integers(0, 2, 200).astype(np.uint8)):
        for weight in (np.empty(0), rng.random(200)):
            same(*(k.tally_votes(winner, loser, tie, weight, -3, 9) for k in (compiled, twins)))


def test_duels_of_matrices_are_alike(rng):
    slot_ptr, wins, ties = duels(rng)
    one, two = (k.matrix_duels(slot_ptr, wins, ties) for k in (compiled, twins))
    same((one[0], *one[1]), (two[0], *two[1]))


def test_pairs_are_grouped_alike(rng):
    first, second = (rng.integers(0, 9, 300) for _ in range(2))
    won, lost, tied = rng.random((3, 300))
    same(*(k.group_duels(first, second, won, lost, tied, 9) for k in (compiled, twins)))


@pytest.mark.parametrize("weights", ["ones", "fractions"])
@pytest.mark.parametrize("longest", [2, 5])
def test_duels_of_ballots_are_alike_and_those_of_matrices(rng, weights, longest):
    n, sizes = 60, np.array([7, 1, 12, 40])
    slot_ptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    instance = rng.integers(0, len(sizes), n).astype(np.int32)
    length = np.minimum(rng.integers(0, longest + 1, n) if longest > 2 else 2, sizes[instance])
    indptr = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
    slot = np.concatenate([slot_ptr[q] + rng.permutation(sizes[q])[:k] for q, k in zip(instance, length, strict=True)])
    tier = np.concatenate([np.sort(rng.integers(0, 3, k)) for k in length]).astype(np.int32)
    weight = np.ones(n) if weights == "ones" else rng.random(n) + 0.1
    is_open = (rng.random(n) < 0.3 * (longest > 2)).astype(np.uint8)
    ballots = Ballots(slot_ptr, instance, indptr, slot.astype(np.int64), tier, weight, is_open)
    (ptr, rows), (twin_ptr, twin_rows) = (k.count_duels(ballots) for k in (compiled, twins))
    same((ptr, *rows), (twin_ptr, *twin_rows))
    sums = [k.duel_sums(*rows[:5], int(slot_ptr[-1])) for k in (compiled, twins)]
    same(*sums)
    assert sums[0][0].sum() == pytest.approx(sums[0][1].sum() / 2)
    _, wins, ties = compiled.pair_counts(ballots, 0)
    other_ptr, other = compiled.matrix_duels(slot_ptr, wins, ties)
    order = np.lexsort((other.second, other.first))
    same((ptr, *rows[:5]), (other_ptr, *(column[order] for column in other[:5])))


@pytest.mark.parametrize("n_items", [2, 7, 60])
def test_votes_are_counted_alike_and_as_ballots_are(rng, n_items):
    n = 80
    one = rng.integers(0, n_items, n)
    item = np.stack([one, (one + rng.integers(1, n_items, n)) % n_items], 1).astype(np.int32)
    tier = np.stack([np.zeros(n), rng.random(n) < 0.8], 1).astype(np.int32)
    slot_ptr, nobody = np.array([0, n_items]), np.zeros(n, np.uint8)
    for weight in (np.empty(0), rng.random(n)):
        (ptr, rows), (twin_ptr, twin_rows) = (k.count_votes(item, tier, weight, n_items) for k in (compiled, twins))
        same((ptr, *rows), (twin_ptr, *twin_rows))
        own = weight if len(weight) else np.ones(n)
        columns = (
            np.zeros(n, np.int32),
            np.arange(0, 2 * n + 1, 2),
            item.reshape(-1).astype(np.int64),
            tier.reshape(-1),
            own,
            nobody,
        )
        other_ptr, other = compiled.count_duels(Ballots(slot_ptr, *columns))
        same((ptr, *rows), (other_ptr, *other))


def test_terms_by_worths_are_alike_and_those_of_bradley_terry(rng):
    slot_ptr, wins, ties = duels(rng, (40,))
    _, rows = compiled.matrix_duels(slot_ptr, wins, ties)
    order = np.lexsort((rows.second, rows.first))
    rows = DuelRows._make(column[order] if len(column) else column for column in rows)
    total, surplus = rows.won + rows.lost + rows.tied, (rows.won - rows.lost) / 2
    balance = np.bincount(rows.first, surplus, 40) - np.bincount(rows.second, surplus, 40)
    for spread in (0.0, 1.0, 20.0, 60.0):
        score = spread * rng.normal(size=40)
        one, two = (k.worth_terms(rows.first, rows.second, total, balance, score) for k in (compiled, twins))
        same(one, two)
        plain = twins.duel_terms(rows, score, 0.0, 0.0, 0)
        same(
            (one.value, one.gradient, one.curve, one.diagonal),
            (plain.value, plain.gradient, plain.curve, plain.diagonal),
        )


@pytest.mark.parametrize("model", range(4))
@pytest.mark.parametrize("has_order", [False, True])
def test_terms_and_fits_are_alike(rng, model, has_order):
    slot_ptr, wins, ties = duels(rng)
    ptr, (first, second, won, lost, tied, _) = compiled.matrix_duels(slot_ptr, wins, ties)
    order = rng.integers(0, 2, len(first)).astype(float) if has_order else np.empty(0)
    score = rng.normal(size=slot_ptr[-1]) * 5
    rows = DuelRows(first, second, won, lost, tied, order)
    same(*(k.duel_terms(rows, score, 0.3, -0.7, model) for k in (compiled, twins)))
    ridge = rng.random(len(ptr) - 1) + 0.01
    for is_gamma in (False, True):
        belief = Belief(ridge, ridge, is_gamma)
        one, two = (k.fit_duels(slot_ptr, ptr, rows, model, belief, WarmStart(), 1e-9, True) for k in (compiled, twins))
        same([*one[:6], *one[9:]], [*two[:6], *two[9:]])
        assert max(one.slack.max(), two.slack.max()) < 1e-9


def test_far_scores_do_not_overflow(rng):
    first, second = np.zeros(2, np.int32), np.ones(2, np.int32)
    counts = np.ones((3, 2))
    for model in range(4):
        for gap in (40.0, 800.0):
            score = np.array([gap, 0.0])
            found = [k.duel_terms(DuelRows(first, second, *counts), score, 0.0, 0.0, model) for k in (compiled, twins)]
            same(*((one.value, one.gradient, one.slope) for one in found))
            assert all(np.isfinite(x).all() for part in found for x in part)


def test_laplacians_are_alike(rng):
    first, second = (rng.integers(0, 6, 30).astype(np.int32) for _ in range(2))
    keep = first != second
    first, second, weight = first[keep], second[keep], rng.random(keep.sum())
    dense = [k.laplacian(first, second, weight, 6) for k in (compiled, twins)]
    same(dense[0], dense[1])
    for x in (rng.normal(size=(6, 3)), rng.normal(size=(6, 1))):
        for k in (compiled, twins):
            np.testing.assert_allclose(k.laplacian_product(first, second, weight, x), dense[0] @ x, atol=1e-12)


@pytest.mark.parametrize("columns", [0, 1, 2, 4, 7])
def test_products_with_a_matrix_are_alike(rng, columns):
    matrix, x = rng.normal(size=(23, 19)), rng.normal(size=(19, columns))
    same(*(k.matrix_product(matrix, x) for k in (compiled, twins)))


def test_signs_add_up_alike_to_the_covariance_of_the_laplacian(rng):
    first, second = np.sort(rng.integers(0, 5, 40)).astype(np.int32), (5 + rng.integers(0, 4, 40)).astype(np.int32)
    weight = rng.random(40)
    draws = []
    for _ in range(50):
        bits = rng.integers(0, 2**64, 40, dtype=np.uint64)
        one, two = (k.sign_sums(first, second, np.sqrt(weight), bits, 9) for k in (compiled, twins))
        same(one, two)
        draws.append(one)
    drawn = np.concatenate(draws, axis=1)
    assert drawn @ drawn.T / drawn.shape[1] == pytest.approx(compiled.laplacian(first, second, weight, 9), abs=0.5)


def test_groups_are_alike(rng):
    first, second = (rng.integers(0, 30, 35).astype(np.int32) for _ in range(2))
    won, lost, tied = (rng.integers(0, 2, (3, 35)) * rng.integers(0, 2, (3, 35))).astype(float)
    same(*(k.duel_groups(first, second, won, lost, tied, 30) for k in (compiled, twins)))


def test_rank_bounds_and_chances_are_alike(rng):
    sizes = (4, 1, 6)
    slot_ptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    blocks = []
    for m in sizes:
        root = rng.normal(size=(m, m))
        root -= root.mean(axis=0)
        blocks.append((root @ root.T / 20).reshape(-1))
    covariance, score = np.concatenate(blocks), rng.normal(size=11)
    same(*(k.rank_bounds(slot_ptr, score, covariance, np.full(3, 2.0)) for k in (compiled, twins)))
    draws = rng.normal(size=(500, 6))
    same(*(k.best_chances(slot_ptr, score, covariance, draws, 5.0) for k in (compiled, twins)))


def test_streams_are_alike(rng):
    sizes = rng.integers(1, 5, 40)
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    slot = np.concatenate([rng.permutation(6)[:m] for m in sizes]).astype(np.int64)
    tier = np.concatenate([np.cumsum(rng.integers(0, 2, m)) for m in sizes]).astype(np.int32)
    weight, is_open = rng.choice([0.5, 1.0, 2.0], 40), rng.integers(0, 2, 40).astype(np.uint8)
    shown = rng.random(len(slot))
    ballots = Ballots(np.array([0, 6]), np.zeros(40, np.int32), indptr, slot, tier, weight, is_open)
    for order in (np.empty(0), shown):
        for has_trail in (False, True):
            for factor, correction in ((np.empty(0), 0.0), (rng.random(40), 0.0), (rng.random(40), 0.1)):
                given = (ballots, order, factor, 1500.0, 32.0, 400.0, 30.0, correction, has_trail)
                same(*(k.elo_stream(*given) for k in (compiled, twins)))
    # Of every ballot the first two items of a tier are a team, the others stand alone.
    tiers = [tier[a:b] for a, b in pairwise(indptr)]
    is_new = [np.array([k == 0 or list(own[:k]).count(own[k]) != 1 for k in range(len(own))]) for own in tiers]
    team = np.concatenate([np.cumsum(new) - 1 for new in is_new]).astype(np.int32)
    for sides, all_pairs, has_trail in product((np.empty(0, np.int32), team), (False, True), (False, True)):
        rest = (sides, 25.0, 8.0, 4.0, 0.1, 0.7, all_pairs, has_trail)
        same(*(k.trueskill_stream(ballots, *rest) for k in (compiled, twins)))


def test_rating_periods_are_alike(rng):
    first = rng.integers(0, 9, 300)
    second = (first + rng.integers(1, 9, 300)) % 9
    result, weight = rng.choice([0.5, 1.0], 300), rng.choice([0.5, 1.0, 3.0], 300)
    period = np.sort(rng.integers(-5, 40, 300))
    for sd, volatility, tau in ((2.0, 0.06, 0.5), (1.0, 0.1, 0.3), (2.0, 0.06, 0.0)):
        given = (first, second, result, weight, period, 12, sd, volatility, tau)
        same(*(k.glicko_periods(*given) for k in (compiled, twins)))
    nothing = np.empty(0, np.int64)
    same(
        *(
            k.glicko_periods(nothing, nothing, weight[:0], weight[:0], nothing, 2, 2.0, 0.1, 0.5)
            for k in (compiled, twins)
        )
    )


@pytest.mark.parametrize("model", range(4))
@pytest.mark.parametrize("is_bare", [False, True])
def test_slopes_of_ballots_are_alike(rng, model, is_bare):
    size = rng.integers(0, 7, 40)
    indptr = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
    n = int(indptr[-1])
    slot = np.concatenate([rng.permutation(9)[:k] for k in size]).astype(np.int64)
    tier = np.concatenate([np.sort(rng.integers(0, 4, k)) for k in size]).astype(np.int32)
    level = np.empty(0) if is_bare else -tier.astype(float)
    shown = np.empty(0, np.int32) if is_bare else rng.permutation(n).astype(np.int32)
    is_open = rng.integers(0, 2, 40).astype(np.uint8)
    instance = np.zeros(40, np.int32)
    ballots = Ballots(np.array([0, 9]), instance, indptr, slot, tier, np.ones(40), is_open)
    rest = (level, shown, rng.normal(size=9), np.array([0.3]), np.array([-0.4]), model)
    same(*(k.ballot_slopes(ballots, *rest) for k in (compiled, twins)))


def test_entries_are_joined_and_multiplied_alike(rng):
    row, slot = rng.integers(0, 12, 200), rng.integers(0, 7, 200)
    joined = [k.join_entries(row, slot, np.linspace(-1, 1, 200), 14, 7) for k in (compiled, twins)]
    same(*joined)
    same(*(k.outer_products(*joined[0], 7) for k in (compiled, twins)))


@pytest.mark.parametrize("columns", [1, 2, 7, 64])
def test_products_of_laplacians_are_alike_in_any_order_of_rows(rng, columns):
    first, second = (rng.integers(0, 9, 60).astype(np.int32) for _ in range(2))
    first = np.where(rng.integers(0, 2, 60) > 0, np.sort(first), first).astype(np.int32)
    weight, x = rng.random(60), rng.normal(size=(9, columns))
    same(*(k.laplacian_product(first, second, weight, x) for k in (compiled, twins)))
    nothing = first[:0], second[:0], weight[:0]
    same(*(k.laplacian_product(*nothing, x) for k in (compiled, twins)))
