"""Metasearch on the LETOR 4.0 aggregation sets: published baselines, learnt rankers and other methods.

The published figures are those of table 1 of Volkovs and Zemel (2012) and table 3 of Volkovs, Larochelle and Zemel
(2012). Each query has the ranked lists of 25 (MQ2008-agg) or 21 (MQ2007-agg) search engines and relevance judgements.
A method fuses the lists of a query. Its ranking is evaluated by NDCG and precision at 1 to 5 and by average precision:
the mean over the test queries of a fold, then over the five folds, in percent.

Conventions of the published figures: NDCG follows LETOR's script; a query without relevant documents scores 0 and stays
in the mean; documents with a label of at least 1 are relevant; every document of the file is a candidate, even if no
engine ranked it. Fold f tests on part A(f+4), cyclically, so the five test sets are the five parts. The published
BordaCount and CPS rows read the lists in reverse (the largest rank as the best); the Condorcet rows are Copeland scores
on summed rank differences.

Methods that learn from labels (theta-mpm, cps, lr-…, best) are fitted on the training parts A(f) to A(f+2) of every
fold; lr-… keep the best pass on the validation part A(f+3). They and best run with several seeds (order of the training
queries, bagging): figures are means over seeds with the half-width of the 95% confidence interval of that mean, and
tests use the mean value of every query. Priors and other settings are those with the highest N@5 on the four parts that
fold f does not test. A star marks columns where a method beats the best baseline on lists in the correct order, by a
paired t-test over all queries at the level 0.05.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from concordant import registry
from concordant.evaluation import evaluate
from concordant.experiments import frame
from concordant.experiments._metasearch_claims import Evidence, claims_of
from concordant.experiments._metasearch_methods import (
    BASELINES,
    COLUMNS,
    CONTESTANTS,
    OPPONENTS,
    PUBLISHED,
    SUPERVISED,
    Contestant,
)
from concordant.experiments._metasearch_report import ABOUT, NOTES, TITLE, draw, tables, to_markdown
from concordant.experiments.claims import Claim, as_rows
from concordant.experiments.frame import DataFolder, Progress, Row, Settings, silent
from concordant.io import read, read_labels
from concordant.labels import Labels
from concordant.method import Method
from concordant.metrics.significance import holm, paired_t_test
from concordant.preferences import Preferences
from concordant.types import Floats

__all__ = ["ABOUT", "NOTES", "SETS", "TITLE", "claims", "draw", "plain", "run", "tables", "to_markdown"]
SETS = ("MQ2008-agg", "MQ2007-agg")
PARTS = tuple(f"A{k}" for k in range(1, 6))
METRICS = (*(f"ndcg@{k}:letor" for k in range(1, 6)), *(f"p@{k}" for k in range(1, 6)), "map")
TOLERANCE = 0.5  # larger differences from a published figure need a reason
CHOSEN_BY = COLUMNS.index("N@5")
SEEDS = 5
SUMMED_UP = {"N@1-5": slice(0, 5), "MAP": slice(10, 11)}  # columns of comparisons between methods
MILLISECONDS = {"MQ2008-agg": 5.0, "MQ2007-agg": 12.0}  # per query, published for the multinomial model
REPEATS = 3  # of timings, of which the fastest counts


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
) -> dict[str, Any]:
    """Return ``rows`` (one per set and method), ``times``, ``readings``, ``missing`` and ``claims``.

    A row has the columns in percent and the published ones. ``significant`` lists the columns where the method beats
    the best baseline of the run, which ``baseline`` names. ``chosen`` has the settings of each fold, ``off`` the
    differences of more than 0.5 from the published figures and ``reason`` their reason. For methods with seeds,
    ``spread`` is the half-width of the 95% confidence interval over seeds; ``against`` compares trained methods with
    the strongest others.
    """
    frame.check_sets(sets, SETS)
    wanted = default_methods() if methods is None else methods
    rows: list[Row] = []
    values: dict[str, Mapping[str, Floats]] = {}
    for dataset in sets:
        measured = measure_all(data, dataset, wanted, seeds, progress)
        by_method = values[dataset] = {name: result.by_query for name, result in measured.items()}
        set_rows = [_row(dataset, name, result) for name, result in measured.items()]
        for row in set_rows:
            row["significant"], row["baseline"] = _beaten(row["method"], by_method, BASELINES)
        _contests(set_rows, by_method)
        rows += set_rows
    folds = {dataset: find_folds(data, dataset) for dataset in sets}
    evidence = Evidence(
        values,
        [
            _time(dataset, folds[dataset][0], variances)
            for dataset in sets
            if {"mpm", "theta-mpm"} & set(wanted)
            for variances in ("equal", "learnt")
        ],
        [reading for dataset in sets if "rrf" in wanted for reading in _readings(dataset, folds[dataset])],
        {dataset: _missing(folds[dataset]) for dataset in sets},
    )
    found = claims_of(evidence)
    return {
        "rows": rows,
        "times": evidence.times,
        "readings": evidence.readings,
        "missing": evidence.missing,
        "claims": found,
    }


def _time(dataset: str, fold: Fold, variances: str) -> Row:
    """Measure the CPU time of theta-MPM, with adherence already fitted, for the test queries of a fold."""
    prefs, seconds = fold.test[0], []
    fitting: Any = registry.make("mpm", prior=0.1, variances=variances)
    method = fitting.fit(*fold.train)
    for _ in range(REPEATS):
        start = time.process_time()
        method.rank(prefs).score  # noqa: B018
        seconds.append(time.process_time() - start)
    return {
        "dataset": dataset,
        "learnt": "scores" if variances == "equal" else "scores and variances",
        "queries": prefs.n_instances,
        "documents": prefs.n_slots,
        "milliseconds": 1000 * min(seconds) / prefs.n_instances,
        "published": MILLISECONDS[dataset],
    }


def _readings(dataset: str, folds: Sequence[Fold]) -> list[Row]:
    """Return P@1 and MAP of rrf if labels of at least 1 count as relevant, and if only labels of 2 do."""
    method, by_level = registry.make("rrf"), {}
    for level in (1, 2):
        specs = [f"p@1:threshold={level}", f"map:threshold={level}"]
        means = [evaluate(method.rank(fold.test[0]), fold.test[1], specs) for fold in folds]
        by_level[level] = [100 * float(np.mean([found[spec] for found in means])) for spec in specs]
    published = dict(zip(COLUMNS, PUBLISHED[dataset]["rrf"], strict=True))
    return [
        {"dataset": dataset, "column": column, "label 1": one, "label 2": two, "published": published[column]}
        for column, one, two in zip(("P@1", "MAP"), by_level[1], by_level[2], strict=True)
    ]


def _missing(folds: Sequence[Fold]) -> float:
    """Return the percentage of ranks (document x engine) that are missing, as the mean over all queries."""
    shares = []
    for fold in folds:
        prefs = fold.test[0]
        assert prefs.instance is not None
        given = np.bincount(prefs.instance, np.diff(prefs.indptr), prefs.n_instances)
        shares.append(1 - given / (np.diff(prefs.slot_ptr) * (prefs.n_agents or 1)))
    return float(100 * np.concatenate(shares).mean())


class Measured(NamedTuple):
    """The results of a method: metrics of all test queries (metric x query) and their means over folds, in percent.

    ``spread`` is the half-width of the 95% confidence interval over seeds, ``chosen`` has the settings of every fold.
    """

    by_query: Floats
    means: Floats
    spread: Floats | None
    chosen: Sequence[Settings]


def measure_all(
    data: DataFolder, dataset: str, methods: Sequence[str], seeds: int, progress: Progress = silent
) -> dict[str, Measured]:
    """Run methods, given by their names in this experiment, on the five folds of a data set."""
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
    """Return the contestant that this experiment calls ``name``, or the method of that name with its defaults."""
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
    """Fit (if it learns from labels) and evaluate a method on the test queries of a fold: metric x query."""
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
    reason = contestant(name).reasons.get(dataset, "unknown") if differences_from_published else ""
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


def _contests(rows: Sequence[Row], by_method: Mapping[str, Floats]) -> None:
    """Add the differences from the strongest other methods to the rows of trained methods, with adjusted p-values."""
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


def claims(result: Mapping[str, Any]) -> list[Claim]:
    """Return the claims of both papers with their verdicts."""
    return list(result["claims"])


def plain(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result for JSON, figures with four decimals."""
    rows = [{k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()} for row in result["rows"]]
    return {**result, "rows": rows, "claims": as_rows(result["claims"])}
