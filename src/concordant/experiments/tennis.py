"""Ratings of tennis players over time, and forecasts of ATP matches since 1968.

Every method gives, before each match, the probability that the eventual winner wins, from earlier matches alone:

    elo             ratings updated after every match
    trueskill       beliefs updated after every match, in proportion to their uncertainty
    glicko2         ratings with deviation and volatility, updated by period
    bradley-terry   all matches of the last N years have equal weight; refitted at the beginning of every month
    whole-history   strengths that drift over time, fitted to all matches together (if the method is installed)

Settings are chosen by grid search: the lowest log-loss on the seasons 1990 to 2004 (whole-history chooses its own by
marginal likelihood, from the matches before 1990). The table covers 2005 to 2024, and the same matches for all methods:
those where every method knows both players. Further tables show who led at the end of every year, the highest ratings,
and whether rating players by surface helps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, product
from typing import Any

import numpy as np

from concordant import datasets, registry
from concordant.errors import UnknownNameError
from concordant.experiments import frame
from concordant.experiments.claims import OWN, OWN_TITLE, Claim, Difference, as_rows, claims_table, is_above, is_below
from concordant.experiments.frame import LEVEL, About, DataFolder, Progress, ResultTable, Row, Settings, silent
from concordant.metrics.significance import holm, paired_t_test
from concordant.preferences import Preferences
from concordant.results.histories import History
from concordant.support.dates import as_moment, as_times, periods
from concordant.support.text import format_p
from concordant.types import Bools, Floats

TITLE = "Ratings of tennis players over time"
ABOUT = About(
    paper="None. This experiment compares rating methods on one set of matches.",
    setting="One-step-ahead forecasts of every match; settings chosen on the seasons 1990 to 2004; log-loss, Brier "
    "score and accuracy on 2005 to 2024.",
    data="ATP matches since 1968 (tour and Davis Cup), with dates, rounds and surfaces.",
)
SURFACES = ("all surfaces together", "by surface", "mean of both")
TUNED = ("1990-01-01", "2004-12-31")
TESTED = ("2005-01-01", "2024-12-31")
YEAR = 365.25  # days

Grid = Mapping[str, Sequence[object]]
GRIDS: Mapping[str, Grid] = {
    "elo": {"stake": (16.0, 20.0, 24.0, 28.0, 32.0, 40.0)},
    "trueskill": {"draw": (0.0,), "drift": (0.45, 0.7, 1.0, 1.4), "beta": (11.0, 15.0, 20.0, 28.0)},
    "glicko2": {"period": ("week", "month"), "volatility": (0.04, 0.06, 0.08), "deviation": (60.0, 100.0, 150.0)},
    "bradley-terry": {"years": (1.0, 2.0, 3.0, 5.0), "prior": (1.0, 3.0, 10.0)},
    "whole-history": {},
}
QUICK: Mapping[str, Grid] = {
    "elo": {"stake": (20.0, 28.0)},
    "trueskill": {"draw": (0.0,), "drift": (0.7,), "beta": (15.0,)},
    "glicko2": {"period": ("month",), "volatility": (0.06,), "deviation": (100.0, 150.0)},
    "bradley-terry": {"years": (2.0,), "prior": (1.0,)},
}
FOLLOWED = ("elo", "trueskill", "glicko2")  # methods with leaders, peaks and ratings by surface
BASELINE = "elo"
MIN_MATCHES = 5  # minimum number of matches, or periods, in a year to lead it


def settings_of(grid: Grid) -> list[dict[str, Any]]:
    """Return all combinations of a grid."""
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def grids(quick: bool = False) -> dict[str, Grid]:
    """Return the installed methods, each with its grid."""
    return {name: grid for name, grid in (QUICK if quick else GRIDS).items() if _is_known(name)}


def n_steps(quick: bool = False) -> int:
    """Return how many times ``run`` reports progress."""
    return sum(len(settings_of(grid)) for grid in grids(quick).values()) + len(FOLLOWED)


def run(data: DataFolder, quick: bool = False, progress: Progress = silent) -> dict[str, Any]:
    """Return the forecasts and settings of every method, the leaders, and the effect of surfaces."""
    folder = frame.data_folder(data, "tennis-atp")
    by_surface = datasets.load("tennis-atp", folder.parent, part="surfaces")
    assert isinstance(by_surface, Preferences)
    return run_on(by_surface, grids(quick), TUNED, TESTED, progress)


def run_on(
    by_surface: Preferences,
    grids: Mapping[str, Grid],
    tuned: tuple[str, str],
    tested: tuple[str, str],
    progress: Progress = silent,
) -> dict[str, Any]:
    """Run on dated matches with one instance per surface."""
    matches = together(by_surface)
    assert matches.time is not None
    (first, last), span = (as_times(list(ends))[0].tolist() for ends in (tuned, tested))
    is_tuning = (matches.time >= first) & (matches.time <= last)
    is_test = (matches.time >= span[0]) & (matches.time <= span[1])
    chosen: dict[str, dict[str, Any]] = {}
    chances: dict[str, Floats] = {}
    for name, grid in grids.items():
        tried: list[tuple[float, int, dict[str, Any], Floats]] = []
        for settings in settings_of(grid):
            chance = forecasts(name, settings, matches, tuned[0])
            tried.append((_loss_of_all(chance[is_tuning]), len(tried), settings, chance))
            progress(name)
        _, _, chosen[name], chances[name] = min(tried, key=lambda result: result[:2])
    is_compared = is_test & np.logical_and.reduce([np.isfinite(chance) for chance in chances.values()])
    rows = [{"method": name, "settings": chosen[name], **measures(chances[name][is_compared])} for name in chances]
    return {
        "matches": matches.n_ballots,
        "players": matches.n_items,
        "tested": int(is_test.sum()),
        "compared": int(is_compared.sum()),
        "rows": rows,
        "tests": _tests({name: chance[is_compared] for name, chance in chances.items()}),
        "by year": _by_year(chances, matches.time, is_compared),
        **_over_time(matches, {name: chosen[name] for name in FOLLOWED if name in chosen}),
        "surfaces": list(_by_surface(by_surface, chances, chosen, is_test, tuned[0], progress)),
    }


def together(by_surface: Preferences) -> Preferences:
    """Return the same matches in the same order, with all surfaces in one instance."""
    pairs = by_surface.items.take(by_surface.item)
    return Preferences.from_pairs(pairs[::2], pairs[1::2]).replace(time=by_surface.time, is_dated=by_surface.is_dated)


# ---- forecasts ----
def forecasts(name: str, settings: Settings, matches: Preferences, since: str) -> Floats:
    """Return the probability of winning that a method gave the winner before each match; NaN before ``since`` and for
    unknown players.
    """
    if name == "bradley-terry":
        return windowed(matches, since, **settings)  # type: ignore[arg-type]
    method: Any = registry.make(name, **settings)
    return np.asarray(method.forecasts(matches, since))


def windowed(matches: Preferences, since: str, years: float, prior: float) -> Floats:
    """Forecast the matches of each month by Bradley-Terry on the matches of the ``years`` before it."""
    assert matches.time is not None
    time, chance = matches.time, np.full(matches.n_ballots, np.nan)
    method = registry.make("bradley-terry", prior=prior, errors="none")
    month, _ = periods(time, True, "month")
    bounds = np.append(np.flatnonzero(np.diff(month, prepend=-1)), len(month))
    pairs, ballot = matches.item.reshape(-1, 2), np.arange(matches.n_ballots)
    first_moment, score = as_moment(since, True), np.empty(matches.n_items)
    for begin, end in pairwise(bounds.tolist()):
        start = int(np.searchsorted(time, time[begin] - years * YEAR))
        if time[begin] < first_moment or start >= begin:
            continue
        players = np.unique(pairs[start:begin])
        slots = np.isin(matches.slot_item, players)
        past = matches.subset((ballot >= start) & (ballot < begin), slots)
        score[:] = np.nan
        score[matches.slot_item[slots]] = method.rank(past).score
        score_difference = score[pairs[begin:end, 0]] - score[pairs[begin:end, 1]]
        chance[begin:end] = 1 / (1 + np.exp(-score_difference))
    return chance


def measures(chance: Floats) -> Row:
    """Return mean log-loss, Brier score and accuracy of the winners' probabilities (0.5 counts as half correct)."""
    clipped = np.clip(chance, 1e-9, 1.0)
    is_right = (chance > 0.5) + (chance == 0.5) / 2
    return {
        "log-loss": float(-np.log(clipped).mean()),
        "brier": float(((1 - chance) ** 2).mean()),
        "accuracy": float(is_right.mean()),
    }


def _loss_of_all(chance: Floats) -> float:
    """Return the mean log-loss, with a probability of 0.5 where a method gives no forecast."""
    return float(measures(np.where(np.isfinite(chance), chance, 0.5))["log-loss"])


def _tests(chances: Mapping[str, Floats]) -> list[Row]:
    """Compare the log-losses of all methods with the baseline's, match by match, with Holm's correction."""
    other_methods = [name for name in chances if name != BASELINE]
    losses = {name: -np.log(np.clip(chance, 1e-9, 1.0)) for name, chance in chances.items()}
    differences = [losses[name] - losses[BASELINE] for name in other_methods]
    return [
        {"method": name, "difference": float(difference.mean()), "p": float(p)}
        for name, difference, p in zip(
            other_methods, differences, holm([paired_t_test(each) for each in differences]), strict=True
        )
    ]


def _by_year(chances: Mapping[str, Floats], time: Floats, is_compared: Bools) -> list[Row]:
    """Return the mean log-loss of every method by season."""
    year_index, ends = periods(time[is_compared], True, "year")
    years = (np.datetime64("1970-01-01") + ends.astype(int)).astype("datetime64[Y]").astype(str).tolist()
    return [
        {"year": year, "matches": int((year_index == k).sum())}
        | {name: measures(chance[is_compared][year_index == k])["log-loss"] for name, chance in chances.items()}
        for k, year in enumerate(years)
    ]


# ---- over time ----
def _over_time(matches: Preferences, chosen: Mapping[str, Settings]) -> dict[str, Any]:
    """Return the leader at the end of every year, and the highest ratings (or lower confidence bounds)."""
    leaders, peaks, rankings = {}, {}, {}
    for name, settings in chosen.items():
        ranking = registry.make(name, **settings).rank(matches)
        history: History = ranking.history
        leaders[name] = history.best("year", least=MIN_MATCHES).to_rows()
        peaks[name] = history.peaks("score" if history.low is None else "low").head(10).to_rows()
        rankings[name] = ranking
    return {"leaders": leaders, "peaks": peaks, "rankings": rankings}


# ---- surfaces ----
def _by_surface(
    by_surface: Preferences,
    chances: Mapping[str, Floats],
    chosen: Mapping[str, Settings],
    is_test: Bools,
    since: str,
    progress: Progress,
) -> Iterator[Row]:
    """Yield forecasts from ratings over all surfaces, from ratings per surface, and from the mean of their log-odds."""
    for name in FOLLOWED:
        if name not in chosen:
            continue
        by_surface_chance = forecasts(name, chosen[name], by_surface, since)
        is_compared = is_test & np.isfinite(by_surface_chance) & np.isfinite(chances[name])
        together_chance, surface_chance = (
            np.clip(chance[is_compared], 1e-9, 1 - 1e-9) for chance in (chances[name], by_surface_chance)
        )
        log_odds = (np.log(together_chance / (1 - together_chance)) + np.log(surface_chance / (1 - surface_chance))) / 2
        mixed = 1 / (1 + np.exp(-log_odds))
        for kind, chance in zip(SURFACES, (together_chance, surface_chance, mixed), strict=True):
            gain = np.log(together_chance) - np.log(np.clip(chance, 1e-9, 1.0))
            yield {
                "method": name,
                "rated": kind,
                "matches": int(is_compared.sum()),
                **measures(chance),
                "difference": float(gain.mean()),
                "p": paired_t_test(gain),
            }
        progress(f"{name} by surface")


NOTES = """
- Matches of a tournament have the date of its first day, and newer files list the final first: within a day they are
  sorted by round (qualifying groups, R128 to R16, QF, SF, F), so that no forecast sees later rounds. One exception
  remains: the final of a two-week tournament counts as earlier than a tournament that began in its second week.
- Walkovers are left out, retirements are not. Tour and Davis Cup matches only, no qualifying and no challengers.
- Log-loss is the mean of -log of the winner's probability (0.6931 for a coin), the Brier score is the mean squared
  distance of that probability from 1. Where settings are chosen, an unknown player gives a probability of 0.5.
- Grids were widened, after results had been seen, until every choice lay inside its grid; the choice itself uses 1990
  to 2004 only. With the first grids, the log-loss on the tested seasons was 0.6082 for TrueSkill and 0.6066 for
  Glicko-2.
- Tests: paired t-test of the log-losses of all matches against Elo's, Holm's correction. Matches of one player are not
  independent, so p-values are too small rather than too large.
- Leaders are the players with the highest rating at the end of the year among those with at least five matches (or five
  periods of Glicko-2) in it. Peaks of methods with intervals are ordered by the lower bound.
"""


def claims(result: Mapping[str, Any]) -> list[Claim]:
    """Return the questions of this experiment with their answers."""
    losses = {row["method"]: row["log-loss"] for row in result["rows"]}
    over_elo = {row["method"]: Difference.read(row) for row in result["tests"]}
    surfaces = {row["method"]: Difference.read(row) for row in result["surfaces"] if row["rated"] == SURFACES[2]}
    rule = "paired t-test of log-loss over matches"
    return [
        Claim.of(
            "Elo has a significantly lower log-loss than every other method",
            OWN,
            [is_above(test) for test in over_elo.values()],
            [f"{name}: {test}" for name, test in over_elo.items()],
            f"{rule}, Holm",
        ),
        Claim.of(
            "every method forecasts better than a coin",
            OWN,
            [loss < float(np.log(2)) for loss in losses.values()],
            [f"{name}: {loss:.4f}" for name, loss in losses.items()],
            "log-loss below 0.6931",
        ),
        Claim.of(
            "averaging the forecasts over all surfaces and by surface improves on all surfaces together",
            OWN,
            [is_below(test) for test in surfaces.values()],
            [f"{name}: {test}" for name, test in surfaces.items()],
            f"{rule}, level {LEVEL:g}",
        ),
    ]


def tables(result: Mapping[str, Any]) -> list[ResultTable]:
    """Return the forecasts, the tests, the surfaces, the seasons, leaders, peaks, the data and the answers."""
    figures = ("log-loss", "brier", "accuracy")
    rows = [
        [row["method"], _written(row["settings"]), *(f"{row[figure]:.4f}" for figure in figures)]
        for row in result["rows"]
    ]
    tests = [[row["method"], f"{row['difference']:+.4f}", format_p(row["p"])] for row in result["tests"]]
    surfaces = [
        [row["method"], row["rated"], f"{row['matches']:,}", *(f"{row[figure]:.4f}" for figure in figures)]
        for row in result["surfaces"]
    ]
    names = [row["method"] for row in result["rows"]]
    years = [[row["year"], f"{row['matches']:,}", *(f"{row[name]:.4f}" for name in names)] for row in result["by year"]]
    leaders: dict[str, dict[str, str]] = {}
    for name, rows_of in result["leaders"].items():
        for row in rows_of:
            leaders.setdefault(row["year"], {})[name] = f"{row['item']} ({row['score']:.0f})"
    followed = list(result["leaders"])
    leader_rows = [
        [year, *(leader_by_method.get(name, "") for name in followed)]
        for year, leader_by_method in sorted(leaders.items())
    ]
    peaks = [
        [name, row["item"], row["time"], f"{row['score']:.1f}"]
        for name, rows_of in result["peaks"].items()
        for row in rows_of
    ]
    return [
        ResultTable(f"Forecasts of {result['compared']:,} matches", ["method", "settings", *figures], rows, 2),
        ResultTable("Difference of log-loss from Elo's", ["method", "difference", "p"], tests),
        ResultTable("Rated by surface", ["method", "rated", "matches", *figures], surfaces, 2),
        ResultTable("Log-loss by season", ["year", "matches", *names], years),
        ResultTable("Leaders at the end of the year", ["year", *followed], leader_rows, 1 + len(followed)),
        ResultTable("Highest ratings", ["method", "player", "date", "rating"], peaks, 3),
        _counts_table(result),
        claims_table(claims(result), OWN_TITLE),
    ]


def _counts_table(result: Mapping[str, Any]) -> ResultTable:
    names = {"matches": "matches", "players": "players", "tested": "matches of the tested seasons"}
    rows = [[text, f"{result[key]:,}"] for key, text in names.items()]
    rows.append(["of these, both players known to all methods", f"{result['compared']:,}"])
    return ResultTable("Data", ["", "number"], rows)


def _written(settings: Settings) -> str:
    return ", ".join(
        f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}" for name, value in settings.items()
    )


def plain(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result for JSON, without the rankings."""
    return {**{name: part for name, part in result.items() if name != "rankings"}, "claims": as_rows(claims(result))}


def to_markdown(result: Mapping[str, Any]) -> str:
    """Return the tables and notes as a Markdown page."""
    return frame.markdown_page(TITLE, tables(result), "## Notes", NOTES)


def draw(result: Mapping[str, Any], folder: str) -> list[str]:
    """Draw the careers of the ten highest rated players by every method."""
    return [
        frame.save_figure(
            ranking.plot_history(items=[row["item"] for row in result["peaks"][name]]),
            folder,
            name,
            f"Careers of the ten players with the highest {name} ratings",
        )
        for name, ranking in result["rankings"].items()
    ]


def _is_known(name: str) -> bool:
    """Return whether a method is installed."""
    try:
        registry.resolve(name)
    except UnknownNameError:
        return False
    return True
