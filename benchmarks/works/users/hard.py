"""Default calls whose cost is easily underestimated: committees, counts of many candidates, ratings over time."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from benchmarks.core import Answer, Inputs, Size, Task, Work, is_close, sizes
from benchmarks.works.users import pairs

if TYPE_CHECKING:
    from concordant.ranking import Ranking

COMMITTEE = sizes("candidates seats ballots", tiny=(7, 3, 20), small=(20, 4, 200), full=(30, 5, 2000))
COUNT = sizes("ballots candidates", tiny=(9, 8), small=(100, 200), full=(300, 1000))
SPARSE = sizes("items votes", tiny=(40, 300), small=(1000, 20_000), full=(10_000, 1_000_000))
SEASONS = sizes("items matches years", tiny=(8, 120, 2), small=(200, 10_000, 5), full=(7500, 195_000, 57))


def make_approvals(size: Size, seed: int) -> Inputs:
    """Draw ballots that approve of each candidate with probability 0.3."""
    import numpy as np

    table = np.random.default_rng(seed).random((size["ballots"], size["candidates"])) < 0.3
    return {"table": table[table.any(axis=1)], "seats": size["seats"]}


def elect_committee(inputs: Inputs) -> Task:
    """Elect the best committee: ``cc.rank(prefs, "pav", seats=…)``."""
    import concordant as cc

    names = [f"i{candidate}" for candidate in range(inputs["table"].shape[1])]
    ballots = [[[names[k] for k in row.nonzero()[0]]] for row in inputs["table"]]
    prefs = cc.Preferences.from_rankings(ballots, candidates=names)

    def answer(ranking: Ranking) -> Answer:
        import numpy as np

        return {"total": np.array([(ranking.fit or {})["total"]])}

    return Task(lambda: pairs.shown(cc.rank(prefs, "pav", seats=inputs["seats"])), answer)


def make_orders(size: Size, seed: int) -> Inputs:
    """Draw complete rankings at random, as lists of str: ties are common, and nobody is elected early."""
    import numpy as np

    rng = np.random.default_rng(seed)
    names = [f"i{candidate}" for candidate in range(size["candidates"])]
    orders = [rng.permutation(size["candidates"]) for _ in range(size["ballots"])]
    return {"rankings": [[names[k] for k in order] for order in orders]}


def count_votes(inputs: Inputs) -> Task:
    """Count an election: ``cc.rank(cc.Preferences.from_rankings(lists), "stv")``."""
    import concordant as cc

    def answer(ranking: Ranking) -> Answer:
        return {"elected": ranking.detail("elected")}

    return Task(lambda: pairs.shown(cc.rank(cc.Preferences.from_rankings(inputs["rankings"]), "stv")), answer)


def make_sparse(size: Size, seed: int) -> Inputs:
    """Draw votes over many items, of which few pairs are compared."""
    return {**pairs.make_ints({"votes": size["votes"], "items": size["items"]}, seed), "items": size["items"]}


def make_seasons(size: Size, seed: int) -> Inputs:
    """Draw matches in the order of their dates; every item plays for some years only."""
    import numpy as np

    rng = np.random.default_rng(seed)
    m, n, years = size["items"], size["matches"], size["years"]
    time = np.sort(rng.integers(0, 365 * years, n))
    # Items are sorted by their first year: those that play now are neighbours.
    first = np.minimum(time / (365 * years) * m + rng.exponential(m / years, n), m - 1).astype(np.int64)
    second = (first + rng.integers(1, min(m, max(2, 5 * m // years)), n)) % m
    score = rng.normal(size=m)
    wins = rng.random(n) < 1 / (1 + np.exp(score[second] - score[first]))
    dates = np.datetime64("1968-01-01") + time
    return {"winner": np.where(wins, first, second), "loser": np.where(wins, second, first), "time": dates, "items": m}


def rate(method: str, inputs: Inputs) -> Task:
    """Rate items over time: ``cc.rank(prefs, method)``, those without recent matches too."""
    import concordant as cc

    prefs = cc.Preferences.from_pairs(inputs["winner"], inputs["loser"], time=inputs["time"])
    return Task(lambda: pairs.shown(cc.rank(prefs, method, all_items=True)), pairs.answer_of(inputs))


def is_same_rating(ours: Answer, theirs: Answer) -> bool:
    """Say whether ratings agree to a thousandth of a point: volatilities are found to a tolerance."""
    import numpy as np

    return bool(np.abs(ours["score"] - theirs["score"]).max() < 1e-3)


PAV = Work(
    "users-pav",
    "proportional approval voting, proven optimal",
    COMMITTEE,
    make_approvals,
    elect_committee,
    {"plain_numpy": 1.0},
    is_close,
    budget=1.0,
)
RANK_CENTRALITY = Work(
    "users-rank-centrality",
    "rank centrality of many items, few pairs compared",
    SPARSE,
    make_sparse,
    pairs.rank_columns("rank-centrality"),
    {"scipy_loop": None},
    pairs.is_near,
    budget=1.0,
)
GLICKO = Work(
    "users-glicko2",
    "Glicko-2 ratings of dated matches",
    SEASONS,
    make_seasons,
    partial(rate, "glicko2"),
    {"plain_python": 1.0},
    is_same_rating,
    budget=0.2,
)
WORKS = (
    PAV,
    Work("users-stv", "single transferable vote", COUNT, make_orders, count_votes, budget=0.5),
    RANK_CENTRALITY,
    GLICKO,
    GLICKO.but(
        "users-windowed",
        "windowed Bradley-Terry of dated matches",
        ours=partial(rate, "windowed-bradley-terry"),
        rivals={},
        budget=3.0,
    ),
)
