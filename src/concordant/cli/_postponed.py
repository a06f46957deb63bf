"""Lazy import of modules that a library imports but rarely uses.

``import sklearn`` takes more than a CPU second, and pandas, ``scipy.stats`` and NumPy's tools for tests and for Fortran
account for half of it; a command that trains a ranker or scores rows uses none of them. While ``postponed`` is active,
``import pandas`` returns a placeholder that imports the real module on first attribute access; afterwards imports work
normally. For the command line only: a library must not replace modules in the user's process.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType


class _StandIn(ModuleType):
    """A placeholder module that loads the real one on attribute access."""

    def __getattr__(self, name: str) -> object:
        self.leave()
        return getattr(import_module(self.__name__), name)

    def enter(self) -> None:
        """Replace the real module, also as an attribute of its package."""
        sys.modules[self.__name__] = self
        package, _, name = self.__name__.rpartition(".")
        if package:
            setattr(sys.modules[package], name, self)

    def leave(self) -> None:
        """Remove the placeholder, unless the real module has replaced it."""
        package, _, name = self.__name__.rpartition(".")
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        if package and vars(sys.modules[package]).get(name) is self:
            delattr(sys.modules[package], name)


@contextmanager
def lean_scikit_learn() -> Iterator[None]:
    """Import scikit-learn without the modules that rankers rarely use."""
    with postponed("pandas", "scipy.stats", "numpy.f2py", "numpy.testing"):
        yield


@contextmanager
def postponed(*names: str) -> Iterator[None]:
    """Replace modules that are installed but not loaded by placeholders within this context."""
    stand_ins = [_StandIn(name) for name in names if name not in sys.modules and find_spec(name) is not None]
    for stand_in in stand_ins:
        stand_in.enter()
    try:
        yield
    finally:
        for stand_in in stand_ins:
            stand_in.leave()
