"""Public functions and methods document their parameters and results in numpydoc sections, and their examples run."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

import concordant as cc
from concordant import registry
from concordant.params import params_of

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "python.md"
REGISTERED = (registry.METHODS, registry.LEARNERS, registry.LOSSES, registry.RECOMMENDERS, registry.METRICS)
MODULES = ("analysis.crowd", "learn", "metrics", "recommend", "simulate", "views")
EXAMPLES = (
    "api", "evaluation", "labels", "params", "preferences", "ranking", "views", "analysis.comparing", "analysis.crowd",
    "analysis.fusing", "analysis.groups.rank_groups", "metrics.significance", "metrics.value", "metrics.distance",
    "metrics.retrieval", "reporting", "recommend._splitting", "recommend._base", "learn._base",
    *(f"simulate.{name}" for name in ("mallows", "plackett_luce", "bradley_terry", "mpm", "drifting")),
)  # fmt: skip


def named(dotted: str) -> Any:
    """Return the object that "concordant.module.name" names."""
    module, _, name = dotted.rpartition(".")
    return getattr(importlib.import_module(module), name)


def public_objects() -> dict[str, Any]:
    """Public functions and classes by their dotted names."""
    listed = re.findall(r"\.\. auto(?:class|function):: concordant\.([\w.]+)", PAGE.read_text(encoding="utf-8"))
    found = {name: named(f"concordant.{name}") for name in listed}
    found |= {f"{home}.{name}": getattr(cc, name) for name, home in cc._HOME.items()}
    for module in MODULES:
        loaded = importlib.import_module(f"concordant.{module}")
        names = [name for name in getattr(loaded, "__all__", dir(loaded)) if not name.startswith("_")]
        found |= {f"{module}.{name}": getattr(loaded, name) for name in names}
    classes = {f"{kind.home}.{name}": kind.load(name) for kind in REGISTERED for name in kind.modules()}
    every = {name: value for name, value in (found | classes).items() if is_of_package(value)}
    return {name: value for name, value in every.items() if not (isinstance(value, type) and is_error(value))}


def is_of_package(value: Any) -> bool:
    is_defined = inspect.isfunction(value) or isinstance(value, type)
    return is_defined and value.__module__.startswith("concordant.")


def is_error(cls: type) -> bool:
    return issubclass(cls, BaseException)


def public_functions() -> dict[str, Callable[..., Any]]:
    """Public functions, and public methods of public classes, by the place of their definition."""
    found = {}
    for value in public_objects().values():
        for function in [value] if inspect.isfunction(value) else methods_of(value):
            found[f"{function.__module__}.{function.__qualname__}"] = function
    return found


def methods_of(cls: type) -> Iterator[Any]:
    """Methods that a class or a base class of this package defines, without properties."""
    for base in cls.__mro__:
        if base.__module__.startswith("concordant."):
            for name, value in vars(base).items():
                function = getattr(value, "__func__", value)
                if not name.startswith("_") and inspect.isfunction(function) and not is_property(value):
                    yield inspect.unwrap(function)


def is_property(value: object) -> bool:
    return isinstance(value, property | cached_property)


def section(doc: str, title: str) -> str:
    """Return the text of one numpydoc section, empty where there is none."""
    found = re.search(rf"^{title}\n-{{{len(title)}}}\n(.*?)(?=^\w[\w ]+\n---|\Z)", doc, re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


def documented(doc: str) -> set[str]:
    """Return the parameters that the Parameters section names."""
    heads = re.findall(r"^(\S[^:\n]*) :", section(doc, "Parameters"), re.MULTILINE)
    return {name.strip().lstrip("*\\") for head in heads for name in head.split(",")}


def parameters(function: Callable[..., Any]) -> set[str]:
    code = function.__code__
    n_named = code.co_argcount + code.co_kwonlyargcount
    n_more = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return set(code.co_varnames[: n_named + n_more]) - {"self", "cls"}


def gaps(function: Callable[..., Any]) -> set[str]:
    """Return what the docstring of a function lacks."""
    doc = inspect.cleandoc(function.__doc__ or "")
    lacking = parameters(function) - documented(doc)
    returns = function.__annotations__.get("return")
    has_result = returns not in (None, "None", "NoReturn")
    if has_result and not (section(doc, "Returns") or section(doc, "Yields")):
        lacking.add("Returns")
    return lacking


def test_public_functions_document_their_parameters_and_results() -> None:
    lacking = {name: sorted(gaps(function)) for name, function in public_functions().items()}
    assert {name: names for name, names in lacking.items() if names} == {}


@pytest.mark.parametrize("kind", REGISTERED, ids=lambda kind: kind.plural)
def test_docstrings_of_registered_classes_name_every_parameter(kind: registry.Kind[Any]) -> None:
    for name in kind.modules():
        cls = kind.load(name)
        assert {declared.name for declared in params_of(cls)} <= documented(inspect.getdoc(cls) or ""), name
