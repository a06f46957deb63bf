"""Claims of Volkovs and Zemel (2012) on the consensus of MovieLens users, with their verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from concordant.experiments.claims import Claim, shown_p
from concordant.experiments.frame import LEVEL
from concordant.types import Floats

SECTION = "Volkovs and Zemel 2012, section 6"
FEW, MANY, SOME, SEVERAL = 30, 400, 50, 90  # users who rated a film
MIDDLE = (0.25, 0.75)  # ranks of the middle half
MIDDLE_FILMS = ("Sabrina", "Mrs. Doubtfire", "Ghost")
SIGNIFICANT_FROM = 5  # depth
FITS = ("mpm", "mpm-variances", "mpm-descent")  # equal variances, learnt variances, 100 gradient steps as published


def claims(result: Mapping[str, Any], published: Mapping[str, Any]) -> list[Claim]:
    """Return the claims of section 6; ``published`` has the paper's counts and its best and worst films."""
    return [
        *_of_table_3(result, published),
        *[_of_table_2(reading, result) for reading in result["ndcg"]],
        *_of_figure_4(result["constants"], result["constant tests"]),
        *_of_figure_5(result["variances"]),
        _of_steps(result["ends"]),
        _of_sparsity(result["sparsity"]),
    ]


# ---- table 3 ----
def _of_table_3(result: Mapping[str, Any], published: Mapping[str, Any]) -> list[Claim]:
    """Return the claims on counts, on the best and worst films, and on how many users rated them."""
    source = f"{SECTION}.1, table 3"
    equal = [tuple(counts) == published["counts"][film] for film, counts in result["counts"].items()]
    same = {
        name: _matches(result["ends"][name], published["ends"].get(name, published["ends"]["mpm"]))
        for name in ("bradley-terry", "plackett-luce", *FITS)
    }
    users = {name: _users(result["ends"][name]) for name in published["ends"]}
    low = {name: users[name]["bottom"] for name in ("bradley-terry", "plackett-luce")}
    return [
        Claim.of(
            "users, pairwise wins and losses of all films named in the paper",
            source,
            equal,
            f"{sum(equal)} of {len(equal)} films",
            "equal counts",
        ),
        Claim.of(
            "top and bottom five films of every model",
            source,
            [match for matches in same.values() for match in matches],
            [f"{name}: {sum(matches)} of {len(matches)}" for name, matches in same.items()],
            "the same film at the same place",
        ),
        Claim.of(
            f"the bottom five films of Bradley-Terry and Plackett-Luce have fewer than {FEW} users each",
            source,
            [n < FEW for numbers in low.values() for n in numbers],
            [f"{name}: {', '.join(map(str, numbers))} users" for name, numbers in low.items()],
            f"fewer than {FEW} users each",
        ),
        Claim.of(
            f"the top three films of the multinomial model have more than {MANY} users, its bottom five more than "
            f"{SOME}, three of them more than {SEVERAL}",
            source,
            [
                *(n > MANY for n in users["mpm"]["top"][:3]),
                *(n > SOME for n in users["mpm"]["bottom"]),
                sum(n > SEVERAL for n in users["mpm"]["bottom"]) >= 3,
            ],
            f"top three {_listed(users['mpm']['top'][:3])}; bottom five {_listed(users['mpm']['bottom'])} users",
            "numbers of users",
        ),
        Claim.of(
            "Bradley-Terry puts a film with only 8 users first",
            source,
            [users["bradley-terry"]["top"][0] == 8],
            f"{result['ends']['bradley-terry']['top'][0][0]}: {users['bradley-terry']['top'][0]} users",
            "number of users of the first film",
        ),
    ]


def _matches(ends: Mapping[str, Sequence[Sequence[Any]]], published: Sequence[Sequence[str]]) -> list[bool]:
    """Return, for every rank, whether the film is the published one, by the first word of its (shortened) title."""
    films = [film for end in ("top", "bottom") for film, *_ in ends[end]]
    printed = [film for end in published for film in end]
    return [ours.split()[0].rstrip(",") == theirs.split()[0] for ours, theirs in zip(films, printed, strict=True)]


def _users(ends: Mapping[str, Sequence[Sequence[Any]]]) -> dict[str, list[int]]:
    return {end: [int(row[1]) for row in rows] for end, rows in ends.items()}


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


# ---- table 2, figures 4 and 5 ----
def _of_table_2(reading: str, result: Mapping[str, Any]) -> Claim:
    """Return the claim that the model is ahead of Plackett-Luce from depth 2, significantly from depth 5."""
    values = result["ndcg"][reading]
    fits = [name for name in FITS if name in values]
    better = {name: result["significant"][reading].get(name, []) for name in fits}
    leads = {name: np.subtract(values[name], values["plackett-luce"]) for name in fits}
    deep = set(range(SIGNIFICANT_FROM, len(values["plackett-luce"]) + 1))
    return Claim.of(
        f"NDCG ({reading}): the model beats Plackett-Luce at all depths but 1, significantly at depths 5 to 10",
        f"{SECTION}.1, table 2",
        [outcome for name in fits for outcome in (bool((leads[name][1:] > 0).all()), deep <= set(better[name]))],
        [
            f"{name}: N@2 {lead[1]:+.2f}, N@5 {lead[4]:+.2f}, N@10 {lead[-1]:+.2f}, significant at "
            f"{_listed(better[name]) or 'no depth'}"
            for name, lead in leads.items()
        ],
        "for every fit: above Plackett-Luce at all depths from 2; significant at all depths from 5 against the better "
        f"baseline, paired t-test over users, level {LEVEL:g}",
    )


def _of_figure_4(values: Mapping[str, Any], tests: Mapping[Any, Sequence[float]]) -> list[Claim]:
    """Return the claims on missing ratings that are set to a constant."""
    constants = list(values["mpm"])
    leads = {c: np.subtract(values["mpm"][c], _better(values, c)) for c in constants}
    outcomes = [bool(gap > 0 and p < LEVEL) for c in constants for gap, p in zip(leads[c], tests[c], strict=True)]
    first, last = constants[0], constants[-1]
    extremes = [gap for lead in leads.values() for gap in lead.tolist()]
    return [
        Claim.of(
            "the model significantly outperforms both baselines for every constant at depths 1, 5 and 10",
            f"{SECTION}.1, figure 4",
            outcomes,
            f"differences from {min(extremes):+.1f} to {max(extremes):+.1f}, significant in {sum(outcomes)} of "
            f"{len(outcomes)} cases",
            f"paired t-test over users against the better baseline, level {LEVEL:g}",
        ),
        Claim.of(
            "the differences are largest when low values are imputed",
            f"{SECTION}.1, figure 4",
            [bool(low > high) for low, high in zip(leads[first], leads[last], strict=True)],
            [f"constant {c:g}: " + " ".join(f"{gap:+.1f}" for gap in leads[c]) for c in (first, last)],
            "larger difference at the smallest than at the largest constant, depths 1, 5 and 10",
        ),
    ]


def _better(values: Mapping[str, Any], constant: Any) -> Floats:
    return np.asarray(np.maximum(values["bradley-terry"][constant], values["plackett-luce"][constant]), np.float64)


def _of_figure_5(variances: Mapping[str, Any]) -> list[Claim]:
    """Return the claims on learnt variances."""
    from scipy.stats import spearmanr

    variance, rank = np.asarray(variances["variance"]), np.asarray(variances["rank"], np.float64)
    by_ratings, by_centre = (spearmanr(variance, x) for x in (variances["ratings"], np.abs(rank - np.median(rank))))
    films = variances["films"]
    return [
        Claim.of(
            "the learnt variance falls with the number of ratings",
            f"{SECTION}.1, figure 5(a)",
            [bool(by_ratings.statistic < 0 and by_ratings.pvalue < LEVEL)],
            f"Spearman {by_ratings.statistic:.2f} ({shown_p(float(by_ratings.pvalue))})",
            f"Spearman correlation below 0, level {LEVEL:g}",
        ),
        Claim.of(
            "the learnt variance falls towards both ends of the ranking",
            f"{SECTION}.1, figure 5(b)",
            [bool(by_centre.statistic < 0 and by_centre.pvalue < LEVEL)],
            f"Spearman {by_centre.statistic:.2f} ({shown_p(float(by_centre.pvalue))})",
            f"Spearman correlation with the distance from the median rank below 0, level {LEVEL:g}",
        ),
        Claim.of(
            "Sabrina, Mrs. Doubtfire and Ghost are in the middle of the ranking with low variance",
            f"{SECTION}.1",
            [
                outcome
                for film in films.values()
                for outcome in (MIDDLE[0] <= film["rank"] <= MIDDLE[1], film["variance"] < 0.5)
            ],
            [
                f"{name}: rank at {film['rank']:.0%}, variance at {film['variance']:.0%} of all films"
                for name, film in films.items()
            ],
            "rank in the middle half, variance below the median",
        ),
    ]


# ---- convergence and data ----
def _of_steps(ends: Mapping[str, Any]) -> Claim:
    """Return the claim that 100 gradient steps are enough: best and worst films of plain descent and of the optimum."""
    same = {
        end: [
            steps[0] == best[0]
            for steps, best in zip(ends["mpm-descent"][end], ends["mpm-variances"][end], strict=True)
        ]
        for end in ("top", "bottom")
    }
    return Claim.of(
        "100 steps of gradient descent are enough to reach convergence",
        f"{SECTION}.1",
        [all(match for matches in same.values() for match in matches)],
        ", ".join(f"{end} five: {sum(matches)} of 5 as at the optimum" for end, matches in same.items()),
        "100 plain steps on scores and variances give the same films at both ends as the optimum",
    )


def _of_sparsity(sparsity: float) -> Claim:
    return Claim.of(
        "more than 94% of the ratings are missing",
        SECTION,
        [sparsity > 0.94],
        f"{sparsity:.1%}",
        "share of missing ratings",
    )
