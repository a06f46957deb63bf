"""Base class of all methods: immutable hyper-parameters and a function from preferences to a ranking.

A method is one file ``aggregate/<family>/<name>.py`` with one class of the same name. It declares its
hyper-parameters with ``param``, the data it ``needs`` and the laws it waives (each with a reason), and implements
``scores``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from concordant.errors import InputError, NeedError, Sentence, action, arg
from concordant.params import values_of
from concordant.preferences import Preferences
from concordant.ranking import Notice, Ranking, Uncertain, Uncertainty
from concordant.registry import usual_name
from concordant.results.coefficients import Coefficient
from concordant.results.explanation import Explanation
from concordant.results.explanation import Reason as Reason
from concordant.results.histories import History
from concordant.settings import Settings
from concordant.support import memory, progress
from concordant.types import AnyArray, Floats

if TYPE_CHECKING:
    from concordant.narrative.certainty import Certainty

NEEDS: dict[str, str] = {
    "agents": "the ballots have no agents: give the agents with " + arg("agent"),
    "instances": "it has a single instance: give the instances with " + arg("instance"),
    "values": "it has an order but no ranks or ratings: "
    + action("values", "build the preferences with from_ranks or from_ratings"),
    "order": "equal ballots were merged, so the order of events is lost: "
    + action("unmerged", "use the preferences before merge()"),
    "time": "the ballots have no times: give the times with " + arg("time"),
    "points": "it lacks the points of both sides: give their columns with "
    + arg("left_score")
    + " and "
    + arg("right_score")
    + " (merged counts do not keep them)",
    "whole weights": "it counts whole votes, but some weights are fractions: use whole numbers of votes as "
    "weights, or rules that accept fractions (stv with " + arg("rules", "meek") + ")",
    "labels": "it must be trained on labels first: "
    + action("fit", "call fit(prefs, labels), or load a trained model"),
}
TEAMS = "use bradley-terry, davidson, rao-kupper, thurstone, plackett-luce, ordered-partitions or trueskill" + action(
    "teamless", ", or drop the teams with prefs.replace(team=None), which makes their members tied items"
)


@dataclass(frozen=True)
class Outcome:
    """The result of a method: a score per slot, and optional further results.

    ``details`` holds further arrays with one value per slot (``stderr``, ``rank_low``, ``rank_high``, ``p_best``). If
    these and the intervals are slow to compute, ``uncertainty`` computes them on first access instead. ``model`` is
    the fitted model, for results that are not in the table (such as the probability that a beats b). ``history``
    computes how the scores changed over time. ``beside`` holds further columns, by slot, for every table of the
    ranking. ``coefficients`` computes the effects of covariates of the comparisons.
    """

    score: Floats
    low: Floats | None = None
    high: Floats | None = None
    agents: Mapping[str, float] | None = None
    fit: Mapping[str, float] | None = None
    warnings: tuple[Notice, ...] = ()
    details: Mapping[str, AnyArray] = field(default_factory=dict)
    uncertainty: Uncertain | None = None
    model: object = None
    history: Callable[[], History] | None = None
    beside: Mapping[str, AnyArray] = field(default_factory=dict)
    coefficients: Callable[[], tuple[Coefficient, ...]] | None = None


_NOTHING_MORE = Outcome(np.empty(0))  # of a method that only scores


def _joined(parts: Sequence[Outcome]) -> Outcome:
    """Join the outcomes of consecutive instances.

    Fit statistics over all instances are lost, and a notice states this.
    """
    warnings = list(joined_notices([part.warnings for part in parts]))
    if any(part.fit for part in parts):
        text = (
            f"the instances were ranked in {len(parts)} parts to save memory, so overall fit statistics are "
            f"not available"
        )
        warnings.append(Notice("ranked-in-parts", text))
    return Outcome(np.concatenate([part.score for part in parts]), warnings=tuple(warnings))


def joined_notices(parts: Sequence[Sequence[Notice]]) -> tuple[Notice, ...]:
    """Join the notices about parts of the instances, one per name."""
    by_name: dict[str, list[Notice]] = {}
    for notice in (notice for part in parts for notice in part):
        by_name.setdefault(notice.name, []).append(notice)
    warnings = []
    for name, notices in by_name.items():
        items = tuple(dict.fromkeys(item for notice in notices for item in notice.items))
        differ = len({notice.text for notice in notices}) > 1
        more = f" (the same in other parts of the instances, {len(items):,} items in all)" if differ else ""
        warnings.append(Notice(name, notices[0].text + more, items))
    return tuple(warnings)


def said_by(method: Method, notices: Sequence[Notice]) -> tuple[Notice, ...]:
    """Return the notices of a method; the parameters that they name are marked as parameters of the method."""
    params = values_of(method)
    return tuple(
        replace(one, text=one.text.of_method(method.name, params)) if isinstance(one.text, Sentence) else one
        for one in notices
    )


def ballots_of_slots(prefs: Preferences, ranking: Ranking) -> Floats | None:
    """Return the weight of the ballots that mention each slot of a ranking; None if these are not its ballots."""
    from concordant import views

    slots = views.slots_of(prefs, ranking)
    return None if slots is None else views.ranked_weight(prefs)[slots]


@dataclass(frozen=True, kw_only=True)
class Method(Settings):
    """Base class of all aggregation methods.

    A method is immutable. Its fields, declared with ``param``, are its hyper-parameters.

    Examples
    --------
    >>> import concordant as cc
    >>> prefs = cc.Preferences.from_rankings([["a", "b", "c"], ["b", "a", "c"]])
    >>> cc.Borda(missing="ignore").rank(prefs).items
    ['a', 'b', 'c']
    """

    word: ClassVar[str] = "method"
    usual_name: ClassVar[str] = ""
    """Name that people know, as within a sentence, such as "Borda count"; by default, the registered name in words."""
    usual_aliases: ClassVar[Mapping[str, str]] = {}
    """Names that people know for aliases that set parameters, such as "CombMNZ"."""
    needs: ClassVar[frozenset[str]] = frozenset()
    """What the preferences must contain: a subset of agents, instances, values, order, time, whole weights, labels."""
    waives: ClassVar[Mapping[str, str]] = {}
    """Laws this method does not satisfy, each with the reason."""
    silence: ClassVar[str] = ""
    """Treatment of candidates that a ballot does not rank, in words, for methods without a parameter ``missing``."""
    matrices: ClassVar[int] = 0
    """Peak number of float64 matrices (candidates x candidates) held per instance, as measured; 0 for none."""
    by_parts: ClassVar[bool] = False
    """Whether instances may be ranked in parts if the matrices of all instances do not fit into memory."""
    takes_teams: ClassVar[bool] = False
    """Whether the method supports teams; others reject them, because they would treat the members as tied items."""
    takes_classes: ClassVar[bool] = False
    """Whether the method supports nominal answers; others reject them, because they do not order the items."""
    errors_by_ballots: ClassVar[bool] = False
    """Whether its standard errors are valid over resampled ballots, even for few ballots.

    If so, groups of ballots are compared by standard errors, otherwise by permutation tests.
    """
    likelihood_of: ClassVar[str] = ""
    """The data that ``fit["log_likelihood"]`` refers to: likelihoods of different data cannot be compared."""
    unmentioned: ClassVar[str] = "auto"
    """Value of ``missing`` that a method without this parameter uses."""
    apart: ClassVar[bool] = False
    """Whether every instance is ranked independently, so that workers can rank them in parallel."""

    @property
    def log_odds(self) -> float | None:
        """Score difference that multiplies the odds of a win by e (1 for bradley-terry); None if there is none.

        Rankings by methods that define it can be converted to the Elo scale.
        """
        return None

    def of_everybody(self) -> Self:
        """Return a variant that ranks every item, for methods that leave out inactive items.

        Returns
        -------
        Method
            The method itself unless it leaves out inactive items.
        """
        return self

    def scores(self, prefs: Preferences) -> Floats | Outcome:
        """Compute the scores; every method implements this.

        Parameters
        ----------
        prefs : Preferences
            The ballots.

        Returns
        -------
        ndarray of float64 or Outcome
            A score per slot (higher is better), or an Outcome with further results.
        """
        raise TypeError(f"{type(self).__name__} does not define scores().")

    def rank(self, prefs: Preferences) -> Ranking:
        """Rank the candidates of every instance.

        Parameters
        ----------
        prefs : Preferences
            The ballots.

        Returns
        -------
        Ranking
            The ranking.

        Raises
        ------
        NeedError
            If the preferences lack something that the method needs.
        """
        start = time.perf_counter()
        self.check_needs(prefs)
        with progress.stage(f"ranking by {usual_name(self.name)}" if progress.is_heard() else ""):
            return self.ranking_of(prefs, self._scores_within_memory(prefs), start)

    def ranking_of(self, prefs: Preferences, scored: Floats | Outcome, start: float | None = None) -> Ranking:
        """Create the ranking from computed scores.

        Parameters
        ----------
        prefs : Preferences
            The ballots.
        scored : ndarray of float64 or Outcome
            The result of ``scores``.
        start : float, optional
            Value of ``time.perf_counter()`` when the computation started.

        Returns
        -------
        Ranking
            The ranking.
        """
        outcome, score = (scored, scored.score) if isinstance(scored, Outcome) else (_NOTHING_MORE, scored)
        if not np.isfinite(score).all():
            raise InputError(
                f"{self.name} returned a score that is not finite. This is a bug: please report it "
                f"with these preferences."
            )
        return Ranking(
            vocabulary=prefs.items,
            slot_ptr=prefs.slot_ptr,
            slot_item=prefs.slot_item,
            score=score,
            instances=prefs.instances,
            agents=outcome.agents,
            fit=outcome.fit,
            notices=said_by(self, outcome.warnings),
            method=self.name,
            params=values_of(self),
            seconds=0.0 if start is None else time.perf_counter() - start,
            uncertainty=outcome.uncertainty or Uncertainty(outcome.low, outcome.high, outcome.details),
            model=outcome.model,
            why=partial(self.explained, prefs),
            past=outcome.history,
            beside=outcome.beside,
            worths=outcome.coefficients,
            sure=partial(self.assessed, prefs),
            library=prefs.library,
            log_odds=self.log_odds,
            counted=partial(ballots_of_slots, prefs),
        )

    def assessed(self, prefs: Preferences, ranking: Ranking) -> Sequence[Certainty]:
        """Assess how certain the first places of a ranking are.

        Parameters
        ----------
        prefs : Preferences
            The ballots.
        ranking : Ranking
            Their ranking by this method.

        Returns
        -------
        sequence of Certainty
            One per instance.
        """
        from concordant.narrative.certainty import assess

        return assess(ranking, prefs, self._missing)

    @property
    def _missing(self) -> str:
        return str(getattr(self, "missing", self.unmentioned))

    def explained(self, prefs: Preferences, ranking: Ranking) -> Explanation:
        """Explain the ranking of one instance from its ballots.

        Parameters
        ----------
        prefs : Preferences
            The ballots of all instances.
        ranking : Ranking
            The ranking of the instance.

        Returns
        -------
        Explanation
            The reasons, and a picture if there is one.
        """
        if not len(ranking.score):
            nothing = Reason("Nothing to explain", ["This instance has no candidates."])
            return Explanation(self.name, (nothing,), ranking.instance)
        method = self
        if ranking.instances is not None and prefs.n_instances > 1:
            method = self._settled_as_in(prefs)
            prefs = prefs.select(instances=[ranking.instances[0]])
        reasons = tuple(method.reasons(prefs, ranking))
        if not any(reason.sentences for reason in reasons):  # nothing happened that its own words are for
            reasons = (*Method.reasons(method, prefs, ranking), *reasons)
        return Explanation(self.name, reasons, ranking.instance, method.picture(prefs, ranking))

    def _settled_as_in(self, prefs: Preferences) -> Self:
        """Return the method with ``missing="auto"`` resolved by the ballots of all instances, not of one."""
        if getattr(self, "missing", None) != "auto" or getattr(self, "counts", "binary") != "binary":
            return self
        from concordant import views

        settled: Any = {"missing": views.resolve_missing(prefs, "auto")}
        return replace(self, **settled).with_learnt(**self.learnt)

    def reasons(self, prefs: Preferences, ranking: Ranking) -> Sequence[Reason]:
        """Explain the ranking of a single instance; methods override this to give their own reasons.

        Parameters
        ----------
        prefs : Preferences
            The ballots.
        ranking : Ranking
            Their ranking by this method.

        Returns
        -------
        sequence of Reason
            Steps of the explanation.
        """
        from concordant.narrative.sentences import Scene, first_places

        return first_places(Scene(prefs, ranking, self._missing), self.summary())

    def picture(self, prefs: Preferences, ranking: Ranking) -> Callable[[], str] | None:
        """Return a function that draws the explanation, for methods that have a picture.

        Parameters
        ----------
        prefs : Preferences
            The ballots.
        ranking : Ranking
            Their ranking by this method.

        Returns
        -------
        callable or None
            A function that returns SVG text.
        """
        return None

    def ranks_apart(self, prefs: Preferences) -> bool:
        """Return whether each instance of these preferences is ranked independently of the others.

        Parameters
        ----------
        prefs : Preferences
            The ballots.

        Returns
        -------
        bool
            True if instances can be distributed over workers.
        """
        return self.apart or self.by_parts

    def _scores_within_memory(self, prefs: Preferences) -> Floats | Outcome:
        """Score all instances at once, or in parts if their matrices do not fit into memory together.

        Raise MemoryLimitError if the matrices of a single instance do not fit.
        """
        size = np.diff(prefs.slot_ptr).astype(np.float64)
        needed = self.memory_of(1) * size**2
        if memory.fits(float(needed.sum())):
            return self.scores(prefs)
        advice = "use a method without pairwise matrices (borda, rrf), or select fewer items"
        if not self.by_parts or prefs.instances is None:
            many = len(size) > 1
            more = f" in {len(size):,} instances" if many else ""
            some = Sentence(advice, action("select", ", or fewer instances with select(instances=…)") if many else "")
            memory.require(float(needed.sum()), f"{self.name} on up to {int(size.max()):,} items{more}", some)
        memory.require(float(needed.max()), f"{self.name} on {int(size.max()):,} items", advice)
        return self._scores_by_parts(prefs, needed)

    def _scores_by_parts(self, prefs: Preferences, needed: Floats) -> Outcome:
        """Score consecutive instances in parts whose matrices fit into memory together.

        ``needed`` is the memory of each instance in bytes.
        """
        assert prefs.instances is not None
        allowed, bounds, bytes_in_part = memory.allowance(), [0], 0.0
        for instance, amount in enumerate(needed.tolist()):
            bytes_in_part += amount
            if bytes_in_part > allowed and instance > bounds[-1]:
                bounds.append(instance)
                bytes_in_part = amount
        parts = []
        for start, stop in progress.steps(list(pairwise([*bounds, len(needed)]))):
            scored = self.scores(prefs.select(instances=prefs.instances[start:stop]))
            parts.append(scored if isinstance(scored, Outcome) else Outcome(scored))
        return _joined(parts)

    def needed(self) -> frozenset[str]:
        """Return the requirements of these hyper-parameters.

        Returns
        -------
        frozenset of str
            ``needs``, without or with those of some hyper-parameters.
        """
        return self.needs

    def check_needs(self, prefs: Preferences) -> None:
        """Raise an error if the preferences lack something that the method needs.

        Parameters
        ----------
        prefs : Preferences
            The ballots.

        Raises
        ------
        NeedError
            If, for example, agents or ratings are missing, or there are teams or unordered classes that the method does
            not support.
        InputError
            If there are no items.
        """
        if not prefs.n_slots:
            raise InputError("There is nothing to rank: the preferences contain no items.")
        lacking = {
            "agents": prefs.agents is None,
            "instances": prefs.instances is None,
            "values": prefs.value is None,
            "order": prefs.is_merged,
            "time": prefs.time is None,
            "points": prefs.points is None,
            "whole weights": bool((prefs.weight != np.floor(prefs.weight)).any()),
            "labels": not self.learnt,
        }
        for need in sorted(self.needed()):
            if lacking[need]:
                raise NeedError(f"{self.name} cannot rank this data: " + NEEDS[need] + ".")
        if prefs.team is not None and not self.takes_teams:
            raise NeedError(f"{self.name} does not support teams: " + TEAMS + ".")
        if prefs.classes is not None and not self.takes_classes:
            from concordant.ballots.form import refuse_nominal

            refuse_nominal(prefs, self.name)

    @classmethod
    def memory_of(cls, items: int) -> float:
        """Estimate the peak memory of the matrices of one instance.

        Parameters
        ----------
        items : int
            Number of candidates.

        Returns
        -------
        float
            Memory in bytes.
        """
        return 8.0 * cls.matrices * items**2


def needs_agents(method: Method) -> bool:
    """Return whether a method uses the agents of pairs.

    It does if it requires them, or if its standard errors, adherence, judge effects or weights are estimated per agent.
    """
    is_clustered = getattr(method, "errors", "") in ("sandwich", "bootstrap")
    has_judges = getattr(method, "judge_effects", "none") != "none"
    is_weighted = bool(getattr(method, "adherence", False)) or "agent_weights" in method.learnt
    return "agents" in method.needs or is_clustered or has_judges or is_weighted
