"""``concordant agreement``: inter-rater agreement."""

from __future__ import annotations

from typing import Any

import click

from concordant.cli import _options
from concordant.cli import _shared as shared
from concordant.cli._help import Command, option

EPILOG = """\b
Examples:
  concordant agreement answers.csv
  concordant agreement ratings.csv --level interval --json
  concordant agreement answers.csv --coefficients krippendorff-alpha,gwet-ac1 --csv -o agreement.csv
  concordant agreement answers.csv --pairs --csv -o pairs.csv
"""
LEVELS = ("nominal", "ordinal", "interval", "ratio")


@click.command(cls=Command, epilog=EPILOG)
@click.argument("file", nargs=-1, required=True, metavar="FILE…")
@option("--level", type=click.Choice(LEVELS), heading="method", help="Level of measurement of the answers. Default: "
        "nominal for classes and two values, ordinal for at most ten whole numbers, otherwise interval.")  # fmt: skip
@option("--coefficients", metavar="A,B,…", heading="method", help="Coefficients to compute, such as "
        "krippendorff-alpha,gwet-ac1. Default: those that suit the level and the number of raters.")  # fmt: skip
@option("--replicates", type=click.IntRange(0), default=1000, show_default=True, metavar="N", heading="method",
        help="Number of bootstrap samples for the confidence intervals; 0 for none.")  # fmt: skip
@_options.seed(0)
@option("--pairs", is_flag=True, heading="output", help="Print the pairs of raters instead of the coefficients.")
@shared.output_options()
@shared.reading_options("preferences")
def command(
    file: tuple[str, ...],
    level: str | None,
    coefficients: str | None,
    replicates: int,
    seed: int,
    pairs: bool,
    output: shared.Output,
    **options: Any,
) -> None:
    """Measure inter-rater agreement: alpha, kappa, AC1, ICC, Kendall's W.

    The input has answers of several raters (agents) to the same items: classes, grades, numbers, comparisons of two
    items, or rankings. Answers may be missing. The table shows the coefficients that suit the level of measurement,
    with 95% confidence intervals by a bootstrap of the items: Krippendorff's alpha, Cohen's and Fleiss' kappa, Scott's
    pi, Gwet's AC1 and AC2, intraclass correlations, and for rankings Kendall's W and the mean of Kendall's tau.
    --coefficients also accepts fleiss-kappa-linear and gwet-ac2-linear. --pairs prints how often each pair of raters
    agrees, lowest first.
    """
    from concordant.analysis.agreement.measuring import agreement

    prefs = shared.read_preferences(file, options)
    names = None if coefficients is None else shared.listed(coefficients)
    found = agreement(prefs, level=level, coefficients=names, replicates=0 if pairs else replicates, seed=seed)
    columns = found.pairs() if pairs else found.columns()
    output.show(
        data=lambda: found.to_dict() | ({"pairs": shared.records(columns)} if pairs else {}),
        columns=lambda: columns,
        blocks=lambda: [found.pairs_table()] if pairs else found.blocks(),
        title="agreement",
    )
    if output.is_for_people:
        shared.tell(prefs.notes, "note: ")
        shared.tell(found.notes, "note: ")
