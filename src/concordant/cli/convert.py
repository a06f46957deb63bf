"""``concordant convert``: convert preferences between file formats."""

from __future__ import annotations

from typing import Any

import click

from concordant.cli import _options
from concordant.cli import _shared as shared
from concordant.cli._help import Command, option

EPILOG = """\b
Examples:
  concordant convert votes.csv votes.parquet
  concordant convert runs/*.run fused.jsonl.gz
  concordant convert ballots.csv - --to jsonl
  concordant convert --formats
"""


def _show_formats(ctx: click.Context, _: click.Parameter, is_asked: bool) -> None:
    """Print the table of formats and exit."""
    if not is_asked or ctx.resilient_parsing:
        return
    from concordant.io import list_formats

    rows = [
        [
            known.name,
            " ".join(known.endings),
            "yes" if known.can_read else "",
            "yes" if known.can_write else "",
            known.doc,
        ]
        for known in list_formats()
    ]
    click.echo(shared.table(["format", "endings", "read", "write", "what"], rows, set()))
    ctx.exit()


@click.command(cls=Command, epilog=EPILOG)
@click.argument("source", nargs=-1, required=True, metavar="SOURCE…")
@click.argument("target")
@_options.to()
@option(
    "--formats",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_formats,
    heading="output",
    help="List the formats.",
)
@option(
    "--spreadsheet", is_flag=True, heading="output", help="Escape csv cells that spreadsheets interpret as formulas."
)
@shared.reading_options("preferences")
def command(source: tuple[str, ...], target: str, to: str | None, spreadsheet: bool, **options: Any) -> None:
    """Convert preferences from one format to another.

    "-" is standard input or output.
    """
    from concordant.io import write

    prefs = shared.read_preferences(source, options)
    lost = write(prefs, target, format=to, spreadsheet=spreadsheet)
    shared.tell([*prefs.notes, *lost], "note: ")
