"""Records of the first ones, and what the last games of each did to its rating."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from concordant import views
from concordant.narrative.sentences import Scene, number, ordinal
from concordant.preferences import Preferences
from concordant.results.explanation import Reason
from concordant.support.text import number_format
from concordant.types import Floats

LAST = 3  # games that are told of each item
TOLD = 3  # items whose games are told
MAX_BALLOTS = 200_000  # ballots up to which games are replayed


def games_reasons(scene: Scene, start: float, ratings: Callable[[Preferences], Floats]) -> list[Reason]:
    """Tell the records of the first ones and, by replaying all games before and after, what the last ones changed."""
    prefs, score = scene.prefs, scene.by_slot(scene.ranking.score)
    won, lost, drawn = views.wins_and_losses(prefs) if prefs.team is None else views.records_of_members(prefs)
    write = number_format([*score[scene.top].tolist(), start])
    rows = [
        [
            str(scene.rank[slot]), scene.names[slot], number(won[slot]), number(drawn[slot]), number(lost[slot]),
            write(float(score[slot])), write(float(score[slot] - start)),
        ]
        for slot in scene.top
    ]  # fmt: skip
    header = ["rank", "item", "won", "drawn", "lost", "rating", "since the start"]
    said = [f"Everybody starts with {write(start)}; every game moves the ratings of those who play it."]
    record = Reason("Records", said, header, rows, frozenset(range(7)) - {1})
    if prefs.n_ballots > MAX_BALLOTS:
        return [record]
    last = [line for slot in scene.top[:TOLD] for line in _last_games(scene, slot, ratings)]
    columns = ["item", "game", "result", "rating before", "after", "change"]
    title = f"The last games of the first {len(scene.top[:TOLD])}" if len(scene.top) > 1 else "Its last games"
    return [record, Reason(title, [], columns, last, frozenset({1, 3, 4, 5}))] if last else [record]


def _last_games(scene: Scene, slot: int, ratings: Callable[[Preferences], Floats]) -> list[list[str]]:
    prefs = scene.prefs
    sizes = np.diff(prefs.indptr)
    own = views.ballot_of_entry(prefs)[prefs.entry_slot == slot]
    lines = []
    for ballot in own[sizes[own] > 1][-LAST:].tolist():
        before, after = (float(ratings(prefs.take(slice(0, stop)))[slot]) for stop in (ballot, ballot + 1))
        write = number_format([round(before, 2), round(after, 2)])
        figures = [write(round(before, 2)), write(round(after, 2)), f"{after - before:+.2f}"]
        lines.append([scene.names[slot], f"{ballot + 1:,}", _result(scene, ballot, slot), *figures])
    return lines


def _result(scene: Scene, ballot: int, slot: int) -> str:
    """Say how a game ended for one who played it."""
    prefs = scene.prefs
    span = slice(int(prefs.indptr[ballot]), int(prefs.indptr[ballot + 1]))
    slots, tier = prefs.entry_slot[span], prefs.tier[span]
    side = np.arange(len(slots)) if prefs.team is None else prefs.team[span]
    mine = slots == slot
    own, others = int(tier[mine][0]), side != side[mine]
    _, first = np.unique(side, return_index=True)
    if len(first) == 2:
        theirs = int(tier[others][0])
        verb = "beat" if own < theirs else "lost to" if own > theirs else "drew with"
        return f"{verb} {' + '.join(scene.names[other] for other in slots[others].tolist())}"
    return f"{ordinal(1 + int((tier[first] < own).sum()))} of {len(first):,}"
