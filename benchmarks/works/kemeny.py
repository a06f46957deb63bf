"""Consensus of least distance: exact Kemeny and local search, from lists of labels to a ranking and its total."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.core import Answer, Inputs, Size, Task, Work, sizes

if TYPE_CHECKING:
    from concordant.ranking import Ranking


def make(size: Size, seed: int) -> Inputs:
    """Draw Mallows rankings around one order; ``phi`` in hundredths."""
    from concordant import simulate

    prefs = simulate.mallows(size["items"], size["rankings"], phi=size["phi"] / 100, seed=seed)
    orders = prefs.item.reshape(size["rankings"], size["items"])
    return {"rankings": [[f"i{item}" for item in row] for row in orders.tolist()]}


def ours(method: str, inputs: Inputs) -> Task:
    """Rank by the public interface."""
    import concordant as cc

    def rank() -> Ranking:
        ranking = cc.rank(cc.Preferences.from_rankings(inputs["rankings"]), method)
        _ = ranking.items
        return ranking

    return Task(rank, lambda ranking: {"total": np.array([ranking.fit["total_distance"]])})


def total_distance(tiers: list[list[str]], rankings: list[list[str]]) -> float:
    """Count the total Kemeny distance of tiers of labels to rankings without ties."""
    level = {label: k for k, tier in enumerate(tiers) for label in tier}
    labels = list(level)
    place = np.array([[ranking.index(label) for label in labels] for ranking in rankings])
    own = np.array([level[label] for label in labels])
    i, j = np.triu_indices(len(labels), 1)
    apart = np.abs(np.sign(place[:, i] - place[:, j]) - np.sign(own[i] - own[j]))
    return float(apart.sum() / 2)


def is_equal(ours: Answer, theirs: Answer) -> bool:
    """Say whether both totals are the optimum: equal."""
    return bool(np.isclose(ours["total"], theirs["total"]).all())


def is_no_worse(ours: Answer, theirs: Answer) -> bool:
    """Say whether our total is at most theirs."""
    return bool((ours["total"] <= theirs["total"] + 1e-9).all())


EXACT = Work(
    "kemeny",
    "exact Kemeny consensus of Mallows rankings (phi in hundredths)",
    sizes("items rankings phi", tiny=(6, 5, 90), small=(20, 10, 95), full=(40, 10, 95)),
    make,
    partial(ours, "kemeny"),
    {"corankco": 200},
    is_equal,
)
WORKS = (
    EXACT,
    EXACT.but(
        "local-search",
        "local search for the Kemeny consensus; ours must not cost more",
        sizes=sizes("items rankings phi", tiny=(6, 5, 90), small=(30, 100, 98), full=(100, 1000, 99)),
        ours=partial(ours, "local-search"),
        rivals={"corankco": 1},
        agree=is_no_worse,
    ),
)
