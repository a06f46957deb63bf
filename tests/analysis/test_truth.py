"""Aggregated classes, annotators and spammers, and the choice of the method by held-out likelihood."""

from __future__ import annotations

import numpy as np
import pytest

import concordant as cc
from concordant import crowd
from concordant.analysis.truth import Spammer


def mixed(seed, n_good=18, n_constant=6, n_random=6, n_items=150, each=50, k=3, is_ordinal=False):
    """Experts, constant answerers and random clickers: preferences, kinds by worker and classes by item."""
    rng = np.random.default_rng(seed)
    truth, rows, kinds = rng.integers(0, k, n_items), [], {}
    for w, kind in enumerate(["good"] * n_good + ["constant"] * n_constant + ["random"] * n_random):
        kinds[f"w{w}"], skill, constant = kind, rng.uniform(0.6, 0.95), rng.integers(k)
        for t in rng.choice(n_items, each, replace=False):
            if kind == "good" and is_ordinal:
                answer = int(np.clip(np.round(truth[t] + rng.normal(0, 0.8)), 0, k - 1))
            elif kind == "good":
                answer = truth[t] if rng.random() < skill else rng.integers(k)
            else:
                answer = constant if kind == "constant" else rng.integers(k)
            rows.append((f"w{w}", f"t{t}", int(answer)))
    return (
        cc.Preferences.from_ratings(*zip(*rows, strict=True)),
        kinds,
        {f"t{t}": int(truth[t]) for t in range(n_items)},
    )


def test_spammers_are_named_with_their_kind_and_nobody_else_is():
    prefs, kinds, _ = mixed(1)
    found = crowd.aggregate(prefs, "mace")
    named = {prefs.agents[k]: spammer for k, spammer in found.spammers.items()}
    assert all(isinstance(one, Spammer) for one in named.values())
    assert {name for name in named if kinds[name] == "good"} == set()
    assert {name for name, one in named.items() if one.kind == "constant answers"} == {
        w for w in kinds if kinds[w] == "constant"
    }
    assert {w for w in kinds if kinds[w] == "random"} - set(named) == set()
    assert "kappa with the others" in next(iter(named.values())).evidence


def test_reversed_answers_are_named_as_such():
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 2, 120)
    rows = [
        (f"w{w}", f"t{t}", int(truth[t] if rng.random() < 0.9 else 1 - truth[t])) for w in range(6) for t in range(120)
    ]
    rows += [("liar", f"t{t}", int(1 - truth[t] if rng.random() < 0.9 else truth[t])) for t in range(120)]
    prefs = cc.Preferences.from_ratings(*zip(*rows, strict=True))
    found = crowd.aggregate(prefs, "dawid-skene")
    assert {prefs.agents[k]: one.kind for k, one in found.spammers.items()} == {"liar": "reversed answers"}


@pytest.mark.parametrize(("is_ordinal", "expected"), [(True, "ordinal-annotators"), (False, "mace")])
def test_the_model_that_drew_the_answers_predicts_best(is_ordinal, expected):
    prefs, _, truth = mixed(3, k=5, is_ordinal=is_ordinal)
    found = crowd.aggregate(prefs)
    assert found.method == expected == found.held_out.method[0]
    assert list(found.held_out.log_likelihood) == sorted(found.held_out.log_likelihood, reverse=True)
    accuracy = {}
    for name in ("majority-vote", found.method):
        items = crowd.aggregate(prefs, name).items()
        accuracy[name] = np.mean([truth[item] == one for item, one in zip(items["item"], items["class"], strict=True)])
    assert accuracy[found.method] > accuracy["majority-vote"]


def test_the_held_out_likelihood_is_that_of_answers_the_model_has_not_seen():
    prefs, _, _ = mixed(4, n_good=8, n_constant=0, n_random=0, n_items=40, each=30)
    assert crowd.held_out(prefs, ["dawid-skene"]) == crowd.held_out(prefs, ["dawid-skene"])
    found = crowd.held_out(prefs)
    assert found.n == 240
    assert all(np.log(1e-12) < value < 0 for value in found.log_likelihood)
    fitted = cc.rank(prefs, "dawid-skene").model
    from concordant.models.annotators.answers import Answers

    seen = float(np.log(fitted.predicted(Answers.of(prefs, "test"))).mean())
    assert seen > dict(zip(*found[:2], strict=True))["dawid-skene"]


def test_kappa_is_that_of_the_definition_when_the_others_are_certain():
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 3, 80)
    rows = [(f"w{w}", f"t{t}", int(truth[t])) for w in range(9) for t in range(80)]
    said = np.where(rng.random(80) < 0.6, truth, rng.integers(0, 3, 80))
    rows += [("x", f"t{t}", int(said[t])) for t in range(80)]
    prefs = cc.Preferences.from_ratings(*zip(*rows, strict=True))
    kappa, error = crowd.aggregate(prefs, "one-coin").kappa
    observed = (said == truth).mean()
    expected = sum((said == k).mean() * (truth == k).mean() for k in range(3))
    k = prefs.agents.code("x")
    assert kappa[k] == pytest.approx((observed - expected) / (1 - expected), abs=1e-6)
    assert 0.03 < error[k] < 0.15


def test_intervals_hold_the_true_accuracy_of_most_annotators():
    prefs, kinds, truth = mixed(6, n_good=60, n_constant=0, n_random=0, n_items=300, each=60)
    found = crowd.aggregate(prefs, "one-coin")
    agents = found.agents()
    answers = {name: [] for name in kinds}
    for b in range(prefs.n_ballots):
        for e in range(prefs.indptr[b], prefs.indptr[b + 1]):
            answers[prefs.agents[prefs.agent[b]]].append(truth[prefs.items[int(prefs.item[e])]] == prefs.value[e])
    inside = [
        low <= np.mean(answers[name]) <= high
        for name, low, high in zip(agents["agent"], agents["estimated_low"], agents["estimated_high"], strict=True)
    ]
    assert np.mean(inside) > 0.9


def test_gold_labels_with_grades_count_as_yes_or_no():
    prefs = crowd.judgements(
        ["a", "b", "c"] * 3, ["q"] * 9, ["d1"] * 3 + ["d2"] * 3 + ["d3"] * 3, [1, 1, 0, 0, 0, 1, 1, 1, 1]
    )
    gold = cc.Labels(["q", "q"], ["d1", "d2"], [2, 1])
    found = crowd.aggregate(prefs, "dawid-skene", gold=gold)
    items = dict(
        zip(found.items()["item"], zip(found.items()["class"], found.items()["probability"], strict=True), strict=True)
    )
    assert items["d1"] == (1, 1.0)
    assert items["d2"] == (1, 1.0)
    assert crowd.gold_accuracy(crowd.aggregate(prefs, "majority-vote"), gold, min_yes=1.0) == 0.5
    assert 0 <= crowd.gold_accuracy(found, gold, learns=True) <= 1


def test_unknown_methods_and_missing_columns_are_rejected_with_advice():
    prefs, _, _ = mixed(7, n_items=20, each=10)
    with pytest.raises(cc.ParameterError, match="'borda' does not assign classes"):
        crowd.aggregate(prefs, "borda")
    with pytest.raises(cc.NeedError, match="agent and a class"):
        crowd.aggregate(cc.Preferences.from_rankings([["a", "b"]]))
    named = cc.Preferences.from_answers(["a", "b"], ["x", "y"], ["cat", "dog"])
    with pytest.raises(cc.NeedError, match="classes with an order"):
        crowd.aggregate(named, "ordinal")
    with pytest.raises(cc.InputError, match="No item has both"):
        crowd.gold_accuracy(crowd.aggregate(prefs, "mace"), cc.Labels(None, ["nobody"], [1]))


def test_adherence_and_accuracy_stand_side_by_side():
    prefs, _, _ = mixed(8, k=2)
    found = crowd.aggregate(prefs, "dawid-skene")
    assert "adherence" in found.agents()
    assert found.concordance() > 0.7
    named = cc.Preferences.from_answers(["a", "b", "a"], ["x", "x", "y"], ["cat", "dog", "cat"])
    found = crowd.aggregate(named, "dawid-skene")
    assert found.concordance() is None
    assert "adherence" not in found.agents()
