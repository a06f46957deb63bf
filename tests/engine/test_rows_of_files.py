"""Ratings and ranks in files: the same sums bit by bit, however rows are cut and wherever they are counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import concordant as cc
from concordant.cli.__main__ import cli
from concordant.engine.executors import Executor, Serial, Threads
from concordant.engine.statistics import ITEM_COUNTS, LEVELS, NET_WINS, POSITIONS, Statistic
from concordant.engine.tallies import Tally
from concordant.errors import FormatError, InputError
from concordant.io import _many, _rows, reduction, write_table
from concordant.io.paths import expand
from concordant.support import progress
from concordant.tables.options import PREFERENCES, Options

Row = tuple[str, str, float]
METHODS = ["mpm", "borda", "mean-rating"]


def write(rows: list[Row], path: Path) -> Path:
    users, films, stars = (list(column) for column in zip(*rows, strict=True))
    write_table({"user": users, "film": films, "stars": stars}, path)
    return path


def drawn(seed: int = 4) -> list[Row]:
    rng = np.random.default_rng(seed)
    rated = sorted({(int(u), int(i)) for u, i in zip(rng.integers(0, 60, 900), rng.integers(0, 12, 900), strict=True)})
    return [(f"u{u}", f"film {i}", float(rng.integers(1, 50)) / 10) for u, i in rated]


def write_cut(folder: Path, is_whole: bool, files: int = 4, ending: str = "parquet") -> Path:
    """Write ratings: every user's in one file, or in all."""
    rows = drawn()
    for k in range(files):
        own = [row for n, row in enumerate(rows) if (int(row[0][1:]) if is_whole else n) % files == k]
        write(own, folder / f"{k}.{ending}")
    return folder


def sums(path: Any, statistic: Statistic, executor: Executor, **reading: Any) -> _many.Counted:
    options, paths = Options.of(PREFERENCES, reading), expand(path)
    plan = reduction._plan(paths, options)
    assert plan is not None
    return _rows.count_files(paths, options, plan, statistic, executor)


def arrays(tally: Tally | None) -> list[Any]:
    """Return what a tally holds, in an order of its own: equal data give equal lists."""
    assert tally is not None
    found = tally.sorted
    held = [column.tolist() for column in found.keys.values()]
    held += [list(labels) for labels in found.labels.values()]
    return [
        *held,
        *(
            [one.whole.tolist(), np.zeros(len(one)).tolist() if one.part is None else one.part.tolist()]
            for one in found.sums.values()
        ),
    ]


@settings(max_examples=8)
@given(data=st.data())
@pytest.mark.parametrize("statistic", [ITEM_COUNTS, LEVELS, POSITIONS, NET_WINS], ids=lambda one: one.name)
def test_any_cut_into_files_gives_the_same_sums(
    tmp_path_factory: pytest.TempPathFactory, statistic: Statistic, data: Any
) -> None:
    level = st.one_of(st.integers(1, 5).map(float), st.floats(-1e3, 1e3, allow_subnormal=False))
    keys = st.tuples(st.sampled_from("uvwxy"), st.sampled_from("abcd"))
    rated = data.draw(st.dictionaries(keys, level, min_size=1, max_size=20))
    rows = [(user, item, stars) for (user, item), stars in rated.items()]
    place = data.draw(st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows)))
    folder = tmp_path_factory.mktemp("cut")
    for part in range(3):
        if own := [row for row, p in zip(rows, place, strict=True) if p == part]:
            write(own, folder / f"part-{part}.parquet")
    whole = write(rows, folder / "_whole.parquet")
    once = sums(whole, statistic, Serial())
    with Threads(3) as threads:
        for executor in (Serial(), threads):
            found = sums(folder, statistic, executor)
            assert arrays(found.tally) == arrays(once.tally)
            assert found.rows == once.rows == len(rows)


@pytest.mark.parametrize("is_whole", [True, False], ids=["a file per user", "users in all files"])
@pytest.mark.parametrize("method", METHODS)
def test_processes_rank_as_one_does(tmp_path: Path, is_whole: bool, method: str) -> None:
    folder = write_cut(tmp_path, is_whole)
    here, there = cc.rank(folder, method), cc.rank(folder, method, workers=2)
    assert there.items == here.items
    np.testing.assert_array_equal(there.score, here.score)
    assert "4 files reduced to" in there.ran
    assert there.ran.endswith("by DuckDB on 2 processes")
    np.testing.assert_allclose(sorted(here.score), sorted(cc.rank(cc.read(folder), method).score), atol=1e-9)


def test_files_are_parts_only_where_no_ballot_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[_rows.Part] = []
    count = _rows.count_part

    def noted(part: _rows.Part, *args: Any, **more: Any) -> Any:
        seen.append(part)
        return count(part, *args, **more)

    monkeypatch.setattr(_rows, "count_part", noted)
    for is_whole, parts in ((True, 4), (False, 2)):
        folder = tmp_path / str(is_whole)
        folder.mkdir()
        with Threads(2) as executor:
            sums(write_cut(folder, is_whole), NET_WINS, executor)
        assert [len(part.paths) for part in seen] == ([1] * 4 if is_whole else [4] * 2)
        assert len(seen) == parts
        seen.clear()


@pytest.mark.parametrize("is_whole", [True, False])
@pytest.mark.parametrize("workers", [None, 2])
def test_a_corrupt_file_of_ratings_is_named_and_refused_or_left_out(
    tmp_path: Path, is_whole: bool, workers: int | None
) -> None:
    folder = write_cut(tmp_path, is_whole)
    whole = (folder / "2.parquet").read_bytes()
    (folder / "2.parquet").write_bytes(
        whole[:60] + b"\xff" * 200 + whole[260:]
    )  # the footer is sound, the data are not
    with pytest.raises(FormatError, match=r"2\.parquet"):
        cc.rank(folder, "mpm", workers=workers)
    kept = cc.rank(folder, "mpm", workers=workers, skip_bad_files=True)
    rest = cc.rank([folder / f"{k}.parquet" for k in (0, 1, 3)], "mpm", reduce=True)
    assert kept.items == rest.items
    np.testing.assert_array_equal(kept.score, rest.score)
    assert "3 files reduced to" in kept.ran
    said = ["rank", str(folder), "--method", "mpm", "--skip-bad-files", *(["--workers", "2"] if workers else [])]
    run = CliRunner().invoke(cli, said)
    assert run.exit_code == 0, run.output
    assert "left out a file" in run.output
    assert "2.parquet" in run.output


def test_bad_files_are_left_out_also_where_all_rows_are_read(tmp_path: Path) -> None:
    folder = write_cut(tmp_path, is_whole=True)
    (folder / "0.parquet").write_bytes(b"PAR1 nothing")
    with pytest.raises(FormatError, match=r"0\.parquet"):
        cc.rank(folder, "plackett-luce")
    kept = cc.rank(folder, "plackett-luce", prior=1.0, skip_bad_files=True)
    rest = cc.rank(cc.read([folder / f"{k}.parquet" for k in (1, 2, 3)]), "plackett-luce", prior=1.0)
    assert kept.items == rest.items
    assert cc.rank(folder, "mpm", min_ballots=2, skip_bad_files=True).ran == ""
    for k in (1, 2, 3):
        (folder / f"{k}.parquet").write_bytes(b"PAR1 nothing")
    with pytest.raises(InputError, match=r"No file could be read. First error: .*0\.parquet"):
        cc.rank(folder, "mpm", skip_bad_files=True)


def test_progress_tells_of_every_file_and_part(tmp_path: Path) -> None:
    folder, seen = write_cut(tmp_path, is_whole=True, files=3), []
    with progress.listen(seen.append):
        counted = sums(folder, POSITIONS, Serial())
    ends = [now for now in seen if now.done]
    assert [(now.done, now.total) for now in ends] == [(1, 3), (2, 3), (3, 3)] * 2  # looked through, then counted
    assert all(now.text.startswith(f"counting: {len(drawn()):,} rows") for now in (ends[2], ends[5]))
    assert counted.rows == len(drawn())


@pytest.mark.parametrize("workers", [None, 2])
def test_an_item_twice_in_a_ballot_is_found_across_files(tmp_path: Path, workers: int | None) -> None:
    folder = write_cut(tmp_path, is_whole=True, ending="csv")
    user, film, _ = next(row for row in drawn() if int(row[0][1:]) % 4 == 0)
    with open(folder / "1.csv", "a") as file:  # the user's own file is another
        file.write(f"{user},{film},3\n")
    with pytest.raises(InputError, match=film):
        cc.rank(folder, "mean-rating", workers=workers)
