"""Result lists: one query fused as a search service does it, and many queries at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.core import Answer, Inputs, Size, Task, Work, is_same_ranking, sizes

if TYPE_CHECKING:
    from concordant.ranking import Ranking

THREE = sizes("lists length", tiny=(2, 3), small=(3, 10), full=(3, 10))
TEN = sizes("lists length", tiny=(3, 3), small=(10, 10), full=(10, 10))
MANY = sizes("runs queries documents", tiny=(3, 4, 20), small=(5, 200, 200), full=(10, 1000, 1000))
LOOP = {"plain_python": 1.0}


def make(size: Size, seed: int) -> Inputs:
    """Draw lists that share about half of their documents."""
    from benchmarks.works import fuse

    return fuse.make(size, seed)


def fuse_lists(inputs: Inputs) -> Task:
    """Fuse the lists of one query: ``cc.fuse(lists).items``."""
    import concordant as cc

    def fuse() -> Ranking:
        ranking = cc.fuse(inputs["lists"])
        _ = ranking.items
        return ranking

    def answer(ranking: Ranking) -> Answer:
        from benchmarks.works import fuse

        return fuse.answer(ranking)

    return Task(fuse, answer)


def make_strings(size: Size, seed: int) -> Inputs:
    """Hold all runs as long columns of str."""
    from benchmarks.works import rrf

    return rrf.make(size, seed)


def make_arrow(size: Size, seed: int) -> Inputs:
    """Hold all runs as long columns of Arrow text."""
    from benchmarks.works import rrf

    return rrf.make_arrow(size, seed)


def fuse_queries(inputs: Inputs) -> Task:
    """Fuse all queries: ``cc.rank(cc.Preferences.from_ranks(…))``; the default for such data is reciprocal ranks."""
    import concordant as cc

    def fuse() -> Ranking:
        prefs = cc.Preferences.from_ranks(inputs["run"], inputs["document"], inputs["rank"], instance=inputs["query"])
        ranking = cc.rank(prefs)
        _ = ranking.order
        return ranking

    def answer(ranking: Ranking) -> Answer:
        from benchmarks.works import rrf

        return rrf.answer(ranking)

    return Task(fuse, answer)


SHORT = Work(
    "users-fuse-3x10",
    "fuse three short lists",
    THREE,
    make,
    fuse_lists,
    {"plain_python": None, "ranx": 10.0},
    is_same_ranking,
    budget=20e-6,
    first={"plain_python": None, "ranx": 3.0},
)
HUNDRED = sizes("lists length", tiny=(3, 5), small=(10, 100), full=(10, 100))
STRINGS = SHORT.but(
    "users-rrf-strings",
    "fuse the runs of many queries, columns of str",
    sizes=MANY,
    make=make_strings,
    ours=fuse_queries,
    rivals={"plain_python": 8.0},
    budget=None,
)
WORKS = (
    SHORT,
    SHORT.but(
        "users-fuse-10x10",
        "fuse ten short lists",
        sizes=TEN,
        rivals={"plain_python": 1 / 1.5, "ranx": 10.0},
        budget=None,
    ),
    SHORT.but(
        "users-fuse-10x100",
        "fuse ten longer lists",
        sizes=HUNDRED,
        rivals={"plain_python": 1.0, "ranx": 10.0},
        budget=None,
    ),
    STRINGS,
    STRINGS.but("users-rrf-arrow", "the same, Arrow columns (the loop gets str objects)", make=make_arrow),
)
