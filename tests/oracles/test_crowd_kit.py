"""Models of annotators against crowd-kit, where the models are the same: the same optimum, or a better one."""

from __future__ import annotations

import numpy as np
import pytest

import concordant as cc
from concordant.aggregate.crowd.glad import _minimised
from concordant.models.annotators import ability, em
from concordant.models.annotators.answers import Answers, shares_of_votes
from concordant.models.annotators.codings import Full, Spamming

kit = pytest.importorskip("crowdkit.aggregation", reason="crowd-kit is not installed")
pd = pytest.importorskip("pandas", reason="pandas is not installed")


def crowd(seed, k=3, n_workers=25, n_items=120, each=50):
    """A frame of answers, the same as preferences, and as arrays."""
    rng = np.random.default_rng(seed)
    skill, truth = rng.uniform(0.45, 0.95, n_workers), rng.integers(0, k, n_items)
    rows = [
        (f"t{t:03d}", f"w{w:02d}", int(truth[t] if rng.random() < skill[w] else rng.integers(k)))
        for w in range(n_workers)
        for t in rng.choice(n_items, each, replace=False)
    ]
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    prefs = cc.Preferences.from_ratings(frame["worker"], frame["task"], frame["label"])
    return frame, prefs, Answers.of(prefs, "test")


def by_slot(prefs, table, k=3):
    """Probabilities of crowd-kit in the order of our slots."""
    return table.loc[prefs.items.take(prefs.slot_item), list(range(k))].to_numpy()


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.filterwarnings("ignore")
def test_maximum_likelihood_dawid_skene_is_that_of_crowd_kit(seed):
    frame, prefs, data = crowd(seed)
    other = kit.DawidSkene(n_iter=300, tol=-1.0).fit(frame)
    table = np.zeros((data.n_agents, 3, 3))  # agent x answer x class
    for (worker, answer), row in other.errors_.iterrows():
        table[prefs.agents.code(worker), answer] = row[[0, 1, 2]]
    log = np.log(np.maximum(table, 1e-10))
    theirs = data.posterior(log, np.log(other.priors_.loc[[0, 1, 2]].to_numpy()))[2]
    ours = cc.rank(prefs, "dawid-skene", smoothing=0)
    assert ours.fit["log_likelihood"] >= theirs - 0.05
    found = em.climb(
        data, Full(data.n_agents, 3, 0.0, (np.zeros((3, 3)),)), ours_from(data, by_slot(prefs, other.probas_)), 1e-9
    )
    assert found.log_likelihood == pytest.approx(theirs, abs=0.05)  # their optimum is a fixed point of ours
    np.testing.assert_allclose(found.chance, by_slot(prefs, other.probas_), atol=5e-3)


def ours_from(data, chance):
    """First parameters of maximum likelihood from these class probabilities."""
    model = Full(data.n_agents, 3, 0.0, (np.zeros((3, 3)),))
    return model.start(em.expected_counts(data, chance), chance.sum(axis=0))


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.filterwarnings("ignore")
def test_maximum_likelihood_one_coin_is_that_of_crowd_kit(seed):
    frame, prefs, _ = crowd(seed)
    other = kit.OneCoinDawidSkene(n_iter=60, tol=-1.0).fit(frame)
    model = cc.rank(prefs, "one-coin", smoothing=0).model
    np.testing.assert_allclose(model.posterior, by_slot(prefs, other.probas_), atol=0.02)
    skills = other.skills_.loc[list(prefs.agents.labels)].to_numpy()
    np.testing.assert_allclose(model.confusions[:, 0, 0], skills, atol=0.01)


@pytest.mark.parametrize("seed", range(1))
@pytest.mark.filterwarnings("ignore")
def test_glad_reaches_a_likelihood_at_least_that_of_crowd_kit(seed):
    frame, prefs, data = crowd(seed, n_workers=10, n_items=40, each=25)
    other = kit.GLAD(n_iter=40, tol=1e-9).fit(frame)
    alpha = other.alphas_.loc[list(prefs.agents.labels)].to_numpy()
    beta = other.betas_.loc[prefs.items.take(prefs.slot_item)].to_numpy()
    theirs = ability.objective(data, np.concatenate([alpha, beta, np.zeros(3)]), estimates_shares=False)
    found = ability.fit(data, _minimised, estimates_shares=False)
    assert found.objective >= theirs.value - 1e-3
    assert found.objective == pytest.approx(theirs.value, abs=1.0)
    np.testing.assert_allclose(found.chance, by_slot(prefs, other.probas_), atol=0.05)
    assert np.corrcoef(found.ability, alpha)[0, 1] > 0.99


@pytest.mark.parametrize("seed", range(1))
@pytest.mark.filterwarnings("ignore")
def test_mace_reaches_a_likelihood_at_least_that_of_crowd_kit(seed):
    frame, prefs, data = crowd(seed)
    other = kit.MACE(n_restarts=2, n_iter=100, method="em").fit(frame)
    workers, labels = pd.factorize(frame["worker"])[1], pd.factorize(frame["label"])[1]
    knows, strategy = np.zeros(data.n_agents), np.zeros((data.n_agents, 3))
    for row, worker in enumerate(workers):
        code = prefs.agents.code(worker)
        knows[code], strategy[code, labels] = other.spamming_[row, 1], other.thetas_[row]
    blank = (np.zeros(2), np.zeros(3))
    model = Spamming(data.n_agents, 3, 0.0, blank)
    confusion = model.confusion([np.stack([knows, 1 - knows], axis=1), strategy])
    log = np.ascontiguousarray(np.log(np.maximum(confusion, 1e-10)).transpose(0, 2, 1))
    theirs = data.posterior(log, np.log(np.full(3, 1 / 3)))[2]
    chance = shares_of_votes(data)
    found = em.climb(data, model, model.start(em.expected_counts(data, chance), chance.sum(axis=0)), 1e-7)
    assert found.log_likelihood >= theirs - 0.1  # with shares of the classes estimated, as good or better
    agree = (found.chance.argmax(axis=1) == by_slot(prefs, other.probas_).argmax(axis=1)).mean()
    assert agree > 0.95
