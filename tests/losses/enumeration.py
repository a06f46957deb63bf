"""Models of ordered partitions straight from their definition: every set, every partition, one by one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from concordant.losses.ordered_partitions import ExtremePartitionLoss, MeanPartitionLoss, OrderedPartitionLoss
from concordant.losses.queries import Queries
from concordant.losses.set_sizes import SizeBias
from concordant.losses.subset_sampling import SampledPartitionLoss
from concordant.types import Floats

MEANS = ("maximum", "arithmetic", "geometric", "harmonic", "minimum")  # from the largest to the smallest
EXACT = ("arithmetic", "maximum", "minimum")
SAMPLED = ("geometric", "harmonic")


@dataclass(frozen=True)
class AtMost(SizeBias):
    """Sets of up to ``largest`` members weigh the same, larger ones nothing."""

    largest: int

    def log_weights(self, n: int) -> Floats:
        return np.where(np.arange(1, n + 1) <= self.largest, 0.0, -np.inf)


@dataclass(frozen=True)
class Falling(SizeBias):
    """g(m) = 1 / m."""

    def log_weights(self, n: int) -> Floats:
        return -np.log(np.arange(1, n + 1))


def loss_of(mean: str, **settings: object) -> OrderedPartitionLoss:
    if mean == "arithmetic":
        return MeanPartitionLoss(**settings)  # type: ignore[arg-type]
    if mean in ("maximum", "minimum"):
        return ExtremePartitionLoss(is_maximum=mean == "maximum", **settings)  # type: ignore[arg-type]
    return SampledPartitionLoss(is_harmonic=mean == "harmonic", **settings)  # type: ignore[arg-type]


def phi(mean: str, scores: Floats) -> float:
    worth = np.exp(scores)
    return float(
        {
            "maximum": worth.max(),
            "arithmetic": worth.mean(),
            "geometric": np.exp(scores.mean()),
            "harmonic": len(worth) / (1 / worth).sum(),
            "minimum": worth.min(),
        }[mean]
    )


def sets_of(n: int) -> list[list[int]]:
    return [list(some) for size in range(1, n + 1) for some in combinations(range(n), size)]


def weight_of(bias: SizeBias, size: int) -> float:
    return float(np.exp(bias.log_weights(size)[-1]))


def normaliser(mean: str, scores: Floats, bias: SizeBias) -> float:
    return sum(weight_of(bias, len(some)) * phi(mean, scores[some]) for some in sets_of(len(scores)))


def log_chance(mean: str, scores: Floats, labels: Floats, bias: SizeBias, *, backward: bool = False) -> float:
    """The log-probability of a partition, straight from its definition."""
    if backward:
        return log_chance(mean, -scores, -labels, bias)
    total = 0.0
    for level in sorted(set(labels.tolist()), reverse=True):
        chosen, remaining = scores[labels == level], scores[labels <= level]
        total += np.log(weight_of(bias, len(chosen)) * phi(mean, chosen) / normaliser(mean, remaining, bias))
    return total


def ordered_partitions(n: int) -> Iterator[Floats]:
    """All ordered partitions of n objects, as labels (higher chosen earlier)."""

    def go(left: frozenset[int]) -> Iterator[list[frozenset[int]]]:
        if not left:
            yield []
        for size in range(1, len(left) + 1):
            for some in combinations(sorted(left), size):
                for rest in go(left - set(some)):
                    yield [frozenset(some), *rest]

    for partition in go(frozenset(range(n))):
        labels = np.zeros(n)
        for place, tier in enumerate(partition):
            labels[list(tier)] = len(partition) - place
        yield labels


def laid_out(scores: Floats, labels: Floats) -> tuple[Floats, Queries]:
    queries = Queries.from_rows(labels, np.zeros(len(labels), np.int64))
    return scores[queries.row], queries


def some_queries(seed: int = 0, *, n_rows: int = 24, n_queries: int = 4, levels: int = 4) -> tuple[Floats, Queries]:
    rng = np.random.default_rng(seed)
    query = np.sort(np.concatenate([np.arange(n_queries), rng.integers(0, n_queries, n_rows - n_queries)]))
    queries = Queries.from_rows(rng.integers(0, levels, n_rows).astype(float), query)
    return rng.normal(size=n_rows), queries.weighted(rng.uniform(0.5, 2, n_queries))
