"""``concordant reduce``: keep the counts or sums of files that arrive over time."""

from __future__ import annotations

from typing import Any

import click

from concordant.cli import _shared as shared
from concordant.cli._help import Command, option

EPILOG = """\b
Examples:
  concordant reduce votes/*.parquet -o sums.parquet
  concordant reduce "votes/2026-*.csv.gz" -o sums.parquet --instance language
  concordant reduce ratings/ -o sums.parquet --agent user --item film --rating stars
  concordant reduce ratings/ -o levels.parquet --sums levels
  concordant rank sums.parquet
\b
Every hour, in the table of cron:
  5 * * * *  concordant reduce /data/votes -o /data/sums.parquet
"""
HIDDEN = ("sql", "drop_duplicates", "merge", "reduce", "time", "covariate", "team", "team_separator", "transpose")


@click.command(cls=Command, epilog=EPILOG)
@click.argument("file", nargs=-1, required=True, metavar="FILE…")
@option("--output", "-o", required=True, metavar="FILE", heading="output", help="Parquet file of sums to add to.")
@option(
    "--sums",
    type=click.Choice(["items", "levels"]),
    default="items",
    show_default=True,
    heading="method",
    help="Sums of ratings or ranks: by item (borda, mpm), or by item and level (mean-rating).",
)
@option("--count-copies", is_flag=True, heading="input", help="Count a file with the content of another one as well.")
@shared.reading_options("preferences", hidden=HIDDEN)
def command(file: tuple[str, ...], output: str, sums: str, count_copies: bool, **options: Any) -> None:
    """Add the counts of new files to a file of sums for rank.

    Files that are in the sums are recognised by path and content and are not counted again, so the same command can run
    every hour over a growing folder. The file of sums is replaced atomically; a second writer waits for the first.
    """
    from concordant.io.sums import add_files
    from concordant.tables.options import PREFERENCES, Options

    reading = Options.of(PREFERENCES, shared.pop_reading_options(options))
    added = add_files(file[0] if len(file) == 1 else list(file), output, reading, sums, count_copies)
    shared.tell(added.notes, "note: ")
    new, total = _rows_of(added.rows, added.files), _rows_of(added.total_rows, added.total_files)
    click.echo(f"added {new}; {output} holds {total}")


def _rows_of(rows: int, files: int) -> str:
    return f"{rows:,} rows of {files:,} file{'s' * (files != 1)}"
