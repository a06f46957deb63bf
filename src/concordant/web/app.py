"""The routes of the web app: pages, uploads, work, news, downloads. Every request has passed the gate before."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from concordant.errors import ConcordantError
from concordant.web import pages
from concordant.web.safety import Gate, GatedApp
from concordant.web.stores import DataSet, GoneError, Limits, Store, safe_name

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
MOST_SETTINGS = 1_000_000  # bytes
MOST_FILES = 50  # of one data set
Endpoint = Callable[[Request], Awaitable[Response]]


class App:
    """The application of one server."""

    def __init__(self, limits: Limits, gate: Gate, opened: tuple[str, ...] = ()) -> None:
        self.limits, self.gate, self.opened = limits, gate, opened
        self.first: str | None = None
        self.examples = _examples()

    def asgi(self) -> GatedApp:
        """Return the application behind its gate."""
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
        handlers: Any = {GoneError: _gone, ConcordantError: _refused, HTTPException: _status, Exception: _broken}
        return GatedApp(Starlette(routes=routes, exception_handlers=handlers, lifespan=self.lifespan), self.gate)

    @contextlib.asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        """Hold the data sets as long as the server runs."""
        self.store = Store(self.limits)
        if self.opened:
            self.first = await self._open(self.opened)
        yield
        await self.store.close()

    def stop(self) -> None:
        """Wake all who wait for news: there will be none."""
        for data in self.store.data_sets.values():
            data.changed.set()

    # ---- pages ----
    async def start(self, request: Request) -> Response:
        """Show the page; a link with the token leaves a cookie, and the token out of the address."""
        if "token" in request.query_params and self.gate.token is not None:
            answer = RedirectResponse("/" if self.first is None else f"/d/{self.first}", status_code=303)
            answer.set_cookie(self.gate.cookie, self.gate.token, httponly=True, samesite="strict", path="/")
            return answer
        return HTMLResponse(pages.page({name: what for name, (what, _) in self.examples.items()}))

    async def page(self, request: Request) -> Response:
        """Show the page of a data set, which its script fills."""
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
        """Take a file: its content is the body, streamed to a temporary file."""
        self._refuse_long(request)
        name = _given_name(request)
        key, data = await self.store.add(name)
        try:
            await self.store.prepare(data)  # it is ready when the file is
            data.files.append(await self._save(request, data, name))
        except BaseException:
            self.store.data_sets.pop(key, None)
            await data.close()
            raise
        return JSONResponse({"key": key})

    async def add_file(self, request: Request) -> Response:
        """Take a further file of a data set, or its labels (``?as=labels``)."""
        self._refuse_long(request)
        data = self.store.find(request.path_params["key"])
        if len(data.files) >= MOST_FILES:
            raise HTTPException(413, f"A data set has at most {MOST_FILES} files.")
        if not data.owns_folder:
            await self._own(data)
        saved = await self._save(request, data, _given_name(request))
        if request.query_params.get("as") == "labels":
            data.labels = saved
        else:
            data.files.append(saved)
        return JSONResponse({"files": data.files})

    async def example(self, request: Request) -> Response:
        """Open one of the examples."""
        name = request.path_params["name"]
        if name not in self.examples:
            raise HTTPException(404, "There is no such example.")
        return JSONResponse({"key": await self._open(tuple(map(str, self.examples[name][1])), name)})

    async def _open(self, paths: tuple[str, ...], name: str = "") -> str:
        """Open files where they are; they are only read."""
        folder = os.path.dirname(os.path.abspath(paths[0]))
        key, data = await self.store.add(name or os.path.basename(paths[0]), folder)
        data.files = [os.path.relpath(os.path.abspath(path), folder) for path in paths]
        return key

    async def _own(self, data: DataSet) -> None:
        """Give a data set whose files stay where they are a folder of its own for what is added."""
        data.files = [os.path.join(data.folder, path) for path in data.files]
        data.folder = os.path.join(self.store.root(), os.urandom(8).hex())
        os.mkdir(data.folder, 0o700)
        data.owns_folder = True
        await data.worker.end()
        data.worker.folder = data.folder

    async def _save(self, request: Request, data: DataSet, name: str) -> str:
        """Stream the body to a file; one that is too long, or that breaks off, leaves nothing behind."""
        own = safe_name(name, [*map(os.path.basename, data.files), *os.listdir(data.folder)])
        path, size = Path(data.folder) / own, 0
        try:
            with open(path, "xb") as file:
                async for chunk in request.stream():
                    size += len(chunk)
                    if size > self.limits.body:
                        raise _too_long(self.limits.body)
                    file.write(chunk)
        except BaseException as problem:
            path.unlink(missing_ok=True)
            if isinstance(problem, ClientDisconnect):
                raise HTTPException(400, "The upload broke off.") from None
            raise
        if not size:
            path.unlink()
            raise HTTPException(400, "The file is empty: there is nothing to read.")
        return own

    def _refuse_long(self, request: Request) -> None:
        said = request.headers.get("content-length", "")
        if said.isdecimal() and int(said) > self.limits.body:
            raise _too_long(self.limits.body)

    # ---- work ----
    async def work(self, request: Request) -> Response:
        """Begin to work on the settings of the page."""
        data = self.store.find(request.path_params["key"])
        content = b""
        async for chunk in request.stream():
            content += chunk
            if len(content) > MOST_SETTINGS:
                raise HTTPException(413, "The settings are too long.")
        try:
            settings = json.loads(content)
        except (ValueError, RecursionError):
            raise HTTPException(400, "The settings are no JSON.") from None
        if not isinstance(settings, dict):
            raise HTTPException(400, "The settings are no JSON object.")
        await self.store.work(data, settings)
        return JSONResponse({"version": data.version})

    async def news(self, request: Request) -> Response:
        """Return what there is to see, when it is newer than what the page has."""
        data = self.store.find(request.path_params["key"])
        after = request.query_params.get("after", "-1")
        version = int(after) if re.fullmatch(r"-?\d{1,15}", after) else -1
        return JSONResponse(await data.news_after(version, WAIT))

    async def cancel(self, request: Request) -> Response:
        """Stop what is being done."""
        await self.store.cancel(self.store.find(request.path_params["key"]))
        return JSONResponse({})

    async def download(self, request: Request) -> Response:
        """Return what is on the screen as a file."""
        data, kind = self.store.find(request.path_params["key"]), request.path_params["kind"]
        if kind not in KINDS:
            raise HTTPException(404, "There is no such kind of file.")
        answer = await self.store.ask(data, {"do": "file", "kind": kind, "title": data.name})
        if answer["error"]:
            raise HTTPException(400, answer["error"])
        stem = re.sub(r"[^\w-]", "_", os.path.splitext(data.name)[0])[:60] or "ranking"
        name = f"{stem}-ranking.{kind}" if kind != "html" else f"{stem}-report.html"
        disposition = f"attachment; filename*=UTF-8''{quote(name)}"
        content = base64.b64decode(answer["content"])
        return Response(content, media_type=KINDS[kind], headers={"Content-Disposition": disposition})


def _examples() -> dict[str, tuple[str, list[Path]]]:
    """Return the examples: in a clone they stand beside the sources, else in this package."""
    here = Path(__file__).resolve()
    folder = next((one for one in (here.parents[3] / "examples", here.parent / "examples") if one.is_dir()), here)
    found = {name: (what, [folder / name]) for name, what in pages.EXAMPLES.items() if (folder / name).is_file()}
    runs = sorted((folder / "runs").glob("*.run"))
    return found | ({pages.RUNS: (f"{len(runs)} search engines to fuse", runs)} if runs else {})


def _given_name(request: Request) -> str:
    return unquote(request.headers.get("x-file-name", "data.csv"))[:300]


def _too_long(most: int) -> HTTPException:
    return HTTPException(
        413, f"The file is longer than {most / 1e6:,.0f} MB: start the server with a larger --max-upload, or use the "
        "command line."
    )  # fmt: skip


# ---- refusals ----
async def _gone(_: Request, problem: Exception) -> Response:
    return JSONResponse({"error": str(problem)}, status_code=410)


async def _refused(_: Request, problem: Exception) -> Response:
    return JSONResponse({"error": str(problem)}, status_code=400)


async def _status(_: Request, problem: Exception) -> Response:
    assert isinstance(problem, HTTPException)
    return JSONResponse({"error": str(problem.detail)}, status_code=problem.status_code, headers=problem.headers)


async def _broken(_: Request, __: Exception) -> Response:
    return PlainTextResponse("Something unforeseen happened in the server: please report it.", status_code=500)
