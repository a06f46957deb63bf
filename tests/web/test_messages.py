"""The page's script reads what the messages declare, and nothing else."""

from __future__ import annotations

import json
import re
from typing import get_type_hints

import pytest
from tests.conftest import ROOT
from tests.web.asking import Page

from concordant.web.messages import HEAD, Job, Line, packed
from concordant.web.settings import PageSettings

pytestmark = pytest.mark.once
SCRIPT = (ROOT / "src/concordant/web/static/app.js").read_text(encoding="utf-8")


def read_by_script(name: str) -> set[str]:
    """Return the fields of an object that the script reads, by name or by taking it apart."""
    return set(re.findall(rf"\b{name}\??\.(\w+)", SCRIPT))


def taken_apart(function: str) -> set[str]:
    """Return the fields that a function of the script takes from its argument."""
    found = re.search(rf"function {function}\(\{{ ([\w, ]+) \}}\)", SCRIPT)
    assert found, function
    return set(found[1].split(", "))


def keys_of(name: str) -> set[str]:
    """Return the keys of a constant of the script."""
    found = re.search(rf"const {name} = \{{ (.*?) \}};", SCRIPT)
    assert found, name
    return set(re.findall(r"(\w+):", found[1]))


def test_the_script_reads_declared_fields_only() -> None:
    declared = get_type_hints(Line).keys()
    assert read_by_script("line") <= declared
    assert taken_apart("over") <= declared
    assert {"regions", "sections", "section", "gone", "cancelled", "job", "state", "id"} <= read_by_script("line")


def test_the_script_reads_all_of_a_job() -> None:
    assert taken_apart("tellJob") == get_type_hints(Job).keys()


def test_the_script_knows_declared_settings_and_regions_only() -> None:
    assert keys_of("PART_OF") <= get_type_hints(PageSettings).keys()
    page = Page(ROOT / "examples" / "election.csv", method="borda")
    assert {*page.regions, "problem"} <= keys_of("REGIONS")
    names = [name for line in page.lines for name, _ in line.get("sections", ())]
    assert [*page.sections] == names


def test_every_update_has_declared_fields() -> None:
    for line in Page(ROOT / "examples" / "ratings.csv").lines:
        assert line.keys() <= get_type_hints(Line).keys()


def test_a_message_stands_behind_its_length() -> None:
    message = packed({"id": 1, "update": {"progress": "reading"}})
    assert int.from_bytes(message[:HEAD], "big") == len(message) - HEAD
    assert json.loads(message[HEAD:]) == {"id": 1, "update": {"progress": "reading"}}
