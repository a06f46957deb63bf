"""The coset-permutation model: costs of the next candidate, the greedy order, and learning phi from labels.

The score of an item is the number of candidates that remain after it is placed. Candidates with equal costs, up to
rounding, are placed together, so the result does not depend on the input order.
"""

from __future__ import annotations

import numpy as np

from concordant import views
from concordant.aggregate.matrices import stacks
from concordant.ballots.segments import max_by, sum_by
from concordant.labels import Labels
from concordant.preferences import Preferences
from concordant.support import progress
from concordant.types import AnyArray, Floats, Int64s

DISTANCES = ("kendall", "footrule", "spearman")
ROUNDING = 1e-9


def greedy_places(prefs: Preferences, phi: Floats, distance: str) -> Floats:
    """Return the score of every slot: the number of candidates placed in later steps, plus half of those placed in
    the same step.

    ``phi`` is the weight of every ballot.
    """
    weighted = prefs.replace(weight=prefs.weight * phi)
    if distance == "footrule":
        return _greedy_footrule(weighted)
    score, matrices = np.zeros(prefs.n_slots), views.win_matrices(weighted, "last")
    support = matrices.wins + matrices.ties / 2
    for stack in stacks(prefs.slot_ptr):
        preferred = stack.take(support)  # weight of row before column
        score[stack.slots] = _pick_all(preferred, is_fixed=distance == "spearman")
    return score


def _pick_all(lost: Floats, is_fixed: bool) -> Floats:
    """Place items one by one: each time the item with the smallest preference against it, over the remaining items (or
    all).

    ``lost`` has an m x m matrix per instance: the strength of preference for row over column. Items that tie up to
    rounding are placed together.
    """
    k, m, _ = lost.shape
    cost = lost.sum(axis=1)
    scale = np.maximum(np.abs(lost).sum(axis=(1, 2)), 1e-300)
    score = np.zeros((k, m))
    remains = np.ones((k, m), bool)
    for _ in progress.steps(range(m)):
        best = np.where(remains, cost, np.inf).min(axis=1)
        placed = remains & (cost <= (best + ROUNDING * scale)[:, None])
        n_left = remains.sum(axis=1) - placed.sum(axis=1)
        score = np.where(placed, (n_left + (placed.sum(axis=1) - 1) / 2)[:, None], score)
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
    """Return |place - position| minus its mean over the later places, for places 1..size."""
    later = np.maximum(size - place, 1)
    beyond = position > place
    sum_of_later = np.where(
        beyond,
        ((position - place - 1) * (position - place) + (size - position) * (size - position + 1)) / 2,
        later * ((place + 1 + size) / 2 - position),
    )
    return np.asarray(np.abs(place - position) - sum_of_later / later)


def free_cost(place: AnyArray, size: AnyArray, ranked: AnyArray) -> Floats:
    """Return the mean of ``footrule_cost`` over the free positions ranked + 1 .. size of an unranked item."""
    place, size, ranked = np.broadcast_arrays(place, size, ranked)
    out = np.zeros(place.shape)
    for n in np.unique(size).tolist():
        has_size = size == n
        if n < 1 or not (has_size & (ranked < n)).any():
            continue
        position = np.arange(1, n + 1)
        for i in np.unique(place[has_size]).tolist():
            is_case = has_size & (place == i) & (ranked < n)
            sum_from = np.append(np.cumsum(footrule_cost(i, n, position)[::-1])[::-1], 0.0)
            out[is_case] = sum_from[ranked[is_case]] / (n - ranked[is_case])
    return out


def _greedy_footrule(prefs: Preferences) -> Floats:
    """Place items one by one, each time the one with the smallest footrule cost; return scores as ``greedy_places``
    does.
    """
    size = np.diff(prefs.slot_ptr)
    instance = views.instance_of_slot(prefs)
    candidates = size[prefs.instance_of_ballot]
    lengths = np.diff(prefs.indptr)
    ballot = views.ballot_of_entry(prefs)
    position, weight = views.positions(prefs), prefs.weight
    entry_weight, entry_size = weight[ballot], candidates[ballot]
    scale = np.maximum(sum_by(prefs.instance_of_ballot, np.abs(weight) * candidates, prefs.n_instances), 1e-300)
    score, remains = np.zeros(prefs.n_slots), np.ones(prefs.n_slots, bool)
    place = np.ones(prefs.n_instances, np.int64)
    while remains.any():
        free = weight * free_cost(place[prefs.instance_of_ballot], candidates, lengths)
        cost = sum_by(prefs.instance_of_ballot, free, prefs.n_instances)[instance]
        own_cost = (
            entry_weight * footrule_cost(place[prefs.instance_of_ballot][ballot], entry_size, position) - free[ballot]
        )
        cost = cost + sum_by(prefs.entry_slot, own_cost, prefs.n_slots)
        best = -max_by(instance[remains], -cost[remains], prefs.n_instances, -np.inf)
        placed = remains & (cost <= (best + ROUNDING * scale)[instance])
        count = np.bincount(instance[placed], minlength=prefs.n_instances)
        remains &= ~placed
        n_left = np.bincount(instance[remains], minlength=prefs.n_instances)
        score[placed] = (n_left + (count - 1) / 2)[instance[placed]]
        place = place + count
    return score


# ---- learning ----
def learn_phi(
    prefs: Preferences, labels: Labels, distance: str, max_candidates: int, draws: int, seed: int | None
) -> Floats:
    """Return phi >= 0 of every agent, fitted by conditional logit to the steps of orders drawn from the labels.

    An order sorts an instance by label, with ties in random order; each step chooses one of the remaining items.
    """
    from scipy.optimize import minimize

    rng = np.random.default_rng(seed)
    instance = views.instance_of_slot(prefs)
    label = np.nan_to_num(labels.for_items(instance, prefs.instances, prefs.items, prefs.slot_item))
    size = np.diff(prefs.slot_ptr)
    best, worst = (max_by(instance, sign * label, prefs.n_instances, -np.inf) for sign in (1, -1))
    chosen = np.flatnonzero(best > -worst)
    n_agents = prefs.n_agents or 0
    if not len(chosen):
        return np.ones(n_agents)
    chosen = rng.permutation(chosen)[:max_candidates]
    by_instance, position_of_entry = dict(views.ballots_by_instance(prefs)), views.positions(prefs)
    rows, steps = [], []
    for q in progress.steps(chosen.tolist(), "sampling orders"):
        ballots = by_instance.get(q, chosen[:0])
        label_of_instance = label[prefs.slot_ptr[q] : prefs.slot_ptr[q + 1]]
        for _ in range(draws):
            order = np.lexsort((rng.random(int(size[q])), -label_of_instance))
            features, lengths = _step_features(prefs, q, ballots, order, distance, position_of_entry)
            rows.append(features)
            steps.append(lengths)
    features, lengths = np.concatenate(rows), np.concatenate(steps)
    scale = float(features.std()) or 1.0
    features /= scale
    start = np.cumsum(lengths) - lengths
    step = np.repeat(np.arange(len(lengths)), lengths)
    chosen_sum = features[start].sum(axis=0)

    def loss(phi: Floats) -> tuple[float, Floats]:
        z = -(features @ phi)
        top = np.maximum.reduceat(z, start)
        weight = np.exp(z - top[step])
        total = np.add.reduceat(weight, start)
        value = float((top + np.log(total)).sum() + chosen_sum @ phi)
        share = weight / total[step]
        return value / len(start), (chosen_sum - share @ features) / len(start)

    optimum = minimize(loss, np.full(n_agents, 0.1), jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * n_agents)
    return np.asarray(optimum.x / scale)


def _step_features(
    prefs: Preferences, q: int, ballots: AnyArray, order: AnyArray, distance: str, where: Floats
) -> tuple[Floats, Int64s]:
    """Return each agent's cost of every candidate at every step, and the number of candidates per step.

    Rows are by step and candidate (the first row of a step is the candidate placed there), columns by agent; the costs
    are those of ``cps``. ``order`` are the candidates of instance q in the drawn order, ``where`` the position of every
    entry.
    """
    m = len(order)
    place_of = np.empty(m, np.int64)
    place_of[order] = np.arange(m)
    cost = np.zeros((m, m, prefs.n_agents or 0))  # step, candidate in the true order, agent
    assert prefs.agent is not None
    steps = np.arange(1, m + 1)
    for ballot in ballots.tolist():
        span = slice(int(prefs.indptr[ballot]), int(prefs.indptr[ballot + 1]))
        ranked = span.stop - span.start
        position = np.full(m, (ranked + 1 + m) / 2)
        position[place_of[prefs.entry_slot[span] - prefs.slot_ptr[q]]] = where[span]
        if distance == "spearman":
            cost_of_ballot = (m + 1 - steps)[:, None] * position[None, :]
        elif distance == "footrule":
            cost_of_ballot = footrule_cost(steps[:, None], np.full((m, m), m), position[None, :])
            is_free = np.ones(m, bool)
            is_free[place_of[prefs.entry_slot[span] - prefs.slot_ptr[q]]] = False
            cost_of_ballot[:, is_free] = free_cost(steps, np.full(m, m), np.full(m, ranked))[:, None]
        else:
            before = (position[:, None] < position[None, :]) + (position[:, None] == position[None, :]) / 2
            cost_of_ballot = np.cumsum(before[::-1], axis=0)[::-1]
        cost[:, :, prefs.agent[ballot]] += prefs.weight[ballot] * cost_of_ballot
    step, candidate = np.triu_indices(m)
    return cost[step, candidate], m - np.arange(m)
