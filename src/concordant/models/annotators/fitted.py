"""The fitted model that all methods of this family give: classes of items and confusion matrices of agents."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from concordant.ballots.vocabulary import Vocabulary
from concordant.errors import NeedError
from concordant.models.annotators.answers import Answers
from concordant.models.annotators.thresholds import logistic
from concordant.models.fitted import FittedModel
from concordant.preferences import Preferences
from concordant.types import Floats, Int64s

MIN_CHANCE = 1e-300  # of an answer


@dataclass(frozen=True, eq=False, repr=False)
class AnnotationModel(FittedModel):
    """Categories (worst first) with their shares, confusion matrices by agent, and category probabilities by slot."""

    agents: Vocabulary
    categories: Floats
    shares: Floats
    confusions: Floats
    """agent x true category x answer"""
    posterior: Floats
    """slot x category: posterior probabilities of the true category"""
    counts: Floats
    """agent x answer x category: expected number of answers"""
    classes: tuple[str, ...] | None = None
    """Names of the categories of nominal answers, which have no order"""
    ability: Floats | None = None
    """The ability of each agent, if items differ in difficulty"""
    log_ease: Floats | None = None
    """The logarithm of the ease of each slot, if items differ in difficulty"""

    def confusion(self, agent: object) -> Floats:
        """Return the confusion matrix of one agent: a row with P(answer) per true category."""
        return np.asarray(self.confusions[self.agents.code(agent, "agent")])

    def accuracy(self) -> Floats:
        """Return each agent's probability of a correct answer, for the estimated shares of the categories."""
        return np.asarray(np.einsum("akk,k->a", self.confusions, self.shares))

    def chances(self, first: Int64s, second: Int64s) -> tuple[Floats, Floats, Floats]:
        """Return the probabilities that the first slot of each pair has a higher, a lower, or the same category."""
        if self.classes is not None:
            raise NeedError(
                "Classes without an order do not compare items: use posterior, the probability of each class."
            )
        p_first, p_second = self.posterior[first], self.posterior[second]
        same = (p_first * p_second).sum(axis=1)
        up = (p_first * (np.cumsum(p_second, axis=1) - p_second)).sum(axis=1)
        return up, np.maximum(1 - up - same, 0.0), same

    def log_likelihood(self, prefs: Preferences) -> float:
        """Return the log-likelihood of other answers; an unknown agent gets the mean confusion matrix."""
        prefs, slot = self.known_part(prefs)
        answers, table = self._aligned(prefs)
        if self.ability is not None and self.log_ease is not None:
            from concordant import kernels

            known = np.append(self.ability, self.ability.mean())[self._agents_of(prefs)]
            return float(
                kernels.ability_posterior(answers.bundle(), known, self.log_ease[slot], np.log(self.shares))[3]
            )
        log = np.log(np.maximum(table, MIN_CHANCE)).transpose(0, 2, 1)
        return answers.posterior(np.ascontiguousarray(log), np.log(self.shares))[2]

    def predicted(self, answers: Answers) -> Floats:
        """Return the probability of each further answer by the same agents to the same slots, given all that is known.

        Parameters
        ----------
        answers : Answers
            Answers of the same agents to the same slots, in the same categories.

        Returns
        -------
        ndarray of float64
            A probability per answer.
        """
        slot = answers.slot
        if self.ability is not None and self.log_ease is not None:
            ease = np.exp(self.log_ease[slot])
            right = logistic(self.ability[answers.agent] * ease)
            is_class = self.posterior[slot, answers.answer]
            return np.asarray(is_class * right + (1 - is_class) * (1 - right) / max(answers.n_classes - 1, 1))
        return np.asarray((self.posterior[slot] * self.confusions[answers.agent, :, answers.answer]).sum(axis=1))

    def _agents_of(self, prefs: Preferences) -> Int64s:
        """Return the code of every agent of other preferences; -1 if it is unknown."""
        return np.zeros(0, np.int64) if prefs.agents is None else self.agents.codes(prefs.agents).astype(np.int64)

    def _aligned(self, prefs: Preferences) -> tuple[Answers, Floats]:
        """Return other answers in this model's categories, and the confusion matrix of each of their agents."""
        answers = Answers.of(self._in_my_codes(prefs), "dawid-skene", self.categories)
        with_usual = np.concatenate([self.confusions, self.confusions.mean(axis=0, keepdims=True)])
        return answers, with_usual[self._agents_of(prefs)]

    def _in_my_codes(self, prefs: Preferences) -> Preferences:
        """Return nominal answers with the codes of this model's classes; unknown classes get codes of their own."""
        if (self.classes is None) != (prefs.classes is None):
            raise NeedError("The model and the answers differ in scale: give classes to both, or numbers to both.")
        if self.classes is None or prefs.classes is None:
            return prefs
        known = Vocabulary(self.classes).codes(prefs.classes)
        n_codes = int(self.categories.max(initial=-1.0)) + 1
        strange = n_codes + np.arange(len(known))
        code = np.where(known >= 0, self.categories[known], strange)
        names = [f"class {k}" for k in range(n_codes + len(known))]
        return prefs.replace(value=code[prefs.value.astype(np.int64)], classes=names)  # type: ignore[union-attr]

    def drawn(self, n: int, slots: Int64s, rng: np.random.Generator) -> tuple[Int64s, Int64s]:
        """Draw the answers of random agents that rate all candidates: slots best first, and tiers."""
        if self.classes is not None:
            raise NeedError("Classes without an order do not rank items: no ballots can be drawn from this model.")
        truth = _draw(np.broadcast_to(self.posterior[slots], (n, len(slots), len(self.categories))), rng)
        agent = rng.integers(0, len(self.confusions), n)
        answer = _draw(self.confusions[agent[:, None], truth], rng)
        order = np.argsort(-answer, axis=1, kind="stable")
        sorted_answer = np.take_along_axis(answer, order, axis=1)
        tier = np.cumsum(np.diff(sorted_answer, axis=1, prepend=sorted_answer[:, :1]) != 0, axis=1)
        return slots[order], tier


def _draw(chance: Floats, rng: np.random.Generator) -> Int64s:
    """Draw a category from each distribution along the last axis (inverse of the cumulative distribution)."""
    cumulative = np.cumsum(chance, axis=-1)
    return np.asarray((cumulative < rng.random(chance.shape[:-1])[..., None] * cumulative[..., -1:]).sum(axis=-1))
