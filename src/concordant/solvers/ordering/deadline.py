"""Time limits: one object that all phases of a search share."""

from __future__ import annotations

import time
from math import inf


def now() -> float:
    """Return the time in seconds (tests replace this clock)."""
    return time.perf_counter()


class Deadline:
    """A time after which no new work starts; with None seconds there is no limit."""

    def __init__(self, seconds: float | None = None) -> None:
        self._end = inf if seconds is None else now() + seconds

    def left(self) -> float:
        """Return the remaining seconds."""
        return self._end if self._end == inf else self._end - now()

    def is_over(self) -> bool:
        """Return whether the deadline has passed."""
        return self.left() <= 0

    def share(self, n: int) -> Deadline:
        """Return a deadline for the first of n remaining tasks: an equal share of the time."""
        part = Deadline()
        if self._end != inf:
            moment = now()
            part._end = min(self._end, moment + max(self._end - moment, 0.0) / n)
        return part

    def within(self, seconds: float) -> Deadline:
        """Return the earlier of this deadline and one ``seconds`` from now."""
        part = Deadline(seconds)
        part._end = min(part._end, self._end)
        return part
