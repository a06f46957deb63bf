"""The command ``python -m benchmarks NAME…``; see ``--help``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.core import families, select, size_text
from benchmarks.runner import Row, as_json, rows

RESULTS = Path(__file__).resolve().parent / "results"
HEADER = ("work", "size", "ours", "rival", "rival's", "ratio", "goal", "memory", "rival's", "agree")
WIDTHS = (17, 22, 9, 12, 9, 8, 6, 9, 9, 5)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the named benchmarks; 1 if answers differ or our side fails, 2 for a name nobody knows."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Measure concordant against other libraries."
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="a work, a family of works, or all")
    parser.add_argument("--size", choices=("tiny", "small", "full"), default="full")
    parser.add_argument("--rivals", metavar="A,B", help="only these rivals (default: all that are installed)")
    parser.add_argument("--json", metavar="FILE", type=Path, help="where to write (default: benchmarks/results/)")
    parser.add_argument("--list", action="store_true", help="list the works")
    options = parser.parse_args(arguments)
    if options.list:
        print(listing())
        return 0
    if not options.names:
        parser.error("name at least one benchmark, or all; --list shows them")
    try:
        works = select(options.names)
    except LookupError as error:
        parser.error(str(error))
    print(line(HEADER), flush=True)
    table: list[Row] = []
    for work in works:
        rivals = tuple(r for r in work.rivals if options.rivals is None or r in options.rivals.split(","))
        for row in rows(work, options.size, rivals):
            table.append(row)
            print(line(cells(row)) + (f"  {row.note}" if row.note else ""), flush=True)
    path = options.json or RESULTS / f"{datetime.now(UTC):%Y%m%d-%H%M%S}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(as_json(table), encoding="utf-8")
    print(f"CPU seconds (user + system, median of five); memory is the peak above the inputs. Written: {path}")
    return 1 if any(row.agree is False or row.ours_seconds is None for row in table) else 0


def listing() -> str:
    """Describe every work in a line."""
    found = [work for works in families().values() for work in works]
    return "\n".join(f"{work.name:17} {size_text(work.sizes['full']):22} {work.doc}" for work in found)


def cells(row: Row) -> tuple[str, ...]:
    """Write a row as people read it."""
    agree = {True: "yes", False: "NO", None: "-"}[row.agree]
    return (
        row.work,
        row.size,
        seconds(row.ours_seconds),
        row.rival or "-",
        seconds(row.rival_seconds),
        "-" if row.ratio is None else f"{row.ratio:.3g}x",
        "-" if row.goal is None else f"{row.goal:.3g}x",
        megabytes(row.ours_memory),
        megabytes(row.rival_memory),
        agree,
    )


def seconds(value: float | None) -> str:
    """Write a duration with its unit."""
    if value is None:
        return "-"
    unit, factor = ("s", 1.0) if value >= 1 else ("ms", 1e3) if value >= 1e-3 else ("us", 1e6)
    return f"{value * factor:.3g} {unit}"


def megabytes(value: int | None) -> str:
    """Write an amount of memory."""
    return "-" if value is None else f"{value / 1e6:,.1f} MB"


def line(words: Sequence[str]) -> str:
    """Align the words of one row."""
    left = {0, 1, 3}
    padded = [
        f"{word:<{width}}" if k in left else f"{word:>{width}}"
        for k, (word, width) in enumerate(zip(words, WIDTHS, strict=True))
    ]
    return " ".join(padded)


if __name__ == "__main__":
    sys.exit(main())
