"""Rank many instances in chunks; a worker ranks each chunk in one call to the batched solvers.

The scores and confidence intervals of an instance come from its chunk. Parameters that all instances share are chosen
jointly: the prior of a score model, whose log marginal likelihood is a sum over chunks, and the adherences of a
multinomial model, whose gradient is a sum over chunks. The result is therefore the same as with one process, up to
rounding in these sums.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from concordant.ballots.build import compact
from concordant.ballots.invariants import Slots
from concordant.ballots.vocabulary import Vocabulary
from concordant.engine.executors import Executor, Serial
from concordant.method import Method, ballots_of_slots, joined_notices
from concordant.models.likelihoods.evidence import PriorSearch, log_evidence
from concordant.models.solve.multinomial import Part
from concordant.params import values_of
from concordant.preferences import Preferences
from concordant.ranking import Notice, Ranking, Uncertainty
from concordant.support import progress
from concordant.types import AnyArray, Floats

CHUNKS = 2  # per worker: enough to even out, few enough that each fills the batched solvers
MORE_OF_ENTRY, MORE_OF_BALLOT = ("value", "shown", "team", "covariate", "points"), ("agent", "open", "time")
SUMMED = ("log_likelihood", "total_distance", "lower_bound", "total_footrule")
LARGEST = ("gradient", "steps")


class Ranked(NamedTuple):
    """The result of a worker for a chunk."""

    score: Floats
    low: Floats | None
    high: Floats | None
    details: dict[str, AnyArray]
    notices: tuple[Notice, ...]
    fit: dict[str, float] | None
    agents: dict[str, float] | None
    beside: dict[str, AnyArray]


def rank_in_chunks(method: Method, prefs: Preferences, executor: Executor, *, intervals: bool = True) -> Ranking:
    """Rank all instances in chunks on the workers, or in one call if the method uses all instances together."""
    learns_jointly = bool(getattr(method, "adherence", False)) and prefs.agents is not None
    is_one = prefs.instances is None or prefs.n_instances < 2
    if isinstance(executor, Serial) or is_one or not (learns_jointly or method.ranks_apart(prefs)):
        return method.rank(prefs)
    start = time.perf_counter()
    method.check_needs(prefs)
    chunks = [executor.hold(_same, chunk) for chunk in cut(prefs, CHUNKS * executor.workers)]
    if learns_jointly:
        ranked = _learnt_jointly(method, prefs, chunks, executor, intervals)
    else:
        settled = _settled(method, prefs, chunks, executor)
        futures = [executor.submit(_ranked, settled, chunk, intervals) for chunk in chunks]
        ranked = [executor.result(future) for future in progress.steps(futures, "ranking chunks of instances")]
    return _joined(method, prefs, ranked, executor, time.perf_counter() - start)


def cut(prefs: Preferences, parts: int) -> list[Preferences]:
    """Cut preferences into chunks of consecutive instances with roughly equal numbers of entries and candidates."""
    assert prefs.instances is not None
    n_entries = np.bincount(prefs.instance_of_ballot, np.diff(prefs.indptr), prefs.n_instances) + np.diff(
        prefs.slot_ptr
    )
    chunk_ends = np.searchsorted(np.cumsum(n_entries), n_entries.sum() * np.arange(1, parts) / parts) + 1
    bounds = np.unique(np.concatenate([[0], np.minimum(chunk_ends, prefs.n_instances), [prefs.n_instances]]))
    return [_chunk(prefs, low, high) for low, high in pairwise(bounds.tolist())]


def _chunk(prefs: Preferences, low: int, high: int) -> Preferences:
    """Return the ballots and candidates of instances ``low`` up to (not including) ``high``."""
    instance = prefs.instance_of_ballot
    if (instance[1:] >= instance[:-1]).all():
        return _slice(prefs, low, high)
    slots = np.zeros(prefs.n_slots, bool)
    slots[prefs.slot_ptr[low] : prefs.slot_ptr[high]] = True
    return prefs.subset((instance >= low) & (instance < high), slots)


def _slice(prefs: Preferences, low: int, high: int) -> Preferences:
    """Return instances low … high - 1 of ballots sorted by instance: slices of all arrays, already validated."""
    assert prefs.instances is not None
    ballot_from, ballot_to = np.searchsorted(prefs.instance_of_ballot, [low, high]).tolist()
    entry_from, entry_to = int(prefs.indptr[ballot_from]), int(prefs.indptr[ballot_to])
    slot_from, slot_to = int(prefs.slot_ptr[low]), int(prefs.slot_ptr[high])
    used, code = compact(prefs.slot_item[slot_from:slot_to], len(prefs.items))
    by_entry = {name: part[entry_from:entry_to] for name in MORE_OF_ENTRY if (part := getattr(prefs, name)) is not None}
    by_ballot = {
        name: part[ballot_from:ballot_to] for name in MORE_OF_BALLOT if (part := getattr(prefs, name)) is not None
    }
    return Preferences.unchecked(
        Vocabulary(prefs.items.take(used)),
        prefs.indptr[ballot_from : ballot_to + 1] - entry_from,
        code[prefs.item[entry_from:entry_to]],
        prefs.tier[entry_from:entry_to],
        prefs.weight[ballot_from:ballot_to],
        **by_entry,
        **by_ballot,
        agents=prefs.agents,
        instances=Vocabulary(prefs.instances[low:high]),
        instance=(prefs.instance_of_ballot[ballot_from:ballot_to] - low).astype(np.int32),
        slots=Slots(
            prefs.slot_ptr[low : high + 1] - slot_from,
            code[prefs.slot_item[slot_from:slot_to]],
            prefs.entry_slot[entry_from:entry_to] - slot_from,
        ),
        scale=prefs.scale,
        classes=prefs.classes,
        covariates=prefs.covariates,
        is_dated=prefs.is_dated,
        said_form=prefs.said_form,
        is_merged=prefs.is_merged,
        library=prefs.library,
    )


def _same(value: Any) -> Any:
    return value


# ---- what a worker does ----
def _ranked(method: Method, prefs: Preferences, intervals: bool) -> Ranked:
    ranking = method.rank(prefs)
    return _reported(ranking, intervals)


def _reported(ranking: Ranking, intervals: bool) -> Ranked:
    """Return the parts of a ranking that a worker sends back, with confidence intervals if requested."""
    uncertainty = ranking.uncertainty.known() if intervals else Uncertainty()
    fit = None if ranking.fit is None else {name: ranking.fit[name] for name in ranking.fit}
    return Ranked(
        ranking.score,
        uncertainty.low,
        uncertainty.high,
        dict(uncertainty.details),
        (*ranking.notices, *uncertainty.warnings),
        fit,
        None if ranking.agents is None else dict(ranking.agents),
        dict(ranking.beside),
    )


# ---- a prior for all ----
def _settled(method: Any, prefs: Preferences, chunks: Sequence[Any], executor: Executor) -> Method:
    """Return the method with the prior that maximises the marginal likelihood over all chunks, if it chooses one."""
    if not isinstance(getattr(method, "prior", None), str):
        return method  # type: ignore[no-any-return]
    search: PriorSearch = method.prior_search(prefs)
    searches, times = [executor.hold(_searching, method, chunk) for chunk in chunks], search.dispersion()

    def evidence(strength: float) -> float:
        futures = [executor.submit(_evidence, held_search, strength, times) for held_search in searches]
        return float(sum(executor.result(future) for future in futures))

    return method.settled(*search.best(times, times, evidence))  # type: ignore[no-any-return]


def _searching(method: Any, prefs: Preferences) -> PriorSearch:
    return method.prior_search(prefs)  # type: ignore[no-any-return]


def _evidence(search: PriorSearch, strength: float, times: float) -> float:
    return log_evidence(search.fitted(strength), times)


# ---- adherences for all ----
def _learnt_jointly(
    method: Any, prefs: Preferences, chunks: Sequence[Any], executor: Executor, intervals: bool
) -> list[Ranked]:
    """Learn the adherences of agents from all chunks together, then rank every chunk with them."""
    assert prefs.agents is not None
    labels = prefs.agents.labels
    parts = [executor.hold(_learning, method, chunk, labels) for chunk in chunks]

    def ask(function: Callable[..., Any], *args: Any) -> list[Any]:
        futures = [executor.submit(function, part, *args) for part in parts]
        return [executor.result(future) for future in futures]

    theta, has_converged = method.learn_adherences(prefs, ask)
    by_agent = method.by_agent(prefs, theta)
    futures = [
        executor.submit(_ranked_by_adherences, method, part, theta, by_agent, has_converged, intervals)
        for part in parts
    ]
    return [executor.result(future) for future in futures]


def _learning(method: Any, prefs: Preferences, labels: list[str]) -> Part:
    """Return the part of the joint fit on one chunk; agents are numbered as in ``labels``, over all chunks."""
    number = {label: k for k, label in enumerate(labels)}
    number_of_agent = np.array([number[label] for label in prefs.agents or ()], np.int32)
    agent = prefs.agent
    assert agent is not None
    return Part(method.solver_of(prefs), number_of_agent[agent], len(labels))


def _ranked_by_adherences(
    method: Any, part: Part, theta: Floats, by_agent: dict[str, float], has_converged: bool, intervals: bool
) -> Ranked:
    """Rank the chunk of a part with the adherences ``theta`` learnt from all chunks together."""
    outcome = method.outcome_of(part.solver, part.solution(theta), by_agent, has_converged)
    return _reported(method.ranking_of(part.solver.corpus.prefs, outcome), intervals)


# ---- one ranking of all ----
def _joined(method: Method, prefs: Preferences, ranked: list[Ranked], executor: Executor, seconds: float) -> Ranking:
    """Join the rankings of all chunks, which are consecutive instances, into one."""
    low, high = (_end_to_end([getattr(chunk, name) for chunk in ranked]) for name in ("low", "high"))
    details = {name: _end_to_end([chunk.details.get(name) for chunk in ranked]) for name in ranked[0].details}
    known = {name: column for name, column in details.items() if column is not None}
    agents: dict[str, float] = {}
    for chunk in ranked:
        agents |= chunk.agents or {}
    return Ranking(
        vocabulary=prefs.items,
        slot_ptr=prefs.slot_ptr,
        slot_item=prefs.slot_item,
        score=np.concatenate([chunk.score for chunk in ranked]),
        instances=prefs.instances,
        agents=agents or None,
        fit=_fit_of_all([chunk.fit for chunk in ranked if chunk.fit], float(prefs.weight.sum())),
        notices=joined_notices([chunk.notices for chunk in ranked]),
        method=method.name,
        params=values_of(method),
        seconds=seconds,
        uncertainty=Uncertainty(low, high, known),
        beside={name: np.concatenate([chunk.beside[name] for chunk in ranked]) for name in ranked[0].beside},
        ran=f"{len(ranked)} chunks of instances on {executor.place}",
        why=partial(method.explained, prefs),
        sure=partial(method.assessed, prefs),
        library=prefs.library,
        log_odds=method.log_odds,
        counted=partial(ballots_of_slots, prefs),
    )


def _end_to_end(columns: Sequence[AnyArray | None]) -> Any:
    """Concatenate the arrays of all chunks; None if a chunk has none."""
    return (
        None
        if any(column is None for column in columns)
        else np.concatenate([column for column in columns if column is not None])
    )


def _fit_of_all(fits: list[dict[str, float]], weight: float) -> dict[str, float] | None:
    """Return the fit figures of all chunks together: sums, maxima, or values on which all chunks agree."""
    out: dict[str, float] = {}
    for name in fits[0] if fits else ():
        values = [fit[name] for fit in fits if name in fit]
        if name in SUMMED:
            out[name] = float(sum(values))
        elif name in LARGEST:
            out[name] = max(values)
        elif len(set(values)) == 1:
            out[name] = values[0]
    if "total_distance" in out:
        out["mean_distance"] = out["total_distance"] / weight if weight else 0.0
        if "lower_bound" in out and out["total_distance"] > 0:
            out["gap"] = max(out["total_distance"] - out["lower_bound"], 0.0) / out["total_distance"]
    return out or None
