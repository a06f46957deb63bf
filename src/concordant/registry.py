"""Finding methods by name.

A method is found because its file is there: names come from listing the folders of ``aggregate``, parameters from
importing that one module. Names match without case, dashes and underscores. Aliases are declared by the methods
themselves and looked at when no file matches; methods of other packages (``plugins``) come last, so that an unknown
name is the only thing that pays for finding them.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from concordant import plugins
from concordant.errors import ConcordantError, ParameterError, UnknownNameError, suggest

if TYPE_CHECKING:
    from concordant.method import Method


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
    return _load_plugin(name)


def _load_plugin(name: str) -> type[Method]:
    from concordant.method import Method

    loaded = plugins.load(plugins.METHODS, name)
    if not isinstance(loaded, type) or not issubclass(loaded, Method):
        raise plugins.refusal(plugins.METHODS, name, "is no subclass of concordant.Method")
    if fold(loaded.__name__) != fold(name):
        raise plugins.refusal(plugins.METHODS, name, f"is a class of another name, {loaded.__name__}")
    return loaded


@lru_cache(maxsize=1)
def aliases() -> Mapping[str, tuple[str, Mapping[str, object]]]:
    """Map every alias of a built-in method to (method, parameters it stands for); imports them all."""
    return _aliases(list(modules()))


def _aliases(methods: list[str]) -> dict[str, tuple[str, Mapping[str, object]]]:
    return {alias: (name, params) for name in methods for alias, params in load(name).aliases.items()}


@lru_cache(maxsize=1)
def _plugin_aliases() -> Mapping[str, tuple[str, Mapping[str, object]]]:
    """Map the aliases of other packages' methods; a package that cannot be loaded has none."""
    found: dict[str, tuple[str, Mapping[str, object]]] = {}
    for name in plugin_names():
        try:
            found.update(_aliases([name]))
        except ConcordantError:
            continue
    return found


def plugin_names() -> list[str]:
    """List the methods of other packages; a built-in name cannot be taken over."""
    taken = {fold(name) for name in (*modules(), *aliases())}
    return sorted(name for name in plugins.found(plugins.METHODS) if fold(name) not in taken)


def names() -> list[str]:
    """List all methods, built-in and of other packages."""
    return sorted([*modules(), *plugin_names()])


def family(name: str) -> str:
    """Return the family of a built-in method, or the package another one comes from."""
    if name in modules():
        return modules()[name].split(".")[-2]
    return plugins.package_of(plugins.METHODS, name)


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
    for known in plugin_names():
        if fold(known) == wanted:
            return known, {}
    for alias, target in _plugin_aliases().items():
        if fold(alias) == wanted:
            return target
    hint = suggest(name, [*names(), *aliases(), *_plugin_aliases()])
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
