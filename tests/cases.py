"""Cases and checks that several test files share."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import concordant as cc
from concordant import laws, registry
from concordant.cli.__main__ import main
from concordant.losses.base import Loss
from concordant.losses.queries import Queries
from concordant.types import Floats

# Ballots at the edge of what a score model can tell, by what is special about them.
EDGES = {
    "undefeated": [["a", "b", "c"], ["a", "c", "b"]],
    "winless": [["a", "b", "c"], ["b", "a", "c"]],
    "two components": [["a", "b"], ["b", "a"], ["c", "d"], ["d", "c"]],
    "compared once": [["a", "b"], ["b", "a"], ["a", "z"]],
    "all ties": [[["a", "b", "c"]], [["a", "b", "c"]]],
    "a single ballot": [["a", "b", "c"]],
    "two items": [["a", "b"]],
    "one item": [["a"]],
}
# What a ranking as plain data has, whatever the method.
PLAIN_KEYS = [
    "method",
    "params",
    "scale",
    "instances",
    "agents",
    "fit",
    "warnings",
    "seconds",
    "ran",
    "coefficients",
    "certainty",
]


def one_silent_instance() -> cc.Preferences:
    """Two instances of two candidates, one ballot in the first, none in the second."""
    slots = {"slot_ptr": [0, 2, 4], "slot_item": [0, 1, 0, 1]}
    return cc.Preferences(["a", "b"], [0, 2], [0, 1], [0, 1], instances=["q1", "q2"], instance=[0], **slots)


def assert_gradient_is_the_slope(loss: Loss, scores: Floats, queries: Queries) -> None:
    """Compare the gradient of a loss with finite differences."""
    gradient = loss.evaluate(scores, queries).gradient
    for k in range(len(scores)):
        step = np.zeros(len(scores))
        step[k] = 1e-6
        rise = loss.evaluate(scores + step, queries).value - loss.evaluate(scores - step, queries).value
        assert gradient[k] == pytest.approx(rise / 2e-6, abs=1e-7)


def assert_law_holds(law: str, method: str, draw: Callable[[np.random.Generator], cc.Preferences], seed: int) -> None:
    """Test a law of a method on a dozen preferences."""
    rng, made = np.random.default_rng(seed), registry.make(method)
    for _ in range(12):
        answer = {**laws.WAIVABLE, **laws.ALWAYS}[law](made, draw(rng), rng)
        assert answer is None, answer


def output_of(capsys: pytest.CaptureFixture[str], *args: object) -> str:
    """Run the command, which must succeed, and return what it prints."""
    with pytest.raises(SystemExit) as stopped:
        main([str(arg) for arg in args])
    assert stopped.value.code == 0
    return capsys.readouterr().out


def load_file(path: Path) -> ModuleType:
    """Import a Python file that is in no package, such as a tool."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(path.parent)
        spec.loader.exec_module(module)
    return module


def data_folders(factory: pytest.TempPathFactory, *parts: str) -> tuple[Path, Path]:
    """Make a folder of data sets and, below it, that of one set."""
    root = factory.mktemp("data")
    folder = root.joinpath(*parts)
    folder.mkdir(parents=True)
    return root, folder
