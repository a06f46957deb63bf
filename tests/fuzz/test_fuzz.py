"""Damaged files of every format are read, or refused in a sentence; never anything else.

A short deterministic run; ``python3 dev.py fuzz MINUTES`` tries fresh cases, in processes of their own.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from tests.fuzz import cases, run
from tests.fuzz.seeds import seeds

import concordant as cc

IN_A_TEST = 40


@pytest.mark.parametrize("name", sorted(seeds()))
def test_the_seeds_are_whole(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(seeds()[name])
    cases.read(path, {"layout": "rank-matrix"} if name == "matrix.csv" else {})


@pytest.mark.parametrize("first", range(0, 640, IN_A_TEST))
def test_damaged_files_are_read_or_refused(first: int, tmp_path: Path) -> None:
    for number in range(first, first + IN_A_TEST):
        try:
            assert cases.run(number, tmp_path) in ("read", "refused")
        except Exception as problem:
            raise AssertionError(f"python -m tests.fuzz.cases {number} shows a foreign exception") from problem


@pytest.mark.parametrize("file", sorted(run.REGRESSIONS.glob("*-*")), ids=lambda file: file.name)
def test_files_that_once_did_harm_do_none(file: Path, tmp_path: Path) -> None:
    path = tmp_path / file.name.partition("-")[2]
    path.write_bytes(file.read_bytes())
    for options in cases.OPTIONS:
        with contextlib.suppress(cc.ConcordantError, OSError):
            cases.read(path, options)


def test_a_case_that_kills_its_process_is_counted_and_the_next_one_runs() -> None:
    seen = run.Seen()
    run.supervise(0, 1, cases.DEADLY, 1, float("inf"), seen)
    assert seen.outcomes["dead"] == 1
    assert list(seen.bad) == [cases.DEADLY]
    assert sum(seen.outcomes.values()) == 2
