"""The page's script reads what the messages declare, and nothing else."""

from __future__ import annotations

import json
import re
from typing import get_type_hints

import pytest
from tests.conftest import ROOT

from concordant.web.messages import HEAD, News, Screen, packed
from concordant.web.settings import PageSettings

pytestmark = pytest.mark.once
SCRIPT = (ROOT / "src/concordant/web/static/app.js").read_text(encoding="utf-8")


def read_by_script(name: str) -> set[str]:
    return set(re.findall(rf"\b{name}\??\.(\w+)", SCRIPT))


def test_the_script_reads_declared_fields_only() -> None:
    assert read_by_script("news") == get_type_hints(News).keys()


def test_the_script_reads_declared_settings_only() -> None:
    assert read_by_script("settings") <= get_type_hints(PageSettings).keys()


def test_every_region_of_the_screen_is_news() -> None:
    assert get_type_hints(Screen).keys() < get_type_hints(News).keys()


def test_a_message_stands_behind_its_length() -> None:
    message = packed({"update": {"progress": "reading"}})
    assert int.from_bytes(message[:HEAD], "big") == len(message) - HEAD
    assert json.loads(message[HEAD:]) == {"update": {"progress": "reading"}}
