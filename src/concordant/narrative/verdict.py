"""The verdict on a ranking: the headline that the web app, the report and the verdict card share.

A verdict names the winner or leader, states its certainty in one sentence, and says what was counted and how.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Chip:
    """A short remark on a verdict: ``tone`` is plain, warn or good; ``section`` is the section that explains it."""

    text: str
    tone: str = "plain"
    section: str = ""


@dataclass(frozen=True)
class Bar:
    """Two shares of a whole in a small picture, such as the votes of a direct comparison; ``mark`` is a share."""

    title: str
    left: str
    right: str
    share: float
    mark: float | None = 0.5
    mark_text: str = ""


@dataclass(frozen=True)
class Dots:
    """A few scores with their confidence intervals (None if unknown) in a small picture, best first."""

    title: str
    labels: tuple[str, ...]
    values: tuple[float, ...]
    low: tuple[float | None, ...]
    high: tuple[float | None, ...]
    short: tuple[str, ...] = ()
    """The labels as they are drawn; empty if they differ from each other when they are shortened."""


@dataclass(frozen=True)
class Verdict:
    """The headline of a result."""

    over: str
    """What the headline is, such as "Winner by Borda count"."""
    headline: str
    """The winner or leader."""
    is_label: bool
    """Whether the headline is a label from the data."""
    sentence: str
    """How certain it is."""
    chips: tuple[Chip, ...] = ()
    numbers: tuple[tuple[str, str], ...] = ()
    """What was counted: pairs of a number and a noun, such as ("100", "voters")."""
    method: str = ""
    """The usual name of the method, such as "Borda count"."""
    method_id: str = ""
    """The name of the method on the command line."""
    figure: Bar | Dots | None = None
