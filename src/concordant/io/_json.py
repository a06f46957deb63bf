"""Parse a whole JSON document, or one document per line, with errors that name the line."""

from __future__ import annotations

from typing import Any, NoReturn

from concordant.io._source import Source


def documents(source: Source) -> list[Any]:
    """Return the JSON documents of a file: the only one, or one per line."""
    import json

    text = source.read_text_bytes().decode("utf-8")
    if not text.strip():
        raise source.error("the file is empty: there is nothing to read.")
    try:
        return [_parsed(text)]
    except json.JSONDecodeError as problem:
        first = next(line for line in text.split("\n") if line.strip())
        try:
            _parsed(first)
        except (ValueError, RecursionError):
            raise source.error(f"the JSON text is invalid ({problem.msg}): check the file.", problem.lineno) from None
    except ValueError as problem:
        raise source.error(f"{problem}: check the file.") from None
    except RecursionError:
        raise source.error("the JSON text is nested too deeply: check the file.") from None
    return [_parsed_line(source, k, line) for k, line in enumerate(text.split("\n"), 1) if line.strip()]


def _parsed_line(source: Source, number: int, line: str) -> Any:
    """Return the document on one line."""
    try:
        return _parsed(line)
    except (ValueError, RecursionError) as problem:
        why = getattr(problem, "msg", str(problem) or "nested too deeply")
        raise source.error(f"the line is not valid JSON ({why}): check the file.", number) from None


def _parsed(text: str) -> Any:
    import json

    return json.loads(text, object_pairs_hook=_distinct, parse_constant=_refuse_constant)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object as a dict; a key that occurs twice would silently replace the earlier value."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for k, key in enumerate(keys) if key in keys[:k])
        raise ValueError(f"the key {twice[:40]!r} occurs twice in one JSON object")
    return found


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"the JSON text contains {word}, which is not a number")
