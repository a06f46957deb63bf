"""Features from the singular vectors of each expert's pairwise preference matrix, comparable between queries.

The ranks r that expert k gives in a query make a pairwise matrix Y_k, with entries for i before j:

    binary              1
    scaled-difference   (r_j - r_i) / largest rank
    log                 log(r_j / r_i) / log(largest rank)

and 0 where either is not ranked. Its leading singular pairs, Y_k ~ U S V', describe a document by its wins (its row of
U) and its losses (its row of V); S, the same for all documents of the query, measures the amount of the expert's
preferences. With the indicator "k did not rank it" there are 3 components + 1 columns per expert. Observed pairs are
entered in Y_k directly; several ballots of an expert in a query are summed, with weights as repetitions. The sign of
singular vectors is arbitrary: the leading pair is chosen non-negative (Y_k has no negative entry), the others so that
the larger side of U is positive.

- ``scope="individual"``: separate columns for every expert. Ballots of agents not seen by ``fit`` are ignored.
- ``scope="combined"``: one set of columns, from the summed matrix of all experts (the consensus only).
- ``scope="hybrid"``: separate columns for experts with at least ``min_preferences`` entries in the preferences given to
  ``fit``, and one set for the sum of all others; for crowdsourcing, where most workers have few answers.

Cost: for one component linear in the entries (about fifteen passes without forming a matrix, so 20,000 documents per
list are feasible); for more components, a singular value decomposition per expert and query. Reference: M. Volkovs, H.
Larochelle and R. Zemel, Learning to rank by aggregating expert preferences, CIKM 2012.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from concordant import views
from concordant.errors import arg
from concordant.features.base import PreferenceFeatures, experts_of
from concordant.features.pairwise import Factors, factors
from concordant.models.observations.preference_counts import COUNTS
from concordant.params import param
from concordant.preferences import Preferences
from concordant.support import memory
from concordant.types import Floats, Int64s

SCOPES = ("individual", "combined", "hybrid")
OTHERS = "others"


def counts_param() -> str:
    """Declare the conversion of ranks to pairwise preferences."""
    return param("log", "weight of a ballot's preference between two items", choices=COUNTS)


def components_param() -> int:
    """Declare the number of singular pairs per matrix."""
    return param(1, "number of singular vector pairs per pairwise matrix", low=1)


def scope_param() -> str:
    """Declare which experts have separate features."""
    return param(
        "individual",
        "features per expert (individual), one set for all experts together (combined), or per expert where there is "
        "enough data (hybrid)",
        choices=SCOPES,
    )


def min_preferences_param() -> int:
    """Declare the minimum number of entries for separate features of an expert."""
    return param(500, "minimum number of training entries for an expert to have separate features (hybrid)", low=1)


@dataclass(eq=False)
class ExpertFeatures(PreferenceFeatures):
    """Features of documents from the singular vectors of each expert's pairwise preferences.

    Parameters
    ----------
    counts : str, default 'log'
        Strength of a ballot's preference between two items.
    components : int, default 1
        Number of singular vector pairs per matrix.
    scope : {'individual', 'combined', 'hybrid'}, default 'individual'
        Features per expert (individual), one set for all experts together (combined), or per expert where there is
        enough data (hybrid).
    min_preferences : int, default 500
        Minimum number of entries for separate features with ``scope="hybrid"``.

    Examples
    --------
    >>> import concordant as cc
    >>> prefs = cc.Preferences.from_rankings([["a", "b"], ["b", "a", "c"]], agent=["x", "y"])
    >>> ExpertFeatures().fit_transform(prefs).shape
    (3, 8)
    """

    counts: str = counts_param()
    components: int = components_param()
    scope: str = scope_param()
    min_preferences: int = min_preferences_param()

    def fit(self, prefs: Preferences, y: object = None) -> Self:
        """Store the experts and, with ``scope="hybrid"``, which of them have enough entries.

        Parameters
        ----------
        prefs : Preferences
            The training preferences, with agents as experts.
        y : ignored
            For compatibility with scikit-learn.

        Returns
        -------
        self
            The fitted transformer.
        """
        if self.scope == "combined":
            self.agents_ = ()
            return self
        experts_of(prefs, ())  # says so where nobody knows whose ballots these are
        assert prefs.agents is not None
        assert prefs.agent is not None
        n_entries = np.bincount(prefs.agent, weights=np.diff(prefs.indptr), minlength=len(prefs.agents))
        min_entries = self.min_preferences if self.scope == "hybrid" else 0
        self.agents_ = tuple(prefs.agents.take(np.flatnonzero(n_entries >= min_entries)))
        return self

    def transform(self, prefs: Preferences) -> Floats:
        """Return the features of every slot.

        Parameters
        ----------
        prefs : Preferences
            The preferences.

        Returns
        -------
        array of shape (slots, columns)
            A row per slot (one candidate of one instance), in slot order.
        """
        pairs, block = self.factors(prefs), 3 * self.components + 1
        memory.require(
            8.0 * prefs.n_slots * self.n_blocks * block,
            f"Features of {self.n_blocks:,} experts for {prefs.n_slots:,} candidates",
            "use " + arg("scope", "hybrid") + ", which pools experts with few entries",
        )
        # columns of an expert: left vectors, singular values, right vectors, whether it did not rank the slot
        table = np.zeros((prefs.n_slots, self.n_blocks, block))
        table[:, :, -1] = 1.0
        expert = pairs.group % self.n_blocks
        table[pairs.slot, expert, : self.components] = pairs.left
        table[pairs.slot, expert, 2 * self.components : -1] = pairs.right
        table[pairs.slot, expert, -1] = 0.0
        by_instance = pairs.strength.reshape(prefs.n_instances, self.n_blocks, self.components)
        table[:, :, self.components : 2 * self.components] = by_instance[views.instance_of_slot(prefs)]
        return table.reshape(prefs.n_slots, -1)

    def factors(self, prefs: Preferences) -> Factors:
        """Return the singular pairs of the preference matrices.

        Parameters
        ----------
        prefs : Preferences
            The ballots.

        Returns
        -------
        Factors
            Singular pairs; group g is expert ``g % n_blocks`` in instance ``g // n_blocks``.
        """
        group = prefs.instance_of_ballot * np.int64(self.n_blocks) + self._expert_of_ballot(prefs)
        if self.scope == "individual":
            group = np.where(self._expert_of_ballot(prefs) < 0, -1, group)
        return factors(prefs, self.counts, self.components, group, prefs.n_instances * self.n_blocks)

    def _expert_of_ballot(self, prefs: Preferences) -> Int64s:
        """Return the block of columns of every ballot, -1 if it is ignored."""
        agents = self._require_fitted()
        if self.scope == "combined":
            return np.zeros(prefs.n_ballots, np.int64)
        return experts_of(prefs, agents, unknown_agents=len(agents) if self.scope == "hybrid" else -1)

    @property
    def n_blocks(self) -> int:
        """The number of blocks of columns: one per expert with separate features, and one for all others."""
        return len(self._require_fitted()) + (self.scope != "individual")

    @property
    def blocks(self) -> tuple[str, ...]:
        """The names of the experts, block by block."""
        return (*self._require_fitted(), *((OTHERS,) if self.scope != "individual" else ()))

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return self.n_blocks * (3 * self.components + 1)

    def _names(self) -> Sequence[str]:
        kinds = [f"{letter}{k + 1}" for letter in "usv" for k in range(self.components)]
        return [f"{expert} {kind}" for expert in self.blocks for kind in (*kinds, "unranked")]
