"""Claims of Tran, Phung and Venkatesh (2016) on document ranking, tested per query.

``comparisons`` tests families of models over the test queries of all folds (paired t-test, Holm's correction within a
family) on ERR, NDCG@1, NDCG@5 and MAP. ``claims`` turns them, the figures and the training times into verdicts. The
acceptance rule of Algorithm 2 is checked exactly, on the Markov chain over all subsets of a few objects.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import comb
from typing import Any, NamedTuple

import numpy as np

from concordant.experiments.claims import Claim, Difference, is_above, untestable
from concordant.experiments.frame import LEVEL, Row, published
from concordant.metrics import holm, paired_t_test
from concordant.types import Floats

PAPER = "Tran, Phung and Venkatesh 2016"
RESULTS = f"{PAPER}, section 5.1.2"
ORDERS = ("first", "second")
TESTED = ("ERR", "NDCG@1", "NDCG@5", "MAP")
RULE = "ERR, NDCG@1, NDCG@5 and MAP; paired t-test over test queries, Holm; substitute data"
BETTER = "significantly better"
EVERY = f"every model significantly better on at least one metric and worse on none; {RULE}"
BASELINES = ("rank-regress", "ranknet", "ranking-svm", "listmle", "davidson", "rao-kupper")
EXACT_MODELS = ("pmop-arithmetic", "pmop-arithmetic-weighted", "pmop-maximum")
SAMPLED_MODELS = ("pmop-harmonic-gibbs", "pmop-geometric-gibbs", "pmop-geometric-mh")
PAIRWISE = ("ranknet", "davidson", "rao-kupper", "rank-regress", "ranking-svm")
GAIN = 0.015  # rounds to the 2% of the paper

# Table 2 of Tran, Phung and Venkatesh, on the Yahoo! data: ERR, NDCG@1, NDCG@5; first- and second-order features.
PUBLISHED = published(
    6,
    """
    rank-regress             0.4882 0.6830 0.6672 0.4971 0.7021 0.6752
    ranknet                  0.4919 0.6903 0.6698 0.5049 0.7183 0.6836
    ranking-svm              0.4868 0.6797 0.6662 0.4970 0.7009 0.6733
    listmle                  0.4955 0.6993 0.6705 0.5030 0.7172 0.6810
    davidson                 0.4941 0.6944 0.6725 0.5013 0.7131 0.6786
    rao-kupper               0.4946 0.6970 0.6716 0.5030 0.7136 0.6793
    pmop-arithmetic          0.5038 0.7137 0.6762 0.5086 0.7272 0.6858
    pmop-arithmetic-weighted 0.5054 0.7115 0.6763 0.5099 0.7243 0.6835
    pmop-maximum             0.5034 0.7118 0.6707 0.5037 0.7143 0.6704
    pmop-harmonic-gibbs      0.5018 0.7029 0.6663 0.5013 0.7026 0.6749
    pmop-geometric-gibbs     0.5037 0.7105 0.6792 0.5040 0.7124 0.6706
    pmop-geometric-mh        0.5045 0.7139 0.6790 0.5053 0.7122 0.6713
    """,
)
ORDERED_PARTITIONS = tuple(name for name in PUBLISHED if name.startswith("pmop"))
# Who is compared with whom: the name of the family, the model without ties, the models with them.
FAMILIES = (
    ("ties in pairs", "ranknet", ("davidson", "rao-kupper")),
    ("ties in lists", "listmle", ORDERED_PARTITIONS),
    ("ties against the most likely order", "listmle-best", ORDERED_PARTITIONS),
)
SECOND, COMPETITIVE, BLEND = "second-order features", "exact against sampled", "blend against the best of the paper"


# ---- tests ----
class _Pair(NamedTuple):
    """Two models to compare: their metrics by test query."""

    order: str
    model: str
    against: str
    values: Mapping[str, Floats]
    base: Mapping[str, Floats]


Values = Mapping[tuple[str, str], Mapping[str, Floats]]
"""Metrics by features and model: metric -> value of every test query."""


def comparisons(values: Values) -> list[Row]:
    """Test models with ties, second-order features, exact models and the blend, each against its alternatives."""
    rows: list[Row] = []
    for order in ORDERS:
        for family, without_ties, with_ties in FAMILIES:
            rows += _tested(family, _pairs(values, order, with_ties, without_ties))
    in_both = [name for order, name in values if order == "second" and ("first", name) in values]
    rows += _tested(
        SECOND,
        [_Pair("second", name, f"{name}, first", values["second", name], values["first", name]) for name in in_both],
    )
    sampled = [name for name in SAMPLED_MODELS if ("first", name) in values]
    if sampled:
        rows += _tested(COMPETITIVE, _pairs(values, "first", EXACT_MODELS, _best(values, sampled, "ERR")))
    others = [name for order, name in values if order == "first" and name in PUBLISHED]
    if others:
        rows += _tested(BLEND, _pairs(values, "first", ["blend"], _best(values, others, "MAP")))
    return rows


def _best(values: Values, names: Sequence[str], column: str) -> str:
    return max(names, key=lambda name: float(values["first", name][column].mean()))


def _pairs(values: Values, order: str, models: Sequence[str], against: str) -> list[_Pair]:
    """Pair each model that was run with the model ``against``; empty if the latter was not run."""
    if (order, against) not in values:
        return []
    known = [name for name in models if (order, name) in values and name != against]
    return [_Pair(order, name, against, values[order, name], values[order, against]) for name in known]


def _tested(family: str, compared: Sequence[_Pair]) -> list[Row]:
    """Test a family of comparisons on the paper's metrics and MAP, with Holm's correction within the family."""
    rows: list[Row] = [
        {"family": family, "features": pair.order, "model": pair.model, "against": pair.against} for pair in compared
    ]
    for column in TESTED:
        differences = [pair.values[column] - pair.base[column] for pair in compared]
        corrected = holm([paired_t_test(difference) for difference in differences])
        for row, difference, p in zip(rows, differences, corrected, strict=True):
            row[column] = {"difference": 100 * float(difference.mean()), "p": float(p)}
    for row in rows:
        row["result"] = summary([row[column] for column in TESTED])
    return rows


def summary(tests: Sequence[Mapping[str, float]]) -> str:
    """Summarise the tests of one comparison in words."""
    better = sum(test["difference"] > 0 and test["p"] < LEVEL for test in tests)
    worse = sum(test["difference"] < 0 and test["p"] < LEVEL for test in tests)
    if better and worse:
        return "mixed"
    if better or worse:
        return f"{BETTER if better else 'significantly worse'} on {better or worse} of {len(tests)}"
    above = sum(test["difference"] > 0 for test in tests)
    return f"not significant, above on {above} of {len(tests)}"


# ---- claims ----
def claims(result: Mapping[str, Any]) -> list[Claim]:
    """Return the claims of section 5.1 with their verdicts."""
    rows: Sequence[Row] = result["comparisons"]
    return [
        _of_family(
            "modelling ties improves pairwise models: Davidson and Rao-Kupper are better than RankNet",
            _selected(rows, FAMILIES[0][0], FAMILIES[0][2]),
        ),
        _of_family("every ordered-partition model is better than ListMLE", _selected(rows, FAMILIES[1][0], None)),
        _of_best_baseline(result["rows"]),
        _of_two_percent(result["rows"], rows),
        _of_family(
            "second-order features improve the exact ordered-partition models", _selected(rows, SECOND, EXACT_MODELS)
        ),
        _of_competition(_selected(rows, COMPETITIVE, EXACT_MODELS)),
        *_of_speed(result["speed"]),
        of_acceptance(),
        untestable("the figures of table 2", f"{PAPER}, table 2", "the Yahoo! data need a licence; MQ2008 is used"),
        untestable(
            "second-order features reach the top 4% of 1,055 teams of the Yahoo! challenge",
            RESULTS,
            "the challenge is closed and its test labels are not public",
        ),
    ]


def _selected(rows: Sequence[Row], family: str, models: Sequence[str] | None) -> list[Row]:
    return [row for row in rows if row["family"] == family and (models is None or row["model"] in models)]


def _of_family(claim: str, rows: Sequence[Row]) -> Claim:
    """Return a claim that models are better, with every comparison as a part."""
    numbers = [
        f"{row['model']} over {row['against']} ({row['features']} order): {row['result']}, "
        f"MAP {Difference.read(row['MAP'])}"
        for row in rows
    ]
    return Claim.of(claim, RESULTS, [row["result"].startswith(BETTER) for row in rows], numbers, EVERY)


def _of_best_baseline(rows: Sequence[Row]) -> Claim:
    """Return the claim that ListMLE is the best of the models that are not ordered partitions, by ERR."""
    err = {row["model"]: row["ERR"] for row in rows if row["features"] == "first" and row["model"] in BASELINES}
    is_known = set(BASELINES) <= set(err)
    order = sorted(err, key=lambda name: -err[name])
    return Claim.of(
        "ListMLE is the best baseline",
        RESULTS,
        [order[0] == "listmle"] if is_known else [],
        ", ".join(f"{name} {err[name]:.2f}" for name in order) if is_known else "",
        "largest ERR of the baselines, first-order features; substitute data",
    )


def _of_two_percent(rows: Sequence[Row], tests: Sequence[Row]) -> Claim:
    """Return the claim on the relative gain in ERR of the geometric mean with Metropolis-Hastings over ListMLE."""
    err = {row["model"]: row["ERR"] for row in rows if row["features"] == "first"}
    name, base = "pmop-geometric-mh", "listmle"
    test = next(
        (Difference.read(row["ERR"]) for row in _selected(tests, FAMILIES[1][0], [name]) if row["features"] == "first"),
        None,
    )
    gain = None if test is None else err[name] / err[base] - 1
    return Claim.of(
        "PMOP-GeoM.MH improves ERR by 2% over ListMLE",
        RESULTS,
        [None if gain is None else gain >= GAIN, is_above(test)],
        "" if gain is None else f"{gain:+.1%} ({test} points)",
        f"relative gain at least {GAIN:.1%} and significant; first-order features; substitute data",
    )


def _of_competition(rows: Sequence[Row]) -> Claim:
    tests = [Difference.read(row[column]) for row in rows for column in TESTED]
    return Claim.of(
        "exact models (arithmetic mean, maximum) are competitive with sampled ones",
        RESULTS,
        [test.difference > 0 or test.p >= LEVEL for test in tests],
        [f"{row['model']} over {row['against']}: {row['result']}" for row in rows],
        f"not significantly below the best sampled model by ERR; {RULE}",
    )


def _of_speed(rows: Sequence[Row]) -> list[Claim]:
    """Return the claims that exact models train fastest and that the time of pairwise models grows with query size."""
    seconds = {row["model"]: {k: v for k, v in row.items() if k != "model"} for row in rows}
    sizes = list(next(iter(seconds.values()), {}))
    last = sizes[-1] if sizes else ""
    exact = {name: seconds[name][last] for name in ("pmop-arithmetic", "pmop-maximum") if seconds}
    pairwise = {name: seconds[name][last] for name in PAIRWISE if seconds}
    slowest = max(exact.values(), default=0.0)
    growth = {name: seconds[name][last] / max(seconds[name][sizes[0]], 1e-9) for name in (*exact, *pairwise)}
    times = f"CPU seconds on simulated data of a fixed number of rows, one query of {last} rows"
    return [
        Claim.of(
            "PMOP-ArithM and PMOP-MAX train faster than every pairwise method",
            RESULTS,
            [time > slowest for time in pairwise.values()],
            [f"{name} {time:.2f} s" for name, time in (exact | pairwise).items()],
            times,
        ),
        Claim.of(
            "pairwise methods are quadratic in the query size, PMOP is linear",
            f"{PAPER}, section 3.3.4, table 1",
            [*(growth[name] > QUADRATIC for name in pairwise), *(growth[name] < LINEAR for name in exact)],
            [f"{name} {factor:.0f} times" for name, factor in growth.items()],
            f"time with one query over time with queries of {sizes[0] if sizes else ''} rows, same rows: above "
            f"{QUADRATIC:g} for quadratic, below {LINEAR:g} for linear",
        ),
    ]


QUADRATIC, LINEAR = 20.0, 5.0  # growth of the training time from the smallest to the largest query


# ---- Algorithm 2 ----
N_OBJECTS = 5


def of_acceptance() -> Claim:
    """Return the claim that Algorithm 2 samples subsets in proportion to their potential.

    It draws the size m of a subset first and then m objects, so a subset has the proposal probability
    1 / (N C(N, m)); the printed acceptance probability min(1, Phi(S') / Phi(S)) is right for uniform proposals only.
    """
    printed, corrected = (_distance(correct) for correct in (False, True))
    return Claim.of(
        "Metropolis-Hastings of Algorithm 2 samples subsets in proportion to their potential",
        f"{PAPER}, section 3.4.3, Algorithm 2",
        [printed < 1e-6],
        f"total variation distance {printed:.3f} as printed, {corrected:.3f} with proposals corrected by C(N, m) (as "
        "implemented)",
        f"stationary distribution of the chain over all subsets of {N_OBJECTS} objects, arithmetic mean",
    )


def _distance(correct: bool) -> float:
    """Return the total variation distance between the chain's stationary distribution and the model's."""
    worth = np.arange(1.0, N_OBJECTS + 1)
    subsets = [np.array(chosen) for m in range(1, N_OBJECTS + 1) for chosen in combinations(range(N_OBJECTS), m)]
    potential = np.array([worth[chosen].mean() for chosen in subsets])
    proposal = np.array([1 / (N_OBJECTS * comb(N_OBJECTS, len(chosen))) for chosen in subsets])
    ratio = potential / proposal if correct else potential
    moves = proposal * np.minimum(1, ratio[None, :] / ratio[:, None])
    np.fill_diagonal(moves, 0)
    np.fill_diagonal(moves, 1 - moves.sum(axis=1))
    stationary = _stationary(moves)
    return float(np.abs(stationary - potential / potential.sum()).sum() / 2)


def _stationary(moves: Floats) -> Floats:
    """Return the stationary distribution of a transition matrix."""
    n = len(moves)
    system = np.vstack([moves.T - np.eye(n), np.ones(n)])
    return np.asarray(np.linalg.lstsq(system, np.append(np.zeros(n), 1.0), rcond=None)[0], np.float64)
