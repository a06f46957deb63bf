"""The words of the benchmarks: a work, the task of one side, its answer, and a curve of costs.

Nothing heavy is imported at the top: a first call is measured with its imports, and NumPy's belong to whoever needs it.
"""

from __future__ import annotations

import atexit
import importlib
import os
import pkgutil
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

Answer = dict[str, "NDArray[Any]"]
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
    first: Mapping[str, float | None] | None = None
    """Goals of the call as the first one of a process, imports included; None: only warm calls are measured. Such works
    pickle their inputs, and their modules import nothing heavy at the top."""

    def but(self, name: str, doc: str, **changes: Any) -> Work:
        """Return a sibling that differs in these fields."""
        return replace(self, name=name, doc=doc, **changes)


@dataclass(frozen=True)
class Curve:
    """How the cost of one thing grows along one axis."""

    name: str
    doc: str
    axis: str
    sizes: Mapping[str, Sequence[Size]]
    """Some sizes, rising along the axis, for each of ``tiny``, ``small`` and ``full``."""
    make: Callable[[Size, int], Inputs]
    ours: Callable[[Inputs], Task]
    exponent: float
    """The power of the axis that the cost grows with, as the maths says."""


def sizes(axes: str, **numbers: tuple[int, ...]) -> dict[str, Size]:
    """Name the numbers of every size: ``sizes("rankings items", tiny=(6, 10), small=(50, 100), full=(200, 100))``."""
    return {name: dict(zip(axes.split(), given, strict=True)) for name, given in numbers.items()}


def families() -> dict[str, tuple[Work, ...]]:
    """Return all works by the name of the file that declares them."""
    from benchmarks import works

    return {name: family(name).WORKS for name in _names_of(works.__path__)}


def curves() -> dict[str, tuple[Curve, ...]]:
    """Return the curves of the families that have some."""
    from benchmarks import works

    found = {name: getattr(family(name), "CURVES", ()) for name in _names_of(works.__path__)}
    return {name: given for name, given in found.items() if given}


def _names_of(paths: Sequence[str]) -> list[str]:
    return sorted(module.name for module in pkgutil.iter_modules(paths))


def family(name: str) -> Any:
    """Return the module that declares a family."""
    return importlib.import_module(f"benchmarks.works.{name}")


def select(names: list[str]) -> list[Work]:
    """Return the works of the given names, families or ``all``."""
    return _select(names, families(), {*_all_names(curves())})


def select_curves(names: list[str]) -> list[Curve]:
    """Return the curves of the given names, families or ``all``."""
    return _select(names, curves(), {*_all_names(families())})


def _select(names: list[str], known: Mapping[str, tuple[Any, ...]], others: set[str]) -> list[Any]:
    every = [one for given in known.values() for one in given]
    chosen: list[Any] = []
    for name in names:
        found = every if name == "all" else known.get(name) or [one for one in every if one.name == name]
        if not found and name not in others:
            words = ", ".join(sorted({*_all_names(known), *others}))
            raise LookupError(f"No benchmark is called {name!r}: use all, {words}.")
        chosen += [one for one in found if one not in chosen]
    return chosen


def _all_names(known: Mapping[str, tuple[Any, ...]]) -> list[str]:
    return [*known, *(one.name for given in known.values() for one in given)]


def find(name: str, family_name: str | None = None) -> Any:
    """Return the work or curve of exactly this name, looking only into one family if that is known."""
    modules = [family(family_name)] if family_name else [family(one) for one in families()]
    every = [one for module in modules for one in (*module.WORKS, *getattr(module, "CURVES", ()))]
    return next(one for one in every if one.name == name)


def family_of(name: str) -> str:
    """Return the family a work or a curve belongs to."""
    known = [*families().items(), *curves().items()]
    return next(label for label, given in known if any(one.name == name for one in given))


def folder() -> Path:
    """Return where to write input files: the folder of this measurement, or one that goes with this process."""
    if "CONCORDANT_BENCH_FOLDER" in os.environ:
        return Path(os.environ["CONCORDANT_BENCH_FOLDER"])
    made = Path(tempfile.mkdtemp(prefix="concordant-bench-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


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
    import numpy as np

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
    import numpy as np

    order = np.lexsort((answer["item"], answer["instance"]))
    return {name: column[order] for name, column in answer.items()}
