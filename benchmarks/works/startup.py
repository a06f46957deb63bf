"""What a user waits for before anything happens. Meaningful in an installation that is not editable."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.core import Answer, Inputs, Size, Task, Work, sizes

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"
NUMPY = 0.1
PYTHON = [sys.executable]
COMMAND = [str(Path(sys.executable).with_name("concordant"))]


def make(_size: Size, _seed: int) -> Inputs:
    """Need nothing."""
    return {}


def has_ended(_ours: Answer, _theirs: Answer) -> bool:
    """Say yes: a process that fails has raised an error, and there is nothing else to compare."""
    return True


def work(name: str, doc: str, command: list[str], budget: float) -> Work:
    """Declare the start of a process as a work.

    The budget holds on the machine of the published figures, where ``import numpy`` takes ``NUMPY`` CPU seconds; their
    ratio holds anywhere.
    """

    def ours(_inputs: Inputs) -> Task:
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return Task(lambda: subprocess.run(command, check=True, cwd=EXAMPLES, **quiet))

    goals = {"import_numpy": round(NUMPY / budget, 2)}
    return Work(
        name, doc, sizes("processes", tiny=(1,), small=(1,), full=(1,)), make, ours, goals, has_ended, budget=budget
    )


def command(name: str, line: str, budget: float) -> Work:
    """Declare a command on files of examples/ as a work."""
    return work(f"startup-{name}", f"concordant {line}", [*COMMAND, *line.split()], budget)


WORKS = (
    work("startup-import", "import concordant", [*PYTHON, "-c", "import concordant"], 0.05),
    command("help", "--help", 0.12),
    command("rank", "rank election.csv --method borda", 0.25),
    command("pairs", "rank model-votes.csv", 0.25),
    command("describe", "describe model-votes.csv", 0.3),
    command("evaluate", "evaluate runs/engine1.run runs/engine2.run --labels qrels.txt --metric map", 0.3),
    command("learners", "learners", 0.25),
    command("train", "train letor/train.txt", 1.0),
)
