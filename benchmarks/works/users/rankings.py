"""Ranked lists of labels, by Plackett-Luce and by voting rules: ``cc.rank(Preferences.from_rankings(lists), name)``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from benchmarks.core import Answer, Inputs, Size, Task, Work, is_same_ranking, sizes
from benchmarks.works.users import pairs

if TYPE_CHECKING:
    from concordant.ranking import Ranking

FULL = sizes("rankings length items", tiny=(60, 5, 5), small=(100, 300, 300), full=(100, 3000, 3000))
MANY = sizes("rankings length items", tiny=(400, 5, 8), small=(10_000, 10, 300), full=(1_000_000, 10, 1000))
ELECTION = sizes("rankings items", tiny=(7, 6), small=(200, 300), full=(1000, 3000))


def make_full(size: Size, seed: int) -> Inputs:
    """Draw complete rankings from the model, true scores normal, as lists of str."""
    import numpy as np

    rng = np.random.default_rng(seed)
    noisy = rng.normal(size=size["items"]) + rng.gumbel(size=(size["rankings"], size["items"]))
    return lists_of(np.argsort(-noisy, axis=1), size["items"])


def make_many(size: Size, seed: int) -> Inputs:
    """Draw rankings of a few random items from the model, as lists of str."""
    from benchmarks.works import plackett_luce

    return lists_of(plackett_luce.make(size, seed)["rankings"], size["items"])


def lists_of(orders: Any, items: int) -> Inputs:
    """Write orders of numbers as lists of labels, one object per label."""
    import numpy as np

    labels = np.array([f"i{item}" for item in range(items)], object)
    return {"rankings": [labels[order].tolist() for order in orders], "items": items}


def make_election(size: Size, seed: int) -> Inputs:
    """Draw rankings of all items, each a noisy view of one order."""
    from benchmarks.works import voting

    return voting.make(size, seed)


def rank_lists(method: str, answer: Callable[[Inputs], Callable[[Any], Answer]]) -> Callable[[Inputs], Task]:
    """Rank lists of labels by a named method."""

    def ours(inputs: Inputs) -> Task:
        import concordant as cc

        def rank() -> Ranking:
            return pairs.shown(cc.rank(cc.Preferences.from_rankings(inputs["rankings"]), method))

        return Task(rank, answer(inputs))

    return ours


def answer_in_order(_inputs: Inputs) -> Callable[[Any], Answer]:
    """Read item and score in order, as the benchmark of voting rules does."""

    def answer(ranking: Ranking) -> Answer:
        from benchmarks.works import voting

        return voting.answer(ranking)

    return answer


def answer_of_tiers(_inputs: Inputs) -> Callable[[Any], Answer]:
    """Read who stands first."""

    def answer(ranking: Ranking) -> Answer:
        import numpy as np

        return {"first": np.sort([int(label[1:]) for label in ranking.tiers[0]])}

    return answer


def is_same_first(ours: Answer, theirs: Answer) -> bool:
    """Say whether the winners are the same."""
    import numpy as np

    return np.array_equal(ours["first"], theirs["first"])


def is_alike(ours: Answer, theirs: Answer) -> bool:
    """Say whether scores go together: few rankings leave much to the prior, which others do not have."""
    import numpy as np

    return bool(np.corrcoef(ours["score"], theirs["score"])[0, 1] > 0.95)


POINTS = partial(rank_lists, answer=answer_in_order)
WINNERS = partial(rank_lists, answer=answer_of_tiers)
PLACKETT_LUCE = Work(
    "users-plackett-luce",
    "Plackett-Luce from complete rankings, lists of str",
    FULL,
    make_full,
    rank_lists("plackett-luce", pairs.answer_of),
    {"choix": 50.0},
    is_alike,
    first={"choix": None},
)
BORDA = Work(
    "users-borda",
    "Borda from lists of str",
    ELECTION,
    make_election,
    POINTS("borda"),
    {"plain_python": None, "pref_voting": 10.0},
    is_same_ranking,
    first={"plain_python": None, "pref_voting": 3.0},
)
COPELAND = BORDA.but("users-copeland", "Copeland from lists of str", ours=POINTS("copeland"))
SCHULZE = BORDA.but(
    "users-schulze",
    "Schulze from lists of str",
    ours=WINNERS("schulze"),
    rivals={"pref_voting": 10.0},
    agree=is_same_first,
)
WORKS = (
    PLACKETT_LUCE,
    PLACKETT_LUCE.but(
        "users-plackett-luce-many", "the same from many short rankings", sizes=MANY, make=make_many, agree=pairs.is_near
    ),
    BORDA,
    BORDA.but("users-median-rank", "median rank from lists of str", ours=POINTS("median-rank"), rivals={}),
    COPELAND,
    SCHULZE,
    SCHULZE.but("users-ranked-pairs", "ranked pairs from lists of str", ours=WINNERS("ranked-pairs")),
)
