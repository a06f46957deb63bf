"""The card of one item: its score and rank, results by opponent, curve, and who prefers it.

Only the ballots that mention the item are read, so a card is quick for any number of items. Results of other sections
(methods, groups, history) are shown if they are known already.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from urllib.parse import urlencode

import numpy as np

from concordant import registry, views
from concordant.ballots.segments import spans, sum_by
from concordant.ballots.vocabulary import shorten
from concordant.narrative.fields import Field
from concordant.narrative.sentences import ordinal
from concordant.preferences import Preferences
from concordant.reporting.sections import (
    Chips,
    Control,
    Facts,
    Fold,
    Part,
    ReportTable,
    Scale,
    Section,
    Sparkline,
    Split,
    Text,
    Track,
)
from concordant.reporting.study import Study
from concordant.results.rendering import interval_column
from concordant.support.dates import shown_time
from concordant.support.text import number_format, short_number
from concordant.types import Floats, Int64s

LABEL = 60
FIRST, MOST = 8, 30  # opponents that are shown at first, and in all
AT_ONCE = 4e6  # entries of ballots that are compared at once
AGENTS = 12  # agents up to which all are shown; of more, the first and the last few
ENDS = 3
LEAST = 5  # comparisons by an agent, from which its share means something if there are many agents
BARS = 10  # values of a distribution
POINTS = 120  # of a small curve
QUICK_HISTORY = 200_000  # entries of ballots from which a card does not compute the history


def item_card(study: Study, item: str) -> Section | None:
    """Return what is known of one item; None for an unknown item, or with several instances."""
    prefs = study.prefs
    if study.ranking.n_instances != 1 or prefs.n_instances != 1 or item not in prefs.items:
        return None
    slots = np.flatnonzero(prefs.slot_item == prefs.items.code(item))
    if not len(slots):
        return None
    slot, field = int(slots[0]), study.field
    results = results_of(prefs, slot)
    parts: list[Part] = [*_facts(study, item, results, field), *_curve(study, item)]
    if prefs.classes is None:
        parts += _opponents(study, slot, results, field)
    parts += [*_distribution(prefs, results, field), *_agents(prefs, results, field)]
    parts += [*_by_method(study, slot), *_by_group(study, item)]
    return Section("item", shorten(item, 200), tuple(parts))


# ---- counting ----
@dataclass(frozen=True, eq=False)
class Results:
    """The comparisons of one item: weights by opponent (one value per slot) and by ballot that mentions the item.

    ``entry`` and ``ballot`` are the item's entries and their ballots; values by ballot are numbers of items.
    """

    entry: Int64s
    ballot: Int64s
    won: Floats
    tied: Floats
    lost: Floats
    won_on_ballot: Floats
    tied_on_ballot: Floats
    lost_on_ballot: Floats

    @property
    def total(self) -> Floats:
        """The weight of all comparisons by opponent."""
        return self.won + self.tied + self.lost


def results_of(prefs: Preferences, slot: int) -> Results:
    """Count the comparisons of one item with all others, without a matrix of pairs.

    Ballots compare the items that they list; members of one team and the last tier of open ballots are not compared.
    Where ballots are rankings, or only list items such as approved ones, a listed item beats those that are left out.
    The cost is linear in the length of the ballots that mention the item.
    """
    entry = np.flatnonzero(prefs.entry_slot == slot)
    ballot = np.searchsorted(prefs.indptr, entry, side="right") - 1
    by_slot, by_ballot = np.zeros((3, prefs.n_slots)), np.zeros((3, len(entry)))
    sizes = (prefs.indptr[ballot + 1] - prefs.indptr[ballot]).astype(np.float64)
    chunk = np.cumsum(sizes) // AT_ONCE
    for some in np.split(np.arange(len(entry)), np.flatnonzero(np.diff(chunk)) + 1):
        other, own, outcome = _compared(prefs, entry[some], ballot[some])
        for k, sign in enumerate((1, 0, -1)):
            chosen = outcome == sign
            weight = prefs.weight[ballot[some][own[chosen]]]
            by_slot[k] += sum_by(prefs.entry_slot[other[chosen]], weight, prefs.n_slots)
            by_ballot[k][some] = np.bincount(own[chosen], minlength=len(some))
    is_last = views.resolve_missing(prefs, "auto") == "last"
    if is_last or are_sets(prefs):
        mentioned, both = views.ranked_weight(prefs), _listed_together(prefs, ballot)
        is_other = np.arange(prefs.n_slots) != slot
        by_slot[0] += np.where(is_other, mentioned[slot] - both, 0.0)
        by_slot[2] += np.where(is_other, mentioned - both, 0.0)
        if is_last:  # ballots that list neither
            by_slot[1] += np.where(is_other, prefs.weight.sum() - mentioned[slot] - mentioned + both, 0.0)
    return Results(entry, ballot, *by_slot, *by_ballot)


def _listed_together(prefs: Preferences, ballot: Int64s) -> Floats:
    """Return the weight of some ballots by slot that they list."""
    weight = np.zeros(prefs.n_ballots)
    weight[ballot] = prefs.weight[ballot]
    return sum_by(prefs.entry_slot, np.repeat(weight, np.diff(prefs.indptr)), prefs.n_slots)


def are_sets(prefs: Preferences) -> bool:
    """Return whether ballots only list items, such as approved ones, without an order or different ratings."""
    return prefs.form in ("approvals", "ratings") and not prefs.tier.any()


def _compared(prefs: Preferences, entry: Int64s, ballot: Int64s) -> tuple[Int64s, Int64s, Int64s]:
    """Return the entries that some entries of an item are compared with, which of them, and the outcome: 1 for a win,
    0 for a tie, -1 for a loss.
    """
    start, end = prefs.indptr[ballot], prefs.indptr[ballot + 1]
    other, own = spans(start, end), np.repeat(np.arange(len(entry)), end - start)
    tier = prefs.tier[entry]
    outcome = np.sign(prefs.tier[other].astype(np.int64) - tier[own])
    is_compared = other != entry[own]
    if prefs.team is not None:
        is_compared &= prefs.team[other] != prefs.team[entry][own]
    if prefs.open is not None:
        is_last = prefs.open[ballot] & (tier == prefs.tier[end - 1])
        is_compared &= (outcome != 0) | ~is_last[own]
    return other[is_compared], own[is_compared], outcome[is_compared]


# ---- parts of the card ----
def _facts(study: Study, item: str, results: Results, field: Field) -> list[Part]:
    """Return score, confidence intervals, rank and the number of ballots."""
    ranking = study.ranking
    n = float(study.prefs.weight[results.ballot].sum())
    counted = (field.ballot[int(n != 1)].capitalize(), short_number(n))
    code = ranking.vocabulary.code(item) if item in ranking.vocabulary else -1
    places = np.flatnonzero(ranking.ranked_item == code)
    if not len(places):
        return [Facts((counted,), is_tiled=True), Text(f"This {field.item[0]} is not in the ranking.")]
    place = int(places[0])
    score = float(ranking.scores[place])
    ends = (
        [] if ranking.low is None or ranking.high is None else [float(ranking.low[place]), float(ranking.high[place])]
    )
    plain = number_format([score, *ends])
    name = "Rating" if ranking.converted is not None else field.score.capitalize()
    rows = [(name, _number(score, plain, is_elo=ranking.converted is not None))]
    if ends and not np.isnan(ends).any():
        texts = [_number(end, plain, is_elo=ranking.converted is not None) for end in ends]
        rows.append((interval_column(ranking), (" to " if ends[0] < 0 else "–").join(texts)))
    between = ""
    if "rank_low" in ranking.details:
        low, high = (int(ranking.detail(name)[place]) for name in ("rank_low", "rank_high"))
        between = f" (CI {low:,}–{high:,})" if low < high else ""
    rows += [counted, ("Rank", f"{ranking.ranks[place]:,} of {len(ranking.items):,}{between}")]
    return [Facts(tuple(rows), is_tiled=True)]


def _number(value: float, plain: Callable[[float], str], *, is_elo: bool) -> str:
    text = f"{value:,.0f}" if is_elo else plain(value)
    whole, point, decimals = text.partition(".")
    if whole.lstrip("-").isdigit():
        text = f"{int(whole):,}{point}{decimals}" if int(whole) else text
    return text.replace("-", "−")


def _curve(study: Study, item: str) -> list[Part]:
    """Return the curve of the item over time if it is known or quick, and a button that draws it in its section."""
    ranking = study.ranking
    if ranking.past is None:
        return []
    button = Control("curve", "Show in the chart over time", item, "button")
    if "history" not in vars(ranking) and len(study.prefs.item) > QUICK_HISTORY:
        return [button]
    history = ranking.history
    if item not in history.items:
        return [button]
    rows = history.of(item)
    if len(rows) < 2:
        return [button]
    some = np.unique(np.linspace(0, len(rows) - 1, POINTS).astype(np.int64))
    ends = [shown_time(rows.time[k], rows.is_dated) for k in (0, -1)]
    values = tuple(rows.score[some].tolist())
    return [Sparkline("Over time", tuple(rows.time[some].tolist()), values, str(ends[0]), str(ends[1])), button]


def _opponents(study: Study, slot: int, results: Results, field: Field) -> list[Part]:
    """Return won, tied and lost comparisons by opponent: the strongest and those closest in rank."""
    total = results.total
    order = study.order
    met = order[total[order] > 0]
    if not len(met):
        return [Text(f"No {field.ballot[0]} compares this {field.item[0]} with another.")]
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    chosen = met
    if len(met) > MOST:
        closest = met[np.argsort(np.abs(rank[met] - rank[slot]), kind="stable")]
        strongest = met[: MOST // 2]
        closest = closest[~np.isin(closest, strongest)][: MOST - len(strongest)]
        chosen = np.concatenate([strongest, closest])
        chosen = chosen[np.argsort(rank[chosen])]
    won, tied, lost = (float(part.sum()) for part in (results.won, results.tied, results.lost))
    what = f"Won {short_number(won)}, tied {short_number(tied)}, lost {short_number(lost)}"
    rate = f"{_percent((won + tied / 2) / (won + tied + lost))}"
    table = _opponents_table(study, chosen[:FIRST], results, f"Results by opponent: {rate} won")
    parts: list[Part] = [table]
    if len(chosen) > FIRST:
        more = _opponents_table(study, chosen[FIRST:], results, "Further opponents")
        parts.append(Fold(f"{len(chosen) - FIRST} more opponents", (more,)))
    note = f"{what}; ties count half."
    if are_sets(study.prefs):
        note += f" Each {field.item[0]} that a ballot lists beats those that it does not list."
    if len(chosen) < len(met):
        note += f" These are the strongest and the closest of {len(met):,} opponents."
    return [*parts, Text(note, "left-out")]


def _opponents_table(study: Study, slots: Int64s, results: Results, title: str) -> ReportTable:
    rows, links = [], []
    prefs = study.prefs
    counts = (part[slots].tolist() for part in (results.won, results.tied, results.lost))
    for name, won, tied, lost in zip(prefs.items.take(prefs.slot_item[slots]), *counts, strict=True):
        rate = (won + tied / 2) / (won + tied + lost)
        rows.append((shorten(name, LABEL), Split(won, tied, lost), _percent(rate)))
        links.append(f"?{urlencode({'item': name})}")
    header = ("Opponent", "Won · tied · lost", "Win rate")
    return ReportTable(title, header, tuple(rows), frozenset([2]), frozenset([0]), links=tuple(links))


def _distribution(prefs: Preferences, results: Results, field: Field) -> list[Part]:
    """Return how often the item has each rating, answer, or position on ballots of more than two items."""
    weight = prefs.weight[results.ballot]
    if prefs.classes is not None and prefs.value is not None:
        sums = sum_by(prefs.value[results.entry].astype(np.int64), weight, len(prefs.classes))
        pairs = [(shorten(name, 30), count) for name, count in zip(prefs.classes, sums.tolist(), strict=True)]
        return [_bars("Answers", "Answer", pairs, field)]
    if are_sets(prefs):
        return []
    if prefs.form == "ratings" and prefs.value is not None and prefs.scale == "rating":
        return [_bars("Ratings", "Rating", _rating_counts(prefs.value[results.entry], weight), field)]
    if prefs.form not in ("rankings", "top-k") or not len(results.entry):
        return []
    is_named = views.is_named(prefs)[results.entry]
    position = np.where(is_named, results.lost_on_ballot, -1).astype(np.int64)
    top = int(position.max(initial=0)) + 1
    sums = sum_by(position[is_named], weight[is_named], max(top, 2))
    pairs = [(ordinal(k + 1), count) for k, count in enumerate(sums[:BARS].tolist())]
    if top > BARS:
        pairs.append(("lower", float(sums[BARS:].sum())))
    absent = float(prefs.weight.sum() - weight[is_named].sum())
    pairs += [("not ranked", absent)] if absent > 1e-9 else []
    return [_bars("Positions on the ballots", "Position", pairs, field)] if top > 1 else []


def _rating_counts(values: Floats, weight: Floats) -> list[tuple[str, float]]:
    """Return the weight of every rating, highest first, or of ranges of ratings if there are many."""
    distinct, code = np.unique(values, return_inverse=True)
    if len(distinct) <= BARS:
        counts = sum_by(code.reshape(-1), weight, len(distinct))
        return [(short_number(value), count) for value, count in zip(distinct.tolist(), counts.tolist(), strict=True)][
            ::-1
        ]
    edges = np.linspace(distinct[0], distinct[-1], BARS + 1)
    counts = sum_by(np.clip(np.searchsorted(edges, values, side="right") - 1, 0, BARS - 1), weight, BARS)
    names = [f"{short_number(low, 3)} to {short_number(high, 3)}" for low, high in pairwise(edges)]
    return list(zip(names, counts.tolist(), strict=True))[::-1]


def _bars(title: str, head: str, pairs: list[tuple[str, float]], field: Field) -> ReportTable:
    """Return counts as bars from zero."""
    noun = field.ballot[1].capitalize()
    drawn = f"{noun} (plot)"
    scale = Scale(0.0, max([count for _, count in pairs] or [1.0]) or 1.0, drawn, is_bar=True)
    rows = tuple((name, Track(count), short_number(count)) for name, count in pairs)
    return ReportTable(title, (head, drawn, noun), rows, frozenset([2]), frozenset([0]), scale, is_sortable=False)


def _agents(prefs: Preferences, results: Results, field: Field) -> list[Part]:
    """Return the share of comparisons that the item wins by agent: of all, or of the highest and the lowest."""
    if prefs.agents is None or prefs.agent is None or prefs.classes is not None or are_sets(prefs):
        return []
    n, weight, agent = len(prefs.agents), prefs.weight[results.ballot], prefs.agent[results.ballot]
    won = sum_by(agent, weight * (results.won_on_ballot + results.tied_on_ballot / 2), n)
    total = sum_by(agent, weight * (results.won_on_ballot + results.tied_on_ballot + results.lost_on_ballot), n)
    known = np.flatnonzero(total >= (LEAST if (total > 0).sum() > AGENTS else 1e-9))
    if len(known) < 2:
        return []
    share = won[known] / total[known]
    order = known[np.lexsort((-total[known], -share))]
    if len(order) > AGENTS:
        if (share == share.max()).sum() > ENDS or (share == share.min()).sum() > ENDS:
            return []  # any choice among those that tie would be arbitrary
        order = np.concatenate([order[:ENDS], order[-ENDS:]])
    drawn = "Win rate (plot)"
    rows = tuple(
        (shorten(prefs.agents[k], LABEL), Track(float(won[k] / total[k])), _percent(won[k] / total[k]))
        for k in order.tolist()
    )
    who = field.agent[1] if len(order) == len(known) else f"highest and lowest of {len(known):,} {field.agent[1]}"
    title = f"Win rate by {field.agent[0]}" + ("" if len(order) == len(known) else f": {who}")
    header = (field.agent[0].capitalize(), drawn, "Win rate")
    scale = Scale(0.0, 1.0, drawn, is_bar=True)
    return [ReportTable(title, header, rows, frozenset([2]), frozenset([0]), scale, is_sortable=False)]


def _by_method(study: Study, slot: int) -> list[Part]:
    """Return the rank by each compared method, if they were compared already."""
    compared = vars(study)["compared"][0] if "compared" in vars(study) else None
    if compared is None or len(compared.names) < 2:
        return []
    chips = tuple(
        (f"{registry.title_of(name)} {ranking.rank_by_slot[slot]:,}",)
        for name, ranking in zip(compared.names, compared.rankings, strict=True)
    )
    return _titled_chips("Rank by method", chips)


def _by_group(study: Study, item: str) -> list[Part]:
    """Return the rank in each group, if groups were compared already; a star marks significant differences."""
    groups = vars(study).get("groups")
    if groups is None:
        return []
    cells = [(name, groups.cells.get((name, item))) for name in groups.names[:MOST]]
    chips = tuple(
        ("", shorten(name, 30), f" {cell.rank:,}{' ★' if cell.holds else ''}")
        for name, cell in cells
        if cell is not None
    )
    return _titled_chips(f"Rank by {shorten(groups.by, 30)}", chips) if chips else []


def _titled_chips(title: str, chips: tuple[tuple[str, ...], ...]) -> list[Part]:
    return [Text(title, "heading"), Chips(title, chips)]


def _percent(share: float) -> str:
    return f"{100 * share:.0f}%"
