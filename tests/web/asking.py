"""Ask for a page without a server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from concordant.web.answers import Answerer
from concordant.web.messages import Question
from concordant.web.settings import settings_of


class Page:
    """What the page shows: its regions and sections as HTML, and the error if it could not be made."""

    def __init__(self, *files: Path | str, **settings: str) -> None:
        self.lines: list[Any] = []
        self.answer = Answerer(self.lines.append).answer(question(1, *files, **settings))
        self.regions: dict[str, str] = {}
        for line in self.lines:
            self.regions |= line.get("regions", {})
        self.sections: dict[str, str] = {line["section"]: line["html"] for line in self.lines if "html" in line}

    @property
    def error(self) -> str:
        """The error; empty if there is none."""
        return self.answer["error"] or ""

    @property
    def html(self) -> str:
        """All regions and sections."""
        return "\n".join([*self.regions.values(), *self.sections.values()])


def question(number: int, *files: Path | str, **settings: str) -> Question:
    """Return a question for all sections of a page."""
    return {
        "id": number, "do": "view", "kind": "", "part": "", "title": "x", "date": "2026-01-01",
        "files": [str(path) for path in files], "labels": None, "settings": settings_of(list(settings.items())),
    }  # fmt: skip
