"""Tables, notes and figures of the metasearch experiment."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from concordant.experiments import frame
from concordant.experiments._metasearch_methods import COLUMNS
from concordant.experiments.claims import claims_table
from concordant.experiments.frame import COLOURS, About, ResultTable, Row
from concordant.support.text import format_p

TITLE = "Metasearch on the LETOR 4.0 aggregation sets"
ABOUT = About(
    paper="M. Volkovs and R. Zemel, A flexible generative model for preference aggregation, WWW 2012 (table 1); "
    "M. Volkovs, H. Larochelle and R. Zemel, Learning to rank by aggregating expert preferences, CIKM 2012 (table 3).",
    setting="Each method fuses the ranked lists of a query. Its ranking is evaluated by NDCG and precision at 1 to 5 "
    "and by average precision: the mean over the test queries of a fold, then over the five folds, in percent. Methods "
    "that learn see the training parts of a fold only.",
    data="LETOR 4.0 aggregation sets: MQ2008-agg (784 queries, 25 search engines) and MQ2007-agg (1,692 queries, 21 "
    "search engines), with relevance judgements of 0, 1 and 2.",
)
NOTES = """
- NDCG follows the LETOR 4.0 script; a query without relevant documents scores 0 and stays in the mean. Documents with a
  label of at least 1 are relevant for precision and MAP.
- No setting is chosen on the test part: the priors of bradley-terry, thurstone, plackett-luce and ordered-partitions
  and the counts of svp are those with the highest N@5 on the four other parts of each fold. On such sparse lists the
  prior matters most: N@5 is flat from a ridge of 0.3 (bradley-terry) and 100 (plackett-luce) upwards, and far lower
  with a weak prior.
- The published BordaCount row reads the lists in reverse, the largest rank as the best (borda-upside-down reproduces
  every figure). In the correct order, a Borda count is 10 to 23 points of NDCG better. The CPS row also reads the lists
  in reverse; in the correct order, CPS is the strongest baseline.
- The published Condorcet row comes from summed rank differences of the lists that contain both documents
  (copeland-difference reproduces every figure). condorcet-fuse and copeland count majorities of lists.
- theta-mpm: adherence from the labels of the training parts, scaled to [0, 1]; rank-difference counts; equal variances,
  so the order is that of the weighted net wins. theta-mpm-variances learns variances with a prior of 0.1.
  mpm-adherence learns adherence on the test queries, without labels.
- calibrated-rrf calibrates its lists on the test queries themselves, without labels, and so do ulara and
  cranking-unsupervised. cranking learns its dispersions from the training parts (200 of their queries, documents in
  blocks of 8).
- crf: potentials of log ranks, 80 passes of Adam with a learning rate of 0.03 on the expected NDCG@5 of orders of at
  most ten documents; published by Volkovs and Zemel (2013) for MQ2008-agg. supervised-markov-chain: one weight per
  engine, otherwise its defaults. Settings were chosen on the validation parts; where several were equally good there
  (documents sampled per query, passes, cutoff), the published row was also considered. Both keep the training state
  that is best on the validation part.
- lr-i, lr-r, lr-logr: linear LambdaRank on one singular vector pair per engine, 200 passes, learning rate 0.01,
  one query per step. The pass with the best NDCG@10 on the validation part is kept (log2 convention; the LETOR
  convention is 0 for the half of the queries that have fewer than ten documents). N@1 of a fold varies by a point from
  seed to seed. lr-logr-2 uses two singular vector pairs.
- best: the mean of a linear ranker and of boosted trees on the ranks of all engines (expert-blend with its defaults),
  fitted on the training parts. Its features and settings were chosen by the mean of N@1 to N@5 on the validation parts.
  The five test sets are the same five parts, so the figures may be slightly optimistic.
- Comparisons with the strongest other methods: differences in the mean of N@1 to N@5 and in MAP, in points; paired
  t-tests over all queries on means over seeds, Holm's correction over all comparisons of a set.
- `*`: better than the best of rrf, borda, copeland-difference, cps, svp, bradley-terry and plackett-luce in this table,
  paired t-test over all queries, level 0.05.
"""

# What the published row differs in, where it comes from another configuration than the row above it.
PUBLISHED_WITH = {
    "bradley-terry": "published, 100 gradient steps",
    "plackett-luce": "published, 100 gradient steps",
    "cps-upside-down": "published, best of 3 distances",
    "theta-mpm": "published, learnt variances",
}


def tables(result: Mapping[str, Any]) -> list[ResultTable]:
    """Return the figures of every set, differences above half a point, comparisons, times and claims."""
    rows = result["rows"]
    return [
        *_set_tables(rows),
        *_off_table(rows),
        *_contest_table(rows),
        *_time_table(result),
        claims_table(result["claims"]),
    ]


def _set_tables(rows: Sequence[Row]) -> list[ResultTable]:
    """Return a table per set, published rows and differences below the obtained ones."""
    by_set: dict[str, list[list[str]]] = {}
    for row in rows:
        by_set.setdefault(row["dataset"], []).extend(_lines(row))
    return [ResultTable(dataset, ["method", *COLUMNS], lines) for dataset, lines in by_set.items()]


def _lines(row: Row) -> list[list[str]]:
    """Return the lines of a row: figures, the half-width of the 95% CI over seeds, published figures, differences."""
    figures, *published = frame.with_published([row], COLUMNS, called=PUBLISHED_WITH.get(row["method"], ""))
    spread = row.get("spread")
    spread_line = [] if spread is None else [["  ± over seeds", *(f"{spread[column]:.2f}" for column in COLUMNS)]]
    return [figures, *spread_line, *published]


def _off_table(rows: Sequence[Row]) -> list[ResultTable]:
    """Return the published figures that differ by more than half a point, with the reason."""
    lines = [
        [
            row["dataset"],
            row["method"],
            " ".join(f"{column} {difference:+.2f}" for column, difference in row["off"].items()),
            row["reason"],
        ]
        for row in rows
        if row["off"]
    ]
    header = ["set", "method", "differences", "reason"]
    return [ResultTable("Differences of more than half a point from the paper", header, lines, 4)] if lines else []


def _contest_table(rows: Sequence[Row]) -> list[ResultTable]:
    """Return the table of differences of trained methods from the strongest others; empty if there are none."""
    contests = [(row, opponent, contest) for row in rows for opponent, contest in row.get("against", {}).items()]
    if not contests:
        return []
    lines = [
        [
            row["dataset"],
            row["method"],
            opponent,
            *(text for test in contest.values() for text in (f"{test['difference']:+.2f}", format_p(test["p"]))),
        ]
        for row, opponent, contest in contests
    ]
    header = ["set", "method", "against", *(text for title in contests[0][2] for text in (title, f"p of {title}"))]
    return [ResultTable("Methods trained on labels against the strongest others", header, lines, n_text=3)]


def _time_table(result: Mapping[str, Any]) -> list[ResultTable]:
    """Return the table of the multinomial model's time per query; empty if it was not measured."""
    lines = [
        [
            row["dataset"],
            row["learnt"],
            f"{row['queries']:,}",
            f"{row['documents']:,}",
            f"{row['milliseconds']:.2g}",
            f"{row['published']:g}",
        ]
        for row in result["times"]
    ]
    header = ["set", "fitted", "queries", "documents", "ms per query", "published"]
    title = "CPU time of the multinomial model on the test queries of fold 1, in milliseconds per query"
    return [ResultTable(title, header, lines, n_text=2)] if lines else []


def to_markdown(result: Mapping[str, Any]) -> str:
    """Return all tables and notes as a Markdown page."""
    return frame.markdown_page(TITLE, tables(result), "## Notes", NOTES)


# ---- figures ----
def draw(result: Mapping[str, Any], folder: str | os.PathLike[str]) -> list[str]:
    """Draw N@5 and MAP of every method alongside the published values; return the files."""
    return [
        _draw_set(result["rows"], dataset, folder)
        for dataset in dict.fromkeys(row["dataset"] for row in result["rows"])
    ]


def _draw_set(rows: Sequence[Row], dataset: str, folder: str | os.PathLike[str]) -> str:
    """Draw the methods of a set, best N@5 first; hollow dots are published figures."""
    shown = sorted((row for row in rows if row["dataset"] == dataset), key=lambda row: row["N@5"])
    drawn, axes = frame.figure(2, 9.0, 1.2 + 0.22 * len(shown))
    for panel, column in zip(axes, ("N@5", "MAP"), strict=True):
        panel.plot([row[column] for row in shown], range(len(shown)), "o", color=COLOURS[0], markersize=5, label="here")
        known = [(row["published"][column], k) for k, row in enumerate(shown) if row["published"]]
        if known:
            panel.plot(*zip(*known, strict=True), "o", mfc="none", color=COLOURS[1], markersize=9, label="published")
        panel.set_xlabel(f"{column}, percent")
        panel.grid(axis="y", color="#e3e9ed", linewidth=0.6)
        panel.set_ylim(-0.7, len(shown) - 0.3)
    axes[0].set_yticks(range(len(shown)), [row["method"] for row in shown])
    axes[1].set_yticks(range(len(shown)), [""] * len(shown))
    axes[0].legend(frameon=False, fontsize=8, loc="lower right")
    caption = f"{dataset}: N@5 and MAP of every method; hollow circles are the published figures"
    return frame.save_figure(drawn, folder, f"metasearch-{dataset}", caption)
