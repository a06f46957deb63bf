"""Rank aggregation by Lehmer codes (Li, Mazumdar and Milenkovic 2017): simulation, theorems and tables.

- ``simulation``: 50 Mallows rankings of 10 items, lambda = 0.1 to 1.0, a random centre in every repetition; mean total
  Kendall distance of each method relative to that of FASLP-Pivot, as in the paper's figure.
- ``recovery``: share of runs in which mode and median find a random centre as the number of rankings grows, for lambdas
  inside and outside the range of the theorems. Rankings of 7 items without ties (mode: phi + phi² < 1 + phi^M, median:
  phi < 1/2, phi = e^-lambda), and rankings of 6 items with ties around a centre of three tied pairs (Kemeny distance;
  the paper's generalised Mallows model), where any order compatible with the tiers counts as found. The range of the
  theorem for ties is missing in the available text and is computed: "in range" means that with infinitely many rankings
  every coordinate is correct for any reference order.
- ``sushi``, ``jester``: permutations. ``jester-weak``, ``movielens``: rankings with ties, unrated items last at no cost
  among themselves, permutations turned into tiers by the paper's greedy pass. Subsamples of N rankings; mean total
  distance divided by N, and on all rankings its ratio to the best. ``kemeny`` (``kemeny-weak`` with ties) is the proven
  optimum, or the best solution after 20 s.
- ``preflib``: elections of PrefLib, complete orders with and without ties over 10 to 100 candidates: total distance
  relative to that of ``kemeny`` (two seconds each): the mean, the 90th percentile, the worst, and the share of optimal
  results.

An identity centre, or items numbered by their true quality, favours the code over the input order. Centres are
therefore random, and ``lehmer-…-borda`` (codes over the Borda order) and ``lehmer-…-outside-in`` (over the Borda order
from both ends) complement the published ``lehmer-…``. The mode is best over the Borda order, the median over the order
from both ends: these are the method's defaults. FAS-Pivot, FASLP-Pivot and InsertionSort run ten times and keep the
best result. The figures of the paper's tables are missing in the available text, so only obtained figures are shown.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from concordant import kernels, registry, simulate
from concordant.experiments import _lehmer_data as source
from concordant.experiments import frame
from concordant.experiments._lehmer_claims import claims
from concordant.experiments.claims import as_rows, claims_table
from concordant.experiments.frame import About, DataFolder, Progress, ResultTable, Row, Settings, silent
from concordant.method import Method
from concordant.preferences import Preferences
from concordant.ranking import Ranking
from concordant.simulate.mallows_weak import distances, weak_orders
from concordant.solvers.ordering.costs import PairCosts, pair_costs
from concordant.types import Floats, Int64s

TITLE = "Rank aggregation by Lehmer codes"
ABOUT = About(
    paper="P. Li, A. Mazumdar and O. Milenkovic, Efficient rank aggregation via Lehmer codes, AISTATS 2017.",
    setting="Every ranking becomes a Lehmer code; the mode or the median of each coordinate gives the consensus. The "
    "total Kendall (with ties: Kemeny) distance to the rankings is compared with pivoting, InsertionSort, the footrule "
    "and the optimum.",
    data="Mallows samples (10 items, 50 rankings); Sushi (5,000 permutations of 10 items); Jester; MovieLens 100K; "
    "elections of PrefLib with 10 to 100 candidates.",
)
NOTES = """
- Centres of the simulation are random: an identity centre favours codes over the input order.
- lehmer-mode and lehmer-median are the paper's (codes over the input order); -borda and -outside-in build the code over
  the Borda order, or over the Borda order from both ends.
- "in range" with ties is computed: with infinitely many rankings, every coordinate is correct for any reference order.
- FAS-Pivot, FASLP-Pivot and InsertionSort run ten times and keep the best result; kemeny is the proven optimum, or the
  best solution after 20 s (two seconds for PrefLib).
- "all": mean distance on all rankings; "ratio": relative to the best; "seconds": on all rankings.
"""
PARTS = {
    "simulation": "Simulation: total distance relative to FASLP-Pivot, by lambda (M = 10, N = 50)",
    "recovery": "Share of runs that find the centre, by number of rankings",
    "sushi": "Sushi: mean Kendall distance to the rankings, by sample size",
    "jester": "Jester, fully rated: mean Kendall distance, by sample size",
    "jester-weak": "Jester with ties, unrated last: mean Kemeny distance, by sample size",
    "movielens": "MovieLens: mean Kemeny distance, by sample size",
    "preflib": "PrefLib, 10 to 100 candidates: total distance relative to the best known",
}
METHODS: Mapping[str, tuple[str, Settings]] = {
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
    "pick-a-perm": ("pick-a-perm", {"choice": "random", "result": "permutation"}),
    "local-search": ("local-search", {}),
}
DATASETS: Mapping[str, Callable[[DataFolder], Preferences]] = {
    "sushi": source.sushi,
    "jester": source.jester_permutations,
    "jester-weak": source.jester_weak,
    "movielens": source.movielens,
}
WEAK = ("jester-weak", "movielens")  # rankings with ties
# These methods search among rankings with ties, without the greedy pass.
WITH_TIES: Mapping[str, tuple[str, Settings]] = {
    "local-search-weak": ("local-search", {"result": "weak"}),
    "kemeny-weak": ("kemeny", {"result": "weak", "time_limit": 20.0}),
}
LAMBDAS = tuple(round(0.1 * k, 1) for k in range(1, 11))
SAMPLES = (50, 200, 500, 1000, 2000)
PREFLIB_STEPS = 8  # reports of progress
GROWTH = (10, 30, 100, 300, 1000, 3000)
RECOVERY_LAMBDAS = (0.3, 0.5, 0.7, 1.0)
M_RECOVERY = 7
PAIRS_RECOVERY = 3  # tied pairs of the centre with ties
SEEDED = ("fas-pivot", "faslp-pivot", "insertion-sort", "pick-a-perm")
PREFLIB_METHODS = (*(name for name in METHODS if name.startswith("lehmer")), "borda", "footrule", "local-search")


def run(
    parts: Iterable[str] = tuple(PARTS),
    data: DataFolder = None,
    repeats: int = 50,
    seed: int = 0,
    progress: Progress = silent,
) -> dict[str, list[Row]]:
    """Run the given parts and return their rows."""
    results: dict[str, list[Row]] = {}
    for part in parts:
        if part == "simulation":
            results[part] = run_simulation(repeats, seed, progress)
        elif part == "recovery":
            results[part] = run_recovery(repeats, seed, progress)
        elif part == "preflib":
            results[part] = run_preflib(data, progress)
        else:
            results[part] = run_data(part, data, repeats, seed, progress)
    return results


def n_steps(parts: Iterable[str]) -> int:
    """Return how many times ``run`` reports progress, at most."""
    per_part = {"simulation": len(LAMBDAS), "recovery": 2 * len(RECOVERY_LAMBDAS), "preflib": PREFLIB_STEPS}
    return sum(per_part.get(part, len(SAMPLES) + 1) for part in parts)


# ---- the simulation and the theorems ----
def run_simulation(repeats: int, seed: int, progress: Progress) -> list[Row]:
    """Return a row per method: mean total distance relative to FASLP-Pivot, by lambda."""
    ratios: dict[str, dict[str, float]] = {name: {} for name in [*METHODS, "kemeny"]}
    for lambda_ in LAMBDAS:
        totals = dict.fromkeys(ratios, 0.0)
        for repeat in range(repeats):
            drawn = simulate.mallows(
                10, 50, phi=float(np.exp(-lambda_)), centre="random", seed=_seed(seed, lambda_, repeat)
            )
            costs = pair_costs(drawn, "last")
            for name in ratios:
                tier = tiers(_method(name, "last", repeat), drawn, costs)
                totals[name] += float(costs.totals(tier)[0] @ costs.unit)
        for name, total in totals.items():
            ratios[name][f"{lambda_:.1f}"] = total / totals["faslp-pivot"]
        progress(f"lambda {lambda_}")
    return [{"method": name, **values} for name, values in ratios.items()]


def run_recovery(repeats: int, seed: int, progress: Progress) -> list[Row]:
    """Return a row per lambda and statistic: the share of runs that find the centre, without and with ties."""
    rows = []
    cases = {"no": (_around_order, _is_in_theorem), "yes": (_around_tied_pairs, is_recovered_in_the_end)}
    for ties, (draw, is_in_range) in cases.items():
        for lambda_ in RECOVERY_LAMBDAS:
            phi = float(np.exp(-lambda_))
            shares_found = {statistic: dict.fromkeys(map(str, GROWTH), 0.0) for statistic in ("mode", "median")}
            for n in GROWTH:
                for repeat in range(repeats):
                    drawn, is_centre = draw(n, phi, _seed(seed, lambda_, repeat))
                    for statistic, shares in shares_found.items():
                        items = registry.make("lehmer", statistic=statistic, reference="input").rank(drawn).items
                        shares[str(n)] += is_centre(items) / repeats
            for statistic, shares in shares_found.items():
                is_inside = is_in_range(phi, statistic)
                rows.append({"ties": ties, "lambda": lambda_, "statistic": statistic, "in range": is_inside, **shares})
            progress(f"recovery {'with ties ' if ties == 'yes' else ''}at lambda {lambda_}")
    return rows


def _around_order(n: int, phi: float, rng: np.random.Generator) -> tuple[Preferences, Callable[[list[str]], bool]]:
    """Draw rankings around a random order; only that order counts as found."""
    drawn = simulate.mallows(M_RECOVERY, n, phi=phi, centre="random", seed=rng)
    return drawn, lambda items: items == drawn.meta["centre"]


def _around_tied_pairs(n: int, phi: float, rng: np.random.Generator) -> tuple[Preferences, Callable[[list[str]], bool]]:
    """Draw rankings around a centre of tied pairs; every order compatible with its tiers counts as found."""
    tier = rng.permutation(np.arange(2 * PAIRS_RECOVERY) // 2)
    centre = [[str(k) for k in np.flatnonzero(tier == level)] for level in range(PAIRS_RECOVERY)]
    drawn = simulate.mallows_weak(range(len(tier)), n, phi=phi, centre=centre, seed=rng)
    return drawn, lambda items: bool((np.diff(tier[[int(item) for item in items]]) >= 0).all())


def _is_in_theorem(phi: float, statistic: str) -> bool:
    return phi + phi**2 < 1 + phi**M_RECOVERY if statistic == "mode" else phi < 0.5


def is_recovered_in_the_end(phi: float, statistic: str) -> bool:
    """Return whether, with infinitely many rankings, every coordinate of the code is right for any reference order.

    All rankings with ties are listed. A coordinate belongs to an item and the set of items before it; one set of each
    kind (by the number of its items in each tier of the centre) is checked.
    """
    centre = np.arange(2 * PAIRS_RECOVERY) // 2
    rankings = weak_orders(len(centre))
    chance = phi ** distances(rankings, centre)
    for item in range(0, len(centre), 2):
        other_items = [k for k in range(len(centre)) if k != item]
        sets = (chosen for size in range(1, len(centre)) for chosen in combinations(other_items, size))
        for before in {tuple(centre[list(chosen)].tolist()): list(chosen) for chosen in sets}.values():
            votes = _votes(rankings, chance, item, before)
            value = int(np.argmax(votes.cumsum() >= votes.sum() / 2 if statistic == "median" else votes))
            if not (centre[before] > centre[item]).sum() <= value <= (centre[before] >= centre[item]).sum():
                return False
    return True


def _votes(tiers_of_items: Int64s, chance: Floats, item: int, before: list[int]) -> Floats:
    """Return the votes for each value of an item's Lehmer coordinate: how many of the items ``before`` rank behind it.

    ``tiers_of_items`` has the tier of every item in every ranking (rankings x items). Ties allow a range of values,
    over which a ranking spreads its (unnormalised) ``chance`` evenly.
    """
    low = (tiers_of_items[:, before] > tiers_of_items[:, [item]]).sum(axis=1)
    high = (tiers_of_items[:, before] >= tiers_of_items[:, [item]]).sum(axis=1)
    value = np.arange(len(before) + 1)
    allowed = (value >= low[:, None]) & (value <= high[:, None])
    return np.asarray((chance / (high - low + 1)) @ allowed)


def _seed(seed: int, lam: float, repeat: int) -> np.random.Generator:
    return np.random.default_rng([seed, round(100 * lam), repeat])


# ---- real data ----
def run_data(part: str, data: DataFolder, repeats: int, seed: int, progress: Progress) -> list[Row]:
    """Return a row per method: mean distance per ranking by sample size, mean seconds, and both on the whole set."""
    whole, is_weak = DATASETS[part](data), part in WEAK
    names = [*METHODS, *(WITH_TIES if is_weak else ["kemeny"])]
    rows: dict[str, Row] = {name: {"method": name} for name in names}
    for n in (n for n in SAMPLES if n < whole.n_ballots):
        for repeat in range(repeats):
            rng = np.random.default_rng([seed, n, repeat])
            sample = whole.take(np.sort(rng.permutation(whole.n_ballots)[:n]))
            for name, (distance, _) in _measured(names, sample, is_weak, repeat).items():
                rows[name][str(n)] = rows[name].get(str(n), 0.0) + distance / repeats
        progress(f"{part}: {n} rankings")
    on_all = _measured(names, whole, is_weak, seed)
    progress(f"{part}: all rankings")
    best = min(distance for distance, _ in on_all.values())
    return [
        {**rows[name], "all": distance, "ratio": distance / best, "seconds": seconds}
        for name, (distance, seconds) in on_all.items()
    ]


def run_preflib(data: DataFolder, progress: Progress) -> list[Row]:
    """Return a row per method: its total distance relative to the best known, summarised over elections."""
    ratios: dict[str, list[float]] = {name: [] for name in PREFLIB_METHODS}
    elections = source.preflib(data)
    for k, prefs in enumerate(elections):
        costs = pair_costs(prefs, "last")
        optimum = registry.make("kemeny", time_limit=2.0, missing="last").rank(prefs).fit or {}
        for name, values in ratios.items():
            tier = tiers(_method(name, "last", 0), prefs, costs)
            values.append(float(costs.totals(tier)[0] @ costs.unit) / optimum["total_distance"])
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


def _measured(names: Sequence[str], prefs: Preferences, is_weak: bool, seed: int) -> dict[str, tuple[float, float]]:
    """Return the pair (distance per ranking, seconds) for every method."""
    missing = "last-free" if is_weak else "last"
    costs = pair_costs(prefs, missing)
    results = {}
    for name in names:
        start = time.perf_counter()
        ranking = _method(name, missing, seed).rank(prefs)
        seconds = time.perf_counter() - start
        tier = _levels(ranking)
        if name not in WITH_TIES:
            tier = costs.places(costs.orders(tier))
            if is_weak:
                tier = kernels.bucket_orders(costs.slot_ptr, costs.before, costs.tied, costs.orders(tier), True)
        results[name] = float(costs.totals(tier)[0] @ costs.unit) / float(prefs.weight.sum()), seconds
    return results


def _method(name: str, missing: str, seed: int) -> Method:
    """Return the method that this experiment calls ``name``, with its settings."""
    method_name, params = {**METHODS, **WITH_TIES}.get(name, (name, {"time_limit": 20.0}))
    extra = {"seed": seed} if name in SEEDED else {}
    return registry.make(
        method_name, **params, **extra, missing="last" if method_name in ("borda", "footrule") else missing
    )


def tiers(method: Method, prefs: Preferences, costs: PairCosts) -> Int64s:
    """Rank the items and return the place of every slot; ties are broken by net wins."""
    return costs.places(costs.orders(_levels(method.rank(prefs))))


def _levels(ranking: Ranking) -> Int64s:
    return np.unique(-ranking.score, return_inverse=True)[1].reshape(-1).astype(np.int64)


# ---- report ----
def tables(results: Mapping[str, Sequence[Row]]) -> list[ResultTable]:
    """Return a table per part, and the claims."""
    all_tables = [
        ResultTable(
            PARTS[part], list(rows[0]), [[*map(_cell, row.values())] for row in rows], 4 if part == "recovery" else 1
        )
        for part, rows in results.items()
    ]
    return [*all_tables, claims_table(claims(results))]


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def plain(results: Mapping[str, Sequence[Row]]) -> dict[str, Any]:
    """Return the rows by part and the claims for JSON."""
    return {**results, "claims": as_rows(claims(results))}


def to_markdown(results: Mapping[str, Sequence[Row]]) -> str:
    """Return all tables and notes as a Markdown page."""
    return frame.markdown_page(TITLE, tables(results), "## Notes", NOTES)


def draw(results: Mapping[str, Sequence[Row]], folder: str) -> list[str]:
    """Draw the simulation, the recovery curves and the ratios on real data; return the files."""
    paths = []
    if "simulation" in results:
        drawn, (axes,) = frame.figure(1, 6, 4)
        shown = ("lehmer-mode", "lehmer-median", "fas-pivot", "insertion-sort", "footrule")
        for k, row in enumerate(row for row in results["simulation"] if row["method"] in shown):
            shares = [row[f"{lam:.1f}"] for lam in LAMBDAS]
            axes.plot(LAMBDAS, shares, label=row["method"], color=frame.COLOURS[k % len(frame.COLOURS)], lw=1.5)
        axes.set(xlabel="lambda", ylabel="total distance / FASLP-Pivot")
        axes.legend(fontsize=8, frameon=False)
        caption = "Total distance relative to FASLP-Pivot, by lambda"
        paths.append(frame.save_figure(drawn, folder, "lehmer-simulation", caption))
    if "recovery" in results:
        drawn, panels = frame.figure(2, 9, 3.6)
        rows = [row for row in results["recovery"] if row["ties"] == "no"]
        without_ties = {one: [row for row in rows if row["statistic"] == one] for one in ("mode", "median")}
        for axes, statistic in zip(panels, ("mode", "median"), strict=True):
            for k, row in enumerate(without_ties[statistic]):
                style = "-" if row["in range"] else "--"
                shares = [row[str(n)] for n in GROWTH]
                axes.plot(
                    GROWTH, shares, style, color=frame.COLOURS[k % len(frame.COLOURS)], label=f"lambda {row['lambda']}"
                )
            title = f"{statistic} (dashed: out of range)"
            axes.set(xscale="log", xlabel="rankings", ylabel="centre found", title=title)
            axes.legend(fontsize=8, frameon=False)
        caption = "Share of runs that find the centre, rankings without ties; dashed: outside the range of the theorem"
        paths.append(frame.save_figure(drawn, folder, "lehmer-recovery", caption))
    known = {part: rows for part, rows in results.items() if part in DATASETS}
    return [*paths, *([_draw_data(known, folder)] if known else [])]


def _draw_data(results: Mapping[str, Sequence[Row]], folder: str) -> str:
    """Draw the ratio of every method to the best on all rankings of every data set."""
    drawn, (axes,) = frame.figure(1, 7, 3.8)
    names = [name for name in METHODS if all(any(row["method"] == name for row in rows) for rows in results.values())]
    for k, (part, rows) in enumerate(results.items()):
        ratios = {row["method"]: row["ratio"] for row in rows}
        points = [ratios[name] for name in names]
        axes.plot(
            points,
            range(len(names)),
            "os^D"[k % 4],
            color=frame.COLOURS[k % len(frame.COLOURS)],
            markersize=5,
            label=part,
        )
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlabel("mean distance / best")
    axes.legend(fontsize=8, frameon=False)
    return frame.save_figure(drawn, folder, "lehmer-data", "Mean distance to all rankings, relative to the best method")
