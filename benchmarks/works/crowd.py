"""Answers of a crowd in a few categories: what the items are, and how often each worker is right."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.core import Answer, Inputs, Size, Task, Work, sizes

if TYPE_CHECKING:
    from concordant.ranking import Ranking

SIZES = sizes(
    "answers workers items categories", tiny=(600, 8, 60, 3), small=(20_000, 50, 2_000, 3),
    full=(1_000_000, 1_000, 100_000, 4),
)  # fmt: skip
ALIKE = 0.97  # share of the items whose category both find


def make(size: Size, seed: int) -> Inputs:
    """Draw answers of workers of unequal care to random items, one each."""
    rng = np.random.default_rng(seed)
    skill = rng.uniform(0.5, 0.95, size["workers"])
    truth = rng.integers(0, size["categories"], size["items"])
    pair = rng.permutation(size["workers"] * size["items"])[: size["answers"]]
    worker, item = pair // size["items"], pair % size["items"]
    is_right = rng.random(len(pair)) < skill[worker]
    wrong = (truth[item] + rng.integers(1, size["categories"], len(pair))) % size["categories"]
    answer = np.where(is_right, truth[item], wrong)
    return {
        "worker": [f"w{k}" for k in worker.tolist()],
        "item": [f"i{k}" for k in item.tolist()],
        "answer": answer.tolist(),
        "items": size["items"],
    }


def ours(inputs: Inputs) -> Task:
    """Find the categories by the public interface, from lists, all by default."""
    import concordant as cc

    def rank() -> Ranking:
        ranking = cc.rank(
            cc.Preferences.from_ratings(inputs["worker"], inputs["item"], inputs["answer"]), "dawid-skene"
        )
        _ = ranking.items
        return ranking

    def answer(ranking: Ranking) -> Answer:
        category = np.full(inputs["items"], -1.0)
        model: object = ranking.model
        likeliest = np.asarray(model.posterior).argmax(axis=1)  # type: ignore[attr-defined]
        category[[int(label[1:]) for label in ranking.vocabulary.take(ranking.slot_item)]] = likeliest
        return {"category": category}

    return Task(rank, answer)


def is_alike(ours: Answer, theirs: Answer) -> bool:
    """Say whether nearly all items got the same category: ours shrinks workers who said little towards the others."""
    return bool((ours["category"] == theirs["category"]).mean() >= ALIKE)


WORKS = (Work("dawid-skene", "Dawid-Skene from lists of answers", SIZES, make, ours, {"crowdkit": 10}, is_alike),)
