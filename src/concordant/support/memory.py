"""Limit the memory of a call, with an error if it would need more.

The allowance is half of the memory that is currently free, or the value of the environment variable CONCORDANT_MEMORY
(``4GB``, ``500MB``, or bytes). Code that allocates memory quadratic in the data checks it first.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from concordant.errors import InputError, MemoryLimitError, ParameterError, arg

VARIABLE = "CONCORDANT_MEMORY"
UNASKED = 32 << 20  # so little that asking would cost more
UNKNOWN = 4 << 30  # taken to be free where the system does not say
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


_limit: ContextVar[str] = ContextVar("memory limit", default="")


@contextmanager
def limited(amount: str | None) -> Iterator[None]:
    """Set the memory limit (``"4GB"``) within this context, overriding the environment; None changes nothing."""
    if amount is None:
        yield
        return
    _bytes_of(amount, "memory_limit")
    token = _limit.set(amount)
    try:
        yield
    finally:
        _limit.reset(token)


def memory_setting() -> str:
    """Return the memory limit set by ``limited`` or the environment variable; empty if there is none."""
    return _limit.get() or os.environ.get(VARIABLE, "").strip()


def allowance() -> int:
    """Return the number of bytes that one call may use."""
    setting = memory_setting()
    return _bytes_of(setting, VARIABLE) if setting else _free() // 2


def _bytes_of(amount: str, where: str) -> int:
    """Return an amount of memory such as ``4GB`` in bytes."""
    match = re.fullmatch(r"([0-9]{1,15}(?:\.[0-9]{1,9})?) ?([kmgt]?)(?:i?b)?", amount.strip().lower())
    if match is None:
        given = f"{VARIABLE}={amount}" if where == VARIABLE else arg(where, amount)
        raise ParameterError(given + " is not an amount of memory: use a value such as 4GB or 500MB.")
    return int(float(match[1]) * _UNITS[match[2]])


def fits(needed: float) -> bool:
    """Return whether a call may use this many bytes."""
    return needed <= UNASKED or needed <= allowance()


def require(needed: float, what: str, instead: str) -> None:
    """Raise an error if more bytes are needed than allowed; it names what needs them, how many, and the alternative."""
    if not fits(needed):
        raise InputError(
            f"{what} needs about {shown(needed)} of memory, but {shown(allowance())} are allowed: "
            + instead
            + f", or allow more with {VARIABLE}={shown(needed * 1.1).replace(' ', '')}."
        )


def require_in_limit(needed: float, what: str, instead: str) -> None:
    """Raise an error if a limit is set and this process would exceed it with that many more bytes."""
    total = needed + resident()
    if memory_setting() and needed > UNASKED and total > allowance():
        raise MemoryLimitError(
            f"{what} needs about {shown(total)} of memory, but {shown(allowance())} are allowed: raise "
            + arg("memory_limit")
            + f", or {instead}."
        )


def resident() -> int:
    """Return the number of bytes of memory that this process uses, 0 if the system does not say."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return 0


def shown(amount: float) -> str:
    """Format an amount of memory for display."""
    return f"{amount / (1 << 30):.1f} GB" if amount >= 1 << 30 else f"{max(amount / (1 << 20), 0.1):.1f} MB"


def _free() -> int:
    """Return the number of free bytes: what the system reports, within the limit of the container."""
    free = UNKNOWN
    try:
        with open("/proc/meminfo") as file:
            match = re.search(r"MemAvailable:\s+(\d+) kB", file.read())
        free = int(match[1]) << 10 if match else free
    except OSError:
        pass
    try:
        with open("/sys/fs/cgroup/memory.max") as limit_file, open("/sys/fs/cgroup/memory.current") as used:
            free = min(free, max(int(limit_file.read()) - int(used.read()), 0))
    except (OSError, ValueError):  # no container, or one without a limit
        pass
    return free
