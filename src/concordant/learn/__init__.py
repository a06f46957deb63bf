"""Rankers that learn from features: scikit-learn estimators with queries.

>>> from concordant.learn import RankNet
>>> X, y, qid = [[0.1], [0.9], [0.2], [0.8]], [0, 1, 0, 1], [1, 1, 2, 2]
>>> RankNet().fit(X, y, qid=qid).predict([[0.3], [0.7]]).argmax()
1

Every estimator is one file of this folder and is found by its name, like a method of ``aggregate``.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from functools import lru_cache

from concordant.errors import ConcordantError


@lru_cache(maxsize=1)
def modules() -> Mapping[str, str]:
    """Map the name of every estimator ("rank-svm") to its module, without importing any."""
    stems = sorted(entry.name[:-3] for entry in os.scandir(os.path.dirname(__file__)) if entry.name.endswith(".py"))
    return {stem.replace("_", "-"): f"{__name__}.{stem}" for stem in stems if not stem.startswith("_")}


def load(name: str) -> type:
    """Return the class of an estimator by its exact name ("rank-svm")."""
    try:
        module = importlib.import_module(modules()[name])
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != "sklearn":
            raise
        raise ConcordantError("Learning needs scikit-learn: install it with pip install 'concordant[learn]'.") from None
    wanted = name.replace("-", "")
    for attribute, value in vars(module).items():
        if isinstance(value, type) and attribute.lower() == wanted and value.__module__ == module.__name__:
            return value
    raise ConcordantError(f"{module.__name__} defines no class named like its file: name the class after it.")


def __getattr__(name: str) -> object:
    known = next((stem for stem in modules() if stem.replace("-", "") == name.lower()), None)
    if known is None or load(known).__name__ != name:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = load(known)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted([*globals(), *(load(name).__name__ for name in modules())])
