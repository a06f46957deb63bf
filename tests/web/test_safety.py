"""Nobody else gets in, and nothing that comes in does harm."""

from __future__ import annotations

import gzip
import json
import os
import signal
import socket
import threading
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import ROOT, Run
from tests.web.conftest import Server, half_sent, stop
from tests.workbooks import PRINTER, with_parts, xls, xlsx

from concordant.errors import InputError
from concordant.web.safety import HEADERS, Gate
from concordant.web.server import check_host
from concordant.web.uploads import safe_name

pytestmark = pytest.mark.once
VOTES = b"winner,loser\nann,bob\nbob,cy\nann,cy\n"
PAIRS = [["winner", "loser"], ["ann", "bob"], ["bob", "cy"], ["ann", "cy"]]
ROUTES = [
    ("GET", "/"),
    ("HEAD", "/"),
    ("GET", "/d/0123456789abcdef"),
    ("GET", "/static/app.js"),
    ("GET", "/static/report.css"),
    ("POST", "/api/data"),
    ("POST", "/api/example/election.csv"),
    ("POST", "/api/data/0123456789abcdef/file"),
    ("GET", "/api/data/0123456789abcdef/view"),
    ("POST", "/api/data/0123456789abcdef/cancel"),
    ("POST", "/api/data/0123456789abcdef/close"),
    ("GET", "/api/data/0123456789abcdef/download/csv"),
    ("GET", "/nowhere"),
]
OTHER_METHODS = ["PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"]


# ---- the gate ----
def test_every_route_of_the_app_is_tried_here() -> None:
    pytest.importorskip("starlette")
    from concordant.web.app import App
    from concordant.web.pool import Limits

    app = App(Limits(), Gate.of("127.0.0.1", 1, "x")).asgi()
    known = {route.path.replace("{key}", "0123456789abcdef").replace("{kind}", "csv") for route in app.app.routes}
    assert {path.replace("{name}", "election.csv") for path in known if "static" not in path} <= {p for _, p in ROUTES}


@pytest.mark.parametrize(("method", "path"), [*ROUTES, *((method, "/") for method in OTHER_METHODS)])
def test_another_host_is_refused_on_every_route(server: Server, method: str, path: str) -> None:
    for host in (
        "evil.example",
        f"evil.example:{server.port}",
        f"127.0.0.1.evil.example:{server.port}",
        "127.0.0.1",
        "",
    ):
        status, headers, _ = server.ask(method, path, headers={"Host": host})
        assert status in (400, 403), host
        if status == 403:
            assert headers["content-security-policy"] == HEADERS["Content-Security-Policy"]


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_requests_of_other_sites_are_refused_on_every_route(server: Server, method: str, path: str) -> None:
    for headers in (
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": f"http://127.0.0.1:{server.port + 1}"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ):
        assert server.ask(method, path, headers=headers)[0] == 403, headers


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_without_the_right_token_every_route_is_refused(server: Server, method: str, path: str) -> None:
    own = {"Origin": f"http://127.0.0.1:{server.port}"}
    for cookie in (
        {},
        {"Cookie": f"concordant-{server.port}=wrong"},
        {"Cookie": "concordant-1=" + server.cookie[-32:]},
    ):
        assert server.ask(method, path, headers={**own, **cookie}, plain=True)[0] == 403
    assert server.ask(method, f"{path}?token=wrong", headers=own, plain=True)[0] == 403


@pytest.mark.parametrize("method", OTHER_METHODS)
def test_other_methods_are_refused(server: Server, method: str) -> None:
    assert server.ask(method, "/")[0] == 405


def test_a_post_that_does_not_say_where_it_comes_from_is_refused(server: Server) -> None:
    status, _, _ = server.ask("POST", "/api/data", VOTES, {"Cookie": server.cookie}, plain=True)
    assert status == 403


def test_the_link_leaves_a_strict_cookie_and_no_token_in_the_address(server: Server) -> None:
    path = "/" + server.link.split("/", 3)[3]
    status, headers, _ = server.ask("GET", path, plain=True)
    assert status == 303
    assert headers["location"] == "/"
    assert {"HttpOnly", "SameSite=strict"} <= set(headers["set-cookie"].split("; "))


def test_every_answer_is_strict(server: Server) -> None:
    for method, path in ROUTES:
        _, headers, _ = server.ask(method, path)
        for name, value in HEADERS.items():
            assert headers[name.lower()] == value, path
    policy = HEADERS["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy


def test_views_and_downloads_are_strict_and_kept_by_nobody(server: Server) -> None:
    key = server.upload(VOTES)
    for path in (f"/d/{key}", f"/d/{key}?method=elo", f"/api/data/{key}/view", f"/api/data/{key}/download/csv"):
        status, headers, _ = server.ask("GET", path)
        assert status == 200
        assert headers["cache-control"] == "no-store"
        assert headers["referrer-policy"] == "no-referrer", "no link to another site tells the address"
        assert {name: headers[name.lower()] for name in HEADERS} == HEADERS


def test_addresses_that_lead_nowhere_get_a_page_with_a_way_out_or_json(server: Server) -> None:
    key = server.upload(VOTES)
    server.json("POST", f"/api/data/{key}/close")
    for path, status in (
        (f"/d/{key}", 410),
        ("/d/0123456789abcdef?method=elo", 410),
        ("/nowhere", 404),
        ("/d/a/b", 404),
    ):
        found, headers, content = server.ask("GET", path)
        assert found == status
        assert headers["content-type"].startswith("text/html")
        assert b'href="/"' in content
        assert b"Open data" in content
    for method, path, status in (
        ("GET", f"/api/data/{key}/view", 410),
        ("GET", f"/api/data/{key}/download/csv", 410),
        ("GET", f"/api/data/{key}/download/exe", 404),
        ("POST", f"/api/data/{key}/close", 410),
        ("POST", f"/api/data/{key}/file", 410),
        ("POST", "/api/example/nothing", 404),
        ("GET", "/api/nowhere", 404),
        ("GET", "/static/nothing.js", 404),
    ):
        found, headers, content = server.ask(method, path, VOTES if method == "POST" else None)
        assert found == status, path
        assert headers["content-type"].startswith("application/json")
        assert json.loads(content)["error"].endswith(".")


@pytest.mark.parametrize(
    ("given", "stem"),
    [
        ("votes.csv", "votes"),
        ("../../etc/passwd.csv", "______etc_passwd"),
        ('a"; filename=evil.exe; x="\r\nX: y.csv', "a___filename_evil_exe__x____X__y"),
        ("Wähler 東京.csv", "W%C3%A4hler_%E6%9D%B1%E4%BA%AC"),
        ("x" * 200 + ".csv", "x" * 60),
        ("..", "__"),
    ],
)
def test_names_of_downloads_are_plain(server: Server, given: str, stem: str) -> None:
    key = server.upload(VOTES, given)
    status, headers, _ = server.ask("GET", f"/api/data/{key}/download/csv")
    assert status == 200
    assert headers["content-disposition"] == f"attachment; filename*=UTF-8''{stem}-ranking.csv"


def test_every_kind_of_download_is_the_file_that_it_says(server: Server) -> None:
    key = server.upload((ROOT / "examples" / "election.csv").read_bytes(), "election.csv")
    signs = {"csv": b"rank,item", "xlsx": b"PK", "json": b"{", "svg": b"<svg", "card": b"<svg"}
    for kind, sign in signs.items():
        status, headers, content = server.ask("GET", f"/api/data/{key}/download/{kind}?method=borda")
        assert status == 200, content
        assert content.startswith(sign)
        assert int(headers["content-length"]) == len(content)
    for kind in ("model", "history", "labels"):
        status, _, content = server.ask("GET", f"/api/data/{key}/download/{kind}?method=borda")
        assert status == 400
        assert "Unexpected" not in json.loads(content)["error"]


@pytest.mark.parametrize("kind", ["card", "svg"])
def test_pictures_of_hostile_labels_are_drawings_and_nothing_else(server: Server, kind: str) -> None:
    from xml.etree import ElementTree

    from tests.reporting.test_reporting import HOSTILE

    rows = [{"winner": one.replace("\x00", ""), "loser": "z"} for one in HOSTILE]
    key = server.upload("\n".join(map(json.dumps, rows)).encode(), 'x"><script>.jsonl')
    status, _, content = server.ask("GET", f"/api/data/{key}/download/{kind}")
    assert status == 200, content
    for one in ElementTree.fromstring(content).iter():
        assert one.tag.rpartition("}")[2] not in ("script", "foreignObject", "image", "a", "use", "iframe")
        assert not [name for name in one.attrib if name.lower().startswith("on") or "href" in name.lower()]


def test_headers_said_twice_are_refused(server: Server) -> None:
    with socket.create_connection(("127.0.0.1", server.port)) as line:
        own = f"127.0.0.1:{server.port}"
        line.sendall(f"GET / HTTP/1.1\r\nHost: {own}\r\nHost: {own}\r\nCookie: {server.cookie}\r\n\r\n".encode())
        assert line.recv(100).startswith((b"HTTP/1.1 400", b"HTTP/1.1 403"))


@pytest.mark.parametrize(
    ("host", "needs_token", "why"),
    [
        ("192.0.2.1", False, "no-token"),
        ("0.0.0.0", True, "all addresses"),
        ("::", True, "all"),
        ("a.b", True, "not an IP address"),
    ],
)
def test_addresses_that_let_others_in_are_refused(host: str, needs_token: bool, why: str) -> None:
    with pytest.raises(InputError, match=why):
        check_host(host, needs_token)


def test_loopback_without_a_token_is_fine() -> None:
    for host in ("127.0.0.1", "::1", "localhost"):
        check_host(host, False)


def test_the_command_refuses_in_a_sentence(run: Run) -> None:
    code, _, err = run("serve", "--host", "192.0.2.1", "--no-token")
    assert code == 1
    assert err.count("\n") == 1


# ---- what comes in ----
@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\x\\votes.csv", "votes.csv"),
        (".hidden", "hidden"),
        ("-o.csv", "o.csv"),
        ("a\x00\n<b>.csv", "a___b_.csv"),
        ("", "data"),
        ("x" * 500 + ".csv", "x" * 76 + ".csv"),
    ],
)
def test_names_of_uploads_lead_nowhere_else(given: str, kept: str) -> None:
    assert safe_name(given, []) == kept


def test_a_name_stands_once() -> None:
    assert safe_name("a.csv.gz", ["a.csv.gz", "a-2.csv.gz"]) == "a-3.csv.gz"


def test_an_uploaded_module_is_never_imported(server: Server, tmp_path: Path) -> None:
    pytest.importorskip("python_calamine")
    mark = tmp_path / "mark"
    planted = f"open({str(mark)!r}, 'w').close()\nraise SystemExit(77)\n".encode()
    for content, name in ((VOTES, "votes.csv"), (xls(PAIRS), "votes.xls")):
        key = server.upload(content, name)
        for module in ("numpy", "json", "scipy", "resource", "python_calamine", "runpy", "concordant", "sitecustomize"):
            server.json("POST", f"/api/data/{key}/file?as=labels", planted, {"X-File-Name": f"{module}.py"})
        view = server.work(key)
        assert view.state == "done"
        assert "ann is first" in view.html
    assert not mark.exists()


@pytest.mark.parametrize("name", ["votes.xls", "votes.xlsx"])
def test_workbooks_are_read_within_the_limits_of_a_worker(server: Server, name: str) -> None:
    pytest.importorskip("python_calamine")
    content = xls(PAIRS) if name.endswith("xls") else with_parts(xlsx({"S": PAIRS}), PRINTER)
    view = server.work(server.upload(content, name))
    assert view.error is None
    assert "ann is first" in view.html


def test_an_upload_over_the_limit_is_refused_and_leaves_nothing(start_server: Callable[..., Server]) -> None:
    server = start_server("--max-upload", "1")
    assert server.ask("POST", "/api/data", headers={"Content-Length": "300000000"})[0] == 413

    def chunks() -> Any:
        yield from (b"x" * 100_000 for _ in range(30))

    try:
        status, _, content = server.ask("POST", "/api/data", chunks())
        assert status == 413
        assert b"larger than 1 MB" in content
    except (BrokenPipeError, ConnectionResetError):
        pass  # the server hung up before all was sent
    assert [path for path in server.temporary.rglob("*") if path.is_file()] == []
    assert server.upload(VOTES)
    assert stop(server) == 0
    assert list(server.temporary.iterdir()) == [], "what was uploaded goes with the server"


def test_an_upload_that_breaks_off_leaves_nothing(start_server: Callable[..., Server]) -> None:
    server = start_server()
    half_sent(server).close()
    server.ask("GET", "/")
    key = server.upload(VOTES)
    assert server.work(key).state == "done"
    assert {path.name for path in server.temporary.rglob("*.csv")} == {"votes.csv"}


def packed(kind: str, line: bytes = b"a,b\n", head: bytes = b"winner,loser\n") -> bytes:
    """Return a small file that unpacks into a long one."""
    content, out = head + line * 40_000_000, BytesIO()
    if kind == "gz":
        return gzip.compress(content)
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("votes.csv", content)
    return out.getvalue()


@pytest.mark.parametrize("kind", ["zip", "gz"])
def test_a_bomb_is_refused_by_the_readers_own_limits(server: Server, kind: str) -> None:
    view = server.work(server.upload(packed(kind), f"votes.{kind}"))
    assert view.state == "failed"
    assert "times" in view.error
    assert "ratio" in view.error or "unpack" in view.error
    assert "Not read" in view.regions["problem"]


def test_a_bomb_among_labels_is_refused_and_the_ranking_stays(server: Server) -> None:
    key = server.upload(VOTES)
    labels = packed("zip", b"a,1\n", b"item,label\n")
    server.json("POST", f"/api/data/{key}/file?as=labels", labels, {"X-File-Name": "labels.csv.zip"})
    view = server.work(key)
    assert view.state == "done"
    assert "times" in view.sections["labels"]
    assert "ann is first" in view.html


def test_the_least_recently_used_data_sets_go(start_server: Callable[..., Server]) -> None:
    server = start_server("--data-sets", "2")
    first, second = (server.upload(VOTES) for _ in range(2))
    assert {server.work(key).state for key in (first, second)} == {"done"}
    third = server.upload(VOTES)
    status, _, content = server.ask("GET", f"/api/data/{first}/view")
    assert status == 410
    assert b"no longer open" in content
    for key in (second, third):
        assert server.work(key).state == "done"
    assert len(list(server.temporary.rglob("*.csv"))) == 2


# ---- workers ----
def workers_of(server: Server) -> list[int]:
    """The living children of the server."""
    path = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children")
    if not path.exists():
        pytest.skip("the children of a process are not listed here")
    return [int(word) for word in path.read_text().split()]


def test_a_killed_worker_is_said_and_the_page_goes_on(start_server: Callable[..., Server]) -> None:
    server = start_server()
    key = server.upload(b"a,b\n".join([b"winner,loser\n", b""]))
    assert server.work(key).state == "done"
    (worker,) = workers_of(server)
    os.kill(worker, signal.SIGKILL)
    assert server.work(key, method="borda").state == "done", "another one is started"
    slow = server.upload(hard_election(), "hard.csv")
    view = server.open_view(slow, method="kemeny")
    while "Kemeny" not in str(view.read()):
        pass
    os.kill(workers_of(server)[-1], signal.SIGKILL)
    view.wait()
    assert view.state == "failed"
    assert "signal 9" in view.error
    assert server.work(slow, method="borda").error is None


def test_work_that_takes_too_long_is_stopped(start_server: Callable[..., Server]) -> None:
    server = start_server("--time-limit", "4")
    key = server.upload(hard_election(), "hard.csv")
    view = server.work(key, method="kemeny", params={"time_limit": "500"})
    assert view.state == "failed"
    assert "time limit of 4 seconds" in view.error
    status, _, content = server.ask("GET", f"/api/data/{key}/download/csv?method=kemeny&o.time_limit=500")
    assert status == 400
    assert b"time limit of 4 seconds" in content
    assert server.work(key, method="borda", methods="borda").state == "done"


def test_a_worker_cannot_take_more_memory_than_it_may(start_server: Callable[..., Server]) -> None:
    server = start_server("--memory", "0.5")
    rows = "".join(f"i{k},i{(k * 7919) % 9001}\n" for k in range(9000) if k != (k * 7919) % 9001)
    view = server.work(server.upload(b"winner,loser\n" + rows.encode()), method="copeland")
    assert "memory" in view.error


def test_workers_end_with_the_server(start_server: Callable[..., Server]) -> None:
    server = start_server()
    assert server.work(server.upload(VOTES)).state == "done"
    (worker,) = workers_of(server)
    server.process.kill()
    server.process.wait()
    gone = threading.Event()
    for _ in range(600):
        if not Path(f"/proc/{worker}").exists():
            return
        gone.wait(0.1)
    raise AssertionError("the worker lives on")


def hard_election() -> bytes:
    """Ballots whose exact Kemeny order takes minutes: random votes over many candidates."""
    import numpy as np

    rng = np.random.default_rng(5)
    lines = [">".join(f"c{k}" for k in rng.permutation(120)) for _ in range(7)]
    return ("ranking\n" + "\n".join(lines) + "\n").encode()
