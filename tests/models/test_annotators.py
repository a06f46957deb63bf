"""Models of annotators: optima, extrapolation, derivatives, priors from the data, and simulated crowds recovered."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import dirichlet_multinomial, spearmanr

import concordant as cc
from concordant.aggregate.crowd.glad import _minimised
from concordant.models.annotators import ability, em, thresholds
from concordant.models.annotators.answers import Answers, shares_of_votes
from concordant.models.annotators.codings import Full, OneCoin, Spamming, fitted_prior
from concordant.models.annotators.thresholds import Thresholds


def drawn(seed, confusions, items=120, each=40, shares=None):
    """Draw answers of agents with these confusion matrices: answers and the true classes of the items."""
    rng = np.random.default_rng(seed)
    n_agents, k, _ = confusions.shape
    truth = rng.choice(k, items, p=shares)
    rows = [
        (f"w{a:03d}", f"i{i:04d}", int(rng.choice(k, p=confusions[a, truth[i]])))
        for a in range(n_agents)
        for i in rng.choice(items, min(each, items), replace=False)
    ]
    prefs = cc.Preferences.from_ratings(*zip(*rows, strict=True))
    return prefs, Answers.of(prefs, "test"), truth[[int(name[1:]) for name in prefs.items.take(prefs.slot_item)]]


def coins(seed, n_agents, k):
    right = np.random.default_rng(seed).uniform(0.5, 0.95, n_agents)[:, None, None]
    return (1 - right) / (k - 1) * (1 - np.eye(k)) + right * np.eye(k)


CODINGS = [Full, OneCoin, Spamming, Thresholds]


@pytest.mark.parametrize("coding", CODINGS)
def test_the_gradient_is_zero_at_the_optimum_and_no_step_lowers_the_objective(coding):
    _, data, _ = drawn(1, coins(1, 10, 3), items=40, each=30)
    model = coding(data.n_agents, 3)
    found = em.climb(data, model, model.start(em.expected_counts(data, shares_of_votes(data)), np.ones(3)), 1e-9)
    assert found.has_converged

    def objective(psi):
        return data.posterior(model.table(psi), model.log_share(psi))[2] + model.penalty(psi)

    rng = np.random.default_rng(0)
    for _ in range(20):
        direction = rng.normal(size=len(found.psi))
        slope = (objective(found.psi + 1e-5 * direction) - objective(found.psi - 1e-5 * direction)) / 2e-5
        assert abs(slope) < 2e-3 * np.sqrt(len(direction))
    psi, values = model.start(em.expected_counts(data, shares_of_votes(data)), np.ones(3)), []
    for _ in range(30):
        chance, counts, value = data.posterior(model.table(psi), model.log_share(psi))
        values.append(value + model.penalty(psi))
        psi = model.update(psi, counts, chance.sum(axis=0))
    assert (np.diff(values) > -1e-8).all()
    assert found.objective > values[-1] - 1e-6


def test_extrapolation_needs_fewer_steps_than_expectation_maximisation():
    _, data, _ = drawn(2, coins(2, 40, 4), items=300, each=20)
    model = Full(data.n_agents, 4)
    start = model.start(em.expected_counts(data, shares_of_votes(data)), np.ones(4))
    found = em.climb(data, model, start, 1e-8)
    psi, chance = start, None
    n_steps = 0
    while True:
        n_steps, before = n_steps + 1, chance
        chance, counts, _ = data.posterior(model.table(psi), model.log_share(psi))
        psi = model.update(psi, counts, chance.sum(axis=0))
        if before is not None and np.abs(chance - before).max() < 1e-8:
            break
    assert found.steps < n_steps / 2
    np.testing.assert_allclose(found.chance, chance, atol=1e-5)


def test_priors_maximise_the_marginal_likelihood():
    rng = np.random.default_rng(3)
    true, usual = np.array([6.0, 2.0, 1.0]), np.full(3, 1e-9)
    counts = np.array([rng.multinomial(40, rng.dirichlet(true)) for _ in range(400)], float)
    found = fitted_prior(counts, np.ones(3), usual)
    np.testing.assert_allclose(found / found.sum(), true / true.sum(), atol=0.03)
    assert found.sum() == pytest.approx(9, rel=0.2)

    def value(alpha):
        return dirichlet_multinomial.logpmf(counts, alpha, 40).sum()

    for k in range(3):
        for factor in (0.9, 1.1):
            other = found * np.where(np.arange(3) == k, factor, 1.0)
            assert value(other) < value(found)


def test_derivatives_of_thresholds_are_differences():
    u = np.random.default_rng(4).normal(0.3, 0.6, (3, 4))
    p, slope = thresholds.derivatives(u)
    np.testing.assert_allclose(p.sum(axis=2), 1)
    for k in range(4):
        away = 1e-6 * (np.arange(4) == k)
        difference = (thresholds.chances(u + away) - thresholds.chances(u - away)) / 2e-6
        np.testing.assert_allclose(slope[..., k], difference, atol=1e-7)


def test_the_gradient_of_glad_is_a_difference_and_zero_at_the_optimum():
    _, data, _ = drawn(5, coins(5, 8, 3), items=30, each=20)
    rng = np.random.default_rng(5)
    point = rng.normal(1, 0.5, data.n_agents + data.n_slots + 3)
    terms = ability.objective(data, point)
    for k in [*rng.choice(len(point), 15, replace=False).tolist(), len(point) - 1]:
        away = 1e-6 * (np.arange(len(point)) == k)
        difference = ability.objective(data, point + away).value - ability.objective(data, point - away).value
        assert terms.gradient[k] == pytest.approx(difference / 2e-6, abs=1e-5)
    found = ability.fit(data, _minimised)
    at = np.concatenate([found.ability, found.log_ease, np.log(found.shares)])
    assert found.has_converged
    assert np.abs(ability.objective(data, at).gradient).max() < 0.01


def test_one_coin_crowds_are_recovered():
    confusions = coins(6, 40, 3)
    prefs, _, truth = drawn(6, confusions, items=300, each=100)
    model = cc.rank(prefs, "one-coin").model
    assert (model.posterior.argmax(axis=1) == truth).mean() > 0.97
    assert np.abs(model.accuracy() - confusions[:, 0, 0]).mean() < 0.05


def test_competence_and_strategies_of_spammers_are_recovered():
    rng = np.random.default_rng(7)
    knows = np.where(np.arange(40) < 25, rng.uniform(0.6, 0.95, 40), 0.0)
    strategy = rng.dirichlet([0.5] * 4, 40)
    confusions = knows[:, None, None] * np.eye(4) + (1 - knows)[:, None, None] * strategy[:, None, :]
    prefs, _, truth = drawn(7, confusions, items=250, each=100)
    ranking = cc.rank(prefs, "mace")
    found = np.array([ranking.agents[f"w{a:03d}"] for a in range(40)])
    assert np.abs(found - knows).mean() < 0.06
    assert (ranking.model.posterior.argmax(axis=1) == truth).mean() > 0.97


def test_ordinal_annotators_are_recovered_and_beat_free_confusions_with_few_answers():
    rng = np.random.default_rng(8)
    u = np.stack([rng.uniform(0.5, 3, 40), rng.normal(-3, 0.7, 40), *rng.normal(0.6, 0.3, (3, 40))], axis=1)
    confusions = thresholds.chances(u)
    prefs, _, truth = drawn(8, confusions, items=300, each=30)
    right = {}
    for name in ("ordinal", "dawid-skene"):
        model = cc.rank(prefs, name).model
        right[name] = (model.posterior.argmax(axis=1) == truth).mean()
        if name == "ordinal":
            assert np.abs(model.confusions - confusions).mean() < 0.07
    assert right["ordinal"] > right["dawid-skene"] + 0.02


def test_difficulty_is_recovered():
    rng = np.random.default_rng(9)
    skill, log_ease = rng.normal(1.5, 0.5, 60), rng.normal(0, 1.2, 80)
    truth = rng.integers(0, 2, 80)
    right = rng.random((60, 80)) < 1 / (1 + np.exp(-skill[:, None] * np.exp(log_ease)))
    rows = [(f"w{a}", f"i{i}", int(truth[i] if right[a, i] else 1 - truth[i])) for a in range(60) for i in range(80)]
    prefs = cc.Preferences.from_ratings(*zip(*rows, strict=True))
    model = cc.rank(prefs, "glad").model
    number = [int(name[1:]) for name in prefs.items.take(prefs.slot_item)]
    assert spearmanr(model.log_ease, log_ease[number]).statistic > 0.85
    assert spearmanr(model.ability, skill).statistic > 0.8


def test_known_classes_are_taken_as_given_and_help():
    confusions = np.tile(0.6 * np.eye(3) + 0.4 / 3, (12, 1, 1))
    confusions[:7] = np.roll(np.eye(3), 1, axis=1) * 0.8 + 0.2 / 3  # a majority that confuses classes
    _prefs, data, truth = drawn(10, confusions, items=150, each=60)
    model = Full(data.n_agents, 3)
    blind = em.fit(data, model, shares_of_votes(data))
    known = np.where(np.arange(150) % 3 == 0, truth, np.nan)
    with_gold = data.with_known(data.categories[truth] * np.where(np.isfinite(known), 1, np.nan))
    taught = em.fit(with_gold, model, shares_of_votes(with_gold))
    hidden = ~np.isfinite(known)
    assert (taught.chance.argmax(axis=1) == truth)[~hidden].all()
    assert (taught.chance.argmax(axis=1) == truth)[hidden].mean() > (blind.chance.argmax(axis=1) == truth)[
        hidden
    ].mean() + 0.3


@pytest.mark.parametrize("name", ["dawid-skene", "one-coin", "mace", "glad", "ordinal"])
def test_a_single_class_and_single_answers_are_no_trouble(name):
    for values in ([3, 3, 3], [1, 2, 3]):
        ranking = cc.rank(cc.Preferences.from_ratings(["a", "b", "a"], ["x", "x", "y"], values), name)
        assert np.isfinite(ranking.scores).all()
        assert np.isfinite(ranking.model.confusions).all()
