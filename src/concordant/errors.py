"""The few exceptions of concordant. Every message says what is wrong, where, and what to do."""

from __future__ import annotations


class ConcordantError(Exception):
    """Anything concordant refuses to do, with one clear sentence for the user."""


class InputError(ConcordantError, ValueError):
    """The data given cannot be understood as preferences, labels or features."""


class FormatError(InputError):
    """A file cannot be read; knows the file and, where there is one, the line."""

    def __init__(self, message: str, *, path: str | None = None, line: int | None = None) -> None:
        self.path, self.line = path, line
        where = f"{path}, line {line}: " if path and line else f"{path}: " if path else ""
        super().__init__(where + message)


class RoomError(InputError):
    """There is too little memory or disk for the work, which is no fault of the data."""


class ParameterError(ConcordantError, ValueError):
    """A hyper-parameter has a value outside its range, or a name nobody knows."""


class NeedError(ConcordantError, ValueError):
    """A method needs something these preferences do not carry (agents, values, order, labels)."""


class UnknownNameError(ConcordantError, LookupError):
    """No method, metric, format, instance or item of that name."""


class UnknownColumnError(UnknownNameError, InputError):
    """A table has no column of that name."""


class OneQueryWarning(UserWarning):
    """A ranker was given so many rows of one query that the queries were probably forgotten."""


def suggest(name: str, known: list[str]) -> str:
    """Return ``" Did you mean …?"`` for the closest known names, or an empty string."""
    import difflib

    close = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
    return f" Did you mean {' or '.join(close)}?" if close else ""
