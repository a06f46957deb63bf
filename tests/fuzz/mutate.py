"""Damage a file the way disks, networks, editors and enemies do: deterministic for a seed."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

EXTREMES = [
    *(b"0", b"-1", b"99", b"2147483647", b"2147483648", b"-9223372036854775808", b"9223372036854775807"),
    *(b"18446744073709551616", b"1e308", b"1e309", b"-1e-320", b"nan", b"NaN", b"inf", b"-inf", b"0x10", b"1_000"),
    *("\u00b2".encode(), "\u0663".encode(), b"9" * 5000, b"", b" ", b"NULL", b"\x00", b'"', b"'", b"\\", b"\r", b"\n"),
    *(b",", b";", b"\t", b"|", b"{", b"}", b":", b"#", b">", b"=", b"[", b"]", b"\xff\xfe", b"\xef\xbb\xbf", b"\xc3"),
    *("e\u0301\u202e\U0001f600".encode(), b"=1+1", b"\x1b[2J", b"a" * 70000),
]
FIELD = re.compile(rb"[^\s,;:|{}\[\]\"]+")
NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")


def mutate(content: bytes, others: Sequence[bytes], draw: random.Random) -> bytes:
    """Return the content with one to four changes."""
    for _ in range(draw.choice([1, 1, 1, 2, 2, 3, 4])):
        content = draw.choice(CHANGES)(content, others, draw)
    return content[:2_000_000]


def flip_bytes(content: bytes, _others: Sequence[bytes], draw: random.Random) -> bytes:
    """Change one to five bytes."""
    changed = bytearray(content)
    for _ in range(draw.randint(1, 5) if changed else 0):
        changed[draw.randrange(len(changed))] = draw.randrange(256)
    return bytes(changed)


def flip_bit(content: bytes, _others: Sequence[bytes], draw: random.Random) -> bytes:
    """Change one bit."""
    changed = bytearray(content)
    if changed:
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def truncate(content: bytes, _others: Sequence[bytes], draw: random.Random) -> bytes:
    """Keep the beginning, or lose it."""
    at = draw.randint(0, len(content))
    return content[:at] if draw.random() < 0.8 else content[at:]


def splice(content: bytes, others: Sequence[bytes], draw: random.Random) -> bytes:
    """Go on with the end of another file."""
    other = draw.choice(others)
    return content[: draw.randint(0, len(content))] + other[draw.randint(0, len(other)) :]


def repeat(content: bytes, _others: Sequence[bytes], draw: random.Random) -> bytes:
    """Repeat or drop a stretch."""
    a, b = sorted(draw.randint(0, len(content)) for _ in range(2))
    return content[:a] + content[a:b] * draw.choice([0, 2, 3, 50]) + content[b:]


def change_line(content: bytes, _others: Sequence[bytes], draw: random.Random) -> bytes:
    """Move, repeat or drop a line."""
    lines = content.split(b"\n")
    at = draw.randrange(len(lines))
    line = lines.pop(at) if draw.random() < 0.6 else lines[at]
    if draw.random() < 0.8:
        lines.insert(draw.randint(0, len(lines)), line)
    return b"\n".join(lines)


def change_field(content: bytes, _others: Sequence[bytes], draw: random.Random) -> bytes:
    """Put an extreme in the place of a field, or of a number."""
    places = [found.span() for found in draw.choice([FIELD, NUMBER]).finditer(content)]
    if not places:
        return content + draw.choice(EXTREMES)
    a, b = draw.choice(places)
    return content[:a] + draw.choice(EXTREMES) + content[b:]


def insert(content: bytes, _others: Sequence[bytes], draw: random.Random) -> bytes:
    """Insert an extreme anywhere."""
    at = draw.randint(0, len(content))
    return content[:at] + draw.choice(EXTREMES) + content[at:]


CHANGES = [flip_bytes, flip_bit, truncate, splice, repeat, change_line, change_field, change_field, insert]
