"""Recommenders learn from clicks and are evaluated among all unseen items."""

from __future__ import annotations

import numpy as np
import pytest

import concordant as cc
from concordant.errors import NeedError
from concordant.metrics import evaluate_arrays, mean
from concordant.recommend import BPR, PMF, Popular, split


def clicks(seed: int = 0, n_agents: int = 150, n_items: int = 60, size: int = 12) -> cc.Preferences:
    """Draw clicks by taste: agents and items have latent factors."""
    rng = np.random.default_rng(seed)
    taste = rng.normal(size=(n_agents, 3)) @ rng.normal(size=(n_items, 3)).T
    user, item = [], []
    for agent in range(n_agents):
        chance = np.exp(2 * taste[agent])
        user += [f"u{agent}"] * size
        item += [f"i{k}" for k in rng.choice(n_items, size, replace=False, p=chance / chance.sum())]
    pd = pytest.importorskip("pandas")
    return cc.Preferences.from_frame(pd.DataFrame({"user": user, "item": item}))


def test_the_metric_equals_a_plain_loop_over_all_unseen_items() -> None:
    train, held_out = split(clicks(), 0.2)
    model = Popular().fit(train)
    values = model.by_agent(held_out, ["ndcg@10", "recall@10"])
    seen: dict[int, set[int]] = {}
    for prefs, sets in ((train, seen), (held_out, wanted := {})):
        for ballot in range(prefs.n_ballots):
            entries = prefs.item[prefs.indptr[ballot] : prefs.indptr[ballot + 1]].tolist()
            sets.setdefault(int(prefs.agent[ballot]), set()).update(entries)
    for agent, chosen in list(wanted.items())[:20]:
        candidates = [k for k in range(train.n_items) if k not in seen.get(agent, set()) or k in chosen]
        score = model._pair_scores(np.full(len(candidates), agent, np.int32), np.array(candidates, np.int32))
        label = [float(k in chosen) for k in candidates]
        expected = evaluate_arrays(score, label, None, ["ndcg@10", "recall@10"], ties="average")
        for name, value in expected.items():
            assert values[name][agent] == pytest.approx(value[0])


def test_parts_of_agents_give_the_same_values(monkeypatch: pytest.MonkeyPatch) -> None:
    from concordant.recommend import _unseen

    train, held_out = split(clicks(1), 0.2)
    model = Popular().fit(train)
    whole = model.by_agent(held_out, ["mrr"])["mrr"]
    monkeypatch.setattr(_unseen, "AT_ONCE", 7 * train.n_items)
    np.testing.assert_array_equal(model.by_agent(held_out, ["mrr"])["mrr"], whole)


def test_bpr_learns_taste_from_clicks_and_beats_the_popular_list() -> None:
    train, held_out = split(clicks(2), 0.2)
    model = BPR(factors=8, passes=60).fit(train, validation=held_out)
    personal, popular = (
        float(mean(one.by_agent(held_out, ["ndcg@10"])["ndcg@10"])) for one in (model, Popular().fit(train))
    )
    assert popular < 0.9
    assert personal > 1.5 * popular


def test_held_out_items_that_the_model_does_not_know_count_as_missed() -> None:
    pd = pytest.importorskip("pandas")
    model = Popular().fit(clicks(3))
    later = cc.Preferences.from_frame(pd.DataFrame({"user": ["u0", "u0"], "item": ["new", "newer"]}))
    assert model.by_agent(later, ["recall@10"])["recall@10"].tolist() == [0.0]


def test_a_model_of_ratings_refuses_clicks() -> None:
    with pytest.raises(NeedError, match="clicks without ratings: use bpr"):
        PMF().fit(clicks(4))
