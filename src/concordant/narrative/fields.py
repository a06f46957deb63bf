"""The words of a field: what its items, agents, ballots and instances are called.

The library has one word for each thing; people who count an election, run a leaderboard or evaluate search engines
have their own. Pages and reports use these. The field follows from the form of the preferences and from what they were
read from; a column named after a known thing ("player", "judge", "topic") gives the word for it. Where neither says
what something is, the words are neutral, because a wrong word is worse.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from concordant.ballots.form import READ_AS
from concordant.preferences import Preferences
from concordant.tables.options import normalise


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
NEUTRAL = Field("other", item=("candidate", "candidates"))  # of descriptions without a field
ELECTION = Field(
    "election", ("candidate", "candidates"), ("voter", "voters"), ("voter", "voters"), ("contest", "contests")
)
SURVEY = Field(
    "other", ("option", "options"), ("respondent", "respondents"), ("respondent", "respondents"),
    ("question", "questions"),
)  # fmt: skip
LEADERBOARD = Field("leaderboard", ("model", "models"), ("judge", "judges"), ("vote", "votes"))
COMPARISONS = Field("leaderboard", agent=("judge", "judges"), ballot=("comparison", "comparisons"))
LEAGUE = Field("league", ("competitor", "competitors"), ballot=("match", "matches"), instance=("season", "seasons"))
SEARCH = Field(
    "search", ("document", "documents"), ("run", "runs"), ("ranked list", "ranked lists"), ("query", "queries")
)
RATINGS = Field("ratings", agent=("user", "users"), ballot=("user", "users"))
CROWD = Field("crowd", agent=("annotator", "annotators"), ballot=("annotator", "annotators"))


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ITEMS = _words(
    "album algorithm alternative answer artist athlete beer book brand candidate car city club competitor country "
    "course design dish document driver engine essay event fighter film game horse hotel idea image joke llm model "
    "movie option paper party picture photo player policy product project proposal recipe restaurant school song "
    "statement story system team track university video wine"
)
AGENTS = _words(
    "annotator assessor coder critic customer delegate employee engine evaluator expert judge juror labeller member "
    "participant rater reader respondent reviewer run student system teacher user viewer visitor voter worker"
)
INSTANCES = _words(
    "category city constituency contest country district domain election group heat language prompt query question "
    "race region round season session subject task topic ward year"
)
BALLOTS = _words("comparison game match race trial vote")
COMPETING = _words("athlete club competitor driver fighter horse player team")
CLICKING = _words("customer user viewer visitor")
VOTING = _words("delegate juror member voter")
CONTESTS = _words("constituency contest election ward")
BALLOT_BOXES = _words("ballot ballots constituency cvr precinct ward")
_ASIDE = _words("home away a b c 1 2 3 one two first second left right name id key code title label no winner loser")
_SIDES = _words("home away white black visitor host guest opponent opp")
_WHEN = _words("date day datetime season round week matchday tourney tournament")
_ELECTIONS = _words("abif blt cef scottish votekit")
_SEARCH = _words("trec letor hits scores")


def field_of_preferences(prefs: Preferences) -> Field:
    """Return the words for some preferences.

    Parameters
    ----------
    prefs : Preferences
        The preferences.

    Returns
    -------
    Field
        Nouns for items, agents, ballots and instances; neutral ones where the field is not known.
    """
    known = prefs.meta.get(READ_AS)
    source = _Source(known if isinstance(known, Mapping) else {})
    field = _field(prefs, source)
    named = {
        "item": source.noun(ITEMS, "item", "left", "winner", "right"),
        "agent": source.noun(AGENTS, "agent"),
        "instance": source.noun(INSTANCES, "instance"),
        "ballot": source.noun(BALLOTS, "weight", "ballot") if prefs.form in ("pairs", "teams") else None,
    }
    if field.ballot == field.agent:  # each agent has one ballot
        named["ballot"] = ("ballot", "ballots") if prefs.n_instances > 1 else named["agent"]
    nouns: dict[str, Any] = {role: noun for role, noun in named.items() if noun is not None}
    return replace(field, **nouns)


class _Source:
    """What preferences were read from: a format, or columns with roles."""

    def __init__(self, facts: Mapping[str, Any]) -> None:
        self.format = str(facts.get("format", ""))
        self.columns: Mapping[str, str] = facts.get("columns", {})
        self.unread: Sequence[str] = facts.get("unread", ())
        self.is_run, self.is_form = bool(facts.get("is_run")), bool(facts.get("is_form"))

    def noun(self, known: Collection[str], *roles: str) -> tuple[str, str] | None:
        """Return the singular and the plural of a known thing that one of the columns is named after."""
        for role in roles:
            words = [word for word in normalise(self.columns.get(role, "")).split() if word not in _ASIDE]
            if len(words) == 1 and (found := _singular(words[0])) in known:
                found = "model" if found == "llm" else found
                return found, plural(found)
        return None

    def has_word(self, words: Collection[str], names: Iterable[str]) -> bool:
        """Return whether a column name contains one of some words."""
        return any(not set(normalise(name).split()).isdisjoint(words) for name in names)


def plural(noun: str) -> str:
    """Return the plural of a regular noun: query, queries; match, matches."""
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "ch", "sh", "x")) else f"{noun}s"


def _singular(word: str) -> str:
    return next((known for known in _ALL if plural(known) == word), word)


_ALL = ITEMS | AGENTS | INSTANCES | BALLOTS


def _field(prefs: Preferences, source: _Source) -> Field:
    """Return the field by the form of the preferences and their source."""
    if prefs.classes is not None:
        return CROWD
    if prefs.form == "teams":
        return replace(LEAGUE, item=("player", "players"))
    if prefs.form == "pairs":
        return _field_of_pairs(prefs, source)
    if source.format in _SEARCH or source.is_run:
        return SEARCH
    if source.format in _ELECTIONS:
        return ELECTION
    if "data type" in prefs.meta or source.format == "debian":  # PrefLib says alternatives and voters
        return replace(ELECTION, item=ELECTION.item if _is_election(prefs) else ("alternative", "alternatives"))
    if prefs.form == "ratings":
        return _field_of_ratings(source)
    if prefs.form in ("rankings", "top-k", "approvals"):
        return _field_of_rankings(prefs, source)
    return OTHER


def _field_of_pairs(prefs: Preferences, source: _Source) -> Field:
    """Return a league if the columns name sides, points or players, a leaderboard of models, or comparisons."""
    item = source.noun(ITEMS, "item", "left", "winner", "right")
    sides = [source.columns[role] for role in ("left", "right", "winner", "loser") if role in source.columns]
    if item is not None and item[0] not in COMPETING:
        return LEADERBOARD if item[0] in ("model", "system", "algorithm", "engine") else COMPARISONS
    if source.format == "pgn" or source.has_word(("white", "black"), sides):
        return replace(LEAGUE, item=("player", "players"), ballot=("game", "games"))
    if item is not None or prefs.points is not None or source.has_word(_SIDES, sides):
        return LEAGUE
    if prefs.agents is not None or prefs.covariates:
        return COMPARISONS
    is_dated = prefs.time is not None or source.has_word(_WHEN, source.unread)
    if is_dated and {normalise(side) for side in sides} == {"winner", "loser"}:
        return LEAGUE
    return COMPARISONS if source.columns else OTHER


def _field_of_ratings(source: _Source) -> Field:
    """Return ratings by users, or by the voters, members or respondents that a column names."""
    if source.is_form:
        return SURVEY
    if source.format == "jester":
        return replace(RATINGS, item=("joke", "jokes"))
    if source.format.startswith("movielens"):
        return replace(RATINGS, item=("film", "films"))
    agent = source.noun(AGENTS, "agent")
    return replace(ELECTION, item=OTHER.item) if agent is not None and agent[0] in VOTING else RATINGS


def _field_of_rankings(prefs: Preferences, source: _Source) -> Field:
    """Return an election for ballots with counts or precincts and for named voters; a survey for a form."""
    if source.is_form:
        return SURVEY
    agent = source.noun(AGENTS, "agent")
    if prefs.form == "approvals" and agent is not None and agent[0] in CLICKING:
        return RATINGS
    if agent is not None:
        return replace(ELECTION, item=OTHER.item) if agent[0] in VOTING else OTHER
    instance = source.noun(INSTANCES, "instance")
    if (instance is not None and instance[0] in CONTESTS) or source.has_word(BALLOT_BOXES, source.unread):
        return ELECTION
    is_counted = source.has_word(("count", "counts", "votes", "voters", "ballots"), [source.columns.get("weight", "")])
    return ELECTION if is_counted and prefs.agents is None and prefs.n_instances == 1 else OTHER


def _is_election(prefs: Preferences) -> bool:
    """Return whether the title of PrefLib data says that they are an election."""
    words = set(normalise(" ".join(str(prefs.meta.get(key, "")) for key in ("title", "description"))).split())
    return not words.isdisjoint(("election", "elections", "council", "mayor", "ward", "candidate", "candidates"))
