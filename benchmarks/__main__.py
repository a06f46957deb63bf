"""The command ``python -m benchmarks NAME…``; see ``--help``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.core import curves, families, select, select_curves, size_text
from benchmarks.runner import CurveRow, Row, as_json, curve_row, rows

RESULTS = Path(__file__).resolve().parent / "results"
HEADER = ("work", "size", "call", "ours", "rival", "rival's", "ratio", "goal", "memory", "rival's", "agree")
WIDTHS = (22, 22, 5, 8, 13, 8, 7, 6, 10, 10, 5)
GROWTH = ("curve", "over", "fitted", "maths", "jump", "CPU seconds at each size")
GROWTH_WIDTHS = (32, 8, 6, 6, 5, 40)
LEGEND = (
    "CPU seconds: user + system, median of five. warm: memory is the peak above the inputs; first: a fresh process, "
    "imports included, memory is its whole peak.\nfitted: the exponent of the growth; jump: how far the worst step to "
    "the next size is from a smooth curve, as a factor (below 2: no cliff)."
)


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
        works, wanted = select(options.names), select_curves(options.names)
    except LookupError as error:
        parser.error(str(error))
    table: list[Row] = []
    if works:
        print(line(HEADER), flush=True)
    for work in works:
        rivals = tuple(r for r in work.rivals if options.rivals is None or r in options.rivals.split(","))
        for row in rows(work, options.size, rivals):
            table.append(row)
            print(line(cells(row)) + (f"  {row.note}" if row.note else ""), flush=True)
    grown: list[CurveRow] = []
    if wanted:
        print(line(GROWTH, GROWTH_WIDTHS), flush=True)
    for curve in wanted:
        grown.append(curve_row(curve, options.size))
        print(line(growth_cells(grown[-1]), GROWTH_WIDTHS), flush=True)
    path = options.json or RESULTS / f"{datetime.now(UTC):%Y%m%d-%H%M%S}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(as_json(table, grown), encoding="utf-8")
    print(f"{LEGEND}\nWritten: {path}")
    failed = any(row.agree is False or row.ours_seconds is None for row in table) or any(
        not row.points for row in grown
    )
    return 1 if failed else 0


def listing() -> str:
    """Describe every work in a line."""
    found = [work for works in families().values() for work in works]
    lines = [f"{work.name:24} {size_text(work.sizes['full']):22} {work.doc}" for work in found]
    for curve in (curve for given in curves().values() for curve in given):
        ends = [size[curve.axis] for size in curve.sizes["full"]]
        lines.append(f"{curve.name:24} {ends[0]:,} to {ends[-1]:,} {curve.axis}: {curve.doc}")
    return "\n".join(lines)


def cells(row: Row) -> tuple[str, ...]:
    """Write a row as people read it."""
    agree = {True: "yes", False: "NO", None: "-"}[row.agree]
    return (
        row.work,
        row.size,
        row.call,
        seconds(row.ours_seconds),
        row.rival or "-",
        seconds(row.rival_seconds),
        "-" if row.ratio is None else f"{row.ratio:.3g}x",
        "-" if row.goal is None else f"{row.goal:.3g}x",
        megabytes(row.ours_memory),
        megabytes(row.rival_memory),
        agree,
    )


def growth_cells(row: CurveRow) -> tuple[str, ...]:
    """Write the growth along a curve as people read it."""
    fitted, worst = (("-" if value is None else f"{value:.2f}") for value in (row.fitted, row.jump))
    points = ", ".join(f"{point['at']:,.0f}: {seconds(point['seconds'])}" for point in row.points)
    return (row.curve, row.axis, fitted, f"{row.exponent:.3g}", worst, points or row.note)


def seconds(value: float | None) -> str:
    """Write a duration with its unit."""
    if value is None:
        return "-"
    unit, factor = ("s", 1.0) if value >= 1 else ("ms", 1e3) if value >= 1e-3 else ("us", 1e6)
    return f"{value * factor:.3g} {unit}"


def megabytes(value: int | None) -> str:
    """Write an amount of memory."""
    return "-" if value is None else f"{value / 1e6:,.1f} MB"


def line(words: Sequence[str], widths: Sequence[int] = WIDTHS) -> str:
    """Align the words of one row: names to the left, figures to the right."""
    left = {0, 1, 2, 4} if widths is WIDTHS else {0, 1, 5}
    padded = [
        f"{word:<{width}}" if k in left else f"{word:>{width}}"
        for k, (word, width) in enumerate(zip(words, widths, strict=True))
    ]
    return " ".join(padded)


if __name__ == "__main__":
    sys.exit(main())
