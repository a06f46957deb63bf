"""Models without a reference library, against plain re-implementations of their definitions written here."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logsumexp, ndtr
from tests.aggregate.test_supervised_markov_chain import by_definition
from tests.losses.enumeration import log_chance, ordered_partitions, some_queries

import concordant as cc
from concordant.losses.set_sizes import TieOdds
from concordant.losses.subset_enumeration import EnumeratedPartitionLoss
from concordant.losses.subset_sampling import SampledPartitionLoss


# ---- supervised Markov chain ----
def test_the_supervised_markov_chain_learns_the_weights_of_a_plain_search() -> None:
    rng = np.random.default_rng(0)
    names, queries = [f"d{k}" for k in range(5)], []
    for _ in range(6):
        label = rng.integers(0, 3, 5).astype(float)
        noise = np.array([0.5, 2.0, 4.0])
        ranks = np.argsort(np.argsort(-(label[:, None] + noise * rng.normal(size=(5, 3))), axis=0), axis=0) + 1.0
        queries.append((label, ranks))

    def loss(logits: np.ndarray) -> float:
        weight, total, counted = np.exp(logits - logsumexp(logits)), 0.0, 0
        for label, ranks in queries:
            x = by_definition(ranks, weight, "mc3", "last", 0.05)
            pairs = [(i, j) for i in range(5) for j in range(5) if label[i] > label[j]]
            if pairs:
                total += np.mean([np.log1p(x[j] / x[i]) for i, j in pairs])
                counted += 1
        return float(total / counted + 0.01 / 2 * logits @ logits)

    found = minimize(loss, np.zeros(3), method="BFGS", options={"gtol": 1e-7})
    rows = [
        (f"a{k}", names[i], ranks[i, k], f"q{q}")
        for q, (_, ranks) in enumerate(queries)
        for i in range(5)
        for k in range(3)
    ]
    agent, item, rank, instance = (list(column) for column in zip(*rows, strict=True))
    prefs = cc.Preferences.from_ranks(agent, item, rank, instance=instance)
    known = [(f"q{q}", names[i], label[i]) for q, (label, _) in enumerate(queries) for i in range(5)]
    model = cc.SupervisedMarkovChain(prior=0.01, max_iter=500).fit(
        prefs, cc.Labels(*map(list, zip(*known, strict=True)))
    )
    expected = np.exp(found.x - logsumexp(found.x))
    assert [model.learnt["weight"][f"a{k}"] for k in range(3)] == pytest.approx(expected, abs=5e-3)


# ---- mixture of multinomial preference models ----
def test_the_mixture_has_the_likelihood_and_the_memberships_of_its_definition() -> None:
    rng = np.random.default_rng(1)
    orders = [rng.permutation(4) if k % 3 == 0 else np.array([0, 1, 2, 3])[:: 1 if k % 2 else -1] for k in range(12)]
    prefs = cc.Preferences.from_rankings(
        [[f"i{k}" for k in order] for order in orders], agent=[f"a{k}" for k in range(12)]
    )
    ranking = cc.rank(prefs, "mpm-mixture", components=2, counts="binary", evidence="counts")
    model = ranking.model
    at = {prefs.items[item]: slot for slot, item in enumerate(prefs.slot_item.tolist())}
    log_joint = np.zeros((12, 2))
    for c in range(2):
        score = np.array([model.scores[c][at[f"i{k}"]] for k in range(4)])
        log_z = logsumexp([score[i] - score[j] for i, j in permutations(range(4), 2)])
        for a, order in enumerate(orders):
            pairs = [(order[x], order[y]) for x in range(4) for y in range(x + 1, 4)]
            log_joint[a, c] = np.log(model.shares[c]) + sum(score[i] - score[j] - log_z for i, j in pairs)
    assert ranking.fit["log_likelihood"] == pytest.approx(float(logsumexp(log_joint, axis=1).sum()))
    membership = np.exp(log_joint - logsumexp(log_joint, axis=1, keepdims=True))
    place = {agent: k for k, agent in enumerate(model.agents)}
    found = np.array([model.responsibilities[place[f"a{k}"]] for k in range(12)])
    assert found == pytest.approx(membership, abs=1e-4)
    assert np.asarray(model.shares) == pytest.approx(membership.mean(axis=0), abs=1e-3)


# ---- label ranking and ordinal regression ----
def test_the_label_ranker_minimises_a_plackett_luce_loss_written_as_loops() -> None:
    pytest.importorskip("sklearn")
    from concordant.learn import LabelRanker

    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 2))
    ranks = np.argsort(np.argsort(-(X @ rng.normal(size=(2, 3)) + rng.gumbel(size=(40, 3))), axis=1), axis=1) + 1.0

    def loss(theta: np.ndarray) -> float:
        W, b, total = theta[:6].reshape(2, 3), theta[6:], 0.0
        for x, row in zip(X, ranks, strict=True):
            left, score = list(np.argsort(row)), x @ W + b
            while left:
                total += logsumexp(score[left]) - score[left[0]]
                left = left[1:]
        return total / 40 + 0.05 / 2 * float((W**2).sum())

    found = minimize(loss, np.zeros(9), method="BFGS", options={"gtol": 1e-7})
    model = LabelRanker(alpha=0.05, tol=1e-14, standardise=False).fit(X, ranks)
    assert model.coef_ == pytest.approx(found.x[:6].reshape(2, 3), abs=1e-3)
    intercept = found.x[6:] - found.x[6:].mean()
    assert model.intercept_ - np.mean(model.intercept_) == pytest.approx(intercept, abs=1e-3)


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_the_ordinal_ranker_minimises_a_cumulative_link_loss_written_as_loops(link: str) -> None:
    pytest.importorskip("sklearn")
    from concordant.learn import OrdinalRanker

    rng, distribution = np.random.default_rng(3), {"logit": expit, "probit": ndtr}[link]
    X = rng.normal(size=(80, 2))
    y = np.digitize(X @ [1.0, -0.5] + rng.logistic(size=80), [-1.0, 0.8]).astype(float)

    def loss(theta: np.ndarray) -> float:
        w, cuts = theta[:2], np.array([theta[2], theta[2] + np.exp(theta[3])])
        total = 0.0
        for x, category in zip(X, y.astype(int), strict=True):
            upper = distribution(cuts[category] - x @ w) if category < 2 else 1.0
            lower = distribution(cuts[category - 1] - x @ w) if category > 0 else 0.0
            total -= np.log(upper - lower)
        return float(total / 80 + 0.02 / 2 * w @ w)

    found = minimize(loss, np.array([0.0, 0.0, -0.5, 0.0]), method="BFGS", options={"gtol": 1e-7})
    model = OrdinalRanker(link=link, alpha=0.02, tol=1e-14, standardise=False).fit(X, y)
    assert model.coef_ == pytest.approx(found.x[:2], abs=1e-3)
    cuts = [found.x[2], found.x[2] + np.exp(found.x[3])]
    assert model.thresholds_ == pytest.approx(cuts, abs=1e-3)


# ---- persistent contrastive divergence ----
@pytest.mark.parametrize("is_harmonic", [False, True])
def test_persistent_chains_give_the_gradient_of_the_enumerated_likelihood(is_harmonic: bool) -> None:
    scores, queries = some_queries(4, n_rows=14, n_queries=3)
    loss = SampledPartitionLoss(is_harmonic=is_harmonic, persistent=True, samples=20, seed=1)
    for _ in range(50):
        loss.evaluate(scores, queries)
    gradients = [loss.evaluate(scores, queries).gradient for _ in range(600)]
    exact = EnumeratedPartitionLoss(is_harmonic=is_harmonic).evaluate(scores, queries).gradient
    assert np.mean(gradients, axis=0) == pytest.approx(exact, abs=0.03)


@pytest.mark.parametrize("mean", ["geometric", "harmonic"])
def test_the_enumerated_likelihood_is_that_of_the_definition(mean: str) -> None:
    from concordant.losses.queries import Queries

    loss, scores = EnumeratedPartitionLoss(is_harmonic=mean == "harmonic"), np.array([0.3, -0.9, 0.6, 1.2])
    total = 0.0
    for labels in ordered_partitions(4):
        queries = Queries.from_rows(labels, np.zeros(4, np.int64))
        found = float(loss.log_likelihood(scores[queries.row], queries)[0])
        assert found == pytest.approx(log_chance(mean, scores, labels, TieOdds()))
        total += np.exp(found)
    assert total == pytest.approx(1.0)
