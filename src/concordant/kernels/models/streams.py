"""Sequential ratings (Elo, TrueSkill), updated after each game (NumPy reference of streams.cpp).

If a trail is requested, they also return the rating of every entry after its ballot, NaN if no game was played;
otherwise an empty array.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from concordant.kernels.bundles import Ballots
from concordant.types import Floats, Int32s, Int64s

__all__ = ["elo_stream", "trueskill_stream"]

LEAD_UNIT, LEAST_LEAD = 2.2, 0.22  # how a rating lead shrinks the factor of a margin
SETTLED = 1e-9  # how little messages may move at the end

Meeting = tuple[int, int, bool]  # one performance exceeds another by the margin or, in a draw, stays within it
Natural = tuple[float, float]  # a normal distribution: precision, precision x mean


def elo_stream(
    ballots: Ballots,
    order: Floats,
    game_factor: Floats,
    start: float,
    stake: float,
    scale: float,
    advantage: float,
    correction: float,
    has_trail: bool,
) -> tuple[Floats, Floats, float, Floats]:
    """Return (rating, games played, log-likelihood of the games as predicted before each, trail).

    ``game_factor`` (by ballot, or empty) multiplies the stake of a game. A positive ``correction`` also multiplies it
    by 2.2 / (2.2 + correction x lead of the winner), or by 2.2 in a draw.
    """
    n_slots = int(ballots.slot_ptr[-1])
    rating, games, trail = np.full(n_slots, float(start)), np.zeros(n_slots), _empty_trail(ballots, has_trail)
    log_likelihood, rate = 0.0, math.log(10.0) / scale
    for b, span, share in _games(ballots.indptr, ballots.weight):
        slot, own_tier = ballots.entry_slot[span], ballots.tier[span]
        m = len(slot)
        i, j = np.triu_indices(m, 1)
        if ballots.is_open[b]:
            is_ordered = (own_tier[i] != own_tier[j]) | (own_tier[i] != own_tier[-1])
            i, j = i[is_ordered], j[is_ordered]
        lead = rating[slot[i]] - rating[slot[j]]
        if len(order):
            shown = order[span]
            lead = lead + advantage * np.sign(shown[j] - shown[i])
        expected = 1 / (1 + np.exp(-rate * lead))
        result = np.where(own_tier[i] < own_tier[j], 1.0, 0.5)
        log_likelihood += share * float((result * np.log(expected) + (1 - result) * np.log1p(-expected)).sum())
        points = share * stake / (m - 1) * (result - expected)
        if len(game_factor):
            points = points * game_factor[b]
        if correction > 0:
            shrunk = LEAD_UNIT / np.maximum(LEAST_LEAD, LEAD_UNIT + correction * lead)
            points = points * np.where(result == 0.5, LEAD_UNIT, shrunk)
        rating[slot] += np.bincount(i, points, m) - np.bincount(j, points, m)
        games[slot] += share
        if has_trail:
            trail[span] = rating[slot]
    return rating, games, log_likelihood, trail


def trueskill_stream(
    ballots: Ballots,
    team: Int32s,
    mean: float,
    sigma: float,
    beta: float,
    drift: float,
    margin: float,
    all_pairs: bool,
    has_trail: bool,
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return (mean, standard deviation) of every skill after all games, and the trails of both.

    The sides of a game are its items or, if ``team`` numbers the side of every entry inside its ballot in order of
    appearance, teams, whose performance is the sum of their members' performances. Every side meets the next one, with
    a draw within a tier and a win across tiers; the last named side beats each side of an open tier. With
    ``all_pairs``, a side draws with all sides in its tier and beats all sides in the next one.
    """
    n_slots = int(ballots.slot_ptr[-1])
    mu, sd = np.full(n_slots, float(mean)), np.full(n_slots, float(sigma))
    trail, trail_sd = _empty_trail(ballots, has_trail), _empty_trail(ballots, has_trail)
    noise = beta * beta
    for b, span, share in _games(ballots.indptr, ballots.weight):
        slot = ballots.entry_slot[span]
        side = team[span] if len(team) else np.arange(len(slot))
        size, (_, first) = np.bincount(side), np.unique(side, return_index=True)
        if len(size) < 2:
            continue
        sd[slot] = np.sqrt(sd[slot] ** 2 + share * drift**2)
        side_mean, side_var = np.bincount(side, mu[slot]), np.bincount(side, sd[slot] ** 2 + noise)
        prior_pi = 1 / side_var
        prior_tau = side_mean * prior_pi
        levels, is_open = ballots.tier[span][first].tolist(), bool(ballots.is_open[b])
        is_chain = not all_pairs or len(set(levels)) == len(levels) or len(levels) == 2
        met = _chain(levels, is_open) if is_chain else _all_pairs(levels, is_open)
        margins = [margin * math.sqrt((size[up] + size[down]) / 2) for up, down, _ in met]
        pi, tau = _infer(met, is_chain, prior_pi, prior_tau, margins)
        # What the game says about a side is shared by its members, given the other members' skills and the noise.
        for s, k in zip(slot.tolist(), side.tolist(), strict=True):
            learnt_precision = pi[k] - prior_pi[k]
            if learnt_precision > 0:
                others_variance = side_var[k] - (sd[s] ** 2 + noise)
                prior_precision, likelihood_precision = (
                    1 / sd[s] ** 2,
                    share / (noise + (1 / learnt_precision + others_variance)),
                )
                performance = (tau[k] - prior_tau[k]) / learnt_precision - (side_mean[k] - mu[s])
                mu[s] = (mu[s] * prior_precision + performance * likelihood_precision) / (
                    prior_precision + likelihood_precision
                )
                sd[s] = math.sqrt(1 / (prior_precision + likelihood_precision))
        if has_trail:
            trail[span], trail_sd[span] = mu[slot], sd[slot]
    return mu, sd, trail, trail_sd


def _empty_trail(ballots: Ballots, has_trail: bool) -> Floats:
    """Return NaN for every entry, or an empty array."""
    return np.full(int(ballots.indptr[-1]) if has_trail else 0, np.nan)


def _games(indptr: Int64s, weight: Floats) -> Iterator[tuple[int, slice, float]]:
    """Iterate over the ballots in order; a ballot of weight 2.5 is three games, the last with weight 1/2."""
    bounds = indptr.tolist()
    for b, left in enumerate(weight.tolist()):
        if bounds[b + 1] - bounds[b] < 2:
            continue
        while left > 1e-12:
            yield b, slice(bounds[b], bounds[b + 1]), min(left, 1.0)
            left -= 1


def _chain(tier: list[int], is_open: bool) -> list[Meeting]:
    """Return the matches between adjacent sides; the last named side beats each side of an open tier."""
    factors: list[Meeting] = []
    first_open = tier.index(tier[-1]) if is_open else len(tier)
    for k in range(1, len(tier)):
        if k <= first_open:
            factors.append((k - 1, k, tier[k] == tier[k - 1]))
        elif first_open > 0:
            factors.append((first_open - 1, k, False))
    return factors


def _all_pairs(tier: list[int], is_open: bool) -> list[Meeting]:
    """Return the matches between all sides in the same tier or in adjacent tiers."""
    level = np.unique(tier, return_inverse=True)[1].tolist()
    named = [k for k in range(len(tier)) if not (is_open and level[k] == level[-1])]
    return [(i, j, level[i] == level[j]) for i in named for j in range(i + 1, len(tier)) if level[j] - level[i] <= 1]


def _infer(
    factors: list[Meeting], is_chain: bool, pi: Floats, tau: Floats, margins: list[float]
) -> tuple[Floats, Floats]:
    """Pass messages until none changes (expectation propagation): down and up a chain, else all at once, damped."""
    belief = list(zip(pi.tolist(), tau.tolist(), strict=True))
    sent: list[list[Natural]] = [[(0.0, 0.0), (0.0, 0.0)] for _ in factors]  # to the upper performance, to the lower
    walk = [*range(len(factors)), *reversed(range(len(factors)))] if is_chain else range(len(factors))
    damping = 1.0 if is_chain else 1.0 / len(belief)
    for _ in range(1 if len(factors) == 1 else 400):
        moved = 0.0
        current = belief if is_chain else list(belief)
        for k in walk:
            up, down, is_draw = factors[k]
            wanted = _messages(_less(current[up], sent[k][0]), _less(current[down], sent[k][1]), is_draw, margins[k])
            for side, item in enumerate((up, down)):
                change_pi, change_tau = (damping * part for part in _less(wanted[side], sent[k][side]))
                sent[k][side] = sent[k][side][0] + change_pi, sent[k][side][1] + change_tau
                belief[item] = belief[item][0] + change_pi, belief[item][1] + change_tau
                moved = max(moved, abs(change_pi) + abs(change_tau))
        if moved < SETTLED:
            break
    return np.array([natural[0] for natural in belief]), np.array([natural[1] for natural in belief])


def _less(natural: Natural, subtracted: Natural) -> Natural:
    return natural[0] - subtracted[0], natural[1] - subtracted[1]


def _messages(up: Natural, down: Natural, is_draw: bool, margin: float) -> list[Natural]:
    """Return the messages of a factor to the upper and the lower performance, given all other messages to the two."""
    var = 1 / up[0] + 1 / down[0]
    sd = math.sqrt(var)
    lead = up[1] / up[0] - down[1] / down[0]
    v, w = _draw_moments(lead / sd, margin / sd) if is_draw else _win_moments((lead - margin) / sd)
    c, d, shrink = 1 / var, lead / var, 1 - min(w, 1 - 1e-10)
    pi, tau = c / shrink - c, (d + math.sqrt(c) * v) / shrink - d  # of the message to the difference
    if pi <= 0:
        return [(0.0, 0.0), (0.0, 0.0)]
    messages = []
    for opponent, sign in ((down, 1.0), (up, -1.0)):
        precision = 1 / (1 / opponent[0] + 1 / pi)
        messages.append((precision, (opponent[1] / opponent[0] + sign * tau / pi) * precision))
    return messages


def _density(x: float) -> float:
    return 0.39894228040143267794 * math.exp(-0.5 * x * x)


def _normal(x: float) -> float:
    return 0.5 * math.erfc(-x * 0.70710678118654752440)


def _win_moments(t: float) -> tuple[float, float]:
    """Return TrueSkill's v and w of a win: the mean shift and variance reduction of a truncated normal."""
    mass = _normal(t)
    v = _density(t) / mass if mass > 1e-300 else -t
    return v, min(1.0, max(0.0, v * (v + t)))


def _draw_moments(t: float, e: float) -> tuple[float, float]:
    """Return TrueSkill's v and w of a draw: the difference is within e of 0, t is its standardised mean."""
    far, sign = abs(t), -1.0 if t < 0 else 1.0
    mass = _normal(e - far) - _normal(-e - far)
    if mass < 1e-300 or e <= 0:
        return sign * (e - far), 1.0
    high, low = _density(e - far), _density(-e - far)
    v = sign * (low - high) / mass
    return v, min(1.0, max(0.0, v * v + ((e - far) * high + (e + far) * low) / mass))
