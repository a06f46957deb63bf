"""Every learner is in the guide, and says what it does."""

from __future__ import annotations

import pytest
from tests.conftest import ROOT

pytest.importorskip("sklearn", reason="the learn extra is not installed")

from concordant import learn

GUIDE = (ROOT / "docs" / "guide" / "learning.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", list(learn.modules()))
def test_the_guide_names_it(name: str) -> None:
    cls = learn.load(name).__name__
    assert f"`{cls}`" in GUIDE or f"`{cls}(" in GUIDE


@pytest.mark.parametrize("name", list(learn.modules()))
def test_it_says_what_it_does_and_every_parameter_too(name: str) -> None:
    from concordant.params import params_of

    cls = learn.load(name)
    assert (cls.__doc__ or "").strip()
    assert [declared.name for declared in params_of(cls) if not declared.doc] == []
