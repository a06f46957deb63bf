"""Separate or combined features of experts (Volkovs, Larochelle and Zemel 2012, figures 3 and 4).

Figure 3: the same learner (LambdaRank on log rank differences) sees either the features of every engine's pairwise
preferences (``lr-logr``) or only those of their sum (``lr-logr-combined``), which describes the consensus. NDCG and
precision at 1 to 5 on the LETOR 4.0 aggregation sets, with reciprocal rank fusion for comparison; folds, metrics and
seeds as in ``concordant reproduce metasearch``.

Figure 4: a test query where the consensus is wrong and the model is right, with the ranks of all engines and both
scores of every document. It is the query with the fewest documents, in the first fold that has one, with a single
relevant document that reciprocal rank fusion ranks fifth or lower and the model first.

Difficult queries: those where most preferences of the engines contradict the relevance judgements.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from concordant import registry, views
from concordant.experiments import frame, metasearch
from concordant.experiments._metasearch_methods import COLUMNS, CONTESTANTS
from concordant.experiments.claims import Claim, Difference, as_rows, claims_table, is_above, is_level
from concordant.experiments.frame import COLOURS, About, DataFolder, Progress, ResultTable, silent
from concordant.labels import Labels
from concordant.metrics.significance import holm, paired_t_test
from concordant.preferences import Preferences
from concordant.support.text import format_p
from concordant.types import Floats

TITLE = "Specialisation: separate or combined features of experts"
SETS = metasearch.SETS
METHODS = ("lr-logr", "lr-logr-combined", "rrf")
CALLED = {"lr-logr": "individual", "lr-logr-combined": "combined", "rrf": "rrf"}
PAIRS = (("lr-logr", "lr-logr-combined"), ("lr-logr-combined", "rrf"), ("lr-logr", "rrf"))
SHOWN = COLUMNS[:10]
TOO_LOW = 5  # rank of the relevant document by fusion in the example, whose NDCG@1 to NDCG@4 are then 0
DRAWN = ("MQ2008-agg", 8, 6)  # the query of figure 4: its set, documents, and the only relevant one
ABOUT = About(
    paper="M. Volkovs, H. Larochelle and R. Zemel, Learning to rank by aggregating expert preferences, CIKM 2012 "
    "(section 6.1, figures 3 and 4).",
    setting="LambdaRank learns from separate features of every search engine (individual) or from those of the summed "
    "preferences (combined). Five folds, several seeds, NDCG and precision at 1 to 5.",
    data="LETOR 4.0 aggregation sets: MQ2008-agg (784 queries, 25 engines) and MQ2007-agg (1,692 queries, 21 engines).",
)


def run(
    data: DataFolder, sets: Sequence[str] = SETS, seeds: int = metasearch.SEEDS, progress: Progress = silent
) -> dict[str, Any]:
    """Return the rows of figure 3, tests with Holm's correction, difficult queries, and the query of figure 4."""
    frame.check_sets(sets, SETS)
    rows, contests, difficult = [], [], []
    for dataset in sets:
        measured = metasearch.measure_all(data, dataset, METHODS, seeds, progress)
        for name, method_result in measured.items():
            spread = (
                None if method_result.spread is None else dict(zip(COLUMNS, method_result.spread.tolist(), strict=True))
            )
            means = dict(zip(COLUMNS, method_result.means.tolist(), strict=True))
            rows.append({"dataset": dataset, "method": name, **means, "spread": spread})
        by_method = {name: method_result.by_query for name, method_result in measured.items()}
        contests += _contests(dataset, by_method)
        difficult.append(_difficult(dataset, by_method, metasearch.find_folds(data, dataset)))
    example, drawn = _example(data, sets[0]), _drawn_query(data) if DRAWN[0] in sets else None
    progress("an example")
    return {"rows": rows, "contests": contests, "difficult": difficult, "example": example, "drawn": drawn}


def n_steps(sets: Sequence[str]) -> int:
    """Return how many times ``run`` reports progress."""
    return metasearch.n_steps(sets, METHODS) + 1


def _contests(dataset: str, by_method: Mapping[str, Floats]) -> list[dict[str, Any]]:
    """Return the differences of each pair of methods in mean NDCG and precision, with Holm-adjusted p-values."""
    differences = {
        (method, opponent, title): (by_method[method] - by_method[opponent])[columns].mean(axis=0)
        for title, columns in (("N@1-5", slice(0, 5)), ("P@1-5", slice(5, 10)))
        for method, opponent in PAIRS
    }
    corrected = holm([paired_t_test(values) for values in differences.values()])
    return [
        {
            "dataset": dataset,
            "method": method,
            "against": opponent,
            "what": title,
            "difference": 100 * values.mean(),
            "p": p,
        }
        for ((method, opponent, title), values), p in zip(differences.items(), corrected, strict=True)
    ]


# ---- difficult queries ----
def _difficult(dataset: str, by_method: Mapping[str, Floats], folds: Sequence[metasearch.Fold]) -> dict[str, Any]:
    """Compare the model with fusion on the queries where most preferences of the engines are wrong."""
    agreement = np.concatenate([_agreement(*fold.test) for fold in folds])
    is_difficult = agreement < 0.5
    gain = 100 * (by_method["lr-logr"] - by_method["rrf"])[:5, is_difficult].mean(axis=0)
    return {
        "dataset": dataset,
        "queries": int(is_difficult.sum()),
        "judged": int(np.isfinite(agreement).sum()),
        "difference": float(gain.mean()) if len(gain) else 0.0,
        "p": paired_t_test(gain),
    }


def _agreement(prefs: Preferences, labels: Labels) -> Floats:
    """Return, for every query, the share of the engines' preferences between differently labelled documents that
    agree with the labels; NaN if there are no such preferences.
    """
    assert prefs.instance is not None
    assert prefs.value is not None
    label = _labels_of_slots(prefs, labels)[prefs.entry_slot]
    right, all_pairs = np.zeros(prefs.n_instances), np.zeros(prefs.n_instances)
    for b, query in enumerate(prefs.instance.tolist()):
        entries = slice(int(prefs.indptr[b]), int(prefs.indptr[b + 1]))
        better = label[entries, None] > label[None, entries]
        ahead = prefs.value[entries, None] - prefs.value[None, entries]
        right[query] += np.count_nonzero(ahead[better] < 0)
        all_pairs[query] += np.count_nonzero(ahead[better])
    return np.where(all_pairs > 0, right / np.maximum(all_pairs, 1), np.nan)


def _labels_of_slots(prefs: Preferences, labels: Labels) -> Floats:
    """Return the label of every candidate of every query, 0 if it was not judged."""
    query = views.instance_of_slot(prefs)
    return np.nan_to_num(labels.for_items(query, prefs.instances, prefs.items, prefs.slot_item))


# ---- figure 4 ----
def _scored(fold: metasearch.Fold) -> tuple[Floats, Floats]:
    """Return the scores of the test candidates by reciprocal rank fusion and by the model, trained on the fold."""
    fitting: Any = registry.make("expert-ranker", **CONTESTANTS["lr-logr"].settings)
    model = fitting.fit(*fold.train, validation=fold.valid)
    return registry.make("rrf").rank(fold.test[0]).score, model.rank(fold.test[0]).score


def _drawn_query(data: DataFolder) -> list[dict[str, Any]]:
    """Return the test queries of fold 1 that fit the description of figure 4, with the ranks of the document."""
    dataset, n_documents, relevant = DRAWN
    fold = metasearch.find_folds(data, dataset)[0]
    test, labels = fold.test
    assert test.instances is not None
    fused, learnt = _scored(fold)
    label, matches = _labels_of_slots(test, labels), []
    for q in range(test.n_instances):
        slots = slice(int(test.slot_ptr[q]), int(test.slot_ptr[q + 1]))
        if slots.stop - slots.start == n_documents and np.flatnonzero(label[slots] > 0).tolist() == [relevant - 1]:
            ranks = {"rrf": _place(fused[slots], relevant - 1), "lr-logr": _place(learnt[slots], relevant - 1)}
            matches.append({"query": test.instances[q], **ranks})
    return matches


def _example(data: DataFolder, dataset: str) -> dict[str, Any] | None:
    """Find a query like that of figure 4; None if no query fits."""
    for number, fold in enumerate(metasearch.find_folds(data, dataset), start=1):
        test, labels = fold.test
        fused, learnt = _scored(fold)
        label = _labels_of_slots(test, labels)
        candidates = []
        for q in range(test.n_instances):
            slots = slice(int(test.slot_ptr[q]), int(test.slot_ptr[q + 1]))
            relevant = np.flatnonzero(label[slots] > 0)
            if (
                len(relevant) == 1
                and _place(fused[slots], relevant[0]) >= TOO_LOW
                and _place(learnt[slots], relevant[0]) == 1
            ):
                candidates.append((slots.stop - slots.start, q))
        if candidates:
            q = min(candidates)[1]
            slots = slice(int(test.slot_ptr[q]), int(test.slot_ptr[q + 1]))
            scores = {"rrf": fused[slots].tolist(), "lr-logr": learnt[slots].tolist()}
            return {"dataset": dataset, "fold": number, **_shown(test, q), "label": label[slots].tolist(), **scores}
    return None


def _place(score: Floats, which: int) -> int:
    """Return the rank of a document; ties are in input order."""
    return int(np.flatnonzero(np.argsort(-score, kind="stable") == which)[0]) + 1


def _shown(prefs: Preferences, instance: int) -> dict[str, Any]:
    """Return the ranks of a query: documents x engines, None if an engine does not rank a document."""
    assert prefs.instances is not None
    assert prefs.agents is not None
    assert prefs.agent is not None
    assert prefs.value is not None
    low, high = int(prefs.slot_ptr[instance]), int(prefs.slot_ptr[instance + 1])
    ranks: list[list[int | None]] = [[None] * len(prefs.agents) for _ in range(high - low)]
    ballot = views.ballot_of_entry(prefs)
    for entry in np.flatnonzero((prefs.entry_slot >= low) & (prefs.entry_slot < high)).tolist():
        ranks[int(prefs.entry_slot[entry]) - low][int(prefs.agent[ballot[entry]])] = int(prefs.value[entry])
    return {"query": prefs.instances[instance], "agents": list(prefs.agents.labels), "ranks": ranks}


# ---- claims ----
def claims(result: Mapping[str, Any]) -> list[Claim]:
    """Return the claims on specialisation with their verdicts."""
    source = "Volkovs, Larochelle and Zemel 2012, section 6.1, figure 3"
    rule = "paired t-test over queries on the means of N@1 to N@5 and of P@1 to P@5, Holm within a set"
    own, summed = (
        {(row["dataset"], row["what"]): Difference.read(row) for row in result["contests"] if _pair(row) == pair}
        for pair in PAIRS[:2]
    )
    return [
        Claim.of(
            "separate features of every engine significantly outperform combined features on both sets",
            source,
            [is_above(test) for test in own.values()],
            [f"{' '.join(key)}: {test}" for key, test in own.items()],
            rule,
        ),
        Claim.of(
            "combined features are comparable to reciprocal rank fusion",
            source,
            [is_level(test) for test in summed.values()],
            [f"{' '.join(key)}: {test}" for key, test in summed.items()],
            f"no significant difference; {rule}",
        ),
        _of_difficult(result["difficult"]),
        *_of_figure_4(result),
    ]


def _pair(contest: Mapping[str, Any]) -> tuple[str, str]:
    return contest["method"], contest["against"]


def _of_difficult(rows: Sequence[Mapping[str, Any]]) -> Claim:
    return Claim.of(
        "on queries where most engines are wrong, the model is significantly better than consensus methods",
        "Volkovs, Larochelle and Zemel 2012, section 6.1",
        [is_above(Difference.read(row)) for row in rows],
        [
            f"{row['dataset']}, {row['queries']} of {row['judged']} queries: {Difference.read(row)} over rrf"
            for row in rows
        ],
        "queries where less than half of the engines' preferences agree with the labels; paired t-test, N@1 to N@5",
    )


def _of_figure_4(result: Mapping[str, Any]) -> list[Claim]:
    """Return the claims on the query of figure 4: that it exists as described, and that there are queries like it."""
    source, example = "Volkovs, Larochelle and Zemel 2012, section 6.1, figure 4", result["example"]
    found = result["drawn"]
    fits = None if found is None else any(row["rrf"] >= TOO_LOW and row["lr-logr"] == 1 for row in found)
    shown = (
        "no query" if example is None else f"query {example['query']} of {example['dataset']}, fold {example['fold']}"
    )
    return [
        Claim.of(
            "the query of figure 4 (MQ2008-agg, fold 1, eight documents, only d6 relevant): RRF has NDCG@1-4 of 0, "
            "LR-logR is perfect",
            source,
            [fits],
            [
                f"query {row['query']}: d6 is at rank {row['rrf']} by rrf, {row['lr-logr']} by lr-logr"
                for row in found or ()
            ]
            or "no query of the files fits",
            "a query of this description where the model ranks d6 first",
        ),
        Claim.of(
            "there are queries where the consensus is wrong and the model is right",
            source,
            [example is not None],
            shown,
            f"a single relevant document at rank {TOO_LOW} or lower by rrf and at rank 1 by lr-logr",
        ),
    ]


# ---- report ----
NOTES = """
- individual: lr-logr, four features per engine; combined: the same learner on the four features of the summed matrix.
  Means over five folds and over seeds, in percent, ± the half-width of the 95% confidence interval over seeds.
- Differences are means over N@1 to N@5 and over P@1 to P@5; paired t-tests over all queries on means over seeds, Holm's
  correction within a set.
- The query drawn in figure 4 of the paper is not in these files as described, so another one is shown.
"""


def tables(result: Mapping[str, Any]) -> list[ResultTable]:
    """Return figure 3 as a table, the differences, the ranks and scores of figure 4, and the claims."""
    lines = []
    for row in result["rows"]:
        lines.append([row["dataset"], CALLED[row["method"]], *(f"{row[column]:.2f}" for column in SHOWN)])
        if row["spread"] is not None:
            lines.append(["", "  ± over seeds", *(f"{row['spread'][column]:.2f}" for column in SHOWN)])
    differences = [
        [
            contest["dataset"],
            CALLED[contest["method"]],
            CALLED[contest["against"]],
            contest["what"],
            f"{contest['difference']:+.2f}",
            format_p(contest["p"]),
        ]
        for contest in result["contests"]
    ]
    all_tables = [
        ResultTable(
            "Figure 3: separate features for every engine, or for their sum",
            ["set", "features", *SHOWN],
            lines,
            n_text=2,
        ),
        ResultTable("Differences", ["set", "features", "against", "metric", "points", "p"], differences, n_text=4),
    ]
    if result["example"] is not None:
        all_tables.append(_example_table(result["example"]))
    return [*all_tables, claims_table(claims(result))]


def plain(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result for JSON."""
    return {**result, "claims": as_rows(claims(result))}


def _example_table(example: Mapping[str, Any]) -> ResultTable:
    """Return the ranks by engine, both scores and the label of every document of the example."""
    title = (
        f"Figure 4: query {example['query']} of {example['dataset']}, fold {example['fold']}: ranks by "
        f"{len(example['agents'])} engines, scores, label"
    )
    header = ["", *(str(k + 1) for k in range(len(example["agents"]))), "rrf", "lr-logr", "label"]
    lines = [
        [
            f"d{d + 1}",
            *("" if rank is None else str(rank) for rank in ranks),
            f"{rrf:.4f}",
            f"{learnt:.2f}",
            f"{label:g}",
        ]
        for d, (ranks, rrf, learnt, label) in enumerate(
            zip(example["ranks"], example["rrf"], example["lr-logr"], example["label"], strict=True)
        )
    ]
    return ResultTable(title, header, lines)


def to_markdown(result: Mapping[str, Any]) -> str:
    """Return the tables and notes as a Markdown page."""
    return frame.markdown_page(TITLE, tables(result), "## Notes", NOTES)


def draw(result: Mapping[str, Any], folder: str | os.PathLike[str]) -> list[str]:
    """Draw both figures into a folder; return the files."""
    sets = list(dict.fromkeys(row["dataset"] for row in result["rows"]))
    figure, axes = frame.figure(2 * len(sets), 2.7 * 2 * len(sets), 2.8)
    for k, dataset in enumerate(sets):
        for letter, panel in zip("NP", axes[2 * k : 2 * k + 2], strict=True):
            _draw_lines(panel, [row for row in result["rows"] if row["dataset"] == dataset], letter)
            panel.set_title(f"{dataset}, {'NDCG' if letter == 'N' else 'precision'}", loc="left", fontsize=10)
    axes[0].legend(frameon=False, fontsize=8)
    caption = "Figure 3: separate features of every engine, combined features, and reciprocal rank fusion"
    files = [frame.save_figure(figure, folder, "specialisation-figure-3", caption)]
    if result["example"] is not None:
        files.append(_draw_example(result["example"], folder))
    return files


def _draw_lines(axes: Any, rows: Sequence[Mapping[str, Any]], letter: str) -> None:
    """Draw one metric (``letter``: N for NDCG, P for precision) at cutoffs 1 to 5, a line per method."""
    columns = [f"{letter}@{k}" for k in range(1, 6)]
    for row, colour in zip(rows, COLOURS, strict=False):
        spread = None if row["spread"] is None else [row["spread"][column] for column in columns]
        figures = [row[column] for column in columns]
        axes.errorbar(
            range(1, 6), figures, yerr=spread, marker="o", markersize=4, color=colour, label=CALLED[row["method"]]
        )
    axes.set_xticks(range(1, 6))
    axes.set_xlabel("cutoff")


def _draw_example(example: Mapping[str, Any], folder: str | os.PathLike[str]) -> str:
    """Draw ranks as squares (larger is better) and the scores next to them."""
    ranks = np.array([[np.nan if rank is None else rank for rank in row] for row in example["ranks"]], np.float64)
    strength = 1.0 - np.log(ranks) / np.log(1.0 + np.nanmax(ranks, axis=0, initial=1.0))
    height = 1.0 + 0.3 * len(ranks)
    figure, (left, right) = frame.figure(2, 9.0, height)
    document, engine = np.nonzero(np.isfinite(strength))
    left.scatter(engine + 1, document + 1, s=8 + 90 * strength[document, engine], marker="s", color=COLOURS[0])
    scores = np.array([example["rrf"], example["lr-logr"], example["label"]], np.float64).T
    spread = scores.max(axis=0) - scores.min(axis=0)
    scaled = (scores - scores.min(axis=0)) / np.where(spread > 0, spread, 1.0)
    document, system = np.indices(scaled.shape)
    right.scatter(system + 1, document + 1, s=8 + 150 * scaled, marker="s", color=COLOURS[1])
    right.set_xticks([1, 2, 3], ["rrf", "lr-logr", "label"])
    right.set_xlim(0.5, 3.5)
    left.set_xlabel("engine")
    for axes in (left, right):
        axes.set_ylim(len(ranks) + 0.5, 0.5)
        axes.set_yticks(range(1, len(ranks) + 1), [f"d{d + 1}" for d in range(len(ranks))])
    left.set_title(f"query {example['query']}: large squares are high ranks", loc="left", fontsize=10)
    caption = f"Figure 4: ranks by every engine and scores of query {example['query']}; large squares are high ranks"
    return frame.save_figure(figure, folder, "specialisation-figure-4", caption)
