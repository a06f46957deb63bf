"""Measure how often 95% intervals of models of comparisons cover the truth, with 0, 10, 30 and 60% ties.

    python -m benchmarks.coverage_with_ties                              # the table of docs/develop/truth.md
    python -m benchmarks.coverage_with_ties --replications 400 --methods bradley-terry,davidson

Every replication draws scores from a normal distribution, a schedule, and results; the truth is what the model would
fit to the expected counts of the schedule (for a model that draws its own results: the scores). Both the intervals of
single scores and those of all differences are counted.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import concordant as cc
from concordant.kernels import links

SHARES = (0.0, 0.1, 0.3, 0.6)
SPREAD = 0.7  # standard deviation of the scores
DESIGNS = {
    "4 items, 30 a pair": (4, 30, False),
    "10 items, 10 a pair": (10, 10, False),
    "20 items, unbalanced": (20, 5, True),
}
PROCESSES = ("half", "uneven", "davidson", "flat")


@dataclass(frozen=True)
class Setting:
    """What is simulated: items, games a pair, whether some items play far more, and how ties come about."""

    items: int
    games: int
    is_unbalanced: bool
    process: str
    share: float


def coverage(setting: Setting, method: str, replications: int, seed: int = 0, **params: object) -> tuple[float, float]:
    """Return the share of scores, and of differences of two, whose 95% interval covers the truth."""
    rng, hits = np.random.default_rng(seed), []
    for _ in range(replications):
        first, second, games = schedule(setting, rng)
        score = rng.normal(0, SPREAD, setting.items)
        chance = np.stack(chances(setting, score[first] - score[second], first, second), 1)
        expected = cc.rank(counted(setting, first, second, 1000 * games[:, None] * chance), method, prior=0)
        found = cc.rank(counted(setting, first, second, rng.multinomial(games, chance)), method, **params)
        truth = expected.score - expected.score.mean()
        covariance = found.model.errors.covariance(0)
        one, other = np.triu_indices(setting.items, 1)
        variance = np.diag(covariance)[one] + np.diag(covariance)[other] - 2 * covariance[one, other]
        off = found.score - truth
        hits.append(
            (
                ((found.slot_low <= truth) & (truth <= found.slot_high)).mean(),
                (np.abs(off[one] - off[other]) <= 1.959964 * np.sqrt(variance)).mean(),
            )
        )
    by_score, by_difference = np.mean(hits, axis=0)
    return float(by_score), float(by_difference)


def schedule(setting: Setting, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return who meets whom how often: everybody alike, or popular items far more often."""
    first, second = np.triu_indices(setting.items, 1)
    if not setting.is_unbalanced:
        return first, second, np.full(len(first), setting.games)
    popular = rng.permutation(1 / np.arange(1, setting.items + 1) ** 0.7)
    weight = popular[first] * popular[second]
    games = rng.multinomial(setting.games * len(first), weight / weight.sum())
    games[second == first + 1] = np.maximum(games[second == first + 1], 4)  # nobody is left alone
    return first[games > 0], second[games > 0], games[games > 0]


def chances(setting: Setting, lead: np.ndarray, first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the chances of a win, a loss and a tie, with this share of ties on the average."""
    up = links.sigmoid(lead)
    if setting.share == 0 or setting.process == "flat":  # every game is tied with the same chance
        return up * (1 - setting.share), (1 - up) * (1 - setting.share), np.full(len(lead), setting.share)
    if setting.process == "davidson":
        strength = _solved(lambda x: links.chances(links.DAVIDSON, lead, np.full(len(lead), x))[2], setting.share)
        return links.chances(links.DAVIDSON, lead, np.full(len(lead), strength))
    # half: the expected result stays that of Bradley-Terry; uneven: half of the items tie four times as often
    often = np.where(np.arange(setting.items) % 2 == 0, 2.0, 0.5) ** (setting.process == "uneven")
    weight = 4 * up * (1 - up) * often[first] * often[second]
    most = 2 * np.minimum(up, 1 - up)
    tie = np.minimum(weight * np.exp(_solved(lambda x: np.minimum(weight * np.exp(x), most), setting.share)), most)
    return up - tie / 2, 1 - up - tie / 2, tie


def _solved(ties: object, share: float) -> float:
    low, high = -15.0, 8.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if ties(middle).mean() < share else (low, middle)  # type: ignore[operator]
    return low


def counted(setting: Setting, first: np.ndarray, second: np.ndarray, counts: np.ndarray) -> cc.Preferences:
    """Return preferences of counts: wins, losses and ties of every pair."""
    pairs = np.concatenate([np.stack(pair, 1) for pair in ((first, second), (second, first), (first, second))])
    weight = counts.T.reshape(-1).astype(np.float64)
    tier = np.stack([np.zeros(len(pairs), int), np.repeat([1, 1, 0], len(first))], 1)
    keep = weight > 0
    return cc.Preferences(
        [f"item {k}" for k in range(setting.items)],
        2 * np.arange(int(keep.sum()) + 1),
        pairs[keep].reshape(-1),
        tier[keep].reshape(-1),
        weight=weight[keep],
        slot_ptr=[0, setting.items],
        slot_item=np.arange(setting.items),
    )


def rows(methods: list[str], processes: list[str], replications: int) -> Iterator[list[str]]:
    """Measure all settings, one row of the table each."""
    for method in methods:
        for process in processes:
            for name, (items, games, is_unbalanced) in DESIGNS.items():
                for prior in (0, "auto"):
                    row = [f"`{method}`", process, name, str(prior)]
                    for share in SHARES:
                        setting = Setting(items, games, is_unbalanced, process, share)
                        by_score, by_difference = coverage(setting, method, replications, prior=prior)
                        row.append(f"{100 * by_score:.1f}, {100 * by_difference:.1f}")
                    yield row


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", default="bradley-terry")
    parser.add_argument("--processes", default=",".join(PROCESSES))
    parser.add_argument("--replications", type=int, default=400)
    given = parser.parse_args()
    header = ["method", "ties", "design", "prior", *(f"{share:.0%} ties" for share in SHARES)]
    print("| " + " | ".join(header) + " |\n|" + "---|" * len(header))
    for row in rows(given.methods.split(","), given.processes.split(","), given.replications):
        print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
