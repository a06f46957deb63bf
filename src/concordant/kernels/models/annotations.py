"""Expectation steps of models of annotators (NumPy reference of annotations.cpp)."""

from __future__ import annotations

import numpy as np

from concordant.kernels.bundles import AnswersByItem
from concordant.kernels.layouts import segment_of
from concordant.types import Floats, Int64s

__all__ = ["ability_posterior", "annotation_posterior"]


def annotation_posterior(answers: AnswersByItem, table: Floats, log_share: Floats) -> tuple[Floats, Floats, float]:
    """Return the class probabilities of every item, the expected counts and the log-likelihood of all answers.

    ``table`` holds log P(answer | class), a row per agent and answer (agent · classes + answer) and a column per class;
    the expected counts are laid out alike. The answers to an item are independent given its class.
    """
    item, row = segment_of(answers.ptr), answers.agent * len(log_share) + answers.answer
    joint = _by_row(item, answers.weight[:, None] * table[row], len(answers.ptr) - 1) + log_share
    posterior, log_likelihood = _normalised(joint, answers.known)
    counts = _by_row(row, answers.weight[:, None] * posterior[item], len(table))
    return posterior, counts, log_likelihood


def ability_posterior(
    answers: AnswersByItem, ability: Floats, log_ease: Floats, log_share: Floats
) -> tuple[Floats, Floats, Floats, float]:
    """Return the class probabilities, the gradients by ability and by log-ease, and the log-likelihood of GLAD.

    An answer is right with probability logistic(ability · e^log_ease), and all wrong answers are equally likely.
    """
    item, w, n = segment_of(answers.ptr), answers.weight, len(answers.ptr) - 1
    ease = np.exp(log_ease)[item]
    x = ability[answers.agent] * ease
    spread = np.log(max(len(log_share), 2) - 1)
    joint = np.zeros((n, len(log_share)))
    np.add.at(joint, (item, answers.answer), w * (x + spread))
    joint += log_share + np.bincount(item, w * (-np.logaddexp(0, x) - spread), n)[:, None]
    posterior, log_likelihood = _normalised(joint, answers.known)
    rest = w * (posterior[item, answers.answer] - np.exp(-np.logaddexp(0, -x)))
    by_agent = np.bincount(answers.agent, rest * ease, len(ability)).astype(np.float64)
    return posterior, by_agent, np.bincount(item, rest * x, n).astype(np.float64), log_likelihood


def _by_row(row: Int64s, values: Floats, n: int) -> Floats:
    """Add up the rows of a table by a row number each."""
    columns = [np.bincount(row, values[:, k], n) for k in range(values.shape[1])]
    return np.ascontiguousarray(np.stack(columns, axis=1).reshape(n, values.shape[1]), np.float64)


def _normalised(joint: Floats, known: Int64s) -> tuple[Floats, float]:
    """Turn joint log-probabilities into probabilities, and return the log-likelihood; a known class is certain."""
    total = np.logaddexp.reduce(joint, axis=1)
    posterior = np.exp(joint - total[:, None])
    given = np.flatnonzero(known >= 0)
    posterior[given] = 0.0
    posterior[given, known[given]] = 1.0
    total[given] = joint[given, known[given]]
    return posterior, float(total.sum())
