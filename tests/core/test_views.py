from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import random_preferences

import concordant as cc
from concordant import views


def tables(prefs: cc.Preferences, missing: str) -> tuple[np.ndarray, np.ndarray]:
    """Wins and ties over slots, counted pair by pair from the definition."""
    wins, ties = np.zeros((prefs.n_slots, prefs.n_slots)), np.zeros((prefs.n_slots, prefs.n_slots))
    for b in range(prefs.n_ballots):
        q = prefs.instance_of_ballot[b]
        entries = range(prefs.indptr[b], prefs.indptr[b + 1])
        tier = {int(prefs.entry_slot[k]): float(prefs.tier[k]) for k in entries}
        last = max(tier.values(), default=-1.0)
        is_open = prefs.open is not None and prefs.open[b]
        for one, two in combinations(range(prefs.slot_ptr[q], prefs.slot_ptr[q + 1]), 2):
            if missing == "ignore" and not (one in tier and two in tier):
                continue
            if one not in tier and two not in tier and missing == "last-free":
                continue
            a, c = tier.get(one, np.inf), tier.get(two, np.inf)
            if a == c:
                if not (is_open and a == last):
                    ties[one, two] += prefs.weight[b]
                    ties[two, one] += prefs.weight[b]
            elif a < c:
                wins[one, two] += prefs.weight[b]
            else:
                wins[two, one] += prefs.weight[b]
    return wins, ties


def with_open(prefs: cc.Preferences, rng: np.random.Generator) -> cc.Preferences:
    return prefs.replace(open=rng.random(prefs.n_ballots) < 0.5)


@pytest.mark.parametrize("missing", ["ignore", "last", "last-free"])
@given(seed=st.integers(0, 2**32 - 1))
def test_counts_are_those_of_the_definition(missing: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    prefs = with_open(random_preferences(rng), rng)
    wins, ties = tables(prefs, missing)
    matrices = views.win_matrices(prefs, missing)
    for q in range(prefs.n_instances):
        span = slice(prefs.slot_ptr[q], prefs.slot_ptr[q + 1])
        np.testing.assert_allclose(matrices.matrix(q), wins[span, span])
        np.testing.assert_allclose(matrices.tie_matrix(q), ties[span, span])
    won, lost, tied = views.wins_and_losses(prefs, missing)
    np.testing.assert_allclose(won, wins.sum(1))
    np.testing.assert_allclose(lost, wins.sum(0))
    np.testing.assert_allclose(tied, ties.sum(1))
    np.testing.assert_allclose(views.net_wins(prefs, missing), won - lost)


@given(seed=st.integers(0, 2**32 - 1))
def test_listed_pairs_add_up_to_the_matrices(seed: int) -> None:
    rng = np.random.default_rng(seed)
    prefs = with_open(random_preferences(rng), rng)
    wins, ties = tables(prefs, "ignore")
    listed = views.pairs(prefs)
    weight = prefs.weight[listed.ballot]
    counted, drawn = np.zeros_like(wins), np.zeros_like(ties)
    np.add.at(counted, (listed.better[~listed.is_tie], listed.worse[~listed.is_tie]), weight[~listed.is_tie])
    np.add.at(drawn, (listed.better[listed.is_tie], listed.worse[listed.is_tie]), weight[listed.is_tie])
    np.testing.assert_allclose(counted, wins)
    np.testing.assert_allclose(drawn + drawn.T, ties)


def test_positions_share_the_mean_of_a_tie(backend: str) -> None:
    prefs = cc.Preferences.from_rankings([["a", ["b", "c"], "d"], ["b"], []])
    assert views.positions(prefs).tolist() == [1, 2.5, 2.5, 4, 1]
    assert views.competition_ranks(prefs).tolist() == [1, 2, 2, 4, 1]


def test_stages_choose_from_what_remains() -> None:
    prefs = cc.Preferences.from_rankings([["a", ["b", "c"], "d"], ["b"]])
    stages = views.stages(prefs)
    assert list(zip(stages.start, stages.stop, stages.end, strict=True)) == [(0, 1, 4), (1, 3, 4)]


def test_missing_positions_are_the_mean_of_the_free_ones() -> None:
    prefs = cc.Preferences.from_rankings([["a", "b"], ["c"]], candidates=["a", "b", "c", "d"])
    assert views.missing_positions(prefs).tolist() == [3.5, 3.0]


def test_a_matrix_too_large_for_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    prefs = cc.Preferences.from_rankings([list(map(str, range(25_000)))])
    monkeypatch.setenv("CONCORDANT_MEMORY", "1GB")
    with pytest.raises(cc.InputError, match=r"25,000 candidates in 1 instances needs about 9\.3 GB of memory"):
        views.win_matrices(prefs)


def test_unknown_conventions_are_refused() -> None:
    prefs = cc.Preferences.from_pairs(["a"], ["b"])
    assert views.resolve_missing(prefs, "auto") == "ignore"
    with pytest.raises(cc.ParameterError, match="missing='first'"):
        views.resolve_missing(prefs, "first")


def test_records_of_members_count_teams_and_not_partners() -> None:
    matches = [[["a", "b"], ["c", "d"]], [["c", "a"], ["b"], ["d", "e"]]]
    prefs = cc.Preferences.from_teams(matches, rank=[None, [1, 2, 2]], weight=[2, 1])
    won, lost, drawn = (dict(zip(prefs.items, of.tolist(), strict=True)) for of in views.records_of_members(prefs))
    assert won == {"a": 4, "b": 2, "c": 2, "d": 0, "e": 0}
    assert lost == {"a": 0, "b": 1, "c": 2, "d": 3, "e": 1}
    assert drawn == {"a": 0, "b": 1, "c": 0, "d": 1, "e": 1}
