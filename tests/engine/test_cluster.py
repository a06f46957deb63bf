"""A Dask scheduler and two workers, processes of their own: the answers of one process, also when one is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np
import pytest
from tests.conftest import ROOT
from tests.engine import work
from tests.engine.test_executors import instances, itself, objectives, rows
from tests.engine.test_rows_of_files import METHODS, arrays, sums, write_cut
from tests.io.test_many_files import equal
from tests.support.test_isolation import COMMAND, Folder, every_name

import concordant as cc
from concordant.engine import instances as engine_instances
from concordant.engine.executors import Cluster, Serial, WorkerError, cluster_at
from concordant.engine.gradients import fit_parts
from concordant.engine.instances import rank_in_chunks
from concordant.engine.statistics import NET_WINS
from concordant.errors import FormatError, InputError
from concordant.io import _many, paths
from concordant.learn import RankNet
from concordant.support import progress
from concordant.tables.options import PREFERENCES, Options

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:Sending large graph"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
pytest.importorskip("distributed")


class Machines:
    """A scheduler and its workers, started by command as users start them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.running = folder, []  # type: ignore[var-annotated]
        note = folder / "scheduler.json"
        self._start("scheduler", "--port", "0", "--scheduler-file", str(note))
        self._wait(note.exists, "the scheduler")
        import json

        self.address = ""
        while not self.address:
            try:
                self.address = json.loads(note.read_text())["address"]
            except ValueError:  # not all of it is written yet
                Event().wait(0.05)
        self.workers: list[subprocess.Popen[bytes]] = []
        self.executor: Cluster | None = None
        self.fill()

    def _start(self, kind: str, *args: str) -> subprocess.Popen[bytes]:
        command = [
            sys.executable,
            "-m",
            f"distributed.cli.dask_{kind}",
            *args,
            "--host",
            "127.0.0.1",
            "--dashboard-address",
            "127.0.0.1:0",
        ]
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        log = open(self.folder / f"{kind}-{len(self.running)}.log", "wb")  # noqa: SIM115
        process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=log, stderr=log)
        log.close()
        self.running.append(process)
        return process

    @staticmethod
    def _wait(is_there: Any, what: str) -> None:
        for _ in range(1200):
            if is_there():
                return
            Event().wait(0.05)
        raise AssertionError(f"{what} did not start")

    def fill(self) -> None:
        """Start workers until there are two, and wait for them."""
        from distributed import Client

        self.workers = [one for one in self.workers if one.poll() is None]
        while len(self.workers) < 2:
            more = ("--nworkers", "1", "--nthreads", "1", "--no-nanny", "--local-directory", str(self.folder))
            self.workers.append(self._start("worker", self.address, *more))
        with Client(self.address, set_as_default=False) as client:
            self._wait(lambda: len(client.scheduler_info(n_workers=-1)["workers"]) == 2, "a worker")

    def kill_one(self) -> None:
        """Kill a worker as the system kills one that takes too much memory."""
        self.workers[0].kill()
        self.workers[0].wait()

    def restart(self) -> None:
        """Kill the scheduler and the workers, and start others at the same address."""
        self.close()
        (self.folder / "scheduler.json").unlink()
        self._start("scheduler", "--port", self.address.rpartition(":")[2])
        self.workers = []
        self.fill()

    def close(self) -> None:
        for process in reversed(self.running):
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    opened = Machines(tmp_path_factory.mktemp("dask"))
    try:
        yield opened
    finally:
        opened.close()


@pytest.fixture
def cluster(machines: Machines) -> Iterator[Cluster]:
    machines.fill()
    with cluster_at(machines.address) as executor:
        yield executor


@pytest.fixture(scope="module")
def votes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, rng = tmp_path_factory.mktemp("votes"), np.random.default_rng(3)
    from concordant.io import write_table

    for k in range(12):
        winner = rng.integers(0, 15, 400)
        loser = (winner + rng.integers(1, 15, 400)) % 15
        columns = {"winner": [f"m{i}" for i in winner], "loser": [f"m{i}" for i in loser]}
        write_table({**columns, "weight": rng.random(400).round(3) + 0.1}, folder / f"{k:02}.parquet")
    return folder


def test_counts_of_the_cluster_are_those_of_one_process(cluster: Cluster, machines: Machines, votes: Path) -> None:
    here = cc.read(votes, reduce=True)
    assert equal(cc.read(votes, reduce=True, cluster=machines.address), here)
    assert equal(cc.read(votes, reduce=True, cluster=cluster.client), here)


def test_a_worker_killed_while_files_are_counted_loses_nothing(
    cluster: Cluster, machines: Machines, votes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_many, "SHARE_BYTES", 1)  # one file in each share
    seen: list[str] = []

    def watch(now: progress.Progress) -> None:
        if now.done == 1:
            machines.kill_one()
        if now.done:
            seen.append(now.text)

    options = Options.of(PREFERENCES, {"reduce": True})
    with progress.listen(watch):
        counted = _many.count_files(paths.expand(votes), options, cluster)
    assert len(seen) > 6
    assert seen[-1].startswith("counting: 4,800 rows")
    assert counted.rows == 4800
    assert equal(_many.preferences_of(counted), cc.read(votes, reduce=True))


def count(paths_of_votes: Any, executor: Any, task: Any) -> _many.Counted:
    """Count files, one in each share, with another task."""
    options = Options.of(PREFERENCES, {"reduce": True})
    shares = [[path] for path in _many.named_for(paths.expand(paths_of_votes), executor)]
    return _many.count_parts(shares, options, executor, task)


def test_a_worker_killed_in_the_middle_of_a_reduction_loses_nothing(
    cluster: Cluster, machines: Machines, votes: Path, tmp_path: Path
) -> None:
    marker, found = tmp_path / "counting", []
    task = partial(work.count_and_wait, marker=str(marker))
    thread = Thread(target=lambda: found.append(count(votes, cluster, task)))
    thread.start()
    machines._wait(lambda: marker.exists() and marker.read_text(), "the reduction")
    os.kill(int(marker.read_text()), signal.SIGKILL)
    thread.join()
    (counted,) = found
    assert (counted.rows, counted.files) == (4800, 12)
    assert equal(_many.preferences_of(counted), cc.read(votes, reduce=True))


def test_sums_that_are_changed_on_the_way_are_refused(cluster: Cluster, votes: Path) -> None:
    with pytest.raises(WorkerError, match="Counts that a worker returned were changed on the way: check the memory"):
        count(votes, cluster, work.count_and_change)


def test_a_scheduler_that_is_restarted_ends_in_an_error_and_then_in_the_same_answer(
    votes: Path, tmp_path: Path
) -> None:
    (tmp_path / "dask").mkdir()
    machines = Machines(tmp_path / "dask")
    try:
        marker, problems = tmp_path / "counting", []

        def reduce() -> None:
            try:
                with cluster_at(machines.address) as executor:
                    count(votes, executor, partial(work.count_and_wait, marker=str(marker)))
            except Exception as problem:
                problems.append(problem)

        thread = Thread(target=reduce)
        thread.start()
        machines._wait(lambda: marker.exists() and marker.read_text(), "the reduction")
        machines.restart()
        thread.join()
        (problem,) = problems
        assert isinstance(problem, WorkerError)
        assert "scheduler" in str(problem)
        assert equal(cc.read(votes, reduce=True, cluster=machines.address), cc.read(votes, reduce=True))
    finally:
        machines.close()


def test_two_commands_that_write_one_file_leave_a_whole_one(machines: Machines, votes: Path, tmp_path: Path) -> None:
    machines.fill()
    output, alone = tmp_path / "ranking.csv", tmp_path / "alone.csv"
    command = [sys.executable, "-m", "concordant", "rank", str(votes), "--method", "borda"]
    subprocess.run([*command, "--output", str(alone)], check=True, capture_output=True)
    there = [*command, "--cluster", machines.address, "--output", str(output)]
    writers = [subprocess.Popen(there, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for _ in range(2)]
    for writer in writers:
        assert writer.communicate()
        assert writer.returncode == 0
    assert output.read_bytes() == alone.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["alone.csv", "ranking.csv"]


def test_a_corrupt_file_is_named_by_the_cluster(
    machines: Machines, votes: Path, tmp_path: Path, cluster: Cluster
) -> None:
    good, bad = votes / "00.parquet", tmp_path / "broken.parquet"
    bad.write_bytes(b"PAR1" + b"\0" * 100)
    with pytest.raises(FormatError, match=r"broken\.parquet"):
        cc.read([good, bad], reduce=True, cluster=machines.address)
    kept = cc.read([good, bad], reduce=True, cluster=machines.address, skip_bad_files=True)
    assert equal(kept, cc.read(good, reduce=True))


@pytest.mark.parametrize("is_whole", [True, False], ids=["a file per user", "users in all files"])
def test_ratings_are_ranked_by_the_cluster_as_by_one_process(
    cluster: Cluster, machines: Machines, tmp_path: Path, is_whole: bool
) -> None:
    folder = write_cut(tmp_path, is_whole)
    for method in METHODS:
        here, there = cc.rank(folder, method), cc.rank(folder, method, cluster=machines.address)
        assert there.items == here.items
        np.testing.assert_array_equal(there.score, here.score)
        assert "Dask cluster of 2 workers" in there.ran
    (folder / "1.parquet").write_bytes(b"PAR1" + b"\0" * 100)
    with pytest.raises(FormatError, match=r"1\.parquet"):
        cc.rank(folder, "mpm", cluster=machines.address)
    kept = cc.rank(folder, "mpm", cluster=machines.address, skip_bad_files=True)
    rest = cc.rank([folder / f"{k}.parquet" for k in (0, 2, 3)], "mpm", reduce=True)
    np.testing.assert_array_equal(kept.score, rest.score)


@pytest.mark.parametrize("is_whole", [True, False], ids=["a file per user", "users in all files"])
def test_a_worker_killed_while_ratings_are_counted_loses_nothing(
    cluster: Cluster, machines: Machines, tmp_path: Path, is_whole: bool
) -> None:
    folder, seen = write_cut(tmp_path, is_whole, files=6), []

    def watch(now: progress.Progress) -> None:
        if now.done == 1 and not seen:
            seen.append(now)
            machines.kill_one()

    with progress.listen(watch):
        found = sums(folder, NET_WINS, cluster)
    assert seen
    assert arrays(found.tally) == arrays(sums(folder, NET_WINS, Serial()).tally)


@pytest.mark.parametrize("method", [cc.PlackettLuce(), cc.MPM(adherence=True), cc.Kemeny()], ids=lambda one: one.name)
def test_a_worker_killed_while_instances_are_ranked_loses_nothing(
    cluster: Cluster, machines: Machines, method: cc.Method, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefs, done = instances(), []
    begin = cluster.submit

    def submit(function: Any, *args: Any) -> Any:
        future = begin(function, *args)
        if function is not engine_instances._same and not done:
            done.append(cluster.result(future))
            machines.kill_one()
        return future

    monkeypatch.setattr(cluster, "submit", submit)
    found = rank_in_chunks(method, prefs, cluster)
    tolerance = 1e-9 if not getattr(method, "adherence", False) else 1e-7
    np.testing.assert_allclose(found.score, method.rank(prefs).score, atol=tolerance)
    assert "Dask cluster of 2 workers" in found.ran
    assert done


def test_a_worker_killed_between_gradients_loses_nothing(cluster: Cluster, machines: Machines) -> None:
    whole, spread = objectives(cluster)
    theta = np.array([0.3, -1.0, 0.2, 0.7])
    before = spread(theta)
    machines.kill_one()
    after = spread(theta)
    # To the last bit but one: arrays that came over the network lie in memory otherwise, and so are added up otherwise.
    for value, gradient in (before, after):
        assert value == pytest.approx(whole(theta)[0], abs=1e-14)
        np.testing.assert_allclose(gradient, whole(theta)[1], rtol=0, atol=1e-14)


@pytest.mark.parametrize(("solver", "tolerance"), [("newton", 1e-9), ("lbfgs", 1e-6)])
def test_a_ranker_is_fitted_on_the_cluster(cluster: Cluster, solver: str, tolerance: float) -> None:
    parts = rows(seed=2)
    X, y, qid = (np.concatenate(column) for column in zip(*parts, strict=True))
    said: dict[str, Any] = {"solver": solver, "tol": 1e-14}
    spread = fit_parts(RankNet(**said), itself, parts, cluster)
    np.testing.assert_allclose(spread.coef_, RankNet(**said).fit(X, y, qid=qid).coef_, atol=tolerance)


@pytest.mark.parametrize("params", [{}, {"prior": 1.0}, {"prior": 1.0, "errors": "hessian"}], ids=str)
def test_bradley_terry_of_counts_is_that_of_one_process(
    cluster: Cluster, machines: Machines, votes: Path, params: dict[str, Any]
) -> None:
    here, spread = cc.rank(votes, "bradley-terry", **params), cc.rank(votes, "bradley-terry", workers=2, **params)
    there = cc.rank(votes, "bradley-terry", cluster=machines.address, **params)
    whole = cc.rank(cc.read(votes), "bradley-terry", **params)
    for found, tolerance in ((spread, 1e-12), (there, 1e-12), (whole, 1e-9)):
        assert found.items == here.items
        for name in ("scores", "low", "high"):
            np.testing.assert_allclose(getattr(found, name), getattr(here, name), atol=tolerance)


@pytest.mark.parametrize(
    "method",
    [cc.PlackettLuce(prior=0.5), cc.MPM(), cc.MPM().with_learnt(theta={"u": 1.0, "v": 0.5, "w": 0.1})],
    ids=["plackett-luce", "mpm", "theta-mpm"],
)
def test_instances_fitted_on_the_cluster_are_those_of_one_process(cluster: Cluster, method: cc.Method) -> None:
    prefs = instances()
    here, there = method.rank(prefs), rank_in_chunks(method, prefs, cluster)
    np.testing.assert_allclose(there.score, here.score, atol=1e-9)
    for name in ("slot_low", "slot_high"):
        if getattr(here, name) is not None:
            np.testing.assert_allclose(getattr(there, name), getattr(here, name), atol=1e-9)


def test_a_scheduler_without_workers_is_said(machines: Machines) -> None:
    from distributed import Client

    for worker in machines.workers:
        worker.kill()
        worker.wait()
    with Client(machines.address, set_as_default=False) as client:
        machines._wait(lambda: not client.scheduler_info(n_workers=-1)["workers"], "the end of the workers")
    with pytest.raises(InputError, match="has no workers: start some with"):
        cluster_at(machines.address)


def test_work_on_a_cluster_imports_nothing_from_the_folder_of_the_data(machines: Machines, tmp_path: Path) -> None:
    machines.fill()
    folder = Folder(tmp_path)
    folder.plant(every_name())
    shown = folder.run(*COMMAND, "rank", "1.csv", "2.csv", "--method", "borda", "--cluster", machines.address)
    assert "a" in shown
