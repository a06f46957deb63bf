"""Extreme but legal numbers: every method on degenerate data sets, and what came of each.

A case is a method and a data set. It ranks, asks for everything a ranking shows (intervals, model, history,
explanation, table, text), and fails where a number is not finite, an exception is not a ConcordantError or a warning
of NumPy appears. ``python tools/faults.py extremes`` runs all cases in processes with a limit of processor time;
tests/core/test_extremes.py runs them in one process.
"""

from __future__ import annotations

import contextlib
import json
import math
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from concordant import laws, registry
from concordant.errors import ConcordantError
from concordant.method import Method
from concordant.preferences import Preferences
from concordant.ranking import Ranking

RANKINGS = [["a", "b", "c", "d"], ["b", "a", "d", "c"], ["a", "c", "b", "d"], ["d", "c", "b", "a"], ["b", "a"]]


# ---- the data sets ----
def rankings(weight: Iterable[float] | None = None, lists: Iterable[Any] = RANKINGS, **more: Any) -> Preferences:
    """Return ranked lists of five agents with these weights."""
    lists = list(lists)
    agent = more.pop("agent", [f"agent {k}" for k in range(len(lists))])
    return Preferences.from_rankings(lists, weight=None if weight is None else list(weight), agent=agent, **more)


def ratings(values: Iterable[float], weight: Iterable[float] | None = None) -> Preferences:
    """Return ratings of four items by agents, as many as there are fours of values."""
    values = list(values)
    n = len(values) // 4
    agents = [f"agent {k}" for k in range(n) for _ in range(4)]
    return Preferences.from_ratings(agents, list("abcd") * n, values, weight=weight)


def games(**more: Any) -> Preferences:
    """Return games of four players, in order."""
    winner, loser = list("aabcdab"), list("bccdabd")
    more = {"agent": [f"agent {k % 3}" for k in range(7)]} | more
    return Preferences.from_pairs(winner, loser, **more)


def many_instances(weight: float = 1.0) -> Preferences:
    """Return fifty instances of three agents."""
    lists = [["a", "b", "c"], ["b", "a", "c"], ["c", "a"]] * 50
    instance = [f"q{k // 3}" for k in range(150)]
    return rankings([weight] * 150, lists, instance=instance, agent=[f"agent {k % 3}" for k in range(150)])


def open_ballots(weight: float = 1.0) -> Preferences:
    """Return ballots that name their first items only."""
    prefs = rankings([weight] * 5)
    return prefs.replace(open=np.ones(5, bool))


def empty_instance() -> Preferences:
    """Return two instances, of which one has candidates that nobody ranked."""
    prefs = rankings(lists=[["a", "b", "c"], ["b", "c"]], instance=["q", "r"], agent=["x", "y"])
    return prefs.replace(weight=np.array([1.0, 0.0]))


SETS: Mapping[str, Callable[[], Preferences]] = {
    # shapes
    "one item": lambda: rankings(lists=[["a"]]),
    "one item, many ballots": lambda: rankings(lists=[["a"]] * 5),
    "one ballot": lambda: rankings(lists=[["a", "b", "c"]]),
    "one ballot of two": lambda: rankings(lists=[["a", "b"]]),
    "all tied": lambda: rankings(lists=[[["a", "b", "c", "d"]]] * 3),
    "unanimous": lambda: rankings(lists=[["a", "b", "c", "d"]] * 5),
    "opposed": lambda: rankings(lists=[["a", "b", "c"], ["c", "b", "a"]]),
    "a cycle": lambda: rankings(lists=[["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]]),
    "never compared": lambda: rankings(lists=[["a", "b"], ["c", "d"]]),
    "never named": lambda: rankings(lists=[["a", "b"]], candidates=["a", "b", "c", "d"]),
    "never wins": lambda: rankings(lists=[["a", "b", "c", "z"], ["b", "a", "c", "z"], ["c", "z"]]),
    "an instance without ballots": empty_instance,
    "all weights zero": lambda: rankings([0.0] * 5),
    "many instances": many_instances,
    "open ballots": open_ballots,
    "games without agents": lambda: games(agent=None),
    "teams": lambda: Preferences.from_teams([[["a", "b"], ["c", "d"]], [["a", "c"], ["b", "d"]]], weight=[1e12, 0.25]),
    # weights
    "weights 1e9": lambda: rankings([1e9] * 5),
    "weights 1e12": lambda: rankings([1e12] * 5),
    "weights 9e15": lambda: rankings([9e15] * 5),
    "weights 1e300": lambda: rankings([1e300] * 5),
    "weights 1e308": lambda: rankings([1e308] * 5),
    "weights 1e-12": lambda: rankings([1e-12] * 5),
    "weights 1e-50": lambda: rankings([1e-50] * 5),
    "weights 1e-50 to 9e15": lambda: rankings([1e-50, 9e15, 1.0, 1e-20, 1e6]),
    "weights 1e-300": lambda: rankings([1e-300] * 5),
    "weights 5e-324": lambda: rankings([5e-324] * 5),
    "fractional weights": lambda: rankings([0.1, 0.25, 1 / 3, 2.5, math.pi]),
    "weights 1e-9 to 1e9": lambda: rankings([1e-9, 1.0, 1e9, 0.3, 1e5]),
    "weights 1e-12 to 1e12": lambda: rankings([1e-12, 1e12, 1.0, 1e-6, 1e6]),
    "weights 1e-300 to 1e300": lambda: rankings([1e-300, 1e300, 1.0, 1e-6, 1e6]),
    "weights beyond whole numbers": lambda: rankings([2.0**53, 1.0, 2.0**53 + 2, 3.0, 0.5]),
    "many instances of weight 1e12": lambda: many_instances(1e12),
    "open ballots of weight 1e12": lambda: open_ballots(1e12),
    "games of weight 1e9": lambda: games(weight=[1e9] * 7),
    "games of weight 1e15": lambda: games(weight=[1e15] * 7),
    "games of weight 1e-50": lambda: games(weight=[1e-50] * 7),
    "games of weight 1e-50 to 9e15": lambda: games(weight=[1e-50, 9e15, 1, 1e-20, 1e6, 9e15, 1e-3]),
    "games of weight 1e-9": lambda: games(weight=[1e-9] * 7),
    "games of fractional weight": lambda: games(weight=[0.5, 1.5, 2.25, 1e-3, 100.5, 0.1, 0.3]),
    "draws of weight 1e12": lambda: games(weight=[1e12] * 7, tie=[True] * 7),
    # values
    "ratings 1e12": lambda: ratings([1e12, 2e12, 3e12, 1, 5, 1e12, 0, 2]),
    "ratings 1e30": lambda: ratings([1e30, -1e30, 1e30, 0, 5, 1e30, -1e30, 2], [9e15] * 8),
    "ratings 1e30 of weight 1e-50": lambda: ratings([1e30, -1e30, 1e30, 0, 5, 1e30, -1e30, 2], [1e-50] * 8),
    "ratings 1e-200": lambda: ratings([1e-200, 0, 3e-200, 2e-200, 0, 2e-200, 5e-200, 1e-200]),
    "ratings of 1e30 and 5e-324": lambda: ratings([1e30, 5e-324, 0, -1e30, 1, 2, 3, 4]),
    "ratings 1e308": lambda: ratings([1e308, -1e308, 1e308, 0, 5, 1e308, -1e308, 2]),
    "ratings 5e-324": lambda: ratings([5e-324, 0, 1e-323, 5e-324, 0, 5e-324, 5e-324, 1e-323]),
    "ratings of 1e308 and 5e-324": lambda: ratings([1e308, 5e-324, 0, -1e308, 1, 2, 3, 4]),
    "ratings of 1e12 and 1e-12": lambda: ratings([1e12, 1e-12, 0, -1e12, 1, 2, 3, 4]),
    "ratings all zero": lambda: ratings([0.0] * 8),
    "ratings all equal": lambda: ratings([1e12] * 8),
    "ratings weighted 1e12": lambda: ratings([5, 4, 3, 2, 1, 2, 5, 4], [1e12] * 8),
    "ratings a hair apart": lambda: ratings([1.0, 1 + 1e-15, 1 - 1e-15, 1.0, 1 + 2e-15, 1, 1, 1]),
    "ranks 1e18": lambda: Preferences.from_ranks(["x", "x", "y", "y"], list("abab"), [1, 10**18, 1e308, 3]),
    "ranks 1e30": lambda: Preferences.from_ranks(["x", "x", "y", "y"], list("abab"), [1, 10**18, 1e30, 3]),
    "ranks 1e12": lambda: Preferences.from_ranks(["x", "x", "y", "y"], list("abab"), [1, 10**12, 10**12, 3]),
    "ranks below zero": lambda: Preferences.from_ranks(["x", "x", "y", "y"], list("abab"), [-1, 0.5, 1e-9, 0]),
    # times and covariates
    "times 1e308": lambda: games(time=[-1e308, -1e300, 0.0, 1e-300, 1.0, 1e300, 1e308]),
    "times 1e15": lambda: games(time=[-1e15, -1e9, 0.0, 1e-9, 1.0, 1e9, 1e15]),
    "times 5e-324": lambda: games(time=[k * 5e-324 for k in range(7)]),
    "times all equal": lambda: games(time=[1e15] * 7),
    "times 1e30": lambda: games(time=[-1e30, -1e20, 0.0, 1e-50, 1.0, 1e20, 1e30]),
    "times in nanoseconds": lambda: games(time=[1.7e18 + k * 1e9 for k in range(7)]),
    "years 1 to 9999": lambda: games(time=[f"{year:04d}-06-01" for year in (1, 2, 500, 1600, 1970, 2024, 9999)]),
    "covariates 1e308": lambda: games(covariates={"length": ([1e308] * 7, [-1e308] * 7)}),
    "covariates 1e30": lambda: games(covariates={"length": ([1e30, 2, 3, 4, 5, 6, 7], [-1e30] * 7)}),
    "covariates 1e12": lambda: games(covariates={"length": ([1e12, 2, 3, 4, 5, 6, 7], [0.0] * 7)}),
    "covariates 5e-324": lambda: games(covariates={"length": ([5e-324, 0, 0, 1e-323, 0, 0, 0], [0.0] * 7)}),
}


# ---- one case ----
def methods() -> dict[str, Method]:
    """Return every registered method, fitted to random labels where it must learn first."""
    return {name: laws.ready(registry.make(name)) for name in registry.METHODS.names()}


def outcome_of(method: Method, make: Callable[[], Preferences]) -> str:
    """Run one case: "ranked", "refused", or what went wrong."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            ask(method.rank(make()))
        except ConcordantError as error:
            text = str(error)
            return f"bad: asks for a report: {text}" if "please report" in text else "refused"
        except AssertionError as problem:
            return f"bad: {problem}"
        except Exception as problem:
            return f"foreign: {type(problem).__name__}: {problem}"
    return "ranked"


def ask(ranking: Ranking) -> None:
    """Ask a ranking for all it can show; fail where a number is not finite."""
    finite("score", ranking.score)
    finite("low", ranking.slot_low)
    finite("high", ranking.slot_high)
    for name, values in {**ranking.details, **ranking.beside}.items():
        finite(name, values)
    json.dumps(ranking.to_dict(), allow_nan=False)
    ranking.to_frame("pandas")
    shown(str(ranking), ranking._repr_html_(), ranking.to_text())
    for part in list(ranking)[:2]:
        model: Any = part.model
        shown(part.explain().to_text())
        if model is not None and hasattr(model, "matrix"):
            ask_model(ranking, part)
    if ranking.past is not None:
        history = ranking.history
        for name in ("time", "score", "low", "high"):
            finite(f"history {name}", getattr(history, name))


def ask_model(ranking: Ranking, part: Ranking) -> None:
    """Ask the fitted model for chances and differences."""
    model: Any = ranking.model
    finite("matrix", model.matrix(part.instance))
    if len(part.items) > 1:
        first, last = part.items[0], part.items[-1]
        finite("p_beats", model.p_beats(first, last, part.instance))
        with contextlib.suppress(ConcordantError):  # models without standard errors
            finite("difference", model.difference(first, last, part.instance))


def finite(name: str, values: object) -> None:
    """Fail where a number is not finite."""
    array = np.asarray([] if values is None else values)
    if array.dtype.kind == "f":
        assert np.isfinite(array).all(), f"{name} is {array[~np.isfinite(array)].ravel()[0]}"


def shown(*texts: str) -> None:
    """Fail where a text shows a number that is none."""
    for text in texts:
        words = set(text.replace(",", " ").replace("<", " ").replace(">", " ").lower().split())
        assert not words & {"nan", "inf", "-inf", "+inf"}, "a text shows nan or inf"
