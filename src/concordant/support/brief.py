"""A one-line repr for objects that hold arrays: their sizes and settings, never the arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sized
from typing import Any, ClassVar

COUNTED = ("ballots", "items", "agents", "instances")
MAX_LETTERS = 60  # of a value
MAX_ARRAYS = 4  # whose shapes are shown


class Brief:
    """An object whose repr is one line: ``PairModel(129 items, 1 instance)``.

    Dataclasses that derive from it are declared with ``repr=False``. ``unsaid`` names fields to leave out.
    """

    unsaid: ClassVar[tuple[str, ...]] = ()

    def __repr__(self) -> str:
        return brief(self)


def brief(described: Brief) -> str:
    """Return the class of an object, how many ballots, items, agents and instances it has, and its settings."""
    parts = {name: value for name, value in _parts(described).items() if name not in described.unsaid}
    counted = [f"{n:,} {name if n != 1 else name.removesuffix('s')}" for name, n in _sizes(parts).items()]
    settings = [f"{name}={_shown(value)}" for name, value in parts.items() if _is_short(value)]
    return f"{type(described).__name__}({', '.join([*(counted or _shapes(parts)), *settings])})"


def _is_short(value: object) -> bool:
    return isinstance(value, (str, bool, int, float)) and len(str(value)) <= MAX_LETTERS


def _shapes(parts: Mapping[str, Any]) -> list[str]:
    """Return the shapes of the first arrays: score[40]."""
    arrays = [(name, value.shape) for name, value in parts.items() if hasattr(value, "shape")]
    return [f"{name}[{' x '.join(map(str, shape))}]" for name, shape in arrays[:MAX_ARRAYS]]


def _parts(described: object) -> Mapping[str, Any]:
    """Return the declared parts of a dataclass, or the attributes of another object."""
    names = getattr(described, "__dataclass_fields__", None)
    return vars(described) if names is None else {name: getattr(described, name, None) for name in names}


def _sizes(parts: Mapping[str, Any]) -> dict[str, int]:
    """Return the sizes that the parts tell: labels by name, the bounds of instances, preferences."""
    prefs = parts.get("prefs")
    sizes = {}
    for name in COUNTED:
        known = parts.get(name)
        if isinstance(known, Sized) and not isinstance(known, str):
            sizes[name] = len(known)
        elif isinstance(n := getattr(prefs, f"n_{name}", None), int):
            sizes[name] = n
    bounds = parts.get("slot_ptr")
    if bounds is not None and "instances" not in sizes:
        sizes["instances"] = len(bounds) - 1
    return sizes


def _shown(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else repr(value)
