"""Adherence estimated with and without labels (Volkovs and Zemel 2012, figure 3).

On the training parts of fold 1, every search engine gets an adherence theta twice: from the labels (how well the
engine agrees with the judged relevance) and by learning theta together with the scores, without any label. The paper
learns by plain maximum likelihood, and so does this (prior 0; a prior changes little). It shows the two as rows of grey
cells, white = 1 and black = 0, and finds that they look alike.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from concordant import registry
from concordant.experiments._frame import DataFolder, ResultTable, check_sets, figure, markdown_page, save_figure
from concordant.experiments.metasearch import SETS, find_folds


def run(data: DataFolder, dataset: str = "MQ2007-agg") -> dict[str, Any]:
    """Return both adherences of every agent and how far they agree."""
    from scipy.stats import pearsonr, spearmanr

    check_sets([dataset], SETS)
    prefs, labels = find_folds(data, dataset)[0].train
    method: Any = registry.make("mpm")
    supervised: dict[str, float] = method.fit(prefs, labels).learnt["theta"]
    learnt = registry.make("mpm", adherence=True, adherence_prior="none", prior=0.0).rank(prefs).agents or {}
    both = np.array([[supervised[agent], learnt[agent]] for agent in supervised])
    return {
        "dataset": dataset,
        "agents": list(supervised),
        "supervised": both[:, 0].tolist(),
        "learnt": both[:, 1].tolist(),
        "pearson": float(pearsonr(both[:, 0], both[:, 1]).statistic),
        "spearman": float(spearmanr(both[:, 0], both[:, 1]).statistic),
    }


def tables(result: Mapping[str, Any]) -> list[ResultTable]:
    """Return the one table."""
    rows = [
        [agent, f"{from_labels:.3f}", f"{unsupervised:.3f}"]
        for agent, from_labels, unsupervised in zip(
            result["agents"], result["supervised"], result["learnt"], strict=True
        )
    ]
    rows.append(["correlation (Pearson, Spearman)", f"{result['pearson']:.3f}", f"{result['spearman']:.3f}"])
    return [
        ResultTable(f"Adherence on training fold 1 of {result['dataset']}", ["agent", "from labels", "learnt"], rows)
    ]


def to_markdown(result: Mapping[str, Any]) -> str:
    """Return the table as a page."""
    (table,) = tables(result)
    note = "The paper prints this as a picture without numbers; it calls the two rows similar with some differences."
    return markdown_page(table.title, [], table.to_markdown(), note)


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
    return [save_figure(drawn, folder, f"adherence-{result['dataset']}")]
