"""Consensus of least distance: exact methods equal brute force, approximations keep their guarantees."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import concordant as cc
from concordant import kernels, views
from concordant.aggregate.distance import kemeny
from concordant.aggregate.distance.footrule import position_costs
from concordant.metrics import footrule as footrule_distance
from concordant.metrics import kendall_to_each
from concordant.preferences import Preferences
from concordant.solvers.ordering import deadline, exact, optima, relaxation
from concordant.solvers.ordering.costs import pair_costs

MISSING = ("ignore", "last", "last-free")
APPROXIMATE = ("local-search", "fas-pivot", "faslp-pivot", "pick-a-perm", "insertion-sort", "footrule", "greedy-order")
quick = settings(max_examples=25)


def permutations(m):
    return np.array(list(itertools.permutations(range(m))), np.int64).reshape(-1, m)


def weak_orders(m):
    found = [np.array(t) for t in itertools.product(range(m), repeat=m) if set(t) == set(range(max(t) + 1))]
    return np.array(found, np.int64)


@st.composite
def elections(draw, largest=5, ties=True, partial=True, weights=(1.0, 2.0, 0.1, 0.7)):
    m, n = draw(st.integers(1, largest)), draw(st.integers(1, 6))
    rows = []
    for _ in range(n):
        row = np.array(draw(st.permutations(range(m))), np.float64)
        if ties:
            row = np.floor(row / draw(st.sampled_from([1, 1, 2, 3])))
        if partial:
            row[[draw(st.integers(0, 3)) == 0 for _ in range(m)]] = np.nan
        rows.append(row)
    ranks = np.array(rows)
    weight = np.array([draw(st.sampled_from(weights)) for _ in range(n)])
    return ranks, weight


def preferences(ranks, weight):
    """Ballots of these ranks (ballots x items, NaN: left out); empty ballots say nothing but count."""
    indptr = np.concatenate([[0], np.cumsum((~np.isnan(ranks)).sum(axis=1))])
    item = [i for row in ranks for i in np.flatnonzero(~np.isnan(row))]
    tier = [int(row[i]) for row in ranks for i in np.flatnonzero(~np.isnan(row))]
    return Preferences([f"i{k}" for k in range(ranks.shape[1])], indptr, item, tier, weight=weight)


def totals(candidates, ranks, weight, missing):
    """Return the total distance of every candidate ranking: half of how far the signs of all pairs lie apart."""
    i, j = np.triu_indices(ranks.shape[1], 1)
    signs = np.sign(candidates[:, i] - candidates[:, j])
    summed = np.zeros(len(candidates))
    for row, w in zip(ranks, weight, strict=True):
        left_out = np.isnan(row)
        full = np.where(left_out, np.inf, row)
        own = (full[i] > full[j]).astype(int) - (full[i] < full[j])
        counts = {
            "ignore": ~left_out[i] & ~left_out[j],
            "last": np.ones(len(i), bool),
            "last-free": ~(left_out[i] & left_out[j]),
        }[missing]
        summed += w * np.abs(signs - own)[:, counts].sum(axis=1) / 2
    return summed


def total(tier, ranks, weight, missing):
    return float(totals(np.asarray(tier)[None, :], ranks, weight, missing)[0])


def least(candidates, ranks, weight, missing):
    return float(totals(candidates, ranks, weight, missing).min())


@pytest.mark.parametrize("missing", MISSING)
def test_the_oracle_counts_what_the_metric_counts(missing):
    rng = np.random.default_rng(0)
    ranks = np.floor(rng.random((6, 5)) * 4)
    ranks[rng.random((6, 5)) < 0.3] = np.nan
    tier, weight = rng.integers(0, 3, 5), rng.random(6)
    expected = float(weight @ kendall_to_each(tier, ranks, p=0.5, missing=missing))
    assert total(tier, ranks, weight, missing) == pytest.approx(expected)


def tiers_of(ranking, m):
    tier = np.zeros(m)
    for level, group in enumerate(ranking.tiers):
        for label in group:
            tier[int(label[1:])] = level
    return tier


# ---- exact Kemeny ----
@pytest.mark.parametrize("missing", MISSING)
@quick
@given(elections())
def test_kemeny_equals_brute_force(missing, election):
    ranks, weight = election
    ranking = cc.rank(preferences(ranks, weight), "kemeny", missing=missing)
    assert total(tiers_of(ranking, ranks.shape[1]), ranks, weight, missing) == pytest.approx(
        ranking.fit["total_distance"], abs=1e-9
    )
    best = least(permutations(ranks.shape[1]), ranks, weight, missing)
    assert ranking.fit["total_distance"] == pytest.approx(best, abs=1e-9)
    assert ranking.fit["proven"] == 1
    assert ranking.fit["gap"] == 0
    assert len(ranking.tiers) == ranks.shape[1]


@pytest.mark.parametrize("missing", MISSING)
@quick
@given(elections(largest=4))
def test_kemeny_with_ties_equals_brute_force(missing, election):
    ranks, weight = election
    ranking = cc.rank(preferences(ranks, weight), "kemeny", result="weak", missing=missing)
    best = least(weak_orders(ranks.shape[1]), ranks, weight, missing)
    assert ranking.fit["total_distance"] == pytest.approx(best, abs=1e-9)
    assert total(tiers_of(ranking, ranks.shape[1]), ranks, weight, missing) == pytest.approx(best, abs=1e-9)


def test_kemeny_equals_brute_force_for_seven_items():
    rng = np.random.default_rng(0)
    ranks = np.array([np.floor(rng.permutation(7) / rng.integers(1, 3)) for _ in range(5)])
    weight = rng.integers(1, 4, 5) / 10
    ranking = cc.rank(preferences(ranks, weight), "kemeny")
    assert ranking.fit["total_distance"] == pytest.approx(least(permutations(7), ranks, weight, "last"), abs=1e-9)


@pytest.mark.parametrize("output", ["permutation", "weak"])
@pytest.mark.parametrize("weight", ["whole", "fractions", "no common unit"])
def test_the_linear_programme_finds_what_dynamic_programming_finds(output, weight, monkeypatch):
    rng = np.random.default_rng(7)
    for items in (5, 8):
        ranks = np.array([np.floor(rng.permutation(items) / rng.integers(1, 4)) for _ in range(9)])
        weights = {
            "whole": rng.integers(1, 9, 9),
            "fractions": rng.integers(1, 9, 9) / 100,
            "no common unit": rng.random(9),
        }
        prefs = preferences(ranks, weights[weight].astype(float))
        by_table = cc.rank(prefs, "kemeny", result=output)
        with monkeypatch.context() as patch:
            for module in (exact, optima):
                patch.setattr(module, "LARGEST_TABLE", 1)
                patch.setattr(module, "LARGEST_WEAK_TABLE", 1)
            by_programme = cc.rank(prefs, "kemeny", result=output)
        assert by_programme.fit["total_distance"] == pytest.approx(by_table.fit["total_distance"], rel=1e-9)
        assert by_programme.fit["proven"] == 1
        assert by_programme.fit.get("unique", by_table.fit["unique"]) == by_table.fit["unique"]


def random_votes(items, voters, seed):
    rng = np.random.default_rng(seed)
    return preferences(np.array([rng.permutation(items) for _ in range(voters)], float), np.ones(voters))


@pytest.mark.slow
def test_branch_and_cut_equals_dynamic_programming_for_14_items(monkeypatch):
    for seed in range(5):
        prefs = random_votes(14, 6, seed)
        by_table = cc.rank(prefs, "kemeny")
        with monkeypatch.context() as patch:
            patch.setattr(exact, "LARGEST_TABLE", 1)
            by_programme = cc.rank(prefs, "kemeny")
        assert by_programme.fit["total_distance"] == by_table.fit["total_distance"]


def test_a_gap_that_needs_branching_is_closed():
    ranking = cc.rank(random_votes(36, 11, 5), "kemeny")
    assert ranking.fit["proven"] == 1


def test_without_time_the_gap_is_honest():
    prefs = random_votes(30, 11, 3)
    rushed = cc.rank(prefs, "kemeny", time_limit=0.0)
    proven = cc.rank(prefs, "kemeny")
    assert rushed.fit["proven"] == 0
    assert "not-proven-optimal" in {notice.name for notice in rushed.warnings}
    assert rushed.fit["lower_bound"] <= proven.fit["total_distance"] <= rushed.fit["total_distance"]
    assert 0 < rushed.fit["gap"] <= 1


class Clock:
    """Stands still for so many looks at it, then is past every limit; notes who works after that."""

    def __init__(self, looks):
        self.looks, self.late_work = looks, []

    def __call__(self):
        self.looks -= 1
        return 0.0 if self.looks >= 0 else 1e6

    def watch(self, name, work, is_short=lambda *_: False):
        def watched(*args, **kwargs):
            if self.looks < 0 and not is_short(*args):
                self.late_work.append(name)
            return work(*args, **kwargs)

        return watched


@pytest.mark.parametrize("output", ["permutation", "weak"])
@pytest.mark.parametrize("looks", [1, 2, 3, 5, 8, 16, 40])
def test_whatever_kemeny_is_doing_it_begins_nothing_new_when_the_time_is_over(monkeypatch, output, looks):
    prefs = random_votes(20, 11, 3)
    best = cc.rank(prefs, "local-search", result=output).fit["total_distance"]
    clock = Clock(looks)
    monkeypatch.setattr(deadline, "now", clock)
    monkeypatch.setattr(relaxation, "MAX_TRIPLES", 20**2 * 6)
    monkeypatch.setattr(exact, "PAIRS_AT_ONCE", 20**2 * 5)
    monkeypatch.setattr(exact, "MAX_SHAKES", 40)

    def is_quick(*args):  # local search without shakes
        return len(args[-1]) == 0

    for name in ("search_orders", "search_weak_orders"):
        monkeypatch.setattr(kernels, name, clock.watch(name, getattr(kernels, name), is_quick))
    monkeypatch.setattr(kernels, "violated_triangles", clock.watch("cuts", kernels.violated_triangles))
    ranking = cc.rank(prefs, "kemeny", result=output, time_limit=10.0)
    assert clock.late_work in ([], ["cuts"])  # what a programme that took too long still asks for
    assert clock.looks > -12
    assert ranking.fit["lower_bound"] <= best
    assert ranking.fit["total_distance"] <= 1.2 * best
    assert ranking.fit["proven"] == float(ranking.fit["gap"] == 0)


def test_without_time_small_blocks_that_remain_keep_the_order_of_net_wins(monkeypatch):
    rng = np.random.default_rng(1)
    rankings = [[f"i{k}" for k in rng.permutation(6)] for _ in range(30)]
    prefs = Preferences.from_rankings(rankings, instance=[f"q{k // 3}" for k in range(30)])
    proven = cc.rank(prefs, "kemeny")
    monkeypatch.setattr(exact, "STEPS_AT_ONCE", 400.0)
    assert cc.rank(prefs, "kemeny").fit["total_distance"] == proven.fit["total_distance"]
    rushed = cc.rank(prefs, "kemeny", time_limit=0.0)
    assert rushed.fit["lower_bound"] <= proven.fit["total_distance"] <= rushed.fit["total_distance"]
    assert rushed.fit["proven"] == 0
    assert cc.rank(prefs, "kemeny", time_limit=None).fit["proven"] == 1


@pytest.mark.parametrize("allow_ties", [False, True])
def test_shakes_in_parts_find_the_same_as_all_at_once(monkeypatch, allow_ties):
    costs = pair_costs(random_votes(15, 7, 2), "last")
    draw = np.random.default_rng(3).random((50, 6))
    problem = costs.slot_ptr, costs.before, costs.tied, np.arange(15), draw, allow_ties
    whole = exact.search_tiers(*problem)
    monkeypatch.setattr(exact, "PAIRS_AT_ONCE", 15**2 * 7)
    assert (exact.search_tiers(*problem, deadline.Deadline()) == whole).all()


def test_programmes_too_large_for_memory_are_left_to_local_search(monkeypatch):
    prefs = random_votes(24, 11, 3)
    proven = cc.rank(prefs, "kemeny").fit
    monkeypatch.setattr(relaxation, "LARGEST_PROGRAMME", 100)
    fit = cc.rank(prefs, "kemeny").fit
    assert fit["lower_bound"] <= proven["total_distance"] <= fit["total_distance"]
    assert fit["proven"] == 0
    assert "time-limit" in {notice.name for notice in cc.rank(prefs, "faslp-pivot").warnings}


def test_the_linear_programme_of_faslp_pivot_gives_a_bound():
    prefs = random_votes(24, 11, 3)
    proven = cc.rank(prefs, "kemeny").fit
    found, rushed = (cc.rank(prefs, "faslp-pivot", time_limit=limit).fit for limit in (30.0, 0.0))
    assert rushed["lower_bound"] < found["lower_bound"] <= proven["total_distance"] <= found["total_distance"]
    assert found["lower_bound"] > 0.99 * proven["total_distance"]


def test_a_ranking_says_how_close_it_is_to_the_best():
    prefs = random_votes(24, 11, 3)
    assert cc.rank(prefs, "kemeny").verdict == "proven optimal: no ranking has a smaller total distance"
    rushed = cc.rank(prefs, "kemeny", time_limit=0.0)
    assert rushed.verdict == f"within {100 * rushed.fit['gap']:.2g}% of the smallest total distance"
    assert rushed.verdict in rushed.to_text()
    assert cc.rank(prefs, "borda").verdict is None


def test_progress_reports_bounds_that_meet():
    seen = []
    with kemeny.watching(lambda bound, cost: seen.append((bound, cost))):
        ranking = cc.rank(random_votes(25, 7, 1), "kemeny")
    assert seen[-1][0] == seen[-1][1] == ranking.fit["total_distance"]
    assert all(bound <= cost for bound, cost in seen)


# ---- all optima ----
@quick
@given(elections(largest=4), st.sampled_from(["permutation", "weak"]))
def test_all_optima_are_listed_and_uniqueness_is_right(election, output):
    ranks, weight = election
    m = ranks.shape[1]
    candidates = permutations(m) if output == "permutation" else weak_orders(m)
    costs = totals(candidates, ranks, weight, "last")
    best = {tuple(tier) for tier in candidates[costs < costs.min() + 1e-9].tolist()}
    ranking = cc.rank(preferences(ranks, weight), "kemeny", result=output, missing="last", optima=1000)
    listed = set()
    for tiers in ranking.model.optima():
        tier = np.zeros(m, int)
        for level, group in enumerate(tiers):
            tier[[int(label[1:]) for label in group]] = level
        listed.add(tuple(tier.tolist()))
    assert listed == best
    assert ranking.fit["unique"] == (len(best) == 1)
    assert ("several-optima" in {notice.name for notice in ranking.warnings}) == (len(best) > 1)


def test_the_list_of_optima_is_bounded():
    ballots = [[f"i{k}" for k in range(8)], [f"i{k}" for k in reversed(range(8))]]
    ranking = cc.rank(Preferences.from_rankings(ballots), "kemeny", optima=5)
    assert len(ranking.model.optima()) == 5


def test_optima_of_large_blocks_are_found_by_forbidding_the_known_ones(monkeypatch):
    prefs = random_votes(7, 4, 2)
    expected = {str(tiers) for tiers in cc.rank(prefs, "kemeny", optima=100).model.optima()}
    for module in (exact, optima):
        monkeypatch.setattr(module, "LARGEST_TABLE", 1)
    found = {str(tiers) for tiers in cc.rank(prefs, "kemeny", optima=100).model.optima()}
    assert found == expected


# ---- approximations ----
@pytest.mark.parametrize("name", APPROXIMATE)
@quick
@given(elections())
def test_an_approximation_says_what_its_ranking_costs_and_is_not_below_the_optimum(name, election):
    ranks, weight = election
    ranking = cc.rank(preferences(ranks, weight), name, missing="last")
    cost = total(tiers_of(ranking, ranks.shape[1]), ranks, weight, "last")
    assert ranking.fit["total_distance"] == pytest.approx(cost, abs=1e-9)
    assert cost >= least(weak_orders(ranks.shape[1]), ranks, weight, "last") - 1e-9


@quick
@given(elections(largest=6, ties=False, partial=False))
def test_guarantees_on_permutations(election):
    ranks, weight = election
    prefs = preferences(ranks, weight)
    optimum = cc.rank(prefs, "kemeny").fit["total_distance"]
    borda = tiers_of(cc.rank(prefs, "borda"), ranks.shape[1])
    for level in {*borda.tolist()}:  # break ties anyhow
        same = np.flatnonzero(borda == level)
        borda[same] += np.linspace(0, 0.5, len(same))
    assert cc.rank(prefs, "footrule").fit["total_distance"] <= 2 * optimum + 1e-9
    assert cc.rank(prefs, "pick-a-perm").fit["total_distance"] <= 2 * optimum + 1e-9
    assert total(borda, ranks, weight, "last") <= 5 * optimum + 1e-9


@pytest.mark.parametrize(("name", "factor"), [("fas-pivot", 3.0), ("faslp-pivot", 2.5), ("pick-a-perm", 2.0)])
def test_pivots_and_random_ballots_keep_their_factor_in_expectation(name, factor):
    rng = np.random.default_rng(0)
    params = {"choice": "random"} if name == "pick-a-perm" else {"repeats": 1, "pick": False}
    for _ in range(5):
        ranks = np.array([rng.permutation(6) for _ in range(5)], float)
        prefs = preferences(ranks, np.ones(5))
        optimum = cc.rank(prefs, "kemeny").fit["total_distance"]
        costs = [cc.rank(prefs, name, seed=s, **params).fit["total_distance"] for s in range(40)]
        assert np.mean(costs) <= factor * optimum


@quick
@given(elections())
def test_local_search_with_ties_is_no_worse_than_without(election):
    prefs = preferences(*election)
    strict, weak = (cc.rank(prefs, "local-search", result=output) for output in ("permutation", "weak"))
    assert weak.fit["total_distance"] <= strict.fit["total_distance"] + 1e-9


@pytest.mark.parametrize("start", ["fas-pivot", "footrule", "insertion-sort", "lehmer", "pick-a-perm"])
def test_every_method_can_start_the_local_search(start):
    prefs = random_votes(12, 9, 0)
    optimum = cc.rank(prefs, "kemeny").fit["total_distance"]
    assert cc.rank(prefs, "local-search", start=start).fit["total_distance"] == optimum


@quick
@given(elections(largest=5))
def test_footrule_equals_brute_force(election):
    ranks, weight = election
    prefs = preferences(ranks, weight)
    ranking = cc.rank(prefs, "footrule", missing="last")
    candidates = permutations(ranks.shape[1])
    costs = np.zeros(len(candidates))
    for row, w in zip(ranks, weight, strict=True):
        costs += w * np.array([footrule_distance(tier, row, missing="last") for tier in candidates])
    assert ranking.fit["total_footrule"] == pytest.approx(costs.min(), abs=1e-9)
    assert len(position_costs(prefs, "last")) == ranks.shape[1] ** 2


def test_insertion_sort_leaves_no_neighbours_that_should_change_places():
    ranks = np.array([np.random.default_rng(s).permutation(9) for s in range(7)], float)
    order = cc.rank(preferences(ranks, np.ones(7)), "insertion-sort", repeats=1).items
    places = [int(label[1:]) for label in order]
    for above, below in itertools.pairwise(places):
        assert (ranks[:, above] < ranks[:, below]).sum() >= 3.5


def greedy(share):
    """Order items as the lecture on preference learning does: by net preference among those that remain."""
    left, order = list(range(len(share))), []
    while left:
        net = [sum(share[i, j] - share[j, i] for j in left if j != i) for i in left]
        order.append(left.pop(int(np.argmax(np.round(net, 9)))))
    return order


def test_greedy_order_solves_the_worked_example_of_the_lecture():
    shares = {"ab": 0, "ac": 1 / 4, "ad": 1 / 8, "bc": 1, "bd": 1, "cd": 1 / 8}
    rows = [(a, b, w) for (a, b), f in shares.items() for a, b, w in ((a, b, f), (b, a, 1 - f)) if w]
    winner, loser, weight = zip(*rows, strict=True)
    prefs = cc.Preferences.from_pairs(winner, loser, weight=weight)
    assert cc.rank(prefs, "cohen").items == ["b", "d", "c", "a"]


@pytest.mark.parametrize("missing", MISSING)
@quick
@given(elections())
def test_greedy_order_places_the_largest_net_preference_first(missing, election):
    ranks, weight = election
    prefs = preferences(ranks, weight)
    m = ranks.shape[1]
    counts = views.win_matrices(prefs, missing)
    wins, ties = counts.wins.reshape(m, m), counts.ties.reshape(m, m)
    total = wins + wins.T + ties
    share = np.where(total > 0, (wins + ties / 2) / np.where(total > 0, total, 1), 0.5)
    places = [int(label[1:]) for label in cc.rank(prefs, "greedy-order", missing=missing).items]
    assert agreement_of(places, share) == pytest.approx(agreement_of(greedy(share), share))
    best = max(agreement_of(order, share) for order in itertools.permutations(range(m)))
    assert agreement_of(places, share) >= best / 2
    by_component = cc.rank(prefs, "greedy-order", missing=missing, components=True).items
    assert agreement_of([int(label[1:]) for label in by_component], share) >= best / 2


def agreement_of(order, share):
    return sum(share[i, j] for i, j in itertools.combinations(order, 2))


def test_greedy_order_by_components_is_optimal_without_cycles():
    prefs = cc.Preferences.from_rankings([list("abcd"), list("abdc"), list("bacd")], weight=[3, 1, 1])
    assert cc.rank(prefs, "greedy-order", components=True).items == cc.rank(prefs, "kemeny").items == list("abcd")


# ---- edges ----
@pytest.mark.parametrize("name", ["kemeny", *APPROXIMATE, "lehmer"])
@pytest.mark.parametrize(
    "ballots",
    [
        [["a"]],
        [["a", "b"]],
        [[["a", "b", "c"]]],
        [["a", "b"], ["c", "d"]],
        [["a", "b", "c"], ["a", "c", "b"]],
        [["a", "b"], ["a", "c"], ["b", "c"], ["c", "b"]],
    ],
)
def test_edge_cases_are_finite(name, ballots):
    ranking = cc.rank(Preferences.from_rankings(ballots), name)
    assert np.isfinite(ranking.score).all()


@pytest.mark.parametrize("name", ["kemeny", *APPROXIMATE, "lehmer"])
def test_candidates_nobody_ranked_are_named_in_a_warning(name):
    prefs = Preferences.from_rankings([["a", "b"]], candidates=["a", "b", "c"])
    notices = {notice.name: notice.items for notice in cc.rank(prefs, name).warnings}
    assert notices["unranked-candidates"] == ("c",)


def test_a_kemeny_ranking_ignores_the_order_of_instances_and_their_number():
    ballots = [["a", "b", "c"], ["b", "c", "a"], ["c", "b", "a"], ["x", "y"]]
    prefs = Preferences.from_rankings(ballots, instance=["p", "p", "p", "q"])
    ranking = cc.rank(prefs, "kemeny")
    assert ranking["p"].items == ["b", "c", "a"]
    assert ranking["q"].items == ["x", "y"]
    assert ranking.fit["total_distance"] == 2 + 0 + 1
