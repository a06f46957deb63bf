"""Claims of Tran, Phung and Venkatesh (2016) on collaborative filtering, with their verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from concordant.experiments._collaborative_models import AS_PUBLISHED, METRICS
from concordant.experiments.claims import Claim, Difference, untestable
from concordant.experiments.frame import LEVEL

SOURCE = "Tran, Phung and Venkatesh 2016, section 5.2.2"
COFI = ("cofi-regression", "cofi-ordinal", "cofi-ndcg")
PAPER_SET, PAPER_SIZE = "ml-10m", (21_649, 5_247)


def claims(result: Mapping[str, Any]) -> list[Claim]:
    """Return the claims of section 5.2; without MovieLens 10M they are tested on other sets."""
    gaps = {
        name: [row["partitions"] - row["plackett-luce"] for row in of_set["likelihood"].values()]
        for name, of_set in result.items()
    }
    return [
        Claim.of(
            "ordered partitions fit the test films better than Plackett-Luce",
            f"{SOURCE}, figure 2",
            [gap > 0 for by_depth in gaps.values() for gap in by_depth],
            _lists(gaps),
            "mean log-likelihood (as printed, without the constants of the sets) is larger at every number of films",
        ),
        Claim.of(
            "the difference grows with the number of films",
            f"{SOURCE}, figure 2",
            [after > before for by_depth in gaps.values() for before, after in pairwise(by_depth)],
            _lists(gaps),
            "the difference of the log-likelihoods increases at every step",
        ),
        _of_table_3(result),
        _of_order(result),
        _of_data(result),
    ]


def _lists(gaps: Mapping[str, Sequence[float]]) -> list[str]:
    return [f"{name}: " + " ".join(f"{gap:+.1f}" for gap in by_depth) for name, by_depth in gaps.items() if by_depth]


def _of_table_3(result: Mapping[str, Any]) -> Claim:
    """Return the claim that the published model is as good as, or better than, every variant of CoFiRank."""
    tests = {
        (name, other, metric): Difference(*of_set["published tests"][other][metric])
        for name, of_set in result.items()
        for other in of_set["published tests"]
        for metric in METRICS
    }
    return Claim.of(
        "PMOP is as good as or better than CoFiRank (regression, ordinal, NDCG)",
        f"{SOURCE}, table 3",
        [test.difference > 0 or test.p >= LEVEL for test in tests.values()],
        [f"{name}, {metric} over {other}: {_fine(test)}" for (name, other, metric), test in tests.items()],
        f"{AS_PUBLISHED} is not significantly below; ERR, NDCG@1, NDCG@5; paired t-test over users, Holm",
    )


def _fine(test: Difference) -> str:
    return f"{test.difference:+.4f} (p {'< 0.001' if test.p < 0.001 else f'= {test.p:.2g}'})"


def _of_order(result: Mapping[str, Any]) -> Claim:
    """Return the claim on the order of the CoFiRank variants by NDCG@5."""
    known = {name: of_set["means"] for name, of_set in result.items() if set(COFI) <= set(of_set["means"])}
    values = {
        name: [sum(means[model]["ndcg@5"]) / len(means[model]["ndcg@5"]) for model in COFI]
        for name, means in known.items()
    }
    return Claim.of(
        "CoFiRank with regression is better than ordinal, which is better than NDCG",
        f"{SOURCE}, table 3",
        [first > second for row in values.values() for first, second in pairwise(row)],
        [f"{name}: " + ", ".join(f"{value:.4f}" for value in row) for name, row in values.items()],
        "mean NDCG@5 over splits in this order",
    )


def _of_data(result: Mapping[str, Any]) -> Claim:
    claim, source = "21,649 users and 5,247 films remain of MovieLens 10M", f"{SOURCE[:-2]}.1"
    if PAPER_SET not in result:
        return untestable(claim, source, "MovieLens 10M (ml-10m) was not run")
    size = (result[PAPER_SET]["agents"], result[PAPER_SET]["items"])
    return Claim.of(claim, source, [size == PAPER_SIZE], f"{size[0]:,} users, {size[1]:,} films", "the same numbers")
