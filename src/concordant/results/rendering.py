"""Render a ranking as plain data for JSON, aligned text, or HTML for notebooks.

``Ranking`` forwards its ``to_dict``, ``to_text``, ``written``, ``blocks`` and ``_repr_html_`` to these functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Any

from concordant.ballots.vocabulary import shorten, shorten_apart
from concordant.errors import Words
from concordant.results.coefficients import header_of, rows_of
from concordant.results.explanation import Explanation
from concordant.support.display import Block, DisplayTable, Drawn, Passage
from concordant.support.text import align, interval_cells, interval_heading, number_format
from concordant.types import AnyArray, Floats

if TYPE_CHECKING:
    from concordant.ranking import Ranking

SHOWN = 50  # items in a notebook
SHOWN_INSTANCES, SHOWN_OF_EACH = 3, 5  # of several instances


def dict_of(ranking: Ranking) -> dict[str, object]:
    """Return plain data, ready for JSON; the same keys for every method, with None for missing parts."""
    order, ranks = ranking.order, ranking.rank_in_order.tolist()
    labels = ranking.vocabulary.take(ranking.ranked_item)
    scores, low, high = (_listed(values, order) for values in (ranking.score, ranking.slot_low, ranking.slot_high))
    further_columns = {name: values[order].tolist() for name, values in ranking.beside.items()}
    ptr = ranking.slot_ptr.tolist()
    instances = [
        {
            "instance": None if ranking.instances is None else ranking.instances[q],
            "items": [
                {"item": labels[k], "rank": ranks[k], "score": scores[k], "low": low[k], "high": high[k]}
                | {name: values[k] for name, values in further_columns.items()}
                for k in range(ptr[q], ptr[q + 1])
            ],
        }
        for q in range(ranking.n_instances)
    ]
    return {
        "method": ranking.method,
        "params": dict(ranking.params),
        "scale": None if ranking.converted is None else ranking.converted.scale.to_dict(),
        "instances": instances,
        "agents": _agents_of(ranking),
        "fit": None if ranking.fit is None else dict(ranking.fit),
        "warnings": [
            {"name": notice.name, "text": notice.text, "items": list(notice.items)} for notice in ranking.warnings
        ],
        "seconds": ranking.seconds,
        "ran": ranking.ran or None,
        "coefficients": [coefficient.to_dict() for coefficient in ranking.coefficients] or None,
        "certainty": ranking.certainty.to_dict() if ranking.n_instances == 1 else None,
    }


def _agents_of(ranking: Ranking) -> list[dict[str, Any]] | None:
    """Return the agents with their weights, or with their effects as judges; None if the method has neither."""
    if (judges := judges_of(ranking)) is not None:
        return [{"agent": row.pop("judge"), **row} for row in judges.rows()]
    if ranking.agents is None:
        return None
    return [{"agent": agent, "weight": weight} for agent, weight in ranking.agents.items()]


def judges_of(ranking: Ranking) -> Any:
    """Return the effects of judges that the model of a ranking knows; None if there are none."""
    return getattr(ranking.model, "judges", None)


def _listed(values: Floats | None, order: AnyArray) -> list[Any]:
    """Return values in this order as a list, or a list of None if there are no values."""
    return [None] * len(order) if values is None else values[order].tolist()


def text_of(ranking: Ranking, limit: int | None) -> str:
    """Return aligned plain text, one line per item, at most ``limit`` items per instance."""
    text = "\n\n".join(_part_text(part, limit) for part in ranking)
    return text if ranking.verdict is None else f"{text}\n{ranking.verdict}"


def _part_text(ranking: Ranking, limit: int | None) -> str:
    """Return the text of one instance."""
    n = len(ranking.items) if limit is None else min(limit, len(ranking.items))
    columns = table_columns(ranking, n)
    lines = align([list(columns), *zip(*columns.values(), strict=True)], right=set(range(len(columns))) - {1})
    if n < len(ranking.items):
        lines.append(f"… {len(ranking.items) - n:,} more")
    if ranking.coefficients:
        header = header_of(ranking.params.get("level"))
        lines += ["", *align([header, *rows_of(ranking.coefficients)], right=set(range(1, len(header))))]
    if (judges := judges_of(ranking)) is not None:
        lines += ["", repr(judges)]
    if ranking.instances is not None:
        lines.insert(0, f"[{ranking.instances[0]}]")
    return "\n".join(lines + [f"warning: {notice}" for notice in ranking.warnings])


def table_columns(ranking: Ranking, n: int) -> dict[str, list[str]]:
    """Return the columns of the table of the best ``n`` items as text: rank, item, score, confidence interval (if
    known), and further columns of the method.
    """
    scores, low, high = (
        None if part is None else part[:n].tolist() for part in (ranking.scores, ranking.low, ranking.high)
    )
    write = number_format(scores or [], [*(low or []), *(high or [])])
    columns = {
        "rank": [str(rank) for rank in ranking.ranks[:n].tolist()],
        "item": shorten_apart(ranking.items[:n]),
        "score": [write(score) for score in scores or []],
    }
    if low is not None and high is not None:
        columns[interval_column(ranking)] = interval_cells(low, high, write)
    for name, values in ranking.beside.items():
        shown = values[ranking.order][:n].tolist()
        is_text = values.dtype == object
        columns[name.replace("_", " ")] = list(map(shorten if is_text else number_format(shown), shown))
    return columns


def are_counts(ranking: Ranking) -> bool:
    """Return whether the scores count something, such as votes: bars from zero then show them; ratings have no zero."""
    score = ranking.scores
    is_rating = ranking.low is not None or ranking.converted is not None or not len(score)
    return not is_rating and bool((score >= 0).all() and (2 * score % 1 == 0).all())


def interval_column(ranking: Ranking) -> str:
    """Return the heading of the column of confidence intervals, with their level: 95% CI."""
    return interval_heading(ranking.params.get("level"))


def blocks_of(ranking: Ranking, explanations: Sequence[Explanation] = (), words: Words = str) -> list[Block]:
    """Return the table of each instance, its covariate effects and explanation, and the ranking's ``verdict``."""
    blocks: list[Block] = []
    for part, explanation in zip_longest(ranking, explanations):
        blocks.append(_table_of(part, len(part.items)))
        if part.coefficients:
            header, effects = header_of(part.params.get("level")), rows_of(part.coefficients)
            blocks.append(DisplayTable(header, effects, range(1, len(header)), "covariate effects"))
        blocks += [] if judges_of(part) is None else judges_of(part).blocks()
        blocks += [] if explanation is None else [reason.passage(words) for reason in explanation.reasons]
    return [*blocks, *([Passage([ranking.verdict])] if ranking.verdict else [])]


def named(ranking: Ranking, more: str = "") -> str:
    """Return the method, and the scale if the scores were converted: bradley-terry, Elo scale."""
    return f"{ranking.method}{more}" + ("" if ranking.converted is None else ", Elo scale")


def _table_of(ranking: Ranking, n: int) -> DisplayTable:
    """Return the table of the best ``n`` items of one instance."""
    columns = table_columns(ranking, n)
    title = named(ranking) if ranking.instances is None else f"{named(ranking)}, {ranking.instance}"
    right = set(range(len(columns))) - {1}
    return DisplayTable(
        list(columns), list(zip(*columns.values(), strict=True)), right, title, drawn=_drawn(ranking, n)
    )


def _drawn(ranking: Ranking, n: int) -> Drawn:
    """Return the scores of the best ``n`` items with their confidence intervals, for notebooks."""
    score, low, high = (
        () if part is None else part[:n].tolist() for part in (ranking.scores, ranking.low, ranking.high)
    )
    title = interval_column(ranking) if low else "score"
    return Drawn(title, score, low, high, are_counts(ranking))


def html_of(ranking: Ranking) -> str:
    """Return a table for notebooks: the first items, the certainty of the first place, and the warnings."""
    from concordant.support.notebook import notebook

    if ranking.n_instances != 1:
        return notebook([Passage([repr(ranking)]), *_first_instances(ranking), Passage([*map(str, ranking.warnings)])])
    table, *effects = blocks_of(ranking.head(SHOWN))
    n_more = len(ranking.items) - SHOWN
    more = [f"… {n_more:,} more"] if n_more > 0 else []
    sentences = [*more, " ".join(ranking.certainty.sentences()), *map(str, ranking.warnings)]
    return notebook([table, Passage(list(filter(None, sentences))), *effects])


def _first_instances(ranking: Ranking) -> list[Block]:
    """Return the best items of the first instances."""
    blocks: list[Block] = [
        _table_of(part, min(len(part.items), SHOWN_OF_EACH)) for part in islice(ranking, SHOWN_INSTANCES)
    ]
    n_more = ranking.n_instances - SHOWN_INSTANCES
    return [*blocks, *([Passage([f"… {n_more:,} more instances"])] if n_more > 0 else [])]
