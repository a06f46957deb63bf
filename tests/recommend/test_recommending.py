"""Lists, scores and newcomers: what a fitted recommender says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.recommend.test_fits import ALL, everyone, stars
from tests.recommend.test_pmf import planted_prefs

import concordant as cc
from concordant.recommend import (
    BPR,
    PMF,
    CoFiRank,
    ConsensusRecommender,
    OrderedPartitionMF,
    PlackettLuceMF,
    Popular,
    Recommender,
    _base,
)
from concordant.types import Floats

FACTORS = {name: model for name, model in ALL.items() if name not in ("popular", "popular, rating", "consensus")}
personal = pytest.mark.parametrize("model", FACTORS.values(), ids=FACTORS)


@pytest.fixture(scope="module")
def prefs() -> cc.Preferences:
    return stars(n_agents=20, n_items=15)


@pytest.fixture(scope="module")
def fitted(prefs: cc.Preferences) -> PMF:
    return PMF(factors=2, ridge=1.0, sweeps=10).fit(prefs)


def said_by(prefs: cc.Preferences, agent: str) -> dict[str, float]:
    """What an agent said of items."""
    own = prefs.select(agents=[agent])
    assert own.value is not None
    return dict(zip(own.items.take(own.item), own.value.tolist(), strict=True))


# ---- lists ----
@everyone
def test_a_list_holds_the_best_unseen_items_best_first(model: Recommender, prefs: cc.Preferences) -> None:
    fitted = model.fit(prefs)
    for agent in ("u0", "u7"):
        seen = said_by(prefs, agent)
        unseen = [label for label in fitted.items.labels if label not in seen]
        score = dict(zip(unseen, fitted.predict([agent] * len(unseen), unseen), strict=True))
        ranking = fitted.recommend(agent, n=4)
        assert len(ranking.items) == min(4, len(unseen))
        assert not seen.keys() & set(ranking.items)
        np.testing.assert_allclose(ranking.scores, sorted(score.values(), reverse=True)[:4], rtol=1e-5, atol=1e-5)
        assert [score[one] for one in ranking.items] == pytest.approx(ranking.scores.tolist(), rel=1e-5, abs=1e-5)


@everyone
def test_what_is_seen_may_come_again(model: Recommender, prefs: cc.Preferences) -> None:
    fitted = model.fit(prefs)
    assert set(fitted.recommend("u0", n=15, exclude_seen=False).items) == set(fitted.items.labels)


def test_more_than_all_items_are_all_items(fitted: PMF, prefs: cc.Preferences) -> None:
    ranking = fitted.recommend("u0", n=1000)
    assert set(ranking.items) == set(fitted.items.labels) - said_by(prefs, "u0").keys()


def test_who_has_seen_everything_gets_an_empty_list() -> None:
    prefs = cc.Preferences.from_ratings(["ann", "ann", "bob"], ["x", "y", "y"], [1, 2, 3])
    fitted = PMF(factors=1, sweeps=2).fit(prefs)
    assert fitted.recommend("ann").items == []
    assert [(one.instance, one.items) for one in fitted.recommend()] == [("ann", []), ("bob", ["x"])]


def test_a_list_may_be_drawn_from_some_items_only(fitted: PMF, prefs: cc.Preferences) -> None:
    wanted = ["i1", "i2", "i3", "i4"]
    seen = said_by(prefs, "u0")
    assert set(fitted.recommend("u0", items=wanted).items) == set(wanted) - seen.keys()
    assert set(fitted.recommend("u0", items=wanted, exclude_seen=False).items) == set(wanted)
    with pytest.raises(cc.UnknownNameError, match="no item 'i99'"):
        fitted.recommend("u0", items=["i99"])


@everyone
def test_all_agents_at_once_get_what_each_gets_alone(
    model: Recommender, prefs: cc.Preferences, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted = model.fit(prefs)
    together, some = fitted.recommend(n=3), fitted.recommend(["u3", "u1"], n=3)
    assert together.instances == fitted.agents
    assert [one.instance for one in some] == ["u3", "u1"]
    monkeypatch.setattr(_base, "AT_ONCE", 40)  # a few agents at a time
    by_pieces = fitted.recommend(n=3)
    np.testing.assert_array_equal(by_pieces.slot_ptr, together.slot_ptr)
    for agent in fitted.agents.labels:
        alone = fitted.recommend(agent, n=3)
        assert alone.items == together[agent].items == by_pieces[agent].items
        np.testing.assert_allclose(alone.scores, together[agent].scores, rtol=1e-5)
    assert some["u1"].items == together["u1"].items


def test_one_agent_has_one_list_and_several_have_one_each(fitted: PMF) -> None:
    assert fitted.recommend("u1").instances is None
    assert fitted.recommend(["u1"]).instances is not None
    assert len(fitted.recommend(["u1", "u2"]).instances or ()) == 2


def test_agents_may_be_numbers() -> None:
    fitted = Popular().fit(cc.Preferences.from_ratings([1, 1, 2], [10, 20, 20], [5, 4, 3]))
    assert fitted.recommend(2).items == ["10"]
    assert fitted.recommend([1, 2])["2"].items == ["10"]


def test_equal_scores_stand_in_the_order_of_the_items() -> None:
    prefs = cc.Preferences.from_rankings([["d", "b"], ["c", "a", "e"]], agent=["ann", "bob"])
    fitted = Popular().fit(prefs)
    assert fitted.items.labels == ["d", "b", "c", "a", "e"]
    assert fitted.recommend("ann").items == ["c", "a", "e"]
    assert fitted.recommend("ann", n=2).items == ["c", "a"]
    assert fitted.recommend("bob", n=3, exclude_seen=False).items == ["d", "b", "c"]


def test_the_head_of_many_equal_scores_is_the_head_of_the_items() -> None:
    """Where only some of the equal scores fit into the list, those of the first items are in it."""
    # Fails as long as _best of recommend/_base.py takes from argpartition whichever of the equal scores it found.
    rng = np.random.default_rng(0)
    score = rng.integers(0, 3, (40, 30)).astype(float)
    for n in (1, 5, 12, 29, 30):
        expected = [sorted(range(30), key=lambda k, row=row: (-row[k], k))[:n] for row in score]
        np.testing.assert_array_equal(_base._best(score, n), expected)


def test_an_unknown_agent_is_named(fitted: PMF) -> None:
    with pytest.raises(cc.UnknownNameError, match="no agent 'nobody'"):
        fitted.recommend("nobody")
    with pytest.raises(cc.UnknownNameError, match="no agent 'nobody'"):
        fitted.recommend(["u1", "nobody"])


def test_no_items_cannot_be_recommended(fitted: PMF) -> None:
    with pytest.raises(cc.InputError, match="n=0 is out of range"):
        fitted.recommend("u1", n=0)


# ---- scores ----
@everyone
def test_strangers_have_a_score(model: Recommender, prefs: cc.Preferences) -> None:
    fitted = model.fit(prefs)
    for agent, item in (("nobody", "i1"), ("u1", "nothing"), ("nobody", "nothing")):
        assert np.isfinite(fitted.predict([agent], [item])).all()


@personal
def test_a_stranger_finds_items_as_good_as_their_biases(model: Any, prefs: cc.Preferences) -> None:
    fitted = model.fit(prefs)
    expected = vars(fitted)["mean"] + vars(fitted)["of_item"][:, -1]
    labels = fitted.items.labels
    np.testing.assert_allclose(fitted.predict(["nobody"] * len(labels), labels), expected, rtol=1e-5)


def ndcg(score: Floats, rating: Floats, depth: int = 10) -> float:
    """NDCG of the order by score, where no scores are equal."""
    gain = [2 ** float(r) - 1 for r in rating]
    listed = sorted(range(len(gain)), key=lambda k: -score[k])[:depth]
    best = sorted(gain, reverse=True)[:depth]
    found = sum(gain[k] / np.log2(place + 2) for place, k in enumerate(listed))
    return float(found / sum(g / np.log2(place + 2) for place, g in enumerate(best)))


@pytest.mark.parametrize("depth", [1, 5, 10])
def test_the_score_is_the_mean_ndcg_of_the_agents(fitted: PMF, depth: int) -> None:
    test = stars(seed=1, n_agents=20, n_items=15)
    assert test.agents is not None
    by_hand = []
    for agent in test.agents.labels:
        said = said_by(test, agent)
        by_hand.append(ndcg(fitted.predict([agent] * len(said), list(said)), np.array([*said.values()]), depth))
    name = f"ndcg@{depth}"
    np.testing.assert_allclose(fitted.by_agent(test, [name])[name], by_hand)
    assert fitted.score(test, name) == pytest.approx(np.mean(by_hand))


def test_several_metrics_come_at_once(fitted: PMF) -> None:
    test = stars(seed=1, n_agents=20, n_items=15)
    found = fitted.by_agent(test, ["ndcg@5", "ndcg@10"])
    assert list(found) == ["ndcg@5", "ndcg@10"]
    assert {values.shape for values in found.values()} == {(20,)}


def test_without_ratings_the_first_items_are_relevant() -> None:
    prefs = cc.Preferences.from_rankings([["a", "b", "c"], ["a", "c", "b"]], agent=["ann", "bob"])
    fitted = Popular().fit(prefs).with_learnt(item_score=np.array([3.0, 2.0, 1.0]))
    test = cc.Preferences.from_rankings([["b", "a"], ["a", "c"]], agent=["ann", "bob"])
    assert fitted.by_agent(test, ["ndcg@1"])["ndcg@1"].tolist() == [0.0, 1.0]


def test_negative_ratings_are_judged_from_the_worst_one() -> None:
    prefs = cc.Preferences.from_ratings(["ann"] * 3, ["a", "b", "c"], [-10.0, 0.0, 2.0])
    fitted = Popular().fit(prefs).with_learnt(item_score=np.array([3.0, 2.0, 1.0]))
    lifted = cc.Preferences.from_ratings(["ann"] * 3, ["a", "b", "c"], [0.0, 10.0, 12.0])
    assert fitted.score(prefs) == pytest.approx(fitted.score(lifted))


# ---- similar items ----
@personal
def test_similar_items_have_factors_in_the_same_direction(model: Any, prefs: cc.Preferences) -> None:
    fitted = model.fit(prefs)
    row = vars(fitted)["of_item"][:, :-1].astype(float)
    own = fitted.items.code("i3")
    cosine = {
        label: float(row[k] @ row[own] / np.sqrt((row[k] @ row[k]) * (row[own] @ row[own]) or 1.0))
        for k, label in enumerate(fitted.items.labels)
        if k != own
    }
    found = fitted.similar("i3", n=4)
    np.testing.assert_allclose(found.scores, sorted(cosine.values(), reverse=True)[:4], atol=1e-6)
    assert [cosine[one] for one in found.items] == pytest.approx(found.scores.tolist(), abs=1e-6)
    assert len(fitted.similar("i3", n=100).items) == 14
    with pytest.raises(cc.UnknownNameError, match="no item 'i99'"):
        fitted.similar("i99")


def test_a_list_for_everybody_says_nothing_of_similar_items(prefs: cc.Preferences) -> None:
    with pytest.raises(cc.NeedError, match="popular does not learn item factors"):
        Popular().fit(prefs).similar("i3")


# ---- newcomers ----
def test_a_newcomer_is_the_least_squares_solution_of_its_ratings(fitted: PMF) -> None:
    said = {"i2": 5.0, "i4": 1.0, "i7": 4.0}
    code = fitted.items.codes(said)
    of_item, mean = vars(fitted)["of_item"], vars(fitted)["mean"]
    x = np.column_stack([of_item[code, :-1], np.ones(3)])
    y = np.array([*said.values()]) - mean - of_item[code, -1]
    expected = np.linalg.solve(x.T @ x + np.diag([1.0, 1.0, fitted.bias_ridge]), x.T @ y)
    np.testing.assert_allclose(vars(fitted.fold_in(said))["of_agent"][0], expected, atol=1e-10)


def test_who_is_known_comes_back_as_it_was(prefs: cc.Preferences) -> None:
    fitted = PMF(factors=2, ridge=1.0, sweeps=500, tolerance=0.0).fit(prefs)
    for agent in ("u0", "u5"):
        folded = fitted.fold_in(said_by(prefs, agent))
        own = vars(fitted)["of_agent"][fitted.agents.code(agent)]
        np.testing.assert_allclose(vars(folded)["of_agent"][0], own, atol=1e-3)
        assert folded.recommend().items == fitted.recommend(agent).items


@pytest.mark.parametrize(
    ("model", "near"),
    [
        (PMF(factors=3, ridge="auto", sweeps=60), 0.005),
        (PMF(factors=40, ridge=3.0, sweeps=60), 0.03),  # three steps of conjugate gradients from nothing
        (OrderedPartitionMF(factors=3, sweeps=60), 0.005),
        (OrderedPartitionMF(factors=3, ridge=2.0, sweeps=100), 0.005),
        (PlackettLuceMF(factors=3, ridge=2.0, sweeps=100), 0.03),  # twenty steps are not quite enough here
        (CoFiRank(factors=3, ridge=2.0, loss="ordinal", sweeps=100), 0.1),  # and still less here: 0.067 apart
        (CoFiRank(factors=3, ridge=2.0, loss="regression", sweeps=100), 0.005),
    ],
    ids=["auto", "many factors", "partitions, auto", "partitions", "item by item", "pairs", "regression"],
)
def test_who_is_known_comes_back_nearly(model: Any, near: float) -> None:
    prefs = stars()
    fitted = model.fit(prefs)
    folded = fitted.fold_in(prefs)
    spread = fitted.complete().std(axis=1).mean()
    assert np.abs(folded.complete() - fitted.complete()).mean() < near * spread
    assert folded.agents == fitted.agents
    assert folded.items == fitted.items


@everyone
def test_a_newcomer_gets_a_list_of_what_it_has_not_rated(model: Recommender, prefs: cc.Preferences) -> None:
    fitted = model.fit(prefs)
    folded = fitted.fold_in({"i2": 5.0, "i4": 1.0})
    ranking = folded.recommend(n=100)
    assert set(ranking.items) == set(fitted.items.labels) - {"i2", "i4"}
    assert folded.agents.labels == ["newcomer"]
    np.testing.assert_array_equal(folded.recommend("newcomer", n=100).score, ranking.score)


@everyone
def test_items_the_model_does_not_know_say_nothing(model: Recommender, prefs: cc.Preferences) -> None:
    fitted = model.fit(prefs)
    one, other = (fitted.fold_in({**said, "i2": 5.0, "i4": 1.0}) for said in ({}, {"unheard": 3.0}))
    assert one.recommend(n=100).items == other.recommend(n=100).items
    np.testing.assert_allclose(one.recommend(n=100).scores, other.recommend(n=100).scores)


def test_a_newcomer_without_ratings_is_refused(fitted: PMF) -> None:
    with pytest.raises(cc.InputError, match="without ratings cannot be folded in"):
        fitted.fold_in({})
    with pytest.raises(cc.InputError, match="knows none of these items"):
        fitted.fold_in({"unheard": 3.0})


@pytest.mark.parametrize(
    "model",
    [model for name, model in ALL.items() if not name.startswith(("bpr", "cofi-rank, ndcg"))],
    ids=[name for name in ALL if not name.startswith(("bpr", "cofi-rank, ndcg"))],
)
def test_several_newcomers_get_what_each_gets_alone(model: Recommender, prefs: cc.Preferences) -> None:
    fitted = model.fit(prefs)
    said = {"ann": {"i2": 5.0, "i4": 1.0}, "bob": {"i1": 2.0, "i4": 4.0, "i9": 3.0}}
    rows = [(agent, item, value) for agent, own in said.items() for item, value in own.items()]
    agent, item, value = (list(column) for column in zip(*rows, strict=True))
    together = fitted.fold_in(cc.Preferences.from_ratings(agent, item, value))
    for name, own in said.items():
        alone = fitted.fold_in(own).recommend(n=100)
        assert together.recommend(name, n=100).items == alone.items
        # The steps of a fold end for all at once, when the slowest has hardly moved.
        np.testing.assert_allclose(together.recommend(name, n=100).scores, alone.scores, atol=1e-3)


def test_a_newcomer_likes_what_those_like_who_agree_with_it() -> None:
    """Two tastes that contradict each other, and a newcomer with three ratings of one of them."""
    agent, item, rating = [], [], []
    for u in range(30):
        for i in range(20):
            if (u + i) % 3:
                agent.append(f"u{u}")
                item.append(f"i{i}")
                rating.append(5.0 if u % 2 == i % 2 else 1.0)
    prefs = cc.Preferences.from_ratings(agent, item, rating)
    models = [PMF(factors=2, ridge=1.0), OrderedPartitionMF(factors=2), BPR(factors=2, contrast="rated", passes=100)]
    for model in models:
        listed = model.fit(prefs).fold_in({"i0": 5.0, "i1": 1.0, "i2": 5.0}).recommend(n=5).items
        assert all(int(one[1:]) % 2 == 0 for one in listed)


# ---- what the methods need ----
def rankings() -> cc.Preferences:
    lists = [["a", "b", "c", "d"], ["d", "c", "b", "a"], ["a", "b", "d"], ["d", "c", "a"]]
    return cc.Preferences.from_rankings(lists, agent=["ann", "bob", "cat", "dan"])


@pytest.mark.parametrize(
    "model",
    [
        *(OrderedPartitionMF(factors=1, beta=1.0, ridge=ridge) for ridge in ("auto", 0.1)),
        *(PlackettLuceMF(factors=1, ridge=ridge) for ridge in ("auto", 0.1)),
        CoFiRank(factors=1, ridge=0.1, loss="ordinal"),
        *(BPR(factors=1, contrast=contrast) for contrast in ("unseen", "rated")),
        Popular(),
        ConsensusRecommender(),
    ],
    ids=repr,
)
def test_rankings_without_ratings_are_enough(model: Recommender) -> None:
    fitted = model.fit(rankings())
    assert fitted.recommend("cat").items == ["c"]
    assert 0 <= fitted.score(rankings()) <= 1


@pytest.mark.parametrize(
    "model",
    [PMF(), OrderedPartitionMF(), CoFiRank(loss="ndcg"), CoFiRank(loss="regression"), Popular(by="rating")],
    ids=["pmf", "ordered-partition-mf", "ndcg", "regression", "popular"],
)
def test_methods_that_need_ratings_say_so(model: Recommender) -> None:
    with pytest.raises(cc.NeedError, match="learns from ratings, but these are rankings"):
        model.fit(rankings())


def test_opposite_orders_are_told_apart_without_ratings() -> None:
    for model in (OrderedPartitionMF(factors=1, beta=1.0, ridge=0.1), PlackettLuceMF(factors=1, ridge=0.1)):
        fitted = model.fit(rankings())
        assert fitted.recommend("ann", exclude_seen=False).items[0] == "a"
        assert fitted.recommend("bob", exclude_seen=False).items[0] == "d"


@everyone
def test_preferences_without_agents_are_refused(model: Recommender) -> None:
    with pytest.raises(cc.NeedError, match="need to know who gave each rating"):
        model.fit(cc.Preferences.from_rankings([["a", "b"], ["b", "a"]]))


@everyone
def test_what_is_not_fitted_says_so(model: Recommender) -> None:
    uses: list[Any] = [
        lambda: model.recommend("ann"),
        lambda: model.recommend(),
        lambda: model.predict(["ann"], ["a"]),
        lambda: model.score(rankings()),
        lambda: model.fold_in({"a": 1.0}),
    ]
    for use in uses:
        with pytest.raises(cc.NeedError, match="is not fitted: call fit"):
            use()


def test_ranks_are_ratings_turned_round() -> None:
    agent, item, rank = ["ann", "ann", "bob", "bob"], ["a", "b", "a", "b"], [1, 3, 2, 1]
    ranks = PMF(factors=1, sweeps=3).fit(cc.Preferences.from_ranks(agent, item, rank))
    ratings = PMF(factors=1, sweeps=3).fit(cc.Preferences.from_ratings(agent, item, [-r for r in rank]))
    np.testing.assert_allclose(ranks.complete(), ratings.complete())


# ---- lists for everybody ----
def test_popular_counts_or_means_with_some_doubt() -> None:
    agent = ["ann", "bob", "cat", "ann", "bob", "cat"]
    prefs = cc.Preferences.from_ratings(agent, ["a", "a", "a", "b", "b", "c"], [3, 3, 3, 4, 4, 5])
    assert Popular().fit(prefs).recommend("ann", exclude_seen=False).items == ["a", "b", "c"]
    assert Popular(by="rating", doubt=0.0).fit(prefs).recommend("ann", exclude_seen=False).items == ["c", "b", "a"]
    mean = 22 / 6
    scores = vars(Popular(by="rating", doubt=2.0).fit(prefs))["item_score"]
    np.testing.assert_allclose(scores, [(9 + 2 * mean) / 5, (8 + 2 * mean) / 4, (5 + 2 * mean) / 3])


@pytest.mark.parametrize("method", ["borda", "mpm", "copeland"])
def test_the_consensus_is_that_of_the_method(method: str) -> None:
    prefs = planted_prefs(n_agents=12, n_items=8)
    fitted, ranking = ConsensusRecommender(aggregator=method).fit(prefs), cc.rank(prefs, method)
    labels = ranking.items
    np.testing.assert_allclose(fitted.predict(["nobody"] * len(labels), labels), ranking.scores)
    assert fitted.recommend("u0", n=8, exclude_seen=False).scores.tolist() == sorted(ranking.scores, reverse=True)


# ---- what bpr compares ----
@pytest.mark.parametrize("contrast", ["unseen", "rated"])
def test_bpr_compares_with_what_it_says(contrast: str) -> None:
    from concordant.recommend._observed import Observed
    from concordant.recommend.bpr import _draw

    prefs = stars(n_agents=10, n_items=12)
    observed, rng = Observed.of(prefs), np.random.default_rng(0)
    assert prefs.agents is not None
    said = {agent: said_by(prefs, agent) for agent in prefs.agents.labels}
    met = set()
    for _ in range(20):
        for u, good, bad in zip(*_draw(observed, contrast, rng), strict=True):
            agent, better, worse = observed.agents[u], observed.items[good], observed.items[bad]
            own = said[agent]
            assert worse not in own if contrast == "unseen" else own[better] > own[worse]
            met.add((agent, better, worse))
    if contrast == "rated":
        possible = {(u, i, j) for u, own in said.items() for i in own for j in own if own[i] > own[j]}
    else:
        possible = {(u, i, j) for u, own in said.items() for i in own for j in prefs.items.labels if j not in own}
    assert met <= possible
    assert len(met) > 0.9 * len(possible)
