"""Preferences: an immutable container of ballots of any form, stored in a few flat arrays.

A ballot is the statement of one agent in one instance: items with tiers (lower is better, equal tiers are ties),
optionally the ranks or ratings that the tiers come from, and a weight, which counts repetitions. A slot is one
(instance, candidate) pair, whether or not a ballot ranks the candidate. Slots make many instances as cheap as one.
All arrays are validated once, on construction, and are read-only, so that kernels can rely on them. Arrays passed by
the caller are copied unless they are already read-only. A caller who passes a read-only array, which is faster, must
not write to its memory afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
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

Chosen = Iterable[object] | object | Callable[[str], bool] | None
_LABELS = ("items", "agents", "instances", "classes")
_NOTHING: Mapping[str, object] = {
    **dict.fromkeys(("indptr", *PER_ENTRY, *PER_BALLOT, *_LABELS, "scale", "said_form", "slot_ptr", "slot_item")),
    "covariates": (),
    "is_dated": False,
    "is_merged": False,
    "notes": (),
    "meta": MappingProxyType({}),
    "library": None,
}


class Preferences(Frozen):
    """Ballots of agents over items, in one or several instances.

    Create preferences with a ``from_…`` constructor or ``cc.read``. The arguments of this constructor are the arrays
    of the container, which are validated.

    Parameters
    ----------
    items : Vocabulary or iterable of str
        Names of all items; arrays refer to them by position.
    indptr : array of int
        Bounds of the ballots: ballot b holds entries ``indptr[b]:indptr[b + 1]``.
    item : array of int
        Item of every entry.
    tier : array of int
        Tier of every entry on its ballot; lower is better, and equal tiers are ties.
    value : array of float, optional
        Rank or rating of every entry, or the position of its class in ``classes``.
    scale : {'rank', 'rating', 'nominal'}, optional
        Meaning of ``value``. Nominal answers have no order: all items of a ballot share a tier.
    classes : Vocabulary or iterable of str, optional
        Names of the classes of nominal answers.
    weight : array of float, optional
        Number of times that each ballot counts; 1 if not given.
    agents : Vocabulary or iterable of str, optional
        Names of the agents (voters, annotators, systems).
    agent : array of int, optional
        Agent of every ballot.
    instances : Vocabulary or iterable of str, optional
        Names of the instances (queries, contests).
    instance : array of int, optional
        Instance of every ballot.
    open : array of bool, optional
        Whether the last tier of each ballot holds remaining items in unknown order.
    shown : array of int, optional
        Position at which every item was shown.
    team : array of int, optional
        Team of every entry on its ballot.
    covariate : array of float, optional
        Matrix of covariates, one row per entry.
    covariates : sequence of str, default ()
        Names of the columns of ``covariate``.
    points : array of float, optional
        Points (goals, runs) of both sides of every match; NaN if unknown.
    time : array of float, optional
        When each ballot was cast.
    is_dated : bool, default False
        Whether ``time`` is in days since 1970-01-01.
    slot_ptr : array of int, optional
        Bounds of the candidates of each instance; by default, the candidates are the items on its ballots.
    slot_item : array of int, optional
        Item of every slot.
    form : str, optional
        Form of the preferences, if the constructor knows it; see ``form``.
    is_merged : bool, default False
        Whether equal ballots were merged, which loses their order.
    notes : sequence of str, default ()
        Remarks on how the data were read.
    meta : mapping, optional
        Further facts about the data.
    library : str, optional
        DataFrame library that the data came from (pandas, polars, pyarrow), which ``to_frame`` of a result uses.

    Raises
    ------
    InputError
        If the arrays are inconsistent.

    Examples
    --------
    >>> import concordant as cc
    >>> prefs = cc.Preferences.from_rankings([["a", "b", "c"], ["b", "a"]])
    >>> prefs
    Preferences(2 ballots (rankings), 3 items)
    >>> len(prefs), prefs.n_items, prefs.form
    (2, 3, 'rankings')
    """

    change = "use replace(…), which returns new preferences"
    items: Vocabulary
    agents: Vocabulary | None
    instances: Vocabulary | None
    item: Int32s
    tier: Int32s
    value: Floats | None
    scale: str | None
    classes: Vocabulary | None
    """The classes of nominal answers; ``value`` holds positions in this vocabulary."""
    agent: Int32s | None
    instance: Int32s | None
    open: Bools | None
    shown: Int32s | None
    team: Int32s | None
    """Team of every entry: entries of a ballot with the same number form a team, and share a tier."""
    covariate: Floats | None
    """Covariates of the compared items, such as the length of an answer; one row per entry."""
    covariates: tuple[str, ...]
    points: Floats | None
    """Points (goals, runs) of the sides of matches; their difference is the margin of the result."""
    time: Floats | None
    """When each ballot was cast: in days since 1970-01-01 if ``is_dated``, otherwise in the given numbers."""
    is_dated: bool
    said_form: str | None
    is_merged: bool
    notes: tuple[str, ...]
    meta: Mapping[str, object]
    library: str | None

    def __init__(
        self,
        items: Vocabulary | Iterable[str],
        indptr: AnyArray,
        item: AnyArray,
        tier: AnyArray,
        *,
        value: AnyArray | None = None,
        scale: str | None = None,
        classes: Vocabulary | Iterable[str] | None = None,
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
        points: AnyArray | None = None,
        time: AnyArray | None = None,
        is_dated: bool = False,
        slot_ptr: AnyArray | None = None,
        slot_item: AnyArray | None = None,
        form: str | None = None,
        is_merged: bool = False,
        notes: Sequence[str] = (),
        meta: Mapping[str, object] | None = None,
        library: str | None = None,
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
        """Create preferences from arrays that are known to be valid, without validation (for readers and services).

        Nothing is checked, sorted, copied or dropped. The caller guarantees the invariants of
        ``concordant.ballots.invariants``. The arrays become read-only.

        Parameters
        ----------
        items : Vocabulary
            Names of all items.
        indptr : ndarray of int64
            Bounds of the ballots.
        item : ndarray of int32
            Item of every entry.
        tier : ndarray of int32
            Tier of every entry.
        weight : ndarray of float64, optional
            Weight of every ballot; 1 if not given.
        **more : object
            Further attributes by name (``notes``, ``meta``, …).

        Returns
        -------
        Preferences
            The preferences.
        """
        self = cls.__new__(cls)
        if weight is None:
            weight, more["has_unit_weights"] = np.ones(len(indptr) - 1), True
        vars(self).update(_NOTHING, items=items, indptr=indptr, item=item, tier=tier, weight=weight, **more)
        freeze(indptr, item, tier, weight, *(part for part in more.values() if isinstance(part, np.ndarray)))
        return self

    @classmethod
    def of_parts(cls, parts: build.Parts) -> Preferences:
        """Create preferences from the parts that ``ballots.build`` creates from columns.

        Pairs may omit ``indptr``, because every ballot has two entries. Plain pairs need no validation, unless an item
        is compared with itself.

        Parameters
        ----------
        parts : dict
            Arguments of the constructor by name.

        Returns
        -------
        Preferences
            The preferences.
        """
        if parts.get("form") != "pairs" or "indptr" in parts:
            return cls(**parts)
        item = parts["item"]
        if (
            parts.keys() - {"items", "item", "tier", "shown", "form", "notes", "meta"}
            or (item[0::2] == item[1::2]).any()
        ):
            return cls(indptr=_bounds_of_pairs(len(item)), **parts)
        self = cls.__new__(cls)
        vars(self).update({name: part for name, part in _NOTHING.items() if name not in ("indptr", "weight")})
        vars(self).update(items=parts["items"], item=item, tier=parts["tier"], said_form="pairs", has_unit_weights=True)
        vars(self).update(shown=parts.get("shown"), notes=tuple(parts.get("notes", ())))
        vars(self).update(meta=MappingProxyType(parts.get("meta", {})))
        freeze(item, parts["tier"])
        return self

    @cached_property
    def indptr(self) -> Int64s:
        """Bounds of the ballots: ballot b holds entries ``indptr[b]:indptr[b + 1]``; computed lazily for pairs."""
        return _bounds_of_pairs(len(self.item))

    @cached_property
    def weight(self) -> Floats:
        """Number of times that each ballot counts; computed on first use for plain pairs, where it is 1."""
        weight = np.ones(self.n_ballots)
        freeze(weight)
        return weight

    # ---- slots ----
    @property
    def instance_of_ballot(self) -> Int32s:
        """The instance of every ballot; zeros if there is only one, unnamed instance."""
        return np.zeros(self.n_ballots, np.int32) if self.instance is None else self.instance

    @cached_property
    def slots(self) -> Slots:
        """The candidates of every instance and the slot of every entry, computed on first use."""
        return find_slots(vars(self))

    @property
    def slot_ptr(self) -> Int64s:
        """Bounds of the candidates: instance q owns slots ``slot_ptr[q]:slot_ptr[q + 1]``."""
        return self.slots.ptr

    @property
    def slot_item(self) -> Int32s:
        """The item of every slot, in input order within an instance."""
        return self.slots.item

    @property
    def are_slots_items(self) -> bool:
        """Whether slots are item codes: there is one instance, and all items are its candidates."""
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
        """Number of items, ranked or not."""
        return len(self.items)

    @property
    def n_ballots(self) -> int:
        """Number of ballots (rows, regardless of weights)."""
        return len(self.indptr) - 1 if "indptr" in vars(self) else len(self.item) // 2

    @property
    def n_agents(self) -> int | None:
        """Number of agents, None if they are unknown."""
        return None if self.agents is None else len(self.agents)

    @property
    def n_instances(self) -> int:
        """Number of instances; 1 if they are not named."""
        return 1 if self.instances is None else len(self.instances)

    @cached_property
    def has_unit_weights(self) -> bool:
        """Whether every ballot counts once."""
        return bool((self.weight == 1.0).all())

    @property
    def n_slots(self) -> int:
        """Number of (instance, candidate) pairs."""
        return int(self.slot_ptr[-1])

    @cached_property
    def form(self) -> str:
        """Form of the preferences: pairs, choices, top-k, approvals, ratings, rankings, answers, teams or empty.

        The ballots alone cannot distinguish a comparison from a ranking of two items, or ratings from a ranked list
        with scores. The constructor or reader that created the preferences therefore records the form. Otherwise it is
        inferred from the ballots.
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
        """Create preferences from rankings: lists of items, best first.

        Parameters
        ----------
        rankings : iterable of sequences
            One list per ballot. An inner list or set is a tie.
        weight : array-like of float, optional
            Number of times that each ballot counts; 1 if not given.
        agent : array-like, optional
            The agent of each ballot.
        instance : array-like, optional
            The instance of each ballot.
        candidates : iterable, optional
            All candidates, including those that no ballot ranks; by default, the items on the ballots.

        Returns
        -------
        Preferences
            One ballot per ranking.

        Examples
        --------
        >>> import concordant as cc
        >>> prefs = cc.Preferences.from_rankings([["a", "b", "c"], ["b", ["a", "c"]]], weight=[3, 1])
        >>> prefs.n_ballots, prefs.weight.tolist()
        (2, [3.0, 1.0])
        """
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
        points: tuple[object, object] | None = None,
        merge: bool = False,
    ) -> Preferences:
        """Create preferences from pairwise comparisons, one per row.

        Parameters
        ----------
        winner : array-like
            The preferred item of each row.
        loser : array-like
            The other item of each row.
        weight : array-like of float, optional
            Number of times that each comparison counts; 1 if not given.
        tie : array-like of bool, optional
            Whether the comparison is a tie; the order of ``winner`` and ``loser`` then does not matter.
        agent : array-like, optional
            The agent of each comparison.
        instance : array-like, optional
            The instance of each comparison.
        winner_first : array-like of bool, optional
            Whether the winner was shown first, or played at home.
        time : array-like, optional
            When each comparison took place: numbers, or dates (Python, NumPy, or text like ``2024-05-31``). Rows are
            sorted by time, oldest first.
        covariates : mapping, optional
            Covariates of the compared items by name: a pair of columns (winner's, loser's) or a column of differences.
        points : pair of array-like of float, optional
            Points (goals, runs) of the winner and of the loser in each row, for methods that use the margin.
        merge : bool, default False
            Merge equal comparisons. This is much cheaper for many votes over few items, but discards their order and
            agents.

        Returns
        -------
        Preferences
            One ballot of two items per row, or per distinct comparison with ``merge``.

        Examples
        --------
        >>> import concordant as cc
        >>> prefs = cc.Preferences.from_pairs(["a", "a", "b"], ["b", "c", "c"], tie=[False, True, False])
        >>> prefs
        Preferences(3 ballots (pairs), 3 items)
        """
        columns: dict[str, Any] = {"weight": weight, "tie": tie, "instance": instance, "winner_first": winner_first}
        columns |= {"covariates": covariates, "points": points}
        if not merge:
            parts = build.gather_pairs(winner, loser, agent=agent, time=time, **columns)
            return cls.of_parts(parts)._from_library(winner, loser)
        is_plain = instance is None and winner_first is None and covariates is None and points is None
        tally = build.tally_pairs(winner, loser, weight=weight, tie=tie) if is_plain else None
        if tally:
            return cls.of_parts(tally)._from_library(winner, loser)
        merged = cls.of_parts(build.gather_pairs(winner, loser, **columns)).merge(agents=False)
        return merged._from_library(winner, loser)

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
        """Create preferences from matches between teams.

        Parameters
        ----------
        matches : iterable of sequences
            One list of teams per match, best first. A team is a list of players; a single player may be given without a
            list: ``[["ann", "bob"], ["cy", "dan"]]`` is a match that Ann and Bob won.
        rank : sequence, optional
            The ranks of the teams of each match (1 is best, equal ranks are draws), instead of listing the best first.
            None for a match whose teams are listed in order.
        weight : array-like of float, optional
            Number of times that each match counts; 1 if not given.
        agent : array-like, optional
            The agent of each match.
        instance : array-like, optional
            The instance of each match.
        time : array-like, optional
            When each match took place: numbers or dates. Matches are sorted by time, oldest first.

        Returns
        -------
        Preferences
            One ballot per match.

        Examples
        --------
        >>> import concordant as cc
        >>> cc.Preferences.from_teams([[["ann", "bob"], ["cy", "dan"]], [["ann", "cy"], ["bob"]]]).form
        'teams'
        """
        from concordant.tables.teams import gather_teams

        columns = {"weight": weight, "agent": agent, "instance": instance}
        return cls(**gather_teams(matches, rank, time, **columns))

    @classmethod
    def from_ratings(
        cls, agent: object, item: object, rating: object, *, instance: object = None, weight: object = None
    ) -> Preferences:
        """Create preferences from ratings, one row per agent and item.

        Parameters
        ----------
        agent : array-like
            The agent of each rating.
        item : array-like
            The rated item.
        rating : array-like of float
            The rating; higher is better.
        instance : array-like, optional
            The instance of each rating.
        weight : array-like of float, optional
            Number of times that each ballot counts; equal for all ratings of a ballot.

        Returns
        -------
        Preferences
            One ballot per agent and instance.

        Examples
        --------
        >>> import concordant as cc
        >>> cc.Preferences.from_ratings(["ann", "ann", "bob"], ["x", "y", "x"], [5, 3, 4])
        Preferences(2 ballots (ratings), 2 items, 2 agents)
        """
        parts = build.gather_rows(item, rating, scale="rating", agent=agent, instance=instance, weight=weight)
        return cls(**parts)._from_library(item, rating, agent)

    @classmethod
    def from_answers(
        cls, agent: object, item: object, answer: object, *, instance: object = None, weight: object = None
    ) -> Preferences:
        """Create preferences from nominal answers: the class that each agent (annotator) gave each item.

        Classes have no order, so most methods reject these preferences. ``concordant.crowd`` and the method
        ``dawid-skene`` aggregate them.

        Parameters
        ----------
        agent : array-like
            The agent of each answer.
        item : array-like
            The annotated item (task).
        answer : array-like
            The class, such as ``"cat"``. Numbers are names of classes as well.
        instance : array-like, optional
            The instance of each answer.
        weight : array-like of float, optional
            Number of times that each ballot counts; equal for all answers of a ballot.

        Returns
        -------
        Preferences
            One ballot per agent and instance.

        Examples
        --------
        >>> import concordant as cc
        >>> prefs = cc.Preferences.from_answers(["ann", "bob", "bob"], ["x", "x", "y"], ["cat", "dog", "dog"])
        >>> prefs
        Preferences(2 ballots (answers), 2 items, 2 agents, 2 classes)
        """
        columns = {"agent": agent, "instance": instance, "weight": weight}
        return cls(**build.gather_answers(item, answer, **columns))

    @classmethod
    def from_ranks(
        cls, agent: object, item: object, rank: object, *, instance: object = None, weight: object = None
    ) -> Preferences:
        """Create preferences from ranks, one row per agent, instance and item.

        Parameters
        ----------
        agent : array-like
            The agent of each rank.
        item : array-like
            The ranked item.
        rank : array-like of float
            The rank; 1 is best, and equal ranks are ties.
        instance : array-like, optional
            The instance of each rank.
        weight : array-like of float, optional
            Number of times that each ballot counts; equal for all ranks of a ballot.

        Returns
        -------
        Preferences
            One ballot per agent and instance.

        Examples
        --------
        >>> import concordant as cc
        >>> cc.Preferences.from_ranks(["ann", "ann", "bob"], ["x", "y", "x"], [1, 2, 1])
        Preferences(2 ballots (rankings), 2 items, 2 agents)
        """
        parts = build.gather_rows(item, rank, scale="rank", agent=agent, instance=instance, weight=weight)
        return cls(**parts)._from_library(item, rank, agent)

    @classmethod
    def from_rank_matrix(
        cls,
        ranks: object,
        *,
        items: Iterable[object] | None = None,
        agents: Iterable[object] | None = None,
        weight: object = None,
    ) -> Preferences:
        """Create preferences from a matrix of ranks, items x agents.

        Parameters
        ----------
        ranks : array-like or DataFrame
            The rank of each item (row) by each agent (column); NaN where an agent did not rank an item. The columns of
            a DataFrame name the agents, and its index, or its only text column, names the items.
        items : iterable, optional
            Names of the items; by default those of the DataFrame, or numbers.
        agents : iterable, optional
            Names of the agents; by default those of the DataFrame.
        weight : array-like of float, optional
            Number of times that each agent's ballot counts; 1 if not given.

        Returns
        -------
        Preferences
            One ballot per agent.

        Examples
        --------
        >>> import concordant as cc
        >>> prefs = cc.Preferences.from_rank_matrix([[1, 2], [2, 1], [3, float("nan")]], items=["a", "b", "c"])
        >>> prefs.n_ballots, prefs.items.labels
        (2, ['a', 'b', 'c'])
        """
        from concordant.tables.frames import is_frame, matrix_of_frame

        given = ranks
        if is_frame(ranks):
            ranks, rows, columns = matrix_of_frame(ranks)
            items, agents = rows if items is None else items, columns if agents is None else agents
        return cls(**build.gather_matrix(ranks, items=items, agents=agents, weight=weight))._from_library(given)

    @classmethod
    @takes_options(FRAME)
    def from_frame(cls, frame: Any, **options: Any) -> Preferences:
        """Create preferences from a DataFrame (pandas, polars, pyarrow, …).

        The roles of the columns (winner, loser, tie, item, rank, rating, agent, instance, weight, …) are recognised by
        their names. Pairs in a lazy frame (polars, Dask, DuckDB, …) are counted by its engine, and only the counts are
        loaded; agents are kept only if ``agent=`` names their column.

        Parameters
        ----------
        frame : DataFrame
            Any eager or lazy DataFrame that Narwhals supports.
        **options : object
            Options of reading. The name of a role gives its column: ``rating="stars"`` means that the column
            ``stars`` contains the ratings. ``layout`` selects one of several possible readings. The reference page
            "Options of reading" lists all options.

        Returns
        -------
        Preferences
            The ballots of the rows.

        Raises
        ------
        InputError
            If no reading, or more than one, fits the columns.
        """
        from concordant.ballots.form import RAN
        from concordant.tables.build import parts_of_table
        from concordant.tables.frames import grouped_pairs, table_of_frame

        reading = Options.of(FRAME, options)
        grouped = grouped_pairs(frame, reading)
        if grouped is None:
            prefs = cls.of_parts(parts_of_table(table_of_frame(frame, reading), reading))
            return prefs._from_library(frame)
        table, reading, note, ran = grouped
        prefs = cls.of_parts(parts_of_table(table, reading))
        return prefs.merge().noted(note, *prefs.notes[1:]).with_facts({RAN: ran})._from_library(frame)

    # ---- other views of the same data ----
    def select(
        self,
        *,
        instances: Iterable[object] | object | None = None,
        agents: Iterable[object] | object | None = None,
        items: Iterable[object] | object | None = None,
    ) -> Preferences:
        """Keep only some instances, agents or items, given by name.

        Parameters
        ----------
        instances : str or iterable of str, optional
            Instances to keep; all if not given.
        agents : str or iterable of str, optional
            Agents to keep; all if not given.
        items : str or iterable of str, optional
            Items to keep; all if not given.

        Returns
        -------
        Preferences
            The selected ballots. Names that no longer occur are dropped.

        Raises
        ------
        InputError
            If the preferences have no instances or agents to select by.
        UnknownNameError
            If a name does not occur.

        Examples
        --------
        >>> import concordant as cc
        >>> prefs = cc.Preferences.from_rankings([["a", "b", "c"], ["c", "a"]], agent=["ann", "bob"])
        >>> prefs.select(agents="ann", items=["a", "b"])
        Preferences(1 ballots (rankings), 2 items, 1 agents)
        """
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
        """Leave out items that are on few ballots.

        Parameters
        ----------
        n : float
            Minimum number of ballots of the instance, by weight, that must mention an item.

        Returns
        -------
        Preferences
            Preferences over the remaining items; ``notes`` states how many were left out.
        """
        from concordant.ballots.merging import often_named

        if isinstance(n, bool) or not isinstance(n, (int, float)) or not n >= 0:
            raise InputError(arg("min_ballots", n) + " is not valid: give a number of at least 0.")
        is_kept = often_named(self, n)
        if is_kept.all():
            return self
        note = f"left out {int((~is_kept).sum()):,} of {len(is_kept):,} items that are on fewer than {n:g} ballots"
        return self.subset(np.ones(self.n_ballots, bool), is_kept, notes=(*self.notes, note))

    def take(self, ballots: AnyArray | slice | Sequence[int]) -> Preferences:
        """Select some ballots, in the given order; the candidates are kept.

        Parameters
        ----------
        ballots : array of bool, array of int, slice or sequence of int
            Mask, indices or slice. Indices may repeat.

        Returns
        -------
        Preferences
            The chosen ballots.

        Examples
        --------
        A bootstrap sample:

        >>> import numpy as np
        >>> import concordant as cc
        >>> prefs = cc.Preferences.from_rankings([["a", "b"], ["b", "a"], ["a", "b"]])
        >>> rng = np.random.default_rng(0)
        >>> len(prefs.take(rng.integers(len(prefs), size=len(prefs))))
        3
        """
        from concordant.ballots.subsets import chosen_ballots

        return self.subset(chosen_ballots(self.n_ballots, ballots), np.ones(self.n_slots, bool))

    def filter(
        self,
        where: str | Bools | Callable[[Preferences], Bools] | None = None,
        *,
        agents: Chosen = None,
        items: Chosen = None,
        instances: Chosen = None,
        min_weight: float | None = None,
    ) -> Preferences:
        """Keep the ballots and items that meet all given conditions, and note how many were left out.

        Parameters
        ----------
        where : str, array of bool or callable, optional
            An SQL condition on the ranked items, with the columns agent, instance, item, rank, rating (or score),
            weight, time, shown, ballot (from 1), the covariates, and winner and loser of pairs, as far as they are
            known (``"rank <= 10 AND agent != 'bm25'"``); or a mask of the ballots; or a function of the preferences
            that returns such a mask.
        agents : str, iterable of str or callable, optional
            Names of the agents to keep, or a function that returns whether to keep a name.
        items : str, iterable of str or callable, optional
            The same for items.
        instances : str, iterable of str or callable, optional
            The same for instances.
        min_weight : float, optional
            Minimum weight of a ballot.

        Returns
        -------
        Preferences
            The remaining ballots. Ballots without items, candidates that only left-out rows named, and unused names
            are dropped.

        Raises
        ------
        InputError
            If the condition is not valid, or nothing is left.

        Examples
        --------
        >>> import concordant as cc
        >>> prefs = cc.Preferences.from_rankings([["a", "b", "c"], ["c", "a"]], agent=["ann", "bob"])
        >>> prefs.filter("rank <= 2", agents=lambda name: name.startswith("a"))
        Preferences(1 ballots (rankings), 2 items, 1 agents)
        """
        from concordant.ballots.subsets import kept_labels, mask_of_ballots
        from concordant.tables.entries import filtered_preferences

        prefs = self
        if where is not None and not isinstance(where, str):
            prefs = prefs.subset(*mask_of_ballots(prefs, where), notes=prefs.notes)
        if instances is not None or items is not None:
            wanted = {"instances": kept_labels(prefs.instances, instances), "items": kept_labels(prefs.items, items)}
            prefs = prefs.select(**wanted).with_notes(prefs.notes)
        if agents is not None:
            wanted_agents = _codes(prefs.agents, kept_labels(prefs.agents, agents), "agent")
            mask = np.isin(prefs.agent if prefs.agent is not None else [], wanted_agents)
            prefs = prefs.subset(*mask_of_ballots(prefs, mask), notes=prefs.notes)
        if min_weight is not None:
            prefs = prefs.subset(*mask_of_ballots(prefs, prefs.weight >= min_weight), notes=prefs.notes)
        if isinstance(where, str) and prefs.n_ballots:
            prefs = filtered_preferences(prefs, where)
        if self.n_ballots and not prefs.n_ballots:
            raise InputError("No ballot is left: relax the conditions of the filter.")
        left_out = self.n_ballots - prefs.n_ballots
        return prefs.noted(f"left out {left_out:,} of {self.n_ballots:,} ballots by a filter") if left_out else prefs

    def subset(
        self, ballots: Bools | Int64s, slots: Bools, *, entries: Bools | None = None, **changes: Any
    ) -> Preferences:
        """Keep some ballots and slots, given by position.

        Parameters
        ----------
        ballots : ndarray of bool or ndarray of int64
            Mask or indices of the ballots to keep.
        slots : ndarray of bool
            Mask of the slots to keep.
        entries : ndarray of bool, optional
            Mask of the entries to keep; all entries of the kept slots if not given.
        **changes : object
            Further arguments of the constructor to replace.

        Returns
        -------
        Preferences
            The remaining ballots. Names that no longer occur are dropped.
        """
        from concordant.ballots.subsets import parts_of_subset

        return Preferences(**(parts_of_subset(self, ballots, slots, entries) | changes))

    def replace(self, **changes: Any) -> Preferences:
        """Return a copy with some parts replaced; the copy is validated again.

        Parameters
        ----------
        **changes : object
            Arguments of the constructor. The candidates are kept unless ``slot_ptr`` and ``slot_item`` are given.

        Returns
        -------
        Preferences
            The copy.
        """
        return Preferences(**{**self._parts(), **changes})

    def _parts(self) -> dict[str, Any]:
        parts = {name: getattr(self, name) for name in _NOTHING}
        return {"form": parts.pop("said_form"), **parts}

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(Preferences, **{**self._parts(), "meta": dict(self.meta)}), ()

    def noted(self, *notes: str) -> Preferences:
        """Return a copy with further notes.

        Parameters
        ----------
        *notes : str
            Notes to append.

        Returns
        -------
        Preferences
            The copy, which shares its arrays.
        """
        return self.with_notes((*self.notes, *notes))

    def with_notes(self, notes: Sequence[str]) -> Preferences:
        """Return a copy with these notes in place of the existing ones.

        Parameters
        ----------
        notes : sequence of str
            The notes.

        Returns
        -------
        Preferences
            The copy, which shares its arrays.
        """
        copy = Preferences.__new__(Preferences)
        vars(copy).update(vars(self), notes=tuple(notes))
        return copy

    def with_facts(self, facts: Mapping[str, object]) -> Preferences:
        """Return a copy with further facts in ``meta``.

        Parameters
        ----------
        facts : mapping
            The facts to add.

        Returns
        -------
        Preferences
            The copy, which shares its arrays.
        """
        copy = Preferences.__new__(Preferences)
        vars(copy).update(vars(self), meta=MappingProxyType({**self.meta, **facts}))
        return copy

    def _from_library(self, *given: object) -> Preferences:
        """Record the DataFrame library of the first frame or series among these arguments, if there is one."""
        library = build.library_of(given)
        if library is None:
            return self
        copy = Preferences.__new__(Preferences)
        vars(copy).update(vars(self), library=library)
        return copy

    def merge(self, *, agents: bool = True) -> Preferences:
        """Merge equal ballots and add their weights.

        The order of the ballots is lost, so methods that need it reject merged preferences.

        Parameters
        ----------
        agents : bool, default True
            Whether to merge only ballots of the same agent. False discards the agents.

        Returns
        -------
        Preferences
            One ballot per distinct ballot.

        Examples
        --------
        >>> import concordant as cc
        >>> cc.Preferences.from_rankings([["a", "b"], ["b", "a"], ["a", "b"]]).merge().weight.tolist()
        [2.0, 1.0]
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
        """Describe the preferences: sizes, form, findings, and suitable methods.

        Returns
        -------
        concordant.analysis.describing.Description
            A description that prints as text and converts to plain data with ``to_dict``.
        """
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
        if self.classes is not None:
            parts.append(f"{len(self.classes):,} classes")
        return f"Preferences({', '.join(parts)})"

    def _repr_html_(self) -> str:
        from concordant.analysis.describing import summarise

        return summarise(self)._repr_html_()


def concat(prefs: Iterable[Preferences]) -> Preferences:
    """Join several preferences: all their ballots, one after another.

    The same name means the same item, agent or instance in all of them. Agents, values, times, positions and covariates
    are kept if all preferences have them (values: on the same scale); otherwise they are left out with a note. Ballots
    with times are sorted by time.

    Parameters
    ----------
    prefs : iterable of Preferences
        The preferences to join.

    Returns
    -------
    Preferences
        The ballots of all of them. ``notes`` states what was left out.

    Raises
    ------
    InputError
        If there is nothing to join, if only some of the preferences have instances, or if some have dates and others
        numbers as times.

    Examples
    --------
    >>> import concordant as cc
    >>> first = cc.Preferences.from_rankings([["a", "b"]])
    >>> second = cc.Preferences.from_rankings([["c", "a"], ["b", "c"]])
    >>> cc.concat([first, second])
    Preferences(3 ballots (rankings), 3 items)
    """
    from concordant.ballots.joining import parts_of_joined

    given = [prefs] if isinstance(prefs, Preferences) else list(prefs)
    strange = next((one for one in given if not isinstance(one, Preferences)), None)
    if strange is not None:
        raise InputError(f"concat joins preferences, not {type(strange).__name__}: read or create preferences first.")
    if not given:
        raise InputError("There are no preferences to join: give at least one.")
    if len(given) == 1:
        return given[0]
    joined = Preferences(**parts_of_joined(given))
    if joined.time is None:
        return joined
    return joined.take(np.argsort(joined.time, kind="stable")).with_notes(joined.notes)


def _bounds_of_pairs(n_entries: int) -> Int64s:
    indptr = np.arange(0, n_entries + 1, 2, dtype=np.int64)
    freeze(indptr)
    return indptr


def _codes(vocabulary: Vocabulary | None, labels: Iterable[object] | object, what: str) -> Int32s:
    """Return the codes of one label or several; raise InputError if these preferences have no such labels."""
    if vocabulary is None:
        raise InputError(f"These preferences have no {what}s: build them with " + arg(what) + f" to select by {what}.")
    wanted = [labels] if isinstance(labels, (str, int)) or not isinstance(labels, Iterable) else list(labels)
    return np.array([vocabulary.code(label, what) for label in wanted], np.int32)
