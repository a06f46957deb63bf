"""Compiled search kernels and their NumPy twins give exactly the same answers."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from concordant import views
from concordant.kernels import twins
from concordant.preferences import Preferences

compiled = pytest.importorskip("concordant.kernels._compiled")


def make_arguments(seed):
    """Draw a few problems of up to 7 items and arguments of every kernel."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, 8, int(rng.integers(1, 5)))
    ptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    pairs, items = int((sizes**2).sum()), int(ptr[-1])

    def joined(parts, kind=np.int64):
        return np.concatenate([np.zeros(0), *parts]).astype(kind)

    before = rng.integers(0, 6, pairs).astype(float)
    halves = [rng.integers(0, 5, (m, m)) for m in sizes]
    tied = joined([(half + half.T).reshape(-1) for half in halves], float)
    start = joined([rng.permutation(m) + p for m, p in zip(sizes, ptr, strict=False)])
    order = joined([rng.permutation(m) for m in sizes])
    tier = joined([np.unique(rng.integers(0, m, m), return_inverse=True)[1] for m in sizes if m])
    draw, priority, none = rng.random((5, 6)), rng.random((3, items)), np.zeros((3, 0))
    sequence = np.stack([joined([rng.permutation(m) for m in sizes]) for _ in range(3)])
    code = joined([rng.integers(0, np.arange(m) + 1) for m in sizes])
    unit = rng.choice([0.5, 0.25], len(sizes))
    tiers = np.stack([joined([rng.integers(0, m, m) for m in sizes]) for _ in range(9)])
    item, block_ptr = twins.split_blocks(ptr, before, np.zeros(0), start)
    matrix = rng.random((int(rng.integers(1, 9)),) * 2)
    matrix = np.ascontiguousarray(np.broadcast_to(matrix, (len(matrix), len(matrix))))
    rows = np.stack([rng.permutation(len(matrix)) for _ in range(4)]).astype(np.int32)
    return [
        ("split_blocks", (ptr, before, np.zeros(0), start)),
        ("split_blocks", (ptr, before, tied, start)),
        ("best_orders", (ptr, before)),
        ("best_weak_orders", (ptr, before, tied)),
        ("ranking_totals", (ptr, before, tied, tier[None, :].copy())),
        ("ranking_totals", (ptr, before, tied, tiers)),
        ("ranking_totals", (ptr, before * 1e9, tied / 4, tiers * 2**40)),
        ("pair_costs", (ptr, before / 3, tied / 3, unit)),
        ("net_costs", (ptr, before)),
        ("majority_chances", (ptr, before)),
        ("count_majorities", (ptr, before)),
        ("take_blocks", (ptr, before, item, block_ptr)),
        ("pivot_orders", (ptr, rng.choice([0, 0.5, 1], pairs), priority, none)),
        ("pivot_orders", (ptr, rng.random(pairs), priority, rng.random((3, pairs)))),
        ("insertion_orders", (ptr, before, sequence)),
        ("bucket_orders", (ptr, before, tied, order, False)),
        ("bucket_orders", (ptr, before, tied, order, True)),
        ("search_orders", (ptr, before, order, draw)),
        ("search_weak_orders", (ptr, before, tied, tier, draw)),
        ("violated_triangles", (matrix, 1e-6, 2, True, 0, len(matrix))),
        ("violated_triangles", (matrix, 1e-6, 1, False, 1, len(matrix) - 1)),
        ("lehmer_decode", (ptr, code)),
        ("lehmer_encode", (rows,)),
    ]


@pytest.mark.parametrize("seed", range(25))
def test_both_give_the_same(seed):
    for name, arguments in make_arguments(seed):
        ours, twin = (getattr(module, name)(*arguments) for module in (compiled, twins))
        ours, twin = (answer if isinstance(answer, tuple) else (answer,) for answer in (ours, twin))
        for one, other in zip(ours, twin, strict=True):
            assert np.array_equal(one, other), name


@pytest.mark.parametrize("unit", [1.0, 0.5, 2.0**20])
def test_local_search_of_many_items_is_that_of_the_twin(unit):
    rng = np.random.default_rng(5)
    sizes = np.array([100, 3, 75])
    ptr = np.concatenate([[0], np.cumsum(sizes)])
    before = []
    for m in sizes:
        votes = (np.arange(m) / m + rng.normal(0, 0.7, (9, m))).argsort(axis=1).argsort(axis=1)
        before.append(unit * (votes[:, :, None] > votes[:, None, :]).sum(axis=0).reshape(-1))
    order = np.concatenate([rng.permutation(m) for m in sizes])
    arguments = ptr, np.concatenate(before).astype(float), order, rng.random((12, 6))
    assert np.array_equal(compiled.search_orders(*arguments), twins.search_orders(*arguments))


@pytest.mark.parametrize("unit", [1.0, 0.25, 2.0**30])
@pytest.mark.parametrize("rankings", [2, 11])
def test_totals_of_many_items_are_those_of_the_twin(unit, rankings):
    rng = np.random.default_rng(6)
    ptr = np.array([0, 270, 270, 300])
    before, half = (unit * rng.integers(0, 50, 270**2 + 30**2) for _ in range(2))
    tied = np.concatenate(
        [(m + m.T).reshape(-1) for m in (half[: 270**2].reshape(270, 270), half[270**2 :].reshape(30, 30))]
    )
    tier = rng.integers(0, 200, (rankings, 300))
    tier[0] = rng.permutation(300)
    arguments = ptr, before, tied, tier
    assert np.array_equal(compiled.ranking_totals(*arguments), twins.ranking_totals(*arguments))


def test_ballots_cost_what_the_same_rankings_cost():
    rng = np.random.default_rng(7)
    prefs = Preferences.from_rankings(
        [[str(k) for k in rng.permutation(280)[: rng.integers(1, 281)]] for _ in range(300)],
    )
    before, tied = rng.integers(0, 9, (2, 280**2)).astype(float)
    tier = np.full((300, 280), 300)
    tier[views.ballot_of_entry(prefs), prefs.entry_slot] = prefs.tier
    totals = compiled.ballot_totals(views.ballots(prefs), before, tied)
    assert np.array_equal(totals, twins.ranking_totals(prefs.slot_ptr, before, tied, tier)[:, 0])


def test_every_kernel_of_these_families_has_a_twin():
    for family in ("costs", "search", "local", "lehmer", "totals"):
        module = importlib.import_module(f"concordant.kernels.ordering.{family}")
        assert all(hasattr(compiled, name) for name in module.__all__)


@pytest.mark.parametrize("sizes", [(3, 0, 1, 7, 20), (150, 4, 110)])
@pytest.mark.parametrize("n_values", [3, 40, 100_000])
def test_strongest_paths_locked_pairs_and_tiers_are_those_of_the_twins(sizes: tuple[int, ...], n_values: int) -> None:
    rng = np.random.default_rng(len(sizes) * n_values)
    slot_ptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    support = []
    for m in sizes:
        votes = rng.integers(0, n_values, (m, m)) / 8.0
        np.fill_diagonal(votes, 0)
        support.append(votes)
    opposition = np.concatenate([votes.T.reshape(-1) for votes in support])
    strength = np.concatenate([np.where(votes > votes.T, votes, 0.0).reshape(-1) for votes in support])
    paths = compiled.strongest_paths(slot_ptr, strength)
    np.testing.assert_array_equal(paths, twins.strongest_paths(slot_ptr, strength))
    fallback = rng.integers(0, 4, int(slot_ptr[-1])).astype(np.int32)
    locked = compiled.lock_pairs(slot_ptr, strength, opposition, fallback)
    if max(sizes) <= 20:
        for one, other in zip(locked, twins.lock_pairs(slot_ptr, strength, opposition, fallback), strict=True):
            np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(compiled.order_tiers(slot_ptr, locked[0]), twins.order_tiers(slot_ptr, locked[0]))
