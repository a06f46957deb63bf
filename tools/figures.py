"""Run a command and write what came out as its row of the table in docs/develop/reliability.md.

    python tools/figures.py python tools/faults.py arrow 400
    python tools/figures.py python3 dev.py test

A command that prints a row of its own (``| what was done | what happened | …``) is taken at its word; of another one
the last line is kept. The row ends with the processor minutes and the minutes it took, and replaces the row of the same
command.
"""

from __future__ import annotations

import resource
import shlex
import subprocess
import sys
import time
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "develop" / "reliability.md"
KNOWN = {
    "python3 dev.py test": "all tests",
    "python3 dev.py sanitize": "kernel tests and readers under the address and the undefined behaviour sanitizer",
    "python3 dev.py build": "compiling all kernels from scratch",
}


def measure(command: list[str]) -> tuple[int, str]:
    """Run a command with its output shown; return its exit code and its row."""
    name, start = shlex.join(command), time.perf_counter()
    lines = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line.strip())
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = f"{(used.ru_utime + used.ru_stime) / 60:.1f} processor minutes in {(time.perf_counter() - start) / 60:.1f}"
    rows = [line for line in lines if line.startswith("| ")]
    said = [cell.strip() for cell in rows[-1].strip("|").split("|")] if rows else [KNOWN.get(name, name), last(lines)]
    return process.returncode, f"| {said[0]} | {said[1]}; {took} minutes | `{name}` |"


def last(lines: list[str]) -> str:
    """Return the last line that says something."""
    return next((line.strip("= ") for line in reversed(lines) if line.strip("= ")), "nothing said")


def write(row: str) -> None:
    """Put a row in the place of the one with the same command, or behind all others."""
    lines, command = PAGE.read_text(encoding="utf-8").splitlines(), row.split("|")[-2]
    table = [number for number, line in enumerate(lines) if line.startswith("| ")]
    same = [number for number in table if lines[number].split("|")[-2] == command]
    if same:
        lines[same[0]] = row
    else:
        lines.insert(table[-1] + 1, row)
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    code, found = measure(sys.argv[1:])
    if code == 0:
        write(found)
    sys.exit(code)
