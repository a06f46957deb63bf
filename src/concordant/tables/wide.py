"""Recognise matrices of people and items, as in spreadsheets and forms, by their content.

The checks, in this order:

1. Is it a form? ``Rank the places [Sushi Bar]`` (Google) and ``Rank the places.Sushi Bar`` (Microsoft) are items of a
   question. A cell ``Sushi Bar;Pho;Diner;`` is a whole ranking if every row names the same items. If the brackets
   contain places (``[1st choice]``), the cells contain items. A row of a form is always a person.
2. Otherwise, which columns contain numbers, places in words, or grades in words? The others name the rows, or are not
   read.
3. Are the rows people or items? This follows from a column name (*voter*, *e-mail*, *restaurant*) or from the numbers:
   the answers of one person are the ranks 1, 2, 3, …
4. Ranks or ratings? Ranks, if the answers of each person are 1, 2, …, k; ratings, if they hardly ever are.

An ambiguous table is an error that names the options to set; the layout is never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from concordant.ballots.vocabulary import Coded, shorten
from concordant.errors import InputError, Sentence, arg, phrase
from concordant.support.dates import read_times
from concordant.tables.cells import number_in
from concordant.tables.grades import is_grade, means_missing, place_in, rate
from concordant.tables.headings import (
    ASIDE,
    TIMES,
    are_numbered_people,
    are_sides_by_name,
    asks_for,
    bracketed,
    prefixed,
    side_columns,
    side_of,
)
from concordant.tables.options import MATRICES, Options, listed, normalise
from concordant.types import Bools, Floats, Int64s

RANKS, RATINGS = MATRICES
ANSWERS = ("numbers", "places", "grades")  # what a cell of a matrix holds
SHARED = 0.5  # of the labels of a column stand in another one as well: they name the same competitors
SAMPLE = 100  # rows that have to look like a matrix before the rest is read
MAX_WORDS = 12  # grades of a scale
HIGHEST = 10.0  # ratings from 0 to this are taken for what they are
MIN_SHARE_OF_RANKS, MAX_SHARE_OF_RANKS = 0.5, 0.2  # shares of people whose numbers are exactly 1, 2, …, k


@dataclass(frozen=True)
class Grid:
    """How a matrix is read: its columns, what each represents, and what the rows represent."""

    layout: str
    columns: tuple[str, ...]
    column: Mapping[str, str]
    labels: tuple[str, ...] = ()
    """The item or agent that each column represents."""
    questions: tuple[str, ...] = ()
    """The question of each column, if there are several."""
    notes: tuple[str, ...] = ()
    separator: str = ""
    """The separator between items if a cell contains a whole ranking."""


@dataclass(frozen=True)
class GivenRoles:
    """What the user specified: the columns of roles, the matrix columns, the layout."""

    column: Mapping[str, str]
    places: Sequence[str] = ()
    layout: str | None = None


@dataclass(frozen=True)
class _Question:
    """Columns that belong together, the item of each, and the kind of their cells."""

    text: str
    columns: tuple[str, ...]
    labels: tuple[str, ...]
    kind: str  # one of ANSWERS; "lists"; or "items", where columns are places


def recognise(table: Any, options: Options, given_roles: GivenRoles, unclear: InputError) -> Grid:
    """Return how to read a table as a matrix of ranks or ratings, or raise ``unclear`` if it does not look like one."""
    if not hasattr(table, "first"):
        raise unclear
    has_commas = _has_decimal_commas(table)
    kind_of_column = [_kind(_filled(column, has_commas), options) for column in table.first(SAMPLE)]
    is_form = bool(bracketed(table.columns))
    if given_roles.layout is None and not is_form:
        _refuse_named_competitors(table, dict(zip(table.columns, kind_of_column, strict=True)))
    if sum(kind in ANSWERS for kind in kind_of_column) < 2 and "lists" not in kind_of_column and not is_form:
        raise unclear
    return _Recognition(table, options, given_roles, unclear).grid()


def _refuse_named_competitors(table: Any, kinds: Mapping[str, str]) -> None:
    """Reject a table of results: two columns are named like the sides of a comparison, not like items of a matrix."""
    sides = side_columns({name: normalise(name) for name in table.columns})
    if sides is None:
        return
    are_names = not {kinds[name] for name in sides} & {*ANSWERS, "empty"}
    if are_names or are_sides_by_name(table.columns, *sides):
        raise competitors_error(table, *sides)


def competitors_error(table: Any, first: str, second: str) -> InputError:
    """Create the error for a table of results in which no column gives the outcome."""
    text = phrase(
        "{} and {} name two competitors, but no column was recognised as the result: use {}, {} and {}. That column "
        "names the winner or gives the result (home, away or draw; 3-1). If two columns have the points of each side, "
        "use {} and {} instead. If the table is a matrix of ranks or ratings, use {} or {}.",
        *(shorten(first), shorten(second), arg("left", first), arg("right", second), arg("outcome", shown="COLUMN")),
        *(arg("left_score", shown="COLUMN"), arg("right_score", shown="COLUMN")),
        *(arg("layout", RANKS), arg("layout", RATINGS)),
    )
    error: InputError = table.error(-1, text)
    return error


def _has_decimal_commas(table: Any) -> bool:
    return getattr(getattr(table, "dialect", None), "delimiter", "") == ";"


def _filled(cells: Sequence[str | None], has_commas: bool) -> list[str]:
    """Return the non-empty cells, with a decimal point in numbers."""
    return [cell.replace(",", ".") if has_commas else cell for cell in cells if cell]


def _kind(labels: Sequence[str], options: Options) -> str:
    """Return the common kind of the cells in a column: numbers, places, grades, lists, text, or "empty"."""
    answers = [label for label in dict.fromkeys(labels) if not means_missing(label)]
    if not answers:
        return "empty"
    if options.categories is None:
        if all(number_in(label) is not None for label in answers):
            return "numbers"
        if all(place_in(label) is not None for label in answers):
            return "places"
    if len(answers) <= MAX_WORDS and all(is_grade(label, options.categories) for label in answers):
        return "grades"
    return "lists" if _are_lists(answers) else "text"


def _are_lists(cells: Sequence[str]) -> bool:
    """Return whether every cell lists the same items, separated by semicolons, and not all in the same order."""
    named = [sorted(name.strip() for name in cell.split(";") if name.strip()) for cell in cells]
    return len(cells) > 1 and len(set(named[0])) == len(named[0]) > 1 and all(names == named[0] for names in named)


class _Recognition:
    """State of a table while it is recognised."""

    def __init__(self, table: Any, options: Options, given_roles: GivenRoles, unclear: InputError) -> None:
        """Fetch all columns as text and determine the kind of each."""
        self.table, self.options, self.given_roles, self.unclear = table, options, given_roles, unclear
        self.coded: dict[str, Coded] = table.fetch(table.columns, [])[0]
        self.has_commas = _has_decimal_commas(table)
        self.kinds = {name: _kind(self._labels(name), options) for name in table.columns}
        self.notes: list[str] = []

    def _labels(self, name: str) -> list[str]:
        """Return the distinct cells of a column."""
        return _filled(self.coded[name][1].labels, self.has_commas)

    def _error(self, message: str) -> InputError:
        error: InputError = self.table.error(-1, message)
        return error

    def grid(self) -> Grid:
        """Return how to read the table."""
        questions = [] if self.given_roles.places else self._questions()
        is_form = bool(questions)
        if self.given_roles.layout is None and not is_form:
            self._refuse_competitors()
        questions = self._asked(questions or self._bare())
        if questions[0].kind in ("items", "lists"):
            return self._whole_rankings(questions[0])
        columns = tuple(name for question in questions for name in question.columns)
        if len(columns) < 2:
            raise self.unclear
        matrices = [self._matrix(question) for question in questions]
        layout, side = self._decide(questions, matrices, self._side(questions, is_form), is_form)
        labels = tuple(label for question in questions for label in question.labels)
        rows = self._label_column()
        if side == "item" and rows is None:
            raise self._error("no column names the items: add one, or use " + arg("item", shown="COLUMN") + ".")
        if side == "item":
            return Grid(layout, columns, {"item": rows or ""}, labels, (), tuple(self.notes))
        texts = tuple(question.text for question in questions for _ in question.columns) if len(questions) > 1 else ()
        column = self._people(columns) | {r: name for r, name in self.given_roles.column.items() if r == "weight"}
        if texts:
            what = f"{len(questions)} questions are read as {len(questions)} instances"
            self.notes.append(f"{what} (" + arg("question") + " selects one)")
        return Grid(layout, columns, column, labels, texts, tuple(self.notes))

    def _refuse_competitors(self) -> None:
        """Reject a table in which two text columns name the same competitors and never pair one with itself."""
        names = [name for name in self._free("text") if normalise(name) not in ASIDE and not self._are_times(name)]
        for k, second in enumerate(names):
            for first in names[:k]:
                if self._compete(first, second):
                    raise competitors_error(self.table, first, second)

    def _are_times(self, name: str) -> bool:
        return bool(np.isfinite(read_times(self._labels(name)[:SAMPLE], self.options.date_order or "day")[0]).all())

    def _compete(self, first: str, second: str) -> bool:
        """Return whether two columns share at least half of their labels, and no row has the same label in both."""
        (code_1, labels_1), (code_2, labels_2) = self.coded[first], self.coded[second]
        common = set(labels_1.labels) & set(labels_2.labels)
        if len(common) < max(2.0, SHARED * min(len(labels_1), len(labels_2))):
            return False
        code_in_2 = {label: code for code, label in enumerate(labels_2.labels)}
        translated = np.array([*(code_in_2.get(label, -2) for label in labels_1.labels), -2])
        return not bool((translated[code_1] == code_2).any())

    # ---- which columns ----
    def _questions(self) -> list[_Question]:
        """Return the questions of a form: columns with the item in brackets, and columns of whole lists."""
        questions = []
        for text, pairs in bracketed(self.table.columns).items():
            columns, labels = tuple(name for name, _ in pairs), tuple(label for _, label in pairs)
            kind, places = self._kind_of_all(columns, text), [place_in(label) or 0 for label in labels]
            if kind in ("text", "grades") and sorted(places) == list(range(1, len(places) + 1)):
                columns, kind = tuple(name for _, name in sorted(zip(places, columns, strict=True))), "items"
            elif kind == "text" and normalise(self.options.question or "") not in normalise(text):
                continue
            elif kind == "text":
                raise self._unknown_words(columns)
            questions.append(_Question(text, columns, labels, kind))
        taken = {name for question in questions for name in question.columns}
        return questions + [_Question(name, (name,), (), "lists") for name in self._free("lists") if name not in taken]

    def _kind_of_all(self, columns: Sequence[str], text: str) -> str:
        """Return the common kind of the cells in several columns; "text" if the columns differ."""
        kinds = {self.kinds[name] for name in columns} - {"empty"}
        if not kinds:
            raise self._error(f"nobody answered {shorten(text)!r}: there is nothing to read.")
        return kinds.pop() if len(kinds) == 1 else "places" if kinds == {"numbers", "places"} else "text"

    def _free(self, *kinds: str) -> list[str]:
        """Return the columns of these kinds that the user did not name."""
        settled = {*self.given_roles.column.values()}
        return [name for name in self.table.columns if self.kinds[name] in kinds and name not in settled]

    def _bare(self) -> list[_Question]:
        """Return the columns of the most frequent kind (numbers, places or grades), by question if they have one."""
        candidates = [
            name
            for name in self._free(*ANSWERS, "empty")
            if normalise(name) not in ASIDE and not re.fullmatch(r"column \d+", name) and side_of(name) != "agent"
        ]
        if self.given_roles.places:
            candidates = [name for name in self.given_roles.places if self.kinds[name] in (*ANSWERS, "empty")]
        kinds = [self.kinds[name] for name in candidates if self.kinds[name] != "empty"]
        if not kinds:
            raise self.unclear
        kind = max(dict.fromkeys(kinds), key=kinds.count)
        kinds_alike = {"numbers", "places"} if kind != "grades" else {"grades"}
        columns = tuple(name for name in candidates if self.kinds[name] in {*kinds_alike, "empty"})
        kind = "places" if kind != "grades" and "places" in kinds else kind
        in_brackets = bracketed(columns)
        if groups := in_brackets if sum(map(len, in_brackets.values())) == len(columns) else prefixed(columns):
            return [
                _Question(text, tuple(name for name, _ in pairs), tuple(label for _, label in pairs), kind)
                for text, pairs in groups.items()
            ]
        return [_Question("", columns, columns, kind)]

    def _asked(self, questions: list[_Question]) -> list[_Question]:
        """Return the question that the user named, or all questions if they can be read in the same way."""
        wanted = self.options.question
        if wanted is not None:
            plain = normalise(wanted)
            matching = [question for question in questions if normalise(question.text) == plain]
            begins = [question for question in questions if normalise(question.text).startswith(f"{plain} ")]
            matching = matching or begins or [one for one in questions if plain in normalise(one.text)]
            if len(matching) != 1:
                trouble = "fits several questions" if matching else "is not a question of this table"
                raise self._error(f"{wanted!r} {trouble}: they are {_texts(matching or questions)}.")
            return matching
        if len(questions) > 1 and any(question.kind in ("items", "lists") for question in questions):
            raise self._error(several_questions(question.text for question in questions))
        return questions

    def _whole_rankings(self, question: _Question) -> Grid:
        """Return how to read cells that are items (a column per place), or whole lists of them."""
        people = self._people(question.columns)
        if question.kind == "items":
            self.notes.append("the columns are places, and the cells are items")
            return Grid("places", question.columns, people, notes=tuple(self.notes))
        self.notes.append("every cell lists the same items, so it is a ranking, best first")
        return Grid("rankings", (), {"ranking": question.columns[0], **people}, notes=tuple(self.notes), separator=";")

    def _unknown_words(self, columns: Sequence[str]) -> InputError:
        """Create the error for answers that are neither numbers nor places nor grades."""
        words = dict.fromkeys(label for name in columns for label in self._labels(name) if not means_missing(label))
        odd = [word for word in words if number_in(word) is None and place_in(word) is None] or list(words)
        shown = ", ".join(repr(shorten(word)) for word in odd[:5]) + (", …" if len(odd) > 5 else "")
        what = f"the answers {shown} are not on a known scale"
        return self._error(f"{what}: list all answers, best first, with " + arg("categories", "BEST,…,WORST") + ".")

    # ---- who the rows are ----
    def _people(self, taken: Sequence[str]) -> dict[str, str]:
        """Return the column that names the agents, if any."""
        if "agent" in self.given_roles.column:
            return {"agent": self.given_roles.column["agent"]}
        free = [name for name in self._free("text", *ANSWERS) if name not in taken]
        named = sorted((name for name in free if side_of(name) == "agent"), key=lambda name: "mail" in normalise(name))
        if not named:
            texts = [name for name in free if self.kinds[name] == "text" and normalise(name) not in ASIDE]
            named = texts if len(texts) == 1 and not is_sentence(self._labels(texts[0])) else []
        for name in named:  # a name says more than an address
            codes, labels = self.coded[name]
            if (codes >= 0).all() and (len(codes) == 1 or len(labels) > 1):  # not "anonymous" throughout
                return {"agent": name}
        if named:
            self.notes.append(f"{shorten(named[0])} does not identify every row, so agents are not named")
        return {}

    def _label_column(self) -> str | None:
        """Return the column that names the rows as items; None if there is none."""
        if "item" in self.given_roles.column:
            return self.given_roles.column["item"]
        texts = [name for name in self._free("text") if normalise(name) not in TIMES]
        return next((name for name in texts if side_of(name) == "item"), texts[0] if texts else None)

    def _side(self, questions: Sequence[_Question], is_form: bool) -> str | None:
        """Return what a row is ("agent" or "item") if the column names or the options determine it; otherwise None."""
        if is_form or self.options.transpose or "agent" in self.given_roles.column:
            return "agent"
        if "item" in self.given_roles.column or self.given_roles.layout is not None:
            return "item"
        taken = {name for question in questions for name in question.columns}
        other_columns = [name for name in self.table.columns if name not in taken and self.kinds[name] != "empty"]
        if any(normalise(name) in TIMES for name in other_columns):
            return "agent"
        sides = {side_of(name) for name in other_columns} - {None}
        rows = self._label_column()
        if rows is not None and are_numbered_people(self._labels(rows)):
            sides.add("agent")
        if are_numbered_people([label for question in questions for label in question.labels]):
            sides.add("item")
        return sides.pop() if len(sides) == 1 else None

    # ---- ranks or ratings ----
    def _matrix(self, question: _Question) -> Floats:
        """Return the numbers in the columns of a question (rows x columns, NaN for empty cells)."""
        words = {word for name in question.columns for word in self._labels(name) if not means_missing(word)}
        if question.kind == "grades":
            value = self._rated(words, question)
        else:
            number_of_word = {word: place_in(word) if (number := number_in(word)) is None else number for word in words}
            value = {word: number for word, number in number_of_word.items() if number is not None}
        columns = []
        for name in question.columns:
            numbers = [value.get(label, np.nan) for label in self._labels(name)]
            columns.append(np.array([*numbers, np.nan])[self.coded[name][0]])
        return np.stack(columns, 1)

    def _rated(self, words: set[str], question: _Question) -> dict[str, float]:
        """Return the rating of each grade; add a note unless the user gave the categories."""
        value = rate(words, self.options.categories)
        if len(value) < len(words):
            raise self._unknown_words(question.columns)
        order = sorted(value, key=value.__getitem__)
        note = f"{' < '.join(map(shorten, order))} are rated {', '.join(f'{value[word]:g}' for word in order)}"
        if self.options.categories is None and note not in self.notes:
            self.notes.append(note)
        return value

    def _decide(
        self, questions: Sequence[_Question], matrices: Sequence[Floats], side: str | None, is_form: bool
    ) -> tuple[str, str]:
        """Return the layout and what a row is ("agent" or "item"); if unclear, raise an error with options to set."""
        by_person = {"agent": matrices, "item": [matrix.T for matrix in matrices]}
        layouts = {
            side: {self._layout(*pair) for pair in zip(questions, by_person[side], strict=True)} for side in by_person
        }
        if side is None:
            has_names = self._label_column() is not None
            sides_ranked = [
                side
                for side in by_person
                if all(_all_ranked(by_question, has_names) for by_question in by_person[side])
            ]
            if len(sides_ranked) != 1 or layouts[sides_ranked[0]] != {RANKS}:
                is_usual = all(_is_usual(matrix[np.isfinite(matrix)]) for matrix in matrices)
                raise self._unclear_side(layouts) if has_names and is_usual else self.unclear
            side = sides_ranked[0]
            self.notes.append(f"the ranks 1, 2, … run along every {'row' if side == 'agent' else 'column'}")
        if {RANKS, RATINGS} <= layouts[side]:
            what = f"some questions are ranks and some are ratings ({_texts(questions)})"
            raise self._error(f"{what}: use " + arg("question", shown="TEXT") + ".")
        if "" in layouts[side]:
            more = " and " + arg("transpose", True) if side == "agent" and not is_form else ""
            either = Sentence(", or ").join(arg("layout", layout) + more for layout in (RANKS, RATINGS))
            raise self._error(
                "the numbers could be ranks (1 is best) or ratings (higher is better): use " + either + "."
            )
        layout = layouts[side].pop()
        if self.given_roles.layout is None:
            what = "ranks (1 is best)" if layout == RANKS else "ratings (higher is better)"
            self.notes.insert(0, f"{what}, each row is an {side}")
        return layout, side

    def _layout(self, question: _Question, by_person: Floats) -> str:
        """Return whether a question contains ranks or ratings, by its words and its numbers; "" if unclear."""
        if self.given_roles.layout is not None:
            return self.given_roles.layout
        if question.kind == "grades":
            return RATINGS
        if question.kind == "places":
            return RANKS
        by_numbers, by_words = _by_numbers(by_person), asks_for(question.text)
        if by_words is None:
            return by_numbers
        return f"{by_words}-matrix" if by_numbers in ("", f"{by_words}-matrix") else ""

    def _unclear_side(self, layouts: Mapping[str, set[str]]) -> InputError:
        """Create the error for a matrix whose rows could be items or people."""
        all_layouts = layouts["agent"] | layouts["item"]
        layout, *alternatives = all_layouts if len(all_layouts) == 1 and "" not in all_layouts else (RANKS, RATINGS)
        either = f" (or {alternatives[0]!r})" if alternatives else ""
        text = phrase(
            "the columns {} could be items or people: use {}{} if every row is an item; if every row is a person, "
            "add {}.",
            *(listed(self.table.columns), arg("layout", layout), either, arg("transpose", True)),
        )
        return self._error(text)


def several_questions(texts: Iterable[str]) -> Sentence:
    """Return the message that one of several questions must be chosen."""
    named = [text for text in texts if text]
    shown = [arg("question", text) for text in named[:6]] or [arg("question", shown="TEXT")]
    more = f" (of {len(named)})" if len(named) > len(shown) else ""
    return "there are several questions: choose one with " + Sentence(" or ").join(shown) + f"{more}."


def _texts(questions: Sequence[_Question]) -> str:
    return "; ".join(shorten(question.text) for question in questions[:6] if question.text) or "not named"


def is_sentence(labels: Sequence[str]) -> bool:
    """Return whether cells are remarks rather than names: some have more than four words."""
    return any(len(label.split()) > 4 for label in labels)


def _by_numbers(by_person: Floats) -> str:
    """Return whether the numbers of each person (rows) are ranks or ratings; "" if they could be either.

    A person's numbers are exact ranks if they are 1, 2, …, k. They may be ranks with ties or gaps if they are whole
    numbers, begin at 1 and do not exceed the number of items.
    """
    ranked, rankable, count = _ranked(by_person)
    has_several = count > 1
    if not has_several.any():
        return ""
    share = float(ranked[has_several].mean())
    if rankable[count > 0].all():
        return RANKS if share >= MIN_SHARE_OF_RANKS else ""
    from_zero = _ranked(by_person + 1)[0][has_several].all()
    is_usual = _is_usual(by_person[np.isfinite(by_person)])
    return RATINGS if share <= MAX_SHARE_OF_RANKS and is_usual and not from_zero else ""


def _is_usual(numbers: Floats) -> bool:
    """Return whether numbers are in the usual range of ratings."""
    return not len(numbers) or bool(numbers.min() >= 0 and numbers.max() <= HIGHEST)


def _all_ranked(by_person: Floats, has_names: bool) -> bool:
    """Return whether all people (at least two) gave exactly the ranks 1, …, k; without names, k must exceed 2."""
    ranked, _, count = _ranked(by_person)
    has_answered = count > 0
    return bool(ranked[has_answered].all() and has_answered.sum() > 1 and count.max() > (1 if has_names else 2))


def _ranked(by_person: Floats) -> tuple[Bools, Bools, Int64s]:
    """Return three arrays over people: ``ranked``, ``rankable`` and the number k of answers.

    ``ranked``: the answers are exactly the ranks 1, …, k. ``rankable``: they may be ranks with ties or gaps.
    """
    count: Int64s = np.isfinite(by_person).sum(1)
    ordered = np.sort(by_person, 1)  # NaN goes last
    expected = np.arange(1, by_person.shape[1] + 1)
    is_beyond = expected > count[:, None]
    ranked: Bools = ((ordered == expected) | is_beyond).all(1)
    is_rank = (ordered == np.floor(ordered)) & (ordered >= 1) & (ordered <= by_person.shape[1])
    rankable: Bools = (is_rank | is_beyond).all(1) & ((ordered[:, 0] == 1) | (count == 0))
    return ranked, rankable, count
