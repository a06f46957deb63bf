"""The expert ranker: it learns whom to trust, keeps to its formula, saves, loads, fuses, and says what it cannot do."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="the learn extra is not installed")

import concordant as cc
from concordant import laws, registry, views
from concordant.aggregate.supervised._base import Labelled, SupervisedMethod
from concordant.errors import InputError, NeedError, ParameterError
from concordant.learn import LambdaRank
from concordant.method import Outcome

PREFS, LABELS = laws.random_labelled(np.random.default_rng(0), 40)  # agent 8 knows most, agent 0 nothing


def copied(model: Any) -> Any:
    file = io.BytesIO()
    cc.save(model, file)
    file.seek(0)
    return cc.load(file)


@pytest.fixture(scope="module")
def model() -> Any:
    return cc.ExpertRanker().fit(PREFS, LABELS, validation=0.25)


# ---- what it learns ----
def test_who_knows_is_trusted(model: Any) -> None:
    assert model.trust["agent 7"] + model.trust["agent 8"] > 2 * (model.trust["agent 0"] + model.trust["agent 1"])
    assert {agent: row["first"] - row["last"] for agent, row in model.experts.items()} == model.trust
    assert model.rank(PREFS).agents == model.trust


def test_one_good_expert_beats_a_wrong_majority() -> None:
    rng = np.random.default_rng(1)
    rows = []
    for q in range(30):
        right = rng.permutation(5)
        for agent, order in (
            ("good", right),
            ("bad", right[::-1]),
            ("worse", right[::-1]),
            ("dull", rng.permutation(5)),
        ):
            rows += [
                (f"q{q}", agent, f"d{i}", place + 1, 4 - int(np.flatnonzero(right == i)[0]))
                for place, i in enumerate(order)
            ]
    instance, agent, item, rank, label = (list(column) for column in zip(*rows, strict=True))
    prefs = cc.Preferences.from_ranks(agent, item, rank, instance=instance)
    known = {(q, i): y for q, i, y in zip(instance, item, label, strict=True)}
    labels = cc.Labels([q for q, _ in known], [i for _, i in known], list(known.values()))
    names = prefs.instances.labels
    fitted = cc.ExpertRanker().fit(prefs.select(instances=names[:20]), labels)
    test = prefs.select(instances=names[20:])
    assert cc.evaluate(fitted.rank(test), labels, "ndcg@5", queries="shared")["ndcg@5"] == pytest.approx(1.0)
    assert cc.evaluate(cc.rank(test, "rrf"), labels, "ndcg@5", queries="shared")["ndcg@5"] < 0.8


def test_the_linear_model_is_lambdarank_on_the_features() -> None:
    features = cc.ExpertFeatures().fit(PREFS)
    X, query = features.transform(PREFS), views.instance_of_slot(PREFS)
    y = LABELS.for_items(query, PREFS.instances, PREFS.items, PREFS.slot_item)
    ranker = LambdaRank(solver="sgd", batch=1, alpha=0.0, max_iter=20, learning_rate=0.01, seed=3, standardise=False)
    ranker.fit(X, y, qid=query)
    fitted = cc.ExpertRanker(passes=20, seed=3).fit(PREFS, LABELS)
    np.testing.assert_allclose(fitted.rank(PREFS).score, ranker.predict(X), atol=1e-9)


@pytest.mark.parametrize(
    "settings",
    [
        {"components": 2},
        {"scope": "combined"},
        {"scope": "hybrid", "min_preferences": 140},
        {"features": "fusion"},
        {"features": "both", "methods": "rrf"},
        {"target": "ap"},
        {"target": "err"},
        {"unjudged": "skip"},
        {"learner": "rank-net", "settings": "max_iter=5"},
        {"learner": "rank-svm"},
        {"learner": "rank-boost", "features": "fusion", "settings": "rounds=5"},
    ],
    ids=str,
)
def test_every_variant_learns_saves_and_loads(settings: dict[str, Any]) -> None:
    method = cc.ExpertRanker(passes=20, **settings)
    fitted = method.fit(PREFS, LABELS, **({"validation": 0.25} if method.takes_validation else {}))
    ranking = fitted.rank(PREFS)
    again = copied(fitted)
    assert again == fitted
    np.testing.assert_array_equal(again.rank(PREFS).score, ranking.score)
    quality = cc.evaluate(ranking, LABELS, "ndcg@3")["ndcg@3"]
    assert quality > cc.evaluate(cc.rank(PREFS, "rrf"), LABELS, "ndcg@3")["ndcg@3"] - 0.03
    if "weights" in fitted.learnt:
        X = np.concatenate([one.transform(PREFS) for one in fitted._transformers()], axis=1)
        np.testing.assert_allclose(X @ fitted.learnt["weights"], ranking.score, atol=1e-8)
    else:
        assert set(fitted.trust) == set(PREFS.agents)


def test_boosted_trees_by_lightgbm_learn_too() -> None:
    pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    fitted = cc.ExpertRanker(learner="lightgbm", features="fusion", settings="trees=20,threads=1").fit(
        PREFS, LABELS, validation=0.25
    )
    np.testing.assert_array_equal(copied(fitted).rank(PREFS).score, fitted.rank(PREFS).score)
    assert fitted.trust["agent 8"] > 0


def test_a_ranker_of_ones_own_can_be_trained() -> None:
    fitted = cc.ExpertRanker().fit(PREFS, LABELS, ranker=LambdaRank(hidden=3, max_iter=5))
    assert fitted.rank(PREFS).score.std() > 0
    np.testing.assert_array_equal(copied(fitted).rank(PREFS).score, fitted.rank(PREFS).score)


def test_validation_keeps_the_best_pass(model: Any) -> None:
    curve = model.learnt["curve"]
    names = PREFS.instances.labels
    part = cc.ExpertRanker(passes=30).fit(
        PREFS.select(instances=names[:30]), LABELS, validation=(PREFS.select(instances=names[30:]), LABELS)
    )
    valid = cc.evaluate(part.rank(PREFS.select(instances=names[30:])), LABELS, "ndcg@10", queries="shared")["ndcg@10"]
    assert valid == pytest.approx(part.learnt["curve"].max(), abs=1e-9)
    assert len(curve) == 200


def test_the_same_seed_gives_the_same_model() -> None:
    one, two, other = (cc.ExpertRanker(passes=5, seed=seed).fit(PREFS, LABELS) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.learnt["weights"], two.learnt["weights"])
    assert not np.array_equal(one.learnt["weights"], other.learnt["weights"])


def test_unlabelled_candidates_and_instances_do_not_disturb() -> None:
    names = PREFS.instances.labels
    query = views.instance_of_slot(PREFS)
    rows = np.flatnonzero(query < 20)
    label = LABELS.for_items(query, PREFS.instances, PREFS.items, PREFS.slot_item)[rows]
    part = cc.Labels([names[q] for q in query[rows]], PREFS.items.take(PREFS.slot_item[rows]), label)
    whole = cc.ExpertRanker(passes=5).fit(PREFS, part)
    alone = cc.ExpertRanker(passes=5).fit(PREFS.select(instances=names[:20]), part)
    np.testing.assert_allclose(whole.learnt["weights"], alone.learnt["weights"])
    judged = Labelled.of(PREFS, cc.Labels(["q0"], ["item 0"], [1]), unjudged="skip")
    assert judged.is_known.sum() == 1
    assert np.isnan(judged.label).sum() == judged.prefs.n_slots - 1


# ---- fusing one query ----
def test_fusing_lists_is_ranking_them(model: Any) -> None:
    rng = np.random.default_rng(2)
    agents = list(model.known_agents)
    for counts in ("log", "binary", "scaled-difference", "difference"):
        fitted = cc.ExpertRanker(counts=counts, passes=10).fit(PREFS, LABELS)
        lists: list[Any] = [[f"d{i}" for i in rng.permutation(20)[: rng.integers(1, 20)]] for _ in agents]
        lists[1][0:3] = [lists[1][0:3]]  # a tie
        prefs = cc.Preferences.from_rankings(lists, agent=agents)
        expected = fitted.rank(prefs)
        fused = cc.fuse(lists, fitted)
        assert fused.items == expected.items
        np.testing.assert_allclose(fused.scores, expected.scores, atol=1e-9)
        assert cc.fuse(dict(zip(agents, lists, strict=True)), fitted).items == expected.items


def test_lists_by_name_may_be_silent_and_have_scores(model: Any) -> None:
    scored = {"agent 8": {"a": 0.1, "b": 0.9, "c": 0.5}, "agent 2": [("b", 2.0), ("c", 1.0)]}
    plain = {"agent 2": ["b", "c"], "agent 8": ["b", "c", "a"]}
    assert cc.fuse(scored, model).items == cc.fuse(plain, model).items
    for settings in ({"features": "fusion"}, {"components": 2}):
        other = cc.ExpertRanker(passes=5, **settings).fit(PREFS, LABELS)
        prefs = cc.Preferences.from_rankings(list(plain.values()), agent=list(plain))
        assert cc.fuse(plain, other).items == other.rank(prefs).items


def test_what_cannot_be_fused_is_said(model: Any) -> None:
    with pytest.raises(InputError, match="trained on 9 agents"):
        cc.fuse([["a"], ["b"]], model)
    with pytest.raises(InputError, match="'google' was not in the training data"):
        cc.fuse({"google": ["a"]}, model)
    with pytest.raises(InputError, match="nothing to fuse"):
        cc.fuse({}, model)
    with pytest.raises(NeedError, match="trained on labels first"):
        cc.fuse({"agent 1": ["a"]}, cc.ExpertRanker())
    with pytest.raises(InputError, match="twice"):
        cc.fuse({"agent 1": ["a", "a"]}, model)
    with pytest.raises(InputError, match="weight 0"):
        cc.fuse([["a"]] * 9, model, weights=[0, *[1] * 8])


# ---- what cannot be done is said ----
def test_it_must_learn_first() -> None:
    with pytest.raises(NeedError, match=r"trained on labels first: call fit\(prefs, labels\)"):
        cc.rank(PREFS, "expert-ranker")
    with pytest.raises(NeedError, match="the ballots have no agents"):
        cc.ExpertRanker().fit(cc.Preferences.from_rankings([["a", "b"]]), LABELS)
    with pytest.raises(InputError, match="no candidate has a label"):
        cc.ExpertRanker().fit(PREFS, cc.Labels(["other"], ["x"], [1]))
    with pytest.raises(NeedError, match="is not trained"):
        cc.ExpertRanker().plot_experts()


def test_strangers_are_left_out_and_named(model: Any) -> None:
    renamed = PREFS.replace(agents=["stranger", *PREFS.agents.labels[1:]])
    ranking = model.rank(renamed)
    assert [notice.name for notice in ranking.warnings] == ["unknown-agents"]
    assert "stranger" in str(ranking.warnings[0])
    first = PREFS.agents[0]
    without = model.rank(PREFS.select(agents=[label for label in PREFS.agents.labels if label != first]))
    assert without["q1"].items == ranking["q1"].items
    with pytest.raises(InputError, match="different agents"):
        model.rank(PREFS.replace(agents=[f"new {k}" for k in range(len(PREFS.agents))]))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learner": "lambdarank", "settings": "leaves=3"}, "sets no parameter"),
        ({"learner": "lambdarank", "settings": "max_iter=many"}, "max_iter must be of type int"),
        ({"learner": "lambdarank", "settings": "max_iter=0"}, "out of range"),
        ({"learner": "no-such-ranker"}, "There is no learner"),
        ({"methods": "expert-ranker", "features": "fusion"}, "itself learns from labels"),
    ],
)
def test_settings_are_checked(settings: dict[str, Any], message: str) -> None:
    with pytest.raises((ParameterError, InputError, cc.UnknownNameError), match=message):
        cc.ExpertRanker(**settings).fit(PREFS, LABELS)


@pytest.mark.parametrize(
    ("validation", "message"), [(1.5, "between 0 and 1"), ((PREFS,), "must be"), ("half", "must be")]
)
def test_validation_is_checked(validation: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        cc.ExpertRanker().fit(PREFS, LABELS, validation=validation)
    alone = PREFS.select(instances=["q0"])
    with pytest.raises(InputError, match="one labelled instance"):
        cc.ExpertRanker().fit(alone, LABELS, validation=0.5)


def test_experts_are_drawn(model: Any, tmp_path: Any) -> None:
    pytest.importorskip("matplotlib", reason="the plots extra is not installed")
    model.plot_experts(tmp_path / "experts.svg", top=4)
    assert (tmp_path / "experts.svg").stat().st_size > 1000
    other = cc.ExpertRanker(learner="rank-boost", settings="rounds=3").fit(PREFS, LABELS)
    assert other.plot_experts() is not None
    with pytest.raises(NeedError, match="no weights per expert"):
        _ = other.experts


# ---- a method of this kind needs a few lines ----
class Counting(SupervisedMethod):
    """Trusts everybody as often as they put a relevant document first."""

    learns = ("agents", "first")

    def _learn(self, train: Labelled, valid: Labelled | None) -> Mapping[str, Any]:
        prefs = train.prefs
        assert prefs.agents is not None
        top = train.label[prefs.entry_slot[prefs.indptr[:-1]]]
        by_agent = np.bincount(prefs.agent, top, len(prefs.agents))
        return {"first": dict(zip(prefs.agents.labels, by_agent.tolist(), strict=True))}

    def scores(self, prefs: cc.Preferences) -> Outcome:
        trust = np.array([self.learnt["first"].get(agent, 0.0) for agent in prefs.agents or ()])
        by_entry = trust[prefs.agent][views.ballot_of_entry(prefs)] / (1 + prefs.tier)
        return Outcome(np.bincount(prefs.entry_slot, by_entry, prefs.n_slots), warnings=self.unknown_agents(prefs))


def test_the_base_does_the_rest() -> None:
    fitted = Counting().fit(PREFS, LABELS)
    assert fitted.known_agents == tuple(PREFS.agents.labels)
    assert fitted.learnt["first"]["agent 8"] > fitted.learnt["first"]["agent 0"]
    assert cc.fuse({"agent 8": ["a", "b"]}, fitted).items == ["a", "b"]
    assert registry.load("expert-ranker").needs == {"agents", "labels"}
