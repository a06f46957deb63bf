"""What no page of the app sends: malformed settings, and bytes that are hardly HTTP."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import fields

from concordant.web.settings import PageSettings

TEXTS = (
    *(
        "\ud800",
        "a\udfffb",
        "\x00",
        "a\x00b",
        "x" * 200_000,
        "1e999",
        "-1e999",
        "-1",
        "nan",
        "inf",
        "9" * 400,
        "1" * 5000,
    ),
    *("0x10", "1e-999x", "<b>", "--", "١e", "[]", "{}", "null", "true", "../../etc/passwd", "\u202e", "%00", "a\nb"),
)
NAMES = ("", "unknown", "__proto__", "constructor", "toString", "params", "roles", "files", "labels", "id", "k" * 5000)
# What is right for one setting although it is wrong for others.
NUMBERS, FLAGS = ("min_ballots", "centre"), ("skip_bad_rows",)
Pairs = list[tuple[str, str]]


def malformed_settings(count: int) -> Iterator[Pairs]:
    """Yield this many addresses: unknown names, then values of the wrong type, size or range for every setting."""
    names = [one.name for one in fields(PageSettings) if one.name not in ("params", "roles")]
    cases: list[Pairs] = [[(name, "1")] for name in NAMES] + [[("method", "elo")] * 501, [("o.k", "1")] * 10_000]
    cases += [[(name, text)] for name in names for text in TEXTS]
    for text in TEXTS:
        cases += [[("o.prior", text), ("method", "bradley-terry")], [(f"o.{text}", "1"), ("method", "elo")]]
        cases += [[("role.winner", text)], [(f"role.{text}", "winner")], [("role.x", f"other side of {text}")]]
        cases += [[(text, "1")]]
    random.Random(0).shuffle(cases)
    yield from cases[:count]


def malformed_requests(own: str, cookie: str, key: str) -> Iterator[bytes]:
    """Yield bytes that are damaged requests, requests in disguise, or none."""
    head = f"Host: {own}\r\nCookie: {cookie}\r\nOrigin: http://{own}\r\n".encode()
    view = f"/api/data/{key}/view".encode()
    lines = [
        *(
            b"GET\r\n\r\n",
            b"\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc",
            b"GET / HTTP/9.9\r\n\r\n",
            b"\x00" * 5000,
        ),
        *(
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            b"GET http://evil.example/ HTTP/1.1\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost\r\n\r\n",
        ),
        b"GET / HTTP/1.1\r\n" + head + b" folded: x\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + head + b"X: a\x00b\r\n\r\n",
        b"GET /\x00 HTTP/1.1\r\n" + head + b"\r\n",
        b"GET /d/\xff\xfe%ff%00 HTTP/1.1\r\n" + head + b"\r\n",
        b"GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\n" + head + b"\r\n",
        b"GET /static/..%2fapp.py HTTP/1.1\r\n" + head + b"\r\n",
        b"GET " + view + b"?method=%ff%fe&%00=%00 HTTP/1.1\r\n" + head + b"\r\n",
        b"GET " + view + b"?" + b"&" * 7000 + b" HTTP/1.1\r\n" + head + b"\r\n",
        b"GET " + view + b"?" + b"o.a=1&" * 501 + b" HTTP/1.1\r\n" + head + b"\r\n",
        b"CONNECT evil.example:443 HTTP/1.1\r\n" + head + b"\r\n",
        b"GET / HTTP/1.1\r\n" + head + b"Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    ]
    bodies = [
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: 1e3\r\n\r\n",
        b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
        b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffffff\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n-1\r\nabc\r\n0\r\n\r\n",
        b"Transfer-Encoding: gzip\r\n\r\nabc",
        b"Content-Length: 99999999999999999999\r\n\r\n",
        b"X-File-Name: %00%ff..%2f..%2fetc%2fpasswd\r\nContent-Length: 0\r\n\r\n",
        b"X-File-Name: \xff\xfe\r\nContent-Length: 0\r\n\r\n",
    ]
    posts = [b"POST /api/data HTTP/1.1\r\n" + head + body for body in bodies]
    cut = [line[: len(line) // 2] for line in lines]
    draw, whole = random.Random(1), b"GET " + view + b"?method=borda HTTP/1.1\r\n" + head + b"\r\n"
    damaged = [bytes(byte ^ (draw.random() < 0.02) * 255 for byte in whole) for _ in range(40)]
    yield from [*lines, *posts, *cut, *damaged]
