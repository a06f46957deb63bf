"""How often do 95% intervals of score models hold the truth? Simulated duels, rankings, ratings and rare items.

Run: ``python -m benchmarks.coverage [--sets 400] [--only NAME,…] [--prior auto]``.
Every data set has new true scores; the share of items whose interval holds the (centred) truth is printed with its
standard error, beside that of intervals from the curvature alone, which take all pairs for independent. Ratings are
coarse and users differ, so no score model is true for them: their truth is what the model fits to 40,000 users.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

import numpy as np

import concordant as cc
from concordant.preferences import Preferences
from concordant.types import Floats

Draw = Callable[[np.random.Generator], tuple[Preferences, Floats]]
N_USERS = 40_000


def duels(rng: np.random.Generator) -> tuple[Preferences, Floats]:
    """Draw 400 duels of 20 items."""
    score = rng.normal(size=20)
    a = rng.integers(0, 20, 400)
    b = (a + rng.integers(1, 20, 400)) % 20
    ahead = score[a] - score[b] + rng.logistic(size=400) > 0
    return pairs(np.where(ahead, a, b), np.where(ahead, b, a), 20), score


def pairs(winner: Floats, loser: Floats, m: int) -> Preferences:
    """Return duels over m candidates in the order of their numbers."""
    indptr = np.arange(0, 2 * len(winner) + 1, 2)
    item = np.stack([winner, loser], 1).reshape(-1)
    return Preferences([str(i) for i in range(m)], indptr, item, np.tile([0, 1], len(winner)))


def rankings(rng: np.random.Generator) -> tuple[Preferences, Floats]:
    """Draw 50 rankings of 12 items."""
    score = rng.normal(size=12)
    order = np.argsort(-(score + rng.gumbel(size=(50, 12))), axis=1)
    tier = np.tile(np.arange(12), 50)
    return Preferences([str(i) for i in range(12)], np.arange(0, 601, 12), order.reshape(-1), tier), score


def short_rankings(rng: np.random.Generator) -> tuple[Preferences, Floats]:
    """Draw 120 rankings of 3 to 8 out of 20 items, some of which are rare."""
    score, often = rng.normal(size=20), np.exp(rng.normal(size=20))
    size = rng.integers(3, 9, 120)
    seen = [np.argsort(-np.log(often) - rng.gumbel(size=20))[:k] for k in size]
    order = [own[np.argsort(-(score[own] + rng.gumbel(size=len(own))))] for own in seen]
    indptr = np.concatenate([[0], np.cumsum(size)])
    tier = np.concatenate([np.arange(k) for k in size])
    return Preferences([str(i) for i in range(20)], indptr, np.concatenate(order), tier), score


def ratings(rng: np.random.Generator, users: int = 100, score: Floats | None = None) -> tuple[Preferences, Floats]:
    """Draw users who rate 4 to 15 of 25 films from 1 to 5, each with thresholds of their own."""
    score = rng.normal(size=25) if score is None else score
    size = rng.integers(4, 16, users)
    often = np.linspace(1.5, -1.5, 25)
    items, tiers = [], []
    for k in size:
        own = np.argsort(-often - rng.gumbel(size=25))[:k]
        grade = np.clip(np.floor((score[own] + rng.gumbel(size=k) + rng.normal()) / 1.2 + 3), 1, 5)
        order = np.argsort(-grade, kind="stable")
        items.append(own[order])
        tiers.append(5 - grade[order])
    indptr = np.concatenate([[0], np.cumsum(size)])
    return Preferences([str(i) for i in range(25)], indptr, np.concatenate(items), np.concatenate(tiers)), score


def sparse_duels(rng: np.random.Generator) -> tuple[Preferences, Floats]:
    """Draw 150 duels of 40 items: most met a few times only."""
    score = rng.normal(size=40)
    a = np.concatenate([np.arange(40), rng.integers(0, 40, 110)])
    b = (a + rng.integers(1, 40, 150)) % 40
    ahead = score[a] - score[b] + rng.logistic(size=150) > 0
    return pairs(np.where(ahead, a, b), np.where(ahead, b, a), 40), score


CASES: dict[str, tuple[str, Draw]] = {
    "duels": ("bradley-terry", duels),
    "sparse duels": ("bradley-terry", sparse_duels),
    "rankings": ("bradley-terry", rankings),
    "short rankings": ("bradley-terry", short_rankings),
    "ratings": ("bradley-terry", ratings),
    "ratings davidson": ("davidson", ratings),
    "rankings pl": ("plackett-luce", rankings),
    "short rankings pl": ("plackett-luce", short_rankings),
}


def share_held(method: str, prefs: Preferences, truth: Floats, **options: object) -> float:
    """Return the share of items whose interval holds the centred truth."""
    ranking = cc.rank(prefs, method, **options)
    assert ranking.slot_low is not None
    assert ranking.slot_high is not None
    centred = truth - truth.mean()
    return float(((ranking.slot_low <= centred) & (centred <= ranking.slot_high)).mean())


def simulate(name: str, sets: int, seed: int = 0, prior: float | str = "auto") -> tuple[Floats, Floats]:
    """Return, for every data set, the share held by the default intervals and by those of the curvature alone."""
    method, draw = CASES[name]
    rng = np.random.default_rng(seed)
    found = np.empty((2, sets))
    fixed = rng.normal(size=25)
    fitted = None
    if draw is ratings:
        fitted = cc.rank(ratings(rng, N_USERS, fixed)[0], method, prior=0.0, errors="none").score
    for k in range(sets):
        prefs, truth = draw(rng) if fitted is None else (ratings(rng, score=fixed)[0], fitted)
        found[0, k] = share_held(method, prefs, truth, prior=prior)
        found[1, k] = share_held(method, prefs, truth, prior=prior, errors="hessian")
    return found[0], found[1]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coverage", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--sets", type=int, default=400)
    parser.add_argument("--only", help="only these, by name")
    parser.add_argument("--prior", default="auto")
    options = parser.parse_args(arguments)
    prior = options.prior if options.prior == "auto" else float(options.prior)
    wanted = list(CASES) if options.only is None else options.only.split(",")
    print(f"{'data':18} {'method':14} {'held':>7} {'error':>7} {'curvature alone':>16}")
    for name in wanted:
        found, plain = simulate(name, options.sets, prior=prior)
        error = found.std(ddof=1) / np.sqrt(options.sets)
        print(f"{name:18} {CASES[name][0]:14} {found.mean():7.1%} {error:7.2%} {plain.mean():16.1%}", flush=True)


if __name__ == "__main__":
    main()
