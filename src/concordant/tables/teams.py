"""Read teams (items that win and lose together) from lists, several columns per side, or names like ``a + b``.

In ``Preferences``, a ballot lists the players and the team number of each. A side in one cell is first read as an item
and split into players at the end (``split_teams``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from concordant import kernels
from concordant.ballots.build import Parts, ballot_columns, sorted_by_time
from concordant.ballots.segments import number_inside, pointer, spans
from concordant.ballots.vocabulary import Coded, Vocabulary, encode, renumber, shorten
from concordant.errors import InputError, arg
from concordant.types import AnyArray, Bools, Floats, Int32s, Int64s

PART = "\x1f"  # between the players of a side that several columns name


def gather_teams(
    matches: Iterable[Sequence[object]], rank: Sequence[Any] | None = None, time: object = None, **columns: object
) -> Parts:
    """Return matches as parts.

    A match is a list of teams, best first or in the order of their ranks (equal ranks are a draw).
    """
    matches = list(matches)
    if rank is not None and len(rank) != len(matches):
        raise InputError(f"There are {len(rank)} ranks for {len(matches)} matches: give one list, or None, per match.")
    flat: list[object] = []
    tier: list[int] = []
    team: list[int] = []
    indptr = np.zeros(len(matches) + 1, np.int64)
    for row, match in enumerate(matches):
        teams = _teams_of(match, row)
        places = _places(None if rank is None else rank[row], len(teams), row)
        for number, (players, place) in enumerate(zip(teams, places, strict=True)):
            flat += players
            tier += [place] * len(players)
            team += [number] * len(players)
        indptr[row + 1] = len(flat)
    item, vocabulary = encode(flat, "player")
    parts: Parts = {"items": vocabulary, "indptr": indptr, "item": item, "tier": np.array(tier, np.int32)}
    parts |= {"team": np.array(team, np.int32)}
    parts |= ballot_columns(len(matches), **columns)
    return parts if time is None else sorted_by_time(parts, time, len(matches))


def _teams_of(match: Any, row: int) -> list[list[object]]:
    """Return the players of each team of a match; a single player is a team of one."""
    shown = f"Match {row + 1} is {shorten(repr(match))}"
    if isinstance(match, (str, bytes)) or not isinstance(match, Iterable):
        raise InputError(f'{shown}, not a list of teams: write it best first, like [["a", "b"], ["c", "d"]].')
    teams = []
    for team in match:
        is_player = isinstance(team, (str, bytes)) or not isinstance(team, Iterable)
        players = [team] if is_player else sorted(team, key=str) if isinstance(team, (set, frozenset)) else list(team)
        if not players or any(isinstance(player, (list, tuple, set, frozenset, dict)) for player in players):
            raise InputError(
                f"{shown}: a team is a non-empty list of player names; give ties with " + arg("rank") + "."
            )
        teams.append(players)
    return teams


def _places(given: Any, n: int, row: int) -> list[int]:
    """Return the place of each of the n teams of a match, from 0; without ranks, the teams are listed best first."""
    if given is None:
        return list(range(n))
    try:
        ranks = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        ranks = np.full(0, np.nan)
    if ranks.shape != (n,) or not np.isfinite(ranks).all():
        raise InputError(
            f"The ranks of match {row + 1} are {shorten(repr(given))}: give a number for each of its {n} teams, 1 "
            "for the best."
        )
    return np.unique(ranks, return_inverse=True)[1].reshape(-1).tolist()


# ---- sides in cells ----
def join_players(columns: Sequence[Coded]) -> Coded:
    """Join columns with one player each into sides; empty cells are skipped, a row without players is missing (-1)."""
    code, labels = columns[0][0] + 1, ["", *columns[0][1].labels]  # 0 is nobody
    for codes, players in columns[1:]:
        names = ["", *players.labels]
        key = code.astype(np.int64) * len(names) + (codes + 1)
        code, first = kernels.encode_ints(key)
        pairs = zip((key[first] // len(names)).tolist(), (key[first] % len(names)).tolist(), strict=True)
        labels = [PART.join(filter(None, (labels[a], names[b]))) for a, b in pairs]
    distinct = dict.fromkeys(label for label in labels if label)  # the same player may stand in either column
    number = {label: k for k, label in enumerate(distinct)} | {"": -1}
    return np.array([number[label] for label in labels], np.int32)[code], Vocabulary(list(distinct))


def shown_side(label: str) -> str:
    """Format a side for a message."""
    return repr(shorten(label.replace(PART, " + ")))


class Sides:
    """Labels of sides split into players: side s has the players player[ptr[s]:ptr[s + 1]]."""

    def __init__(self, labels: Vocabulary, separator: str | None) -> None:
        """Split the labels of sides into names of players."""
        split = [
            [name.strip() for name in (label if separator is None else label.replace(separator, PART)).split(PART)]
            for label in labels
        ]
        self.ptr: Int64s = pointer(np.array([len(names) for names in split], np.int64))
        self.player: Int32s
        self.player, self.players = encode([name for names in split for name in names], "player")
        self.is_nameless: Bools = np.array([not all(names) for names in split], bool)

    @property
    def are_all_single(self) -> bool:
        """Whether every side has a single player."""
        return len(self.player) == len(self.ptr) - 1

    def of(self, sides: AnyArray) -> tuple[Int64s, Int32s]:
        """Return the players of some sides, concatenated: (size of each side, players)."""
        first, last = self.ptr[sides], self.ptr[sides + 1]
        return last - first, self.player[spans(first, last)]

    def is_self_match(self, sides: Int32s) -> Bools:
        """Return, for each pair of sides (2k and 2k + 1), whether a player occurs in it twice."""
        size, player = self.of(sides)
        row = np.repeat(np.arange(len(sides)) // 2, size)
        key = np.sort(row * len(self.players) + player)
        bad = np.zeros(len(sides) // 2, bool)
        bad[key[1:][key[1:] == key[:-1]] // len(self.players)] = True
        return bad


def split_teams(parts: Parts, separator: str | None) -> Parts:
    """Return ballots over players from ballots over sides, whose labels contain the names of their players."""
    sides = Sides(parts["items"], separator)
    if sides.is_nameless.any():
        label = parts["items"][int(np.argmax(sides.is_nameless))]
        raise InputError(
            f"The team {shown_side(label)} contains an empty player name: correct the name, or check "
            + arg("team_separator")
            + "."
        )
    if sides.are_all_single:
        raise InputError(
            "No name contains " + arg("team_separator", separator) + ": check the separator, or leave it out."
        )
    n_entries = len(parts["item"])
    indptr = parts.get("indptr")
    if indptr is None:  # pairs
        indptr = np.arange(0, n_entries + 1, 2, dtype=np.int64)
    size, player = sides.of(parts["item"])
    entry = np.repeat(np.arange(n_entries), size)
    item, vocabulary = renumber(player, sides.players)
    kept = {name: part for name, part in parts.items() if name not in ("items", "item", "indptr", "form")}
    kept |= {name: parts[name][entry] for name in ("tier", "value", "shown", "points") if parts.get(name) is not None}
    if parts.get("covariate") is not None:
        kept["covariate"] = _of_first(parts["covariate"], size)
    team = number_inside(indptr)[entry].astype(np.int32)
    bounds = np.concatenate([[0], np.cumsum(size)])[indptr]
    return kept | {"items": vocabulary, "item": item, "indptr": bounds, "team": team}


def _of_first(covariate: Floats, size: Int64s) -> Floats:
    """Assign the covariates of a side to its first player and 0 to the others, because models sum over members."""
    table = np.zeros((int(size.sum()), covariate.shape[1]))
    table[np.cumsum(size) - size] = covariate
    return table
