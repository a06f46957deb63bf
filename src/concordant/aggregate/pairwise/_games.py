"""Records of the top items, and the rating changes of their most recent games."""

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
    """Explain ratings by the records of the top items and the rating changes of their most recent games.

    The change is computed by replaying all games with and without the last; ``ratings`` returns the ratings by slot.
    """
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
    header = ["rank", "item", "won", "drawn", "lost", "rating", "total change"]
    sentences = [f"Every item starts at {write(start)}; each game changes the ratings of its participants."]
    record = Reason("Records", sentences, header, rows, frozenset(range(7)) - {1})
    if prefs.n_ballots > MAX_BALLOTS:
        return [record]
    last = [line for slot in scene.top[:TOLD] for line in _last_games(scene, slot, ratings)]
    columns = ["item", "game", "result", "rating before", "after", "change"]
    title = f"Most recent games of the top {len(scene.top[:TOLD])}" if len(scene.top) > 1 else "Most recent games"
    return [record, Reason(title, [], columns, last, frozenset({1, 3, 4, 5}))] if last else [record]


def _last_games(scene: Scene, slot: int, ratings: Callable[[Preferences], Floats]) -> list[list[str]]:
    """Return a table row for each of an item's last games: result, rating before and after, change."""
    prefs = scene.prefs
    sizes = np.diff(prefs.indptr)
    ballots = views.ballot_of_entry(prefs)[prefs.entry_slot == slot]
    lines = []
    for ballot in ballots[sizes[ballots] > 1][-LAST:].tolist():
        before, after = (float(ratings(prefs.take(slice(0, stop)))[slot]) for stop in (ballot, ballot + 1))
        write = number_format([round(before, 2), round(after, 2)])
        figures = [write(round(before, 2)), write(round(after, 2)), f"{after - before:+.2f}"]
        lines.append([scene.names[slot], f"{ballot + 1:,}", _result(scene, ballot, slot), *figures])
    return lines


def _result(scene: Scene, ballot: int, slot: int) -> str:
    """Return how a game ended for the item of a slot: "beat x", "lost to x", "drew with x", or its place among
    several.
    """
    prefs = scene.prefs
    span = slice(int(prefs.indptr[ballot]), int(prefs.indptr[ballot + 1]))
    slots, tier = prefs.entry_slot[span], prefs.tier[span]
    side = np.arange(len(slots)) if prefs.team is None else prefs.team[span]
    is_slot = slots == slot
    own_tier, is_opponent = int(tier[is_slot][0]), side != side[is_slot]
    _, first = np.unique(side, return_index=True)
    if len(first) == 2:
        their_tier = int(tier[is_opponent][0])
        verb = "beat" if own_tier < their_tier else "lost to" if own_tier > their_tier else "drew with"
        return f"{verb} {' + '.join(scene.names[opponent] for opponent in slots[is_opponent].tolist())}"
    return f"{ordinal(1 + int((tier[first] < own_tier).sum()))} of {len(first):,}"
