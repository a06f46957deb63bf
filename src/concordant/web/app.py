"""The routes of the web app: pages, uploads, work, updates, downloads. Requests have already passed ``safety``."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import re
from collections import Counter
from collections.abc import AsyncIterator, Coroutine, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, unquote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route

from concordant.errors import ConcordantError, in_words
from concordant.web import pages
from concordant.web.pool import RETRY, BusyError, Limits
from concordant.web.safety import Gate, GatedApp
from concordant.web.settings import settings_of
from concordant.web.stores import DataSet, GoneError, Store, TooLargeError
from concordant.web.uploads import PIECE, receive, safe_name
from concordant.web.words import control_words

STATIC = {
    "report.css": ("concordant.reporting", "text/css"),
    "report.js": ("concordant.reporting", "text/javascript"),
    "app.css": ("concordant.web", "text/css"),
    "app.js": ("concordant.web", "text/javascript"),
}
KINDS = {
    "csv": "text/csv",
    "json": "application/json",
    "svg": "image/svg+xml",
    "run": "text/plain",
    "html": "text/html",
}
WAIT = 20.0  # seconds a question for news is held
MAX_SETTINGS = 1_000_000  # bytes
MAX_FILES = 50  # of one data set
T = TypeVar("T")


class Json(JSONResponse):
    """A JSON response, escaped so that any characters in labels are valid."""

    def render(self, content: Any) -> bytes:
        """Return the body of the response."""
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")


class Download(StreamingResponse):
    """A file download, sent in chunks as the client reads it; it counts as a transfer until it is complete."""

    def __init__(self, content: bytes, data_name: str, kind: str, transfer: contextlib.ExitStack) -> None:
        self.transfer = transfer
        stem = re.sub(r"[^\w-]", "_", os.path.splitext(data_name)[0])[:60] or "ranking"
        name = f"{stem}-ranking.{kind}" if kind != "html" else f"{stem}-report.html"
        disposition = f"attachment; filename*=UTF-8''{quote(name)}"
        headers = {"Content-Disposition": disposition, "Content-Length": str(len(content))}
        super().__init__(_pieces(content), media_type=KINDS[kind], headers=headers)

    async def __call__(self, *connection: Any) -> None:
        """Send the file."""
        with self.transfer:
            await super().__call__(*connection)


async def _pieces(content: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(content), PIECE):
        yield content[start : start + PIECE]


class App:
    """The application of one server."""

    def __init__(self, limits: Limits, gate: Gate, opened: tuple[str, ...] = ()) -> None:
        self.limits, self.gate, self.opened = limits, gate, opened
        self.first: str | None = None
        self.store: Store = None  # type: ignore[assignment]  # made when the server starts
        self.transfers: Counter[str] = Counter()
        self.examples = _examples()

    def asgi(self) -> GatedApp:
        """Return the ASGI application, wrapped in its gate."""
        routes = [
            Route("/", self.start),
            Route("/d/{key}", self.page),
            Route("/static/{name}", self.static),
            Route("/api/data", self.upload, methods=["POST"]),
            Route("/api/example/{name}", self.example, methods=["POST"]),
            Route("/api/data/{key}/file", self.add_file, methods=["POST"]),
            Route("/api/data/{key}/work", self.work, methods=["POST"]),
            Route("/api/data/{key}/news", self.news),
            Route("/api/data/{key}/cancel", self.cancel, methods=["POST"]),
            Route("/api/data/{key}/download/{kind}", self.download),
        ]
        handlers: Any = {
            GoneError: _gone, BusyError: _busy, TooLargeError: _too_large, ConcordantError: _refused,
            OSError: _unstored, HTTPException: _status, Exception: _broken,
        }  # fmt: skip
        return GatedApp(Starlette(routes=routes, exception_handlers=handlers, lifespan=self.lifespan), self.gate)

    @contextlib.asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        """Keep the data sets open while the server runs."""
        self.store = Store(self.limits)
        if self.opened:
            self.first = await self._open(self.opened)
        yield
        await self.store.close()

    def stop(self) -> None:
        """Wake all clients that wait for updates, because the server is stopping."""
        for data in self.store.data_sets.values():
            data.wake()

    def remove_uploads(self) -> None:
        """Remove all uploads immediately, even if the server could not shut down normally."""
        if self.store is not None:
            self.store.folder.remove()

    # ---- pages ----
    async def start(self, request: Request) -> Response:
        """Show the page; a link with the token sets a cookie and redirects to an address without the token."""
        if "token" in request.query_params and self.gate.token is not None:
            answer = RedirectResponse("/" if self.first is None else f"/d/{self.first}", status_code=303)
            answer.set_cookie(self.gate.cookie, self.gate.token, httponly=True, samesite="strict", path="/")
            return answer
        return HTMLResponse(pages.page({name: what for name, (what, _) in self.examples.items()}))

    async def page(self, request: Request) -> Response:
        """Show the page of a data set, which the script fills."""
        return await self.start(request)

    async def static(self, request: Request) -> Response:
        """Return a style sheet or a script."""
        name = request.path_params["name"]
        if name not in STATIC:
            raise HTTPException(404)
        package, media = STATIC[name]
        return Response((files(package) / "static" / name).read_bytes(), media_type=media)

    # ---- data come in ----
    async def upload(self, request: Request) -> Response:
        """Receive a file: the body is streamed to a temporary file."""
        name = _given_name(request)
        self._refuse_long(request)
        with self._transfer("upload"):
            key = await self.store.add(name)
            try:
                with self.store.lease(key) as data:
                    await self.store.pool.prepare(data.worker)  # it is ready when the file is
                    data.files.append(await self._save(request, data, name))
            except BaseException:
                await self.store.drop(key)
                raise
        return Json({"key": key})

    async def add_file(self, request: Request) -> Response:
        """Receive a further file of a data set, or its labels (``?as=labels``)."""
        self._refuse_long(request)
        with self._transfer("upload"), self.store.lease(request.path_params["key"]) as data:
            await self.store.own(data)
            saved = await self._save(request, data, _given_name(request))
            if request.query_params.get("as") == "labels":
                data.labels = saved
            else:
                data.files.append(saved)
            return Json({"files": data.files})

    async def example(self, request: Request) -> Response:
        """Open one of the examples."""
        name = request.path_params["name"]
        if name not in self.examples:
            raise HTTPException(404, "There is no such example.")
        return Json({"key": await self._open(tuple(map(str, self.examples[name][1])), name)})

    async def _open(self, paths: tuple[str, ...], name: str = "") -> str:
        """Open files in place, read-only."""
        folder = os.path.dirname(os.path.abspath(paths[0]))
        key = await self.store.add(name or os.path.basename(paths[0]), folder)
        self.store.find(key).files = [os.path.relpath(os.path.abspath(path), folder) for path in paths]
        return key

    def _refuse_long(self, request: Request) -> None:
        """Reject a file that is too large before any of it is read."""
        content_length = request.headers.get("content-length", "")
        if content_length.isdecimal() and (len(content_length) > 15 or int(content_length) > self.limits.body):
            raise _too_long(self.limits.body)

    @contextlib.contextmanager
    def _transfer(self, direction: str) -> Iterator[None]:
        """Count the active uploads or downloads; reject one beyond the limit."""
        if self.transfers[direction] >= self.limits.transfers:
            raise BusyError(f"Too many {direction}s are in progress: try again in a few seconds.")
        self.transfers[direction] += 1
        try:
            yield
        finally:
            self.transfers[direction] -= 1

    async def _save(self, request: Request, data: DataSet, name: str) -> str:
        """Stream the body to a file and return its name; an incomplete or too large body leaves no file."""
        stored = os.listdir(data.folder)
        if len(stored) >= MAX_FILES:
            raise HTTPException(413, f"A data set can have at most {MAX_FILES} uploaded files.")
        stored_name = safe_name(name, [*map(os.path.basename, data.files), *stored])
        path, size = Path(data.folder) / stored_name, 0
        try:
            with open(path, "xb") as file:

                async def take(piece: bytes) -> None:
                    nonlocal size
                    if size + len(piece) > self.limits.body:
                        raise _too_long(self.limits.body)
                    await self.store.reserve(data, len(piece))
                    size += len(piece)
                    await asyncio.to_thread(file.write, piece)

                await receive(request, self.limits, take)
            if not size:
                raise HTTPException(400, "The file is empty: there is nothing to read.")
        except BaseException:
            path.unlink(missing_ok=True)
            self.store.unreserve(data, size)
            raise
        return stored_name

    # ---- work ----
    async def work(self, request: Request) -> Response:
        """Start computing the result for the settings of the page."""
        content = bytearray()

        async def take(piece: bytes) -> None:
            content.extend(piece)
            if len(content) > MAX_SETTINGS:
                raise HTTPException(413, "The settings are too long.")

        with self.store.lease(request.path_params["key"]) as data:
            await receive(request, self.limits, take)
            self.store.work(data, settings_of(bytes(content)))
            return Json({"version": data.version})

    async def news(self, request: Request) -> Response:
        """Return the state of a data set as soon as it is newer than the page's version."""
        data = self.store.find(request.path_params["key"])
        after = request.query_params.get("after", "-1")
        version = int(after) if re.fullmatch(r"-?\d{1,15}", after) else -1
        return Json(await _while_connected(request, self.store.news(data, version, WAIT)))

    async def cancel(self, request: Request) -> Response:
        """Cancel the current work."""
        with self.store.lease(request.path_params["key"]) as data:
            await self.store.cancel(data)
        return Json({})

    async def download(self, request: Request) -> Response:
        """Return the current view as a file."""
        kind = request.path_params["kind"]
        if kind not in KINDS:
            raise HTTPException(404, "There is no such kind of file.")
        with self.store.lease(request.path_params["key"]) as data:
            answer = await _while_connected(request, self.store.ask(data, kind))
        if answer["error"]:
            raise HTTPException(400, answer["error"])
        with contextlib.ExitStack() as stack:
            stack.enter_context(self._transfer("download"))
            return Download(base64.b64decode(answer["content"]), data.name, kind, stack.pop_all())


async def _while_connected(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Return the result of some work; cancel it if the client disconnects."""
    working, leaving = asyncio.create_task(work), asyncio.create_task(_left(request))
    try:
        await asyncio.wait([working, leaving], return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise HTTPException(400, "The client disconnected.")
        return working.result()
    finally:
        working.cancel()
        leaving.cancel()
        await asyncio.wait([working, leaving])


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _examples() -> dict[str, tuple[str, list[Path]]]:
    """Return the examples: next to the sources in a clone, otherwise inside this package."""
    source_file = Path(__file__).resolve()
    folder = next(
        (path for path in (source_file.parents[3] / "examples", source_file.parent / "examples") if path.is_dir()),
        source_file,
    )
    examples = {name: (what, [folder / name]) for name, what in pages.EXAMPLES.items() if (folder / name).is_file()}
    runs = sorted((folder / "runs").glob("*.run"))
    return examples | ({pages.RUNS: (f"{len(runs)} search engines to fuse", runs)} if runs else {})


def _given_name(request: Request) -> str:
    return unquote(request.headers.get("x-file-name", "data.csv"))[:300]


def _too_long(max_bytes: int) -> HTTPException:
    """Return the error for an upload beyond the limit."""
    return HTTPException(
        413, f"The file is larger than {max_bytes / 1e6:,.0f} MB: start the server with a larger --max-upload, "
        "or use the command line."
    )  # fmt: skip


# ---- refusals ----
async def _gone(_: Request, problem: Exception) -> Response:
    return Json({"error": str(problem)}, status_code=410)


async def _busy(_: Request, problem: Exception) -> Response:
    return Json({"error": str(problem)}, status_code=503, headers={"Retry-After": str(RETRY)})


async def _too_large(_: Request, problem: Exception) -> Response:
    return Json({"error": str(problem)}, status_code=413)


async def _unstored(_: Request, problem: Exception) -> Response:
    assert isinstance(problem, OSError)
    what = f"The server cannot use its disk ({problem.strerror or problem}): free some space, or set TMPDIR."
    return Json({"error": what}, status_code=507)


async def _refused(_: Request, problem: Exception) -> Response:
    return Json({"error": in_words(problem, control_words())}, status_code=400)


async def _status(_: Request, problem: Exception) -> Response:
    assert isinstance(problem, HTTPException)
    return Json({"error": str(problem.detail)}, status_code=problem.status_code, headers=problem.headers)


async def _broken(_: Request, __: Exception) -> Response:
    return PlainTextResponse("Unexpected error in the server: please report it.", status_code=500)
