"""The messages between page, server and worker: what each field is, and how a message is written to a pipe.

The server puts a ``Question`` to a worker. The worker sends updates of the ``Screen`` while it works, then an
``Answer`` with the last update or a file. The server adds what it knows of the data set and serves the ``News`` that
the page's script shows. An update has only the fields that changed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, NotRequired, TypedDict

HEAD = 4  # bytes of the length in front of a message


class Question(TypedDict):
    """Show the result of these settings, or return it as a file."""

    do: Literal["show", "file"]
    kind: str
    """Of the file: csv, json, svg, run or html; empty where none is wanted."""
    title: str
    """Of a report."""
    files: list[str]
    labels: str | None
    settings: Mapping[str, Any]
    """Checked by ``settings_of``."""


class Screen(TypedDict, total=False):
    """Regions of the page, as HTML unless they say otherwise."""

    progress: str
    """What is being done, as text."""
    error: str | None
    """What is wrong, as text."""
    preview: str
    """The first rows, with the role of every column."""
    is_table: bool
    """Whether the data have columns."""
    layouts: str
    """The options of the menu of layouts."""
    understood: str
    """How the data were read and why the method was chosen, as text."""
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
    """The command, as text."""
    python: str
    """The same in Python, as text."""


class Answer(Screen, total=False):
    """The end of an answer: the last update, or a file."""

    content: str
    """The file, in base 64."""


class News(Screen):
    """Everything the page's script may read."""

    version: int
    state: str
    """idle, running, done, failed or cancelled."""
    name: str
    files: list[str]
    labels: str | None
    settings: Mapping[str, Any]


class Frame(TypedDict):
    """What a worker writes: an update, or the answer, which is the last frame of a question."""

    update: NotRequired[Screen]
    answer: NotRequired[Answer]


def packed(message: Question | Frame) -> bytes:
    """Return a message as it goes through a pipe: the length of its JSON, then the JSON."""
    content = json.dumps(message, allow_nan=False).encode()
    return len(content).to_bytes(HEAD, "big") + content
