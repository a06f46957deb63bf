"""A mapping with values that are computed on first access."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Generic, TypeVar

from concordant.support.frozen import frozen

T = TypeVar("T")


class LazyMapping(Mapping[str, T], Generic[T]):
    """Read-only values by name; those in ``later`` are computed on first access and cached."""

    def __init__(self, known: Mapping[str, T], later: Mapping[str, Callable[[], T]]) -> None:
        self._known: dict[str, T] = {name: frozen(value) for name, value in known.items()}
        self._later = later

    def __getitem__(self, name: str) -> T:
        if name not in self._known and name in self._later:
            self._known[name] = frozen(self._later[name]())
        return self._known[name]

    def __setitem__(self, name: str, value: object) -> None:
        raise TypeError("This mapping belongs to a result and cannot be changed: make a copy first.")

    def __contains__(self, name: object) -> bool:
        return name in self._known or name in self._later

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._known, *self._later]))

    def __len__(self) -> int:
        return len({*self._known, *self._later})

    def __repr__(self) -> str:
        shown = (f"{name!r}: {_shown(value)}" for name, value in self.items())
        return f"{{{', '.join(shown)}}}"


def _shown(value: object) -> str:
    """Return numbers and texts as they are, and arrays by their shape."""
    shape = getattr(value, "shape", ())
    return f"array of {' x '.join(map(str, shape))}" if shape else repr(value)
