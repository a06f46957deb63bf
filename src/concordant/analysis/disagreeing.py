"""Explain why methods disagree: cycles, missing items, strength versus number of preferences, close votes.

For two items that two methods order differently, the first applicable reason of this list is given:

- *cycle*: a cycle of strict majorities contains both items; rules differ in the majority they override.
- *missing*: one of the two is on far fewer ballots than the other (by a factor of 1.5), and methods differ in the
  treatment of unlisted items.
- *intensity*: more ballots prefer one, but the other leads by more places in total.
- *first places*: one has more first places and yet loses the direct comparison.
- *ratings*: one is rated higher on average and yet loses the direct comparison.
- *others*: one wins the direct comparison, the other more of all its comparisons.
- *close*: the direct comparison is not significant (sign test, 5%).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from concordant import views
from concordant.aggregate.explain.contests import shortest_chain
from concordant.ballots.vocabulary import all_in_sentence, shorten_apart
from concordant.narrative.certainty import LEVEL, sign_test
from concordant.narrative.sentences import WIDTH, counted, listed, ordinal
from concordant.preferences import Preferences
from concordant.ranking import Ranking
from concordant.results.explanation import Reason
from concordant.support import memory
from concordant.types import Bools, Floats, Int32s

FEWER = 1.5  # times as many ballots as the other item
MAX_FOR_CYCLES = 300
LONGEST_CYCLE = 6
MOVERS = 5  # items of the table of those that methods disagree on
ALL = 100  # methods that a sentence names


def differences(prefs: Preferences, rankings: Sequence[Ranking], names: Sequence[str], title: str) -> list[Reason]:
    """Explain how far rankings of one instance agree, why they differ, and on which items they differ most."""
    ranks = _ranks(rankings)
    if (ranks == ranks[0]).all():
        n = len(names)
        whole = f"All {n:,} methods" if n > 1 else names[0]
        return [
            Reason(title, [f"{whole} give{'s' * (n == 1)} the same order, with {_firsts_of(prefs, ranks[0])} first."])
        ]
    wins = _win_matrix(prefs)
    sentences = [*_first_places(prefs, ranks, names), *disagreements(prefs, rankings, names, wins)]
    return [Reason(title, sentences), _movers(prefs, ranks, names)]


def _ranks(rankings: Sequence[Ranking]) -> Int32s:
    return np.stack([ranking.rank_by_slot for ranking in rankings])


def _win_matrix(prefs: Preferences) -> Floats:
    """Count pairwise wins on ballots that list both items; empty if there are too many items."""
    m = prefs.n_slots
    return views.win_matrices(prefs, "ignore").matrix() if memory.fits(8.0 * views.COUNTED * m**2) else np.zeros((0, 0))


def _firsts_of(prefs: Preferences, ranks: Int32s) -> str:
    first = np.flatnonzero(ranks == 1)
    return listed(all_in_sentence(prefs.items.take(prefs.slot_item[first]), WIDTH))


def _first_places(prefs: Preferences, ranks: Int32s, names: Sequence[str]) -> list[str]:
    """Return a sentence on the first place of each method."""
    by_first: dict[str, list[str]] = {}
    for method_ranks, method in zip(ranks, names, strict=True):
        by_first.setdefault(_firsts_of(prefs, method_ranks), []).append(method)
    if len(by_first) == 1:
        return [f"All methods rank {next(iter(by_first))} first; they differ in lower places."]
    first_by_methods = [f"{first} by {listed(methods, ALL)}" for first, methods in by_first.items()]
    return [f"First place: {'; '.join(first_by_methods)}."]


def _movers(prefs: Preferences, ranks: Int32s, names: Sequence[str]) -> Reason:
    """Return a table of the items whose ranks differ most between methods."""
    spread = ranks.max(axis=0) - ranks.min(axis=0)
    movers = [slot for slot in np.lexsort((ranks.min(axis=0), -spread))[:MOVERS].tolist() if spread[slot]]
    labels = prefs.items.take(prefs.slot_item[movers])
    rows = [
        [label, *(f"{rank:,}" for rank in ranks[:, slot])]
        for slot, label in zip(movers, shorten_apart(labels, WIDTH), strict=True)
    ]
    moved = f"{int((spread > 0).sum()):,} of {len(spread):,} items have different ranks, mainly these:"
    columns = [name if names[:k].count(name) == 0 else f"{name} ({k + 1})" for k, name in enumerate(names)]
    return Reason("Ranks by method", [moved], ["item", *columns], rows, frozenset(range(1, len(names) + 1)))


def disagreements(prefs: Preferences, rankings: Sequence[Ranking], names: Sequence[str], wins: Floats) -> list[str]:
    """Return sentences on the differences in the first place and in the item with the largest change of rank.

    ``wins`` are the pairwise wins; empty if the matrix is too large.
    """
    if not len(wins):
        return []
    ranks = _ranks(rankings)
    name = all_in_sentence(prefs.items.take(prefs.slot_item), WIDTH)
    firsts = [int(ranking.order[0]) for ranking in rankings]
    base = firsts[0]
    sentences, pairs = [], set()
    for rival in dict.fromkeys(firsts):
        methods = [
            method
            for method, first, method_ranks in zip(names, firsts, ranks, strict=True)
            if first == rival and method_ranks[base] > 1 and ranks[0, rival] > 1  # who ties the two does not contradict
        ]
        if not methods:
            continue
        pairs.add((base, rival))
        why = reason(prefs, wins, base, rival, name)
        sentences.append(f"{name[rival]} is first by {listed(methods, ALL)}, {name[base]} by {names[0]}: {why}")
    moves = ranks.max(axis=0) - ranks.min(axis=0)
    mover = int(np.argmax(moves))
    if moves[mover] > 0:
        best, worst = int(np.argmin(ranks[:, mover])), int(np.argmax(ranks[:, mover]))
        passed = np.flatnonzero((ranks[best, mover] < ranks[best]) & (ranks[worst, mover] > ranks[worst]))
        if len(passed):
            passed_slot = int(passed[np.argmin(ranks[worst, passed])])
            if (mover, passed_slot) not in pairs and (passed_slot, mover) not in pairs:
                places = f"{ordinal(int(ranks[best, mover]))} by {names[best]}, {ordinal(int(ranks[worst, mover]))} by "
                why = reason(prefs, wins, mover, passed_slot, name)
                sentences.append(
                    f"{name[mover]} has the largest change of rank, {places}{names[worst]} (behind "
                    f"{name[passed_slot]}): {why}"
                )
    return sentences


def reason(prefs: Preferences, wins: Floats, slot_1: int, slot_2: int, name: list[str]) -> str:
    """Return a sentence on why methods order two slots of an instance differently."""
    for_one, for_two = float(wins[slot_1, slot_2]), float(wins[slot_2, slot_1])
    duel = f"{max(for_one, for_two):,.6g} to {min(for_one, for_two):,.6g}"
    if cycle := _cycle(wins > wins.T, slot_1, slot_2):
        return (
            f"the majorities are cyclic ({' > '.join(name[slot] for slot in cycle)}), and rules break cycles "
            f"differently."
        )
    if missing := _missing(prefs, slot_1, slot_2, name):
        return missing
    many, few = (slot_1, slot_2) if for_one >= for_two else (slot_2, slot_1)
    gap_many, gap_few = _gaps(prefs, many, few)
    if gap_few > gap_many > 0:
        return (
            f"more ballots prefer {name[many]} ({duel} in direct comparison), but {name[few]} leads by more places in "
            f"total ({gap_few:,.4g} against {gap_many:,.4g}): positional rules count the number of places, pairwise "
            f"rules only the order."
        )
    first_many, first_few = _firsts(prefs, many), _firsts(prefs, few)
    if first_few > first_many and for_one != for_two:
        return (
            f"{name[few]} has more first places ({first_few:,.6g} against {first_many:,.6g}), but {name[many]} wins "
            f"the direct comparison ({duel})."
        )
    if for_one != for_two and (higher := _rated_higher(prefs, many, few, name)):
        return f"{higher}, but {name[many]} wins the direct comparison ({duel})."
    share_many, share_few = _share_won(wins, many), _share_won(wins, few)
    if for_one != for_two and share_few > share_many:
        return (
            f"{name[many]} wins the direct comparison ({duel}), {name[few]} more of all its comparisons "
            f"({share_few:.0%} against {share_many:.0%})."
        )
    if not for_one + for_two:
        return "no ballot compares the two directly, so their order depends on comparisons with other items."
    if float(sign_test(for_one, for_two)) >= 1 - LEVEL:
        return f"the direct comparison is close ({duel}), so small differences between the methods decide."
    return f"the methods use different criteria; the direct comparison is {duel}."


def _cycle(beats: Bools, slot_1: int, slot_2: int) -> list[int]:
    """Return a short majority cycle through both slots, with the first repeated at the end; empty if there is none."""
    if len(beats) > MAX_FOR_CYCLES:
        return []
    forth, return_path = shortest_chain(beats, slot_1, slot_2), shortest_chain(beats, slot_2, slot_1)
    whole = [*forth, *return_path[1:]] if forth and return_path else []
    return whole if len(whole) <= LONGEST_CYCLE + 1 else []


def _missing(prefs: Preferences, slot_1: int, slot_2: int, name: list[str]) -> str:
    """Return a sentence if one item is on far fewer ballots (by a factor of 1.5) than the other; otherwise empty."""
    weight = np.repeat(prefs.weight, np.diff(prefs.indptr))
    weights = [float(weight[prefs.entry_slot == slot].sum()) for slot in (slot_1, slot_2)]
    more, less = (slot_1, slot_2) if weights[0] >= weights[1] else (slot_2, slot_1)
    if max(weights) < FEWER * min(weights):
        return ""
    what = "comparison" if prefs.form == "pairs" else "ballot"
    silence = (
        "methods treat rarely compared items differently"
        if views.resolve_missing(prefs, "auto") == "ignore"
        else "some methods rank unlisted items last, others ignore them"
    )
    return f"{name[less]} is on {counted(min(weights), what)}, {name[more]} on {max(weights):,.6g}: {silence}."


def _gaps(prefs: Preferences, many: int, few: int) -> tuple[float, float]:
    """Return the places by which the first item leads, summed over the ballots that prefer it, and those of the
    second.
    """
    if prefs.form == "pairs":
        return 0.0, 0.0
    rank = views.competition_ranks(prefs)
    place = np.full((2, prefs.n_ballots), np.nan)
    ballot = views.ballot_of_entry(prefs)
    for k, slot in enumerate((many, few)):
        entry = np.flatnonzero(prefs.entry_slot == slot)
        place[k, ballot[entry]] = rank[entry]
    lead = np.nan_to_num(place[1] - place[0]) * prefs.weight
    return float(lead[lead > 0].sum()), float(-lead[lead < 0].sum())


def _firsts(prefs: Preferences, slot: int) -> float:
    """Return the weight of the ballots that rank this slot alone in first place."""
    groups = views.tiers(prefs)
    is_first = np.ones(len(groups.ballot), bool)
    is_first[1:] = groups.ballot[1:] != groups.ballot[:-1]
    alone = is_first & (groups.size == 1)
    entry = np.flatnonzero((prefs.entry_slot == slot) & alone[groups.of_entry])
    return float(prefs.weight[views.ballot_of_entry(prefs)[entry]].sum())


def _rated_higher(prefs: Preferences, many: int, few: int, name: list[str]) -> str:
    """Return a clause if the second item has the higher mean rating; otherwise empty."""
    if prefs.value is None or prefs.scale != "rating":
        return ""
    weight = views.weight_of_entry(prefs)
    entries = [np.flatnonzero(prefs.entry_slot == slot) for slot in (many, few)]
    if not all(map(len, entries)):
        return ""
    mean_many, mean_few = (
        float(np.average(prefs.value[entries_of_slot], weights=weight[entries_of_slot])) for entries_of_slot in entries
    )
    if mean_few <= mean_many:
        return ""
    return f"{name[few]} is rated higher on average ({mean_few:.4g} against {mean_many:.4g})"


def _share_won(wins: Floats, slot: int) -> float:
    """Return the win rate of a slot in its decided comparisons, 0.5 if there are none."""
    won, lost = float(wins[slot].sum()), float(wins[:, slot].sum())
    return won / (won + lost) if won + lost else 0.5
