"""Measure reports and the web page, and what hostile requests come to; print two tables.

    python -m tools.measure_pages

``tools.load_pages`` measures the server under load.

CPU seconds are user plus system. Linux only: times and memory of processes are read from /proc.
"""

from __future__ import annotations

import http.client
import io
import json
import os
import random
import re
import resource
import signal
import subprocess
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.web.conftest import Server, started_server, stop
from tests.web.test_safety import ROUTES, hard_election, workers_of

from concordant.support.processes import python

ROUNDS = 5


def row(*cells: object) -> None:
    """Print a row of a table."""
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def median(values: list[float]) -> float:
    """Return the middle one of an odd number of values."""
    return sorted(values)[len(values) // 2]


# ---- speed ----
def run_command(*words: str) -> tuple[float, float]:
    """Run concordant; return CPU seconds and seconds."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(python("-m", "concordant", *words), check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, time.perf_counter() - start


def cpu_of(pid: int) -> float:
    """Return the CPU seconds of a process and of its ended children."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def memory_of(pid: int, what: str = "VmRSS") -> float:
    """Return the memory of a process in MB, now or (``VmHWM``) at its peak."""
    found = re.search(rf"{what}:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


def votes(n: int, items: int, path: Path) -> Path:
    """Write a csv file of random duels."""
    rng = random.Random(n)
    pairs = (rng.sample(range(items), 2) for _ in range(n))
    rows = "".join(f"item {a},item {b},judge {rng.randrange(50)}\n" for a, b in pairs)
    path.write_text("winner,loser,judge\n" + rows)
    return path


def shown(server: Server, key: str, **settings: Any) -> tuple[float, float]:
    """Return after how many seconds the ranking of these settings is on the screen, and all of the page."""
    start, first = time.perf_counter(), 0.0
    view = server.open_view(key, **settings)
    while view.read() is not None:
        if not first and "ranking" in view.sections:
            first = time.perf_counter() - start
    assert view.error is None, view.error
    return first, time.perf_counter() - start


def measure_speed(folder: Path) -> None:
    """Print what reports and pages take."""
    row("what", "measured")
    row("---", "---")
    for items, n in ((100, 20_000), (5_000, 100_000)):
        path = votes(n, items, folder / f"{items}.csv")
        cpu = median([run_command("report", str(path), "-o", str(folder / "r.html"))[0] for _ in range(ROUNDS)])
        size = (folder / "r.html").stat().st_size / 1000
        row(f"report of {items:,} items, {n:,} votes", f"{cpu:.2f} CPU s, {size:,.0f} kB")
    first_pages, idle = [], []
    for _ in range(ROUNDS):
        server = started_server(folder)
        for path_of in ("/", "/static/app.js", "/static/report.js", "/static/app.css", "/static/report.css"):
            assert server.ask("GET", path_of)[0] == 200
        first_pages.append(cpu_of(server.process.pid))
        idle.append(memory_of(server.process.pid))
        stop(server)
    row("first page, from the shell", f"{median(first_pages):.2f} CPU s")
    row("memory of the idle server", f"{median(idle):.0f} MB")
    server = started_server(folder)
    for n in (100_000, 1_000_000):
        measure_drop(server, votes(n, 300, folder / f"{n}.csv"), n)
    stop(server)


def measure_drop(server: Server, path: Path, n: int) -> None:
    """Print how long a dropped file takes, beside the command line, and a changed option."""
    alone = median([run_command("rank", str(path))[1] for _ in range(ROUNDS)])
    content, seen = path.read_bytes(), []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        key = server.upload(content)
        sent = time.perf_counter() - start
        first, whole = shown(server, key)
        seen.append((sent + first, sent + whole))
    first, whole = median([one for one, _ in seen]), median([two for _, two in seen])
    compared = f"`concordant rank` {alone:.2f} s, {first / alone:.2f} times"
    row(f"{n:,} votes from drop to ranking", f"{first:.2f} s ({compared}); all sections {whole:.2f} s")
    changes = []
    for prior in range(1, ROUNDS + 1):
        first, _ = shown(server, key, method="bradley-terry", params={"prior": prior})
        changes.append(first)
    row(f"{n:,} votes, a changed option", f"{median(changes):.2f} s")


# ---- hostile ----
def refused(server: Server, routes: list[tuple[str, str]], headers: dict[str, str], plain: bool = False) -> str:
    """Return how many of the routes refuse."""
    found = [server.ask(method, path, headers=headers, plain=plain)[0] for method, path in routes]
    return f"{found.count(403)} of {len(found)} refused (403)"


def measure_hostile(folder: Path) -> None:
    """Print what becomes of requests that mean harm."""
    server = started_server(folder, "--data-sets", "60")
    own, pid = {"Origin": f"http://127.0.0.1:{server.port}"}, server.process.pid
    posts = [one for one in ROUTES if one[0] == "POST"]
    row("what is sent", "what happens")
    row("---", "---")
    row("`Host: evil.example`, every route", refused(server, ROUTES, {"Host": "evil.example"}))
    row("POST of another site, every route", refused(server, posts, {"Origin": "https://evil.example"}))
    row("wrong token, every route", refused(server, ROUTES, {**own, "Cookie": "concordant=wrong"}, plain=True))
    row("300 MB announced", server.ask("POST", "/api/data", headers={"Content-Length": "300000000"})[0])
    row("300 MB streamed without saying so", streamed(server))
    row("files left, peak memory of the server", f"{files_of(server)}, {memory_of(pid, 'VmHWM'):.0f} MB")
    row("a zip archive of 160 MB in 160 kB", server.work(server.upload(bomb(), "votes.zip")).error)
    row("a worker killed", killed(server))
    code = stop(server)
    row("Ctrl-C", f"exit code {code}, {len(list(server.temporary.glob('concordant-*')))} folders left")


def streamed(server: Server) -> str:
    """Stream too much; say what came back."""

    def chunks() -> Iterator[bytes]:
        yield from (b"a,b\n" * 250_000 for _ in range(300))

    try:
        status, _, content = server.ask("POST", "/api/data", chunks())
        return f"{status}: {json.loads(content)['error']}"
    except (ConnectionError, http.client.HTTPException):
        return "the server hung up at the limit"


def files_of(server: Server) -> int:
    """Return how many uploaded files there are."""
    return len([path for path in server.temporary.rglob("concordant-*/**/*") if path.is_file()])


def bomb() -> bytes:
    """Return a small archive of a long file."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("votes.csv", b"winner,loser\n" + b"a,b\n" * 40_000_000)
    return packed.getvalue()


def killed(server: Server) -> str:
    """Kill a worker at work; say what the page shows, and whether it goes on."""
    key = server.upload(hard_election(), "hard.csv")
    others = set(workers_of(server))
    view = server.open_view(key, method="kemeny")
    while "Kemeny" not in str(view.read()):
        pass
    os.kill(max(set(workers_of(server)) - others or set(workers_of(server))), signal.SIGKILL)
    said = view.wait().error
    return f"{said} The next question: {server.work(key, method='borda').state}."


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        measure_speed(Path(made))
        print()
        measure_hostile(Path(made))
