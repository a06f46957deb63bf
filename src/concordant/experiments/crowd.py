"""Ranking documents by the judgements of a crowd (Volkovs, Larochelle and Zemel 2012, table 2).

Workers judged documents of topics as relevant or not; for some documents gold labels are known. Topics are split at
random into 60% to learn from, 20% to validate on and 20% to test on, five times. Every system ranks the documents of
the test topics, and the order of those with gold labels is scored by NDCG at 1 to 10.

    condorcet       Copeland's points of summed differences
    majority-vote   judgements for the document minus those against it
    lr-consensus    linear LambdaRank on the singular vectors of the summed preferences of all workers
    lr-labeled      the same with own features for workers with at least 500 judgements in the training topics and a
                    pooled matrix of all others, from judgements of documents with gold labels only
    lr-unlabeled    the same from all judgements
    lr-unlabeled-200  the same where 200 judgements are enough, so that about as many workers as in the paper have own
                    features
    dawid-skene     true categories and confusion matrices of the workers by expectation-maximisation, no gold labels
    theta-mpm       workers count by their agreement with the gold labels of the training topics
    ulara           workers count by their agreement with the mean rank of each document, no gold labels
    cranking        posterior mean ranks, with a dispersion per worker learnt from the gold labels of training topics

The published table is on task 2 of TREC's crowdsourcing track of 2011, which is not public. These are the votes that
the participants of task 1 of the same track collected, on fewer topics with far fewer gold labels: the order of the
systems can be compared, the figures cannot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from concordant import datasets, views
from concordant.analysis import crowd
from concordant.evaluation import evaluate
from concordant.experiments import _frame as frame
from concordant.experiments._frame import DataFolder, Progress, ResultTable, Row, Settings, published, silent
from concordant.labels import Labels
from concordant.metrics.significance import holm, paired_t_test
from concordant.preferences import Preferences
from concordant.support.text import format_p
from concordant.types import Floats

TITLE = "Ranking documents by the judgements of a crowd"
CUTOFFS = range(1, 11)
COLUMNS = tuple(f"N@{k}" for k in CUTOFFS)
METRICS = tuple(f"ndcg@{k}" for k in CUTOFFS)
SPLITS = 5
BASELINES = ("majority-vote", "lr-consensus")
FEW = 40  # judgements below which the paper counts a worker as one who said little
THRESHOLDS = (500, 200)
MIN_ON_GOLD = 20  # judgements of gold documents from which a worker's accuracy is compared with its estimate

# name -> system of concordant.analysis.crowd, its settings, whether only documents with gold labels are looked at
SYSTEMS: Mapping[str, tuple[str, Settings, bool]] = {
    "condorcet": ("condorcet", {}, False),
    "majority-vote": ("majority-vote", {}, False),
    "lr-consensus": ("consensus", {}, False),
    "lr-labeled": ("hybrid", {}, True),
    "lr-unlabeled": ("hybrid", {}, False),
    "lr-unlabeled-200": ("hybrid", {"min_preferences": 200}, False),
    "dawid-skene": ("dawid-skene", {}, False),
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
    """Return a row per system, what the data hold, the tests against two baselines, and how reliable workers are."""
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
        "workers": {**_workers(prefs, gold), "alone": np.mean(n_experts, axis=0).tolist()},
    }


def binary(labels: Labels) -> Labels:
    """Return gold labels of 0 and 1: relevant and highly relevant are the same."""
    assert labels.instances is not None
    topic = labels.instances.take(np.repeat(np.arange(labels.n_instances), np.diff(labels.ptr)))
    return Labels(topic, labels.items.take(labels.item), (labels.label >= 1).astype(np.float64))


def splits(topics: Sequence[str], seed: int) -> list[tuple[list[str], list[str], list[str]]]:
    """Draw topics to learn from (60%), to validate on and to test on (20% each), five times."""
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
    """Return how many judgements every worker made."""
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
    """Compare all systems with the baselines by a topic's mean over cutoffs and splits, Holm-corrected."""
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


def _by_topic(by_split: Sequence[Mapping[str, Floats]]) -> Floats:
    """Return the mean NDCG over cutoffs of every tested topic, averaged over the splits that test it."""
    by_topic: dict[str, list[float]] = {}
    for of_split in by_split:
        for topic, values in of_split.items():
            by_topic.setdefault(topic, []).append(float(values.mean()))
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
        **{name: crowd.agreement(crowd.decide(prefs, name), gold) for name in ("majority-vote", "dawid-skene")},
    }


NOTES = """
- The published table is on task 2 of the TREC 2011 crowdsourcing track, which is not public; here are the votes of task
  1 (those of Vuurens and others, and of all other participants). Only topics with gold labels are used; grades 1 and 2
  are relevant. Compare the order of systems, not the figures.
- NDCG over the documents with gold labels alone, discount log2(1 + place); of documents with equal scores the mean over
  all orders. Means over the test topics of a split, then over the splits, times 100; "spread" is the standard deviation
  of the splits' means over N@1 to N@10.
- Settings are the paper's: binary preferences, one singular pair, LambdaRank with 200 passes at a rate of 0.01, of
  which the best by NDCG@10 on the validation topics counts. No threshold was tuned: 500 judgements are the paper's, 200
  make about as many workers stand alone as there (some 20).
- Tests: paired t-test over the topics that were tested, each with its mean over N@1 to N@10 and over the splits it was
  tested in; p by Holm within a baseline. Topics share training data: p-values are too small rather than too large.
"""


def tables(result: Mapping[str, Any]) -> list[ResultTable]:
    """Return the systems, the tests, and what the data hold."""
    lines = frame.with_published(result["rows"], COLUMNS)
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
        ResultTable("NDCG", ["system", *COLUMNS, "mean", "spread"], lines),
        ResultTable("Tests of the mean of N@1 to N@10", ["system", "against", "difference", "p", "topics"], tests, 2),
        ResultTable("Data", ["", *result["counts"]], counts_rows),
    ]


def told(result: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return sentences on the accuracy of workers and decisions."""
    workers = result["workers"]
    lines = [
        f"Workers are right in {workers['right']:.1%} of their judgements of gold documents; majority vote agrees with "
        f"{workers['majority-vote']:.1%} of the gold labels, Dawid-Skene with {workers['dawid-skene']:.1%}."
    ]
    shown = " and ".join(f"{n:.1f} ({k})" for n, k in zip(workers["alone"], THRESHOLDS, strict=True))
    lines.append(f"In the mean of the splits {shown} workers have enough judgements for features of their own.")
    if workers["correlation"] is not None:
        lines.append(
            f"Of the {workers['compared']} workers with at least {MIN_ON_GOLD} judgements of gold documents, what "
            f"Dawid-Skene estimates without gold labels correlates with the accuracy by {workers['correlation']:.2f}."
        )
    return {"Workers": lines}


def plain(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the result for JSON, figures to four places."""
    rows = [{k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()} for row in result["rows"]]
    return {**result, "rows": rows}


def to_markdown(result: Mapping[str, Any]) -> str:
    """Return the tables, what they say of workers, and the notes."""
    texts = [f"## {title}\n\n" + "\n".join(f"- {line}" for line in lines) for title, lines in told(result).items()]
    return frame.markdown_page(TITLE, tables(result), *texts, "## Notes", NOTES)
