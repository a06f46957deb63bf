"""Pairwise counts against counting by hand, in all the ways the kernel chooses to do it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.cases import one_silent_instance

from concordant import laws, views
from concordant.preferences import Preferences


def count_by_hand(prefs, missing):
    """Wins and ties of every instance straight from the definition."""
    results = []
    for q in range(prefs.n_instances):
        candidates = range(prefs.slot_ptr[q], prefs.slot_ptr[q + 1])
        wins, ties = np.zeros((2, len(candidates), len(candidates)))
        for b in np.flatnonzero(prefs.instance_of_ballot == q):
            span = slice(prefs.indptr[b], prefs.indptr[b + 1])
            tier_of = dict(zip(prefs.entry_slot[span].tolist(), prefs.tier[span].tolist(), strict=True))
            last = max(tier_of.values(), default=0)
            is_open = prefs.open is not None and prefs.open[b]
            for x, i in enumerate(candidates):
                for y, j in enumerate(candidates):
                    a, c = tier_of.get(i, np.inf), tier_of.get(j, np.inf)
                    if x == y or (missing == "ignore" and np.inf in (a, c)):
                        continue
                    if a < c:
                        wins[x, y] += prefs.weight[b]
                    is_free = (is_open and a == last) or (missing == "last-free" and a == np.inf)
                    if a == c and not is_free:
                        ties[x, y] += prefs.weight[b]
        results.append((wins, ties))
    return results


def assert_counts_are_right(prefs, missing):
    counts = views.win_matrices(prefs, missing)
    for q, (wins, ties) in enumerate(count_by_hand(prefs, missing)):
        np.testing.assert_allclose(counts.matrix(q), wins, atol=1e-9)
        np.testing.assert_allclose(counts.tie_matrix(q), ties, atol=1e-9)


@pytest.mark.parametrize("missing", views.MISSING)
def test_counts_of_small_preferences_are_those_counted_by_hand(missing):
    rng = np.random.default_rng(0)
    for _ in range(60):
        assert_counts_are_right(laws.random_preferences(rng), missing)


@pytest.mark.parametrize("missing", views.MISSING)
@pytest.mark.parametrize("weights", ["equal", "few", "fractional"])
@pytest.mark.parametrize("kind", ["strict", "tied", "incomplete", "open"])
def test_counts_of_long_ballots_are_those_counted_by_hand(missing, weights, kind):
    rng = np.random.default_rng(1)
    n_items, n_ballots = 19, 41
    sizes = rng.integers(15, n_items, n_ballots) if kind == "incomplete" else np.full(n_ballots, n_items)
    item = np.concatenate([rng.permutation(n_items)[:size] for size in sizes])
    steps = np.ones(len(item), int) if kind == "strict" else rng.integers(0, 2, len(item))
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    tier = np.concatenate([np.cumsum(steps[a:b]) for a, b in itertools.pairwise(indptr)])
    draw = {"equal": lambda n: np.full(n, 3.0), "few": lambda n: rng.integers(1, 4, n), "fractional": rng.random}
    prefs = Preferences(
        [f"item {k}" for k in range(n_items)],
        indptr,
        item,
        tier,
        weight=draw[weights](n_ballots),
        open=rng.random(n_ballots) < 0.5 if kind == "open" else None,
    )
    assert_counts_are_right(prefs, missing)


def expected_counts(table, weight, missing, is_open):
    """Wins and ties of ballots given as rows of tiers (inf: left out), pair by pair over all ballots at once."""
    is_named = np.isfinite(table)
    last = np.where(is_named, table, -np.inf).max(axis=1, keepdims=True)
    is_free = (is_open[:, None] & (table == last)) | (~is_named & (missing != "last"))
    wins, ties = np.zeros((2, table.shape[1], table.shape[1]))
    for x in range(table.shape[1]):
        own = table[:, x : x + 1]
        before = (own < table) & (is_named if missing == "ignore" else True)
        wins[x] = weight @ before
        ties[x] = weight @ ((own == table) & ~is_free)
        ties[x, x] = 0
    return wins, ties


@pytest.mark.parametrize("missing", views.MISSING)
@pytest.mark.parametrize("share", [1.0, 0.6, 0.06])
@pytest.mark.parametrize("weights", ["equal", "fractional"])
def test_counts_of_more_candidates_than_a_tile_holds(missing, share, weights):
    rng = np.random.default_rng(3)
    n_items, n_ballots = 230, 37
    table = np.full((n_ballots, n_items), np.inf)
    for row in table:
        named = rng.permutation(n_items)[: max(int(share * n_items * rng.random() ** 0.1), 9)]
        row[named] = rng.integers(0, 60, len(named))
    ballot, item = np.nonzero(np.isfinite(table))
    order = np.lexsort((table[ballot, item], ballot))
    prefs = Preferences(
        [str(k) for k in range(n_items)],
        np.searchsorted(ballot, np.arange(n_ballots + 1)),
        item[order],
        table[ballot, item][order].astype(int),
        weight=rng.random(n_ballots) if weights == "fractional" else np.full(n_ballots, 2.0),
        open=rng.random(n_ballots) < 0.3,
    )
    counts = views.win_matrices(prefs, missing)
    slots = prefs.slot_item
    wins, ties = expected_counts(table[:, slots], prefs.weight, missing, prefs.open)
    np.testing.assert_allclose(counts.matrix(), wins, atol=1e-9)
    np.testing.assert_allclose(counts.tie_matrix(), ties, atol=1e-9)


def test_more_ballots_than_fit_one_block_are_all_counted():
    rng = np.random.default_rng(2)
    n_items, n_ballots = 16, 1100
    item = np.concatenate([rng.permutation(n_items) for _ in range(n_ballots)])
    tier = np.tile(np.arange(n_items), n_ballots)
    prefs = Preferences([str(k) for k in range(n_items)], np.arange(n_ballots + 1) * n_items, item, tier)
    position = np.argsort(item.reshape(n_ballots, n_items), axis=1)
    expected = (position[:, :, None] < position[:, None, :]).sum(axis=0)
    assert np.array_equal(views.win_matrices(prefs).matrix(), expected)


def test_whole_weights_are_counted_exactly():
    big = 2.0**52
    prefs = Preferences.from_rankings([["a", "b"], ["b", "a"], ["a", "c"]], weight=[big, big - 1, 1])
    wins = views.win_matrices(prefs, "last").matrix()
    assert wins[0, 1] - wins[1, 0] == 2


def test_fractions_that_cancel_leave_nothing():
    prefs = Preferences.from_rankings([["a"], ["a"], ["a"], ["b", "a"]], weight=[0.1, 0.2, 0.3, 0.7])
    counts = views.win_matrices(prefs, "last")
    assert counts.tie_matrix()[0, 1] == 0
    assert counts.matrix()[1, 0] == pytest.approx(0.7)


def test_an_instance_without_ballots_has_an_empty_count():
    prefs = one_silent_instance()
    assert not views.win_matrices(prefs).matrix(1).any()
