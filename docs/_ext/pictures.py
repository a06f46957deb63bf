"""Pictures of the guide, drawn by the ``concordant`` command from ``examples/`` when the pages are built.

Each is what the command shown on its page writes. They are not kept in the repository.
"""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"
LEAGUE = ["league.csv", "--time", "date"]
PICTURES = {
    "borda.svg": ["election.csv", "--method", "borda", "--plot"],
    "council.svg": ["council.csv", "--method", "stv", "--seats", "3", "--explain-picture"],
    "history.svg": [*LEAGUE, "--method", "glicko2", "--history-items", "Ama,Bo,Cleo", "--plot-history"],
    "lunch.svg": ["lunch-form.csv", "--plot"],
    "whole-history.svg": [*LEAGUE, "--method", "whole-history", "--history-items", "Ama,Cleo", "--plot-history"],
}


def draw(folder: Path) -> None:
    """Draw the pictures into a folder."""
    from concordant.cli.__main__ import main

    folder.mkdir(exist_ok=True)
    for name, (file, *options) in PICTURES.items():
        target, words = folder / name, ["rank", str(EXAMPLES / file), *options]
        said = io.StringIO()
        try:
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                main([*words, str(target)])
        except SystemExit as stopped:
            if stopped.code:
                raise RuntimeError(f"{name}: {said.getvalue()}") from None


def setup(app: Any) -> dict[str, bool]:
    """Draw before Sphinx looks for images."""
    app.connect("config-inited", lambda app, _: draw(Path(app.srcdir) / "_pictures"))
    return {"parallel_read_safe": True}
