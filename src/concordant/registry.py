"""Finding methods by name.

A method is found because its file is there: names come from listing the folders of ``aggregate``, parameters from
importing that one module. Names match without case, dashes and underscores. Aliases are declared by the methods
themselves and looked at when no file matches; entry points of other packages (group ``concordant.methods``) come
last, so that an unknown name is the only thing that pays for scanning them.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from concordant.errors import ParameterError, UnknownNameError, suggest

if TYPE_CHECKING:
    from concordant.method import Method

ENTRY_POINTS = "concordant.methods"


def fold(name: str) -> str:
    """Return a name without case, dashes, underscores and spaces."""
    return name.replace("-", "").replace("_", "").replace(" ", "").lower()


@lru_cache(maxsize=1)
def modules() -> Mapping[str, str]:
    """Map the name of every built-in method to its module, without importing any."""
    root = os.path.join(os.path.dirname(__file__), "aggregate")
    found = {}
    for family in sorted(entry.name for entry in os.scandir(root) if entry.is_dir()):
        if family.startswith(("_", ".")):
            continue
        for entry in os.scandir(os.path.join(root, family)):
            stem, ending = os.path.splitext(entry.name)
            if ending == ".py" and not stem.startswith("_"):
                found[stem.replace("_", "-")] = f"concordant.aggregate.{family}.{stem}"
    return dict(sorted(found.items()))


@cache
def load(name: str) -> type[Method]:
    """Return the class of a method by its exact built-in name or its entry point."""
    if name in modules():
        module = importlib.import_module(modules()[name])
        for attribute, value in vars(module).items():
            if isinstance(value, type) and fold(attribute) == fold(name) and value.__module__ == module.__name__:
                return value
        raise UnknownNameError(f"{module.__name__} defines no class named like its file: name the class after it.")
    return _entry_points()[name]


@lru_cache(maxsize=1)
def _entry_points() -> Mapping[str, type[Method]]:
    from importlib.metadata import entry_points

    return {point.name: point.load() for point in entry_points(group=ENTRY_POINTS)}


@lru_cache(maxsize=1)
def aliases() -> Mapping[str, tuple[str, Mapping[str, object]]]:
    """Map every alias to (method, parameters it stands for); imports every method."""
    return {alias: (name, params) for name in names() for alias, params in load(name).aliases.items()}


def names() -> list[str]:
    """List all methods, built-in and of other packages."""
    return sorted({*modules(), *_entry_points()})


@cache
def resolve(name: str) -> tuple[str, Mapping[str, object]]:
    """Return (method name, preset parameters) for a name in any spelling, or raise UnknownNameError."""
    wanted = fold(name)
    for known in modules():
        if fold(known) == wanted:
            return known, {}
    for alias, target in aliases().items():
        if fold(alias) == wanted:
            return target
    for known in _entry_points():
        if fold(known) == wanted:
            return known, {}
    hint = suggest(name, [*names(), *aliases()])
    raise UnknownNameError(f"There is no method {name!r}.{hint} `concordant methods` lists them all.")


def make(name: str, **params: object) -> Method:
    """Return the method of this name with these hyper-parameters."""
    known, preset = resolve(name)
    cls = load(known)
    try:
        return cls(**{**preset, **params})
    except TypeError:
        from concordant.params import params_of

        declared = [p.name for p in params_of(cls)]
        stranger = next((key for key in params if key not in declared), None)
        if stranger is None:
            raise
        options = ", ".join(declared) or "none"
        hint = suggest(stranger, declared)
        raise ParameterError(f"{known} has no parameter {stranger!r} (it has: {options}).{hint}") from None
