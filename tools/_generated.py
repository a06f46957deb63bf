"""Files of the repository that are written from the code: written anew, or with ``--check`` only compared."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def keep(target: Path, text: str) -> int:
    """Write a file; with ``--check`` on the command line only say whether it is up to date. Returns the exit code."""
    if "--check" not in sys.argv[1:]:
        target.write_text(text, encoding="utf-8")
        return 0
    if target.is_file() and target.read_text(encoding="utf-8") == text:
        return 0
    print(f"{target} is out of date: run python {Path(sys.argv[0]).as_posix()}", file=sys.stderr)
    return 1
