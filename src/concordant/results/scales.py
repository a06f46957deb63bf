"""Rating scales: scores that are log odds, written as Elo ratings.

    rating = centre + points / ln(10) * (score - reference)

A difference of ``points`` (400) then means odds of 10 to 1. Without an anchor, the reference is the mean score of the
ranked items of an instance, so their mean rating is ``centre``; with an anchor, it is the score of one item, whose
rating is given. The transformation is affine, so orders, ranks, p-values and probabilities stay the same; scores,
confidence intervals, standard errors, histories, covariate effects and the position bias are converted.

Confidence intervals without an anchor are those of the method, converted. With an anchor, the interval of an item is
that of its difference from the anchor: each end is stretched by se(difference) / se(score), with the joint variance of
the two scores if the method has it, and the sum of their variances otherwise. The interval of the anchor has width 0.
A history keeps the intervals of the method, because an anchor can change over time as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from concordant.ballots.segments import segment_index, sum_by
from concordant.ballots.vocabulary import Vocabulary, shorten
from concordant.errors import InputError, ParameterError, arg, suggest
from concordant.results.coefficients import Coefficient
from concordant.results.histories import History
from concordant.results.uncertain import (
    PartialUncertainty,
    Uncertain,
    Uncertainty,
    critical_value,
    independent_errors,
    single_errors,
)
from concordant.support.lazy import LazyMapping
from concordant.types import AnyArray, Floats, Int64s

if TYPE_CHECKING:
    from concordant.ranking import Ranking

SCALES = ("elo",)
CENTRE = 1000.0
SCORE_COLUMNS = ("uncorrected_score",)  # additional columns of a ranking in the unit of its scores
IN_FIT = ("order_effect", "order_effect_stderr")  # figures of a fit in the unit of the scores
NAMED = 5  # instances that an error names


@dataclass(frozen=True)
class EloScale:
    """The Elo scale: 400 points are odds of 10 to 1.

    Parameters
    ----------
    centre : float, optional
        Mean rating of the items of each instance; by default 1000. With an anchor, its rating unless that is given.
    anchor : str or tuple of str and float, optional
        Item with a fixed rating, such as ``"mixtral-8x7b"`` or ``("mixtral-8x7b", 1114)``.
    points : float, default 400
        Rating difference that means odds of 10 to 1.

    Examples
    --------
    >>> import concordant as cc
    >>> print(cc.EloScale(anchor=("mixtral-8x7b", 1114)))
    Elo scale: 400 points are odds of 10 to 1, mixtral-8x7b = 1114
    """

    centre: float | None = None
    anchor: str | tuple[str, float] | None = None
    points: float = 400.0
    name: str = field(default="elo", init=False)

    def __post_init__(self) -> None:
        """Reject numbers that give no scale, and two ratings of the anchor."""
        if self.centre is not None and not _is_number(self.centre):
            raise ParameterError(arg("centre", self.centre) + " is not valid: give a finite number, such as 1500.")
        if not _is_number(self.points) or self.points <= 0:
            raise ParameterError(arg("points", self.points) + " is out of range: give a number above 0, such as 400.")
        anchor = self.anchor
        if anchor is None or isinstance(anchor, str):
            return
        if not isinstance(anchor, tuple) or len(anchor) != 2 or not _is_number(anchor[1]):
            raise ParameterError(arg("anchor", anchor) + " is not valid: give an item, or a pair of item and rating.")
        if self.centre is not None:
            both = (
                arg("centre", self.centre) + " and the rating in " + arg("anchor", shown=f"{anchor[0]}={anchor[1]:g}")
            )
            raise ParameterError(both + " contradict each other: give only one of them.")

    @property
    def unit(self) -> float:
        """Rating points per unit of log odds."""
        return self.points / math.log(10)

    @property
    def anchored(self) -> str | None:
        """The anchor; None if the mean is fixed instead."""
        return None if self.anchor is None else str(self.anchor if isinstance(self.anchor, str) else self.anchor[0])

    @property
    def rating(self) -> float:
        """The rating of the anchor, or the mean rating without one."""
        if isinstance(self.anchor, tuple):
            return float(self.anchor[1])
        return CENTRE if self.centre is None else float(self.centre)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON.

        Returns
        -------
        dict
            Name, points, anchor, and the rating of the anchor or the mean rating.
        """
        return {"name": self.name, "points": float(self.points), "anchor": self.anchored, "rating": self.rating}

    def __str__(self) -> str:
        fixed = "mean" if self.anchored is None else shorten(self.anchored, 40)
        separator = " " if self.anchored is None else " = "
        return f"Elo scale: {self.points:g} points are odds of 10 to 1, {fixed}{separator}{self.rating:g}"


def scale_of(
    scale: str | EloScale,
    centre: float | None = None,
    anchor: str | tuple[str, float] | None = None,
    points: float | None = None,
) -> EloScale:
    """Return a scale from its name and settings, or the given scale."""
    if isinstance(scale, EloScale):
        if (centre, anchor, points) != (None, None, None):
            raise ParameterError("An EloScale cannot be combined with further settings: set them when you create it.")
        return scale
    if scale not in SCALES:
        raise ParameterError(arg("scale", scale) + f" is not valid: use {' or '.join(SCALES)}.")
    return EloScale(centre, anchor, 400.0 if points is None else points)


def anchor_of(text: str) -> str | tuple[str, float]:
    """Return an anchor written as NAME=RATING, or as NAME alone; the last = separates the two."""
    name, separator, rating = text.rpartition("=")
    try:
        return (name.strip(), float(rating)) if separator and name.strip() else text.strip()
    except ValueError:
        return text.strip()


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


# ---- the transformation ----
@dataclass(frozen=True, eq=False)
class Conversion:
    """How the scores of a method became those of a ranking: factor * score + shift, with a shift per instance."""

    scale: EloScale
    factor: float
    shift: Mapping[str | None, float]
    """By the name of the instance; None for a single, unnamed instance."""

    def shifts(self, instances: Vocabulary | None) -> Floats:
        """Return the shift of these instances; those without ranked items have the method's 0 as reference."""
        names = [None] if instances is None else instances.labels
        return np.array([self.shift.get(name, self.scale.rating) for name in names], np.float64)

    def by_slot(self, ranking: Ranking) -> Floats:
        """Return the shift of every slot of a ranking."""
        return self.shifts(ranking.instances)[segment_index(ranking.slot_ptr)]

    def own_scores(self, ranking: Ranking) -> Floats:
        """Return the scores of a converted ranking on the scale of its method, by slot."""
        return np.asarray((ranking.score - self.by_slot(ranking)) / self.factor)

    def history(self, past: Callable[[], History]) -> History:
        """Return a converted history; the reference is the same at all times."""
        history = past()
        shift = self.shifts(history.instances)
        by_row = shift[0] if history.instance is None else shift[history.instance]
        low, high = (None if ends is None else self.factor * ends + by_row for ends in (history.low, history.high))
        return replace(history, score=self.factor * history.score + by_row, low=low, high=high)

    def coefficients(self, worths: Callable[[], tuple[Coefficient, ...]]) -> tuple[Coefficient, ...]:
        """Return converted covariate effects."""
        return tuple(coefficient.times(self.factor) for coefficient in worths())

    def fit(self, fit: Mapping[str, float] | None) -> Mapping[str, float] | None:
        """Return the statistics of a fit with a converted position bias; slow ones are still computed on request."""
        if fit is None or not any(name in fit for name in IN_FIT):
            return fit
        return LazyMapping({}, {name: partial(self._figure, fit, name) for name in fit})

    def _figure(self, fit: Mapping[str, float], name: str) -> float:
        return fit[name] * (self.factor if name in IN_FIT else 1.0)


def line_of(ranking: Ranking) -> tuple[float, float]:
    """Return factor and shift from scores of the method to those of a ranking of one instance: 1 and 0 by default."""
    converted = ranking.converted
    return (1.0, 0.0) if converted is None else (converted.factor, float(converted.shifts(ranking.instances)[0]))


def on_scale(ranking: Ranking, scale: EloScale) -> Ranking:
    """Return the ranking with its scores, and all that is in their unit, on another scale."""
    if ranking.log_odds is None:
        raise InputError(
            f"The scores of {ranking.method or 'this ranking'} are not log odds of a win, so they have no Elo scale: "
            "rank with a model whose scores are, such as bradley-terry, davidson, rao-kupper or plackett-luce, or keep "
            "the scale of the method."
        )
    anchors, instance = _anchors(ranking, scale), segment_index(ranking.slot_ptr)
    step = _conversion(ranking, ranking.score, scale, scale.unit / ranking.log_odds, anchors)
    former = ranking.converted
    if former is None:
        total = step
    else:  # from the scores of the method, because the intervals of a former anchor are not those of the method
        total = _conversion(ranking, ranking.own_score, scale, step.factor * former.factor, anchors)
    own_score = ranking.own_score
    beside = {
        name: scale.rating + step.factor * (values - _references(values, ranking.slot_ptr, anchors)[instance])
        if name in SCORE_COLUMNS
        else values
        for name, values in ranking.beside.items()
    }
    return replace(
        ranking,
        score=total.factor * own_score + total.by_slot(ranking),
        uncertainty=ConvertedUncertainty(
            own_uncertainty(ranking.uncertainty),
            total.factor,
            total.by_slot(ranking),
            own_score,
            ranking.slot_ptr,
            anchors,
            ranking.params.get("level"),
        ),
        past=None if ranking.past is None else partial(step.history, ranking.past),
        worths=None if ranking.worths is None else partial(step.coefficients, ranking.worths),
        fit=step.fit(ranking.fit),
        beside=beside,
        log_odds=scale.unit,
        converted=total,
    )


def _conversion(ranking: Ranking, score: Floats, scale: EloScale, factor: float, anchors: Int64s | None) -> Conversion:
    """Return the conversion of these scores (by slot) by a factor, with the shift of every instance."""
    shift = scale.rating - factor * _references(score, ranking.slot_ptr, anchors)
    names = [None] if ranking.instances is None else ranking.instances.labels
    return Conversion(scale, factor, dict(zip(names, shift.tolist(), strict=True)))


def own_uncertainty(uncertainty: Uncertain) -> Uncertain:
    """Return the uncertainty on the scale of the method."""
    if isinstance(uncertainty, ConvertedUncertainty):
        return uncertainty.whole
    if isinstance(uncertainty, PartialUncertainty):
        return replace(uncertainty, whole=own_uncertainty(uncertainty.whole))
    return uncertainty


def _references(score: Floats, slot_ptr: Int64s, anchors: Int64s | None) -> Floats:
    """Return, by instance, the score that gets the rating of the scale: that of the anchor, or the mean."""
    size = np.diff(slot_ptr)
    if anchors is None:
        return np.asarray(sum_by(segment_index(slot_ptr), score, len(size)) / np.maximum(size, 1))
    return np.where(anchors >= 0, score[np.maximum(anchors, 0)], 0.0)


def _anchors(ranking: Ranking, scale: EloScale) -> Int64s | None:
    """Return the slot of the anchor in every instance, -1 if it has no items; None without an anchor."""
    if scale.anchored is None:
        return None
    size = np.diff(ranking.slot_ptr)
    anchors = np.full(len(size), -1, np.int64)
    code = ranking.vocabulary.codes(Vocabulary([scale.anchored]))[0]
    place = np.flatnonzero(ranking.slot_item == code) if code >= 0 else np.empty(0, np.int64)
    anchors[segment_index(ranking.slot_ptr)[place]] = place
    missing = np.flatnonzero((anchors < 0) & (size > 0))
    if not len(missing):
        return anchors
    who, labels = arg("anchor", scale.anchored), ranking.vocabulary.take(np.unique(ranking.slot_item))
    if ranking.instances is None or len(missing) == len(size):
        hint = suggest(scale.anchored, labels)
        raise InputError(who + f" is not one of the ranked items: give the name of one of them.{hint}")
    named = ", ".join(shorten(name, 30) for name in ranking.instances.take(missing[:NAMED]))
    more = f" and {len(missing) - NAMED:,} more" if len(missing) > NAMED else ""
    raise InputError(
        who + f" is not ranked in {len(missing):,} of {len(size):,} instances ({named}{more}): give an item that is "
        "ranked in all of them, or leave the anchor out, which fixes the mean of each instance instead."
    )


@dataclass(frozen=True, eq=False)
class ConvertedUncertainty:
    """Uncertainty on another scale, computed on first access; ``score`` and ``whole`` are on the former scale."""

    whole: Uncertain
    factor: float
    shift: Floats
    score: Floats
    slot_ptr: Int64s
    anchors: Int64s | None
    level: object

    def known(self) -> Uncertainty:
        """Return the converted uncertainty."""
        return self._known

    @cached_property
    def _known(self) -> Uncertainty:
        """Convert intervals, standard errors and errors of differences; ranks and probabilities stay the same."""
        whole = self.whole.known()
        later = {name: partial(self._detail, name) for name in whole.details}
        low, high = whole.low, whole.high
        if low is not None and high is not None and self.anchors is not None:
            low, high = self.score - self._stretched(self.score - low), self.score + self._stretched(high - self.score)
        low, high = (None if ends is None else self.factor * ends + self.shift for ends in (low, high))
        is_joint = whole.apart is not None or (self.anchors is not None and low is not None)
        apart = self._apart if is_joint else None
        return Uncertainty(low, high, LazyMapping({}, later), whole.warnings, apart)

    def _detail(self, name: str) -> AnyArray:
        values = self.whole.known().details[name]
        if name != "stderr":
            return values
        return np.asarray(self.factor * (values if self.anchors is None else self._from_anchor))

    def _apart(self, slot: int) -> Floats | None:
        """Return the errors of differences; with an anchor always, because single errors are then those from it."""
        known = self.whole.known()
        errors = None if known.apart is None else known.apart(slot)
        if errors is None and self.anchors is not None:
            q = int(np.searchsorted(self.slot_ptr, slot, side="right")) - 1
            span = slice(int(self.slot_ptr[q]), int(self.slot_ptr[q + 1]))
            errors = independent_errors(known, span, slot, self.level)
        return None if errors is None else self.factor * errors

    def _stretched(self, width: Floats) -> Floats:
        """Return the distances of interval ends from the scores, as those of the differences from the anchor."""
        error = single_errors(self.whole.known(), self.level)
        assert error is not None
        ratio = np.divide(self._from_anchor, error, out=np.zeros(len(error)), where=error > 0)
        return np.where(error > 0, width * ratio, critical_value(self.level) * self._from_anchor)

    @cached_property
    def _from_anchor(self) -> Floats:
        """The standard error of the difference between every slot and the anchor of its instance."""
        known, out = self.whole.known(), np.zeros(len(self.score))
        assert self.anchors is not None
        for anchor, start, stop in zip(self.anchors.tolist(), self.slot_ptr[:-1], self.slot_ptr[1:], strict=True):
            if anchor < 0:
                continue
            span = slice(int(start), int(stop))
            errors = independent_errors(known, span, anchor, self.level)
            assert errors is not None
            joint = None if known.apart is None else known.apart(anchor)
            out[span] = errors if joint is None else np.where(np.isnan(joint), errors, joint)
            out[anchor] = 0.0
        return out
