"""A table of scores turns losses of learning to rank into the score models of aggregation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import concordant as cc
from concordant import losses
from concordant.losses.queries import Queries
from concordant.scorers.table import Table
from concordant.solvers.lbfgs import minimise
from concordant.solvers.newton import minimise_newton
from concordant.solvers.objective import Objective

ITEMS = [f"item {k}" for k in range(6)]


def ballots(seed: int, size: int, n: int = 200) -> list[np.ndarray]:
    """Return orders of some items each, drawn by Plackett-Luce."""
    rng = np.random.default_rng(seed)
    truth = np.linspace(1, -1, len(ITEMS))
    chosen = [rng.choice(len(ITEMS), size, replace=False) for _ in range(n)]
    return [items[np.argsort(-(truth[items] + rng.gumbel(size=size)))] for items in chosen]


def fitted(loss: str, rows: list[np.ndarray], labels: list[np.ndarray], solve: Any = minimise) -> np.ndarray:
    """Minimise a loss over a table of scores, one query per ballot; return the scores and what else was learnt."""
    sizes = [len(one) for one in rows]
    queries = Queries.from_rows(np.concatenate(labels).astype(float), np.repeat(np.arange(len(rows)), sizes))
    objective = Objective(Table(len(ITEMS)), losses.load(loss)(), np.concatenate(rows), queries)
    start = objective.start(np.random.default_rng(0))
    found = solve(objective, start, tolerance=1e-15, max_iterations=1000, watch=lambda *_: True)
    return found.point


def by_item(ranking: cc.Ranking) -> np.ndarray:
    scores = dict(zip(ranking.items, ranking.scores, strict=True))
    found = np.array([scores[item] for item in ITEMS])
    return found - found.mean()


@pytest.mark.parametrize("solve", [minimise, minimise_newton])
def test_ranknet_gives_bradley_terry(solve: Any) -> None:
    rows = ballots(0, 2)
    scores = fitted("ranknet", rows, [np.array([1, 0])] * len(rows), solve)
    prefs = cc.Preferences.from_rankings([[ITEMS[a], ITEMS[b]] for a, b in rows])
    assert np.allclose(scores, by_item(cc.rank(prefs, "bradley-terry", prior=0)), atol=1e-6)


@pytest.mark.parametrize("solve", [minimise, minimise_newton])
def test_list_mle_gives_plackett_luce(solve: Any) -> None:
    rows = ballots(1, 4)
    scores = fitted("list-mle", rows, [np.arange(4, 0, -1)] * len(rows), solve)
    prefs = cc.Preferences.from_rankings([[ITEMS[k] for k in row] for row in rows])
    assert np.allclose(scores, by_item(cc.rank(prefs, "plackett-luce", prior=0)), atol=1e-6)


@pytest.mark.parametrize("model", ["davidson", "rao-kupper"])
def test_losses_with_ties_give_their_models(model: str) -> None:
    rows = ballots(2, 2)
    is_tie = np.random.default_rng(3).random(len(rows)) < 0.3
    point = fitted(model, rows, [np.array([1, int(tie)]) for tie in is_tie])
    first, second = (np.array(ITEMS)[[row[side] for row in rows]] for side in (0, 1))
    prefs = cc.Preferences.from_pairs(first, second, tie=is_tie)
    ranking = cc.rank(prefs, model, prior=0)
    assert np.allclose(point[:-1], by_item(ranking), atol=1e-6)
    assert point[-1] == pytest.approx(ranking.model.tie[0], abs=1e-6)
