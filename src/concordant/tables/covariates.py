"""Covariates of the compared items: their columns and names.

In pairs, a covariate is two columns, one for each side (``"length_a,length_b"``), or one column of differences between
the sides (left - right, or winner - loser). In rows per item (ranks, ratings), it is one column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from concordant.errors import InputError, arg


@dataclass(frozen=True)
class Covariate:
    """A covariate and its columns."""

    name: str
    columns: tuple[str, ...]

    def describe(self) -> str:
        """Return a note on the columns of the covariate."""
        return f"covariate {self.name} = {' - '.join(self.columns)}"


def given_covariates(
    given: object, columns: Sequence[str], find: Callable[[object, str], str], words: Callable[[str], str]
) -> tuple[Covariate, ...]:
    """Return the covariates that the user named: one or more texts, each with one column or two (comma-separated)."""
    several = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    covariates = []
    for text in several:
        named = [text] if str(text) in columns else str(text).split(",")
        if not 1 <= len(named) <= 2:
            raise InputError(
                arg("covariate", str(text))
                + f" names {len(named)} columns: name two (one per side) or one; give several covariates as a list in "
                "Python, or repeat the option on the command line."
            )
        names = tuple(find(column, "covariate") for column in named)
        covariates.append(Covariate(_common(*names, words=words) if len(names) == 2 else names[0], names))
    called = [covariate.name for covariate in covariates]
    twice = next((name for name in called if called.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"Two covariates are called {twice!r}: rename a column, or name each covariate once.")
    return tuple(covariates)


def _common(name: str, other_name: str, words: Callable[[str], str]) -> str:
    """Return what two names share: "length" of length_a and length_b, "sum_tokens" of meta.sum_a_tokens and …_b_…."""
    outer = len(_shared(name.split(".")[:-1], other_name.split(".")[:-1]))  # the object that holds both fields
    first, second = (words(" ".join(text.split(".")[outer:])).split() for text in (name, other_name))
    start = _shared(first, second)
    end = _shared(first[len(start) :][::-1], second[len(start) :][::-1])[::-1]
    return "_".join(start + end) or "".join(_shared(name, other_name)).strip(" _-.") or name


def _shared(first: Sequence[str], second: Sequence[str]) -> list[str]:
    return [a for a, b in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))]
