"""Start the web app: bind a socket, print the link with the token, serve until Ctrl-C."""

from __future__ import annotations

import contextlib
import ipaddress
import secrets
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

from concordant.errors import ConcordantError, InputError, arg
from concordant.web.pool import Limits

NEEDS = "The web app needs Starlette and uvicorn: pip install 'concordant[web]'."

MAX_HEAD = 64 << 10  # bytes of the headers of a request
SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name)]


def serve(
    files: tuple[str, ...], host: str, port: int, *, needs_token: bool, limits: Limits, say: Callable[[str], None]
) -> None:
    """Serve until stopped; uploads are removed on exit."""
    server, server_socket, link = make_server(files, host, port, needs_token=needs_token, limits=limits)
    say(link)
    with contextlib.suppress(KeyboardInterrupt):
        server.run(sockets=[server_socket])
    for number in server.captured:
        if number != signal.SIGINT:  # it ends as whoever sent the signal expects
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)


def make_server(
    files: tuple[str, ...], host: str, port: int, *, needs_token: bool, limits: Limits
) -> tuple[Any, socket.socket, str]:
    """Return a server, its listening socket, and the link to it."""
    check_host(host, needs_token)
    try:
        import uvicorn

        from concordant.web.app import App
        from concordant.web.connections import connections_up_to
        from concordant.web.safety import Gate
        from concordant.web.uploads import remove_stale
    except ModuleNotFoundError as problem:
        if problem.name and problem.name.partition(".")[0] in ("starlette", "uvicorn", "h11"):
            raise ConcordantError(NEEDS) from None
        raise
    remove_stale()
    server_socket = _bound(host, port)
    own_port = server_socket.getsockname()[1]
    token = secrets.token_urlsafe(24) if needs_token else None
    app = App(limits, Gate.of(host, own_port, token), files)
    shown = f"[{host}]" if ":" in host else host
    config = uvicorn.Config(
        app.asgi(), lifespan="on", log_level="critical", access_log=False, server_header=False, ws="none",
        http=connections_up_to(limits.connections), loop="asyncio", timeout_graceful_shutdown=1,
        h11_max_incomplete_event_size=MAX_HEAD,
    )  # fmt: skip
    return _server(config, app), server_socket, f"http://{shown}:{own_port}/" + (f"?token={token}" if token else "")


def check_host(host: str, needs_token: bool) -> None:
    """Reject serving other machines without a token, and wildcard addresses."""
    try:
        address = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError:
        raise InputError(f"{host!r} is not an IP address: give one of this machine, such as 127.0.0.1.") from None
    if address.is_unspecified:
        raise InputError(f"{host} means all addresses: give a specific address to listen on.")
    if not needs_token and not address.is_loopback:
        raise InputError(
            f"--no-token is only allowed for local addresses, and other machines can reach {host}: leave out "
            f"--no-token."
        )


def _bound(host: str, port: int) -> socket.socket:
    """Return a socket that listens on this address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(128)  # before the link is printed: whoever follows it at once waits, and is not turned away
    except OSError as problem:
        listening.close()
        what = f"Port {port} of {host} cannot be used ({problem.strerror})"
        raise InputError(f"{what}: choose another " + arg("port") + ".") from None
    return listening


def _is_ignored(number: int) -> bool:
    """Return whether the parent process ignores a signal, as nohup does."""
    return signal.getsignal(number) == signal.SIG_IGN


def _server(config: Any, app: Any) -> Any:
    """Return a server that shuts down quickly: it wakes waiting clients and removes all uploads."""
    import uvicorn

    class Server(uvicorn.Server):
        """A server that wakes waiting clients on shutdown."""

        def __init__(self) -> None:
            super().__init__(config)
            self.captured: list[int] = []

        def run(self, sockets: list[socket.socket] | None = None) -> None:
            """Serve; uploads are removed even after a second Ctrl-C."""
            try:
                super().run(sockets)
            finally:
                app.remove_uploads()

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            """Wake waiting clients, then shut down."""
            app.stop()
            await super().shutdown(sockets)

        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            """Shut down normally on every termination signal, including when the terminal closes."""
            if threading.current_thread() is not threading.main_thread():
                yield
                return
            heard = [number for number in SIGNALS if number == signal.SIGINT or not _is_ignored(number)]
            before = {number: signal.signal(number, self.handle_exit) for number in heard}
            try:
                yield
            finally:
                for number, handler in before.items():
                    signal.signal(number, handler)
                self.captured = list(self._captured_signals)

    return Server()
