"""``concordant crowd``: annotator reliability."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from concordant.cli import _options
from concordant.cli import _shared as shared
from concordant.cli._help import Command, option
from concordant.tables.options import UNRATED

if TYPE_CHECKING:
    from concordant.support.display import DisplayTable

EPILOG = """\b
Examples:
  concordant crowd judgements.csv
  concordant crowd judgements.csv --gold gold.csv --csv -o workers.csv
  concordant crowd judgements.csv --items --csv -o classes.csv
  concordant crowd judgements.csv --gold gold.csv --agent worker --instance topic --rating label --json
"""


@click.command(cls=Command, epilog=EPILOG)
@click.argument("file", nargs=-1, required=True, metavar="FILE…")
@_options.labels("--gold")
@option("--relevant", type=float, metavar="X", heading="method", help="Minimum judgement or label that "
        "counts as relevant. Default: the larger value if there are two; with more values, each value is a "
        "separate class.")  # fmt: skip
@option("--items", is_flag=True, heading="output", help="Print the label of each item instead of the annotators.")
@shared.output_options()
@shared.reading_options("preferences", hidden={*UNRATED, "rank", "ranking"})
def command(
    file: tuple[str, ...],
    labels: str | None,
    relevant: float | None,
    items: bool,
    output: shared.Output,
    **options: Any,
) -> None:
    """Estimate the reliability of each annotator.

    The input has one judgement per row: agent (annotator), topic (instance), document or task (item) and judgement
    (rating: a number, or answer: a class such as "cat"). The table shows for each agent the number of judgements, the
    number with a gold label, the accuracy on those with its 95% confidence interval, the accuracy on relevant and on
    irrelevant documents, and the accuracy that Dawid-Skene estimates without gold labels. With gold labels, the
    accuracy of majority vote and of Dawid-Skene is shown as well. With --items, the table shows for each item the
    number of judgements, the label by majority vote with its share of the votes, and the most likely label by
    Dawid-Skene with its probability. "concordant rank --method dawid-skene" ranks the documents.
    """
    from concordant.analysis import crowd
    from concordant.analysis.agreement.measuring import sentences
    from concordant.io import read_labels
    from concordant.reporting.about_crowd import item_columns

    categories = options.get("read_categories")
    prefs = shared.read_preferences(file, options)
    gold = None if labels is None else read_labels(labels, categories=categories)
    min_yes = crowd.yes_from(prefs, gold) if relevant is None else relevant
    reliability = crowd.reliability(prefs, gold, relevant="auto" if relevant is None else relevant)
    decided = {}
    if gold is not None or items:
        decided = {name: crowd.decide(prefs, name, relevant=min_yes) for name in ("majority-vote", "dawid-skene")}
    agreement = {}
    if gold is not None:
        agreement = {name: crowd.agreement(labels, gold, relevant=min_yes) for name, labels in decided.items()}
    columns = item_columns(prefs, *decided.values()) if items else reliability.columns()
    output.show(
        data=lambda: {"items" if items else "agents": _rows(columns), "agreement": agreement},
        columns=lambda: columns,
        blocks=lambda: [_items_table(columns)] if items else reliability.blocks(),
        title="labels" if items else "reliability",
    )
    if output.is_for_people:
        shared.tell(_notes(reliability.notes) if gold is not None else prefs.notes, "note: ")
        shared.tell(sentences(prefs), "agreement of annotators: ")
        shared.tell((f"{name} agrees with {share:.1%} of the gold labels" for name, share in agreement.items()), "")


def _items_table(columns: dict[str, Any]) -> DisplayTable:
    """Return the table of items for people."""
    from concordant.support.display import DisplayTable

    heads = {"judged": "judgements", "majority_vote": "majority vote", "dawid_skene": "Dawid-Skene"}
    write = {"judged": "{:g}".format, "share": "{:.2f}".format, "probability": "{:.2f}".format}
    cells = {
        heads.get(name, name): [write.get(name, _label)(value) for value in column] for name, column in columns.items()
    }
    right = {k for k, name in enumerate(columns) if name in write}
    return DisplayTable(list(cells), list(zip(*cells.values(), strict=True)), right)


def _label(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:g}"


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
