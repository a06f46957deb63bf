"""The ``rank`` function and the choice of the default method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from concordant.preferences import Preferences

if TYPE_CHECKING:
    from concordant.method import Method
    from concordant.ranking import Ranking

MANY_TIES = 0.05  # share of tied pairs above which a model of draws is the default


@dataclass(frozen=True)
class Default:
    """One row of the table of default methods: form of the data, condition, method and reason."""

    form: str
    when: str
    method: str
    reason: str
    applies: Callable[[Any], bool] = lambda _: True


class Summed(NamedTuple):
    """Placeholder for preferences of one instance if only the form, or the form and summary counts, are known."""

    form: str
    sums: Any = None
    n_instances: int = 1


# The first row whose form and condition match is used. Pairs are never fused by rank.
DEFAULTS = (
    Default(
        "pairs",
        "more than 5% of the pairs are ties",
        "davidson",
        "pairs, many of them tied",
        lambda prefs: _tied(prefs) > MANY_TIES,
    ),
    Default("pairs", "", "bradley-terry", "pairs"),
    Default("choices", "", "plackett-luce", "choices from sets of alternatives"),
    Default("top-k", "", "plackett-luce", "top-k lists with the rest in unknown order"),
    Default("approvals", "", "approval", "approvals"),
    Default(
        *("ratings", "they count how often items were best and worst", "best-worst", "counts of best and worst items"),
        lambda prefs: _is_best_worst(prefs),
    ),
    Default("ratings", "all ratings are equal", "approval", "ratings that are all equal", lambda prefs: _equal(prefs)),
    Default("ratings", "", "mpm", "ratings"),
    Default(
        *("teams", "a match has more than two teams", "plackett-luce", "matches between teams"),
        lambda prefs: prefs.team is not None and prefs.team.max() > 1,
    ),
    Default("teams", "", "bradley-terry", "matches between two teams"),
    Default(
        *("rankings", "they name the best and the worst item of sets", "best-worst", "best and worst items of sets"),
        lambda prefs: _is_best_worst(prefs),
    ),
    Default(
        "rankings",
        "the same agents rank in several instances",
        "rrf",
        "rankings by the same agents in several instances",
        lambda prefs: prefs.n_instances > 1 and prefs.n_agents is not None and prefs.n_agents < prefs.n_ballots,
    ),
    Default("rankings", "", "borda", "rankings"),
)


def default_choice(prefs: Preferences | Summed) -> Default:
    """Return the first row of the table of defaults that matches these preferences; classes cannot be ranked."""
    if isinstance(prefs, Preferences):
        from concordant.ballots.form import refuse_nominal

        refuse_nominal(prefs, "A ranking")
    return next((row for row in DEFAULTS if row.form == prefs.form and row.applies(prefs)), DEFAULTS[-1])


def default_method(prefs: Preferences) -> str:
    """Return the name of the method that ``rank`` uses by default."""
    return default_choice(prefs).method


def _tied(prefs: Preferences) -> float:
    """Return the share of comparisons that are ties, by weight."""
    is_tie = prefs.tier[0::2] == prefs.tier[1::2]
    if prefs.has_unit_weights:
        return float(is_tie.mean())
    return float(prefs.weight[is_tie].sum() / prefs.weight.sum())


def _equal(prefs: Preferences | Summed) -> bool:
    """Return whether all ratings are equal, as in a file that lists only approved items."""
    value = prefs.value if isinstance(prefs, Preferences) else None
    return value is not None and bool((value == value[0]).all())


def _is_best_worst(prefs: Preferences | Summed) -> bool:
    """Return whether the data were read as best-worst scaling."""
    return isinstance(prefs, Preferences) and prefs.meta.get("layout") == "best-worst"


def rank(
    prefs: Preferences | Any, method: str | Method | None = None, *, min_ballots: float | None = None, **params: object
) -> Ranking:
    """Rank the candidates of every instance.

    Parameters
    ----------
    prefs : Preferences, DataFrame, str, path or list of paths
        What to rank. A DataFrame (pandas, polars, pyarrow, …) is read as by ``Preferences.from_frame``. Names of
        files, folders and patterns (``"votes/*.parquet"``) are read as by ``cc.read``. Tables of sums (see
        ``concordant sql`` and ``concordant reduce``) take the place of the rows that they were made from.
    method : str or Method, optional
        Name of a method (``"borda"``; ``concordant methods`` lists all) or a method object (``cc.Borda()``). By
        default, a method that suits the form of the data is chosen.
    min_ballots : float, optional
        Minimum number of ballots, by weight, that must mention an item. Other items are left out, and a warning of
        the ranking says how many.
    **params : object
        Hyper-parameters of the method (``prior=1.0``). If ``prefs`` is a DataFrame or files, arguments that are
        options of ``Preferences.from_frame`` or ``cc.read`` (``winner="chosen"``, ``format="trec"``, ``workers=4``)
        control reading instead. A name that is both belongs to the method if ``method`` is given by name.

    Returns
    -------
    Ranking
        Items, scores, ranks and, for many methods, confidence intervals of every instance.

    Raises
    ------
    InputError
        If there is nothing to rank, or the data cannot be read.
    NeedError
        If the data lack what the method needs, such as ratings or agents.
    ParameterError
        If a hyper-parameter is unknown or out of range.
    UnknownNameError
        If no method has this name.

    Notes
    -----
    Files are reduced to counts while they are read if the method allows it. ``workers`` processes or a Dask
    ``cluster`` then share the work. The engine of a lazy frame (polars, DuckDB, Dask, Spark, ibis) counts pairs and
    sums ratings and ranks itself. ``ranking.ran`` says what ran where.

    Examples
    --------
    >>> import concordant as cc
    >>> prefs = cc.Preferences.from_rankings([["a", "b", "c"], ["b", "a", "c"], ["a", "c", "b"]])
    >>> ranking = cc.rank(prefs, "borda")
    >>> ranking.items
    ['a', 'b', 'c']
    >>> ranking.scores.tolist()
    [5.0, 3.0, 1.0]
    >>> cc.rank(prefs, "plackett-luce", prior=1.0).method
    'plackett-luce'
    """
    from concordant.request import Request

    return Request.of(prefs, method, params, min_ballots=min_ballots).run().ranking
