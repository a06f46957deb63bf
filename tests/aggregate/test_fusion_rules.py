"""Fusion rules against their formulas, list by list."""

from __future__ import annotations

import numpy as np
import pytest

import concordant as cc
from concordant import laws, views

LISTS = {"e1": {"a": 10.0, "b": 6.0, "c": 2.0}, "e2": {"b": 0.9, "d": 0.5}, "e3": {"c": 7.0}}


def runs(lists=LISTS, weight=None):
    rows = [(engine, item, score) for engine, found in lists.items() for item, score in found.items()]
    engine, item, score = zip(*rows, strict=True)
    weights = None if weight is None else [weight[e] for e in engine]
    return cc.Preferences.from_ratings(engine, item, score, weight=weights)


def scores(prefs, name="comb", **params):
    ranking = cc.rank(prefs, name, **params)
    return {item: pytest.approx(score) for item, score in zip(ranking.items, ranking.scores.tolist(), strict=True)}


# ---- reciprocal rank fusion ----
def test_rrf_sums_reciprocal_ranks():
    prefs = cc.Preferences.from_rankings([["a", "b", "c"], ["b", ["a", "d"]]], weight=[1, 2])
    expected = {"a": 1 / 61 + 2 / 62, "b": 1 / 62 + 2 / 61, "c": 1 / 63, "d": 2 / 62}
    assert scores(prefs, "rrf") == expected


def test_rrf_uses_the_ranks_given():
    prefs = cc.Preferences.from_ranks(["e1", "e1"], ["a", "b"], [2, 10])
    assert scores(prefs, "rrf", k=1) == {"a": 1 / 3, "b": 1 / 11}


def test_rrf_gives_nothing_for_an_open_tail():
    prefs = cc.Preferences(["a", "b", "c"], [0, 3], [0, 1, 2], [0, 1, 1], open=[True])
    assert scores(prefs, "rrf", k=0) == {"a": 1.0, "b": 0.0, "c": 0.0}


def test_rrf_refuses_a_rank_it_would_divide_by_zero_for():
    prefs = cc.Preferences.from_ranks(["e1", "e1"], ["a", "b"], [0, 1])
    with pytest.raises(cc.InputError, match="larger k"):
        cc.rank(prefs, "rrf", k=0)
    assert cc.rank(prefs, "rrf", k=1).items == ["a", "b"]


# ---- calibrated reciprocal rank fusion ----
def calibrated_by_loops(prefs, least, k=60.0):
    """The definition, written out: scores by slot, and how far order and vote of each agent count."""
    ranks = prefs.value if prefs.scale == "rank" else views.competition_ranks(prefs)
    ballots = []
    for b in range(prefs.n_ballots):
        entries = range(prefs.indptr[b], prefs.indptr[b + 1])
        named = {int(prefs.entry_slot[e]): 1 / (k + ranks[e]) for e in entries}
        ballots.append((int(prefs.agent[b]), int(prefs.instance_of_ballot[b]), float(prefs.weight[b]), named))

    def weight_of(slot, agents):
        return sum(weight for agent, _, weight, named in ballots if slot in named and agent in agents)

    def pooled(samples):
        sums = np.zeros(3)
        for weight, x, y in samples:
            x, y = x - np.mean(x), y - np.mean(y)
            sums += weight * np.array([x @ y, x @ x, y @ y])
        return sums[0] / np.sqrt(sums[1] * sums[2]) if min(sums[1:]) > 1e-9 else 0.0

    n_agents = len(prefs.agents)
    a, c = np.zeros(n_agents), np.ones(n_agents)
    for agent in range(n_agents):
        others = set(range(n_agents)) - {agent}
        own = [(q, weight, named) for who, q, weight, named in ballots if who == agent]
        if len({q for q, _, _ in own}) < least:
            continue
        a[agent] = pooled(
            (weight, list(named.values()), [weight_of(slot, others) for slot in named]) for _, weight, named in own
        )
        slots = [range(prefs.slot_ptr[q], prefs.slot_ptr[q + 1]) for q in sorted({q for q, _, _ in own})]
        choice = pooled((1.0, [weight_of(s, {agent}) for s in of], [weight_of(s, others) for s in of]) for of in slots)
        c[agent] = max(0.0, 1 + 3 * min(choice, 0.0))
    b = np.maximum(a, 0.0) / a.max()
    score = np.zeros(prefs.n_slots)
    for agent, _, weight, named in ballots:
        mean = np.mean(list(named.values()))
        for slot, x in named.items():
            score[slot] += weight * (c[agent] * mean + b[agent] * (x - mean))
    return score, b


def engines(rng, n_queries=12, n_engines=5, weights=False):
    """Engines that name what is good the sooner the less noise they have; the last one names what nobody else does."""
    agent, item, rank, instance, weight = [], [], [], [], []
    for q in range(n_queries):
        quality = rng.normal(size=15)
        for engine in range(n_engines):
            seen = quality + (engine + 0.3) * rng.normal(size=15)
            order = np.argsort(-seen)[:7] if engine < n_engines - 1 else rng.permutation(15)[:7]
            heavy = float(rng.integers(1, 4)) if weights else 1.0
            for place, document in enumerate(order):
                agent.append(f"e{engine}")
                item.append(f"d{document}")
                rank.append(place + 1 + engine)
                instance.append(f"q{q}")
                weight.append(heavy)
    return cc.Preferences.from_ranks(agent, item, rank, instance=instance, weight=weight if weights else None)


@pytest.mark.parametrize("weights", [False, True])
def test_calibrated_rrf_is_its_definition(weights):
    for seed in range(3):
        prefs = engines(np.random.default_rng(seed), weights=weights)
        ranking = cc.rank(prefs, "calibrated-rrf", least=2)
        score, order = calibrated_by_loops(prefs, 2)
        np.testing.assert_allclose(ranking.score, score, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(list(ranking.agents.values()), order, atol=1e-10)
        assert max(order) == 1.0
        assert ranking.warnings == ()


def test_calibrated_rrf_takes_several_ballots_of_an_agent_together():
    prefs = engines(np.random.default_rng(5), weights=True)
    twice = laws.take_ballots(prefs, np.append(np.arange(prefs.n_ballots), np.arange(0, prefs.n_ballots, 2)))
    score, order = calibrated_by_loops(twice, 2)
    ranking = cc.rank(twice, "calibrated-rrf", least=2)
    np.testing.assert_allclose(ranking.score, score, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(list(ranking.agents.values()), order, atol=1e-10)


def test_calibrated_rrf_trusts_the_order_of_engines_that_others_confirm():
    weight = cc.rank(engines(np.random.default_rng(0), n_queries=200), "calibrated-rrf").agents
    assert weight["e0"] == 1.0
    assert weight["e4"] < 0.2


def test_calibrated_rrf_is_plain_rrf_where_instances_are_few_and_says_so():
    prefs = engines(np.random.default_rng(0), n_queries=19)
    ranking = cc.rank(prefs, "calibrated-rrf")
    np.testing.assert_allclose(ranking.score, cc.rank(prefs, "rrf").score, rtol=1e-12)
    (notice,) = ranking.warnings
    assert notice.name == "not-calibrated"
    assert "fewer than 20 instances" in notice.text
    assert "e0, e1, e2 and 2 more" in notice.text


def test_calibrated_rrf_is_plain_rrf_where_nobody_knows_whose_lists_they_are():
    prefs = cc.Preferences.from_rankings([["a", "b"], ["b", "c"]] * 30, instance=np.repeat(np.arange(30), 2))
    ranking = cc.rank(prefs, "calibrated-rrf")
    np.testing.assert_allclose(ranking.score, cc.rank(prefs, "rrf").score, rtol=1e-12)
    assert "the agents of the lists are unknown" in ranking.warnings[0].text


def test_calibrated_rrf_is_plain_rrf_where_every_list_names_everything():
    rng = np.random.default_rng(1)
    rankings = [[f"d{k}" for k in rng.permutation(6)] for _ in range(90)]
    prefs = cc.Preferences.from_rankings(rankings, agent=["a", "b", "c"] * 30, instance=np.repeat(np.arange(30), 3))
    ranking = cc.rank(prefs, "calibrated-rrf")
    np.testing.assert_allclose(ranking.score, cc.rank(prefs, "rrf").score, rtol=1e-12)
    assert "no agent's order is supported" in ranking.warnings[0].text


# ---- normalisations, seen through a sum ----
@pytest.mark.parametrize(
    ("normalise", "expected"),
    [
        ("none", {"a": 10, "b": 6.9, "c": 9, "d": 0.5}),
        ("min-max", {"a": 1, "b": 1.5, "c": 1, "d": 0}),
        ("max", {"a": 1, "b": 1.6, "c": 1.2, "d": 5 / 9}),
        ("sum", {"a": 8 / 12, "b": 4 / 12 + 1, "c": 1, "d": 0}),
        ("z-score", {"a": np.sqrt(1.5), "b": 1, "c": -np.sqrt(1.5), "d": -1}),
        ("rank", {"a": 1, "b": 2 / 3 + 1, "c": 1 / 3 + 1, "d": 1 / 2}),
        ("borda", {"a": 1, "b": 3 / 4 + 1, "c": 2 / 4 + 1, "d": 3 / 4}),
    ],
)
def test_scores_are_made_comparable_inside_each_list(normalise, expected):
    assert scores(runs(), normalise=normalise) == expected


def test_ranks_become_scores_that_fall_with_them():
    prefs = cc.Preferences.from_ranks(["e1", "e1", "e1"], ["a", "b", "c"], [1, 2, 5])
    assert scores(prefs, normalise="none") == {"a": 5, "b": 4, "c": 1}


# ---- combinations ----
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("combsum", {"a": 10, "b": 6.9, "c": 9, "d": 0.5}),
        ("combmnz", {"a": 10, "b": 13.8, "c": 18, "d": 0.5}),
        ("combanz", {"a": 10, "b": 3.45, "c": 4.5, "d": 0.5}),
        ("combmed", {"a": 10, "b": 3.45, "c": 4.5, "d": 0.5}),
        ("combmin", {"a": 10, "b": 0.9, "c": 2, "d": 0.5}),
        ("combmax", {"a": 10, "b": 6, "c": 7, "d": 0.5}),
    ],
)
def test_scores_of_an_item_are_combined(name, expected):
    assert scores(runs(), name, normalise="none") == expected


@pytest.mark.parametrize("combine", ["sum", "mnz", "anz", "med", "min", "max"])
def test_a_weight_is_a_number_of_equal_lists(combine):
    weighted = runs(weight={"e1": 2, "e2": 3, "e3": 1})
    repeated = runs({f"{e}-{k}": LISTS[e] for e, n in (("e1", 2), ("e2", 3), ("e3", 1)) for k in range(n)})
    assert scores(weighted, combine=combine) == scores(repeated, combine=combine)


def test_combmed_is_the_median_of_the_lists_that_contain_the_item():
    prefs = runs({"e1": {"a": 1.0}, "e2": {"a": 5.0}, "e3": {"a": 2.0}, "e4": {"b": 3.0}})
    assert scores(prefs, "combmed", normalise="none") == {"a": 2.0, "b": 3.0}


def test_an_item_in_no_list_is_never_above_one_in_a_list():
    for lowest in (-3.0, 0.5):
        prefs = cc.Preferences(["a", "b", "z"], [0, 2], [0, 1], [0, 1], value=[lowest + 1, lowest], scale="rating")
        for combine in ("sum", "mnz", "anz", "med", "min", "max"):
            ranking = cc.rank(prefs, "comb", combine=combine, normalise="none")
            assert ranking.ranks[ranking.items.index("z")] >= ranking.ranks[ranking.items.index("b")]


def test_an_open_tail_is_not_listed():
    prefs = cc.Preferences(
        ["a", "b", "c"], [0, 3], [0, 1, 2], [0, 1, 1], value=[3.0, 1.0, 1.0], scale="rating", open=[True]
    )
    assert scores(prefs) == {"a": 1.0, "b": 0.0, "c": 0.0}


def test_comb_needs_values_unless_it_uses_only_the_order():
    prefs = cc.Preferences.from_rankings([["a", "b"], ["b", "c"]])
    with pytest.raises(cc.NeedError, match="no ranks or ratings"):
        cc.rank(prefs, "combsum")
    assert cc.rank(prefs, "combsum", normalise="borda").items[0] == "b"


@pytest.mark.parametrize("normalise", ["min-max", "max", "sum", "z-score", "none", "rank", "borda"])
@pytest.mark.parametrize("combine", ["sum", "mnz", "anz", "med", "min", "max"])
def test_every_combination_gives_finite_scores(normalise, combine):
    rng = np.random.default_rng(8)
    for _ in range(15):
        prefs = laws.random_preferences(rng, frozenset({"values"}))
        assert np.isfinite(cc.rank(prefs, "comb", normalise=normalise, combine=combine).score).all()


def test_many_queries_are_fused_at_once():
    prefs = cc.Preferences.from_ratings(
        ["e1", "e1", "e2", "e2"], ["a", "b", "b", "a"], [2.0, 1.0, 9.0, 3.0], instance=["q1", "q1", "q2", "q2"]
    )
    ranking = cc.rank(prefs, "combsum")
    assert [part.items for part in ranking] == [["a", "b"], ["b", "a"]]
