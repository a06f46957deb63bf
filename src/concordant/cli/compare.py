"""``concordant compare``: several methods on the same preferences."""

from __future__ import annotations

from typing import Any

import click

from concordant.cli import _shared as shared

EPILOG = """\b
Examples:
  concordant compare votes.csv
  concordant compare ballots.csv --methods borda,schulze,instant-runoff
  concordant compare ballots.csv --methods borda,copeland --json
"""


@click.command(epilog=EPILOG)
@click.argument("file", nargs=-1, required=True, metavar="FILE…")
@click.option("--methods", "-m", metavar="A,B,…", help="Methods, separated by commas; by default four that fit.")
@shared.output_options
@shared.reading_options
def command(file: tuple[str, ...], methods: str | None, **options: Any) -> None:
    """Rank by several methods and show how far they agree.

    For each method: the mean share of the ballots' pairs its ranking turns around (lower fits better), Kendall's
    tau to every other method, and its first items.
    """
    from concordant.comparing import compare
    from concordant.vocabulary import shorten

    output, as_json, as_csv = options.pop("output"), options.pop("as_json"), options.pop("as_csv")
    prefs = shared.read_preferences(file[0] if len(file) == 1 else file, options)
    names = [name.strip() for name in methods.split(",") if name.strip()] if methods else _fitting(prefs)
    result = compare(prefs, names)
    data = result.to_dict()
    if as_json:
        shared.write_text(shared.to_json(data), output)
        return
    if as_csv:
        columns: dict[str, Any] = {"method": names, "distance": [row["distance"] for row in data["methods"]]}
        columns.update({f"tau_{name}": [line[k] for line in data["tau"]] for k, name in enumerate(names)})
        shared.write_text(shared.to_csv(columns), output)
        return
    rows = [
        [
            row["method"],
            f"{row['distance']:.4f}",
            *(f"{tau:.3f}" for tau in data["tau"][k]),
            " > ".join(shorten(label, 20) for label in row["top"][:4]),
        ]
        for k, row in enumerate(data["methods"])
    ]
    header = ["method", "distance", *(f"tau {name}" for name in names), "first"]
    shared.tell(prefs.notes, "note: ")
    shared.write_text(shared.table(header, rows, set(range(1, len(header) - 1))), output)
    for row in data["methods"]:
        shared.tell(row["warnings"], f"warning: {row['method']}: ")


def _fitting(prefs: Any) -> list[str]:
    from concordant.api import default_method

    common = ["borda", "copeland", "schulze", "rrf"]
    return list(dict.fromkeys([default_method(prefs), *common]))[:4]
