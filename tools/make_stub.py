"""Write src/concordant/__init__.pyi from the table of public names and the files of the methods.

Functions that take declared options (``concordant.tables.options``) are spelled out, so that editors complete and
check them.

Run it after adding a public name or a method: ``python tools/make_stub.py``. With ``--check`` it only says whether
the file is up to date.
"""

from __future__ import annotations

import inspect
from types import FunctionType

from _generated import ROOT, keep

import concordant
from concordant import registry

TARGET = ROOT / "src" / "concordant" / "__init__.pyi"


def stub() -> str:
    """Return the text of the stub: every public name, imported from where it lives or spelled out."""
    imports = [("concordant.io", "Paths"), ("concordant.io.formats.features", "Features")]
    functions: list[str] = []
    for name, module in concordant._HOME.items():
        if hasattr(function := getattr(concordant, name), "__signature__") and inspect.isfunction(function):
            functions += spelled(function)
        else:
            imports.append((f"concordant.{module}", f"{name} as {name}"))
    for method, module in registry.modules().items():
        name = registry.load(method).__name__
        imports.append((module, f"{name} as {name}"))
    lines = ['"""Public names of concordant. Written by tools/make_stub.py: do not edit."""', ""]
    lines += ["from collections.abc import Sequence", "from typing import Any", ""]
    for name, home in concordant._MODULES.items():
        imports.append((f"concordant.{home}".rpartition(".")[0], f"{name} as {name}"))
    lines += [f"from {module} import {name}" for module, name in sorted(imports)]
    return "\n".join([*lines, "", "__version__: str", "", *functions, ""])


def spelled(function: FunctionType) -> list[str]:
    """Return the lines of a function with all the options it takes."""
    given = list(inspect.signature(function).parameters.values())
    keywords = [f"    {one.name}: {one.annotation} = ...," for one in given if one.kind is one.KEYWORD_ONLY]
    first = [f"    {one.name}: {one.annotation}," for one in given if one.kind is not one.KEYWORD_ONLY]
    return [f"def {function.__name__}(", *first, "    *,", *keywords, f") -> {function.__annotations__['return']}: ..."]


if __name__ == "__main__":
    raise SystemExit(keep(TARGET, stub()))
