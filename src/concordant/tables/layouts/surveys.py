"""Exports of survey platforms: Qualtrics, SurveyMonkey and LimeSurvey.

============ ============================================ ============================================================
platform     recognised by                                what is rewritten
============ ============================================ ============================================================
Qualtrics    ``ResponseId`` and ``Finished`` or similar   two more rows of headings (texts, import IDs) are left out;
                                                          ``Q1_3`` is called after its question and its option, the
                                                          part after the last " - "; -99 is "not answered"
SurveyMonkey ``Respondent ID`` and ``Collector ID``       the second row of headings names the options
LimeSurvey   ``submitdate`` and ``startlanguage`` or      ``code[1]``, ``code[2]``, … are places, if each answer names
             similar                                      different options
============ ============================================ ============================================================

Each row is a respondent. Afterwards, columns are called ``question [option]`` as in Google Forms, and ``tables.wide``
decides whether they hold ranks or ratings. If a survey has several questions of a kind, the user chooses one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from concordant.ballots.vocabulary import Coded
from concordant.tables.cells import number_in
from concordant.tables.derived import Column, DerivedTable, rows_of
from concordant.tables.grades import is_grade, means_missing, place_in
from concordant.tables.headings import bracketed
from concordant.tables.options import Options, normalise
from concordant.tables.rows import InputTable
from concordant.tables.wide import several_questions
from concordant.types import Int64s

UNANSWERED = "-99"
MIN_SHARE = 0.9  # of the respondents name different options at different places
_QUALTRICS_ITEM = re.compile(r"(.+?)_(\d+)")
_DISPLAY_ORDER = re.compile(r".*_DO(_\d+)?")
_NO_RESPONDENT = re.compile(r"preview|test|spam|1|2|8|9|12|17")  # the column Status, in words or as a number

Question = tuple[str, dict[str, str]]  # its text, and its columns with the option of each


def arrange(table: InputTable, options: Options) -> InputTable | None:
    """Return the answers of a survey, one row per respondent, with columns named after questions and options."""
    by_plain = {normalise(name): name for name in table.columns}
    if "collector id" in by_plain and "respondent id" in by_plain:
        return _survey_monkey(table, options, by_plain["respondent id"])
    if "submitdate" in by_plain or "date submitted" in by_plain:
        return _lime_survey(table, options, by_plain)
    return _qualtrics(table, options, by_plain)


# ---- Qualtrics ----
def _qualtrics(table: InputTable, options: Options, by_plain: Mapping[str, str]) -> InputTable | None:
    """Return a Qualtrics export without its further rows of headings, previews and test answers."""
    cells: Any = table
    head = dict(zip(table.columns, (column[:2] for column in cells.first(2)), strict=True))
    n_heads = sum(_is_heading(head, k, by_plain["response id"]) for k in range(2))
    if not n_heads:
        return None
    agent = by_plain["response id"]
    n_rows = len(table.fetch([agent], [])[0][agent][0])
    rows, notes = _respondents(table, by_plain, np.arange(n_heads, n_rows))
    questions: dict[str, list[str]] = {}
    for name in table.columns:
        match = None if _DISPLAY_ORDER.fullmatch(name) else _QUALTRICS_ITEM.fullmatch(name)
        if match is not None:
            questions.setdefault(match[1], []).append(name)
    texts = {name: " ".join((column[0] or "").split()) for name, column in head.items() if column}
    named = [_named_options(code, names, texts) for code, names in questions.items() if len(names) > 1]
    return _answers(table, options, rows, named, agent, ["Qualtrics export: a row is a respondent", *notes])


def _is_heading(head: Mapping[str, Sequence[str | None]], row: int, agent: str) -> bool:
    """Return whether a row below the names of columns holds texts or import IDs."""
    cell = (head[agent][row] or "") if row < len(head[agent]) else ""
    return "ImportId" in cell or normalise(cell) in ("response id", "responseid")


def _respondents(table: InputTable, by_plain: Mapping[str, str], rows: Int64s) -> tuple[Int64s, list[str]]:
    """Return the rows of respondents, and notes on previews, which are left out, and unfinished answers."""
    notes = []
    if (status := by_plain.get("status")) is not None:
        codes, words = table.fetch([status], [])[0][status]
        is_out = np.array([*(_NO_RESPONDENT.search(word.lower()) is not None for word in words.labels), False])[codes]
        is_out &= np.array([*(word.lower() not in ("10", "16") for word in words.labels), False])[codes]
        if count := int(is_out[rows].sum()):
            notes.append(f"left out {count:,} row{'s' * (count > 1)}: previews, tests or spam ({status})")
            rows = rows[~is_out[rows]]
    if (finished := by_plain.get("finished")) is not None:
        codes, words = table.fetch([finished], [])[0][finished]
        is_open = np.array([*(word.strip().lower() in ("false", "0") for word in words.labels), False])[codes]
        if count := int(is_open[rows].sum()):
            notes.append(f"{count:,} respondent{'s' * (count > 1)} did not finish the survey; their answers are read")
    return rows, notes


def _named_options(code: str, columns: Sequence[str], texts: Mapping[str, str]) -> Question:
    """Return a question and its options: the parts of the texts before and after the last common " - "."""
    parts = [texts.get(name, "").split(" - ") for name in columns]
    n_shared = 0
    while all(len(part) > n_shared + 1 and part[n_shared] == parts[0][n_shared] for part in parts):
        n_shared += 1
    question = " - ".join(parts[0][:n_shared])
    option = [" - ".join(part[n_shared:]) if n_shared else part[-1] for part in parts]
    labels = {name: label.strip() or name for name, label in zip(columns, option, strict=True)}
    return f"{code} {question}".strip(), labels


# ---- SurveyMonkey ----
def _survey_monkey(table: InputTable, options: Options, agent: str) -> InputTable | None:
    """Return a SurveyMonkey export whose second row of headings is part of the names."""
    cells: Any = table
    head = {name: column[0] if column else None for name, column in zip(table.columns, cells.first(1), strict=True)}
    if head[agent]:
        return None
    questions: dict[str, dict[str, str]] = {}
    question = ""
    for name, option in head.items():
        question = question if re.fullmatch(r"column \d+", name) else name
        if option is not None:
            questions.setdefault(" ".join(question.split()), {})[name] = " ".join(option.split())
    named = [(text, labels) for text, labels in questions.items() if len(labels) > 1]
    n_rows = len(table.fetch([agent], [])[0][agent][0])
    return _answers(table, options, np.arange(1, n_rows), named, agent, ["SurveyMonkey export: a row is a respondent"])


# ---- LimeSurvey ----
def _lime_survey(table: InputTable, options: Options, by_plain: Mapping[str, str]) -> InputTable | None:
    """Return a LimeSurvey export with the places of the ranking question, if there is one."""
    agent = by_plain.get("id") or by_plain.get("response id") or by_plain.get("token")
    rankings = {}
    for text, pairs in bracketed(table.columns).items():
        place_of = {name: place for name, label in pairs if (place := place_in(label)) is not None}
        columns = sorted(place_of, key=place_of.__getitem__)
        is_complete = sorted(place_of.values()) == list(range(1, len(columns) + 1))
        if len(columns) > 1 and is_complete and _are_different(table, columns):
            rankings[text] = columns
    if not rankings:
        return None
    if options.question is not None:
        wanted = normalise(options.question)
        rankings = {text: names for text, names in rankings.items() if normalise(text) == wanted} or {
            text: names for text, names in rankings.items() if wanted in normalise(text)
        }
    if not rankings:
        return None
    if len(rankings) > 1:
        raise table.error(-1, several_questions(rankings))
    submitted = by_plain.get("submitdate") or by_plain["date submitted"]
    n_open = int((table.fetch([submitted], [])[0][submitted][0] < 0).sum())
    notes = ["LimeSurvey export: the columns are places, and the cells are items"]
    if n_open:
        notes.append(f"{n_open:,} respondent{'s' * (n_open > 1)} did not submit the survey; their answers are read")
    places = next(iter(rankings.values()))
    n_rows = len(table.fetch([places[0]], [])[0][places[0]][0])
    arranged = DerivedTable(table, np.arange(n_rows), notes=notes, roles={"places": places, "agent": agent})
    arranged.is_form = True
    return arranged


def _are_different(table: InputTable, columns: Sequence[str]) -> bool:
    """Return whether respondents give different answers in these columns, as options at different places."""
    rows = [
        [cell for cell in row if cell is not None]
        for row in zip(*(_texts(column) for column in table.fetch(list(columns), [])[0].values()), strict=True)
    ]
    filled = [row for row in rows if len(row) > 1]
    return bool(filled) and sum(len(set(row)) == len(row) for row in filled) >= MIN_SHARE * len(filled)


def _texts(column: Coded) -> list[str | None]:
    codes, words = column
    labels = [*(None if means_missing(word) else word for word in words.labels), None]
    return [labels[code] for code in codes.tolist()]


# ---- answers ----
def _answers(
    table: InputTable, options: Options, rows: Int64s, questions: Sequence[Question], agent: str, notes: list[str]
) -> InputTable | None:
    """Return the table with columns ``question [option]``, for the questions whose answers are ranks or ratings.

    Unless the user asks for another question, ranks are read if there are any.
    """
    columns = {
        name: _answered(rows_of(column, rows))
        for text, labels in questions
        for name, column in table.fetch(list(labels), [])[0].items()
    }
    kinds = [_kind([columns[name] for name in labels]) for _, labels in questions]
    wanted = {"ranks", "ratings"} if options.question is not None or "ranks" not in kinds else {"ranks"}
    kept = [question for question, kind in zip(questions, kinds, strict=True) if kind in wanted]
    if not kept:
        return None
    names: dict[str, str] = {}
    for text, labels in kept:
        for name, label in labels.items():
            new = f"{text.translate(str.maketrans('[]', '()'))} [{label}]"
            names[name] = new if new not in names.values() else f"{new[:-1]} ({name})]"
    added: dict[str, Column] = {names[name]: columns[name] for name in names}
    arranged = DerivedTable(table, rows, added, notes=notes, roles={"agent": agent}, names=names)
    arranged.is_form = True
    return arranged


def _answered(column: Coded) -> Coded:
    """Return a column in which -99 is a missing answer."""
    codes, words = column
    if UNANSWERED not in words.labels:
        return column
    is_missing = np.array([*(word.strip() == UNANSWERED for word in words.labels), True])
    return rows_of((np.where(is_missing[codes], -1, codes).astype(np.int32), words), np.arange(len(codes)))


def _kind(columns: Sequence[Coded]) -> str:
    """Return whether the answers to a question are "ranks" 1, 2, … without repetition, "ratings", or neither ("")."""
    words = {word for _, labels in columns for word in labels.labels if not means_missing(word)}
    found = {word: place_in(word) if (number := number_in(word)) is None else number for word in words}
    numbers = {word: number for word, number in found.items() if number is not None}
    if not words or len(numbers) < len(words):
        return "ratings" if words and len(words) > 1 and all(is_grade(word, None) for word in words) else ""
    by_column = (np.array([*(numbers.get(word, np.nan) for word in labels.labels), np.nan]) for _, labels in columns)
    value = np.stack([values[codes] for values, (codes, _) in zip(by_column, columns, strict=True)], 1)
    ordered = np.sort(value, axis=1)
    is_repeated = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
    has_several = np.isfinite(value).sum(axis=1) > 1
    is_rank = (value >= 1) & (value <= len(columns)) & (value == np.floor(value))
    if has_several.any() and is_rank[np.isfinite(value)].all() and not is_repeated.any():
        return "ranks"
    return "ratings" if len(set(numbers.values())) > 1 else ""
