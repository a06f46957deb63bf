"""Column names of tables whose rows belong to sets of alternatives: choice data and best-worst scaling."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

CHOSEN = (
    *("chosen", "choice", "selected", "is chosen", "was chosen", "is selected", "picked", "choices", "depvar"),
    *("selection", "purchased", "bought"),
)
NUMBERED = ("alternative", "alt", "alternative name", "alt name", "alternatives", "alternative id", "alt id", "altid")
ALTERNATIVES = (
    *(*NUMBERED, "item", "option", "item id", "option id", "candidate", "product", "brand", "mode", "label", "object"),
    *("name", "title"),
)
POSITIONS = ("profile", "profile id", "concept", "card", "package", "bundle", "offer", "position")
SETS = (
    *(
        "chid",
        "choice set",
        "choiceset",
        "choice set id",
        "set",
        "set id",
        "choice id",
        "choice situation",
        "situation",
    ),
    *("choice task", "task", "task id", "obs", "obs id", "obsid", "observation", "observation id", "choice occasion"),
    *("occasion", "scenario", "scenario id", "q id", "qid", "question", "question id", "trial", "trial id", "block"),
    *("block id", "screen", "contest no", "contest", "case", "case id", "caseid", "round"),
)
CHOOSERS = (
    *("chooser", "id", "individual", "individual id", "person", "person id", "respondent", "respondent id", "resp id"),
    *("respid", "resp", "subject", "subject id", "participant", "participant id", "pid", "user", "user id", "agent"),
    *("voter", "consumer", "customer", "household", "household id", "hhid", "hh id", "judge", "worker", "annotator"),
    *("rater", "case id", "caseid", "sys resp num", "respnum", "resp num", "uid"),
)
WEIGHTS = ("weight", "weights", "count", "frequency", "freq")
BEST = (
    *("best", "most", "best item", "best choice", "best option", "most important", "most preferred", "chosen best"),
    *("best label", "most appealing", "max", "b"),
)
WORST = (
    *("worst", "least", "worst item", "worst choice", "worst option", "least important", "least preferred"),
    *("chosen worst", "worst label", "least appealing", "min", "w"),
)
BEST_OR_WORST = ("value", "choice", "decision", "response", "best worst", "bw", "bws", "answer", "selected")
TIMES_SHOWN = ("totals", "total", "shown", "times shown", "n shown", "appearances", "exposures", "times", "n")
TIMES_BEST = ("bests", "best", "most", "n best", "times best", "best count", "times chosen best", "b")
TIMES_WORST = ("worsts", "worst", "least", "n worst", "times worst", "worst count", "times chosen worst", "w")

Names = frozenset[str]


def having_any(*groups: Collection[str]) -> Callable[[Names], bool]:
    """Return a test for tables that have a column of each of these groups of names."""
    return lambda names: all(not names.isdisjoint(group) for group in groups)


def marks_choices(names: Names) -> bool:
    """Return whether a column may mark the chosen alternatives: ``chosen``, ``choice`` or ``Chosen_Product``."""
    return not names.isdisjoint(CHOSEN) or any(name.startswith("chosen ") for name in names)


def chosen_column(by_plain: Mapping[str, str]) -> str | None:
    """Return the column that may mark the chosen alternatives."""
    longer = [name for plain, name in by_plain.items() if plain.startswith("chosen ")]
    return first_named(by_plain, CHOSEN) or next(iter(longer), None)


def first_named(by_plain: Mapping[str, str], names: Sequence[str], taken: Collection[str | None] = ()) -> str | None:
    """Return the column with the first of these names that is not taken; None if there is none."""
    found = (by_plain[name] for name in names if name in by_plain)
    return next((name for name in found if name not in taken), None)
