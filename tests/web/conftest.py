"""A real server in a process of its own, and a real browser where there is one."""

from __future__ import annotations

import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_type_hints
from urllib.parse import quote, urlencode

import pytest
from tests.conftest import ROOT

from concordant.web.messages import Line

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--in-process-gpu"),
    "--enable-features=NetworkServiceInProcess2",  # fewer processes
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
AXE = ROOT / "build" / "browser" / "node_modules" / "axe-core" / "axe.min.js"
LIMITED = """
import json, sys
from concordant.web.pool import Limits
from concordant.web.server import serve
limits = Limits(**json.loads(sys.argv[1]))
serve((), "127.0.0.1", 0, needs_token=True, limits=limits, say=lambda link: print(link, flush=True))
"""
TIMEOUT = 60.0  # seconds to wait for what should be there at once, on a busy machine


@dataclass
class Server:
    """A running server: how to reach it and how to end it."""

    process: subprocess.Popen[str]
    link: str
    port: int
    cookie: str
    temporary: Path
    statuses: Counter[int] = field(default_factory=Counter)
    """How often it answered with each status."""

    def ask(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None, *, plain: bool = False
    ) -> tuple[int, dict[str, str], bytes]:
        """Send one request, as a page of the server would unless ``plain``."""
        own = {} if plain else {"Cookie": self.cookie, "Origin": f"http://127.0.0.1:{self.port}"}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT)
        try:
            connection.request(method, path, body, {**own, **(headers or {})})
            answer = connection.getresponse()
            self.statuses[answer.status] += 1
            return answer.status, {key.lower(): value for key, value in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def told(self, content: bytes) -> bytes:
        """Send bytes, whatever they are, and return all that comes back."""
        answer = b""
        with socket.create_connection(("127.0.0.1", self.port), timeout=TIMEOUT) as line, suppress(ConnectionError):
            line.sendall(content)
            line.shutdown(socket.SHUT_WR)
            while piece := line.recv(1 << 16):
                answer += piece
        return answer

    def json(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Any:
        """Send a request until the server is not too busy for it, as the page does."""
        status, found, content = self.ask(method, path, body, headers)
        while status == 503:
            time.sleep(float(found["retry-after"]) * (0.5 + random.random()))
            status, found, content = self.ask(method, path, body, headers)
        assert status == 200, content
        return json.loads(content)

    def upload(self, content: bytes, name: str = "votes.csv") -> str:
        """Upload a file; return the key of its data set."""
        return str(self.json("POST", "/api/data", content, {"X-File-Name": quote(name)})["key"])

    def open_view(self, key: str, **settings: Any) -> View:
        """Ask for the view of some settings, until the server is not too busy, and read it later."""
        while True:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT)
            connection.request("GET", f"/api/data/{key}/view?{address(settings)}", headers={"Cookie": self.cookie})
            answer = connection.getresponse()
            self.statuses[answer.status] += 1
            if answer.status != 503:
                return View(connection, answer)
            answer.read()
            connection.close()
            time.sleep(float(answer.headers["retry-after"]) * (0.5 + random.random()))

    def work(self, key: str, **settings: Any) -> View:
        """Ask for the view of some settings, and wait for all of it."""
        return self.open_view(key, **settings).wait()

    def data_sets(self) -> list[str]:
        """Return the keys of the open data sets, as the start page lists them."""
        return list(dict.fromkeys(re.findall(r'href="/d/(\w+)"', self.ask("GET", "/")[2].decode())))

    def cancel(self, key: str, number: int, section: str = "") -> None:
        """Cancel a section of a view, or all of it."""
        self.json("POST", f"/api/data/{key}/cancel?id={number}&section={quote(section)}")


def address(settings: dict[str, Any]) -> str:
    """Return settings as the parameters of an address; ``params`` and ``roles`` have parameters of their own."""
    pairs = [(name, value) for name, value in settings.items() if name not in ("params", "roles")]
    pairs += [(f"o.{name}", value) for name, value in settings.get("params", {}).items()]
    pairs += [(f"role.{name}", value) for name, value in settings.get("roles", {}).items()]
    return urlencode(pairs)


class View:
    """A view that is being read: the page as its parts have made it so far."""

    def __init__(self, connection: http.client.HTTPConnection, answer: http.client.HTTPResponse) -> None:
        self.connection, self.answer = connection, answer
        self.status, self.lines = answer.status, list[dict[str, Any]]()
        self.regions: dict[str, str] = {}
        self.sections: dict[str, str] = {}
        self.cancelled: list[str] = []
        self.state, self.id = "", 0
        self.error: Any = None

    def read(self) -> dict[str, Any] | None:
        """Take in the next line; None at the end."""
        text = self.answer.readline()
        if not text:
            self.connection.close()
            return None
        line: dict[str, Any] = json.loads(text)
        if self.status != 200:
            self.error = line["error"]
            return line
        assert line.keys() <= get_type_hints(Line).keys()
        self.lines.append(line)
        self.id = line.get("id", self.id)
        self.regions |= line.get("regions", {})
        if "html" in line:
            self.sections[line["section"]] = line["html"]
        self.cancelled += [line["cancelled"]] if "cancelled" in line else []
        self.state, self.error = line.get("state", self.state), line.get("error", self.error)
        return line

    def until(self, *words: str) -> dict[str, Any]:
        """Read until a line has one of these fields, or tells of a job with such a name."""
        while (line := self.read()) is not None:
            if {*words} & {*line, line.get("job", {}).get("section")}:
                return line
        raise AssertionError(f"{words} did not come, but {self.state}: {str(self.lines[-1:])[:300]}")

    def wait(self) -> View:
        """Read to the end."""
        while self.read() is not None:
            pass
        assert "Unexpected" not in f"{self.html} {self.error}"
        return self

    def leave(self) -> None:
        """Close the connection, as a page does that is closed or goes on to something else."""
        self.answer.close()
        self.connection.close()

    @property
    def html(self) -> str:
        """All that the page shows."""
        return "\n".join([*self.regions.values(), *self.sections.values()])


def heed_signals() -> None:
    """Undo what nohup and shells do to processes in the background: a server leaves ignored signals ignored."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def started_server(temporary: Path, *options: str, limits: dict[str, Any] | None = None) -> Server:
    """Start ``concordant serve``, or a server with limits that are no options; its temporary files go to a folder."""
    command = [sys.executable, "-m", "concordant", "serve", *options]
    if limits is not None:
        command = [sys.executable, "-c", LIMITED, json.dumps(limits)]
    environment = {**os.environ, "TMPDIR": str(temporary)}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environment, cwd=ROOT,
        preexec_fn=heed_signals if os.name == "posix" else None,
    )  # fmt: skip
    assert process.stdout is not None
    link = process.stdout.readline().split()[-1]
    found = re.fullmatch(r"http://[\d.]+:(\d+)/(?:\?token=(\S+))?", link)
    assert found, link
    return Server(process, link, int(found[1]), f"concordant-{found[1]}={found[2]}", temporary)


@contextmanager
def starting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Server]]:
    """Start servers, and end them all."""
    started: list[Server] = []

    def start(*options: str, temporary: Path | None = None, **limits: Any) -> Server:
        pytest.importorskip("starlette")
        pytest.importorskip("uvicorn")
        folder = temporary or tmp_path_factory.mktemp("served")
        started.append(started_server(folder, *options, limits=limits or None))
        return started[-1]

    try:
        yield start
    finally:
        for server in started:
            stop(server)


@pytest.fixture
def start_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Server]]:
    """Start servers with further options; all end with the test."""
    with starting(tmp_path_factory) as start:
        yield start


def half_sent(server: Server) -> socket.socket:
    """Begin an upload and send a part of what was announced."""
    own = f"127.0.0.1:{server.port}"
    line = socket.create_connection(("127.0.0.1", server.port))
    line.sendall(
        f"POST /api/data HTTP/1.1\r\nHost: {own}\r\nOrigin: http://{own}\r\nCookie: {server.cookie}\r\n"
        "Content-Length: 1000000\r\n\r\nwinner,loser\n".encode()
    )
    return line


def stop(server: Server) -> int:
    """Stop a server as Ctrl-C does; return its exit code."""
    if server.process.poll() is None:
        server.process.send_signal(signal.SIGINT if os.name == "posix" else signal.SIGTERM)
    code = server.process.wait(TIMEOUT)
    assert server.process.stdout is not None
    server.process.stdout.close()
    return code


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for the tests of a file that leave it as it was."""
    with starting(tmp_path_factory) as start:
        yield start("--data-sets", "60")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Callable[..., Any]]:
    """Open windows that share nothing, of one browser; skipped where there is none."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: python3 dev.py test")
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        pytest.skip("no Chromium is installed: apt-get install chromium, or python3 dev.py test as root")
    sync_api.expect.set_options(timeout=1000 * TIMEOUT)  # the usual five seconds are too few for a busy machine
    with sync_api.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=FLAGS)

        def open_window(**options: Any) -> Any:
            context = browser.new_context(accept_downloads=True, **options)
            context.set_default_timeout(1000 * TIMEOUT)
            return context

        yield open_window
        browser.close()


@pytest.fixture(scope="session")
def axe() -> str:
    """The script that checks accessibility; skipped where npm could not fetch it."""
    if not AXE.is_file():
        pytest.skip("axe-core is not there: python3 dev.py test fetches it with npm")
    return AXE.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def browser(chromium: Callable[..., Any]) -> Any:
    """A window of usual size."""
    return chromium(viewport={"width": 1280, "height": 900})


@pytest.fixture
def screen(browser: Any, server: Server) -> Iterator[Any]:
    """A page at the start page; nothing may go wrong on it."""
    from tests.web.screen import Screen

    page = browser.new_page()
    made = Screen(page, server)
    yield made
    page.close()
    assert made.trouble == []
    assert made.outside == []
