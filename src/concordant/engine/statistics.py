"""Define the statistics that are counted, from ballots in memory or by SQL from tables of any size.

A statistic has a name, keys, sums, a function ``of`` that computes its tally from a batch of ballots, and ``sql``, a
query that computes the same from the rows of a table. The SQL reads ``rows``, whose columns are named by roles:

- of pairs: the columns for the two sides and the outcome, as text (interpreted after grouping)
- of ratings and ranks: ``instance``, ``ballot`` and ``item`` (texts), ``level`` (high is good) and ``weight``

Rows of pairs, item counts and level histograms may be split anywhere. The other statistics compare rows within a
ballot, so a part must contain whole ballots.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from concordant import views
from concordant.ballots.vocabulary import Vocabulary
from concordant.engine.tallies import HALF_BITS, Sums, Tally
from concordant.preferences import Preferences
from concordant.types import AnyArray, Floats

NEITHER = 2  # neither item of a pair was shown first (0: the first item was, 1: the second)
LABELLED = {
    "instance": "instance",
    "agent": "agent",
    "item": "item",
    "first": "item",
    "second": "item",
    "level": "level",
}


@dataclass(frozen=True)
class Statistic:
    """A statistic that can be counted in parts."""

    name: str
    keys: tuple[str, ...]
    sums: tuple[str, ...]
    sql: str
    """The query, with the placeholder ``{sums}``; ``exact_sum`` makes each sum exact."""
    terms: Mapping[str, str]
    """The SQL term of each sum."""
    of: Callable[..., Tally]
    """Count a batch of ballots."""

    @property
    def zero(self) -> Tally:
        """The tally of no data."""
        return Tally.zero(self.keys, self.domain, self.sums)

    @property
    def domain(self) -> dict[str, str]:
        """The dictionary of each key that holds labels."""
        return {name: LABELLED[name] for name in self.keys if name in LABELLED}

    @property
    def query(self) -> str:
        """The complete SQL query: the keys, then three columns per sum."""
        return self.sql.format(sums=", ".join(exact_sum(self.terms[name]) for name in self.sums))

    def of_columns(self, columns: Sequence[Sequence[Any]]) -> Tally:
        """Return the tally of a query's result.

        The columns are texts (None for no label), whole numbers, and three columns per sum.
        """
        keys: dict[str, AnyArray] = {}
        labels: dict[str, Vocabulary] = {}
        for name, column in zip(self.keys, columns, strict=False):
            if name not in LABELLED:
                keys[name] = np.asarray(column, np.int64)
            elif isinstance(column, tuple) and len(column) == 2 and isinstance(column[1], Vocabulary):
                keys[name], labels[name] = column
            else:
                texts = [text for text in dict.fromkeys(column) if text is not None]
                code = {text: k for k, text in enumerate(texts)}
                keys[name] = np.array([-1 if text is None else code[text] for text in column], np.int32)
                labels[name] = Vocabulary(texts)
        if "level" in labels:  # written by DuckDB: as Python writes it
            labels["level"] = Vocabulary([repr(float(text)) for text in labels["level"]])
        numbers = [np.asarray(column, np.float64) for column in columns[len(self.keys) :]]
        sums = {name: Sums.of_halves(*numbers[3 * k : 3 * k + 3]) for k, name in enumerate(self.sums)}
        return Tally(keys, self.domain, labels, sums)


def exact_sum(term: str) -> str:
    """Return SQL for an exact sum, as three columns: whole numbers, and the rest in units of 2^-26 and of 2^-52."""
    unit = 1 << HALF_BITS
    rest = f"(({term}) - floor({term})) * {unit}.0"
    whole, high = f"sum(floor({term})::BIGINT)", f"sum(floor({rest})::BIGINT)"
    low = f"sum(floor(({rest} - floor({rest})) * {unit}.0)::BIGINT)"
    carried = f"({high} + {low} // {unit})"
    return f"({whole} + {carried} // {unit})::DOUBLE, ({carried} % {unit})::DOUBLE, ({low} % {unit})::DOUBLE"


# ---- pairs ----
def pair_counts(prefs: Preferences, weight: Sums | None = None) -> Tally:
    """Count ballots of two items each, the better first.

    ``weight`` holds exact weights, if floats are not exact enough.
    """
    keys: dict[str, AnyArray] = {}
    labels = {"item": prefs.items}
    if prefs.instances is not None and prefs.instance is not None:
        keys["instance"], labels["instance"] = prefs.instance, prefs.instances
    if prefs.agents is not None and prefs.agent is not None:
        keys["agent"], labels["agent"] = prefs.agent, prefs.agents
    keys |= {"first": prefs.item[0::2], "second": prefs.item[1::2]}
    keys["tie"] = (prefs.tier[0::2] == prefs.tier[1::2]).astype(np.int8)
    if prefs.shown is not None:
        shown = prefs.shown.reshape(-1, 2)
        keys["shown"] = np.where(shown[:, 0] == shown[:, 1], NEITHER, shown[:, 0] > shown[:, 1]).astype(np.int8)
    domain = {name: LABELLED[name] for name in keys if name in LABELLED}
    return Tally(keys, domain, labels, {"weight": weight or Sums.of(prefs.weight)}).grouped()


def undirected_ties(tally: Tally) -> Tally:
    """Return sorted pair counts in which the first item of every tie is the one that sorts first."""
    ordered = tally.sorted
    is_swapped = (ordered.keys["tie"] == 1) & (ordered.keys["first"] > ordered.keys["second"])
    if not is_swapped.any():
        return ordered
    first, second = ordered.keys["first"], ordered.keys["second"]
    keys = dict(ordered.keys)
    keys["first"], keys["second"] = np.where(is_swapped, second, first), np.where(is_swapped, first, second)
    if "shown" in keys:
        has_first = keys["shown"] != NEITHER
        keys["shown"] = np.where(is_swapped & has_first, 1 - keys["shown"], keys["shown"])
    return Tally(keys, ordered.domain, ordered.labels, ordered.sums).grouped().sorted


def preferences_of_pairs(tally: Tally, notes: tuple[str, ...] = ()) -> Preferences:
    """Return pair counts as merged ballots of two items, with sorted labels."""
    ordered = undirected_ties(tally)
    n = len(ordered)
    tier = np.zeros(2 * n, np.int32)
    tier[1::2] = ordered.keys["tie"] == 0
    parts: dict[str, Any] = {}
    for role in ("instance", "agent"):
        if role in ordered.keys:
            parts |= {role: ordered.keys[role], f"{role}s": ordered.labels[role]}
    if "shown" in ordered.keys:
        second_first = ordered.keys["shown"]
        shown = np.stack([second_first == 1, second_first == 0], 1)
        parts["shown"] = shown.reshape(-1).astype(np.int32)
    return Preferences(
        ordered.labels["item"],
        np.arange(0, 2 * n + 1, 2),
        np.stack([ordered.keys["first"], ordered.keys["second"]], 1).reshape(-1),
        tier,
        weight=ordered.sums["weight"].value,
        form="pairs",
        is_merged=True,
        notes=notes,
        **parts,
    )


# ---- items and levels: every row on its own ----
def _slots(prefs: Preferences) -> tuple[dict[str, AnyArray], dict[str, Vocabulary]]:
    """Return the instance and item of every entry, as keys of a tally, and their labels."""
    instances = Vocabulary([""]) if prefs.instances is None else prefs.instances
    return {"instance": views.entry_instances(prefs), "item": prefs.item}, {"instance": instances, "item": prefs.items}


def _tally(keys: dict[str, AnyArray], labels: dict[str, Vocabulary], **sums: AnyArray) -> Tally:
    """Return the tally of sums by keys, with equal keys added up."""
    domain = {name: LABELLED[name] for name in keys if name in LABELLED}
    return Tally(keys, domain, labels, {name: Sums.of(np.asarray(column)) for name, column in sums.items()}).grouped()


def _count_items(prefs: Preferences) -> Tally:
    return _tally(*_slots(prefs), weight=views.weight_of_entry(prefs))


def levels_of(prefs: Preferences) -> Floats:
    """Return the level of each entry (larger is better): its rating, its negative rank, or its negative position."""
    if prefs.value is None:
        return -views.positions(prefs)
    return prefs.value if prefs.scale == "rating" else -prefs.value


def _count_levels(prefs: Preferences) -> Tally:
    """Count how often each item got each level."""
    keys, labels = _slots(prefs)
    distinct, code = np.unique(levels_of(prefs) + 0.0, return_inverse=True)
    keys["level"] = code.reshape(-1).astype(np.int32)
    labels["level"] = Vocabulary([repr(value) for value in distinct.tolist()])
    return _tally(keys, labels, weight=views.weight_of_entry(prefs))


ITEM_COUNTS = Statistic(
    *("item counts", ("instance", "item"), ("weight",)),
    "SELECT instance, item, {sums} FROM rows GROUP BY instance, item",
    {"weight": "weight"},
    _count_items,
)
LEVELS = Statistic(
    *("level histograms", ("instance", "item", "level"), ("weight",)),
    "SELECT instance, item, level::VARCHAR, {sums} FROM rows GROUP BY instance, item, level",
    {"weight": "weight"},
    _count_levels,
)


# ---- places and net wins: rows of one ballot are compared ----
PLACED = """WITH placed AS (
    SELECT instance, ballot, item, level, weight,
        rank() OVER (PARTITION BY instance, ballot ORDER BY level DESC) - 1 AS better,
        rank() OVER (PARTITION BY instance, ballot ORDER BY level) - 1 AS worse,
        count(*) OVER (PARTITION BY instance, ballot) AS size,
        sum(level) OVER (PARTITION BY instance, ballot ORDER BY level, item
            ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS total
    FROM rows
)"""


def _beside(prefs: Preferences) -> tuple[Floats, Floats, Floats]:
    """Return, for each entry, the numbers of items that its ballot ranks above, below and level with it."""
    groups = views.tiers(prefs)
    start, end = prefs.indptr[groups.ballot], prefs.indptr[groups.ballot + 1]
    better, worse = (groups.ptr[:-1] - start)[groups.of_entry], (end - groups.ptr[1:])[groups.of_entry]
    return better.astype(float), worse.astype(float), (groups.size - 1)[groups.of_entry].astype(float)


def _count_positions(prefs: Preferences) -> Tally:
    """Sum, by item, the numbers of items above, below and level with it on its ballots; item -1 counts the ballots."""
    keys, labels = _slots(prefs)
    better, worse, tied = _beside(prefs)
    weight = views.weight_of_entry(prefs)
    by_item = _tally(keys, labels, weight=weight, better=weight * better, worse=weight * worse, tied=weight * tied)
    none = np.zeros(prefs.n_ballots)
    instances = prefs.instance_of_ballot
    ballots = {"instance": instances, "item": np.full(len(instances), -1, np.int32)}
    return by_item.merge(_tally(ballots, labels, weight=prefs.weight, better=none, worse=none, tied=none))


def _count_net_wins(prefs: Preferences) -> Tally:
    """Sum, by item, its level differences from the other items of its ballots.

    Record whether it won and lost a pair.
    """
    keys, labels = _slots(prefs)
    better, worse, _ = _beside(prefs)
    level, weight, ballot = levels_of(prefs), views.weight_of_entry(prefs), views.ballot_of_entry(prefs)
    # net: sum over the ballot of level - other level; total: its part of the sum of all absolute differences
    total = np.bincount(ballot, level, prefs.n_ballots)[ballot]
    length = np.diff(prefs.indptr)[ballot]
    return _tally(
        *(keys, labels),
        net=weight * (length * level - total),
        total=weight * level * (worse - better),
        won=weight * (worse > 0),
        lost=weight * (better > 0),
    )


POSITIONS = Statistic(
    *("positional sums", ("instance", "item"), ("weight", "better", "worse", "tied")),
    PLACED
    + """, counted AS (
    SELECT instance, item, weight, better, worse, size - better - worse - 1 AS tied FROM placed
    UNION ALL
    SELECT instance, NULL, any_value(weight), 0, 0, 0 FROM placed GROUP BY instance, ballot
)
SELECT instance, item, {sums} FROM counted GROUP BY instance, item""",
    {"weight": "weight", "better": "weight * better", "worse": "weight * worse", "tied": "weight * tied"},
    _count_positions,
)
NET_WINS = Statistic(
    *("net wins", ("instance", "item"), ("net", "total", "won", "lost")),
    PLACED + "\nSELECT instance, item, {sums} FROM placed GROUP BY instance, item",
    {
        "net": "weight * (size * level - total)",
        "total": "weight * level * (worse - better)",
        "won": "weight * (worse > 0)::INT",
        "lost": "weight * (better > 0)::INT",
    },
    _count_net_wins,
)


def _count_item_sums(prefs: Preferences) -> Tally:
    positions, wins = _count_positions(prefs).sorted, _count_net_wins(prefs).sorted
    is_ballots = positions.keys["item"] < 0  # the rows of both tallies have the same order otherwise
    sums = dict(positions.sums)
    for name, wins_of_name in wins.sums.items():
        spread = np.zeros((2, len(positions)), np.int64)
        spread[:, ~is_ballots] = wins_of_name.whole, 0 if wins_of_name.part is None else wins_of_name.part
        sums[name] = Sums(spread[0], spread[1] if spread[1].any() else None)
    return Tally(positions.keys, positions.domain, positions.labels, sums)


ITEM_SUMS = Statistic(  # for tables of sums, which serve several methods
    *("item sums", ("instance", "item"), (*POSITIONS.sums, *NET_WINS.sums)),
    PLACED
    + """, counted AS (
    SELECT instance, item, weight, better, worse, size - better - worse - 1 AS tied, size, level, total FROM placed
    UNION ALL
    SELECT instance, NULL, any_value(weight), 0, 0, 0, 0, 0, 0 FROM placed GROUP BY instance, ballot
)
SELECT instance, item, {sums} FROM counted GROUP BY instance, item""",
    {**POSITIONS.terms, **NET_WINS.terms},
    _count_item_sums,
)


# ---- Lehmer codes over a given order of the items ----
def _count_lehmer(prefs: Preferences, reference: Vocabulary) -> Tally:
    """Count ballots by Lehmer coordinate: how many items that precede an item in ``reference`` are ranked behind it.

    Ties allow a range: ``least`` counts items ranked behind, ``most`` also those tied.
    """
    place = reference.codes(prefs.items.labels)
    first, second, same = next(views.pairs_of_entries(prefs, at_once=np.inf))
    behind, tied = (np.zeros(len(prefs.item), np.int64) for _ in range(2))
    entry_place = place[prefs.item]
    # The better entry of a pair has an earlier one behind it; of a tie, the one that is later in the reference has.
    np.add.at(behind, first[~same], entry_place[second[~same]] < entry_place[first[~same]])
    later = np.where(entry_place[first[same]] > entry_place[second[same]], first[same], second[same])
    np.add.at(tied, later, 1)
    keys, labels = _slots(prefs)
    return _tally({**keys, "least": behind, "most": behind + tied}, labels, weight=views.weight_of_entry(prefs))


LEHMER = Statistic(
    *("Lehmer coordinates", ("instance", "item", "least", "most"), ("weight",)),
    """WITH coordinate AS (
    SELECT a.instance, a.ballot, a.item, any_value(a.weight) AS weight,
        count(*) FILTER (WHERE b.place < a.place AND b.level < a.level) AS least,
        count(*) FILTER (WHERE b.place < a.place AND b.level <= a.level) AS most
    FROM rows a JOIN rows b ON a.instance = b.instance AND a.ballot = b.ballot
    GROUP BY a.instance, a.ballot, a.item
)
SELECT instance, item, least, most, {sums} FROM coordinate GROUP BY instance, item, least, most""",
    {"weight": "weight"},
    _count_lehmer,
)
