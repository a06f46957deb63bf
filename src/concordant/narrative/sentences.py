"""Building blocks of explanations: names and numbers in sentences, pairwise votes, and leads.

An explanation covers one instance, described by a ``Scene``; ``first_places`` explains the ranking of any method.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from concordant import views
from concordant.ballots.vocabulary import all_in_sentence
from concordant.narrative.fields import Field, field_of_preferences
from concordant.preferences import Preferences
from concordant.ranking import Ranking
from concordant.results.explanation import Reason
from concordant.support.text import number_format, short_number
from concordant.types import AnyArray, Floats, Int64s

SHOWN = 5  # places that an explanation speaks of
WIDTH = 30  # signs of a label in a sentence
NAMED = 4  # items that a sentence names
COUNTS = "What counts: "  # then the summary of the method
_ORDINALS = {1: "st", 2: "nd", 3: "rd"}


def number(value: float) -> str:
    """Return a number for a sentence: four significant digits, or all digits of a whole number."""
    return short_number(value)


def listed(names: Sequence[str], max_names: int = NAMED) -> str:
    """Return names as a phrase: a, b and c; a, b, c, d and 7 more."""
    if len(names) > max_names + 1:
        return f"{', '.join(names[:max_names])} and {len(names) - max_names:,} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def ordinal(rank: int) -> str:
    """Return a rank as text: 1st, 2nd, 3rd, 11th."""
    ending = "th" if rank % 100 in (11, 12, 13) else _ORDINALS.get(int(rank) % 10, "th")
    return f"{rank:,}{ending}"


def counted(count: float, noun: str) -> str:
    """Return a number of things as text: 1 ballot, 2 ballots, 2.5 ballots."""
    return f"{number(count)} {noun}{'s' * (count != 1)}"


@dataclass(frozen=True, eq=False)
class Scene:
    """One instance and its ranking, for explanations; slots are those of the preferences, some may not be ranked."""

    prefs: Preferences
    ranking: Ranking
    missing: str = "auto"
    """The treatment of candidates that a ballot does not mention, in direct comparisons."""

    @cached_property
    def names(self) -> list[str]:
        """The names of all slots, shortened for sentences."""
        return all_in_sentence(self.prefs.items.take(self.prefs.slot_item), WIDTH)

    @cached_property
    def order(self) -> list[int]:
        """The ranked slots, best first."""
        return [int(slot) for slot in views.order_of(self.prefs, self.ranking)[: len(self.ranking.score)]]

    def by_slot(self, values: AnyArray) -> AnyArray:
        """Return values of the ranking by slot of the preferences, 0 if a slot is not ranked."""
        if len(values) == self.prefs.n_slots:
            return values
        out = np.zeros(self.prefs.n_slots, values.dtype)
        out[self.order] = values[self.ranking.order]
        return out

    @cached_property
    def rank(self) -> list[int]:
        """The rank of every slot, 0 if it is not ranked."""
        return [int(rank) for rank in self.by_slot(self.ranking.rank_by_slot)]

    @cached_property
    def ends(self) -> tuple[Floats, Floats] | None:
        """The ends of the intervals of every slot, if the method has intervals."""
        low, high = self.ranking.slot_low, self.ranking.slot_high
        return None if low is None or high is None else (self.by_slot(low), self.by_slot(high))

    @cached_property
    def value(self) -> Floats:
        """The value every slot is sorted by: its score, or an end of its interval."""
        if self.sorted_by != "score" and self.ends is not None:
            return self.ends[self.sorted_by == "high"]
        return self.by_slot(self.ranking.score)

    @property
    def sorted_by(self) -> str:
        """What the ranking is sorted by: "score", "low" or "high"."""
        return self.ranking.sorted_by

    @property
    def value_name(self) -> str:
        """The name of that value in a sentence."""
        return "score" if self.sorted_by == "score" else f"{self.sorted_by} end of the interval"

    @property
    def top(self) -> list[int]:
        """The slots in the first places."""
        return self.order[:SHOWN]

    @property
    def neighbours(self) -> list[tuple[int, int]]:
        """The pairs of adjacent slots among the first places and the next one."""
        return list(pairwise(self.order[: SHOWN + 1]))

    @property
    def noun(self) -> str:
        """The word for a vote: "comparison" or "ballot"."""
        return "comparison" if self.prefs.form == "pairs" else "ballot"

    @cached_property
    def field(self) -> Field:
        """The words of the field of the preferences."""
        return field_of_preferences(self.prefs)

    @property
    def is_league(self) -> bool:
        """Whether the preferences are matches, which are won and lost."""
        return self.field.name == "league"

    @cached_property
    def _convention(self) -> str:
        return views.resolve_missing(self.prefs, self.missing)

    def votes(self, one: int, two: int) -> tuple[float, float, float]:
        """Return the weights of the ballots that rank slot one above slot two, below it, and tied with it."""
        tier_of_one, tier_of_two = self._tier_by_ballot(one), self._tier_by_ballot(two)
        unmentioned = np.iinfo(np.int64).max
        is_counted = np.ones(len(tier_of_one), bool)
        if self._convention == "ignore":
            is_counted = (tier_of_one != unmentioned) & (tier_of_two != unmentioned)
        is_level = is_counted & (tier_of_one == tier_of_two) & (tier_of_one != self._last_open)
        if self._convention == "last-free":
            is_level &= tier_of_one != unmentioned
        weight = self.prefs.weight
        ahead, behind = is_counted & (tier_of_one < tier_of_two), is_counted & (tier_of_one > tier_of_two)
        return float(weight[ahead].sum()), float(weight[behind].sum()), float(weight[is_level].sum())

    def _tier_by_ballot(self, slot: int) -> Int64s:
        """Return the tier of a slot in every ballot; the largest integer if the ballot does not mention it."""
        entry = np.flatnonzero(self.prefs.entry_slot == slot)
        tier = np.full(self.prefs.n_ballots, np.iinfo(np.int64).max)
        tier[self._ballot[entry]] = self.prefs.tier[entry]
        return tier

    @cached_property
    def _ballot(self) -> Int64s:
        return views.ballot_of_entry(self.prefs)

    @cached_property
    def _last_open(self) -> Int64s:
        """The last tier of every open ballot, whose items are not compared; -1 for other ballots."""
        last = np.full(self.prefs.n_ballots, -1, np.int64)
        if self.prefs.open is not None and len(self.prefs.tier):
            is_open = self.prefs.open & (np.diff(self.prefs.indptr) > 0)
            last[is_open] = self.prefs.tier[self.prefs.indptr[1:][is_open] - 1]
        return last


def first_places(scene: Scene, summary: str) -> list[Reason]:
    """Explain the first places: the method, the lead, ties, and the direct comparisons of adjacent items."""
    names = scene.names
    if len(scene.order) == 1:
        only = f"{names[scene.order[0]]} is the only candidate."
        return [Reason("The first place", [f"{COUNTS}{summary}", only])]
    sentences = [f"{COUNTS}{summary}", *_lead(scene)]
    shown = scene.order[: SHOWN + 1]
    score = {slot: float(scene.value[slot]) for slot in shown}
    write = number_format([*score.values(), *(score[a] - score[b] for a, b in pairwise(shown))])
    votes = {pair: scene.votes(*pair) for pair in scene.neighbours}
    if votes:
        sentences += _direct(scene, votes)
    rows = []
    for place, slot in enumerate(shown[:SHOWN]):
        row = [str(scene.rank[slot]), names[slot], write(score[slot])]
        if place + 1 < len(shown):
            ahead, behind, _ = votes[slot, shown[place + 1]]
            duel = f"{number(ahead)} to {number(behind)}" if ahead + behind else "-"
            row += [write(score[slot] - score[shown[place + 1]]), duel]
        else:
            row += ["", ""]
        rows.append(row)
    nouns = scene.field.ballot[1] if scene.is_league else f"{scene.noun}s"
    header = ["rank", "item", scene.value_name, "lead over the next", f"{nouns} against the next"]
    return [Reason("The first places", sentences, header, rows, frozenset({0, 2, 3, 4}))]


def _lead(scene: Scene) -> list[str]:
    """Return sentences on which item is first, and by how much."""
    names, value = scene.names, scene.value
    n, score = len(scene.order), float(value[scene.order[0]])
    first = [slot for slot in scene.order if scene.rank[slot] == 1]
    tied = [names[slot] for slot in first]
    if len(first) == n:
        return [f"All {n:,} candidates are tied with a {scene.value_name} of {number(score)}: {listed(tied)}."]
    behind = scene.order[len(first)]
    lead = f"{number(score - float(value[behind]))} ahead of {names[behind]}"
    if len(first) > 1:
        return [f"{listed(tied)} share first place among {n:,} with a {scene.value_name} of {number(score)}, {lead}."]
    return [
        f"{tied[0]} is first of {n:,} with a {scene.value_name} of {number(score)}, {lead}.",
        *_certainty(scene),
    ]


def _certainty(scene: Scene) -> list[str]:
    """Return sentences on whether the lead is significant, if the method has standard errors."""
    certainty = scene.ranking.certainty
    return (
        [certainty.test(), *filter(None, [certainty.others(), certainty.outlook()])]
        if certainty.basis == "model"
        else []
    )


def _direct(scene: Scene, votes: dict[tuple[int, int], tuple[float, float, float]]) -> list[str]:
    """Return sentences on the direct comparison of the first two, and on adjacent items ranked against the majority."""
    (first, second), (ahead, behind, level) = next(iter(votes.items()))
    names = scene.names
    if not ahead + behind + level:
        who, sign = f"{names[first]} and {names[second]}", "their order is indirect"
        without = f"No {scene.noun} compares {who} directly: {sign}."
        sentences = [f"{who} had no {scene.field.ballot[0]}: {sign}." if scene.is_league else without]
    elif scene.is_league:
        drawn = f" and {number(level)} {'was' if level == 1 else 'were'} drawn" if level else ""
        n = ahead + behind + level
        met = f"In {number(n)} {scene.field.ballot[int(n != 1)]} with {names[second]}"
        lost = f"{', ' if drawn else ' and '}lost {number(behind)}"
        sentences = [f"{met}, {names[first]} won {number(ahead)}{lost}{drawn}."]
    else:
        ties = f", {number(level)} {'ties' if level == 1 else 'tie'} them" if level else ""
        verb = "prefers" if ahead == 1 else "prefer"
        sentences = [
            f"In direct comparison {counted(ahead, scene.noun)} {verb} {names[first]} to {names[second]}, "
            f"{number(behind)} the other way{ties}."
        ]
    against = [
        f"{names[b]} {'leads' if scene.is_league else 'to'} {names[a]} ({number(lost)} to {number(won)})"
        for (a, b), (won, lost, _) in votes.items()
        if lost > won and scene.rank[a] < scene.rank[b]
    ]
    if against:
        said = f"Most {scene.noun}s prefer {listed(against)}"
        if scene.is_league:
            said = f"In direct {scene.field.ballot[1]} {listed(against)}"
        sentences.append(f"{said}, which the ranking does not follow.")
    return sentences
