"""PrefLib text to arrays in plain Python and NumPy (twin of orders.cpp)."""

from __future__ import annotations

import re

import numpy as np

from concordant.types import Bytes, Floats, Int32s, Int64s

__all__ = ["parse_orders"]

Orders = tuple[
    *(Int64s, Int64s, Int32s, Int64s, Int64s),
    *(Floats, Int64s, Int32s, Int32s, Int32s, Int64s),
    *(Int64s, Int32s),
]

_NAME = re.compile(rb"#\s*ALTERNATIVE NAME (\d{1,10}): ?")
_COUNT = re.compile(rb"\s*(\d{1,18})\s*")
_TIER = re.compile(rb"\s*(?:(\d{1,10})|\{((?:\s*\d{1,10}\s*(?:,(?=\s*\d))?)*)\s*\})\s*(,(?=\s*\S)|$)")
BAD_COUNT, BAD_ORDER = 1, 2


def parse_orders(data: Bytes, separator: int) -> Orders:
    """Read ``# KEY: value`` lines and ``count: 3,{1,2},4`` lines.

    Return (header start, header end, alternative number, name start, name end, count, ptr, alternative, tier, tiers
    of each order, line of each order, bad line, bad kind).
    """
    heads, names, rows, bad = list[tuple[int, int]](), list[tuple[int, int, int]](), list[tuple[int, int, int]](), []
    ptr, item, tier = [0], list[int](), list[int]()
    at = 0
    for number, full in enumerate(data.tobytes().split(b"\n"), 1):
        text = full.removesuffix(b"\r")
        if text.startswith(b"#"):
            name = _NAME.match(text)
            if name and int(name[1]) < 2**31:
                names.append((int(name[1]), at + name.end(), at + len(text)))
            else:
                heads.append((at + len(text) - len(text[1:].lstrip()), at + len(text)))
        elif text.strip():
            kept = len(item)
            row = _order(text, bytes([separator]), item, tier)
            if isinstance(row, int):
                del item[kept:], tier[kept:]
                bad.append((number, row))
            else:
                rows.append((*row, number))
                ptr.append(len(item))
        at += len(full) + 1
    head = np.array(heads, np.int64).reshape(-1, 2).T.copy()
    label = np.array(names, np.int64).reshape(-1, 3).T.copy()
    body = np.array(rows, np.int64).reshape(-1, 3).T.copy()
    trouble = np.array(bad, np.int64).reshape(-1, 2).T.copy()
    return (
        *(head[0], head[1], label[0].astype(np.int32), label[1], label[2]),
        *(body[0].astype(np.float64), np.array(ptr, np.int64), np.array(item, np.int32), np.array(tier, np.int32)),
        *(body[1].astype(np.int32), body[2], trouble[0], trouble[1].astype(np.int32)),
    )


def _order(text: bytes, separator: bytes, item: list[int], tier: list[int]) -> tuple[int, int] | int:
    """Append the alternatives of one order with their tiers; return its count and tiers, or the trouble."""
    count = _COUNT.match(text)
    if not count or text[count.end() : count.end() + 1] != separator:
        return BAD_COUNT
    at, place, size = count.end() + 1, 0, len(text.rstrip())
    while at < size:
        found = _TIER.match(text, at, size)
        if not found:
            return BAD_ORDER
        group = [int(found[1])] if found[1] else [int(one) for one in found[2].split(b",") if one.strip()]
        if any(one >= 2**31 for one in group):
            return BAD_ORDER
        item.extend(group)
        tier.extend([place] * len(group))
        place += 1
        at = found.end()
    return int(count[1]), place
