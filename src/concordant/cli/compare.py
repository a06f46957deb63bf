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
  concordant compare ballots.csv --latex -o comparison.tex --plot ranks.svg
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
@_options.plot("the ranks by each method")
@shared.output_options()
@shared.reading_options("preferences")
def command(
    file: tuple[str, ...],
    methods: str | None,
    folds: int | None,
    explain: bool,
    min_ballots: float | None,
    plot: str | None,
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
    shared.check_plots(plot)
    prefs = Request(file, reading=shared.pop_reading_options(options), min_ballots=min_ballots).read()
    names = shared.listed(methods) if methods else compared_by_default(prefs)
    result = compare(prefs, names, folds=folds)
    if plot is not None:
        shared.tell_of_plot(result.plot(plot))
    if output.is_for_people:
        shared.tell(prefs.notes, "note: ")
    explanation = result.explain() if explain else None
    reasons = [] if explanation is None else explanation.reasons
    output.show(
        data=lambda: result.to_dict() | ({"explanation": explanation.to_dict()["reasons"]} if explanation else {}),
        columns=result.values,
        blocks=lambda: [*result.blocks(), *(reason.passage(shared.words()) for reason in reasons)],
        title="comparison",
    )
    if output.is_for_people:
        for name, ranking in zip(names, result.rankings, strict=True):
            shared.tell(ranking.warnings, f"warning: {name}: ")
