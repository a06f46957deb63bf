"""Metasearch on the LETOR 4.0 aggregation sets: published baselines and other methods.

The figures are those of table 1 of Volkovs and Zemel (2012) and of table 3 of Volkovs, Larochelle and Zemel (2012).
Each query comes with the ranked lists of 25 (MQ2008-agg) or 21 (MQ2007-agg) search engines and with judged documents.
A method fuses the lists of a query; its ranking is scored by NDCG and precision at 1..5 and by average precision,
averaged over the test queries of a fold, then over the five folds, in percent.

Conventions that carry the published figures: NDCG as LETOR's script has it, a query without relevant documents scores 0
and stays in the mean, label >= 1 is relevant, every document of the file is a candidate, ranked by an engine or not.
Fold f tests on part A(f+4), cyclically, so the five test sets are the five parts. The published BordaCount and CPS
rows read the lists upside down (the largest rank as the best); the Condorcet rows are Copeland's points where a duel
goes to whom the lists put more places ahead in total.

A method that learns from labels (theta-mpm, cps, lr-…, best) is fitted on the training parts A(f) to A(f+2) of every
fold; the lr-… choose the best pass on the validation part A(f+3). They and best run with several seeds (the order of
the queries in training, the samples of bagging): figures are means over seeds, below them is half of the 95 % interval
of that mean, and tests take the mean value of every query. A prior or another setting is that with the most N@5 on the
four parts that fold f does not test. A star marks columns where a method beats the best baseline, all of them the right
way up, by a paired t-test over all queries at the level 0.05.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from concordant import registry
from concordant.evaluation import evaluate
from concordant.experiments import _frame as frame
from concordant.experiments._frame import DataFolder, Progress, ResultTable, Row, Settings, silent
from concordant.experiments._metasearch_methods import (
    BASELINES,
    COLUMNS,
    CONTESTANTS,
    OPPONENTS,
    PUBLISHED,
    PUBLISHED_BASELINES,
    SUPERVISED,
    Contestant,
)
from concordant.io import read, read_labels
from concordant.labels import Labels
from concordant.method import Method
from concordant.metrics.significance import holm, paired_t_test
from concordant.preferences import Preferences
from concordant.support.text import format_p
from concordant.types import Floats

TITLE = "Metasearch on the LETOR 4.0 aggregation sets"
SETS = ("MQ2008-agg", "MQ2007-agg")
PARTS = tuple(f"A{k}" for k in range(1, 6))
METRICS = (*(f"ndcg@{k}:letor" for k in range(1, 6)), *(f"p@{k}" for k in range(1, 6)), "map")
TOLERANCE = 0.5  # a published figure further off needs a reason
CHOSEN_BY = COLUMNS.index("N@5")
SEEDS = 5
SUMMED_UP = {"N@1-5": slice(0, 5), "MAP": slice(10, 11)}  # what contests between methods look at


def default_methods() -> tuple[str, ...]:
    """Return the contestants whose method, and the library it needs, are installed."""
    return tuple(
        name
        for name, declared in CONTESTANTS.items()
        if declared.method in registry.modules() and (not declared.library or find_spec(declared.library) is not None)
    )


def run(
    data: DataFolder,
    sets: Sequence[str] = SETS,
    methods: Sequence[str] | None = None,
    progress: Progress = silent,
    *,
    seeds: int = SEEDS,
) -> list[Row]:
    """Return one row per set and method: dataset, method, the columns in percent, what was published.

    ``significant`` lists the columns where the method beats the best baseline of the run and ``baseline`` names that
    one; ``significant_as_published`` does the same with the baselines as they were published. ``chosen`` holds the
    settings of each fold, ``reason`` why published figures are off by more than 0.5. Of methods with seeds ``spread``
    has half of the 95 % interval of the means over seeds; ``against`` has contests of those trained with validation.
    """
    frame.check_sets(sets, SETS)
    rows: list[Row] = []
    for dataset in sets:
        measured = measure_all(data, dataset, default_methods() if methods is None else methods, seeds, progress)
        by_method = {name: result.by_query for name, result in measured.items()}
        set_rows = [_row(dataset, name, result) for name, result in measured.items()]
        for row in set_rows:
            row.update(_significance(row["method"], by_method))
        _contests(set_rows, by_method)
        rows += set_rows
    return rows


class Measured(NamedTuple):
    """What a method achieves: metrics of all test queries (metric x query) and their means over folds, in percent.

    ``spread`` is half of the 95 % interval of the means over seeds, ``chosen`` are the settings of every fold.
    """

    by_query: Floats
    means: Floats
    spread: Floats | None
    chosen: Sequence[Settings]


def measure_all(
    data: DataFolder, dataset: str, methods: Sequence[str], seeds: int, progress: Progress = silent
) -> dict[str, Measured]:
    """Run methods, by the names of this experiment, on the five folds of a set."""
    contestants = {name: contestant(name) for name in methods}
    methods_of = {
        name: [_make(declared, choice) for choice in declared.choices or ({},)]
        for name, declared in contestants.items()
    }
    folds, results = find_folds(data, dataset), {}
    for name, candidates in methods_of.items():
        step, declared = partial(progress, f"{dataset}: {name}"), contestants[name]
        spread: Floats | None = None
        chosen: Sequence[Settings] = []
        if declared.is_seeded:
            by_part, spread = _measure_seeds(declared, candidates[0], folds, seeds, step)
        else:
            by_part, chosen = _measure(declared, candidates, folds, step)
        means = np.mean([100 * part.mean(axis=1) for part in by_part], axis=0)
        results[name] = Measured(np.concatenate(by_part, axis=1), means, spread, chosen)
    return results


def contestant(name: str) -> Contestant:
    """Return the contestant of a name of this experiment, or a method with its defaults."""
    return CONTESTANTS.get(name, Contestant(name))


def _make(declared: Contestant, choice: Settings) -> Method:
    return registry.make(declared.method, **{**declared.settings, **choice})


@dataclass(frozen=True)
class Fold:
    """The files of one fold; the training parts are read only for methods that learn."""

    train_paths: tuple[Path, ...]
    valid_path: Path
    test_path: Path

    @cached_property
    def train(self) -> tuple[Preferences, Labels]:
        """The training parts."""
        return read(self.train_paths), read_labels(self.train_paths)

    @cached_property
    def valid(self) -> tuple[Preferences, Labels]:
        """The validation part."""
        return read(self.valid_path), read_labels(self.valid_path)

    @cached_property
    def test(self) -> tuple[Preferences, Labels]:
        """The test part."""
        return read(self.test_path), read_labels(self.test_path)


def find_folds(data: DataFolder, dataset: str) -> list[Fold]:
    """Find the five folds: fold f trains on A(f) to A(f+2), validates on A(f+3) and tests on A(f+4), cyclically."""
    folder = frame.data_folder(data, "letor4-agg", dataset)
    needed = "this experiment needs the parts A1 to A5"
    paths = [frame.existing(folder, f"{part}.txt", f"{part}.txt.gz", otherwise=needed) for part in PARTS]
    return [Fold(tuple(paths[(f + k) % 5] for k in range(3)), paths[(f + 3) % 5], paths[(f + 4) % 5]) for f in range(5)]


def reversed_lists(prefs: Preferences) -> Preferences:
    """Return the lists in reverse order: the largest rank becomes the best."""
    assert prefs.value is not None
    sizes = np.diff(prefs.indptr)
    largest = np.repeat(np.maximum.reduceat(prefs.value, prefs.indptr[:-1]), sizes)
    last_tier = np.repeat(np.maximum.reduceat(prefs.tier, prefs.indptr[:-1]), sizes)
    return prefs.replace(tier=last_tier - prefs.tier, value=largest + 1 - prefs.value)


def _measure(
    declared: Contestant, candidates: Sequence[Method], folds: Sequence[Fold], progress: Callable[[], None]
) -> tuple[list[Floats], list[Settings]]:
    """Return the metrics (metric x query) of the test part of every fold, and the settings chosen by N@5
    on the other folds.
    """
    by_fold = []
    for fold in folds:
        by_fold.append([_evaluate(method, declared, fold) for method in candidates])
        progress()
    if len(candidates) == 1:
        return [of_fold[0] for of_fold in by_fold], []
    best_choice = []
    for f in range(len(folds)):
        other_folds = [of_fold for index, of_fold in enumerate(by_fold) if index != f]
        quality = [np.concatenate([part[k][CHOSEN_BY] for part in other_folds]).mean() for k in range(len(candidates))]
        best_choice.append(int(np.argmax(quality)))
    return [by_fold[f][k] for f, k in enumerate(best_choice)], [declared.choices[k] for k in best_choice]


def _measure_seeds(
    declared: Contestant, method: Method, folds: Sequence[Fold], seeds: int, progress: Callable[[], None]
) -> tuple[list[Floats], Floats | None]:
    """Return the metrics of the test part of every fold (means over seeds), and the half-width of the
    interval over seeds.
    """
    by_part, means = [], []
    for fold in folds:
        by_seed = np.stack([_evaluate(replace(method, seed=seed), declared, fold) for seed in range(seeds)])  # type: ignore[call-arg]
        by_part.append(by_seed.mean(axis=0))
        means.append(100 * by_seed.mean(axis=2))
        progress()
    return by_part, half_interval(np.mean(means, axis=0)) if seeds > 1 else None


def half_interval(values: Floats) -> Floats:
    """Return the half-width of the 95% confidence interval of the mean of every column, by Student's t."""
    from scipy.stats import t

    n = len(values)
    return np.asarray(t.ppf(0.975, n - 1) * values.std(axis=0, ddof=1) / np.sqrt(n))


def _evaluate(method: Method, declared: Contestant, fold: Fold) -> Floats:
    """Fit (where it learns) and evaluate a method on the test queries of a fold: metric x query."""
    oriented = reversed_lists if declared.is_upside_down else lambda prefs: prefs
    if declared.learns:
        prefs, labels = fold.train
        fitting: Any = method
        method = fitting.fit(oriented(prefs), labels, **({"validation": fold.valid} if declared.validates else {}))
    test, labels = fold.test
    return np.stack(list(evaluate(method.rank(oriented(test)), labels, METRICS).per_instance.values()))


def _row(dataset: str, name: str, measured: Measured) -> Row:
    """Return the row of a method: means, published figures, differences of more than 0.5 and their reason."""
    means = measured.means.tolist()
    published = PUBLISHED[dataset].get(name)
    differences_from_published = (
        {} if published is None else dict(zip(COLUMNS, np.subtract(means, published).tolist(), strict=True))
    )
    differences_from_published = {
        column: difference for column, difference in differences_from_published.items() if abs(difference) > TOLERANCE
    }
    reason = contestant(name).reasons.get(dataset, "not known") if differences_from_published else ""
    return {
        "dataset": dataset,
        "method": name,
        **dict(zip(COLUMNS, means, strict=True)),
        "published": None if published is None else dict(zip(COLUMNS, published, strict=True)),
        "spread": None if measured.spread is None else dict(zip(COLUMNS, measured.spread.tolist(), strict=True)),
        "chosen": [dict(settings) for settings in measured.chosen],
        "off": differences_from_published,
        "reason": reason,
    }


def _significance(name: str, by_method: Mapping[str, Floats]) -> dict[str, Any]:
    """Compare a method with the best baseline of each column: of all, and of those as published."""
    better, baseline = _beaten(name, by_method, BASELINES)
    as_published, _ = _beaten(name, by_method, PUBLISHED_BASELINES)
    return {"significant": better, "baseline": baseline, "significant_as_published": as_published}


def _contests(rows: Sequence[Row], by_method: Mapping[str, Floats]) -> None:
    """Add to the rows of trained methods their differences from the strongest others, with p-values by Holm."""
    pairs = [
        (row, opponent)
        for row in rows
        if row["method"] in SUPERVISED
        for opponent in OPPONENTS
        if opponent in by_method
    ]
    pairs = [(row, opponent) for row, opponent in pairs if row["method"] != opponent]
    for row in rows:
        row["against"] = {opponent: {} for own_row, opponent in pairs if own_row is row}
    for title, columns in SUMMED_UP.items():
        gains = [(by_method[row["method"]] - by_method[opponent])[columns].mean(axis=0) for row, opponent in pairs]
        corrected = holm([paired_t_test(difference) for difference in gains]) if gains else []
        for (row, opponent), difference, p in zip(pairs, gains, corrected, strict=True):
            row["against"][opponent][title] = {"difference": 100 * float(difference.mean()), "p": float(p)}


def _beaten(name: str, by_method: Mapping[str, Floats], baselines: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Return the columns where a method is significantly better than the best baseline, and that baseline by column."""
    opponents = [baseline for baseline in baselines if baseline in by_method and baseline != name]
    better, best_of = [], {}
    for c, column in enumerate(COLUMNS if opponents else ()):
        best = best_of[column] = frame.best_baseline(by_method, opponents, c)
        if frame.is_better(by_method[name][c] - by_method[best][c]):
            better.append(column)
    return better, best_of


def n_steps(sets: Sequence[str], methods: Sequence[str]) -> int:
    """Return how many times ``run`` reports progress."""
    return len(sets) * len(PARTS) * len(methods)


NOTES = """
- NDCG as the LETOR 4.0 script computes it, label >= 1 is relevant, a query without relevant documents counts 0; means
  over the five folds, times 100.
- Nothing is chosen on test parts: the priors of bradley-terry, thurstone, plackett-luce and ordered-partitions and the
  counts of svp are those with the most N@5 on the four other parts of each fold. On such sparse lists the prior is the
  method: N@5 is flat from ridge 0.3 (bradley-terry) and 100 (plackett-luce) upwards, far lower with hardly any.
- BordaCount was published from lists read upside down, the largest rank as the best (borda-upside-down: every figure
  comes out). The right way up a Borda count is 10 to 23 points of NDCG better. The CPS row was read so, too; the
  right way up CPS is the strongest baseline there is, and what Volkovs, Larochelle and Zemel report as 3.5 points of
  N@5 above the best baseline of MQ2008-agg (50.69 against 47.17) is about one point above CPS.
- Condorcet was published from summed rank differences of the lists that name both documents (copeland-difference:
  every figure comes out); condorcet-fuse and copeland count majorities of lists, which is another method.
- theta-mpm: adherence from the labels of the training parts, stretched over [0, 1]; rank-difference counts; equal
  variances, so the order is that of the weighted net wins. theta-mpm-variances learns variances, prior 0.1.
- calibrated-rrf calibrates its lists on the test queries themselves, without labels; so do ulara and
  cranking-unsupervised. cranking learns its dispersions from the training parts (200 of their queries, documents in
  blocks of 8).
- crf: potentials of log ranks, 80 passes of Adam's steps of 0.03 on the expected NDCG@5 of orders of at most ten
  documents; published by Volkovs and Zemel (2013) for MQ2008-agg. supervised-markov-chain: one weight per engine, the
  rest of its settings its defaults. Settings were chosen on validation parts, where these
  left several alike (documents drawn per query, passes, cut-off) with an eye on the published row; both keep the best
  state on them.
- lr-i, lr-r, lr-logr: linear LambdaRank on one singular pair per engine, 200 passes with steps of 0.01, one query each;
  the pass with the best NDCG@10 on the validation part counts (the usual one: LETOR's is 0 for the half of the queries
  that have fewer than ten documents; on halves of the validation parts both choose equally well). N@1 of a fold moves
  by a point from seed to seed.
- best: the mean of a linear ranker and of boosted trees on every engine's places (expert-blend with its defaults),
  fitted on the training parts alone. Its features and settings were chosen by the mean of N@1..N@5 on the validation
  parts; their five test sets are the same five parts, so that a little of the choice may show in the figures.
- Against others: differences of the means of N@1..N@5 and of MAP, in points; p: paired t-tests over all queries, on
  means over seeds, corrected after Holm over all comparisons of a set.
- `*`: better than the best of rrf, borda, copeland-difference, cps, svp, bradley-terry and plackett-luce in this table,
  paired t-test over all queries, level 0.05.
"""


def claims(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return sentences on where theta-mpm beats the best baseline, as published and read correctly."""
    sentences = []
    for row in rows:
        if row["method"] != "theta-mpm" or not row["baseline"]:
            continue
        strongest = ", ".join(dict.fromkeys(row["baseline"].values()))
        sentences.append(
            f"{row['dataset']}: theta-mpm is significantly above the best published baseline in "
            f"{_listed(row['significant_as_published'])}, and above the strongest the right way up ({strongest}) in "
            f"{_listed(row['significant'])}."
        )
    return sentences


def _listed(columns: Sequence[str]) -> str:
    return ", ".join(columns) or "no column"


def differences(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return sentences on published figures that differ by more than half a point, and why."""
    return [
        f"{row['dataset']}, {row['method']}: "
        + " ".join(f"{column} {difference:+.2f}" for column, difference in row["off"].items())
        + f": {row['reason']}."
        for row in rows
        if row["off"]
    ]


def tables(rows: Sequence[Row]) -> list[ResultTable]:
    """Return the table of all sets, published rows under the obtained ones, and that of contests, if there are any."""
    lines = [[row["dataset"] if k == 0 else "", *line] for row in rows for k, line in enumerate(_lines(row))]
    return [ResultTable("", ["set", "method", *COLUMNS], lines, n_text=2), *_contest_table(rows)]


def _lines(row: Row, called: str = "") -> list[list[str]]:
    """Return the lines of a row: figures, the half-width of the interval over seeds, published figures."""
    figures, *published = frame.with_published([row], COLUMNS, called=called)
    spread = row.get("spread")
    spread_line = [] if spread is None else [["  ± over seeds", *(f"{spread[column]:.2f}" for column in COLUMNS)]]
    return [figures, *spread_line, *published]


def _contest_table(rows: Sequence[Row]) -> list[ResultTable]:
    """Return the table of differences from the strongest others; empty without any."""
    lines = [
        [
            row["dataset"],
            row["method"],
            opponent,
            *(text for test in contest.values() for text in (f"{test['difference']:+.2f}", format_p(test["p"]))),
        ]
        for row in rows
        for opponent, contest in row.get("against", {}).items()
    ]
    header = ["set", "method", "against", *(text for title in SUMMED_UP for text in (title, f"p of {title}"))]
    return (
        [ResultTable("Trained with labels and validation against the strongest others", header, lines, n_text=3)]
        if lines
        else []
    )


def told(rows: Sequence[Row]) -> dict[str, list[str]]:
    """Return what the tables show in words, by title."""
    sentences = {"More than half a point off": differences(rows), "Claims": claims(rows)}
    return {title: lines for title, lines in sentences.items() if lines}


def plain(rows: Sequence[Row]) -> list[Row]:
    """Return the rows for JSON, figures to four places."""
    return [{k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()} for row in rows]


def to_markdown(rows: Sequence[Row]) -> str:
    """Return the tables of all sets, published rows under the obtained ones, and what differs."""
    by_set = []
    for dataset in dict.fromkeys(row["dataset"] for row in rows):
        lines = [line for row in rows if row["dataset"] == dataset for line in _lines(row, called="*published*")]
        by_set.append(ResultTable(dataset, ["method", *COLUMNS], [[cell.strip() for cell in line] for line in lines]))
    by_set += _contest_table(rows)
    texts = [f"## {title}\n\n" + "\n".join(f"- {line}" for line in lines) for title, lines in told(rows).items()]
    return frame.markdown_page(TITLE, by_set, *texts, "## Notes", NOTES)
