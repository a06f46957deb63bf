"""When Lehmer codes recover the centre of a Mallows model."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest

import concordant as cc
from concordant import simulate
from concordant.errors import ParameterError
from concordant.models.recovery import lehmer_recovery, mallows_phi, max_mode_phi, recovery_of
from concordant.types import Floats


def mallows_orders(n: int, phi: float) -> tuple[np.ndarray, Floats, Floats]:
    """The place of every item in all orders, their distances to 0, 1, 2, …, and their probabilities."""
    place = np.argsort(np.array(list(permutations(range(n)))), axis=1)
    distance = sum((place[:, a] > place[:, b]) for a in range(n) for b in range(a + 1, n))
    return place, np.asarray(distance, float), phi**distance / (phi**distance).sum()


@pytest.mark.parametrize("n", [3, 5, 6])
@pytest.mark.parametrize("phi", [0.1, 0.3, 0.45, 0.55, 0.6])
def test_the_gaps_behind_the_sample_sizes_hold_for_every_coordinate_of_every_code(n: int, phi: float) -> None:
    place, _, chance = mallows_orders(n, phi)
    gap = (1 - (phi + phi**2 - phi**n)) * (1 - phi) ** 3
    for item in range(n):
        others = [k for k in range(n) if k != item]
        for size in range(1, n):
            for before in combinations(others, size):
                value = (place[:, before] > place[:, [item]]).sum(axis=1)
                votes, true = np.bincount(value, chance, size + 1), sum(k > item for k in before)
                assert votes[true] - np.delete(votes, true).max() >= gap
                assert max(votes[:true].sum(), votes[true + 1 :].sum()) <= phi


def test_the_range_of_the_mode_is_that_of_the_theorem() -> None:
    for n in (4, 7, 12):
        end = max_mode_phi(n)
        assert end + end**2 == pytest.approx(1 + end**n)
        assert lehmer_recovery(n, 1e9, end - 1e-3).is_in_range
        assert not lehmer_recovery(n, 1e9, end + 1e-3).is_in_range
    assert max_mode_phi(3) == 1.0
    assert max_mode_phi(200) == pytest.approx((np.sqrt(5) - 1) / 2)


def test_sample_sizes_follow_the_formulas() -> None:
    assert lehmer_recovery(10, 5, 0.3, statistic="median").needed == np.ceil(2 * np.log(400) / 0.16)
    gap = (1 - 0.39 + 0.3**10) * 0.7**3
    assert lehmer_recovery(10, 5, 0.3, delta=0.1).needed == np.ceil(2 * np.log(500) / gap**2)
    outside = lehmer_recovery(10, 5, 0.6, statistic="median")
    assert outside.needed == np.inf
    assert "out of range" in str(outside)
    assert "too few" in str(lehmer_recovery(10, 5, 0.3))
    assert lehmer_recovery(10, 1e6, 0.3).is_guaranteed


@pytest.mark.parametrize("statistic", ["mode", "median"])
def test_simulated_ballots_in_range_recover_the_centre(statistic: str) -> None:
    phi, n = 0.3, 6
    needed = int(lehmer_recovery(n, 1, phi, statistic=statistic).needed)
    for seed in range(5):
        prefs = simulate.mallows(n, needed, phi=phi, centre="random", seed=seed)
        found = cc.rank(prefs, "lehmer", statistic=statistic, reference="input")
        assert found.items == cc.rank(prefs, "kemeny").items
        assert recovery_of(prefs, statistic) is not None


def test_phi_is_that_of_the_expected_distance_and_of_the_mallows_method() -> None:
    for phi in (0.2, 0.7):
        _, distance, chance = mallows_orders(5, phi)
        assert mallows_phi(5, float(distance @ chance)) == pytest.approx(phi)
    assert mallows_phi(5, 5.0) == 1.0
    prefs = simulate.mallows(8, 400, phi=0.5, seed=1)
    found = recovery_of(prefs)
    assert found is not None
    assert (cc.rank(prefs, "mallows").fit or {})["phi"] == pytest.approx(found.phi, rel=1e-6)


def test_describe_and_the_explanation_say_whether_the_data_are_in_range() -> None:
    prefs = simulate.mallows(6, 500, phi=0.3, seed=2)
    finding = prefs.describe().finding("recovery")
    assert finding is not None
    assert "mode in range" in finding.text
    assert "in range" in cc.rank(prefs, "lehmer").explain().to_text()
    partial = cc.Preferences.from_rankings([["a", "b", "c"], ["b", "a"]])
    assert partial.describe().finding("recovery") is None
    assert recovery_of(cc.Preferences.from_rankings([["a", ["b", "c"]]])) is None


def test_impossible_numbers_are_rejected() -> None:
    with pytest.raises(ParameterError, match="phi between 0 and 1"):
        lehmer_recovery(5, 10, 1.5)
    with pytest.raises(ParameterError, match="'mode' or 'median'"):
        lehmer_recovery(5, 10, 0.5, statistic="mean")
