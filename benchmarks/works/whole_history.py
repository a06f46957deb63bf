"""Whole-history rating: scores at every day an item played, from columns of dated games."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.core import Answer, Inputs, Size, Task, Work, sizes

if TYPE_CHECKING:
    from concordant.ranking import Ranking

YEARS, DAYS = 10, 365.25
PER_YEAR = 0.4  # how far a score moves
SIZES = sizes("games items", tiny=(400, 10), small=(3000, 300), full=(20_000, 300))
TOUR = sizes("games items", tiny=(400, 10), small=(20_000, 800), full=(195_000, 7_500))  # all matches of a tennis tour


def make(size: Size, seed: int) -> Inputs:
    """Draw games between random items, a few far more active than others, whose scores wander."""
    rng = np.random.default_rng(seed)
    n, m, weeks = size["games"], size["items"], YEARS * 52
    steps = rng.normal(0, PER_YEAR * np.sqrt(1 / 52), (weeks, m))
    steps[0] = rng.normal(0, 0.8, m)
    path, often = np.cumsum(steps, axis=0), rng.dirichlet(np.full(m, 0.5))
    week = np.sort(rng.integers(0, weeks, n))
    a = rng.choice(m, n, p=often)
    a[:m] = np.arange(m)  # nobody is without a game
    b = (a + rng.integers(1, m, n)) % m
    wins = rng.random(n) < 1 / (1 + np.exp(path[week, b] - path[week, a]))
    games = {"winner": np.where(wins, a, b), "loser": np.where(wins, b, a), "day": week * 7 + 1}
    return {**games, "items": m, "drift": PER_YEAR / np.sqrt(DAYS)}


def ours(inputs: Inputs) -> Task:
    """Fit under the same strength of the walk."""
    return _ranked(inputs, drift=inputs["drift"], prior=0.5)


def chosen(inputs: Inputs) -> Task:
    """Fit by default: drift and prior by evidence, intervals included."""
    return _ranked(inputs)


def _ranked(inputs: Inputs, **settings: float) -> Task:
    import concordant as cc

    labels = np.array([f"i{item}" for item in range(inputs["items"])])
    winner, loser = labels[inputs["winner"]], labels[inputs["loser"]]

    def rank() -> Ranking:
        prefs = cc.Preferences.from_pairs(winner, loser, time=inputs["day"])
        ranking = cc.rank(prefs, "whole-history", **settings)
        _ = ranking.items if settings else ranking.low
        return ranking

    return Task(rank, partial(answer, inputs["items"]))


def answer(items: int, ranking: Ranking) -> Answer:
    """Read the last scores by item."""
    score = np.zeros(items)
    score[[int(label.removeprefix("i")) for label in ranking.items]] = ranking.scores
    return {"score": score}


def is_near(ours: Answer, theirs: Answer) -> bool:
    """Say whether scores go together: the other's prior is two drawn games against a fixed opponent."""
    return bool(np.corrcoef(ours["score"], theirs["score"])[0, 1] > 0.98)


GAMES = Work(
    "whole-history",
    "whole-history rating of games, every day of play a score of its own",
    SIZES,
    make,
    ours,
    {"whole_history_rating": 100},
    is_near,
)
AS_CALLED = "all matches of a tour, drift and prior chosen by evidence, with intervals"
WORKS = (GAMES, GAMES.but("whole-history-tour", AS_CALLED, sizes=TOUR, ours=chosen, rivals={}, agree=None, budget=10.0))
