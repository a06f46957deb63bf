"""Scores by query and document as one JSON object, ``{query: {document: score}}``, as ranx and pytrec_eval use them.

The same layout holds runs (scores) and qrels (relevance grades, whole numbers): ``cc.read`` and ``cc.read_labels`` read
what is asked for. A run is one agent, named by its file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from concordant.ballots import build
from concordant.ballots.vocabulary import shorten
from concordant.io._formats import JUDGED, Format
from concordant.io._json import documents
from concordant.io._source import HEAD, Source, names_of
from concordant.labels import Labels
from concordant.preferences import Preferences
from concordant.support.limits import NUMBERS, bad_numbers
from concordant.support.patterns import lazy
from concordant.tables.options import LABELS, PREFERENCES, Options
from concordant.types import Floats

WHAT = "a score file is one JSON object, {query: {document: number}}"
_TEXT = rb'"(?:[^"\\]|\\.)*"'
_NUMBER = rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
_PAIR = rb"\s*" + _TEXT + rb"\s*:\s*" + _NUMBER + rb"\s*"
_QUERY = lazy(rb"\s*" + _TEXT + rb"\s*:\s*\{(?:" + _PAIR + rb"(?:," + _PAIR + rb")*)?\}\s*")
_CUT = lazy(rb"\s*" + _TEXT + rb"\s*:\s*\{" + _PAIR + rb"(?:," + _PAIR + rb")*,")


def _looks_like(head: bytes) -> bool:
    """Return whether the file is an object of objects of numbers, as far as its head shows."""
    start = re.match(rb"\s*\{", head)
    if start is None:
        return False
    position, n_queries = start.end(), 0
    while found := _QUERY.match(head, position):
        position, n_queries = found.end(), n_queries + 1
        if head[position : position + 1] != b",":
            rest = head[position:]
            return rest[:1] == b"}" and not rest[1:].strip()
        position += 1
    return len(head) >= HEAD and (n_queries > 0 or _CUT.match(head, position) is not None)


def holds_judgements(head: bytes) -> bool:
    """Return whether all numbers are whole and written so: relevance grades, not scores."""
    numbers = re.findall(rb'":\s*(-?[\d.eE+-]+)', head[: head.rfind(b",") + 1] or head)
    return bool(numbers) and all(re.fullmatch(rb"-?\d{1,3}", number) for number in numbers)


FORMATS = (
    Format(
        *("scores", (), "JSON runs or qrels of ranx: {query: {document: score}}", (PREFERENCES, LABELS)),
        module=__name__,
        sniff=_looks_like,
        borrows=(".json", ".jsonl"),
    ),
)


def read(sources: Sequence[Source], options: Options) -> Preferences:
    """Read runs: instances are queries, and each file is an agent."""
    options.refuse_roles("JSON scores")
    judged = [source for source in sources if holds_judgements(source.head)]
    if 0 < len(judged) < len(sources):
        raise judged[0].error(JUDGED)
    agents = names_of(sources)
    query: list[str] = []
    document: list[str] = []
    agent: list[str] = []
    score: list[Floats] = []
    for source, name in zip(sources, agents, strict=True):
        queries, documents, scores = _columns(source, "score")
        query, document, score = query + queries, document + documents, [*score, scores]
        agent += [name] * len(scores)
    values = np.concatenate(score)
    parts = build.gather_rows(document, values, scale="rating", agent=agent, instance=query, level=-values)
    shown = sources[0].name if len(sources) == 1 else f"{len(sources)} files"
    return Preferences(**parts, notes=[f"{shown}: {len(values):,} scores of documents, {len(agents)} agents"])


def read_labels(sources: Sequence[Source], options: Options) -> Labels:
    """Read relevance judgements."""
    options.refuse_roles("JSON qrels")
    columns = [_columns(source, "relevance") for source in sources]
    query, document = ([label for column in columns for label in column[k]] for k in range(2))
    return Labels(query, document, np.concatenate([column[2] for column in columns]))


def _columns(source: Source, what: str) -> tuple[list[str], list[str], Floats]:
    """Return the columns query, document and number of a file."""
    found = documents(source)
    if len(found) != 1 or not isinstance(found[0], dict):
        raise source.error(WHAT + ": check the file.")
    query: list[str] = []
    document: list[str] = []
    numbers: list[Any] = []
    for name, scored in found[0].items():
        if not isinstance(scored, dict):
            raise source.error(f"{WHAT}, but the value of {shorten(name)!r} is not an object: check the file.")
        query += [name] * len(scored)
        document += scored
        numbers += scored.values()
    if not numbers:
        raise source.error("the file contains no scores: check that this is the right file.")
    for q, d, number in zip(query, document, numbers, strict=True):
        is_number = isinstance(number, (int, float)) and not isinstance(number, bool)
        if not is_number or abs(number) > 1e300 or bad_numbers(float(number)):
            shown = shorten(str(number))
            where = f"of the document {shorten(d)!r} for the query {shorten(q)!r}"
            raise source.error(f"the {what} {where} is {shown!r}, not {NUMBERS}: correct it.")
    return query, document, np.array(numbers, np.float64)
