"""Report section on scores over time: curves of a few items, the next match, the best of each period, and peaks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Any

import numpy as np

from concordant import registry, views
from concordant.ballots.segments import is_new, max_by
from concordant.ballots.vocabulary import shorten
from concordant.errors import ConcordantError, suggest
from concordant.narrative import fields
from concordant.ranking import Ranking
from concordant.reporting.about_ranking import LABEL
from concordant.reporting.curves import moment
from concordant.reporting.pictures import COLOURS
from concordant.reporting.sections import (
    Chance,
    Columns,
    Control,
    Curve,
    Fold,
    Part,
    ReportTable,
    Scale,
    Section,
    Text,
    TimeCurve,
    Track,
)
from concordant.reporting.study import Study
from concordant.results.histories import History
from concordant.results.rendering import interval_column
from concordant.results.scales import line_of
from concordant.results.uncertain import independent_errors
from concordant.support.dates import as_moment
from concordant.support.text import capital, interval_cells, number_format
from concordant.types import Floats, Int64s

LEADERS = 12  # curves that the page knows: this many leaders, this many highest peaks, and those chosen
POINTS = 160  # of a curve, about
COARSE = 80  # points of a curve outside the period shown, and of those that are not chosen
PEAKS = 10  # rows
ROWS = 60  # periods of the tables
OPTIONS = 1_000  # items that a list of suggestions has
FEW_ERRORS = 2_000  # items up to which the joint standard errors of all scores are computed for a match
FEW = 200  # items up to which a match is chosen from a list
ABSENT = 365.0  # days without a result, after which a forecast has a note
SUGGESTED = "glicko2"  # where the method of the ranking has no curves, and data are not matches


def time_section(
    study: Study,
    chosen: tuple[str, ...] = (),
    since: str = "",
    until: str = "",
    first: str = "",
    second: str = "",
) -> Section | None:
    """Show scores over time; None if the preferences have no times.

    ``chosen`` are the items drawn in colour, ``since`` and ``until`` the period shown, and ``first`` and ``second``
    the items of the next match; by default, the leaders and the whole time.
    """
    time = study.prefs.time
    if time is None or not len(time) or not np.ptp(time):
        return None
    ranking = study.over_time
    if ranking is None:
        return _without_curves(study)
    notes: list[Part] = []
    if ranking.n_instances > 1 and ranking.instances is not None:
        q = int(np.argmax(np.bincount(study.prefs.instance_of_ballot, minlength=study.prefs.n_instances)))
        name = study.prefs.instances[q] if study.prefs.instances is not None else ranking.instances[0]
        name = name if name in ranking.instances else ranking.instances[0]
        noun = study.field.instance
        notes.append(Text(f"The curves are those of {shorten(name, 60)}, one of {ranking.n_instances:,} {noun[1]}."))
        ranking = ranking[name]
    if not len(ranking.history):
        return None
    past = _Past(study, ranking)
    if ranking.method != study.ranking.method:
        own = registry.title_of(study.ranking.method)
        why = f"{own} has one {past.field.score} per {past.field.item[0]} for the whole time, "
        notes.append(Text(f"{why}so the curves and the next match are by {registry.title_of(ranking.method)}."))
    known, unknown = past.found(chosen)
    notes += [Text(text) for text in unknown]
    period, problems = past.period(since, until)
    notes += [Text(text) for text in problems]
    picture = past.picture(known, period)
    parts: list[Part] = [*notes, picture, past.adding(), Fold("Table of the curves", (past.table(picture),))]
    best = past.best()
    match = past.match(first, second)
    parts.append(Columns(tuple(filter(None, ((*match, *past.peaks()), best)))))
    bands = (
        f" Bands are {interval_column(ranking).replace('CI', 'confidence intervals')}."
        if past.history.low is not None
        else ""
    )
    note = f"At most {COLOURS} {past.field.item[1]} are coloured.{bands}"
    return Section("time", "Over time", tuple(parts), note)


def _without_curves(study: Study) -> Section:
    """Return the section of a method without scores over time: what shows them."""
    item = study.field.item[0]
    text = f"{registry.title_of(study.ranking.method)} has one {study.field.score} per {item} for the whole time. "
    text += f"{registry.title_of(SUGGESTED)} follows each {item} over time."
    button = Control("method", f"Show curves by {registry.title_of(SUGGESTED)}", SUGGESTED, "button")
    return Section("time", "Over time", (Text(text), button))


@dataclass(frozen=True, eq=False)
class _Past:
    """The scores over time of one instance."""

    study: Study
    ranking: Ranking

    @property
    def history(self) -> History:
        return self.ranking.history

    @cached_property
    def field(self) -> fields.Field:
        return self.study.field

    @cached_property
    def whole(self) -> tuple[float, float]:
        """The first and the last time of the history."""
        time = self.history.time
        return float(time[0]), max(float(time[-1]), float(np.nextafter(time[0], np.inf)))

    @property
    def is_dated(self) -> bool:
        return self.history.is_dated

    @cached_property
    def gap(self) -> float:
        """The time without a result from which a line is dashed."""
        begin, end = self.whole
        return ABSENT if self.is_dated and end - begin > 2 * ABSENT else (end - begin) / 4

    @cached_property
    def rows(self) -> dict[str, Int64s]:
        """The rows of every item, in order of time."""
        order = np.argsort(self.history.item, kind="stable")
        item = self.history.item[order]
        starts = np.flatnonzero(is_new(item))
        return dict(zip(self.history.items.take(item[starts]), np.split(order, starts[1:]), strict=True))

    @cached_property
    def ranked(self) -> list[str]:
        """The items with a curve: those of the ranking, best first, then the others by their last score."""
        ranked = [item for item in self.ranking.items if item in self.rows]
        others = self.rows.keys() - set(ranked)
        return ranked + sorted(others, key=lambda item: (-float(self.history.score[self.rows[item][-1]]), item))

    # ---- what was asked for ----
    def found(self, chosen: Sequence[str]) -> tuple[list[str], list[str]]:
        """Return the known items among those asked for, at most six, and sentences on the others."""
        names = dict.fromkeys(self.item(name) or name for name in chosen)
        known = [name for name in names if name in self.rows]
        texts = [self.unknown(name) for name in names if name not in self.rows][:COLOURS]
        if len(known) > COLOURS:
            texts.append(f"The first {COLOURS} of {len(known):,} {self.field.item[1]} are coloured.")
        return known[:COLOURS], texts

    def item(self, name: str) -> str | None:
        """Return the item of this name, or the only one that is the same or contains it but for case."""
        if name in self.rows:
            return name
        wanted = name.strip().casefold()
        if not wanted:
            return None
        same = [item for item in self.rows if item.casefold() == wanted]
        like = same or [item for item in self.rows if wanted in item.casefold()]
        return like[0] if len(like) == 1 else None

    def unknown(self, name: str) -> str:
        """Return a sentence on a name that is not that of an item."""
        hint = suggest(name, self.ranked[:10_000])
        return f"There is no {self.field.item[0]} “{shorten(name, 60)}” with a curve.{hint}"

    def period(self, since: str, until: str) -> tuple[tuple[float, float], list[str]]:
        """Return the period to show, and sentences on times that are not valid."""
        ends, texts = list(self.whole), []
        for k, text in enumerate((since.strip(), until.strip())):
            if not text:
                continue
            try:
                ends[k] = as_moment(text, self.is_dated)
            except ConcordantError:
                example = "a date such as 2024-05-31" if self.is_dated else "a number"
                texts.append(f"“{shorten(text, 30)}” is not a valid time: enter {example}.")
        ends[1] += 1.0 - 1e-9 if self.is_dated and until.strip() and float(ends[1]).is_integer() else 0.0
        shown = max(ends[0], self.whole[0]), min(ends[1], self.whole[1])
        if shown[0] >= shown[1]:
            begin, end = (moment(time, self.is_dated) for time in self.whole)
            return self.whole, [*texts, f"No time of the data is in this period: they are from {begin} to {end}."]
        return shown, texts

    # ---- curves ----
    @property
    def by(self) -> str:
        """What a peak is the maximum of: the lower end of the interval, because few results may give a high score."""
        return "score" if self.history.low is None else "low"

    @cached_property
    def highest(self) -> dict[str, Any]:
        """The peaks of all items, highest first, as columns."""
        return self.history.peaks(self.by).columns

    def picture(self, chosen: Sequence[str], shown: tuple[float, float]) -> TimeCurve:
        """Return the curves: those chosen, or else the leaders and the item with the highest peak."""
        best_ever = self.highest["item"][:LEADERS]
        if not chosen:
            chosen = list(dict.fromkeys([*self.ranked[:2], *best_ever[:1]]))
            chosen += [item for item in self.ranked[2:3] if len(chosen) < 3]
        known = list(dict.fromkeys([*self.ranked[:LEADERS], *best_ever, *chosen]))
        known.sort(key={item: k for k, item in enumerate(self.ranked)}.__getitem__)
        place = {item: k for k, item in enumerate(known)}
        peak = place.get(best_ever[0])
        assert peak is not None
        row = self._peak_row(best_ever[0])
        return TimeCurve(
            f"{self.field.score.capitalize()}s over time by {registry.title_of(self.ranking.method)}",
            tuple(self._curve(item, shown, item in chosen) for item in known),
            tuple(place[item] for item in chosen),
            self.whole,
            shown,
            self.is_dated,
            self.gap,
            interval_column(self.ranking),
            (peak, float(self.history.time[row]), float(self.history.score[row])),
            self.field.item,
        )

    def _peak_row(self, item: str) -> int:
        rows = self.rows[item]
        values: Floats | None = getattr(self.history, self.by)
        assert values is not None
        return int(rows[np.argmax(values[rows])])

    def _curve(self, item: str, shown: tuple[float, float], is_chosen: bool) -> Curve:
        """Return the curve of an item with few points: the lowest and the highest in equal intervals of time."""
        history, rows = self.history, self.rows[item]
        is_last = np.append(np.diff(history.time[rows]) > 0, True)
        rows = rows[is_last | (rows == self._peak_row(item))]  # several results at one time: the last of them
        time, score = history.time[rows], history.score[rows]
        kept = _thinned(time, score, (float(time[0]), float(time[-1])), POINTS if is_chosen else COARSE)
        if shown != self.whole:
            inside = np.flatnonzero((time >= shown[0]) & (time <= shown[1]))
            kept = np.union1d(kept, inside[_thinned(time[inside], score[inside], shown, POINTS)])
        rows = rows[kept]
        low, high = (() if end is None else tuple(end[rows].tolist()) for end in (history.low, history.high))
        times, values = tuple(history.time[rows].tolist()), tuple(score[kept].tolist())
        return Curve(item, times, values, low, high, lasts=item in self._current)

    @cached_property
    def _current(self) -> set[str]:
        return set(self.ranking.items)

    def adding(self) -> Control:
        """Return the control that adds an item to the curves."""
        options = tuple((item, item) for item in self.ranked[:OPTIONS])
        return Control("curve", f"Add another {self.field.item[0]} to the curves", "", "text", options)

    # ---- tables ----
    @cached_property
    def periods(self) -> str | float:
        """The length of the periods of the tables: the longest with several of them, such as a year."""
        return periods_of(self.history)

    @property
    def _period_name(self) -> str:
        return self.periods if isinstance(self.periods, str) else f"period of {self.periods:g}"

    def best(self) -> tuple[Part, ...]:
        """Return the best item at the end of each period, if there are several periods."""
        columns = self.history.best(self.periods).columns
        if len(columns["item"]) < 2:
            return ()
        period = next(iter(columns)) if "instance" not in columns else list(columns)[1]
        rows = slice(None, -ROWS - 1, -1)
        cells = self._score_cells({name: column[rows] for name, column in columns.items()})
        name = self._period_name
        header = (capital(name), capital(self.field.item[0]), capital(self.field.score), cells.scale.title)
        title = f"Highest {self.field.score} at the end of each {name}; most recent first"
        left_out = len(columns["item"]) - ROWS
        labels = [shorten(item, LABEL) for item in columns["item"][rows]]
        table = ReportTable(
            title,
            header,
            tuple(zip(columns[period][rows], labels, cells.scores, cells.tracks, strict=True)),
            frozenset([2]),
            frozenset([1]),
            cells.scale,
        )
        notes = [Text(f"{left_out:,} earlier ones are left out.", "left-out")] if left_out > 0 else []
        return (Text(f"Best of each {name}", "heading"), table, *notes)

    def peaks(self) -> tuple[Part, ...]:
        """Return the highest peaks."""
        columns = {name: column[:PEAKS] for name, column in self.highest.items()}
        cells = self._score_cells(columns)
        header = [capital(self.field.item[0]), "Time", capital(self.field.score)]
        rows = [[shorten(item, LABEL) for item in columns["item"]], columns["time"], cells.scores]
        if cells.intervals:
            header.append(interval_column(self.ranking))
            rows.append(cells.intervals)
        what = f"lower end of the {interval_column(self.ranking)}" if self.by == "low" else self.field.score
        title = f"Time of the highest {what} of each {self.field.item[0]}"
        table = ReportTable(
            title,
            tuple(header),
            tuple(zip(*rows, strict=True)),
            frozenset([1, 2, 3]),
            frozenset([0]),
            minor=frozenset([3]),
        )
        return (Text("Highest peaks", "heading"), table)

    def _score_cells(self, columns: dict[str, Any]) -> _Cells:
        """Return the scores of a table as text, as dots on their intervals, and the intervals as text."""
        score = np.asarray(columns["score"], np.float64)
        low, high = (np.asarray(columns[name]) if name in columns else None for name in ("low", "high"))
        ends = [values for values in (score, low, high) if values is not None]
        least, most = float(np.min(ends)), float(np.max(ends))
        write = number_format(score.tolist(), [] if low is None or high is None else [*low.tolist(), *high.tolist()])
        margin = 0.03 * (most - least) or 1.0
        scale = Scale(least - margin, most + margin, f"{capital(self.field.score)} (plot)")
        if low is None or high is None:
            return _Cells([write(v) for v in score], [Track(v) for v in score.tolist()], [], scale)
        tracks = [Track(*row) for row in zip(score.tolist(), low.tolist(), high.tolist(), strict=True)]
        intervals = interval_cells(low.tolist(), high.tolist(), write)
        return _Cells([write(v) for v in score], tracks, intervals, scale)

    def table(self, picture: TimeCurve) -> ReportTable:
        """Return the scores of the coloured items at the end of each period in which they have a result."""
        items = [picture.curves[k].label for k in picture.chosen]
        columns = self.history.of(*items).best(self.periods, top=len(items)).columns
        period = next(name for name in columns if name not in ("instance", "item", "score", "low", "high"))
        write = number_format(columns["score"].tolist())
        cells = {}
        for when, item, score in zip(columns[period], columns["item"], columns["score"].tolist(), strict=True):
            cells[when, item] = write(score)
        whens = list(dict.fromkeys(columns[period]))[-ROWS:]
        rows = tuple((when, *(cells.get((when, item), "") for item in items)) for when in whens)
        header = (capital(self._period_name), *(shorten(item, 30) for item in items))
        title = f"{self.field.score.capitalize()} at the end of each {self._period_name}"
        return ReportTable(title, header, rows, frozenset(range(1, len(header))), frozenset([0]), is_sortable=False)

    # ---- the next match ----
    def match(self, first: str, second: str) -> tuple[Part, ...]:
        """Return the probability that one item beats another in the next match."""
        model: Any = self.ranking.model
        if not hasattr(model, "p_beats") or len(self.ranked) < 2:
            return ()
        texts = [self.unknown(name) for name in (first, second) if name and self.item(name) is None]
        leaders = [item for item in self.ranked[:3] if item not in (self.item(first), self.item(second))]
        one = self.item(first) or leaders[0]
        two = self.item(second) or next(item for item in leaders if item != one)
        controls = Columns(((self._opponent("first", "First", one),), (self._opponent("second", "Second", two),)))
        parts: list[Part] = [Text("Next match", "heading"), controls, *map(Text, texts)]
        if one == two:
            return (*parts, Text(f"Choose two different {self.field.item[1]}."))
        try:
            win, tie = (float(ask(one, two, self.ranking.instance)) for ask in (model.p_beats, model.p_tie))
        except ConcordantError as problem:
            return (*parts, Text("The next match cannot be predicted: " + str(problem)))
        said = f"{shorten(one, 60)} beats {shorten(two, 60)} with a probability of {_percent(win)}"
        said += f"{self._interval(model, one, two)}{f'; a tie has {_percent(tie)}' if tie else ''}."
        parts += [Chance(one, two, win, tie), Text(said)]
        for item in (one, two):
            last = self._last_result[item]
            if self.is_dated and last < self.whole[1] - ABSENT:
                when = moment(last, True, short=True)
                parts.append(Text(f"{shorten(item, 60)} has no result since {when}, so this is uncertain.", "left-out"))
        return tuple(parts)

    def _opponent(self, setting: str, which: str, value: str) -> Control:
        is_short = len(self.ranked) <= FEW
        options = tuple((item, shorten(item)) for item in self.ranked[: FEW if is_short else OPTIONS])
        return Control(setting, f"{which} {self.field.item[0]}", value, "select" if is_short else "text", options)

    @cached_property
    def _last_result(self) -> dict[str, float]:
        """The time of the last result of every item of this instance."""
        prefs, name = self.study.prefs, self.ranking.instance
        ballot = views.ballot_of_entry(prefs)
        assert prefs.time is not None
        time = prefs.time[ballot]
        if name is not None and prefs.instances is not None:
            time = np.where(prefs.instance_of_ballot[ballot] == prefs.instances.code(name), time, -np.inf)
        last = max_by(prefs.item, time, len(prefs.items), -np.inf)
        return dict(zip(prefs.items, last.tolist(), strict=True))

    def _interval(self, model: Any, one: str, two: str) -> str:
        """Return the confidence interval of a probability, if score differences are log odds with standard errors."""
        known = None if self.ranking.log_odds is None else self._lead(model, one, two)
        if known is None:
            return ""
        lead, stderr = known
        half = NormalDist().inv_cdf((1 + _level(self.ranking)) / 2) * stderr
        low, high = (1 / (1 + math.exp(-end)) for end in (lead - half, lead + half))
        return f" ({interval_column(self.ranking)} {_percent(low)} to {_percent(high)})"

    def _lead(self, model: Any, one: str, two: str) -> tuple[float, float] | None:
        """Return the difference of two scores in log odds and its standard error; None if there is no error."""
        ranking, unit = self.ranking, self.ranking.log_odds
        assert unit is not None
        if len(self.ranked) <= FEW_ERRORS:
            try:
                lead, stderr = model.difference(one, two, ranking.instance)
            except ConcordantError:
                return None
            own_unit = unit / line_of(ranking)[0]
            return lead / own_unit, stderr / own_unit
        if not {one, two} <= self._current:
            return None
        places = {item: k for k, item in enumerate(ranking.vocabulary.take(ranking.slot_item))}
        first, second = places[one], places[two]
        uncertainty = ranking.uncertainty.known()
        errors = None if uncertainty.apart is None else uncertainty.apart(first)
        if errors is None:
            errors = independent_errors(uncertainty, slice(0, len(ranking.score)), first, _level(ranking))
        if errors is None or not np.isfinite(errors[second]):
            return None
        return float(ranking.score[first] - ranking.score[second]) / unit, float(errors[second]) / unit


@dataclass(frozen=True)
class _Cells:
    """The scores of a table: as text, as dots, and their intervals as text."""

    scores: list[str]
    tracks: list[Track]
    intervals: list[str]
    scale: Scale


def _level(ranking: Ranking) -> float:
    """Return the confidence level of the intervals of a ranking."""
    level = ranking.params.get("level")
    return level if isinstance(level, float) and 0 < level < 1 else 0.95


def _percent(share: float) -> str:
    if 0 < share < 0.01 or 0.99 < share < 1:
        return "less than 1%" if share < 0.5 else "more than 99%"
    return f"{100 * share:.0f}%"


def periods_of(history: History) -> str | float:
    """Return the length of the periods in which the best item is shown."""
    span = float(np.ptp(history.time)) if len(history.time) else 0.0
    if history.is_dated:
        days = {"year": 730.0, "quarter": 365.0, "month": 90.0, "week": 21.0}
        return next((name for name, least in days.items() if span >= least), "day")
    step = 10.0 ** math.ceil(math.log10(max(span / 20, 1e-9)))
    return max(step, 1.0) if bool((history.time % 1 == 0).all()) else step


def _thinned(time: Floats, score: Floats, period: tuple[float, float], points: int) -> Int64s:
    """Return the first and the last point, and the lowest and the highest in equal intervals of a period."""
    if len(time) <= points:
        return np.arange(len(time))
    begin, end = period
    place = np.floor((time - begin) / (end - begin or 1.0) * (points // 2)).astype(np.int64)
    order = np.lexsort((score, place))
    starts = np.flatnonzero(is_new(place[order]))
    lowest, highest = order[starts], order[np.append(starts[1:], len(order)) - 1]
    return np.unique(np.concatenate([[0], lowest, highest, [len(time) - 1]]))
