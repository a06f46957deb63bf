"""Lehmer codes: definitions by loops, both statistics, ties and missing items, threads and parts."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import concordant as cc
from concordant import kernels, simulate, views
from concordant.aggregate.distance.lehmer import Lehmer, decode, encode
from concordant.preferences import Preferences

quick = settings(max_examples=40)


def code_by_definition(order):
    place = {item: k for k, item in enumerate(order)}
    return [sum(place[y] > place[x] for y in range(x)) for x in range(len(order))]


@quick
@given(st.integers(1, 9).flatmap(lambda m: st.permutations(range(m))))
def test_codes_follow_the_definition_and_decode_back(order):
    rows = np.array([order], np.int32)
    assert encode(rows)[0].tolist() == code_by_definition(order)
    assert decode(encode(rows))[0].tolist() == list(order)


@pytest.mark.parametrize("m", [63, 64, 65, 128, 129, 513, 700])
def test_long_codes_decode_back(m):
    rng = np.random.default_rng(m)
    orders = np.array([rng.permutation(m) for _ in range(3)], np.int32)
    assert (decode(encode(orders)) == orders).all()
    assert encode(orders)[0].tolist() == code_by_definition(orders[0].tolist())


def test_every_subdiagonal_vector_is_a_code():
    codes = np.array(list(itertools.product(range(1), range(2), range(3), range(4))), np.int32)
    assert len({tuple(row) for row in decode(codes).tolist()}) == 24


def votes_by_definition(ranks, weight, missing):
    """Spread each vote over c … c' as the paper defines them."""
    m = ranks.shape[1]
    votes = [np.zeros(x + 1) for x in range(m)]
    for row, w in zip(ranks, weight, strict=True):
        filled = np.where(np.isnan(row), np.inf, row)
        for x in range(m):
            if missing == "ignore" and np.isnan(row[x]):
                continue
            absent = sum(np.isnan(row[y]) for y in range(x)) if missing == "ignore" else 0
            worse = sum(filled[y] > filled[x] for y in range(x)) - absent
            tied = sum(filled[y] == filled[x] for y in range(x))
            votes[x][worse : worse + tied + absent + 1] += w / (tied + absent + 1)
    return np.concatenate(votes)


@pytest.mark.parametrize("missing", ["last", "ignore", "last-free"])
@quick
@given(st.integers(0, 10_000))
def test_votes_follow_the_definition(missing, seed):
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(1, 7)), int(rng.integers(1, 6))
    ranks = np.floor(np.array([rng.permutation(m) for _ in range(n)]) / rng.integers(1, 4))
    ranks[rng.random((n, m)) < 0.2] = np.nan
    weight = rng.integers(1, 4, n) / rng.choice([1, 10])
    sizes = (~np.isnan(ranks)).sum(axis=1)
    named = [np.flatnonzero(~np.isnan(row)) for row in ranks]
    prefs = Preferences(
        [f"i{k}" for k in range(m)],
        np.concatenate([[0], np.cumsum(sizes)]),
        np.concatenate(named),
        np.concatenate([row[own] for row, own in zip(ranks, named, strict=True)]),
        weight=weight,
    )
    method = Lehmer(reference="input", missing=missing)
    votes = method.votes(prefs)
    assert votes == pytest.approx(votes_by_definition(ranks, weight, missing), abs=1e-9)
    for statistic in ("mode", "median"):
        ranked = cc.rank(prefs, "lehmer", reference="input", missing=missing, statistic=statistic)
        order = Lehmer(statistic=statistic).consensus(m, votes)
        assert ranked.items == [f"i{k}" for k in order]


def ballots(orders):
    n, m = orders.shape
    tier = np.tile(np.arange(m), n)
    return Preferences([f"i{k}" for k in range(m)], np.arange(n + 1) * m, orders.reshape(-1), tier)


@pytest.mark.parametrize("m", [10, 100, 150])
def test_mode_and_median_are_those_of_the_columns(m):
    rng = np.random.default_rng(m)
    centre = rng.permutation(m)
    noise = np.argsort(np.argsort(centre) + rng.normal(0, 3, (31, m)), axis=1).astype(np.int32)
    codes = encode(noise)
    prefs = ballots(noise)
    expected = {
        "median": np.sort(codes, axis=0)[15],
        "mode": np.array([np.bincount(column).argmax() for column in codes.T]),
    }
    for statistic, code in expected.items():
        found = cc.rank(prefs, "lehmer", statistic=statistic, reference="input").items
        assert found == [f"i{k}" for k in decode(code[None, :])[0]]


def test_an_even_number_of_ballots_takes_the_lower_median_and_a_tied_mode_the_smallest_value():
    prefs = Preferences.from_rankings([["a", "b"], ["b", "a"]])
    for statistic in ("median", "mode"):
        assert cc.rank(prefs, "lehmer", statistic=statistic, reference="input").items == ["a", "b"]


def test_votes_of_parts_add_up():
    rng = np.random.default_rng(0)
    orders = np.array([rng.permutation(6) for _ in range(20)], np.int32)
    method = Lehmer(reference="input")
    whole = method.votes(ballots(orders))
    assert whole == pytest.approx(method.votes(ballots(orders[:7])) + method.votes(ballots(orders[7:])))


def test_blocks_of_coordinates_and_chunks_of_ballots_do_not_change_the_answer(backend):
    rng = np.random.default_rng(1)
    prefs = ballots(np.array([rng.permutation(40) for _ in range(30)], np.int32))
    arrays = views.ballots(prefs)
    place = np.arange(40, dtype=np.int32)
    for weight in (prefs.weight, prefs.weight * 0.3):
        own = arrays._replace(weight=weight)
        codes = [kernels.lehmer_consensus(own, place, False, True, most) for most in (1, 50, 10**6)]
        assert all((code == codes[0]).all() for code in codes)


def test_many_ballots_in_threads_give_what_one_thread_gives(backend):
    if backend == "twins":
        pytest.skip("the twin has no threads")
    rng = np.random.default_rng(2)
    orders = np.argsort(rng.random((60_000, 20)), axis=1).astype(np.int32)
    method = Lehmer(reference="input")
    expected = np.concatenate([np.bincount(column, minlength=x + 1) for x, column in enumerate(encode(orders).T)])
    assert (method.votes(ballots(orders)) == expected).all()


@pytest.mark.parametrize("bucketing", ["exact", "greedy"])
def test_buckets_never_cost_more_than_the_permutation(bucketing):
    rng = np.random.default_rng(3)
    for _ in range(20):
        rows = [[f"i{k}" for k in rng.permutation(7)] for _ in range(5)]
        tied = [[row[0], row[1:4], *row[4:]] for row in rows]
        prefs = Preferences.from_rankings(tied)
        strict = cc.rank(prefs, "lehmer", measure=True).fit["total_distance"]
        weak = cc.rank(prefs, "lehmer", result="weak", bucketing=bucketing).fit["total_distance"]
        exact = cc.rank(prefs, "lehmer", result="weak").fit["total_distance"]
        assert exact <= weak <= strict


def test_exact_buckets_are_the_best_of_all_boundaries():
    rng = np.random.default_rng(4)
    for _ in range(20):
        m = 6
        before = rng.integers(0, 9, (m, m)).astype(float)
        tied = np.floor((before + before.T) / 2)
        order = rng.permutation(m)
        ptr = np.array([0, m])
        tier = kernels.bucket_orders(ptr, before.reshape(-1), tied.reshape(-1), order, False)
        candidates = []
        for cuts in itertools.product([0, 1], repeat=m - 1):
            level = np.empty(m, np.int64)
            level[order] = np.concatenate([[0], np.cumsum(cuts)])
            candidates.append(level)
        totals = kernels.ranking_totals(ptr, before.reshape(-1), tied.reshape(-1), np.array([tier, *candidates]))[:, 0]
        assert totals[0] == totals[1:].min()


@pytest.mark.parametrize("statistic", ["mode", "median"])
@pytest.mark.parametrize("reference", ["auto", "borda", "outside-in"])
def test_references_by_borda_make_the_answer_independent_of_numbering(statistic, reference):
    drawn = simulate.mallows(7, 40, phi=0.7, centre="random", seed=4)
    rows = [[drawn.items[k] for k in row] for row in drawn.item.reshape(40, 7).tolist()]
    levels = cc.rank(drawn, "borda").scores
    assert len(set(levels.tolist())) == 7  # no ties in the reference
    method = {"statistic": statistic, "reference": reference}
    one = cc.rank(Preferences.from_rankings(rows), "lehmer", **method).items
    other = cc.rank(Preferences.from_rankings(rows, candidates=sorted(drawn.items)[::-1]), "lehmer", **method).items
    assert one == other


def test_the_median_is_taken_over_the_borda_order_from_both_ends():
    for size, places in ((5, [0, 2, 4, 3, 1]), (6, [0, 2, 4, 5, 3, 1]), (1, [0])):
        prefs = Preferences.from_rankings([[f"i{k}" for k in range(size)]])
        assert Lehmer(statistic="median")._reference(prefs, "last").tolist() == places
        assert Lehmer(statistic="mode")._reference(prefs, "last").tolist() == list(range(size))


def test_over_this_order_the_median_is_less_biased():
    drawn = simulate.mallows(20, 300, phi=0.8, centre="random", seed=1)
    best = cc.rank(drawn, "local-search").fit["total_distance"]
    ratio = {
        reference: cc.rank(drawn, "lehmer-median", reference=reference, measure=True).fit["total_distance"] / best
        for reference in ("auto", "borda")
    }
    assert ratio["auto"] < 1.1
    assert ratio["borda"] > 1.3
