"""Crowds that answer in classes without an order: consensus, reliability and gold classes."""

from __future__ import annotations

import numpy as np
import pytest

import concordant as cc
from concordant import crowd
from concordant.errors import InputError, NeedError, ParameterError

# Three workers answer four tasks; wu always says cat.
ROWS = [
    *[("wa", "t1", "cat"), ("wb", "t1", "cat"), ("wu", "t1", "cat")],
    *[("wa", "t2", "dog"), ("wb", "t2", "dog"), ("wu", "t2", "cat")],
    *[("wa", "t3", "bird"), ("wb", "t3", "bird"), ("wu", "t3", "cat")],
    *[("wa", "t4", "dog"), ("wb", "t4", "cat"), ("wu", "t4", "cat")],
]


@pytest.fixture
def prefs() -> cc.Preferences:
    return cc.Preferences.from_answers(*zip(*ROWS, strict=True))


GOLD = cc.Labels.of_classes(None, ["t4", "t2", "t1", "t9"], ["dog", "dog", "cat", "fish"])


def by_item(decided) -> dict[str, tuple[str, float]]:
    columns = decided.columns()
    return dict(zip(columns["item"], zip(columns["label"], columns["probability"], strict=True), strict=True))


def test_majority_vote_gives_the_most_frequent_class_with_its_share(prefs):
    found = by_item(crowd.decide(prefs, "majority-vote"))
    assert found == {
        "t1": ("cat", 1.0),
        "t2": ("dog", pytest.approx(2 / 3)),
        "t3": ("bird", pytest.approx(2 / 3)),
        "t4": ("cat", pytest.approx(2 / 3)),
    }


def test_equal_votes_go_to_the_class_that_comes_first():
    tied = cc.Preferences.from_answers(["a", "b"], ["x", "x"], ["dog", "cat"])
    assert by_item(crowd.decide(tied, "majority-vote"))["x"] == ("dog", 0.5)


def test_dawid_skene_gives_probabilities_of_the_model(prefs):
    found = by_item(crowd.decide(prefs, "dawid-skene"))
    model = cc.rank(prefs, "dawid-skene").model
    assert model.classes == ("cat", "dog", "bird")
    for slot, item in enumerate(prefs.items):
        best = int(model.posterior[slot].argmax())
        assert found[item] == (model.classes[best], pytest.approx(model.posterior[slot, best]))


def test_workers_are_compared_with_gold_classes_by_name(prefs):
    reliability = crowd.reliability(prefs, GOLD)
    accuracy = dict(zip(reliability.agents, reliability.accuracy.tolist(), strict=True))
    assert accuracy == {"wa": 1.0, "wb": pytest.approx(2 / 3), "wu": pytest.approx(1 / 3)}
    assert reliability.on_gold.tolist() == [3, 3, 3]
    assert np.isnan(reliability.relevant).all()
    assert "on relevant" not in str(reliability)
    assert ((reliability.estimated > 0) & (reliability.estimated < 1)).all()


def test_the_consensus_is_compared_with_gold_classes(prefs):
    # t1 and t2 are right, t4 is wrong; nobody answered t9.
    assert crowd.agreement(crowd.decide(prefs, "majority-vote"), GOLD) == pytest.approx(2 / 3)


def test_gold_numbers_match_classes_of_the_same_name():
    numbered = cc.Preferences.from_answers(["a", "b"], ["x", "y"], ["1", "2"])
    gold = cc.Labels(None, ["x", "y"], [1, 3])
    assert crowd.reliability(numbered, gold).accuracy.tolist() == [1, 0]
    assert crowd.agreement(crowd.decide(numbered, "majority-vote"), gold) == 0.5


def test_gold_of_another_kind_is_rejected(prefs):
    rated = cc.Preferences.from_ratings(["a", "b"], ["t1", "t1"], [0, 1])
    for compare in (lambda: crowd.reliability(rated, GOLD), lambda: crowd.agreement(crowd.decide(rated), GOLD)):
        with pytest.raises(
            InputError, match=r"gold labels are classes \(dog, cat, fish\), but the answers are numbers"
        ):
            compare()
    other = cc.Labels.of_classes(None, ["t1"], ["Katze"])
    with pytest.raises(InputError, match=r"No gold label \(Katze\) is a class of the answers \(cat, dog, bird\)"):
        crowd.reliability(prefs, other)


def test_a_threshold_does_not_apply_to_classes(prefs):
    for question in (crowd.decide, crowd.reliability):
        with pytest.raises(ParameterError, match="classes without an order"):
            question(prefs, relevant=1.0)
    assert crowd.yes_from(prefs) is None


def test_judgements_in_words_are_classes():
    prefs = crowd.judgements(["a", "b"], ["q", "q"], ["d", "d"], ["good", "bad"])
    assert (prefs.form, list(prefs.classes)) == ("answers", ["good", "bad"])
    assert crowd.judgements(["a", "b"], ["q", "q"], ["d", "d"], ["1", "0"]).form == "ratings"


def test_systems_that_rank_refuse_classes(prefs):
    with pytest.raises(NeedError, match="needs an order"):
        crowd.rank(prefs, "condorcet")


def test_decided_labels_of_numbers_have_probabilities():
    prefs = crowd.judgements(["w1", "w2", "w3"], ["q"] * 3, ["d"] * 3, [1, 1, 0])
    assert crowd.decide(prefs, "majority-vote").probability.tolist() == pytest.approx([2 / 3])
    graded = crowd.judgements(["w1", "w2", "w3"], ["q"] * 3, ["d"] * 3, [1, 2, 2])
    assert crowd.decide(graded, "majority-vote", relevant=None).columns() == {
        "instance": ["q"], "item": ["d"], "label": [2.0], "probability": [pytest.approx(2 / 3)]
    }  # fmt: skip
