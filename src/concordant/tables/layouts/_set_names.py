"""Column names of surveys and of tables whose rows belong to sets of alternatives (choices, best-worst scaling)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from concordant.tables.headings import side_columns


def _words(text: str) -> tuple[str, ...]:
    """Return names, the surest first."""
    return tuple(" ".join(name.split()) for name in text.split(","))


CHOSEN = _words(
    "chosen, choice, selected, is chosen, was chosen, is selected, picked, choices, depvar, selection, purchased"
)
NUMBERED = _words("alternative, alt, alternative name, alt name, alternatives, alternative id, alt id, altid")
ALTERNATIVES = NUMBERED + _words(
    "item, option, item id, option id, candidate, product, brand, mode, label, object, name, title"
)
POSITIONS = _words("profile, profile id, concept, card, package, bundle, offer, position")
SETS = _words(
    """chid, choice set, choiceset, choice set id, set, set id, choice id, choice situation, situation, choice task,
    task, task id, obs, obs id, obsid, observation, observation id, choice occasion, occasion, scenario, scenario id,
    q id, qid, question, question id, trial, trial id, block, block id, screen, contest no, contest, case, case id,
    caseid, round"""
)
CHOOSERS = _words(
    """chooser, id, individual, individual id, person, person id, respondent, respondent id, resp id, respid, resp,
    subject, subject id, participant, participant id, pid, user, user id, agent, voter, consumer, customer, household,
    household id, hhid, hh id, judge, worker, annotator, rater, case id, caseid, sys resp num, respnum, resp num, uid"""
)
WEIGHTS = _words("weight, weights, count, frequency, freq")
BEST = _words(
    """best, most, best item, best choice, best option, most important, most preferred, chosen best, best label,
    most appealing"""
)
WORST = _words(
    """worst, least, worst item, worst choice, worst option, least important, least preferred, chosen worst,
    worst label, least appealing"""
)
BEST_OR_WORST = _words("value, choice, decision, response, best worst, bw, bws, answer, selected")
TIMES_SHOWN = _words("totals, total, shown, times shown, n shown, appearances, exposures")
TIMES_BEST = _words("bests, best, most, n best, times best, best count, times chosen best")
TIMES_WORST = _words("worsts, worst, least, n worst, times worst, worst count, times chosen worst")

# A survey platform adds columns of both groups to the answers: Qualtrics, SurveyMonkey, LimeSurvey.
SURVEYS = (
    (_words("response id"), _words("recorded date, finished, progress, distribution channel")),
    (_words("respondent id"), _words("collector id")),
    (_words("submitdate, date submitted"), _words("startlanguage, start language, lastpage, last page, seed")),
)

Names = frozenset[str]


# ---- which columns invite which layout ----
def of_survey(names: Names) -> bool:
    """Return whether a table has the columns that a survey platform adds to the answers."""
    return any(_has_any(names, *groups) for groups in SURVEYS)


def of_choices(names: Names) -> bool:
    """Return whether a column may mark chosen alternatives, and another one identify choosers or sets."""
    marks = not names.isdisjoint(CHOSEN) or any(name.startswith("chosen ") for name in names)
    return marks and _has_any(names, SETS + CHOOSERS) and not _compares_sides(names)


def of_best_and_worst(names: Names) -> bool:
    """Return whether columns may name or count best and worst items, or mark them within sets."""
    if _has_any(names, BEST + TIMES_BEST, WORST + TIMES_WORST):
        return True
    return _has_any(names, BEST_OR_WORST, SETS) and not _compares_sides(names)


def _compares_sides(names: Names) -> bool:
    """Return whether two columns are the sides of a comparison: ``left`` and ``right``, ``model_a`` and ``model_b``."""
    return side_columns({name: name for name in sorted(names)}) is not None


def _has_any(names: Names, *groups: Collection[str]) -> bool:
    """Return whether there is a column of each of these groups of names."""
    return all(not names.isdisjoint(group) for group in groups)


# ---- which column is meant ----
def first_named(by_plain: Mapping[str, str], names: Sequence[str], taken: Collection[str | None] = ()) -> str | None:
    """Return the column with the first of these names that is not taken; None if there is none."""
    found = (by_plain[name] for name in names if name in by_plain)
    return next((name for name in found if name not in taken), None)


def chosen_column(by_plain: Mapping[str, str]) -> str | None:
    """Return the column that may mark the chosen alternatives: ``chosen``, ``choice`` or ``Chosen_Product``."""
    longer = [name for plain, name in by_plain.items() if plain.startswith("chosen ")]
    return first_named(by_plain, CHOSEN) or next(iter(longer), None)
