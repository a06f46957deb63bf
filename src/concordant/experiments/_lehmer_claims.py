"""Claims of Li, Mazumdar and Milenkovic (2017) on Lehmer codes, decided by the tables of the experiment.

The available text of the paper contains no figures and no tables of numbers, so the rules here define "almost
identical", "similar" and "poor".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from concordant.experiments.claims import Claim, untestable
from concordant.experiments.frame import Row

PAPER = "Li, Mazumdar and Milenkovic 2017, section 5"
CODES = ("lehmer-mode", "lehmer-median")
COMPARED = (*CODES, "fas-pivot", "insertion-sort", "footrule", "pick-a-perm")
COSTLY = ("fas-pivot", "faslp-pivot", "footrule")
SAME, SIMILAR, SMALL = 1.01, 1.05, 1.10  # ratios of total distances
RECOVERED = 0.9  # share of runs that find the centre
ROUNDING = 1e-9
DATA_PARTS = ("sushi", "jester", "jester-weak", "movielens")
GUARANTEES = {"footrule": 2.0, "borda": 5.0}

Results = Mapping[str, Sequence[Row]]


def claims(results: Results) -> list[Claim]:
    """Return the claims of the paper with their verdicts; parts that were not run are left out of them."""
    return [
        *_of_simulation(results.get("simulation", ())),
        *_of_recovery(results.get("recovery", ())),
        _of_data(results),
        _of_cost(results),
        _of_guarantees(results),
        untestable(
            "the distances of the paper's tables (Sushi, Jester, MovieLens)",
            PAPER,
            "the figures are missing in the available text of the paper",
        ),
    ]


def _of_simulation(rows: Sequence[Row]) -> list[Claim]:
    """Return the claims on the simulation: the codes, FASLP-Pivot and InsertionSort."""
    ratios = {row["method"]: {key: value for key, value in row.items() if key != "method"} for row in rows}
    codes = {name: ratios[name] for name in CODES if name in ratios}
    lambdas = list(next(iter(ratios.values()), {}))
    last = lambdas[-1] if lambdas else ""
    others = {name: min(ratios[name].values()) for name in COMPARED if name in ratios}
    insertion = ratios.get("insertion-sort", {})
    return [
        Claim.of(
            "for concentrated rankings (large lambda), mode and median are almost identical to FASLP-Pivot",
            PAPER,
            [by_lambda[last] <= SAME for by_lambda in codes.values()],
            [f"{name}: {by_lambda[last]:.3f} at lambda {last}" for name, by_lambda in codes.items()],
            f"total distance at the largest lambda at most {SAME:g} times that of FASLP-Pivot",
        ),
        Claim.of(
            "for dispersed rankings (small lambda), the differences are small",
            PAPER,
            [max(by_lambda.values()) <= SMALL for by_lambda in codes.values()],
            [f"{name}: at most {max(by_lambda.values()):.3f}" for name, by_lambda in codes.items()],
            f"total distance at every lambda at most {SMALL:g} times that of FASLP-Pivot",
        ),
        Claim.of(
            "FASLP-Pivot always has the smallest distance",
            PAPER,
            [ratio >= 1 - ROUNDING for ratio in others.values()],
            [f"{name}: at least {ratio:.4f}" for name, ratio in others.items()],
            "no other method of the paper is below 1 at any lambda",
        ),
        Claim.of(
            "InsertionSort performs poorly, although it is locally Kemeny optimal",
            PAPER,
            [insertion[key] > max(by_lambda[key] for by_lambda in codes.values()) for key in insertion if codes],
            f"from {min(insertion.values()):.4f} to {max(insertion.values()):.4f}" if insertion else "",
            "total distance above that of mode and median at every lambda",
        ),
    ]


def _of_recovery(rows: Sequence[Row]) -> list[Claim]:
    """Return the claims that mode and median find the centre in the range of the theorems."""
    claims = []
    for ties, title in (("no", "Mallows"), ("yes", "generalised Mallows (ties)")):
        inside = [row for row in rows if row["ties"] == ties and row["in range"]]
        last = next((key for row in inside for key in reversed(row)), "")
        claims.append(
            Claim.of(
                f"{title}: mode and median recover the centre with high probability in the range of the theorems",
                "Li, Mazumdar and Milenkovic 2017, section 4",
                [row[last] >= RECOVERED for row in inside],
                [f"{row['statistic']}, lambda {row['lambda']}: {row[last]:.0%}" for row in inside],
                f"share of runs that find the centre with {last or 'many'} rankings is at least {RECOVERED:.0%}",
            )
        )
    return claims


def _whole(results: Results) -> dict[str, dict[str, Row]]:
    """Return the rows of the real data sets that were run, by method."""
    return {part: {row["method"]: row for row in results[part]} for part in DATA_PARTS if part in results}


def _of_data(results: Results) -> Claim:
    outcomes, numbers = [], []
    for part, rows in _whole(results).items():
        ratios = {name: rows[name]["all"] / rows["faslp-pivot"]["all"] for name in CODES}
        outcomes += [ratio <= SIMILAR for ratio in ratios.values()]
        numbers.append(f"{part}: " + ", ".join(f"{name} {ratio:.3f}" for name, ratio in ratios.items()))
    return Claim.of(
        "on real data, mode and median are similar to the pivoting algorithms",
        PAPER,
        outcomes,
        numbers,
        f"mean distance on all rankings at most {SIMILAR:g} times that of FASLP-Pivot",
    )


def _of_cost(results: Results) -> Claim:
    outcomes, numbers = [], []
    for part, rows in _whole(results).items():
        slowest = max(rows[name]["seconds"] for name in CODES)
        others = {name: rows[name]["seconds"] / max(slowest, 1e-9) for name in COSTLY}
        outcomes += [factor > 1 for factor in others.values()]
        numbers.append(f"{part}: " + ", ".join(f"{name} {factor:.2g} times" for name, factor in others.items()))
    return Claim.of(
        "mode and median are much cheaper than pivoting and the footrule",
        PAPER,
        outcomes,
        numbers,
        "seconds on all rankings, relative to the slower of mode and median, above 1",
    )


def _of_guarantees(results: Results) -> Claim:
    """Return the claim on known approximation factors, against the best distance of each table."""
    worst = dict.fromkeys(GUARANTEES, 0.0)
    for rows in _whole(results).values():
        best = min(row["all"] for row in rows.values())
        worst = {name: max(worst[name], rows[name]["all"] / best) for name in worst}
    known = {name: ratio for name, ratio in worst.items() if ratio}
    return Claim.of(
        "the footrule is a 2-approximation and Borda a 5-approximation",
        "Li, Mazumdar and Milenkovic 2017, section 3 (known results)",
        [ratio <= GUARANTEES[name] for name, ratio in known.items()],
        [f"{name}: at most {ratio:.3f}" for name, ratio in known.items()],
        "distance on all rankings relative to the smallest distance found",
    )
