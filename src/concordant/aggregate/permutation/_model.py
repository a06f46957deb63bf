"""What a model over permutations answers, and what a reader must know of it."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from concordant import views
from concordant.aggregate.matrices import comparable_groups, group_notices
from concordant.aggregate.permutation._centre import CentredBallots, inversions, seen_from
from concordant.aggregate.permutation._dispersion import MAX_THETA, chance_discordant, log_kendall, log_places
from concordant.aggregate.permutation._displacement import normalisers
from concordant.ballots.segments import segment_index, sum_by
from concordant.errors import InputError, arg, phrase
from concordant.models.fitted import FittedModel
from concordant.preferences import Preferences
from concordant.ranking import Notice
from concordant.types import Bools, Floats, Int64s

FEW = 8  # items whose orders are all counted


@dataclass(frozen=True, eq=False)
class PermutationModel(FittedModel):
    """Ballots that scatter around a centre; the scores count its places from below."""

    phi: Floats
    """The dispersion: per instance (Mallows), or per place of the centre (generalised Mallows)."""

    def centre(self, instance: object = None) -> list[str]:
        """Return the items of the centre, best first."""
        return self.items.take(self.slot_item[self._centre(self.slots(instance))])

    @abstractmethod
    def stages(self, slots: Int64s) -> Floats:
        """Return the theta of every place of the centre of an instance, with these slots."""

    def chances(self, first: Int64s, second: Int64s) -> tuple[Floats, Floats, Floats]:
        """Return the chances that the first slot of each pair is put before the second, or behind it."""
        up = np.full(len(first), 0.5)
        instance = np.searchsorted(self.slot_ptr, first, side="right") - 1
        for q in np.unique(instance).tolist():
            at = np.flatnonzero((instance == q) & (first != second))
            one, other = self._place(first[at]), self._place(second[at])
            slots = np.arange(self.slot_ptr[q], self.slot_ptr[q + 1])
            discordant = self._chance_discordant(slots, np.minimum(one, other), np.maximum(one, other))
            up[at] = np.where(one < other, 1 - discordant, discordant)
        return up, 1 - up, np.zeros(len(first))

    def drawn(self, n: int, slots: Int64s, rng: np.random.Generator) -> tuple[Int64s, Int64s]:
        """Draw rankings of all candidates."""
        orders = self._orders(n, slots, rng)
        return self._centre(slots)[orders], np.tile(np.arange(len(slots)), (n, 1))

    def _chance_discordant(self, slots: Int64s, above: Int64s, below: Int64s) -> Floats:
        """Return the chance that the item at the lower of two places of the centre is put first."""
        return chance_discordant(self.stages(slots), above, below)

    def _orders(self, n: int, slots: Int64s, rng: np.random.Generator) -> Int64s:
        """Draw orders of the places of the centre."""
        from concordant.simulate.generalised_mallows import draw_orders

        return draw_orders(np.exp(-self.stages(slots)), n, rng)

    def _centre(self, slots: Int64s) -> Int64s:
        return np.asarray(slots[np.argsort(-self.score[slots])])

    def _place(self, slot: Int64s) -> Int64s:
        """Return the place of slots in the centre of their instance, 0 best."""
        size = np.diff(self.slot_ptr)[np.searchsorted(self.slot_ptr, slot, side="right") - 1]
        return np.asarray(size - 1 - self.score[slot]).astype(np.int64)

    def _seen(self, prefs: Preferences) -> tuple[CentredBallots, Int64s]:
        """Look at the known part of ballots from the centre; also the slot here of each of its slots."""
        prefs, slot = self.known_part(prefs)
        return seen_from(prefs, self._place(slot)), slot


@dataclass(frozen=True, eq=False)
class MallowsModel(PermutationModel):
    """A fitted Mallows model: one dispersion per instance.

    Chances and draws are exact: by stages for the Kendall distance, elsewhere by counting the orders of few items.
    """

    distance: str

    def stages(self, slots: Int64s) -> Floats:
        """Return the same theta for every place."""
        return np.repeat(self._theta(slots[:1]), len(slots))

    def log_likelihood(self, prefs: Preferences) -> float:
        """Return the log-likelihood of other preferences: of each ballot, as a ranking of the items it has."""
        seen, slot = self._seen(prefs)
        prefs = seen.prefs
        theta = -np.log(self.phi[self.instances_of(prefs, slot)])
        row, size, weight = seen.lengths()
        is_kendall = self.distance == "kendall"
        log_z = log_kendall(theta, row, size) if is_kendall else normalisers(self.distance, theta[row], size).log
        said = (prefs.weight * theta[prefs.instance_of_ballot]) @ seen.distances(self.distance)
        return -float(said + weight @ log_z)

    def _chance_discordant(self, slots: Int64s, above: Int64s, below: Int64s) -> Floats:
        if self.distance == "kendall":
            return super()._chance_discordant(slots, above, below)
        orders, chance = self._counted(slots)
        place = np.argsort(orders, axis=1)
        return np.asarray(chance @ (place[:, below] < place[:, above]))

    def _orders(self, n: int, slots: Int64s, rng: np.random.Generator) -> Int64s:
        if self.distance == "kendall":
            return super()._orders(n, slots, rng)
        orders, chance = self._counted(slots)
        return orders[rng.choice(len(orders), n, p=chance)]

    def _counted(self, slots: Int64s) -> tuple[Int64s, Floats]:
        """Return all orders of the places of the centre, with their chances."""
        if len(slots) > FEW:
            raise InputError(
                phrase(
                    "Mallows with {} tells chances and draws of up to {} items by counting their orders, and there are "
                    "{}: use {}, or select fewer items.",
                    *(arg("distance", self.distance), FEW, f"{len(slots):,}", arg("distance", "kendall")),
                )
            )
        orders = np.array(list(permutations(range(len(slots)))))
        shift = np.abs(np.argsort(orders, axis=1) - np.arange(len(slots)))
        total = (shift if self.distance == "footrule" else shift**2).sum(axis=1)
        weight = np.exp(-self._theta(slots[:1]) * total)
        return orders, weight / weight.sum()

    def _theta(self, slot: Int64s) -> Floats:
        return -np.log(self.phi[segment_index(self.slot_ptr)[slot]])


@dataclass(frozen=True, eq=False)
class GeneralisedMallowsModel(PermutationModel):
    """A fitted generalised Mallows model: one dispersion per place of every centre."""

    def stages(self, slots: Int64s) -> Floats:
        """Return the theta of every place."""
        return -np.log(self.phi[slots])

    def log_likelihood(self, prefs: Preferences) -> float:
        """Return the log-likelihood of other preferences: of the stages that each ballot decides."""
        seen, slot = self._seen(prefs)
        discordant, compared = inversions(seen)
        here = slot[seen.prefs.entry_slot]
        first = self.slot_ptr[np.searchsorted(self.slot_ptr, here, side="right") - 1]
        theta = -np.log(self.phi[first + self._place(here)])
        return -float(seen.prefs.weight[seen.ballot] @ (theta * discordant + log_places(theta, compared + 1)))


def dispersion_notices(prefs: Preferences, theta: Floats | None = None) -> tuple[Notice, ...]:
    """Tell of items that cannot be compared, and of dispersions (per instance) at the ends of their range."""
    told: list[Notice] = []
    says_something = np.diff(prefs.slot_ptr) > 1
    if not _has_full_order(prefs).all():
        group = comparable_groups(prefs)
        told += group_notices(prefs, group)
        is_compared = np.bincount(group)[group] > 1
        says_something = sum_by(views.instance_of_slot(prefs), is_compared, prefs.n_instances) > 0
    if theta is None:
        return tuple(told)
    unanimous, random = (int((at & says_something).sum()) for at in (theta >= 0.99 * MAX_THETA, theta <= 0))
    if unanimous:
        text = f"every ballot agrees with the centre in {unanimous:,} instance(s), so phi is at its lower end"
        told.append(Notice("no-scatter", text))
    if random:
        text = f"the ballots scatter no less than chance in {random:,} instance(s): the centre means little"
        told.append(Notice("no-consensus", text))
    return tuple(told)


def _has_full_order(prefs: Preferences) -> Bools:
    """Say of every instance whether some ballot orders all its candidates: then all can be compared."""
    n_tiers = np.bincount(views.tiers(prefs).ballot, minlength=prefs.n_ballots)
    is_full = n_tiers == np.diff(prefs.slot_ptr)[prefs.instance_of_ballot]
    return np.bincount(prefs.instance_of_ballot[is_full], minlength=prefs.n_instances) > 0
