"""Shared by the tests of readers and writers: a file from a text, and both kernel back ends."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from concordant import kernels
from concordant.kernels import twins

MakeFile = Callable[..., Path]


@pytest.fixture
def make(tmp_path: Path) -> MakeFile:
    """Write a text or bytes to a file and return its path."""

    def write(content: str | bytes, name: str = "votes.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return path

    return write


@pytest.fixture(params=["compiled", "numpy"])
def both_back_ends(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a test once with the compiled kernels, where built, and once with their twins."""
    if request.param == "compiled" and kernels.active() != "compiled":
        pytest.skip("the compiled kernels are not built")
    if request.param == "numpy":
        for name in dir(twins):
            if callable(getattr(twins, name)) and not name.startswith("_"):
                monkeypatch.setattr(kernels, name, getattr(twins, name), raising=False)
    return str(request.param)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Return the folder of public data sets, or skip."""
    beside = Path(__file__).resolve().parents[3] / "shared" / "data"
    folder = Path(os.environ.get("CONCORDANT_DATA", beside))
    if not folder.is_dir():
        pytest.skip("the public data sets are not here: set CONCORDANT_DATA")
    return folder
