"""``concordant compare``: compare several methods on the same preferences."""

from __future__ import annotations

from typing import Any

import click

from concordant.cli import _options
from concordant.cli import _shared as shared
from concordant.cli._help import Command, option

EPILOG = """\b
Examples:
  concordant compare votes.csv
  concordant compare ballots.csv --methods borda,schulze,instant-runoff
  concordant compare ballots.csv --methods borda,copeland --json
  concordant compare votes.csv --methods bradley-terry,davidson,borda --folds 5
  concordant compare ballots.csv --methods plurality,borda,schulze --explain
"""


@click.command(cls=Command, epilog=EPILOG)
@click.argument("file", nargs=-1, required=True, metavar="FILE…")
@_options.methods("-m")
@option(
    "--folds",
    type=click.IntRange(2),
    metavar="N",
    heading="method",
    help="Evaluate by N-fold cross-validation over ballots.",
)
@_options.explain
@_options.min_ballots
@shared.output_options("json", "csv", "output")
@shared.reading_options("preferences")
def command(
    file: tuple[str, ...],
    methods: str | None,
    folds: int | None,
    explain: bool,
    min_ballots: float | None,
    output: shared.Output,
    **options: Any,
) -> None:
    """Rank by several methods and measure their agreement.

    The table shows for each method the mean share of the ballots' pairs that are discordant with its ranking (lower is
    better), the mean log-probability of the outcome of a pair for statistical models (higher is better), Kendall's tau
    with every other method, and its top items ("a = b > c": a and b are tied). --folds adds the same measures for
    held-out ballots. Log-likelihoods of different outcomes are not comparable and are listed separately. A disagreement
    about the winner is shown first. By default, ballots of one contest are counted by the common voting rules.
    """
    from concordant.analysis.advice import compared_by_default
    from concordant.analysis.comparing import compare
    from concordant.request import Request

    output.check_explained(explain)
    prefs = Request(file, reading=shared.pop_reading_options(options), min_ballots=min_ballots).read()
    names = shared.listed(methods) if methods else compared_by_default(prefs)
    result = compare(prefs, names, folds=folds)
    if output.format == "text":
        shared.tell(prefs.notes, "note: ")
    output.show(
        data=lambda: result.to_dict() | ({"explanation": result.explain().to_dict()["reasons"]} if explain else {}),
        columns=lambda: _columns(names, result, folds is not None),
        text=lambda: "\n\n".join(
            [
                *([result.dispute] if result.dispute else []),
                _text(names, result, output),
                *([result.explain().to_text(shared.words())] if explain else []),
            ]
        ),
    )
    if output.format == "text":
        for name, ranking in zip(names, result.rankings, strict=True):
            shared.tell(ranking.warnings, f"warning: {name}: ")


def _columns(names: list[str], result: Any, has_folds: bool) -> dict[str, Any]:
    """Return the columns of a csv file, a row per method."""
    data = result.to_dict()
    columns: dict[str, Any] = {
        "method": names,
        "ranking": [" > ".join(" = ".join(tier) for tier in tiers) for tiers in result.tiers],
    }
    for key in ("distance", "log_likelihood", "log_likelihood_of", "pair_log_likelihood"):
        columns[key] = [row[key] for row in data["methods"]]
    for key in ("distance", "log_likelihood", "pair_log_likelihood") if has_folds else ():
        columns[f"held_out_{key}"] = [row["held_out"][key] for row in data["methods"]]
    return columns | {f"tau_{name}": [line[k] for line in data["tau"]] for k, name in enumerate(names)}


def _text(names: list[str], result: Any, output: shared.Output) -> str:
    """Return the table of methods, with notes on its columns if any method is a statistical model."""
    columns, firsts = result.columns(), result.firsts()
    rows = [[name, *(cells[k] for _, cells in columns), firsts[k]] for k, name in enumerate(names)]
    header = ["method", *(f"tau {text}" if text in names else text for text, _ in columns), "top items"]
    table = output.table(header, rows, set(range(1, len(header) - 1)))
    are_rules = all(value is None for value in [*result.pair_log_likelihood, *result.log_likelihood])
    return table if are_rules else "\n\n".join([table, "\n".join(result.notes())])
