"""Draws follow their models: chi-square against enumerated probabilities for up to 4 items."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from scipy.stats import chisquare

import concordant as cc
from concordant import simulate
from concordant.errors import ParameterError
from concordant.simulate.mallows_weak import _walk, weak_orders

N = 20_000


def seen(prefs):
    """Count the ballots as tuples of tiers of labels."""
    found = Counter()
    for b in range(prefs.n_ballots):
        own = slice(int(prefs.indptr[b]), int(prefs.indptr[b + 1]))
        tiers = {}
        for item, tier in zip(prefs.item[own].tolist(), prefs.tier[own].tolist(), strict=True):
            tiers.setdefault(tier, []).append(prefs.items[item])
        found[tuple(tuple(sorted(tiers[t])) for t in sorted(tiers))] += 1
    return found


def agrees(prefs, probability):
    """Compare counts with probabilities (by outcome, not normalised)."""
    counts = seen(prefs)
    assert set(counts) <= set(probability)
    p = np.array(list(probability.values()))
    observed = np.array([counts[outcome] for outcome in probability])
    expected = p / p.sum() * observed.sum()
    keep = expected > 5
    rest = [observed[~keep].sum()], [expected[~keep].sum()]
    if rest[1][0] > 5:
        pair = np.append(observed[keep], rest[0]), np.append(expected[keep], rest[1])
    else:
        pair = observed[keep], expected[keep] * observed[keep].sum() / expected[keep].sum()
    assert chisquare(*pair).pvalue > 1e-3


def strict(order):
    return tuple((label,) for label in order)


def kendall(order, centre):
    place = {label: k for k, label in enumerate(order)}
    return sum(place[a] > place[b] for a, b in itertools.combinations(centre, 2))


@pytest.mark.parametrize("phi", [0.2, 0.7, 1.0])
def test_mallows_draws_follow_the_distance(phi):
    centre = ["c", "a", "d", "b"]
    prefs = simulate.mallows("abcd", N, phi=phi, centre=centre, seed=1)
    agrees(prefs, {strict(o): phi ** kendall(o, centre) for o in itertools.permutations("abcd")})
    assert prefs.meta["centre"] == centre


def test_generalised_mallows_has_a_dispersion_per_place():
    phi = [0.3, 0.9, 0.6, 0.0]
    prefs = simulate.generalised_mallows("abcd", N, phi=phi, seed=2)

    def probability(order):
        place = {label: k for k, label in enumerate(order)}
        turned = [sum(place["abcd"[y]] < place["abcd"[x]] for y in range(x + 1, 4)) for x in range(4)]
        return np.prod([phi[x] ** turned[x] / sum(phi[x] ** j for j in range(4 - x)) for x in range(4)])

    agrees(prefs, {strict(o): probability(o) for o in itertools.permutations("abcd")})


def test_a_small_dispersion_at_the_top_keeps_the_first_item_first():
    prefs = simulate.generalised_mallows(4, 100_000, phi=[0.1, 0.1, 0.9, 0.9], seed=1)
    assert (prefs.item[::4] == 0).mean() == pytest.approx(1 / 1.111, abs=0.005)


def kemeny(tier, centre):
    pairs = itertools.combinations(range(len(tier)), 2)
    return sum(abs(np.sign(tier[i] - tier[j]) - np.sign(centre[i] - centre[j])) / 2 for i, j in pairs)


def weak_outcomes(labels):
    for tier in weak_orders(len(labels)).tolist():
        yield (
            tier,
            tuple(
                tuple(sorted(label for label, t in zip(labels, tier, strict=True) if t == k))
                for k in range(max(tier) + 1)
            ),
        )


def test_there_are_as_many_weak_orders_as_known():
    assert [len(weak_orders(m)) for m in range(1, 6)] == [1, 3, 13, 75, 541]
    assert len({tuple(row) for row in weak_orders(4).tolist()}) == 75


def test_mallows_over_weak_orders_follows_the_kemeny_distance():
    prefs = simulate.mallows_weak("abcd", N, phi=0.4, centre=["b", ["a", "c"], "d"], seed=3)
    agrees(prefs, {outcome: 0.4 ** kemeny(tier, [1, 0, 1, 2]) for tier, outcome in weak_outcomes("abcd")})


def test_its_markov_chains_have_the_same_distribution():
    centre = np.array([1, 0, 1, 2])
    tiers = _walk(centre, N, 0.5, 15, np.random.default_rng(4))
    counts = Counter(map(tuple, tiers.tolist()))
    p = np.array([0.5 ** kemeny(tier, centre) for tier, _ in weak_outcomes("abcd")])
    observed = np.array([counts[tuple(tier)] for tier, _ in weak_outcomes("abcd")])
    assert chisquare(observed, p / p.sum() * N).pvalue > 1e-3


def test_many_items_are_drawn_by_chains_and_the_notes_say_so():
    prefs = simulate.mallows_weak(9, 20, phi=0.3, sweeps=5)
    assert "approximate" in prefs.notes[0]
    assert prefs.n_ballots == 20


def test_plackett_luce_is_a_sequence_of_choices():
    scores = {"a": 1.0, "b": 0.2, "c": -0.5, "d": 0.0}
    prefs = simulate.plackett_luce("abcd", N, scores=list(scores.values()), seed=5)

    def probability(order):
        worth = [np.exp(scores[label]) for label in order]
        return np.prod([worth[k] / sum(worth[k:]) for k in range(4)])

    agrees(prefs, {strict(o): probability(o) for o in itertools.permutations("abcd")})


def test_top_places_leave_the_rest_open():
    prefs = simulate.plackett_luce(5, 10, top=2)
    assert prefs.open.all()
    assert prefs.form == "top-k"


@pytest.mark.parametrize("ties", [0.0, 0.8])
def test_bradley_terry_duels_follow_the_scores(ties):
    scores = [0.9, -0.3, 0.1]
    prefs = simulate.bradley_terry("abc", N, scores=scores, ties=ties, seed=6)
    p = dict(zip("abc", np.exp(scores), strict=True))
    probability = {}
    for i, j in itertools.combinations("abc", 2):
        total = p[i] + p[j] + ties * np.sqrt(p[i] * p[j])
        probability[((i,), (j,))], probability[((j,), (i,))] = p[i] / total, p[j] / total
        if ties:
            probability[((i, j),)] = ties * np.sqrt(p[i] * p[j]) / total
    agrees(prefs, probability)


def test_mpm_draws_ordered_pairs_from_all_at_once():
    scores, variances = [0.8, -0.2, 0.1], [0.5, 0.3, 1.0]
    prefs = simulate.mpm("abc", N, scores=scores, variances=variances, adherence=[1.0, 0.2], seed=7)
    for agent, theta in enumerate((1.0, 0.2)):
        s, g = dict(zip("abc", scores, strict=True)), dict(zip("abc", variances, strict=True))
        probability = {
            ((i,), (j,)): np.exp(theta * (s[i] - s[j]) / (g[i] + g[j])) for i, j in itertools.permutations("abc", 2)
        }
        agrees(prefs.take(prefs.agent == agent), probability)


@pytest.mark.parametrize("odds", [1.0, 0.3])
def test_ordered_partitions_choose_tiers_by_their_mean_worth(odds):
    worth = dict(zip("abcd", np.exp([0.7, -0.4, 0.2, 0.0]), strict=True))
    prefs = simulate.ordered_partitions("abcd", N, scores=np.log(list(worth.values())), tie_odds=odds, seed=8)

    def mass(group):
        return odds ** len(group) * np.mean([worth[label] for label in group])

    def probability(outcome):
        left, product = list("abcd"), 1.0
        for group in outcome:
            subsets = (s for k in range(1, len(left) + 1) for s in itertools.combinations(left, k))
            product *= mass(group) / sum(map(mass, subsets))
            left = [label for label in left if label not in group]
        return product

    probabilities = {outcome: probability(outcome) for _, outcome in weak_outcomes("abcd")}
    assert sum(probabilities.values()) == pytest.approx(1)
    agrees(prefs, probabilities)


def test_without_tie_odds_nothing_ties():
    prefs = simulate.ordered_partitions(4, 50, tie_odds=0.0)
    assert all(len(group) == 1 for outcome in seen(prefs) for group in outcome)


@pytest.mark.parametrize("model", simulate.__all__)
def test_the_same_seed_gives_the_same_ballots_and_another_seed_others(model):
    draw = getattr(simulate, model)
    assert draw(6, 30, seed=1) == draw(6, 30, seed=1)
    assert draw(6, 30, seed=1) != draw(6, 30, seed=2)
    assert draw(6, 0).n_ballots == 0


@pytest.mark.parametrize(
    ("model", "arguments"),
    [
        ("mallows", {"phi": 1.5}),
        ("mallows", {"centre": ["item 1"]}),
        ("mallows", {"centre": "nearest"}),
        ("generalised_mallows", {"phi": [0.1, 0.2]}),
        ("mallows_weak", {"centre": [["item 1"], "item 1", "item 2"]}),
        ("mallows_weak", {"centre": ["item 1"]}),
        ("plackett_luce", {"scores": [1.0]}),
        ("bradley_terry", {"ties": -1.0}),
        ("mpm", {"variances": [0.0] * 6}),
        ("ordered_partitions", {"tie_odds": -1.0}),
    ],
)
def test_wrong_parameters_are_refused(model, arguments):
    with pytest.raises(ParameterError):
        getattr(simulate, model)(6, 10, **arguments)


# ---- what is drawn is what the methods fit ----
MANY = 100_000


def test_mallows_finds_the_centre_and_the_dispersion_that_were_drawn():
    centre = [f"item {k}" for k in (3, 1, 5, 2, 4)]
    ranking = cc.rank(simulate.mallows(5, MANY, phi=0.6, centre=centre, seed=1), "mallows")
    assert ranking.items == centre
    assert ranking.fit["phi"] == pytest.approx(0.6, abs=0.005)


def test_generalised_mallows_finds_the_dispersions_that_were_drawn():
    phi = [0.1, 0.5, 0.9, 0.3, 0.0]
    centre = [f"item {k}" for k in (3, 1, 5, 2, 4)]
    ranking = cc.rank(simulate.generalised_mallows(5, MANY, phi=phi, centre=centre, seed=2), "generalised-mallows")
    assert ranking.items == centre
    assert ranking.model.phi[:-1] == pytest.approx(phi[:-1], abs=0.02)


def test_kemeny_finds_the_centre_with_ties_that_was_drawn():
    centre = ["item 2", ["item 1", "item 4"], "item 3"]
    drawn = simulate.mallows_weak(4, MANY, phi=0.4, centre=centre, seed=3)
    ranking = cc.rank(drawn, "kemeny", result="weak")
    assert ranking.model.optima() == [[["item 2"], ["item 1", "item 4"], ["item 3"]]]


def centred(values):
    return np.asarray(values) - np.mean(values)


@pytest.mark.parametrize("top", [None, 2])
def test_plackett_luce_finds_the_scores_that_were_drawn(top):
    scores = [1.2, 0.3, -0.4, 0.0, -1.1]
    drawn = simulate.plackett_luce(5, MANY, scores=scores, top=top, seed=4)
    assert centred(by_item(cc.rank(drawn, "plackett-luce"))) == pytest.approx(centred(scores), abs=0.03)


def test_bradley_terry_finds_the_scores_that_were_drawn():
    scores = [1.2, 0.3, -0.4, 0.0, -1.1]
    drawn = simulate.bradley_terry(5, MANY, scores=scores, seed=5)
    assert centred(by_item(cc.rank(drawn, "bradley-terry"))) == pytest.approx(centred(scores), abs=0.04)


def test_davidson_finds_the_scores_and_the_ties_that_were_drawn():
    scores = [1.2, 0.3, -0.4, 0.0, -1.1]
    ranking = cc.rank(simulate.bradley_terry(5, MANY, scores=scores, ties=0.7, seed=6), "davidson")
    assert centred(by_item(ranking)) == pytest.approx(centred(scores), abs=0.04)
    assert np.exp(ranking.fit["tie_parameter"]) == pytest.approx(0.7, abs=0.03)


def test_ordered_partitions_finds_the_scores_that_were_drawn():
    scores = [1.2, 0.3, -0.4, 0.0, -1.1]
    drawn = simulate.ordered_partitions(5, MANY, scores=scores, tie_odds=0.4, seed=7).merge()
    assert centred(by_item(cc.rank(drawn, "ordered-partitions"))) == pytest.approx(centred(scores), abs=0.05)


def test_mpm_finds_the_scores_and_the_adherence_that_were_drawn():
    scores = [0.8, 0.3, -0.4, 0.0, -0.7]
    drawn = simulate.mpm(5, MANY // 2, scores=scores, adherence=[1.0, 0.3], seed=8)
    ranking = cc.rank(drawn, "mpm", adherence=True, adherence_prior="none", prior=0.0)
    assert centred(by_item(ranking)) == pytest.approx(centred(scores), abs=0.04)
    assert list(ranking.agents.values()) == pytest.approx([1.0, 0.3], abs=0.04)


def by_item(ranking):
    """Return scores in the order of the items' numbers."""
    scores = dict(zip(ranking.items, ranking.scores, strict=True))
    return [scores[item] for item in sorted(scores)]
