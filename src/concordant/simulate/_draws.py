"""Helpers for the simulators: item names, scores, and ballots from orders and tiers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from concordant.errors import ParameterError, arg
from concordant.preferences import Preferences
from concordant.types import AnyArray, Bools, Floats, Int64s

Items = int | Iterable[object]
Seed = int | np.random.Generator | None
Scores = ArrayLike | None


def labels_of(items: Items) -> list[str]:
    """Return item names: the given ones, or "item 1", "item 2", …"""
    if isinstance(items, int):
        if items < 1:
            raise ParameterError(arg("items", shown=str(items)) + " is out of range: give at least one item.")
        return [f"item {k + 1}" for k in range(items)]
    labels = [str(item) for item in items]
    if len(set(labels)) != len(labels) or not labels:
        raise ParameterError("The item labels must be distinct, and there must be at least one.")
    return labels


def count(name: str, value: int) -> int:
    """Return a validated number of draws."""
    if value < 0:
        raise ParameterError(arg(name, shown=str(value)) + " is out of range: give a whole number of at least 0.")
    return value


def check_phi(phi: ArrayLike) -> Floats:
    """Validate dispersions: 0 repeats the centre, 1 is uniform."""
    values = np.asarray(phi, np.float64)
    if not ((values >= 0) & (values <= 1)).all():
        raise ParameterError(arg("phi", phi) + " is out of range: give numbers between 0 (no spread) and 1 (uniform).")
    return values


def centre_of(labels: list[str], centre: Sequence[object] | str | None, rng: np.random.Generator) -> Int64s:
    """Return the items of the central ranking, best first: in the order of ``labels``, drawn ("random") or given."""
    if centre is None:
        return np.arange(len(labels))
    if isinstance(centre, str):
        if centre != "random":
            raise ParameterError(
                arg("centre", centre) + " is not valid: give the item labels, best first, or 'random'."
            )
        return rng.permutation(len(labels))
    number = {label: k for k, label in enumerate(labels)}
    order = [number.get(str(label), -1) for label in centre]
    if sorted(order) != list(range(len(labels))):
        raise ParameterError("The centre must contain every item exactly once, best first.")
    return np.array(order, np.int64)


class Scored(NamedTuple):
    """Item names, scores and random number generator of a model."""

    labels: list[str]
    score: Floats
    rng: np.random.Generator


def scored(items: Items, scores: Scores, spread: float, seed: Seed) -> Scored:
    """Return the items with the given scores, or with normal scores of standard deviation ``spread``."""
    labels, rng = labels_of(items), np.random.default_rng(seed)
    n = len(labels)
    values = rng.normal(0.0, spread, n) if scores is None else np.asarray(scores, np.float64)
    if scores is not None and (values.shape != (n,) or not np.isfinite(values).all()):
        raise ParameterError(f"scores must contain one finite number per item ({n}).")
    return Scored(labels, values, rng)


def from_orders(labels: list[str], orders: Int64s, meta: dict[str, object], top: int | None = None) -> Preferences:
    """Create ballots from rows of items, best first; with ``top``, later items form the last tier of an open ballot."""
    n, m = orders.shape
    tier = np.arange(m)
    is_open = None
    if top is not None and top < m:
        tier = np.minimum(tier, count("top", top))
        is_open = np.ones(n, bool)
    return Preferences(labels, np.arange(n + 1) * m, orders.reshape(-1), np.tile(tier, n), open=is_open, meta=meta)


def from_tiers(labels: list[str], tiers: Int64s, meta: dict[str, object], notes: Sequence[str] = ()) -> Preferences:
    """Create ballots from rows of tiers (0 is best), one column per item."""
    n, m = tiers.shape
    order = np.argsort(tiers, axis=1, kind="stable")
    tier = np.take_along_axis(tiers, order, axis=1)
    return Preferences(labels, np.arange(n + 1) * m, order.reshape(-1), tier.reshape(-1), meta=meta, notes=notes)


def from_duels(
    labels: list[str],
    first: AnyArray,
    second: AnyArray,
    is_tie: Bools | None,
    meta: dict[str, object],
    agent: AnyArray | None = None,
    n_agents: int = 0,
) -> Preferences:
    """Create one ballot per pair, with ``first`` before ``second`` unless they tie."""
    n = len(first)
    item = np.stack([first, second], axis=1).reshape(-1)
    tier = np.tile([0, 1], n)
    if is_tie is not None:
        tier = tier * np.repeat(~is_tie, 2)
    agents = None if agent is None else [f"agent {k + 1}" for k in range(n_agents)]
    return Preferences(labels, np.arange(n + 1) * 2, item, tier, agent=agent, agents=agents, form="pairs", meta=meta)
