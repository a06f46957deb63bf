"""How costs grow: every method at three sizes along items and along ballots, and fine curves over the items.

The exponents are those of the maths, for the data drawn here. Items grow with a fixed number of complete rankings (or
of raters); duels grow with the items, 200 votes an item, because more items need more votes. Where a solver for few
items gives way to one for many, a fine curve shows whether there is a cliff.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from benchmarks.core import Curve, Inputs, Size, Task

if TYPE_CHECKING:
    from concordant.preferences import Preferences

VOTES_PER_ITEM = 200
FINE = (50, 100, 125, 130, 200, 250, 260, 400, 600, 900, 1300, 2000, 3000, 3900, 4100, 4900, 5100, 6000)


@dataclass(frozen=True)
class Kind:
    """Methods whose cost grows alike: the data they get, the exponent over items, and sizes long enough to time."""

    data: str
    items: tuple[int, int, int]
    at_ballots: int
    ballots: tuple[int, int, int]
    at_items: int
    exponent: float
    methods: tuple[str, ...]


LONG, SHORT, SQUARE = (1000, 4000, 16_000), (500, 1500, 4500), (250, 500, 1000)
VOTES = (1000, 4000, 16_000)
KINDS = (
    Kind("rankings", LONG, 100, (4000, 16_000, 64_000), 50, 1, (
        "approval", "best-worst", "borda", "bucklin", "calibrated-rrf", "majority-vote", "median-rank", "plurality",
        "rrf", "ulara", "veto",
    )),
    Kind("rankings", SHORT, 100, (500, 2000, 8000), 50, 1, ("ordered-partitions", "plackett-luce")),
    Kind("rankings", SQUARE, 100, VOTES, 50, 2, (
        "black", "condorcet", "condorcet-fuse", "coombs", "copeland", "cps", "cranking", "fas-pivot",
        "generalised-mallows", "greedy-order", "hodgerank", "insertion-sort", "instant-runoff", "lehmer",
        "local-search", "mallows", "markov-chain", "minimax", "nanson", "phragmen", "pick-a-perm", "rank-centrality",
        "sequential-pav", "svp", "baldwin", "stv",
    )),
    Kind("rankings", SQUARE, 100, VOTES, 50, 3, ("footrule", "ranked-pairs", "schulze")),
    Kind("duels", SHORT, 0, (100_000, 400_000, 1_600_000), 300, 1, (
        "bradley-terry", "davidson", "elo", "glicko2", "rao-kupper", "thurstone", "trueskill",
    )),
    Kind("timed duels", (150, 450, 1350), 0, (25_000, 100_000, 400_000), 300, 1, (
        "whole-history", "windowed-bradley-terry",
    )),
    Kind("ratings", LONG, 50, (500, 2000, 8000), 100, 1, (
        "comb", "dawid-skene", "glad", "mace", "mean-rating", "mpm", "mpm-mixture", "ordinal-annotators", "score",
    )),
    Kind("ratings", SQUARE, 50, VOTES, 50, 2, ("star",)),
)  # fmt: skip
WITHOUT = {
    "kemeny": "exact, and NP-hard: the cost depends on the cycles, not only on the size",
    "pav": "exact, and NP-hard: the cost depends on how approvals overlap, not only on the size",
    "faslp-pivot": "a linear programme: the cost depends on the cycles, not only on the size",
}


def make(size: Size, seed: int, data: str) -> Inputs:
    """Draw complete rankings, duels or ratings whose true scores are normal; the arrays are ready for the container."""
    import numpy as np

    rng = np.random.default_rng(seed)
    n, m = size["ballots"], size["items"]
    parts: Inputs = {"items": [f"i{item}" for item in range(m)]}
    if data.endswith("duels"):
        n = n or m * VOTES_PER_ITEM
        score = rng.normal(size=m)
        a = rng.integers(0, m, n)
        b = (a + rng.integers(1, m, n)) % m
        wins = rng.random(n) < 1 / (1 + np.exp(score[b] - score[a]))
        item = np.column_stack([np.where(wins, a, b), np.where(wins, b, a)]).astype(np.int32)
        tier = np.tile(np.array([0, 1], np.int32), n)
        tier[1::2][rng.random(n) < 0.1] = 0
        if data == "timed duels":
            parts |= {"time": rng.integers(0, 100, n).astype(np.float64)}
        return {**parts, "indptr": np.arange(0, 2 * n + 1, 2), "item": item.ravel(), "tier": tier, "form": "pairs"}
    noisy = (rng.normal(size=m) + rng.gumbel(size=(n, m))).astype(np.float32)
    order = np.argsort(-noisy, axis=1).astype(np.int32)
    parts |= {"indptr": np.arange(0, n * m + 1, m), "item": order.ravel(), "tier": np.tile(np.arange(m), n)}
    if data == "rankings":
        return parts
    stars = 4 - np.arange(m) * 5 // m
    tier, value = np.tile(4 - stars, n), np.tile(stars + 1.0, n)
    agents = {"agents": [f"a{agent}" for agent in range(n)], "agent": np.arange(n)}
    return {**parts, "tier": tier, "value": value, "scale": "rating", **agents}


def rank(method: str, inputs: Inputs) -> Task:
    """Rank new preferences each time, so that nothing is remembered from the last time."""
    import concordant as cc

    def preferences() -> Preferences:
        return cc.Preferences(**inputs)

    def call() -> None:
        ranking = cc.rank(preferences(), method)
        _ = ranking.order

    return Task(call)


def curves_of(kind: Kind) -> list[Curve]:
    """Return the curves over items and over ballots of all methods of a kind."""
    smallest = 3 if kind.data.endswith("duels") else 6
    votes = 0 if kind.at_ballots == 0 else 5
    found = []
    for method in kind.methods:
        over_items = {
            "tiny": sized(items=(smallest, 12, 24), ballots=votes),
            "small": sized(items=tuple(n // 4 for n in kind.items), ballots=kind.at_ballots),
            "full": sized(items=kind.items, ballots=kind.at_ballots),
        }
        over_ballots = {
            "tiny": sized(ballots=(40, 80, 160), items=6),
            "small": sized(ballots=tuple(n // 4 for n in kind.ballots), items=kind.at_items),
            "full": sized(ballots=kind.ballots, items=kind.at_items),
        }
        drawn: Callable[[Size, int], Inputs] = partial(make, data=kind.data)
        ours = partial(rank, method)
        doc = f"{method} of {kind.data}"
        found += [
            Curve(f"growth-{method}-items", doc, "items", over_items, drawn, ours, kind.exponent),
            Curve(f"growth-{method}-ballots", doc, "ballots", over_ballots, drawn, ours, 1),
        ]
    return found


def sized(*, items: int | tuple[int, ...], ballots: int | tuple[int, ...]) -> tuple[Size, ...]:
    """Return the sizes along the axis that is given as several numbers."""
    if isinstance(items, tuple):
        assert isinstance(ballots, int)
        return tuple({"items": n, "ballots": ballots} for n in items)
    assert isinstance(ballots, tuple)
    return tuple({"items": items, "ballots": n} for n in ballots)


def fine(name: str, doc: str, method: str, data: str, ballots: int, exponent: float) -> Curve:
    """Return a fine curve over the items."""
    along = {
        "tiny": sized(items=(4, 6, 8, 12, 16), ballots=min(ballots, 40)),
        "small": sized(items=FINE[:9], ballots=ballots),
        "full": sized(items=FINE, ballots=ballots),
    }
    return Curve(name, doc, "items", along, partial(make, data=data), partial(rank, method), exponent)


CURVES = (
    fine("curve-bradley-terry", "Bradley-Terry, 200 votes an item", "bradley-terry", "duels", 0, 1),
    fine("curve-bradley-terry-million", "Bradley-Terry, a million votes", "bradley-terry", "duels", 1_000_000, 1),
    fine("curve-plackett-luce", "Plackett-Luce, 100 complete rankings", "plackett-luce", "rankings", 100, 1),
    *(curve for kind in KINDS for curve in curves_of(kind)),
)
