"""What workers of the tests are asked to do, in a module that loads nothing: every new process imports it."""

from __future__ import annotations

import os
import signal


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
