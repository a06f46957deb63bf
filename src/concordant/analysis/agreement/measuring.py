"""The function ``cc.agreement``: inter-rater agreement with bootstrap confidence intervals.

The coefficients depend on the level of measurement; others are computed if they are asked for by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from concordant.analysis.agreement import categorical, numerical
from concordant.analysis.agreement.categorical import MAX_CATEGORIES, Counts, Statistic
from concordant.analysis.agreement.codings import Codings, codings_of
from concordant.analysis.agreement.pairwise import MAX_RATERS
from concordant.analysis.agreement.rankings import MAX_BALLOTS, MAX_ITEMS, rankings_of
from concordant.analysis.agreement.result import COEFFICIENTS, LEVELS, RANKS, Coefficient, RaterAgreement
from concordant.errors import InputError, NeedError, ParameterError, UnknownNameError, arg, suggest
from concordant.preferences import Preferences
from concordant.types import Floats

REPLICATES = 1_000
MAX_WORK = 2e8  # replicates times answers, where every replicate needs all answers
_WEIGHTED = {"linear", "quadratic"}


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
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ParameterError(f"seed must be a whole number of at least 0, got {seed!r}.")
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
    if codings.n_categories == 1:
        notes.append("All answers are equal, so coefficients that are corrected for chance are not defined.")
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
            least = 0.0 if name == "kendall-w" else -np.inf
            low, high = np.clip(np.quantile(moved, (0.025, 0.975)), least, 1.0).tolist()
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
