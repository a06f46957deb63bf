"""Further columns of a ranking, on request: the arena's rank and margins, the number of votes, and details."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from concordant.ballots.segments import segment_index
from concordant.errors import InputError, suggest
from concordant.support.text import number_format
from concordant.types import AnyArray, Floats, Int32s

if TYPE_CHECKING:
    from concordant.ranking import Ranking

COLUMNS = ("rank_ub", "margin", "votes")


def column_of(ranking: Ranking, name: str) -> AnyArray:
    """Return a further column of a ranking in slot order; raise an error if it has none of this name."""
    if name == "votes":
        return _votes(ranking)
    if name not in COLUMNS and name not in ranking.details:
        known = [*COLUMNS, *ranking.details]
        raise InputError(
            f"There is no further column {name!r} of {ranking.method or 'this ranking'}: use one of "
            f"{', '.join(known)}.{suggest(name, known)}"
        )
    if name not in COLUMNS:
        return ranking.details[name]
    if ranking.slot_low is None or ranking.slot_high is None:
        raise InputError(
            f"{ranking.method or 'This method'} computes no intervals here, which {name!r} needs: use a method with "
            "intervals, such as bradley-terry or plackett-luce."
        )
    if name == "rank_ub":
        return ranks_by_intervals(ranking.slot_low, ranking.slot_high, ranking.slot_ptr)
    return _margins(ranking, ranking.slot_low, ranking.slot_high)


def _votes(ranking: Ranking) -> AnyArray:
    """Return the weight of the ballots that mention each slot, as whole numbers if they are."""
    votes = None if ranking.counted is None else ranking.counted(ranking)
    if votes is None:
        raise InputError(
            "The ballots behind this ranking are not available (it was loaded, merged or computed from counts), so "
            "'votes' is not known: leave this column out, or rank the preferences themselves."
        )
    return votes.astype(np.int64) if (votes == np.floor(votes)).all() else votes


def ranks_by_intervals(low: Floats, high: Floats, slot_ptr: AnyArray) -> Int32s:
    """Return, by slot, 1 + the number of slots of its instance whose lower end exceeds the upper end of the slot."""
    instance = segment_index(slot_ptr)
    by_low, by_high = np.lexsort((low, instance)), np.lexsort((high, instance))
    out = np.empty(len(low), np.int32)
    for start, stop in zip(slot_ptr[:-1].tolist(), slot_ptr[1:].tolist(), strict=True):
        slots = by_high[start:stop]
        not_above = np.searchsorted(low[by_low[start:stop]], high[slots], side="right")
        out[slots] = 1 + (stop - start) - not_above
    return out


def _margins(ranking: Ranking, low: Floats, high: Floats) -> AnyArray:
    """Return the distances of the interval ends from the scores as text: +5/-4; whole numbers on the Elo scale."""
    up, down = (np.maximum(width, 0.0).tolist() for width in (high - ranking.score, ranking.score - low))
    write = number_format([*up, *down]) if ranking.converted is None else "{:.0f}".format
    return np.array([f"+{write(a)}/-{write(b)}" for a, b in zip(up, down, strict=True)], object)
