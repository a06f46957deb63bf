"""Calibrated and plain reciprocal rank fusion compared, by number of queries (``calibrated-rrf``).

The lists of all queries of a set are fused by ``rrf`` and by ``calibrated-rrf``, which looks at no label, and both are
scored by NDCG@5 and MAP with a paired t-test over the queries. The second table gives the method fewer queries to learn
from: the queries are dealt into groups of 5, 10, … that are fused on their own.

Sets: LETOR 4.0's MQ2008-agg (25 lists) and MQ2007-agg (21 lists); robust03, the 17 runs of TREC's robust track of 2003.
NDCG is in LETOR's convention. Nothing was published on this: the method is of this package.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from concordant import registry
from concordant.errors import InputError
from concordant.evaluation import evaluate
from concordant.experiments import _frame as frame
from concordant.experiments import metasearch
from concordant.experiments._frame import DataFolder, Progress, ResultTable, Row, silent
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
TITLE = "Calibrated reciprocal rank fusion"


def run(
    data: DataFolder, sets: Sequence[str] = SETS, sizes: Sequence[int] = SIZES, progress: Progress = silent
) -> dict[str, Any]:
    """Return a row per set, and a row per set and size of the groups that are calibrated on their own."""
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
        raise InputError(f"{folder} holds no file of judgements: put robust03_qrels.txt in it, beside runs.")
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
NOTES = """
- N@5: NDCG@5 as LETOR's script computes it; gains in points, calibrated-rrf minus rrf; p: paired t-test over the
  queries.
- In groups: queries dealt at random into groups of this size, each fused on its own with least=1. By default the method
  leaves agents with fewer than 20 queries as they are in rrf.
- robust03: ranks from the runs' rank column; with the order of the lines instead, which differs in places, the gains
  are +0.47 and +0.04. Either way they are within chance.
- Lists that all name the same documents have nothing to calibrate: there the method is rrf, and says so.
"""


def tables(result: Mapping[str, Any]) -> list[ResultTable]:
    """Return both tables."""
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
    ]


def to_markdown(result: Mapping[str, Any]) -> str:
    """Return both tables as a page."""
    return frame.markdown_page(TITLE, tables(result), "## Notes", NOTES)
