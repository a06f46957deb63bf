"""How good are the classes and the order of annotators, by every method and by crowd-kit? Real and simulated crowds.

Run: ``python -m benchmarks.crowd_quality [--data FOLDER] [--only NAME,…] [--seeds 3] [--json FILE]``. crowd-kit takes
part if it is installed (``CROWD_KIT=path/to/python`` names an interpreter that has it). Simulated crowds: experts with
random clickers and constant answerers, ordered classes, items of unequal difficulty, and a large crowd with many
short-lived workers; with ``--data`` the TREC 2011 crowds. Prints, per crowd and method, the accuracy of the classes,
Spearman's correlation and the AUC of the estimated quality of annotators with their accuracy on gold labels (annotators
with at least ten; AUC: below and above the median, ties in half), and the CPU seconds of fitting arrays or a DataFrame
in memory.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

MIN_ON_GOLD = 10
MAX_FOR_GLAD = 20_000  # answers; both are slow beyond
RIVALS = ("MajorityVote", "DawidSkene", "OneCoinDawidSkene", "MACE", "GLAD")
COLUMNS = ("crowd", "method", "accuracy", "Spearman", "AUC", "CPU s")
MIXED = {"expert": 0.6, "constant": 0.2, "random": 0.2}
SIMULATED: Mapping[str, Mapping[str, Any]] = {
    "spammers": {"kinds": MIXED, "workers": 60, "items": 300, "each": 30, "classes": 4},
    "ordered classes": {
        "kinds": {"ordinal": 0.8, "random": 0.1, "constant": 0.1}, "workers": 60, "items": 400, "each": 35,
        "classes": 5,
    },
    "unequal difficulty": {"kinds": {"able": 1.0}, "workers": 60, "items": 400, "each": 35, "classes": 3},
    "a large crowd": {
        "kinds": {"ordinal": 0.6, "constant": 0.2, "random": 0.2}, "workers": 825, "items": 11_040, "each": 20,
        "classes": 4, "shares": (0.6, 0.15, 0.1, 0.15), "has_tail": True,
    },
}  # fmt: skip


class Crowd(NamedTuple):
    """Answers in rows, and gold classes by item."""

    rows: list[tuple[str, str, int]]
    """Item, worker, class."""
    gold: dict[str, int]


def simulated(
    seed: int,
    kinds: Mapping[str, float],
    workers: int,
    items: int,
    each: int,
    classes: int,
    shares: tuple[float, ...] | None = None,
    has_tail: bool = False,
) -> Crowd:
    """Draw a crowd of workers of several kinds; the class of every item is gold."""
    rng = np.random.default_rng(seed)
    share = np.full(classes, 1 / classes) if shares is None else np.array(shares)
    truth, ease = rng.choice(classes, items, p=share), np.exp(rng.normal(0, 1, items))
    bounds = np.cumsum(list(kinds.values())) / sum(kinds.values())
    rows = []
    for w in range(workers):
        kind = list(kinds)[int(np.searchsorted(bounds, (w + 0.5) / workers))]
        n = int(np.clip(each * rng.pareto(1.0) + 2, 2, 0.8 * items)) if has_tail else each
        chosen = rng.choice(items, n, replace=False)
        for item, answer in zip(chosen, ANSWERS[kind](rng, Shown(truth[chosen], ease[chosen], share)), strict=True):
            rows.append((f"i{item}", f"w{w}", int(answer)))
    return Crowd(rows, {f"i{k}": int(value) for k, value in enumerate(truth)})


class Shown(NamedTuple):
    """The items that a worker sees."""

    truth: Any
    ease: Any
    share: Any
    """Of the classes."""

    def or_wrong(self, rng: np.random.Generator, chance: Any) -> Any:
        """Return the true class with this probability, else any other."""
        wrong = (self.truth + rng.integers(1, len(self.share), len(self.truth))) % len(self.share)
        return np.where(rng.random(len(self.truth)) < chance, self.truth, wrong)

    def nearby(self, rng: np.random.Generator) -> Any:
        """Return the true class with a shift and noise of the worker."""
        seen = self.truth + rng.normal(0, 0.3) + rng.normal(0, rng.uniform(0.3, 1.2), len(self.truth))
        return np.clip(np.round(seen), 0, len(self.share) - 1)


ANSWERS: Mapping[str, Callable[[np.random.Generator, Shown], Any]] = {
    "expert": lambda rng, shown: shown.or_wrong(rng, rng.uniform(0.6, 0.95)),
    "able": lambda rng, shown: shown.or_wrong(rng, 1 / (1 + np.exp(-rng.normal(1.2, 0.6) * shown.ease))),
    "ordinal": lambda rng, shown: shown.nearby(rng),
    "constant": lambda rng, shown: np.full(len(shown.truth), rng.choice(len(shown.share), p=shown.share)),
    "random": lambda rng, shown: rng.integers(0, len(shown.share), len(shown.truth)),
}


def trec(name: str, data: str | None) -> Crowd:
    """Load a crowd of TREC 2011; relevant and highly relevant are one class."""
    from concordant import datasets, views

    prefs, gold = datasets.load(name, data), datasets.load_labels(name, data)
    topics = prefs.instances.take(views.entry_instances(prefs))
    workers = prefs.agents.take(prefs.agent[views.ballot_of_entry(prefs)])
    items = [f"{topic}/{item}" for topic, item in zip(topics, prefs.items.take(prefs.item), strict=True)]
    of_gold = gold.instances.take(np.repeat(np.arange(gold.n_instances), np.diff(gold.ptr)))
    named = [f"{topic}/{item}" for topic, item in zip(of_gold, gold.items.take(gold.item), strict=True)]
    truth = dict(zip(named, (gold.label >= 1).astype(int).tolist(), strict=True))
    return Crowd(list(zip(items, workers, prefs.value.astype(int).tolist(), strict=True)), truth)


def ours(crowd: Crowd) -> Iterator[tuple[str, dict[str, int], dict[str, float], float]]:
    """Yield, by method, its name, the class of every item, the quality of every worker, and the CPU seconds."""
    import concordant as cc
    from concordant.analysis.truth import applicable

    items, workers, answers = (list(column) for column in zip(*crowd.rows, strict=True))
    prefs = cc.Preferences.from_ratings(workers, items, answers)
    for name in ("auto", *applicable(prefs)):
        if name == "glad" and len(items) > MAX_FOR_GLAD:
            continue
        began = time.process_time()
        found = cc.crowd.aggregate(prefs, name)
        spent = time.process_time() - began
        classes, of_workers = found.items(), found.agents()
        label = f"auto ({found.method})" if name == "auto" else name
        quality = "estimated" if found.method != "glad" else None
        values = of_workers[quality] if quality else found.model.ability.tolist()
        yield (
            label,
            dict(zip(classes["item"], classes["class"], strict=True)),
            _known(of_workers["agent"], values),
            spent,
        )
        if name == "auto":
            yield "  kappa with the others", {}, _known(of_workers["agent"], of_workers["kappa"]), 0.0
            if "adherence" in of_workers:
                yield "  multinomial adherence", {}, _known(of_workers["agent"], of_workers["adherence"]), 0.0


def _known(names: list[str], values: list[Any]) -> dict[str, float]:
    return {name: float(value) for name, value in zip(names, values, strict=True) if value is not None}


def theirs(crowd: Crowd) -> Iterator[tuple[str, dict[str, int], dict[str, float], float]]:
    """Yield the same of crowd-kit, run by the interpreter that has it."""
    python = os.environ.get("CROWD_KIT", sys.executable)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answers.csv"
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([("task", "worker", "label"), *crowd.rows])
        command = [python, "-W", "ignore", __file__, "--rival", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"crowd-kit takes no part: {(done.stderr.strip().splitlines() or ['no message'])[-1][:100]}")
        return
    for line in done.stdout.splitlines():
        found = json.loads(line)
        yield f"crowd-kit {found['method']}", found["classes"], found["quality"], found["seconds"]


def run_rival(path: str) -> None:
    """Fit crowd-kit's methods to a file of answers; print a line of JSON each."""
    import crowdkit.aggregation as kit
    import pandas as pd

    frame = pd.read_csv(path, dtype={"task": str, "worker": str})
    for name in RIVALS:
        if name == "GLAD" and len(frame) > MAX_FOR_GLAD:
            continue
        began, method = time.process_time(), getattr(kit, name)()
        classes = method.fit_predict(frame.copy())
        seconds = time.process_time() - began
        print(json.dumps({
            "method": name, "classes": {str(task): int(label) for task, label in classes.items()},
            "quality": _rival_quality(name, method, frame), "seconds": seconds,
        }))  # fmt: skip


def _rival_quality(name: str, method: Any, frame: Any) -> dict[str, float]:
    """Return what crowd-kit says of each worker: accuracy, competence or ability."""
    if name in ("DawidSkene", "OneCoinDawidSkene"):
        found = {}
        for worker, table in method.errors_.groupby(level="worker"):
            square = table.droplevel("worker").reindex(index=method.priors_.index, columns=method.priors_.index)
            found[str(worker)] = float((np.diag(square.fillna(0)) * method.priors_).sum())
        return found
    if name == "GLAD":
        return {str(worker): float(value) for worker, value in method.alphas_.items()}
    if name == "MACE":
        import pandas as pd

        workers = pd.factorize(frame["worker"])[1]
        return {str(worker): float(value) for worker, value in zip(workers, method.spamming_[:, 1], strict=True)}
    if name == "MajorityVote":
        right = frame["label"].to_numpy() == method.labels_.loc[frame["task"]].to_numpy()
        return {
            str(worker): float(value)
            for worker, value in frame.assign(right=right).groupby("worker")["right"].mean().items()
        }
    return {}


def scores(crowd: Crowd, classes: Mapping[str, int], quality: Mapping[str, float]) -> tuple[float, float, float]:
    """Return the accuracy of classes, and Spearman's correlation and AUC of workers' quality; NaN if unknown."""
    from scipy.stats import rankdata, spearmanr

    judged = [item for item in {row[0] for row in crowd.rows} if item in crowd.gold]
    accuracy = float(np.mean([classes[item] == crowd.gold[item] for item in judged])) if classes else np.nan
    right: dict[str, list[bool]] = {}
    for item, worker, answer in crowd.rows:
        if item in crowd.gold:
            right.setdefault(worker, []).append(answer == crowd.gold[item])
    workers = [worker for worker, hits in right.items() if len(hits) >= MIN_ON_GOLD and worker in quality]
    if len(workers) < 3:
        return accuracy, np.nan, np.nan
    truth, said = np.array([np.mean(right[one]) for one in workers]), np.array([quality[one] for one in workers])
    good = truth > np.median(truth)
    n, m = good.sum(), (~good).sum()
    auc = (rankdata(said)[good].sum() - n * (n + 1) / 2) / max(n * m, 1)
    return accuracy, float(spearmanr(said, truth).statistic), float(auc)


def crowds(options: argparse.Namespace) -> Iterator[tuple[str, list[Crowd]]]:
    """Yield the chosen crowds by name, simulated ones with several seeds."""
    chosen = None if options.only is None else options.only.split(",")
    for name, settings in SIMULATED.items():
        if chosen is None or name in chosen:
            yield name, [simulated(seed, **settings) for seed in range(options.seeds)]
    if options.data is not None:
        for name in ("crowd-2011", "crowd-2011-all"):
            if chosen is None or name in chosen:
                yield name, [trec(name, options.data)]


def main() -> None:
    """Print a row per crowd and method, with means over the seeds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data")
    parser.add_argument("--only")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--rival", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rival:
        run_rival(options.rival)
        return
    warnings.simplefilter("ignore")
    table = []
    print(f"{COLUMNS[0]:20} {COLUMNS[1]:28} " + " ".join(f"{name:>9}" for name in COLUMNS[2:]), flush=True)
    for name, drawn in crowds(options):
        found: dict[str, list[tuple[float, ...]]] = {}
        for crowd in drawn:
            for side in (ours, theirs):
                for method, classes, quality, seconds in side(crowd):
                    label = "auto" if method.startswith("auto") else method
                    found.setdefault(label, []).append((*scores(crowd, classes, quality), seconds))
        for method, values in found.items():
            means = np.mean(values, axis=0).tolist()
            table.append(dict(zip(COLUMNS, (name, method.strip(), *means), strict=True)))
            cells = " ".join(f"{'':>9}" if value != value else f"{value:9.3f}" for value in means)
            print(f"{name:20} {method:28} {cells}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(table, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
