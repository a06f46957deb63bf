"""Messages between page, server and worker: their fields, and their encoding in a pipe.

The server sends a ``Question`` to a worker. The worker sends updates of the ``Screen`` while it works, then an
``Answer`` with the last update or a file. The server adds the state of the data set and serves the ``News`` that the
page's script shows. An update contains only the fields that changed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, NotRequired, TypedDict

HEAD = 4  # bytes of the length in front of a message


class Question(TypedDict):
    """A request for the result of these settings, on the page or as a file."""

    do: Literal["show", "file"]
    kind: str
    """Format of the file: csv, json, svg, run or html; empty for none."""
    title: str
    """Title of a report."""
    files: list[str]
    labels: str | None
    settings: Mapping[str, Any]
    """Validated by ``settings_of``."""


class Screen(TypedDict, total=False):
    """Regions of the page, as HTML unless stated otherwise."""

    progress: str
    """Current activity, as text."""
    error: str | None
    """Error message, as text."""
    preview: str
    """The first rows, with the role of each column."""
    is_table: bool
    """Whether the data have columns."""
    layouts: str
    """The options of the menu of layouts."""
    understood: str
    """Notes on reading and on the choice of the method, as text."""
    method: str
    """The name of the method."""
    methods: str
    """The options of the menu of methods."""
    about: str
    """The summary of the method, as text."""
    form: str
    """The options of the method."""
    results: str
    shell: str
    """The shell command, as text."""
    python: str
    """The Python code, as text."""


class Answer(Screen, total=False):
    """The end of a response: the last update, or a file."""

    content: str
    """The file, encoded in base64."""


class News(Screen):
    """The complete state for the page's script."""

    version: int
    state: str
    """idle, running, done, failed or cancelled."""
    name: str
    files: list[str]
    labels: str | None
    settings: Mapping[str, Any]


class Frame(TypedDict):
    """A frame from a worker: an update, or the answer, which ends the response to a question."""

    update: NotRequired[Screen]
    answer: NotRequired[Answer]


def packed(message: Question | Frame) -> bytes:
    """Encode a message for a pipe: the length of its JSON, then the JSON."""
    content = json.dumps(message, allow_nan=False).encode()
    return len(content).to_bytes(HEAD, "big") + content
