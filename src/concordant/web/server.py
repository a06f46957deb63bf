"""Start the web app: bind a socket, print the link with the token, serve until Ctrl-C."""

from __future__ import annotations

import contextlib
import ipaddress
import secrets
import socket
from collections.abc import Callable
from typing import Any

from concordant.errors import ConcordantError, InputError
from concordant.web.stores import Limits

NEEDS = "The web page needs Starlette and uvicorn: pip install 'concordant[web]'."


def serve(
    files: tuple[str, ...], host: str, port: int, *, needs_token: bool, limits: Limits, say: Callable[[str], None]
) -> None:
    """Serve until somebody stops it."""
    check_host(host, needs_token)
    try:
        import uvicorn

        from concordant.web.app import App
        from concordant.web.safety import Gate
    except ModuleNotFoundError as problem:
        if problem.name and problem.name.partition(".")[0] in ("starlette", "uvicorn"):
            raise ConcordantError(NEEDS) from None
        raise
    bound = _bound(host, port)
    own = bound.getsockname()[1]
    token = secrets.token_urlsafe(24) if needs_token else None
    app = App(limits, Gate.of(host, own, token), files)
    shown = f"[{host}]" if ":" in host else host
    say(f"http://{shown}:{own}/" + (f"?token={token}" if token else ""))
    config = uvicorn.Config(
        app.asgi(), lifespan="on", log_level="critical", access_log=False, server_header=False, ws="none",
        timeout_graceful_shutdown=1, h11_max_incomplete_event_size=64 << 10,
    )  # fmt: skip
    with contextlib.suppress(KeyboardInterrupt):
        _server(config, app).run(sockets=[bound])


def check_host(host: str, needs_token: bool) -> None:
    """Refuse to be open to others without a token, and addresses that stand for all."""
    try:
        address = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError:
        raise InputError(f"{host!r} is no address: give one of this machine, such as 127.0.0.1.") from None
    if address.is_unspecified:
        raise InputError(f"{host} stands for all addresses: name the one to be reached at.")
    if not needs_token and not address.is_loopback:
        raise InputError(
            f"Without a token only this machine may connect, and {host} is reached by others: leave out --no-token."
        )


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
        made.listen(128)  # before the link is printed: whoever follows it at once waits, and is not turned away
    except OSError as problem:
        made.close()
        raise InputError(f"Port {port} of {host} cannot be used ({problem.strerror}): choose another --port.") from None
    return made


def _server(config: Any, app: Any) -> Any:
    """Return a server that ends at once and quietly: nobody is left waiting for news."""
    import uvicorn

    class Server(uvicorn.Server):
        """A server that lets go of those who wait."""

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            app.stop()
            await super().shutdown(sockets)

    return Server(config)
