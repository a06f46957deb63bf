"""Malformed settings of the web page: a few hundred bodies that no page of the app sends."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

TEXTS = ("\ud800", "a\udfffb", "\x00", "x" * 200_000, "1e999", "-1", "nan", "inf", "9" * 400, "0x10", "<b>", "--", "١e")
VALUES = (
    *("1e999", "-1e999", "NaN", "Infinity", "-Infinity", "1" * 5000, "1" * 400, "-1", "1e-999x", "[]", "{}", "[1]"),
    *('{"a": 1}', '{"a": {"b": 2}}', "[" * 50 + "]" * 50, "true", '[["x"]]', *map(json.dumps, TEXTS)),
)
KEYS = (
    "method",
    "layout",
    "view",
    "min_ballots",
    "scale",
    "anchor",
    "centre",
    "add_columns",
    "skip_bad_rows",
    "methods",
    "metrics",
    "params",
    "roles",
)
DAMAGED = (b"", b"{", b"[]", b"3", b"null", b'"x"', b"\xff\xfe", b"[" * 100_000, b'{"a":' * 100_000, b"{}{}", b"\x00")
# What is right for one key although it is wrong for the others.
RIGHT = {("skip_bad_rows", "true"), ("params", "{}"), ("roles", "{}")}


def malformed_settings(count: int) -> Iterator[bytes]:
    """Yield so many bodies: damaged JSON, unknown keys, then values of the wrong type, size or range for every key."""
    cases = [*DAMAGED, b'{"unknown": 1}', b'{"\\ud800": 1}', b'{"%s": 1}' % (b"k" * 5000)]
    for key in KEYS:
        cases += [f'{{"{key}": {value}}}'.encode() for value in VALUES if (key, value) not in RIGHT]
    for value in VALUES:
        cases += [f'{{"method": "bradley-terry", "params": {{"prior": {value}}}}}'.encode()]
        cases += [f'{{"roles": {{"winner": {value}}}}}'.encode()]
    cases += [f'{{"method": "elo", "params": {{{json.dumps(text)}: "1"}}}}'.encode() for text in TEXTS]
    cases += [f'{{"roles": {{{json.dumps(text)}: "winner"}}}}'.encode() for text in TEXTS[:2]]
    random.Random(0).shuffle(cases)
    yield from cases[:count]
