"""Compare models of judges of pairs on simulated judges: the order of the items, and who is reliable.

    python -m benchmarks.judges                        # 20 replications per design, with crowd-kit if it is installed

Scores are normal; a design says how judges differ. Columns: Spearman correlation of the scores with the truth, of the
discriminations of the judges with the truth, the share of scores whose 95% interval covers the truth, and CPU seconds.
A score is true at the mean discrimination of the judges.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np
from scipy.stats import spearmanr

import concordant as cc
from concordant.types import Floats

ITEMS, JUDGES, VOTES = 20, 30, 3_000


@dataclass(frozen=True)
class Votes:
    """Votes of simulated judges, and the truth."""

    score: Floats
    skill: Floats
    judge: Any
    left: Any
    right: Any
    has_won: Any

    def prefs(self) -> cc.Preferences:
        """Return the votes as preferences."""
        winner, loser = (np.where(self.has_won, *pair) for pair in ((self.left, self.right), (self.right, self.left)))
        agent = [f"j{k}" for k in self.judge]
        return cc.Preferences.from_pairs(
            [f"m{k}" for k in winner], [f"m{k}" for k in loser], agent=agent, winner_first=self.has_won
        )


def experts_and_clickers(_: np.random.Generator) -> tuple[Floats, Floats]:
    """Half of the judges are good, half answer at random; nobody has position bias."""
    return np.where(np.arange(JUDGES) % 2 == 0, 2.0, 0.0), np.zeros(JUDGES)


def graded(rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Judges differ in discrimination and in position bias."""
    return np.maximum(rng.normal(1, 0.6, JUDGES), -0.5), 0.3 + rng.normal(0, 0.6, JUDGES)


def equal(_: np.random.Generator) -> tuple[Floats, Floats]:
    """All judges are the same."""
    return np.ones(JUDGES), np.zeros(JUDGES)


def simulated(design: Callable[[np.random.Generator], tuple[Floats, Floats]], seed: int) -> Votes:
    """Draw the votes of one replication."""
    rng = np.random.default_rng(seed)
    skill, bias = design(rng)
    score = rng.normal(0, 1, ITEMS)
    score -= score.mean()
    judge, left = rng.integers(0, JUDGES, VOTES), rng.integers(0, ITEMS, VOTES)
    right = (left + rng.integers(1, ITEMS, VOTES)) % ITEMS
    lead = skill[judge] * (score[left] - score[right]) + bias[judge]
    return Votes(score, skill, judge, left, right, rng.random(VOTES) < 1 / (1 + np.exp(-lead)))


Answer = tuple[Floats, Floats | None, float | None]


def own(votes: Votes, effects: str) -> Answer:
    """Rank with these effects of judges."""
    ranking = cc.rank(votes.prefs(), "bradley-terry", judge_effects=effects)
    place = [ranking.items.index(f"m{k}") for k in range(ITEMS)]
    truth = votes.score * (votes.skill.mean() if effects in ("skill", "both") else 1.0)
    covered = float(((ranking.low[place] <= truth) & (truth <= ranking.high[place])).mean())
    agents = ranking.agents
    skill = None if agents is None else np.array([agents[f"j{k}"] for k in range(JUDGES)])
    return ranking.scores[place], skill, covered


def noisy_bradley_terry(votes: Votes) -> Answer:
    """Rank by crowd-kit: with the probability of the judge's skill an answer is that of Bradley-Terry, else biased."""
    import pandas as pd
    from crowdkit.aggregation import NoisyBradleyTerry

    label = np.where(votes.has_won, votes.left, votes.right)
    frame = pd.DataFrame({"worker": votes.judge, "left": votes.left, "right": votes.right, "label": label})
    model = NoisyBradleyTerry(random_state=0).fit(frame)
    return model.scores_.reindex(range(ITEMS)).to_numpy(), model.skills_.reindex(range(JUDGES)).to_numpy(), None


def main() -> None:
    """Print a table per design."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replications", type=int, default=20)
    replications = parser.parse_args().replications
    rivals: dict[str, Callable[[Votes], Answer]] = {
        f"judge_effects={effects}": lambda votes, effects=effects: own(votes, effects)  # type: ignore[misc]
        for effects in ("none", "bias", "skill", "both")
    }
    try:
        import crowdkit  # noqa: F401

        rivals["crowd-kit NoisyBradleyTerry"] = noisy_bradley_terry
    except ImportError:
        print("crowd-kit is not installed: left out")
    for design in (equal, experts_and_clickers, graded):
        print(f"\n{design.__name__}: {ITEMS} items, {JUDGES} judges, {VOTES:,} votes, {replications} replications")
        found: dict[str, list[tuple[float, float, float, float]]] = {name: [] for name in rivals}
        for seed in range(replications):
            votes = simulated(design, seed)
            for name, rival in rivals.items():
                start = process_time()
                score, skill, covered = rival(votes)
                seconds = process_time() - start
                is_known = skill is not None and np.ptp(votes.skill) > 0
                of_judges = float(spearmanr(skill, votes.skill).statistic) if is_known else np.nan
                of_items = float(spearmanr(score, votes.score).statistic)
                found[name].append((of_items, of_judges, np.nan if covered is None else covered, seconds))
        for name, rows in found.items():
            items, judges, covered, seconds = np.mean(rows, axis=0)
            print(f"  {name:28} items {items:.4f}  judges {judges:.3f}  coverage {covered:.3f}  {seconds:.3f} s")


if __name__ == "__main__":
    main()
