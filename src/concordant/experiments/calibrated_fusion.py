"""Comparison of calibrated and plain reciprocal rank fusion, by number of queries (``calibrated-rrf``).

The lists of all queries of a set are fused by ``rrf`` and by ``calibrated-rrf``, which uses no labels. Both are
evaluated by NDCG@5 and MAP with a paired t-test over the queries. The second table shows how many queries the method
needs: the queries are divided at random into groups of 5, 10, … that are fused independently.

Sets: LETOR 4.0's MQ2008-agg (25 lists) and MQ2007-agg (21 lists); robust03, 17 runs of the TREC 2003 robust track.
NDCG follows LETOR's convention. There are no published figures: the method is new in this package.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from concordant import registry
from concordant.errors import InputError
from concordant.evaluation import evaluate
from concordant.experiments import frame, metasearch
from concordant.experiments.claims import OWN, OWN_TITLE, Claim, Difference, as_rows, claims_table, is_above, is_below
from concordant.experiments.frame import LEVEL, About, DataFolder, Progress, ResultTable, Row, silent
from concordant.io import read, read_labels
from concordant.labels import Labels
from concordant.metrics.significance import paired_t_test
from concordant.preferences import Preferences
from concordant.support.text import format_p
from concordant.types import Floats

SETS = (*metasearch.SETS, "robust03")
METRICS = ("ndcg@5:letor", "map")
COLUMNS = ("N@5", "MAP")
SIZES = (5, 10, 20, 50, 100, 200)
SMALL_GROUP = 20  # the method's default minimum number of queries
TITLE = "Calibrated reciprocal rank fusion"


def run(
    data: DataFolder, sets: Sequence[str] = SETS, sizes: Sequence[int] = SIZES, progress: Progress = silent
) -> dict[str, Any]:
    """Return a row per set, and a row per set and size of the groups that are calibrated independently."""
    frame.check_sets(sets, SETS)
    rows, groups = [], []
    for name in sets:
        prefs, labels = read_set(data, name)
        by_rrf = _measure(prefs, labels, "rrf")
        gain = _measure(prefs, labels, "calibrated-rrf") - by_rrf
        rows.append(
            {
                "dataset": name,
                "queries": prefs.n_instances,
                "lists": prefs.n_agents,
                "rrf": (100 * by_rrf.mean(axis=1)).tolist(),
                "difference": (100 * gain.mean(axis=1)).tolist(),
                "p": [paired_t_test(column) for column in gain],
            }
        )
        progress(name)
        groups += [_by_groups(prefs, labels, name, size) for size in sizes if 2 * size <= prefs.n_instances]
        progress(f"{name} in groups")
    return {"rows": rows, "groups": groups}


def n_steps(sets: Sequence[str]) -> int:
    """Return how many times ``run`` reports progress."""
    return 2 * len(sets)


def read_set(data: DataFolder, name: str) -> tuple[Preferences, Labels]:
    """Read the lists and the labels of a set of this experiment."""
    if name in metasearch.SETS:
        paths = sorted(fold.test_path for fold in metasearch.find_folds(data, name))
        return read(paths), read_labels(paths)
    folder = frame.data_folder(data, "trec-robust03")
    judged = [path for path in sorted(folder.iterdir()) if "qrels" in path.name]
    if not judged:
        raise InputError(
            f"{folder} has no relevance judgements: put robust03_qrels.txt there, next to the folder runs."
        )
    return read(sorted((folder / "runs").iterdir())), read_labels(judged[0])


def _measure(prefs: Preferences, labels: Labels, method: str, **settings: int) -> Floats:
    """Return NDCG@5 and average precision of every query of the preferences, metric x query."""
    assert prefs.instances is not None
    evaluation = evaluate(registry.make(method, **settings).rank(prefs), labels, METRICS)
    assert evaluation.instances is not None
    columns = [evaluation.instances.code(label) for label in prefs.instances.labels]
    return np.stack(list(evaluation.per_instance.values()))[:, columns]


def _by_groups(prefs: Preferences, labels: Labels, name: str, size: int) -> Row:
    """Fuse random groups of ``size`` queries independently; return the mean gain over all of them."""
    assert prefs.instances is not None
    queries = np.random.default_rng(0).permutation(np.array(prefs.instances.labels))
    gains = []
    for start in range(0, len(queries) - size + 1, size):
        part = prefs.select(instances=queries[start : start + size].tolist())
        calibrated = _measure(part, labels, "calibrated-rrf", least=1)
        gains.append(calibrated - _measure(part, labels, "rrf"))
    all_gains = np.concatenate(gains, axis=1)
    return {"dataset": name, "size": size, "difference": (100 * all_gains.mean(axis=1)).tolist()}


# ---- report ----
ABOUT = About(
    paper="None. calibrated-rrf is a method of this package.",
    setting="Reciprocal rank fusion with and without calibration on the same queries, without labels; NDCG@5 and MAP.",
    data="LETOR 4.0 aggregation sets MQ2008-agg and MQ2007-agg; 17 runs of the TREC 2003 robust track on 100 topics.",
)
NOTES = """
- N@5: NDCG@5 as LETOR's script computes it. Gain: calibrated-rrf minus rrf, in points; paired t-test over the queries.
- Groups: queries dealt at random into groups of this size, each fused independently with least=1. By default the method
  treats agents with fewer than 20 queries as rrf does.
- robust03: ranks from the rank column of the runs. With the order of the lines instead, which differs in places, the
  gains are +0.47 and +0.04; neither is significant.
- Lists that all contain the same documents have nothing to calibrate: the method then equals rrf and states so.
"""


def claims(result: Mapping[str, Any]) -> list[Claim]:
    """Return the questions of this experiment with their answers."""
    by_column = [
        (column, {row["dataset"]: Difference(row["difference"][k], row["p"][k]) for row in result["rows"]})
        for k, column in enumerate(COLUMNS)
    ]
    claims = [
        Claim.of(
            f"calibration improves {column} significantly on every set",
            OWN,
            [is_above(test) for test in tests.values()],
            [f"{dataset}: {test}" for dataset, test in tests.items()],
            f"paired t-test over queries, level {LEVEL:g}",
        )
        for column, tests in by_column
    ]
    tests = [test for _, by_set in by_column for test in by_set.values()]
    few = [row for row in result["groups"] if row["size"] == SMALL_GROUP]
    return [
        *claims,
        Claim.of(
            "calibration is nowhere significantly worse than plain fusion",
            OWN,
            [not is_below(test) for test in tests],
            f"smallest gain {min(test.difference for test in tests):+.2f}" if tests else "",
            f"paired t-test over queries, level {LEVEL:g}",
        ),
        Claim.of(
            f"{SMALL_GROUP} queries are enough for a gain",
            OWN,
            [gain > 0 for row in few for gain in row["difference"]],
            [
                f"{row['dataset']}: "
                + ", ".join(f"{c} {gain:+.2f}" for c, gain in zip(COLUMNS, row["difference"], strict=True))
                for row in few
            ],
            f"mean gain in groups of {SMALL_GROUP} queries is above 0",
        ),
    ]


def tables(result: Mapping[str, Any]) -> list[ResultTable]:
    """Return the comparison, the groups and the answers."""
    first = [
        [
            row["dataset"],
            f"{row['queries']:,}",
            str(row["lists"]),
            *(f"{value:.2f}" for value in row["rrf"]),
            *(f"{value:+.2f}" for value in row["difference"]),
            *map(format_p, row["p"]),
        ]
        for row in result["rows"]
    ]
    second = [
        [row["dataset"], str(row["size"]), *(f"{value:+.2f}" for value in row["difference"])]
        for row in result["groups"]
    ]
    header = ["set", "queries", "lists", *(f"{what}{c}" for what in ("rrf ", "gain ", "p of ") for c in COLUMNS)]
    return [
        ResultTable("Calibrated against plain reciprocal rank fusion", header, first),
        ResultTable("Gain in groups of queries", ["set", "queries", *(f"gain {c}" for c in COLUMNS)], second),
        claims_table(claims(result), OWN_TITLE),
    ]


def to_markdown(result: Mapping[str, Any]) -> str:
    """Return the tables and notes as a Markdown page."""
    return frame.markdown_page(TITLE, tables(result), "## Notes", NOTES)


def plain(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result for JSON."""
    return {**result, "claims": as_rows(claims(result))}


def draw(result: Mapping[str, Any], folder: str | os.PathLike[str]) -> list[str]:
    """Draw the gain against the number of queries; return the file."""
    drawn, axes = frame.figure(2, 8.0, 3.2)
    for k, dataset in enumerate(dict.fromkeys(row["dataset"] for row in result["groups"])):
        rows = [row for row in result["groups"] if row["dataset"] == dataset]
        for c, panel in enumerate(axes):
            gains = [row["difference"][c] for row in rows]
            panel.plot(
                [row["size"] for row in rows],
                gains,
                "o-",
                color=frame.COLOURS[k % len(frame.COLOURS)],
                markersize=3,
                label=dataset,
            )
    for panel, column in zip(axes, COLUMNS, strict=True):
        panel.axhline(0, color="#8a97a1", linewidth=0.8)
        panel.set(xscale="log", xlabel="queries fused together", ylabel=f"gain in {column}, points")
    axes[0].legend(frameon=False, fontsize=8)
    caption = "Gain of calibrated over plain reciprocal rank fusion by number of queries"
    return [frame.save_figure(drawn, folder, "calibrated-fusion", caption)]
