"""The routes of the web app: pages, uploads, work, updates, downloads. Requests have already passed ``safety``."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any
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
from concordant.web.messages import Answer, Question, Update
from concordant.web.pool import RETRY, BusyError, Limits
from concordant.web.safety import Gate, GatedApp
from concordant.web.settings import settings_of
from concordant.web.stores import WAITING, DataSet, GoneError, Store, TooLargeError
from concordant.web.uploads import PIECE, receive, safe_name
from concordant.web.words import control_words

STATIC = {
    "report.css": ("concordant.reporting", "text/css"),
    "report.js": ("concordant.reporting", "text/javascript"),
    "curves.js": ("concordant.reporting", "text/javascript"),
    "app.css": ("concordant.web", "text/css"),
    "app.js": ("concordant.web", "text/javascript"),
    "theme.js": ("concordant.web", "text/javascript"),
}
KINDS = {  # ending and media type of each kind of download
    "csv": ("ranking.csv", "text/csv"),
    "xlsx": ("ranking.xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    "json": ("ranking.json", "application/json"),
    "svg": ("ranking.svg", "image/svg+xml"),
    "card": ("verdict.svg", "image/svg+xml"),
    "run": ("fused.run", "text/plain"),
    "history": ("over-time.csv", "text/csv"),
    "groups": ("groups.csv", "text/csv"),
    "labels": ("labels.csv", "text/csv"),
    "annotators": ("annotators.csv", "text/csv"),
    "predictions": ("predictions.csv", "text/csv"),
    "lists": ("recommendations.csv", "text/csv"),
    "lists_parquet": ("recommendations.parquet", "application/vnd.apache.parquet"),
    "model": ("model.zip", "application/zip"),
    "html": ("report.html", "text/html"),
}
MAX_FILES = 50  # of one data set
PATIENCE = 1.0  # seconds without any news
COMPUTING = "Computing"


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
        ending, media = KINDS[kind]
        name = f"{stem}-{ending}"
        disposition = f"attachment; filename*=UTF-8''{quote(name)}"
        headers = {"Content-Disposition": disposition, "Content-Length": str(len(content))}
        super().__init__(_pieces(content), media_type=media, headers=headers)

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
            Route("/api/data/{key}/view", self.view),
            Route("/api/data/{key}/cancel", self.cancel, methods=["POST"]),
            Route("/api/data/{key}/close", self.close, methods=["POST"]),
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
        """End all work, because the server is stopping."""
        for work in list(self.store.working.values()):
            work.task.cancel()

    def remove_uploads(self) -> None:
        """Remove all uploads immediately, even if the server could not shut down normally."""
        if self.store is not None:
            self.store.folder.remove()

    # ---- pages ----
    async def start(self, request: Request) -> Response:
        """Show the start page; a link with the token sets a cookie and redirects to an address without the token."""
        if "token" in request.query_params and self.gate.token is not None:
            answer = RedirectResponse("/" if self.first is None else f"/d/{self.first}", status_code=303)
            answer.set_cookie(self.gate.cookie, self.gate.token, httponly=True, samesite="strict", path="/")
            return answer
        opened = [
            pages.Opened(key, data.title, data.summary, data.total_bytes, data.opened)
            for key, data in reversed(self.store.data_sets.items())
        ]
        return HTMLResponse(pages.start_page(list(self.examples), opened))

    async def page(self, request: Request) -> Response:
        """Show the page of a data set, which the script fills; a data set that was closed gets a page that says so."""
        key = request.path_params["key"]
        data = self.store.data_sets.get(key)
        if data is None:
            return HTMLResponse(pages.problem_page("Data set closed", str(GoneError())), status_code=410)
        return HTMLResponse(pages.data_page(key, data.title))

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
        return Json({"key": await self._open(tuple(map(str, self.examples[name])))})

    async def _open(self, paths: tuple[str, ...]) -> str:
        """Open files in place, read-only."""
        folder = os.path.dirname(os.path.abspath(paths[0]))
        key = await self.store.add(os.path.basename(paths[0]), folder)
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
            if data.is_gone:
                raise GoneError
        except BaseException:
            path.unlink(missing_ok=True)
            self.store.unreserve(data, size)
            raise
        return stored_name

    async def close(self, request: Request) -> Response:
        """Close a data set and remove its uploaded files."""
        key = request.path_params["key"]
        self.store.find(key)
        await self.store.drop(key)
        return Json({})

    # ---- work ----
    async def view(self, request: Request) -> Response:
        """Compute the result for the settings in the address, and send each part when it is ready, one per line.

        The work ends when the page that asked for it leaves or asks for something else.
        """
        part, settings = _asked(request)
        with contextlib.ExitStack() as stack:
            data = stack.enter_context(self.store.lease(request.path_params["key"]))
            stack.enter_context(self.store.pool.admission())
            question = self.store.question(data, settings, part=part)
            return View(self.store, data, question, stack.pop_all())

    async def cancel(self, request: Request) -> Response:
        """Cancel a section of a question, or all of it."""
        data = self.store.find(request.path_params["key"])
        number, section = request.query_params.get("id", ""), request.query_params.get("section", "")
        if not re.fullmatch(r"\d{1,15}", number) or len(section) > 100:
            raise HTTPException(400, "There is no such work.")
        self.store.cancel(data, int(number), section)
        return Json({})

    async def download(self, request: Request) -> Response:
        """Return the current view as a file."""
        kind = request.path_params["kind"]
        if kind not in KINDS:
            raise HTTPException(404, "There is no such kind of file.")
        _, settings = _asked(request)
        with self.store.lease(request.path_params["key"]) as data, self.store.pool.admission():
            question = self.store.question(data, settings, kind=kind)
            work = self.store.begin(data, question, lambda _: None)
            await _while_connected(request, work.task)
        answer = work.answer()
        if answer is None:
            raise HTTPException(503, "The server is stopping.")
        if "content" not in answer:
            raise HTTPException(400, answer.get("error") or "The work was cancelled.")
        data.is_seen = True
        with contextlib.ExitStack() as stack:
            stack.enter_context(self._transfer("download"))
            return Download(base64.b64decode(answer["content"]), data.name, kind, stack.pop_all())


class View(StreamingResponse):
    """The parts of a page as JSON lines, sent as they become ready; the work is cancelled if the client leaves."""

    def __init__(self, store: Store, data: DataSet, question: Question, held: contextlib.ExitStack) -> None:
        self.store, self.data, self.question, self.held = store, data, question, held
        self.updates: asyncio.Queue[Update | None] = asyncio.Queue()
        self.jobs: set[str] = set()  # the sections whose progress was told
        super().__init__(self._lines(), media_type="application/x-ndjson")

    async def __call__(self, *connection: Any) -> None:
        """Send the lines; what the work holds is released when the work is over, even if the client left before."""
        self.work = self.store.begin(self.data, self.question, self.updates.put_nowait)
        self.work.task.add_done_callback(self._over)
        try:
            await super().__call__(*connection)
        finally:
            self.work.task.cancel()

    def _over(self, _: asyncio.Task[Answer]) -> None:
        self.held.close()
        self.updates.put_nowait(None)

    async def _lines(self) -> AsyncIterator[bytes]:
        yield _line({"id": self.question["id"], "progress": WAITING})
        while (update := await self._next()) is not None:
            self.jobs |= {update["job"]["section"]} if "job" in update else set()
            yield _line(update)
        answer = self.work.answer()
        if answer is not None:
            state = "failed" if answer.get("error") else "cancelled" if answer.get("is_cancelled") else "done"
            yield _line({**answer, "state": state})
            self.data.is_seen = True

    async def _next(self) -> Update | None:
        """Return the next update; if none comes for a while, say what is at work, so that it can be cancelled."""
        section = self.work.section
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(None if section in self.jobs else PATIENCE):
                return await self.updates.get()
        text = COMPUTING if section else self.work.activity
        return {"job": {"section": section, "text": text, "share": None, "left": ""}}


def _line(content: Mapping[str, Any]) -> bytes:
    """Return a ``Line`` of the response to the page."""
    return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii") + b"\n"


def _asked(request: Request) -> tuple[str, dict[str, Any]]:
    """Return the wanted section (empty for all) and the settings in the address of a request."""
    pairs = [(name, value) for name, value in request.query_params.multi_items() if name != "token"]
    part = next((value for name, value in pairs if name == "part"), "")
    return part[:100], settings_of([(name, value) for name, value in pairs if name != "part"])


async def _while_connected(request: Request, working: asyncio.Task[Answer]) -> None:
    """Wait for some work; cancel it if the client disconnects."""
    leaving = asyncio.create_task(_left(request))
    try:
        await asyncio.wait([working, leaving], return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise HTTPException(400, "The client disconnected.")
    finally:
        working.cancel()
        leaving.cancel()
        await asyncio.wait([working, leaving])


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _examples() -> dict[str, list[Path]]:
    """Return the files of the examples: next to the sources in a clone, otherwise inside this package."""
    source_file = Path(__file__).resolve()
    folder = next(
        (path for path in (source_file.parents[3] / "examples", source_file.parent / "examples") if path.is_dir()),
        source_file,
    )
    files = {task.example: [path for name in task.files for path in sorted(folder.glob(name))] for task in pages.TASKS}
    return {name: paths for name, paths in files.items() if paths}


def _given_name(request: Request) -> str:
    return unquote(request.headers.get("x-file-name", "data.csv"))[:300]


def _too_long(max_bytes: int) -> HTTPException:
    """Return the error for an upload beyond the limit."""
    return HTTPException(
        413, f"The file is larger than {max_bytes / 1e6:,.0f} MB: start the server with a larger --max-upload, "
        "or use the command line."
    )  # fmt: skip


# ---- refusals ----
def _refusal(
    request: Request, status: int, title: str, message: str, headers: Mapping[str, str] | None = None
) -> Response:
    """Return an error: as a page with a way out for people, as JSON for the script."""
    if request.url.path.startswith(("/api", "/static")):
        return Json({"error": message}, status_code=status, headers=headers)
    return HTMLResponse(pages.problem_page(title, message), status_code=status, headers=headers)


async def _gone(request: Request, problem: Exception) -> Response:
    return _refusal(request, 410, "Data set closed", str(problem))


async def _busy(request: Request, problem: Exception) -> Response:
    return _refusal(request, 503, "Server busy", str(problem), {"Retry-After": str(RETRY)})


async def _too_large(request: Request, problem: Exception) -> Response:
    return _refusal(request, 413, "Too large", str(problem))


async def _unstored(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, OSError)
    what = f"The server cannot use its disk ({problem.strerror or problem}): free some space, or set TMPDIR."
    return _refusal(request, 507, "No disk space", what)


async def _refused(request: Request, problem: Exception) -> Response:
    return _refusal(request, 400, "Not possible", in_words(problem, control_words()))


async def _status(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, HTTPException)
    if problem.status_code == 404 and problem.detail == "Not Found":
        return _refusal(request, 404, "Page not found", "There is no page at this address.")
    return _refusal(request, problem.status_code, "Not possible", str(problem.detail), problem.headers)


async def _broken(_: Request, __: Exception) -> Response:
    return PlainTextResponse("Unexpected error in the server: please report it.", status_code=500)
