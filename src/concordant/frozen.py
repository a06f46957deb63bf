"""Arrays and objects that nobody can change once they are made."""

from __future__ import annotations

import numpy as np

from concordant.types import AnyArray


class Frozen:
    """An object whose attributes cannot be set; it fills itself once, through ``vars(self)``."""

    change = "make a new one"
    """What to do instead of setting an attribute."""

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} cannot be changed, so {name!r} is not set: {self.change}.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} cannot be changed, so {name!r} is not deleted: {self.change}.")


def freeze(*arrays: AnyArray) -> None:
    """Make arrays of our own read-only, so that a container takes them without a copy."""
    for array in arrays:
        array.setflags(write=False)


def own(array: AnyArray, dtype: type) -> AnyArray:
    """Return a contiguous read-only array that the caller cannot write to: a copy, unless it is read-only already."""
    made: AnyArray = np.ascontiguousarray(array, dtype)
    if made.flags.writeable:
        made = made.copy() if np.may_share_memory(made, array) else made
        made.setflags(write=False)
    return made
