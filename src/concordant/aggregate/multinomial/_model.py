"""The fitted multinomial preference model, for questions a table cannot answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from concordant.errors import InputError
from concordant.preferences import Preferences
from concordant.types import Floats


@dataclass(frozen=True, eq=False)
class MPMModel:
    """Scores and variances of every slot; ``instance`` may be left out where there is only one."""

    prefs: Preferences
    score: Floats
    variance: Floats
    theta: dict[str, float] | None = None

    def p_beats(self, a: object, b: object, instance: object = None) -> float:
        """Return the chance that a preference between these two is for ``a``."""
        i, j = (self._slot(item, instance) for item in (a, b))
        x = (self.score[i] - self.score[j]) / (self.variance[i] + self.variance[j])
        return float(1 / (1 + np.exp(-2 * x)))

    def matrix(self, instance: object = None) -> Floats:
        """Return P(row beats column) for the candidates of an instance, in slot order; 1/2 on the diagonal."""
        return np.asarray(1 / (1 + np.exp(-2 * self._differences(instance))))

    def distribution(self, instance: object = None) -> Floats:
        """Return the consensus distribution: P(the next preference is row over column), summing to 1."""
        x = self._differences(instance)
        weight = np.exp(x - x.max(initial=0.0))
        np.fill_diagonal(weight, 0.0)
        return np.asarray(weight / max(float(weight.sum()), 1e-300))

    def average_variance(self, instance: object = None) -> float:
        """Return the mean variance of an instance's candidates: how unsure the whole ranking is."""
        return float(self.variance[self._span(instance)].mean())

    def _differences(self, instance: object) -> Floats:
        span = self._span(instance)
        s, g = self.score[span], self.variance[span]
        return np.asarray((s[:, None] - s) / (g[:, None] + g))

    def _span(self, instance: object) -> slice:
        prefs, q = self.prefs, 0
        if instance is not None:
            if prefs.instances is None:
                raise InputError("There is a single, unnamed instance: leave instance= out.")
            q = prefs.instances.code(instance, "instance")
        elif prefs.n_instances > 1:
            raise InputError(f"There are {prefs.n_instances} instances: say which one with instance=.")
        return slice(int(prefs.slot_ptr[q]), int(prefs.slot_ptr[q + 1]))

    def _slot(self, item: object, instance: object) -> int:
        span = self._span(instance)
        found = np.flatnonzero(self.prefs.slot_item[span] == self.prefs.items.code(item, "item"))
        if not len(found):
            raise InputError(f"{item!r} is no candidate of this instance: ask for one that is.")
        return int(span.start + found[0])
