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

from concordant.ballots import build
from concordant.ballots.invariants import PER_BALLOT, PER_ENTRY, Slots, checked, find_slots
from concordant.ballots.segments import segment_index, sum_by
from concordant.ballots.vocabulary import Vocabulary
from concordant.errors import InputError, arg
from concordant.support.frozen import Frozen, freeze
from concordant.tables.options import FRAME, Options, takes_options
from concordant.types import AnyArray, Bools, Floats, Int32s, Int64s

_LABELS = ("items", "agents", "instances")
_NOTHING: Mapping[str, object] = {
    **dict.fromkeys(("indptr", *PER_ENTRY, *PER_BALLOT, *_LABELS, "scale", "said_form", "slot_ptr", "slot_item")),
    "covariates": (),
    "is_dated": False,
    "is_merged": False,
    "notes": (),
    "meta": MappingProxyType({}),
}


class Preferences(Frozen):
    """Ballots over items, by agents, in instances. Make one with a ``from_…`` constructor or ``cc.read``."""

    change = "use replace(…), which returns new preferences"
    items: Vocabulary
    agents: Vocabulary | None
    instances: Vocabulary | None
    item: Int32s
    tier: Int32s
    value: Floats | None
    scale: str | None
    agent: Int32s | None
    instance: Int32s | None
    open: Bools | None
    shown: Int32s | None
    team: Int32s | None
    """Entries of a ballot with one number are a team, which stands in one tier."""
    covariate: Floats | None
    """A row per entry: properties of what was compared, other than its item (the length of an answer)."""
    covariates: tuple[str, ...]
    time: Floats | None
    """When each ballot was cast: days since 1970 where ``is_dated``, else numbers as they were given."""
    is_dated: bool
    said_form: str | None
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
        team: AnyArray | None = None,
        covariate: AnyArray | None = None,
        covariates: Sequence[str] = (),
        time: AnyArray | None = None,
        is_dated: bool = False,
        slot_ptr: AnyArray | None = None,
        slot_item: AnyArray | None = None,
        form: str | None = None,
        is_merged: bool = False,
        notes: Sequence[str] = (),
        meta: Mapping[str, object] | None = None,
    ) -> None:
        parts = dict(locals())
        del parts["self"]
        parts["said_form"] = parts.pop("form")
        parts["notes"], parts["meta"] = tuple(notes), MappingProxyType(dict(meta or {}))
        parts["covariates"] = tuple(covariates)
        vars(self).update(checked(parts))

    @classmethod
    def unchecked(
        cls, items: Vocabulary, indptr: Int64s, item: Int32s, tier: Int32s, weight: Floats | None = None, **more: object
    ) -> Preferences:
        """Build from arrays that are right by construction: the one fast way, for readers and services.

        Nothing is checked, sorted, copied or dropped: the caller guarantees the rules of
        ``concordant.ballots.invariants``. The arrays become read-only. ``more`` are attributes by name
        (``notes``, ``meta``, …).
        """
        self = cls.__new__(cls)
        if weight is None:
            weight, more["has_unit_weights"] = np.ones(len(indptr) - 1), True
        vars(self).update(_NOTHING, items=items, indptr=indptr, item=item, tier=tier, weight=weight, **more)
        freeze(indptr, item, tier, weight, *(part for part in more.values() if isinstance(part, np.ndarray)))
        return self

    @classmethod
    def of_parts(cls, parts: build.Parts) -> Preferences:
        """Build from what ``ballots.build`` made of columns; the bounds of pairs, two entries each, may be left out.

        Pairs of nothing but two items each are right by construction, unless an item meets itself.
        """
        if parts.get("form") != "pairs" or "indptr" in parts:
            return cls(**parts)
        item = parts["item"]
        if parts.keys() - {"items", "item", "tier", "shown", "form", "notes"} or (item[0::2] == item[1::2]).any():
            return cls(indptr=_bounds_of_pairs(len(item)), **parts)
        self = cls.__new__(cls)
        vars(self).update({name: part for name, part in _NOTHING.items() if name not in ("indptr", "weight")})
        vars(self).update(items=parts["items"], item=item, tier=parts["tier"], said_form="pairs", has_unit_weights=True)
        vars(self).update(shown=parts.get("shown"), notes=tuple(parts.get("notes", ())))
        freeze(item, parts["tier"])
        return self

    @cached_property
    def indptr(self) -> Int64s:
        """Ballot b owns entries indptr[b]:indptr[b + 1]; of plain pairs it is made when first asked for."""
        return _bounds_of_pairs(len(self.item))

    @cached_property
    def weight(self) -> Floats:
        """How many times every ballot counts; of plain pairs, once each, it is made when first asked for."""
        weight = np.ones(self.n_ballots)
        freeze(weight)
        return weight

    # ---- slots ----
    @property
    def instance_of_ballot(self) -> Int32s:
        """The instance of every ballot; zeros when there is only one, unnamed instance."""
        return np.zeros(self.n_ballots, np.int32) if self.instance is None else self.instance

    @cached_property
    def slots(self) -> Slots:
        """The candidates of every instance and the slot of every entry, found when first asked for."""
        return find_slots(vars(self))

    @property
    def slot_ptr(self) -> Int64s:
        """Instance q owns slots slot_ptr[q]:slot_ptr[q + 1]."""
        return self.slots.ptr

    @property
    def slot_item(self) -> Int32s:
        """The item of every slot, in input order inside an instance."""
        return self.slots.item

    @property
    def are_slots_items(self) -> bool:
        """Whether the slot of an entry is the code of its item: one instance, all items are candidates."""
        return self.slots.of_entry is None

    @cached_property
    def entry_slot(self) -> Int64s:
        """The slot of every entry."""
        slot = self.slots.of_entry
        if slot is None:
            slot = self.item.astype(np.int64)
            freeze(slot)
        return slot

    # ---- sizes and form ----
    @property
    def n_items(self) -> int:
        """How many items there are, ranked or not."""
        return len(self.items)

    @property
    def n_ballots(self) -> int:
        """How many ballots there are (rows, not their weights)."""
        return len(self.indptr) - 1 if "indptr" in vars(self) else len(self.item) // 2

    @property
    def n_agents(self) -> int | None:
        """How many agents there are, None when they are not known."""
        return None if self.agents is None else len(self.agents)

    @property
    def n_instances(self) -> int:
        """How many instances there are; 1 when they are not named."""
        return 1 if self.instances is None else len(self.instances)

    @cached_property
    def has_unit_weights(self) -> bool:
        """Whether every ballot counts once."""
        return bool((self.weight == 1.0).all())

    @property
    def n_slots(self) -> int:
        """How many (instance, candidate) pairs there are."""
        return int(self.slot_ptr[-1])

    @cached_property
    def form(self) -> str:
        """The kind of preferences: pairs, choices, top-k, approvals, ratings, rankings, teams or empty.

        A duel and a short ballot look alike, as do ratings and a ranked list with scores: whoever made the preferences
        knows which is meant (``from_pairs`` or ``from_rankings``, a table of winners and losers or one of places), so
        that is kept. The rest follows from the ballots.
        """
        from concordant.ballots.form import form_of

        return form_of(self)

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
        columns = {"weight": weight, "agent": agent, "instance": instance}
        return cls(**build.gather_rankings(rankings, candidates, **columns))

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
        time: object = None,
        covariates: Mapping[str, object] | None = None,
        merge: bool = False,
    ) -> Preferences:
        """Make preferences from one comparison per row; where ``tie`` is true the two drew.

        ``winner_first`` is true where the winner was shown first (or at home). ``time`` says when each took place (a
        number, or a date of Python, NumPy or written year first): rows are sorted by it, oldest first. ``covariates``
        are properties of what was compared beside the items, by name: two columns (winner's, loser's) or one of
        differences. ``merge=True`` joins equal comparisons on the way in: far cheaper for many votes over few items,
        but their order and who voted are forgotten.
        """
        columns: dict[str, Any] = {"weight": weight, "tie": tie, "instance": instance, "winner_first": winner_first}
        columns["covariates"] = covariates
        if not merge:
            return cls.of_parts(build.gather_pairs(winner, loser, agent=agent, time=time, **columns))
        is_plain = instance is None and winner_first is None and covariates is None
        parts = build.tally_pairs(winner, loser, weight=weight, tie=tie) if is_plain else None
        if parts:
            return cls.of_parts(parts)
        return cls.of_parts(build.gather_pairs(winner, loser, **columns)).merge(agents=False)

    @classmethod
    def from_teams(
        cls,
        matches: Iterable[Sequence[object]],
        *,
        rank: Sequence[Sequence[float] | None] | None = None,
        weight: object = None,
        agent: object = None,
        instance: object = None,
        time: object = None,
    ) -> Preferences:
        """Make preferences from matches between teams: each a list of teams, best first, a team a list of players.

        ``[["ann", "bob"], ["cy", "dan"]]`` is a match that ann and bob won; a player alone may stand for a team of one.
        ``rank`` gives the ranks of the teams of every match instead (1 is best, equal is a draw), or None for a match
        whose teams stand in order. ``time`` says when each took place; matches are sorted by it, oldest first.
        """
        from concordant.tables.teams import gather_teams

        columns = {"weight": weight, "agent": agent, "instance": instance}
        return cls(**gather_teams(matches, rank, time, **columns))

    @classmethod
    def from_ratings(
        cls, agent: object, item: object, rating: object, *, instance: object = None, weight: object = None
    ) -> Preferences:
        """Make preferences from ratings, one row per (agent, item); a high rating is good."""
        return cls(**build.gather_rows(item, rating, scale="rating", agent=agent, instance=instance, weight=weight))

    @classmethod
    def from_ranks(
        cls, agent: object, item: object, rank: object, *, instance: object = None, weight: object = None
    ) -> Preferences:
        """Make preferences from ranks, one row per (agent, instance, item); rank 1 is best, equal is a tie."""
        return cls(**build.gather_rows(item, rank, scale="rank", agent=agent, instance=instance, weight=weight))

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
        from concordant.tables.frames import is_frame, matrix_of_frame

        if is_frame(ranks):
            ranks, rows, columns = matrix_of_frame(ranks)
            items, agents = rows if items is None else items, columns if agents is None else agents
        return cls(**build.gather_matrix(ranks, items=items, agents=agents, weight=weight))

    @classmethod
    @takes_options(FRAME)
    def from_frame(cls, frame: Any, **options: Any) -> Preferences:
        """Make preferences from any DataFrame (pandas, polars, pyarrow, …).

        Column roles (winner, loser, tie, item, rank, rating, agent, instance, weight, …) are guessed from the column
        names; ``rating="stars"`` says that the column ``stars`` holds the ratings. ``layout`` settles which reading is
        meant when the names allow several. Pairs of a lazy frame (polars, Dask, DuckDB, …) are counted by its engine,
        and only the counts come here: agents are kept only where ``agent=`` names their column.
        """
        from concordant.tables.build import parts_of_table
        from concordant.tables.frames import FrameTable, grouped_pairs, table_of_frame

        reading = Options.of(FRAME, options)
        grouped = grouped_pairs(frame, reading)
        if grouped is None:
            return cls.of_parts(parts_of_table(table_of_frame(frame, reading), reading))
        frame, reading, note = grouped
        return cls.of_parts(parts_of_table(FrameTable(frame), reading)).merge().noted(note)

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
        return self.subset(ballots, slots)

    def min_ballots(self, n: float) -> Preferences:
        """Leave out items that fewer than ``n`` ballots (by weight) of their instance name; the notes count them."""
        from concordant.ballots.merging import often_named

        if isinstance(n, bool) or not isinstance(n, (int, float)) or not n >= 0:
            raise InputError(arg("min_ballots", n) + " is not a number of ballots: give 0 or more.")
        is_kept = often_named(self, n)
        if is_kept.all():
            return self
        note = f"left out {int((~is_kept).sum()):,} of {len(is_kept):,} items that are on fewer than {n:g} ballots"
        return self.subset(np.ones(self.n_ballots, bool), is_kept, notes=(*self.notes, note))

    def take(self, ballots: AnyArray | slice | Sequence[int]) -> Preferences:
        """Take these ballots (a mask, indices or a slice); candidates stay as they are.

        Indices give the ballots in their order, and as often as they name them: a bootstrap sample is
        ``prefs.take(rng.integers(len(prefs), size=len(prefs)))``.
        """
        from concordant.ballots.subsets import chosen_ballots

        return self.subset(chosen_ballots(self.n_ballots, ballots), np.ones(self.n_slots, bool))

    def subset(self, ballots: Bools | Int64s, slots: Bools, **changes: Any) -> Preferences:
        """Keep these ballots (a mask or indices) and slots (a mask); vocabularies shrink to what remains."""
        from concordant.ballots.subsets import parts_of_subset

        return Preferences(**(parts_of_subset(self, ballots, slots) | changes))

    def replace(self, **changes: Any) -> Preferences:
        """Return the same preferences with some parts changed (arguments of the constructor), checked again.

        The candidates stay unless ``slot_ptr`` and ``slot_item`` are among the changes.
        """
        return Preferences(**{**self._parts(), **changes})

    def _parts(self) -> dict[str, Any]:
        parts = {name: getattr(self, name) for name in _NOTHING}
        return {"form": parts.pop("said_form"), **parts}

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(Preferences, **{**self._parts(), "meta": dict(self.meta)}), ()

    def noted(self, *notes: str) -> Preferences:
        """Return the same preferences with more notes."""
        return self.with_notes((*self.notes, *notes))

    def with_notes(self, notes: Sequence[str]) -> Preferences:
        """Return the same preferences with these notes."""
        copy = Preferences.__new__(Preferences)
        vars(copy).update(vars(self), notes=tuple(notes))
        return copy

    def merge(self, *, agents: bool = True) -> Preferences:
        """Join equal ballots and add their weights; ``agents=False`` forgets who said what.

        The order of events is lost: methods that need it refuse merged preferences.
        """
        from concordant.ballots.merging import equal_ballots

        keep_agents = agents and self.agents is not None
        representative, group = equal_ballots(self, keep_agents)
        weight = sum_by(group, self.weight, len(representative))
        candidates = np.diff(self.slot_ptr)[self.instance_of_ballot[representative]]
        weight = weight[
            (candidates > 0) | (np.diff(self.indptr)[representative] > 0)
        ]  # subset drops empty ballots of instances without candidates
        changes: dict[str, Any] = {"weight": weight, "is_merged": True, "time": None, "is_dated": False}
        if not keep_agents:
            changes |= {"agents": None, "agent": None}
        return self.subset(representative, np.ones(self.n_slots, bool), **changes)

    def describe(self) -> Any:
        """Say what these preferences are: sizes, form, findings in plain words, and the methods that fit."""
        from concordant.analysis.describing import describe

        return describe(self)

    def __len__(self) -> int:
        return self.n_ballots

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Preferences):
            return NotImplemented
        from concordant.ballots.merging import same_content

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
        from concordant.analysis.describing import summarise

        return summarise(self)._repr_html_()


def _bounds_of_pairs(n_entries: int) -> Int64s:
    indptr = np.arange(0, n_entries + 1, 2, dtype=np.int64)
    freeze(indptr)
    return indptr


def _codes(vocabulary: Vocabulary | None, labels: Iterable[object] | object, what: str) -> Int32s:
    """Return the codes of one label or several; refuse where these preferences have no such labels."""
    if vocabulary is None:
        raise InputError(f"These preferences have no {what}s: build them with " + arg(what) + f" to select by {what}.")
    wanted = [labels] if isinstance(labels, (str, int)) or not isinstance(labels, Iterable) else list(labels)
    return np.array([vocabulary.code(label, what) for label in wanted], np.int32)
