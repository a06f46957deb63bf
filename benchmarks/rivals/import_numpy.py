"""The floor of every start: a process that imports NumPy and ends."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.core import Inputs, Task


def _start(_inputs: Inputs) -> Task:
    return Task(lambda: subprocess.run([sys.executable, "-c", "import numpy"], check=True))


def __getattr__(name: str) -> object:
    if name.startswith("startup_"):
        return _start
    raise AttributeError(name)
