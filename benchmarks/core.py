"""The words of the benchmarks: a work, the task of one side, and its answer."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Answer = dict[str, NDArray[Any]]
Inputs = dict[str, Any]
Size = Mapping[str, int]


class LeftOutError(Exception):
    """A rival does not take part in a work, and the message is the reason."""


@dataclass(frozen=True)
class Task:
    """What one side does: ``call`` is timed; ``answer``, not timed, makes comparable arrays of its result."""

    call: Callable[[], Any]
    answer: Callable[[Any], Answer] = lambda _: {}


@dataclass(frozen=True)
class Work:
    """One thing to do, at several sizes, by concordant and by its rivals."""

    name: str
    doc: str
    sizes: Mapping[str, Size]
    """The parameters of make: ``tiny`` for tests, ``small`` for seconds, ``full`` for published figures."""
    make: Callable[[Size, int], Inputs]
    ours: Callable[[Inputs], Task]
    rivals: Mapping[str, float | None] = field(default_factory=dict)
    """Adapter files of rivals/ that have a function of this work's name (dashes as underscores), each with the goal:
    how many times our CPU time theirs should be, at full size."""
    agree: Callable[[Answer, Answer], bool] | None = None
    budget: float | None = None
    """CPU seconds this may take at full size, whatever others need."""

    def but(self, name: str, doc: str, **changes: Any) -> Work:
        """Return a sibling that differs in these fields."""
        return replace(self, name=name, doc=doc, **changes)


def sizes(axes: str, **numbers: tuple[int, ...]) -> dict[str, Size]:
    """Name the numbers of every size: ``sizes("rankings items", tiny=(6, 10), small=(50, 100), full=(200, 100))``."""
    return {name: dict(zip(axes.split(), given, strict=True)) for name, given in numbers.items()}


def families() -> dict[str, tuple[Work, ...]]:
    """Return all works by the name of the file that declares them."""
    from benchmarks import works

    names = sorted(module.name for module in pkgutil.iter_modules(works.__path__))
    return {name: importlib.import_module(f"benchmarks.works.{name}").WORKS for name in names}


def select(names: list[str]) -> list[Work]:
    """Return the works of the given names, families or ``all``."""
    known = families()
    every = [work for works in known.values() for work in works]
    chosen: list[Work] = []
    for name in names:
        found = every if name == "all" else known.get(name) or [work for work in every if work.name == name]
        if not found:
            words = ", ".join(sorted({*known, *(work.name for work in every)}))
            raise LookupError(f"No benchmark is called {name!r}: use all, {words}.")
        chosen += [work for work in found if work not in chosen]
    return chosen


def find(name: str) -> Work:
    """Return the work of exactly this name."""
    return next(work for works in families().values() for work in works if work.name == name)


def rival_task(rival: str, work: Work, inputs: Inputs) -> Task:
    """Return how a rival does a work; LeftOutError if its library is not installed."""
    adapter = importlib.import_module(f"benchmarks.rivals.{rival}")
    try:
        task: Task = getattr(adapter, work.name.replace("-", "_"))(inputs)
    except ModuleNotFoundError as error:
        raise LeftOutError(f"{error.name} is not installed") from error
    return task


def size_text(size: Size) -> str:
    """Write a size as people say it: 10 x 1,000."""
    return " x ".join(f"{number:,}" for number in size.values())


def is_close(ours: Answer, theirs: Answer) -> bool:
    """Say whether all arrays hold the same numbers, up to rounding."""
    return ours.keys() == theirs.keys() and all(
        ours[name].shape == theirs[name].shape
        and np.allclose(ours[name], theirs[name], rtol=1e-9, atol=1e-12, equal_nan=True)
        for name in ours
    )


def is_same_ranking(ours: Answer, theirs: Answer) -> bool:
    """Say whether two rankings are equal up to the order inside ties.

    Both hold ``instance``, ``item`` and ``score`` per row, best first inside each instance. Equal scores for
    every item and non-increasing scores on both sides mean equal orders up to ties.
    """
    if not (_is_best_first(ours) and _is_best_first(theirs)):
        return False
    return is_close(*(_sorted_by_item(answer) for answer in (ours, theirs)))


def _is_best_first(answer: Answer) -> bool:
    same_instance = answer["instance"][1:] == answer["instance"][:-1]
    drop = answer["score"][:-1] - answer["score"][1:]
    return bool((drop[same_instance] >= -1e-12).all())


def _sorted_by_item(answer: Answer) -> Answer:
    order = np.lexsort((answer["item"], answer["instance"]))
    return {name: column[order] for name, column in answer.items()}
