"""Every registered method under every law; a new file is tested without touching this one."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from concordant import laws, registry
from concordant.method import Method
from concordant.params import param, params_of
from concordant.preferences import Preferences
from concordant.types import Floats

METHODS = list(registry.modules())
EVERY_LAW = {**laws.WAIVABLE, **laws.ALWAYS}


ACROSS_INSTANCES = {"theta-mpm"}  # learns adherence, which needs agents and joins instances: see test_adherence.py
OF_JUDGES = {"judge_effects"}  # need pairs with named judges in one instance: see tests/models/test_judged.py


def variants():
    """Every alias, and every choice of every parameter, one at a time."""
    for name in METHODS:
        cls = registry.load(name)
        for alias in sorted(cls.aliases.keys() - ACROSS_INSTANCES):
            yield pytest.param(registry.make(alias), id=alias)
        for declared in params_of(cls):
            for choice in declared.choices:
                if choice != declared.default and declared.name not in OF_JUDGES:
                    yield pytest.param(registry.make(name, **{declared.name: choice}), id=f"{name}-{choice}")


@st.composite
def preferences(draw, needs=frozenset()):
    n_items, n_ballots = draw(st.integers(1, 6)), draw(st.integers(1, 7))
    ballots = [draw(st.permutations(range(n_items))) for _ in range(n_ballots)]
    sizes = [draw(st.integers(1, n_items)) for _ in ballots] if draw(st.booleans()) else [n_items] * n_ballots
    item = [i for ballot, size in zip(ballots, sizes, strict=True) for i in ballot[:size]]
    largest_step = draw(st.sampled_from([1, 1, 3]))
    tier: list[int] = []
    for size in sizes:
        steps = [draw(st.integers(0 if largest_step > 1 else 1, largest_step)) for _ in range(size)]
        tier.extend(np.cumsum(steps).tolist())
    parts = {}
    if "values" in needs or draw(st.booleans()):
        parts["scale"] = draw(st.sampled_from(["rank", "rating"]))
        parts["value"] = [t + 1.0 if parts["scale"] == "rank" else 10.0 - t for t in tier]
    if "agents" in needs or draw(st.booleans()):
        parts["agents"] = [f"agent {k}" for k in range(n_ballots)]
        parts["agent"] = draw(st.permutations(range(n_ballots)))
    if "instances" in needs or draw(st.booleans()):
        parts["instances"] = ["q1", "q2", "q3"]
        parts["instance"] = draw(st.lists(st.integers(0, 2), min_size=n_ballots, max_size=n_ballots))
    if "time" in needs:
        parts["time"] = draw(st.lists(st.integers(0, 3), min_size=n_ballots, max_size=n_ballots))
    if draw(st.booleans()):
        parts["open"] = draw(st.lists(st.booleans(), min_size=n_ballots, max_size=n_ballots))
    if draw(st.booleans()):
        is_whole = "whole weights" in needs or draw(st.booleans())
        weights = st.sampled_from([1.0, 2.0, 3.0]) if is_whole else st.sampled_from([0.1, 0.2, 0.3, 0.7])
        parts["weight"] = draw(st.lists(weights, min_size=n_ballots, max_size=n_ballots))
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    return Preferences([f"item {k}" for k in range(n_items)], indptr, item, tier, **parts)


@pytest.mark.once  # one of the laws is that both back ends agree
@pytest.mark.parametrize("name", METHODS)
def test_every_method_keeps_every_law_it_does_not_waive(name):
    method = laws.ready(registry.make(name))
    kept = {law: EVERY_LAW[law] for law in EVERY_LAW if law not in method.waives}

    @settings(max_examples=25)
    @given(preferences(method.needs), st.integers(0, 2**32 - 1))
    def keeps_laws(prefs, seed):
        for law, broken in kept.items():
            assert broken(method, prefs, np.random.default_rng(seed)) is None, law

    keeps_laws()


@pytest.mark.once
@pytest.mark.parametrize("name", METHODS)
def test_a_waived_law_really_fails_somewhere(name):
    for law in registry.load(name).waives:
        rng = np.random.default_rng(0)
        tries = (
            laws.WAIVABLE[law](method, laws.random_preferences(rng, method.needed()), rng)
            for method in map(laws.ready, (registry.make(name), *at_their_least(name)))
            for _ in range(1000)
        )
        assert any(answer is not None for answer in tries), f"{name} keeps {law}: take the waiver away"


def at_their_least(name):
    """Methods with one whole number at its least each: what asks for many instances shows itself in few, too."""
    for declared in params_of(registry.load(name)):
        if isinstance(declared.default, int) and not isinstance(declared.default, bool) and declared.low is not None:
            yield registry.make(name, **{declared.name: int(declared.low)})


@pytest.mark.once  # one of the laws is that both back ends agree
@pytest.mark.parametrize("method", list(variants()))
def test_variants_keep_the_laws_that_do_not_depend_on_parameters(method):
    method, rng = laws.ready(method), np.random.default_rng(1)
    for _ in range(6):
        prefs = laws.random_preferences(rng, method.needed())
        plain = ("neutrality", "anonymity", "weight_is_repetition", "instances_are_independent")
        for law in (*plain, *laws.ALWAYS):
            if law not in method.waives:
                assert EVERY_LAW[law](method, prefs, rng) is None, law


@pytest.mark.parametrize("name", METHODS)
def test_check_finds_nothing_in_our_own_methods(name):
    assert laws.check(name, runs=2) == []


# ---- methods that break laws are found out ----
@dataclasses.dataclass(frozen=True, kw_only=True)
class FirstInInput(Method):
    """Whoever comes first in the input wins."""

    def scores(self, prefs: Preferences) -> Floats:
        return -np.arange(prefs.n_slots, dtype=np.float64)


@dataclasses.dataclass(frozen=True, kw_only=True)
class FirstBallot(Method):
    """The first ballot decides."""

    depth: int = param(1, "")

    def scores(self, prefs: Preferences) -> Floats:
        score = np.zeros(prefs.n_slots)
        first = slice(prefs.indptr[0], prefs.indptr[1])
        score[prefs.entry_slot[first]] = 10.0 - prefs.tier[first]
        return score


def broken_laws(method):
    return {line.split(" breaks ")[1].split(":")[0] for line in laws.check(method)}


def test_a_method_that_follows_the_input_order_is_not_neutral():
    assert {"neutrality", "unanimity", "is_documented"} <= broken_laws(FirstInInput)


def test_a_dictator_is_not_anonymous():
    assert {"anonymity", "is_documented"} <= broken_laws(FirstBallot())


def test_a_waiver_must_name_a_law_and_give_a_reason():
    for waives in ({"politeness": "never heard of it"}, {"neutrality": ""}):
        cls = type("Waiving", (registry.load("borda"),), {"__doc__": "Borda.", "waives": waives})
        cls.__module__ = "concordant.aggregate.positional.borda"
        assert "waives" in laws.is_documented(cls(), None, None)


def test_a_back_end_that_disagrees_is_found_out(monkeypatch):
    method = registry.make("copeland")
    prefs = Preferences.from_rankings([["a", "b"], ["a", "b"]])
    assert laws.backends_agree(method, prefs, None) is None
    first, second = laws._backends() if len(laws._backends()) == 2 else laws._backends() * 2
    wrong = SimpleNamespace(**{name: getattr(second, name) for name in dir(second) if not name.startswith("__")})
    wrong.count_majorities = lambda slot_ptr, wins: second.count_majorities(slot_ptr, -wins)
    monkeypatch.setattr(laws, "_backends", lambda: [first, wrong])
    assert laws.backends_agree(method, prefs, None) == "the kernel back ends give different ranks"
