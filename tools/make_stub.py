"""Write src/concordant/__init__.pyi from the table of public names and the files of the methods.

Run it after adding a public name or a method: ``python tools/make_stub.py``. With ``--check`` it only says whether
the file is up to date.
"""

from __future__ import annotations

import sys
from pathlib import Path

import concordant
from concordant import registry

TARGET = Path(__file__).resolve().parent.parent / "src" / "concordant" / "__init__.pyi"


def stub() -> str:
    """Return the text of the stub: every public name, imported from where it lives."""
    homes: dict[str, list[str]] = {}
    for name, module in concordant._HOME.items():
        homes.setdefault(f"concordant.{module}", []).append(name)
    for method, module in registry.modules().items():
        homes.setdefault(module, []).append(registry.load(method).__name__)
    lines = ['"""Public names of concordant. Written by tools/make_stub.py: do not edit."""', ""]
    lines += [f"from concordant import {name} as {name}" for name in sorted(concordant._MODULES)]
    for module in sorted(homes):
        lines += [f"from {module} import {name} as {name}" for name in sorted(homes[module])]
    return "\n".join([*lines, "", "__version__: str", ""])


def main() -> int:
    """Write the stub, or check it."""
    text = stub()
    if "--check" in sys.argv[1:]:
        if TARGET.is_file() and TARGET.read_text(encoding="utf-8") == text:
            return 0
        print(f"{TARGET} is out of date: run python tools/make_stub.py", file=sys.stderr)
        return 1
    TARGET.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
