"""GLAD: the class of every item, its difficulty, and the ability of every annotator.

Agent (annotator) a answers item i correctly with probability logistic(ability_a · ease_i); all wrong answers are
equally likely. An ability of 0 is guessing between right and wrong, a negative one answers wrong on purpose; an ease
near 0 is an item on which everybody guesses. Abilities and the logarithms of the eases have Gaussian priors with mean 1
and standard deviation 1. The classes are summed out, and L-BFGS maximises the penalised likelihood with exact
gradients.

``ranking.agents`` has the ability of each agent, ``ranking.model.log_ease`` the log-ease of each item; the confusion
matrices of the model are those on an item of average ease. Scores, intervals and classes are those of ``dawid-skene``.
Use it if every agent answers many items and some items are much harder than others; the difficulty of an item with few
answers hardly differs from its prior.

Cost: classes x answers per step, some hundred steps. Reference: J. Whitehill, P. Ruvolo, T. Wu, J. Bergsma and J.
Movellan, Whose vote should count more: optimal integration of labels from labelers of unknown expertise, NIPS 2009.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from concordant.aggregate.crowd._annotations import AnnotationMethod, Learnt
from concordant.models.annotators import ability, em
from concordant.models.annotators.answers import Answers
from concordant.types import Floats

MAX_ITERATIONS = 2_000
TOLERANCE = 1e-11  # relative improvement at the end


@dataclass(frozen=True, kw_only=True)
class GLAD(AnnotationMethod):
    """Expected true category of each item, with ability by annotator and difficulty by item."""

    usual_name = "GLAD model"
    likelihood_of = "annotations, given abilities and difficulties"
    waives = {law: reason for law, reason in AnnotationMethod.waives.items() if law != "unanimity"}

    def learn(self, answers: Answers) -> Learnt:
        """Estimate abilities, eases and category probabilities."""
        found = ability.fit(answers, _minimised)
        is_answered = np.diff(answers.ptr) > 0
        ease = float(np.exp(found.log_ease[is_answered].mean())) if is_answered.any() else 1.0
        return Learnt(
            found.chance,
            ability.confusions(found.ability, ease, answers.n_classes),
            found.shares,
            em.expected_counts(answers, found.chance),
            found.log_likelihood,
            found.has_converged,
            ability=found.ability,
            log_ease=found.log_ease,
            agents=found.ability,
        )


def _minimised(loss: ability.Function, start: Floats) -> tuple[Floats, bool]:
    """Minimise by L-BFGS."""
    from concordant.solvers.lbfgs import minimise

    found = minimise(loss, start, tolerance=TOLERANCE, max_iterations=MAX_ITERATIONS, watch=lambda *_: True)
    return found.point, found.is_converged
