"""Responses of search engines: Elasticsearch and OpenSearch (``hits.hits[]``), and Vespa (``root.children[]``).

A response is the result list of one query. A file with one response is one instance, named by the file. A file with
several (``responses`` of a multi-search, a JSON list, or one response per line) numbers its instances 1, 2, 3, …; if
there are several such files, each is an agent, named by the file. The order of the hits is the ranking, and their
scores are the values, unless a hit has no score.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from concordant.ballots import build
from concordant.ballots.vocabulary import shorten
from concordant.io._formats import Format
from concordant.io._json import documents
from concordant.io._source import Source, names_of
from concordant.preferences import Preferences
from concordant.support.limits import NUMBERS, bad_numbers
from concordant.support.patterns import lazy
from concordant.tables.options import PREFERENCES, Options

Hit = tuple[str, float | None]
_ELASTIC = lazy(rb'"hits"\s*:\s*\{\s*(?:"total"|"max_score"|"hits"\s*:\s*\[)')
_VESPA = lazy(rb'\s*\[?\s*\{\s*"root"\s*:\s*\{\s*"(?:id|relevance|fields|children)"')
_RESPONSES = lazy(rb'\s*\[?\s*\{\s*"(?:took|timed_out|_shards|hits|responses|_scroll_id|pit_id|num_reduce_phases)"')


def _looks_like(head: bytes) -> bool:
    """Return whether the file begins like a response of one of the engines."""
    return bool(_VESPA.match(head)) or bool(_RESPONSES.match(head) and _ELASTIC.search(head))


FORMATS = (
    Format(
        *("hits", (), "responses of Elasticsearch, OpenSearch and Vespa (JSON)", (PREFERENCES,)),
        module=__name__,
        sniff=_looks_like,
        borrows=(".json", ".jsonl", ".ndjson"),
    ),
)


def read(sources: Sequence[Source], options: Options) -> Preferences:
    """Read the result lists of all files."""
    options.refuse_roles("responses of search engines")
    names = names_of(sources)
    lists = [list(_lists(source)) for source in sources]
    are_many = len(lists) > 1 and all(len(found) > 1 for found in lists)
    document: list[str] = []
    score: list[float | None] = []
    query: list[str] = []
    agent: list[str] = []
    place: list[int] = []
    for source, name, found in zip(sources, names, lists, strict=True):
        for number, hits in enumerate(found, 1):
            _refuse_repeats(source, hits)
            alone = name if len(found) == 1 else str(number) if are_many or len(lists) == 1 else f"{name} {number}"
            document += [label for label, _ in hits]
            score += [value for _, value in hits]
            place += range(1, len(hits) + 1)
            query += [alone] * len(hits)
            agent += [name] * len(hits)
    if not document:
        raise sources[0].error("the responses contain no hits: check that this is the right file.")
    columns: dict[str, Any] = {"instance": query} | ({"agent": agent} if are_many else {})
    parts = _ballots(document, score, place, columns)
    return Preferences(**parts, notes=_notes(sources, lists, None in score))


def _ballots(document: list[str], score: list[float | None], place: list[int], columns: dict[str, Any]) -> build.Parts:
    """Build one ballot per result list, ordered by place; the values are the scores, or the places without scores."""
    ranks = np.array(place, np.float64)
    scores = [value for value in score if value is not None]
    if len(scores) < len(score):
        return build.gather_rows(document, ranks, scale="rank", **columns)
    return build.gather_rows(document, np.array(scores), scale="rating", level=ranks, **columns)


def _notes(sources: Sequence[Source], lists: Sequence[Sequence[Sequence[Hit]]], lacks_scores: bool) -> list[str]:
    """Return notes on the number of lists and hits, on empty lists and on scores that are not read."""
    sizes = [len(hits) for found in lists for hits in found]
    shown = sources[0].name if len(sources) == 1 else f"{len(sources)} files"
    notes = [f"{shown}: {sum(sizes):,} hits in {len(sizes):,} result list{'s' * (len(sizes) > 1)}"]
    if n_empty := sizes.count(0):
        notes.append(f"left out {n_empty:,} empty result list{'s' * (n_empty > 1)}")
    if lacks_scores:
        notes.append("some hits have no score: only the order of the hits is read")
    return notes


def _lists(source: Source) -> Iterator[list[Hit]]:
    """Yield the hits of every response in a file."""
    found = documents(source)
    responses = found[0] if len(found) == 1 and isinstance(found[0], list) else found
    if not responses:
        raise source.error("the file contains no responses: check that this is the right file.")
    for number, response in enumerate(responses, 1):
        is_object = isinstance(response, dict)
        several = response.get("responses") if is_object else None
        for one in several if isinstance(several, list) else [response]:
            yield _hits(source, one, number)


def _hits(source: Source, response: Any, number: int) -> list[Hit]:
    """Return the documents and scores of one response, best first."""
    if isinstance(response, dict):
        if isinstance(response.get("root"), dict):
            return list(_of_vespa(source, response["root"]))
        hits = response.get("hits")
        if isinstance(hits, dict) and isinstance(hits.get("hits", []), list):
            return [_hit(source, hit, "_id", "_score") for hit in hits.get("hits", [])]
        if "error" in response:
            raise source.error(f"response {number} reports an error instead of hits: run the query again.")
    raise source.error(f"response {number} has neither hits.hits nor root.children: check the file.")


def _of_vespa(source: Source, root: dict[str, Any]) -> Iterator[Hit]:
    """Yield the hits below a node of a Vespa response; a node with children is a group of hits."""
    groups = [iter(_children(source, root))]
    while groups:
        child = next(groups[-1], None)
        if child is None:
            groups.pop()
        elif isinstance(child, dict) and "children" in child:
            groups.append(iter(_children(source, child)))
        elif not (isinstance(child, dict) and str(child.get("id", "")).startswith("group:")):
            yield _hit(source, child, "id", "relevance")


def _children(source: Source, node: dict[str, Any]) -> list[Any]:
    children = node.get("children", [])
    if not isinstance(children, list):
        raise source.error("the children of a Vespa response are not a list: check the file.")
    return children


def _hit(source: Source, hit: Any, name: str, value: str) -> Hit:
    """Return the document and the score of a hit; None if it has no score."""
    label, score = (hit.get(name), hit.get(value)) if isinstance(hit, dict) else (None, None)
    if isinstance(label, bool) or not isinstance(label, (str, int)) or label == "":
        raise source.error(f"a hit has no {name}: check the file.")
    if score is None:
        return str(label), None
    if isinstance(score, bool) or not isinstance(score, (int, float)) or bad_numbers(float(score)):
        shown = shorten(str(score))
        raise source.error(f"the {value} of the hit {shorten(str(label))!r} is {shown!r}, not {NUMBERS}: correct it.")
    return str(label), float(score)


def _refuse_repeats(source: Source, hits: Sequence[Hit]) -> None:
    """Reject a result list that contains a document twice."""
    seen: set[str] = set()
    for label, _ in hits:
        if label in seen:
            raise source.error(f"the document {shorten(label)!r} occurs twice in one result list: keep one of them.")
        seen.add(label)
