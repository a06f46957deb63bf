"""Immutable arrays, lists, dictionaries and objects."""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

import numpy as np

from concordant.types import AnyArray

K = TypeVar("K")
T = TypeVar("T")


class Frozen:
    """An object whose attributes cannot be set; it initialises itself once, through ``vars(self)``."""

    change = "create a new one"
    """What to do instead of setting an attribute."""

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable, so {name!r} cannot be set: {self.change}.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable, so {name!r} cannot be deleted: {self.change}.")


def freeze(*arrays: AnyArray) -> None:
    """Make arrays read-only, so that a container can use them without a copy."""
    for array in arrays:
        array.setflags(write=False)


def own(array: AnyArray, dtype: type) -> AnyArray:
    """Return a contiguous read-only array that the caller cannot write to: a copy, unless it is already read-only."""
    contiguous: AnyArray = np.ascontiguousarray(array, dtype)
    if contiguous.flags.writeable:
        contiguous = contiguous.copy() if np.may_share_memory(contiguous, array) else contiguous
        contiguous.setflags(write=False)
    return contiguous


def _refused(self: object, *_: object, **__: object) -> NoReturn:
    kind = "list" if isinstance(self, list) else "dictionary"
    raise TypeError(f"This {kind} belongs to a result and cannot be changed: make a copy first.")


class FrozenList(list[T]):
    """A list that cannot be changed; it equals a plain list, and ``copy`` returns one."""

    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refused
    append = extend = insert = pop = remove = clear = sort = reverse = _refused

    def __reduce__(self) -> tuple[type, tuple[list[T]]]:
        return type(self), (list(self),)


class FrozenDict(dict[K, T]):
    """A dictionary that cannot be changed; it equals a plain dictionary, and ``copy`` returns one."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = _refused
    update = setdefault = pop = popitem = clear = _refused

    def __reduce__(self) -> tuple[type, tuple[dict[K, T]]]:
        return type(self), (dict(self),)


def frozen(value: Any) -> Any:
    """Return a read-only version of a value: lists, dictionaries and arrays (which share memory)."""
    kind = type(value)
    if kind is np.ndarray:
        if value.flags.writeable:
            value = value.view()
            value.flags.writeable = False
        return value
    if kind is list:
        return FrozenList(value)
    return FrozenDict({key: frozen(element) for key, element in value.items()}) if kind is dict else value


class FrozenParts:
    """A frozen dataclass whose lists, dictionaries and arrays are also read-only."""

    def __post_init__(self) -> None:
        parts = vars(self)
        for name, value in parts.items():
            if type(value) in _CHANGEABLE:
                parts[name] = frozen(value)

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.__post_init__()  # arrays come back from a pickle as they may be changed


_CHANGEABLE = (np.ndarray, list, dict)
