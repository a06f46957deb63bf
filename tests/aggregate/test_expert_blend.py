"""The blend of a linear ranker and trees: it learns whom to trust, what no line can tell, and keeps to its formula."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="the learn extra is not installed")
pytest.importorskip("lightgbm", reason="LightGBM is not installed")

import concordant as cc
from concordant import laws, registry, views
from concordant.errors import InputError, NeedError

PREFS, LABELS = laws.random_labelled(np.random.default_rng(0), 60)  # agent 8 knows most, agent 0 nothing
SMALL: dict[str, Any] = {"bags": 2, "trees": 20}


@pytest.fixture(scope="module")
def model() -> Any:
    return cc.ExpertBlend(**SMALL).fit(PREFS, LABELS)


def labels_of(rows: list[tuple[str, str, float]]) -> cc.Labels:
    return cc.Labels([row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows])


def test_who_knows_is_trusted(model: Any) -> None:
    assert model.trust["agent 7"] + model.trust["agent 8"] > 2 * (model.trust["agent 0"] + model.trust["agent 1"])
    assert model.rank(PREFS).agents == model.trust


def test_it_beats_the_consensus_on_new_queries(model: Any) -> None:
    prefs, labels = laws.random_labelled(np.random.default_rng(9), 100)
    found = cc.evaluate(model.rank(prefs), labels, "ndcg@3")["ndcg@3"]
    assert found > cc.evaluate(cc.rank(prefs, "rrf"), labels, "ndcg@3")["ndcg@3"] + 0.02


def test_trees_tell_what_no_line_can() -> None:
    # x is right where y has a long list and turned round where y has a short one: its place alone says nothing.
    rng = np.random.default_rng(2)
    rows, known = [], []
    for q in range(160):
        is_long = q % 2 == 0
        right, drawn = rng.permutation(8), rng.permutation(8)[: 8 if is_long else 4]
        told = right if is_long else right[::-1]
        rows += [(f"q{q}", "x", f"d{i}", place + 1) for place, i in enumerate(told.tolist())]
        rows += [(f"q{q}", "y", f"d{i}", place + 1) for place, i in enumerate(drawn.tolist())]
        known += [(f"q{q}", f"d{i}", float(max(0, 3 - place))) for place, i in enumerate(right.tolist())]
    instance, agent, item, rank = (list(column) for column in zip(*rows, strict=True))
    prefs, labels = cc.Preferences.from_ranks(agent, item, rank, instance=instance), labels_of(known)
    names = prefs.instances.labels
    train, test = prefs.select(instances=names[:120]), prefs.select(instances=names[120:])
    blend = cc.ExpertBlend(bags=2, columns=1.0).fit(train, labels)
    linear = cc.ExpertRanker(passes=50).fit(train, labels)
    quality = {
        name: cc.evaluate(one.rank(test), labels, "ndcg@5", queries="shared")["ndcg@5"]
        for name, one in (("blend", blend), ("linear", linear))
    }
    assert quality["blend"] > quality["linear"] + 0.05


def test_scores_are_the_mean_of_both_models_on_one_scale(model: Any) -> None:
    X, query = cc.PlaceFeatures().fit_transform(PREFS), views.instance_of_slot(PREFS)
    linear, trees = X @ model.learnt["weights"], model.learnt["ranker"].predict(X)
    parts = []
    for scores in (linear, trees):
        mean = np.bincount(query, weights=scores) / np.bincount(query)
        parts.append(scores / np.sqrt(np.mean((scores - mean[query]) ** 2)))
    np.testing.assert_allclose(model.rank(PREFS).score, (parts[0] + parts[1]) / 2, atol=1e-8)


def test_the_linear_part_does_not_depend_on_the_units_of_features(model: Any) -> None:
    from concordant.learn import RankNet

    X, query = cc.PlaceFeatures().fit_transform(PREFS), views.instance_of_slot(PREFS)
    y = LABELS.for_items(query, PREFS.instances, PREFS.items, PREFS.slot_item)
    spread = np.where(X.std(axis=0) < 1e-9, 1.0, X.std(axis=0))
    ranker = RankNet(alpha=0.1, weighting="queries").fit(X / spread, y, qid=query)
    np.testing.assert_allclose(X @ model.learnt["weights"], ranker.predict(X / spread), atol=1e-9)


def test_best_is_another_name_of_it() -> None:
    assert registry.make("best") == cc.ExpertBlend()


def test_it_saves_loads_and_fuses(model: Any) -> None:
    file = io.BytesIO()
    cc.save(model, file)
    file.seek(0)
    loaded = cc.load(file)
    np.testing.assert_array_equal(loaded.rank(PREFS).score, model.rank(PREFS).score)
    fused = cc.fuse({"agent 8": ["a", "b", "c"], "agent 7": ["b", "c"]}, loaded)
    assert sorted(fused.items) == ["a", "b", "c"]


def test_the_same_seed_gives_the_same_model(model: Any) -> None:
    again = cc.ExpertBlend(**SMALL).fit(PREFS, LABELS)
    np.testing.assert_allclose(again.rank(PREFS).score, model.rank(PREFS).score, atol=1e-9)
    other = cc.ExpertBlend(**SMALL, seed=1).fit(PREFS, LABELS)
    assert not np.allclose(other.rank(PREFS).score, model.rank(PREFS).score)


def test_unjudged_documents_may_be_skipped() -> None:
    query = views.instance_of_slot(PREFS)
    y = LABELS.for_items(query, PREFS.instances, PREFS.items, PREFS.slot_item)
    kept = np.flatnonzero(np.arange(len(y)) % 3 > 0)
    names = [(PREFS.instances.labels[query[s]], PREFS.items.labels[PREFS.slot_item[s]], y[s]) for s in kept]
    fewer = labels_of(names)
    skipping = cc.ExpertBlend(**SMALL, unjudged="skip").fit(PREFS, fewer)
    counting = cc.ExpertBlend(**SMALL).fit(PREFS, fewer)
    assert not np.allclose(skipping.learnt["weights"], counting.learnt["weights"])


def test_it_says_what_it_needs(model: Any) -> None:
    with pytest.raises(NeedError):
        cc.ExpertBlend().rank(PREFS)
    with pytest.raises(NeedError):
        cc.ExpertBlend().fit(cc.Preferences.from_rankings([["a", "b"]]), LABELS)
    with pytest.raises(InputError, match="different agents"):
        model.rank(cc.Preferences.from_rankings([["a", "b"]], agent=["somebody"]))


def test_nothing_is_held_back_for_validation(model: Any) -> None:
    assert not model.takes_validation
    again = cc.ExpertBlend(**SMALL).fit(PREFS, LABELS, validation=0.3)
    np.testing.assert_allclose(again.learnt["weights"], model.learnt["weights"], atol=1e-9)
