"""Steps of the coset-permutation model: costs of the next candidate, the greedy order, phi from labels.

Scores count how many candidates are left behind when an item is placed. Candidates whose costs are equal up to
rounding are placed together, so that the result does not depend on the order of the input.
"""

from __future__ import annotations

import numpy as np

from concordant import views
from concordant.aggregate.matrices import stacks
from concordant.ballots.segments import max_by, sum_by
from concordant.labels import Labels
from concordant.preferences import Preferences
from concordant.types import AnyArray, Floats, Int64s

DISTANCES = ("kendall", "footrule", "spearman")
ROUNDING = 1e-9


def greedy_places(prefs: Preferences, phi: Floats, distance: str) -> Floats:
    """Return the score of every slot: how many candidates remain after its step, half of those of the step itself."""
    weighted = prefs.replace(weight=prefs.weight * phi)
    if distance == "footrule":
        return _greedy_footrule(weighted)
    score, found = np.zeros(prefs.n_slots), views.win_matrices(weighted, "last")
    support = found.wins + found.ties / 2
    for stack in stacks(prefs.slot_ptr):
        lost = stack.take(support)  # row before column
        score[stack.slots] = _pick_all(lost, is_fixed=distance == "spearman")
    return score


def _pick_all(lost: Floats, is_fixed: bool) -> Floats:
    """Place items one by one, each time the one that loses least to those that remain (or to all, if fixed)."""
    k, m, _ = lost.shape
    cost = lost.sum(axis=1)
    scale = np.maximum(np.abs(lost).sum(axis=(1, 2)), 1e-300)
    score = np.zeros((k, m))
    remains = np.ones((k, m), bool)
    for _ in range(m):
        best = np.where(remains, cost, np.inf).min(axis=1)
        placed = remains & (cost <= (best + ROUNDING * scale)[:, None])
        left = remains.sum(axis=1) - placed.sum(axis=1)
        score = np.where(placed, (left + (placed.sum(axis=1) - 1) / 2)[:, None], score)
        remains &= ~placed
        if not is_fixed:
            instance, item = np.nonzero(placed)
            present, start = np.unique(instance, return_index=True)
            cost[present] -= np.add.reduceat(lost[instance, item], start)
        if not remains.any():
            break
    return score


# ---- footrule ----
def footrule_cost(place: AnyArray, size: AnyArray, position: AnyArray) -> Floats:
    """Return |place - position| minus the mean of |later place - position|, for places 1..size."""
    later = np.maximum(size - place, 1)
    beyond = position > place
    inner = np.where(
        beyond,
        ((position - place - 1) * (position - place) + (size - position) * (size - position + 1)) / 2,
        later * ((place + 1 + size) / 2 - position),
    )
    return np.asarray(np.abs(place - position) - inner / later)


def free_cost(place: AnyArray, size: AnyArray, ranked: AnyArray) -> Floats:
    """Return the mean of ``footrule_cost`` over the free positions ranked + 1 .. size of an unranked item."""
    place, size, ranked = np.broadcast_arrays(place, size, ranked)
    out = np.zeros(place.shape)
    for n in np.unique(size).tolist():
        at = size == n
        if n < 1 or not (at & (ranked < n)).any():
            continue
        position = np.arange(1, n + 1)
        for i in np.unique(place[at]).tolist():
            here = at & (place == i) & (ranked < n)
            tail = np.append(np.cumsum(footrule_cost(i, n, position)[::-1])[::-1], 0.0)
            out[here] = tail[ranked[here]] / (n - ranked[here])
    return out


def _greedy_footrule(prefs: Preferences) -> Floats:
    size = np.diff(prefs.slot_ptr)
    owner = views.instance_of_slot(prefs)
    of_ballot = size[prefs.instance_of_ballot]
    lengths = np.diff(prefs.indptr)
    ballot = views.ballot_of_entry(prefs)
    position, weight = views.positions(prefs), prefs.weight
    by_entry, entry_size = weight[ballot], of_ballot[ballot]
    scale = np.maximum(sum_by(prefs.instance_of_ballot, np.abs(weight) * of_ballot, prefs.n_instances), 1e-300)
    score, remains = np.zeros(prefs.n_slots), np.ones(prefs.n_slots, bool)
    place = np.ones(prefs.n_instances, np.int64)
    while remains.any():
        free = weight * free_cost(place[prefs.instance_of_ballot], of_ballot, lengths)
        cost = sum_by(prefs.instance_of_ballot, free, prefs.n_instances)[owner]
        extra = by_entry * footrule_cost(place[prefs.instance_of_ballot][ballot], entry_size, position) - free[ballot]
        cost = cost + sum_by(prefs.entry_slot, extra, prefs.n_slots)
        best = -max_by(owner[remains], -cost[remains], prefs.n_instances, -np.inf)
        placed = remains & (cost <= (best + ROUNDING * scale)[owner])
        count = np.bincount(owner[placed], minlength=prefs.n_instances)
        remains &= ~placed
        left = np.bincount(owner[remains], minlength=prefs.n_instances)
        score[placed] = (left + (count - 1) / 2)[owner[placed]]
        place = place + count
    return score


# ---- learning ----
def learn_phi(
    prefs: Preferences, labels: Labels, distance: str, max_candidates: int, draws: int, seed: int | None
) -> Floats:
    """Return phi >= 0 of every agent: a conditional logit over the steps of orders drawn from the labels."""
    from scipy.optimize import minimize

    rng = np.random.default_rng(seed)
    owner = views.instance_of_slot(prefs)
    label = np.nan_to_num(labels.for_items(owner, prefs.instances, prefs.items, prefs.slot_item))
    size = np.diff(prefs.slot_ptr)
    best, worst = (max_by(owner, sign * label, prefs.n_instances, -np.inf) for sign in (1, -1))
    chosen = np.flatnonzero(best > -worst)
    n_agents = prefs.n_agents or 0
    if not len(chosen):
        return np.ones(n_agents)
    chosen = rng.permutation(chosen)[:max_candidates]
    by_instance, where = dict(views.ballots_by_instance(prefs)), views.positions(prefs)
    rows, steps = [], []
    for q in chosen.tolist():
        ballots = by_instance.get(q, chosen[:0])
        own = label[prefs.slot_ptr[q] : prefs.slot_ptr[q + 1]]
        for _ in range(draws):
            order = np.lexsort((rng.random(int(size[q])), -own))
            features, lengths = _step_features(prefs, q, ballots, order, distance, where)
            rows.append(features)
            steps.append(lengths)
    features, lengths = np.concatenate(rows), np.concatenate(steps)
    scale = float(features.std()) or 1.0
    features /= scale
    start = np.cumsum(lengths) - lengths
    step = np.repeat(np.arange(len(lengths)), lengths)
    taken = features[start].sum(axis=0)

    def loss(phi: Floats) -> tuple[float, Floats]:
        z = -(features @ phi)
        top = np.maximum.reduceat(z, start)
        weight = np.exp(z - top[step])
        total = np.add.reduceat(weight, start)
        value = float((top + np.log(total)).sum() + taken @ phi)
        share = weight / total[step]
        return value / len(start), (taken - share @ features) / len(start)

    found = minimize(loss, np.full(n_agents, 0.1), jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * n_agents)
    return np.asarray(found.x / scale)


def _step_features(
    prefs: Preferences, q: int, ballots: AnyArray, order: AnyArray, distance: str, where: Floats
) -> tuple[Floats, Int64s]:
    """Return the agents' costs of every candidate of every step, the one taken first, and the candidates per step.

    ``where`` is the position of every entry.
    """
    m = len(order)
    at = np.empty(m, np.int64)
    at[order] = np.arange(m)
    cost = np.zeros((m, m, prefs.n_agents or 0))  # step, candidate in the true order, agent
    assert prefs.agent is not None
    steps = np.arange(1, m + 1)
    for ballot in ballots.tolist():
        span = slice(int(prefs.indptr[ballot]), int(prefs.indptr[ballot + 1]))
        ranked = span.stop - span.start
        position = np.full(m, (ranked + 1 + m) / 2)
        position[at[prefs.entry_slot[span] - prefs.slot_ptr[q]]] = where[span]
        if distance == "spearman":
            own = (m + 1 - steps)[:, None] * position[None, :]
        elif distance == "footrule":
            own = footrule_cost(steps[:, None], np.full((m, m), m), position[None, :])
            is_free = np.ones(m, bool)
            is_free[at[prefs.entry_slot[span] - prefs.slot_ptr[q]]] = False
            own[:, is_free] = free_cost(steps, np.full(m, m), np.full(m, ranked))[:, None]
        else:
            before = (position[:, None] < position[None, :]) + (position[:, None] == position[None, :]) / 2
            own = np.cumsum(before[::-1], axis=0)[::-1]
        cost[:, :, prefs.agent[ballot]] += prefs.weight[ballot] * own
    step, candidate = np.triu_indices(m)
    return cost[step, candidate], m - np.arange(m)
