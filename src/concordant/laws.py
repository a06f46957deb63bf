"""The laws that every method must satisfy, for the tests of this package and of plug-ins.

>>> from concordant import laws
>>> laws.check("borda")
[]

A law is a function of a method, preferences and a random generator; it returns None if the law holds, otherwise a
sentence that describes the violation. Laws compare ranks including ties, never the order within a tie. A method can
waive the laws in ``WAIVABLE``, each with a reason in ``waives``; those in ``ALWAYS`` apply to every method.
"""

from __future__ import annotations

import dataclasses
import importlib
import io
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from types import ModuleType
from typing import Any

import numpy as np

from concordant import kernels, registry, saving, views
from concordant.ballots.invariants import PER_BALLOT, PER_ENTRY
from concordant.ballots.segments import pointer, segment_index
from concordant.errors import ConcordantError
from concordant.labels import Labels
from concordant.method import NEEDS, Method
from concordant.params import params_of
from concordant.preferences import Preferences
from concordant.types import AnyArray, Int64s

Law = Callable[[Method, Preferences, np.random.Generator], str | None]
Ranks = dict[tuple[str, str], int]


# ---- laws a method may waive ----
def neutrality(method: Method, prefs: Preferences, rng: np.random.Generator) -> str | None:
    """The ranking does not depend on the names or the order of the candidates."""
    new_code = rng.permutation(prefs.n_items)
    old_code = np.argsort(new_code)
    slots = _shuffle_segments(prefs.slot_ptr, rng)
    entries = _shuffle_tiers(prefs, rng)
    shuffled = prefs.replace(
        items=prefs.items.take(old_code),
        item=new_code[prefs.item[entries]],
        **{
            name: None if (part := getattr(prefs, name)) is None else part[entries]
            for name in PER_ENTRY
            if name not in ("item", "tier")
        },
        slot_item=new_code[prefs.slot_item[slots]],
    )
    return _differ(method, prefs, shuffled, "with the candidates in another order")


def anonymity(method: Method, prefs: Preferences, rng: np.random.Generator) -> str | None:
    """The ranking does not depend on who cast a ballot, or when."""
    shuffled = take_ballots(prefs, rng.permutation(prefs.n_ballots))
    if prefs.agent is not None and prefs.agents is not None:
        shuffled = shuffled.replace(agent=rng.permutation(len(prefs.agents))[shuffled.agent])
    return _differ(method, prefs, shuffled, "with the ballots in another order")


def weight_is_repetition(method: Method, prefs: Preferences, rng: np.random.Generator) -> str | None:
    """A ballot of weight three counts as three ballots."""
    times = rng.integers(1, 4, prefs.n_ballots)
    weighted = prefs.replace(weight=times.astype(np.float64))
    once = prefs.replace(weight=np.ones(prefs.n_ballots))
    repeated = take_ballots(once, np.repeat(np.arange(prefs.n_ballots), times))
    return _differ(method, weighted, repeated, "when ballots are repeated instead of weighted")


def unanimity(method: Method, prefs: Preferences, rng: np.random.Generator) -> str | None:
    """An item that every ballot of its instance ranks above another is not ranked below it."""
    alone = take_ballots(prefs, rng.permutation(prefs.n_ballots)[:1])
    for part in (prefs, alone):
        if not part.n_ballots:
            continue
        counts = views.win_matrices(part, "ignore")
        total = views.total_weight(part)
        rank = method.rank(part).rank_by_slot
        for q in np.flatnonzero(total > 0).tolist():
            ranks = rank[part.slot_ptr[q] : part.slot_ptr[q + 1]]
            all_prefer = counts.matrix(q) >= total[q] * (1 - 1e-9)
            broken = np.argwhere(all_prefer & (ranks[:, None] > ranks[None, :]))
            if len(broken):
                better, worse = (part.items[part.slot_item[part.slot_ptr[q] + i]] for i in broken[0])
                return f"every ballot ranks {better!r} above {worse!r}, but the ranking does not"
    return None


def condorcet_consistency(method: Method, prefs: Preferences, rng: np.random.Generator) -> str | None:  # noqa: ARG001
    """A Condorcet winner (a candidate that beats every other by majority) is the sole winner."""
    counts = views.win_matrices(prefs, str(getattr(method, "missing", "auto")))
    rank = method.rank(prefs).rank_by_slot
    for q in range(prefs.n_instances):
        wins = counts.matrix(q)
        beats = (wins > wins.T * (1 + 1e-9)).sum(axis=1)
        ranks = rank[prefs.slot_ptr[q] : prefs.slot_ptr[q + 1]]
        for winner in np.flatnonzero(beats == len(wins) - 1).tolist():
            if ranks[winner] != 1 or (ranks == 1).sum() > 1:
                label = prefs.items[prefs.slot_item[prefs.slot_ptr[q] + winner]]
                return f"{label!r} beats every other candidate but is not the sole winner"
    return None


def instances_are_independent(method: Method, prefs: Preferences, rng: np.random.Generator) -> str | None:  # noqa: ARG001
    """Ranking many instances together gives the same result as ranking each separately."""
    if prefs.instances is None:
        return None
    settled: Any
    # "auto" looks at the form of all ballots together, except where strengths are counted: there it is "ignore".
    if getattr(method, "missing", None) == "auto" and getattr(method, "counts", "binary") == "binary":
        settled = {"missing": views.resolve_missing(prefs, "auto")}
        method = dataclasses.replace(method, **settled)
    chosen = [name for name in ("prior", "drift") if getattr(method, name, None) == "auto"]
    if chosen:  # one is chosen for all instances
        fit = method.rank(prefs).fit or {}
        method = dataclasses.replace(method, **{name: fit[name] for name in chosen})
    together = _ranks(method, prefs)
    alone: Ranks = {}
    for label in prefs.instances.labels:
        part = prefs.select(instances=[label])
        if part.n_slots:
            alone.update(_ranks(method, part))
    return None if together == alone else "an instance is ranked differently together with others"


# ---- laws for everyone ----
def is_finite(method: Method, prefs: Preferences, rng: np.random.Generator) -> str | None:  # noqa: ARG001
    """Every candidate gets a finite score and a rank."""
    ranking = method.rank(prefs)
    for name, values in (("score", ranking.score), ("low", ranking.slot_low), ("high", ranking.slot_high)):
        if values is not None and (values.shape != (prefs.n_slots,) or not np.isfinite(values).all()):
            return f"{name} is not one finite number per candidate"
    return None


def backends_agree(method: Method, prefs: Preferences, rng: np.random.Generator) -> str | None:  # noqa: ARG001
    """Compiled and NumPy kernels give the same ranks, and the same scores up to rounding."""
    results = []
    for backend in _backends():
        with using_kernels(backend):
            ranking = method.rank(prefs.replace())
            results.append((ranking.rank_by_slot, ranking.score))
    for rank, score in results[1:]:
        if not np.array_equal(rank, results[0][0]):
            return "the kernel back ends give different ranks"
        if not np.allclose(score, results[0][1], rtol=1e-9, atol=1e-9):
            return "the kernel back ends give different scores"
    return None


def saves_and_loads(method: Method, prefs: Preferences, rng: np.random.Generator) -> str | None:  # noqa: ARG001
    """A method that is saved and loaded again is unchanged and gives the same ranking."""
    if not saving.is_registered(method):
        return None
    file = io.BytesIO()
    saving.save(method, file)
    file.seek(0)
    loaded = saving.load(file)
    if loaded != method or loaded.learnt.keys() != method.learnt.keys():
        return "it is not the same method after saving and loading"
    return None if _ranks(loaded, prefs) == _ranks(method, prefs) else "it ranks differently after saving and loading"


def explains_itself(method: Method, prefs: Preferences, rng: np.random.Generator) -> str | None:  # noqa: ARG001
    """Every instance has an explanation that is deterministic, contains only finite numbers and names the winner."""
    for ranking in method.rank(prefs):
        explanation, again = ranking.explain(), ranking.explain()
        text = explanation.to_text()
        if explanation != again:
            return "it gives two different explanations of the same ranking"
        if not any(reason.sentences for reason in explanation.reasons):
            return "it explains nothing"
        if re.search(r"\b(nan|inf)\b", text):
            return f"its explanation contains a number that is not finite: {text}"
        if len(ranking.score) and not any(label in text for label in ranking.tiers[0]):
            return f"its explanation does not name the winner {ranking.items[0]!r}: {text}"
        if explanation.draw is not None and not explanation.draw().lstrip().startswith("<"):
            return "the picture of its explanation is not SVG"
    return None


def is_documented(method: Method, prefs: Preferences, rng: np.random.Generator) -> str | None:  # noqa: ARG001
    """The module, the class and every parameter are documented; defaults, needs, waivers and aliases are valid."""
    cls = type(method)
    text = sys.modules[cls.__module__].__doc__ or ""
    if len(text) < 200 or "Cost:" not in text:
        return f"the docstring of {cls.__module__} must say what the method does and what it costs (Cost: …)"
    if "__doc__" not in vars(cls) or cls.summary().startswith(f"{cls.__name__}(") or not cls.summary().endswith("."):
        return "the class docstring must be one sentence"
    declared_params = params_of(cls)
    for declared in declared_params:
        if not declared.doc:
            return f"the parameter {declared.name} has no documentation"
    undeclared = {field.name for field in dataclasses.fields(cls)} - {declared.name for declared in declared_params}
    if undeclared:
        return f"{sorted(undeclared)[0]} is not declared with param()"
    for need in cls.needs - set(NEEDS):
        return f"it needs {need!r}, which is not a known need"
    for name, reason in cls.waives.items():
        if name not in WAIVABLE or not reason:
            return f"it waives {name!r}, which cannot be waived or has no reason"
    try:
        for preset in ({}, *cls.aliases.values()):
            cls(**preset)
    except (ConcordantError, TypeError) as error:
        return f"a default or an alias is invalid: {error}"
    return None


WAIVABLE: Mapping[str, Law] = {
    law.__name__: law
    for law in (
        neutrality,
        anonymity,
        weight_is_repetition,
        unanimity,
        condorcet_consistency,
        instances_are_independent,
    )
}
ALWAYS: Mapping[str, Law] = {
    law.__name__: law for law in (is_finite, backends_agree, saves_and_loads, explains_itself, is_documented)
}


def check(method: str | Method | type[Method], *, runs: int = 40, seed: int = 0) -> list[str]:
    """Test every law that the method does not waive on random preferences; return one sentence per violation."""
    if isinstance(method, str):
        method = registry.make(method)
    elif isinstance(method, type):
        method = method()
    method = ready(method)
    broken: dict[str, str] = {}
    rng = np.random.default_rng(seed)
    for _ in range(runs):
        prefs = random_preferences(rng, method.needed())
        for name, law in {**WAIVABLE, **ALWAYS}.items():
            if name not in method.waives and name not in broken:
                answer = law(method, prefs, rng)
                if answer is not None:
                    broken[name] = f"{method.name} breaks {name}: {answer}."
    return list(broken.values())


def ready(method: Method) -> Method:
    """Return the method itself or, if it must learn from labels, a copy fitted to random labelled instances."""
    if "labels" not in method.needs or method.learnt:
        return method
    learner: Any = method
    fitted: Method = learner.fit(*random_labelled(np.random.default_rng(0)))
    return fitted


# ---- random preferences ----
def random_labelled(rng: np.random.Generator, n_instances: int = 12) -> tuple[Preferences, Labels]:
    """Return labelled instances; the agents of ``random_preferences`` agree with the labels to varying degrees."""
    n_agents, n_items = 9, 6
    label = rng.integers(0, 3, (n_instances, n_items))
    rows = []
    for q, k in np.ndindex(n_instances, n_agents):
        perceived = (k / n_agents) * label[q] + rng.normal(size=n_items)
        chosen = np.argsort(-perceived)[: rng.integers(1, n_items + 1)]
        rows += [(f"q{q}", f"agent {k}", f"item {i}", place + 1) for place, i in enumerate(chosen.tolist())]
    instance, agent, item, rank = (list(column) for column in zip(*rows, strict=True))
    prefs = Preferences.from_ranks(agent, item, rank, instance=instance)
    q, i = (index.reshape(-1).tolist() for index in np.indices(label.shape))
    return prefs, Labels([f"q{k}" for k in q], [f"item {k}" for k in i], label.reshape(-1))


def random_preferences(rng: np.random.Generator, needs: frozenset[str] = frozenset()) -> Preferences:
    """Return small random preferences with ties, gaps, weights, open ballots and the data that ``needs`` requires."""
    if "points" in needs:
        return _random_games(rng, needs)
    n_items, n_ballots = int(rng.integers(1, 7)), int(rng.integers(1, 9))
    n_instances = int(rng.integers(1, 4)) if "instances" in needs or rng.random() < 0.5 else 0
    is_strict, is_complete = rng.random(2) < 0.4
    sizes = np.full(n_ballots, n_items) if is_complete else rng.integers(1, n_items + 1, n_ballots)
    indptr = pointer(sizes)
    item = np.concatenate([rng.permutation(n_items)[:size] for size in sizes])
    steps = np.ones(len(item), np.int64) if is_strict else rng.integers(0, 3, len(item))  # 0: a tie, 2: a gap
    tier = np.concatenate([np.cumsum(steps[a:b]) for a, b in pairwise(indptr.tolist())])
    parts: dict[str, Any] = {}
    if "values" in needs or rng.random() < 0.3:
        parts["scale"] = str(rng.choice(["rank", "rating"]))
        parts["value"] = tier + 1.0 if parts["scale"] == "rank" else 10.0 - tier
    if "agents" in needs or rng.random() < 0.5:
        parts["agents"] = [f"agent {k}" for k in range(n_ballots)]
        parts["agent"] = rng.permutation(n_ballots)
    if n_instances:
        parts["instances"] = [f"instance {k}" for k in range(n_instances)]
        parts["instance"] = rng.integers(0, n_instances, n_ballots)
    if rng.random() < 0.3:
        parts["open"] = rng.random(n_ballots) < 0.5
    if "time" in needs:
        parts["time"], parts["is_dated"] = rng.integers(0, 5, n_ballots) * 100.0, bool(rng.random() < 0.5)
    if rng.random() < 0.5:
        unit = rng.choice([1, 1, 10])
        parts["weight"] = rng.integers(1, 5, n_ballots) / (1 if "whole weights" in needs else unit)
    return Preferences([f"item {k}" for k in range(n_items)], indptr, item, tier, **parts)


def _random_games(rng: np.random.Generator, needs: frozenset[str]) -> Preferences:
    """Return random games of two teams with points, some of which are unknown or contradict the result."""
    n_teams, n_games = int(rng.integers(2, 7)), int(rng.integers(1, 12))
    teams = np.stack([rng.permutation(n_teams)[:2] for _ in range(n_games)])
    points = rng.integers(0, 6, (n_games, 2)).astype(np.float64)
    points[rng.random(n_games) < 0.1] = np.nan
    columns: dict[str, Any] = {"winner_first": rng.random(n_games) < 0.5}
    if "time" in needs:
        columns["time"] = rng.integers(0, 5, n_games) * 100.0
    if rng.random() < 0.5:
        columns["weight"] = rng.integers(1, 4, n_games)
    if "instances" in needs or rng.random() < 0.5:
        columns["instance"] = [f"instance {k}" for k in rng.integers(0, 3, n_games).tolist()]
    names = np.array([f"item {k}" for k in range(n_teams)])
    is_tie = points[:, 0] == points[:, 1]
    return Preferences.from_pairs(
        names[teams[:, 0]], names[teams[:, 1]], tie=is_tie, points=(points[:, 0], points[:, 1]), **columns
    )


# ---- helpers ----
def take_ballots(prefs: Preferences, ballots: AnyArray) -> Preferences:
    """Return these ballots in this order, repeated if an index is repeated; the candidates are unchanged."""
    sizes = np.diff(prefs.indptr)[ballots]
    indptr = pointer(sizes)
    entry = np.repeat(prefs.indptr[:-1][ballots] - indptr[:-1], sizes) + np.arange(indptr[-1])
    changes: dict[str, Any] = {"indptr": indptr}
    for names, index in ((PER_ENTRY, entry), (PER_BALLOT, ballots)):
        for name in names:
            array = getattr(prefs, name)
            changes[name] = None if array is None else array[index]
    return prefs.replace(**changes)


@contextmanager
def using_kernels(backend: ModuleType) -> Iterator[None]:
    """Run with the kernels of this module (``kernels.twins`` or ``kernels._compiled``); not thread-safe."""
    names = _kernel_names()
    saved = {name: vars(kernels)[name] for name in names if name in vars(kernels)}
    vars(kernels).update({name: getattr(backend, name) for name in names})
    try:
        yield
    finally:
        for name in names:
            vars(kernels).pop(name, None)
        vars(kernels).update(saved)


@cache
def _kernel_names() -> tuple[str, ...]:
    from concordant.kernels import twins

    return tuple(name for name in dir(twins) if not name.startswith("_") and callable(getattr(twins, name)))


def _backends() -> list[ModuleType]:
    """Return the kernel back ends that are installed: NumPy, and compiled ones if any."""
    from concordant.kernels import twins

    try:
        return [twins, importlib.import_module("concordant.kernels._compiled")]
    except ImportError:
        return [twins]


def _ranks(method: Method, prefs: Preferences) -> Ranks:
    """Return the rank of every candidate by (instance, label)."""
    instance = segment_index(prefs.slot_ptr).tolist()
    labels = prefs.items.take(prefs.slot_item)
    names = [""] if prefs.instances is None else prefs.instances.labels
    ranks = method.rank(prefs).rank_by_slot.tolist()
    return {(names[q], label): rank for q, label, rank in zip(instance, labels, ranks, strict=True)}


def _differ(method: Method, first: Preferences, second: Preferences, when: str) -> str | None:
    """Return None if both preferences have the same ranking, otherwise a sentence."""
    return None if _ranks(method, first) == _ranks(method, second) else f"the ranking changes {when}"


def _shuffle_segments(ptr: Int64s, rng: np.random.Generator) -> Int64s:
    """Return a permutation of the entries that is random within each segment."""
    return np.lexsort((rng.random(int(ptr[-1])), segment_index(ptr)))


def _shuffle_tiers(prefs: Preferences, rng: np.random.Generator) -> Int64s:
    """Return a permutation of the entries that is random within each tier."""
    return _shuffle_segments(views.tiers(prefs).ptr, rng)
