"""One measurement, in a process of its own: ``python -m benchmarks.child FAMILY NAME SIZE SIDE FOLDER HOW``.

- ``make``: leave the inputs, made from one seed, in the folder, for works whose first call is measured.
- ``warm``: one call to warm up (compilation just in time, caches), then up to five samples; short calls are repeated in
  a loop long enough to time. CPU seconds are user plus system, with children; memory is the peak above what the
  process held before the first call.
- ``first``: one call, the first thing this process does after it has loaded the inputs. Who started the process
  reads its CPU seconds, takes off what the inputs cost, and so counts imports, start and end.
- ``curve``: warm calls at all sizes of a curve, the least of a few samples each.
"""

from __future__ import annotations

import gc
import json
import math
import pickle
import resource
import statistics
import sys
from pathlib import Path
from typing import Any

from benchmarks.core import Inputs, LeftOutError, Task, find, rival_task

REPEATS = 5
SHORTEST = 0.1  # CPU seconds one sample should take
PATIENCE = 20.0  # CPU seconds after which no further sample is begun
LIMIT = 300  # CPU seconds one process may take
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
        return usage_bytes(resource.getrusage(resource.RUSAGE_SELF))


def usage_bytes(usage: resource.struct_rusage) -> int:
    """Return the peak that a usage tells of."""
    return usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def measure(task: Task, repeats: int = REPEATS, shortest: float = SHORTEST) -> tuple[dict[str, Any], Any]:
    """Time a task; return the figures and the result of the first call."""
    gc.collect()
    gc.freeze()
    forget_peak()
    baseline = peak_bytes()
    begin = cpu_seconds()
    result = task.call()
    samples: list[float] = []
    number = 1
    while len(samples) < repeats and not (samples and cpu_seconds() - begin > PATIENCE):
        gc.collect()
        start = cpu_seconds()
        for _ in range(number):
            task.call()
        spent = cpu_seconds() - start
        if not samples and spent < shortest / 2:
            number = math.ceil(number * min(shortest / max(spent, 1e-6), 1000))
        else:
            samples.append(spent / number)
    memory = max(peak_bytes() - baseline, usage_bytes(resource.getrusage(resource.RUSAGE_CHILDREN)))
    return {"seconds": statistics.median(samples), "samples": samples, "memory": memory}, result


def first(family: str, name: str, side: str, place: Path) -> dict[str, Any]:
    """Do the work once; the time is taken from outside."""
    inputs, loading = load(place)
    work = find(name, family)
    task = work.ours(inputs) if side == "ours" else rival_task(side, work, inputs)
    task.call()
    return {"loading": loading, "memory": max(peak_bytes(), usage_bytes(resource.getrusage(resource.RUSAGE_CHILDREN)))}


def curve(family: str, name: str, size_name: str) -> dict[str, Any]:
    """Measure every size of a curve."""
    given = find(name, family)
    points = []
    for size in given.sizes[size_name]:
        figures, _ = measure(given.ours(given.make(size, SEED)), repeats=3, shortest=0.02)
        points.append({"at": size[given.axis], "seconds": min(figures["samples"]), "memory": figures["memory"]})
    return {"points": points}


def load(folder: Path) -> tuple[Inputs, float]:
    """Load the inputs that were left in the folder; also return the CPU seconds this took."""
    start = cpu_seconds()
    inputs = pickle.loads((folder / "inputs.pickle").read_bytes())
    return inputs, cpu_seconds() - start


def main(family: str, name: str, size_name: str, side: str, folder: str, how: str) -> None:
    """Do one of the four, and leave figures.json, and answer.npz where there is an answer, in a folder."""
    place = Path(folder)
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))
    try:
        if how == "curve":
            figures = curve(family, name, size_name)
        elif how == "first":
            figures = first(family, name, side, place)
        else:
            work = find(name, family)
            if (place / "inputs.pickle").is_file():
                inputs, _ = load(place)
            else:
                inputs = work.make(work.sizes[size_name], SEED)
            if how == "make":
                (place / "inputs.pickle").write_bytes(pickle.dumps(inputs, protocol=5))
                return
            figures = warm(work, side, inputs, place)
    except LeftOutError as error:
        figures = {"left_out": str(error)}
    (place / "figures.json").write_text(json.dumps(figures))


def warm(work: Any, side: str, inputs: Inputs, place: Path) -> dict[str, Any]:
    """Measure one side and keep its answer."""
    import numpy as np

    task = work.ours(inputs) if side == "ours" else rival_task(side, work, inputs)
    figures, result = measure(task)
    np.savez(place / "answer.npz", **task.answer(result))  # type: ignore[arg-type]
    return figures


if __name__ == "__main__":
    main(*sys.argv[1:])
