"""A memory limit holds for the whole command, measured as its peak, or the command says what it needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from concordant.errors import MemoryLimitError
from concordant.io import _reduce
from concordant.io.formats import table as tables
from concordant.support import memory

MARGIN = 1.1
MB = 1 << 20
PEAK = """
import re, sys
from concordant.cli.__main__ import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    most = int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1])  # getrusage tells the parent's
    print(f"ended {end.code} at {most // 1024} MB", file=sys.stderr)
"""


def peak(*command: object) -> tuple[str, int]:
    """Run a command in a process of its own; return what it says and its peak memory in MB."""
    done = subprocess.run([sys.executable, "-c", PEAK, *map(str, command)], capture_output=True, text=True, check=False)
    said, _, last = done.stderr.strip().rpartition("ended ")
    code, _, amount = last.removesuffix(" MB").partition(" at ")
    assert code in ("0", "None", "1", "2"), done.stderr
    return said, int(amount)


@pytest.fixture(scope="module")
def votes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A million votes in four files, with a time; a third of a million distinct pairs."""
    import duckdb

    folder = tmp_path_factory.mktemp("votes")
    for k in range(4):
        duckdb.sql(
            f"SELECT 'm' || hash(range, {k}) % 700 AS winner, 'n' || hash(range, {k + 9}) % 700 AS loser, "
            f"1700000000 + 7 * range AS moment FROM range({k * 250_000}, {(k + 1) * 250_000})"
        ).write_parquet(str(folder / f"{k}.parquet"))
    return folder


@pytest.mark.slow
@pytest.mark.skipif(not memory.resident(), reason="the system does not say how much memory a process uses")
@pytest.mark.parametrize("limit", [160, 400])
@pytest.mark.parametrize("more", [(), ("--time", "moment", "--method", "elo")], ids=["counts", "events"])
def test_the_limit_holds_for_the_whole_command(votes: Path, limit: int, more: tuple[str, ...]) -> None:
    more = more or ("--method", "bradley-terry")
    said, amount = peak("rank", votes, *more, "--memory-limit", f"{limit}MB", "--csv")
    assert amount <= MARGIN * limit
    assert ("MB are allowed: raise --memory-limit" in said) == (limit == 160)


def test_what_reading_needs_is_said_before_it_starts(votes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import concordant as cc

    monkeypatch.setattr(memory, "UNASKED", 0)
    monkeypatch.setattr(memory, "resident", lambda: 100 * MB)
    with pytest.raises(MemoryLimitError, match=r"Reading about 1,000,000 rows of .*0.parquet needs about .* MB of mem"):
        cc.rank(votes, "elo", time="moment", memory_limit="150MB")
    monkeypatch.setattr(tables, "BYTES_OF_TIME", 0)
    monkeypatch.setattr(tables, "BYTES_OF_CELL", 0)
    monkeypatch.setattr(tables, "BYTES_OF_ROW", 1)
    assert len(cc.rank(votes, "elo", time="moment", memory_limit="150MB").items) == 1400


def test_what_counting_needs_is_said(votes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import concordant as cc

    monkeypatch.setattr(memory, "resident", lambda: 100 * MB)
    with pytest.raises(MemoryLimitError, match=r"Counting 333,\d\d\d distinct rows needs about 1\d\d.* MB of memory"):
        cc.read(votes, reduce=True, memory_limit="120MB")
    with pytest.raises(MemoryLimitError, match="Counting"):  # the files are good: they must not be left out as bad ones
        cc.read(votes, reduce=True, memory_limit="120MB", skip_bad_files=True)
    monkeypatch.setattr(_reduce, "BYTES_OF_GROUP", 1)
    assert cc.read(votes, reduce=True, memory_limit="120MB").weight.sum() == 1_000_000
