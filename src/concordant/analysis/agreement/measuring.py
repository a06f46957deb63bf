"""The function ``cc.agreement``: inter-rater agreement with bootstrap confidence intervals.

The coefficients depend on the level of measurement. ``COEFFICIENTS`` lists all of them with the levels at which they
are shown by default; others are computed if they are asked for by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from concordant.analysis.agreement import categorical, numerical
from concordant.analysis.agreement.categorical import MAX_CATEGORIES, Counts, Statistic
from concordant.analysis.agreement.codings import Codings, codings_of
from concordant.analysis.agreement.pairwise import MAX_RATERS, Pairs, pairs_of
from concordant.analysis.agreement.rankings import MAX_BALLOTS, MAX_ITEMS, Rankings, rankings_of
from concordant.errors import InputError, NeedError, ParameterError, UnknownNameError, arg, suggest
from concordant.preferences import Preferences
from concordant.support.display import Block, Displayed, DisplayTable, Passage, text
from concordant.support.text import interval_cells, interval_heading
from concordant.types import Floats

LEVELS = ("nominal", "ordinal", "interval", "ratio")
RANKS = "rankings"  # the level of data that are no answers
REPLICATES = 1_000
MAX_WORK = 2e8  # replicates times answers, where every replicate needs all answers
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
_WEIGHTED = {"linear", "quadratic"}


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
        """Return the table of coefficients for people."""
        low, high = [one.low for one in self.coefficients], [one.high for one in self.coefficients]
        interval = interval_cells(low, high, "{:.3f}".format)
        rows = [
            (one.title, "not defined" if np.isnan(one.value) else f"{one.value:.3f}", ends, one.meaning)
            for one, ends in zip(self.coefficients, interval, strict=True)
        ]
        return DisplayTable(("coefficient", "value", interval_heading(), "what it measures"), rows, (1, 2))

    def pairs_table(self, most: int | None = None) -> DisplayTable:
        """Return the table of pairs of raters for people, at most ``most`` of them."""
        columns = self.pairs()
        heads = {"rater_1": "rater", "rater_2": "other rater", "n_items": "items in common", "agreement": "agreement"}
        if self.level == RANKS:
            heads["n_items"] = "instances"
        write = {"n_items": "{:,}".format, "agreement": "{:.0%}".format, "coefficient": _number}
        cells = [[write.get(name, str)(cell) for cell in column[:most]] for name, column in columns.items()]
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


def agreement(
    prefs: Preferences | Any,
    *,
    level: str | None = None,
    coefficients: str | Sequence[str] | None = None,
    replicates: int = REPLICATES,
    seed: int = 0,
    **reading: object,
) -> RaterAgreement:
    """Measure inter-rater agreement.

    Parameters
    ----------
    prefs : Preferences, DataFrame, str, path or list of paths
        Ratings, answers in classes, comparisons of two items, or rankings by several raters (agents), as in
        ``cc.rank``. Answers may be missing.
    level : {'nominal', 'ordinal', 'interval', 'ratio'}, optional
        Level of measurement of the answers. By default, classes and two values are nominal, at most ten whole numbers
        ordinal, and other numbers interval.
    coefficients : str or sequence of str, optional
        Names of ``COEFFICIENTS``, such as ``"krippendorff-alpha"``; by default, those that suit the level and the
        number of raters.
    replicates : int, default 1000
        Number of bootstrap samples for the 95% confidence intervals; 0 computes none.
    seed : int, default 0
        Seed of the bootstrap.
    **reading : object
        Options of reading a DataFrame or files, as in ``cc.read``.

    Returns
    -------
    RaterAgreement
        The coefficients, ``pairs()`` of raters, and the level with the reason for it.

    Raises
    ------
    InputError
        If no item has answers of two raters.
    NeedError
        If the data lack what a coefficient asked for needs.
    ParameterError
        If the level does not suit the data.

    Examples
    --------
    >>> import concordant as cc
    >>> prefs = cc.Preferences.from_answers(["ann", "bob"] * 3, ["a", "a", "b", "b", "c", "c"], list("yynnyn"))
    >>> found = cc.agreement(prefs)
    >>> found.level, round(found["cohen-kappa"].value, 3)
    ('nominal', 0.4)
    """
    if not isinstance(prefs, Preferences):
        from concordant.request import Request

        prefs = Request.of(prefs, None, reading).read()
    elif reading:
        raise ParameterError(f"{next(iter(reading))!r} applies to DataFrames and files only: leave it out.")
    if isinstance(replicates, bool) or not isinstance(replicates, int) or replicates < 0:
        raise ParameterError(f"replicates must be a whole number of at least 0, got {replicates!r}.")
    if level is not None and level not in LEVELS:
        raise ParameterError(f"level must be one of {', '.join(LEVELS)}, got {level!r}.")
    asked = [coefficients] if isinstance(coefficients, str) else None if coefficients is None else [*coefficients]
    for name in asked or ():
        if name not in COEFFICIENTS:
            raise UnknownNameError(f"There is no coefficient {name!r}.{suggest(name, [*COEFFICIENTS])}")
    if asked is not None and not asked:
        raise ParameterError("coefficients is empty: name at least one, or leave it out.")
    if _are_answers(prefs):
        return _of_answers(prefs, level, asked, replicates, seed)
    return _of_rankings(prefs, level, asked, replicates, seed)


def _are_answers(prefs: Preferences) -> bool:
    """Return whether raters give items values, or compare two of them, rather than rank them."""
    return prefs.form == "pairs" or (prefs.form in ("ratings", "answers") and prefs.value is not None)


# ---- answers ----
def _of_answers(
    prefs: Preferences, level: str | None, asked: list[str] | None, replicates: int, seed: int
) -> RaterAgreement:
    codings = codings_of(prefs)
    if not codings.n_comparable:
        raise InputError("No item has answers of two raters, so there is no agreement to measure.")
    suggested, reason = codings.level
    chosen = level or suggested
    if codings.classes is not None and chosen != "nominal":
        text = " needs an order, but the answers are classes without one: order them with "
        raise ParameterError(arg("level", chosen) + text + arg("categories", shown="A,B,…") + ".")
    if chosen == "ratio" and codings.value.min() < 0:
        raise ParameterError(
            arg("level", chosen) + " needs answers of at least 0: use " + arg("level", "interval") + "."
        )
    reason = reason if level is None else f"The level of measurement is {chosen}, as given."
    n_present = len(np.unique(codings.rater))
    names = asked or _suitable(chosen, "two" if n_present == 2 else "more")
    counts: list[Counts] = []

    def shared() -> Counts:
        counts.extend([] if counts else [Counts(codings, seed)])
        return counts[0]

    notes, found = list(codings.notes), list[Coefficient]()
    draws: dict[int, Floats] = {}
    fewest = replicates
    for name in names:
        try:
            statistic = _statistic(name, chosen, codings, shared, seed)
        except NeedError:
            if asked is not None:
                raise
            continue
        fewest = min(fewest, _most(replicates, statistic, codings))
        found.append(_measured(name, chosen, statistic, fewest, seed, draws))
    if not asked and chosen in ("interval", "ratio") and len(found) < 7:
        notes.append("No two items are answered by all raters, so the two-way forms of the ICC are not shown.")
    if codings.names is not None and len(codings.names) > MAX_RATERS:
        notes.append(f"The table of pairs has the {MAX_RATERS:,} raters with the most answers.")
    unit = "comparisons" if codings.is_mirrored else "items"
    return RaterAgreement(
        tuple(found), chosen, reason, n_present, codings.n_comparable, codings.n_answers, tuple(notes), codings, unit,
        fewest, prefs.library,
    )  # fmt: skip


def _suitable(level: str, raters: str) -> list[str]:
    return [name for name, kind in COEFFICIENTS.items() if level in kind.levels and kind.raters in ("any", raters)]


def _most(replicates: int, statistic: Statistic, codings: Codings) -> int:
    """Return the number of replicates; fewer if every one of them needs a pass over very many answers."""
    if statistic.n_blocks <= 5_000:
        return replicates
    return min(replicates, max(int(MAX_WORK / len(codings.value)), 100))


def _statistic(name: str, level: str, codings: Codings, shared: Callable[[], Counts], seed: int) -> Statistic:
    """Return a coefficient of answers as a function of the weights of blocks."""
    words = name.split("-")
    weights = words[-1] if words[-1] in _WEIGHTED else "identity"
    if weights != "identity" and level == "nominal":
        raise NeedError("Weights need an order of the categories, but the answers are nominal: give the level ordinal.")
    if name == "krippendorff-alpha":
        return _alpha(level, codings, shared, seed)
    if words[0] == "icc":
        if codings.classes is not None:
            raise NeedError("Intraclass correlations need numbers, but the answers are classes.")
        form = f"{words[1]},{words[2]}"
        return (numerical.one_way if words[1] == "1" else numerical.two_way)(codings, form, seed)
    if words[0] in ("kendall", "mean"):
        raise NeedError(f"{COEFFICIENTS[name].title} needs rankings: use another coefficient, or rank the items.")
    counts = shared()
    if name == "percent-agreement":
        return categorical.percent_agreement(counts)
    if words[0] in ("cohen", "scott"):
        return categorical.of_two_raters(counts, words[0], weights)
    return categorical.chance_corrected(counts, words[0], weights)


def _alpha(level: str, codings: Codings, shared: Callable[[], Counts], seed: int) -> Statistic:
    if level == "nominal":
        return categorical.alpha_of_classes(shared())
    if level == "interval":
        return numerical.alpha_of_numbers(codings, seed)
    if codings.n_categories <= MAX_CATEGORIES:
        return categorical.alpha_by_tables(shared(), level)
    return numerical.alpha_of_ranks(codings) if level == "ordinal" else numerical.alpha_of_ratios(codings, seed)


# ---- rankings ----
def _of_rankings(
    prefs: Preferences, level: str | None, asked: list[str] | None, replicates: int, seed: int
) -> RaterAgreement:
    if level is not None:
        raise ParameterError(arg("level", level) + f" applies to answers, but the data are {prefs.form}: leave it out.")
    if prefs.form in ("teams", "empty"):
        raise InputError(f"Agreement is measured of answers and rankings by several raters, not of {prefs.form}.")
    rankings = rankings_of(prefs, seed)
    if rankings.n_items < 2:
        raise InputError("No two ballots rank two items in common, so there is no agreement to measure.")
    names = asked or _suitable(RANKS, "any")
    if wrong := next((name for name in names if RANKS not in COEFFICIENTS[name].levels), None):
        raise NeedError(f"{COEFFICIENTS[wrong].title} needs answers, but the data are {prefs.form}.")
    draws: dict[int, Floats] = {}
    found = []
    for name in names:
        statistic = rankings.concordance() if name == "kendall-w" else rankings.mean_tau()
        found.append(_measured(name, RANKS, statistic, replicates, seed, draws, is_shifted=True))
    notes = [] if prefs.agent is not None else ["Agents have no names, so each ballot counts as another rater."]
    if prefs.agent is not None and not prefs.has_unit_weights:
        notes.append("Each agent counts once: weights of ballots are ignored.")
    if not rankings.is_complete:
        notes.append(
            "Some ballots omit items: W and tau use the items that ballots rank, and tau those that both rank."
        )
    if "mean-tau" in names and rankings.is_sampled:
        notes.append(f"Tau uses a random sample of {MAX_BALLOTS} ballots and {MAX_ITEMS} items per instance.")
    reason = "The data are rankings, so the agreement is that of ranks."
    n = int(rankings.times.sum())
    unit = "instances" if rankings.has_several else "rankings"
    return RaterAgreement(
        tuple(found), RANKS, reason, rankings.n_raters, rankings.n_items, n, tuple(notes), rankings, unit, replicates,
        prefs.library,
    )  # fmt: skip


# ---- bootstrap ----
def _measured(
    name: str,
    level: str,
    statistic: Statistic,
    replicates: int,
    seed: int,
    draws: dict[int, Floats],
    *,
    is_shifted: bool = False,
) -> Coefficient:
    """Return a coefficient with the 2.5% and 97.5% quantiles of its bootstrap distribution.

    Samples of rankings contain the same ranking several times. With ``is_shifted``, the replicates are moved so that
    their mean is the coefficient, because equal copies agree.
    """
    kind, n = COEFFICIENTS[name], statistic.n_blocks
    value = float(statistic.at(np.ones((1, n)))[0]) if n else np.nan
    low = high = np.nan
    if replicates and n > 1 and not np.isnan(value):
        if n not in draws or len(draws[n]) != replicates:
            draws[n] = _resampled(n, replicates, seed)
        drawn = statistic.at(draws[n])
        known = drawn[~np.isnan(drawn)]
        if len(known) > 1:
            moved = known + value - known.mean() if is_shifted else known
            low, high = np.minimum(np.quantile(moved, (0.025, 0.975)), 1.0).tolist()
    title = f"{kind.title} ({level})" if name == "krippendorff-alpha" else kind.title
    return Coefficient(name, title, value, float(low), float(high), kind.meaning)


def _resampled(n: int, replicates: int, seed: int) -> Floats:
    """Return how often each of n blocks occurs in every bootstrap sample."""
    rng = np.random.default_rng(seed)
    weights = np.empty((replicates, n))
    for k in range(replicates):
        weights[k] = np.bincount(rng.integers(0, n, n), minlength=n)
    return weights


def summary(prefs: Preferences, *, replicates: int = 0, largest: float = 2e6) -> RaterAgreement | None:
    """Return the main coefficient only; None if it does not apply or is too expensive."""
    if prefs.n_agents is None or prefs.n_agents < 2 or len(prefs.item) > largest or prefs.form in ("teams", "empty"):
        return None
    name = "krippendorff-alpha"
    try:
        if not _are_answers(prefs):
            name = "kendall-w" if rankings_of(prefs, 0).is_complete else "mean-tau"
        return agreement(prefs, coefficients=name, replicates=replicates)
    except (InputError, NeedError):
        return None


def sentences(prefs: Preferences) -> list[str]:
    """Return the main coefficient with its confidence interval as a sentence; nothing if it does not apply."""
    found = summary(prefs, replicates=REPLICATES)
    return [] if found is None else [found.sentence]
