"""Fusion trained on judged topics: TREC robust 2003, 17 runs of up to 1,000 documents, 100 topics.

Five times, a random half of the topics is used for training and the other half for testing. The systems on the test
topics:

    expert-ranker        linear pairwise ranker (RankNet) on ranks, fused scores and agreement; its ridge penalty and
                         the treatment of unjudged documents are chosen by three-fold cross-validation on the training
                         topics, by MAP
    expert-ranker-svd    LambdaRank on singular vectors, as for LETOR's short lists, with its defaults
    expert-blend         linear ranker and boosted trees on ranks, with its defaults (needs LightGBM)
    rrf, combmnz         no training
    best single run      the run with the highest MAP on the training topics

MAP and NDCG@10 are means over the test topics of a split, then over the splits. Tests compare the mean value of a topic
over the splits that test it: paired t-tests over topics with Holm's correction. There are no published figures. The
features and learners were selected on the training topics of the first split.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from concordant import registry
from concordant.evaluation import evaluate
from concordant.experiments import frame
from concordant.experiments.calibrated_fusion import read_set
from concordant.experiments.claims import OWN, OWN_TITLE, Claim, Difference, as_rows, claims_table, is_above
from concordant.experiments.frame import About, DataFolder, Progress, ResultTable, Settings, silent
from concordant.labels import Labels
from concordant.metrics.significance import holm, paired_t_test
from concordant.preferences import Preferences
from concordant.support.text import format_p
from concordant.types import Floats

TITLE = "Fusion trained on half of the topics of TREC robust 2003"
METRICS = ("map", "ndcg@10")
COLUMNS = ("MAP", "N@10")
SPLITS, PARTS = 5, 3
ON_PLACES: Settings = {"learner": "rank-net", "features": "fusion"}
CHOICES: tuple[Settings, ...] = tuple(
    {**ON_PLACES, "settings": f"alpha={alpha},weighting=queries", "unjudged": unjudged}
    for unjudged in ("zero", "skip")
    for alpha in (0.003, 0.03, 0.3)
)
TRAINED = ("expert-ranker", "expert-ranker-svd", "expert-blend")
BASELINES = ("rrf", "combmnz", "best single run")


def run(
    data: DataFolder, systems: Sequence[str] | None = None, splits: int = SPLITS, progress: Progress = silent
) -> dict[str, Any]:
    """Return the means of every system by split, tests of trained systems against the others, and choices."""
    wanted = [name for name in (*TRAINED, *BASELINES) if systems is None or name in systems]
    prefs, labels = read_set(data, "robust03")
    assert prefs.instances is not None
    topics = np.array(prefs.instances.labels)
    values = {name: np.full((splits, len(METRICS), len(topics)), np.nan) for name in wanted}
    chosen: list[dict[str, Any]] = []
    for split in range(splits):
        order = np.random.default_rng(split).permutation(len(topics))
        train, test_topics = topics[order[: len(topics) // 2]], np.sort(order[len(topics) // 2 :])
        training, test = (prefs.select(instances=part.tolist()) for part in (train, topics[test_topics]))
        chosen_here: dict[str, Any] = {}
        for name in wanted:
            ranked = _ranked(name, training, test, labels, chosen_here)
            values[name][split][:, test_topics] = _values(ranked, labels, topics[test_topics].tolist())
            progress(f"split {split + 1}: {name}")
        chosen.append(chosen_here)
    return {"systems": _means(values), "contests": _contests(values), "chosen": chosen, "topics": len(topics)}


def n_steps(systems: Sequence[str] | None = None, splits: int = SPLITS) -> int:
    """Return how many times ``run`` reports progress."""
    return splits * len(systems or (*TRAINED, *BASELINES))


# ---- the systems ----
def _ranked(name: str, train: Preferences, test: Preferences, labels: Labels, chosen_here: dict[str, Any]) -> Any:
    """Return the ranking of the test topics by a system; choices made on the training topics go into
    ``chosen_here``.
    """
    if name == "best single run":
        assert train.agents is not None
        quality = {agent: _map(_single(train, agent), labels, train) for agent in train.agents.labels}
        chosen_here["run"] = max(quality, key=lambda agent: quality[agent])
        return _single(test, chosen_here["run"])
    if name not in TRAINED:
        return registry.make(name).rank(test)
    if name == "expert-ranker":
        chosen_here["settings"] = _choice(train, labels)
        return _fitted("expert-ranker", chosen_here["settings"], train, labels).rank(test)
    return _fitted(name.removesuffix("-svd"), {}, train, labels).rank(test)


def _single(prefs: Preferences, agent: str) -> Any:
    return registry.make("rrf").rank(prefs.select(agents=[agent]))


def _fitted(method: str, settings: Settings, prefs: Preferences, labels: Labels) -> Any:
    method_object: Any = registry.make(method, **settings)
    return method_object.fit(prefs, labels, **({"validation": 0.2} if method_object.takes_validation else {}))


def _choice(train: Preferences, labels: Labels) -> Settings:
    """Return the settings with the highest MAP by cross-validation over thirds of the training topics."""
    assert train.instances is not None
    topics = train.instances.labels
    quality = np.zeros(len(CHOICES))
    for part in range(PARTS):
        held_out_topics = topics[part::PARTS]
        training = train.select(instances=[topic for topic in topics if topic not in set(held_out_topics)])
        held_out = train.select(instances=held_out_topics)
        for k, settings in enumerate(CHOICES):
            quality[k] += _map(_fitted("expert-ranker", settings, training, labels).rank(held_out), labels, held_out)
    return CHOICES[int(np.argmax(quality))]


def _map(ranking: Any, labels: Labels, prefs: Preferences) -> float:
    assert prefs.instances is not None
    return float(_values(ranking, labels, prefs.instances.labels)[0].mean())


def _values(ranking: Any, labels: Labels, topics: Sequence[str]) -> Floats:
    """Return the metrics of these topics, metric x topic."""
    return np.stack(list(evaluate(ranking, labels, METRICS).over(topics).per_instance.values()))


# ---- results ----
def _means(values: Mapping[str, Floats]) -> list[dict[str, Any]]:
    """Return, for every system, the means by split and over splits, in percent."""
    rows = []
    for name, metric_values in values.items():
        by_split = 100 * np.nanmean(metric_values, axis=2)
        rows.append({"system": name, "mean": by_split.mean(axis=0).tolist(), "by_split": by_split.tolist()})
    return rows


def _contests(values: Mapping[str, Floats]) -> list[dict[str, Any]]:
    """Compare every trained system with every baseline over the tested topics, with Holm's correction."""
    pairs = [
        (system, baseline) for system in TRAINED for baseline in BASELINES if system in values and baseline in values
    ]
    rows: list[dict[str, Any]] = [{"system": system, "against": baseline} for system, baseline in pairs]
    for k, column in enumerate(COLUMNS):
        differences = [_by_topic(values[system][:, k] - values[baseline][:, k]) for system, baseline in pairs]
        corrected = holm([paired_t_test(difference) for difference in differences]) if differences else []
        for row, difference, p in zip(rows, differences, corrected, strict=True):
            row[column] = {"difference": 100 * float(difference.mean()), "p": float(p)}
    return rows


def _by_topic(difference: Floats) -> Floats:
    """Return the mean difference of every topic over the splits that test it."""
    tested = np.isfinite(difference).sum(axis=0)
    return np.asarray(np.nansum(difference, axis=0)[tested > 0] / tested[tested > 0])


ABOUT = About(
    paper="None. This experiment asks whether training improves fusion of long lists.",
    setting="Random halves of the topics for training and testing; MAP and NDCG@10 on the test topics.",
    data="TREC 2003 robust track: 17 runs of up to 1,000 documents on 100 topics, with relevance judgements.",
)
NOTES = """
- Means over the test topics of a split, then over the splits, in percent; differences are means over topics, in points.
- Paired t-tests over all tested topics, each with its mean over splits; Holm's correction over all pairs.
- Chosen on the training topics: the single run, and for expert-ranker the ridge penalty and whether unjudged documents
  count as irrelevant.
- Lists have a thousand documents here, so entries of singular vectors are small; ranks and fused scores do slightly
  better.
"""


def claims(result: Mapping[str, Any]) -> list[Claim]:
    """Return the questions of this experiment with their answers."""
    return [
        Claim.of(
            f"{system} is significantly better than {baseline}",
            OWN,
            [is_above(test) for test in tests.values()],
            [f"{column}: {test}" for column, test in tests.items()],
            "MAP and NDCG@10; paired t-test over topics, Holm",
        )
        for system in TRAINED
        for baseline in BASELINES
        for tests in [_tests_of(result, system, baseline)]
    ]


def _tests_of(result: Mapping[str, Any], system: str, baseline: str) -> dict[str, Difference]:
    """Return the tests of a pair by metric; empty if one of the two was not run."""
    rows = [row for row in result["contests"] if (row["system"], row["against"]) == (system, baseline)]
    return {column: Difference.read(row[column]) for row in rows for column in COLUMNS}


def tables(result: Mapping[str, Any]) -> list[ResultTable]:
    """Return the means, the differences, the choices and the answers."""
    means = [
        [row["system"], *(f"{mean:.2f}" for mean in row["mean"]), *(f"{split[0]:.2f}" for split in row["by_split"])]
        for row in result["systems"]
    ]
    n_splits = len(result["chosen"])
    header = ["system", *COLUMNS, *(f"MAP {k + 1}" for k in range(n_splits))]
    contests = [
        [row["system"], row["against"], *(text for column in COLUMNS for text in _shown(row[column]))]
        for row in result["contests"]
    ]
    against = ["system", "against", *(text for column in COLUMNS for text in (column, f"p of {column}"))]
    chosen = [
        [str(k + 1), picked.get("run", ""), _described(picked.get("settings"))]
        for k, picked in enumerate(result["chosen"])
    ]
    return [
        ResultTable(TITLE, header, means),
        ResultTable("Trained against untrained", against, contests, n_text=2),
        ResultTable("Chosen on the training topics", ["split", "best single run", "expert-ranker"], chosen, n_text=3),
        claims_table(claims(result), OWN_TITLE),
    ]


def _shown(test: Mapping[str, float]) -> tuple[str, str]:
    return f"{test['difference']:+.2f}", format_p(test["p"])


def _described(settings: Settings | None) -> str:
    return "" if settings is None else f"{settings['settings']}, unjudged {settings['unjudged']}"


def to_markdown(result: Mapping[str, Any]) -> str:
    """Return the tables and notes as a Markdown page."""
    return frame.markdown_page(TITLE, tables(result), "## Notes", NOTES)


def plain(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result for JSON."""
    return {**result, "claims": as_rows(claims(result))}


def draw(result: Mapping[str, Any], folder: str | os.PathLike[str]) -> list[str]:
    """Draw the means of every split and over the splits; return the file."""
    drawn, axes = frame.figure(2, 8.0, 1.0 + 0.3 * len(result["systems"]))
    names = [row["system"] for row in result["systems"]][::-1]
    for c, panel in enumerate(axes):
        for k, row in enumerate(reversed(result["systems"])):
            panel.plot([split[c] for split in row["by_split"]], [k] * len(row["by_split"]), "|", color="#8a97a1")
            panel.plot(row["mean"][c], k, "o", color=frame.COLOURS[0], markersize=6)
        panel.set_xlabel(f"{COLUMNS[c]}, percent")
        panel.set_yticks(range(len(names)), names if c == 0 else [""] * len(names))
        panel.set_ylim(-0.7, len(names) - 0.3)
    caption = "Means over all splits (dots) and of every split (bars)"
    return [frame.save_figure(drawn, folder, "trained-fusion", caption)]
