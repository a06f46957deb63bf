"""Measure works side by side and gather the rows of the report."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.core import Answer, Work, size_text

ROOT = Path(__file__).resolve().parent.parent
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
LIBRARIES = (
    "concordant",
    "numpy",
    "scipy",
    "pyarrow",
    "ranx",
    "numba",
    "pytrec-eval-terrier",
    "pyflagr",
    "evalica",
    "choix",
    "scikit-learn",
    "lightgbm",
    "torch",
)


@dataclass(frozen=True)
class Side:
    """What one side measured, or why it did not."""

    seconds: float | None = None
    memory: int | None = None
    answer: Answer | None = None
    note: str = ""


@dataclass(frozen=True)
class Row:
    """Concordant and one rival at the same work."""

    work: str
    size: str
    ours_seconds: float | None
    rival: str
    rival_seconds: float | None
    ratio: float | None
    """How many times the rival's CPU time is ours."""
    goal: float | None
    ours_memory: int | None
    rival_memory: int | None
    agree: bool | None
    note: str


def rows(work: Work, size_name: str, rivals: tuple[str, ...]) -> Iterator[Row]:
    """Measure a work at one size, ours first, then each rival; at least one row."""
    ours = measure(work, size_name, "ours")
    for rival in rivals:
        theirs = measure(work, size_name, rival)
        agree = None
        if work.agree and ours.answer is not None and theirs.answer is not None:
            agree = work.agree(ours.answer, theirs.answer)
        goal = work.rivals.get(rival) if size_name == "full" else None
        yield _row(work, size_name, ours, rival, theirs, goal, agree)
    if work.budget is not None:
        yield _row(work, size_name, ours, "budget", Side(work.budget), 1.0, None)
    elif not rivals:
        yield _row(work, size_name, ours, "", Side(), None, None)


def _row(
    work: Work, size_name: str, ours: Side, rival: str, theirs: Side, goal: float | None, agree: bool | None
) -> Row:
    both = ours.seconds and theirs.seconds
    return Row(
        work=work.name,
        size=size_text(work.sizes[size_name]),
        ours_seconds=ours.seconds,
        rival=rival,
        rival_seconds=theirs.seconds,
        ratio=theirs.seconds / ours.seconds if both else None,  # type: ignore[operator]
        goal=goal,
        ours_memory=ours.memory,
        rival_memory=theirs.memory,
        agree=agree,
        note="; ".join(filter(None, (ours.note and f"ours: {ours.note}", theirs.note))),
    )


def measure(work: Work, size_name: str, side: str) -> Side:
    """Measure one side in a process of its own."""
    env = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    env.update(dict.fromkeys(ONE_THREAD, "1"))
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "benchmarks.child", work.name, size_name, side, folder]
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, check=False)
        if done.returncode != 0:
            last = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["no message"]
            return Side(note=f"failed: {last[0][:200]}")
        figures = json.loads((Path(folder) / "figures.json").read_text())
        if "left_out" in figures:
            return Side(note=figures["left_out"])
        with np.load(Path(folder) / "answer.npz", allow_pickle=False) as stored:
            answer = dict(stored)
    return Side(figures["seconds"], figures["memory"], answer)


def environment() -> dict[str, Any]:
    """Describe where the figures were measured."""
    from concordant import kernels

    versions: dict[str, str | None] = {}
    for library in LIBRARIES:
        try:
            versions[library] = metadata.version(library)
        except metadata.PackageNotFoundError:
            versions[library] = None
    return {
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "cpus": os.cpu_count(),
        "kernels": kernels.active(),
        "versions": versions,
    }


def as_json(table: list[Row]) -> str:
    """Write the rows and where they were measured as JSON."""
    return json.dumps({"environment": environment(), "rows": [asdict(row) for row in table]}, indent=1)
