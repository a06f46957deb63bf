"""The verdict on a study: who leads, how certain that is, what was counted, and what a reader should look at next.

``is_complete=False`` gives what is known as soon as the ranking is: nothing that compares methods, evaluates runs, or
computes the covariance of many items.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from concordant import registry
from concordant.analysis.advice import usual_rules
from concordant.ballots.vocabulary import shorten, shorten_apart
from concordant.errors import InputError
from concordant.evaluation import Evaluation, paired_tests
from concordant.narrative.certainty import Certainty, summary
from concordant.narrative.fields import Field
from concordant.narrative.plots_of_systems import mean_with_margin
from concordant.narrative.sentences import counted, listed
from concordant.narrative.verdict import Bar, Chip, Dots, Verdict
from concordant.ranking import Ranking
from concordant.reporting.metric_texts import metric_name
from concordant.reporting.pictures import first_names
from concordant.reporting.study import Study
from concordant.reporting.verdict_card import LABEL_WIDTH
from concordant.results.uncertain import Uncertainty
from concordant.support.text import capital, p_value, short_number

SHOWN = 5  # items of the small picture
COMPARED = 200  # first items from which their shortened labels differ
CHEAP = 1_000  # items up to which the uncertainty of the scores is computed at once
NAMED = 3  # leaders or members that the headline names before it counts the others
WIDTH = 60  # characters of a label in the headline


def verdict_of(study: Study, *, is_complete: bool = True) -> Verdict | None:
    """Return the verdict on a ranking; None if there is nothing to say, such as for classes without an order.

    ``is_complete`` includes what takes longer than the ranking: the comparison of methods, groups, and the evaluation.
    """
    ranking, field = study.ranking, study.field
    if study.prefs.classes is not None or not len(ranking.score):
        return None
    if ranking.n_instances != 1:
        best = _best_run(study, field, is_complete=is_complete)
        return best or _instances(study, field, is_complete=is_complete)
    if elected := _elected(ranking):
        verdict = _committee(ranking, elected)
    else:
        verdict = _leader(ranking, field, is_cheap=is_complete or _is_cheap(ranking))
    chips = _chips(study, field) if is_complete else ()
    numbers = (*verdict.numbers, *_counts(study, field))
    return replace(_by_method(verdict, ranking), chips=(*verdict.chips, *chips), numbers=numbers)


def method_name(ranking: Ranking) -> str:
    """Return the usual name of the method of a ranking within a sentence, by its settings: CombMNZ."""
    return registry.usual_name(ranking.method, ranking.params) if ranking.method else "the given scores"


def _by_method(verdict: Verdict, ranking: Ranking) -> Verdict:
    title = registry.title_of(ranking.method, ranking.params) if ranking.method else ""
    return replace(verdict, method=title, method_id=ranking.method)


def _is_cheap(ranking: Ranking) -> bool:
    """Return whether the uncertainty of the scores is known, or quickly computed."""
    return len(ranking.score) <= CHEAP or isinstance(ranking.uncertainty, Uncertainty)


# ---- one contest ----
def _leader(ranking: Ranking, field: Field, *, is_cheap: bool) -> Verdict:
    """Return who is first, with the sentence of the certainty and a small picture."""
    first = tuple(ranking.tiers[0]) if is_cheap else tuple(ranking.items[: int((ranking.ranks == 1).sum())])
    n = len(ranking.items)
    by = f" by {method_name(ranking)}"
    if len(first) > 1:
        over = f"Shared first place{by}"
    elif field.name == "election":
        over = f"Winner{by}"
    elif field.name in ("league", "leaderboard"):
        over = f"Leader of {_number_of(n, field.item)}"
    else:
        over = f"First of {_number_of(n, field.item)}{by}"
    headline = listed([shorten(label, WIDTH) for label in first], NAMED)
    if not is_cheap:
        return Verdict(over, headline, is_label=True, sentence="")
    certainty = ranking.certainty
    return Verdict(over, headline, True, certainty.sentence(), _close(certainty), figure=_figure(ranking, certainty))


def _close(certainty: Certainty) -> tuple[Chip, ...]:
    """Return a remark if more items than the runner-up are not significantly behind."""
    n = 0 if certainty.n_close is None else certainty.n_close - (not certainty.is_significant)
    return (Chip(f"{n:,} more not significantly behind", section="ranking"),) if n > 0 else ()


def _figure(ranking: Ranking, certainty: Certainty) -> Bar | Dots | None:
    """Return the first scores with their confidence intervals, or else the votes between the first two."""
    n = min(SHOWN, len(ranking.items))
    if ranking.low is not None and ranking.high is not None and n > 1 and np.isfinite(ranking.scores[:n]).all():
        level = certainty.level
        ends = [
            tuple(end if np.isfinite(end) else None for end in part[:n].tolist())
            for part in (ranking.low, ranking.high)
        ]
        labels, scores = tuple(ranking.items[:n]), tuple(ranking.scores[:n].tolist())
        short = tuple(shorten_apart(ranking.items[:COMPARED], LABEL_WIDTH)[:n])
        return Dots(f"Score and {level:.0%} CI", labels, scores, ends[0], ends[1], short)
    if certainty.votes is None or certainty.runner_up is None or not sum(certainty.votes):
        return None
    won, lost = certainty.votes
    one, two = first_names([certainty.first[0], certainty.runner_up])
    share = won / (won + lost)
    title = "Votes in direct comparison"
    return Bar(title, f"{one} {short_number(won)}", f"{short_number(lost)} {two}", share, 0.5, "majority")


def _elected(ranking: Ranking) -> list[str]:
    """Return who is elected, if there are several seats."""
    if (ranking.fit or {}).get("seats", 1) < 2 or "elected" not in ranking.details:
        return []
    share = ranking.detail("elected")
    names = [label for label, part in zip(ranking.items, share.tolist(), strict=True) if part == 1]
    return names if len(names) > 1 else []


def _committee(ranking: Ranking, elected: list[str]) -> Verdict:
    """Return who holds the seats; the members of a committee are not tested against each other."""
    fit = ranking.fit or {}
    sentence = ""
    if "quota" in fit and "stages" in fit:
        stages = counted(fit["stages"], "stage")
        sentence = f"The quota is {short_number(fit['quota'])} votes, and the count has {stages}."
    open_seats = any(notice.name == "unbroken-ties" for notice in ranking.warnings)
    chips = (Chip("A tie must be decided by lot", "warn", "warnings"),) if open_seats else ()
    seats = f"{int(fit.get('seats', len(elected))):,}"
    headline = listed([shorten(label, WIDTH) for label in elected], NAMED)
    return Verdict(f"Elected by {method_name(ranking)}", headline, True, sentence, chips, ((seats, "seats"),))


# ---- what was counted ----
def _number_of(n: float, nouns: tuple[str, str]) -> str:
    return f"{short_number(n)} {nouns[n != 1]}"


def _pair(n: float, nouns: tuple[str, str]) -> tuple[str, str]:
    return short_number(n), nouns[n != 1]


def _counts(study: Study, field: Field) -> tuple[tuple[str, str], ...]:
    """Return the numbers of ballots, ties or ratings, items and judges."""
    prefs = study.prefs
    numbers = [_pair(float(prefs.weight.sum()), field.ballot)]
    if prefs.form == "ratings":
        numbers.append(_pair(len(prefs.item), ("rating", "ratings")))
    numbers.append(_pair(len(study.ranking.items) + study.n_unranked, field.item))
    if prefs.form == "pairs" and len(prefs.item):
        is_tie = prefs.tier[0::2] == prefs.tier[1::2]
        if is_tie.any():
            numbers.append((f"{float(prefs.weight[is_tie].sum() / prefs.weight.sum()):.0%}", "ties"))
    if prefs.agents is not None and field.agent != field.ballot and field.name in ("leaderboard", "search"):
        numbers.append(_pair(len(prefs.agents), field.agent))
    return tuple(numbers)


# ---- what else to look at ----
def _chips(study: Study, field: Field) -> tuple[Chip, ...]:
    """Return remarks that need the comparison of methods, the findings on the data, or the groups."""
    chips = []
    if study.dispute:
        rules, who = ("Rules", "winner") if usual_rules(study.prefs) else ("Methods", "leader")
        chips.append(Chip(f"{rules} disagree about the {who}", "warn", "methods"))
    if field.name == "election" and not _elected(study.ranking):
        chips += _condorcet(study)
    covariates = dict.fromkeys(coefficient.name for coefficient in study.ranking.coefficients)
    if covariates:
        chips.append(Chip(f"Style control: {listed([shorten(name, 24) for name in covariates], 2)}", section="style"))
    if study.groups is not None and study.groups.n_compared:
        n, by = len(study.groups.significant), shorten(study.groups.by, 24)
        differences = "difference" if n == 1 else "differences"
        text = f"{n:,} significant {differences}" if n else "No significant differences"
        chips.append(Chip(f"{text} {'between groups' if by == 'group' else f'by {by}'}", section="groups"))
    return tuple(chips)


def _condorcet(study: Study) -> list[Chip]:
    """Return a remark on the Condorcet winner, or on majorities that are cyclic; none if they were not counted."""
    finding = study.data.description.finding("cyclic")
    winner = None if finding is None else finding.data.get("condorcet_winner")
    if winner is None:
        return [] if finding is None or finding.is_fine else [Chip("Majorities are cyclic", "warn", "data")]
    if winner == study.ranking.items[0]:
        return [Chip("Condorcet winner", section="duels")]
    return [Chip(f"Condorcet winner: {shorten(str(winner), 30)}", "warn", "duels")]


# ---- several instances ----
def _instances(study: Study, field: Field, *, is_complete: bool) -> Verdict:
    """Return how many instances were ranked, and in how many of them the first place is significant."""
    ranking, prefs = study.ranking, study.prefs
    over = f"Ranked by {method_name(ranking)}"
    if field.name == "search" and prefs.agents is not None and len(prefs.agents) > 1:
        over = f"Fusion of {_number_of(len(prefs.agents), field.agent)} by {method_name(ranking)}"
    sentence = ""
    if is_complete or len(ranking.score) <= CHEAP:
        sentence = summary(ranking.certainties, field.instance[1])
    numbers = [_pair(float(prefs.weight.sum()), field.ballot), _pair(len(prefs.items), field.item)]
    if prefs.agents is not None and field.agent != field.ballot:
        numbers.append(_pair(len(prefs.agents), field.agent))
    headline = _number_of(ranking.n_instances, field.instance)
    return _by_method(Verdict(over, headline, is_label=False, sentence=sentence, numbers=tuple(numbers)), ranking)


def _best_run(study: Study, field: Field, *, is_complete: bool) -> Verdict | None:
    """Return the best of the fused run and the single runs by the first metric, with the test of their difference."""
    runs, own = study.run_evaluations, study.own_name
    if not runs:
        return None
    results = study.evaluations if is_complete else runs
    shown = dict(zip(runs[own].per_instance, map(metric_name, runs[own].per_instance), strict=True))
    metric, *others = shown
    order = _in_order(runs, metric, own)
    if not order or runs[order[0]].means[metric] <= 0:  # no run finds a relevant document
        return None
    best = order[0]
    rival = own if best != own else next((name for name in order if name != own), None)
    sentence, chips = _against(study, runs, (best, rival), (metric, shown[metric]), field)
    for other in others:
        favoured = _in_order(runs, other, own)[:1]
        if favoured and runs[favoured[0]].means[other] > runs[best].means[other]:
            text = f"Metrics disagree: {shown[other]} favours {_system(favoured[0], study)}"
            chips = (Chip(text, "warn", "labels"), *chips)
    highest = _in_order(results, metric, own)[0]
    if highest not in runs and results[highest].means[metric] > runs[best].means[metric]:
        text = f"{registry.title_of(highest)} scores higher: {results[highest].means[metric]:.3f}"
        chips = (*chips, Chip(text, section="methods"))
    judged = (f"judged {field.instance[0]}", f"judged {field.instance[1]}")
    numbers = [_pair(results[own].n_instances, judged)]
    if study.prefs.agents is not None:
        numbers.append(_pair(len(study.prefs.agents), field.agent))
    headline = _system(best, study)
    headline = capital(headline) if best == own else headline
    figure = _means(study, runs, order[:SHOWN], metric, shown[metric])
    verdict = Verdict(
        f"Best run by {shown[metric]}", headline, best != own, sentence, chips, tuple(numbers), figure=figure
    )
    return _by_method(verdict, study.ranking)


def _in_order(results: Mapping[str, Evaluation], metric: str, own: str) -> list[str]:
    """Return the systems by the mean of a metric, best first; the ranking itself comes first among equals."""
    known = [name for name, result in results.items() if not np.isnan(result.means[metric])]
    return sorted(known, key=lambda name: (-results[name].means[metric], name != own))


def _system(name: str, study: Study) -> str:
    """Return the name of a run, or of the ranking: the fused run if there are several runs."""
    if name != (study.own_name):
        return shorten(name, WIDTH)
    is_fused = study.prefs.agents is not None and len(study.prefs.agents) > 1
    return "fused run" if is_fused else method_name(study.ranking)


def _against(
    study: Study,
    results: Mapping[str, Evaluation],
    pair: tuple[str, str | None],
    of: tuple[str, str],
    field: Field,
) -> tuple[str, tuple[Chip, ...]]:
    """Return a sentence on the best system and its rival with the test, and on how many queries the best is better.

    All systems are tested against the best single run, as in the section on the evaluation; ``of`` is a metric and how
    it is shown.
    """
    own, (best, rival), (metric, shown) = study.own_name, pair, of
    value = results[best].means[metric]
    if rival is None:
        return f"The mean {shown} is {value:.3f}.", ()
    low = results[rival].means[metric]
    against = f"the best single run {_system(rival, study)}" if best == own else f"the {_system(own, study)}"
    apart = f"{value - low:.3f} above" if value - low >= 0.0005 else "equal to"
    lead = f"The mean {shown} is {value:.3f}, {apart} {against} ({low:.3f})"
    try:
        tests = paired_tests(results, rival if best == own else best) if results[own].n_instances > 1 else []
    except InputError:  # a metric that skips all queries
        tests = []
    if not tests:
        return f"{lead}.", ()
    test = next(row for row in tests if row["metric"] == metric and row["system"] == own)
    verb = "is" if test["significant"] else "is not"
    sentence = f"{lead}; the difference {verb} significant (paired t test, {p_value(test['p_holm'])}, Holm)."
    ours, theirs = (np.asarray(results[name].per_instance[metric]) for name in (best, rival))
    known = ~(np.isnan(ours) | np.isnan(theirs))
    better = f"Better on {int((ours[known] > theirs[known]).sum()):,} of {_number_of(int(known.sum()), field.instance)}"
    return sentence, (Chip(better, section="queries"),)


def _means(study: Study, results: Mapping[str, Evaluation], names: list[str], metric: str, shown: str) -> Dots:
    """Return the means of the first systems with their confidence intervals."""
    means = [mean_with_margin(np.asarray(results[name].per_instance[metric])) for name in names]
    low, high = (tuple(mean + sign * margin if margin else None for mean, margin in means) for sign in (-1, 1))
    labels = tuple(_system(name, study) for name in names)
    return Dots(f"Mean {shown} and 95% CI", labels, tuple(mean for mean, _ in means), low, high)
