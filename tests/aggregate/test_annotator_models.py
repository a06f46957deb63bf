"""Models of annotators: against a plain implementation of the steps, and against crowds whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

import concordant as cc
from concordant.models.annotators import em
from concordant.models.annotators.answers import Answers
from concordant.models.annotators.codings import Full, OneCoin


def crowd(seed, n_workers=40, n_documents=200, n_categories=2, each=60):
    """Workers of different accuracy judge documents: preferences, accuracies by worker, true categories."""
    rng = np.random.default_rng(seed)
    accuracy = rng.uniform(0.5, 0.95, n_workers)
    truth = rng.integers(0, n_categories, n_documents)
    rows = []
    for w in range(n_workers):
        for d in rng.permutation(n_documents)[:each]:
            is_right = rng.random() < accuracy[w]
            rows.append((f"w{w}", f"d{d}", truth[d] if is_right else (truth[d] + 1) % n_categories))
    workers, documents, answers = zip(*rows, strict=True)
    return cc.Preferences.from_ratings(workers, documents, answers), accuracy, truth


def right_items(ranking, truth):
    return np.mean([round(s) == truth[int(item[1:])] for item, s in zip(ranking.items, ranking.scores, strict=True)])


@pytest.mark.parametrize("name", ["dawid-skene", "one-coin", "mace", "glad"])
def test_good_workers_are_told_from_bad_ones_and_items_are_got_right(name):
    for seed, n_categories in ((0, 2), (1, 3)):
        prefs, accuracy, truth = crowd(seed, n_categories=n_categories)
        ranking = cc.rank(prefs, name)
        found = [ranking.agents[f"w{w}"] for w in range(len(accuracy))]
        assert spearmanr(found, accuracy).statistic > 0.75
        assert right_items(ranking, truth) > max(0.9, right_items(cc.rank(prefs, "mean"), truth))
        assert np.abs(ranking.model.accuracy() - accuracy).mean() < 0.07


def steps_by_hand(prefs, n_steps, smoothing):
    """The algorithm in loops, for categories 0, 1, 2: chances of every slot after many steps."""
    answers = [
        (int(prefs.agent[b]), int(prefs.entry_slot[e]), int(prefs.value[e]))
        for b in range(prefs.n_ballots)
        for e in range(prefs.indptr[b], prefs.indptr[b + 1])
    ]
    chance = np.zeros((prefs.n_slots, 3))
    for _, slot, answer in answers:
        chance[slot, answer] += 1
    chance /= chance.sum(axis=1, keepdims=True)
    for _ in range(n_steps):
        counts = np.zeros((prefs.n_agents, 3, 3))
        for agent, slot, answer in answers:
            counts[agent, :, answer] += chance[slot]
        everyone = counts.sum(axis=0)
        table = counts + smoothing * everyone / everyone.sum(axis=1, keepdims=True)
        table /= table.sum(axis=2, keepdims=True)
        joint = np.tile(chance.mean(axis=0), (prefs.n_slots, 1))
        for agent, slot, answer in answers:
            joint[slot] *= table[agent, :, answer]
        chance = joint / joint.sum(axis=1, keepdims=True)
    return chance


def test_the_fit_is_the_limit_of_the_steps_of_the_definition():
    prefs, _, _ = crowd(2, n_workers=8, n_documents=14, n_categories=3, each=11)
    by_hand = steps_by_hand(prefs, 400, 2.0)
    np.testing.assert_allclose(steps_by_hand(prefs, 401, 2.0), by_hand, atol=1e-5)
    np.testing.assert_allclose(cc.rank(prefs, "dawid-skene", smoothing=2).model.posterior, by_hand, atol=0.02)


@pytest.mark.parametrize("coding", [Full, OneCoin])
def test_a_few_steps_are_those_of_the_definition(coding):
    prefs, _, _ = crowd(2, n_workers=8, n_documents=14, n_categories=3, each=11)
    data = Answers.of(prefs, "dawid-skene")
    model = coding(data.n_agents, 3, 0.0, tuple(np.zeros_like(usual) for usual in coding(8, 3).usual))
    votes = data.votes()
    chance = votes / votes.sum(axis=1, keepdims=True)
    psi, found = model.start(em.expected_counts(data, chance), chance.sum(axis=0)), []
    for n_steps in range(1, 12):
        chance, counts, log_likelihood = data.posterior(model.table(psi), model.log_share(psi))
        psi = model.update(psi, counts, chance.sum(axis=0))
        found.append(log_likelihood)
        if coding is Full and n_steps < 4:
            np.testing.assert_allclose(chance, steps_by_hand(prefs, n_steps, 0.0), atol=1e-6)
    assert (np.diff(found) > -1e-6).all()


def test_an_agent_who_always_says_yes_tells_nothing():
    prefs, _, truth = crowd(4)
    rows = [(f"w{w}", f"d{d}") for w in ("yes1", "yes2", "yes3") for d in range(200)]
    workers, documents = zip(*rows, strict=True)
    agent = [
        prefs.agents[prefs.agent[b]]
        for b in range(prefs.n_ballots)
        for _ in range(prefs.indptr[b], prefs.indptr[b + 1])
    ]
    both = cc.Preferences.from_ratings(
        [*agent, *workers], [*prefs.items.take(prefs.item), *documents], [*prefs.value, *np.ones(600)]
    )
    ranking = cc.rank(both, "dawid-skene")
    (notice,) = [notice for notice in ranking.warnings if notice.name == "outlier-agents"]
    assert {"wyes1", "wyes2", "wyes3"} <= set(notice.items)
    assert right_items(ranking, truth) > 0.9
    np.testing.assert_allclose(ranking.model.confusion("wyes1")[:, 1], 1.0, atol=0.05)


def test_the_interval_is_a_single_category_where_the_answers_leave_no_doubt():
    prefs, _, _ = crowd(5)
    ranking = cc.rank(prefs, "dawid-skene")
    is_sure = ranking.detail("stderr") < 0.1
    assert is_sure.any()
    assert ((ranking.high - ranking.low)[is_sure] < 0.5).all()
    assert (ranking.high - ranking.low).max() == 1.0


def test_ranks_count_downwards():
    ranks = cc.Preferences.from_ranks(["u", "u", "v", "v"], ["a", "b", "a", "b"], [1, 2, 1, 2])
    assert cc.rank(ranks, "dawid-skene").items == ["a", "b"]


def test_values_of_many_levels_are_no_categories():
    prefs = cc.Preferences.from_ratings(["u"] * 40, [f"i{k}" for k in range(40)], np.arange(40))
    with pytest.raises(cc.InputError, match="40 different levels"):
        cc.rank(prefs, "dawid-skene")


@pytest.mark.parametrize("name", ["dawid-skene", "one-coin", "mean-rating", "mean"])
def test_intervals_hold_the_score_also_of_huge_and_tiny_values(name):
    rng = np.random.default_rng(6)
    for unit in (1.0, 1e29, 1e-300):
        for _ in range(20):
            rows = {(int(rng.integers(5)), int(rng.integers(6))): int(rng.integers(1, 5)) for _ in range(15)}
            agent, item = zip(*rows, strict=True)
            ranking = cc.rank(cc.Preferences.from_ratings(agent, item, np.array([*rows.values()]) * unit), name)
            assert np.isfinite([ranking.low, ranking.high, ranking.detail("stderr")]).all()
            assert (ranking.low <= ranking.scores).all()
            assert (ranking.high >= ranking.scores).all()


# ---- questions to the fitted model ----
def test_the_model_tells_which_of_two_items_is_the_better_one():
    prefs, _, truth = crowd(1)
    model = cc.rank(prefs, "dawid-skene").model
    worst, best = (f"d{np.flatnonzero(truth == category)[0]}" for category in (0, 1))
    assert model.p_beats(best, worst) + model.p_beats(worst, best) + model.p_tie(best, worst) == pytest.approx(1)
    one, other = (model.posterior[model.slot(item)] for item in (best, worst))
    assert model.p_beats(best, worst) == pytest.approx(one[1] * other[0])
    assert model.p_tie(best, worst) == pytest.approx(one @ other)


def test_the_likelihood_of_answers_is_that_of_all_categories_and_sums_to_one():
    prefs, _, _ = crowd(2)
    ranking = cc.rank(prefs, "dawid-skene")
    model = ranking.model
    assert model.log_likelihood(prefs) == pytest.approx(ranking.fit["log_likelihood"], rel=1e-5)
    glad = cc.rank(prefs, "glad")
    assert glad.model.log_likelihood(prefs) == pytest.approx(glad.fit["log_likelihood"], rel=1e-9)
    said = [cc.Preferences.from_ratings(["w0"], ["d0"], [value]) for value in model.categories]
    chances = np.exp([model.log_likelihood(answer) for answer in said])
    assert chances.sum() == pytest.approx(1)
    assert chances == pytest.approx(model.shares @ model.confusion("w0"), abs=1e-6)
    with pytest.raises(cc.InputError, match="not one of the categories"):
        model.log_likelihood(cc.Preferences.from_ratings(["w0"], ["d0"], [17]))
    with pytest.raises(cc.NeedError, match="from_ratings, and give the agents with agent="):
        model.log_likelihood(cc.Preferences.from_rankings([["d0", "d1"]]))


def test_drawn_answers_follow_posterior_and_confusion():
    prefs, _, _ = crowd(3, n_documents=6, each=6)
    model = cc.rank(prefs, "dawid-skene").model
    drawn = model.sample(20_000, seed=1)
    answers = np.einsum("sk,akl->asl", model.posterior, model.confusions)
    i, j = model.slot("d0"), model.slot("d1")
    expected = (answers[:, i, 1] * answers[:, j, 0]).mean()
    first, second = (drawn.items.code(item) for item in ("d0", "d1"))
    tiers = np.empty((20_000, 6), int)
    np.put_along_axis(tiers, drawn.item.reshape(-1, 6).astype(int), drawn.tier.reshape(-1, 6), axis=1)
    assert (tiers[:, first] < tiers[:, second]).mean() == pytest.approx(expected, abs=0.015)


# ---- classes without an order ----
def nominal(seed, n_classes=4, n_workers=20, n_items=150, each=60):
    """Workers of different accuracy choose classes: preferences by names of classes, and the same by numbers."""
    rng = np.random.default_rng(seed)
    accuracy, truth, rows = rng.uniform(0.4, 0.95, n_workers), rng.integers(0, n_classes, n_items), []
    for w in range(n_workers):
        for d in rng.permutation(n_items)[:each]:
            answer = truth[d] if rng.random() < accuracy[w] else rng.integers(0, n_classes)
            rows.append((f"w{w}", f"d{d}", answer))
    workers, items, answers = zip(*rows, strict=True)
    names = [f"class-{'xbqa'[k]}" for k in answers]
    by_name = cc.Preferences.from_answers(workers, items, names)
    return by_name, cc.Preferences.from_ratings(workers, items, answers), truth


def test_names_of_classes_give_the_same_model_as_numbers():
    prefs, numbered, truth = nominal(3)
    ranking, other = cc.rank(prefs, "dawid-skene"), cc.rank(numbered, "dawid-skene").model
    model = ranking.model
    order = ["xbqa".index(name[-1]) for name in model.classes]
    same_items = [other.items.code(item) for item in prefs.items]
    np.testing.assert_allclose(model.posterior, other.posterior[same_items][:, order], atol=1e-9)
    answer = dict(zip(ranking.items, ranking.columns()["answer"], strict=True))
    right = [answer[f"d{d}"] == f"class-{'xbqa'[truth[d]]}" for d in range(len(truth)) if f"d{d}" in answer]
    assert np.mean(right) > 0.9
    assert model.log_likelihood(prefs) == pytest.approx(ranking.fit["log_likelihood"], rel=1e-6)


def test_a_ranking_of_classes_names_the_class_and_claims_no_winner():
    prefs, _, _ = nominal(4)
    ranking = cc.rank(prefs, "dawid-skene")
    assert (ranking.scores <= 1).all()
    assert (np.diff(ranking.scores) <= 0).all()
    assert ranking.low is None
    assert ranking.certainty.sentences() == []
    assert "probability of its most likely class" in str(ranking.explain())
    assert "answer" in ranking.to_text().splitlines()[0]
    for question in (lambda: ranking.model.p_beats("d0", "d1"), lambda: ranking.model.sample(2, seed=0)):
        with pytest.raises(cc.errors.NeedError, match="without an order"):
            question()


def test_unknown_classes_and_other_scales_have_no_likelihood():
    prefs, numbered, _ = nominal(5)
    model = cc.rank(prefs, "dawid-skene").model
    strange = cc.Preferences.from_answers(["w0"], ["d0"], ["class-z"])
    with pytest.raises(cc.errors.InputError, match="not one of the categories"):
        model.log_likelihood(strange)
    with pytest.raises(cc.errors.NeedError, match="differ in scale"):
        model.log_likelihood(numbered)


def test_free_text_is_not_a_set_of_classes():
    texts = [f"text {k}" for k in range(1_200)]
    prefs = cc.Preferences.from_answers(["a"] * 1_200, [f"i{k}" for k in range(1_200)], texts)
    with pytest.raises(cc.errors.InputError, match="1,200 different classes"):
        cc.rank(prefs, "dawid-skene")
