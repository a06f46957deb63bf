"""The parts of the server, on a clock of their own: what is held is released, whatever becomes of a request."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, suppress
from typing import Any

import pytest
from tests.web import virtual

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
