"""``concordant describe``: describe a data set."""

from __future__ import annotations

from typing import Any

import click

from concordant.cli import _shared as shared
from concordant.cli._help import Command

EPILOG = """\b
Examples:
  concordant describe votes.csv
  concordant describe ratings.csv --json
  concordant describe lunch-form.xlsx --sheet Answers
"""


@click.command(cls=Command, epilog=EPILOG)
@click.argument("file", nargs=-1, required=True, metavar="FILE…")
@shared.output_options("json")
@shared.reading_options("preferences")
def command(file: tuple[str, ...], output: shared.Output, **options: Any) -> None:
    """Describe a data set: sizes, potential problems and suitable methods.

    The findings cover connectivity, items that never lose, majority cycles, outlier agents, and whether the first item
    is significantly ahead of the runner-up.
    """
    from concordant.io.repeated import note_on_repeated_rows
    from concordant.request import Request

    path, reading = file[0] if len(file) == 1 else file, shared.pop_reading_options(options)
    request = Request(path, reading=reading)
    prefs = request.read()
    ranked = [one for one in file if one not in request.judgements]
    repeated = note_on_repeated_rows(path if len(ranked) == len(file) else ranked, reading)
    prefs = prefs if repeated is None else prefs.noted(repeated)
    description = prefs.describe()
    output.show(data=description.to_dict, text=lambda: description.to_text(shared.words()))
