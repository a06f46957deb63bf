"""Load the web server with concurrent, slow, malformed and interrupted requests; print a table of what happened.

    python -m tools.load_pages

Starts servers on 127.0.0.1 and free ports, and ends them. The number of requests and the time are bounded: about two
minutes on two cores. Exits with code 1 where a limit was exceeded. Linux only: processes are counted in /proc.
"""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from tests.web.conftest import Server, half_sent, started_server, stop
from tests.web.malformed import malformed_settings
from tests.web.test_safety import VOTES, workers_of
from tools.measure_pages import killed, memory_of, row

WORKERS = 4  # the server's limit
SLOW = 200
FUZZ = 300
MAX_SECONDS = 240.0  # that a client retries
WRONG: list[str] = []


def check(holds: bool, what: str) -> None:
    """Remember a limit that was exceeded."""
    if not holds:
        WRONG.append(what)


class Peak(threading.Thread):
    """Counts the worker processes of a server until it is stopped."""

    def __init__(self, server: Server) -> None:
        super().__init__(daemon=True)
        self.server, self.workers, self.samples, self.over = server, 0, 0, threading.Event()

    def run(self) -> None:
        """Look every few milliseconds."""
        while not self.over.wait(0.003):
            self.workers = max(self.workers, len(workers_of(self.server)))
            self.samples += 1


@contextmanager
def counted(server: Server) -> Iterator[Peak]:
    """Count workers while something goes on."""
    peak = Peak(server)
    peak.start()
    try:
        yield peak
    finally:
        peak.over.set()
        peak.join()
    check(peak.workers <= WORKERS, f"{peak.workers} workers")


# ---- concurrent uploads ----
class Client:
    """Sends requests and retries those answered 503, as the page does; counts every status."""

    def __init__(self, server: Server, seen: Counter[int], until: float) -> None:
        self.server, self.seen, self.until = server, seen, until

    def ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> dict[str, Any]:
        """Return the answer to a request, which is the last line of a view."""
        while True:
            status, found, content = self.server.ask(method, path, body, headers)
            self.seen[status] += 1
            if status == 503 and "retry-after" in found and time.monotonic() < self.until:
                time.sleep(float(found["retry-after"]) * (0.5 + random.random()))
                continue
            if status != 200:
                raise RuntimeError(f"{status}: {content[:200]!r}")
            return dict(json.loads(content.splitlines()[-1]))

    def rank(self, number: int) -> str:
        """Upload a file and have it ranked; return the state, or what went wrong."""
        try:
            rows = VOTES + b"x%d,cy\n" % number
            key = self.ask("POST", "/api/data", rows, {"X-File-Name": "votes.csv"})["key"]
            end = self.ask("GET", f"/api/data/{key}/view")
            return str(end["error"] or end["state"])
        except (RuntimeError, OSError) as problem:
            return f"{type(problem).__name__}: {problem}"[:120]


def measure_uploads(server: Server, count: int) -> None:
    """Print what becomes of files that are all uploaded at the same time."""
    seen: Counter[int] = Counter()
    client, start = Client(server, seen, time.monotonic() + MAX_SECONDS), time.perf_counter()
    with counted(server) as peak, ThreadPoolExecutor(count) as pool:
        states = Counter(pool.map(client.rank, range(count)))
    took = time.perf_counter() - start
    failed = sum(number for status, number in seen.items() if status not in (200, 503))
    row(
        f"{count} uploads at once, retried after 503",
        f"{states['done']} ranked in {took:.0f} s; {seen[503]} answers of 503, {seen[500]} of 500, {failed} other; "
        f"at most {peak.workers} workers in {peak.samples:,} samples; server peak {peak_memory(server):.0f} MB",
    )
    for state in states.keys() - {"done"}:
        print(f"  {states[state]} x {state}")
    check(states["done"] == count and not failed, f"{count} uploads")


def peak_memory(server: Server) -> float:
    """Return the peak memory of a server in MB."""
    return memory_of(server.process.pid, "VmHWM")


# ---- slow uploads ----
def measure_slow(server: Server) -> None:
    """Print how long a page takes while slow uploads are under way."""
    with counted(server) as peak:
        lines, seconds = [], []
        for number in range(SLOW):
            lines.append(half_sent(server))
            if number % 10 == 0:
                seconds.append(timed(lambda: server.ask("GET", "/")))
        for _ in range(20):
            for line in lines:
                drip(line)
            seconds.append(timed(lambda: server.ask("GET", "/")))
            time.sleep(0.1)
        answered = sum(has_answer(line) for line in lines)
        for line in lines:
            line.close()
    row(
        f"{SLOW} slow uploads",
        f"`GET /` takes at most {max(seconds):.2f} s ({len(seconds)} times); {answered} uploads answered 503 at once; "
        f"at most {peak.workers} workers",
    )
    check(max(seconds) < 1, f"GET / took {max(seconds):.2f} s")


def timed(work: Callable[[], object]) -> float:
    """Return the seconds something takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def drip(line: socket.socket) -> None:
    """Send one more byte."""
    with suppress(OSError):  # the server hung up
        line.send(b"a")


def has_answer(line: socket.socket) -> bool:
    """Say whether an upload was refused with 503 and Retry-After."""
    line.setblocking(False)
    try:
        content = line.recv(2000)
    except OSError:
        return False
    return content.startswith(b"HTTP/1.1 503") and b"retry-after" in content.lower()


# ---- malformed settings ----
def measure_settings(server: Server) -> None:
    """Print what malformed settings are answered, and whether the data set can be used afterwards."""
    key = server.upload(VOTES)
    views: Counter[int] = Counter()
    pages: Counter[int] = Counter()
    for pairs in malformed_settings(FUZZ):
        query = urlencode(pairs, errors="surrogatepass")[:50_000]
        status, _, content = server.ask("GET", f"/api/data/{key}/view?{query}")
        views[status] += 1
        check(b"Traceback" not in content and b"Unexpected" not in content, f"a traceback for {query[:80]!r}")
        pages[server.ask("GET", f"/d/{key}?{query}")[0]] += 1
    state = server.work(key).state
    row(
        f"{FUZZ} malformed settings, each followed by a look at the page",
        f"{views[400]} refused with 400, {views[414]} with 414, {views[200]} judged by the worker, {views[500]} x 500; "
        f"the page: {pages[200]} x 200, {pages[414]} x 414, {pages[500]} x 500; the next right settings: {state}",
    )
    check(set(views) <= {200, 400, 414} and set(pages) <= {200, 414} and state == "done", "malformed settings")


# ---- what is left behind ----
def measure_ends(folder: Path) -> None:
    """Print what servers that are ended leave behind, and what the next one removes."""
    left = {}
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL):
        server = started_server(folder)
        server.upload(VOTES)
        line = half_sent(server)
        server.process.send_signal(number)
        server.process.wait(60)
        line.close()
        left[number.name] = uploads_in(folder)
    server = started_server(folder)
    server.ask("GET", "/")
    after = uploads_in(folder)
    stop(server)
    told = ", ".join(f"{name} {count}" for name, count in left.items())
    row("uploaded files left after a signal", f"{told}; {after} after the next start")
    check(not any(count for name, count in left.items() if name != "SIGKILL") and not after, "files left behind")


def uploads_in(folder: Path) -> int:
    """Return how many uploaded files there are."""
    return len([path for path in folder.rglob("*.csv") if path.is_file()])


def main() -> None:
    """Run everything once."""
    row("what is done", "what happens")
    row("---", "---")
    with tempfile.TemporaryDirectory() as made:
        for name in ("served", "ended"):
            os.mkdir(Path(made, name))
        server = started_server(Path(made, "served"))
        try:
            measure_uploads(server, 20)
            measure_uploads(server, 100)
            measure_settings(server)
            row("a worker killed at work", killed(server))
            measure_slow(server)
        finally:
            stop(server)
        measure_ends(Path(made, "ended"))
    for what in WRONG:
        print(f"exceeded: {what}", file=sys.stderr)
    sys.exit(1 if WRONG else 0)


if __name__ == "__main__":
    main()
