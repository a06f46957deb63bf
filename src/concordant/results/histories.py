"""Scores over time: one row per item and time at which its score was updated.

Between two rows, an item keeps the earlier score. Queries: ``of(item)``, ``at(time)``, ``peaks()`` and
``best("year")``; with several instances ``history["q7"]`` is the history of one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from concordant.ballots.segments import is_new, max_by, number_inside, pointer, sum_by
from concordant.ballots.vocabulary import Vocabulary, shorten
from concordant.errors import ConcordantError, InputError, arg, phrase
from concordant.support.dates import as_moment, periods, shown_time
from concordant.support.frozen import FrozenParts
from concordant.support.text import align, interval_cells, interval_heading, number_format
from concordant.types import AnyArray, Floats, Int32s, Int64s

if TYPE_CHECKING:
    from concordant.ranking import Ranking

SHOWN = 20  # rows of a table on the screen
BY = ("score", "low", "high")
WITHIN = ("end", "mean", "peak")


@dataclass(frozen=True, eq=False)
class History(FrozenParts):
    """Scores over time, after every game or at the end of every period; rows are sorted by time.

    Attributes
    ----------
    item : array of int
        The item of every row, as an index into ``items``.
    time : array
        Days since 1970 if ``is_dated``, otherwise the given numbers, or ballot numbers from 1 without times.
    score : array
        The score of the item at this time.
    low, high : array or None
        The ends of the confidence intervals, if the method has them.
    """

    items: Vocabulary
    item: Int32s
    time: Floats
    score: Floats
    low: Floats | None = None
    high: Floats | None = None
    is_dated: bool = False
    instances: Vocabulary | None = None
    instance: Int32s | None = None
    level: float = 0.95
    library: str | None = None

    def __len__(self) -> int:
        return len(self.item)

    # ---- parts ----
    def take(self, rows: AnyArray) -> History:
        """Return the history of some rows.

        Parameters
        ----------
        rows : array
            A boolean mask, or ascending row numbers.

        Returns
        -------
        History
            The selected rows.
        """
        low, high = (None if ends is None else ends[rows] for ends in (self.low, self.high))
        instance = None if self.instance is None else self.instance[rows]
        item, time, score = self.item[rows], self.time[rows], self.score[rows]
        return replace(self, item=item, time=time, score=score, low=low, high=high, instance=instance)

    def of(self, *items: object) -> History:
        """Return the history of one or several items.

        Parameters
        ----------
        *items : label
            The items.

        Returns
        -------
        History
            The rows of these items.
        """
        codes = [self.items.code(item, "item") for item in items]
        return self.take(np.isin(self.item, codes))

    def __getitem__(self, instance: object) -> History:
        """Return the history of one instance."""
        if self.instances is None or self.instance is None:
            raise ConcordantError("This history has a single, unnamed instance: use it directly, without [instance].")
        code = self.instances.code(instance, "instance")
        part = self.take(self.instance == code)
        return replace(part, instances=Vocabulary([self.instances[code]]), instance=np.zeros(len(part), np.int32))

    # ---- questions ----
    def at(self, time: object) -> Ranking:
        """Return the ranking at a given time of all items rated by then.

        Parameters
        ----------
        time : date, str or number
            A date (which includes the whole day), or a number as in ``time``.

        Returns
        -------
        Ranking
            Each item has the score after its last game, however long ago.
        """
        from concordant.ranking import Ranking, Uncertainty

        moment = as_moment(time, self.is_dated)
        past = np.flatnonzero(self.time < moment + 1 if self.is_dated else self.time <= moment)
        if not len(past):
            first = f": the first time is {shown_time(self.time[0], self.is_dated)}" if len(self) else ""
            raise InputError(f"No item was rated by {shown_time(moment, self.is_dated)}{first}.")
        last = past[::-1][np.unique(self._key[past[::-1]], return_index=True)[1]]  # sorted by instance and item
        low, high = (None if ends is None else ends[last] for ends in (self.low, self.high))
        n = 1 if self.instances is None else len(self.instances)
        return Ranking(
            vocabulary=self.items,
            slot_ptr=pointer(np.bincount(self._instance[last], minlength=n)),
            slot_item=self.item[last],
            score=self.score[last],
            instances=self.instances,
            method=f"ratings of {shown_time(moment, self.is_dated)}",
            uncertainty=Uncertainty(low, high),
            library=self.library,
        )

    def peaks(self, by: str = "score") -> HistoryTable:
        """Return the peak score of every item and when it was first reached, best first.

        Parameters
        ----------
        by : {'score', 'low', 'high'}, default 'score'
            The value whose maximum is the peak. ``'low'``, the lower end of the confidence interval, is robust
            against new items, which may have high scores by chance.

        Returns
        -------
        HistoryTable
            A row per item.
        """
        values = self._values(by)
        order = np.lexsort((-values, self._key))
        rows = order[is_new(self._key[order])]
        in_order = rows[np.lexsort((rows, -values[rows], self._instance[rows]))]
        return HistoryTable(self._columns(in_order), self.level, self.library)

    def best(self, period: str | float = "year", *, by: str = "end", top: int = 1, least: int = 1) -> HistoryTable:
        """Return the best items of every period, among those rated in it.

        Parameters
        ----------
        period : str or float, default 'year'
            A calendar period (``'year'``, ``'quarter'``, ``'month'``, …), or a length in units of time.
        by : {'end', 'mean', 'peak'}, default 'end'
            The score at the end of the period, the mean of the scores in it, or the highest of them.
        top : int, default 1
            Number of items per period.
        least : int, default 1
            Minimum number of ratings of an item in the period.

        Returns
        -------
        HistoryTable
            ``top`` rows per period.
        """
        if by not in WITHIN:
            raise InputError(arg("by", by, of="sort") + f" is not valid: use one of {', '.join(WITHIN)}.")
        if isinstance(period, str) and not self.is_dated:
            raise InputError(
                f"The times are not dates, so {period!r} is not a valid period: name the column of dates when reading "
                "(" + arg("time") + "), or give the length of a period as a number."
            )
        number, ends = periods(self.time, self.is_dated, period)
        period_key = self._instance.astype(np.int64) * len(ends) + number
        keys, key = np.unique(period_key * len(self.items) + self.item, return_inverse=True)
        last = np.zeros(len(keys), np.int64)
        last[key] = np.arange(len(self))
        if by == "end":
            values = self.score[last]
        elif by == "mean":
            values = sum_by(key, self.score, len(keys)) / np.bincount(key, minlength=len(keys))
        else:
            values = max_by(key, self.score, len(keys), -np.inf)
        order = np.lexsort((last, -values, period_key[last]))
        order = order[np.bincount(key, minlength=len(keys))[order] >= least]
        chosen = order[number_inside(pointer(np.unique(period_key[last[order]], return_counts=True)[1])) < top]
        columns = self._columns(last[chosen], by == "end") | {"score": values[chosen]}
        columns["time"] = [_named(end, period, self.is_dated) for end in ends[number[last[chosen]]].tolist()]
        column_of_time = period if isinstance(period, str) else "until"
        named = {column_of_time if name == "time" else name: column for name, column in columns.items()}
        return HistoryTable(named, self.level, self.library)

    # ---- export ----
    def columns(self) -> dict[str, Any]:
        """Return the whole history as columns.

        Returns
        -------
        dict
            The columns instance, time, item, score, low and high; missing ones are left out.
        """
        return self._columns(np.arange(len(self)))

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a DataFrame with one row per item and time.

        Parameters
        ----------
        backend : {'pandas', 'polars', 'pyarrow'}, optional
            The library of the DataFrame; by default that of the preferences, or else the first installed.

        Returns
        -------
        DataFrame
            The columns of ``columns()``.
        """
        from concordant.tables.frames import frame_of

        return frame_of(self.columns(), backend, self.library)

    def __repr__(self) -> str:
        if not len(self):
            return "History without rows"
        begin, end = (shown_time(float(moment), self.is_dated) for moment in (self.time[0], self.time[-1]))
        return f"History of {len(np.unique(self.item)):,} items, {len(self):,} rows from {begin} to {end}"

    # ---- rows ----
    @property
    def _instance(self) -> Int32s:
        return np.zeros(len(self), np.int32) if self.instance is None else self.instance

    @cached_property
    def _key(self) -> Int64s:
        """A number per row that is unique to instance and item."""
        return self._instance.astype(np.int64) * len(self.items) + self.item

    def _values(self, by: str) -> Floats:
        """Return the column "score", "low" or "high"; reject others and those the method does not have."""
        if by not in BY:
            raise InputError(arg("by", by, of="sort") + f" is not valid: use one of {', '.join(BY)}.")
        values: Floats | None = getattr(self, by)
        if values is None:
            text = "This method has no confidence intervals, so {} is not available: use {}."
            raise InputError(phrase(text, *(arg("by", choice, of="sort") for choice in (by, "score"))))
        return values

    def _columns(self, rows: Int64s, with_ends: bool = True) -> dict[str, Any]:
        """Return some rows as columns of plain values; absent columns are left out."""
        out: dict[str, Any] = {}
        if self.instances is not None and self.instance is not None:
            out["instance"] = self.instances.take(self.instance[rows])
        moments, moment = np.unique(self.time[rows], return_inverse=True)
        written = np.array([shown_time(moment_value, self.is_dated) for moment_value in moments.tolist()], object)
        out["time"] = written[moment].tolist()
        out["item"] = self.items.take(self.item[rows])
        out["score"] = self.score[rows]
        ends = (("low", self.low), ("high", self.high)) if with_ends else ()
        return out | {name: values[rows] for name, values in ends if values is not None}


@dataclass(frozen=True, eq=False)
class HistoryTable:
    """The result of a query on a history: columns of equal length, for printing and export."""

    columns: dict[str, Any]
    level: float = 0.95
    library: str | None = None

    def __len__(self) -> int:
        return len(self.columns["item"])

    def __getitem__(self, column: str) -> Any:
        if column not in self.columns:
            raise ConcordantError(f"There is no column {column!r}: use one of {', '.join(self.columns)}.")
        return self.columns[column]

    def head(self, n: int) -> HistoryTable:
        """Return the first ``n`` rows.

        Parameters
        ----------
        n : int
            Number of rows.

        Returns
        -------
        HistoryTable
            The first rows.
        """
        return replace(self, columns={name: column[:n] for name, column in self.columns.items()})

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a DataFrame.

        Parameters
        ----------
        backend : {'pandas', 'polars', 'pyarrow'}, optional
            The library of the DataFrame; by default that of the preferences, or else the first installed.

        Returns
        -------
        DataFrame
            The columns of the table.
        """
        from concordant.tables.frames import frame_of

        return frame_of(self.columns, backend, self.library)

    def to_rows(self) -> list[dict[str, Any]]:
        """Return the rows as plain data, ready for JSON.

        Returns
        -------
        list of dict
            A dictionary by column for every row.
        """
        plain = (column.tolist() if hasattr(column, "tolist") else column for column in self.columns.values())
        return [dict(zip(self.columns, row, strict=True)) for row in zip(*plain, strict=True)]

    def written(self, n: int | None = None) -> tuple[list[str], list[list[str]], set[int]]:
        """Return the table as text cells.

        Parameters
        ----------
        n : int, optional
            Maximum number of rows; by default all.

        Returns
        -------
        tuple
            The header, the rows as text, and the indices of the numeric columns.
        """
        shown = {name: self._shown(column, n) for name, column in self.columns.items()}
        ends = [shown.pop(name) for name in ("low", "high") if name in shown]
        write = number_format(shown["score"], [value for column in ends for value in column])
        cells = {name: [shorten(str(text)) for text in column] for name, column in shown.items()}
        cells["score"] = list(map(write, shown["score"]))
        if len(ends) == 2:
            cells[interval_heading(self.level)] = interval_cells(ends[0], ends[1], write)
        right = set(range(list(cells).index("score"), len(cells)))
        return list(cells), [list(row) for row in zip(*cells.values(), strict=True)], right

    @staticmethod
    def _shown(column: Any, n: int | None) -> list[Any]:
        """Return the first n values of a column as a list."""
        return list(column[:n].tolist() if hasattr(column, "tolist") else column[:n])

    def to_text(self, limit: int | None = None) -> str:
        """Return aligned plain text.

        Parameters
        ----------
        limit : int, optional
            Maximum number of rows; by default all.

        Returns
        -------
        str
            A header and a line per row.
        """
        header, rows, right = self.written(limit)
        lines = align([header, *rows], right)
        if limit is not None and limit < len(self):
            lines.append(f"… {len(self) - limit:,} more")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.to_text(SHOWN)


def _named(end: float, period: str | float, is_dated: bool) -> str:
    """Return the name of a period from its end: its year, quarter or month, else the end itself."""
    shown = shown_time(end, is_dated)
    if period == "year":
        return shown[:4]
    if period == "month":
        return shown[:7]
    if period == "quarter":
        return f"{shown[:4]} Q{(int(shown[5:7]) + 2) // 3}"
    return shown
