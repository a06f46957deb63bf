"""No call takes more memory than is allowed: it ranks part by part, or refuses in a sentence before it begins."""

from __future__ import annotations

import numpy as np
import pytest

import concordant as cc
from concordant import kernels, laws, registry
from concordant.errors import InputError, ParameterError
from concordant.support import memory


@pytest.mark.parametrize(
    ("said", "bytes_"),
    [("4GB", 4 << 30), ("500 mb", 500 << 20), ("1.5g", 3 << 29), ("12345", 12345), ("2GiB", 2 << 30), ("0", 0)],
)
def test_the_allowance_is_what_the_environment_says(said: str, bytes_: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONCORDANT_MEMORY", said)
    assert memory.allowance() == bytes_


@pytest.mark.parametrize("said", ["much", "-1", "4 PB", "1e9", "٤GB"])
def test_an_allowance_that_is_no_amount_is_refused(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONCORDANT_MEMORY", said)
    with pytest.raises(ParameterError, match="use a value such as 4GB"):
        memory.allowance()


def test_half_of_what_is_free_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CONCORDANT_MEMORY", raising=False)
    monkeypatch.setattr(memory, "_free", lambda: 10 << 30)
    assert memory.allowance() == 5 << 30
    monkeypatch.undo()
    assert memory.allowance() > 0


def circles(n_items: int, n_instances: int) -> cc.Preferences:
    """Return instances in which a few agents rank the same items, each shifted by some places."""
    names = [f"item {k}" for k in range(n_items)]
    rows = [
        (f"agent {k % 3}", name, place, f"q{k // 3}")
        for k in range(3 * n_instances)
        for place, name in enumerate(names[k % n_items :] + names[: k % n_items], 1)
    ]
    agent, item, rank, instance = (list(column) for column in zip(*rows, strict=True))
    return cc.Preferences.from_ranks(agent, item, rank, instance=instance)


MATRIX_METHODS = [name for name in registry.names() if registry.load(name).matrices]


@pytest.mark.parametrize("name", MATRIX_METHODS)
def test_what_does_not_fit_is_refused_before_it_begins(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    prefs, method = circles(1500, 1), laws.ready(registry.make(name))
    monkeypatch.setenv("CONCORDANT_MEMORY", "40MB")
    monkeypatch.setattr(kernels, "pair_counts", None)  # nothing is counted
    with pytest.raises(
        InputError, match=rf"{name} on .*1,500 items.* needs about .* of memory, but 40\.0 MB are"
    ) as no:
        method.rank(prefs)
    assert "CONCORDANT_MEMORY=" in str(no.value)


@pytest.mark.parametrize("name", [name for name in MATRIX_METHODS if registry.load(name).by_parts])
def test_instances_ranked_in_parts_are_ranked_as_all_at_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    prefs, method = circles(40, 7), laws.ready(registry.make(name))
    whole = method.rank(prefs)
    monkeypatch.setattr(memory, "UNASKED", 0)
    monkeypatch.setenv("CONCORDANT_MEMORY", str(2.5 * registry.load(name).memory_of(40)))
    parts = method.rank(prefs)
    np.testing.assert_array_equal(parts.score, whole.score)
    assert {notice.name for notice in parts.warnings} - {"ranked-in-parts"} == {n.name for n in whole.warnings}
    assert ("ranked-in-parts" in {notice.name for notice in parts.warnings}) == bool(whole.fit)


@pytest.mark.parametrize("name", registry.names())
def test_every_method_that_counts_pairs_states_its_memory(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    prefs = cc.Preferences.from_ratings(list("uuuvvvww"), list("abcabcab"), [1, 2, 3, 3, 2, 1, 2, 3])
    counted = []

    def count(*arguments: object) -> object:
        counted.append(name)
        return original(*arguments)

    original = kernels.pair_counts
    monkeypatch.setattr(kernels, "pair_counts", count)
    try:
        cc.rank(prefs, name)
    except cc.ConcordantError:
        pytest.skip("it does not rank ratings")
    cls = registry.load(name)
    is_model_of_duels = registry.family(name) == "pairwise"  # lists the pairs instead where matrices do not fit
    assert not counted or cls.matrices or is_model_of_duels or name == "lehmer"


def test_models_of_duels_list_their_pairs_where_matrices_do_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    prefs = circles(12, 1)
    whole = cc.rank(prefs, "bradley-terry", errors="none")
    monkeypatch.setattr(memory, "UNASKED", 0)
    monkeypatch.setenv("CONCORDANT_MEMORY", "100kB")
    np.testing.assert_allclose(cc.rank(prefs, "bradley-terry", errors="none").score, whole.score, atol=1e-6)
    monkeypatch.setenv("CONCORDANT_MEMORY", "1kB")
    with pytest.raises(InputError, match="Listing the 198 pairs of these ballots needs about"):
        cc.rank(prefs, "bradley-terry")


def test_describing_leaves_out_what_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    prefs = circles(12, 1)
    monkeypatch.setattr(memory, "UNASKED", 0)
    monkeypatch.setenv("CONCORDANT_MEMORY", "1kB")
    assert "a few odd agents" in str(prefs.describe())
