"""Bradley-Terry scores with standard errors, from columns of votes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.core import Answer, Inputs, Size, Task, Work, sizes

if TYPE_CHECKING:
    from concordant.ranking import Ranking

SIZES = sizes("votes items", tiny=(4000, 8), small=(200_000, 200), full=(10_000_000, 1000))
INTERVALS = {**SIZES, "full": {"votes": 100_000, "items": 100}}


def make(size: Size, seed: int) -> Inputs:
    """Draw votes between random items whose true scores are normal."""
    rng = np.random.default_rng(seed)
    score = rng.normal(size=size["items"])
    a = rng.integers(0, size["items"], size["votes"])
    b = (a + rng.integers(1, size["items"], size["votes"])) % size["items"]
    wins = rng.random(size["votes"]) < 1 / (1 + np.exp(score[b] - score[a]))
    return {"winner": np.where(wins, a, b), "loser": np.where(wins, b, a), "items": size["items"]}


def make_strings(size: Size, seed: int) -> Inputs:
    """Write the votes as columns of str objects, one object per distinct label."""
    drawn = make(size, seed)
    labels = np.array([f"i{item}" for item in range(size["items"])], object)
    columns = {name: labels[drawn[name]].tolist() for name in ("winner", "loser")}
    return {**columns, "items": size["items"]}


def ours(inputs: Inputs) -> Task:
    """Rank by the public interface: scores, standard errors, intervals and rank intervals."""
    import concordant as cc

    def rank() -> Ranking:
        prefs = cc.Preferences.from_pairs(inputs["winner"], inputs["loser"], merge=True)
        ranking = cc.rank(prefs, "bradley-terry", prior=0.01)
        _ = ranking.items
        return ranking

    return Task(rank, partial(answer, inputs["items"]))


def make_judged(size: Size, seed: int) -> Inputs:
    """Give every vote a judge; a few judges cast most votes."""
    judge = np.random.default_rng(seed).random(size["votes"]) ** 3 * size["judges"]
    return {**make(size, seed), "judge": judge.astype(np.int64)}


def clustered(inputs: Inputs) -> Task:
    """Rank with intervals that are clustered by judge; the preferences are made before."""
    import concordant as cc

    prefs = cc.Preferences.from_pairs(inputs["winner"], inputs["loser"], agent=inputs["judge"])

    def rank() -> Ranking:
        ranking = cc.rank(prefs, "bradley-terry", errors="sandwich")
        _ = ranking.low
        return ranking

    return Task(rank, partial(answer, inputs["items"]))


def answer(items: int, ranking: Ranking) -> Answer:
    """Read the scores by item."""
    score = np.zeros(items)
    score[[int(label.removeprefix("i")) for label in ranking.items]] = ranking.scores
    return {"score": score - score.mean()}


def is_near(ours: Answer, theirs: Answer) -> bool:
    """Say whether scores agree to a hundredth: others stop earlier, and have no prior."""
    return bool(np.abs(ours["score"] - theirs["score"]).max() < 0.01)


VOTES = Work(
    "bradley-terry",
    "Bradley-Terry with standard errors from integer votes",
    SIZES,
    make,
    ours,
    {"plain_numpy": 1 / 1.2, "evalica": 10},
    is_near,
)
JUDGED = sizes("votes items judges", tiny=(4000, 8, 900), small=(200_000, 100, 70_000), full=(1_670_000, 129, 600_000))
SANDWICH = VOTES.but(
    "bradley-terry-sandwich",
    "intervals clustered by judge",
    sizes=JUDGED,
    make=make_judged,
    ours=clustered,
    rivals={},
    agree=None,
    budget=1.0,
)
HUGE = {**SIZES, "full": {"votes": 3_000_000, "items": 1_000_000}}
LSR = "the same from integer votes, against Luce spectral ranking"
CI = "intervals, against a bootstrap of 100 resamples"
WORKS = (
    VOTES,
    VOTES.but("bradley-terry-str", "the same from columns of str objects", make=make_strings, rivals={"evalica": 5}),
    VOTES.but("bradley-terry-lsr", LSR, rivals={"choix": 50}),
    VOTES.but("bradley-terry-ci", CI, sizes=INTERVALS, rivals={"evalica": 100}),
    SANDWICH,
    VOTES.but("bradley-terry-items", "the same over a million items", sizes=HUGE, rivals={}, agree=None, budget=15),
)
