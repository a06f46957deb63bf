"""Shared by the tests of readers and writers: a file from a text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

MakeFile = Callable[..., Path]


@pytest.fixture
def make(tmp_path: Path) -> MakeFile:
    """Write a text or bytes to a file and return its path."""

    def write(content: str | bytes, name: str = "votes.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return path

    return write
