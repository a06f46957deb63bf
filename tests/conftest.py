"""What tests share: the public data when it is there, both kernel back ends, random preferences.

No test depends on the clock: Hypothesis has no deadlines here, draws the same examples in every run, and does not
mind a machine that draws them slowly. Limits of time count the processor time of the test alone.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from concordant import kernels
from concordant.preferences import Preferences

ROOT = Path(__file__).resolve().parent.parent
LARGE = ("tests/web/", "tests/engine/test_cluster.py")
Run = Callable[..., tuple[int, str, str]]
MakeFile = Callable[..., Path]
settings.register_profile(
    "tests", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("tests")


def load_sanitized_kernels(path: str) -> None:
    """Take the compiled kernels from another build (``dev.py sanitize``)."""
    spec = importlib.util.spec_from_file_location("concordant.kernels._compiled", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    kernels._compiled = module
    kernels._backend = kernels._choose()


if "CONCORDANT_SANITIZED" in os.environ:
    load_sanitized_kernels(os.environ["CONCORDANT_SANITIZED"])


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what runs on both back ends by itself: a second run, with another one active, would say nothing new.

    Of several processes, the first begins with the tests that start large programs: two browsers, or a browser and a
    cluster, are never there at once.
    """
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: not item.nodeid.startswith(LARGE))
    for item in items:
        if "backend" in getattr(item, "fixturenames", ()):
            item.add_marker("once")


@pytest.fixture(scope="session", autouse=True)
def own_time() -> Iterator[None]:
    """Let limits of time count this process alone, whatever else keeps the machine busy."""
    from concordant.solvers.ordering import deadline

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(deadline, "now", time.process_time)
        yield


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of public data sets; tests that need it are skipped where it is not."""
    folder = Path(os.environ.get("CONCORDANT_DATA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip("the public data sets are not here: set CONCORDANT_DATA to their folder")
    return folder


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command in this process: (exit code, standard output, standard error)."""

    from concordant.cli.__main__ import main

    def call(*args: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stopped:
            main([str(arg) for arg in args])
        captured = capsys.readouterr()
        return int(stopped.value.code or 0), captured.out, captured.err

    return call


@pytest.fixture
def make(tmp_path: Path) -> MakeFile:
    """Write a text or bytes to a file and return its path."""

    def write(content: str | bytes, name: str = "votes.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return path

    return write


@pytest.fixture(params=["compiled", "numpy"])
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a test once on each kernel back end."""
    from concordant.kernels import twins

    if request.param == "compiled" and kernels.active() != "compiled":
        pytest.skip("the compiled kernels are not built or not chosen")
    if request.param == "numpy":
        for name in twins.__dict__:
            if not name.startswith("_") and callable(getattr(twins, name)):
                monkeypatch.setattr(kernels, name, getattr(twins, name), raising=False)
    return str(request.param)


def random_preferences(
    rng: np.random.Generator,
    *,
    n_items: int = 6,
    n_ballots: int = 12,
    n_instances: int = 3,
    ties: bool = True,
    complete: bool = False,
    weights: bool = True,
) -> Preferences:
    """Ballots of random length over random items, with ties, weights, agents and instances."""
    lists = []
    for _ in range(n_ballots):
        length = n_items if complete else int(rng.integers(1, n_items + 1))
        chosen = [f"i{k}" for k in rng.permutation(n_items)[:length]]
        ranking: list[object] = []
        while chosen:
            size = int(rng.integers(1, 3)) if ties else 1
            group, chosen = chosen[:size], chosen[size:]
            ranking.append(group if len(group) > 1 else group[0])
        lists.append(ranking)
    return Preferences.from_rankings(
        lists,
        weight=rng.integers(1, 5, n_ballots) if weights else None,
        agent=[f"a{k % 4}" for k in range(n_ballots)],
        instance=[f"q{k % n_instances}" for k in range(n_ballots)] if n_instances > 1 else None,
    )
