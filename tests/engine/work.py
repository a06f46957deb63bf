"""What workers of the tests are asked to do, in a module that loads nothing: every new process imports it."""

from __future__ import annotations

import os
import signal
from typing import Any


def count_and_wait(share: Any, options: Any, limit: str | None, marker: str) -> Any:
    """Count a share of files; the first worker says so while it is counting and then waits to be killed."""
    from threading import Event

    from concordant.io import _duckdb, _many

    stream = _duckdb.DuckTable.stream

    def halfway(table: Any, connection: Any, query: Any) -> Any:
        columns = stream(table, connection, query)
        try:
            with open(marker, "x") as file:
                file.write(str(os.getpid()))
        except FileExistsError:
            return columns
        Event().wait(600)
        raise AssertionError("nobody killed this worker")

    _duckdb.DuckTable.stream = halfway  # type: ignore[method-assign]
    try:
        return _many.count_share(share, options, limit)
    finally:
        _duckdb.DuckTable.stream = stream  # type: ignore[method-assign]


def count_and_change(share: Any, options: Any, limit: str | None) -> Any:
    """Count a share of files on a worker whose memory changes a sum once it is counted."""
    from concordant.io import _many

    class Changed(_many.Counted):
        def sealed(self) -> Any:
            sealed = super().sealed()
            assert sealed.tally is not None
            sealed.tally.sums["weight"].whole.setflags(write=True)
            sealed.tally.sums["weight"].whole[0] += 1
            return sealed

    return Changed(**vars(_many.count_share(share, options, limit)))


def add(parts: list[int]) -> int:
    return sum(parts)


def square(number: int) -> int:
    return number * number


def end_once(marker: str) -> int:
    """End this process as if it were killed, the first time."""
    if not os.path.exists(marker):
        with open(marker, "w"):
            pass
        os.kill(os.getpid(), signal.SIGKILL)
    return 7


def end_always() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
