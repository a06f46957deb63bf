"""Security checks for every request: host, origin, token, and strict response headers.

A page of another site in the same browser may send requests to this server, and the name of that site may resolve to
this machine (DNS rebinding). So ``Host`` must be this server's own name, ``Origin`` and ``Sec-Fetch-Site`` must not
name another site, requests that change state must come from a page of this server, and every request must carry the
token of the printed link, in a cookie that is not sent with requests of other sites.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
METHODS = ("GET", "HEAD", "POST")
MAX_QUERY = 8_000  # bytes behind the question mark of an address
MAX_HEADERS = 32_000  # bytes of all headers
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True)
class Refusal:
    """The reason for rejecting a request."""

    status: int
    text: str


@dataclass(frozen=True)
class Gate:
    """The allowed names of this server with its port, and the token (None: open to all users of this machine)."""

    hosts: frozenset[str]
    token: str | None

    @classmethod
    def of(cls, host: str, port: int, token: str | None) -> Gate:
        """Return the gate of a server bound to an address."""
        names = LOOPBACK if host in ("127.0.0.1", "::1", "localhost") else (f"[{host}]" if ":" in host else host,)
        return cls(frozenset(f"{name}:{port}" for name in names), token)

    @property
    def cookie(self) -> str:
        """The name of the cookie, which contains the port, because cookies are shared between ports."""
        return f"concordant-{next(iter(self.hosts)).rpartition(':')[2]}"

    def refuse(self, method: str, headers: dict[str, str], query: str) -> Refusal | None:
        """Return why a request is rejected; None if it is allowed."""
        if headers.get("host", "").lower() not in self.hosts:
            return Refusal(403, "This server accepts requests for its own address only.")
        if method not in METHODS:
            return Refusal(405, "Only GET and POST are supported.")
        own_origins = {f"http://{host}" for host in self.hosts}
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if (origin is not None and origin.lower() not in own_origins) or site not in (None, "same-origin", "none"):
            return Refusal(403, "Requests from other sites are rejected.")
        if method == "POST" and origin is None and site != "same-origin":
            return Refusal(403, "Requests that change state must come from a page of this server.")
        if not self.knows_token(headers.get("cookie", ""), query):
            return Refusal(403, "The token is missing or wrong: open the link that `concordant serve` printed.")
        return None

    def knows_token(self, cookie: str, query: str) -> bool:
        """Return whether a request carries the token, in its cookie or in its link."""
        if self.token is None:
            return True
        tokens = [*parse_qs(query).get("token", ())]
        try:
            morsel = SimpleCookie(cookie).get(self.cookie)
        except CookieError:
            morsel = None
        if morsel is not None:
            tokens.append(morsel.value)
        return any(secrets.compare_digest(token.encode(), self.token.encode()) for token in tokens)


class GatedApp:
    """An application behind a gate; every response, including a rejection, has the strict headers."""

    def __init__(self, app: Any, gate: Gate) -> None:
        self.app, self.gate = app, gate

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Handle one request, or reject it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # there are no web sockets here
            await send({"type": "websocket.close", "code": 1008})
            return

        async def strict(message: Any) -> None:
            if message["type"] == "http.response.start":
                headers = [*message.get("headers", ())]
                headers += [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": headers}
            await send(message)

        header_of: dict[str, str] = {}
        for name, value in scope["headers"]:
            key = name.decode("latin-1").lower()
            if key in ("host", "origin", "sec-fetch-site") and key in header_of:
                header_of[key] = ""  # said twice: nobody honest does
            else:
                header_of[key] = value.decode("latin-1")
        refusal = _too_long(scope) or self.gate.refuse(
            scope["method"], header_of, scope["query_string"].decode("latin-1")
        )
        if refusal is not None:
            await _plain(strict, refusal)
            return
        await self.app(scope, receive, strict)


def _too_long(scope: Any) -> Refusal | None:
    """Return the rejection of an address or headers that are too long; otherwise None."""
    if len(scope["query_string"]) + len(scope["raw_path"]) > MAX_QUERY:
        return Refusal(414, "The address is too long.")
    if sum(len(name) + len(value) for name, value in scope["headers"]) > MAX_HEADERS:
        return Refusal(431, "The headers are too long.")
    return None


async def _plain(send: Any, refusal: Refusal) -> None:
    """Send a rejection as plain text."""
    body = f"{refusal.text}\n".encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
