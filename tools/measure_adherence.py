"""Measure how well agents' adherence orders workers by their true accuracy; print a table.

    python -m tools.measure_adherence [--data DIR]

Simulated crowds of experts, constant answerers, random clickers and adversaries (mean of several seeds), one large
crowd, and with ``--data`` the TREC 2011 crowd. Spearman's correlation is over the workers who have an adherence.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import spearmanr

import concordant as cc
from concordant import datasets
from concordant.analysis import crowd as crowds
from concordant.experiments.crowd import binary

SPAM = {"expert": 0.6, "constant": 0.2, "random": 0.2}
SEEDS = 5
CROWDS: Mapping[str, Mapping[str, Any]] = {
    "experts only, 2 classes": {"kinds": {"expert": 1.0}, "workers": 40, "items": 200, "answers": 60},
    "spammers, 2 classes": {"kinds": SPAM, "answers": 50},
    "spammers, 4 grades": {"kinds": SPAM, "classes": 4, "answers": 50},
    "spammers, 4 classes without order": {"kinds": SPAM, "classes": 4, "answers": 50, "has_order": False},
    "spammers, 15 topics": {"kinds": SPAM, "topics": 15, "answers": 50},
    "spammers and 15% adversaries": {
        "kinds": {"expert": 0.55, "constant": 0.15, "random": 0.15, "adversary": 0.15},
        "answers": 50,
    },
    "spammers, 2 to 400 answers each": {"kinds": SPAM, "workers": 150, "items": 500, "answers": 10, "has_tail": True},
    "as many answers as a large crowd": {
        "kinds": SPAM, "workers": 825, "items": 11_040, "answers": 20, "has_tail": True, "classes": 4, "popular": 500,
    },
}  # fmt: skip


class Crowd(NamedTuple):
    """Answers, the true accuracy of every worker and what kind of worker it is."""

    prefs: cc.Preferences
    accuracy: dict[str, float]
    kind: dict[str, str]


def crowd(
    seed: int,
    kinds: Mapping[str, float],
    workers: int = 60,
    items: int = 300,
    answers: int = 40,
    classes: int = 2,
    topics: int = 0,
    popular: int = 0,
    has_tail: bool = False,
    has_order: bool = True,
) -> Crowd:
    """Draw the answers of a crowd: the first class has half the items, ``popular`` items are shown 20 times as often.

    A wrong answer is a neighbouring class where classes have an order, else any other class.
    """
    rng = np.random.default_rng(seed)
    share = np.array([0.5, *[0.5 / (classes - 1)] * (classes - 1)])
    truth = rng.choice(classes, items, p=share)
    shown = np.where(np.arange(items) < popular, 20.0, 1.0)
    bounds = np.cumsum(list(kinds.values())) / sum(kinds.values())
    rows, accuracy, kind = [], {}, {}
    for w in range(workers):
        one = list(kinds)[int(np.searchsorted(bounds, (w + 0.5) / workers))]
        n = int(np.clip(answers * rng.pareto(1.0) + 2, 2, 0.8 * items)) if has_tail else answers
        item = rng.choice(items, n, replace=False, p=shown / shown.sum())
        answer, right = _answers(one, truth[item], classes, has_order, rng)
        accuracy[f"w{w}"], kind[f"w{w}"] = (share[answer[0]] if one == "constant" else right), one
        rows += [(f"w{w}", f"d{i}", a, f"q{i * topics // items}") for i, a in zip(item, answer, strict=True)]
    agent, item_names, values, topic = zip(*rows, strict=True)
    prefs = cc.Preferences.from_ratings(agent, item_names, values, instance=topic if topics else None)
    return Crowd(prefs, accuracy, kind)


def _answers(kind: str, truth: Any, classes: int, has_order: bool, rng: np.random.Generator) -> tuple[Any, float]:
    """Return the answers of one worker to items of these classes, and its accuracy."""
    n = len(truth)
    if kind == "constant":
        return np.full(n, rng.integers(classes)), np.nan
    if kind == "random":
        return rng.integers(0, classes, n), 1 / classes
    right = 0.2 if kind == "adversary" else float(rng.uniform(0.6, 0.95))
    wrong = (truth + rng.integers(1, classes, n)) % classes
    if has_order:
        up = np.where(truth == 0, True, np.where(truth == classes - 1, False, rng.random(n) < 0.5))
        wrong = np.where(up, truth + 1, truth - 1)
    return np.where(rng.random(n) < right, truth, wrong), right


def order(found: Mapping[str, float], accuracy: Mapping[str, float], among: Any) -> float:
    """Return Spearman's correlation of estimates with the true accuracy."""
    return float(spearmanr([found[w] for w in among], [accuracy[w] for w in among]).statistic)


def _measure(prefs: cc.Preferences, accuracy: Mapping[str, float], known: Any = None) -> list[float]:
    """Return Spearman's correlation by the published setting, the default and Dawid-Skene, and both CPU times."""
    start = time.process_time()
    learnt = cc.rank(prefs, "mpm", adherence=True).agents or {}
    fast = time.process_time() - start
    start = time.process_time()
    published = cc.rank(prefs, "mpm", adherence=True, adherence_prior="none").agents or {}
    slow = time.process_time() - start
    among = [w for w in learnt if known is None or w in known]
    judged = cc.rank(prefs, "dawid-skene").agents or {}
    return [*(order(one, accuracy, among) for one in (published, learnt, judged)), slow, fast]


def _row(name: str, answers: int, values: Any) -> None:
    before, after, judged, slow, fast = np.mean(values, axis=0).tolist()
    print(f"| {name} | {answers:,} | {before:.2f} | {after:.2f} | {judged:.2f} | {slow:.2f} | {fast:.2f} |", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder that holds trec2011-crowd")
    data = parser.parse_args().data
    head = ("crowd", "answers", 'mpm, adherence_prior="none"', "mpm", "dawid-skene", "CPU s none", "CPU s")
    print(f"| {' | '.join(head)} |\n{'|---' * len(head)}|")
    for name, settings in CROWDS.items():
        drawn = [crowd(seed, **settings) for seed in range(1 if settings.get("popular") else SEEDS)]
        _row(name, len(drawn[0].prefs.item), [_measure(one.prefs, one.accuracy) for one in drawn])
    for name in ("crowd-2011", "crowd-2011-all") if data else ():
        prefs: Any = datasets.load(name, data)
        gold = crowds.reliability(prefs, binary(datasets.load_labels(name, data)))
        accuracy = dict(zip(gold.agents, gold.accuracy.tolist(), strict=True))
        for least in (10, 50):
            known = {w for w, n in zip(gold.agents, gold.on_gold.tolist(), strict=True) if n >= least}
            about = f"{name}, workers with {least} or more gold documents ({len(known)})"
            _row(about, len(prefs.item), [_measure(prefs, accuracy, known)])


if __name__ == "__main__":
    main()
