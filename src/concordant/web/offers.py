"""What else can be done with data, as buttons: verb and object, decided by what the data contain."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from concordant.ballots.vocabulary import shorten
from concordant.narrative.fields import field_of_preferences
from concordant.tables.options import normalise
from concordant.web import forms
from concordant.web.settings import OTHER_SIDE, ROLE

if TYPE_CHECKING:
    from concordant.preferences import Preferences
    from concordant.web.ranked import RankTask
    from concordant.web.reading import Source

OVER_TIME = "glicko2"  # ratings that follow the form of players
MIN_SHARED = 2.0  # answers per item from which annotators can be compared
MAX_VALUES, MAX_GRADES = 3, 10  # distinct ratings, or labels, up to which they may be answers of annotators
MIN_RATINGS = 4  # of a user, so that some can be held out
EXPERTS = frozenset(  # agents who judge items rather than use them
    "annotator assessor coder engine evaluator expert judge juror labeller rater run system".split()  # noqa: SIM905
)
TIMES = ("time", "timestamp", "tstamp", "unix time")  # columns of numbers that are times, not properties
MAX_NAME = 40  # characters of a column on a button
DATE = re.compile(r"\s*\d{4}[-/.]\d{1,2}([-/.]\d{1,2})?([ T]\d{1,2}:\d{2}.*)?\s*|\s*\d{1,2}[-/.]\d{1,2}[-/.]\d{4}\s*")


@dataclass(frozen=True)
class Offer:
    """A button: its text, the settings that it changes, and why it is offered."""

    text: str
    settings: Mapping[str, str]
    reason: str


def offers_of(task: RankTask) -> tuple[Offer, ...]:
    """Return what else can be done with the data of a ranking."""
    source, prefs = task.source, task.prefs
    found = [_over_time(task), _teams(source), _style(source), _split(source)]
    if task.scale is None and task.has_log_odds and prefs.form == "pairs":
        found.append(Offer("Show Elo ratings", {"scale": "elo"}, "The scores are log odds of winning."))
    if has_users(prefs):
        found.append(Offer("Recommend items for a user", {"task": "recommend"}, "Users are known by name."))
    if has_annotators(prefs, source):
        found.append(Offer("Check annotators", {"task": "crowd"}, "Several of them judged the same items."))
    return tuple(offer for offer in found if offer is not None)


def ranking_offers(source: Source, text: str = "Rank instead") -> tuple[Offer, ...]:
    """Return the way back to a ranking, if these files can be ranked."""
    if source.preview.problem or (source.preview.plan is None and source.preview.columns):
        return ()
    return (Offer(text, {"task": "rank"}, "The same data as a ranking."),)


# ---- what the data contain ----
def has_users(prefs: Preferences) -> bool:
    """Return whether items can be recommended: ratings or clicks of users, some of whom gave several."""
    if prefs.agents is None or prefs.agent is None or prefs.classes is not None or prefs.n_instances > 1:
        return False
    if prefs.value is None and prefs.form != "approvals":
        return False
    if prefs.value is not None and prefs.form != "ratings":
        return False
    field = field_of_preferences(prefs)
    if field.agent[0] in EXPERTS or field.item[0] == "document":  # graded, not liked
        return False
    entries = np.bincount(prefs.agent, np.diff(prefs.indptr), minlength=len(prefs.agents))
    return len(prefs.agents) > 1 and len(prefs.items) > MIN_RATINGS and bool((entries >= MIN_RATINGS).any())


def has_annotators(prefs: Preferences, source: Source) -> bool:
    """Return whether several agents gave the same items one of a few values."""
    if prefs.agents is None or len(prefs.agents) < 2 or prefs.value is None or prefs.form not in ("ratings", "answers"):
        return False
    plan = source.preview.plan
    most = MAX_GRADES if plan is not None and plan.layout == "answers" else MAX_VALUES
    is_shared = len(prefs.item) >= MIN_SHARED * max(prefs.n_slots, 1)
    return is_shared and 2 <= len(np.unique(prefs.value)) <= most


def _over_time(task: RankTask) -> Offer | None:
    """Offer ratings over time if there are times, or a column of dates."""
    plan = task.source.preview.plan
    if plan is None or plan.layout != "pairs" or task.ranking.past is not None:
        return None
    text, reason = "Show ratings over time", "The matches have dates."
    if task.prefs.time is not None:
        return Offer(text, {"method": OVER_TIME}, reason)
    column = _date_column(task.source)
    return None if column is None else Offer(text, {f"{ROLE}{column}": "time", "method": OVER_TIME}, reason)


def _date_column(source: Source) -> str | None:
    """Return the first column that is not read and holds dates, or numbers under the name of a time."""
    numeric = forms.numeric_columns(source.preview, source.roles)
    for k, name in enumerate(source.preview.columns):
        cells = [row[k] for row in source.preview.rows if row[k]]
        is_time = name in numeric and normalise(name) in TIMES
        if not source.roles.get(name) and cells and (is_time or all(DATE.fullmatch(cell or "") for cell in cells)):
            return name
    return None


def _teams(source: Source) -> Offer | None:
    """Offer to read a column of teams."""
    plan = source.preview.plan
    if plan is None or plan.layout not in ("ranks", "ratings") or "ballot" not in plan.column:
        return None
    column = next((name for name in source.preview.columns if normalise(name) == "team"), None)
    if column is None or source.roles.get(column):
        return None
    return Offer("Read as teams", {f"{ROLE}{column}": "team"}, f"The column {shorten(column, MAX_NAME)} names teams.")


def _style(source: Source) -> Offer | None:
    """Offer to control for a property of both sides, such as the length of their answers."""
    plan = source.preview.plan
    if plan is None or plan.layout != "pairs":
        return None
    pairs = forms.likely_pairs(forms.numeric_columns(source.preview, source.roles))
    if not pairs:
        return None
    first, second = pairs[0]
    common = [a for a, b in zip(normalise(first).split(), normalise(second).split(), strict=True) if a == b]
    what = shorten(" ".join(common), MAX_NAME) or "style"
    what = "answer length" if what == "length" else what
    settings = {f"{ROLE}{first}": forms.COVARIATE, f"{ROLE}{second}": f"{OTHER_SIDE}{first}"}
    return Offer(f"Control for {what}", settings, f"{shorten(first, MAX_NAME)} and {shorten(second, MAX_NAME)} "
                 "are a property of each side.")  # fmt: skip


def _split(source: Source) -> Offer | None:
    """Offer to split by a column whose values repeat."""
    columns = [] if source.by else forms.group_columns(source.preview, source.roles)
    column = next((name for name in columns if name != _date_column(source) and _repeats(source, name)), None)
    if column is None:
        return None
    shown = shorten(column, MAX_NAME)
    return Offer(f"Split by {shown}", {"by": column}, f"The values of {shown} repeat.")


def _repeats(source: Source, column: str) -> bool:
    """Return whether most of the first rows have a value in a column, some of them the same."""
    cells = [row[source.preview.columns.index(column)] for row in source.preview.rows]
    known = [cell for cell in cells if cell]
    return len(known) > len(cells) / 2 and len(set(known)) < len(known)
