"""Encode labels as integers (NumPy reference of strings.cpp)."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np

from concordant.kernels.bundles import LabelLists
from concordant.kernels.layouts import by_appearance, encode
from concordant.types import Floats, Int32s, Int64s

__all__ = ["encode_ints", "encode_lists", "encode_objects", "fuse_lists", "list_integers", "list_numbers"]


def encode_objects(values: list[Any]) -> tuple[Int32s, Int64s, int]:
    """Return codes in order of first appearance, the first row of each label, and -1.

    If an element is not a str, the index of the first such element is returned instead of -1.
    """
    bad = next((row for row, value in enumerate(values) if not isinstance(value, str)), -1)
    codes, first, _ = encode(values if bad < 0 else [])
    return (codes, first, -1) if bad < 0 else (np.zeros(len(values), np.int32), first, bad)


def encode_lists(lists: list[Any]) -> LabelLists:
    """Make ballots from a list of lists of str, best first.

    ``bad`` is the flat index of the first element that is not a str, -2 if a member is neither list nor tuple, else -1.
    """
    indptr = np.zeros(len(lists) + 1, np.int64)
    if not all(isinstance(member, (list, tuple)) for member in lists):
        return LabelLists(np.empty(0, np.int32), [], indptr, np.empty(0, np.int32), -2)
    flat = list(chain.from_iterable(lists))
    codes, first, bad = encode_objects(flat)
    if bad >= 0:
        return LabelLists(codes, [], indptr, np.zeros(len(flat), np.int32), bad)
    sizes = np.array([len(member) for member in lists], np.int64)
    np.cumsum(sizes, out=indptr[1:])
    tier = (np.arange(len(flat)) - np.repeat(indptr[:-1], sizes)).astype(np.int32)
    return LabelLists(codes, [flat[k] for k in first.tolist()], indptr, tier, -1)


def fuse_lists(lists: list[Any], weight: Floats, k: float) -> tuple[list[str], Floats, bool]:
    """Fuse lists of str, best first, by reciprocal rank fusion: (labels by first appearance, scores, whether valid).

    List b adds ``weight[b] / (k + place)``. The input is invalid if a member is not a list or tuple, an element is not
    a str, or an item is repeated in a list.
    """
    score: dict[str, float] = {}
    for list_weight, members in zip(weight.tolist(), lists, strict=True):
        if not isinstance(members, (list, tuple)) or not all(isinstance(label, str) for label in members):
            return [], np.empty(0), False
        if len(set(members)) < len(members):
            return [], np.empty(0), False
        for place, label in enumerate(members, 1):
            score[label] = score.get(label, 0.0) + list_weight / (k + place)
    return list(score), np.array(list(score.values())), True


def list_integers(values: list[Any]) -> tuple[Int64s, int]:
    """Return the whole numbers of a list of int, and the index of the first element that is not one, or -1."""
    out = np.zeros(len(values), np.int64)
    for k, value in enumerate(values):
        if type(value) is not int or not -(2**63) <= value < 2**63:
            return out, k
        out[k] = value
    return out, -1


def list_numbers(values: list[Any]) -> tuple[Floats, int]:
    """Return the numbers of a list of int, float and bool, and the index of the first other element, or -1."""
    out = np.empty(len(values))
    for k, value in enumerate(values):
        if type(value) is not float and not isinstance(value, int):
            return out, k
        try:
            out[k] = value
        except OverflowError:
            return out, k
    return out, -1


def encode_ints(values: Int64s) -> tuple[Int32s, Int64s]:
    """Return codes of an integer column in order of first appearance, and the first row of each."""
    codes, first = by_appearance(values)
    return codes.astype(np.int32), first
