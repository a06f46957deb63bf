"""The fitted multinomial preference model: a probability distribution over all ordered pairs of items.

P(row over column) is proportional to exp(theta (s_row - s_column) / (variance_row + variance_column)), where theta is
the adherence of the agent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from concordant.kernels import links
from concordant.models.fitted import FittedModel
from concordant.models.observations.preference_counts import agent_of_ballot, count
from concordant.preferences import Preferences
from concordant.support import memory
from concordant.types import Floats, Int64s


@dataclass(frozen=True, eq=False, repr=False)
class MPMModel(FittedModel):
    """A fitted multinomial preference model: every preference is a draw from one distribution over all pairs."""

    prefs: Preferences
    variance: Floats
    counts: str
    theta: Mapping[str, float] | None = None
    """The adherence of every agent, if it is not 1."""

    def chances(self, first: Int64s, second: Int64s) -> tuple[Floats, Floats, Floats]:
        """Return the probabilities that a preference between two slots is for the first, the second, or a tie (0)."""
        return links.chances(links.BRADLEY_TERRY, 2 * self._exponent(first, second), np.zeros(len(first)))

    def distribution(self, instance: object = None) -> Floats:
        """Return the consensus distribution: P(the next preference is row over column), summing to 1.

        Parameters
        ----------
        instance : label, optional
            Name of the instance; required if the model has several.

        Returns
        -------
        array of shape (candidates, candidates)
            Probabilities with candidates in input order; the diagonal is 0.
        """
        weight = np.exp(self._log_weights(self.slots(instance), 1.0))
        return np.asarray(weight / max(float(weight.sum()), 1e-300))

    def average_variance(self, instance: object = None) -> float:
        """Return the mean variance of an instance's candidates: the uncertainty of the whole ranking.

        Parameters
        ----------
        instance : label, optional
            Name of the instance; required if the model has several.

        Returns
        -------
        float
            The mean variance.
        """
        return float(self.variance[self.slots(instance)].mean())

    def log_likelihood(self, prefs: Preferences) -> float:
        """Return the log-likelihood of other preferences, without the multinomial coefficients.

        Log Z depends only on the instance and on the adherence: it is computed once for all ballots that share both.
        """
        prefs, slot = self.known_part(prefs)
        corpus, adherence = count(prefs, self.counts), self._adherence(prefs)
        gain = corpus.gains(self.score[slot], None if (self.variance == 0.5).all() else self.variance[slot])
        value = float((prefs.weight * adherence * gain).sum())
        counted = np.flatnonzero(corpus.weighted_total > 0)  # ballots that prefer something to something
        first_slot = slot[prefs.slot_ptr[prefs.instance_of_ballot[counted]]]
        instance = np.searchsorted(self.slot_ptr, first_slot, side="right") - 1  # of this model
        keys = np.stack([instance.astype(np.float64), adherence[counted]], 1)
        distinct, key_of_ballot = np.unique(keys, axis=0, return_inverse=True)
        for k, (q, theta) in enumerate(distinct.tolist()):
            log_z = self._log_z(np.arange(self.slot_ptr[int(q)], self.slot_ptr[int(q) + 1]), theta)
            value -= log_z * float(corpus.weighted_total[counted[key_of_ballot.reshape(-1) == k]].sum())
        return value

    def drawn(self, n: int, slots: Int64s, rng: np.random.Generator) -> tuple[Int64s, Int64s]:
        """Draw n preferences of an agent with adherence 1: pairs (preferred slot, other slot)."""
        log_weight = self._log_weights(slots, 1.0).reshape(-1)
        cumulative = np.cumsum(np.exp(log_weight - log_weight.max()))
        cell = np.minimum(
            np.searchsorted(cumulative, rng.random(n) * cumulative[-1], side="right"), len(log_weight) - 1
        )
        return slots[np.stack(np.divmod(cell, len(slots)), 1)], np.tile([0, 1], (n, 1))

    def _exponent(self, first: Int64s, second: Int64s) -> Floats:
        """Return (score difference) / (sum of the variances) for pairs of slots."""
        return np.asarray((self.score[first] - self.score[second]) / (self.variance[first] + self.variance[second]))

    def _log_z(self, slots: Int64s, theta: float) -> float:
        """Return log Z, the log of the sum of exp(theta x) over all ordered pairs of distinct slots.

        With all variances 1/2 the sum over pairs is the product of sum(exp(theta s)) and sum(exp(-theta s)) minus the m
        pairs of a slot with itself.
        """
        if (self.variance[slots] == 0.5).all():
            scaled = theta * self.score[slots]
            up, down = np.logaddexp.reduce(scaled), np.logaddexp.reduce(-scaled)
            return float(up + down + np.log1p(-len(slots) * np.exp(-up - down)))
        return float(np.logaddexp.reduce(self._log_weights(slots, theta), axis=None))

    def _log_weights(self, slots: Int64s, theta: float) -> Floats:
        """Return theta times the exponent of every ordered pair of slots (m x m); -inf on the diagonal."""
        m = len(slots)
        memory.require(32.0 * m**2, f"The distribution over all pairs of {m:,} items", "select fewer items")
        logs = theta * self._exponent(np.repeat(slots, m), np.tile(slots, m)).reshape(m, m)
        np.fill_diagonal(logs, -np.inf)
        return logs

    def _adherence(self, prefs: Preferences) -> Floats:
        """Return the adherence of every ballot: that of its agent, or the mean adherence for an agent without one."""
        if not self.theta or prefs.agents is None:
            return np.ones(prefs.n_ballots)
        usual = sum(self.theta.values()) / max(len(self.theta), 1)
        return np.array([self.theta.get(label, usual) for label in prefs.agents.labels])[agent_of_ballot(prefs)]
