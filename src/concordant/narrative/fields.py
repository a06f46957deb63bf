"""The words of a field: what its items, agents, ballots and instances are called.

The library has one word for each thing; people who count an election, run a leaderboard or evaluate search engines
have their own. Pages and reports use these.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Field:
    """The nouns of a field, each in the singular and in the plural."""

    name: str
    """election, leaderboard, league, search, ratings, crowd or other."""
    item: tuple[str, str] = ("item", "items")
    agent: tuple[str, str] = ("agent", "agents")
    ballot: tuple[str, str] = ("ballot", "ballots")
    instance: tuple[str, str] = ("instance", "instances")
    score: str = "score"


OTHER = Field("other")
