"""Glicko-2 ratings, period by period (Glickman 2013, steps 3 to 8; NumPy reference of glicko.cpp)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from concordant.kernels.bundles import GlickoRun
from concordant.kernels.layouts import pointers
from concordant.types import Floats, Int64s

__all__ = ["glicko_periods"]

NEVER = -(2**60)  # the period in which an item that never played was last seen
MIN_TAU = 1e-9  # below, volatilities stay as they are
SETTLED = 1e-10  # how close the logarithm of a variance is found
MIN_CHANCE = 1e-9  # chance below which nothing is thought to lie: a sure thing would tell nothing, whatever happens


class Games(NamedTuple):
    """Games between two slots; the result is 1 if the first won, 0.5 for a draw."""

    first: Int64s
    second: Int64s
    result: Floats
    weight: Floats


class State(NamedTuple):
    """State of the items: mean and standard error of the rating, and volatility."""

    mean: Floats
    sd: Floats
    volatility: Floats


def glicko_periods(
    first: Int64s,
    second: Int64s,
    result: Floats,
    weight: Floats,
    period: Int64s,
    n_slots: int,
    sd: float,
    volatility: float,
    tau: float,
) -> GlickoRun:
    """Update the ratings period by period; games between two slots are sorted by period.

    ``result`` is 1 if the first slot won, 0.5 for a draw. All start with mean 0.
    """
    start_sd, seen = sd, np.full(n_slots, NEVER)
    state = State(np.zeros(n_slots), np.full(n_slots, sd), np.full(n_slots, volatility))
    present, size = np.unique(period, return_counts=True)
    ptr, chance = pointers(size).tolist(), np.empty(len(period))
    rows: list[tuple[Int64s, Int64s, Floats, Floats]] = [(seen[:0], seen[:0], state.mean[:0], state.mean[:0])]
    for k, period_now in enumerate(present.tolist()):
        span = slice(ptr[k], ptr[k + 1])
        slot, place = np.unique(np.concatenate([first[span], second[span]]), return_inverse=True)
        games = Games(place[: size[k]], place[size[k] :], result[span], weight[span])
        before = State._make(column[slot] for column in state)
        before = before._replace(sd=after_inactivity(before, period_now - 1 - seen[slot], start_sd))
        lead = before.mean[games.first] - before.mean[games.second]
        chance[span] = expected(lead, np.hypot(before.sd[games.first], before.sd[games.second]))
        after = updated(before, games, tau)
        for column, values in zip(state, after, strict=True):
            column[slot] = values
        seen[slot] = period_now
        rows.append((slot, np.full(len(slot), period_now), after.mean, after.sd))
    return GlickoRun(*state, seen, chance, *map(np.concatenate, zip(*rows, strict=True)))


def after_inactivity(state: State, periods: Int64s, max_sd: float) -> Floats:
    """Return the standard errors after this many periods without a game, at most that of a new item (``max_sd``)."""
    grown = np.sqrt(state.sd**2 + np.maximum(periods, 0) * state.volatility**2)
    return np.minimum(grown, np.maximum(max_sd, state.sd))


def expected(lead: Floats, sd: Floats) -> Floats:
    """Return the win probability at a rating difference: 1 / (1 + exp(-g(sd) difference)), Glickman's E."""
    return np.asarray(1 / (1 + np.exp(np.clip(-_shrink(sd) * lead, -700, 700))))


def _shrink(sd: Floats) -> Floats:
    """Return Glickman's g(sd) = 1 / sqrt(1 + 3 sd² / π²)."""
    return np.asarray(1 / np.sqrt(1 + 3 * (sd / np.pi) ** 2))


def updated(state: State, games: Games, tau: float) -> State:
    """Return the state after the games of one period, in which all slots play (steps 3 to 7 of Glicko-2)."""
    n = len(state.mean)
    information, gain = np.zeros(n), np.zeros(n)
    sides = ((games.first, games.second, games.result), (games.second, games.first, 1 - games.result))
    for player, opponent, result in sides:
        shrink = _shrink(state.sd[opponent])
        chance = np.clip(
            expected(state.mean[player] - state.mean[opponent], state.sd[opponent]), MIN_CHANCE, 1 - MIN_CHANCE
        )
        information += np.bincount(player, games.weight * shrink**2 * chance * (1 - chance), n)
        gain += np.bincount(player, games.weight * shrink * (result - chance), n)
    variance = 1 / information
    new_volatility = volatilities(state, variance, variance * gain, tau)
    variance_after = 1 / (1 / (state.sd**2 + new_volatility**2) + information)
    return State(state.mean + variance_after * gain, np.sqrt(variance_after), new_volatility)


def volatilities(state: State, variance: Floats, change: Floats, tau: float) -> Floats:
    """Return the new volatilities (step 5 of Glicko-2); ``variance`` is v and ``change`` is Δ in Glickman's paper.

    The logarithm of the squared volatility solves f(x) = 0 by the Illinois variant of false position, all items at
    once.
    """
    if tau < MIN_TAU:
        return state.volatility
    log_before, total_before = np.log(state.volatility**2), state.sd**2 + variance

    def f(x: Floats) -> Floats:
        power = np.exp(x)
        total = total_before + power
        return np.asarray(power * (change**2 - total) / (2 * total**2) - (x - log_before) / tau**2)

    left, excess = log_before, change**2 - total_before
    right = np.where(excess > 0, np.log(np.maximum(excess, 1e-300)), log_before - tau)
    step = tau
    while (is_short := (excess <= 0) & (f(right) < 0)).any():
        right = np.where(is_short, right - step, right)
        step *= 2
    at_left, at_right = f(left), f(right)
    for _ in range(200):
        is_open = (np.abs(right - left) > SETTLED) & (at_left != at_right)
        if not is_open.any():
            break
        move = np.divide((left - right) * at_left, at_right - at_left, out=np.zeros_like(left), where=is_open)
        middle = np.where(is_open, left + move, right)
        at_middle = f(middle)
        crosses = at_middle * at_right <= 0
        left = np.where(is_open & crosses, right, left)
        at_left = np.where(is_open, np.where(crosses, at_right, at_left / 2), at_left)
        right, at_right = middle, at_middle
    return np.asarray(np.exp(left / 2))
