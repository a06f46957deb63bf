"""Read the cells of a workbook with python-calamine, in this process or in one with resource limits.

``python -m concordant.support.workbooks BYTES SECONDS`` reads a workbook from standard input within these limits on
memory and CPU time, and writes its sheets as JSON.
"""

from __future__ import annotations

import io
import json
import sys
from typing import Any

from concordant.support import processes

MEMORY = 8 << 30  # bytes of address space
SECONDS = 300  # of processor time


def sheets_in(content: bytes) -> list[list[Any]]:
    """Return name, visibility, first filled position, cells and merged ranges of each sheet."""
    import python_calamine

    book = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(content))
    return [_sheet(book, about) for about in book.sheets_metadata if "WorkSheet" in str(about.typ)]


def _sheet(book: Any, metadata: Any) -> list[Any]:
    """Return name, visibility, first filled position, cells and merged ranges of one sheet."""
    sheet = book.get_sheet_by_name(metadata.name)
    is_shown = str(metadata.visible).endswith(".Visible")
    return [metadata.name, is_shown, sheet.start or (0, 0), sheet.to_python(), sheet.merged_cell_ranges or ()]


def sheets_in_child(content: bytes) -> dict[str, Any]:
    """Read a workbook in a separate process; return its ``sheets``, or the ``problem``."""
    process = processes.run_python("-m", __name__, str(MEMORY), str(SECONDS), content=content)
    if process.returncode != 0:
        return {"problem": "its reader stopped early, probably out of memory or time"}
    answer: dict[str, Any] = json.loads(process.stdout)
    return answer


def main() -> None:
    """Read a workbook from standard input, with the limits on memory and CPU time given as arguments."""
    import python_calamine  # noqa: F401 - loaded before the limits, which are for the file

    processes.limit("RLIMIT_AS", int(sys.argv[1]))
    processes.limit("RLIMIT_CPU", int(sys.argv[2]))
    processes.limit("RLIMIT_CORE", 0)
    try:
        answer: dict[str, Any] = {"sheets": sheets_in(sys.stdin.buffer.read())}
    except BaseException as problem:  # a panic of the reader is no Exception
        answer = {"problem": f"{type(problem).__name__}: {problem}"}
    sys.stdout.write(json.dumps(answer, default=str))


if __name__ == "__main__":
    main()
