"""Nominal answers: classes without an order, as a scale of the container."""

from __future__ import annotations

import io
import pickle

import numpy as np
import pytest

import concordant as cc
from concordant.errors import InputError, NeedError

AGENT = ["ann", "ann", "bob", "bob", "cy"]
ITEM = ["x", "y", "x", "y", "x"]
ANSWER = ["cat", "dog", "cat", "bird", "dog"]


@pytest.fixture
def prefs() -> cc.Preferences:
    return cc.Preferences.from_answers(AGENT, ITEM, ANSWER)


def test_answers_are_codes_of_classes_and_express_no_order(prefs):
    assert (prefs.scale, prefs.form, list(prefs.classes)) == ("nominal", "answers", ["cat", "dog", "bird"])
    assert prefs.value.tolist() == [0, 1, 0, 2, 1]
    assert (prefs.tier == 0).all()
    assert repr(prefs) == "Preferences(3 ballots (answers), 2 items, 3 agents, 3 classes)"


def test_numbers_are_names_of_classes():
    assert list(cc.Preferences.from_answers(["a", "b"], ["x", "x"], [3, 7]).classes) == ["3", "7"]


def test_copies_subsets_and_merged_ballots_keep_their_classes(prefs):
    assert pickle.loads(pickle.dumps(prefs)) == prefs == prefs.replace() == prefs.noted("seen")
    part = prefs.select(agents=["bob"])
    assert [part.classes[int(code)] for code in part.value] == ["cat", "bird"]
    assert prefs.take([2, 2]).merge().weight.tolist() == [2.0]
    assert prefs.merge(agents=False).n_ballots == 3
    twins = cc.Preferences.from_answers(["a", "b"], ["x", "x"], ["cat", "cat"])
    assert twins.merge(agents=False).weight.tolist() == [2.0]


def test_equality_compares_names_of_classes_and_not_their_codes(prefs):
    order = [4, 3, 2, 1, 0]
    other = cc.Preferences.from_answers(*([column[k] for k in order] for column in (AGENT, ITEM, ANSWER)))
    assert list(other.classes) != list(prefs.classes)
    assert other.take([2, 1, 0]) == prefs
    renamed = cc.Preferences.from_answers(AGENT, ITEM, ["dog", "cat", "dog", "bird", "cat"])
    assert np.array_equal(renamed.value, prefs.value)
    assert renamed != prefs


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"classes": None}, "must be given together"),
        ({"scale": "rating"}, "must be given together"),
        ({"value": np.array([0, 1, 0, 3, 1])}, r"outside 0\.\.2"),
        ({"value": np.array([0, 1, 0, 0.5, 1])}, "not a whole number"),
        ({"tier": np.array([0, 1, 0, 0, 0])}, "do not order"),
        ({"form": "rankings"}, "do not order"),
        ({"classes": ["cat", "cat", "dog"]}, "twice"),
    ],
)
def test_inconsistent_arrays_are_rejected(prefs, changes, message):
    with pytest.raises(InputError, match=message):
        prefs.replace(**changes)


def test_the_form_answers_needs_classes():
    with pytest.raises(InputError, match="must be given together"):
        cc.Preferences.from_ratings(["a"], ["x"], [1]).replace(form="answers")


def test_methods_that_need_an_order_say_which_do_not(prefs):
    for method in (None, "borda", "mpm", "majority-vote"):
        with pytest.raises(NeedError, match=r"needs an order.*cat, dog, bird.*dawid-skene.*categories=A,B,…"):
            cc.rank(prefs, method)
    with pytest.raises(NeedError, match="recommender"):
        cc.recommend.Popular().fit(prefs)
    with pytest.raises(NeedError, match="borda needs an order"):
        cc.compare(prefs, ["borda", "mpm"])


def test_a_description_shows_classes_and_agreement(prefs):
    text = str(prefs.describe())
    assert "cat 40%, dog 40%, bird 20%, without an order" in text
    assert "x: cat, y: dog" in text
    # Pairs of answers to x: cat-cat, cat-dog, cat-dog; to y: dog-bird.
    assert prefs.describe().finding("agreement").data["share"] == pytest.approx(1 / 4)
    assert prefs.describe().to_dict()["classes"][2] == {"class": "bird", "share": 0.2}
    assert [advice.method for advice in prefs.describe().methods] == ["dawid-skene"]


@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_answers_are_written_and_read_back(prefs, format, tmp_path):
    weighted = prefs.replace(weight=np.array([1.0, 2.0, 1.0]), instances=["q"], instance=np.zeros(3, np.int32))
    for data in (prefs, weighted):
        path = tmp_path / f"answers.{format}"
        assert cc.write(data, path) == []
        assert cc.read(path) == data


def test_classes_that_are_numbers_are_read_back_by_their_layout():
    numbered = cc.Preferences.from_answers(["a", "b"], ["x", "x"], [3, 7])
    text = io.StringIO()
    (note,) = cc.write(numbered, text, format="csv")
    assert "layout='answers'" in note
    assert cc.read(io.StringIO(text.getvalue()), layout="answers") == numbered
    assert cc.read(io.StringIO(text.getvalue())).scale == "rating"


@pytest.mark.parametrize("how", [{"format": "trec"}, {"format": "preflib"}, {"format": "csv", "layout": "rankings"}])
def test_formats_of_rankings_refuse_classes(prefs, how):
    with pytest.raises(NeedError, match="needs an order"):
        cc.write(prefs, io.BytesIO(), **how)


def test_labels_may_be_classes():
    gold = cc.Labels.of_classes(None, ["t1", "t2"], ["cat", "dog"])
    assert repr(gold) == "Labels(2 labels, 2 items, 1 instances, 2 classes)"
    text = io.StringIO()
    cc.write(gold, text, format="csv")
    again = cc.read_labels(io.StringIO(text.getvalue()))
    assert list(again.classes) == ["cat", "dog"]
    ranking = cc.rank(cc.Preferences.from_rankings([["t1", "t2"]]))
    with pytest.raises(InputError, match="classes without an order"):
        cc.evaluate(ranking, gold)
    with pytest.raises(InputError, match="classes without an order"):
        cc.write(gold, io.BytesIO(), format="qrels")
    with pytest.raises(InputError, match="position of a class"):
        cc.Labels(None, ["t1"], [5], gold.classes)
