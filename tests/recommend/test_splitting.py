"""Ratings held out: some of every agent's, and nothing lost."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from tests.recommend.test_pmf import planted_prefs

import concordant as cc
from concordant.recommend import split

Said = tuple[str, str, float]


def said(prefs: cc.Preferences) -> Counter[Said]:
    """Every (agent, item, rating)."""
    assert prefs.agents is not None
    assert prefs.agent is not None
    assert prefs.value is not None
    agent = np.repeat(prefs.agent, np.diff(prefs.indptr))
    return Counter(zip(prefs.agents.take(agent), prefs.items.take(prefs.item), prefs.value.tolist(), strict=True))


def by_agent(prefs: cc.Preferences) -> Counter[str]:
    return Counter(agent for agent, _, _ in said(prefs))


@pytest.mark.parametrize("seed", range(3))
def test_every_rating_is_in_one_of_the_parts(seed: int) -> None:
    prefs = planted_prefs()
    rest, held_out = split(prefs, 0.2, seed=seed)
    assert said(rest) + said(held_out) == said(prefs)
    for part in (rest, held_out):
        assert part.items == prefs.items
        assert part.agents == prefs.agents
        assert part.scale == "rating"


def test_a_share_of_every_agent_is_held_out_but_at_least_two() -> None:
    prefs = planted_prefs()
    whole, held_out = by_agent(prefs), by_agent(split(prefs, 0.1)[1])
    assert held_out == {agent: max(2, round(0.1 * n)) for agent, n in whole.items()}


def test_a_number_of_every_agent_is_held_out_but_never_all() -> None:
    agent = ["ann"] * 5 + ["bob"] * 2 + ["cat"]
    prefs = cc.Preferences.from_ratings(agent, list("abcdeabc"), np.arange(8.0))
    rest, held_out = split(prefs, count=3)
    assert by_agent(held_out) == {"ann": 3, "bob": 1}
    assert by_agent(rest) == {"ann": 2, "bob": 1, "cat": 1}


def test_who_said_little_keeps_all_of_it() -> None:
    prefs = cc.Preferences.from_ratings(["ann"] * 3 + ["bob"] * 4, list("abcabcd"), np.arange(7.0))
    assert by_agent(split(prefs, 0.5)[1]) == {"bob": 2}


def test_the_seed_draws_and_draws_the_same_again() -> None:
    one, again, other = (split(planted_prefs(), seed=seed)[1] for seed in (1, 1, 2))
    assert said(one) == said(again)
    assert said(one) != said(other)


def test_ballots_keep_their_order_and_weight() -> None:
    prefs = planted_prefs(n_agents=6)
    prefs = prefs.replace(weight=np.arange(1.0, prefs.n_ballots + 1))
    for part in split(prefs, 0.3):
        assert part.value is not None
        np.testing.assert_array_equal(part.weight, prefs.weight)
        for begin, end in zip(part.indptr[:-1], part.indptr[1:], strict=True):
            assert (np.diff(part.value[begin:end]) <= 0).all()
            assert (np.diff(part.tier[begin:end]) >= 0).all()


def test_what_cannot_be_held_out_is_refused() -> None:
    few = cc.Preferences.from_ratings(["ann", "bob"], ["a", "b"], [1, 2])
    with pytest.raises(cc.InputError, match="Every user has too few ratings"):
        split(few)
    with pytest.raises(cc.ParameterError, match="share"):
        split(few, 1.5)
    with pytest.raises(cc.ParameterError, match="count"):
        split(few, count=0)
