"""What a user waits for before anything happens. Meaningful in an installation that is not editable."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.core import Inputs, Size, Task, Work, sizes

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"
PYTHON = [sys.executable]
COMMAND = [str(Path(sys.executable).with_name("concordant"))]


def make(_size: Size, _seed: int) -> Inputs:
    """Need nothing."""
    return {}


def work(name: str, doc: str, command: list[str], budget: float) -> Work:
    """Declare the start of a process as a work."""

    def ours(_inputs: Inputs) -> Task:
        return Task(lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL))

    return Work(name, doc, sizes("processes", tiny=(1,), small=(1,), full=(1,)), make, ours, budget=budget)


WORKS = (
    work("startup-import", "import concordant", [*PYTHON, "-c", "import concordant"], 0.05),
    work("startup-help", "concordant --help", [*COMMAND, "--help"], 0.12),
    work(
        "startup-rank",
        "concordant rank on a small csv",
        [*COMMAND, "rank", str(EXAMPLES / "election.csv"), "--method", "borda"],
        0.35,
    ),
)
