"""Measure works side by side and gather the rows of the report."""

from __future__ import annotations

import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.child import LIMIT, PATIENCE, REPEATS
from benchmarks.core import Answer, Curve, Work, family_of, size_text

ROOT = Path(__file__).resolve().parent.parent
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
FEW_POINTS = 5  # a parabola goes through three of them exactly
LIBRARIES = (
    "concordant",
    "numpy",
    "scipy",
    "pyarrow",
    "pandas",
    "polars",
    "duckdb",
    "ranx",
    "numba",
    "pytrec-eval-terrier",
    "pyflagr",
    "evalica",
    "choix",
    "pref-voting",
    "preflibtools",
    "scikit-learn",
    "lightgbm",
    "torch",
    "cornac",
    "scikit-surprise",
    "lenskit",
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
    call: str
    """``warm``, or ``first``: in a fresh process, imports included."""
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


@dataclass(frozen=True)
class CurveRow:
    """How the cost of one thing grew."""

    curve: str
    axis: str
    points: tuple[Mapping[str, float], ...]
    """``at``, ``seconds`` and ``memory`` of every size."""
    fitted: float | None
    """The exponent of the straight line through the logarithms."""
    exponent: float
    """The exponent that the maths says."""
    jump: float | None
    """How far the worst step to the next size is from that of a smooth curve, as a factor; None with few sizes."""
    note: str = ""


def rows(work: Work, size_name: str, rivals: tuple[str, ...]) -> Iterator[Row]:
    """Measure a work at one size, ours first, then each rival, warm and then, if wanted, in fresh processes."""
    with tempfile.TemporaryDirectory(prefix="concordant-bench-") as folder:
        place = Path(folder)
        calls: dict[str, Mapping[str, float | None]] = {"warm": work.rivals}
        if work.first is not None:
            calls["first"] = work.first
            failed = _child(work.name, size_name, "ours", place, "make").failed
            if failed:
                yield _row(work, size_name, "warm", Side(note=failed), "", Side(), None, None)
                return
        for call, goals in calls.items():
            yield from _rows_of_call(work, size_name, call, {rival: goals.get(rival) for rival in rivals}, place)


def _rows_of_call(
    work: Work, size_name: str, call: str, goals: Mapping[str, float | None], place: Path
) -> Iterator[Row]:
    ours = measure(work, size_name, "ours", place, call)
    for rival, goal in goals.items():
        theirs = measure(work, size_name, rival, place, call)
        agree = None
        if work.agree and ours.answer is not None and theirs.answer is not None:
            agree = work.agree(ours.answer, theirs.answer)
        yield _row(work, size_name, call, ours, rival, theirs, goal if size_name == "full" else None, agree)
    if work.budget is not None and call == "warm":
        yield _row(work, size_name, call, ours, "budget", Side(work.budget), 1.0, None)
    elif not goals:
        yield _row(work, size_name, call, ours, "", Side(), None, None)


def _row(
    work: Work,
    size_name: str,
    call: str,
    ours: Side,
    rival: str,
    theirs: Side,
    goal: float | None,
    agree: bool | None,
) -> Row:
    both = ours.seconds and theirs.seconds
    return Row(
        work=work.name,
        size=size_text(work.sizes[size_name]),
        call=call,
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


@dataclass(frozen=True)
class Ended:
    """A process that has ended: what it left, its CPU seconds, and what went wrong if something did."""

    figures: dict[str, Any]
    seconds: float
    failed: str = ""


def _child(name: str, size_name: str, side: str, place: Path, how: str) -> Ended:
    """Run one process and read its usage when it ends; it ends itself when it takes too long."""
    env = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    env.update(dict.fromkeys(ONE_THREAD, "1"), CONCORDANT_BENCH_FOLDER=str(place))
    figures = place / "figures.json"
    figures.unlink(missing_ok=True)
    command = [sys.executable, "-m", "benchmarks.child", family_of(name), name, size_name, side, str(place), how]
    with (place / "stderr").open("wb") as stderr:
        process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.DEVNULL, stderr=stderr)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = usage.ru_utime + usage.ru_stime
    if process.returncode in (-signal.SIGKILL, -signal.SIGXCPU):
        return Ended({}, seconds, f"no answer within {LIMIT} CPU s")
    if process.returncode != 0:
        said = (place / "stderr").read_text(errors="replace").strip().splitlines()[-1:] or ["no message"]
        return Ended({}, seconds, f"failed: {said[0][:200]}")
    return Ended(json.loads(figures.read_text()) if figures.is_file() else {}, seconds)


def measure(work: Work, size_name: str, side: str, place: Path, call: str) -> Side:
    """Measure one side, in a process of its own; first calls in several, one after the other."""
    samples: list[tuple[float, int]] = []
    spent = 0.0
    while len(samples) < (REPEATS if call == "first" else 1) and spent < PATIENCE:
        done = _child(work.name, size_name, side, place, call)
        if done.failed or "left_out" in done.figures:
            return Side(note=done.failed or done.figures["left_out"])
        spent += done.seconds
        samples.append((done.seconds - done.figures.get("loading", 0.0), done.figures["memory"]))
    if call == "first":
        return Side(statistics.median(one for one, _ in samples), max(peak for _, peak in samples))
    with np.load(place / "answer.npz", allow_pickle=False) as stored:
        return Side(done.figures["seconds"], done.figures["memory"], dict(stored))


def curve_row(curve: Curve, size_name: str) -> CurveRow:
    """Measure a curve and see how it grew."""
    with tempfile.TemporaryDirectory(prefix="concordant-bench-") as folder:
        done = _child(curve.name, size_name, "ours", Path(folder), "curve")
    if done.failed:
        return CurveRow(curve.name, curve.axis, (), None, curve.exponent, None, done.failed)
    points = tuple(done.figures["points"])
    at = np.array([point["at"] for point in points], float)
    cost = np.array([point["seconds"] for point in points])
    return CurveRow(curve.name, curve.axis, points, growth(at, cost), curve.exponent, jump(at, cost))


def growth(at: np.ndarray, cost: np.ndarray) -> float:
    """Return the exponent that fits best: the slope of the logarithms."""
    return float(np.polyfit(np.log(at), np.log(cost), 1)[0])


def jump(at: np.ndarray, cost: np.ndarray) -> float | None:
    """Return by what factor the worst step differs from that of a parabola through the logarithms."""
    if len(at) < FEW_POINTS:
        return None
    smooth = np.polyval(np.polyfit(np.log(at), np.log(cost), 2), np.log(at))
    return float(np.exp(np.abs(np.diff(np.log(cost)) - np.diff(smooth)).max()))


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


def as_json(table: list[Row], grown: list[CurveRow]) -> str:
    """Write the rows, the curves and where they were measured as JSON."""
    written = {"rows": [asdict(row) for row in table], "curves": [asdict(row) for row in grown]}
    return json.dumps({"environment": environment(), **written}, indent=1)
