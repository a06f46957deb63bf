"""The conditional random field: potentials by their definition, and weights that find out whom to trust."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import concordant as cc
from concordant.aggregate.supervised._potentials import potentials
from concordant.errors import InputError, NeedError

KINDS = ("unranked", "won", "lost")


def some_ranks(rng, n=7, agents=4):
    """Ranks with gaps, ties and silence: items x agents."""
    ranks = rng.integers(1, 12, (n, agents)).astype(float)
    ranks[rng.random((n, agents)) < 0.3] = np.nan
    return ranks


def by_definition(ranks, counts):
    """Return the potentials of one query, item x kind x agent, entry by entry."""
    n, agents = ranks.shape
    found = np.zeros((n, 3, agents))
    for k in range(agents):
        r = ranks[:, k]
        listed = np.flatnonzero(np.isfinite(r))
        largest = np.nanmax(r) if len(listed) else 1.0
        for i in range(n):
            found[i, 0, k] = np.isnan(r[i])
        for i, j in permutations(listed, 2):
            if r[i] < r[j]:
                y = {
                    "binary": 1.0,
                    "difference": r[j] - r[i],
                    "scaled-difference": (r[j] - r[i]) / largest,
                    "log": np.log(r[j] / r[i]) / np.log(largest),
                }[counts]
                found[i, 1, k] += y / len(listed)
                found[j, 2, k] -= y / len(listed)
    return found


@pytest.mark.parametrize("counts", ["log", "binary", "difference", "scaled-difference"])
def test_potentials_are_mean_preferences_over_the_list(counts):
    rng = np.random.default_rng(0)
    for _ in range(20):
        ranks = some_ranks(rng)
        ranks[0] = np.where(np.isnan(ranks[0]), 1.0, ranks[0])  # everybody says something
        prefs = cc.Preferences.from_rank_matrix(ranks, items=list("abcdefg"), agents=list("wxyz"))
        found = potentials(prefs, counts, list("wxyz")).to_matrix(7, 4)
        order = [int(np.flatnonzero(prefs.slot_item == prefs.items.code(item, "item"))[0]) for item in "abcdefg"]
        np.testing.assert_allclose(found[order], by_definition(ranks, counts).reshape(7, -1), atol=1e-12)


def test_weighted_potentials_add_up_to_the_score():
    rng = np.random.default_rng(1)
    prefs = cc.Preferences.from_rank_matrix(some_ranks(rng), agents=list("wxyz"))
    weights = rng.normal(size=(3, 5))
    found = potentials(prefs, "log", list("wxyz!"))
    whole = found.to_matrix(prefs.n_slots, 5) @ weights.reshape(-1)
    np.testing.assert_allclose(found.score(prefs.n_slots, weights), whole, atol=1e-12)


def queries_with_one_expert(rng, n_queries=60, n=12):
    """Judged queries in which "good" is nearly right, "noise" is random, "contrary" nearly wrong; the rest silent."""
    agent, item, rank, instance, rows = [], [], [], [], []
    for q in range(n_queries):
        label = rng.integers(0, 3, n)
        for name, sense in (("good", 1.0), ("noise", 0.0), ("contrary", -1.0)):
            listed = rng.permutation(n)[: n - 3]
            order = listed[np.argsort(-(sense * label[listed] + rng.normal(0, 0.5, len(listed))))]
            agent += [name] * len(order)
            item += [f"d{d}" for d in order]
            rank += range(1, len(order) + 1)
            instance += [f"q{q}"] * len(order)
        rows += [(f"q{q}", f"d{d}", float(label[d])) for d in range(n)]
    prefs = cc.Preferences.from_ranks(agent, item, rank, instance=instance)
    queries, documents, values = zip(*rows, strict=True)
    return prefs, cc.Labels(instance=queries, item=documents, label=values)


@pytest.fixture(scope="module")
def judged():
    rng = np.random.default_rng(2)
    return queries_with_one_expert(rng), queries_with_one_expert(rng, 30)


def test_it_learns_whom_to_trust(judged):
    (prefs, labels), (others, truth) = judged
    model = cc.CRF(passes=8, largest=5).fit(prefs, labels, validation=0.2)
    ranking = model.rank(others)
    trust = ranking.agents
    assert trust["good"] > 5 * abs(trust["noise"])
    assert trust["contrary"] < -0.5 * trust["good"]
    ours, rrf = (cc.evaluate(found, truth, ["ndcg@5"])["ndcg@5"] for found in (ranking, cc.rank(others, "rrf")))
    assert ours > rrf + 0.1


def test_the_same_seed_learns_the_same(judged):
    (prefs, labels), _ = judged
    one, same = (cc.CRF(largest=5, passes=2, seed=3).fit(prefs, labels) for _ in range(2))
    assert one.learnt == same.learnt
    assert one.learnt != cc.CRF(largest=5, passes=2, seed=4).fit(prefs, labels).learnt


def test_a_stranger_is_told_of_and_not_counted(judged):
    (prefs, labels), (others, _) = judged
    model = cc.CRF(largest=5, passes=2).fit(prefs, labels)
    assert others.agents is not None
    renamed = others.replace(agents=["good", "noise", "stranger"])
    ranking = model.rank(renamed)
    assert [notice.name for notice in ranking.notices] == ["unknown-agents"]
    alone = model.rank(renamed.select(agents=["good", "noise"]))
    np.testing.assert_allclose(ranking.score, alone.score)


def test_candidates_without_a_label_can_be_left_out_of_learning(judged):
    (prefs, _), _ = judged
    some = cc.Labels(instance=["q0"] * 4, item=["d0", "d1", "d2", "d3"], label=[2.0, 1, 0, 0])
    zero, skip = (cc.CRF(largest=5, passes=1, unjudged=how).fit(prefs, some).learnt["won"] for how in ("zero", "skip"))
    assert zero != skip


def test_what_cannot_be_learnt_is_said(judged):
    (prefs, labels), _ = judged
    flat = cc.Labels(instance=["q0", "q1"], item=["d0", "d1"], label=[0.0, 0.0])
    with pytest.raises(InputError, match="different labels"):
        cc.CRF().fit(prefs, flat)
    with pytest.raises(NeedError, match="fit"):
        cc.CRF().rank(prefs)
    with pytest.raises(InputError, match="learning_rate"), np.errstate(all="ignore"):
        cc.CRF(largest=5, passes=1, learning_rate=1e308).fit(prefs, labels)
