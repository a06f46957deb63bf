"""Do groups judge alike? The ranking of every group beside that of all, and the differences that are no luck.

A group is a property of ballots: the language of a prompt, the country or the age class of a voter. All ballots
together are ranked first (``whole``), then those of every group, by the same method with the hyper-parameters that the
whole chose (one prior for all). Every score of a group is compared with that of the ballots which are not in the group,
and ``holds`` says which differences stay after correcting for all comparisons; ``contrasts`` has the formulas. Items
that no ballot of a group names are left out there, unless the method reads silence as a low place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from concordant import api, contrasts, registry
from concordant.contrasts import POOLED, Contrasts
from concordant.errors import InputError, ParameterError
from concordant.frames import is_frame
from concordant.params import params_of
from concordant.preferences import Preferences
from concordant.ranking import Notice, Ranking
from concordant.reading import FRAME, PREFERENCES, UNGROUPED, options_of
from concordant.types import Floats
from concordant.vocabulary import Vocabulary, shorten
from concordant.writing import align, format_p, number_format

if TYPE_CHECKING:
    from concordant.method import Method

By = str | int | Sequence[object] | Mapping[Any, object] | None

MOST_GROUPS = 100
SMALL = 30.0  # ballots below which a group is named in a warning
MANY = 100_000  # ballots from which equal ones are joined before they are ranked again for every group
SHOWN = 8  # groups that a table has room for
TOLD = 12  # differences that are told in sentences
LABEL = 16  # characters of a group's name above its column
TESTS = ("auto", "errors", "permutation")
UP, DOWN = "▲", "▼"


@dataclass(frozen=True)
class GroupDifference:
    """One item in one group: its place there, and how far its score is from that in all other groups together.

    ``low`` and ``high`` are the ends of the interval of ``score``, None where the method gives none. ``difference`` is
    between scores on one footing (centred, per ballot where scores are totals), ``z`` counts it in standard errors.
    Without a value are items that are known only in the group or only elsewhere.
    """

    group: str
    item: str
    rank: int
    rank_in_whole: int
    score: float
    low: float | None
    high: float | None
    difference: float | None
    stderr: float | None
    z: float | None
    p: float | None
    p_adjusted: float | None
    holds: bool


@dataclass(frozen=True, eq=False)
class GroupComparison:
    """The ranking of all ballots, that of every group, and how they differ; prints as a table with sentences.

    ``whole`` is a ranking of one instance, ``groups`` one with an instance per group, the largest first. ``differences``
    has a row per group and item, in the order of both. ``sizes`` counts the ballots of every group by weight.
    """

    whole: Ranking
    groups: Ranking
    differences: tuple[GroupDifference, ...]
    sizes: Mapping[str, float]
    test: str
    correction: str
    alpha: float
    permutations: int = 0
    by: str = "group"
    notices: tuple[Notice, ...] = ()

    @property
    def names(self) -> list[str]:
        """The groups, largest first."""
        return list(self.sizes)

    @property
    def holding(self) -> list[GroupDifference]:
        """The differences that hold, surest first."""
        return sorted((one for one in self.differences if one.holds), key=lambda one: (one.p_adjusted, -abs(one.z or 0)))

    @property
    def warnings(self) -> tuple[Notice, ...]:
        """What a reader must know: of the whole, of small groups, and of the fits of single groups."""
        known = {notice.name for notice in self.whole.warnings}
        of_groups = [
            replace(notice, text=f"within groups, {notice.text}")
            for notice in self.groups.warnings
            if notice.name not in known
        ]
        return (*self.whole.warnings, *self.notices, *of_groups)

    @cached_property
    def cells(self) -> Mapping[tuple[str, str], GroupDifference]:
        """The differences by (group, item)."""
        return {(one.group, one.item): one for one in self.differences}

    @property
    def n_compared(self) -> int:
        """How many differences were tested, all of them one family."""
        return sum(one.p is not None for one in self.differences)

    # ---- words ----
    @property
    def tested(self) -> str:
        """How differences were tested, in a few words."""
        drawn = f", {self.permutations:,} draws" if self.permutations else ""
        return f"{self.test}{drawn}; {self.correction} over {self.n_compared:,} comparisons, level {self.alpha:g}"

    def sentences(self, most: int = TOLD) -> list[str]:
        """Say the differences that hold, surest first, or that none does."""
        told = [self._sentence(one) for one in self.holding[:most]]
        more = len(self.holding) - len(told)
        if more > 0:
            told.append(f"… and {more:,} more differences that hold")
        if told:
            return told
        least = min((one.p_adjusted for one in self.differences if one.p_adjusted is not None), default=1.0)
        return [f"no difference between groups holds: the least p is {format_p(least)} after {self.correction}"]

    def _sentence(self, one: GroupDifference) -> str:
        assert one.difference is not None and one.p_adjusted is not None
        way = "higher" if one.difference > 0 else "lower"
        places = f"rank {one.rank} there, {one.rank_in_whole} of all"
        p = f"p {'' if (text := format_p(one.p_adjusted)).startswith('<') else '= '}{text} after {self.correction}"
        amount = _written_difference(abs(one.difference)).removeprefix("+")
        return (
            f"{shorten(one.group, 40)}: {shorten(one.item, 40)} scores {amount} {way} than elsewhere ({places}; {p})"
        )

    @property
    def legend(self) -> str:
        """What the columns of groups show."""
        return (
            f"groups: rank there, difference of the score from all other groups, {UP} {DOWN} where it holds "
            f"({self.tested})"
        )

    def written(self, n: int | None = None, most: int = SHOWN) -> dict[str, list[str]]:
        """Return the columns of the table of the best ``n`` items, as text: the whole, then the largest groups."""
        n = len(self.whole.items) if n is None else min(n, len(self.whole.items))
        columns = self.whole.written(n)
        columns.pop("interval", None)
        for name in self.names[:most]:
            head = f"{shorten(name, LABEL)} ({self.sizes[name]:,.6g})"
            columns[head if head not in columns else f"{name} ({self.sizes[name]:,.6g})"] = self._column(name, n)
        return columns

    def _column(self, name: str, n: int) -> list[str]:
        found = [self.cells.get((name, item)) for item in self.whole.items[:n]]
        ranks = ["-" if one is None else str(one.rank) for one in found]
        apart = ["" if one is None or one.difference is None else _written_difference(one.difference) for one in found]
        wide = max(map(len, ranks), default=0), max(map(len, apart), default=0)
        marks = [_mark(one) for one in found]
        return [f"{a:>{wide[0]}} {b:>{wide[1]}} {c}" for a, b, c in zip(ranks, apart, marks, strict=True)]

    def __str__(self) -> str:
        columns = self.written(20)
        lines = align([list(columns), *zip(*columns.values(), strict=True)], right={0, 2, *range(3, len(columns))})
        return "\n".join(
            [*lines, *self.left_out(20), self.legend, "", *self.sentences(), *(f"warning: {w}" for w in self.warnings)]
        )

    __repr__ = __str__

    def left_out(self, n: int | None = None) -> list[str]:
        """Say what the table does not show."""
        items = 0 if n is None else len(self.whole.items) - n
        groups = len(self.names) - SHOWN
        said = [f"{items:,} more items"] if items > 0 else []
        said += [f"{groups:,} smaller groups"] if groups > 0 else []
        return [f"… {' and '.join(said)}"] if said else []

    def _repr_html_(self) -> str:
        from html import escape

        columns = self.written(50)
        head = "".join(f"<th>{escape(name)}</th>" for name in columns)
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
            for row in zip(*columns.values(), strict=True)
        )
        said = "".join(f"<li>{escape(line)}</li>" for line in self.sentences())
        notices = "".join(f"<p>{escape(str(notice))}</p>" for notice in self.warnings)
        caption = f"<caption>{escape(f'{self.whole.method} by {self.by}')}</caption>"
        return (
            f"<table>{caption}<tr>{head}</tr>{rows}</table><p>{escape(self.legend)}</p><ul>{said}</ul>{notices}"
        )

    # ---- export ----
    def columns(self) -> dict[str, list[Any]]:
        """Return all differences as columns, one row per group and item."""
        names = [one.name for one in fields(GroupDifference)]
        return {name: [getattr(one, name) for one in self.differences] for name in names}

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the differences as a DataFrame of pandas, polars or pyarrow."""
        from concordant.frames import frame_of

        return frame_of(self.columns(), backend)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        return {
            "by": self.by,
            "groups": [{"group": name, "ballots": size} for name, size in self.sizes.items()],
            "test": self.test,
            "permutations": self.permutations,
            "correction": self.correction,
            "alpha": self.alpha,
            "compared": self.n_compared,
            "whole": self.whole.to_dict(),
            "rankings": self.groups.to_dict()["instances"],
            "differences": [asdict(one) for one in self.differences],
            "warnings": [{"name": one.name, "text": one.text, "items": list(one.items)} for one in self.warnings],
        }

    def head(self, n: int) -> GroupComparison:
        """Keep only the ``n`` best items of the whole; nothing is tested again."""
        whole = self.whole.head(n)
        kept = set(whole.items)
        return replace(self, whole=whole, differences=tuple(one for one in self.differences if one.item in kept))

    def plot(self, path: str | None = None, *, top: int = 40) -> Any:
        """Draw differences as a heat map, items x groups, with a star where one holds (Matplotlib)."""
        from concordant.plots import plot_groups

        return plot_groups(self, path, top=top)

    def matrix(self, items: Sequence[str], groups: Sequence[str]) -> Floats:
        """Return the differences of some items (rows) in some groups, NaN where there is none."""
        found = [[self.cells.get((group, item)) for group in groups] for item in items]
        return np.array(
            [[np.nan if one is None or one.difference is None else one.difference for one in row] for row in found]
        ).reshape(len(items), len(groups))


def _mark(one: GroupDifference | None) -> str:
    return " " if one is None or not one.holds else UP if (one.difference or 0) > 0 else DOWN


def _written_difference(value: float) -> str:
    """Write a difference with three digits or so, its sign first."""
    size = abs(value)
    decimals = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 0.1 or size == 0 else 4
    return f"{value:+.{decimals}f}" if size >= 1e-4 or size == 0 else f"{value:+.1e}"


# ---- making it ----
def rank_groups(
    prefs: Preferences | Any,
    by: By = None,
    method: str | Method | None = None,
    *,
    alpha: float = 0.05,
    test: str = "auto",
    permutations: int | None = None,
    seed: int = 0,
    min_ballots: float | None = None,
    **params: Any,
) -> GroupComparison:
    """Rank all ballots and those of every group, and test which differences between groups are no luck.

    Of files and DataFrames, ``by`` is the column of groups. Of preferences it is a group per ballot, a mapping from
    agents to groups, or nothing where their instances are the groups. ``method`` and its ``params`` rank, by default
    one that fits; of files and DataFrames, other ``params`` say how to read.

    ``test`` is ``"errors"`` for methods with standard errors, ``"permutation"`` for all others (``permutations`` draws
    with this ``seed``), by default what the method allows. A difference holds where its p-value, corrected for all
    groups and items, is below ``alpha``.
    """
    _check(alpha, test, permutations)
    grouped, params = grouped_preferences(prefs, by, params, method)
    if isinstance(method, str) or method is None:
        name = method if method is not None else api.default_method(pooled(grouped))
        method = registry.make(name, **params)
    elif params:
        raise InputError("Give hyper-parameters to the method object itself, not to rank_groups().")
    named = str(by) if isinstance(by, (str, int)) else "group"
    return compare_groups(
        grouped, method, by=named, alpha=alpha, test=test, permutations=permutations, seed=seed, min_ballots=min_ballots
    )


def compare_groups(
    grouped: Preferences,
    method: Method,
    *,
    by: str = "group",
    alpha: float = 0.05,
    test: str = "auto",
    permutations: int | None = None,
    seed: int = 0,
    min_ballots: float | None = None,
) -> GroupComparison:
    """Compare groups, which are the instances of these preferences; see ``rank_groups``."""
    grouped = by_size(grouped)
    notices: list[Notice] = []
    if min_ballots is not None:
        kept = pooled(grouped).min_ballots(min_ballots)
        notices.append(Notice("few-ballots", kept.notes[-1]))
        grouped = by_size(grouped.select(items=list(kept.items.labels)))
    together = pooled(grouped)
    whole = method.rank(together)
    settled = _settled(method, whole)
    has_errors = "stderr" in whole.details
    if test == "errors" and not has_errors:
        raise InputError(f"{method.name} gives no standard errors here: use test='permutation', or leave it out.")
    is_by_errors = has_errors and test != "permutation"
    if is_by_errors and grouped.n_ballots > MANY and "order" not in method.needs:
        grouped = grouped.merge()
    silence = contrasts.counts_silence(method, together, whole)
    groups = settled.rank(contrasts.in_groups(grouped, silence))
    if is_by_errors:
        found = _found_by_errors(settled, grouped, groups, silence)
        is_by_errors = found is not None
    if not is_by_errors:
        found = contrasts.by_permutation(settled, grouped, whole, permutations, seed)
    assert found is not None
    sizes = _sizes(grouped)
    return GroupComparison(
        whole,
        groups,
        _rows(whole, groups, found, alpha),
        sizes,
        found.test,
        found.correction,
        alpha,
        found.permutations,
        by,
        (*notices, *_small(sizes)),
    )


def _found_by_errors(method: Method, grouped: Preferences, groups: Ranking, silence: bool) -> Contrasts | None:
    """Test by standard errors; None where a group or a rest has none after all."""
    if "stderr" not in groups.details:
        return None
    rests = method.rank(contrasts.in_rests(grouped, silence))
    return contrasts.by_errors(groups, rests) if "stderr" in rests.details else None


def _settled(method: Method, whole: Ranking) -> Method:
    """Return the method with the hyper-parameters that it found for the whole: groups are ranked by the same."""
    fit = whole.fit or {}
    found = {
        one.name: fit[one.name]
        for one in params_of(type(method))
        if getattr(method, one.name) in (None, "auto") and one.name in fit
    }
    settle = getattr(method, "settled", None)
    if "prior" in found and settle is not None:
        method = cast("Method", settle(found.pop("prior"), getattr(whole.uncertainty, "doubt", 0.0)))
    return replace(method, **found) if found else method


def _rows(whole: Ranking, groups: Ranking, found: Contrasts, alpha: float) -> tuple[GroupDifference, ...]:
    """Return a row per group and item it knows, items in the order of the whole."""
    place = {item: rank for item, rank in zip(whole.items, whole.ranks.tolist(), strict=True)}
    code = {label: k for k, label in enumerate(whole.vocabulary.labels)}
    rows = []
    for g, part in enumerate(groups):
        low, high = part.low, part.high
        at = {item: k for k, item in enumerate(part.items)}
        for item in (item for item in whole.items if item in at):
            k, i = at[item], code[item]
            p = _known(found.p_adjusted[g, i])
            rows.append(
                GroupDifference(
                    str(part.instance),
                    item,
                    int(part.ranks[k]),
                    place[item],
                    float(part.scores[k]),
                    None if low is None else float(low[k]),
                    None if high is None else float(high[k]),
                    _known(found.difference[g, i]),
                    _known(found.stderr[g, i]),
                    _known(found.z[g, i]),
                    _known(found.p[g, i]),
                    p,
                    p is not None and p < alpha,
                )
            )
    return tuple(rows)


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _small(sizes: Mapping[str, float]) -> list[Notice]:
    small = [f"{shorten(name, 40)} ({size:,.6g})" for name, size in sizes.items() if size < SMALL]
    if not small:
        return []
    named = ", ".join(small[:8]) + (f" and {len(small) - 8:,} more" if len(small) > 8 else "")
    text = f"groups of fewer than {SMALL:g} ballots show only large differences, and their ranks are luck: {named}"
    return [Notice("small-groups", text)]


# ---- who is in which group ----
def grouped_preferences(
    prefs: Any, by: By, params: Mapping[str, Any], method: object = None
) -> tuple[Preferences, dict[str, Any]]:
    """Return preferences whose instances are the groups, and what of ``params`` does not say how to read."""
    is_path = isinstance(prefs, (str, PathLike)) or (
        isinstance(prefs, (list, tuple)) and bool(prefs) and all(isinstance(one, (str, PathLike)) for one in prefs)
    )
    if is_path or is_frame(prefs):
        reading, params = _reading(params, PREFERENCES if is_path else FRAME, method)
        if not isinstance(by, (str, int)):
            raise InputError("Say which column holds the groups: by='language', for example.")
        from concordant.io import read

        read_as = read if is_path else Preferences.from_frame
        return _checked(read_as(prefs, by=by, **reading)), params
    prefs = api.as_preferences(prefs)
    if by is None or by == "instance":
        if prefs.instances is None:
            raise InputError(
                "These preferences name no groups: give by= a group per ballot or a mapping from agents to groups, or "
                "read them with by=COLUMN."
            )
        return _checked(prefs), dict(params)
    if prefs.n_instances > 1:
        raise InputError(
            f"These preferences have {prefs.n_instances:,} instances, and groups are compared within one: take one "
            "with select(instances=…)."
        )
    if isinstance(by, (str, int)):
        raise InputError(
            f"by={by!r} names a column, which files and DataFrames have: of preferences, give a group per ballot or a "
            "mapping from agents to groups, or read them with by=COLUMN."
        )
    labels = [UNGROUPED if _is_missing(label) else str(label) for label in _labels(prefs, by)]
    code = {label: k for k, label in enumerate(dict.fromkeys(labels))}
    instance = np.array([code[label] for label in labels], np.int32)
    return _checked(prefs.replace(**POOLED | {"instances": Vocabulary(code), "instance": instance})), dict(params)


def _reading(params: Mapping[str, Any], what: str, method: object) -> tuple[dict[str, Any], dict[str, Any]]:
    """Tell options of reading from those of the method, which win where both have one of that name."""
    mine: set[str] = set()
    if isinstance(method, str):
        mine = {one.name for one in params_of(registry.load(registry.resolve(method)[0]))}
    readable = {one.name for one in options_of(what)} - mine
    reading = {name: value for name, value in params.items() if name in readable}
    return reading, {name: value for name, value in params.items() if name not in readable}


def _labels(prefs: Preferences, by: Sequence[object] | Mapping[Any, object]) -> Iterable[object]:
    """Return the group of every ballot."""
    if isinstance(by, Mapping):
        if prefs.agents is None or prefs.agent is None:
            raise InputError(
                "A mapping from agents to groups needs preferences that say who cast each ballot: build them with "
                "agent=, or give a group per ballot."
            )
        named = {str(agent): group for agent, group in by.items()}
        if not set(named) & set(prefs.agents.labels):
            raise InputError("The mapping names no agent of these preferences: its keys must be their labels.")
        of_agent = [named.get(agent) for agent in prefs.agents.labels]
        return [of_agent[k] for k in prefs.agent.tolist()]
    listed = list(by)
    if len(listed) != prefs.n_ballots:
        raise InputError(f"by= has {len(listed):,} groups for {prefs.n_ballots:,} ballots: give one for each.")
    return listed


def _is_missing(label: object) -> bool:
    return label is None or label == "" or label != label


def _checked(grouped: Preferences) -> Preferences:
    """Refuse what cannot be compared."""
    n = len(np.unique(grouped.instance_of_ballot))
    if n < 2:
        raise InputError("All ballots are in one group, so there is nothing to compare: name another column.")
    if n > MOST_GROUPS:
        raise InputError(
            f"There are {n:,} groups, and more than {MOST_GROUPS} cannot be compared: name a coarser column (language, "
            "country, age class), or join rare groups."
        )
    pair = np.unique(grouped.instance_of_ballot[contrasts.segment_index(grouped.indptr)] * np.int64(grouped.n_items) + grouped.item)
    if np.bincount(pair % grouped.n_items, minlength=1).max() < 2:
        raise InputError(
            "No item stands in two groups, so they cannot be compared: a group is a property of ballots (language, "
            "country, age class), not of items."
        )
    return grouped


def pooled(grouped: Preferences) -> Preferences:
    """Return the ballots of all groups as those of one instance."""
    return grouped.replace(**POOLED)


def by_size(grouped: Preferences) -> Preferences:
    """Return the same preferences with the largest group first, what has no group last."""
    sizes = _sizes(grouped)
    order = sorted(sizes, key=lambda name: (name == UNGROUPED, -sizes[name]))
    assert grouped.instances is not None and grouped.instance is not None
    new = {name: k for k, name in enumerate(order)}
    code = np.array([new.get(name, 0) for name in grouped.instances.labels], np.int32)
    return grouped.replace(**POOLED | {"instances": Vocabulary(order), "instance": code[grouped.instance]})


def _sizes(grouped: Preferences) -> dict[str, float]:
    """Return the weight of the ballots of every group that has any."""
    assert grouped.instances is not None
    weight = np.bincount(grouped.instance_of_ballot, grouped.weight, len(grouped.instances))
    return {name: size for name, size in zip(grouped.instances.labels, weight.tolist(), strict=True) if size > 0}


def _check(alpha: float, test: str, permutations: int | None) -> None:
    if not 0 < alpha < 1:
        raise ParameterError(f"alpha={alpha!r} is out of range: give a number between 0 and 1.")
    if test not in TESTS:
        raise ParameterError(f"test={test!r} is not a choice: use one of {', '.join(TESTS)}.")
    if permutations is not None and permutations < 1:
        raise ParameterError(f"permutations={permutations!r} is out of range: give a whole number of at least 1.")
