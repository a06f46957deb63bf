"""``concordant crowd``: annotator reliability."""

from __future__ import annotations

from typing import Any

import click

from concordant.cli import _options
from concordant.cli import _shared as shared
from concordant.cli._help import Command, option
from concordant.tables.options import UNRATED

EPILOG = """\b
Examples:
  concordant crowd judgements.csv
  concordant crowd judgements.csv --labels gold.csv --csv -o workers.csv
  concordant crowd judgements.csv --labels gold.csv --agent worker --instance topic --rating label --json
"""


@click.command(cls=Command, epilog=EPILOG)
@click.argument("file", nargs=-1, required=True, metavar="FILE…")
@_options.labels()
@option("--relevant", type=float, metavar="X", heading="method", help="Minimum judgement or label that "
        "counts as relevant. Default: the larger value if there are two; with more values, each value is a "
        "separate class.")  # fmt: skip
@shared.output_options()
@shared.reading_options("preferences", hidden={*UNRATED, "rank", "ranking"})
def command(
    file: tuple[str, ...], labels: str | None, relevant: float | None, output: shared.Output, **options: Any
) -> None:
    """Estimate the reliability of each annotator.

    The input has one judgement per row: agent (annotator), topic (instance), document (item) and judgement (rating).
    The table shows for each agent the number of judgements, the number with a gold label, the accuracy on those with
    its 95% confidence interval, the accuracy on relevant and on irrelevant documents, and the accuracy that Dawid-Skene
    estimates without gold labels. With gold labels, the accuracy of majority vote and of Dawid-Skene is shown as well.
    "concordant rank --method dawid-skene" ranks the documents.
    """
    from concordant.analysis import crowd
    from concordant.io import read_labels

    prefs = shared.read_preferences(file, options)
    gold = None if labels is None else read_labels(labels)
    min_yes = crowd.yes_from(prefs, gold) if relevant is None else relevant
    reliability = crowd.reliability(prefs, gold, relevant="auto" if relevant is None else relevant)
    agreement = {}
    if gold is not None:
        for name in ("majority-vote", "dawid-skene"):
            agreement[name] = crowd.agreement(crowd.decide(prefs, name, relevant=min_yes), gold, relevant=min_yes)
    columns = reliability.columns()
    output.show(
        data=lambda: {"agents": _rows(columns), "agreement": agreement},
        columns=lambda: columns,
        blocks=reliability.blocks,
        title="reliability",
    )
    if output.is_for_people:
        shared.tell(_notes(reliability.notes) if gold is not None else prefs.notes, "note: ")
        shared.tell((f"{name} agrees with {share:.1%} of the gold labels" for name, share in agreement.items()), "")


def _notes(notes: tuple[str, ...]) -> list[str]:
    """Return the notes with the command-line option instead of the argument."""
    from concordant.analysis.crowd import CLASSES

    return [CLASSES.format("--relevant") if note == CLASSES.format("relevant") else note for note in notes]


def _rows(columns: dict[str, Any]) -> list[dict[str, Any]]:
    """Return one row per agent; unknown values are None."""
    lines = zip(*columns.values(), strict=True)
    return [
        {name: None if value != value else value for name, value in zip(columns, line, strict=True)} for line in lines
    ]
