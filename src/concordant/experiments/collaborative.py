"""Film recommendation by ordered partitions (Tran, Phung and Venkatesh 2016: table 3, figure 2).

The protocol of the paper: ratings rounded to whole numbers; the half of the films whose ratings have the least entropy
left out; of every user with at least 60 ratings 50 drawn for training, the rest for testing. Settings and sweeps are
chosen on 10 of the 50 (NDCG@5), then everything is fitted again to all 50. Table 3 compares ERR, NDCG@1 and NDCG@5 on
the test ratings; figure 2 the log-likelihood of M films drawn from them, under ordered partitions and, ties broken by
the sort, under Plackett and Luce.

The paper uses MovieLens 10M (21,649 users, 5,247 films); it takes part where its files are. Published figures stand
beside those of other sets for orientation only.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from concordant import datasets, kernels, metrics
from concordant.errors import InputError
from concordant.experiments import _frame as frame
from concordant.experiments._collaborative_models import (
    MAIN,
    METRICS,
    OTHERS,
    OURS,
    Outcome,
    others_here,
    run_other,
    run_ours,
)
from concordant.experiments._frame import DataFolder, Progress, ResultTable, silent
from concordant.losses.ordered_partitions import MeanPartitionLoss
from concordant.losses.queries import Queries
from concordant.metrics.significance import holm, paired_t_test
from concordant.preferences import Preferences
from concordant.recommend import Observed, PlackettLuceMF, split, taken
from concordant.types import Bools, Floats

TITLE = "Collaborative ranking of MovieLens films"
SETS = ("ml-1m", "ml-100k", "ml-10m")
DEFAULT_SETS = ("ml-1m", "ml-100k")
N_TRAIN, N_VALID, N_LEAST = 50, 10, 60
DEPTHS = (5, 10, 20, 30, 40, 50)
PUBLISHED = frame.published(
    3,
    """
    cofi-regression      0.683 0.574 0.592
    cofi-ordinal         0.631 0.504 0.528
    cofi-ndcg            0.598 0.471 0.487
    ordered-partition-mf 0.684 0.576 0.602
    """,
)


def default_models() -> list[str]:
    """List our models and the libraries of others that are installed."""
    return [*OURS, *others_here()]


def n_steps(sets: Sequence[str], models: Sequence[str], seeds: int) -> int:
    """Return how many steps are reported."""
    return len(sets) * seeds * (len(models) + 1)


def run(
    data: DataFolder,
    sets: Sequence[str] = DEFAULT_SETS,
    models: Sequence[str] | None = None,
    seeds: int = 5,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Return, by set, the metrics of every model and split, what was chosen, tests, and log-likelihoods."""
    frame.check_sets(sets, SETS)
    wanted = list(models or default_models())
    for name in wanted:
        if name not in OURS and name not in OTHERS:
            raise InputError(f"There is no model {name!r}: use {', '.join([*OURS, *OTHERS])}.")
    out = {}
    for name in sets:
        loaded = datasets.load(name, data)
        assert isinstance(loaded, Preferences)
        prefs = filtered(loaded)
        splits = [_one_split(prefs, wanted, seed, progress) for seed in range(seeds)]
        out[name] = {"agents": prefs.n_agents, "items": prefs.n_items, **_joined(wanted, splits)}
    return out


# ---- data ----
def filtered(prefs: Preferences) -> Preferences:
    """Round ratings, leave out the half of the items of least entropy, then agents with too few ratings."""
    observed = Observed.of(prefs)
    rating = np.floor(observed.ratings("this experiment") + 0.5)
    keep = has_entropy(observed.item, rating, prefs.n_items)[observed.item]
    count = np.bincount(observed.agent[keep], minlength=len(observed.agents))
    keep &= count[observed.agent] >= N_LEAST
    if not keep.any():
        raise InputError(f"No user has {N_LEAST} ratings of the films that are left: use a larger set.")
    return Preferences.from_ratings(
        np.array(observed.agents.labels)[observed.agent[keep]],
        np.array(observed.items.labels)[observed.item[keep]],
        rating[keep],
    )


def has_entropy(item: Any, rating: Floats, n_items: int) -> Bools:
    """Say which items belong to the half whose ratings have more entropy."""
    level = np.unique(rating, return_inverse=True)[1]
    counts = np.zeros((n_items, int(level.max()) + 1))
    np.add.at(counts, (item, level), 1.0)
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
    entropy = -(share * np.log(np.where(share > 0, share, 1.0))).sum(axis=1)
    keep = np.zeros(n_items, bool)
    keep[np.argsort(-entropy, kind="stable")[: (n_items + 1) // 2]] = True
    return keep


def _parts(prefs: Preferences, seed: int) -> dict[str, Preferences]:
    """Draw 50 ratings of every agent, and 10 of them for validation; the rest is the test."""
    test, whole = split(prefs, count=N_TRAIN, seed=seed)
    train, valid = split(whole, count=N_VALID, seed=seed)
    return {"train": train, "valid": valid, "whole": whole, "test": test}


# ---- runs ----
def _one_split(prefs: Preferences, models: Sequence[str], seed: int, progress: Progress) -> dict[str, Any]:
    parts = _parts(prefs, seed)
    outcomes: dict[str, Outcome] = {}
    for name in models:
        outcomes[name] = (run_ours if name in OURS else run_other)(name, **parts)
        progress(f"split {seed + 1}: {name}")
    likelihood = figure_2(outcomes[MAIN], parts, seed) if MAIN in outcomes else {}
    progress(f"split {seed + 1}: log-likelihoods")
    return {"outcomes": outcomes, "likelihood": likelihood}


def figure_2(main: Outcome, parts: Mapping[str, Preferences], seed: int) -> dict[int, dict[str, float]]:
    """Return by number of films the mean log-likelihoods per agent: of ordered partitions and of Plackett and Luce.

    Both models have the settings chosen for ordered partitions; only the likelihood they are fitted to differs.
    """
    plain: Any = PlackettLuceMF(**{key: value for key, value in main.settings.items() if key != "loss"})  # type: ignore[arg-type]
    models = {"partitions": main.model, "plackett-luce": plain.fit(parts["whole"])}
    out: dict[int, dict[str, float]] = {}
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
        raw = kernels.mean_partitions(score["partitions"], queries.ptr, queries.tier, np.empty(0), queries.weight)[0]
        strict = np.arange(len(queries.row), dtype=np.int32)
        plackett = kernels.mean_partitions(score["plackett-luce"], queries.ptr, strict, np.empty(0), queries.weight)[0]
        out[depth] = {
            "agents": n,
            "partitions": -float(raw.sum()) / n,
            "partitions, normalised": float(loss.log_likelihood(score["partitions"], queries).sum()) / n,
            "plackett-luce": -float(plackett.sum()) / n,
        }
    return out


def drawn_of_each(prefs: Preferences, count: int, seed: int) -> Preferences | None:
    """Draw so many ratings of every agent that has them; None where nobody has."""
    observed = Observed.of(prefs)
    size = np.diff(observed.by_agent.ptr)
    place = np.lexsort((np.random.default_rng([seed, count]).random(len(observed.item)), observed.agent))
    rank = np.empty(len(place), np.int64)
    rank[place] = np.arange(len(place)) - np.repeat(observed.by_agent.ptr[:-1], size)
    keep = (rank < count) & (size[observed.agent] >= count)
    if not keep.any():
        return None
    found = taken(prefs, observed, keep)
    assert found.agents is not None
    assert found.agent is not None
    return found.select(agents=[found.agents[code] for code in np.unique(found.agent).tolist()])


def _labels(vocabulary: Sequence[str], codes: Any) -> Any:
    return np.array(list(vocabulary))[codes]


# ---- findings ----
def _joined(models: Sequence[str], splits: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Put the splits together: means and intervals over splits, paired tests over agents, Holm's correction."""
    by_agent = {
        name: {metric: np.mean([one["outcomes"][name].values[metric] for one in splits], axis=0) for metric in METRICS}
        for name in models
    }
    means = {
        name: {
            metric: [float(metrics.mean(one["outcomes"][name].values[metric])) for one in splits] for metric in METRICS
        }
        for name in models
    }
    others = [name for name in models if name != MAIN]
    tests: dict[str, dict[str, tuple[float, float]]] = {}
    if MAIN in models and others:
        for metric in METRICS:
            lead = [by_agent[MAIN][metric] - by_agent[name][metric] for name in others]
            adjusted = holm([paired_t_test(one[~np.isnan(one)]) for one in lead])
            for name, one, p in zip(others, lead, adjusted, strict=True):
                tests.setdefault(name, {})[metric] = (float(np.nanmean(one)), p)
    depths = sorted({depth for one in splits for depth in one["likelihood"]})
    likelihood = {
        depth: {
            key: float(np.mean([one["likelihood"][depth][key] for one in splits if depth in one["likelihood"]]))
            for key in ("agents", "partitions", "partitions, normalised", "plackett-luce")
        }
        for depth in depths
    }
    settings = {name: [dict(one["outcomes"][name].settings) for one in splits] for name in models}
    return {"means": means, "tests": tests, "likelihood": likelihood, "settings": settings}


def _interval(values: Sequence[float]) -> str:
    """Write a mean over splits with the half width of its 95% interval."""
    from scipy.stats import t

    mean = float(np.mean(values))
    if len(values) < 2:
        return f"{mean:.4f}"
    half = float(t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values)))
    return f"{mean:.4f} ± {half:.4f}"


# ---- report ----
def tables(result: Mapping[str, Any]) -> list[ResultTable]:
    """Return every table."""
    out = []
    for name, found in result.items():
        rows = []
        for model, means in found["means"].items():
            rows.append([model, *(_interval(means[metric]) for metric in METRICS)])
            if model in PUBLISHED:
                rows.append(["  published, MovieLens 10M", *(f"{value:.3f}" for value in PUBLISHED[model])])
        size = f"{found['agents']:,} users, {found['items']:,} films"
        out.append(ResultTable(f"Table 3 on {name} ({size})", ["model", *METRICS], rows))
        if found["tests"]:
            rows = [
                [model, *(f"{lead:+.4f} (p {p:.2g})" for lead, p in (one[metric] for metric in METRICS))]
                for model, one in found["tests"].items()
            ]
            out.append(ResultTable(f"Lead of {MAIN} on {name}, paired over users, Holm", ["over", *METRICS], rows))
        if found["likelihood"]:
            rows = [
                [str(depth), f"{one['agents']:,.0f}", *(f"{one[key]:.2f}" for key in list(one)[1:])]
                for depth, one in found["likelihood"].items()
            ]
            header = ["films", "users", "ordered partitions", "the same, normalised", "Plackett-Luce"]
            out.append(ResultTable(f"Figure 2 on {name}: mean log-likelihood of a user's films", header, rows, 1))
    return out


NOTES = """
- Settings are chosen on 10 of the 50 training ratings of every user by NDCG@5, in every split anew; the test ratings
  are looked at once. Intervals are over splits; tests pair users, their values averaged over splits.
- ordered-partition-mf finds the strengths of its priors from the data and averages over what is uncertain (variational
  Bayes); pmf-variational is the same without the likelihood of tiers, and is as good: what leads over the mode (pmf)
  and over CoFiRank is the averaging, not the tiers. On MovieLens 1M (five splits) the lead over pmf and over the
  libraries of others is significant in every column, that over CoFiRank's regression and ordinal in NDCG@5 only.
- The likelihood of tiers says little beside squared errors: a user's 50 ratings are 50 squared errors, but five choices
  of a tier. That is why beta hardly matters, and why the published beta of 0.01 is almost plain matrix factorisation.
- CoFiRank: regression as published; ordinal with squared hinge; NDCG by subgradients ("concordant recommenders
  cofi-rank" says more).
- Figure 2: "ordered partitions" is the likelihood as the paper prints it, without the constants of the sets; normalised
  it is a probability over all ordered partitions, of which there are many more than rankings, and no longer comparable
  with Plackett-Luce's, which is one over rankings.
- Libraries of others take part where they are installed: cornac, scikit-surprise, lenskit.
"""


def to_markdown(result: Mapping[str, Any]) -> str:
    """Return all tables."""
    return frame.markdown_page(TITLE, tables(result), "## Notes", NOTES)


def draw(result: Mapping[str, Any], folder: str | os.PathLike[str]) -> list[str]:
    """Draw figure 2 of every set; return the files."""
    files = []
    for name, found in result.items():
        drawn, axes = frame.figure(1, 4.6, 3.4)
        one = axes[0]
        depths = list(found["likelihood"])
        for colour, key in zip(frame.COLOURS, ("partitions", "plackett-luce"), strict=False):
            label = "ordered partitions" if key == "partitions" else "Plackett-Luce"
            values = [found["likelihood"][depth][key] for depth in depths]
            one.plot(depths, values, "o-", color=colour, label=label, markersize=3)
        one.set_xlabel("films of a user")
        one.set_ylabel("log-likelihood")
        one.legend(fontsize=8, frameon=False)
        files.append(frame.save_figure(drawn, folder, f"collaborative-{name}-figure-2"))
    return files
