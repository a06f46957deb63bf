"""Recognise the columns of a race by their names: the competitor, the finishing place and the race.

``race, driver, place``, Ergast's ``raceId, driverId, positionText`` and the like; the race is the ballot.
"""

from __future__ import annotations

from collections.abc import Mapping

from concordant.tables.headings import stems

_RACERS: tuple[str, ...] = (
    "driver",
    "athlete",
    "horse",
    "rider",
    "runner",
    "cyclist",
    "swimmer",
    "skier",
    "skater",
    "racer",
    "golfer",
)
_RACERS += ("sailor", "boat", "crew", "dog", "greyhound", "competitor", "contestant", "jockey")
_RACES = ("race", "grand prix", "heat", "regatta", "meeting", "meet", "tournament", "competition", "event", "track")
_SURE_RACES = ("race", "grand prix", "heat", "regatta", "tournament")  # whose competitors may have other names
_PLACES: tuple[str, ...] = (
    "position text",
    "finishing position",
    "finish position",
    "finishing place",
    "finish place",
    "final position",
)
_PLACES += ("position", "place", "finish", "finish pos", "pos", "position order", "rank")


def guess_races(guesses: dict[str, list[str]], columns: Mapping[str, str], settled: set[str]) -> None:
    """Assign the columns of a race: the competitor, the place and the race; ``columns`` have normalised names.

    Other columns that look like a weight or a rating are facts about the competitor (a horse carries a weight).
    """
    by_stem: dict[str, list[str]] = {}
    for name, text in columns.items():
        for stem in stems(text):
            by_stem.setdefault(stem, []).append(name)
    racers, races, places = (_first(by_stem, words) for words in (_RACERS, _RACES, _PLACES))
    is_sure = not by_stem.keys().isdisjoint(_SURE_RACES)
    is_race = races and places and (racers or (guesses.get("item") and is_sure))
    if not is_race or {"agent", "ranking", "winner"} & settled or {"left", "winner"} & guesses.keys():
        return
    found = {"ballot": races, "rank": places} | ({"item": racers} if racers else {})
    guesses |= {role: names for role, names in found.items() if role not in settled}
    for role in {"agent", "weight", "rating"} - settled:
        guesses.pop(role, None)


def _first(by_stem: Mapping[str, list[str]], words: tuple[str, ...]) -> list[str]:
    return next((by_stem[word] for word in words if word in by_stem), [])
