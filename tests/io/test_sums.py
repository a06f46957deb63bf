"""Files of sums that grow with the files they count: nothing twice, nothing lost, the answers of all rows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from click.testing import CliRunner

import concordant as cc
from concordant.cli.__main__ import cli
from concordant.errors import ConcordantError, FormatError, InputError
from concordant.io import write_table
from concordant.io.sums import add_files
from concordant.support.files import locked
from concordant.tables.options import PREFERENCES, Options


def reduce(path: Any, target: Path, kind: str = "items", copies: bool = False, **reading: Any) -> Any:
    return add_files(path, str(target), Options.of(PREFERENCES, reading), kind, copies)


def votes(folder: Path, seed: int, weight: float | None = None, **more: Any) -> Path:
    """Write an hour of votes."""
    rng = np.random.default_rng(seed)
    winner = rng.integers(0, 8, 200)
    loser = (winner + rng.integers(1, 8, 200)) % 8
    columns: dict[str, Any] = {"winner": [f"m{k}" for k in winner], "loser": [f"m{k}" for k in loser]}
    if weight is not None:
        columns["weight"] = [weight * (1 + k % 3) for k in range(200)]
    folder.mkdir(exist_ok=True)
    path = folder / f"{seed}.csv"
    write_table({**columns, **more}, path)
    return path


def ratings(folder: Path, users: range) -> Path:
    rng = np.random.default_rng(users.start)
    rows = [
        (f"u{u}", f"film {k}", float(rng.integers(1, 50)) / 10) for u in users for k in range(5) if rng.random() < 0.7
    ]
    user, film, stars = (list(column) for column in zip(*rows, strict=True))
    folder.mkdir(exist_ok=True)
    path = folder / f"{users.start}.parquet"
    write_table({"user": user, "film": film, "stars": stars}, path)
    return path


def same(found: cc.Ranking, wanted: cc.Ranking) -> bool:
    return found.items == wanted.items and found.scores.tolist() == wanted.scores.tolist()


@pytest.mark.parametrize("weight", [None, 0.1])
def test_sums_grow_hour_by_hour(tmp_path: Path, weight: float | None) -> None:
    target, folder = tmp_path / "sums.parquet", tmp_path / "votes"
    for hour in range(3):
        votes(folder, hour, weight)
        added = reduce(folder, target)
        assert (added.files, added.rows, added.total_files, added.total_rows) == (1, 200, hour + 1, 200 * (hour + 1))
    again = reduce(folder, target)
    assert (again.files, again.rows, again.total_rows) == (0, 0, 600)
    assert "3 files are in the sums already" in again.notes
    found = cc.rank(target, "bradley-terry")
    assert found.ran == "600 rows of 3 files, counted in sums.parquet"
    assert same(found, cc.rank(folder, "bradley-terry"))
    assert found.low.tolist() == cc.rank(folder, "bradley-terry").low.tolist()
    assert cc.read(target) == cc.read(folder, reduce=True)


def test_sums_keep_instances_ties_and_what_was_shown_first(tmp_path: Path) -> None:
    rng, folder, target = np.random.default_rng(3), tmp_path / "votes", tmp_path / "sums.parquet"
    folder.mkdir()
    for hour in range(2):
        names = {side: [f"m{k}" for k in rng.integers(0, 3, 100) + 3 * n] for n, side in enumerate(("left", "right"))}
        result = [("left", "right", "tie")[k] for k in rng.integers(0, 3, 100)]
        write_table(
            {**names, "outcome": result, "lang": [f"l{k}" for k in rng.integers(0, 2, 100)]}, folder / f"{hour}.csv"
        )
        reduce(folder, target, instance="lang")
    wanted = cc.rank(folder, "davidson", instance="lang")
    found = cc.rank(target, "davidson")
    for one in ("l0", "l1"):
        assert same(found[one], wanted[one])
    assert cc.read(target) == cc.read(folder, instance="lang", reduce=True)


@pytest.mark.parametrize("kind", ["items", "levels"])
def test_sums_of_ratings_grow(tmp_path: Path, kind: str) -> None:
    target, folder = tmp_path / "sums.parquet", tmp_path / "ratings"
    for start in (0, 20, 40):
        ratings(folder, range(start, start + 20))
        reduce(folder, target, kind)
    for method in ("mpm", "borda") if kind == "items" else ("mean-rating",):
        found = cc.rank(target, method)
        assert same(found, cc.rank(folder, method))
        assert "3 files, counted in sums.parquet" in found.ran
    with pytest.raises(InputError, match="not for"):
        cc.rank(target, "mean-rating" if kind == "items" else "borda")
    with pytest.raises(FormatError, match="which only rank can use"):
        cc.read(target)


def test_a_ballot_is_never_split(tmp_path: Path) -> None:
    target = tmp_path / "sums.parquet"
    reduce(ratings(tmp_path / "a", range(20)), target)
    before = target.read_bytes()
    with pytest.raises(FormatError, match="10 ballots are in the sums already"):
        reduce(ratings(tmp_path / "b", range(10, 30)), target)
    assert target.read_bytes() == before


def test_other_tools_read_the_sums(tmp_path: Path) -> None:
    target = tmp_path / "sums.parquet"
    reduce(votes(tmp_path / "v", 1), target)
    found = duckdb.sql(f"SELECT winner, loser, tie, weight FROM '{target}'")
    assert found.aggregate("sum(weight)::INT").fetchall() == [(200,)]
    assert [str(kind) for kind in found.types] == ["VARCHAR", "VARCHAR", "BOOLEAN", "BIGINT"]
    pyarrow = pytest.importorskip("pyarrow.parquet")
    facts = json.loads(pyarrow.read_metadata(target).metadata[b"concordant_sums"])
    assert facts["schema"] == 1
    assert facts["rows"] == 200
    assert [one["name"] for one in facts["files"]] == ["v/1.csv"]


def test_a_file_that_changed_is_refused(tmp_path: Path) -> None:
    target, path = tmp_path / "sums.parquet", votes(tmp_path / "v", 1)
    reduce(path, target)
    before = target.read_bytes()
    path.write_text(path.read_text() + "m1,m2\n")
    with pytest.raises(FormatError, match=r"1\.csv: the file has changed since it was counted"):
        reduce(path, target)
    assert target.read_bytes() == before


def test_a_copy_is_counted_only_on_request(tmp_path: Path) -> None:
    target, path = tmp_path / "sums.parquet", votes(tmp_path / "v", 1)
    (tmp_path / "v" / "2.csv").write_bytes(path.read_bytes())
    added = reduce(tmp_path / "v", target)
    assert added.files == 1
    assert any("v/2.csv: it has the content of v/1.csv" in note for note in added.notes)
    assert reduce(tmp_path / "v", target, copies=True).total_rows == 400
    assert reduce(tmp_path / "v", target, copies=True).files == 0


def test_sums_and_files_can_be_moved_together(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    path = votes(tmp_path / "old" / "v", 1)
    reduce(path, tmp_path / "old" / "sums.parquet")
    os.rename(tmp_path / "old", tmp_path / "new")
    assert reduce(tmp_path / "new" / "v", tmp_path / "new" / "sums.parquet").files == 0


def test_sums_in_the_folder_of_the_files_are_not_counted(tmp_path: Path) -> None:
    votes(tmp_path / "v", 1)
    target = tmp_path / "v" / "sums.parquet"
    assert reduce(tmp_path / "v", target).files == 1
    assert reduce(tmp_path / "v", target).files == 0
    with pytest.raises(FormatError, match="holds sums"):
        cc.rank(tmp_path / "v")
    with pytest.raises(FormatError, match="holds sums"):
        reduce(target, tmp_path / "other.parquet")


def test_bad_files_are_left_out_and_tried_again(tmp_path: Path) -> None:
    votes(tmp_path / "v", 1)
    broken = tmp_path / "v" / "2.csv"
    broken.write_text("winner\n")
    target = tmp_path / "sums.parquet"
    with pytest.raises(ConcordantError):
        reduce(tmp_path / "v", target)
    assert not target.exists()
    added = reduce(tmp_path / "v", target, skip_bad_files=True)
    assert added.files == 1
    assert any("left out a file: 2.csv" in note for note in added.notes)
    broken.unlink()
    votes(tmp_path / "v", 2)
    assert reduce(tmp_path / "v", target, skip_bad_files=True).total_rows == 400


def test_other_columns_are_refused(tmp_path: Path) -> None:
    target = tmp_path / "sums.parquet"
    reduce(votes(tmp_path / "v", 1, lang=["en"] * 200), target, instance="lang")
    with pytest.raises(FormatError, match=r"the columns .* differ from those of the sums"):
        reduce(votes(tmp_path / "v", 2), target)
    with pytest.raises(FormatError, match="these are item sums of ratings, but the others are counts of pairs"):
        reduce(ratings(tmp_path / "r", range(5)), target)


def test_other_rows_are_refused(tmp_path: Path) -> None:
    target = tmp_path / "sums.parquet"
    added = reduce(votes(tmp_path / "v", 1), target, where="winner <> 'm1'")
    assert "m1" in cc.read(target).items.labels  # as a loser
    assert cc.read(target).weight.sum() == added.rows < 200
    with pytest.raises(FormatError, match='where "winner <> '):
        reduce(votes(tmp_path / "v", 2), target)
    with pytest.raises(InputError, match="drop_duplicates= relates the rows of several files"):
        reduce(votes(tmp_path / "v", 3), tmp_path / "other.parquet", drop_duplicates=True)


def test_several_files_of_sums_are_added_up(tmp_path: Path) -> None:
    one, two = ((votes(tmp_path / "v", k), tmp_path / f"{k}.parquet") for k in (1, 2))
    for path, target in (one, two):
        reduce(path, target)
    found = cc.rank([one[1], two[1]], "bradley-terry")
    assert same(found, cc.rank(tmp_path / "v", "bradley-terry"))
    assert "400 rows of 2 files, counted in 1.parquet and 1 more" in found.ran
    reduce(tmp_path / "v", two[1])
    with pytest.raises(FormatError, match=r"v/1\.csv is counted in two of these files"):
        cc.rank([one[1], two[1]])
    with pytest.raises(FormatError, match="holds no sums, but others do"):
        cc.rank([one[1], two[0]])


# ---- damage ----
def edited(target: Path, change: str, **meta: Any) -> None:
    """Write the sums again with other content or metadata."""
    with duckdb.connect() as connection:
        ((value,),) = connection.execute(
            f"SELECT value FROM parquet_kv_metadata('{target}') WHERE key = 'concordant_sums'"
        ).fetchall()
        facts = json.loads(value) | meta
        text = json.dumps(facts).replace("'", "''")
        connection.execute(f"CREATE TABLE t AS {change.format(target=target)}")
        connection.execute(f"COPY t TO '{target}' (FORMAT parquet, KV_METADATA {{concordant_sums: '{text}'}})")


@pytest.mark.parametrize(
    ("change", "meta", "message"),
    [
        ("SELECT * REPLACE (weight + 1 AS weight) FROM '{target}'", {}, "does not have the checksum"),
        ("SELECT * REPLACE (-weight AS weight) FROM '{target}'", {}, "not as concordant writes them"),
        (
            "SELECT * REPLACE (nan AS weight) FROM (SELECT *, 'nan'::DOUBLE AS nan FROM '{target}')",
            {},
            "not as concord",
        ),
        ("SELECT * REPLACE (weight + 0.5 AS weight) FROM '{target}'", {}, "not as concordant writes them"),
        ("SELECT * REPLACE (NULL AS winner) FROM '{target}'", {}, "not as concordant writes them"),
        ("SELECT * EXCLUDE (weight) FROM '{target}'", {}, "a column of the sums is missing"),
        ("SELECT * FROM '{target}' LIMIT 3", {}, "does not have the checksum"),
        ("SELECT * FROM '{target}'", {"files": []}, "does not have the checksum"),
        ("SELECT * FROM '{target}'", {"rows": 1}, "does not have the checksum"),
        ("SELECT * FROM '{target}'", {"rows": "many"}, "metadata of the sums are not"),
        ("SELECT * FROM '{target}'", {"files": [{"name": 1, "sha256": ""}]}, "metadata of the sums are not"),
        ("SELECT * FROM '{target}'", {"kind": "code"}, "metadata of the sums are not"),
        ("SELECT * FROM '{target}'", {"schema": 2}, "schema 2, which this version .* cannot read: update"),
    ],
)
def test_sums_that_were_changed_are_refused(tmp_path: Path, change: str, meta: dict[str, Any], message: str) -> None:
    target, path = tmp_path / "sums.parquet", votes(tmp_path / "v", 1)
    reduce(path, target)
    edited(target, change, **meta)
    before = target.read_bytes()
    for use in (lambda: cc.rank(target), lambda: cc.read(target), lambda: reduce(votes(tmp_path / "v", 2), target)):
        with pytest.raises(ConcordantError, match=message) as error:
            use()
        assert "sums.parquet" in str(error.value)
    assert target.read_bytes() == before


@pytest.mark.parametrize(
    "change",
    [
        "SELECT * REPLACE (better + 1 AS better) FROM '{target}'",
        "SELECT * REPLACE (list_append(ballots, 1) AS ballots) FROM '{target}'",
        "SELECT * REPLACE ('rankings' AS form) FROM '{target}'",
        "SELECT * FROM '{target}' WHERE item IS NOT NULL",
        "SELECT * REPLACE (net_part + 1 AS net_part) FROM '{target}'",
    ],
)
def test_sums_of_ratings_that_were_changed_are_refused(tmp_path: Path, change: str) -> None:
    target = tmp_path / "sums.parquet"
    reduce(ratings(tmp_path / "r", range(20)), target)
    edited(target, change)
    with pytest.raises(ConcordantError, match=r"sums\.parquet"):
        cc.rank(target, "borda")


def test_cut_off_sums_are_refused(tmp_path: Path) -> None:
    target = tmp_path / "sums.parquet"
    reduce(votes(tmp_path / "v", 1), target)
    whole = target.read_bytes()
    for size in range(0, len(whole), 97):
        target.write_bytes(whole[:size])
        with pytest.raises(ConcordantError):
            cc.rank(target)
        with pytest.raises(ConcordantError):
            reduce(tmp_path / "v", target)
        assert target.read_bytes() == whole[:size]


def test_another_file_is_never_replaced(tmp_path: Path) -> None:
    path = votes(tmp_path / "v", 1)
    target = tmp_path / "table.parquet"
    write_table({"winner": ["a"], "loser": ["b"]}, target)
    before = target.read_bytes()
    with pytest.raises(FormatError, match="exists and holds no sums"):
        reduce(path, target)
    assert target.read_bytes() == before
    with pytest.raises(InputError, match=r"end it in \.parquet"):
        reduce(path, tmp_path / "sums.csv")
    with pytest.raises(InputError, match="cannot be locked"):
        reduce(path, tmp_path / "missing" / "sums.parquet")


# ---- writers ----
def test_two_writers_lose_nothing(tmp_path: Path) -> None:
    target = tmp_path / "sums.parquet"
    paths = [votes(tmp_path / f"v{k}", k) for k in range(4)]
    runs = [
        subprocess.Popen(
            [sys.executable, "-m", "concordant", "reduce", str(path), "-o", str(target)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for path in paths
    ]
    for run in runs:
        _, problem = run.communicate()
        assert run.returncode == 0, problem
    assert cc.rank(target).ran.startswith("800 rows of 4 files")
    assert same(cc.rank(target, "bradley-terry"), cc.rank(paths, "bradley-terry", reduce=True))


def test_a_writer_waits_for_another(tmp_path: Path) -> None:
    target, path = tmp_path / "sums.parquet", votes(tmp_path / "v", 1)
    done: list[int] = []
    with locked(target):
        waiting = threading.Thread(target=lambda: done.append(reduce(path, target).files))
        waiting.start()
        with pytest.raises(InputError, match="is being written by another process"), locked(target, wait=0):
            pass
        assert not done
    waiting.join()
    assert done == [1]


def test_a_writer_that_was_killed_blocks_nobody(tmp_path: Path) -> None:
    target, path = tmp_path / "sums.parquet", votes(tmp_path / "v", 1)
    code = "import os, sys\nfrom concordant.support.files import locked\nwith locked(sys.argv[1]):\n    os._exit(9)"
    assert subprocess.run([sys.executable, "-c", code, str(target)], check=False).returncode == 9
    assert reduce(path, target).files == 1


def test_sums_that_another_writer_replaced_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from concordant.io import sums

    target, path = tmp_path / "sums.parquet", votes(tmp_path / "v", 1)
    reduce(path, target)
    count = sums._counted

    def replaced_meanwhile(*given: Any) -> Any:
        target.write_bytes(target.read_bytes() + b"")
        os.utime(target, ns=(1, 1))
        return count(*given)

    monkeypatch.setattr(sums, "_counted", replaced_meanwhile)
    with pytest.raises(FormatError, match="changed while it was being read"):
        reduce(votes(tmp_path / "v", 2), target)


def test_a_write_that_fails_leaves_the_old_sums(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "sums.parquet"
    reduce(votes(tmp_path / "v", 1), target)
    before = target.read_bytes()

    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(ConcordantError, match="No space left"):
        reduce(votes(tmp_path / "v", 2), target)
    assert target.read_bytes() == before


def test_the_command_says_what_it_added(tmp_path: Path) -> None:
    votes(tmp_path / "v", 1)
    target = str(tmp_path / "sums.parquet")
    run = CliRunner().invoke(cli, ["reduce", str(tmp_path / "v"), "-o", target])
    assert run.exit_code == 0, run.output
    assert f"added 200 rows of 1 file; {target} holds 200 rows of 1 file" in run.stdout
    shown = CliRunner().invoke(cli, ["rank", target, "--top", "2"])
    assert shown.exit_code == 0, shown.output
    assert "200 rows of 1 file, counted in sums.parquet" in shown.output
    other = str(tmp_path / "other.parquet")
    teams = CliRunner().invoke(cli, ["reduce", str(tmp_path / "v"), "-o", other, "--team-separator", "+"])
    assert teams.exit_code == 1
    assert "Sums do not keep what --team-separator needs" in teams.output
    refused = CliRunner().invoke(cli, ["reduce", "-", "-o", target], input="winner,loser\na,b\n")
    assert refused.exit_code == 1
    assert "Standard input" in refused.output
    missing = CliRunner().invoke(cli, ["reduce", str(tmp_path / "none.csv"), "-o", target])
    assert missing.exit_code == 1
    assert "none.csv" in missing.output
