"""Paired tests over queries: agreement with SciPy, exact enumeration, and the cases that break formulas."""

import itertools

import numpy as np
import pytest
from scipy import stats

from concordant import metrics
from concordant.errors import InputError, ParameterError, UnknownNameError


def two_systems(n, shift=0.05, seed=0):
    random = np.random.default_rng(seed)
    base = random.random(n)
    noise = 0.1 * random.normal(size=(2, n))
    return {"base": base, "better": base + shift + noise[0], "same": base + noise[1]}


def test_the_paired_t_test_is_scipys():
    values = two_systems(50)
    row = metrics.compare_systems(values)[1]
    assert row.p == pytest.approx(stats.ttest_rel(values["better"], values["base"]).pvalue)
    assert row.mean == pytest.approx(values["better"].mean())
    assert row.difference == pytest.approx((values["better"] - values["base"]).mean())


@pytest.mark.parametrize("test", ["t", "randomisation"])
def test_the_same_gain_on_every_query_is_no_luck(test):
    base = np.random.default_rng(0).random(50)
    same = metrics.compare_systems({"base": base, "better": base + 0.1}, test=test)[1]
    assert same.p < 0.001
    assert same.significant
    none = metrics.compare_systems({"base": base, "same": base}, test=test)[1]
    assert none.p == 1.0
    assert metrics.paired_t_test([0.1] * 50) == metrics.paired_t_test([-0.1] * 50) == 0.0
    assert metrics.paired_t_test([0.0] * 50) == metrics.paired_t_test([0.1]) == 1.0


def test_few_queries_are_enumerated_exactly():
    difference = np.array([0.3, -0.1, 0.2, 0.25, 0.4])
    sums = [abs(np.dot(signs, difference)) for signs in itertools.product([1, -1], repeat=5)]
    expected = np.mean([one >= abs(difference.sum()) - 1e-12 for one in sums])
    assert metrics.randomisation_test(difference) == expected


def test_many_queries_are_drawn_and_close_to_the_exact_answer():
    difference = np.random.default_rng(1).normal(0.15, 0.3, 16)
    signs = np.array(list(itertools.product([1, -1], repeat=16)))
    exact = (np.abs(signs @ difference) >= abs(difference.sum()) - 1e-12).mean()
    assert metrics.randomisation_test(difference, rounds=20_000) == pytest.approx(exact, abs=0.01)


def test_the_same_seed_gives_the_same_answer():
    values = two_systems(40)
    first = metrics.compare_systems(values, test="randomisation", seed=3)
    assert first == metrics.compare_systems(values, test="randomisation", seed=3)
    alone = metrics.compare_systems({name: values[name] for name in ("base", "same")}, test="randomisation", seed=3)
    assert alone[1].p == first[2].p
    assert metrics.compare_systems(values, test="randomisation", seed=np.random.default_rng(3)) == first


def test_holm_multiplies_and_keeps_rising():
    assert metrics.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert metrics.holm([0.5, 0.9]) == [1.0, 1.0]
    assert metrics.holm([]) == []


def test_a_clear_winner_is_significant_and_luck_is_not():
    for test in ("t", "randomisation"):
        table = metrics.compare_systems(two_systems(200), test=test)
        assert [row.system for row in table] == ["base", "better", "same"]
        assert [row.significant for row in table] == [False, True, False]
        assert "better" in str(table)
        assert len(str(table).splitlines()) == len(table) + 2


@pytest.mark.parametrize("test", ["t", "randomisation"])
def test_no_spread_and_one_query_prove_nothing(test):
    base = np.linspace(0, 1, 20)
    assert metrics.compare_systems({"a": base, "b": base}, test=test)[1].p == 1.0
    assert metrics.compare_systems({"a": [0.1], "b": [0.9]}, test=test)[1].p == 1.0
    assert metrics.compare_systems({"a": base, "b": base * (1 + 1e-16)}, test=test)[1].p == 1.0
    skipped = [np.nan, np.nan]
    assert metrics.compare_systems({"a": [0.1, 0.2], "b": skipped}, test=test)[1].p == 1.0


def test_skipped_queries_are_left_out_in_pairs():
    values = two_systems(30)
    with_holes = {name: given.copy() for name, given in values.items()}
    with_holes["base"][3] = with_holes["better"][7] = np.nan
    kept = np.delete(np.arange(30), [3, 7])
    expected = stats.ttest_rel(values["better"][kept], values["base"][kept]).pvalue
    assert metrics.compare_systems(with_holes)[1].p == pytest.approx(expected)


def test_any_system_can_be_the_baseline():
    table = metrics.compare_systems(two_systems(30), baseline="same")
    assert [row.system for row in table] == ["same", "base", "better"]
    assert table[0].p == 1.0
    assert table[1:] == table.rows[1:]


def test_bad_input_is_refused():
    with pytest.raises(InputError, match="at least two"):
        metrics.compare_systems({"a": [1.0]})
    with pytest.raises(InputError, match="same order"):
        metrics.compare_systems({"a": [1.0, 2.0], "b": [1.0]})
    with pytest.raises(InputError, match="no values"):
        metrics.compare_systems({"a": [], "b": []})
    with pytest.raises(InputError, match="infinite"):
        metrics.compare_systems({"a": [1.0], "b": [np.inf]})
    with pytest.raises(UnknownNameError, match="Did you mean base"):
        metrics.compare_systems({"base": [1.0], "b": [1.0]}, baseline="bose")
    with pytest.raises(ParameterError, match="'t' or 'randomisation'"):
        metrics.compare_systems({"a": [1.0], "b": [1.0]}, test="z")
    with pytest.raises(ParameterError, match="alpha"):
        metrics.compare_systems({"a": [1.0], "b": [1.0]}, alpha=0)
    with pytest.raises(ParameterError, match="rounds"):
        metrics.compare_systems({"a": [1.0], "b": [1.0]}, rounds=0)
