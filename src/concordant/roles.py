"""Which column of a table means what: winner, item, rank, agent, … guessed from names or said by the user.

A table becomes preferences in one of six forms:

========== ============================================== ===========================================
form       columns it needs                               may also have
========== ============================================== ===========================================
pairs      winner, loser; or left, right and outcome      tie, agent, instance, weight, time
           or, for an outcome, left_won and right_won
ranks      item, rank                                     rating, agent, ballot, instance, weight
ratings    item, rating                                   agent, ballot, instance, weight
places     first, second, third, … (rank1, rank2, …)      agent, instance, weight
rankings   ranking (text like ``a > b = c > d``)          agent, instance, weight, open
rank-matrix the first column names items, others agents   (only when asked for)
========== ============================================== ===========================================

A column named exactly like its role wins over one named by a synonym, and names over identifiers of the same thing
(``winner_name`` over ``winner_id``); two synonyms for one role are else an error that says which option settles it.
Names are compared without case and punctuation (``userId`` is ``user id``). A role said to be ``None`` (or the word
``none``) is switched off. Pairs are split into instances only where somebody asks for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from concordant.errors import InputError, UnknownNameError, suggest

SYNONYMS: dict[str, tuple[str, ...]] = {
    "winner": ("winner", "chosen", "won", "better", "preferred"),
    "loser": ("loser", "rejected", "lost", "worse"),
    "tie": ("tie", "tied", "draw", "is tie", "is draw"),
    "left": ("left",),
    "right": ("right",),
    "outcome": ("outcome", "result", "choice", "preference", "verdict"),
    "left_won": ("left won",),
    "right_won": ("right won",),
    "item": (
        *("item", "movie", "doc", "document", "docno", "candidate", "option", "model", "alternative"),
        *("product", "player", "team", "film", "book", "title", "name"),
    ),
    "rank": ("rank", "position", "place"),
    "rating": ("rating", "stars", "score", "value", "grade"),
    "agent": (
        *("agent", "user", "voter", "judge", "worker", "engine", "system", "run", "rater", "annotator"),
        *("reviewer", "expert", "respondent", "assessor"),
    ),
    "ballot": ("ballot",),
    "instance": ("instance", "query", "topic", "qid", "election", "question", "prompt", "contest"),
    "weight": ("weight", "count", "votes", "n", "times", "frequency"),
    "label": ("label", "relevance", "rel", "grade", "gain", "judgment", "judgement", "gold", "rating", "score"),
    "ranking": ("ranking", "ranked", "preferences"),
    "open": ("open",),
    "time": (),  # sorts the rows, so only where somebody asks for it
}
ROLES = (*SYNONYMS, "places")

COMMON = ("agent", "instance", "weight")
NEEDED: dict[str, tuple[tuple[str, ...], ...]] = {
    "pairs": (("winner", "loser"), ("left", "right", "outcome"), ("left", "right", "left_won", "right_won")),
    "rankings": (("ranking",),),
    "places": (("places",),),
    "ranks": (("item", "rank"),),
    "ratings": (("item", "rating"),),
    "rank-matrix": ((),),
    "labels": (("item", "label"),),
}
OPTIONAL: dict[str, tuple[str, ...]] = {
    "pairs": ("tie", "time", *COMMON),
    "rankings": ("open", *COMMON),
    "places": COMMON,
    "ranks": ("rating", "ballot", *COMMON),
    "ratings": ("ballot", *COMMON),
    "rank-matrix": ("item",),
    "labels": ("instance",),
}
FORMS = tuple(form for form in NEEDED if form != "labels")

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_PLACE = re.compile(r"(?:rank|place|choice|pref|preference|position|pos|vote)? ?(\d+)(?:st|nd|rd|th)?")
_SIDES = (("a", "b"), ("1", "2"), ("left", "right"))
_OPPONENTS = (("white", "black"), ("home", "away"), ("home team", "away team"))
_ITEM_STEMS = {"", *SYNONYMS["item"]}
_SAID_STEMS = {"response", "answer", "choice"}


@dataclass(frozen=True)
class Plan:
    """How a table is read: its form, the column of every role, and what was left unread."""

    form: str
    column: Mapping[str, str]
    places: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())
    guessed: frozenset[str] = frozenset()

    def describe(self) -> str:
        """Say which column was taken for what."""
        parts = [f"{role} = {name}" for role, name in self.column.items()]
        if self.places:
            parts.append(
                f"{len(self.places)} places = {self.places[0]} … {self.places[-1]}"
                if len(self.places) > 1
                else f"place = {self.places[0]}"
            )
        return ", ".join(parts)

    def without(self, role: str, note: str) -> Plan:
        """Return the plan that leaves one role out, and says why."""
        column = {own: name for own, name in self.column.items() if own != role}
        return replace(self, column=column, unread=(*self.unread, self.column[role]), notes=(*self.notes, note))


def plan_columns(
    columns: Sequence[str],
    given: Mapping[str, object],
    *,
    form: str | None = None,
    strict: bool = False,
    has_header: bool = True,
    where: str = "the table",
) -> Plan:
    """Decide the form and the role of every column; ``given`` holds what the user said."""
    form = _known_form(form)
    said, places, off = _resolve(columns, given, where)
    if not has_header:
        return _plan_without_names(columns, said, places, form, where)
    free = [name for name in columns if name not in said.values() and name not in places]
    guesses = _guess(free, {*said, *off}, form)
    if not places and form in (None, "places") and "places" not in off:
        places = _place_columns(free)
    if form is None:
        form = _choose_form(columns, said, guesses, bool(places), "places" in given, where)
    column = _fill(form, said, guesses, strict, where)
    if form == "rank-matrix":
        column = {"item": said.get("item", columns[0])}
        places = tuple(name for name in columns if name != column["item"])
    elif form != "places":
        places = ()
    _refuse_no_places(form, places, where)
    unread = tuple(name for name in columns if name not in column.values() and name not in places)
    if strict and unread:
        raise InputError(
            f"{where}: the column{'s' * (len(unread) > 1)} {_listed(unread)} would not be read: "
            "remove what is not needed, or read without strict."
        )
    guessed = frozenset(role for role, name in column.items() if role not in said and normalise(name) != role)
    return Plan(form, column, places, unread, guessed=guessed)


def normalise(name: str) -> str:
    """Return a column name as lower-case words: ``userId``, ``User ID`` and ``user_id`` are one."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name.strip())
    return re.sub(r"[\W_]+", " ", spaced).strip().lower()


def is_known_name(name: str) -> bool:
    """Whether a cell looks like a column name of this vocabulary and not like data."""
    plain = normalise(name)
    if plain.isdigit() or len(plain) < 2:
        return False
    return (
        plain.split(" ")[0] in _ORDINALS
        or _PLACE.fullmatch(plain) is not None
        or any(_stems(plain) & set(words) for words in SYNONYMS.values())
    )


def _known_form(form: str | None) -> str | None:
    if form is None or form == "labels":
        return form
    plain = form.strip().lower().replace("_", "-")
    plain = plain if plain in FORMS else plain + "s" if plain + "s" in FORMS else plain
    if plain not in FORMS:
        raise UnknownNameError(f"There is no form {form!r}.{suggest(plain, list(FORMS))} Forms are {_listed(FORMS)}.")
    return plain


def _resolve(
    columns: Sequence[str], given: Mapping[str, object], where: str
) -> tuple[dict[str, str], tuple[str, ...], set[str]]:
    """Turn what the user said into column names and roles switched off; a number may be a position from 1."""
    said: dict[str, str] = {}
    places: tuple[str, ...] = ()
    off: set[str] = set()
    for role, value in given.items():
        if role not in ROLES:
            raise UnknownNameError(
                f"There is no role {role!r}.{suggest(role, list(ROLES))} Roles are {_listed(ROLES)}."
            )
        if value is None or (value not in columns and str(value).strip().lower() == "none"):
            off.add(role)
        elif role == "places":
            places = tuple(_find(columns, one, role, where) for one in _wanted(value))
        else:
            said[role] = _find(columns, value, role, where)
    return said, places, off


def _wanted(places: object) -> Sequence[object]:
    if isinstance(places, str):
        return places.split(",")
    if isinstance(places, int) and not isinstance(places, bool):
        return [places]
    if isinstance(places, Iterable) and (wanted := list(places)):
        return wanted
    raise InputError(f"places={places!r} names no columns: give their names or positions, best first.")


def _find(columns: Sequence[str], value: object, role: str, where: str) -> str:
    text = str(value).strip()
    if text in columns:
        return text
    alike = [name for name in columns if normalise(name) == normalise(text)]
    if len(alike) == 1:
        return alike[0]
    if text.isdecimal() and len(text) < 10 and 1 <= int(text) <= len(columns):
        return columns[int(text) - 1]
    raise UnknownNameError(
        f"{where} has no column {text!r} to be the {role}.{suggest(text, list(columns))} "
        f"Its columns are {_listed(columns)}."
    )


def _stems(plain: str) -> set[str]:
    """Return the name itself and the name without an ending that only says "identifier"."""
    stems = {plain}
    for ending in (" id", " name", " label", "id"):
        if plain.endswith(ending) and len(plain) > len(ending):
            stems.add(plain[: -len(ending)].strip())
    return stems


def _guess(free: Sequence[str], said: set[str], form: str | None) -> dict[str, list[str]]:
    """Return the columns that could play each role that is not settled, the best ones only."""
    plain = {name: normalise(name) for name in free}
    guesses: dict[str, list[str]] = {}
    for role, words in SYNONYMS.items():
        if role in said or not words or (role == "label" and form != "labels"):
            continue
        exact = [name for name in free if plain[name] == role.replace("_", " ")]
        by_word = [name for name in free if _stems(plain[name]) & set(words)]
        if exact or by_word:
            guesses[role] = exact + [name for name in by_word if name not in exact]
    sides = _side_columns(plain)
    if sides and not {"left", "right"} & {*said, *guesses}:
        guesses["left"], guesses["right"] = [sides[0]], [sides[1]]
    if {"left", "right"} <= {*guesses, *said} and not {"loser"} & {*guesses, *said}:
        # as in model comparison files: model_a, model_b, and `winner` says which of the two
        outcome = guesses.pop("winner", [])
        if "outcome" not in said and outcome:
            guesses["outcome"] = outcome
        if sides and not {"outcome"} & {*guesses, *said}:
            guesses |= _outcome_flags(plain, sides, said)
    return guesses


def _outcome_flags(plain: Mapping[str, str], sides: tuple[str, str], said: set[str]) -> dict[str, list[str]]:
    """Find one column of 0 and 1 per outcome: ``winner_model_a``, ``winner_model_b`` and perhaps ``winner_tie``."""
    by_plain = {text: name for name, text in plain.items()}
    wanted = {"left_won": plain[sides[0]], "right_won": plain[sides[1]], "tie": "tie"}
    found = {role: by_plain.get(f"winner {text}") for role, text in wanted.items() if role not in said}
    return {role: [name] for role, name in found.items() if name is not None}


def _side_columns(plain: Mapping[str, str]) -> tuple[str, str] | None:
    by_plain = {text: name for name, text in plain.items()}
    for one, two in _OPPONENTS:
        if one in by_plain and two in by_plain:
            return by_plain[one], by_plain[two]
    for stems in (_ITEM_STEMS, _SAID_STEMS):  # model_a rather than what it said, response_a
        for one, two in _SIDES:
            for text, name in by_plain.items():
                stem = text.removesuffix(one).strip()
                if text.endswith(one) and stem in stems:
                    other = by_plain.get(f"{stem} {two}".strip()) or by_plain.get(stem + two)
                    if other is not None:
                        return name, other
    return None


def _place_columns(free: Sequence[str]) -> tuple[str, ...]:
    """Return the columns named first, second, … or rank1, rank2, … in order, if they start at one."""
    by_place: dict[int, str] = {}
    for name in free:
        plain = normalise(name)
        word = plain.removesuffix(" choice").removesuffix(" place")
        if word in _ORDINALS:
            by_place.setdefault(_ORDINALS.index(word) + 1, name)
        elif match := _PLACE.fullmatch(plain):
            by_place.setdefault(int(match[1]), name)
    numbers = sorted(by_place)
    if len(numbers) < 2 or numbers[0] not in (0, 1) or numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        return ()
    return tuple(by_place[number] for number in numbers)


def _choose_form(
    columns: Sequence[str],
    said: Mapping[str, str],
    guesses: Mapping[str, Sequence[str]],
    has_places: bool,
    said_places: bool,
    where: str,
) -> str:
    have = {*said, *guesses, *(("places",) if has_places else ())}
    stated = {*said, *(("places",) if said_places else ())}
    fits = [
        form
        for form in FORMS
        if form != "rank-matrix"
        and any(set(needed) <= have for needed in NEEDED[form])
        and all(role in _roles_of(form) for role in stated)
    ]
    if "ranks" in fits and "ratings" in fits:
        fits.remove("ratings")  # ranks order the items, ratings stay as their values
    if "places" in fits and not said_places:
        fits = [form for form in fits if form == "places" or any(role in stated for role in _core(form))]
    if "pairs" in fits and len(fits) > 1:  # winner and loser say more than a `name` and a `score` beside them
        exact = {role for role, names in guesses.items() if normalise(names[0]) == role} | stated
        fits = [form for form in fits if form == "pairs" or any(set(needed) <= exact for needed in NEEDED[form])]
    stated_core = [form for form in fits if any(set(needed) <= stated for needed in NEEDED[form])]
    fits = stated_core or fits
    if len(fits) == 1:
        return fits[0]
    if fits:
        raise InputError(
            f"{where}: the columns {_listed(columns)} can be read as {' or as '.join(fits)}: say form={fits[0]!r} "
            f"or another of them."
        )
    raise InputError(
        f"{where}: the columns {_listed(columns)} do not say what the preferences are: name them, for example "
        "winner=… and loser=…, or item=… with rank=… or rating=…, or ranking=…."
    )


def _core(form: str) -> set[str]:
    return {role for needed in NEEDED[form] for role in needed}


def _roles_of(form: str) -> set[str]:
    return _core(form) | set(OPTIONAL[form])


def _fill(
    form: str, said: Mapping[str, str], guesses: Mapping[str, Sequence[str]], strict: bool, where: str
) -> dict[str, str]:
    """Give every role of the form its column, or say what is missing or ambiguous."""
    have = {*said, *guesses}
    strange = [role for role in said if role not in _roles_of(form)]
    if strange:
        raise InputError(f"{where}: {strange[0]}= has no meaning for {form}: leave it out, or name another form=.")
    options = NEEDED[form]
    needed = next((roles for roles in options if set(roles) - {"places"} <= have), None)
    if needed is None:
        lacking = [role for role in min(options, key=lambda roles: len(set(roles) - have)) if role not in have]
        raise InputError(
            f"{where}: no column was recognised as the {' or the '.join(lacking)}, which {form} need: "
            f"say {lacking[0]}=COLUMN."
        )
    column: dict[str, str] = {}
    for role in (*needed, *OPTIONAL[form]):
        if role in said:
            column[role] = said[role]
            continue
        found = [name for name in guesses.get(role, ()) if name not in column.values()]
        if form == "pairs" and role == "instance":  # one ranking of all, unless a column asks for several by its name
            found = [name for name in found if normalise(name) == role]
        found = found if strict else _named(found)
        clear = len(found) == 1 or (found and not strict and normalise(found[0]) == role)
        if len(found) > 1 and not clear:
            raise InputError(f"{where}: {_listed(found)} could each be the {role}: say which with {role}={found[0]!r}.")
        if found:
            column[role] = found[0]
    missing = [role for role in needed if role not in column and role != "places"]
    if missing:
        raise InputError(f"{where}: no column is left to be the {missing[0]}: say {missing[0]}=COLUMN.")
    return column


def _named(found: list[str]) -> list[str]:
    """Of an identifier and a name of the same thing keep the name."""
    by_plain = {normalise(name): name for name in found}
    kinds = {plain.rpartition(" ")[2]: plain.rpartition(" ")[0] for plain in by_plain}
    is_one_thing = len(found) == 2 and kinds.keys() == {"id", "name"} and kinds["id"] == kinds["name"]
    return [by_plain[f"{kinds['name']} name"]] if is_one_thing else found


def _refuse_no_places(form: str, places: Sequence[str], where: str) -> None:
    if form == "places" and not places:
        raise InputError(f"{where}: no columns are named first, second, …: say places='COLUMN,COLUMN', best first.")
    if form == "rank-matrix" and not places:
        raise InputError(f"{where}: there is no column of ranks beside the items: a rank matrix has one per agent.")


def _plan_without_names(
    columns: Sequence[str], said: dict[str, str], places: tuple[str, ...], form: str | None, where: str
) -> Plan:
    """Read a table without a header: two columns are winner and loser, else the user says which is which."""
    if form == "rank-matrix":
        item = said.get("item", columns[0])
        places = tuple(name for name in columns if name != item)
        _refuse_no_places(form, places, where)
        return Plan(form, {"item": item}, places)
    if form == "places" and not places:
        places = tuple(name for name in columns if name not in said.values())
        _refuse_no_places(form, places, where)
    if not said and not places and form in (None, "pairs") and len(columns) == 2:
        said = {"winner": columns[0], "loser": columns[1]}
    elif not said and not places and form in (None, "rankings") and len(columns) == 1:
        said = {"ranking": columns[0]}
    if not said and not places:
        raise InputError(
            f"{where} has no header line and {len(columns)} columns: say which is which by position, for example "
            "winner=1 and loser=2, or form='places' for one ballot per row, best first."
        )
    if form is None:
        form = _choose_form(columns, said, {}, bool(places), bool(places), where)
    column = _fill(form, said, {}, False, where)
    unread = tuple(name for name in columns if name not in column.values() and name not in places)
    return Plan(form, column, places if form == "places" else (), unread, ("there is no header line",))


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(name if len(name) <= 40 else name[:39] + "…" for name in names[:12])
    return shown + (f", … ({len(names)} in all)" if len(names) > 12 else "")
