"""``concordant crowd``: classes of items, and annotator reliability."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from concordant.cli import _options
from concordant.cli import _shared as shared
from concordant.cli._help import Command, option
from concordant.tables.options import UNRATED

if TYPE_CHECKING:
    from concordant.analysis.truth import Aggregated
    from concordant.support.display import DisplayTable

EPILOG = """\b
Examples:
  concordant crowd judgements.csv
  concordant crowd judgements.csv --items --csv -o classes.csv
  concordant crowd judgements.csv --method mace --json
  concordant crowd judgements.csv --gold gold.csv --use-gold --items
  concordant crowd judgements.csv --gold gold.csv --agent worker --instance topic --rating label --json
"""
TWO = "{:.2f}".format
# The headings of columns, and how figures are written.
ITEMS: tuple[dict[str, str], dict[str, Any]] = (
    {"judged": "judgements", "majority_vote": "majority vote"},
    {"judged": "{:g}".format, "share": TWO, "probability": TWO},
)
COMPARED: tuple[dict[str, str], dict[str, Any]] = (
    {"log_likelihood": "held-out log-likelihood"}, {"log_likelihood": "{:.4f}".format}
)  # fmt: skip
CONFUSIONS: tuple[dict[str, str], dict[str, Any]] = (
    {"class": "true class"}, {"probability": TWO, "low": TWO, "high": TWO, "expected": "{:.1f}".format}
)  # fmt: skip


@click.command(cls=Command, epilog=EPILOG)
@click.argument("file", nargs=-1, required=True, metavar="FILE…")
@_options.labels("--gold")
@_options.method(default="auto")
@option("--use-gold", is_flag=True, heading="method", help="Treat the gold labels as known classes "
        "(semi-supervised); the agreement with gold labels is then cross-validated.")  # fmt: skip
@option("--relevant", type=float, metavar="X", heading="method", help="Minimum judgement or label that "
        "counts as relevant. Default: the larger value if there are two; with more values, each value is a "
        "separate class.")  # fmt: skip
@option("--items", is_flag=True, heading="output", help="Print the class of each item instead of the annotators.")
@option("--compare", is_flag=True, heading="output", help="Print the held-out log-likelihood of each method instead.")
@option("--confusions", is_flag=True, heading="output", help="Print the confusion matrix of each annotator instead.")
@shared.output_options()
@shared.reading_options("preferences", hidden={*UNRATED, "rank", "ranking"})
def command(
    file: tuple[str, ...],
    labels: str | None,
    method: str,
    use_gold: bool,
    relevant: float | None,
    items: bool,
    compare: bool,
    confusions: bool,
    output: shared.Output,
    **options: Any,
) -> None:
    """Infer the class of each item and the reliability of each annotator.

    The input has one judgement per row: agent (annotator), topic (instance), document or task (item) and judgement
    (rating: a number, or answer: a class such as "cat"). The method under which held-out judgements are most likely
    estimates the class of each item; --method chooses another one: majority-vote, one-coin, dawid-skene, mace, glad or
    ordinal-annotators.

    The table shows for each agent the number of judgements, the number with a gold label, the accuracy on those with
    its 95% confidence interval, the accuracy on relevant and on irrelevant documents, the accuracy that the method
    estimates without gold labels, Cohen's kappa with the consensus of the others, the adherence by the multinomial
    preference model (numbers only), and whether the agent is a spammer: constant, random or reversed answers. With gold
    labels, the share of them that majority vote and the method match is shown as well. With --items, the table shows
    for each item the number of judgements, the most likely class with its probability, and the majority vote with its
    share of the votes. --json holds both tables, with all class probabilities and confusion matrices. "concordant rank
    --method dawid-skene" ranks the documents.
    """
    from concordant.analysis import crowd
    from concordant.errors import ParameterError, arg
    from concordant.io import read_labels

    if items + compare + confusions > 1:
        raise click.UsageError("--items, --compare and --confusions exclude each other: give one of them.")
    if use_gold and labels is None:
        raise ParameterError(arg("use_gold") + " needs a file of gold labels: give it with " + arg("labels") + ".")
    categories = options.get("read_categories")
    prefs = shared.read_preferences(file, options)
    gold = None if labels is None else read_labels(labels, categories=categories)
    min_yes = crowd.yes_from(prefs, gold) if relevant is None else relevant
    found = crowd.aggregate(prefs, method, gold=gold if use_gold else None, min_yes=min_yes)
    reliability = crowd.reliability(prefs, gold, relevant="auto" if relevant is None else relevant, aggregated=found)
    agreement = {}
    if gold is not None:
        agreement["majority-vote"] = crowd.agreement(
            crowd.decide(prefs, "majority-vote", relevant=min_yes), gold, relevant=min_yes
        )
        agreement[found.method] = crowd.gold_accuracy(found, gold, min_yes=min_yes, learns=use_gold)
    compared = crowd.held_out(prefs) if compare else found.held_out
    of_agents = _agents(reliability.columns(), found)
    columns, write, title = of_agents, partial(_agents_table, reliability.written()), "reliability"
    if compare and compared is not None:
        columns, write, title = compared.columns(), partial(_table, *COMPARED), "methods"
    elif confusions:
        columns, write, title = found.confusions(), partial(_table, *CONFUSIONS), "confusions"
    elif items:
        columns, write, title = found.items(), partial(_table, *ITEMS), "classes"

    def data() -> dict[str, Any]:
        by_item = [
            {**row, "distribution": shares}
            for row, shares in zip(_rows(found.items()), found.distributions(), strict=True)
        ]
        matrices = dict(zip(found.agents()["agent"], found.model.confusions.tolist(), strict=True))
        by_agent = [
            {**row, "confusion": matrices[row["agent"]]} for row in _rows(_agents(reliability.columns(), found))
        ]
        return {
            "method": found.method,
            "classes": found.classes,
            "held_out": None if compared is None else _rows(compared.columns()),
            "items": by_item,
            "agents": by_agent,
            "agreement": agreement,
            "adherence_correlation": found.concordance(),
        }

    output.show(data=data, columns=lambda: columns, blocks=lambda: [write(columns)], title=title)
    if output.is_for_people:
        shared.tell(_notes(reliability.notes) if gold is not None else prefs.notes, "note: ")
        shared.tell(_sentences(found, crowd.NAMES), "")
        shared.tell((f"{name} agrees with {share:.1%} of the gold labels" for name, share in agreement.items()), "")


def _sentences(found: Aggregated, names: dict[str, str]) -> list[str]:
    """Return what is said below the table: the choice of the method, spammers and the multinomial model."""
    said = []
    if found.held_out is not None:
        best, *others = zip(found.held_out.method, found.held_out.log_likelihood, strict=True)
        rest = f"; {names[others[0][0]]} {others[0][1]:.3f}" if others else ""
        said.append(
            f"classes by {names[best[0]]}, under which held-out judgements are most likely (mean log-likelihood "
            f"{best[1]:.3f}{rest}; --compare shows all methods)"
        )
    else:
        said.append(f"classes by {names[found.method]}")
    if found.spammers:
        n = len(found.spammers)
        said.append(f"{n:,} annotator{'' if n == 1 else 's'} likely to spam; --csv and --json show the evidence")
    correlation = found.concordance()
    if correlation is not None:
        said.append(f"rank correlation of adherence and estimated accuracy over annotators: {correlation:.2f}")
    return said


def _agents(columns: dict[str, Any], found: Aggregated) -> dict[str, Any]:
    """Return the table of annotators: accuracy on gold labels, and what the model says of them."""
    more = found.agents()
    place = {name: k for k, name in enumerate(more["agent"])}
    order = [place[name] for name in columns["agent"]]
    new = {name: [values[k] for k in order] for name, values in more.items() if name not in columns}
    return columns | new


def _agents_table(written: dict[str, list[str]], columns: dict[str, Any]) -> DisplayTable:
    """Return the table of annotators for people."""
    from concordant.support.display import DisplayTable

    cells = dict(written)
    for name in ("kappa", "adherence"):
        if name in columns:
            cells[name] = ["" if value is None else f"{round(value, 2) + 0.0:.2f}" for value in columns[name]]
    if any(columns["spammer"]):
        cells["spammer"] = [value or "" for value in columns["spammer"]]
    return DisplayTable(
        list(cells), list(zip(*cells.values(), strict=True)), range(1, len(written) + 1 + ("adherence" in columns))
    )


def _table(heads: dict[str, str], write: dict[str, Any], columns: dict[str, Any]) -> DisplayTable:
    """Return columns as a table; ``write`` has the columns of figures."""
    from concordant.support.display import DisplayTable

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
