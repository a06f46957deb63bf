"""The reference script: what a good programmer writes with NumPy in a quarter of an hour."""

from __future__ import annotations

import numpy as np

from benchmarks.core import Answer, Inputs, Task


def bradley_terry(inputs: Inputs) -> Task:
    """One bincount, dense Newton steps, one inverse for the standard errors."""
    winner, loser, m = inputs["winner"], inputs["loser"], inputs["items"]

    def estimate() -> tuple[np.ndarray, np.ndarray]:
        wins = np.bincount(winner * m + loser, minlength=m * m).reshape(m, m).astype(float)
        met, total = wins + wins.T, wins.sum(axis=1)
        score = np.zeros(m)
        for _ in range(50):
            chance = 1 / (1 + np.exp(score[None, :] - score[:, None]))
            curve = met * chance * (1 - chance)
            hessian = np.diag(curve.sum(axis=1)) - curve + 1 / m
            step = np.linalg.solve(hessian, total - (met * chance).sum(axis=1))
            score += step
            score -= score.mean()
            if np.abs(step).max() < 1e-8:
                break
        errors = np.sqrt(np.diag(np.linalg.inv(hessian)) - 1 / m)
        return score, errors

    def answer(result: tuple[np.ndarray, np.ndarray]) -> Answer:
        return {"score": result[0]}

    return Task(estimate, answer)


def users_pav(inputs: Inputs) -> Task:
    """Every committee there is."""
    from itertools import combinations

    table, seats = inputs["table"], inputs["seats"]
    worth = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, seats + 1))])
    columns = np.ascontiguousarray(table.T).astype(np.int8)

    def enumerate_all() -> float:
        return max(
            worth[columns[list(chosen)].sum(axis=0)].sum() for chosen in combinations(range(len(columns)), seats)
        )

    return Task(enumerate_all, lambda total: {"total": np.array([total])})


def recommend_all(inputs: Inputs) -> Task:
    """One product for all scores, and a sort for every agent."""
    model, listed = inputs["model"], 10
    of_agent, of_item, mean = model.of_agent, model.of_item, model.mean
    seen = np.split(model.seen_item, model.seen_ptr[1:-1])

    def lists() -> tuple[np.ndarray, np.ndarray]:
        score = mean + of_agent[:, :-1] @ of_item[:, :-1].T + of_agent[:, -1:] + of_item[:, -1]
        best = np.empty((len(score), listed), np.int64)
        for agent, own in enumerate(score):
            own[seen[agent]] = -np.inf
            best[agent] = np.argsort(-own)[:listed]
        return best, np.take_along_axis(score, best, axis=1)

    return Task(lists, lambda found: {"score": found[1]})
