"""A cancellation takes effect once, at its work: never in half a message, never at other work, and data are kept."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.web import virtual
from tests.web.asking import question
from tests.web.conftest import Server, View
from tests.web.test_load import SLOW, is_busy, until
from tests.web.test_safety import VOTES, hard_election, workers_of

pytest.importorskip("starlette")

from concordant.web import cancelling
from concordant.web.answers import Answerer
from concordant.web.cancelling import CancelledError, Interrupter
from concordant.web.workers import Worker

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="signals of threads"),
]
LONG = {
    "method": "borda",
    "methods": "borda,kemeny",
}  # the section "methods" takes half a minute, and others that use it


@pytest.fixture
def interrupter() -> Iterator[Interrupter]:
    """An interrupter of this process."""
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGALRM)
    made = Interrupter()
    made.listen()
    yield made
    signal.signal(signal.SIGINT, before[0])
    signal.signal(signal.SIGALRM, before[1])


def cancelled(interrupter: Interrupter, question: int, section: str = "") -> None:
    """Cancel something as the thread that listens does, and wait until the signal was sent."""
    thread = threading.Thread(target=interrupter.cancel, args=({"id": question, "cancel": section},))
    thread.start()
    thread.join()


def busy(rounds: int = 10**10) -> str:
    """Work for longer than anybody waits."""
    for _ in range(rounds):
        pass
    return "done"


def pause(seconds: float) -> None:
    """Wait, as a library does that lets signals in."""
    threading.Event().wait(seconds)


def many_votes(count: int) -> str:
    """Return votes that take a moment to read."""
    return "winner,loser\n" + "".join(f"i{k % 997},i{(k + 1 + k // 997) % 997}\n" for k in range(count))


# ---- one region ----
def test_work_is_interrupted(interrupter: Interrupter) -> None:
    threading.Timer(0.05, cancelled, (interrupter, 1)).start()
    with pytest.raises(CancelledError):
        interrupter.run(1, "", busy)
    assert interrupter.run(2, "", lambda: "next") == "next"


def test_work_that_was_cancelled_before_does_not_begin(interrupter: Interrupter) -> None:
    cancelled(interrupter, 1)
    with pytest.raises(CancelledError):
        interrupter.run(1, "", lambda: pytest.fail("it began"))


def test_a_late_cancellation_does_not_reach_the_next_question(interrupter: Interrupter) -> None:
    assert interrupter.run(1, "", lambda: "done") == "done"
    cancelled(interrupter, 1)
    assert interrupter.run(2, "", lambda: "next") == "next"


def test_a_section_is_cancelled_and_its_question_goes_on(interrupter: Interrupter) -> None:
    def work() -> list[str]:
        done = [interrupter.run(1, "first", lambda: "first")]
        threading.Timer(0.05, cancelled, (interrupter, 1, "second")).start()
        with pytest.raises(CancelledError):
            interrupter.run(1, "second", busy)
        cancelled(interrupter, 1, "first")  # which is over
        return [*done, interrupter.run(1, "third", lambda: "third")]

    assert interrupter.run(1, "", work) == ["first", "third"]


def test_a_question_that_is_cancelled_within_a_section_is_given_up(interrupter: Interrupter) -> None:
    def work() -> None:
        threading.Timer(0.05, cancelled, (interrupter, 1)).start()
        interrupter.run(1, "first", busy)
        pytest.fail("it went on")

    with pytest.raises(CancelledError):
        interrupter.run(1, "", work)


def test_an_interrupt_that_a_library_swallows_takes_effect_at_the_end(interrupter: Interrupter) -> None:
    def stubborn() -> str:
        try:
            cancelled(interrupter, 1, "s")
            busy(1000)
        except BaseException:
            pass
        return "done"

    with pytest.raises(CancelledError):
        interrupter.run(1, "s", stubborn)


def test_a_message_is_sent_whole_and_then_the_interrupt_comes(interrupter: Interrupter) -> None:
    sent = []

    def work() -> None:
        with interrupter.paused():
            cancelled(interrupter, 1)
            busy(1000)
            sent.append("whole")
        pytest.fail("it went on")

    with pytest.raises(CancelledError):
        interrupter.run(1, "", work)
    assert sent == ["whole"]


def test_a_module_is_imported_whole_and_then_the_interrupt_comes(
    interrupter: Interrupter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "slow_to_import.py").write_text(
        "import tests.web.test_cancelling as tests\ntests.IMPORTING()\nis_whole = True\n"
    )
    monkeypatch.syspath_prepend(tmp_path)

    def importing() -> None:
        cancelled(interrupter, 1)
        pause(3 * cancelling.AGAIN)

    monkeypatch.setattr(sys.modules[__name__], "IMPORTING", importing, raising=False)
    monkeypatch.setitem(sys.modules, "tests.web.test_cancelling", sys.modules[__name__])

    def work() -> None:
        import slow_to_import  # type: ignore[import-not-found]

        assert slow_to_import.is_whole
        busy()

    with pytest.raises(CancelledError):
        interrupter.run(1, "", work)
    assert sys.modules.pop("slow_to_import").is_whole


def test_wherever_an_interrupt_comes_it_has_one_effect(interrupter: Interrupter) -> None:
    """Cancel a section, or the question, before each bytecode instruction of the regions in turn."""
    inside = [cancelling.__file__]

    def outcome(step: int, section: str) -> tuple[list[str], bool]:
        number, count, done = step + 1, 0, []

        def trace(frame: Any, event: str, _: Any) -> Any:
            nonlocal count
            if frame.f_code.co_filename not in inside or frame.f_code.co_name not in ("run", "paused"):
                return None
            frame.f_trace_opcodes = True
            if event == "opcode":
                count += 1
                if count == step:
                    cancelled(interrupter, number, section)
            return trace

        def work() -> str:
            for name in ("a", "b"):
                try:
                    done.append(interrupter.run(number, name, lambda: name))  # noqa: B023
                except CancelledError:
                    done.append("cancelled")
                with interrupter.paused():
                    pass
            return "answer"

        sys.settrace(trace)
        try:
            done.append(interrupter.run(number, "", work))
        except CancelledError:
            done.append("given up")
        finally:
            sys.settrace(None)
        return done, count >= step

    if sys.gettrace() is not None:
        pytest.skip("a debugger or the coverage of tests is tracing")
    for section, allowed in (
        ("a", ({"a", "cancelled"}, {"b"}, {"answer"})),
        ("b", ({"a"}, {"b", "cancelled"}, {"answer"})),
    ):
        step, is_reached = 0, True
        while is_reached:
            step += 1
            done, is_reached = outcome(step, section)
            assert len(done) == 3, (section, step, done)
            assert all(one in wanted for one, wanted in zip(done, allowed, strict=True)), (section, step, done)
        assert step > 100
    step, is_reached = 0, True
    while is_reached:
        step += 1
        done, is_reached = outcome(step, "")
        assert done[-1] in ("given up", "answer"), (step, done)
        assert "cancelled" not in done, (step, done)
    assert interrupter.run(10**9, "", lambda: "next") == "next"


# ---- an answerer ----
class AtCall:
    """Does something at the n-th call of a Python function, and counts the calls."""

    def __init__(self, step: int, act: Callable[[], None]) -> None:
        self.step, self.act, self.count = step, act, 0

    def __enter__(self) -> AtCall:
        if sys.gettrace() is not None:
            pytest.skip("a debugger or the coverage of tests is tracing")
        sys.settrace(self._call)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def _call(self, frame: Any, event: str, _: Any) -> None:
        self.count += 1
        if self.count == self.step:
            self.act()


@pytest.mark.parametrize("section", ["", "methods", "data"])
def test_cancelled_at_any_moment_the_next_question_is_answered_in_full(
    interrupter: Interrupter, tmp_path: Path, section: str
) -> None:
    path, told = tmp_path / "votes.csv", list[dict[str, Any]]()
    path.write_bytes(VOTES)

    def tell(update: Any) -> None:
        with interrupter.paused():
            told.append(json.loads(json.dumps(update)))

    def ask(number: int, step: int) -> tuple[dict[str, Any], int]:
        told.clear()
        changing = {"min_ballots": str(number / 1000), "method": ("borda", "elo", "copeland")[number % 3]}
        with AtCall(step, lambda: cancelled(interrupter, number, section)) as calls:
            return dict(answerer.answer(question(number, path, **changing))), calls.count

    answerer, draw = Answerer(tell, interrupter), random.Random(4)
    ask(1, 0)
    _, calls = ask(2, 0)
    ends = []
    for number in range(3, 20):
        answer, _ = ask(number, draw.randrange(1, calls))
        gone = [update["cancelled"] for update in told if "cancelled" in update]
        assert gone in ([], [section])
        assert not answer["error"]
        ends.append(bool(gone or answer.get("is_cancelled")))
    assert any(ends)
    told.clear()
    assert answerer.answer(question(100, path)) == {"error": None}
    assert {one["section"] for one in told if "section" in one} == {"ranking", "why", "methods", "duels", "data"}


@pytest.mark.slow
def test_a_cancelled_reading_leaves_no_half_read_data(interrupter: Interrupter, tmp_path: Path) -> None:
    path = tmp_path / "many.csv"
    path.write_text(many_votes(200_000))
    told: list[dict[str, Any]] = []
    answerer, given_up = Answerer(told.append, interrupter), 0
    for number in range(1, 8):
        timer = threading.Timer(number / 20, cancelled, (interrupter, number))
        timer.start()
        given_up += "is_cancelled" in answerer.answer(question(number, path, min_ballots=str(number / 100)))
        timer.join()
    assert given_up
    told.clear()
    assert answerer.answer(question(100, path, method="borda"))["error"] is None
    assert "200,000" in next(update["summary"] for update in told if "summary" in update)


# ---- a worker ----
@pytest.mark.slow
def test_a_question_is_given_up_and_the_process_keeps_its_data(tmp_path: Path) -> None:
    (tmp_path / "votes.csv").write_text(many_votes(300_000))

    async def run() -> None:
        worker = Worker(str(tmp_path), 1 << 32, 100.0)
        updates: list[Any] = []
        for number in range(1, 6):
            asking = asyncio.create_task(
                worker.ask(question(number, Path("votes.csv"), min_ballots=str(number)), updates.append)
            )
            await asyncio.sleep(0.3 * number)
            pid = worker.pid
            asking.cancel()
            await asyncio.wait([asking])
            assert worker.pid == pid, "the process lives on"
        before = len(updates)
        assert (await worker.ask(question(9, Path("votes.csv")), updates.append))["error"] is None
        assert worker.pid == pid
        assert {"title", "summary"} <= {name for update in updates[before:] for name in update}
        await worker.end()

    virtual.run(run(), asyncio.new_event_loop)


@pytest.mark.slow
def test_cancelling_again_and_again_keeps_the_frames_whole(tmp_path: Path) -> None:
    (tmp_path / "votes.csv").write_bytes(VOTES)

    async def run() -> None:
        worker, draw = Worker(str(tmp_path), 1 << 32, 100.0), random.Random(8)
        assert (await worker.ask(question(1, Path("votes.csv")), lambda _: None))["error"] is None
        pid, ends = worker.pid, []
        for number in range(2, 60):
            updates: list[Any] = []
            asking = asyncio.create_task(worker.ask(question(number, Path("votes.csv")), updates.append))
            for _ in range(draw.randrange(8)):
                worker.cancel(number, draw.choice(["", "ranking", "why", "methods", "duels", "data", "nothing"]))
                await asyncio.sleep(draw.uniform(0, 0.05))
            worker.cancel(number - 1, "")
            worker.cancel(10**14, "")
            ends.append(bool((await asking).get("is_cancelled")))
            sections = [
                one.get("section", one.get("cancelled")) for one in updates if {"section", "cancelled"} & {*one}
            ]
            assert ends[-1] or sections == ["ranking", "why", "methods", "duels", "data"]
        assert worker.pid == pid
        assert {*ends} == {True, False}
        assert (await worker.ask(question(100, Path("votes.csv")), lambda _: None)) == {"id": 100, "error": None}
        await worker.end()

    virtual.run(run(), asyncio.new_event_loop)


def test_work_that_does_not_heed_is_ended_with_its_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "votes.csv").write_bytes(VOTES)
    monkeypatch.setattr("concordant.web.workers.GRACE", 0.2)

    async def run() -> None:
        worker = Worker(str(tmp_path), 1 << 32, 100.0)
        process = await worker.start()
        os.kill(process.pid, signal.SIGSTOP)  # as deaf as a library that never returns
        asking = asyncio.create_task(worker.ask(question(1, Path("votes.csv")), lambda _: None))
        await asyncio.sleep(0.1)
        asking.cancel()
        await asyncio.wait([asking])
        assert asking.cancelled()
        assert worker.pid is None
        assert (await worker.ask(question(2, Path("votes.csv")), lambda _: None))["error"] is None
        await worker.end()

    virtual.run(run(), asyncio.new_event_loop)


# ---- a server ----
def cancel_sections(server: Server, key: str, view: View) -> None:
    """Cancel the sections of a view that need the comparison of methods."""
    while (line := view.read()) is not None:
        if (section := line.get("job", {}).get("section")) in ("ranking", "methods", "data"):
            server.cancel(key, view.id, section)


def test_a_section_is_cancelled_and_the_others_arrive(server: Server) -> None:
    key = server.upload(hard_election(), "hard.csv")
    view = server.open_view(key, **LONG)
    cancel_sections(server, key, view)
    assert view.state == "done"
    assert "methods" in view.cancelled
    assert {"why", "duels"} <= view.sections.keys()
    assert not {*view.cancelled} & view.sections.keys()
    assert 'value="copeland"' in view.regions["controls"], "all settings can be changed"
    again = server.work(key, method="borda", methods="borda,copeland", part="methods")
    assert again.state == "done"
    assert again.sections.keys() == {"methods"}


def test_a_view_is_cancelled_and_the_page_goes_on(server: Server) -> None:
    key = server.upload(hard_election(), "hard.csv")
    view = server.open_view(key, **SLOW)
    view.until("job")
    server.cancel(key, view.id)
    assert view.wait().state == "cancelled"
    assert view.error is None
    assert server.work(key, method="borda").state == "done"


def test_a_view_that_still_waits_is_cancelled(start_server: Callable[..., Server]) -> None:
    server = start_server(at_once=1)
    key = server.upload(hard_election(), "hard.csv")
    first = server.open_view(key, **SLOW)
    first.until("job")
    waiting = server.open_view(key, method="borda")
    waiting.until("id")
    server.cancel(key, waiting.id)
    assert waiting.wait().state == "cancelled"
    server.cancel(key, first.id)
    assert first.wait().state == "cancelled"


def test_cancelling_what_is_not_at_work_has_no_effect(server: Server) -> None:
    key, other = server.upload(hard_election(), "hard.csv"), server.upload(VOTES)
    view = server.open_view(key, **LONG)
    while not (section := view.until("job")["job"]["section"]):
        pass
    server.cancel(other, view.id)  # another data set
    server.cancel(key, view.id + 1)
    server.cancel(key, 10**14)
    server.cancel(key, view.id, "nothing")
    server.cancel(key, view.id, "data")
    for query in ("", "id=", "id=x", "id=-1", "id=1.5", "id=" + "9" * 16, f"id={view.id}&section={'s' * 101}"):
        status, _, content = server.ask("POST", f"/api/data/{key}/cancel?{query}")
        assert status == 400, query
        assert json.loads(content)["error"]
    assert server.ask("POST", f"/api/data/0123456789abcdef/cancel?id={view.id}")[0] == 410
    server.cancel(key, view.id, section)
    cancel_sections(server, key, view)
    assert view.state == "done"
    assert "data" in view.cancelled, "before it began"
    assert server.work(other).state == "done"


def test_work_ends_when_its_client_leaves(start_server: Callable[..., Server]) -> None:
    server = start_server(line=1)
    key = server.upload(hard_election(), "hard.csv")
    view = server.open_view(key, **SLOW)
    view.until("job")
    until(lambda: is_busy(server))
    assert server.ask("GET", f"/api/data/{key}/view")[0] == 503, "the line is full"
    view.leave()
    until(lambda: not is_busy(server))
    assert server.work(key, method="borda").state == "done"
    assert server.work(key, method="copeland").state == "done"


@pytest.mark.slow
def test_a_worker_keeps_the_data_when_a_client_leaves(start_server: Callable[..., Server]) -> None:
    server = start_server()
    key = server.upload(many_votes(300_000).encode())
    for seconds in (0.0, 0.1, 0.3, 0.6):
        view = server.open_view(key, method="borda")
        view.until("progress")
        pause(seconds)
        (worker,) = workers_of(server)
        view.leave()
        assert server.work(key, method="borda", part="data").state == "done"
        assert workers_of(server) == [worker]


def test_pages_of_one_data_set_with_other_settings_are_independent(server: Server) -> None:
    key = server.upload(VOTES)
    views = [server.open_view(key, method=name) for name in ("borda", "copeland", "elo")]
    for view, name in zip(views, ("borda", "copeland", "elo"), strict=True):
        view.wait()
        assert view.state == "done"
        assert f'value="{name}" selected' in view.regions["controls"]
    assert len({view.id for view in views}) == 3


def test_a_data_set_that_is_closed_in_the_middle_is_said_to_be(server: Server) -> None:
    key = server.upload(hard_election(), "hard.csv")
    view = server.open_view(key, **SLOW)
    view.until("job")
    server.json("POST", f"/api/data/{key}/close")
    view.wait()
    assert view.state == "failed"
    assert "no longer open" in view.error
    assert server.ask("GET", f"/api/data/{key}/view")[0] == 410
