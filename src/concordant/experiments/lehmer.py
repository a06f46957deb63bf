"""Rank aggregation by Lehmer codes (Li, Mazumdar and Milenkovic 2017): the simulation, the theorems, the tables.

- ``simulation``: 50 Mallows rankings of 10 items, lambda = 0.1 … 1.0, a random centre every time; mean total Kendall
  distance of each method over FASLP-Pivot's, the paper's figure.
- ``recovery``: how often mode and median find a random centre as rankings grow, for lambdas inside and outside the
  theorems' range. Rankings of 7 items without ties (mode: phi + phi² < 1 + phi^M, median: phi < 1/2, phi = e^-lambda),
  and rankings of 6 items with ties around a centre of three tied pairs (Kemeny distance; the paper's generalised
  Mallows model), where an order that contradicts no tier counts as found. The range of the theorem for ties is not in
  the text at hand; it is computed: in range means that with endless rankings every coordinate comes out right, whatever
  order the code is built on.
- ``sushi``, ``jester``: permutations; ``jester-weak``, ``movielens``: rankings with ties, unrated items last at no cost
  among themselves, permutations turned into tiers by the paper's greedy pass. Subsamples of N rankings; mean total
  distance divided by N, and on all rankings its ratio to the best. ``kemeny`` (``kemeny-weak``
  with ties) is the proven optimum, or the best known after 20 s.
- ``preflib``: elections of PrefLib, complete orders with and without ties over 10 to 100 candidates: total distance
  over that of ``kemeny`` (two seconds each), the mean, the 90th percentile and the worst, and how often it is optimal.

An identity centre, or items numbered by their true quality, flatters the code over the input order; that is why
centres are random here, and why ``lehmer-…-borda`` (codes over the Borda order) and ``lehmer-…-outside-in`` (over the
Borda order from both ends) stand beside the published ``lehmer-…``. The mode is best over the Borda order, the median
over the one from both ends: these are the method's defaults. FAS-Pivot, FASLP-Pivot and InsertionSort run ten times and
keep their best. The figures of the paper's tables are not in the text at hand, so only what came out is shown.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from concordant import kernels, registry, simulate
from concordant.experiments import _lehmer_data as source
from concordant.experiments._report import COLOURS, figure, markdown_page, markdown_table, save_figure
from concordant.method import Method
from concordant.preferences import Preferences
from concordant.ranking import Ranking
from concordant.simulate.mallows_weak import distances, weak_orders
from concordant.solvers.ordering.costs import PairCosts, pair_costs
from concordant.types import Floats, Int64s

PARTS = ("simulation", "recovery", "sushi", "jester", "jester-weak", "movielens", "preflib")
METHODS: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "lehmer-mode": ("lehmer", {"statistic": "mode", "reference": "input"}),
    "lehmer-median": ("lehmer", {"statistic": "median", "reference": "input"}),
    "lehmer-mode-borda": ("lehmer", {"statistic": "mode", "reference": "borda"}),
    "lehmer-median-borda": ("lehmer", {"statistic": "median", "reference": "borda"}),
    "lehmer-mode-outside-in": ("lehmer", {"statistic": "mode", "reference": "outside-in"}),
    "lehmer-median-outside-in": ("lehmer", {"statistic": "median", "reference": "outside-in"}),
    "borda": ("borda", {}),
    "fas-pivot": ("fas-pivot", {}),
    "faslp-pivot": ("faslp-pivot", {"time_limit": 20.0}),
    "insertion-sort": ("insertion-sort", {}),
    "footrule": ("footrule", {}),
    "pick-a-perm": ("pick-a-perm", {"choice": "random", "output": "permutation"}),
    "local-search": ("local-search", {}),
}
DATASETS: Mapping[str, tuple[Callable[[source.DataFolder], Preferences], bool]] = {
    "sushi": (source.sushi, False),
    "jester": (source.jester_permutations, False),
    "jester-weak": (source.jester_weak, True),
    "movielens": (source.movielens, True),
}
# These search among rankings with ties themselves, without the greedy pass.
WITH_TIES: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "local-search-weak": ("local-search", {"output": "weak"}),
    "kemeny-weak": ("kemeny", {"output": "weak", "time_limit": 20.0}),
}
LAMBDAS = tuple(round(0.1 * k, 1) for k in range(1, 11))
SAMPLES = (50, 200, 500, 1000, 2000)
PREFLIB_STEPS = 8  # reports of progress
GROWTH = (10, 30, 100, 300, 1000, 3000)
RECOVERY_LAMBDAS = (0.3, 0.5, 0.7, 1.0)
M_RECOVERY = 7
PAIRS_RECOVERY = 3  # tied pairs of the centre with ties
PREFLIB_METHODS = (*(name for name in METHODS if name.startswith("lehmer")), "borda", "footrule", "local-search")
Row = dict[str, Any]


def run(
    parts: Sequence[str] = PARTS,
    data: source.DataFolder = None,
    repeats: int = 50,
    seed: int = 0,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, list[Row]]:
    """Run the parts asked for: rows by part."""
    results: dict[str, list[Row]] = {}
    for part in parts:
        if part == "simulation":
            results[part] = run_simulation(repeats, seed, progress)
        elif part == "recovery":
            results[part] = [*run_recovery(repeats, seed, progress), *run_tied_recovery(repeats, seed, progress)]
        elif part == "preflib":
            results[part] = run_preflib(data, progress)
        else:
            results[part] = run_data(part, data, repeats, seed, progress)
    return results


def n_steps(parts: Sequence[str]) -> int:
    """Return how many times ``run`` reports progress, at most."""
    per_part = {
        "simulation": len(LAMBDAS),
        "recovery": 2 * len(RECOVERY_LAMBDAS),
        "preflib": PREFLIB_STEPS,
    }
    return sum(per_part.get(part, len(SAMPLES) + 1) for part in parts)


# ---- the simulation and the theorems ----
def run_simulation(repeats: int, seed: int, progress: Callable[[str], None]) -> list[Row]:
    """Return a row per method: mean total distance over FASLP-Pivot's, by lambda."""
    ratios: dict[str, dict[str, float]] = {name: {} for name in [*METHODS, "kemeny"]}
    for lam in LAMBDAS:
        totals = dict.fromkeys(ratios, 0.0)
        for repeat in range(repeats):
            drawn = simulate.mallows(10, 50, phi=float(np.exp(-lam)), centre="random", seed=_seed(seed, lam, repeat))
            costs = pair_costs(drawn, "last")
            for name in ratios:
                tier = tiers(_method(name, "last", repeat), drawn, costs)
                totals[name] += float(costs.totals(tier)[0] @ costs.unit)
        for name, total in totals.items():
            ratios[name][f"{lam:.1f}"] = total / totals["faslp-pivot"]
        progress(f"lambda {lam}")
    return [{"method": name, **values} for name, values in ratios.items()]


def run_recovery(repeats: int, seed: int, progress: Callable[[str], None]) -> list[Row]:
    """Return a row per lambda and statistic: how often the centre is found, by number of rankings."""
    rows = []
    for lam in RECOVERY_LAMBDAS:
        phi = float(np.exp(-lam))
        within = {"mode": phi + phi**2 < 1 + phi**M_RECOVERY, "median": phi < 0.5}
        found = {statistic: dict.fromkeys(map(str, GROWTH), 0.0) for statistic in within}
        for n in GROWTH:
            for repeat in range(repeats):
                drawn = simulate.mallows(M_RECOVERY, n, phi=phi, centre="random", seed=_seed(seed, lam, repeat))
                for statistic in within:
                    ranking = registry.make("lehmer", statistic=statistic, reference="input").rank(drawn)
                    found[statistic][str(n)] += (ranking.items == drawn.meta["centre"]) / repeats
        for statistic, is_within in within.items():
            rows.append(_recovered("no", lam, statistic, is_within, found[statistic]))
        progress(f"recovery at lambda {lam}")
    return rows


def _recovered(ties: str, lam: float, statistic: str, is_within: bool, found: Mapping[str, float]) -> Row:
    return {"ties": ties, "lambda": lam, "statistic": statistic, "in range": is_within, **found}


def run_tied_recovery(repeats: int, seed: int, progress: Callable[[str], None]) -> list[Row]:
    """The same around a centre of tied pairs: how often the order found contradicts none of its tiers."""
    rows = []
    m = 2 * PAIRS_RECOVERY
    for lam in RECOVERY_LAMBDAS:
        phi = float(np.exp(-lam))
        found = {statistic: dict.fromkeys(map(str, GROWTH), 0.0) for statistic in ("mode", "median")}
        for n in GROWTH:
            for repeat in range(repeats):
                rng = _seed(seed, lam, repeat)
                tier = rng.permutation(np.arange(m) // 2)
                centre = [[str(k) for k in np.flatnonzero(tier == level)] for level in range(PAIRS_RECOVERY)]
                drawn = simulate.mallows_weak(range(m), n, phi=phi, centre=centre, seed=rng)
                for statistic in found:
                    items = registry.make("lehmer", statistic=statistic, reference="input").rank(drawn).items
                    is_found = bool((np.diff(tier[[int(item) for item in items]]) >= 0).all())
                    found[statistic][str(n)] += is_found / repeats
        for statistic, shares in found.items():
            rows.append(_recovered("yes", lam, statistic, is_recovered_in_the_end(phi, statistic), shares))
        progress(f"recovery with ties at lambda {lam}")
    return rows


def is_recovered_in_the_end(phi: float, statistic: str) -> bool:
    """Say whether every coordinate of the code comes out right with endless rankings, whatever the reference order.

    All rankings with ties are listed. A coordinate belongs to an item and the set of items before it; of each kind of
    set (how many of its items stand in each tier of the centre) one is looked at.
    """
    centre = np.arange(2 * PAIRS_RECOVERY) // 2
    listed = weak_orders(len(centre))
    chance = phi ** distances(listed, centre)
    for item in range(0, len(centre), 2):
        others = [k for k in range(len(centre)) if k != item]
        sets = (chosen for size in range(1, len(centre)) for chosen in combinations(others, size))
        for before in {tuple(centre[list(chosen)].tolist()): list(chosen) for chosen in sets}.values():
            votes = _votes(listed, chance, item, before)
            value = int(np.argmax(votes.cumsum() >= votes.sum() / 2 if statistic == "median" else votes))
            if not (centre[before] > centre[item]).sum() <= value <= (centre[before] >= centre[item]).sum():
                return False
    return True


def _votes(listed: Int64s, chance: Floats, item: int, before: list[int]) -> Floats:
    """Return the votes for each value of an item's coordinate: each ranking spreads its chance over those it allows."""
    low = (listed[:, before] > listed[:, [item]]).sum(axis=1)
    high = (listed[:, before] >= listed[:, [item]]).sum(axis=1)
    value = np.arange(len(before) + 1)
    allowed = (value >= low[:, None]) & (value <= high[:, None])
    return np.asarray((chance / (high - low + 1)) @ allowed)


def _seed(seed: int, lam: float, repeat: int) -> np.random.Generator:
    return np.random.default_rng([seed, round(100 * lam), repeat])


# ---- real data ----
def run_data(part: str, data: source.DataFolder, repeats: int, seed: int, progress: Callable[[str], None]) -> list[Row]:
    """Return a row per method: mean total distance per ranking by sample size, mean seconds, and on the whole set."""
    load, is_weak = DATASETS[part]
    whole = load(data)
    missing = "last-free" if is_weak else "last"
    sizes = [n for n in SAMPLES if n < whole.n_ballots]
    names = [*METHODS, *(WITH_TIES if is_weak else ["kemeny"])]
    table = {name: Results() for name in names}
    for n in sizes:
        for repeat in range(repeats):
            rng = np.random.default_rng([seed, n, repeat])
            sample = whole.take(np.sort(rng.permutation(whole.n_ballots)[:n]))
            _measure(table, sample, missing, is_weak, repeat, str(n), repeats)
        progress(f"{part}: {n} rankings")
    _measure(table, whole, missing, is_weak, seed, "all", 1)
    progress(f"{part}: all rankings")
    best = min(result.distance["all"] for result in table.values())
    return [
        {"method": name, **result.distance, "ratio": result.distance["all"] / best, "seconds": result.seconds}
        for name, result in table.items()
    ]


def run_preflib(data: source.DataFolder, progress: Callable[[str], None]) -> list[Row]:
    """Return a row per method: its total distance over the best known, summed up over elections."""
    ratios: dict[str, list[float]] = {name: [] for name in PREFLIB_METHODS}
    elections = source.preflib(data)
    for k, prefs in enumerate(elections):
        costs = pair_costs(prefs, "last")
        least = registry.make("kemeny", time_limit=2.0, missing="last").rank(prefs).fit or {}
        for name, values in ratios.items():
            tier = tiers(_method(name, "last", 0), prefs, costs)
            values.append(float(costs.totals(tier)[0] @ costs.unit) / least["total_distance"])
        if (k + 1) * PREFLIB_STEPS // len(elections) > k * PREFLIB_STEPS // len(elections):
            progress(f"preflib: {k + 1} of {len(elections)} elections")
    return [
        {
            "method": name,
            "elections": len(values),
            "mean": float(np.mean(values)),
            "90%": float(np.quantile(values, 0.9)),
            "worst": float(np.max(values)),
            "optimal": float(np.mean(np.array(values) < 1 + 1e-9)),
        }
        for name, values in ratios.items()
    ]


class Results:
    """Mean distances per ranking of one method by sample size, and seconds on the whole set."""

    def __init__(self) -> None:
        self.distance: dict[str, float] = {}
        self.seconds = 0.0


def _measure(
    table: Mapping[str, Results], prefs: Preferences, missing: str, is_weak: bool, seed: int, column: str, repeats: int
) -> None:
    costs = pair_costs(prefs, missing)
    for name, result in table.items():
        start = time.perf_counter()
        ranking = _method(name, missing, seed).rank(prefs)
        result.seconds = time.perf_counter() - start
        tier = _levels(ranking)
        if name not in WITH_TIES:
            tier = costs.places(costs.orders(tier))
        if is_weak and name not in WITH_TIES:
            order = costs.orders(tier)
            tier = kernels.bucket_orders(costs.slot_ptr, costs.before, costs.tied, order, True)
        total = float(costs.totals(tier)[0] @ costs.unit) / float(prefs.weight.sum())
        result.distance[column] = result.distance.get(column, 0.0) + total / repeats


def _method(name: str, missing: str, seed: int) -> Method:
    known, params = {**METHODS, **WITH_TIES}.get(name, (name, {"time_limit": 20.0}))
    extra: dict[str, object] = (
        {"seed": seed} if name in ("fas-pivot", "faslp-pivot", "insertion-sort", "pick-a-perm") else {}
    )
    simple = known in ("borda", "footrule")
    return registry.make(known, **params, **extra, missing="last" if simple else missing)


def tiers(method: Method, prefs: Preferences, costs: PairCosts) -> Int64s:
    """Rank and return places; ties are broken by net wins."""
    return costs.places(costs.orders(_levels(method.rank(prefs))))


def _levels(ranking: Ranking) -> Int64s:
    return np.unique(-ranking.score, return_inverse=True)[1].reshape(-1).astype(np.int64)


# ---- showing ----
def columns_of(rows: Sequence[Row]) -> list[str]:
    """Return the columns of a table."""
    return list(rows[0]) if rows else []


def cells(row: Row) -> list[str]:
    """Write a row as people read it."""
    return [_cell(value) for value in row.values()]


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def to_markdown(results: Mapping[str, Sequence[Row]]) -> str:
    """Return all tables as a page."""
    titles = {
        "simulation": "Simulation: total distance over FASLP-Pivot's, by lambda (M = 10, N = 50)",
        "recovery": "Share of runs that find the centre, by number of rankings",
        "sushi": "Sushi: mean Kendall distance to the rankings, by sample size",
        "jester": "Jester, fully rated: mean Kendall distance, by sample size",
        "jester-weak": "Jester with ties, unrated last: mean Kemeny distance, by sample size",
        "movielens": "MovieLens: mean Kemeny distance, by sample size",
        "preflib": "PrefLib, 10 to 100 candidates: total distance over the best known",
    }
    parts = []
    for part, rows in results.items():
        parts += [f"## {titles[part]}", markdown_table(columns_of(rows), [cells(row) for row in rows])]
    return markdown_page("Rank aggregation by Lehmer codes", (__doc__ or "").split("\n\n", 1)[1], *parts)


def _of(rows: Sequence[Row], statistic: str) -> list[Row]:
    return [row for row in rows if row["statistic"] == statistic and row["ties"] == "no"]


def draw(results: Mapping[str, Sequence[Row]], folder: str) -> list[str]:
    """Draw the simulation and the recovery curves as svg; return the paths."""
    paths = []
    if "simulation" in results:
        drawn, (axes,) = figure(1, 6, 4)
        shown = ("lehmer-mode", "lehmer-median", "fas-pivot", "insertion-sort", "footrule")
        for k, row in enumerate(row for row in results["simulation"] if row["method"] in shown):
            axes.plot(
                LAMBDAS,
                [row[f"{lam:.1f}"] for lam in LAMBDAS],
                label=row["method"],
                color=COLOURS[k % 4],
                lw=1 + k // 4,
            )
        axes.set(xlabel="lambda", ylabel="total distance / FASLP-Pivot's")
        axes.legend(fontsize=8, frameon=False)
        paths.append(save_figure(drawn, folder, "lehmer-simulation"))
    if "recovery" in results:
        drawn, panels = figure(2, 9, 3.6)
        for axes, statistic in zip(panels, ("mode", "median"), strict=True):
            for k, row in enumerate(_of(results["recovery"], statistic)):
                style = "-" if row["in range"] else "--"
                axes.plot(
                    GROWTH, [row[str(n)] for n in GROWTH], style, color=COLOURS[k % 4], label=f"lambda {row['lambda']}"
                )
            axes.set(
                xscale="log", xlabel="rankings", ylabel="centre found", title=f"{statistic} (dashed: out of range)"
            )
            axes.legend(fontsize=8, frameon=False)
        paths.append(save_figure(drawn, folder, "lehmer-recovery"))
    return paths
