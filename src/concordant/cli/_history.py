"""Ratings over time for ``concordant rank``: the history as a file or plot, leaders by period, and peaks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import click

from concordant.cli import _shared as shared
from concordant.cli._help import option

if TYPE_CHECKING:
    from concordant.support.display import DisplayTable


def history_options(command: Any) -> Any:
    """Add the options for ratings over time, which ``OverTime.taken`` parses."""
    declared = (
        option(
            *("--history", "history_file"),
            metavar="FILE",
            heading="time",
            help="Write the rating history to this file (csv, …).",
        ),
        option(
            *("--plot-history", "history_plot"),
            metavar="FILE",
            heading="time",
            rare=True,
            help="Save a plot of the best items' ratings over time.",
        ),
        option(
            *("--history-items", "history_items"),
            metavar="A,B,…",
            heading="time",
            rare=True,
            help="Items in the history; by default all (in a plot, the best).",
        ),
        option(
            *("--best-of", "history_best_of"),
            metavar="PERIOD",
            heading="time",
            rare=True,
            help="Show the top item of each year, quarter, month or N days.",
        ),
        option(
            *("--peaks", "history_peaks"),
            is_flag=True,
            heading="time",
            rare=True,
            help="Show the peak rating of each item and its date; with --sort low, the peak lower bound.",
        ),
    )
    for add in reversed(declared):
        command = add(command)
    return command


class HistoryOutput(NamedTuple):
    """Notes and tables from a history; tables are by key, each with its title."""

    notes: list[str]
    tables: dict[str, tuple[str, Any]]

    def to_dict(self) -> dict[str, Any]:
        """Return the tables as plain data, ready for JSON."""
        return {key: table.to_rows() for key, (_, table) in self.tables.items()}

    def blocks(self) -> list[DisplayTable]:
        """Return the tables for people."""
        from concordant.support.display import DisplayTable

        written = [(title, *table.written()) for title, table in self.tables.values()]
        return [DisplayTable(header, rows, right, title) for title, header, rows, right in written]


class OverTime(NamedTuple):
    """The requested outputs about ratings over time."""

    file: str | None
    plot: str | None
    items: str | None
    best_of: str | None
    peaks: bool

    @classmethod
    def taken(cls, options: dict[str, Any]) -> OverTime:
        """Remove these options from a command's options and return them."""
        return cls(*(options.pop(f"history_{name}") for name in cls._fields))

    def check(self, output: shared.Output) -> None:
        """Reject contradictory options before anything is read."""
        output.check_extras("--best-of" if self.best_of else "--peaks" if self.peaks else "")
        if self.items and not (self.file or self.plot):
            raise click.UsageError("--history-items needs --history or --plot-history: add one of them.")
        shared.check_plots(self.plot)

    def tell(self, ranking: Any, top: int | None) -> HistoryOutput:
        """Write and plot the history, and return the requested tables."""
        notes: list[str] = []
        tables: dict[str, tuple[str, Any]] = {}
        if not (self.file or self.plot or self.best_of or self.peaks):
            return HistoryOutput(notes, tables)
        history, items = ranking.history, shared.listed(self.items or "")
        if self.file:
            from concordant.io import write_table

            rows = history.of(*items) if items else history
            write_table(rows.columns(), self.file)
            notes.append(f"wrote {len(rows):,} ratings of {len(set(rows.item.tolist())):,} items to {self.file}")
        if self.plot:
            chosen = {"items": items} if items else {"top": min(top or 10, 30)}
            shared.tell_of_plot(ranking.plot_history(self.plot, **chosen))
        if self.best_of:
            period = _number_or_word(self.best_of)
            tables["best_of"] = (f"leaders by {self.best_of}", history.best(period))
        if self.peaks:
            peaks = history.peaks(ranking.sorted_by)
            tables["peaks"] = ("peaks", peaks if top is None else peaks.head(top))
        return HistoryOutput(notes, tables)


def _number_or_word(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
