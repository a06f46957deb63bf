"""Ranking documents by the judgements of a crowd (Volkovs, Larochelle and Zemel 2012, table 2).

Workers judged documents of topics as relevant or not; gold labels are known for some documents. Topics are split at
random into 60% for training, 20% for validation and 20% for testing, five times. Every system ranks the documents of
the test topics; the order of those with gold labels is evaluated by NDCG at 1 to 10.

    condorcet         Copeland scores on summed differences
    majority-vote     judgements "relevant" minus judgements "not relevant"
    lr-consensus      linear LambdaRank on the singular vectors of the summed preferences of all workers
    lr-labeled        the same with separate features for workers with at least 500 judgements in the training topics
                      and one pooled matrix for all others, from judgements of documents with gold labels only
    lr-unlabeled      the same from all judgements
    lr-unlabeled-200  the same with a threshold of 200 judgements, so that about as many workers as in the paper have
                      separate features
    lr-unlabeled-2    lr-unlabeled with two singular vector pairs
    dawid-skene       true classes and confusion matrices of the workers by expectation-maximisation, no gold labels
    glad              true classes, abilities of the workers and difficulties of the documents, no gold labels
    mace              true classes, and workers who know them or spam, no gold labels
    theta-mpm         workers weighted by their agreement with the gold labels of the training topics
    ulara             workers weighted by their agreement with the mean rank of each document, no gold labels
    cranking          posterior mean ranks, with a dispersion per worker learnt from the gold labels of training topics

The published table is on task 2 of the TREC 2011 crowdsourcing track, which is not public. This experiment uses the
votes that the participants of task 1 of the same track collected, on fewer topics with far fewer gold labels: compare
the order of the systems, not the figures.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from concordant import datasets, registry, views
from concordant.analysis import crowd
from concordant.analysis.truth import rank_correlation
from concordant.evaluation import evaluate
from concordant.experiments import frame
from concordant.experiments.claims import (
    Claim,
    Difference,
    as_rows,
    claims_table,
    is_above,
    untestable,
)
from concordant.experiments.frame import (
    LEVEL,
    About,
    DataFolder,
    Progress,
    ResultTable,
    Row,
    Settings,
    published,
    silent,
)
from concordant.labels import Labels
from concordant.metrics.significance import holm, paired_t_test
from concordant.preferences import Preferences
from concordant.support.text import format_p
from concordant.types import Floats

TITLE = "Ranking documents by the judgements of a crowd"
ABOUT = About(
    paper="M. Volkovs, H. Larochelle and R. Zemel, Learning to rank by aggregating expert preferences, CIKM 2012 "
    "(section 5, table 2).",
    setting="Five random splits of the topics: 60% for training, 20% for validation, 20% for testing. Every system "
    "ranks the documents of the test topics by the workers' judgements. NDCG at 1 to 10, documents with gold labels.",
    data="Votes of task 1 of the TREC 2011 crowdsourcing track (Vuurens et al., and all other participants). The "
    "paper uses task 2, which is not public.",
)
CUTOFFS = range(1, 11)
COLUMNS = tuple(f"N@{k}" for k in CUTOFFS)
METRICS = tuple(f"ndcg@{k}" for k in CUTOFFS)
SPLITS = 5
BASELINES = ("majority-vote", "lr-consensus")
DECIDED = ("majority-vote", "dawid-skene", "glad", "mace")  # methods whose classes are compared with gold labels
FEW = 40  # judgements; the paper counts the workers below
THRESHOLDS = (500, 200)
MIN_ON_GOLD = 20  # judgements of gold documents from which a worker's accuracy is compared with its estimate

# name -> system of concordant.analysis.crowd, its settings, whether it sees only documents with gold labels
SYSTEMS: Mapping[str, tuple[str, Settings, bool]] = {
    "condorcet": ("condorcet", {}, False),
    "majority-vote": ("majority-vote", {}, False),
    "lr-consensus": ("consensus", {}, False),
    "lr-labeled": ("hybrid", {}, True),
    "lr-unlabeled": ("hybrid", {}, False),
    "lr-unlabeled-200": ("hybrid", {"min_preferences": 200}, False),
    "lr-unlabeled-2": ("hybrid", {"components": 2}, False),
    "dawid-skene": ("dawid-skene", {}, False),
    "glad": ("glad", {}, False),
    "mace": ("mace", {}, False),
    "theta-mpm": ("theta-mpm", {}, False),
    "ulara": ("ulara", {}, False),
    "cranking": ("cranking", {}, False),
}
PUBLISHED = published(
    len(COLUMNS),
    """
    condorcet     42.00 50.00 49.28 49.87 49.04 49.53 49.35 50.34 52.16 51.41
    majority-vote 59.00 64.00 62.80 63.95 63.96 64.45 64.93 66.34 66.46 64.83
    lr-consensus  70.00 72.00 70.80 69.56 69.85 69.47 68.86 68.79 68.83 66.79
    lr-labeled    80.00 79.50 77.46 75.63 74.10 73.80 73.29 73.18 72.78 71.13
    lr-unlabeled  83.00 82.00 80.80 78.76 77.94 76.77 75.93 75.34 75.36 73.37
    """,
)
COUNTED = ("topics", "workers", f"workers below {FEW}", "documents", "judgements", "gold", "relevant", "not relevant")
PUBLISHED_COUNTS = dict(zip(COUNTED, (100, 762, 547, 19_033, 89_624, 2_275, 1_275, 1_000), strict=True))


def n_steps() -> int:
    """Return how many times ``run`` reports progress."""
    return SPLITS * len(SYSTEMS)


def run(data: DataFolder, seed: int = 0, progress: Progress = silent) -> dict[str, Any]:
    """Return a row per system, counts of the data, tests between systems, and the reliability of the workers."""
    folder = frame.data_folder(data, "trec2011-crowd")
    loaded = datasets.load("crowd-2011-all", folder.parent)
    assert isinstance(loaded, Preferences)
    gold = binary(datasets.load_labels("crowd-2011-all", folder.parent))
    assert gold.instances is not None
    prefs = loaded.select(instances=gold.instances.labels)
    by_system: dict[str, list[Mapping[str, Floats]]] = {name: [] for name in SYSTEMS}
    means: dict[str, list[list[float]]] = {name: [] for name in SYSTEMS}
    n_experts = []
    for train, valid, test in splits(list(gold.instances.labels), seed):
        n_experts.append(
            [int((_judged(prefs.select(instances=train)) >= min_judgements).sum()) for min_judgements in THRESHOLDS]
        )
        for name, (system, settings, is_labelled) in SYSTEMS.items():
            input_prefs = with_gold(prefs, gold) if is_labelled else prefs
            labelled_parts = [(input_prefs.select(instances=part), gold) for part in (train, valid)]
            ranking = crowd.rank(
                input_prefs.select(instances=test),
                system,
                train=labelled_parts[0],
                validation=labelled_parts[1],
                **settings,
            )
            evaluation = evaluate(ranking, _of(gold, test), METRICS, unjudged="skip", ties="average")
            values = np.stack(list(evaluation.per_instance.values()), axis=1)
            assert evaluation.instances is not None
            by_system[name].append(dict(zip(evaluation.instances.labels, values, strict=True)))
            means[name].append((100 * values.mean(axis=0)).tolist())
            progress(name)
    rows = [_row(name, means[name]) for name in SYSTEMS]
    return {
        "rows": rows,
        "counts": {"here": counts(loaded, gold), "with gold": counts(prefs, gold), "published": PUBLISHED_COUNTS},
        "tests": _tests(by_system),
        "pairs": _pairs(by_system),
        "workers": {**_workers(prefs, gold), "alone": np.mean(n_experts, axis=0).tolist()},
    }


def binary(labels: Labels) -> Labels:
    """Return gold labels of 0 and 1; relevant and highly relevant are both 1."""
    assert labels.instances is not None
    topic = labels.instances.take(np.repeat(np.arange(labels.n_instances), np.diff(labels.ptr)))
    return Labels(topic, labels.items.take(labels.item), (labels.label >= 1).astype(np.float64))


def splits(topics: Sequence[str], seed: int) -> list[tuple[list[str], list[str], list[str]]]:
    """Draw topics for training (60%), validation and testing (20% each), five times."""
    rng, parts = np.random.default_rng(seed), []
    for _ in range(SPLITS):
        drawn = [topics[k] for k in rng.permutation(len(topics)).tolist()]
        first, second = round(0.6 * len(drawn)), round(0.8 * len(drawn))
        parts.append((drawn[:first], drawn[first:second], drawn[second:]))
    return parts


def with_gold(prefs: Preferences, gold: Labels) -> Preferences:
    """Keep only judgements of documents with gold labels."""
    assert prefs.agents is not None
    assert prefs.agent is not None
    assert prefs.instances is not None
    assert prefs.value is not None
    topic = views.entry_instances(prefs)
    keep = np.flatnonzero(np.isfinite(gold.for_items(topic, prefs.instances, prefs.items, prefs.item)))
    return crowd.judgements(
        prefs.agents.take(prefs.agent[views.ballot_of_entry(prefs)[keep]]),
        prefs.instances.take(topic[keep]),
        prefs.items.take(prefs.item[keep]),
        prefs.value[keep],
    )


def counts(prefs: Preferences, gold: Labels) -> dict[str, int]:
    """Return the counts that the paper reports."""
    n_judgements = _judged(prefs)
    relevant = int((gold.label >= 1).sum())
    values = (
        *(
            prefs.n_instances,
            len(n_judgements),
            int((n_judgements < FEW).sum()),
            prefs.n_slots,
            int(n_judgements.sum()),
        ),
        *(len(gold), relevant, len(gold) - relevant),
    )
    return dict(zip(COUNTED, values, strict=True))


def _judged(prefs: Preferences) -> Floats:
    """Return the number of judgements by each worker."""
    assert prefs.agents is not None
    assert prefs.agent is not None
    return np.bincount(prefs.agent, np.diff(prefs.indptr), len(prefs.agents)).astype(np.float64)


def _of(gold: Labels, topics: Sequence[str]) -> Labels:
    """Return the gold labels of these topics."""
    assert gold.instances is not None
    topic = gold.instances.take(np.repeat(np.arange(gold.n_instances), np.diff(gold.ptr)))
    keep = [k for k, name in enumerate(topic) if name in set(topics)]
    return Labels([topic[k] for k in keep], gold.items.take(gold.item[keep]), gold.label[keep])


def _row(name: str, by_split: Sequence[Sequence[float]]) -> Row:
    """Return the means over splits, and the standard deviation of the splits' means."""
    means = np.mean(by_split, axis=0)
    spread = float(np.std(np.mean(by_split, axis=1), ddof=1))
    published_figures = PUBLISHED.get(name)
    return {
        "method": name,
        **dict(zip(COLUMNS, means.tolist(), strict=True)),
        "mean": float(means.mean()),
        "spread": spread,
        "published": None if published_figures is None else dict(zip(COLUMNS, published_figures, strict=True)),
    }


def _tests(by_system: Mapping[str, Sequence[Mapping[str, Floats]]]) -> list[Row]:
    """Compare all systems with the baselines by topic means over cutoffs and splits, with Holm's correction."""
    quality = {name: _by_topic(by_split) for name, by_split in by_system.items()}
    rows: list[Row] = []
    for baseline in BASELINES:
        other_systems = [name for name in quality if name != baseline]
        differences = [100 * (quality[name] - quality[baseline]) for name in other_systems]
        adjusted = holm([paired_t_test(difference) for difference in differences])
        rows += [
            {
                "baseline": baseline,
                "method": name,
                "difference": float(difference.mean()),
                "p": float(p),
                "topics": len(difference),
            }
            for name, difference, p in zip(other_systems, differences, adjusted, strict=True)
        ]
    return rows


# The paper's comparisons of learnt systems: name, with whom.
PAIRS = (("lr-labeled", "lr-consensus"), ("lr-unlabeled", "lr-consensus"), ("lr-unlabeled", "lr-unlabeled-2"))


def _pairs(by_system: Mapping[str, Sequence[Mapping[str, Floats]]]) -> Row:
    """Compare learnt systems by the mean over cutoffs, and the last two systems of the paper at each cutoff."""
    quality = {name: _by_topic(by_split) for name, by_split in by_system.items()}
    known = [pair for pair in PAIRS if set(pair) <= set(quality)]
    gaps = [100 * (quality[name] - quality[other]) for name, other in known]
    adjusted = holm([paired_t_test(gap) for gap in gaps])
    means = [
        {"method": name, "against": other, "difference": float(gap.mean()), "p": float(p)}
        for (name, other), gap, p in zip(known, gaps, adjusted, strict=True)
    ]
    by_cutoff = {}
    for k, column in enumerate(COLUMNS):
        gap = 100 * (_by_topic(by_system["lr-unlabeled"], k) - _by_topic(by_system["lr-labeled"], k))
        by_cutoff[column] = {"difference": float(gap.mean()), "p": paired_t_test(gap)}
    return {"means": means, "by cutoff": by_cutoff}


def _by_topic(by_split: Sequence[Mapping[str, Floats]], cutoff: int | None = None) -> Floats:
    """Return the NDCG at a cutoff (by default the mean over all) of every tested topic, averaged over splits."""
    by_topic: dict[str, list[float]] = {}
    for of_split in by_split:
        for topic, values in of_split.items():
            by_topic.setdefault(topic, []).append(float(values.mean() if cutoff is None else values[cutoff]))
    return np.array([np.mean(by_topic[topic]) for topic in sorted(by_topic)])


def _workers(prefs: Preferences, gold: Labels) -> Row:
    """Return the accuracy of workers and decisions, and how Dawid-Skene's estimates correlate with it."""
    reliability = crowd.reliability(prefs, gold)
    is_compared = reliability.on_gold >= MIN_ON_GOLD
    correlation = (
        float(np.corrcoef(reliability.accuracy[is_compared], reliability.estimated[is_compared])[0, 1])
        if is_compared.sum() > 2
        else None
    )
    return {
        "right": float(np.nansum(reliability.accuracy * reliability.on_gold) / reliability.on_gold.sum()),
        "compared": int(is_compared.sum()),
        "correlation": correlation,
        **{name: crowd.agreement(crowd.decide(prefs, name), gold) for name in DECIDED},
        "adherence": rank_correlation(*(_quality(prefs, name) for name in ("theta-mpm", "dawid-skene"))),
    }


def _quality(prefs: Preferences, name: str) -> Floats:
    """Return the quality of every worker that a method estimates; NaN if unknown."""
    assert prefs.agents is not None
    agents = registry.make(name).rank(prefs).agents or {}
    return np.array([agents.get(worker, np.nan) for worker in prefs.agents.labels])


def claims(result: Mapping[str, Any]) -> list[Claim]:
    """Return the claims of the paper, tested on the votes of task 1."""
    source = "Volkovs, Larochelle and Zemel 2012, section 5.1, table 2"
    rule = "paired t-test over topics on the mean of N@1 to N@10, Holm; substitute data (task 1)"
    over_vote = _named(row for row in result["tests"] if row["baseline"] == "majority-vote")
    pairs = _named(result["pairs"]["means"])
    by_cutoff = {column: Difference.read(test) for column, test in result["pairs"]["by cutoff"].items()}
    learnt = ("lr-consensus", "lr-labeled", "lr-unlabeled")
    own = {name: pairs[name, "lr-consensus"] for name in learnt[1:]}
    rank = pairs["lr-unlabeled", "lr-unlabeled-2"]
    largest, smallest = (pick(test.difference for test in by_cutoff.values()) for pick in (max, min))
    return [
        Claim.of(
            "all LambdaRank models significantly outperform majority vote",
            source,
            [is_above(over_vote[name, "majority-vote"]) for name in learnt],
            [f"{name}: {over_vote[name, 'majority-vote']}" for name in learnt],
            rule,
        ),
        Claim.of(
            "LR-consensus is significantly worse than LR-labeled and LR-unlabeled",
            source,
            [is_above(test) for test in own.values()],
            [f"{name} over lr-consensus: {test}" for name, test in own.items()],
            rule,
        ),
        Claim.of(
            "LR-unlabeled is significantly better than LR-labeled at all cutoffs",
            source,
            [is_above(test) for test in by_cutoff.values()],
            f"differences from {smallest:+.2f} to {largest:+.2f}, significantly above at "
            f"{sum(bool(is_above(test)) for test in by_cutoff.values())} of {len(by_cutoff)} cutoffs",
            "paired t-test over topics at every cutoff; substitute data (task 1)",
        ),
        _of_order(result, source),
        Claim.of(
            "one singular vector pair is enough (p = 1)",
            "Volkovs, Larochelle and Zemel 2012, section 5.1",
            [rank.difference > 0 or rank.p >= LEVEL],
            f"lr-unlabeled with one pair over two pairs: {rank}",
            f"two pairs are not significantly better; {rule}",
        ),
        untestable(
            "counts: 762 workers, 19,033 documents, 89,624 judgements, 2,275 gold labels, 20 workers with 500 or more",
            "Volkovs, Larochelle and Zemel 2012, section 5",
            "the data of task 2 are not public; the table of counts compares the substitute with them",
        ),
    ]


def _named(rows: Iterable[Row]) -> dict[tuple[str, str], Difference]:
    return {(row["method"], row.get("against") or row["baseline"]): Difference.read(row) for row in rows}


def _of_order(result: Mapping[str, Any], source: str) -> Claim:
    """Return the claim on the order of the five published systems, by the mean of N@1 to N@10."""
    from scipy.stats import kendalltau

    here = {row["method"]: row["mean"] for row in result["rows"]}
    there = {name: float(np.mean(figures)) for name, figures in PUBLISHED.items()}
    tau = float(kendalltau([here[name] for name in there], list(there.values())).statistic)
    return Claim.of(
        "order of the systems: " + " < ".join(sorted(there, key=lambda name: there[name])),
        source,
        [tau > 0, tau == 1],
        f"here {' < '.join(sorted(there, key=lambda name: here[name]))}; Kendall's tau {tau:+.2f}",
        "the same order of the means of N@1 to N@10 (in part if tau is above 0); substitute data (task 1)",
    )


NOTES = """
- The published table is on task 2 of the TREC 2011 crowdsourcing track, which is not public. This experiment uses the
  votes of task 1 (those of Vuurens et al., and of all other participants). Only topics with gold labels are used;
  grades 1 and 2 are relevant. Compare the order of the systems, not the figures.
- NDCG over the documents with gold labels, discount log2(1 + rank); tied documents get the mean over all their orders.
  Means over the test topics of a split, then over the splits, in percent. "SD" is the standard deviation over splits of
  the mean of N@1 to N@10.
- The settings are the paper's: binary preferences, one singular vector pair, LambdaRank with 200 passes, learning rate
  0.01, the pass with the best NDCG@10 on the validation topics. No threshold was tuned: 500 judgements is the paper's;
  with 200, about as many workers have separate features as in the paper (about 20).
- Tests: paired t-test over the tested topics, each with its mean over cutoffs and over the splits that test it; Holm's
  correction within a baseline. Topics share training data, so p-values are too small rather than too large.
"""


def tables(result: Mapping[str, Any]) -> list[ResultTable]:
    """Return the systems, the tests, the workers, the counts of the data and the claims."""
    lines = frame.with_published(result["rows"], COLUMNS, called="published, task 2", differences=False)
    more = iter(result["rows"])
    for line in lines:
        row = None if line[0].startswith("  ") else next(more)
        line += ["", ""] if row is None else [f"{row['mean']:.2f}", f"{row['spread']:.2f}"]
    tests = [
        [row["method"], row["baseline"], f"{row['difference']:+.2f}", format_p(row["p"]), str(row["topics"])]
        for row in result["tests"]
    ]
    counts_rows = [[name, *(f"{counted[name]:,}" for counted in result["counts"].values())] for name in COUNTED]
    return [
        ResultTable("NDCG (published figures are on other data)", ["system", *COLUMNS, "mean", "SD"], lines),
        ResultTable("Tests of the mean of N@1 to N@10", ["system", "against", "difference", "p", "topics"], tests, 2),
        _workers_table(result["workers"]),
        ResultTable("Counts of the data", ["", *result["counts"]], counts_rows),
        claims_table(claims(result)),
    ]


def _workers_table(workers: Row) -> ResultTable:
    """Return the accuracy of workers and decisions on gold labels, and the number of workers with separate features."""
    rows = [
        ["accuracy of single judgements", f"{workers['right']:.1%}"],
        *([f"accuracy of {crowd.NAMES[name]}", f"{workers[name]:.1%}"] for name in DECIDED if name in workers),
    ]
    if workers.get("adherence") is not None:
        what = "rank correlation of multinomial adherence and Dawid-Skene's estimate over workers"
        rows.append([what, f"{workers['adherence']:.2f}"])
    rows += [
        [f"workers with at least {k} training judgements, mean over splits", f"{n:.1f}"]
        for n, k in zip(workers["alone"], THRESHOLDS, strict=True)
    ]
    if workers["correlation"] is not None:
        what = f"correlation of Dawid-Skene's estimate with accuracy, {workers['compared']} workers"
        rows.append([f"{what} with at least {MIN_ON_GOLD} gold documents", f"{workers['correlation']:.2f}"])
    return ResultTable("Workers, on documents with gold labels", ["", "value"], rows)


def plain(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the result for JSON, figures with four decimals."""
    rows = [{k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()} for row in result["rows"]]
    return {**result, "rows": rows, "claims": as_rows(claims(result))}


def to_markdown(result: Mapping[str, Any]) -> str:
    """Return the tables and notes as a Markdown page."""
    return frame.markdown_page(TITLE, tables(result), "## Notes", NOTES)


def draw(result: Mapping[str, Any], folder: str | os.PathLike[str]) -> list[str]:
    """Draw the obtained and the published NDCG by cutoff; return the file."""
    drawn, axes = frame.figure(2, 9.0, 3.6)
    shown = [name for name in PUBLISHED if any(row["method"] == name for row in result["rows"])]
    here = {row["method"]: [row[column] for column in COLUMNS] for row in result["rows"]}
    for k, name in enumerate(shown):
        style = {"color": frame.COLOURS[k % len(frame.COLOURS)], "marker": "os^Dv"[k], "markersize": 3, "label": name}
        axes[0].plot(CUTOFFS, here[name], **style)
        axes[1].plot(CUTOFFS, PUBLISHED[name], **style)
    for panel, title in zip(axes, ("votes of task 1", "published, task 2"), strict=True):
        panel.set_title(title, loc="left", fontsize=10)
        panel.set_xlabel("cutoff")
    axes[0].set_ylabel("NDCG, percent")
    axes[1].set_ylim(bottom=20)
    axes[1].legend(frameon=False, fontsize=7, loc="lower right", ncols=2)
    caption = "NDCG by cutoff on the votes of task 1 (here) and of task 2 (published)"
    return [frame.save_figure(drawn, folder, "crowd", caption)]
