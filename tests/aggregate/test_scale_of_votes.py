"""Who gets the seats does not depend on the unit of the votes: ballots, thousands of them, or shares."""

from __future__ import annotations

import numpy as np
import pytest

import concordant as cc
from concordant import registry
from concordant.params import params_of

WITH_SEATS = [name for name in registry.names() if any(p.name == "seats" for p in params_of(registry.load(name)))]
VARIANTS = [(name, {}) for name in WITH_SEATS if name != "stv"] + [("stv", {"rules": "meek"})]
SCALES = (0.001, 1 / 7, 0.01, 3.0, 1e6)


def election(seed: int) -> tuple[list[list[str]], np.ndarray]:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 7))
    names = [f"c{k}" for k in range(n)]
    ballots = [list(rng.permutation(names)[: rng.integers(1, n + 1)]) for _ in range(8)]
    return ballots, rng.integers(1, 60, len(ballots)).astype(float)


def elected(ballots: list[list[str]], weight: np.ndarray, method: str, **params: object) -> dict[str, float]:
    ranking = cc.rank(cc.Preferences.from_rankings(ballots, weight=weight), method, **params)
    return dict(zip(ranking.items, ranking.detail("elected").tolist(), strict=True))


def test_the_rules_with_seats_are_all_here() -> None:
    assert {"stv", "pav", "sequential-pav", "phragmen"} <= set(WITH_SEATS)


@pytest.mark.parametrize(("method", "params"), VARIANTS)
@pytest.mark.parametrize("seed", range(6))
def test_the_unit_of_votes_does_not_change_the_elected(method: str, params: dict[str, str], seed: int) -> None:
    ballots, weight = election(seed)
    for seats in (1, 2, 3):
        expected = elected(ballots, weight, method, seats=seats, **params)
        for scale in SCALES:
            assert elected(ballots, scale * weight, method, seats=seats, **params) == expected


def test_scottish_rules_refuse_fractions_of_votes_with_a_way_out() -> None:
    ballots = [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]]
    whole = elected(ballots, np.array([70.0, 16.0, 14.0]), "stv", seats=2)
    assert {name for name, share in whole.items() if share} == {"a", "b"}
    with pytest.raises(cc.NeedError, match=r"counts whole votes, but some weights are fractions: .* rules='meek'"):
        elected(ballots, np.array([0.70, 0.16, 0.14]), "stv", seats=2)


def test_more_votes_than_can_be_counted_are_refused() -> None:
    with pytest.raises(cc.NeedError, match="counts up to"):
        elected([["a", "b"], ["b", "a"]], np.array([1e15, 3.0]), "stv")


def test_methods_that_fit_leave_out_a_rule_that_would_refuse() -> None:
    prefs = cc.Preferences.from_rankings([["a", "b"], ["b", "c"], ["c"]], weight=[0.7, 0.16, 0.14])
    assert "stv" not in [advice.method for advice in prefs.describe().methods]
