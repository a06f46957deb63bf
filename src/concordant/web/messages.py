"""Messages between page, server and worker: their fields, and their encoding in a pipe.

The server sends a ``Question`` to a worker. The worker sends an ``Update`` for every part of the page that is ready,
then an ``Answer``, which ends the response. The server passes updates on to the page, one JSON object per line. A
``Cancel`` makes the worker give up a section, or the whole question.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, NotRequired, TypedDict

HEAD = 4  # bytes of the length in front of a message


class Question(TypedDict):
    """A request for the result of these settings, on the page or as a file."""

    id: int
    do: Literal["view", "file"]
    kind: str
    """Format of the file; empty for none."""
    part: str
    """The section that is wanted; empty for all."""
    title: str
    """Name of the data set, which is the title of a report."""
    date: str
    """Date of a report."""
    files: list[str]
    labels: str | None
    settings: Mapping[str, Any]
    """Validated by ``settings_of``."""


class Cancel(TypedDict):
    """A request to give up a section of a question; the empty name stands for the whole question."""

    id: int
    cancel: str


class Job(TypedDict):
    """Progress of a section: what is done, the share if it is known, and the seconds left."""

    section: str
    text: str
    share: float | None
    left: str


class Update(TypedDict, total=False):
    """What changed on the page."""

    title: str
    """Title of the page, as text."""
    summary: str
    """One line on the data, for the list of data sets, as text."""
    regions: dict[str, str]
    """HTML by the id of a region."""
    sections: list[tuple[str, str]]
    """Names and titles of the sections of this view, in their order; they follow one by one."""
    section: str
    """Name of a section that is ready."""
    html: str
    """Its content."""
    gone: str
    """Name of a section that has no content."""
    cancelled: str
    """Name of a section that was cancelled."""
    job: Job
    progress: str
    """Current activity before there are sections, as text."""


class Answer(TypedDict, total=False):
    """The end of a response."""

    id: int
    error: str | None
    """Error message, as text."""
    is_cancelled: bool
    content: str
    """The file, encoded in base64."""


class Line(Update, Answer, total=False):
    """A line of the response to the page: an update, or the end with the state of the work."""

    state: Literal["done", "failed", "cancelled"]


class Frame(TypedDict):
    """A frame from a worker: an update, or the answer, which ends the response to a question."""

    id: int
    update: NotRequired[Update]
    answer: NotRequired[Answer]


def packed(message: Question | Cancel | Frame) -> bytes:
    """Encode a message for a pipe: the length of its JSON, then the JSON."""
    content = json.dumps(message, allow_nan=False).encode()
    return len(content).to_bytes(HEAD, "big") + content
