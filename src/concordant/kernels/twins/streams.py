"""Ratings that follow the games one after the other, in Python and NumPy (twin of streams.cpp)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from concordant.kernels.bundles import Ballots
from concordant.types import Floats, Int64s

__all__ = ["elo_stream", "trueskill_stream"]

SETTLED = 1e-9  # how little messages may move at the end


def elo_stream(
    ballots: Ballots, order: Floats, start: float, stake: float, scale: float, advantage: float
) -> tuple[Floats, Floats, float]:
    """Return (rating, games played, log-likelihood of the games as they were forecast)."""
    n_slots = int(ballots.slot_ptr[-1])
    rating, games = np.full(n_slots, start), np.zeros(n_slots)
    foretold, rate = 0.0, math.log(10.0) / scale
    for b, span, part in _games(ballots.indptr, ballots.weight):
        slot, own = ballots.entry_slot[span], ballots.tier[span]
        m = len(slot)
        i, j = np.triu_indices(m, 1)
        if ballots.is_open[b]:
            said = (own[i] != own[j]) | (own[i] != own[-1])
            i, j = i[said], j[said]
        lead = rating[slot[i]] - rating[slot[j]]
        if len(order):
            shown = order[span]
            lead = lead + advantage * np.sign(shown[j] - shown[i])
        expected = 1 / (1 + np.exp(-rate * lead))
        result = np.where(own[i] < own[j], 1.0, 0.5)
        foretold += part * float((result * np.log(expected) + (1 - result) * np.log1p(-expected)).sum())
        points = part * stake / (m - 1) * (result - expected)
        rating[slot] += np.bincount(i, points, m) - np.bincount(j, points, m)
        games[slot] += part
    return rating, games, foretold


def trueskill_stream(
    ballots: Ballots, mean: float, sigma: float, beta: float, drift: float, margin: float, all_pairs: bool
) -> tuple[Floats, Floats]:
    """Return (mean, standard deviation) of every skill after all games.

    In a game every item meets the next one, as a draw inside a tier and a win across; the last named item beats each of
    an open tier. With ``all_pairs`` it draws with all of its own tier and beats all of the next.
    """
    n_slots = int(ballots.slot_ptr[-1])
    mu, sd = np.full(n_slots, mean), np.full(n_slots, sigma)
    noise = beta * beta
    for b, span, part in _games(ballots.indptr, ballots.weight):
        slot = ballots.entry_slot[span]
        sd[slot] = np.sqrt(sd[slot] ** 2 + part * drift**2)
        prior_pi = 1 / (sd[slot] ** 2 + noise)
        prior_tau = mu[slot] * prior_pi
        levels, is_open = ballots.tier[span].tolist(), bool(ballots.is_open[b])
        is_chain = not all_pairs or len(set(levels)) == len(levels) or len(levels) == 2
        factors = _chain(levels, is_open) if is_chain else _all_pairs(levels, is_open)
        pi, tau = _infer(factors, is_chain, prior_pi, prior_tau, margin)
        for k, s in enumerate(slot.tolist()):
            gained = pi[k] - prior_pi[k]
            if gained > 0:
                own, seen = 1 / sd[s] ** 2, part / (noise + 1 / gained)
                mu[s] = (mu[s] * own + (tau[k] - prior_tau[k]) / gained * seen) / (own + seen)
                sd[s] = math.sqrt(1 / (own + seen))
    return mu, sd


def _games(indptr: Int64s, weight: Floats) -> Iterator[tuple[int, slice, float]]:
    """Walk the ballots in order; a ballot of weight 2.5 is played three times, the last one counting half."""
    bounds = indptr.tolist()
    for b, left in enumerate(weight.tolist()):
        if bounds[b + 1] - bounds[b] < 2:
            continue
        while left > 1e-12:
            yield b, slice(bounds[b], bounds[b + 1]), min(left, 1.0)
            left -= 1


@dataclass
class _Factor:
    """One performance exceeds another by the margin, or stays within it; with its messages to the two."""

    up: int
    down: int
    is_draw: bool
    pi_up: float = 0.0
    tau_up: float = 0.0
    pi_down: float = 0.0
    tau_down: float = 0.0


def _chain(tier: list[int], is_open: bool) -> list[_Factor]:
    factors: list[_Factor] = []
    first_open = tier.index(tier[-1]) if is_open else len(tier)
    for k in range(1, len(tier)):
        if k <= first_open:
            factors.append(_Factor(k - 1, k, tier[k] == tier[k - 1]))
        elif first_open > 0:
            factors.append(_Factor(first_open - 1, k, False))
    return factors


def _all_pairs(tier: list[int], is_open: bool) -> list[_Factor]:
    levels = sorted(set(tier))
    groups = [[k for k, t in enumerate(tier) if t == level] for level in levels]
    factors: list[_Factor] = []
    for g, group in enumerate(groups):
        below = groups[g + 1] if g + 1 < len(groups) else []
        is_said = not (is_open and g + 1 == len(groups))
        for k, i in enumerate(group):
            if is_said:
                factors.extend(_Factor(i, j, True) for j in group[k + 1 :])
            factors.extend(_Factor(i, j, False) for j in below)
    return factors


def _infer(factors: list[_Factor], is_chain: bool, pi: Floats, tau: Floats, margin: float) -> tuple[Floats, Floats]:
    """Pass messages until nothing moves: along a chain down and up, else all at once."""
    pi, tau = pi.copy(), tau.copy()
    m, n = len(pi), len(factors)
    for _ in range(1 if n == 1 else 400):
        moved = 0.0
        if is_chain:
            for f in [*factors, *reversed(factors)]:
                moved = max(moved, _pass(f, 1.0, pi, tau, pi, tau, margin))
        else:
            next_pi, next_tau = pi.copy(), tau.copy()
            for f in factors:
                moved = max(moved, _pass(f, 1.0 / m, pi, tau, next_pi, next_tau, margin))
            pi, tau = next_pi, next_tau
        if moved < SETTLED:
            break
    return pi, tau


def _pass(
    f: _Factor, damping: float, pi: Floats, tau: Floats, next_pi: Floats, next_tau: Floats, margin: float
) -> float:
    pu, tu = pi[f.up] - f.pi_up, tau[f.up] - f.tau_up
    pd, td = pi[f.down] - f.pi_down, tau[f.down] - f.tau_down
    var = 1 / pu + 1 / pd
    sd = math.sqrt(var)
    lead = tu / pu - td / pd
    v, w = _draw_moments(lead / sd, margin / sd) if f.is_draw else _win_moments((lead - margin) / sd)
    w = min(w, 1 - 1e-10)
    c, d, shrink = 1 / var, lead / var, 1 - w
    pi_diff, tau_diff = c / shrink - c, (d + math.sqrt(c) * v) / shrink - d
    moved = 0.0
    sides = (
        (pd, td, 1.0, f.pi_up, f.tau_up, f.up),
        (pu, tu, -1.0, f.pi_down, f.tau_down, f.down),
    )
    sent = []
    for other_pi, other_tau, sign, old_pi, old_tau, to in sides:
        message_pi = message_tau = 0.0
        if pi_diff > 0:
            message_pi = 1 / (1 / other_pi + 1 / pi_diff)
            message_tau = (other_tau / other_pi + sign * tau_diff / pi_diff) * message_pi
        message_pi = old_pi + damping * (message_pi - old_pi)
        message_tau = old_tau + damping * (message_tau - old_tau)
        moved = max(moved, abs(message_tau - old_tau) + abs(message_pi - old_pi))
        next_pi[to] += message_pi - old_pi
        next_tau[to] += message_tau - old_tau
        sent.append((message_pi, message_tau))
    (f.pi_up, f.tau_up), (f.pi_down, f.tau_down) = sent
    return moved


def _density(x: float) -> float:
    return 0.39894228040143267794 * math.exp(-0.5 * x * x)


def _normal(x: float) -> float:
    return 0.5 * math.erfc(-x * 0.70710678118654752440)


def _win_moments(t: float) -> tuple[float, float]:
    mass = _normal(t)
    v = _density(t) / mass if mass > 1e-300 else -t
    return v, min(1.0, max(0.0, v * (v + t)))


def _draw_moments(t: float, e: float) -> tuple[float, float]:
    far, sign = abs(t), -1.0 if t < 0 else 1.0
    mass = _normal(e - far) - _normal(-e - far)
    if mass < 1e-300 or e <= 0:
        return sign * (e - far), 1.0
    high, low = _density(e - far), _density(-e - far)
    v = sign * (low - high) / mass
    return v, min(1.0, max(0.0, v * v + ((e - far) * high + (e + far) * low) / mass))
