"""Ranking: what every method returns. Order, ties, scores, intervals, warnings, and where it came from."""

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
from concordant.results.rendering import dict_of, html_of, table_columns, text_of
from concordant.results.uncertain import Notice as Notice
from concordant.results.uncertain import PartialUncertainty
from concordant.results.uncertain import Uncertain as Uncertain
from concordant.results.uncertain import Uncertainty as Uncertainty
from concordant.support.frozen import FrozenDict, FrozenList, FrozenParts
from concordant.types import AnyArray, Bools, Floats, Int32s, Int64s

if TYPE_CHECKING:
    from concordant.narrative.certainty import Certainty

TIE_TOLERANCE = 1e-12
SORTED_BY = ("score", "low", "high")


_UNKNOWN = Uncertainty()


@dataclass(frozen=True, eq=False)
class Ranking(FrozenParts):
    """Items in order, best first, for one instance or many.

    For a single instance ``items``, ``scores``, ``ranks``, ``tiers``, ``low`` and ``high`` are aligned, best first.
    ``details`` holds further arrays with one value per slot, in slot order; ``detail(name)`` aligns one with ``items``.
    Intervals, details and warnings are found when first asked for; order and scores do not wait for them.
    With several instances, ``ranking["q7"]`` is the ranking of one and iteration goes through all of them.
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
    """Where it was computed, if elsewhere than in this process or from counts; empty else."""
    why: Callable[[Ranking], Explanation] | None = None
    """Explains the ranking of one instance, if its ballots are available."""
    past: Callable[[], History] | None = None
    """Finds how the scores moved over time, of methods that follow it."""
    beside: Mapping[str, AnyArray] = field(default_factory=dict)
    """Columns that stand beside the scores in every table, in slot order: the scores without covariates, …"""
    worths: Callable[[], tuple[Coefficient, ...]] | None = None
    """Finds what covariates of what was compared are worth, of methods that take them into account."""
    sure: Callable[[Ranking], Sequence[Certainty]] | None = None
    """Computes how certain each instance's first place is, where the ballots behind the ranking are known."""

    @classmethod
    def of_scores(
        cls, labels: list[str], score: Floats, method: str, params: Mapping[str, object], seconds: float
    ) -> Ranking:
        """Make the ranking of one unnamed instance whose labels stand in input order, where microseconds count."""
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
        """Lower ends of the score intervals in slot order, where the method has them."""
        return self._known.low

    @property
    def slot_high(self) -> Floats | None:
        """Upper ends of the score intervals in slot order, where the method has them."""
        return self._known.high

    @property
    def details(self) -> Mapping[str, AnyArray]:
        """Further arrays with one value per slot, in slot order: ``stderr``, ``rank_low``, …"""
        return self._known.details

    @property
    def warnings(self) -> tuple[Notice, ...]:
        """What a reader must know: problems with the data, and with estimating the uncertainty of the scores."""
        return (*self.notices, *self._known.warnings)

    @cached_property
    def _sorted(self) -> tuple[Int64s, Int32s]:
        """The slots best first inside each instance, and their ranks."""
        key = self.score if self.sorted_by == "score" else getattr(self._known, self.sorted_by)
        order, rank = kernels.order_segments(key, self.slot_ptr, TIE_TOLERANCE)
        order.setflags(write=False)
        rank.setflags(write=False)
        return order, rank

    def by(self, end: str) -> Ranking:
        """Return the same items sorted by the ``"low"`` or ``"high"`` end of their intervals, or by ``"score"`` again.

        Sorted by the low end, an item must have earned its place: one seen rarely stands behind those known as well.
        """
        if end not in SORTED_BY:
            raise InputError(arg("by", end, of="sort") + f" is not a choice: use one of {', '.join(SORTED_BY)}.")
        if end != "score" and (self.slot_low is None or self.slot_high is None):
            raise InputError(
                f"{self.method or 'This method'} gives no intervals here, so its items cannot be sorted by their "
                f"{end} end: use a method that does, such as bradley-terry, plackett-luce or mpm."
            )
        return replace(self, sorted_by=end)

    @property
    def order(self) -> Int64s:
        """Slots, best first inside each instance; ties in input order."""
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
        """The item codes in order: best first inside each instance."""
        item: Int32s = self.slot_item[self.order]
        item.setflags(write=False)
        return item

    @property
    def n_instances(self) -> int:
        """How many instances were ranked."""
        return len(self.slot_ptr) - 1

    # ---- one instance ----
    def _single(self, name: str) -> None:
        """Refuse access to a property that only a ranking of one instance has."""
        if self.n_instances != 1:
            example = self.instances[0] if self.instances else "…"
            raise ConcordantError(
                f"There are {self.n_instances} instances"
                + action(
                    "one_instance",
                    f", so the ranking has no single .{name}: take one with ranking[{example!r}], or iterate.",
                )
            )

    @cached_property
    def items(self) -> list[str]:
        """The labels, best first, as a list that cannot be changed."""
        self._single("items")
        return FrozenList(self.vocabulary.take(self.ranked_item))

    @property
    def scores(self) -> Floats:
        """The scores aligned with ``items``; higher is better."""
        self._single("scores")
        return self.score[self.order]

    @property
    def ranks(self) -> Int32s:
        """The ranks aligned with ``items``: 1 is best, tied items share the better rank (1, 2, 2, 4)."""
        self._single("ranks")
        return self.rank_in_order

    @property
    def low(self) -> Floats | None:
        """Lower ends of the score intervals aligned with ``items``, where the method has them."""
        self._single("low")
        return None if self.slot_low is None else self.slot_low[self.order]

    @property
    def high(self) -> Floats | None:
        """Upper ends of the score intervals aligned with ``items``, where the method has them."""
        self._single("high")
        return None if self.slot_high is None else self.slot_high[self.order]

    def detail(self, name: str) -> AnyArray:
        """Return a further column of the result (``stderr``, ``rank_low``, …) aligned with ``items``."""
        self._single(f"detail({name!r})")
        if name not in self.details:
            known = ", ".join(self.details) or "none"
            raise ConcordantError(f"{self.method} gives no {name!r} (it gives: {known}).")
        return self.details[name][self.order]

    @cached_property
    def coefficients(self) -> tuple[Coefficient, ...]:
        """Effects of covariates of what was compared, with standard errors; empty where there are none."""
        known = () if self.worths is None else self.worths()
        instances = None if self.instances is None else set(self.instances)
        return tuple(coefficient for coefficient in known if instances is None or coefficient.instance in instances)

    @cached_property
    def certainties(self) -> Sequence[Certainty]:
        """How certain the first place of each instance is: whether its lead is significant, P(best), and more."""
        if self.sure is not None:
            return tuple(self.sure(self))
        from concordant.narrative.certainty import assess

        return tuple(assess(self))

    @property
    def certainty(self) -> Certainty:
        """How certain the first place is: whether its lead is significant, P(best), the range of its rank, …"""
        self._single("certainty")
        return self.certainties[0]

    @property
    def tiers(self) -> list[list[str]]:
        """The labels as tie groups, best first."""
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
        """Return the ranking of instance q alone."""
        if self.n_instances == 1:
            return self
        span = slice(int(self.slot_ptr[q]), int(self.slot_ptr[q + 1]))
        return replace(
            self._some(span, np.array([0, span.stop - span.start], np.int64)),
            instances=None if self.instances is None else Vocabulary([self.instances[q]]),
            past=None if self.past is None or self.instances is None else partial(self._past_of, self.instances[q]),
            sure=partial(self._certainties_of, slice(q, q + 1)),
        )

    def _certainties_of(self, instances: slice, _: Ranking) -> Sequence[Certainty]:
        """Return the statements about the whole ranking that a part of it shares."""
        return self.certainties[instances]

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
        """Keep only the ``n`` best of each instance."""
        place = np.arange(len(self.score)) - np.repeat(self.slot_ptr[:-1], np.diff(self.slot_ptr))
        slot_ptr = np.concatenate([[0], np.cumsum(np.minimum(np.diff(self.slot_ptr), n))]).astype(np.int64)
        part = self._some(self.order[place < n], slot_ptr)
        return replace(
            part,
            why=None if self.why is None else self._explain_whole,
            sure=partial(self._certainties_of, slice(None)),
        )

    def only(self, keep: Bools) -> Ranking:
        """Keep only these slots (a mask), and the instances that still have some."""
        counts = np.add.reduceat(np.append(keep, False), self.slot_ptr[:-1]) * (np.diff(self.slot_ptr) > 0)
        left = np.flatnonzero(counts)
        part = self._some(np.flatnonzero(keep), np.concatenate([[0], np.cumsum(counts[left])]).astype(np.int64))
        return part if self.instances is None else replace(part, instances=Vocabulary(self.instances.take(left)))

    def _explain_whole(self, part: Ranking) -> Explanation:
        """Explain an instance with all its candidates, although this ranking holds only the best of them."""
        return (self if self.instances is None or part.instances is None else self[part.instances[0]]).explain()

    @property
    def instance(self) -> str | None:
        """The label of the only instance, None when it has no name."""
        self._single("instance")
        return None if self.instances is None else self.instances[0]

    # ---- export ----
    def columns(self) -> dict[str, Any]:
        """Return the whole ranking as columns: instance, rank, item, score, low, high (absent ones left out)."""
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
        """Return a DataFrame, one row per instance and item; ``backend`` is pandas, polars or pyarrow."""
        from concordant.tables.frames import frame_of

        return frame_of(self.columns(), backend)

    def to_dict(self) -> dict[str, object]:
        """Return plain data, ready for JSON; the same keys for every method, absent parts None.

        Columns beside the scores follow in every item.
        """
        return dict_of(self)

    def explain(self) -> Explanation:
        """Explain this ranking of one instance in plain sentences with the numbers behind them."""
        self._single("explain()")
        if self.why is None:
            raise ConcordantError(
                "This ranking does not know the ballots behind it (it was read, merged or counted elsewhere), so it "
                "cannot be explained: rank the preferences themselves, cc.rank(prefs, method).explain()."
            )
        return self.why(self)

    @cached_property
    def history(self) -> History:
        """How the scores moved over time, for methods that follow it (elo, glicko2, …), computed on first access."""
        if self.past is None:
            raise ConcordantError(
                f"{self.method or 'This method'} gives one score for all time, so it has no history: use a method that "
                "follows items over time, such as elo, glicko2 or trueskill."
            )
        history, level = self.past(), self.params.get("level")
        return replace(history, level=level) if isinstance(level, float) else history

    # ---- pictures ----
    def plot(self, path: str | None = None, *, top: int = 30) -> Any:
        """Draw the scores of the best items with their intervals (Matplotlib); save the picture where path says."""
        from concordant.narrative.plots import plot_ranking

        return plot_ranking(self, path, top=top)

    def plot_matrix(self, prefs: Any, path: str | None = None, *, top: int = 40) -> Any:
        """Draw how often each item beats each other one in the preferences, in the order of this ranking."""
        from concordant.narrative.plots import plot_matrix

        return plot_matrix(self, prefs, path, top=top)

    def plot_history(self, path: str | None = None, *, top: int = 10, items: Sequence[object] | None = None) -> Any:
        """Draw how the scores of the best items moved over time, or of some, with their intervals."""
        from concordant.narrative.plots import plot_history

        return plot_history(self, path, top=top, items=items)

    def plot_agents(self, path: str | None = None, *, top: int = 40) -> Any:
        """Draw the weights the method gave to the agents."""
        from concordant.narrative.plots import plot_agents

        return plot_agents(self, path, top=top)

    # ---- display ----
    @property
    def verdict(self) -> str | None:
        """How close the ranking is to the best one, in words, all instances together.

        Known where ``fit`` holds 'proven' and 'gap'.
        """
        if self.fit is None or "proven" not in self.fit or "gap" not in self.fit:
            return None
        if self.fit["proven"]:
            return "proven optimal: no ranking has a smaller total distance"
        return f"within {100 * self.fit['gap']:.2g}% of the least total distance"

    def __repr__(self) -> str:
        head = f"Ranking by {self.method}" if self.method else "Ranking"
        if self.n_instances != 1:
            return f"{head}: {self.n_instances:,} instances, {len(self.score):,} candidates"
        return head + "\n" + self.to_text(limit=20)

    def to_text(self, limit: int | None = None) -> str:
        """Return aligned plain text, one line per item, at most ``limit`` items per instance."""
        return text_of(self, limit)

    def written(self, n: int) -> dict[str, list[str]]:
        """Return the columns of the table of the best ``n``, as text: rank, item, score, interval (if there is one)."""
        return table_columns(self, n)

    def _repr_html_(self) -> str:
        return html_of(self)


@lru_cache(maxsize=1024)
def _plain_slots(n: int) -> tuple[Int64s, Int32s]:
    """Return the slots of one instance whose candidates are all n items, in their order."""
    slot_ptr, slot_item = np.array([0, n], np.int64), np.arange(n, dtype=np.int32)
    slot_ptr.flags.writeable = slot_item.flags.writeable = False
    return slot_ptr, slot_item


def snap(values: Floats, instance: Int64s, scale: Floats) -> Floats:
    """Make values of one instance equal if they differ only by rounding, and 0 if they are only rounding.

    ``scale`` (per instance) is the size of the sums the values come from: differences within 1e-12 of it are rounding.
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
