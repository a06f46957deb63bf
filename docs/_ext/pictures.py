"""Pictures of the guide, drawn by the ``concordant`` command from ``examples/`` when the pages are built.

Each is what the command shown on its page writes. They are not kept in the repository.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

LEAGUE = ["league.csv", "--time", "date"]
PICTURES = {
    "borda.svg": ["election.csv", "--method", "borda", "--plot"],
    "council.svg": ["council.csv", "--method", "stv", "--seats", "3", "--explain-picture"],
    "history.svg": [*LEAGUE, "--method", "glicko2", "--history-items", "Ama,Bo,Cleo", "--plot-history"],
    "lunch.svg": ["lunch-form.csv", "--plot"],
    "mallows-matrix.svg": ["election.csv", "--method", "mallows", "--plot-matrix"],
    "whole-history.svg": [*LEAGUE, "--method", "whole-history", "--history-items", "Ama,Cleo", "--plot-history"],
}


def draw(docs: Path) -> None:
    """Draw every picture, in the folder of the examples."""
    folder = docs / "_pictures"
    folder.mkdir(exist_ok=True)
    for name, words in PICTURES.items():
        program = [sys.executable, "-m", "concordant", "rank", *words, str(folder / name)]
        subprocess.run(program, cwd=docs.parent / "examples", check=True, capture_output=True)


def setup(app: Any) -> dict[str, bool]:
    """Draw the pictures before Sphinx reads the pages."""
    app.connect("config-inited", lambda app, _: draw(Path(app.srcdir)))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
