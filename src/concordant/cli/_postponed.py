"""Modules that a library names when it is imported, loaded only when something in them is used.

``import sklearn`` takes more than a CPU second, and pandas, ``scipy.stats`` and NumPy's tools for tests and for Fortran
are half of it; a command that trains a ranker or scores rows uses none of them. While ``postponed`` is open,
``import pandas`` finds a stand-in that imports the real module on the first look at one of its names; afterwards
imports are what they were. For the command line only: in somebody else's process modules are not ours to replace.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType


class _StandIn(ModuleType):
    """A module that asks the real one for its names."""

    def __getattr__(self, name: str) -> object:
        self.leave()
        return getattr(import_module(self.__name__), name)

    def enter(self) -> None:
        """Take the place of the real module, in its package, too."""
        sys.modules[self.__name__] = self
        package, _, name = self.__name__.rpartition(".")
        if package:
            setattr(sys.modules[package], name, self)

    def leave(self) -> None:
        """Give the place free again, unless the real module has taken it."""
        package, _, name = self.__name__.rpartition(".")
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        if package and vars(sys.modules[package]).get(name) is self:
            delattr(sys.modules[package], name)


@contextmanager
def lean_scikit_learn() -> Iterator[None]:
    """Let scikit-learn be imported without what it names and rankers hardly use."""
    with postponed("pandas", "scipy.stats", "numpy.f2py", "numpy.testing"):
        yield


@contextmanager
def postponed(*names: str) -> Iterator[None]:
    """Replace modules that are installed but not loaded by stand-ins within this context."""
    stand_ins = [_StandIn(name) for name in names if name not in sys.modules and find_spec(name) is not None]
    for stand_in in stand_ins:
        stand_in.enter()
    try:
        yield
    finally:
        for stand_in in stand_ins:
            stand_in.leave()
