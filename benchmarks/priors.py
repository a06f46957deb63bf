"""Is the prior that evidence chooses as good as the best of a few fixed ones? Held-out log-likelihood on real data.

Run: ``python -m benchmarks.priors [--data FOLDER] [--only NAME,…] [--folds 5]``.
Ballots are dealt into folds; every prior is fitted to all but one and judged on that one. Nothing is chosen on what is
held out. Prints, per data set and prior, the mean log-likelihood of a held-out ballot, then how far "auto" is from the
best fixed prior with the standard error of that over folds, and the head of the ranking of all ballots.
"""

from __future__ import annotations

import argparse
import csv
import io
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

import concordant as cc
from concordant.datasets._loaders import _tennis_files
from concordant.preferences import Preferences
from concordant.types import Floats

FIXED = (0.001, 0.01, 0.1, 1.0, 10.0)
PRIORS: tuple[float | str, ...] = (*FIXED, "auto")


@dataclass(frozen=True)
class Case:
    """One data set and the model fitted to it."""

    name: str
    method: str
    load: Callable[[str | None], Preferences]


def atp(first: int, last: int) -> Callable[[str | None], Preferences]:
    """Return a loader of the matches of some years."""

    def load(data: str | None) -> Preferences:
        (path,) = cc.datasets.find("tennis-atp", data)
        rows = [row for text in _tennis_files(path) for row in csv.DictReader(io.StringIO(text))]
        played = [row for row in rows if first <= int(row["tourney_date"][:4]) <= last]
        return Preferences.from_pairs([row["winner_name"] for row in played], [row["loser_name"] for row in played])

    return load


def arena(_: str | None) -> Preferences:
    """Draw 20,000 comparisons of 40 models, some of them met rarely, a fifth of them ties."""
    rng = np.random.default_rng(0)
    score, often = rng.normal(scale=0.7, size=40), rng.dirichlet(np.full(40, 0.5))
    a, b = rng.choice(40, 20_000, p=often), rng.choice(40, 20_000, p=often)
    a, b = a[a != b], b[a != b]
    ahead = score[a] - score[b] + rng.logistic(size=len(a)) > 0
    winner, loser = np.where(ahead, a, b), np.where(ahead, b, a)
    return Preferences.from_pairs(winner.astype(str), loser.astype(str), tie=rng.random(len(a)) < 0.2)


def known(name: str) -> Callable[[str | None], Preferences]:
    """Return a loader of a data set by its name."""
    return lambda data: cc.datasets.load(name, data)


CASES = (
    Case("atp-1990-2024", "bradley-terry", atp(1990, 2024)),
    Case("atp-2015", "bradley-terry", atp(2015, 2015)),
    Case("atp-2015 thurstone", "thurstone", atp(2015, 2015)),
    Case("arena", "davidson", arena),
    Case("arena rao-kupper", "rao-kupper", arena),
    Case("mq2008-agg", "plackett-luce", known("mq2008-agg")),
    Case("mq2008-agg bt", "bradley-terry", known("mq2008-agg")),
    Case("ml-100k", "bradley-terry", known("ml-100k")),
    Case("ml-100k pl", "plackett-luce", known("ml-100k")),
)


def folds(prefs: Preferences, n: int) -> Iterator[tuple[Preferences, Preferences]]:
    """Deal the ballots into folds: (all but one, that one)."""
    fold = np.random.default_rng(0).permutation(prefs.n_ballots) % n
    for k in range(n):
        yield prefs.take(fold != k), prefs.take(fold == k)


def measure(method: str, prefs: Preferences, n_folds: int) -> tuple[Floats, list[float]]:
    """Return the mean log-likelihood of held-out ballots (a row per prior, a column per fold), and what auto chose."""
    found, chosen = np.zeros((len(PRIORS), n_folds)), []
    for k, (train, test) in enumerate(folds(prefs, n_folds)):
        for p, prior in enumerate(PRIORS):
            ranking = cc.rank(train, method, prior=prior, errors="none")
            found[p, k] = ranking.model.log_likelihood(test) / test.n_ballots
            if prior == "auto":
                chosen.append((ranking.fit or {})["prior"])
    return found, chosen


def compare(case: Case, prefs: Preferences, n_folds: int) -> None:
    """Print the table of one data set."""
    start = time.process_time()
    found, chosen = measure(case.method, prefs, n_folds)
    print(f"\n{case.name} ({case.method}): {prefs.n_ballots:,} ballots, {prefs.n_slots:,} candidates")
    for prior, row in zip(PRIORS, found, strict=True):
        name = f"auto ({np.median(chosen):g})" if prior == "auto" else f"{prior:g}"
        print(f"  prior {name:12} {row.mean():12.5f}")
    best = int(np.argmax(found[:-1].mean(axis=1)))
    apart = found[-1] - found[best]
    error = apart.std(ddof=1) / np.sqrt(n_folds)
    print(f"  auto - best fixed ({FIXED[best]:g}): {apart.mean():+.5f}, standard error {error:.5f}")
    full = cc.rank(prefs, case.method)
    where = f"first: {', '.join(full.items[:8])}" if full.n_instances == 1 else f"{full.n_instances:,} instances"
    print(f"  all ballots: prior {(full.fit or {})['prior']:g}, {where}")
    print(f"  {time.process_time() - start:.0f} CPU seconds, {full.seconds:.1f} of them for the whole data", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare priors on every data set."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.priors", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", help="folder of the data sets (default: where concordant looks for them)")
    parser.add_argument("--only", help="only these, by name")
    parser.add_argument("--folds", type=int, default=5)
    options = parser.parse_args(arguments)
    wanted = None if options.only is None else options.only.split(",")
    for case in CASES:
        if wanted is None or case.name in wanted:
            compare(case, case.load(options.data), options.folds)


if __name__ == "__main__":
    main()
