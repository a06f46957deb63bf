"""Fitted models over permutations: probabilities, draws, likelihoods and notices."""

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


@dataclass(frozen=True, eq=False, repr=False)
class PermutationModel(FittedModel):
    """Base of distance-based models of ballots around a centre; scores are positions in the centre, counted from the
    last.
    """

    phi: Floats
    """The dispersion: per instance (Mallows), or per position of the centre (generalised Mallows)."""

    def centre(self, instance: object = None) -> list[str]:
        """Return the items of the centre, best first."""
        return self.items.take(self.slot_item[self._centre(self.slots(instance))])

    @abstractmethod
    def stages(self, slots: Int64s) -> Floats:
        """Return theta for each position in the centre of the instance that has these slots."""

    def chances(self, first: Int64s, second: Int64s) -> tuple[Floats, Floats, Floats]:
        """Return the probabilities that the first slot of each pair is ranked above the second, below it, and
        tied (0).
        """
        p_before = np.full(len(first), 0.5)
        instance = np.searchsorted(self.slot_ptr, first, side="right") - 1
        for q in np.unique(instance).tolist():
            pairs = np.flatnonzero((instance == q) & (first != second))
            first_place, second_place = self._place(first[pairs]), self._place(second[pairs])
            slots = np.arange(self.slot_ptr[q], self.slot_ptr[q + 1])
            discordant = self._chance_discordant(
                slots, np.minimum(first_place, second_place), np.maximum(first_place, second_place)
            )
            p_before[pairs] = np.where(first_place < second_place, 1 - discordant, discordant)
        return p_before, 1 - p_before, np.zeros(len(first))

    def drawn(self, n: int, slots: Int64s, rng: np.random.Generator) -> tuple[Int64s, Int64s]:
        """Draw n rankings of all candidates: slots best first, and tiers."""
        orders = self._orders(n, slots, rng)
        return self._centre(slots)[orders], np.tile(np.arange(len(slots)), (n, 1))

    def _chance_discordant(self, slots: Int64s, above: Int64s, below: Int64s) -> Floats:
        """Return the probability that position ``below`` of the centre is ranked above position ``above``."""
        return chance_discordant(self.stages(slots), above, below)

    def _orders(self, n: int, slots: Int64s, rng: np.random.Generator) -> Int64s:
        """Draw n orders of the positions of the centre."""
        from concordant.simulate.generalised_mallows import draw_orders

        return draw_orders(np.exp(-self.stages(slots)), n, rng)

    def _centre(self, slots: Int64s) -> Int64s:
        """Return the slots of an instance in the order of the centre, best first."""
        return np.asarray(slots[np.argsort(-self.score[slots])])

    def _place(self, slot: Int64s) -> Int64s:
        """Return the position of slots in the centre of their instance, 0 best."""
        size = np.diff(self.slot_ptr)[np.searchsorted(self.slot_ptr, slot, side="right") - 1]
        return np.asarray(size - 1 - self.score[slot]).astype(np.int64)

    def _seen(self, prefs: Preferences) -> tuple[CentredBallots, Int64s]:
        """Return other ballots, restricted to known items, relative to the centre; and, for each of their slots, the
        slot in this model.
        """
        prefs, slot = self.known_part(prefs)
        return seen_from(prefs, self._place(slot)), slot


@dataclass(frozen=True, eq=False, repr=False)
class MallowsModel(PermutationModel):
    """A fitted Mallows model: one dispersion per instance.

    Probabilities and draws are exact: by stages for the Kendall distance, by enumeration of all orders for the others
    (few items only).
    """

    distance: str

    def stages(self, slots: Int64s) -> Floats:
        """Return the same theta for every position."""
        return np.repeat(self._theta(slots[:1]), len(slots))

    def log_likelihood(self, prefs: Preferences) -> float:
        """Return the log-likelihood of other preferences: -theta * distance - log Z of each ballot, over its own
        items.
        """
        centred, slot = self._seen(prefs)
        prefs = centred.prefs
        theta = -np.log(self.phi[self.instances_of(prefs, slot)])
        row, size, weight = centred.lengths()
        is_kendall = self.distance == "kendall"
        log_z = log_kendall(theta, row, size) if is_kendall else normalisers(self.distance, theta[row], size).log
        total_distance = (prefs.weight * theta[prefs.instance_of_ballot]) @ centred.distances(self.distance)
        return -float(total_distance + weight @ log_z)

    def _chance_discordant(self, slots: Int64s, above: Int64s, below: Int64s) -> Floats:
        """Return the probability of the reversed order; by enumeration of all orders if there are no stages."""
        if self.distance == "kendall":
            return super()._chance_discordant(slots, above, below)
        orders, chance = self._counted(slots)
        place = np.argsort(orders, axis=1)
        return np.asarray(chance @ (place[:, below] < place[:, above]))

    def _orders(self, n: int, slots: Int64s, rng: np.random.Generator) -> Int64s:
        """Draw n orders of the positions of the centre; from the list of all orders if there are no stages."""
        if self.distance == "kendall":
            return super()._orders(n, slots, rng)
        orders, chance = self._counted(slots)
        return orders[rng.choice(len(orders), n, p=chance)]

    def _counted(self, slots: Int64s) -> tuple[Int64s, Floats]:
        """Return all orders of the positions of the centre, with their probabilities; reject more than ``FEW``
        items.
        """
        if len(slots) > FEW:
            raise InputError(
                phrase(
                    "Mallows with {} computes probabilities and draws by enumeration for up to {} items, but "
                    "there are {}: use {}, or select fewer items.",
                    *(arg("distance", self.distance), FEW, f"{len(slots):,}", arg("distance", "kendall")),
                )
            )
        orders = np.array(list(permutations(range(len(slots)))))
        shift = np.abs(np.argsort(orders, axis=1) - np.arange(len(slots)))
        distance = (shift if self.distance == "footrule" else shift**2).sum(axis=1)
        weight = np.exp(-self._theta(slots[:1]) * distance)
        return orders, weight / weight.sum()

    def _theta(self, slot: Int64s) -> Floats:
        return -np.log(self.phi[segment_index(self.slot_ptr)[slot]])


@dataclass(frozen=True, eq=False, repr=False)
class GeneralisedMallowsModel(PermutationModel):
    """A fitted generalised Mallows model: one dispersion per position of every centre."""

    def stages(self, slots: Int64s) -> Floats:
        """Return the theta of every position."""
        return -np.log(self.phi[slots])

    def log_likelihood(self, prefs: Preferences) -> float:
        """Return the log-likelihood of other preferences, summed over the stages that each ballot decides."""
        centred, slot = self._seen(prefs)
        discordant, compared = inversions(centred)
        model_slot = slot[centred.prefs.entry_slot]
        first = self.slot_ptr[np.searchsorted(self.slot_ptr, model_slot, side="right") - 1]
        theta = -np.log(self.phi[first + self._place(model_slot)])
        return -float(centred.prefs.weight[centred.ballot] @ (theta * discordant + log_places(theta, compared + 1)))


def dispersion_notices(prefs: Preferences, theta: Floats | None = None) -> tuple[Notice, ...]:
    """Return notices about items that cannot be compared, and about dispersions at the bounds of their range."""
    notices: list[Notice] = []
    says_something = np.diff(prefs.slot_ptr) > 1
    if not _has_full_order(prefs).all():
        group = comparable_groups(prefs)
        notices += group_notices(prefs, group)
        is_compared = np.bincount(group)[group] > 1
        says_something = sum_by(views.instance_of_slot(prefs), is_compared, prefs.n_instances) > 0
    if theta is None:
        return tuple(notices)
    unanimous, random = (
        int((is_extreme & says_something).sum()) for is_extreme in (theta >= 0.99 * MAX_THETA, theta <= 0)
    )
    if unanimous:
        text = f"every ballot agrees with the centre in {unanimous:,} instance(s), so phi is at its lower bound"
        notices.append(Notice("no-scatter", text))
    if random:
        text = (
            f"the ballots are no more concentrated than random orders in {random:,} instance(s): the centre "
            f"is not meaningful"
        )
        notices.append(Notice("no-consensus", text))
    return tuple(notices)


def _has_full_order(prefs: Preferences) -> Bools:
    """Return, for every instance, whether some ballot orders all its candidates: then all can be compared."""
    n_tiers = np.bincount(views.tiers(prefs).ballot, minlength=prefs.n_ballots)
    is_full = n_tiers == np.diff(prefs.slot_ptr)[prefs.instance_of_ballot]
    return np.bincount(prefs.instance_of_ballot[is_full], minlength=prefs.n_instances) > 0
