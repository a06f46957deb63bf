"""``concordant reproduce``: published experiments, run again."""

from __future__ import annotations

from typing import Any

import click

from concordant.cli import _shared as shared

EPILOG = """\b
Examples:
  concordant reproduce metasearch --data DIR
  concordant reproduce metasearch --set MQ2008-agg --methods rrf,borda --json
"""


@click.group(epilog=EPILOG)
def command() -> None:
    """Run a published experiment and compare with its figures."""


@command.command(epilog=EPILOG)
@click.option("--data", metavar="DIR", help="Folder with letor4-agg; by default CONCORDANT_DATA.")
@click.option("--set", "sets", multiple=True, metavar="NAME", help="MQ2008-agg or MQ2007-agg; by default both.")
@click.option("--methods", metavar="A,B,…", help="Methods, separated by commas.")
@click.option("--json", "as_json", is_flag=True, help="Print a list of rows as JSON.")
def metasearch(data: str | None, sets: tuple[str, ...], methods: str | None, as_json: bool) -> None:
    """Fuse the search engines of the LETOR 4.0 aggregation sets (paper 002 table 3, paper 000 table 1)."""
    from concordant.experiments import metasearch as experiment

    wanted_sets = sets or experiment.SETS
    names = [name.strip() for name in methods.split(",") if name.strip()] if methods else experiment.DEFAULT_METHODS
    with shared.progress(experiment.n_steps(wanted_sets, names), "metasearch") as advance:
        rows = experiment.run(data, wanted_sets, names, advance)
    if as_json:
        rounded = [{k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()} for row in rows]
        shared.write_text(shared.to_json(rounded), "-")
        return
    lines: list[list[str]] = []
    for row in rows:
        lines.append([row["dataset"], row["method"], *_cells(row)])
        if row["published"]:
            lines.append(["", "  published", *_cells(row["published"])])
    header = ["set", "method", *experiment.COLUMNS]
    shared.write_text(shared.table(header, lines, set(range(2, len(header)))), "-")


def _cells(row: dict[str, Any]) -> list[str]:
    from concordant.experiments.metasearch import COLUMNS

    return [f"{row[column]:.2f}" for column in COLUMNS]
