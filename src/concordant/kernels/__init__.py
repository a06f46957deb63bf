"""Performance-critical functions: compiled C++ if it was built, otherwise NumPy.

Every kernel is a plain function on contiguous arrays with two implementations of the same name: in C++ (``_compiled``)
and in NumPy (``twins``). The NumPy reference serves as the test oracle, and as the fallback for installations without a
compiler. Only this module selects between them:

- ``CONCORDANT_KERNELS`` unset or ``auto``: compiled if built, else NumPy
- ``CONCORDANT_KERNELS=numpy``: always the NumPy references
- ``CONCORDANT_KERNELS=compiled``: an error if the build is missing
- ``CONCORDANT_KERNELS=checked``: compiled, and every argument of every call verified first (``checked``), for tests

Call kernels as ``kernels.<name>``, never by back end; this package imports only ``errors`` and ``types``.
"""

from __future__ import annotations

import os
from types import ModuleType
from typing import TYPE_CHECKING

from concordant.errors import ConcordantError

if TYPE_CHECKING:
    from concordant.kernels.twins import *  # noqa: F403


def _choose() -> ModuleType:
    """Return the module of the back end that ``CONCORDANT_KERNELS`` selects."""
    choice = os.environ.get("CONCORDANT_KERNELS", "auto").lower() or "auto"
    if choice not in ("auto", "numpy", "compiled", "checked"):
        raise ConcordantError(f"CONCORDANT_KERNELS must be 'auto', 'numpy', 'compiled' or 'checked', got {choice!r}.")
    if choice != "numpy":
        try:
            from concordant.kernels import _compiled

            if choice == "checked":
                from concordant.kernels import checked

                checked.install(_compiled)
            return _compiled
        except ImportError as error:
            if choice in ("compiled", "checked"):
                raise ConcordantError(
                    f"CONCORDANT_KERNELS={choice}, but the compiled kernels are not built: "
                    "install with a C++17 compiler, or unset the variable to use NumPy."
                ) from error
    from concordant.kernels import twins

    return twins


_backend = _choose()


def active() -> str:
    """Return the back end in use: ``"compiled"`` or ``"numpy"``."""
    return "numpy" if _backend.__name__.endswith(".twins") else "compiled"


def __getattr__(name: str) -> object:
    """Look up a kernel in the back end and cache it as an attribute of this module."""
    if name.startswith("__"):
        raise AttributeError(name)
    function = getattr(_backend, name)
    globals()[name] = function
    return function
