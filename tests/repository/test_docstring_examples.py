"""The examples in docstrings print what they say."""

from __future__ import annotations

import doctest
import importlib

import pytest

pytestmark = pytest.mark.once
MODULES = ("concordant.datasets", "concordant.io", "concordant.registry", "concordant.saving")


@pytest.mark.parametrize("module", MODULES)
def test_examples_in_docstrings_print_what_they_say(module: str) -> None:
    results = doctest.testmod(importlib.import_module(module))
    assert results.attempted > 0
    assert results.failed == 0
