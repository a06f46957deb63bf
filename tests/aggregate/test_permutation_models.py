"""Mallows, generalised Mallows and CPS: normalisers by enumeration, known dispersions, greedy steps by brute force."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from tests.cases import EDGES

import concordant as cc
from concordant import simulate
from concordant.aggregate.permutation import _centre, _cosets, _dispersion, _displacement, _insertion
from concordant.aggregate.permutation._centre import against

METHODS = ("mallows", "generalised-mallows", "cps")
DISTANCES = ("kendall", "footrule", "spearman")


def kendall(order):
    return sum(order[i] > order[j] for i in range(len(order)) for j in range(i + 1, len(order)))


def distance(kind, order):
    """The distance of a permutation of 0, 1, … to the identity."""
    if kind == "kendall":
        return kendall(order)
    shift = [abs(item - place) for place, item in enumerate(order)]
    return sum(shift) if kind == "footrule" else sum(s * s for s in shift)


def draw_mallows(phi, n_items, n_ballots, seed):
    """Repeated insertion."""
    rng = np.random.default_rng(seed)
    ballots = []
    for _ in range(n_ballots):
        ballot: list[str] = []
        for i in range(n_items):
            chance = phi ** np.arange(i + 1.0)
            ballot.insert(i - rng.choice(i + 1, p=chance / chance.sum()), f"i{i}")
        ballots.append(ballot)
    return ballots


# ---- dispersions ----
@pytest.mark.parametrize("theta", [0.0, 1e-5, 0.3, 2.0])
def test_mean_and_normaliser_of_the_kendall_distance_agree_with_enumeration(theta):
    every = np.array([kendall(order) for order in permutations(range(5))])
    weight = np.exp(-theta * every)
    row, size = np.array([0]), np.array([5])
    assert _dispersion.mean_kendall(np.array([theta]), row, size)[0] == pytest.approx(weight @ every / weight.sum())
    assert _dispersion.log_kendall(np.array([theta]), row, size)[0] == pytest.approx(np.log(weight.sum()))


@pytest.mark.parametrize("kind", ["footrule", "spearman"])
@pytest.mark.parametrize("n_items", [1, 2, 3, 5, 7])
def test_normalisers_of_the_other_distances_agree_with_enumeration(kind, n_items):
    every = np.array([distance(kind, order) for order in permutations(range(n_items))], float)
    theta = np.array([0.0, 1e-7, 0.01, 0.2, 1.0, 4.0, 40.0])
    weight = np.exp(-theta[:, None] * every)
    found = _displacement.normaliser(kind, theta, n_items)
    assert found.log == pytest.approx(np.log(weight.sum(axis=1)), abs=1e-12)
    assert found.mean == pytest.approx(weight @ every / weight.sum(axis=1), rel=1e-10, abs=0)
    assert (found.error == 0).all()


def spearman_by_sets(theta, n_items):
    """log Z by the sum over sets of values taken so far: 2^n terms, nothing left out."""
    ways = {0: 1.0}
    for place in range(n_items):
        grown: dict[int, float] = {}
        for taken, weight in ways.items():
            for value in range(n_items):
                if not taken >> value & 1:
                    after = taken | 1 << value
                    grown[after] = grown.get(after, 0.0) + weight * np.exp(-theta * (value - place) ** 2)
        ways = grown
    return np.log(ways[2**n_items - 1])


@pytest.mark.parametrize("theta", [1e-4, 0.02, 0.1, 0.19, 0.21, 0.4, 2.0])
def test_spearman_with_more_items_is_as_exact_as_it_says(theta):
    found = _displacement.normaliser("spearman", np.array([theta]), 13)
    exact = spearman_by_sets(theta, 13)
    assert abs(found.log[0] - exact) <= found.error[0] + 1e-10
    assert found.error[0] < 5e-4
    step = 1e-3 * theta
    mean = (spearman_by_sets(theta - step, 13) - spearman_by_sets(theta + step, 13)) / (2 * step)
    assert found.mean[0] == pytest.approx(mean, rel=1e-4)


@pytest.mark.parametrize("n_items", [14, 60, 500])
def test_windows_and_the_expansion_meet(n_items):
    narrow, wide = (
        _displacement.normaliser("spearman", np.array([theta]), n_items) for theta in (0.2, 0.2 * (1 - 1e-9))
    )
    assert abs(narrow.log[0] - wide.log[0]) <= wide.error[0] + 1e-4
    assert wide.mean[0] == pytest.approx(narrow.mean[0], rel=1e-4)


@pytest.mark.parametrize("kind", ["footrule", "spearman"])
def test_without_dispersion_all_orders_of_many_items_are_equally_likely(kind):
    found = _displacement.normaliser(kind, np.zeros(1), 300)
    assert found.log[0] == pytest.approx(np.log(np.arange(1, 301)).sum())
    assert found.mean[0] == pytest.approx((300**2 - 1) / 3 if kind == "footrule" else 300 * (300**2 - 1) / 6)


def test_many_dispersions_of_one_size_come_from_a_table_as_exact_as_it_says():
    theta = np.geomspace(1e-8, 30.0, 100)
    table = _displacement.normaliser("spearman", theta, 13)
    some = np.arange(0, 100, 9)
    each = _displacement.normaliser("spearman", theta[some], 13)
    assert table.mean[some] == pytest.approx(each.mean, rel=1e-3)
    assert (np.abs(table.log[some] - each.log) <= table.error[some] + 1e-9).all()


def test_the_dispersion_is_found_where_the_expected_value_is_the_observed_one():
    truth = np.array([0.0, 1e-9, 0.003, 0.7, 5.0, 39.0, 40.0])
    found = _dispersion.solve_falling(
        lambda theta: _dispersion.mean_discordant(theta, 30), _dispersion.mean_discordant(truth, 30)
    )
    assert found == pytest.approx(truth, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", ["mallows", "generalised-mallows"])
def test_centre_and_dispersion_are_recovered(name):
    prefs = cc.Preferences.from_rankings(draw_mallows(0.5, 8, 600, 0))
    ranking = cc.rank(prefs, name)
    assert ranking.items == [f"i{k}" for k in range(8)]
    assert ranking.model.centre() == ranking.items
    if name == "mallows":
        assert ranking.fit["phi"] == pytest.approx(0.5, abs=0.03)
    else:
        assert ranking.detail("phi")[:6] == pytest.approx(np.full(6, 0.5), abs=0.1)


@pytest.mark.parametrize("kind", DISTANCES)
@pytest.mark.parametrize("n_items", [2, 4, 6])
@pytest.mark.parametrize("phi", [0.05, 0.6, 0.95])
def test_the_log_likelihood_is_that_of_the_definition_at_its_maximum(kind, n_items, phi):
    prefs = cc.Preferences.from_rankings(draw_mallows(phi, n_items, 40, 1))
    ranking = cc.rank(prefs, "mallows", distance=kind)
    place = {item: k for k, item in enumerate(ranking.items)}
    orders = prefs.item.reshape(40, n_items).tolist()
    total = sum(distance(kind, [place[prefs.items.labels[i]] for i in order]) for order in orders)
    every = np.array([distance(kind, order) for order in permutations(range(n_items))])

    def likelihood(theta):
        return -theta * total - 40 * np.log(np.exp(-theta * every).sum())

    theta = -np.log(ranking.fit["phi"])
    assert ranking.fit["mean_distance"] == pytest.approx(total / 40)
    assert ranking.fit["log_likelihood"] == pytest.approx(likelihood(theta), abs=1e-8)
    assert ranking.fit["log_likelihood"] <= 0
    assert likelihood(theta) >= max(likelihood(theta * 0.99), likelihood(theta * 1.01))


@pytest.mark.parametrize("kind", DISTANCES)
def test_unanimous_ballots_have_a_log_likelihood_of_zero(kind):
    fit = cc.rank(cc.Preferences.from_rankings([list("abcd")] * 60), "mallows", distance=kind).fit
    assert fit["log_likelihood"] == pytest.approx(0, abs=1e-12)
    assert fit["log_likelihood"] <= 0


@pytest.mark.parametrize(("kind", "phi", "likelihood"), [("footrule", 0.1546, -4.712), ("spearman", 0.163, -4.658)])
def test_one_ballot_of_ten_that_swaps_the_first_two(kind, phi, likelihood):
    prefs = cc.Preferences.from_rankings([list("abcde")] * 9 + [list("bacde")])
    fit = cc.rank(prefs, "mallows", distance=kind).fit
    assert fit["phi"] == pytest.approx(phi, abs=1e-4)
    assert fit["log_likelihood"] == pytest.approx(likelihood, abs=1e-3)


def test_spearman_dispersion_of_sixty_items_is_recovered():
    """Ballots are drawn by swaps of neighbours and others (Metropolis), theta = 0.637 (phi = 0.529)."""
    rng, theta, n, m = np.random.default_rng(0), 0.637, 40, 60
    orders, rows = np.tile(np.arange(m), (n, 1)), np.arange(n)
    for _ in range(6000):
        i = rng.integers(0, m - 1, n)
        j = np.minimum(i + rng.integers(1, 4, n), m - 1)
        a, b = orders[rows, i], orders[rows, j]
        change = (b - i) ** 2 + (a - j) ** 2 - (a - i) ** 2 - (b - j) ** 2
        swap = rng.random(n) < np.exp(-theta * np.minimum(np.maximum(change, 0), 1000))
        orders[rows, i], orders[rows, j] = np.where(swap, b, a), np.where(swap, a, b)
    prefs = cc.Preferences.from_rankings([[f"i{k}" for k in order] for order in orders])
    fit = cc.rank(prefs, "mallows", distance="spearman").fit
    assert fit["phi"] == pytest.approx(0.529, abs=0.02)
    assert -40 * np.log(np.arange(1, 61)).sum() < fit["log_likelihood"] < 0
    assert fit["log_likelihood_error"] < 1e-6


@pytest.mark.parametrize("kind", DISTANCES)
def test_no_order_is_closer_than_the_centre(kind):
    rng = np.random.default_rng(2)
    orders = [rng.permutation(4) for _ in range(7)]
    prefs = cc.Preferences.from_rankings([[f"i{k}" for k in order] for order in orders])
    centre = [int(item[1:]) for item in cc.rank(prefs, "mallows", distance=kind).items]

    def cost(middle):
        place = {item: k for k, item in enumerate(middle)}
        return sum(distance(kind, [place[i] for i in order]) for order in orders)

    assert cost(centre) == min(cost(middle) for middle in permutations(range(4)))


def test_generalised_mallows_with_equal_phi_has_the_mallows_likelihood_or_more():
    prefs = cc.Preferences.from_rankings(draw_mallows(0.4, 6, 100, 3))
    one, other = cc.rank(prefs, "mallows"), cc.rank(prefs, "generalised-mallows")
    assert other.fit["log_likelihood"] >= one.fit["log_likelihood"] - 1e-9


def test_no_swap_of_neighbours_makes_generalised_mallows_more_likely():
    """A place of much scatter above one of little: Kemeny's order is not the likeliest."""
    drawn = simulate.generalised_mallows(6, 400, phi=[0.2, 0.95, 0.2, 0.9, 0.1, 0.0], seed=1)
    ranking = cc.rank(drawn, "generalised-mallows")
    place = {item: k for k, item in enumerate(ranking.items)}
    orders = [[place[drawn.items[i]] for i in row] for row in drawn.item.reshape(400, 6).tolist()]

    def likelihood(middle):
        at = {item: k for k, item in enumerate(middle)}
        total = 0.0
        for stage, item in enumerate(middle[:-1]):
            turned = [sum(at[y] > stage for y in order[: order.index(item)]) for order in orders]
            grid = np.linspace(0, 8, 2001)
            value = -grid * np.sum(turned) - 400 * _dispersion.log_places(grid, np.array(6 - stage))
            total += value.max()
        return total

    found = likelihood(range(6))
    assert ranking.fit["log_likelihood"] == pytest.approx(found, abs=0.01)
    for k in range(5):
        assert likelihood([*range(k), k + 1, k, *range(k + 2, 6)]) <= found + 0.01
    kemeny = [place[item] for item in cc.rank(drawn, "kemeny").items]
    assert kemeny != list(range(6))
    assert likelihood(kemeny) < found


def test_stages_of_ballots_without_ties_are_counted_as_those_with_ties():
    rng = np.random.default_rng(1)
    rankings = [[f"i{k}" for k in rng.permutation(9)[: rng.integers(1, 10)]] for _ in range(60)]
    rankings += [[["i1", "i4"], "i2"], ["i3", ["i0", "i8", "i5"]]]
    prefs = cc.Preferences.from_rankings(rankings)
    seen = _centre.against(prefs, rng.permutation(9))
    assert 0 < seen.is_strict.sum() < len(seen.is_strict)
    pair_by_pair = _centre.inversions(replace(seen, is_strict=np.zeros(len(seen.size), bool)))
    for codes, pairs in zip(_centre.inversions(seen), pair_by_pair, strict=True):
        assert (codes == pairs).all()


# ---- insertion ----
def test_weights_of_completions_estimate_the_likelihood_of_a_partial_ranking():
    # P(c before a) under phi = 0.4 and the centre a b c d, by enumeration.
    theta = -np.log(0.4)
    prefs = cc.Preferences.from_rankings([["c", "a"]], candidates=list("abcd"))
    seen = against(prefs, np.arange(4))
    levels = _insertion._levels(seen, np.array([0]), 4)
    uniform = np.random.default_rng(0).random((4, 1, 20000))
    moved, log_weight = _insertion.complete(levels, theta, uniform)
    every = list(permutations(range(4)))
    chance = np.exp([-theta * kendall(order) for order in every])
    fits = np.array([order.index(2) < order.index(0) for order in every])
    assert np.exp(log_weight).mean() == pytest.approx(chance[fits].sum() / chance.sum(), rel=0.03)
    mean = np.array([kendall(order) for order in every])[fits] @ chance[fits] / chance[fits].sum()
    assert np.average(moved[0], weights=np.exp(log_weight[0])) == pytest.approx(mean, rel=0.03)


def test_complete_rankings_need_no_completion():
    prefs = cc.Preferences.from_rankings(draw_mallows(0.5, 5, 50, 4))
    own, inserted = (cc.rank(prefs, "mallows", partial=kind) for kind in ("own", "insertion"))
    assert inserted.fit["phi"] == pytest.approx(own.fit["phi"], abs=1e-6)
    assert inserted.fit["log_likelihood"] == pytest.approx(own.fit["log_likelihood"])


def test_dispersion_is_recovered_from_parts_of_rankings():
    rng = np.random.default_rng(5)
    parts = []
    for ballot in draw_mallows(0.5, 6, 300, 5):
        keep = set(rng.permutation(6)[:3].tolist())
        parts.append([item for item in ballot if int(item[1:]) in keep])
    prefs = cc.Preferences.from_rankings(parts)
    ranking = cc.rank(prefs, "mallows", partial="insertion", missing="ignore")
    assert ranking.items == [f"i{k}" for k in range(6)]
    assert ranking.fit["phi"] == pytest.approx(0.5, abs=0.06)


def test_insertion_is_for_the_kendall_distance():
    with pytest.raises(cc.ParameterError, match="kendall"):
        cc.rank(cc.Preferences.from_rankings([["a", "b"]]), "mallows", partial="insertion", distance="footrule")


# ---- CPS ----
def coset_mean(kind, beginning, ballot):
    """The mean distance between a ballot and all orders that begin so, by enumeration."""
    rest = [item for item in ballot if item not in beginning]
    place = {item: k for k, item in enumerate(ballot)}
    total = [distance(kind, [place[item] for item in (*beginning, *tail)]) for tail in permutations(rest)]
    return np.mean(total)


@pytest.mark.parametrize("kind", DISTANCES)
def test_the_greedy_order_takes_the_candidate_with_the_least_mean_distance_over_the_coset(kind):
    rng = np.random.default_rng(7)
    for _ in range(5):
        ballots = [tuple(rng.permutation(5).tolist()) for _ in range(3)]
        weight = rng.random(3) + 0.1
        prefs = cc.Preferences.from_rankings([[f"i{k}" for k in b] for b in ballots], weight=weight)
        ranking = cc.rank(prefs, "cps", distance=kind)
        placed: tuple[int, ...] = ()
        while len(placed) < 5:
            costs = {
                item: sum(w * coset_mean(kind, (*placed, item), b) for w, b in zip(weight, ballots, strict=True))
                for item in range(5)
                if item not in placed
            }
            placed = (*placed, min(costs, key=costs.__getitem__))
        assert ranking.items == [f"i{k}" for k in placed]


def test_footrule_costs_of_unranked_items_are_means_over_the_free_positions():
    for place in range(1, 5):
        free = _cosets.free_cost(np.array([place]), np.array([5]), np.array([2]))[0]
        each = [_cosets.footrule_cost(place, 5, position) for position in (3, 4, 5)]
        assert free == pytest.approx(np.mean(each))


def labelled_corpus(n_instances=40, n_items=8, seed=0):
    """A good, a middling and a random agent, with labels that follow the truth."""
    rng = np.random.default_rng(seed)
    rankings, agents, instances, rows = [], [], [], []
    for q in range(n_instances):
        relevance = rng.integers(0, 3, n_items)
        for agent, noise in (("good", 0.3), ("fair", 1.5), ("random", 50.0)):
            order = np.argsort(-(relevance + noise * rng.normal(size=n_items)))
            rankings.append([f"d{k}" for k in order])
            agents.append(agent)
            instances.append(f"q{q}")
        rows += [(f"q{q}", f"d{k}", relevance[k]) for k in range(n_items)]
    prefs = cc.Preferences.from_rankings(rankings, agent=agents, instance=instances)
    return prefs, cc.Labels(*zip(*rows, strict=True))


@pytest.mark.parametrize("kind", DISTANCES)
def test_labels_teach_whom_to_follow(kind):
    prefs, labels = labelled_corpus()
    method = cc.CPS(distance=kind)
    fitted = method.fit(prefs, labels)
    phi = fitted.learnt["phi"]
    assert phi["good"] > phi["fair"] > phi["random"] >= 0
    new, truth = labelled_corpus(seed=1)
    before, after = (cc.evaluate(m.rank(new), truth, ["ndcg@5"])["ndcg@5"] for m in (method, fitted))
    assert after > before
    assert fitted.rank(new).agents == pytest.approx(phi)


def test_an_agent_never_seen_counts_like_the_average_one():
    prefs, labels = labelled_corpus()
    fitted = cc.CPS().fit(prefs, labels)
    new = cc.Preferences.from_rankings([["a", "b"]], agent=["stranger"])
    assert fitted.rank(new).agents == {"stranger": pytest.approx(np.mean(list(fitted.learnt["phi"].values())))}


def test_learning_needs_agents():
    prefs = cc.Preferences.from_rankings([["a", "b"]])
    with pytest.raises(cc.NeedError, match="agent"):
        cc.CPS().fit(prefs, cc.Labels(None, ["a"], [1]))


# ---- edge cases ----


@pytest.mark.parametrize("method", [*METHODS, "cps-footrule", "cps-spearman"])
@pytest.mark.parametrize("case", EDGES)
def test_hard_cases_are_finite(method, case):
    ranking = cc.rank(cc.Preferences.from_rankings(EDGES[case]), method)
    assert np.isfinite(ranking.score).all()
    if ranking.fit:
        assert all(np.isfinite(value) for value in ranking.fit.values())


def test_unanimous_and_chaotic_ballots_are_told():
    same = cc.rank(cc.Preferences.from_rankings([["a", "b", "c"]] * 3), "mallows")
    chaos = cc.rank(cc.Preferences.from_rankings(list(permutations("abc"))), "mallows")
    assert "no-scatter" in {notice.name for notice in same.warnings}
    assert "no-consensus" in {notice.name for notice in chaos.warnings}


@pytest.mark.parametrize("method", METHODS)
def test_candidates_nobody_ranked_are_ranked_too(method):
    prefs = cc.Preferences.from_rankings([["a", "b"], ["b", "a"], ["a", "b"]], candidates=["a", "b", "c"])
    assert set(cc.rank(prefs, method).items) == {"a", "b", "c"}


@pytest.mark.parametrize("method", ["mallows", "generalised-mallows"])
def test_the_centre_of_several_instances_wants_to_know_which(method):
    prefs = cc.Preferences.from_rankings([["a", "b"], ["b", "c"]], instance=["q", "r"])
    model = cc.rank(prefs, method).model
    assert model.centre("r") == ["b", "c"]
    with pytest.raises(cc.InputError, match="several instances: name one with instance="):
        model.centre()


# ---- questions to the fitted model ----
FITTED = (*(("mallows", {"distance": kind}) for kind in DISTANCES), ("generalised-mallows", {}))


def fitted(name, params):
    prefs = cc.Preferences.from_rankings(draw_mallows(0.6, 4, 40, 7))
    return prefs, cc.rank(prefs, name, **params)


def chances_of_orders(model):
    orders = list(permutations(["i0", "i1", "i2", "i3"]))
    return {order: np.exp(model.log_likelihood(cc.Preferences.from_rankings([order]))) for order in orders}


@pytest.mark.parametrize(("name", "params"), FITTED)
def test_the_likelihood_of_the_model_sums_to_one_and_is_that_of_the_fit(name, params):
    prefs, ranking = fitted(name, params)
    assert sum(chances_of_orders(ranking.model).values()) == pytest.approx(1)
    assert ranking.model.log_likelihood(prefs) == pytest.approx(ranking.fit["log_likelihood"])
    shuffled = prefs.select(items=["i3", "i1", "i0", "i2"])
    assert ranking.model.log_likelihood(shuffled) == pytest.approx(ranking.fit["log_likelihood"])


@pytest.mark.parametrize(("name", "params"), FITTED)
def test_the_chance_to_come_first_and_the_draws_follow_the_enumerated_orders(name, params):
    _, ranking = fitted(name, params)
    chance = chances_of_orders(ranking.model)
    drawn = ranking.model.sample(20_000, seed=3)
    rows = np.array(drawn.items.labels, object)[drawn.item.reshape(-1, 4)]
    for order, expected in chance.items():
        assert (rows == np.array(order, object)).all(axis=1).mean() == pytest.approx(expected, abs=0.015)
    for a, b in permutations(["i0", "i1", "i2", "i3"], 2):
        expected = sum(value for order, value in chance.items() if order.index(a) < order.index(b))
        assert ranking.model.p_beats(a, b) == pytest.approx(expected)


@pytest.mark.parametrize(("name", "params"), FITTED)
def test_a_partial_ballot_and_a_stranger_are_judged_by_what_the_model_knows(name, params):
    _, ranking = fitted(name, params)
    both = [ranking.model.log_likelihood(cc.Preferences.from_rankings([row])) for row in (["i2", "i0"], ["i0", "i2"])]
    assert np.exp(both).sum() == pytest.approx(1)
    with_stranger = cc.Preferences.from_rankings([["i2", "nobody", "i0"]])
    assert ranking.model.log_likelihood(with_stranger) == pytest.approx(both[0])


def test_chances_under_other_distances_are_counted_for_few_items_only():
    model = cc.rank(cc.Preferences.from_rankings(draw_mallows(0.6, 9, 20, 7)), "mallows", distance="footrule").model
    with pytest.raises(cc.InputError, match="up to 8 items"):
        model.p_beats("i0", "i1")
    with pytest.raises(cc.InputError, match="use distance='kendall'"):
        model.sample(3)
