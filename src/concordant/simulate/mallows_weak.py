"""Mallows model of rankings with ties: probability ∝ phi^d with the Kemeny distance d to a centre that may have ties.

With up to 7 items, all rankings with ties are enumerated and the draws are exact. With more, ballots are the final
states of independent Markov chains that start at the centre: in every sweep each item in turn moves to a position (in
front of, in, or behind a tier) with its probability given the others. The draws are then approximate, and the notes
of the result state this; more ``sweeps`` improve the approximation. P. Li, A. Mazumdar and O. Milenkovic (AISTATS
2017) call this a generalised Mallows model.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from concordant.errors import ParameterError
from concordant.preferences import Preferences
from concordant.simulate._draws import Items, Seed, check_phi, count, from_tiers, labels_of
from concordant.types import Floats, Int64s

MAX_LISTED = 7


def mallows_weak(
    items: Items,
    n_ballots: int,
    *,
    phi: float = 0.5,
    centre: Sequence[object] | None = None,
    sweeps: int = 50,
    seed: Seed = 0,
) -> Preferences:
    """Draw rankings with ties around a central ranking.

    Parameters
    ----------
    items : int or sequence of str
        Number of items, or their names.
    n_ballots : int
        Number of ballots to draw.
    phi : float, default 0.5
        Dispersion: 0 repeats the central ranking, 1 is uniform.
    centre : sequence, optional
        Central ranking, best first, with inner lists for ties; by default the order of ``items``.
    sweeps : int, default 50
        Number of sweeps of the Markov chains, with more than 7 items.
    seed : int or numpy.random.Generator, default 0
        Seed of the random numbers.

    Returns
    -------
    Preferences
        One ranking per ballot; ``meta`` has the parameters.
    """
    labels = labels_of(items)
    rng = np.random.default_rng(seed)
    spread = float(check_phi(phi))
    middle = _centre_tiers(labels, centre)
    groups = [[labels[k] for k in np.flatnonzero(middle == level)] for level in range(int(middle.max()) + 1)]
    meta: dict[str, object] = {"model": "mallows-weak", "phi": spread, "centre": groups}
    if len(labels) <= MAX_LISTED:
        listed = weak_orders(len(labels))
        cumulated = np.cumsum(spread ** distances(listed, middle))
        chosen = np.searchsorted(cumulated, rng.random(count("n_ballots", n_ballots)) * cumulated[-1], side="right")
        return from_tiers(labels, listed[np.minimum(chosen, len(listed) - 1)], meta)
    tiers = _walk(middle, count("n_ballots", n_ballots), spread, sweeps, rng)
    note = f"drawn by Markov chains of {sweeps} sweeps: approximate"
    return from_tiers(labels, tiers, meta, notes=(note,))


@cache
def weak_orders(m: int) -> Int64s:
    """Return all rankings with ties of m items, as rows of tiers (1, 3, 13, 75, 541, 4683, 47293)."""
    rows = np.zeros((1, 1), np.int64)
    for _ in range(1, m):
        grown = []
        for row in rows:
            for place in range(
                2 * int(row.max()) + 3
            ):  # even: a new tier before tier place / 2; odd: into tier (place - 1) / 2
                target = place // 2
                shifted = row + (row >= target) if place % 2 == 0 else row
                grown.append(np.append(shifted, target))
        rows = np.array(grown)
    rows.flags.writeable = False
    return rows


def distances(tiers: Int64s, centre: Int64s) -> Floats:
    """Return the Kemeny distance of every row of tiers to the centre: half the summed differences of pair signs."""
    i, j = np.triu_indices(tiers.shape[1], 1)
    apart = np.abs(np.sign(tiers[:, i] - tiers[:, j]) - np.sign(centre[i] - centre[j]))
    return np.asarray(apart.sum(axis=1) / 2)


def _centre_tiers(labels: list[str], centre: Sequence[object] | None) -> Int64s:
    """Return the tier of every label in the centre (by default each its own, in order), or raise ParameterError."""
    if centre is None:
        return np.arange(len(labels))
    number = {label: k for k, label in enumerate(labels)}
    tier = np.full(len(labels), -1, np.int64)
    for level, group in enumerate(centre):
        for label in group if isinstance(group, (list, tuple, set, frozenset)) else [group]:
            if str(label) not in number or tier[number[str(label)]] >= 0:
                raise ParameterError(
                    f"The centre contains {label!r}, which is not an item or occurs twice: list every item "
                    "exactly once."
                )
            tier[number[str(label)]] = level
    if (tier < 0).any():
        raise ParameterError(
            f"The centre does not contain {labels[int(np.argmin(tier))]!r}: list every item exactly once."
        )
    return np.asarray(np.unique(tier, return_inverse=True)[1].reshape(-1), np.int64)


def _walk(centre: Int64s, n: int, phi: float, sweeps: int, rng: np.random.Generator) -> Int64s:
    """Draw n rankings by Gibbs sampling: in every sweep each item is removed and reinserted, given the others.

    Position 2k is a new tier before tier k, position 2k + 1 is tier k itself.
    """
    m = len(centre)
    tiers = np.tile(centre, (n, 1))
    rows = np.arange(n)
    log_phi = np.log(phi) if phi > 0 else -1e9  # phi 0: always the cheapest place
    for _ in range(sweeps):
        for item in range(m):
            tiers = _without(tiers, item)
            cost = _place_costs(tiers, item, centre)
            weight = np.exp(log_phi * (cost - cost.min(axis=1, keepdims=True)))
            cumulated = np.cumsum(weight, axis=1)
            place = (cumulated < rng.random(n)[:, None] * cumulated[:, -1:]).sum(axis=1)
            target, is_new = place // 2, place % 2 == 0
            tiers = tiers + ((tiers >= target[:, None]) & is_new[:, None])
            tiers[rows, item] = target
    return tiers


def _without(tiers: Int64s, item: int) -> Int64s:
    """Remove an item from every row (its tier becomes -1) and close the gap it may leave."""
    old = tiers[:, item].copy()
    was_alone = (tiers == old[:, None]).sum(axis=1) == 1
    tiers = tiers - ((tiers > old[:, None]) & was_alone[:, None])
    tiers[:, item] = -1
    return tiers


def _place_costs(tiers: Int64s, item: int, centre: Int64s) -> Floats:
    """Return the distance from the centre that the item adds at every position; infinite after the last tier.

    Positions are numbered as in ``_walk``. ``ahead`` is the cost of placing the item before a tier, ``level`` into it,
    ``behind`` after it.
    """
    n, m = tiers.shape
    rows = np.arange(n)
    others = [k for k in range(m) if k != item]
    ahead, level, behind = (np.zeros((n, m + 1)) for _ in range(3))
    for k in others:
        sign = int(np.sign(centre[item] - centre[k]))
        for table, sign_here in ((ahead, -1), (level, 0), (behind, 1)):
            table[rows, tiers[:, k]] += abs(sign_here - sign) / 2
    in_front = np.cumsum(ahead[:, ::-1], axis=1)[:, ::-1]
    behind_all = np.concatenate([np.zeros((n, 1)), np.cumsum(behind, axis=1)[:, :-1]], axis=1)
    cost = np.full((n, 2 * m + 1), np.inf)
    cost[:, 0::2] = (behind_all + in_front)[:, : m + 1]
    cost[:, 1::2] = (behind_all + level + in_front - ahead)[:, :m]
    last = tiers.max(axis=1)
    cost[np.arange(2 * m + 1)[None, :] > 2 * (last[:, None] + 1)] = np.inf
    return cost
