"""``concordant convert``: one format into another."""

from __future__ import annotations

from typing import Any

import click

from concordant.cli import _shared as shared

EPILOG = """\b
Examples:
  concordant convert votes.csv votes.parquet
  concordant convert runs/*.run fused.jsonl.gz
  concordant convert ballots.csv - --to jsonl
  concordant convert --formats
"""


def _show_formats(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted or ctx.resilient_parsing:
        return
    from concordant.io import list_formats

    rows = [
        [f.name, " ".join(f.endings), "yes" if f.can_read else "", "yes" if f.can_write else "", f.doc]
        for f in list_formats()
    ]
    click.echo(shared.table(["format", "endings", "read", "write", "what"], rows, set()))
    ctx.exit()


@click.command(epilog=EPILOG)
@click.argument("source", nargs=-1, required=True, metavar="SOURCE…")
@click.argument("target")
@click.option("--to", metavar="NAME", help="Format to write; by default from the target's name.")
@click.option(
    "--formats",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_formats,
    help="List the formats.",
)
@click.option("--spreadsheet", is_flag=True, help="In csv, keep cells a spreadsheet would run as formulas as text.")
@shared.reading_options("preferences")
def command(source: tuple[str, ...], target: str, to: str | None, spreadsheet: bool, **options: Any) -> None:
    """Convert preferences from one format to another; "-" is standard input or output."""
    from concordant.io import write

    prefs = shared.read_preferences(source, options)
    lost = write(prefs, target, format=to, spreadsheet=spreadsheet)
    shared.tell([*prefs.notes, *lost], "note: ")
