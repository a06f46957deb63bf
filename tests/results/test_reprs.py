"""What Python shows of a result: a line or a short table, never its arrays."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import concordant as cc
from concordant import registry
from concordant.registry import LEARNERS, RECOMMENDERS
from concordant.support.brief import Brief

ROOT = Path(__file__).resolve().parents[2]
N = 400
LONGEST = 300
TABLES = (cc.Ranking,)  # which show their first rows


def pairs() -> cc.Preferences:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 40, N)
    b = (a + 1 + rng.integers(0, 38, N)) % 40
    who = [f"u{k % 7}" for k in range(N)]
    return cc.Preferences.from_pairs([f"i{k}" for k in a], [f"i{k}" for k in b], agent=who, time=list(range(N)))


def ratings() -> cc.Preferences:
    rng = np.random.default_rng(0)
    items = [f"i{(k * 7 + k // 20) % 40}" for k in range(N)]
    return cc.Preferences.from_ratings([f"u{k % 20}" for k in range(N)], items, rng.integers(1, 6, N))


def parts(value: object, depth: int = 2) -> Iterator[object]:
    """Yield an object of concordant and those that it holds."""
    if not type(value).__module__.startswith("concordant") or isinstance(value, dict):
        return
    yield value
    if depth and hasattr(value, "__dict__") and not isinstance(value, cc.Preferences):
        for part in vars(value).values():
            yield from parts(part, depth - 1)


def assert_short(value: object) -> None:
    shown = repr(value)
    assert "array(" not in shown, (type(value), shown[:200])
    if isinstance(value, TABLES):
        assert shown.count("\n") < 40
        return
    assert "\n" not in shown, (type(value), shown[:200])
    assert len(shown) <= LONGEST, (type(value), shown[:200])


@pytest.mark.parametrize("name", [name for name in registry.modules() if not registry.load(name).needs & {"labels"}])
def test_everything_on_a_ranking_is_short(name: str) -> None:
    for prefs in (pairs(), ratings()):
        try:
            ranking = cc.rank(prefs, name)
        except cc.NeedError:
            continue
        held: list[Any] = [ranking.model, ranking.uncertainty, ranking.uncertainty.known(), ranking.certainty]
        held += [ranking.head(3).uncertainty, *ranking.coefficients, *([ranking.history] if ranking.past else [])]
        for one in held:
            for part in parts(one):
                assert_short(part)
        return
    pytest.fail(f"no preferences for {name}")


@pytest.mark.parametrize("name", RECOMMENDERS.modules())
def test_recommenders_are_short(name: str) -> None:
    for part in parts(RECOMMENDERS.load(name)().fit(ratings())):
        assert_short(part)


@pytest.mark.parametrize("name", LEARNERS.modules())
def test_learners_do_not_show_what_they_learnt(name: str) -> None:
    pytest.importorskip("sklearn", reason="learners need scikit-learn")
    try:
        learner = LEARNERS.load(name)()
    except (cc.ConcordantError, ImportError, TypeError):
        pytest.skip(f"{name} needs a library or arguments")
    X, y, query = cc.read_features(ROOT / "examples" / "letor" / "train.txt")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = learner.fit(np.column_stack([query, X]), y)
    except Exception as problem:
        pytest.skip(f"{name} does not fit these rows: {problem}")
    assert "array(" not in repr(fitted)
    assert len(repr(fitted)) <= LONGEST


def test_fitted_models_name_their_size() -> None:
    assert repr(cc.rank(pairs(), "bradley-terry").model) == "PairModel(40 items, 1 instance)"
    assert repr(cc.rank(ratings(), "dawid-skene").model) == "AnnotationModel(40 items, 20 agents, 1 instance)"
    assert repr(cc.rank(pairs(), "stv").model) == "CountModel(1 election)"


def test_uncertainty_names_its_columns() -> None:
    known = cc.rank(pairs(), "bradley-terry").uncertainty.known()
    assert repr(known).startswith("Uncertainty(40 intervals; details: stderr")


def test_other_results_are_short() -> None:
    prefs = ratings()
    compared = cc.compare(prefs, ["borda", "mpm"], folds=2)
    labels = cc.Labels(["t"] * 40, [f"d{k}" for k in range(40)], [k % 2 for k in range(40)])
    features = cc.read_features(ROOT / "examples" / "letor" / "train.txt")
    found: list[Any] = [prefs, compared.held_out, labels, features, cc.views.win_matrices(prefs)]
    found += [cc.metrics.compare_systems({"a": np.arange(5.0), "b": np.arange(5.0) + 1})]
    for one in found:
        assert_short(one)
    assert len(repr(compared).splitlines()) < 12
    agents = [f"w{k}" for k in range(300)]
    reliability = cc.crowd.reliability(
        cc.crowd.judgements(agents, ["t"] * 300, ["d"] * 300, [k % 2 for k in range(300)])
    )
    assert repr(reliability).splitlines()[-1] == "… 280 more"
    assert len(str(reliability).splitlines()) == 301


def test_an_object_without_sizes_names_the_shapes_of_its_arrays() -> None:
    class Held(Brief):
        unsaid = ("code",)

        def __init__(self) -> None:
            self.score, self.code, self.kind, self.text = np.zeros((3, 2)), 7, "last", "x" * 100

    assert repr(Held()) == "Held(score[3 x 2], kind='last')"
