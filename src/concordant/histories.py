"""How scores moved over time: one row per item and moment at which its score was known anew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from concordant.moments import shown_time
from concordant.types import Floats, Int32s
from concordant.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class History:
    """Scores over time, rows sorted by time: after every game, or at the end of every period.

    ``time`` is in days since 1970 where ``is_dated``, else in the numbers that were given (or the number of the ballot,
    from 1, where there were no times). ``low`` and ``high`` are known where the method knows how sure it was.
    """

    items: Vocabulary
    item: Int32s
    time: Floats
    score: Floats
    low: Floats | None = None
    high: Floats | None = None
    is_dated: bool = False
    instances: Vocabulary | None = None
    instance: Int32s | None = None

    def __len__(self) -> int:
        return len(self.item)

    def columns(self) -> dict[str, Any]:
        """Return the whole history as columns: instance, time, item, score, low, high (absent ones left out)."""
        out: dict[str, Any] = {}
        if self.instances is not None and self.instance is not None:
            out["instance"] = self.instances.take(self.instance)
        out["time"] = [shown_time(moment, self.is_dated) for moment in self.time.tolist()]
        out["item"] = self.items.take(self.item)
        out["score"] = self.score
        return out | {name: ends for name, ends in (("low", self.low), ("high", self.high)) if ends is not None}
