"""The result of comparing groups: the overall ranking, each group and their differences, as tables, text and plain
data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from concordant.ballots.vocabulary import in_sentence, shorten
from concordant.errors import Sentence
from concordant.ranking import Notice, Ranking
from concordant.results.rendering import interval_column, named
from concordant.results.scales import EloScale, scale_of
from concordant.support.display import Block, Displayed, DisplayTable, Passage
from concordant.support.text import align, p_value
from concordant.types import Floats

SHOWN = 8  # groups that a table has room for
TOLD = 12  # differences that are told in sentences
LABEL = 16  # characters of a group's name above its column
UP, DOWN = "▲", "▼"


@dataclass(frozen=True)
class GroupDifference:
    """One item in one group: its rank there, and the difference of its score from all other groups together.

    ``low`` and ``high`` are the confidence interval of ``score``, None if the method has none. ``difference`` is
    between comparable scores (centred, and per ballot if scores are totals); ``z`` is the difference in standard
    errors. Both are None for items that occur only in the group or only elsewhere.
    """

    group: str
    item: str
    rank: int
    rank_in_whole: int
    score: float
    low: float | None
    high: float | None
    difference: float | None
    stderr: float | None
    z: float | None
    p: float | None
    p_adjusted: float | None
    holds: bool
    """Whether the difference is statistically significant after correction for multiple testing."""


@dataclass(frozen=True, eq=False)
class GroupComparison(Displayed):
    """The ranking of all ballots, that of each group, and their differences; prints as a table with sentences.

    ``whole`` is the overall ranking, ``groups`` a ranking with one instance per group, largest first. ``differences``
    has one row per group and item, in the order of both. ``sizes`` is the total weight of the ballots of each group,
    ``n_compared`` the number of differences that were tested as one family.
    """

    whole: Ranking
    groups: Ranking
    differences: tuple[GroupDifference, ...]
    sizes: Mapping[str, float]
    test: str
    correction: str
    alpha: float
    n_compared: int
    permutations: int = 0
    by: str = "group"
    notices: tuple[Notice, ...] = ()

    @property
    def names(self) -> list[str]:
        """The groups, largest first."""
        return list(self.sizes)

    @property
    def significant(self) -> list[GroupDifference]:
        """The statistically significant differences, smallest adjusted p-value first."""
        return sorted(
            (row for row in self.differences if row.holds), key=lambda row: (row.p_adjusted, -abs(row.z or 0))
        )

    holding = significant  # its name in earlier versions

    @property
    def warnings(self) -> tuple[Notice, ...]:
        """Warnings about the overall ranking, small groups and the rankings of single groups."""
        known = {notice.name for notice in self.whole.warnings}
        of_groups = [
            replace(notice, text=Sentence("within groups, ", notice.text))
            for notice in self.groups.warnings
            if notice.name not in known
        ]
        return (*self.whole.warnings, *self.notices, *of_groups)

    @cached_property
    def cells(self) -> Mapping[tuple[str, str], GroupDifference]:
        """The differences by (group, item)."""
        return {(row.group, row.item): row for row in self.differences}

    # ---- words ----
    @cached_property
    def decimals(self) -> int:
        """The number of decimals of differences: the largest has three significant digits."""
        largest = max((abs(row.difference) for row in self.differences if row.difference is not None), default=0.0)
        return int(np.clip(2 - np.floor(np.log10(largest)), 0, 12)) if largest > 0 else 0

    def _write(self, difference: float) -> str:
        return f"{round(difference, self.decimals) + 0.0:+.{self.decimals}f}"

    @property
    def tested(self) -> str:
        """The significance test, in a few words."""
        if not self.n_compared:
            return "differences were not tested"
        drawn = f", {self.permutations:,} draws" if self.permutations else ""
        return f"{self.test}{drawn}; {self.correction} over {self.n_compared:,} comparisons, level {self.alpha:g}"

    def sentences(self, most: int = TOLD) -> list[str]:
        """Return sentences on the significant differences, smallest p-value first, or state that there are none.

        Parameters
        ----------
        most : int, default 12
            Maximum number of differences.

        Returns
        -------
        list of str
            The sentences.
        """
        significant = self.significant
        if len(self.names) == 2:  # what one group has more the other has less
            significant = [difference for difference in significant if difference.group == self.names[0]]
        sentences = [self._sentence(difference) for difference in significant[:most]]
        more = len(significant) - len(sentences)
        if more > 0:
            sentences.append(f"… and {more:,} more significant differences")
        if sentences:
            return sentences
        if not self.n_compared:
            return ["no difference between groups was tested"]
        smallest_p = min(
            (difference.p_adjusted for difference in self.differences if difference.p_adjusted is not None), default=1.0
        )
        return [
            f"no difference between groups is significant: smallest adjusted {p_value(smallest_p, self.correction)}"
        ]

    def _sentence(self, row: GroupDifference) -> str:
        """Return a significant difference as a sentence."""
        assert row.difference is not None
        assert row.p_adjusted is not None
        direction = "higher" if row.difference > 0 else "lower"
        places = f"rank {row.rank} in the group, {row.rank_in_whole} overall"
        p = p_value(row.p_adjusted, self.correction)
        amount = self._write(abs(row.difference)).removeprefix("+")
        who = f"{in_sentence(row.group, 40)}: {in_sentence(row.item, 40)}"
        return f"{who} scores {amount} {direction} than in the other groups, {p}; {places}"

    @property
    def legend(self) -> str:
        """The legend for the columns of the groups."""
        return (
            f"groups: rank in the group, score in the group minus score in all other groups; {UP} {DOWN} mark "
            f"significant differences ({self.tested})"
        )

    def written(self, n: int | None = None, most: int = SHOWN) -> dict[str, list[str]]:
        """Return the table of the best items by column, as text: the overall ranking, then the largest groups.

        Parameters
        ----------
        n : int, optional
            Number of items; all if not given.
        most : int, default 8
            Maximum number of groups.

        Returns
        -------
        dict of str to list of str
            Cells by column heading.
        """
        n = len(self.whole.items) if n is None else min(n, len(self.whole.items))
        columns = self.whole.written(n)
        columns.pop(interval_column(self.whole), None)
        for name in self.names[:most]:
            head = f"{shorten(name, LABEL)} ({self.sizes[name]:,.6g})"
            columns[head if head not in columns else f"{name} ({self.sizes[name]:,.6g})"] = self._column(name, n)
        return columns

    def _column(self, name: str, n: int) -> list[str]:
        """Return the cells of a group: rank, difference, and a mark if it is significant."""
        rows = [self.cells.get((name, item)) for item in self.whole.items[:n]]
        ranks = ["-" if row is None else str(row.rank) for row in rows]
        differences = ["" if row is None or row.difference is None else self._write(row.difference) for row in rows]
        widths = max(map(len, ranks), default=0), max(map(len, differences), default=0)
        marks = [_mark(row) for row in rows]
        return [f"{a:>{widths[0]}} {b:>{widths[1]}} {c}" for a, b, c in zip(ranks, differences, marks, strict=True)]

    def __str__(self) -> str:
        columns = self.written(20)
        lines = align([list(columns), *zip(*columns.values(), strict=True)], right={0, 2, *range(3, len(columns))})
        return "\n".join(
            [*lines, *self.left_out(20), self.legend, "", *self.sentences(), *(f"warning: {w}" for w in self.warnings)]
        )

    __repr__ = __str__

    def left_out(self, n: int | None = None) -> list[str]:
        """Return a note on what the table does not show.

        Parameters
        ----------
        n : int, optional
            Number of items in the table; all if not given.

        Returns
        -------
        list of str
            One note, or none.
        """
        items = 0 if n is None else len(self.whole.items) - n
        groups = len(self.names) - SHOWN
        omitted = [f"{items:,} more items"] if items > 0 else []
        omitted += [f"{groups:,} smaller groups"] if groups > 0 else []
        return [f"… {' and '.join(omitted)}"] if omitted else []

    def blocks(self) -> list[Block]:
        """Return the tables that ``to_markdown``, ``to_latex``, ``to_html`` and the command line show.

        Returns
        -------
        list of DisplayTable or Passage
            The overall ranking with the largest groups, and sentences on the significant differences.
        """
        return self._blocks(None)

    def _blocks(self, n: int | None) -> list[Block]:
        """Return the table of the best ``n`` items, and the sentences."""
        columns = self.written(n)
        n_items = len(self.whole.items) if n is None else n
        table = DisplayTable(
            list(columns),
            list(zip(*columns.values(), strict=True)),
            {0, *range(2, len(columns))},
            named(self.whole, f" by {self.by}"),
            [*self.left_out(n), self.legend],
            shades=self._shades(n_items, len(columns) - len(self.names[:SHOWN])),
        )
        return [table, Passage(self.sentences())]

    def _repr_html_(self) -> str:
        from concordant.support.notebook import notebook

        return notebook([*self._blocks(50), Passage([str(notice) for notice in self.warnings])])

    def _shades(self, n_items: int, n_before: int) -> dict[tuple[int, int], float]:
        """Return the differences from -1 to 1 by row and column of the table, whose groups start at ``n_before``."""
        known = {key: cell.difference for key, cell in self.cells.items() if cell.difference is not None}
        largest = max(map(abs, known.values()), default=0.0) or 1.0
        names, items = self.names[:SHOWN], self.whole.items[:n_items]
        return {
            (row, n_before + column): known[name, item] / largest
            for row, item in enumerate(items)
            for column, name in enumerate(names)
            if (name, item) in known
        }

    # ---- export ----
    def columns(self) -> dict[str, list[Any]]:
        """Return all differences as columns, one row per group and item.

        Returns
        -------
        dict of str to list
            Fields of ``GroupDifference``.
        """
        names = [field.name for field in fields(GroupDifference)]
        return {name: [getattr(row, name) for row in self.differences] for name in names}

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the differences as a DataFrame, one row per group and item.

        Parameters
        ----------
        backend : {'pandas', 'polars', 'pyarrow'}, optional
            Library of the DataFrame; by default, the one that the preferences came from, or else an installed one.

        Returns
        -------
        DataFrame
            The columns of ``columns``.
        """
        from concordant.tables.frames import frame_of

        return frame_of(self.columns(), backend, self.whole.library)

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain data, ready for JSON.

        Returns
        -------
        dict
            Groups, test, rankings, differences and warnings.
        """
        return {
            "by": self.by,
            "groups": [{"group": name, "ballots": size} for name, size in self.sizes.items()],
            "test": self.test,
            "permutations": self.permutations,
            "correction": self.correction,
            "alpha": self.alpha,
            "compared": self.n_compared,
            "whole": self.whole.to_dict(),
            "rankings": self.groups.to_dict()["instances"],
            "differences": [asdict(row) for row in self.differences],
            "warnings": [
                {"name": notice.name, "text": notice.text, "items": list(notice.items)} for notice in self.warnings
            ],
        }

    def head(self, n: int) -> GroupComparison:
        """Keep only the best items overall; the tests stay the same.

        Parameters
        ----------
        n : int
            Maximum number of items.

        Returns
        -------
        GroupComparison
            The shortened comparison.
        """
        whole = self.whole.head(n)
        kept = set(whole.items)
        return replace(self, whole=whole, differences=tuple(row for row in self.differences if row.item in kept))

    def sorted_by(self, end: str) -> GroupComparison:
        """Return the comparison with items sorted by overall score, or by a bound of its confidence interval.

        Parameters
        ----------
        end : {'score', 'low', 'high'}
            Sort key.

        Returns
        -------
        GroupComparison
            The same comparison in another order.
        """
        whole = self.whole.by(end)
        rank = dict(zip(whole.items, whole.ranks.tolist(), strict=True))
        rows = [replace(row, rank_in_whole=rank[row.item]) for row in self.differences]
        place = {item: k for k, item in enumerate(whole.items)}, {name: k for k, name in enumerate(self.names)}
        rows.sort(key=lambda row: (place[1][row.group], place[0][row.item]))
        return replace(self, whole=whole, differences=tuple(rows))

    def on_scale(
        self,
        scale: str | EloScale = "elo",
        *,
        centre: float | None = None,
        anchor: str | tuple[str, float] | None = None,
        points: float | None = None,
    ) -> GroupComparison:
        """Return the comparison with scores and differences on the Elo scale; the tests stay the same.

        The overall ranking and that of each group have their own mean or anchor. Differences between groups are in
        rating points, still relative to the mean of the items, not to the anchor.

        Parameters
        ----------
        scale : {'elo'} or EloScale, default 'elo'
            The scale, as in ``ranking.on_scale``.
        centre : float, optional
            Mean rating, by default 1000.
        anchor : str or tuple of str and float, optional
            Item with a fixed rating in every group.
        points : float, optional
            Rating difference that means odds of 10 to 1, by default 400.

        Returns
        -------
        GroupComparison
            The comparison on this scale.
        """
        given = scale_of(scale, centre, anchor, points)
        whole, groups = self.whole.on_scale(given), self.groups.on_scale(given)
        factor = (whole.log_odds or 1.0) / (self.whole.log_odds or 1.0)
        return replace(self, whole=whole, groups=groups, differences=_converted(self.differences, groups, factor))

    def plot(self, path: str | None = None, *, top: int = 40) -> Any:
        """Plot the differences as a heat map, items x groups, with a star if significant (needs Matplotlib).

        Parameters
        ----------
        path : str, optional
            File to save the figure to, ending in .svg, .png or .pdf.
        top : int, default 40
            Maximum number of items.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.
        """
        from concordant.narrative.plots import plot_groups

        return plot_groups(self, path, top=top)

    def matrix(self, items: Sequence[str], groups: Sequence[str]) -> Floats:
        """Return the differences of some items in some groups.

        Parameters
        ----------
        items : sequence of str
            Items (rows).
        groups : sequence of str
            Groups (columns).

        Returns
        -------
        ndarray of shape (n_items, n_groups)
            The differences, NaN if not known.
        """
        rows = [[self.cells.get((group, item)) for group in groups] for item in items]
        return np.array(
            [[np.nan if cell is None or cell.difference is None else cell.difference for cell in row] for row in rows]
        ).reshape(len(items), len(groups))


def _converted(rows: Sequence[GroupDifference], groups: Ranking, factor: float) -> tuple[GroupDifference, ...]:
    """Return the rows with scores of these rankings of the groups, and with differences times the factor."""
    columns = groups.columns()
    keys = zip(columns["instance"], columns["item"], strict=True)
    place = {key: k for k, key in enumerate(keys)}
    values = [columns.get(name) for name in ("score", "low", "high")]
    out = []
    for row in rows:
        k = place[row.group, row.item]
        score, low, high = (None if column is None else float(column[k]) for column in values)
        difference, stderr = (None if part is None else factor * part for part in (row.difference, row.stderr))
        assert score is not None
        out.append(replace(row, score=score, low=low, high=high, difference=difference, stderr=stderr))
    return tuple(out)


def _mark(row: GroupDifference | None) -> str:
    return " " if row is None or not row.holds else UP if (row.difference or 0) > 0 else DOWN
