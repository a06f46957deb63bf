"""However the data are cut, the sums are the same bit by bit; SQL and NumPy count the same."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import concordant as cc
from concordant.ballots.vocabulary import Vocabulary
from concordant.engine import statistics
from concordant.engine.statistics import (
    ITEM_COUNTS,
    LEHMER,
    LEVELS,
    NET_WINS,
    POSITIONS,
    pair_counts,
    preferences_of_pairs,
    undirected_ties,
)
from concordant.engine.tallies import Sums, Tally, merge_all

OF_ROWS = {one.name: one for one in (ITEM_COUNTS, LEVELS, POSITIONS, NET_WINS, LEHMER)}
WEIGHTS = st.one_of(st.integers(1, 9).map(float), st.floats(0.001, 1e6, allow_nan=False))


def same(one: Tally, other: Tally) -> bool:
    """Say whether two tallies are equal bit by bit, once sorted."""
    a, b = one.sorted, other.sorted
    parts = [[np.zeros(len(t)) if s.part is None else s.part for s in t.sums.values()] for t in (a, b)]
    return (
        list(a.keys) == list(b.keys)
        and all(np.array_equal(a.keys[name], b.keys[name]) for name in a.keys)
        and all(a.labels[name] == b.labels[name] for name in a.labels)
        and all(np.array_equal(a.sums[name].whole, b.sums[name].whole) for name in a.sums)
        and all(map(np.array_equal, *parts))
    )


@given(st.lists(st.tuples(st.floats(-1e6, 1e6, allow_nan=False), st.integers(0, 3)), min_size=1, max_size=40))
def test_sums_lose_less_than_the_last_bit_of_one(terms: list[tuple[float, int]]) -> None:
    numbers, group = np.array([x for x, _ in terms]), np.array([g for _, g in terms])
    found = Sums.of(numbers).by(group, 4)
    for g in range(4):
        part = 0 if found.part is None else int(found.part[g])
        exact = sum((Fraction(x) for x, own in terms if own == g), Fraction(0))
        assert abs(int(found.whole[g]) + Fraction(part, 1 << 52) - exact) <= Fraction(len(terms), 1 << 52)


def test_a_number_just_below_zero_does_not_lose_a_whole() -> None:
    assert Sums.of(np.array([-1e-30])).value.tolist() == [0.0]


@given(st.data())
def test_any_partition_of_pairs_has_the_same_counts(data: Any) -> None:
    row = st.tuples(st.sampled_from("abcdé"), st.sampled_from("vwxyz"), st.booleans(), WEIGHTS, st.sampled_from("stu"))
    rows = data.draw(st.lists(row, min_size=1, max_size=30))
    place = data.draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows)))
    keep_agents = data.draw(st.booleans())

    def count(own: list[Any]) -> Tally:
        winner, loser, tie, weight, agent = (list(column) for column in zip(*own, strict=True))
        agents = {"agent": agent} if keep_agents else {}
        return pair_counts(cc.Preferences.from_pairs(winner, loser, tie=tie, weight=weight, **agents))

    parts = [[row for row, p in zip(rows, place, strict=True) if p == part] for part in range(4)]
    tallies = [count(part) for part in parts if part]
    data.draw(st.randoms()).shuffle(tallies)
    assert same(merge_all(tallies), count(rows))
    assert same(undirected_ties(merge_all(tallies)), undirected_ties(count(rows)))


def test_a_drawn_pair_is_one_whichever_item_is_named_first() -> None:
    prefs = cc.Preferences.from_pairs(["a", "b", "a"], ["b", "a", "b"], tie=[True, True, False])
    found = preferences_of_pairs(pair_counts(prefs))
    assert found.weight.tolist() == [1.0, 2.0]


def test_nothing_is_the_zero_of_merging() -> None:
    prefs = cc.Preferences.from_ratings(["u", "u"], ["a", "b"], [1, 2])
    for one in OF_ROWS.values():
        if one is not LEHMER:
            assert same(one.zero.merge(one.of(prefs), one.zero), one.of(prefs))
            assert len(one.zero.merge(one.zero)) == 0


RATINGS = st.dictionaries(
    st.tuples(st.sampled_from("pq"), st.sampled_from("uvwx"), st.sampled_from("abcdé")),
    st.integers(-4, 10).map(lambda half: half / 2),
    min_size=1,
)


@cache
def one_connection() -> Any:
    """Open a data base once for all examples, which is what takes long."""
    import duckdb

    return duckdb.connect()


@given(
    rated=RATINGS,
    cut=st.sets(st.tuples(st.sampled_from("pq"), st.sampled_from("uvwx"))),
    name=st.sampled_from(list(OF_ROWS)),
)
def test_sql_and_ballots_give_the_same_and_parts_add_up(rated: Any, cut: Any, name: str) -> None:
    connection = one_connection()
    statistic, reference = OF_ROWS[name], Vocabulary(list("acébd"))
    weight = {key: 1.0 + (sum(map(ord, key)) % 3) / 3 for key in {key[:2] for key in rated}}

    def of(rows: dict[Any, float]) -> Tally:
        instance, agent, item = (list(column) for column in zip(*rows, strict=True))
        by_row = [weight[key[:2]] for key in rows]
        prefs = cc.Preferences.from_ratings(agent, item, list(rows.values()), instance=instance, weight=by_row)
        return statistic.of(prefs, reference) if statistic is LEHMER else statistic.of(prefs)

    def by_sql(rows: dict[Any, float]) -> Tally:
        columns = "instance TEXT, ballot TEXT, item TEXT, level DOUBLE, weight DOUBLE, place INT"
        connection.execute(f"CREATE OR REPLACE TABLE rows ({columns})")
        place = {label: k for k, label in enumerate(reference)}
        values = [(*key, level, weight[key[:2]], place[key[2]]) for key, level in rows.items()]
        connection.executemany("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?)", values)
        found = connection.execute(statistic.query).fetchall()
        return statistic.of_columns(list(zip(*found, strict=True)))

    parts = [{key: v for key, v in rated.items() if (key[:2] in cut) == side} for side in (True, False)]
    whole = of(rated)
    assert same(merge_all([of(part) for part in parts if part]), whole)
    assert same(merge_all([by_sql(part) for part in parts if part]), by_sql(rated))
    assert same(by_sql(rated), whole)


def test_exact_sums_are_exact_in_sql() -> None:
    import duckdb

    terms = [0.1] * 1000 + [-0.3, 1e9 + 0.25, 2.0**-40]
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (x DOUBLE)")
    connection.executemany("INSERT INTO t VALUES (?)", [(x,) for x in terms])
    parts = connection.execute(f"SELECT {statistics.exact_sum('x')} FROM t").fetchone()
    found = Sums.of_halves(*(np.array([x]) for x in parts))
    plain = Sums.of(np.array(terms)).by(np.zeros(len(terms), np.int64), 1)
    assert (found.whole[0], found.part[0]) == (plain.whole[0], plain.part[0])
