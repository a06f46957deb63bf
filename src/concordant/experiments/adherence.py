"""Adherence estimated with and without labels (Volkovs and Zemel 2012, figure 3).

On the training parts of fold 1, the adherence theta of every search engine is estimated twice: from the labels (the
agreement of the engine with the relevance judgements), and jointly with the scores by maximum likelihood, without
labels. The paper uses no prior, and neither does this experiment (prior 0; a prior changes little). The paper shows the
two estimates as rows of grey cells, white = 1 and black = 0.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from concordant import registry
from concordant.experiments.claims import Claim, as_rows, claims_table, shown_p
from concordant.experiments.frame import (
    LEVEL,
    About,
    DataFolder,
    ResultTable,
    check_sets,
    figure,
    markdown_page,
    save_figure,
)
from concordant.experiments.metasearch import SETS, find_folds

TITLE = "Adherence of search engines with and without labels"
ABOUT = About(
    paper="M. Volkovs and R. Zemel, A flexible generative model for preference aggregation, WWW 2012 (figure 3).",
    setting="The adherence of every search engine to the consensus is estimated from relevance judgements and, without "
    "them, by maximum likelihood together with the scores of the multinomial preference model.",
    data="The training parts of fold 1 of a LETOR 4.0 aggregation set (MQ2007-agg in the paper).",
)
NOTES = """
- From labels: mean agreement of an engine's preferences with the judgements of the training queries, scaled to [0, 1].
- Learnt: scores of every query and one adherence per engine, joint maximum likelihood without a prior; the largest
  adherence is 1.
- The paper shows figure 3 as grey cells without numbers.
- Whether adherence from labels gives better rankings is tested by `concordant reproduce metasearch`.
"""
PAPER_SET = "MQ2007-agg"
ON = 0.5  # adherence from which a cell of the figure looks white rather than black
SWITCHED = 3  # engines that the paper says are switched off


def run(data: DataFolder, dataset: str = PAPER_SET) -> dict[str, Any]:
    """Return both adherences of every agent and their correlations."""
    from scipy.stats import pearsonr, spearmanr

    check_sets([dataset], SETS)
    prefs, labels = find_folds(data, dataset)[0].train
    method: Any = registry.make("mpm")
    supervised: dict[str, float] = method.fit(prefs, labels).learnt["theta"]
    learnt = registry.make("mpm", adherence=True, adherence_prior="none", prior=0.0).rank(prefs).agents or {}
    both = np.array([[supervised[agent], learnt[agent]] for agent in supervised])
    spearman = spearmanr(both[:, 0], both[:, 1])
    return {
        "dataset": dataset,
        "agents": list(supervised),
        "supervised": both[:, 0].tolist(),
        "learnt": both[:, 1].tolist(),
        "pearson": float(pearsonr(both[:, 0], both[:, 1]).statistic),
        "spearman": float(spearman.statistic),
        "p": float(spearman.pvalue),
    }


def claims(result: Mapping[str, Any]) -> list[Claim]:
    """Return the claims on figure 3 with their verdicts."""
    source = "Volkovs and Zemel 2012, section 5.1, figure 3"
    first = list(zip(result["supervised"], result["learnt"], strict=True))[:SWITCHED]
    is_paper_set = result["dataset"] == PAPER_SET
    return [
        Claim.of(
            "adherence learnt without labels correlates closely with adherence from labels",
            source,
            [result["spearman"] > 0 and result["p"] < LEVEL],
            f"Spearman {result['spearman']:.2f} ({shown_p(result['p'])}), Pearson {result['pearson']:.2f}, "
            f"{len(result['agents'])} engines",
            f"Spearman correlation above 0, level {LEVEL:g}",
        ),
        Claim.of(
            "the first three engines switch from on (labels) to off (learnt)",
            source,
            [from_labels >= ON > unsupervised for from_labels, unsupervised in first] if is_paper_set else [None],
            [f"engine {k + 1}: {low:.2f} to {high:.2f}" for k, (low, high) in enumerate(first)] if is_paper_set else "",
            f"adherence from labels at least {ON:g}, learnt adherence below; only {PAPER_SET}",
        ),
    ]


def tables(result: Mapping[str, Any]) -> list[ResultTable]:
    """Return the adherences and the claims."""
    rows = [
        [agent, f"{from_labels:.3f}", f"{unsupervised:.3f}", f"{unsupervised - from_labels:+.3f}"]
        for agent, from_labels, unsupervised in zip(
            result["agents"], result["supervised"], result["learnt"], strict=True
        )
    ]
    header = ["agent", "from labels", "learnt", "difference"]
    title = f"Adherence on the training parts of fold 1 of {result['dataset']}"
    return [ResultTable(title, header, rows), claims_table(claims(result))]


def plain(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result for JSON."""
    return {**result, "claims": as_rows(claims(result))}


def to_markdown(result: Mapping[str, Any]) -> str:
    """Return the tables as a Markdown page."""
    return markdown_page(TITLE, tables(result), "## Notes", NOTES)


def draw(result: Mapping[str, Any], folder: str | os.PathLike[str]) -> list[str]:
    """Draw the two rows of cells, white = 1 and black = 0; return the file."""
    drawn, (axes,) = figure(1, 8, 1.6)
    cells = np.array([result["supervised"], result["learnt"]])
    axes.imshow(cells, cmap="gray", vmin=0, vmax=1, aspect="auto")
    axes.set_yticks([0, 1], ["from labels", "learnt"])
    axes.set_xticks(range(len(result["agents"])), result["agents"], fontsize=7)
    axes.set_xticks(np.arange(cells.shape[1] - 1) + 0.5, minor=True)
    axes.set_yticks([0.5], minor=True)
    axes.grid(which="minor", color="#c9d3da", linewidth=0.6)
    axes.tick_params(which="minor", length=0)
    axes.set_xlabel("search engine")
    caption = f"Figure 3: adherence of every engine of {result['dataset']}, white = 1 and black = 0"
    return [save_figure(drawn, folder, f"adherence-{result['dataset']}", caption)]
