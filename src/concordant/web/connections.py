"""HTTP connections of the server: limits on their number and timeouts.

The headers of a request must arrive within a few seconds. The rest of a rejected body is read for the same length of
time, so that the client sees the response. A client that does not read its response is disconnected.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from concordant.web.pool import RETRY

SPARE = 64  # more of them, which are told that there are too many
HEAD_SECONDS = 10.0  # from the first moment of a connection, or the end of an answer, to the end of the next headers
WRITE_SECONDS = 60.0  # without any progress


def connections_up_to(max_connections: int) -> type[Connection]:
    """Return the protocol class with this limit on connections, or a lower one if the system allows few open files."""
    with contextlib.suppress(ImportError):  # Windows
        import resource

        max_connections = min(max_connections, max(resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2, SPARE))
    return type("Connection", (Connection,), {"max_connections": max_connections})


class Connection(H11Protocol):
    """An HTTP/1.1 connection."""

    max_connections = 512
    _head: asyncio.TimerHandle | None = None
    _write: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept a connection; reject those beyond the limit with a response, and those far beyond it without one."""
        super().connection_made(transport)
        if len(self.connections) > self.max_connections + SPARE:
            transport.abort()
        elif len(self.connections) > self.max_connections:
            self.app = _full
        self._watch_head()

    def data_received(self, data: bytes) -> None:
        """Receive bytes from the client."""
        super().data_received(data)
        self._watch_head()

    def on_response_complete(self) -> None:
        """Continue with the next request."""
        super().on_response_complete()
        self._watch_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers."""
        super().connection_lost(exc)
        for timer in (self._head, self._write):
            if timer is not None:
                timer.cancel()

    def _watch_head(self) -> None:
        """Start the timer for the headers of the next request; stop it while a request is processed."""
        is_between = self.cycle is None or self.cycle.response_complete
        if is_between and self._head is None:
            self._head = self.loop.call_later(HEAD_SECONDS, self.transport.close)
        elif not is_between and self._head is not None:
            self._head.cancel()
            self._head = None

    def pause_writing(self) -> None:
        """Pause until the client has read part of the response."""
        super().pause_writing()
        self._watch_write(self.transport.get_write_buffer_size() + 1)

    def resume_writing(self) -> None:
        """Resume writing."""
        super().resume_writing()
        if self._write is not None:
            self._write.cancel()

    def _watch_write(self, before: int) -> None:
        """Abort the connection if the client has read nothing since the last check."""
        buffered = self.transport.get_write_buffer_size()
        if buffered >= before:
            self.transport.abort()
        else:
            self._write = self.loop.call_later(WRITE_SECONDS, self._watch_write, buffered)


async def _full(_: Any, __: Any, send: Any) -> None:
    """Respond that there are too many connections."""
    body = b"The server has too many connections: try again in a moment.\n"
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    headers += [(b"retry-after", str(RETRY).encode()), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": body})
