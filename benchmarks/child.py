"""One measurement, in a process of its own: ``python -m benchmarks.child WORK SIZE SIDE FOLDER``.

Inputs are made here, from the same seed for every side. After one warm-up call (compilation just in time,
caches) the call is repeated five times; short calls are repeated in a loop long enough to time. CPU seconds
are user plus system, with children; memory is the peak above what the process held before the first call.
"""

from __future__ import annotations

import gc
import json
import math
import resource
import statistics
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.core import LeftOutError, Task, find, rival_task

REPEATS = 5
SHORTEST = 0.1  # CPU seconds one sample should take
SEED = 20260101


def cpu_seconds() -> float:
    """Return user and system time of this process and its finished children."""
    usages = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def forget_peak() -> None:
    """Let the peak start anew at the present memory (Linux only; elsewhere the inputs' peak stays in it)."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def peak_bytes() -> int:
    """Return the most memory this process has held since forget_peak."""
    try:
        status = Path("/proc/self/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) * 1024
    except (OSError, IndexError):
        return _usage_bytes(resource.RUSAGE_SELF)


def _usage_bytes(who: int) -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(who).ru_maxrss * unit


def measure(task: Task) -> tuple[dict[str, Any], Any]:
    """Time a task; return the figures and the result of the first call."""
    gc.collect()
    gc.freeze()
    forget_peak()
    baseline = peak_bytes()
    result = task.call()
    start = cpu_seconds()
    task.call()
    number = max(1, math.ceil(SHORTEST / max(cpu_seconds() - start, 1e-6)))
    samples = []
    for _ in range(REPEATS):
        gc.collect()
        start = cpu_seconds()
        for _ in range(number):
            task.call()
        samples.append((cpu_seconds() - start) / number)
    memory = max(peak_bytes() - baseline, _usage_bytes(resource.RUSAGE_CHILDREN))
    return {"seconds": statistics.median(samples), "samples": samples, "memory": memory}, result


def main(work_name: str, size_name: str, side: str, folder: str) -> None:
    """Measure one side and leave figures.json and answer.npz in a folder."""
    work = find(work_name)
    inputs = work.make(work.sizes[size_name], SEED)
    try:
        task = work.ours(inputs) if side == "ours" else rival_task(side, work, inputs)
    except LeftOutError as error:
        figures: dict[str, Any] = {"left_out": str(error)}
    else:
        figures, result = measure(task)
        np.savez(Path(folder) / "answer.npz", **task.answer(result))  # type: ignore[arg-type]
    (Path(folder) / "figures.json").write_text(json.dumps(figures))


if __name__ == "__main__":
    main(*sys.argv[1:])
