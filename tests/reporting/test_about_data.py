"""The section on the data."""

from __future__ import annotations

import pytest

import concordant as cc
from concordant.reporting.about_data import data_section
from concordant.reporting.sections import Message, Messages
from concordant.reporting.study import Data, Study

pytestmark = pytest.mark.once


def messages(prefs: cc.Preferences) -> dict[str, Message]:
    """Return the findings that the section shows, by name."""
    section = data_section(Study(Data(prefs), cc.rank(prefs, "borda")))
    return {one.name: one for part in section.parts if isinstance(part, Messages) for one in part.messages}


def test_a_test_that_is_too_large_is_neither_good_nor_bad() -> None:
    names = [f"item {k}" for k in range(20_001)]
    shown = messages(cc.Preferences.from_rankings([names, names[::-1]]))
    assert "not counted" in shown["majority cycles"].text
    assert shown["majority cycles"].tone == "neutral"


def test_a_cycle_needs_attention() -> None:
    cyclic = messages(cc.Preferences.from_rankings([["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]]))
    assert cyclic["majority cycles"].tone == "attention"
    assert messages(cc.Preferences.from_rankings([["a", "b", "c"]] * 3))["majority cycles"].tone == "fine"
