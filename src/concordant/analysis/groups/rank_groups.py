"""Rank groups of ballots separately and test which differences from the rest are statistically significant.

A group is a property of ballots, such as the language of a prompt or the country or age group of a voter. All ballots
together are ranked first (``whole``), then those of each group, by the same method with the hyper-parameters fitted on
all ballots (one prior for all). Each score of a group is compared with the score from the ballots outside the group,
and ``holds`` marks the differences that are significant after correction for multiple testing; ``contrasts``
documents the formulas. Items on no ballot of a group are left out there, unless the method ranks unlisted items
last.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from concordant.analysis.groups import contrasts
from concordant.analysis.groups.comparison import GroupComparison, GroupDifference
from concordant.analysis.groups.contrasts import POOLED, Contrasts
from concordant.ballots.vocabulary import Vocabulary, shorten
from concordant.errors import InputError, ParameterError, Sentence, action, arg, phrase
from concordant.params import params_of
from concordant.preferences import Preferences
from concordant.ranking import Notice, Ranking
from concordant.registry import usual_name
from concordant.request import Request
from concordant.support import progress
from concordant.tables.options import UNGROUPED

if TYPE_CHECKING:
    from concordant.method import Method

By = str | int | Iterable[object] | Mapping[Any, object] | None

MAX_GROUPS = 100
SMALL = 30.0  # ballots below which a group is named in a warning
MANY = 100_000  # ballots from which equal ones are joined before they are ranked again for every group
TESTS = ("auto", "errors", "permutation")


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
    """Rank each group of ballots separately and test its differences from the other groups for significance.

    Parameters
    ----------
    prefs : Preferences, DataFrame, str, path or list of paths
        What to rank, as in ``cc.rank``.
    by : str, int, iterable or mapping, optional
        For files and DataFrames, the column of groups. For preferences, the group of every ballot, or a mapping from
        agents to groups; if not given, the instances are the groups.
    method : str or Method, optional
        Name of a method or a method object; by default, one that suits the form of the data.
    alpha : float, default 0.05
        Significance level. A difference is significant if its p-value, corrected for all groups and items, is below it.
    test : {'auto', 'errors', 'permutation'}, default 'auto'
        Test by the standard errors of the method or by permutation of the groups. ``"auto"`` uses standard errors if
        they are also valid for few ballots and ``permutations`` is not given.
    permutations : int, optional
        Number of random permutations.
    seed : int, default 0
        Seed of the permutations.
    min_ballots : float, optional
        Minimum number of ballots, by weight, that must mention an item; other items are left out.
    **params : object
        Hyper-parameters of the method, and options of reading a DataFrame or files, as in ``cc.rank``.

    Returns
    -------
    GroupComparison
        The ranking of all ballots, the ranking of each group, and the difference of each item in each group with its
        p-value.

    Examples
    --------
    >>> import concordant as cc
    >>> prefs = cc.Preferences.from_rankings([["a", "b"], ["a", "b"], ["b", "a"], ["b", "a"]])
    >>> groups = cc.rank_groups(prefs, ["x", "x", "y", "y"], "borda", permutations=100)
    >>> groups.names
    ['x', 'y']
    """
    _check(alpha, test, permutations)
    request = Request.of(prefs, method, params, min_ballots=min_ballots)
    grouped = grouped_preferences(request, by)
    return compare_groups(
        grouped, request_for_all(request, grouped), alpha=alpha, test=test, permutations=permutations, seed=seed
    )


def request_for_all(request: Request, grouped: Preferences) -> Request:
    """Return the request that ranks the ballots of all groups as one instance."""
    return replace(request, source=grouped.replace(**POOLED), reading={}, all_items=True)


def compare_groups(
    grouped: Preferences,
    request: Request,
    *,
    alpha: float = 0.05,
    test: str = "auto",
    permutations: int | None = None,
    seed: int = 0,
) -> GroupComparison:
    """Compare groups (the instances of these preferences), given the request for all ballots; see ``rank_groups``."""
    by = str(grouped.meta.get("by", "group"))
    whole, pooled, method = request.run_unscaled().ranking, request.read(), request.chosen_method
    if request.min_ballots is not None:
        grouped = grouped.select(items=list(pooled.items.labels))
    grouped = by_size(grouped)
    settled = _settled(method, whole)
    has_errors = "stderr" in whole.details
    if test == "errors" and not has_errors:
        raise InputError(
            f"{method.name} has no standard errors here: use " + arg("test", "permutation") + ", or leave it out."
        )
    is_by_errors = has_errors and (
        test == "errors" or (test == "auto" and permutations is None and method.errors_by_ballots)
    )
    if is_by_errors and grouped.n_ballots > MANY and not method.needs & {"order", "time"}:
        grouped = grouped.merge()
    silence = contrasts.counts_silence(method, pooled, whole)
    groups = settled.rank(contrasts.in_groups(grouped, silence))
    if is_by_errors:
        tested = _found_by_errors(settled, grouped, groups, silence)
        is_by_errors = tested is not None
    if not is_by_errors:
        tested = contrasts.by_permutation(settled, grouped, whole, permutations, seed)
    assert tested is not None
    sizes = _sizes(grouped)
    comparison = GroupComparison(
        whole,
        groups,
        _rows(whole, groups, tested, alpha),
        sizes,
        tested.test,
        tested.correction,
        alpha,
        tested.n_compared,
        tested.permutations,
        by,
        (*_untested(method, tested), *_small(sizes)),
    )
    return comparison if request.scale is None else comparison.on_scale(request.scale)


def _found_by_errors(method: Method, grouped: Preferences, groups: Ranking, silence: bool) -> Contrasts | None:
    """Test by standard errors; None if a group or its rest has none."""
    if "stderr" not in groups.details:
        return None
    rests = method.rank(contrasts.in_rests(grouped, silence))
    return contrasts.by_errors(groups, rests) if "stderr" in rests.details else None


def _settled(method: Method, whole: Ranking) -> Method:
    """Return the method with the hyper-parameters fitted on all ballots, which are used for all groups."""
    fit = whole.fit or {}
    fitted = {
        declared.name: fit[declared.name]
        for declared in params_of(type(method))
        if getattr(method, declared.name) in (None, "auto") and declared.name in fit
    }
    settle = getattr(method, "settled", None)
    if "prior" in fitted and settle is not None:
        method = cast("Method", settle(fitted.pop("prior"), getattr(whole.uncertainty, "doubt", 0.0)))
    return replace(method, **fitted).with_learnt(**method.learnt) if fitted else method


def _rows(whole: Ranking, groups: Ranking, tested: Contrasts, alpha: float) -> tuple[GroupDifference, ...]:
    """Return one row per group and item, items in the overall order."""
    place = dict(zip(whole.items, whole.ranks.tolist(), strict=True))
    code = {label: code for code, label in enumerate(whole.vocabulary.labels)}
    rows = []
    for group, part in enumerate(groups):
        low, high = part.low, part.high
        position_of = {item: position for position, item in enumerate(part.items)}
        for item in (item for item in whole.items if item in position_of):
            position, item_code = position_of[item], code[item]
            p = _known(tested.p_adjusted[group, item_code])
            rows.append(
                GroupDifference(
                    str(part.instance),
                    item,
                    int(part.ranks[position]),
                    place[item],
                    float(part.scores[position]),
                    None if low is None else float(low[position]),
                    None if high is None else float(high[position]),
                    _known(tested.difference[group, item_code]),
                    _known(tested.stderr[group, item_code]),
                    _known(tested.z[group, item_code]),
                    _known(tested.p[group, item_code]),
                    p,
                    p is not None and p < alpha,
                )
            )
    return tuple(rows)


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _untested(method: Method, tested: Contrasts) -> tuple[Notice, ...]:
    """Return a notice if the test would take too long."""
    if not tested.seconds:
        return ()
    n = contrasts.FEWEST
    cost = f"{n} permutations by {usual_name(method.name)} would take about {progress.estimated(tested.seconds)}"
    text = f"the differences between groups were not tested: {cost}. Use a faster method, or "
    return (Notice("not-tested", Sentence(text, arg("permutations", n), " to test them all the same")),)


def _small(sizes: Mapping[str, float]) -> tuple[Notice, ...]:
    """Return a notice that names groups of fewer than 30 ballots."""
    small = [f"{shorten(name, 40)} ({size:,.6g})" for name, size in sizes.items() if size < SMALL]
    if not small:
        return ()
    named = ", ".join(small[:8]) + (f" and {len(small) - 8:,} more" if len(small) > 8 else "")
    text = f"ranks in groups of fewer than {SMALL:g} ballots are unreliable, and tests have little power: {named}"
    return (Notice("small-groups", text),)


# ---- who is in which group ----
def grouped_preferences(request: Request, by: By) -> Preferences:
    """Return the preferences of a request with the groups as their instances."""
    if request.has_columns:
        if not isinstance(by, (str, int)):
            raise InputError("No group column was given: name one, for example " + arg("by", "language") + ".")
        reading = {**request.reading, "by": by}
        return _checked(replace(request, reading=reading, plans={}, min_ballots=None).read())  # plans know no groups
    prefs: Preferences = replace(request, min_ballots=None).read()
    if by is None or (isinstance(by, str) and by == "instance"):
        if prefs.instances is None:
            raise InputError(
                phrase(
                    "These preferences have no groups: set {} to a group per ballot or a mapping from agents to "
                    "groups, or read them with {}.",
                    *(arg("by"), arg("by", shown="COLUMN")),
                )
            )
        return _checked(prefs)
    if prefs.n_instances > 1:
        raise InputError(
            f"These preferences have {prefs.n_instances:,} instances, but groups are compared within one"
            + action("select_one", ": select one with select(instances=…)")
            + "."
        )
    if isinstance(by, (str, int)):
        raise InputError(
            phrase(
                "{} names a column, but preferences have no columns: give a group per ballot or a mapping from agents "
                "to groups, or read the data with {}.",
                *(arg("by", by), arg("by", shown="COLUMN")),
            )
        )
    labels = [UNGROUPED if _is_missing(label) else str(label) for label in _labels(prefs, by)]
    code = {label: k for k, label in enumerate(dict.fromkeys(labels))}
    instance = np.array([code[label] for label in labels], np.int32)
    return _checked(prefs.replace(**POOLED | {"instances": Vocabulary(code), "instance": instance}))


def _labels(prefs: Preferences, by: Iterable[object] | Mapping[Any, object]) -> Iterable[object]:
    """Return the group of every ballot."""
    if isinstance(by, Mapping):
        if prefs.agents is None or prefs.agent is None:
            raise InputError(
                "A mapping from agents to groups needs preferences with agents: build them with "
                + arg("agent")
                + ", or give a group per ballot."
            )
        named = {str(agent): group for agent, group in by.items()}
        if not set(named) & set(prefs.agents.labels):
            raise InputError("The mapping contains no agent of these preferences: its keys must be labels of agents.")
        of_agent = [named.get(agent) for agent in prefs.agents.labels]
        return [of_agent[k] for k in prefs.agent.tolist()]
    listed = list(by)
    if len(listed) != prefs.n_ballots:
        raise InputError(
            arg("by") + f" has {len(listed):,} groups for {prefs.n_ballots:,} ballots: give one per ballot."
        )
    return listed


def _is_missing(label: object) -> bool:
    return label is None or label == "" or label != label


def _checked(grouped: Preferences) -> Preferences:
    """Reject a single group, too many groups, and groups without a common item."""
    n = len(np.unique(grouped.instance_of_ballot))
    if n < 2:
        raise InputError("All ballots are in one group, so there is nothing to compare: name another column.")
    if n > MAX_GROUPS:
        raise InputError(
            f"There are {n:,} groups, and at most {MAX_GROUPS} can be compared: name a coarser column (language, "
            f"country, age group), or merge small groups."
        )
    group = np.repeat(grouped.instance_of_ballot.astype(np.int64), np.diff(grouped.indptr))
    item_of_pair = np.unique(group * grouped.n_items + grouped.item) % max(grouped.n_items, 1)
    if np.bincount(item_of_pair, minlength=1).max() < 2:
        raise InputError(
            "No item occurs in two groups, so they cannot be compared: a group is a property of ballots (language, "
            "country, age group), not of items."
        )
    return grouped


def by_size(grouped: Preferences) -> Preferences:
    """Return the preferences with the largest group first, and ballots without a group last."""
    sizes = _sizes(grouped)
    order = sorted(sizes, key=lambda name: (name == UNGROUPED, -sizes[name]))
    assert grouped.instances is not None
    assert grouped.instance is not None
    new_code = {name: k for k, name in enumerate(order)}
    code = np.array([new_code.get(name, 0) for name in grouped.instances.labels], np.int32)
    return grouped.replace(**POOLED | {"instances": Vocabulary(order), "instance": code[grouped.instance]})


def _sizes(grouped: Preferences) -> dict[str, float]:
    """Return the total weight of the ballots of each non-empty group."""
    assert grouped.instances is not None
    weight = np.bincount(grouped.instance_of_ballot, grouped.weight, len(grouped.instances))
    return {name: size for name, size in zip(grouped.instances.labels, weight.tolist(), strict=True) if size > 0}


def _check(alpha: float, test: str, permutations: int | None) -> None:
    """Check the options of the test."""
    if not 0 < alpha < 1:
        raise ParameterError(arg("alpha", alpha) + " is out of range: give a number between 0 and 1.")
    if test not in TESTS:
        raise ParameterError(arg("test", test) + f" is not valid: use one of {', '.join(TESTS)}.")
    if permutations is not None and permutations < 1:
        raise ParameterError(arg("permutations", permutations) + " is out of range: give a whole number of at least 1.")
