"""The supervised Markov chain: moves by their definition, the slope through the stationary distribution, trust."""

from __future__ import annotations

import numpy as np
import pytest
from tests.aggregate.test_crf import queries_with_one_expert

import concordant as cc
from concordant.aggregate.supervised._base import Labelled
from concordant.aggregate.supervised._chains import Chain
from concordant.aggregate.supervised.supervised_markov_chain import Constraints, softmax
from concordant.errors import InputError, NeedError

AGENTS = ("w", "x", "y")


def some_prefs(rng, n=6):
    """One instance, ranks with ties and gaps, every agent silent on some."""
    ranks = rng.integers(1, 6, (n, len(AGENTS))).astype(float)
    ranks[rng.random((n, len(AGENTS))) < 0.3] = np.nan
    ranks[0] = 1.0
    return cc.Preferences.from_rank_matrix(ranks, items=[f"d{k}" for k in range(n)], agents=AGENTS), ranks


def by_definition(ranks, weight, variant, missing, teleport):
    """Return the stationary distribution of one instance by walking the definition, item by item."""
    n = len(ranks)
    P = np.zeros((n, n))
    for i in range(n):
        for k, share in enumerate(weight):
            r = ranks[:, k]
            listed = np.flatnonzero(np.isfinite(r))
            if np.isnan(r[i]):
                if missing == "last":
                    P[i, listed] += share / len(listed)
                else:
                    P[i, i] += share
                continue
            better, tied = listed[r[listed] < r[i]], np.setdiff1d(listed[r[listed] == r[i]], [i])
            places = len(better) + len(tied) / 2 + 1 if variant == "mc2" else len(listed)
            P[i, better] += share / places
            P[i, tied] += share / places / 2
            P[i, i] += share * (1 - (len(better) + len(tied) / 2) / places)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    full = (1 - teleport) * P + teleport / n
    values, vectors = np.linalg.eig(full.T)
    x = np.real(vectors[:, np.argmax(np.real(values))])
    return x / x.sum()


@pytest.mark.parametrize("variant", ["mc2", "mc3"])
@pytest.mark.parametrize("missing", ["last", "ignore"])
def test_the_surfer_walks_as_defined(variant, missing):
    rng = np.random.default_rng(0)
    for _ in range(10):
        prefs, ranks = some_prefs(rng)
        weight = softmax(rng.normal(size=3))
        found = Chain(prefs, AGENTS, variant, missing, 0.1).stationary(weight)
        of_item = {prefs.items[prefs.slot_item[s]]: found[s] for s in range(prefs.n_slots)}
        wanted = by_definition(ranks, weight, variant, missing, 0.1)
        np.testing.assert_allclose([of_item[f"d{k}"] for k in range(6)], wanted, atol=1e-12)


@pytest.mark.parametrize("variant", ["mc2", "mc3"])
@pytest.mark.parametrize("missing", ["last", "ignore"])
def test_the_gradient_is_the_slope_through_the_stationary_distribution(variant, missing):
    rng = np.random.default_rng(1)
    prefs, labels = queries_with_one_expert(rng, 5, 7)
    data = Labelled.of(prefs, labels)
    constraints = Constraints.of(Chain(prefs, ("good", "noise", "contrary"), variant, missing, 0.05), data)
    for _ in range(3):
        point = rng.normal(size=3)
        _, gradient = constraints.evaluate(point)
        for k in range(3):
            step = 1e-6 * np.eye(3)[k]
            rise = constraints.evaluate(point + step)[0] - constraints.evaluate(point - step)[0]
            assert gradient[k] == pytest.approx(rise / 2e-6, abs=1e-8)


def test_the_value_is_the_mean_of_the_pairs_of_every_instance():
    prefs, labels = queries_with_one_expert(np.random.default_rng(2), 4, 5)
    data = Labelled.of(prefs, labels)
    chain = Chain(prefs, ("good", "noise", "contrary"), "mc3", "last", 0.05)
    x, losses = chain.stationary(softmax(np.zeros(3))), []
    for q in range(prefs.n_instances):
        slots = np.arange(prefs.slot_ptr[q], prefs.slot_ptr[q + 1])
        pairs = [np.log1p(x[j] / x[i]) for i in slots for j in slots if data.label[i] > data.label[j]]
        losses += [np.mean(pairs)] if pairs else []
    assert Constraints.of(chain, data).evaluate(np.zeros(3))[0] == pytest.approx(np.mean(losses))


def test_it_learns_whom_to_trust():
    rng = np.random.default_rng(3)
    (prefs, labels), (others, truth) = queries_with_one_expert(rng), queries_with_one_expert(rng, 30)
    for validation in (None, 0.2):
        model = cc.SupervisedMarkovChain().fit(prefs, labels, validation=validation)
        weight = model.learnt["weight"]
        assert sum(weight.values()) == pytest.approx(1)
        assert weight["good"] > 0.8
        ours, alike = (
            cc.evaluate(found, truth, ["ndcg@5"])["ndcg@5"] for found in (model.rank(others), cc.rank(others, "mc3"))
        )
        assert ours > alike + 0.05


def test_the_start_is_the_unsupervised_chain():
    prefs = cc.Preferences.from_rankings([["a", "b", "c"], ["b", "a", "c"], ["b", "c", "a"]], agent=["w", "x", "y"])
    plain = cc.rank(prefs, "mc3", teleport=0.05)
    found = Chain(prefs, AGENTS, "mc3", "ignore", 0.05).stationary(np.full(3, 1 / 3))
    np.testing.assert_allclose(found, plain.score, atol=1e-12)


def test_what_cannot_be_learnt_is_said():
    prefs, _ = queries_with_one_expert(np.random.default_rng(4), 3, 5)
    with pytest.raises(InputError, match="different labels"):
        cc.SupervisedMarkovChain().fit(prefs, cc.Labels(["q0"], ["d0"], [0.0]))
    with pytest.raises(NeedError, match="fit"):
        cc.SupervisedMarkovChain().rank(prefs)
