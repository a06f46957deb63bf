"""Ranking: the result of every method, with order, ties, scores, confidence intervals, warnings and provenance."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from concordant import kernels
from concordant.ballots.vocabulary import Vocabulary
from concordant.errors import ConcordantError, InputError, action, arg
from concordant.results.coefficients import Coefficient
from concordant.results.explanation import Explanation
from concordant.results.histories import History
from concordant.results.rendering import blocks_of, dict_of, html_of, named, table_columns, text_of
from concordant.results.uncertain import Notice as Notice
from concordant.results.uncertain import PartialUncertainty
from concordant.results.uncertain import Uncertain as Uncertain
from concordant.results.uncertain import Uncertainty as Uncertainty
from concordant.support import progress
from concordant.support.display import Block, Displayed
from concordant.support.frozen import FrozenDict, FrozenList, FrozenParts
from concordant.types import AnyArray, Bools, Floats, Int32s, Int64s

if TYPE_CHECKING:
    from concordant.narrative.certainty import Certainty
    from concordant.results.scales import Conversion, EloScale

TIE_TOLERANCE = 1e-12
SORTED_BY = ("score", "low", "high")


_UNKNOWN = Uncertainty()


@dataclass(frozen=True, eq=False)
class Ranking(FrozenParts, Displayed):
    """Ranked items of one instance or several, best first.

    For a single instance, ``items``, ``scores``, ``ranks``, ``low`` and ``high`` are aligned, best first.
    With several instances, ``ranking["q7"]`` is the ranking of one instance, and iteration yields one ranking per
    instance. Confidence intervals, details and warnings are computed on first access; order and scores are
    available at once. Methods create rankings; the attributes below are in slot order, one slot per instance and
    candidate.

    Attributes
    ----------
    vocabulary : Vocabulary
        Names of the items.
    slot_ptr : ndarray of int64
        Bounds of the instances: instance q owns slots ``slot_ptr[q]:slot_ptr[q + 1]``.
    slot_item : ndarray of int32
        Item of every slot.
    score : ndarray of float64
        Score of every slot; higher is better.
    instances : Vocabulary or None
        Names of the instances.
    agents : mapping or None
        Weight or reliability of each agent, for methods that estimate it.
    fit : mapping or None
        Statistics of the fit, such as ``log_likelihood``.
    notices : tuple of Notice
        Warnings known without computing intervals; ``warnings`` has all.
    method : str
        Name of the method.
    params : mapping
        Hyper-parameters of the method.
    seconds : float
        Time taken by the method.
    model : object
        Fitted model, for methods that have one.

    Examples
    --------
    >>> import concordant as cc
    >>> ranking = cc.rank(cc.Preferences.from_rankings([["a", "b"], ["a", "b"], ["b", "a"]]), "borda")
    >>> ranking.items, ranking.scores.tolist(), ranking.ranks.tolist()
    (['a', 'b'], [2.0, 1.0], [1, 2])
    """

    vocabulary: Vocabulary
    slot_ptr: Int64s
    slot_item: Int32s
    score: Floats
    instances: Vocabulary | None = None
    agents: Mapping[str, float] | None = None
    fit: Mapping[str, float] | None = None
    notices: tuple[Notice, ...] = ()
    method: str = ""
    params: Mapping[str, object] = field(default_factory=dict)
    seconds: float = 0.0
    uncertainty: Uncertain = _UNKNOWN
    model: object = None
    sorted_by: str = "score"
    ran: str = ""
    """Where the ranking was computed, if by other processes or from counts; otherwise empty."""
    why: Callable[[Ranking], Explanation] | None = None
    """Explains the ranking of one instance; None if its ballots are no longer available."""
    past: Callable[[], History] | None = None
    """Computes the history of the scores, for methods that follow items over time."""
    beside: Mapping[str, AnyArray] = field(default_factory=dict)
    """Additional columns of every table, in slot order, such as the scores without style control."""
    worths: Callable[[], tuple[Coefficient, ...]] | None = None
    """Computes the effects of covariates, for methods that adjust for them."""
    sure: Callable[[Ranking], Sequence[Certainty]] | None = None
    """Computes how certain the first place of each instance is, if the ballots are available."""
    library: str | None = None
    """DataFrame library that the preferences came from, which ``to_frame`` uses."""
    log_odds: float | None = None
    """Score difference that multiplies the odds of a win by e; None if score differences are not log odds."""
    converted: Conversion | None = None
    """How the scores were converted to another scale; None on the scale of the method."""
    counted: Callable[[Ranking], Floats | None] | None = None
    """Counts the ballots that mention each slot, if the ballots are available."""

    @classmethod
    def of_scores(
        cls, labels: list[str], score: Floats, method: str, params: Mapping[str, object], seconds: float
    ) -> Ranking:
        """Create the ranking of one unnamed instance quickly, from labels in input order.

        Parameters
        ----------
        labels : list of str
            The items.
        score : ndarray of float64
            Score of each item; becomes read-only.
        method : str
            Name of the method.
        params : mapping
            Hyper-parameters of the method.
        seconds : float
            Time taken.

        Returns
        -------
        Ranking
            The ranking.
        """
        self = object.__new__(cls)
        slot_ptr, slot_item = _plain_slots(len(labels))
        score.setflags(write=False)
        self.__dict__.update(
            vocabulary=Vocabulary(labels), slot_ptr=slot_ptr, slot_item=slot_item, score=score,
            method=method, params=FrozenDict(params), seconds=seconds, beside={},
        )  # fmt: skip
        return self

    @cached_property
    def _known(self) -> Uncertainty:
        return self.uncertainty.known()

    @property
    def slot_low(self) -> Floats | None:
        """Lower ends of the score intervals in slot order, None if the method has no intervals."""
        return self._known.low

    @property
    def slot_high(self) -> Floats | None:
        """Upper ends of the score intervals in slot order, None if the method has no intervals."""
        return self._known.high

    @property
    def details(self) -> Mapping[str, AnyArray]:
        """Further columns in slot order, such as ``stderr``; ``detail(name)`` returns one aligned with ``items``."""
        return self._known.details

    @property
    def warnings(self) -> tuple[Notice, ...]:
        """Warnings about the data and about the estimated uncertainty of the scores."""
        return (*self.notices, *self._known.warnings)

    @cached_property
    def _sorted(self) -> tuple[Int64s, Int32s]:
        """The slots, best first within each instance, and their ranks."""
        key = self.score if self.sorted_by == "score" else getattr(self._known, self.sorted_by)
        order, rank = kernels.order_segments(key, self.slot_ptr, TIE_TOLERANCE)
        order.setflags(write=False)
        rank.setflags(write=False)
        return order, rank

    def by(self, end: str) -> Ranking:
        """Return the same ranking sorted by the lower or upper end of the score intervals, or by score.

        Sorting by the lower end is conservative: an item with few ballots has a wide interval and moves down.

        Parameters
        ----------
        end : {'score', 'low', 'high'}
            Sort key.

        Returns
        -------
        Ranking
            The same items, scores and intervals in another order.

        Raises
        ------
        InputError
            If the method has no intervals.
        """
        if end not in SORTED_BY:
            raise InputError(arg("by", end, of="sort") + f" is not valid: use one of {', '.join(SORTED_BY)}.")
        if end != "score" and (self.slot_low is None or self.slot_high is None):
            raise InputError(
                f"{self.method or 'This method'} computes no intervals here, so "
                + arg("by", end, of="sort")
                + " is not available: use a method with intervals, such as bradley-terry, plackett-luce or mpm."
            )
        return replace(self, sorted_by=end)

    def on_scale(
        self,
        scale: str | EloScale = "elo",
        *,
        centre: float | None = None,
        anchor: str | tuple[str, float] | None = None,
        points: float | None = None,
    ) -> Ranking:
        """Return the same ranking with scores on the Elo scale, where 400 points are odds of 10 to 1.

        Scores, confidence intervals, standard errors, histories, differences and covariate effects are converted; the
        order stays the same, and ``ranking.model`` keeps its own scale. The scores of the method must be log odds, as
        those of bradley-terry, davidson, rao-kupper, plackett-luce and whole-history are. Each instance has its own
        mean or anchor.

        Parameters
        ----------
        scale : {'elo'} or EloScale, default 'elo'
            The scale; an EloScale contains the other settings.
        centre : float, optional
            Mean rating of the items of each instance, by default 1000; with an anchor, the rating of the anchor.
        anchor : str or tuple of str and float, optional
            Item with a fixed rating: its name, or name and rating. Intervals are then those of the differences from
            it, so its own interval has width 0.
        points : float, optional
            Rating difference that means odds of 10 to 1, by default 400.

        Returns
        -------
        Ranking
            The ranking on this scale.

        Raises
        ------
        InputError
            If the scores are not log odds, or the anchor is not ranked in every instance.

        Examples
        --------
        >>> import concordant as cc
        >>> votes = cc.Preferences.from_pairs(["a"] * 10 + ["b"], ["b"] * 10 + ["a"])
        >>> ranking = cc.rank(votes, "bradley-terry", prior=0).on_scale("elo", anchor=("b", 1000))
        >>> ranking.items, ranking.scores.round(6).tolist()
        (['a', 'b'], [1400.0, 1000.0])
        """
        from concordant.results.scales import on_scale, scale_of

        return on_scale(self, scale_of(scale, centre, anchor, points))

    @property
    def own_score(self) -> Floats:
        """Score of every slot on the scale of the method, also after ``on_scale``."""
        return self.score if self.converted is None else self.converted.own_scores(self)

    def with_columns(self, *names: str) -> Ranking:
        """Return the same ranking with further columns in every table, file and DataFrame.

        Parameters
        ----------
        *names : str
            ``rank_ub`` (1 + the number of items whose interval lies entirely above that of the item, as on arena
            leaderboards), ``margin`` (the interval as ``+5/-4``), ``votes`` (the weight of the ballots that mention
            the item), or any column of ``details``, such as ``stderr`` or ``p_best``.

        Returns
        -------
        Ranking
            The ranking with these columns.

        Raises
        ------
        InputError
            If a column is unknown, or this ranking does not have it.

        Examples
        --------
        >>> import concordant as cc
        >>> votes = cc.Preferences.from_pairs(["a"] * 10 + ["b"], ["b"] * 10 + ["a"])
        >>> cc.rank(votes, "bradley-terry").with_columns("rank_ub", "votes").columns()["votes"].tolist()
        [11, 11]
        """
        from concordant.results.more_columns import column_of

        return replace(self, beside={**self.beside, **{name: column_of(self, name) for name in names}})

    @property
    def order(self) -> Int64s:
        """Slots, best first within each instance; ties in input order."""
        return self._sorted[0]

    @property
    def rank_in_order(self) -> Int32s:
        """The rank of each slot of ``order`` (1, 2, 2, 4)."""
        return self._sorted[1]

    @property
    def rank_by_slot(self) -> Int32s:
        """The rank of every slot, in slot order."""
        ranks = np.empty(len(self.order), np.int32)
        ranks[self.order] = self.rank_in_order
        return ranks

    @cached_property
    def ranked_item(self) -> Int32s:
        """Item codes, best first within each instance."""
        item: Int32s = self.slot_item[self.order]
        item.setflags(write=False)
        return item

    @property
    def n_instances(self) -> int:
        """Number of instances."""
        return len(self.slot_ptr) - 1

    # ---- one instance ----
    def _single(self, name: str) -> None:
        """Raise ConcordantError if there are several instances, because the property needs a single one."""
        if self.n_instances != 1:
            example = self.instances[0] if self.instances else "…"
            raise ConcordantError(
                f"There are {self.n_instances} instances"
                + action(
                    "one_instance",
                    f", so the ranking has no single .{name}: select one with ranking[{example!r}], or iterate.",
                )
            )

    @cached_property
    def items(self) -> list[str]:
        """The items, best first, as an immutable list."""
        self._single("items")
        return FrozenList(self.vocabulary.take(self.ranked_item))

    @property
    def scores(self) -> Floats:
        """The scores, aligned with ``items``; higher is better."""
        self._single("scores")
        return self.score[self.order]

    @property
    def ranks(self) -> Int32s:
        """The ranks, aligned with ``items``: 1 is best, and tied items share the better rank (1, 2, 2, 4)."""
        self._single("ranks")
        return self.rank_in_order

    @property
    def low(self) -> Floats | None:
        """Lower ends of the score intervals, aligned with ``items``; None if the method has no intervals."""
        self._single("low")
        return None if self.slot_low is None else self.slot_low[self.order]

    @property
    def high(self) -> Floats | None:
        """Upper ends of the score intervals, aligned with ``items``; None if the method has no intervals."""
        self._single("high")
        return None if self.slot_high is None else self.slot_high[self.order]

    def detail(self, name: str) -> AnyArray:
        """Return a further column of the result, aligned with ``items``.

        Parameters
        ----------
        name : str
            Name of the column: ``stderr``, ``rank_low``, …; ``details`` has all.

        Returns
        -------
        ndarray
            One value per item, best item first.

        Raises
        ------
        ConcordantError
            If the method does not compute this column.
        """
        self._single(f"detail({name!r})")
        if name not in self.details:
            known = ", ".join(self.details) or "none"
            raise ConcordantError(f"{self.method} does not compute {name!r} (it computes: {known}).")
        return self.details[name][self.order]

    @cached_property
    def coefficients(self) -> tuple[Coefficient, ...]:
        """Estimated effects of covariates with standard errors; empty if there are no covariates."""
        known = () if self.worths is None else self.worths()
        instances = None if self.instances is None else set(self.instances)
        return tuple(coefficient for coefficient in known if instances is None or coefficient.instance in instances)

    @cached_property
    def certainties(self) -> Sequence[Certainty]:
        """How certain the first place of each instance is: significance of its lead, P(best), and more."""
        with progress.stage("testing the first places"):
            if self.sure is not None:
                return tuple(self.sure(self))
            from concordant.narrative.certainty import assess

            return tuple(assess(self))

    @property
    def certainty(self) -> Certainty:
        """How certain the first place is: significance of its lead, P(best), the range of its rank, …"""
        self._single("certainty")
        return self.certainties[0]

    @property
    def tiers(self) -> list[list[str]]:
        """The items as tie groups, best first."""
        groups: dict[int, list[str]] = {}
        for label, rank in zip(self.items, self.ranks.tolist(), strict=True):
            groups.setdefault(rank, []).append(label)
        return list(groups.values())

    # ---- many instances ----
    def __len__(self) -> int:
        return self.n_instances

    def __getitem__(self, instance: object) -> Ranking:
        if self.instances is None:
            if isinstance(instance, int) and instance == 0:
                return self
            raise ConcordantError("This ranking has a single, unnamed instance: use .items and .scores directly.")
        return self._part(self.instances.code(instance, "instance"))

    def __iter__(self) -> Iterator[Ranking]:
        return (self._part(q) for q in range(self.n_instances))

    def _part(self, q: int) -> Ranking:
        """Return the ranking of instance q."""
        if self.n_instances == 1:
            return self
        span = slice(int(self.slot_ptr[q]), int(self.slot_ptr[q + 1]))
        return replace(
            self._some(span, np.array([0, span.stop - span.start], np.int64)),
            instances=None if self.instances is None else Vocabulary([self.instances[q]]),
            past=None if self.past is None or self.instances is None else partial(self._past_of, self.instances[q]),
            sure=partial(self._certainties_of, slice(q, q + 1)),
        )

    def _certainties_of(self, instances: slice, part: Ranking) -> Sequence[Certainty]:
        """Return the certainties for these instances, computed from the full ranking, in the unit of the part."""
        factor = (part.log_odds or 1.0) / (self.log_odds or 1.0)
        known = self.certainties[instances]
        return known if factor == 1 else [certainty.times(factor) for certainty in known]

    def _some(self, slots: Int64s | slice, slot_ptr: Int64s) -> Ranking:
        """Return the ranking of some slots, without adapting instances, histories or certainties."""
        return replace(
            self,
            slot_ptr=slot_ptr,
            slot_item=self.slot_item[slots],
            score=self.score[slots],
            uncertainty=PartialUncertainty(self.uncertainty, slots, self.slot_ptr),
            beside={name: values[slots] for name, values in self.beside.items()},
        )

    def _past_of(self, instance: str) -> History:
        return self.history[instance]

    def head(self, n: int) -> Ranking:
        """Keep only the best items of each instance.

        Parameters
        ----------
        n : int
            Maximum number of items per instance.

        Returns
        -------
        Ranking
            The shortened ranking; ``explain`` and ``certainty`` still refer to all items.
        """
        place = np.arange(len(self.score)) - np.repeat(self.slot_ptr[:-1], np.diff(self.slot_ptr))
        slot_ptr = np.concatenate([[0], np.cumsum(np.minimum(np.diff(self.slot_ptr), n))]).astype(np.int64)
        part = self._some(self.order[place < n], slot_ptr)
        return replace(
            part,
            why=None if self.why is None else self._explain_whole,
            sure=partial(self._certainties_of, slice(None)),
        )

    def only(self, keep: Bools) -> Ranking:
        """Keep only some slots, and the instances that still have any.

        Parameters
        ----------
        keep : ndarray of bool
            Mask over the slots.

        Returns
        -------
        Ranking
            The remaining ranking.
        """
        counts = np.add.reduceat(np.append(keep, False), self.slot_ptr[:-1]) * (np.diff(self.slot_ptr) > 0)
        left = np.flatnonzero(counts)
        part = self._some(np.flatnonzero(keep), np.concatenate([[0], np.cumsum(counts[left])]).astype(np.int64))
        return part if self.instances is None else replace(part, instances=Vocabulary(self.instances.take(left)))

    def _explain_whole(self, part: Ranking) -> Explanation:
        """Explain an instance with all its candidates, although this ranking contains only the best of them."""
        return (self if self.instances is None or part.instances is None else self[part.instances[0]]).explain()

    @property
    def instance(self) -> str | None:
        """The name of the instance, for a ranking of a single instance; None if it has no name."""
        self._single("instance")
        return None if self.instances is None else self.instances[0]

    # ---- export ----
    def columns(self) -> dict[str, Any]:
        """Return the ranking as columns.

        Returns
        -------
        dict of str to array or list
            ``instance``, ``rank``, ``item``, ``score``, ``low`` and ``high``, best first; columns without values are
            omitted.
        """
        out: dict[str, Any] = {}
        order = self.order
        if self.instances is not None:
            labels = np.array(self.instances.labels, object)
            out["instance"] = np.repeat(labels, np.diff(self.slot_ptr)).tolist()
        out["rank"] = self.rank_in_order
        out["item"] = self.vocabulary.take(self.ranked_item)
        out["score"] = self.score[order]
        for name, values in (("low", self.slot_low), ("high", self.slot_high)):
            if values is not None:
                out[name] = values[order]
        return out | {name: values[order] for name, values in self.beside.items()}

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the ranking as a DataFrame, one row per instance and item.

        Parameters
        ----------
        backend : {'pandas', 'polars', 'pyarrow'}, optional
            Library of the DataFrame; by default, the one that the preferences came from, or else an installed one.

        Returns
        -------
        DataFrame
            The columns of ``columns``.
        """
        from concordant.tables.frames import frame_of

        return frame_of(self.columns(), backend, self.library)

    def to_dict(self) -> dict[str, object]:
        """Return the ranking as plain data, ready for JSON.

        Returns
        -------
        dict
            The same keys for every method, with None for missing parts. Additional columns are keys of every item.
        """
        return dict_of(self)

    def explain(self) -> Explanation:
        """Explain the ranking of a single instance in sentences, with the numbers behind them.

        Returns
        -------
        Explanation
            Reasons in order of importance; prints as text.

        Raises
        ------
        ConcordantError
            If there are several instances, or the ballots behind the ranking are no longer available.

        Examples
        --------
        >>> import concordant as cc
        >>> prefs = cc.Preferences.from_rankings([["a", "b"], ["a", "b"], ["b", "a"]])
        >>> explanation = cc.rank(prefs, "borda").explain()
        >>> explanation.method
        'borda'
        """
        self._single("explain()")
        if self.why is None:
            raise ConcordantError(
                "The ballots behind this ranking are not available (it was loaded, merged or computed from counts), so "
                "it cannot be explained: rank the preferences themselves with cc.rank(prefs, method).explain()."
            )
        return self.why(self)

    @cached_property
    def history(self) -> History:
        """Scores over time, for methods that follow items over time (elo, glicko2, …); computed on first access."""
        if self.past is None:
            raise ConcordantError(
                f"{self.method or 'This method'} computes a single score per item, so it has no history: use a method "
                "that follows items over time, such as elo, glicko2 or trueskill."
            )
        history, level = self.past(), self.params.get("level")
        history = replace(history, library=self.library)
        return replace(history, level=level) if isinstance(level, float) else history

    # ---- pictures ----
    def plot(self, path: str | None = None, *, top: int = 30) -> Any:
        """Plot the scores of the best items with their intervals (needs Matplotlib).

        Parameters
        ----------
        path : str, optional
            File to save the figure to, ending in .svg, .png or .pdf.
        top : int, default 30
            Maximum number of items.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.
        """
        from concordant.narrative.plots import plot_ranking

        return plot_ranking(self, path, top=top)

    def plot_matrix(self, prefs: Any, path: str | None = None, *, top: int = 40) -> Any:
        """Plot how often each item beats each other item, in the order of this ranking (needs Matplotlib).

        Parameters
        ----------
        prefs : Preferences
            The ranked preferences.
        path : str, optional
            File to save the figure to, ending in .svg, .png or .pdf.
        top : int, default 40
            Maximum number of items.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.
        """
        from concordant.narrative.plots import plot_matrix

        return plot_matrix(self, prefs, path, top=top)

    def plot_history(self, path: str | None = None, *, top: int = 10, items: Sequence[object] | None = None) -> Any:
        """Plot the scores over time with their intervals (needs Matplotlib).

        Parameters
        ----------
        path : str, optional
            File to save the figure to, ending in .svg, .png or .pdf.
        top : int, default 10
            Number of items, the best first, if ``items`` is not given.
        items : sequence, optional
            The items to plot.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.
        """
        from concordant.narrative.plots import plot_history

        return plot_history(self, path, top=top, items=items)

    def plot_agents(self, path: str | None = None, *, top: int = 40) -> Any:
        """Plot the weights that the method gave to the agents (needs Matplotlib).

        Parameters
        ----------
        path : str, optional
            File to save the figure to, ending in .svg, .png or .pdf.
        top : int, default 40
            Maximum number of agents.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.
        """
        from concordant.narrative.plots import plot_agents

        return plot_agents(self, path, top=top)

    # ---- display ----
    @property
    def verdict(self) -> str | None:
        """Statement on optimality over all instances; None unless ``fit`` has ``proven`` and ``gap``."""
        if self.fit is None or "proven" not in self.fit or "gap" not in self.fit:
            return None
        if self.fit["proven"]:
            return "proven optimal: no ranking has a smaller total distance"
        return f"within {100 * self.fit['gap']:.2g}% of the smallest total distance"

    def __repr__(self) -> str:
        head = f"Ranking by {named(self)}" if self.method else "Ranking"
        if self.n_instances != 1:
            return f"{head}: {self.n_instances:,} instances, {len(self.score):,} candidates"
        return head + "\n" + self.to_text(limit=20)

    def to_text(self, limit: int | None = None) -> str:
        """Return the ranking as an aligned text table.

        Parameters
        ----------
        limit : int, optional
            Maximum number of items per instance.

        Returns
        -------
        str
            One line per item.
        """
        return text_of(self, limit)

    def written(self, n: int) -> dict[str, list[str]]:
        """Return the table of the best items as columns of text.

        Parameters
        ----------
        n : int
            Number of items.

        Returns
        -------
        dict of str to list of str
            Rank, item, score and, if available, confidence interval.
        """
        return table_columns(self, n)

    def blocks(self) -> list[Block]:
        """Return the tables that ``to_markdown``, ``to_latex``, ``to_html`` and the command line show.

        Returns
        -------
        list of DisplayTable or Passage
            The table of each instance, covariate effects, and the statement on optimality.
        """
        return blocks_of(self)

    def _repr_html_(self) -> str:
        return html_of(self)


@lru_cache(maxsize=1024)
def _plain_slots(n: int) -> tuple[Int64s, Int32s]:
    """Return the slots of one instance whose candidates are all n items in order."""
    slot_ptr, slot_item = np.array([0, n], np.int64), np.arange(n, dtype=np.int32)
    slot_ptr.flags.writeable = slot_item.flags.writeable = False
    return slot_ptr, slot_item


def snap(values: Floats, instance: Int64s, scale: Floats) -> Floats:
    """Make values of one instance equal if they differ only by rounding, and 0 if they are rounding errors.

    ``scale`` (per instance) is the magnitude of the sums from which the values are computed: differences within
    1e-12 of it count as rounding.
    """
    tolerance = TIE_TOLERANCE * scale[instance]
    values = np.where(np.abs(values) <= tolerance, 0.0, values)
    order = np.lexsort((values, instance))
    ordered = values[order]
    is_new_value = np.ones(len(values), bool)
    is_new_value[1:] = (np.diff(ordered) > tolerance[order[1:]]) | (np.diff(instance[order]) != 0)
    snapped = np.empty_like(values)  # every value becomes the smallest of its run of close values
    snapped[order] = ordered[np.maximum.accumulate(np.where(is_new_value, np.arange(len(values)), 0))]
    return snapped
