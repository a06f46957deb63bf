"""The claims of a paper and whether a run supports them: verdicts computed from results, in one table.

Every experiment defines ``claims(result)``, a list of ``Claim``. ``tables(result)`` ends with its ``claims_table``, and
``plain(result)`` has it as ``claims``. A verdict is always computed from the result:

- ``verdict(outcomes)`` combines the parts of a claim (data sets, metrics, baselines): it holds if every part does, does
  not hold if none does, and holds in part otherwise. ``None`` is a part that was not run.
- ``is_above`` and ``is_below`` decide a part by a difference and its p-value; ``is_level`` means that two are not
  significantly different. ``in_direction`` combines the signs and the significance of several differences.
- ``untestable`` is for claims about data that are not public.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from concordant.experiments.frame import LEVEL, ResultTable

HOLDS = "holds"
FAILS = "does not hold"
PARTLY = "holds in part"
UNTESTABLE = "cannot be tested with the data available"
NOT_RUN = "not run"
VERDICTS = (HOLDS, PARTLY, FAILS, UNTESTABLE, NOT_RUN)

TITLE = "Claims of the paper"
OWN_TITLE = "Questions of this experiment (not claims of a paper)"
OWN = "own question, not a claim of a paper"
HEADER = ("claim", "verdict", "numbers", "rule", "source")


class Claim(NamedTuple):
    """A claim in a few words, with its verdict.

    ``source`` is the place in the paper, ``numbers`` are the figures that decide, and ``test`` is the rule or the
    significance test that turns them into the verdict.
    """

    claim: str
    source: str
    verdict: str
    numbers: str = ""
    test: str = ""

    @classmethod
    def of(
        cls, claim: str, source: str, outcomes: Iterable[bool | None], numbers: str | Iterable[str] = "", test: str = ""
    ) -> Claim:
        """Return a claim whose verdict combines the outcomes of its parts; numbers of several parts are joined."""
        text = numbers if isinstance(numbers, str) else "; ".join(part for part in numbers if part)
        return cls(claim, source, verdict(outcomes), text, test)


class Difference(NamedTuple):
    """A mean difference and the p-value of its test."""

    difference: float
    p: float

    @classmethod
    def read(cls, test: Mapping[str, Any]) -> Difference:
        """Return the difference of a row with the keys ``difference`` and ``p``."""
        return cls(float(test["difference"]), float(test["p"]))

    def __str__(self) -> str:
        digits = ".2f" if abs(self.difference) >= 0.1 else ".2g"
        return f"{self.difference:+{digits}} ({shown_p(self.p)})"


def verdict(outcomes: Iterable[bool | None]) -> str:
    """Combine the outcomes of all parts of a claim; None is a part that was not run."""
    known = [outcome for outcome in outcomes if outcome is not None]
    if not known:
        return NOT_RUN
    return HOLDS if all(known) else PARTLY if any(known) else FAILS


def is_above(test: Difference | None) -> bool | None:
    """Return whether a difference is positive and significant; None if it was not computed."""
    return None if test is None else test.difference > 0 and test.p < LEVEL


def is_below(test: Difference | None) -> bool | None:
    """Return whether a difference is negative and significant; None if it was not computed."""
    return None if test is None else test.difference < 0 and test.p < LEVEL


def is_level(test: Difference | None) -> bool | None:
    """Return whether a difference is not significant; None if it was not computed."""
    return None if test is None else test.p >= LEVEL


def in_direction(tests: Iterable[Difference | None]) -> list[bool | None]:
    """Return whether all differences are positive, and for each whether it is significantly so.

    For claims that one thing is better which do not mention significance: differences that are all positive, but not
    significant, support the claim in part.
    """
    known = [test for test in tests if test is not None]
    return [all(test.difference > 0 for test in known), *map(is_above, known)] if known else []


def shown_p(p: float) -> str:
    """Return a p-value as text: "p = 0.039", "p < 0.001"."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def untestable(claim: str, source: str, why: str) -> Claim:
    """Return a claim that needs data or models that are not available here."""
    return Claim(claim, source, UNTESTABLE, "", why)


def claims_table(claims: Sequence[Claim], title: str = TITLE) -> ResultTable:
    """Return the table that ends every experiment."""
    rows = [[row.claim, row.verdict, row.numbers, row.test, row.source] for row in claims]
    return ResultTable(title, HEADER, rows, n_text=len(HEADER))


def as_rows(claims: Iterable[Claim]) -> list[dict[str, str]]:
    """Return claims as plain data for JSON."""
    return [claim._asdict() for claim in claims]
