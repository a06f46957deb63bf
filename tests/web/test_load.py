"""The server under load: limits hold at every moment, what is refused is said, nothing in use is taken away."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from tests.web import virtual
from tests.web.conftest import TIMEOUT, Server, address, half_sent, stop
from tests.web.test_safety import VOTES, hard_election, workers_of

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")


from concordant.web import uploads
from concordant.web.workers import Worker

pytestmark = pytest.mark.once
POSIX = pytest.mark.skipif(os.name != "posix", reason="signals and locks of Unix")
SLOW = {"method": "kemeny", "params": {"time_limit": "500"}}


def until(holds: Callable[[], bool]) -> None:
    """Wait for something that must come."""
    pause = threading.Event()
    for _ in range(int(TIMEOUT / 0.05)):
        if holds():
            return
        pause.wait(0.05)
    raise AssertionError("it did not come")


def is_busy(server: Server) -> bool:
    """Return whether a worker is at work: it has further threads than those that read and listen."""
    threads = 0
    for worker in workers_of(server):
        with suppress(OSError):
            threads = max(threads, len(os.listdir(f"/proc/{worker}/task")))
    return threads > 2


@contextmanager
def peak_workers(server: Server) -> Iterator[list[int]]:
    """Count the workers of a server again and again; the last number is the largest."""
    counts, over = [0], threading.Event()

    def look() -> None:
        while not over.wait(0.003):
            counts.append(max(counts[-1], len(workers_of(server))))

    workers_of(server)
    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield counts
    finally:
        over.set()
        looking.join()


# ---- a server ----
@pytest.mark.slow
def test_uploads_at_once_are_all_ranked_and_workers_stay_within_the_limit(start_server: Callable[..., Server]) -> None:
    server = start_server(workers=2, at_once=2, data_sets=3, transfers=4, line=2)

    def one(number: int) -> str:
        key = server.upload(VOTES + f"w{number},cy\n".encode())
        return server.work(key).state

    with peak_workers(server) as counts, ThreadPoolExecutor(10) as pool:
        assert set(pool.map(one, range(10))) == {"done"}
    assert set(server.statuses) == {200, 503}, "there were too many for all at once"
    assert 0 < counts[-1] <= 2


def test_slow_uploads_are_bounded_and_pages_are_served(start_server: Callable[..., Server]) -> None:
    server = start_server(transfers=2)
    lines = [half_sent(server) for _ in range(6)]
    for line in lines[2:]:
        answer = b""
        while b"}" not in answer:
            answer += line.recv(3000)
        assert answer.startswith(b"HTTP/1.1 503")
        assert b"retry-after: 2" in answer.lower()
        assert b"try again" in answer
    assert server.ask("GET", "/")[0] == 200
    for line in lines:
        line.close()
    assert server.work(server.upload(VOTES)).state == "done", "the places of those who left are free"


def test_an_upload_that_stands_still_is_refused_and_leaves_nothing(start_server: Callable[..., Server]) -> None:
    server = start_server(window=0.1, transfers=1)
    with half_sent(server) as line:
        assert line.recv(3000).startswith(b"HTTP/1.1 408")
    until(lambda: not list(server.temporary.rglob("*.csv")))
    assert server.upload(VOTES)


def test_a_data_set_in_use_is_not_evicted(start_server: Callable[..., Server]) -> None:
    server = start_server(data_sets=1)
    key = server.upload(hard_election())
    assert server.ask("POST", "/api/data", VOTES)[0] == 503, "nobody has looked at the first one yet"
    view = server.open_view(key, **SLOW)
    view.until("job")
    status, headers, content = server.ask("POST", "/api/data", VOTES)
    assert status == 503
    assert int(headers["retry-after"]) > 0
    assert "all are in use" in json.loads(content)["error"]
    server.cancel(key, view.id)
    assert view.wait().state == "cancelled"
    assert server.upload(VOTES), "its result was seen"
    assert server.ask("GET", f"/api/data/{key}/view")[0] == 410


def test_too_many_connections_are_answered(start_server: Callable[..., Server]) -> None:
    server = start_server(connections=2)
    lines = [half_sent(server) for _ in range(2)]
    server_is_full = server.ask("GET", "/")
    assert server_is_full[0] == 503
    assert int(server_is_full[1]["retry-after"]) > 0
    for line in lines:
        line.close()
    until(lambda: server.ask("GET", "/")[0] == 200)


def test_a_download_whose_client_leaves_or_whose_worker_is_killed_is_given_up(
    start_server: Callable[..., Server],
) -> None:
    server = start_server()
    key = server.upload(hard_election())
    path = f"/api/data/{key}/download/csv?{address(SLOW)}"
    with socket.create_connection(("127.0.0.1", server.port)) as leaving:
        head = f"Host: 127.0.0.1:{server.port}\r\nCookie: {server.cookie}\r\n\r\n"
        leaving.sendall(f"GET {path} HTTP/1.1\r\n{head}".encode())
        until(lambda: is_busy(server))
    until(lambda: not is_busy(server))
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(server.ask, "GET", path)
        until(lambda: is_busy(server))
        os.kill(workers_of(server)[0], signal.SIGKILL)
        status, _, content = waiting.result()
    assert status == 400
    assert b"signal 9" in content
    assert server.work(key, method="borda").state == "done"


def test_two_downloads_of_one_data_set_at_once_are_both_whole(server: Server) -> None:
    key = server.upload(VOTES)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda kind: server.ask("GET", f"/api/data/{key}/download/{kind}"), ["csv", "json"] * 2))
    assert [status for status, _, _ in found] == [200] * 4
    assert found[0][2] == found[2][2]
    assert json.loads(found[1][2])["method"]


def test_labels_that_are_no_text_are_a_sentence(server: Server) -> None:
    rows = b'{"winner": "\\ud800", "loser": "bob"}\n{"winner": "bob", "loser": "cy"}\n'
    view = server.work(server.upload(rows, "votes.jsonl"))
    assert view.state == "failed"
    assert "votes.jsonl" in view.error


@POSIX
def test_a_file_whose_name_is_no_text_is_shown(start_server: Callable[..., Server], tmp_path: Path) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/v\xff<b>.csv")
    Path(path).write_bytes(VOTES)
    server = start_server(path)
    ((key, page),) = [(key, server.ask("GET", f"/d/{key}")) for key in server.data_sets()]
    assert page[0] == 200
    assert b"v\\udcff&lt;b&gt;.csv" in page[2]
    assert server.work(key).state == "done"
    for kind in ("csv", "xlsx", "card"):
        status, headers, _ = server.ask("GET", f"/api/data/{key}/download/{kind}")
        assert status == 200
        assert re.fullmatch(r"attachment; filename\*=UTF-8''v__b_-[a-z.-]+", headers["content-disposition"])


# ---- requests that are none ----
def test_unknown_paths_and_methods_are_refused(server: Server) -> None:
    for path in ("/nowhere", "/api", "/api/data/x/y", "/static/../app.py", "/static/x", "/d/a/b", "//"):
        assert server.ask("GET", path)[0] == 404, path
    for path in ("/api/data", "/api/data/x/cancel", "/api/data/x/close", "/api/example/x"):
        assert server.ask("GET", path)[0] == 405, path
    assert server.ask("POST", "/")[0] == 405
    assert server.ask("GET", f"/?{'a' * 100_000}")[0] == 414
    assert server.ask("GET", "/", headers={"X-Long": "a" * 100_000})[0] == 431
    assert server.ask("GET", "/api/data/x/view?centre=" + "9" * 1000)[0] == 400
    assert server.ask("GET", "/api/data/x/view?centre=9")[0] == 410


# ---- the end ----
@POSIX
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, -15), (getattr(signal, "SIGHUP", 1), -1)]
)
def test_every_signal_that_ends_the_server_removes_uploads(
    start_server: Callable[..., Server], number: int, code: int
) -> None:
    server = start_server()
    server.upload(VOTES)
    with half_sent(server):
        assert list(server.temporary.iterdir())
        server.process.send_signal(number)
        assert server.process.wait(TIMEOUT) == code
    assert list(server.temporary.iterdir()) == []


@POSIX
def test_a_server_that_stops_ends_its_work(start_server: Callable[..., Server]) -> None:
    server = start_server()
    view = server.open_view(server.upload(hard_election(), "hard.csv"), **SLOW)
    view.until("job")
    workers = workers_of(server)
    server.process.send_signal(signal.SIGINT)
    assert server.process.wait(TIMEOUT) == 0
    assert view.wait().state == "", "the page says that the connection was lost"
    assert [worker for worker in workers if Path(f"/proc/{worker}").exists()] == []
    assert list(server.temporary.iterdir()) == []


@POSIX
def test_what_a_killed_server_left_goes_when_another_starts(
    start_server: Callable[..., Server], tmp_path: Path
) -> None:
    dead, living = start_server(temporary=tmp_path), start_server(temporary=tmp_path)
    dead.upload(VOTES, "dead.csv")
    key = living.upload(VOTES, "living.csv")
    (tmp_path / "concordant-serve-link").symlink_to(tmp_path)
    dead.process.kill()
    dead.process.wait()
    third = start_server(temporary=tmp_path)
    assert [path.name for path in tmp_path.rglob("*.csv")] == ["living.csv"]
    assert living.work(key).state == "done"
    assert {stop(living), stop(third)} == {0}


@POSIX
def test_a_folder_that_is_locked_is_not_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    own = uploads.Folder()
    made = Path(own.new())
    (tmp_path / "concordant-serve-dead").mkdir()
    assert uploads.remove_stale() == 1
    assert made.is_dir()
    own.remove()
    assert list(tmp_path.iterdir()) == []


def test_temporary_files_of_a_worker_go_when_it_is_ended(tmp_path: Path) -> None:
    async def run() -> None:
        worker = Worker(str(tmp_path), 1 << 32, 10.0, lambda: tempfile.mkdtemp(dir=tmp_path))
        process = await worker.start()
        (scratch,) = tmp_path.iterdir()
        environment = Path(f"/proc/{process.pid}/environ")
        if environment.exists():
            until(lambda: bool(environment.read_bytes()))  # empty while the process is about to begin
            assert f"TMPDIR={scratch}".encode() in environment.read_bytes()
        (scratch / "unpacked").write_bytes(b"left by a worker that was killed")
        await worker.end()
        assert list(tmp_path.iterdir()) == []

    virtual.run(run(), asyncio.new_event_loop)
