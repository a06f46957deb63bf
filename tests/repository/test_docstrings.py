"""Public functions and methods document their parameters and results in numpydoc sections, and their examples run."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pickle
import pydoc
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

import pytest

import concordant as cc
from concordant import registry
from concordant.params import written_doc

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "python.md"
DOCUMENTED = (registry.METHODS, registry.LEARNERS, registry.LOSSES, registry.RECOMMENDERS, registry.METRICS)
WITH_MEMBERS = (registry.LEARNERS, registry.RECOMMENDERS, registry.SIMULATORS)  # whose pages list all functions
MODULES = ("analysis.crowd", "metrics", "simulate", "views")
PACKAGES = ("", "learn", "metrics", "metrics.distances", "metrics.relevance", "recommend", "simulate")
FURTHER = (
    "datasets",
    "io",
    "saving",
    "analysis.comparing",
    "analysis.crowd",
    "analysis.fusing",
    "analysis.groups.rank_groups",
)


def named(dotted: str) -> Any:
    """Return the object that "concordant.module.name" names."""
    module, _, name = dotted.rpartition(".")
    return getattr(importlib.import_module(module), name)


def public_objects() -> list[Any]:
    """Public functions and classes."""
    listed = re.findall(r"\.\. auto(?:class|function):: (concordant\.[\w.]+)", PAGE.read_text(encoding="utf-8"))
    found = [*map(named, listed), *(getattr(cc, name) for name in cc._HOME)]
    for module in (importlib.import_module(f"concordant.{name}") for name in MODULES):
        names = getattr(module, "__all__", None) or [name for name in vars(module) if is_defined_in(module, name)]
        found += [getattr(module, name) for name in names]
    found += [kind.load(name) for kind in WITH_MEMBERS for name in kind.modules()]
    return [value for value in found if is_of_package(value) and not is_error(value)]


def is_defined_in(module: ModuleType, name: str) -> bool:
    return not name.startswith("_") and getattr(vars(module)[name], "__module__", "") == module.__name__


def is_of_package(value: Any) -> bool:
    is_defined = inspect.isfunction(value) or isinstance(value, type)
    return is_defined and value.__module__.startswith("concordant.")


def is_error(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, BaseException)


def public_functions() -> dict[str, Callable[..., Any]]:
    """Public functions, and public methods of public classes, by the place of their definition."""
    found = {}
    for value in public_objects():
        for function in [inspect.unwrap(value)] if inspect.isfunction(value) else methods_of(value):
            found[f"{function.__module__}.{function.__qualname__}"] = function
    return found


def methods_of(cls: type) -> Iterator[Any]:
    """Methods of a class, each from the base class that introduces it: overrides need no sections."""
    introduced = {}
    for base in cls.__mro__:
        if base.__module__.startswith("concordant."):
            introduced |= {name: value for name, value in vars(base).items() if not name.startswith("_")}
    for value in introduced.values():
        function = getattr(value, "__func__", value)
        if inspect.isfunction(function):
            yield inspect.unwrap(function)


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
    documented_apart = {
        "self",
        "cls",
        *(["options"] if hasattr(function, "__signature__") else []),
    }  # by ``takes_options``
    return set(code.co_varnames[: n_named + n_more]) - documented_apart


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


@pytest.mark.parametrize("kind", DOCUMENTED, ids=lambda kind: kind.plural)
def test_docstrings_of_registered_classes_name_every_parameter(kind: registry.Kind[Any]) -> None:
    for name in kind.modules():
        cls = kind.load(name)
        assert {field.name for field in fields(cls) if field.init} <= documented(inspect.getdoc(cls) or ""), name


def test_help_shows_the_parameters_of_a_method() -> None:
    text = pydoc.plain(pydoc.render_doc(cc.PlackettLuce))
    assert " |  prior : float or 'auto', default 'auto'\n |      Strength of the prior" in text
    assert "Must be between 0.01 and 0.9999." in text


def test_the_summary_of_a_method_has_no_sections() -> None:
    assert "Parameters" not in cc.PlackettLuce.summary()
    assert "Parameters" not in written_doc(cc.PlackettLuce)


def test_subclasses_describe_their_own_parameters() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Halving(cc.Borda):
        """Borda with another option.

        Examples
        --------
        >>> Halving().name
        """

        factor: float = cc.param(0.5, "factor per place", low=0.0)

    doc = inspect.getdoc(Halving) or ""
    assert "factor : float, default 0.5\n    Factor per place. Must be at least 0.\n\nExamples\n---" in doc
    assert "factor" not in (inspect.getdoc(cc.Borda) or "")
    assert pickle.loads(pickle.dumps(cc.Borda)) is cc.Borda


def test_classes_load_without_docstrings() -> None:
    code = "import concordant as cc; print(cc.Borda.__doc__)"
    printed = subprocess.run([sys.executable, "-OO", "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.startswith("Borda(")


def modules_with_examples() -> list[str]:
    found = [(package, module) for package in PACKAGES for module in iter_modules(folder_of(package))]
    names = [f"{package}.{module.name}".removeprefix(".") for package, module in found if not module.ispkg]
    return sorted({*PACKAGES, *names, *FURTHER} - {"__main__"})


def folder_of(package: str) -> Any:
    return importlib.import_module(f"concordant.{package}".rstrip(".")).__path__


@pytest.mark.once
def test_examples_of_docstrings_run() -> None:
    tried = 0
    for name in modules_with_examples():
        result = doctest.testmod(importlib.import_module(f"concordant.{name}".rstrip(".")))
        assert result.failed == 0, name
        tried += result.attempted
    assert tried > 50
