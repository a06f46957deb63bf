"""The result of ``cc.agreement``: coefficients with their intervals, the level of measurement, and pairs of raters.

``COEFFICIENTS`` lists all coefficients with the levels at which they are shown by default.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from concordant.analysis.agreement.codings import Codings
from concordant.analysis.agreement.pairwise import Pairs, pairs_of
from concordant.analysis.agreement.rankings import Rankings
from concordant.errors import NeedError, UnknownNameError, suggest
from concordant.support.display import Block, Displayed, DisplayTable, Passage, text
from concordant.support.text import interval_cells, interval_heading

LEVELS = ("nominal", "ordinal", "interval", "ratio")
RANKS = "rankings"  # the level of rankings, which have no answers
FEW_PAIRS = 10  # that are shown below the coefficients


class Kind(NamedTuple):
    """A coefficient: its title, what it measures, the levels at which it is shown, and the number of raters."""

    title: str
    meaning: str
    levels: tuple[str, ...]
    raters: str = "any"
    """For which numbers of raters it is shown by default: any, two or more (than two)."""


_TWO, _MORE = "two", "more"
COEFFICIENTS: dict[str, Kind] = {
    "percent-agreement": Kind(
        "percent agreement", "share of equal answers of two raters, not corrected for chance", ("nominal", "ordinal")
    ),
    "krippendorff-alpha": Kind("Krippendorff's alpha", "1 - observed / expected disagreement", LEVELS),
    "cohen-kappa": Kind("Cohen's kappa", "chance from the answers of each of two raters", ("nominal",), _TWO),
    "cohen-kappa-linear": Kind(
        "Cohen's kappa (linear weights)", "partial credit for near categories", ("ordinal",), _TWO
    ),
    "cohen-kappa-quadratic": Kind(
        "Cohen's kappa (quadratic weights)", "partial credit for near categories", ("ordinal",), _TWO
    ),
    "scott-pi": Kind("Scott's pi", "chance from the answers of both raters together", ("nominal",), _TWO),
    "fleiss-kappa": Kind("Fleiss' kappa", "chance from the answers of all raters together", ("nominal",), _MORE),
    "fleiss-kappa-linear": Kind("Fleiss' kappa (linear weights)", "partial credit for near categories", ()),
    "fleiss-kappa-quadratic": Kind(
        "Fleiss' kappa (quadratic weights)", "partial credit for near categories", ("ordinal",), _MORE
    ),
    "gwet-ac1": Kind("Gwet's AC1", "chance that stays small if one class is frequent", ("nominal",)),
    "gwet-ac2-linear": Kind("Gwet's AC2 (linear weights)", "as AC1, with partial credit", ()),
    "gwet-ac2-quadratic": Kind("Gwet's AC2 (quadratic weights)", "as AC1, with partial credit", ("ordinal",)),
    "icc-1-1": Kind("ICC(1,1)", "one rater, other raters for every item", ("interval", "ratio")),
    "icc-2-1": Kind("ICC(2,1)", "one rater, absolute agreement, also ICC(A,1)", ("interval", "ratio")),
    "icc-3-1": Kind("ICC(3,1)", "one rater, consistency, also ICC(C,1)", ("interval", "ratio")),
    "icc-1-k": Kind("ICC(1,k)", "mean of the raters, other raters for every item", ("interval", "ratio")),
    "icc-2-k": Kind("ICC(2,k)", "mean of the raters, absolute agreement", ("interval", "ratio")),
    "icc-3-k": Kind("ICC(3,k)", "mean of the raters, consistency (Cronbach's alpha)", ("interval", "ratio")),
    "kendall-w": Kind("Kendall's W", "share of the variance of ranks between items, 1 if all agree", (RANKS,)),
    "mean-tau": Kind("mean Kendall's tau-b", "mean over pairs of rankings, 0 if they are unrelated", (RANKS,)),
}


@dataclass(frozen=True)
class Coefficient:
    """One coefficient with its bootstrap confidence interval; NaN where it is not defined."""

    name: str
    title: str
    value: float
    low: float
    high: float
    meaning: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, None for what is not defined."""
        numbers = {name: _or_none(getattr(self, name)) for name in ("value", "low", "high")}
        return {"name": self.name, "title": self.title, **numbers}


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


@dataclass(frozen=True, eq=False)
class RaterAgreement(Displayed):
    """Inter-rater agreement: coefficients with 95% confidence intervals, and pairs of raters.

    Attributes
    ----------
    coefficients : tuple of Coefficient
        The coefficients, with ``name``, ``title``, ``value``, ``low`` and ``high``; NaN where one is not defined.
    level : str
        The level of measurement: nominal, ordinal, interval or ratio; or rankings.
    reason : str
        Why the answers have this level.
    n_raters, n_items, n_answers : int
        Numbers of raters, of items (or comparisons) with at least two answers, and of answers.
    notes : tuple of str
        Remarks on the computation.
    """

    coefficients: tuple[Coefficient, ...]
    level: str
    reason: str
    n_raters: int
    n_items: int
    n_answers: int
    notes: tuple[str, ...]
    data: Codings | Rankings
    unit: str
    """What a bootstrap draws: items, comparisons, rankings or instances."""
    replicates: int
    library: str | None = None

    def __getitem__(self, name: str) -> Coefficient:
        """Return a coefficient by name."""
        found = next((one for one in self.coefficients if one.name == name), None)
        if found is None:
            known = [one.name for one in self.coefficients]
            raise UnknownNameError(f"There is no coefficient {name!r} here.{suggest(name, known)}")
        return found

    @property
    def main(self) -> Coefficient:
        """The coefficient of a one-line summary: alpha of answers; W of complete rankings, otherwise tau."""
        if isinstance(self.data, Rankings):
            name = "kendall-w" if self.data.is_complete else "mean-tau"
        else:
            name = "krippendorff-alpha"
        return next((one for one in self.coefficients if one.name == name), self.coefficients[0])

    @property
    def sentence(self) -> str:
        """The main coefficient in one line."""
        one = self.main
        value = "is not defined: all answers are equal" if np.isnan(one.value) else f"{one.value:.3f}"
        interval = "" if np.isnan(one.low) else f", {interval_heading()} {one.low:.3f} to {one.high:.3f}"
        return f"{one.title} {value}{interval}"

    @cached_property
    def names(self) -> tuple[str, ...] | None:
        """The names of the raters, if they are known."""
        if isinstance(self.data, Rankings):
            agents = self.data.prefs.agents
            return None if agents is None else tuple(agents.labels)
        return self.data.names

    @cached_property
    def _pairs(self) -> Pairs:
        if self.names is None:
            raise NeedError("A table of pairs needs the names of the raters: name the column of agents.")
        if isinstance(self.data, Rankings):
            first, second, n, tau = self.data.pairs()
            return Pairs(first, second, n, np.full(len(n), np.nan), tau)
        return pairs_of(self.data, self.level)

    @property
    def pair_title(self) -> str:
        """The name of the coefficient of a pair of raters."""
        titles = {"nominal": "Cohen's kappa", "ordinal": "kappa (quadratic)", RANKS: "Kendall's tau-b"}
        return titles.get(self.level, "ICC(3,1)")

    def pairs(self) -> dict[str, Any]:
        """Return the pairs of raters who answer at least one item in common, as columns.

        Returns
        -------
        dict of str to list
            ``rater_1``, ``rater_2``, ``n_items`` (in common; instances of rankings), ``agreement`` (share of equal
            answers, not of rankings) and ``coefficient``: Cohen's kappa, with quadratic weights at the ordinal level,
            ICC(3,1) of numbers, and the mean of Kendall's tau-b of rankings; lowest first.
        """
        found, names = self._pairs, self.names
        assert names is not None
        order = np.lexsort((found.second, found.first, found.coefficient))
        columns: dict[str, Any] = {
            "rater_1": [names[k] for k in found.first[order].tolist()],
            "rater_2": [names[k] for k in found.second[order].tolist()],
            "n_items": found.n_items[order].astype(np.int64).tolist(),
        }
        if self.level != RANKS:
            columns["agreement"] = found.agreement[order].tolist()
        return columns | {"coefficient": found.coefficient[order].tolist()}

    def columns(self) -> dict[str, Any]:
        """Return the coefficients as columns.

        Returns
        -------
        dict of str to list
            ``coefficient``, ``value``, ``low`` and ``high``.
        """
        columns: dict[str, Any] = {"coefficient": [one.name for one in self.coefficients]}
        return columns | {
            name: [getattr(one, name) for one in self.coefficients] for name in ("value", "low", "high")
        }  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the pairs as plain data, ready for JSON.

        Returns
        -------
        dict
            ``level``, ``reason``, counts, ``coefficients`` and ``notes``.
        """
        counts = {"n_raters": self.n_raters, "n_items": self.n_items, "n_answers": self.n_answers}
        found = [one.to_dict() for one in self.coefficients]
        return {"level": self.level, "reason": self.reason, **counts, "coefficients": found, "notes": [*self.notes]}

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the coefficients as a DataFrame, one row each.

        Parameters
        ----------
        backend : {'pandas', 'polars', 'pyarrow'}, optional
            Library of the DataFrame; by default, that of the data, or else an installed one.

        Returns
        -------
        DataFrame
            The columns of ``columns``.
        """
        from concordant.tables.frames import frame_of

        return frame_of(self.columns(), backend, self.library)

    def table(self) -> DisplayTable:
        """Return the table of coefficients for people.

        Returns
        -------
        DisplayTable
            A row per coefficient, with its value, its confidence interval and what it measures.
        """
        low, high = [one.low for one in self.coefficients], [one.high for one in self.coefficients]
        interval = interval_cells(low, high, "{:.3f}".format)
        rows = [
            (one.title, "not defined" if np.isnan(one.value) else f"{one.value:.3f}", ends, one.meaning)
            for one, ends in zip(self.coefficients, interval, strict=True)
        ]
        return DisplayTable(("coefficient", "value", interval_heading(), "what it measures"), rows, (1, 2))

    def pairs_table(self, n: int | None = None) -> DisplayTable:
        """Return the table of pairs of raters for people.

        Parameters
        ----------
        n : int, optional
            Number of pairs to show; all by default.

        Returns
        -------
        DisplayTable
            A row per pair of raters, with the items in common and the agreement.
        """
        columns = self.pairs()
        heads = {"rater_1": "rater", "rater_2": "other rater", "n_items": "items in common", "agreement": "agreement"}
        if self.level == RANKS:
            heads["n_items"] = "instances"
        write = {"n_items": "{:,}".format, "agreement": "{:.0%}".format, "coefficient": _number}
        cells = [[write.get(name, str)(cell) for cell in column[:n]] for name, column in columns.items()]
        header = [heads.get(name, self.pair_title) for name in columns]
        return DisplayTable(header, list(zip(*cells, strict=True)), range(2, len(header)), "Pairs of raters")

    def blocks(self) -> list[Block]:
        """Return what ``to_markdown``, ``to_latex``, ``to_html`` and the command line show.

        Returns
        -------
        list of DisplayTable or Passage
            The counts, the coefficients, and the pairs of raters if there are few.
        """
        noun = {"items": "items", "comparisons": "comparisons"}.get(self.unit, "items")
        counts = f"{self.n_raters:,} raters, {self.n_items:,} {noun} with at least two answers"
        what = "rankings" if self.level == RANKS else "answers"
        said: list[Block] = [Passage([f"{self.n_answers:,} {what}: {counts}.", self.reason]), self.table()]
        if self.names is not None and 3 <= self.n_raters <= 5:
            said.append(self.pairs_table(FEW_PAIRS))
        if self.replicates:
            said.append(Passage([f"Confidence intervals: {self.replicates:,} bootstrap samples of {self.unit}."]))
        return said

    def __str__(self) -> str:
        return text(self.blocks())

    __repr__ = __str__


def _number(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.3f}"
