"""How much CPU time do factorisations take to their best validation NDCG, and to the best of cornac's?

Run: ``python -m benchmarks.recommend_fit [--size full] [--repeats 5] [--without surprise,lenskit]``, with
``CONCORDANT_DATA`` for MovieLens 1M instead of simulated ratings. 80% of the ratings are for training, 10% for
validation and 10% for a test that nothing was chosen on. Rivals are tuned on the validation ratings, and their time is
that of one fit with the best setting; ours is that of a fit with the best number of sweeps. One thread, the median of
some fits. Rivals that are not installed are left out, cornac's column with it.
"""

from __future__ import annotations

import argparse
import importlib
import os
import statistics
from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.runner import ONE_THREAD

os.environ.update(dict.fromkeys(ONE_THREAD, "1"))  # before anything loads a linear algebra

import numpy as np

from benchmarks.child import SEED, cpu_seconds
from benchmarks.core import Inputs, Task
from benchmarks.works.recommend import MOVIELENS, TESTING, columns, fit_for, make_movielens, models, qualities, quality

RIVALS = ("cornac", "surprise", "lenskit")
ROW = "{:24} {:>9} {:>9} {:>8} {:>9} {:>12}  {}"


def median_of(task: Task, repeats: int) -> tuple[float, Any]:
    """Return the median CPU seconds of some calls after one that warms up, and its result."""
    result, samples = task.call(), []
    for _ in range(repeats):
        begin = cpu_seconds()
        task.call()
        samples.append(cpu_seconds() - begin)
    return statistics.median(samples), result


def rival_row(name: str, inputs: Inputs, repeats: int) -> tuple[float, tuple[str, ...]]:
    """Tune a rival and time its best fit; return its quality and the row."""
    adapter = importlib.import_module(f"benchmarks.rivals.{name}")
    best, setting = adapter.tuned(inputs)
    seconds, model = median_of(adapter.fit_of(inputs, setting), repeats)
    test = quality(inputs, adapter.scores(model, inputs, TESTING), TESTING)
    written = ", ".join(f"{key}={value}" for key, value in setting.items())
    return best, (name, f"{best:.4f}", f"{test:.4f}", f"{seconds:.2f}", "-", "-", written)


def our_rows(inputs: Inputs, goal: float | None, repeats: int) -> Iterator[tuple[str, ...]]:
    """Time every model of ours to its own best and to the goal."""
    agent, item, _ = columns(inputs, TESTING)
    for precision in ("single", "double"):
        for name, model in models(inputs["factors"], precision).items():
            reached = qualities(model, inputs)
            sweeps = 1 + int(np.argmax(reached))
            seconds, fitted = median_of(fit_for(model, inputs, sweeps), repeats)
            test = quality(inputs, fitted.predict(agent, item), TESTING)
            to_goal = ("-", "-")
            if goal is not None and max(reached) >= goal:
                needed = 1 + next(k for k, value in enumerate(reached) if value >= goal)
                to_goal = (f"{median_of(fit_for(model, inputs, needed), repeats)[0]:.2f}", f"{needed} sweeps")
            yield (
                f"{name}, {precision}",
                f"{max(reached):.4f}",
                f"{test:.4f}",
                f"{seconds:.2f}",
                *to_goal,
                f"{sweeps=}",
            )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.recommend_fit", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--size", choices=tuple(MOVIELENS), default="full")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--without", default="", help="rivals to leave out, by name")
    options = parser.parse_args(arguments)
    inputs = make_movielens(MOVIELENS[options.size], SEED)
    print(f"{len(inputs['agent']):,} ratings by {inputs['n_agents']:,} of {inputs['n_items']:,}; CPU seconds, NDCG@10")
    print(ROW.format("model", "best", "test", "CPU s", "to goal", "in", "with"), flush=True)
    goal = None
    for name in RIVALS:
        if name in options.without.split(","):
            continue
        try:
            best, row = rival_row(name, inputs, options.repeats)
        except ModuleNotFoundError as error:
            print(f"{name}: {error.name} is not installed")
            continue
        goal = best if name == "cornac" else goal
        print(ROW.format(*row), flush=True)
    for row in our_rows(inputs, goal, options.repeats):
        print(ROW.format(*row), flush=True)


if __name__ == "__main__":
    main()
