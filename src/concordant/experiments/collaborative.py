"""Film recommendation by ordered partitions (Tran, Phung and Venkatesh 2016: table 3, figure 2).

The protocol is that of the paper. Ratings are rounded to whole numbers, and the half of the films with the lowest
rating entropy is left out. For every user with at least 60 ratings, 50 are drawn for training and the rest are used for
testing. Settings and the number of sweeps are chosen on 10 of the 50 (NDCG@5); then all models are refitted to all 50.
Table 3 compares ERR, NDCG@1 and NDCG@5 on the test ratings. Figure 2 compares the log-likelihood of M films drawn from
them under ordered partitions and under Plackett-Luce, with ties broken by the sort order.

The row ``pmop`` is the paper's own model: f = p · q without mean and biases, a point estimate of 100 factors with beta
0.01 from a uniform start. The paper does not state its two regularisation parameters; only their product matters, so
there is one parameter here, chosen on validation ratings. ``ordered-partition-mf`` is the same likelihood with the
defaults of this package (variational Bayes), and has no published figures. The CoFiRank rows have 100 factors, as
published.

The paper uses MovieLens 10M (21,649 users, 5,247 films); this data set is included if its files are present. For other
data sets, the published figures are shown for orientation only.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from concordant import datasets, kernels, metrics
from concordant.errors import InputError
from concordant.experiments import frame
from concordant.experiments._collaborative_claims import COFI, claims
from concordant.experiments._collaborative_models import (
    AS_PUBLISHED,
    DESCRIBED,
    MAIN,
    METRICS,
    OTHERS,
    OURS,
    Outcome,
    others_here,
    run_other,
    run_ours,
)
from concordant.experiments.claims import as_rows, claims_table
from concordant.experiments.frame import About, DataFolder, Progress, ResultTable, silent
from concordant.losses.ordered_partitions import MeanPartitionLoss
from concordant.losses.queries import Queries
from concordant.metrics.significance import holm, paired_t_test
from concordant.preferences import Preferences
from concordant.recommend import Observed, PlackettLuceMF, split, taken
from concordant.types import Bools, Floats

TITLE = "Collaborative ranking of MovieLens films"
ABOUT = About(
    paper="T. Tran, D. Phung and S. Venkatesh, Modelling human preferences for ranking and collaborative filtering: a "
    "probabilistic ordered partition approach, Knowledge and Information Systems, 2016 (table 3, figure 2).",
    setting="50 ratings of every user are for training, the rest for testing; settings are chosen on 10 of the 50. "
    "ERR, NDCG@1 and NDCG@5 on the test ratings, and the log-likelihood of test films.",
    data="MovieLens 1M and 100K, ratings rounded, the half of the films with the lower rating entropy removed, users "
    "with at least 60 ratings. The paper uses MovieLens 10M (ml-10m), which runs in the same way.",
)
SETS = ("ml-1m", "ml-100k", "ml-10m")
DEFAULT_SETS = ("ml-1m", "ml-100k")
N_TRAIN, N_VALID, N_LEAST = 50, 10, 60
DEPTHS = (5, 10, 20, 30, 40, 50)
PUBLISHED = frame.published(
    3,
    """
    cofi-regression 0.683 0.574 0.592
    cofi-ordinal    0.631 0.504 0.528
    cofi-ndcg       0.598 0.471 0.487
    pmop            0.684 0.576 0.602
    """,
)


def default_models() -> list[str]:
    """List the concordant models and the installed third-party libraries."""
    return [*OURS, *others_here()]


def n_steps(sets: Sequence[str], models: Sequence[str], seeds: int) -> int:
    """Return how many times ``run`` reports progress."""
    return len(sets) * seeds * (len(models) + 1)


def run(
    data: DataFolder,
    sets: Sequence[str] = DEFAULT_SETS,
    models: Sequence[str] | None = None,
    seeds: int = 5,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Return, by data set, the metrics of every model and split, the chosen settings, tests, and log-likelihoods."""
    frame.check_sets(sets, SETS)
    wanted = list(models or default_models())
    for name in wanted:
        if name not in OURS and name not in OTHERS:
            raise InputError(f"There is no model {name!r}: use {', '.join([*OURS, *OTHERS])}.")
    results = {}
    for name in sets:
        loaded = datasets.load(name, data)
        assert isinstance(loaded, Preferences)
        prefs = filtered(loaded)
        splits = [_one_split(prefs, wanted, seed, progress) for seed in range(seeds)]
        results[name] = {"agents": prefs.n_agents, "items": prefs.n_items, **_joined(wanted, splits)}
    return results


# ---- data ----
def filtered(prefs: Preferences) -> Preferences:
    """Round ratings, keep the half of the items whose ratings have more entropy, and agents with at least
    60 ratings.
    """
    observed = Observed.of(prefs)
    rating = np.floor(observed.ratings("this experiment") + 0.5)
    is_kept = has_entropy(observed.item, rating, prefs.n_items)[observed.item]
    count = np.bincount(observed.agent[is_kept], minlength=len(observed.agents))
    is_kept &= count[observed.agent] >= N_LEAST
    if not is_kept.any():
        raise InputError(f"No user has {N_LEAST} ratings of the remaining films: use a larger data set.")
    return Preferences.from_ratings(
        np.array(observed.agents.labels)[observed.agent[is_kept]],
        np.array(observed.items.labels)[observed.item[is_kept]],
        rating[is_kept],
    )


def has_entropy(item: Any, rating: Floats, n_items: int) -> Bools:
    """Return, for every item, whether it belongs to the half whose ratings have more entropy."""
    level = np.unique(rating, return_inverse=True)[1]
    counts = np.zeros((n_items, int(level.max()) + 1))
    np.add.at(counts, (item, level), 1.0)
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
    entropy = -(share * np.log(np.where(share > 0, share, 1.0))).sum(axis=1)
    is_kept = np.zeros(n_items, bool)
    is_kept[np.argsort(-entropy, kind="stable")[: (n_items + 1) // 2]] = True
    return is_kept


def _parts(prefs: Preferences, seed: int) -> dict[str, Preferences]:
    """Draw 50 ratings of every agent as "whole", 10 of them as "valid", the other 40 as "train"; the rest is "test"."""
    test, whole = split(prefs, count=N_TRAIN, seed=seed)
    train, valid = split(whole, count=N_VALID, seed=seed)
    return {"train": train, "valid": valid, "whole": whole, "test": test}


# ---- runs ----
def _one_split(prefs: Preferences, models: Sequence[str], seed: int, progress: Progress) -> dict[str, Any]:
    """Run all models on one random split, and compute the log-likelihoods of figure 2."""
    parts = _parts(prefs, seed)
    outcomes: dict[str, Outcome] = {}
    for name in models:
        outcomes[name] = (run_ours if name in OURS else run_other)(name, **parts)
        progress(f"split {seed + 1}: {name}")
    fitted = next((name for name in (AS_PUBLISHED, MAIN) if name in outcomes), "")
    likelihood = figure_2(outcomes[fitted], parts, seed) if fitted else {}
    progress(f"split {seed + 1}: log-likelihoods")
    return {"outcomes": outcomes, "likelihood": likelihood, "likelihood_of": fitted}


def figure_2(main: Outcome, parts: Mapping[str, Preferences], seed: int) -> dict[int, dict[str, float]]:
    """Return, by number of films, the mean log-likelihood per agent of ordered partitions and of Plackett-Luce.

    Both models have the settings chosen for ordered partitions (of the published model, or of the default one if only
    that was run); only the likelihood they are fitted to differs.
    """
    plain: Any = PlackettLuceMF(**{key: value for key, value in main.settings.items() if key != "loss"})  # type: ignore[arg-type]
    models = {"partitions": main.model, "plackett-luce": plain.fit(parts["whole"])}
    by_depth: dict[int, dict[str, float]] = {}
    for depth in DEPTHS:
        drawn = drawn_of_each(parts["test"], depth, seed)
        if drawn is None:
            continue
        observed = Observed.of(drawn)
        queries = Queries.from_rows(observed.ratings(MAIN), observed.agent_of_ballot[observed.ballot], None)
        rows = _labels(observed.agents, observed.agent), _labels(observed.items, observed.item)
        score = {name: np.ascontiguousarray(model.predict(*rows)[queries.row]) for name, model in models.items()}
        loss = MeanPartitionLoss()
        n = len(queries)
        loss_partitions = kernels.mean_partitions(
            score["partitions"], queries.ptr, queries.tier, np.empty(0), queries.weight
        )[0]
        strict = np.arange(len(queries.row), dtype=np.int32)
        loss_plackett = kernels.mean_partitions(
            score["plackett-luce"], queries.ptr, strict, np.empty(0), queries.weight
        )[0]
        by_depth[depth] = {
            "agents": n,
            "partitions": -float(loss_partitions.sum()) / n,
            "partitions, normalised": float(loss.log_likelihood(score["partitions"], queries).sum()) / n,
            "plackett-luce": -float(loss_plackett.sum()) / n,
        }
    return by_depth


def drawn_of_each(prefs: Preferences, count: int, seed: int) -> Preferences | None:
    """Draw ``count`` ratings of every agent that has at least that many; None if no agent has."""
    observed = Observed.of(prefs)
    size = np.diff(observed.by_agent.ptr)
    order = np.lexsort((np.random.default_rng([seed, count]).random(len(observed.item)), observed.agent))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order)) - np.repeat(observed.by_agent.ptr[:-1], size)
    is_drawn = (rank < count) & (size[observed.agent] >= count)
    if not is_drawn.any():
        return None
    drawn = taken(prefs, observed, is_drawn)
    assert drawn.agents is not None
    assert drawn.agent is not None
    return drawn.select(agents=[drawn.agents[code] for code in np.unique(drawn.agent).tolist()])


def _labels(vocabulary: Sequence[str], codes: Any) -> Any:
    return np.array(list(vocabulary))[codes]


# ---- findings ----
def _joined(models: Sequence[str], splits: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Summarise the splits: means by split, paired tests over agents (Holm's correction) and mean log-likelihoods."""
    by_agent = {
        name: {
            metric: np.mean([outcome["outcomes"][name].values[metric] for outcome in splits], axis=0)
            for metric in METRICS
        }
        for name in models
    }
    means = {
        name: {
            metric: [float(metrics.mean(outcome["outcomes"][name].values[metric])) for outcome in splits]
            for metric in METRICS
        }
        for name in models
    }
    other_models = [name for name in models if name != MAIN]
    tests: dict[str, dict[str, tuple[float, float]]] = {}
    if MAIN in models and other_models:
        for metric in METRICS:
            lead = [by_agent[MAIN][metric] - by_agent[name][metric] for name in other_models]
            adjusted = holm([paired_t_test(difference[~np.isnan(difference)]) for difference in lead])
            for name, difference, p in zip(other_models, lead, adjusted, strict=True):
                tests.setdefault(name, {})[metric] = (float(np.nanmean(difference)), p)
    published_tests: dict[str, dict[str, tuple[float, float]]] = {}
    cofi = [name for name in COFI if name in models]
    for metric in METRICS if AS_PUBLISHED in models and cofi else ():
        lead = [by_agent[AS_PUBLISHED][metric] - by_agent[name][metric] for name in cofi]
        adjusted = holm([paired_t_test(difference[~np.isnan(difference)]) for difference in lead])
        for name, difference, p in zip(cofi, lead, adjusted, strict=True):
            published_tests.setdefault(name, {})[metric] = (float(np.nanmean(difference)), p)
    depths = sorted({depth for outcome in splits for depth in outcome["likelihood"]})
    likelihood = {
        depth: {
            key: float(
                np.mean([outcome["likelihood"][depth][key] for outcome in splits if depth in outcome["likelihood"]])
            )
            for key in ("agents", "partitions", "partitions, normalised", "plackett-luce")
        }
        for depth in depths
    }
    settings = {name: [dict(outcome["outcomes"][name].settings) for outcome in splits] for name in models}
    found = {"means": means, "tests": tests, "likelihood": likelihood, "settings": settings}
    return found | {"likelihood_of": splits[0]["likelihood_of"], "published tests": published_tests}


def _interval(values: Sequence[float]) -> str:
    """Return a mean over splits with the half-width of its 95% confidence interval (Student's t), as text."""
    from scipy.stats import t

    mean = float(np.mean(values))
    if len(values) < 2:
        return f"{mean:.4f}"
    half_width = float(t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values)))
    return f"{mean:.4f} ± {half_width:.4f}"


# ---- report ----
def tables(result: Mapping[str, Any]) -> list[ResultTable]:
    """Return every table."""
    all_tables = []
    for name, set_result in result.items():
        rows = []
        for model, means in set_result["means"].items():
            rows.append([DESCRIBED.get(model, model), *(_interval(means[metric]) for metric in METRICS)])
            if model in PUBLISHED:
                rows.append(["  published, MovieLens 10M", *(f"{value:.3f}" for value in PUBLISHED[model])])
        size = f"{set_result['agents']:,} users, {set_result['items']:,} films"
        all_tables.append(ResultTable(f"Table 3 on {name} ({size})", ["model", *METRICS], rows))
        if set_result["tests"]:
            rows = [
                [
                    DESCRIBED.get(model, model),
                    *(f"{lead:+.4f} (p {p:.2g})" for lead, p in (row_values[metric] for metric in METRICS)),
                ]
                for model, row_values in set_result["tests"].items()
            ]
            all_tables.append(
                ResultTable(f"Lead of {MAIN} on {name}, paired over users, Holm", ["over", *METRICS], rows)
            )
        if set_result["likelihood"]:
            rows = [
                [
                    str(depth),
                    f"{row_values['agents']:,.0f}",
                    *(f"{row_values[key]:.2f}" for key in list(row_values)[1:]),
                ]
                for depth, row_values in set_result["likelihood"].items()
            ]
            header = ["films", "users", "ordered partitions", "the same, normalised", "Plackett-Luce"]
            all_tables.append(
                ResultTable(
                    f"Figure 2 on {name}: mean log-likelihood of a user's films, settings of "
                    f"{set_result['likelihood_of']}",
                    *(header, rows, 1),
                )
            )
    return [*all_tables, claims_table(claims(result))]


NOTES = """
- Settings are chosen on 10 of the 50 training ratings of every user by NDCG@5, separately in every split; the test
  ratings are used once. Intervals are over splits; tests pair users, their values averaged over splits.
- pmop is the model of the paper: no mean and no biases, 100 factors, beta 0.01, a point estimate from a uniform start.
  The ridge, which stands for the two unpublished regularisers, and the number of sweeps are chosen on validation
  ratings. The paper uses gradient ascent, here both sides are solved in turn. On MovieLens 1M (five splits) pmop leads
  ordered-partition-mf significantly in every column (NDCG@5 0.642 against 0.629).
- ordered-partition-mf estimates the strengths of its priors and averages over the uncertainty of the factors
  (variational Bayes); pmf (variational) is the same without the likelihood of tiers, and is as good: the lead over pmf
  (point estimate) comes from the averaging, not from the tiers. On MovieLens 1M that lead is significant in every
  column; NDCG@5 does not differ significantly from that of CoFiRank's regression and ordinal losses.
- The likelihood of tiers says little beside squared errors: a user's 50 ratings are 50 squared errors, but five choices
  of a tier. That is why beta hardly matters, and why the published beta of 0.01 is almost plain matrix factorisation.
- CoFiRank has 100 factors, as published; regression subtracts the mean rating, ordinal has a squared hinge, NDCG is
  fitted by subgradients ("concordant recommenders cofi-rank" says more). The paper used the authors' program.
- Figure 2: "ordered partitions" is the likelihood as the paper prints it, without the constants of the sets; normalised
  it is a probability over all ordered partitions, of which there are many more than rankings, and no longer comparable
  with Plackett-Luce's, which is one over rankings.
- Libraries of others take part where they are installed: cornac, scikit-surprise, lenskit.
"""


def plain(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result for JSON: the sets and the claims."""
    return {**result, "claims": as_rows(claims(result))}


def to_markdown(result: Mapping[str, Any]) -> str:
    """Return all tables as a Markdown page."""
    return frame.markdown_page(TITLE, tables(result), "## Notes", NOTES)


def draw(result: Mapping[str, Any], folder: str | os.PathLike[str]) -> list[str]:
    """Draw figure 2 of every set; return the files."""
    files = []
    for name, set_result in result.items():
        drawn, axes = frame.figure(1, 4.6, 3.4)
        panel = axes[0]
        depths = list(set_result["likelihood"])
        for colour, key in zip(frame.COLOURS, ("partitions", "plackett-luce"), strict=False):
            label = "ordered partitions" if key == "partitions" else "Plackett-Luce"
            values = [set_result["likelihood"][depth][key] for depth in depths]
            panel.plot(depths, values, "o-", color=colour, label=label, markersize=3)
        panel.set_xlabel("films of a user")
        panel.set_ylabel("log-likelihood")
        panel.legend(fontsize=8, frameon=False)
        files.append(
            frame.save_figure(
                drawn,
                folder,
                f"collaborative-{name}-figure-2",
                f"Figure 2 on {name}: mean log-likelihood of a user's test films",
            )
        )
    return files
