"""Claims of Volkovs and Zemel (2012) and of Volkovs, Larochelle and Zemel (2012) on metasearch, tested per query.

Both papers compare a method with the best baseline of each column by a paired t-test over all queries at the level
0.05, without a correction for multiple tests; these claims are tested in the same way. The published BordaCount and
CPS rows read the lists in reverse, so every claim on baselines has a second row, with all baselines on lists in the
correct order. Claims on the means of N@1 to N@5 correct p-values by Holm within the claim.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from concordant.experiments import frame
from concordant.experiments._metasearch_methods import (
    BASELINES,
    COLUMNS,
    PUBLISHED,
    PUBLISHED_BASELINES,
    PUBLISHED_BASELINES_WITH_FUSION,
)
from concordant.experiments.claims import Claim, Difference, in_direction, is_above, is_level
from concordant.experiments.frame import Row
from concordant.metrics.significance import holm, paired_t_test
from concordant.types import Floats

MPM_PAPER, LR_PAPER = "Volkovs and Zemel 2012", "Volkovs, Larochelle and Zemel 2012"
LR = ("lr-i", "lr-r", "lr-logr")
NDCG, ALL = slice(0, 5), tuple(range(len(COLUMNS)))
BY_COLUMN = "paired t-test over queries against the best baseline of each column, level 0.05"
BY_MEAN = "paired t-test over queries on the mean of N@1 to N@5, Holm"
IN_PART = f"above 0 (in part if not significant); {BY_MEAN}"
FIVE_POINTS = 4.5  # rounds to five
SPARSE = {"MQ2008-agg": 65, "MQ2007-agg": 35}  # percent of missing ranks, as published
CLOSE = 0.02  # a figure printed with two decimals

ByMethod = Mapping[str, Floats]
"""Metrics of all test queries, metric x query, by method."""


class Evidence(NamedTuple):
    """The results that the claims are tested on: per-query metrics by set and method, and further measurements."""

    values: Mapping[str, ByMethod]
    times: Sequence[Row] = ()
    readings: Sequence[Row] = ()
    missing: Mapping[str, float] = {}


def claims_of(evidence: Evidence) -> list[Claim]:
    """Return all claims on metasearch with their verdicts."""
    values = evidence.values
    return [*_mpm_claims(values), *_other_claims(evidence), *_lr_claims(values)]


# ---- against the best baseline, column by column ----
def _wins(
    values: Mapping[str, ByMethod], dataset: str, name: str, baselines: Sequence[str], columns: Sequence[int] = ALL
) -> dict[str, Difference] | None:
    """Return the difference from the best baseline in each column; None if the method or a baseline was not run."""
    by_method = values.get(dataset, {})
    others = [baseline for baseline in baselines if baseline != name]
    if not {name, *others} <= set(by_method):
        return None
    tests = {}
    for c in columns:
        difference = by_method[name][c] - by_method[frame.best_baseline(by_method, others, c)][c]
        tests[COLUMNS[c]] = Difference(100 * float(difference.mean()), paired_t_test(difference))
    return tests


def _counted(label: str, tests: Mapping[str, Difference] | None) -> str:
    """Return the number of columns in which a method is significantly better, and the extreme differences."""
    if tests is None:
        return ""
    won = sum(bool(is_above(test)) for test in tests.values())
    gaps = [test.difference for test in tests.values()]
    return f"{label}: significantly above in {won} of {len(tests)} columns ({min(gaps):+.2f} to {max(gaps):+.2f})"


def _outcomes(tests: Mapping[str, Difference] | None) -> list[bool | None]:
    return [None] if tests is None else [is_above(test) for test in tests.values()]


def _mpm_claims(values: Mapping[str, ByMethod]) -> list[Claim]:
    """Return the claims that theta-MPM beats the baselines."""
    wanted = {"MQ2007-agg": (0, 1, 2, 3, 4, 10), "MQ2008-agg": (1, 2, 3, 6, 7, 9)}
    named = {"MQ2007-agg": "in NDCG and MAP", "MQ2008-agg": "at N@2 to N@4 and P@2, P@3 and P@5"}
    claims = []
    for dataset, columns in wanted.items():
        tests = _wins(values, dataset, "theta-mpm", PUBLISHED_BASELINES, columns)
        claim = f"theta-MPM is significantly better than the best baseline on {dataset} {named[dataset]}"
        source = f"{MPM_PAPER}, section 5.1, table 1"
        claims.append(Claim.of(claim, source, _outcomes(tests), _counted("baselines as published", tests), BY_COLUMN))
    both = {dataset: _wins(values, dataset, "theta-mpm", BASELINES, columns) for dataset, columns in wanted.items()}
    claims.append(
        Claim.of(
            "the same against baselines on lists in the correct order",
            "not in the paper: its BordaCount and CPS rows read the lists in reverse",
            [outcome for tests in both.values() for outcome in _outcomes(tests)],
            [_counted(dataset, tests) for dataset, tests in both.items()],
            BY_COLUMN,
        )
    )
    return [*claims, _of_adherence(values)]


def _of_adherence(values: Mapping[str, ByMethod]) -> Claim:
    pairs = [("theta-mpm", "mpm"), ("theta-mpm", "mpm-adherence")]
    tests = _compared(values, pairs)
    return Claim.of(
        "adherence set from training labels consistently gives better rankings than adherence learnt without labels",
        f"{MPM_PAPER}, section 5.1",
        in_direction(tests.values()),
        _written(tests),
        IN_PART,
    )


# ---- means of N@1 to N@5 ----
Key = tuple[str, str, str]


def _compared(
    values: Mapping[str, ByMethod], pairs: Sequence[tuple[str, str]], sets: Sequence[str] | None = None
) -> dict[Key, Difference | None]:
    """Compare pairs of methods on every set by the mean of N@1 to N@5, with Holm's correction over all of them."""
    keys = [(dataset, *pair) for dataset in sets or tuple(SPARSE) for pair in pairs]
    known = [key for key in keys if {key[1], key[2]} <= set(values.get(key[0], {}))]
    gaps = [(values[dataset][name] - values[dataset][other])[NDCG].mean(axis=0) for dataset, name, other in known]
    adjusted = holm([paired_t_test(gap) for gap in gaps]) if gaps else []
    tests = {key: Difference(100 * float(gap.mean()), p) for key, gap, p in zip(known, gaps, adjusted, strict=True)}
    return {key: tests.get(key) for key in keys}


def _written(tests: Mapping[Key, Difference | None]) -> list[str]:
    return [f"{dataset}, {name} over {other}: {test}" for (dataset, name, other), test in tests.items() if test]


# ---- the learnt rankers ----
def _lr_claims(values: Mapping[str, ByMethod]) -> list[Claim]:
    """Return the claims on LambdaRank with the features of experts."""
    table = f"{LR_PAPER}, section 6.1, table 3"
    as_published = {
        (dataset, name): _wins(values, dataset, name, PUBLISHED_BASELINES_WITH_FUSION)
        for dataset in SPARSE
        for name in LR
    }
    strict = {key: _wins(values, *key, BASELINES) for key in as_published}
    claims = [
        Claim.of(
            title,
            source,
            [outcome for test in tests.values() for outcome in _outcomes(test)],
            [_counted(" ".join(key), test) for key, test in tests.items()],
            BY_COLUMN,
        )
        for title, source, tests in (
            ("LR-I, LR-R and LR-logR significantly outperform every baseline in all columns", table, as_published),
            (
                "the same against baselines on lists in the correct order (CPS is the strongest)",
                "not in the paper: its CPS row reads the lists in reverse",
                strict,
            ),
        )
    ]
    return [*claims, _of_five_points(as_published), *_of_transformations(values)]


def _of_five_points(tests: Mapping[tuple[str, str], Mapping[str, Difference] | None]) -> Claim:
    largest: dict[str, float] = {}
    for (dataset, _), by_column in tests.items():
        if by_column is not None:
            gaps = [by_column[column].difference for column in COLUMNS[NDCG]]
            largest[dataset] = max(largest.get(dataset, -np.inf), *gaps)
    return Claim.of(
        "they improve by as much as 5 NDCG points over the best baseline on each set",
        f"{LR_PAPER}, section 6.1",
        [gap >= FIVE_POINTS for gap in largest.values()],
        [
            f"{dataset}: at most {gap:+.2f} (published table: {_printed_gap(dataset):+.2f})"
            for dataset, gap in largest.items()
        ],
        f"largest difference at N@1 to N@5 is at least {FIVE_POINTS}",
    )


def _printed_gap(dataset: str) -> float:
    """Return the largest difference at N@1 to N@5 between a learnt ranker and the best baseline in the paper."""
    figures = {name: np.array(row[NDCG]) for name, row in PUBLISHED[dataset].items()}
    best = np.max([figures[name] for name in PUBLISHED_BASELINES_WITH_FUSION], axis=0)
    return float(np.max([figures[name] - best for name in LR]))


def _of_transformations(values: Mapping[str, ByMethod]) -> list[Claim]:
    """Return the claims on the three transformations and on the number of singular vectors."""
    source = f"{LR_PAPER}, section 6.1"
    best = _compared(values, [("lr-logr", "lr-i"), ("lr-logr", "lr-r")], ["MQ2008-agg"])
    level = _compared(values, [("lr-logr", "lr-i")], ["MQ2007-agg"])
    weakest = _compared(values, [("lr-i", "lr-r"), ("lr-logr", "lr-r")])
    rank = _compared(values, [("lr-logr", "lr-logr-2")])
    return [
        Claim.of(
            "LR-logR significantly outperforms LR-I and LR-R on MQ2008-agg",
            source,
            [is_above(test) for test in best.values()],
            _written(best),
            BY_MEAN,
        ),
        Claim.of(
            "LR-logR and LR-I are comparable on MQ2007-agg",
            source,
            [is_level(test) for test in level.values()],
            _written(level),
            f"no significant difference; {BY_MEAN}",
        ),
        Claim.of(
            "binary and log rank preferences are better than rank differences",
            source,
            in_direction(weakest.values()),
            _written(weakest),
            IN_PART,
        ),
        Claim.of(
            "one singular vector pair is enough (p = 1)",
            source,
            [None if test is None else test.difference > 0 or test.p >= frame.LEVEL for test in rank.values()],
            _written(rank),
            f"p = 2 is not significantly better; {BY_MEAN}",
        ),
    ]


# ---- time, labels, data ----
def _other_claims(evidence: Evidence) -> list[Claim]:
    return [_of_time(evidence.times), _of_labels(evidence.readings), _of_sparsity(evidence.missing)]


def _of_time(times: Sequence[Row]) -> Claim:
    return Claim.of(
        "inference with the multinomial model takes about 5 and 12 ms per query",
        f"{MPM_PAPER}, section 5.1",
        [row["milliseconds"] <= row["published"] for row in times],
        [
            f"{row['dataset']}, {row['learnt']}: {row['milliseconds']:.2g} ms (published {row['published']:g})"
            for row in times
        ],
        "CPU time on the test queries of fold 1 is at most the published time",
    )


def _of_labels(readings: Sequence[Row]) -> Claim:
    """Return the claim that label 1 counts as irrelevant, tested on the published figures of rrf."""
    return Claim.of(
        "for precision and MAP, label 1 is converted to 0 and label 2 to 1",
        f"{MPM_PAPER}, section 5; {LR_PAPER}, section 6",
        [abs(row["label 2"] - row["published"]) <= CLOSE for row in readings],
        [
            f"{row['dataset']}, {row['column']} of rrf: {row['label 2']:.2f} with labels of 2, "
            f"{row['label 1']:.2f} with labels of at least 1, published {row['published']:.2f}"
            for row in readings
        ],
        f"figures with only label 2 as relevant are within {CLOSE} of the published ones",
    )


def _of_sparsity(missing: Mapping[str, float]) -> Claim:
    return Claim.of(
        "about 65% of the ranks are missing in MQ2008-agg and 35% in MQ2007-agg",
        f"{MPM_PAPER}, section 5; {LR_PAPER}, section 6",
        [abs(share - SPARSE[dataset]) < 5 for dataset, share in missing.items()],
        [f"{dataset}: {share:.1f}%" for dataset, share in missing.items()],
        "mean over queries of the share of missing ranks is within 5 points",
    )
