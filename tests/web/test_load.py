"""The server under load: limits hold at every moment, what is refused is said, nothing in use is taken away."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import signal
import socket
import tempfile
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.web import virtual
from tests.web.conftest import TIMEOUT, Server, address, half_sent, stop
from tests.web.test_safety import VOTES, hard_election, workers_of

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from concordant.errors import ConcordantError
from concordant.web import connections, uploads
from concordant.web.pool import BusyError, Limits, Pool
from concordant.web.stores import DataSet, GoneError, Store
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


# ---- parts, on a clock of their own ----
class FakeWorker(Worker):
    """A worker without a process, which takes its time to start, to answer and to end."""

    live, peak = 0, 0

    def __init__(self, seconds: float = 1.0) -> None:
        super().__init__("", 0, 0.0)
        self.takes, self.has_process = seconds, False

    async def start(self) -> Any:
        if not self.has_process:
            self.has_process = True
            FakeWorker.live += 1
            FakeWorker.peak = max(FakeWorker.peak, FakeWorker.live)
            await asyncio.sleep(0.5)

    async def ask(self, question: dict[str, Any], progress: Any) -> dict[str, Any]:
        try:
            await self.start()
            await asyncio.sleep(self.takes)
        except asyncio.CancelledError:
            await self.end()
            raise
        return {"error": None}

    async def end(self) -> None:
        await asyncio.sleep(0.3)
        if self.has_process:
            self.has_process = False
            FakeWorker.live -= 1


def test_there_are_never_more_workers_than_places_whatever_is_cancelled() -> None:
    async def main() -> Counter[str]:
        draw, told = random.Random(3), Counter[str]()
        limits = Limits(workers=3, at_once=2, line=20)
        pool = Pool(limits)
        workers = [FakeWorker(draw.choice([0.0, 0.2, 2.0])) for _ in range(30)]

        async def one(number: int) -> None:
            await asyncio.sleep(draw.uniform(0, 40))
            worker = workers[number % 30]
            if number % 7 == 0:
                await pool.prepare(worker)
            elif number % 11 == 0:
                await pool.release(worker)
            else:
                with pool.admission():
                    await pool.ask(worker, {}, lambda _: None)
                    told["answered"] += 1

        tasks = [asyncio.create_task(one(number)) for number in range(400)]
        for task in tasks[::5]:
            asyncio.get_running_loop().call_later(draw.uniform(0, 60), task.cancel)
        for result in await asyncio.gather(*tasks, return_exceptions=True):
            told["busy"] += isinstance(result, BusyError)
            assert result is None or isinstance(result, BusyError | asyncio.CancelledError), result
        assert pool.admitted == 0
        with pool.admission():
            await asyncio.wait_for(pool.ask(workers[0], {}, lambda _: None), 1000)
        await pool.close()
        return told

    FakeWorker.live = FakeWorker.peak = 0
    told = virtual.run(main())
    assert FakeWorker.peak == 3
    assert FakeWorker.live == 0
    assert told["answered"] > 20
    assert told["busy"] > 20


class FakeRequest:
    """A body that comes in chunks, each after some seconds."""

    def __init__(self, chunks: list[tuple[float, int]]) -> None:
        self.chunks = chunks

    async def stream(self) -> AsyncIterator[bytes]:
        for seconds, size in self.chunks:
            await asyncio.sleep(seconds)
            yield b"x" * size


def received(chunks: list[tuple[float, int]]) -> int:
    async def take(_: bytes) -> None:
        await asyncio.sleep(1000)  # a slow disk is not the client's fault

    return virtual.run(uploads.receive(FakeRequest(chunks), Limits(window=30, min_bytes=100_000), take))  # type: ignore[arg-type]


def test_a_slow_upload_that_goes_on_is_taken() -> None:
    assert received([(25, 100_000)] * 40) == 4_000_000
    assert received([(5, 25_000)] * 200) == 5_000_000, "about as slow as a modem"


@pytest.mark.parametrize(
    "chunks", [[(31, 1)], [(1, 10), (1, 10), (40, 10)], [(3, 1000)] * 100, [(1, 3_000_000), (31, 9)]]
)
def test_an_upload_that_is_too_slow_is_refused(chunks: list[tuple[float, int]]) -> None:
    with pytest.raises(HTTPException, match="too slow"):
        received(chunks)


async def opened(store: Store, seconds: float = 1.0) -> DataSet:
    key = await store.add("x", "/nowhere")
    data = store.find(key)
    data.worker = FakeWorker(seconds)
    return data


class Asked:
    """A client of a view: what it was sent, and when it leaves or breaks down."""

    def __init__(self, leaves: float = 1e9, breaks: int = 1_000_000) -> None:
        self.leaves, self.breaks = leaves, breaks
        self.lines: list[dict[str, Any]] = []

    async def receive(self) -> dict[str, Any]:
        await asyncio.sleep(self.leaves)
        return {"type": "http.disconnect"}

    async def send(self, message: dict[str, Any]) -> None:
        if len(self.lines) >= self.breaks:
            raise OSError("the connection is gone")
        if message.get("body"):
            self.lines.append(json.loads(message["body"]))

    async def view(self, store: Store, data: DataSet, held: ExitStack) -> None:
        from concordant.web.app import View

        scope = {"type": "http", "asgi": {"spec_version": "2.3"}, "method": "GET", "headers": []}
        question = store.question(data, {"params": {}, "roles": {}})
        with suppress(OSError, ClientDisconnect):
            await View(store, data, question, held)(scope, self.receive, self.send)


def test_whatever_becomes_of_a_view_its_place_and_its_data_are_free_afterwards() -> None:
    async def main() -> None:
        store = Store(Limits(line=1))
        data = await opened(store, 10.0)
        (key,) = store.data_sets

        async def ends(client: Asked, act: Callable[[], object] = lambda: None) -> list[str]:
            with ExitStack() as stack:
                stack.enter_context(store.lease(key))
                stack.enter_context(store.pool.admission())
                viewing = asyncio.create_task(client.view(store, data, stack.pop_all()))
            await asyncio.sleep(3)
            if not viewing.done():
                assert (store.pool.admitted, data.leases, len(store.working)) == (1, 1, 1)
            act()
            await asyncio.wait([viewing])
            await asyncio.sleep(1)  # until a worker that was ended has ended
            assert (store.pool.admitted, data.leases, len(store.working)) == (0, 0, 0)
            return [line["state"] for line in client.lines if "state" in line]

        def working() -> int:
            return next(iter(store.working))

        assert await ends(Asked()) == ["done"]
        assert data.is_seen
        assert await ends(Asked(leaves=2)) == []
        assert await ends(Asked(leaves=4)) == []
        assert not data.is_seen, "nobody got it"
        assert await ends(Asked(breaks=0)) == []
        assert await ends(Asked(breaks=1)) == []
        assert await ends(Asked(), lambda: store.cancel(data, working(), "")) == ["cancelled"]
        assert await ends(Asked(), lambda: store.working[working()].task.cancel()) == [], "the server is stopping"
        told = Asked()
        closing: list[Any] = []
        assert await ends(told, lambda: closing.append(asyncio.ensure_future(store.drop(key)))) == ["failed"]
        assert "no longer open" in told.lines[-1]["error"]
        await asyncio.wait(closing)
        await store.close()

    virtual.run(main())


def test_a_view_says_what_is_at_work_when_nothing_comes_for_a_while() -> None:
    async def main() -> None:
        store = Store(Limits())
        first, second = await opened(store, 10.0), await opened(store, 1.0)
        second.worker = first.worker
        keys, clients = list(store.data_sets), [Asked(), Asked()]
        viewing = []
        for key, client in zip(keys, clients, strict=True):
            with ExitStack() as stack:
                data = stack.enter_context(store.lease(key))
                viewing.append(asyncio.create_task(client.view(store, data, stack.pop_all())))
        await asyncio.wait(viewing)
        for client in clients:
            jobs = [line["job"] for line in client.lines if "job" in line]
            assert jobs == [{"section": "", "text": "Waiting for other work", "share": None, "left": ""}]

    virtual.run(main())


def test_a_data_set_that_is_closed_during_an_upload_leaves_no_bytes() -> None:
    async def main() -> None:
        store = Store(Limits(body=100))
        data = await opened(store)
        (key,) = store.data_sets
        await store.reserve(data, 60)
        await store.drop(key)
        with pytest.raises(GoneError):
            await store.reserve(data, 10)
        store.unreserve(data, 60)  # as the upload does that was given up
        assert store.size == 0

    virtual.run(main())


def test_work_on_a_file_in_place_is_given_up_when_files_are_added() -> None:
    async def main() -> None:
        store = Store(Limits())
        data = await opened(store, 1e9)
        work = store.begin(data, store.question(data, {}), lambda _: None)
        await asyncio.sleep(1)
        await store.own(data)
        await asyncio.wait([work.task])
        assert work.answer() == {"error": None, "is_cancelled": True}
        assert data.folder.startswith(store.folder.path())
        await store.close()

    virtual.run(main())


def test_room_is_made_of_what_is_not_in_use() -> None:
    async def main() -> None:
        store = Store(Limits(data_sets=2, grace=30, body=100))
        first, second = [await opened(store) for _ in range(2)]
        with pytest.raises(BusyError, match="all are in use"):
            await store.add("y", "/nowhere")
        await asyncio.sleep(31)
        key = next(iter(store.data_sets))
        with store.lease(key) as held:
            assert held is first
            await store.add("y", "/nowhere")
            assert second.is_gone
        with pytest.raises(GoneError):
            await store.reserve(second, 1)

    virtual.run(main())


def test_bytes_of_all_uploads_are_bounded() -> None:
    async def main() -> None:
        store = Store(Limits(body=100, grace=30))
        first, second = [await opened(store) for _ in range(2)]
        await store.reserve(first, 600)
        with pytest.raises(BusyError):
            await store.reserve(second, 600)
        with pytest.raises(ConcordantError, match="at most"):
            await store.reserve(first, 600)
        await asyncio.sleep(31)
        with store.lease(list(store.data_sets)[1]):
            await store.reserve(second, 600)
        assert first.is_gone
        assert store.size == 600

    virtual.run(main())


class Transport:
    """The writing side of a connection."""

    size, is_aborted, is_closed = 100, False, False

    def get_write_buffer_size(self) -> int:
        return self.size

    def abort(self) -> None:
        self.is_aborted = True

    def close(self) -> None:
        self.is_closed = True


def connected() -> tuple[Any, Transport]:
    connection, transport = object.__new__(connections.Connection), Transport()
    connection.transport, connection.loop, connection.cycle = transport, asyncio.get_running_loop(), None  # type: ignore[assignment]
    return connection, transport


def test_an_answer_that_nobody_reads_is_given_up() -> None:
    async def main() -> None:
        connection, transport = connected()
        connection._watch_write(101)
        for _ in range(5):
            transport.size -= 1
            await asyncio.sleep(connections.WRITE_SECONDS)
            assert not transport.is_aborted
        await asyncio.sleep(connections.WRITE_SECONDS + 1)
        assert transport.is_aborted

    virtual.run(main())


def test_headers_that_do_not_come_to_an_end_are_given_up() -> None:
    async def main() -> None:
        connection, transport = connected()
        for _ in range(9):  # a byte in every second
            connection._watch_head()
            await asyncio.sleep(connections.HEAD_SECONDS / 10)
        assert not transport.is_closed
        await asyncio.sleep(connections.HEAD_SECONDS / 5)
        assert transport.is_closed

    virtual.run(main())
