"""Consensus of the MovieLens 100K users (Volkovs and Zemel 2012: tables 2 and 3, figures 4 and 5).

943 users rate 1,682 films. Each method makes one ranking of the films from all ratings. Table 3 lists the best and
worst films with the number of users who rated them and of pairwise contests won and lost: Bradley-Terry and
Plackett-Luce put rarely rated films at both ends, the multinomial preference model does not. Table 2 evaluates the
rankings by NDCG (log2 discount) per user, with missing ratings imputed by matrix factorisation; figure 4 imputes a
constant. Figure 5 shows the learnt variances against the number of ratings and the rank.

Conventions inferred from the figures: Plackett-Luce sees the ratings sorted, ties by film number. The published table 2
falls so steeply with depth that ranks 2, 3, … must have half weight in the ranking and full weight in the ideal ranking
(the paper prints the usual formula); its Bradley-Terry row requires a factorisation without biases, which leaves rarely
rated films near the mean.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from concordant import registry, views
from concordant.experiments import frame
from concordant.experiments._movielens_claims import MIDDLE_FILMS
from concordant.experiments._movielens_claims import claims as claims_of
from concordant.experiments._movielens_descent import descend, net_shares
from concordant.experiments.claims import Claim, as_rows, claims_table
from concordant.experiments.frame import About, DataFolder, Progress, ResultTable, silent
from concordant.io import read
from concordant.metrics.significance import paired_t_test
from concordant.preferences import Preferences
from concordant.ranking import Ranking
from concordant.recommend.pmf import PMF
from concordant.types import Floats, Int64s

TITLE = "Consensus of the MovieLens 100K users"
ABOUT = About(
    paper="M. Volkovs and R. Zemel, A flexible generative model for preference aggregation, WWW 2012 (section 6, "
    "tables 2 and 3, figures 4 and 5).",
    setting="Each method makes one ranking of the films from the ratings of all users. The rankings are evaluated by "
    "NDCG for every user, missing ratings imputed by matrix factorisation or by a constant.",
    data="MovieLens 100K: 943 users, 1,682 films, 100,000 ratings.",
)
# Name here -> method and settings. Bradley-Terry and MPM see rating differences, Plackett-Luce sorted ratings.
METHODS: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "bradley-terry": ("bradley-terry", {"counts": "difference", "errors": "none", "prior": 55.0}),
    "plackett-luce": ("plackett-luce", {"errors": "none", "prior": 4.0}),
    "mpm": ("mpm", {"prior": 0.1}),
    "mpm-variances": ("mpm", {"variances": "learnt", "prior": 1e-4}),
}
FIGURE_5 = "Figure 5: learnt variance of every film against its number of ratings and its rank"
DESCENT = "mpm-descent"  # plain gradient steps instead of an optimum
STEPS, RATE = 100, 24.0
# How tables name the methods. All published figures come from 100 gradient steps, those of the multinomial model with
# learnt variances.
DESCRIBED = {
    "bradley-terry": "bradley-terry (optimum, prior 55)",
    "plackett-luce": "plackett-luce (optimum, prior 4)",
    "mpm": "mpm (optimum, equal variances)",
    "mpm-variances": "mpm (optimum, learnt variances)",
    DESCENT: "mpm (100 steps, learnt variances)",
}
BASELINES = ("bradley-terry", "plackett-luce")
DEPTHS = tuple(range(1, 11))
CONSTANTS = tuple(k / 2 for k in range(8))
# Definitions of table 2: weight of ranks 2, 3, … in the ranking, and whether the factorisation has biases.
READINGS = {
    "formula as printed": (1.0, True),
    "half weight after the first rank": (0.5, True),
    "half weight, imputed without biases": (0.5, False),
}
N_STEPS = len(METHODS) + 4

PUBLISHED_NDCG = frame.published(
    len(DEPTHS),
    """
    bradley-terry 40.09 36.00 35.20 34.96 34.49 34.40 31.63 32.08 32.46 32.35
    plackett-luce 69.56 54.17 48.97 46.58 44.89 43.44 42.50 41.25 40.64 40.03
    mpm-descent   69.15 54.29 49.72 46.98 45.52 44.13 43.25 42.62 42.04 41.57
    """,
)
# Films of table 3 and of the text: users, contests won, contests lost.
PUBLISHED_COUNTS = frame.published(
    3,
    """
    Pather Panchali                                 8 1431 89
    Wallace & Gromit: The Best of Aardman Animation 67 7448 962
    Casablanca                                      243 26837 4633
    Close Shave, A                                  112 11219 1963
    Rear Window                                     209 22590 4513
    Children of the Corn: The Gathering             19 62 3161
    Lawnmower Man 2: Beyond Cyberspace              21 129 3868
    Free Willy 3: The Rescue                        27 171 3912
    Kazaam                                          10 128 2041
    Best of the Best 3: No Turning Back             6 33 1445
    Shawshank Redemption, The                       283 32592 5943
    Usual Suspects, The                             267 30779 6666
    Star Wars                                       583 49290 10112
    Wrong Trousers, The                             118 13531 2291
    Barb Wire                                       30 462 5507
    Robocop 3                                       11 125 2535
    Gone Fishin'                                    11 123 1098
    Highlander III: The Sorcerer                    16 881 2826
    Ready to Wear (Pret-A-Porter)                   18 289 3785
    Raiders of the Lost Ark                         420 40057 10644
    Godfather, The                                  413 36531 8040
    Silence of the Lambs, The                       390 38192 9125
    Cable Guy, The                                  106 3469 14377
    Striptease                                      67 1347 9909
    Very Brady Sequel, A                            93 3353 12509
    Jungle2Jungle                                   132 2375 11086
    Island of Dr. Moreau, The                       57 1176 9415
    Sabrina                                         190 10190 12347
    Mrs. Doubtfire                                  192 13251 17551
    Ghost                                           170 11785 14452
    """,
)
PUBLISHED_ENDS = {
    "bradley-terry": (
        ("Pather Panchali", "Wallace & Gromit", "Casablanca", "Close Shave", "Rear Window"),
        ("Children of Corn", "Lawnmower Man 2", "Free Willy 3", "Kazaam", "Best of the Best 3"),
    ),
    "plackett-luce": (
        ("Shawshank Red.", "Wallace & Gromit", "Usual Suspects", "Star Wars", "Wrong Trousers"),
        ("Barb Wire", "Robocop 3", "Gone Fishin'", "Highlander III", "Ready to Wear"),
    ),
    "mpm": (
        ("Star Wars", "Raiders of the L.", "Godfather", "Silence of the L.", "Shawshank Red."),
        ("Cable Guy", "Striptease", "Very Brady", "Jungle2Jungle", "Island of Dr."),
    ),
}


def run(data: DataFolder, progress: Progress = silent, pmf: PMF | None = None) -> dict[str, Any]:
    """Return the counts, the best and worst films of every ranking, the NDCG tables and the variances."""
    folder = frame.data_folder(data, "ml-100k")
    prefs, titles = read_ratings(folder), read_titles(folder)
    progress("read")
    rankings = {}
    for name, (method, params) in METHODS.items():
        input_prefs = sorted_by_number(prefs) if name == "plackett-luce" else prefs
        rankings[name] = registry.make(method, **params).rank(input_prefs)
        progress(name)
    observed = rating_matrix(prefs)
    orders = {name: ranking.order for name, ranking in rankings.items()}
    score, _ = descend(net_shares(observed), STEPS, RATE)
    orders[DESCENT] = np.argsort(-score, kind="stable")
    progress(DESCENT)
    settings = pmf or PMF()
    completed = {}
    for has_biases in (True, False):
        completed[has_biases] = complete(observed, replace(settings, biases=has_biases))
        progress(f"matrix factorisation {'with' if has_biases else 'without'} biases")
    filled = {
        constant: {
            name: ndcg(np.where(np.isnan(observed), constant, observed), order, (1, 5, 10))
            for name, order in orders.items()
        }
        for constant in CONSTANTS
    }
    by_reading = {
        reading: {name: ndcg(completed[has_biases], order, DEPTHS, later) for name, order in orders.items()}
        for reading, (later, has_biases) in READINGS.items()
    }
    return {
        "counts": film_counts(prefs, titles),
        "ends": {name: _ends(prefs, titles, order) for name, order in orders.items()},
        "ndcg": {
            reading: {name: (100 * values.mean(axis=0)).tolist() for name, values in values_of.items()}
            for reading, values_of in by_reading.items()
        },
        "significant": {reading: _significance(values_of) for reading, values_of in by_reading.items()},
        "constants": {
            name: {constant: (100 * filled[constant][name].mean(axis=0)).tolist() for constant in CONSTANTS}
            for name in orders
        },
        "constant tests": {constant: _constant_tests(values_of) for constant, values_of in filled.items()},
        "sparsity": float(np.isnan(observed).mean()),
        "variances": _variances(prefs, titles, rankings["mpm-variances"]),
    }


# ---- data ----
def read_ratings(folder: Path) -> Preferences:
    """Read u.data: user, item, rating, time."""
    return read(_find(folder, "u.data"), header=False, agent=1, item=2, rating=3)


def read_titles(folder: Path) -> dict[str, str]:
    """Read the titles of u.item by item id."""
    path = _find(folder, "u.item")
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    rows = [line.split("|", 2) for line in content.decode("latin-1").splitlines() if line.strip()]
    return {row[0]: row[1] for row in rows}


def _find(folder: Path, name: str) -> Path:
    return frame.existing(folder, name, f"{name}.gz", otherwise="this experiment needs the files of ml-100k")


def sorted_by_number(prefs: Preferences) -> Preferences:
    """Return every user's films, best first; equally rated films are sorted by their number in the files."""
    assert prefs.value is not None
    number = np.array([int(label) for label in prefs.items.labels])[prefs.item]
    order = np.lexsort((number, -prefs.value, views.ballot_of_entry(prefs)))
    place = np.arange(len(order)) - np.repeat(prefs.indptr[:-1], np.diff(prefs.indptr))
    return prefs.replace(item=prefs.item[order], tier=place, value=None, scale=None)


def rating_matrix(prefs: Preferences) -> Floats:
    """Return the ratings, users x films, NaN where a rating is missing."""
    assert prefs.agent is not None
    assert prefs.value is not None
    matrix = np.full((prefs.n_agents or 0, prefs.n_items), np.nan)
    matrix[np.repeat(prefs.agent, np.diff(prefs.indptr)), prefs.item] = prefs.value
    return matrix


def complete(observed: Floats, pmf: PMF) -> Floats:
    """Fill the missing ratings with predictions, clipped to the rating scale."""
    user, item = np.nonzero(~np.isnan(observed))
    fitted = pmf.fit(Preferences.from_ratings(user, item, observed[user, item]))
    users = np.array([int(label) for label in fitted.agents])
    items = np.array([int(label) for label in fitted.items])
    predicted = np.full(observed.shape, fitted.learnt["mean"])
    predicted[np.ix_(users, items)] = fitted.complete()
    return np.where(np.isnan(observed), np.clip(predicted, np.nanmin(observed), np.nanmax(observed)), observed)


# ---- findings ----
def film_counts(prefs: Preferences, titles: Mapping[str, str]) -> dict[str, tuple[int, int, int]]:
    """Return users, contests won and contests lost of every published film, by its title without the year."""
    rows = _counts(prefs)
    counts = {}
    for title in PUBLISHED_COUNTS:
        matches = [item for item in prefs.items.labels if titles[item].rpartition(" (")[0] == title]
        # Two films are called Sabrina: the paper means the one of 1995, with more ratings.
        counts[title] = max(rows[prefs.items.code(item)] for item in matches)
    return counts


def _counts(prefs: Preferences) -> list[tuple[int, int, int]]:
    won, lost, _ = views.wins_and_losses(prefs, "ignore")
    users = np.bincount(prefs.entry_slot, minlength=prefs.n_slots)
    return [(int(u), int(w), int(x)) for u, w, x in zip(users, won, lost, strict=True)]


def _ends(prefs: Preferences, titles: Mapping[str, str], order: Int64s) -> dict[str, list[list[Any]]]:
    """Return the five best films and the five worst (worst first), with their counts."""
    rows = _counts(prefs)
    films = [[titles[prefs.items[prefs.slot_item[slot]]].rpartition(" (")[0], *rows[slot]] for slot in order.tolist()]
    return {"top": films[:5], "bottom": films[:-6:-1]}


def ndcg(ratings: Floats, order: Any, depths: Sequence[int], later: float = 1.0) -> Floats:
    """Return NDCG of one order of films for every user (users x depths); every film has a (real) rating.

    Gains at ranks after the first are multiplied by ``later`` in the ranking, but not in the ideal ranking.
    """
    deepest = max(depths)
    discount = 1 / np.log2(np.arange(deepest) + 2)
    ideal = -np.sort(-ratings, axis=1)[:, :deepest]
    weight = discount * np.where(np.arange(deepest) > 0, later, 1.0)
    dcg = np.cumsum((2 ** ratings[:, order[:deepest]] - 1) * weight, axis=1)
    ideal_dcg = np.cumsum((2**ideal - 1) * discount, axis=1)
    column = np.array(depths) - 1
    return np.asarray(dcg[:, column] / np.maximum(ideal_dcg[:, column], 1e-300))


def _significance(values: Mapping[str, Floats]) -> dict[str, list[int]]:
    """Return, for each MPM, the depths at which it beats the better of the two baselines (paired t-test, 0.05)."""
    by_depth = {name: metric.T for name, metric in values.items()}
    best = [frame.best_baseline(by_depth, BASELINES, c) for c in range(len(DEPTHS))]
    return {
        name: [depth for c, depth in enumerate(DEPTHS) if frame.is_better(metric[c] - by_depth[best[c]][c])]
        for name, metric in by_depth.items()
        if name not in BASELINES
    }


def _constant_tests(values: Mapping[str, Floats]) -> list[float]:
    """Return, for every depth, the p-value of the model against the better baseline (paired t-test over users)."""
    by_depth = {name: metric.T for name, metric in values.items()}
    return [
        paired_t_test(by_depth["mpm"][c] - by_depth[frame.best_baseline(by_depth, BASELINES, c)][c])
        for c in range(len(by_depth["mpm"]))
    ]


def _variances(prefs: Preferences, titles: Mapping[str, str], ranking: Ranking) -> dict[str, Any]:
    """Return the learnt variances with numbers of ratings and ranks, their correlation, and the ranks of some films."""
    from scipy.stats import spearmanr

    variance = np.asarray(ranking.details["variance"])
    users = np.bincount(prefs.entry_slot, minlength=prefs.n_slots)
    return {
        "variance": variance,
        "ratings": users,
        "rank": ranking.rank_by_slot,
        "films": {
            title: _standing(prefs, titles, title, ranking.rank_by_slot, variance, users) for title in MIDDLE_FILMS
        },
        "spearman": float(spearmanr(variance, users).statistic),
    }


def _standing(
    prefs: Preferences, titles: Mapping[str, str], title: str, rank: Any, variance: Floats, users: Any
) -> dict[str, float]:
    """Return the rank and the variance of a film as shares of all films; of equal titles, the one with most ratings."""
    slots = [s for s, code in enumerate(prefs.slot_item) if titles[prefs.items[code]].rpartition(" (")[0] == title]
    slot = max(slots, key=lambda s: int(users[s]))
    return {"rank": float(rank[slot] / len(rank)), "variance": float((variance < variance[slot]).mean())}


def claims(result: Mapping[str, Any]) -> list[Claim]:
    """Return the claims of section 6 with their verdicts."""
    return claims_of(result, {"counts": PUBLISHED_COUNTS, "ends": PUBLISHED_ENDS})


# ---- report ----
def tables(result: Mapping[str, Any]) -> list[ResultTable]:
    """Return every table."""
    rows = []
    for film, counts in result["counts"].items():
        verdict = "equal" if tuple(counts) == PUBLISHED_COUNTS[film] else "differs"
        rows.append([film, *(f"{n:,}" for n in (*counts, *PUBLISHED_COUNTS[film])), verdict])
    header = ["film", "users", "won", "lost", "published: users", "won", "lost", ""]
    all_tables = [ResultTable("Table 3: counts of the published films", header, rows)]
    for name, ends in result["ends"].items():
        rows = [
            [f"{end} {k + 1}", film, f"{users:,}", f"{won:,}", f"{lost:,}", printed[k]]
            for end, printed in zip(
                ("top", "bottom"), PUBLISHED_ENDS[name if name in BASELINES else "mpm"], strict=True
            )
            for k, (film, users, won, lost) in enumerate(ends[end])
        ]
        all_tables.append(
            ResultTable(f"Table 3: ends of {DESCRIBED[name]}", ["", "film", "users", "won", "lost", "published"], rows)
        )
    columns = [f"N@{depth}" for depth in DEPTHS]
    for reading, values_of in result["ndcg"].items():
        better = result["significant"][reading]
        figures = [
            {
                "method": DESCRIBED[name],
                **dict(zip(columns, values, strict=True)),
                "significant": [f"N@{depth}" for depth in better.get(name, ())],
                "published": dict(zip(columns, PUBLISHED_NDCG.get(name, ()), strict=False)),
            }
            for name, values in values_of.items()
        ]
        title = f"Table 2: NDCG, missing ratings imputed, {reading}"
        all_tables.append(
            ResultTable(
                title, ["method", *columns], frame.with_published(figures, columns, called="published, 100 steps")
            )
        )
    rows = [
        [DESCRIBED[name], f"N@{depth}", *(f"{values[c][k]:.2f}" for c in CONSTANTS)]
        for k, depth in enumerate((1, 5, 10))
        for name, values in result["constants"].items()
    ]
    header = ["method", "", *(f"{c:g}" for c in CONSTANTS)]
    all_tables.append(ResultTable("Figure 4: NDCG, missing ratings set to a constant", header, rows))
    spearman = [["Spearman(variance, number of ratings)", f"{result['variances']['spearman']:.3f}"]]
    all_tables.append(ResultTable("Figure 5: learnt variances", ["", "value"], spearman))
    return [*all_tables, claims_table(claims(result))]


NOTES = """
- Counts: a film wins a contest for every film that the same user rated lower. All published counts are reproduced.
- bradley-terry: a ridge penalty of 55 replaces the paper's 100 gradient steps. It was chosen because it gives all ten
  published films in order; with a weak prior, films rated by a single user are at the ends.
- plackett-luce: ratings sorted, ties by film number (a stable sort of the file's columns), ridge penalty 4: all ten
  published films in order.
- mpm: no single fit gives both published ends. The top five are those of the optimum with equal variances (mpm); the
  bottom five, in the printed order, are those of 100 plain gradient steps on scores and variances without convergence
  (mpm-descent; the paper does not give the step size, so one was chosen that reproduces them). The optimum with learnt
  variances and a weak prior (mpm-variances) has the same bottom five films in another order.
- Bottom lists start with the worst film, as in the paper.
- Table 2: with the formula as printed, the figures would hardly fall with depth. The published ones fall as if ranks 2,
  3, … had half weight in the ranking and full weight in the ideal ranking; this is an inference. With that definition,
  the multinomial model is above its published row at every depth: by at most 1.6 at the optimum with equal variances,
  2.4 at the optimum with learnt variances and 2.8 after 100 steps. Plackett-Luce is at most 3.2 above its row, and
  Bradley-Terry's row requires a factorisation without biases, which predicts the mean for rarely rated films.
- All published rows come from 100 gradient steps, that of the multinomial model with learnt variances. Here the
  baselines are at their optimum under a prior.
- `*`: better than the better of the two baselines, paired t-test over users, level 0.05.
"""


def to_markdown(result: Mapping[str, Any]) -> str:
    """Return all tables, published and obtained side by side."""
    return frame.markdown_page(TITLE, tables(result), "## Notes", NOTES)


def plain(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result as plain data for JSON."""
    variances = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in result["variances"].items()}
    constants = {name: {str(c): v for c, v in values.items()} for name, values in result["constants"].items()}
    tests = {str(c): v for c, v in result["constant tests"].items()}
    changed = {"variances": variances, "constants": constants, "constant tests": tests}
    return {**result, **changed, "claims": as_rows(claims(result))}


def draw(result: Mapping[str, Any], folder: str | os.PathLike[str]) -> list[str]:
    """Draw figures 4 and 5; return the files."""
    drawn, axes = frame.figure(3, 10, 3.2)
    for k, (depth, panel) in enumerate(zip((1, 5, 10), axes, strict=True)):
        for colour, (name, values) in zip(frame.COLOURS, result["constants"].items(), strict=False):
            panel.plot(CONSTANTS, [values[c][k] for c in CONSTANTS], "o-", color=colour, label=name, markersize=3)
        panel.set_xlabel("value of missing ratings")
        panel.set_title(f"NDCG@{depth}", fontsize=10)
    axes[0].set_ylabel("NDCG, percent")
    axes[0].legend(fontsize=7, frameon=False)
    caption = "Figure 4: NDCG when missing ratings are set to a constant"
    files = [frame.save_figure(drawn, folder, "movielens-figure-4", caption)]
    variances = result["variances"]
    drawn, axes = frame.figure(2, 8, 3.4)
    for panel, column, name in zip(axes, ("ratings", "rank"), ("number of ratings", "rank of the film"), strict=True):
        panel.scatter(variances[column], variances["variance"], s=6, color=frame.COLOURS[0], alpha=0.5, linewidths=0)
        panel.set_xlabel(name)
    axes[0].set_ylabel("learnt variance")
    axes[0].set_title(f"Spearman {variances['spearman']:.3f}", fontsize=10)
    return [*files, frame.save_figure(drawn, folder, "movielens-figure-5", FIGURE_5)]
