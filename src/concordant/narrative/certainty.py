"""Certainty of the first place of a ranking: one statement, computed once and used by every output.

The statement is about the difference between the first item and the runner-up. Its basis is one of:

- *model*: the method has standard errors. The difference d of the two scores is tested by z = d / se(d), with the
  joint variance of the two scores if the method provides it, and with the sum of their variances otherwise.
- *votes*: the method is a rule without standard errors. A sign test on the direct comparison: of n ballots that prefer
  one of the two, k prefer the first; two-sided p = 2 P(X >= max(k, n - k)) for X binomial(n, 1/2).
- *none*: neither exists, or the two scores belong to different times, so the difference cannot be tested.

P(best) and the confidence interval of the rank come from the joint distribution of the scores. P(best) cannot exceed
the probability that the first item beats the runner-up, 1 - p / 2, so "P(best) is at least 97.5%" always implies "the
difference is significant at 5%", and a rank interval of 1 to 1 is equivalent to P(best) >= 97.5%.

The amount of data for a significant difference is extrapolated at constant proportions: the z statistic grows with the
square root of the data; for votes the sign test is solved for n. Nothing is extrapolated if the runner-up wins the
direct comparison, because more of the same votes would not confirm the first place.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np

from concordant import views
from concordant.ballots.segments import sum_by
from concordant.ballots.vocabulary import all_in_sentence
from concordant.errors import ConcordantError
from concordant.preferences import Preferences
from concordant.ranking import Ranking
from concordant.results.uncertain import independent_errors
from concordant.support import special
from concordant.support.text import p_value, without_isolates
from concordant.types import AnyArray, Floats, Int64s

LEVEL = 0.95
MAX_FACTOR = 100.0  # times the data; beyond this an extrapolation says nothing
FEW_TESTS = 100  # sign tests that cost less than loading SciPy
MANY_VOTES = 1e12
WIDTH = 30  # characters of a label in a sentence
NAMED = 4  # items that share the first place and are named
RANKED = 1_000  # items up to which the interval of the first item's rank is part of the statement


@dataclass(frozen=True, repr=False)
class Certainty:
    """The certainty of the first place of one ranking; unknown values are ``None``.

    ``difference`` with ``low`` and ``high`` is in the units of the scores; ``votes`` counts the ballots that prefer the
    first item and those that prefer the runner-up, in direct comparison; ``defeat`` is another item that most ballots
    prefer to the first, with the votes for the first and for that item. ``n_close`` is the number of other items whose
    difference from the first is not significant. ``factor`` is the multiple of the data needed for significance at
    constant proportions. For votes, ``factor`` and the rank interval are known for a single instance only.
    """

    method: str
    n_items: int
    first: tuple[str, ...]
    runner_up: str | None = None
    basis: str = "none"
    level: float = LEVEL
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    votes: tuple[float, float] | None = None
    defeat: tuple[str, float, float] | None = None
    p_best: float | None = None
    rank_low: int | None = None
    rank_high: int | None = None
    n_close: int | None = None
    factor: float | None = None

    @property
    def is_shared(self) -> bool:
        """Whether several items share the first place."""
        return len(self.first) > 1

    @property
    def lead(self) -> float:
        """The tested quantity: the difference of the scores, or of the votes; positive if it favours the first item."""
        if self.basis == "votes" and self.votes is not None:
            return self.votes[0] - self.votes[1]
        return self.difference or 0.0

    @property
    def is_significant(self) -> bool:
        """Whether the first item is significantly ahead of the runner-up."""
        return self.p is not None and self.p < 1 - self.level and self.lead > 0

    @property
    def is_certain(self) -> bool:
        """Whether the first place is significant against all other items together, not only the runner-up."""
        is_likely = self.p_best is None or self.p_best >= (1 + self.level) / 2
        return self.is_significant and is_likely and self.defeat is None

    @property
    def is_reversed(self) -> bool:
        """Whether more ballots prefer the runner-up to the first item."""
        return self.votes is not None and self.votes[1] > self.votes[0]

    def times(self, factor: float) -> Certainty:
        """Return the statement in another unit of the scores, ``factor`` times as large."""
        parts = (self.difference, self.low, self.high)
        difference, low, high = (None if part is None else factor * part for part in parts)
        return replace(self, difference=difference, low=low, high=high)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        plain = asdict(self)
        plain["first"] = list(self.first)
        for name in ("votes", "defeat"):
            plain[name] = None if plain[name] is None else list(plain[name])
        return plain | {
            "is_significant": self.is_significant,
            "is_certain": self.is_certain,
            "text": without_isolates(" ".join(self.sentences())),
        }

    # ---- in words ----
    def __repr__(self) -> str:
        return f"Certainty: {self.headline() or 'nothing is ranked'}"

    def sentences(self) -> list[str]:
        """Return the statement: which item is first, whether the difference is significant, what would change it."""
        return [sentence for sentence in (self.headline(), self.test(), self.others(), self.outlook()) if sentence]

    def sentence(self) -> str:
        """Return the statement in one sentence, as verdicts show it: the test, or that the first place is shared."""
        return replace(self, method="").headline() if self.is_shared else self.test()

    @property
    def _names(self) -> list[str]:
        """The labels for sentences: the first items, then the runner-up if there is one."""
        return all_in_sentence([*self.first[:NAMED], *([] if self.runner_up is None else [self.runner_up])], WIDTH)

    @property
    def _firsts(self) -> str:
        """The first items as a phrase: a, b and c; beyond ``NAMED``, only the number of further items."""
        shown = self._names[: min(len(self.first), NAMED)]
        if len(self.first) > NAMED:
            return f"{', '.join(shown)} and {len(self.first) - NAMED:,} more"
        return f"{', '.join(shown[:-1])} and {shown[-1]}" if len(shown) > 1 else shown[0]

    def headline(self) -> str:
        """Return which item is first, with P(best) and the confidence interval of the rank if they are known."""
        by = f" by {self.method}" if self.method else ""
        if not self.first:
            return ""
        if self.is_shared:
            return f"{self._firsts} share first place among {self.n_items:,}{by}."
        facts = [] if self.p_best is None else [f"P(best) = {percent(self.p_best)}"]
        if self.rank_low is not None and self.rank_high is not None:
            rank_text = (
                f"{self.rank_low}" if self.rank_low == self.rank_high else f"{self.rank_low} to {self.rank_high}"
            )
            facts.append(f"{self.level:.0%} CI of its rank: {rank_text}")
        in_brackets = f" ({'; '.join(facts)})" if facts else ""
        return f"{self._names[0]} is first of {self.n_items:,}{by}{in_brackets}."

    def test(self) -> str:
        """Return whether the difference from the runner-up is significant; empty without a test."""
        if self.is_shared or self.runner_up is None or (self.p is None and self.votes is None):
            return ""
        first, second = self._names[0], self._names[-1]
        if self.p is None:
            why = "No vote compares {} and {} directly"
            if self.votes is not None and self.votes[0] + self.votes[1] > 0:
                why = "The scores of {} and {} belong to different times"
            return f"{why.format(first, second)}, so their difference cannot be tested."
        if self.lead < 0:
            return self._against(first, second)
        verdict = "is significant" if self.is_significant else "is not significant"
        tested = f"The difference from the runner-up {second} {verdict}: {self._evidence()}."
        return f"{tested}{self._direct(second)}{self._defeat()}"

    def others(self) -> str:
        """Return the results for the other items, if the runner-up is not the only rival."""
        if self.n_close is None or self.is_shared:
            return ""
        n_lower = self.n_close - (not self.is_significant)
        if n_lower <= 0:
            is_overall_open = self.is_significant and not self.is_certain
            return (
                f"Against all {self.n_items - 1:,} other items together it is not significant."
                if is_overall_open
                else ""
            )
        rest = "lower-ranked items are" if n_lower > 1 else "lower-ranked item is"
        either = "" if self.is_significant else " either"
        return f"{n_lower:,} {rest} not significantly behind {self._names[0]}{either}."

    def outlook(self) -> str:
        """Return how much data would make the difference significant, if that can be extrapolated."""
        if self.factor is None:
            return ""
        if self.basis == "votes" and self.votes is not None:
            return (
                f"At the same proportions about {math.ceil(self.factor * sum(self.votes) - 1e-9):,} such votes would "
                "be needed for a significant difference."
            )
        # Rounded up near 1, where "1 times as much data" would say that there are enough.
        times = f"{math.ceil(100 * self.factor - 1e-9) / 100:.3g}" if self.factor < 1.1 else f"{self.factor:.2g}"
        return f"At the same proportions about {times} times as much data would be needed for a significant difference."

    def _evidence(self) -> str:
        """Return the test result in words: the votes and sign test, or the difference with its CI and p-value."""
        p = p_value(self.p or 0.0)
        if self.basis == "votes" and self.votes is not None:
            return f"{self.votes[0]:,.6g} to {self.votes[1]:,.6g} votes in direct comparison (sign test, {p})"
        return f"{self.difference:.3g} ({self.level:.0%} CI {self.low:.3g} to {self.high:.3g}, {p})"

    def _direct(self, second: str) -> str:
        """Return a sentence on the direct comparison if it contradicts the scores of a model."""
        if self.basis == "votes" or not self.is_reversed or self.votes is None:
            return ""
        return f" {second} wins the direct comparison ({self.votes[1]:,.6g} to {self.votes[0]:,.6g})."

    def _defeat(self) -> str:
        """Return a sentence on another item that wins the direct comparison with the first; empty if none does."""
        if self.defeat is None:
            return ""
        (first, rival), (_, won, lost) = all_in_sentence([self.first[0], self.defeat[0]], WIDTH), self.defeat
        return f" But {first} loses the direct comparison with {rival} ({won:,.6g} to {lost:,.6g})."

    def _against(self, first: str, second: str) -> str:
        """Return a sentence for the case that the tested difference favours the runner-up."""
        if self.basis == "votes" and self.votes is not None:
            won, lost = self.votes
            return (
                f"In direct comparison more votes prefer the runner-up {second} to {first}, {lost:,.6g} to "
                f"{won:,.6g} (sign test, {p_value(self.p or 0.0)}), which this ranking does not follow."
            )
        return f"The runner-up {second} has the higher score: the difference is {self._evidence()}."


def percent(p: float) -> str:
    """Return a probability as text: 65%, >99.9%, <0.1%."""
    if 0 < p < 0.001:
        return "<0.1%"
    return ">99.9%" if p > 0.999 else f"{100 * p:.3g}%"


def summary(certainties: Sequence[Certainty], instances: str = "instances") -> str:
    """Return a sentence on how many of several instances, or queries, have a significant first place."""
    tested = [certainty for certainty in certainties if certainty.runner_up is not None or certainty.is_shared]
    if not tested:
        return f"The first item is not compared with a runner-up in any of the {instances}."
    n = sum(certainty.is_significant for certainty in tested)
    return (
        f"The difference between the first item and the runner-up is significant in {n:,} of {len(tested):,} "
        f"{instances} ({1 - tested[0].level:.0%} level)."
    )


# ---- computed ----
def assess(ranking: Ranking, prefs: Preferences | None = None, missing: str = "auto") -> list[Certainty]:
    """Return the certainty of the first place of every instance; ``prefs`` are the ballots behind the ranking, if
    known.

    ``missing`` is the convention for candidates a ballot does not mention, in direct comparisons.
    """
    size = np.diff(ranking.slot_ptr)
    contested = np.flatnonzero(size > 1)
    first, second = ranking.order[ranking.slot_ptr[contested]], ranking.order[ranking.slot_ptr[contested] + 1]
    slots = _slots_behind(prefs, ranking)
    votes = None if prefs is None or slots is None else _votes(prefs, missing, slots[first], slots[second])
    p = None if votes is None else sign_test(*votes)
    certainties = []
    place = {int(q): k for k, q in enumerate(contested)}
    for q in range(ranking.n_instances):
        k = place.get(q)
        if k is None or ranking.rank_in_order[ranking.slot_ptr[q] + 1] == 1:
            certainties.append(_untested(ranking, q))
            continue
        direct = None if votes is None or p is None else (float(votes[0][k]), float(votes[1][k]), float(p[k]))
        certainty = _tested(ranking, q, int(first[k]), int(second[k]), direct)
        if certainty.basis == "votes" and ranking.n_instances == 1 and prefs is not None and slots is not None:
            certainty = replace(certainty, defeat=_defeat(prefs, missing, int(slots[first[k]]), int(slots[second[k]])))
        certainties.append(certainty)
    return certainties


def _untested(ranking: Ranking, q: int) -> Certainty:
    """Return the certainty of an instance whose first place is shared, or that has one item."""
    start, stop = int(ranking.slot_ptr[q]), int(ranking.slot_ptr[q + 1])
    n_first = int((ranking.rank_in_order[start:stop] == 1).sum())
    labels = ranking.vocabulary.take(ranking.slot_item[ranking.order[start : start + n_first]])
    return Certainty(ranking.method, stop - start, tuple(labels))


def _tested(ranking: Ranking, q: int, first: int, second: int, direct: tuple[float, float, float] | None) -> Certainty:
    """Return the certainty of an instance with a first item and a runner-up (slots).

    The model's standard errors are used if they exist, otherwise the direct votes: (for first, for second, p).
    """
    labels = ranking.vocabulary.take(ranking.slot_item[[first, second]])
    n = int(ranking.slot_ptr[q + 1] - ranking.slot_ptr[q])
    votes = None if direct is None else direct[:2]
    fields: dict[str, Any] = {
        "method": ranking.method,
        "n_items": n,
        "first": (labels[0],),
        "runner_up": labels[1],
        "votes": votes,
    }
    errors = _errors_of_differences(ranking, q, first, second)
    start = int(ranking.slot_ptr[q])
    if errors is not None and errors[second - start] > 0:
        return _by_scores(ranking, q, first, second, errors, fields)
    if votes is None or not sum(votes) or (errors is not None and np.isnan(errors[second - start])):
        return Certainty(**fields)
    p = direct[2] if direct is not None else 1.0
    can_extrapolate = ranking.n_instances == 1 and p >= 1 - LEVEL and votes[0] > votes[1]
    factor = _factor_of_votes(*votes) if can_extrapolate else None
    return Certainty(**fields, basis="votes", p=p, factor=factor)


def _by_scores(ranking: Ranking, q: int, first: int, second: int, errors: Floats, known: dict[str, Any]) -> Certainty:
    """Return the certainty by a method with standard errors; ``errors`` are those of the differences from the first.

    ``known`` are the fields that are already set.
    """
    start, stop = int(ranking.slot_ptr[q]), int(ranking.slot_ptr[q + 1])
    level = _level(ranking)
    critical = NormalDist().inv_cdf((1 + level) / 2)
    difference = ranking.score[first] - ranking.score[start:stop]
    gap, error = float(difference[second - start]), float(errors[second - start])
    p = two_sided(gap / error)
    is_close = ~(difference > critical * errors)  # also where the error is not known
    is_close[first - start] = False
    is_reversed = known["votes"] is not None and known["votes"][1] > known["votes"][0]
    factor = (critical * error / gap) ** 2 if gap > 0 and not is_reversed else 0.0
    details = ranking.details
    p_best = rank_low = rank_high = None
    if "p_best" in details:
        p_best = min(float(details["p_best"][first]), 1 - p / 2 if gap > 0 else 0.5)
    if "rank_low" in details and ranking.n_instances == 1 and stop - start <= RANKED:
        rank_low, rank_high = int(details["rank_low"][first]), int(details["rank_high"][first])
    return Certainty(
        **known,
        basis="model",
        level=level,
        difference=gap,
        low=gap - critical * error,
        high=gap + critical * error,
        p=p,
        p_best=p_best,
        rank_low=rank_low,
        rank_high=rank_high,
        n_close=int(is_close.sum()),
        factor=factor if 1 <= factor <= MAX_FACTOR else None,
    )


def _level(ranking: Ranking) -> float:
    """Return the confidence level of the ranking's intervals, ``LEVEL`` if it has none."""
    level = ranking.params.get("level", LEVEL)
    return float(level) if isinstance(level, float) and 0 < level < 1 else LEVEL


def _errors_of_differences(ranking: Ranking, q: int, first: int, second: int) -> Floats | None:
    """Return the standard errors of the differences between the first item and all candidates of its instance.

    They come from the joint distribution of the scores if it is known. Otherwise scores are treated as independent,
    except for the runner-up if the model has the error of that difference. NaN if two scores cannot be compared.
    """
    uncertainty = ranking.uncertainty.known()
    if uncertainty.apart is not None and (joint := uncertainty.apart(first)) is not None:
        return joint
    span = slice(int(ranking.slot_ptr[q]), int(ranking.slot_ptr[q + 1]))
    errors = independent_errors(uncertainty, span, first, _level(ranking))
    if errors is None:
        return None
    if (error_of_two := _joint_error(ranking, q, first, second)) is not None:
        errors[second - span.start] = error_of_two
    return errors


def _joint_error(ranking: Ranking, q: int, first: int, second: int) -> float | None:
    """Return the standard error of the difference between two slots by the fitted model; None if it has none."""
    ask = getattr(ranking.model, "difference", None)
    if not callable(ask):
        return None
    labels = ranking.vocabulary.take(ranking.slot_item[[first, second]])
    factor = 1.0 if ranking.converted is None else ranking.converted.factor
    try:
        return factor * float(ask(*labels, None if ranking.instances is None else ranking.instances[q])[1])
    except ConcordantError:
        return None


def two_sided(z: float) -> float:
    """Return the two-sided p-value of a standard normal statistic."""
    return math.erfc(abs(z) / math.sqrt(2))


# ---- votes ----
def sign_test(k: AnyArray | float, other: AnyArray | float) -> Floats:
    """Return the two-sided p-value of a sign test of k against ``other`` votes; weights need not be integers."""
    votes = np.asarray(k, np.float64), np.asarray(other, np.float64)
    larger, smaller = np.maximum(*votes), np.minimum(*votes)
    positive = np.maximum(larger, 1e-9)
    if larger.size > FEW_TESTS or (larger + smaller).max(initial=0.0) >= special.MAX_SUM:
        from scipy.special import betainc, ndtr

        n = np.maximum(larger + smaller, 1.0)
        # With this many votes the normal approximation is exact in double precision; betainc is not.
        tail = np.where(n < MANY_VOTES, betainc(positive, smaller + 1, 0.5), ndtr((smaller - larger) / np.sqrt(n)))
    else:
        pairs = zip(positive.reshape(-1).tolist(), smaller.reshape(-1).tolist(), strict=True)
        tail = np.reshape([special.betainc(a, b + 1, 0.5) for a, b in pairs], larger.shape)
    return np.where(larger > 0, np.minimum(1.0, 2 * tail), 1.0)


def _factor_of_votes(won: float, lost: float) -> float | None:
    """Return the multiple of these votes at which the sign test is significant; None above ``MAX_FACTOR``."""
    low, high = 1.0, 2.0
    while float(sign_test(won * high, lost * high)) >= 1 - LEVEL:
        low, high = high, 2 * high
        if low > MAX_FACTOR:
            return None
    for _ in range(30):
        middle = (low + high) / 2
        is_enough = float(sign_test(won * middle, lost * middle)) < 1 - LEVEL
        low, high = (low, middle) if is_enough else (middle, high)
    return high


def _slots_behind(prefs: Preferences | None, ranking: Ranking) -> Int64s | None:
    """Return the slot in ``prefs`` of every ranked candidate; None if direct comparisons are not defined (teams)."""
    return None if prefs is None or prefs.team is not None else views.slots_of(prefs, ranking)


def _votes(prefs: Preferences, missing: str, first: Int64s, second: Int64s) -> tuple[Floats, Floats]:
    """Return the weight of the ballots that prefer the first to the second slot of each pair, and the reverse.

    Each pair belongs to a different instance.
    """
    unmentioned = np.iinfo(np.int64).max
    tiers = []
    for slots in (first, second):
        is_wanted = np.zeros(prefs.n_slots, bool)
        is_wanted[slots] = True
        entry = np.flatnonzero(is_wanted[prefs.entry_slot])
        tier = np.full(prefs.n_ballots, unmentioned)
        tier[views.ballot_of_entry(prefs)[entry]] = prefs.tier[entry]
        tiers.append(tier)
    tier_of_first, tier_of_second = tiers
    is_counted = tier_of_first != tier_of_second
    if views.resolve_missing(prefs, missing) == "ignore":
        is_counted &= (tier_of_first != unmentioned) & (tier_of_second != unmentioned)
    weight, instance, n = prefs.weight * is_counted, prefs.instance_of_ballot, prefs.n_instances
    of_pair = views.instance_of_slot(prefs)[first]
    return sum_by(instance, weight * (tier_of_first < tier_of_second), n)[of_pair], sum_by(
        instance, weight * (tier_of_first > tier_of_second), n
    )[of_pair]


def _defeat(prefs: Preferences, missing: str, first: int, second: int) -> tuple[str, float, float] | None:
    """Return the item, other than the runner-up, with the largest majority over the first, and the votes of both."""
    tier_of_first = np.full(prefs.n_ballots, np.iinfo(np.int64).max)
    ballot, n = views.ballot_of_entry(prefs), prefs.n_slots
    entry = np.flatnonzero(prefs.entry_slot == first)
    tier_of_first[ballot[entry]] = prefs.tier[entry]
    own, weight = tier_of_first[ballot], prefs.weight[ballot]
    is_listed = own != np.iinfo(np.int64).max  # the first item, on the ballot of this entry
    won, lost = (sum_by(prefs.entry_slot, weight * is_so, n) for is_so in ((prefs.tier > own), (prefs.tier < own)))
    if views.resolve_missing(prefs, missing) == "ignore":
        lost = sum_by(prefs.entry_slot, weight * ((prefs.tier < own) & is_listed), n)
    else:
        won += prefs.weight[ballot[entry]].sum() - sum_by(prefs.entry_slot, weight * is_listed, n)
    margin = lost - won
    margin[[first, second]] = 0.0
    rival = int(margin.argmax())
    if margin[rival] <= 0:
        return None
    return str(prefs.items[int(prefs.slot_item[rival])]), float(won[rival]), float(lost[rival])
