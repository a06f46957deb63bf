"""The container: ballots of any form in a few flat arrays.

A ballot is what one agent said in one instance: items with tiers (lower is better, equal is a tie), perhaps with
the raw value behind the tier (a rank or a rating), with a weight that means repetition. A slot is one
(instance, candidate), whether somebody ranked the candidate or not; slots make many instances as cheap as one.
Everything is checked once, on construction, and frozen: arrays cannot be written to, so that kernels may trust them.
An array of the caller is copied unless it is read-only already, which is the fast way in: who hands over a read-only
array promises that nobody writes to its memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any

import numpy as np

from concordant import gather, kernels
from concordant.errors import InputError
from concordant.gather import segment_index
from concordant.reading import FRAME, Options, takes_options
from concordant.types import AnyArray, Bools, Floats, Int32s, Int64s
from concordant.vocabulary import Vocabulary, shorten

SCALES = (None, "rank", "rating")
FORMS = ("pairs", "choices", "top-k", "approvals", "ratings", "rankings")


_ARRAYS = ("indptr", "item", "tier", "value", "weight", "agent", "instance", "open", "shown")
_PARTS = (*_ARRAYS, "items", "agents", "instances", "scale", "slot_ptr", "slot_item", "is_merged", "notes", "meta")
_NO_META: Mapping[str, object] = MappingProxyType({})


class Preferences:
    """Ballots over items, by agents, in instances. Make one with a ``from_…`` constructor or ``cc.read``."""

    items: Vocabulary
    agents: Vocabulary | None
    instances: Vocabulary | None
    indptr: Int64s
    item: Int32s
    tier: Int32s
    value: Floats | None
    scale: str | None
    weight: Floats
    agent: Int32s | None
    instance: Int32s | None
    open: Bools | None
    shown: Int32s | None
    is_merged: bool
    notes: tuple[str, ...]
    meta: Mapping[str, object]

    def __init__(
        self,
        items: Vocabulary | Iterable[str],
        indptr: AnyArray,
        item: AnyArray,
        tier: AnyArray,
        *,
        value: AnyArray | None = None,
        scale: str | None = None,
        weight: AnyArray | None = None,
        agents: Vocabulary | Iterable[str] | None = None,
        agent: AnyArray | None = None,
        instances: Vocabulary | Iterable[str] | None = None,
        instance: AnyArray | None = None,
        open: AnyArray | None = None,
        shown: AnyArray | None = None,
        slot_ptr: AnyArray | None = None,
        slot_item: AnyArray | None = None,
        form: str | None = None,
        is_merged: bool = False,
        notes: Sequence[str] = (),
        meta: Mapping[str, object] | None = None,
    ) -> None:
        self.items = _vocabulary(items)
        self.agents = None if agents is None else _vocabulary(agents)
        self.instances = None if instances is None else _vocabulary(instances)
        self.indptr = gather.own(indptr, np.int64)
        self.item = gather.own(item, np.int32)
        self.tier = gather.own(tier, np.int32)
        self.value = None if value is None else gather.own(value, np.float64)
        self.scale = scale
        n = len(self.indptr) - 1
        self.weight = np.ones(n) if weight is None else gather.own(weight, np.float64)
        self.agent = None if agent is None else gather.own(agent, np.int32)
        self.instance = None if instance is None else gather.own(instance, np.int32)
        self.open = None if open is None else gather.own(open, np.bool_)
        self.shown = None if shown is None else gather.own(shown, np.int32)
        self.said_form = form
        self.is_merged = is_merged
        self.notes = tuple(notes)
        self.meta = MappingProxyType(dict(meta or {}))
        if (slot_ptr is None) != (slot_item is None):
            raise InputError("slot_ptr and slot_item describe the candidates together: give both or neither.")
        if slot_ptr is not None and slot_item is not None:
            given = gather.own(slot_ptr, np.int64), gather.own(slot_item, np.int32)
            self._given_slots: tuple[Int64s, Int32s] | None = given
        else:
            self._given_slots = None
        self._known_slots: tuple[Int64s, Int32s, Int64s] | None = None
        self._unit_weights: bool | None = None
        self._check(weight is not None)
        self._freeze()

    @classmethod
    def _trusted(cls, items: Vocabulary, indptr: Int64s, item: Int32s, tier: Int32s) -> Preferences:
        """Build from arrays that are right by construction, for paths where microseconds count."""
        self = cls.__new__(cls)
        self.items, self.indptr, self.item, self.tier = items, indptr, item, tier
        self.agents = self.instances = self.value = self.scale = None
        self.agent = self.instance = self.open = self.shown = self._given_slots = self._known_slots = None
        self.said_form = None
        self.weight = np.ones(len(indptr) - 1)
        self.is_merged, self.notes, self.meta = False, (), _NO_META
        self._unit_weights = True
        self._freeze()
        return self

    def _freeze(self) -> None:
        for name in _ARRAYS:
            array = getattr(self, name)
            if array is not None:
                array.setflags(write=False)

    # ---- checks ----
    def _check(self, check_weights: bool) -> None:
        n, n_entries = self.n_ballots, len(self.item)
        gather.check_pointer(self.indptr, n_entries, "indptr")
        if len(self.tier) != n_entries:
            raise InputError(f"There are {len(self.tier)} tiers for {n_entries} entries: give one per entry.")
        gather.check_codes(self.item, len(self.items), "item")
        if self.said_form is not None and self.said_form not in FORMS:
            raise InputError(f"form={self.said_form!r} is not a form: use {', '.join(FORMS)}, or leave it out.")
        if self.said_form == "pairs" and (np.diff(self.indptr) != 2).any():
            raise InputError("form='pairs' is for ballots of two items each: leave it out.")
        for name, values, size in (
            ("value", self.value, n_entries),
            ("shown", self.shown, n_entries),
            ("weight", self.weight, n),
            ("agent", self.agent, n),
            ("instance", self.instance, n),
            ("open", self.open, n),
        ):
            if values is not None and len(values) != size:
                raise InputError(f"The {name} array has {len(values)} values, not {size}: give one for each.")
        if self.scale not in SCALES or (self.scale is None) != (self.value is None):
            raise InputError(f"scale={self.scale!r} does not fit: it is 'rank' or 'rating' when values are given.")
        if self.value is not None and not gather.all_finite(self.value):
            raise InputError("A value is not a finite number: leave the item out of the ballot instead.")
        for name, codes, vocabulary in (
            ("agent", self.agent, self.agents),
            ("instance", self.instance, self.instances),
        ):
            if (codes is None) != (vocabulary is None):
                raise InputError(f"{name} codes and {name}s labels belong together: give both or neither.")
            if codes is not None and vocabulary is not None:
                gather.check_codes(codes, len(vocabulary), name)
        ballot, entry = kernels.find_repeated(self.indptr, self.item, len(self.items))
        if ballot >= 0:
            label = shorten(self.items[self.item[entry]])
            raise InputError(f"Ballot {ballot + 1} names {label!r} twice: each item stands once in a ballot.")
        self._sort_tiers()
        if check_weights:
            self._check_weights()
        self._check_slots()

    def _sort_tiers(self) -> None:
        """Keep entries sorted by tier inside each ballot."""
        falls = np.flatnonzero(self.tier[1:] < self.tier[:-1]) + 1
        is_start = np.zeros(len(self.tier) + 1, bool)
        is_start[self.indptr] = True
        if is_start[falls].all():
            return
        order = np.lexsort((self.tier, segment_index(self.indptr)))
        for name in ("item", "tier", "value", "shown"):
            array = getattr(self, name)
            if array is not None:
                setattr(self, name, array[order])

    def _check_weights(self) -> None:
        if len(self.weight) and self.weight.min() > 0 and self.weight.max() < np.inf:  # false where one is NaN
            return
        bad = ~(np.isfinite(self.weight) & (self.weight >= 0))
        if bad.any():
            ballot = int(np.flatnonzero(bad)[0])
            raise InputError(
                f"The weight of ballot {ballot + 1} is {self.weight[ballot]:g}: "
                "a weight counts repetitions and must be finite and not negative."
            )
        keep = self.weight > 0
        if not keep.all():
            if self._given_slots is None:  # the items of a dropped ballot remain candidates
                self._given_slots = self._find_slots()[:2]
            dropped = int((~keep).sum())
            self._keep_ballots(keep)
            self._known_slots = None
            self.notes += (f"{dropped} ballot{'s' * (dropped > 1)} of weight zero dropped",)

    def _keep_ballots(self, keep: Bools) -> None:
        sizes = np.diff(self.indptr)
        entries = np.repeat(keep, sizes)
        for name in ("item", "tier", "value", "shown"):
            array = getattr(self, name)
            if array is not None:
                setattr(self, name, array[entries])
        for name in ("weight", "agent", "instance", "open"):
            array = getattr(self, name)
            if array is not None:
                setattr(self, name, array[keep])
        self.indptr = np.concatenate([[0], np.cumsum(sizes[keep])]).astype(np.int64)

    def _check_slots(self) -> None:
        if self._given_slots is None:
            return
        slot_ptr, slot_item = self._given_slots
        if len(slot_ptr) != self.n_instances + 1:
            raise InputError(f"slot_ptr describes {len(slot_ptr) - 1} instances, there are {self.n_instances}.")
        gather.check_pointer(slot_ptr, len(slot_item), "slot_ptr")
        gather.check_codes(slot_item, len(self.items), "slot item")
        if kernels.find_repeated(slot_ptr, slot_item, len(self.items))[0] >= 0:
            raise InputError("An instance lists a candidate twice: each candidate is one slot.")
        if len(self.item) and self._slots[2].min() < 0:
            entry = int(np.flatnonzero(self._slots[2] < 0)[0])
            label = shorten(self.items[self.item[entry]])
            raise InputError(f"{label!r} is ranked in an instance where it is no candidate: add it to the candidates.")

    # ---- slots ----
    @property
    def instance_of_ballot(self) -> Int32s:
        """The instance of every ballot; zeros when there is only one, unnamed instance."""
        return np.zeros(self.n_ballots, np.int32) if self.instance is None else self.instance

    def _find_slots(self) -> tuple[Int64s, Int32s, Int64s]:
        if self._given_slots is not None:
            slots = kernels.find_slots(
                *self._given_slots, self.instance_of_ballot, self.indptr, self.item, len(self.items)
            )
            return (*self._given_slots, slots)
        if self.instance is None:  # one instance: every item of the vocabulary is a candidate, slot = code
            ptr = np.array([0, len(self.items)], np.int64)
            return ptr, np.arange(len(self.items), dtype=np.int32), self.item.astype(np.int64)
        return kernels.assign_slots(self.instance, self.indptr, self.item, self.n_instances, len(self.items))

    @property
    def _slots(self) -> tuple[Int64s, Int32s, Int64s]:
        if self._known_slots is None:
            self._known_slots = self._find_slots()
            for array in self._known_slots:
                array.setflags(write=False)
        return self._known_slots

    @property
    def slot_ptr(self) -> Int64s:
        """Instance q owns slots slot_ptr[q]:slot_ptr[q + 1]."""
        return self._slots[0]

    @property
    def slot_item(self) -> Int32s:
        """The item of every slot, in input order inside an instance."""
        return self._slots[1]

    @property
    def entry_slot(self) -> Int64s:
        """The slot of every entry."""
        return self._slots[2]

    # ---- sizes and form ----
    @property
    def n_items(self) -> int:
        """How many items there are, ranked or not."""
        return len(self.items)

    @property
    def n_ballots(self) -> int:
        """How many ballots there are (rows, not their weights)."""
        return len(self.indptr) - 1

    @property
    def n_agents(self) -> int | None:
        """How many agents there are, None when they are not known."""
        return None if self.agents is None else len(self.agents)

    @property
    def n_instances(self) -> int:
        """How many instances there are; 1 when they are not named."""
        return 1 if self.instances is None else len(self.instances)

    @property
    def has_unit_weights(self) -> bool:
        """Whether every ballot counts once."""
        if self._unit_weights is None:
            self._unit_weights = bool((self.weight == 1.0).all())
        return self._unit_weights

    @property
    def n_slots(self) -> int:
        """How many (instance, candidate) pairs there are."""
        return int(self.slot_ptr[-1])

    @cached_property
    def form(self) -> str:
        """The kind of preferences: pairs, choices, top-k, approvals, ratings, rankings or empty.

        A duel and a short ballot look alike, as do ratings and a ranked list with scores: whoever made the preferences
        knows which is meant (``from_pairs`` or ``from_rankings``, a table of winners and losers or one of places), so
        that is kept. The rest follows from the ballots.
        """
        sizes = np.diff(self.indptr)
        if not len(self.item):
            return "empty"
        if self.said_form is not None:
            return self.said_form
        if self.open is not None and self.open.all():
            first = self.tier == np.repeat(self.tier[self.indptr[:-1][sizes > 0]], sizes[sizes > 0])
            return "choices" if first.sum() == (sizes > 0).sum() and self._n_tiers_max() <= 2 else "top-k"
        if self.scale == "rating":
            return "ratings"
        return "approvals" if self._n_tiers_max() <= 2 and sizes.max() > 2 else "rankings"

    def _n_tiers_max(self) -> int:
        starts = np.ones(len(self.tier), bool)
        starts[1:] = self.tier[1:] != self.tier[:-1]
        starts[self.indptr[:-1][np.diff(self.indptr) > 0]] = True
        return int(np.bincount(segment_index(self.indptr), weights=starts).max())

    # ---- constructors ----
    @classmethod
    def from_rankings(
        cls,
        rankings: Iterable[Sequence[object]],
        *,
        weight: object = None,
        agent: object = None,
        instance: object = None,
        candidates: Iterable[object] | None = None,
    ) -> Preferences:
        """Make preferences from lists, best first; an inner list or set is a tie."""
        return cls(
            **gather.gather_rankings(rankings, weight=weight, agent=agent, instance=instance, candidates=candidates)
        )

    @classmethod
    def from_pairs(
        cls,
        winner: object,
        loser: object,
        *,
        weight: object = None,
        tie: object = None,
        agent: object = None,
        instance: object = None,
        winner_first: object = None,
        merge: bool = False,
    ) -> Preferences:
        """Make preferences from one comparison per row; where ``tie`` is true the two drew.

        ``winner_first`` is true where the winner was shown first (or at home). ``merge=True`` joins equal comparisons
        on the way in: far cheaper for many votes over few items, but their order and who voted are forgotten.
        """
        columns = {"weight": weight, "tie": tie, "instance": instance, "winner_first": winner_first}
        if not merge:
            return cls(**gather.gather_pairs(winner, loser, agent=agent, **columns))
        is_plain = instance is None and winner_first is None
        parts = gather.tally_pairs(winner, loser, weight=weight, tie=tie) if is_plain else None
        return cls(**parts) if parts else cls(**gather.gather_pairs(winner, loser, **columns)).merge(agents=False)

    @classmethod
    def from_ratings(
        cls,
        agent: object,
        item: object,
        rating: object,
        *,
        instance: object = None,
        weight: object = None,
    ) -> Preferences:
        """Make preferences from ratings, one row per (agent, item); a high rating is good."""
        return cls(**gather.gather_rows(item, rating, scale="rating", agent=agent, instance=instance, weight=weight))

    @classmethod
    def from_ranks(
        cls,
        agent: object,
        item: object,
        rank: object,
        *,
        instance: object = None,
        weight: object = None,
    ) -> Preferences:
        """Make preferences from ranks, one row per (agent, instance, item); rank 1 is best, equal is a tie."""
        return cls(**gather.gather_rows(item, rank, scale="rank", agent=agent, instance=instance, weight=weight))

    @classmethod
    def from_rank_matrix(
        cls,
        ranks: object,
        *,
        items: Iterable[object] | None = None,
        agents: Iterable[object] | None = None,
        weight: object = None,
    ) -> Preferences:
        """Make preferences from a matrix of ranks, items x agents; NaN where an agent did not rank an item.

        A DataFrame names both: its columns are agents, its index (or its one column of text) the items.
        """
        from concordant.frames import is_frame, matrix_of_frame

        if is_frame(ranks):
            ranks, rows, columns = matrix_of_frame(ranks)
            items, agents = rows if items is None else items, columns if agents is None else agents
        return cls(**gather.gather_rank_matrix(ranks, items=items, agents=agents, weight=weight))

    @classmethod
    @takes_options(FRAME)
    def from_frame(cls, frame: Any, **options: Any) -> Preferences:
        """Make preferences from any DataFrame (pandas, polars, pyarrow, …).

        Column roles (winner, loser, tie, item, rank, rating, agent, instance, weight, …) are guessed from the column
        names; ``rating="stars"`` says that the column ``stars`` holds the ratings. ``form`` settles which reading is
        meant when the names allow several.
        """
        from concordant.frames import FrameTable
        from concordant.tables import parts_of_table

        return cls(**parts_of_table(FrameTable(frame), Options.of(FRAME, options)))

    # ---- other views of the same data ----
    def select(
        self,
        *,
        instances: Iterable[object] | object | None = None,
        agents: Iterable[object] | object | None = None,
        items: Iterable[object] | object | None = None,
    ) -> Preferences:
        """Keep only these instances, agents and items (labels); vocabularies shrink to what remains."""
        ballots = np.ones(self.n_ballots, bool)
        slots = np.ones(self.n_slots, bool)
        instance_of_slot = segment_index(self.slot_ptr)
        if instances is not None:
            wanted = _codes(self.instances, instances, "instance")
            ballots &= np.isin(self.instance_of_ballot, wanted)
            slots &= np.isin(instance_of_slot, wanted)
        if agents is not None:
            wanted = _codes(self.agents, agents, "agent")
            ballots &= np.isin(self.agent if self.agent is not None else [], wanted)
        if items is not None:
            slots &= np.isin(self.slot_item, _codes(self.items, items, "item"))
        return self._subset(ballots, slots)

    def min_ballots(self, n: float) -> Preferences:
        """Leave out items that fewer than ``n`` ballots (by weight) of their instance name; the notes count them."""
        from concordant.merging import often_named

        keep = often_named(self, n)
        kept = self._subset(np.ones(self.n_ballots, bool), keep)
        left_out = f"left out {int((~keep).sum()):,} of {len(keep):,} items that are on fewer than {n:g} ballots"
        kept.notes = (*self.notes, left_out)
        return kept

    def take(self, ballots: AnyArray | slice | Sequence[int]) -> Preferences:
        """Keep only these ballots (a mask, indices or a slice); candidates stay as they are."""
        keep = np.zeros(self.n_ballots, bool)
        keep[ballots] = True
        return self._subset(keep, np.ones(self.n_slots, bool))

    def _subset(self, ballots: Bools, slots: Bools, **changes: Any) -> Preferences:
        from concordant.subsets import parts_of_subset

        return Preferences(**(parts_of_subset(self, ballots, slots) | changes))

    def replace(self, **changes: Any) -> Preferences:
        """Return the same preferences with some parts changed (arguments of the constructor), checked again.

        The candidates stay unless ``slot_ptr`` and ``slot_item`` are among the changes.
        """
        parts = {name: getattr(self, name) for name in _PARTS}
        return Preferences(**{**parts, "form": self.said_form, **changes})

    def __reduce__(self) -> tuple[Any, ...]:
        parts = {name: getattr(self, name) for name in _PARTS}
        return partial(Preferences, **{**parts, "form": self.said_form, "meta": dict(self.meta)}), ()

    def merge(self, *, agents: bool = True) -> Preferences:
        """Join equal ballots and add their weights; ``agents=False`` forgets who said what.

        The order of events is lost: methods that need it refuse merged preferences.
        """
        from concordant.merging import equal_ballots

        keep_agents = agents and self.agents is not None
        representative, group = equal_ballots(self, keep_agents)
        weight = gather.sum_by(group, self.weight, len(representative))
        keep = np.zeros(self.n_ballots, bool)
        keep[representative] = True
        changes: dict[str, Any] = {"weight": weight[np.diff(self.indptr)[representative] > 0], "is_merged": True}
        if not keep_agents:
            changes |= {"agents": None, "agent": None}
        return self._subset(keep, np.ones(self.n_slots, bool), **changes)

    def describe(self) -> Any:
        """Say what these preferences are: sizes, form, findings in plain words, and the methods that fit."""
        from concordant.describing import describe

        return describe(self)

    def __len__(self) -> int:
        return self.n_ballots

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Preferences):
            return NotImplemented
        from concordant.merging import same_content

        return same_content(self, other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        parts = [f"{self.n_ballots:,} ballots ({self.form})", f"{self.n_items:,} items"]
        if self.agents is not None:
            parts.append(f"{len(self.agents):,} agents")
        if self.instances is not None:
            parts.append(f"{len(self.instances):,} instances")
        return f"Preferences({', '.join(parts)})"

    def _repr_html_(self) -> str:
        from concordant.describing import summarise

        return summarise(self)._repr_html_()


def _vocabulary(labels: Vocabulary | Iterable[str]) -> Vocabulary:
    if isinstance(labels, Vocabulary):
        return labels
    vocabulary = Vocabulary(labels)
    if len(set(vocabulary.labels)) != len(vocabulary):
        raise InputError("A vocabulary lists a label twice: labels must be distinct.")
    return vocabulary


def _codes(vocabulary: Vocabulary | None, labels: Iterable[object] | object, what: str) -> Int32s:
    if vocabulary is None:
        raise InputError(f"These preferences have no {what}s: build them with {what}= to select by {what}.")
    wanted = [labels] if isinstance(labels, (str, int)) or not isinstance(labels, Iterable) else list(labels)
    return np.array([vocabulary.code(label, what) for label in wanted], np.int32)
