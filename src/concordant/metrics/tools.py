"""Metrics with the names and conventions of other tools: ``ir_measures:nDCG@10``, ``ranx:ndcg@10``, ``trec_eval:map``.

The prefix selects the tool's definition of that name, if it is supported; the result is a metric of this package with
explicit conventions. The tools differ in these definitions:

=============  ==================================  =================================
tool           nDCG                                ERR
=============  ==================================  =================================
trec_eval      linear gain, log2(i + 1)            (none)
ir_measures    linear gain, log2(i + 1)            grades up to 4
ranx           linear gain, log2(i + 1)            (none)
=============  ==================================  =================================

``ranx:ndcg_burges`` and ``ir_measures:nDCG(dcg='exp-log2')`` use exponential gain. The smallest relevant label is
written as in these tools: ``ir_measures:P(rel=2)@5``, ``ranx:precision@5-l2``. Names are case-insensitive.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from concordant.errors import ParameterError, UnknownNameError, suggest

_LINEAR = "ndcg:linear"
_TREC_EVAL: Mapping[str, str] = {
    "ndcg": _LINEAR,
    "ndcg-cut": _LINEAR,
    "map": "map",
    "map-cut": "map",
    "p": "p",
    "recall": "recall",
    "recip-rank": "mrr",
    "rprec": "rprec",
    "success": "hit",
    "bpref": "bpref",
    "set-p": "p",
    "set-recall": "recall",
    "set-f": "f1",
}
NAMES: Mapping[str, Mapping[str, str]] = {
    "trec_eval": _TREC_EVAL,
    "pytrec_eval": _TREC_EVAL,
    "ir_measures": {
        "ndcg": _LINEAR,
        "p": "p",
        "precision": "p",
        "ap": "map",
        "map": "map",
        "rr": "mrr",
        "mrr": "mrr",
        "r": "recall",
        "recall": "recall",
        "success": "hit",
        "rprec": "rprec",
        "bpref": "bpref",
        "setp": "p",
        "setr": "recall",
        "setf": "f1",
        "err": "err:lmax=4",
    },
    "ranx": {
        "ndcg": _LINEAR,
        "ndcg-burges": "ndcg",
        "precision": "p",
        "recall": "recall",
        "f1": "f1",
        "map": "map",
        "mrr": "mrr",
        "hit-rate": "hit",
        "r-precision": "rprec",
        "bpref": "bpref",
    },
}
_CUTOFF_BY = {"trec_eval": "[-.]", "pytrec_eval": "[-.]", "ir_measures": "@", "ranx": "@"}
_PREFIX = re.compile(r"\s*(?P<tool>trec-eval|pytrec-eval|ir-measures|ranx)\s*:\s*(?P<rest>.*)", re.DOTALL)
_ARGUMENTS = re.compile(r"(?P<name>[a-z-]+)\((?P<given>[^)]*)\)(?P<rest>.*)", re.DOTALL)
_LEVEL = re.compile(r"(?P<name>[a-z0-9@-]+)-l(?P<level>\d+)")


def translated(text: str) -> str:
    """Return a metric with the prefix of another tool (lower case, dashes) in the notation of this package."""
    match = _PREFIX.fullmatch(text)
    if match is None:
        return text
    tool, (written, _, options) = match["tool"].replace("-", "_"), match["rest"].strip().partition(":")
    name, cutoff, more = _read(tool, written.strip())
    known = NAMES[tool]
    if name not in known:
        hint = suggest(name, list(known)) or f" It has {', '.join(sorted(known))} here."
        raise UnknownNameError(f"The {tool} metric {written!r} is not supported.{hint}")
    own_name, _, convention = known[name].partition(":")
    gains = [part for part in more if part in ("exponential", "linear")]
    parts = [
        own_name + cutoff,
        *([convention] if convention and not gains else []),
        *more,
        *([options] if options else []),
    ]
    return ":".join(part for part in parts if part != "exponential")


def _read(tool: str, written: str) -> tuple[str, str, list[str]]:
    """Return name, cutoff (``@10`` or nothing) and options of a metric in another tool's notation."""
    if tool == "ir_measures" and (call := _ARGUMENTS.fullmatch(written)) is not None:
        return (
            call["name"],
            call["rest"].strip(),
            [_argument(argument) for argument in call["given"].split(",") if argument.strip()],
        )
    level = _LEVEL.fullmatch(written) if tool == "ranx" else None
    if level is not None:
        name, cutoff, _ = _read(tool, level["name"])
        return name, cutoff, [f"threshold={level['level']}"]
    name, at, cutoff = _cut(written, _CUTOFF_BY[tool])
    return name, f"@{cutoff}" if at else "", []


def _cut(written: str, by: str) -> tuple[str, bool, str]:
    """Split "name@10" (separated by ``by``) into name, whether there is a cutoff, and the cutoff."""
    match = re.fullmatch(rf"(?P<name>.*?){by}(?P<cutoff>\d+)", written)
    return (written, False, "") if match is None else (match["name"], True, match["cutoff"])


def _argument(text: str) -> str:
    """Return an argument of ir_measures as an option of this package: the smallest relevant label, or the gain."""
    key, _, value = (part.strip() for part in text.partition("="))
    value = value.strip("'\"")
    if key == "rel":
        return f"threshold={value}"
    if key == "dcg" and value in ("log2", "exp-log2"):
        return "linear" if value == "log2" else "exponential"
    raise ParameterError(
        f"The argument {text.strip()!r} of ir_measures is not supported: use rel=N, or dcg='exp-log2' for nDCG."
    )
