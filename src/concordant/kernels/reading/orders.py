"""Parse PrefLib text into arrays (NumPy reference of orders.cpp)."""

from __future__ import annotations

import re

import numpy as np

from concordant.kernels.bundles import PrefLibOrders
from concordant.types import Bytes

__all__ = ["parse_orders"]

_NAME = re.compile(rb"#\s*ALTERNATIVE NAME (\d+): ?")
_COUNT = re.compile(rb"\s*(\d+)\s*")
_TIER = re.compile(rb"\s*(?:(\d+)|\{([^{}]*)\})\s*(?:,(?=\s*\S)|$)")
BAD_COUNT, BAD_ORDER = 1, 2


def parse_orders(data: Bytes, separator: int) -> PrefLibOrders:
    """Read ``# KEY: value`` lines and ``count: 3,{1,2},4`` lines.

    The summary holds: whether alternatives are numbered 1, 2, …; whether all have distinct names; whether an order
    names one twice; whether no order has ties; whether every count is positive; the sum of counts, at most 2^63 - 1;
    the length of the shortest order; the maximum number of tiers; the lowest and the highest alternative named.
    """
    heads, names, rows, bad = list[tuple[int, int]](), list[tuple[int, int, int]](), list[tuple[int, int, int]](), []
    ptr, item, tier = [0], list[int](), list[int]()
    offset = 0
    for number, full in enumerate(data.tobytes().split(b"\n"), 1):
        text = full.removesuffix(b"\r")
        if text.startswith(b"#"):
            name = _NAME.match(text)
            if name and _is_below(name[1], 2**31):
                names.append((int(name[1]), offset + name.end(), offset + len(text)))
            else:
                heads.append((offset + len(text) - len(text[1:].lstrip()), offset + len(text)))
        elif text.strip():
            kept = len(item)
            row = _order(text, bytes([separator]), item, tier)
            if isinstance(row, int):
                del item[kept:], tier[kept:]
                bad.append((number, row))
            else:
                rows.append((*row, number))
                ptr.append(len(item))
        offset += len(full) + 1
    label = np.array(names, np.int64).reshape(-1, 3)
    body = np.array(rows, np.int64).reshape(-1, 3)
    size, raw = np.diff(ptr), data.tobytes()
    distinct_names = {raw[a:b] for _, a, b in names}
    entries = set(zip(np.repeat(np.arange(len(size)), size).tolist(), item, strict=True))
    summary = [
        bool((label[:, 0] == np.arange(1, len(names) + 1)).all()),
        len(distinct_names) == len(names) and b"" not in distinct_names,
        len(entries) < len(item),
        *(bool((body[:, 1] == size).all()), bool(body[:, 0].all()), min(sum(body[:, 0].tolist()), 2**63 - 1)),
        *(int(size.min()) if len(size) else 0, int(body[:, 1].max(initial=0))),
        *(min(item, default=0), max(item, default=-1)),
    ]
    return PrefLibOrders(
        *(np.array(heads, np.int64).reshape(-1, 2), label, body, np.array(ptr, np.int64)),
        *(np.array(item, np.int32), np.array(tier, np.int32)),
        *(np.array(bad, np.int64).reshape(-1, 2), np.array(summary, np.int64)),
    )


def _is_below(digits: bytes, bound: int) -> bool:
    """Return whether a number is below ``bound``, even if it has too many digits for Python to parse."""
    return len(digits.lstrip(b"0")) < 20 and int(digits) < bound


def _order(text: bytes, separator: bytes, item: list[int], tier: list[int]) -> tuple[int, int] | int:
    """Append the alternatives of one order with their tiers; return its count and number of tiers, or the error."""
    count = _COUNT.match(text)
    if not count or not _is_below(count[1], 2**63) or text[count.end() : count.end() + 1] != separator:
        return BAD_COUNT
    offset, place, size = count.end() + 1, 0, len(text.rstrip())
    while offset < size:
        match = _TIER.match(text, offset, size)
        if not match:
            return BAD_ORDER
        group = (
            [match[1]] if match[1] else [number.strip() for number in match[2].split(b",")] if match[2].strip() else []
        )
        if not all(number.isdigit() and _is_below(number, 2**31) for number in group):
            return BAD_ORDER
        item.extend(map(int, group))
        tier.extend([place] * len(group))
        place += 1
        offset = match.end()
    return int(count[1]), place
