"""Why methods disagree, in a sentence: a cycle, missing items, strong against many preferences, too little data.

Two items that two methods put in different order are looked at, in this order, and the first reason that holds is said:

- *cycle*: strict majorities lead from each of the two back to itself through the other; which majority gives way is the
  rule's choice.
- *missing*: one of the two stands on far fewer ballots (1.5 times) than the other, and methods differ in what they make
  of silence.
- *strong against many*: more ballots prefer one, but the ballots that prefer the other do so by more places, summed up.
- *first places*: one has more first places and yet loses the direct comparison.
- *close*: the direct comparison is not told from a fair coin (sign test, 5%).
"""

from __future__ import annotations

from collections import deque

import numpy as np

from concordant import views
from concordant.comparing import Comparison
from concordant.findings import CERTAIN, sign_test
from concordant.preferences import Preferences
from concordant.types import Bools, Floats
from concordant.vocabulary import shorten

WIDTH = 30
FEWER = 1.5  # times as many ballots as the other item
MOST_FOR_CYCLES = 300
LONGEST_CYCLE = 6
_ORDINALS = {1: "st", 2: "nd", 3: "rd"}


def disagreements(prefs: Preferences, compared: Comparison, wins: Floats) -> list[str]:
    """Say where methods differ on the one instance, and why: over the first place, and the item that moves most."""
    ranks = np.stack([ranking.rank_by_slot for ranking in compared.rankings])
    name = [shorten(label, WIDTH) for label in prefs.items.take(prefs.slot_item)]
    firsts = [int(ranking.order[0]) for ranking in compared.rankings]
    said, pairs = [], set()
    for rival in dict.fromkeys(firsts):
        if rival == firsts[0]:
            continue
        methods = [method for method, first in zip(compared.names, firsts, strict=True) if first == rival]
        pairs.add((firsts[0], rival))
        why = reason(prefs, wins, firsts[0], rival, name)
        said.append(f"{name[rival]} is first by {_and(methods)}, {name[firsts[0]]} by {compared.names[0]}: {why}")
    moves = ranks.max(axis=0) - ranks.min(axis=0)
    mover = int(np.argmax(moves))
    if moves[mover] > 0:
        high, low = int(np.argmin(ranks[:, mover])), int(np.argmax(ranks[:, mover]))
        passed = np.flatnonzero((ranks[high, mover] < ranks[high]) & (ranks[low, mover] > ranks[low]))
        if len(passed):
            other = int(passed[np.argmin(ranks[low, passed])])
            if (mover, other) not in pairs and (other, mover) not in pairs:
                places = f"{_place(ranks[high, mover])} by {compared.names[high]}, {_place(ranks[low, mover])} by "
                why = reason(prefs, wins, mover, other, name)
                said.append(f"{name[mover]} moves most, {places}{compared.names[low]} (behind {name[other]}): {why}")
    return said


def reason(prefs: Preferences, wins: Floats, one: int, two: int, name: list[str]) -> str:
    """Say why two slots of the one instance may be ordered either way."""
    for_one, for_two = float(wins[one, two]), float(wins[two, one])
    duel = f"{max(for_one, for_two):,.6g} to {min(for_one, for_two):,.6g} in direct comparison"
    if cycle := _cycle(wins > wins.T, one, two):
        return (
            f"majorities go in a circle ({' > '.join(name[slot] for slot in cycle)}), and each rule breaks it its way."
        )
    if missing := _missing(prefs, one, two, name):
        return missing
    many, few = (one, two) if for_one >= for_two else (two, one)
    gap_many, gap_few = _gaps(prefs, many, few)
    if gap_few > gap_many > 0:
        return (
            f"more ballots prefer {name[many]} ({duel}), but those for {name[few]} do so by more places "
            f"({gap_few:,.6g} against {gap_many:,.6g} in all): rules that count places weigh strong preferences, "
            "rules that count duels weigh many."
        )
    first_many, first_few = _firsts(prefs, many), _firsts(prefs, few)
    if first_few > first_many and for_one != for_two:
        return (
            f"{name[few]} has more first places ({first_few:,.6g} against {first_many:,.6g}), {name[many]} wins the "
            f"direct comparison ({duel})."
        )
    if not for_one + for_two:
        return "no ballot compares the two directly, so their order rests on what is said of others."
    if float(sign_test(for_one, for_two)) >= CERTAIN:
        return f"the data hardly tell the two apart ({duel}), so small differences between the rules decide."
    return f"the rules count different things; {duel}."


def _cycle(beats: Bools, one: int, two: int) -> list[int]:
    """Return a short circle of majorities through both, closed; empty if there is none."""
    if len(beats) > MOST_FOR_CYCLES:
        return []
    there, back = _path(beats, one, two), _path(beats, two, one)
    whole = [*there, *back[1:]] if there and back else []
    return whole if len(whole) <= LONGEST_CYCLE + 1 else []


def _path(beats: Bools, start: int, end: int) -> list[int]:
    """Return the shortest chain of majorities from start to end."""
    before, waiting = {start: -1}, deque([start])
    while waiting and end not in before:
        here = waiting.popleft()
        for following in np.flatnonzero(beats[here]).tolist():
            if following not in before:
                before[following] = here
                waiting.append(following)
    if end not in before:
        return []
    path = [end]
    while before[path[-1]] >= 0:
        path.append(before[path[-1]])
    return path[::-1]


def _missing(prefs: Preferences, one: int, two: int, name: list[str]) -> str:
    weight = np.repeat(prefs.weight, np.diff(prefs.indptr))
    seen = [float(weight[prefs.entry_slot == slot].sum()) for slot in (one, two)]
    more, less = (one, two) if seen[0] >= seen[1] else (two, one)
    if max(seen) < FEWER * min(seen):
        return ""
    what = "comparisons" if prefs.form == "pairs" else "ballots"
    silence = (
        "what a method makes of rarely seen items decides"
        if views.resolve_missing(prefs, "auto") == "ignore"
        else "some methods put the unnamed last, others leave them out"
    )
    return f"{name[less]} is on {min(seen):,.6g} {what}, {name[more]} on {max(seen):,.6g}: {silence}."


def _gaps(prefs: Preferences, many: int, few: int) -> tuple[float, float]:
    """Return the places between the two, summed over the ballots that prefer the first, and the second."""
    if prefs.form == "pairs":
        return 0.0, 0.0
    rank = views.competition_ranks(prefs)
    place = np.full((2, prefs.n_ballots), np.nan)
    ballot = views.ballot_of_entry(prefs)
    for k, slot in enumerate((many, few)):
        entry = np.flatnonzero(prefs.entry_slot == slot)
        place[k, ballot[entry]] = rank[entry]
    ahead = np.nan_to_num(place[1] - place[0]) * prefs.weight
    return float(ahead[ahead > 0].sum()), float(-ahead[ahead < 0].sum())


def _firsts(prefs: Preferences, slot: int) -> float:
    """Return the weight of ballots that have this slot alone in the first place."""
    groups = views.tiers(prefs)
    is_first = np.ones(len(groups.ballot), bool)
    is_first[1:] = groups.ballot[1:] != groups.ballot[:-1]
    alone = is_first & (groups.size == 1)
    entry = np.flatnonzero((prefs.entry_slot == slot) & alone[groups.of_entry])
    return float(prefs.weight[views.ballot_of_entry(prefs)[entry]].sum())


def _place(rank: int) -> str:
    ending = "th" if rank % 100 in (11, 12, 13) else _ORDINALS.get(int(rank) % 10, "th")
    return f"{rank:,}{ending}"


def _and(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
