"""Base of the supervised methods: labelled training instances, validation, and unknown agents.

A method implements ``_learn``, which learns from labelled instances. ``fit`` returns a copy with the learnt parameters
(and the names of the agents); ``rank`` then accepts new instances by the same agents.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from concordant import kernels, views
from concordant.ballots.form import refuse_nominal
from concordant.ballots.segments import sum_by
from concordant.ballots.vocabulary import Vocabulary
from concordant.errors import InputError, NeedError, arg
from concordant.kernels.bundles import LabelLists
from concordant.labels import Labels
from concordant.method import NEEDS, Method
from concordant.models.notices import named
from concordant.params import param
from concordant.preferences import Preferences
from concordant.ranking import Notice, Ranking
from concordant.support.state import Kind, labels
from concordant.types import Bools, Floats, Int64s

Validation = tuple[Preferences, Labels] | float | None
TRUST = "agents have learnt weights"


@dataclass(frozen=True, eq=False)
class Labelled:
    """Labelled instances: preferences and the label of every slot; NaN if it is unknown and does not count as 0."""

    prefs: Preferences
    label: Floats

    @classmethod
    def of(cls, prefs: Preferences, labels: Labels, *, unjudged: str = "zero") -> Labelled:
        """Keep the instances with at least one label.

        Unlabelled candidates get the label 0, or NaN if ``unjudged`` is "skip".
        """
        label = _label_of_slot(prefs, labels)
        is_labelled = sum_by(views.instance_of_slot(prefs), np.isfinite(label), prefs.n_instances) > 0
        if not is_labelled.any():
            raise InputError(
                "There is nothing to learn from: no candidate has a label. Check that preferences and labels "
                "use the same names for instances and items."
            )
        if not is_labelled.all():
            assert prefs.instances is not None
            prefs = prefs.select(instances=prefs.instances.take(np.flatnonzero(is_labelled)))
            label = _label_of_slot(prefs, labels)
        if unjudged == "zero":
            label = np.nan_to_num(label, nan=0.0)
        return cls(prefs, label)

    @property
    def query(self) -> Int64s:
        """The instance of every slot, from 0."""
        return views.instance_of_slot(self.prefs)

    @property
    def is_known(self) -> Bools:
        """Whether the label of a slot is known: the rows for training and evaluation."""
        return np.isfinite(self.label)

    def take(self, instances: Int64s) -> Labelled:
        """Keep only these instances."""
        assert self.prefs.instances is not None
        keep = np.zeros(self.prefs.n_instances, bool)
        keep[instances] = True
        prefs = self.prefs.select(instances=self.prefs.instances.take(np.flatnonzero(keep)))
        return Labelled(prefs, self.label[keep[self.query]])

    def split(self, share: float, seed: int) -> tuple[Labelled, Labelled]:
        """Hold out a share of the instances, at least one and not all, for validation: (training part, validation
        part).
        """
        n = self.prefs.n_instances
        if n < 2:
            raise InputError(
                "There is only one labelled instance, so none can be held out for validation: give "
                + arg("validation", shown="(prefs, labels)")
                + ", or train without validation."
            )
        drawn = np.random.default_rng(seed).permutation(n)
        count = min(max(1, round(share * n)), n - 1)
        return self.take(np.sort(drawn[count:])), self.take(np.sort(drawn[:count]))


@dataclass(frozen=True, kw_only=True)
class SupervisedMethod(Method):
    """Base of methods that must be fitted to labels before they rank."""

    needs: ClassVar[frozenset[str]] = frozenset({"agents", "labels"})
    waives: ClassVar[Mapping[str, str]] = {
        "anonymity": TRUST,
        "unanimity": "an agent that is usually wrong can have a negative weight",
        "condorcet_consistency": TRUST,
    }
    learns: ClassVar[Mapping[str, Kind]] = {"agents": labels("agents")}

    unjudged: str = param("zero", "treatment of unlabelled candidates in labelled instances", choices=("zero", "skip"))
    seed: int = param(0, "random seed", low=0)

    def fit(self, prefs: Preferences, labels: Labels, *, validation: Validation = None) -> Self:
        """Return a copy that has learnt from labelled instances.

        ``validation`` is (prefs, labels) of other instances, or the share of these instances to hold out (0.2).
        Iterative training keeps the state with the best metric on the validation instances.
        """
        train, valid = self._parts(prefs, labels, validation)
        assert train.prefs.agents is not None
        return self.with_learnt(agents=tuple(train.prefs.agents.labels), **self._learn(train, valid))

    def _learn(self, train: Labelled, valid: Labelled | None) -> Mapping[str, Any]:
        """Return the learnt parameters by the names of ``learns`` (without "agents")."""
        raise NotImplementedError

    def _parts(self, prefs: Preferences, labels: Labels, validation: Validation) -> tuple[Labelled, Labelled | None]:
        """Return the training and the validation instances."""
        if prefs.agents is None or prefs.agent is None:
            raise NeedError(f"{self.name} cannot learn from this data: " + NEEDS["agents"] + ".")
        refuse_nominal(prefs, self.name)
        train = Labelled.of(prefs, labels, unjudged=self.unjudged)
        if validation is None:
            return train, None
        if isinstance(validation, (int, float)):
            if not 0 < validation < 1:
                raise InputError(
                    arg("validation", validation) + " must be between 0 and 1, as a share of the instances."
                )
            return train.split(float(validation), self.seed)
        if not isinstance(validation, (tuple, list)) or len(validation) != 2:
            raise InputError("validation must be (prefs, labels), or the share of the instances to hold out.")
        return train, Labelled.of(*validation, unjudged=self.unjudged)

    def fuse(self, lists: list[Any], weight: Floats) -> Ranking | None:
        """Fuse the result lists of one query, in the order of the agents; None if a list is not plain labels."""
        agents = self._agents_to_fuse()
        if len(lists) != len(agents):
            raise InputError(
                f"There are {len(lists)} lists, but the model was trained on {len(agents)} agents: give one "
                f"list per agent, empty if it has none, in the order {named(agents, 5)}, or lists by name "
                f"({{agent: list}})."
            )
        encoded = kernels.encode_lists(lists)
        codes, labels, indptr, _, bad = encoded
        if bad != -1 or not labels or kernels.find_repeated(indptr, codes, len(labels))[0] >= 0:
            return None
        if not (weight > 0).all():
            raise InputError("Trained models do not support weight 0: to leave a list out, pass an empty list.")
        return self._fused(encoded, weight)

    def _fused(self, lists: LabelLists, weight: Floats) -> Ranking:
        """Rank the documents of lists, one per agent; methods with a faster implementation override this."""
        codes, labels, indptr, tier, _ = lists
        agent = np.arange(len(weight), dtype=np.int32)
        prefs = Preferences.unchecked(
            Vocabulary(labels), indptr, codes, tier, weight=weight, agents=self._vocabulary, agent=agent
        )
        return self.rank(prefs)

    def preferences_of(self, lists: list[Any], weight: Floats) -> Preferences:
        """Return the lists, given in the order of the agents, as preferences; empty lists are left out."""
        filled = [k for k, items in enumerate(lists) if len(items)]
        if not filled:
            raise InputError("There is nothing to fuse: every list is empty.")
        agent = [self.known_agents[k] for k in filled]
        return Preferences.from_rankings([lists[k] for k in filled], weight=weight[filled], agent=agent)

    def arranged(self, lists: Mapping[str, Any]) -> list[Any]:
        """Return lists given by agent in the order of the agents, empty if an agent has none."""
        known = set(self._agents_to_fuse())
        unknown = next((name for name in lists if name not in known), None)
        if unknown is not None:
            raise InputError(
                f"The agent {unknown!r} was not in the training data: the model knows {named(self.known_agents, 5)}."
            )
        return [lists.get(name, []) for name in self.known_agents]

    def _agents_to_fuse(self) -> tuple[str, ...]:
        """Return the known agents; raise an error if the method is not fitted."""
        if not self.learnt:
            raise NeedError(f"{self.name} cannot fuse lists: " + NEEDS["labels"] + ".")
        return self.known_agents

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        return Vocabulary(list(self.known_agents))

    @property
    def takes_validation(self) -> bool:
        """Whether ``fit`` uses validation instances."""
        return True

    @property
    def known_agents(self) -> tuple[str, ...]:
        """The agents in the training data."""
        return tuple(self.learnt.get("agents", ()))

    def unknown_agents(self, prefs: Preferences) -> tuple[Notice, ...]:
        """Return a notice about agents that were not in the training data; raise an error if there are no others."""
        assert prefs.agents is not None
        known = set(self.known_agents)
        unknown = [label for label in prefs.agents.labels if label not in known]
        if not unknown:
            return ()
        if len(unknown) == len(prefs.agents):
            raise InputError(
                f"The model was trained on different agents ({named(self.known_agents, 3)}) from these "
                f"({named(unknown, 3)}): use the same agent names."
            )
        text = f"agents that are not in the training data are ignored: {named(unknown, 3)}"
        return (Notice("unknown-agents", text),)


def _label_of_slot(prefs: Preferences, labels: Labels) -> Floats:
    return labels.for_items(views.instance_of_slot(prefs), prefs.instances, prefs.items, prefs.slot_item)
