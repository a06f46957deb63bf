"""Pictures of the guide that the command draws from the shipped examples, written at build time."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

# The file below docs/guide/pictures, and the command that writes it; {} is the file.
PICTURES = {
    "stv-flow.svg": "rank council.csv --method stv --seats 3 --explain-picture {}",
    "mallows-matrix.svg": "rank election.csv --method mallows --plot-matrix {}",
}


def write(docs: Path) -> None:
    """Draw every picture, in the folder of the examples."""
    folder = docs / "guide" / "pictures"
    folder.mkdir(exist_ok=True)
    for name, command in PICTURES.items():
        words = shlex.split(command.format(shlex.quote(str(folder / name))))
        program = [sys.executable, "-m", "concordant", *words]
        subprocess.run(program, cwd=docs.parent / "examples", check=True, capture_output=True)


def setup(app: Any) -> dict[str, bool]:
    """Draw the pictures before Sphinx reads the pages."""
    app.connect("config-inited", lambda app, _: write(Path(app.srcdir)))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
