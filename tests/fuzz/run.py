"""Run fuzzing cases in processes with limits: python -m tests.fuzz.run CASES [--first N] or --minutes M.

Each process has at most 5 s of processor time per case and a bounded address space; a process that dies takes one case
with it, the next one goes on behind it. Bad cases are saved as files in tests/fuzz/regressions, where the tests read
them from then on. ``--of models`` damages model files, and uses those that still load. The last line is a row for
tools/figures.py and docs/develop/reliability.md.
"""

from __future__ import annotations

import argparse
import importlib
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

SECONDS, ADDRESS_SPACE = 5, 6 << 30
SHARED = "CONCORDANT_FUZZ_SEEDS"  # names a folder in which processes share what takes long to make
REGRESSIONS = Path(__file__).parent / "regressions"


def cases_of(name: str) -> ModuleType:
    """Return the module that makes and runs cases: ``cases`` (data files) or ``models``."""
    return importlib.import_module(f"tests.fuzz.{name}")


# ---- inside a worker ----
def work(of: str, first: int, step: int, until: float) -> None:
    """Run cases one after the other, saying which one begins; killed by the system where one takes too long."""
    if "CONCORDANT_SANITIZED" not in os.environ:  # sanitizers reserve terabytes of addresses
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    cases, number = cases_of(of), first
    with tempfile.TemporaryDirectory() as folder:
        while time.time() < until:  # the wall clock ends a long run, never a case
            print("begin", number, flush=True)
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            start = time.process_time()
            try:
                outcome = cases.run(number, Path(folder))
            except BaseException as problem:
                outcome = f"foreign {type(problem).__name__}: {str(problem)[:200]!r}"
            signal.setitimer(signal.ITIMER_PROF, 0)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
            print("end", number, f"{time.process_time() - start:.3f}", peak, outcome, flush=True)
            number += step


# ---- the supervisor ----
@dataclass
class Seen:
    """What happened in all cases so far."""

    of: str = "cases"
    outcomes: Counter[str] = field(default_factory=Counter)
    formats: set[str] = field(default_factory=set)
    bad: dict[int, str] = field(default_factory=dict)
    slowest: float = 0.0
    peak: int = 0

    @property
    def row(self) -> str:
        """Sum up as one row of the table."""
        said = (
            f"{self.outcomes['dead']} dead processes, {self.outcomes['hang']} hangs, {self.outcomes['NaN']} results "
            f"that are not finite, {self.outcomes['foreign']} foreign exceptions, "
            f"{self.outcomes['refused']:,} refused in a sentence, {self.outcomes['read']:,} still readable, "
            f"slowest {self.slowest:.1f} s of processor time, peak {self.peak} MB"
        )
        count = sum(self.outcomes.values())
        return f"| {count:,} {cases_of(self.of).WHAT.format(seeds=len(self.formats))} | {said} |"


def supervise(worker: int, workers: int, first: int, last: int, until: float, seen: Seen) -> None:
    """Run every ``workers``-th case, starting a new process behind each case that killed one."""
    number = first + worker
    while number < last and time.time() < until:
        command = [sys.executable, "-m", "tests.fuzz.run", "--work", seen.of, str(number), str(workers), str(until)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert process.stdout is not None
        open_case = None
        for line in process.stdout:
            if not line.startswith(("begin ", "end ")):
                continue  # a library that prints
            kind, case, *rest = line.split(maxsplit=4)
            number = int(case)
            if kind == "begin":
                open_case = number
                if number >= last:
                    break
                continue
            open_case = None
            take(seen, number, float(rest[0]), int(rest[1]), rest[2].strip())
        process.kill()
        process.communicate()
        if open_case is not None and open_case < last and time.time() < until:
            ended = -process.returncode
            take(seen, open_case, 0.0, 0, "hang" if ended == signal.SIGPROF else f"dead by signal {ended}")
        number += workers


def take(seen: Seen, number: int, seconds: float, peak: int, outcome: str) -> None:
    """Count a finished case; keep a bad one."""
    seen.outcomes[outcome.split()[0]] += 1
    name = cases_of(seen.of).name_of(number)
    seen.formats.add(name)
    seen.slowest, seen.peak = max(seen.slowest, seconds), max(seen.peak, peak)
    if outcome not in ("read", "refused"):
        seen.bad[number] = outcome
        print(f"case {number} ({name}): {outcome}", flush=True)


def main() -> int:
    """Run cases from the command line; exit code 1 where one was bad."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", type=int, nargs="?", default=10_000, help="how many cases")
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--minutes", type=float, help="run for this long instead, from a case that depends on the day")
    parser.add_argument("--save", action="store_true", help="save bad cases in tests/fuzz/regressions")
    parser.add_argument("--of", choices=("cases", "models"), default="cases", help="data files, or models")
    parser.add_argument("--each", action="store_true", help="count the cases by seed, not in all")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as shared:
        os.environ[SHARED] = shared
        return run(options)


def run(options: argparse.Namespace) -> int:
    """Run the cases asked for, in as many processes as there are processors."""
    cases = cases_of(options.of)
    until = time.time() + (60 * options.minutes if options.minutes else 1e9)
    first, count = (int(time.time()) * 1000, 10**9) if options.minutes else (options.first, options.cases)
    n_seeds = len(cases.seeds())  # made before the workers read them
    count *= n_seeds if options.each else 1
    seen, workers = Seen(options.of), os.cpu_count() or 1
    with ThreadPoolExecutor(workers) as pool:
        jobs = [pool.submit(supervise, k, workers, first, first + count, until, seen) for k in range(workers)]
        for job in jobs:
            job.result()
    for number in seen.bad if options.save else ():
        name, content, _ = cases.make(number)
        kept = "model.zip" if options.of == "models" else name
        (REGRESSIONS / f"{number}-{kept}").write_bytes(content)
    print(seen.row)
    return 1 if seen.bad else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        work(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5]))
    else:
        sys.exit(main())
