"""Compare methods: rank the same preferences by each and measure the agreement."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from concordant import metrics, registry, views
from concordant.ballots.segments import sum_by
from concordant.ballots.vocabulary import in_sentence, shorten, shorten_apart
from concordant.engine.instances import cut
from concordant.errors import ConcordantError, InputError, arg
from concordant.params import params_of
from concordant.preferences import Preferences
from concordant.ranking import Ranking
from concordant.request import Request
from concordant.results.explanation import Explanation, Reason
from concordant.support import progress
from concordant.support.brief import Brief
from concordant.support.display import Block, Displayed, DisplayTable, Drawn, Passage, aligned
from concordant.types import Bools, Floats

if TYPE_CHECKING:
    from concordant.method import Method

CELLS_AT_ONCE = 4_000_000  # of the matrices of pairs
MAX_APART = 1_000  # first items from which shortened labels differ
DISPUTED = 3  # instances that an explanation looks at
COUNTED_BY = ("counts", "normalise", "missing", "ties", "distance")  # parameters that change what a likelihood is of
MEASURES = {
    "distance": "mean share of the ballots' pairs that are discordant with the ranking; lower is better",
    "pair_log_likelihood": "mean log-probability of the outcome of a pair, excluding ties; comparable between "
    "methods; higher is better",
    "log_likelihood": "of all ballots; comparable only between methods with the same log_likelihood_of; per ballot if "
    "held out",
    "tau": "Kendall's tau between the rankings",
}


@dataclass(frozen=True, eq=False, repr=False)
class HeldOut(Brief):
    """How well each method predicts held-out ballots, by cross-validation.

    ``distance`` is the share of their pairs that are discordant with the ranking. ``pair_log_likelihood`` is the mean
    log-probability of the outcome of a strict pair, which is comparable between models. ``log_likelihood`` is per
    ballot and refers to the outcome that the method models. Both are None for methods without a model.
    """

    folds: int
    distance: Floats
    log_likelihood: tuple[float | None, ...]
    pair_log_likelihood: tuple[float | None, ...]


@dataclass(frozen=True, eq=False)
class Comparison(Displayed):
    """Rankings of the same preferences by several methods, with their agreement.

    ``tau`` is 1 - 2 x the normalised Kendall distance (ties count half), averaged over instances; ``distance`` is the
    mean distance of a ranking from the ballots, the share of discordant pairs. ``held_out`` is the fit to held-out
    ballots, if cross-validation was requested.
    """

    rankings: tuple[Ranking, ...]
    names: tuple[str, ...]
    tau: Floats
    distance: Floats
    held_out: HeldOut | None = None
    prefs: Preferences | None = None
    """The preferences that were ranked, if available."""

    @property
    def log_likelihood(self) -> list[float | None]:
        """The log-likelihood of the ballots under each method, None for methods without a model.

        Compare only those of methods whose ``likelihood_of`` is the same.
        """
        return [None if ranking.fit is None else ranking.fit.get("log_likelihood") for ranking in self.rankings]

    @cached_property
    def likelihood_of(self) -> list[str | None]:
        """The outcome that the log-likelihood of each method refers to; None for methods without a model."""
        known = zip(self.rankings, self.log_likelihood, strict=True)
        return [None if value is None else _likelihood_of(ranking) for ranking, value in known]

    @cached_property
    def pair_log_likelihood(self) -> list[float | None]:
        """The mean log-probability of the outcome of a strict pair under each model, comparable between models."""
        if self.prefs is None:
            return [None] * len(self.rankings)
        return [_per_pair(_pair_log_likelihood(ranking, self.prefs)) for ranking in self.rankings]

    @property
    def tiers(self) -> list[list[list[str]]]:
        """The items of each method's ranking (of the first instance) as tie groups, best first."""
        return [next(iter(ranking)).tiers for ranking in self.rankings]

    def firsts(self, n: int = 4) -> list[str]:
        """Return the top items of each method as text, with ties.

        Parameters
        ----------
        n : int, default 4
            Number of items.

        Returns
        -------
        list of str
            A text per method, such as ``a = b > c``.
        """
        labels = [label for tier in self.tiers[0] for label in tier][:MAX_APART] if self.tiers else []
        labels += [label for tiers in self.tiers for tier in tiers[:n] for label in tier[:n]]
        short = dict(zip(labels, shorten_apart(labels, 20), strict=True))
        return [_written(tiers, n, short) for tiers in self.tiers]

    @property
    def winners(self) -> list[tuple[tuple[str, ...], list[str]]]:
        """The items in first place, each with the methods that rank it first; empty with several instances."""
        if any(ranking.n_instances != 1 for ranking in self.rankings):
            return []
        by_first: dict[tuple[str, ...], list[str]] = {}
        for name, tiers in zip(self.names, self.tiers, strict=True):
            by_first.setdefault(tuple(sorted(tiers[0])) if tiers else (), []).append(name)
        return list(by_first.items())

    @property
    def dispute(self) -> str:
        """A sentence on the disagreement about the winner; empty if all methods agree on one."""
        return self.dispute_by(str)

    def dispute_by(self, shown: Callable[[str], str]) -> str:
        """Return the sentence on the disagreement about the winner.

        Parameters
        ----------
        shown : callable
            Function that returns how a method is named in the sentence.

        Returns
        -------
        str
            The sentence; empty if all methods agree on a winner.
        """
        winners = self.winners
        if not winners or set.intersection(*(set(first) for first, _ in winners)):
            return ""
        first_by_methods = [
            f"{_joined([in_sentence(label) for label in first])} by {_joined(list(map(shown, by)))}"
            for first, by in winners
        ]
        return f"The methods disagree about the winner: {'; '.join(first_by_methods)}."

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON.

        Returns
        -------
        dict
            The winners, the results of each method, Kendall's tau, and the meaning of the measures.
        """
        tiers = self.tiers
        return {
            "winners": [{"items": list(first), "methods": by} for first, by in self.winners] or None,
            "is_winner_disputed": bool(self.dispute) if self.winners else None,
            "methods": [
                {
                    "method": name,
                    "top": [label for tier in tiers[k] for label in tier][:10],
                    "tiers": tiers[k],
                    "distance": float(self.distance[k]),
                    "log_likelihood": self.log_likelihood[k],
                    "log_likelihood_of": self.likelihood_of[k],
                    "pair_log_likelihood": self.pair_log_likelihood[k],
                    "held_out": None
                    if self.held_out is None
                    else {
                        "folds": self.held_out.folds,
                        "distance": float(self.held_out.distance[k]),
                        "log_likelihood": self.held_out.log_likelihood[k],
                        "pair_log_likelihood": self.held_out.pair_log_likelihood[k],
                    },
                    "seconds": ranking.seconds,
                    "warnings": [str(notice) for notice in ranking.warnings],
                }
                for k, (name, ranking) in enumerate(zip(self.names, self.rankings, strict=True))
            ],
            "tau": self.tau.tolist(),
            "measures": MEASURES,
        }

    def explain(self) -> Explanation:
        """Explain where and why the methods differ, for a single instance or for those with the largest differences.

        Returns
        -------
        Explanation
            The reasons; prints as text.
        """
        from concordant.analysis.disagreeing import differences

        prefs = self.prefs
        if prefs is None:
            raise ConcordantError("This comparison does not include the preferences: create it with cc.compare.")
        method = ", ".join(self.names)
        if prefs.n_instances == 1 or prefs.instances is None:
            return Explanation(
                method, tuple(differences(prefs, self.rankings, self.names, "Where and why they differ"))
            )
        reasons = [Reason("Over all instances", [_over_instances(prefs, self.rankings)])]
        for instance in _most_disputed(prefs, self.rankings):
            parts = [ranking[instance] for ranking in self.rankings]
            in_instance = prefs.select(instances=[instance])
            reasons += differences(in_instance, parts, self.names, f"Instance {shorten(instance, 60)}")
        return Explanation(method, tuple(reasons))

    def columns(self) -> list[tuple[str, list[str]]]:
        """Return the columns of the printed table, except the top items.

        Returns
        -------
        list of tuple
            The heading, and one cell per method.
        """
        table = [("distance", [f"{value:.4f}" for value in self.distance])]
        if any(value is not None for value in self.pair_log_likelihood):
            table.append(("log-lik. per pair", [_figure(value, ".4f") for value in self.pair_log_likelihood]))
        if (held_out := self.held_out) is not None:
            table.append(("held-out distance", [f"{value:.4f}" for value in held_out.distance]))
            if any(value is not None for value in held_out.pair_log_likelihood):
                figures = [_figure(value, ".4f") for value in held_out.pair_log_likelihood]
                table.append(("held-out log-lik. per pair", figures))
        return table + [(name, [f"{t:.3f}" for t in self.tau[:, k]]) for k, name in enumerate(self.names)]

    def table(self) -> DisplayTable:
        """Return the printed table.

        Returns
        -------
        DisplayTable
            A row per method.
        """
        columns, firsts = self.columns(), self.firsts()
        n_instances = self.rankings[0].n_instances
        first = next(iter(self.rankings[0])).instance
        top = "top items" if n_instances == 1 else f"top items of {in_sentence(str(first), 20)}"
        header = ["method", *(f"tau {text}" if text in self.names else text for text, _ in columns), top]
        rows = [[name, *(cells[k] for _, cells in columns), firsts[k]] for k, name in enumerate(self.names)]
        drawn = Drawn("distance", self.distance.tolist(), is_bar=True)
        return DisplayTable(header, rows, range(1, len(header) - 1), drawn=drawn)

    def blocks(self) -> list[Block]:
        """Return what ``to_markdown``, ``to_latex``, ``to_html`` and the command line show.

        Returns
        -------
        list of DisplayTable or Passage
            The disagreement about the winner, the table, and notes on its columns if a method is a model.
        """
        are_rules = all(value is None for value in [*self.pair_log_likelihood, *self.log_likelihood])
        dispute: list[Block] = [Passage([self.dispute])] if self.dispute else []
        return [*dispute, self.table(), *([] if are_rules else [Passage(self.notes())])]

    def values(self) -> dict[str, Any]:
        """Return the results in full precision as columns, a row per method.

        Returns
        -------
        dict of str to list
            The ranking, its distance to the ballots, log-likelihoods, and Kendall's tau with every method.
        """
        columns: dict[str, Any] = {
            "method": list(self.names),
            "ranking": [" > ".join(" = ".join(tier) for tier in tiers) for tiers in self.tiers],
            "distance": self.distance.tolist(),
            "log_likelihood": self.log_likelihood,
            "log_likelihood_of": self.likelihood_of,
            "pair_log_likelihood": self.pair_log_likelihood,
        }
        if (held_out := self.held_out) is not None:
            columns["held_out_distance"] = held_out.distance.tolist()
            columns["held_out_log_likelihood"] = list(held_out.log_likelihood)
            columns["held_out_pair_log_likelihood"] = list(held_out.pair_log_likelihood)
        return columns | {f"tau_{name}": self.tau[:, k].tolist() for k, name in enumerate(self.names)}

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the comparison as a DataFrame, one row per method.

        Parameters
        ----------
        backend : {'pandas', 'polars', 'pyarrow'}, optional
            Library of the DataFrame; by default, the one that the preferences came from, or else an installed one.

        Returns
        -------
        DataFrame
            The ranking, the distance to the ballots, log-likelihoods, and Kendall's tau with every method.
        """
        from concordant.tables.frames import frame_of

        return frame_of(self.values(), backend, next((ranking.library for ranking in self.rankings), None))

    def plot(self, path: str | None = None, *, top: int = 20) -> Any:
        """Plot the ranks of the best items by each method, or Kendall's tau if there are several instances.

        Parameters
        ----------
        path : str, optional
            File to save the figure to, ending in .svg, .png or .pdf.
        top : int, default 20
            Maximum number of items.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.
        """
        from concordant.narrative.plots_of_systems import plot_agreement, plot_ranks

        if any(ranking.n_instances != 1 for ranking in self.rankings):
            return plot_agreement(self.tau, self.names, path)
        return plot_ranks(self.rankings, self.names, path, top=top)

    def __str__(self) -> str:
        notes = [*self.notes(), "The other columns are Kendall's tau between methods."]
        return "\n".join([*([self.dispute, ""] if self.dispute else []), aligned(self.table()), "", *notes])

    def _repr_html_(self) -> str:
        warnings = [
            f"{name}: {notice}"
            for name, ranking in zip(self.names, self.rankings, strict=True)
            for notice in ranking.warnings
        ]
        from concordant.support.notebook import notebook

        return notebook([*self.blocks(), Passage(warnings)])

    def notes(self, shown: Callable[[str], str] = str) -> list[str]:
        """Explain the columns of the table, and list log-likelihoods by the outcome they refer to.

        Parameters
        ----------
        shown : callable, default str
            Function that returns how a method is named.

        Returns
        -------
        list of str
            The notes.
        """
        notes = [f"Distance: {MEASURES['distance']}."]
        if any(value is not None for value in self.pair_log_likelihood):
            notes.append(f"Log-likelihood per pair: {MEASURES['pair_log_likelihood']}.")
        if self.held_out is not None:
            notes.append(f"Held-out: the same by {self.held_out.folds}-fold cross-validation over ballots.")
        by_kind: dict[str, list[str]] = {}
        for name, kind, value in zip(self.names, self.likelihood_of, self.log_likelihood, strict=True):
            if kind is not None and value is not None:
                by_kind.setdefault(kind, []).append(f"{shown(name)} {value:,.2f}")
        return notes + [f"Log-likelihood of {kind}: {', '.join(likelihoods)}." for kind, likelihoods in by_kind.items()]

    __repr__ = __str__


def compare(
    prefs: Preferences | Any,
    methods: Sequence[str | Method],
    *,
    folds: int | None = None,
    seed: int = 0,
    min_ballots: float | None = None,
    **reading: object,
) -> Comparison:
    """Rank by several methods and measure how closely the rankings agree.

    Parameters
    ----------
    prefs : Preferences, DataFrame, str, path or list of paths
        What to rank, as in ``cc.rank``.
    methods : sequence of str or Method
        The methods, by name or as objects.
    folds : int, optional
        Number of folds of a cross-validation over ballots, which measures how well each method predicts held-out
        ballots; none if not given.
    seed : int, default 0
        Seed for the random split into folds.
    min_ballots : float, optional
        Minimum number of ballots, by weight, that must mention an item; other items are left out.
    **reading : object
        Options of reading a DataFrame or files, as in ``cc.rank``. Give hyper-parameters to method objects.

    Returns
    -------
    Comparison
        The rankings, their agreement with each other and with the ballots, and the results of the cross-validation.

    Raises
    ------
    InputError
        If no method is named, or an argument is not an option of reading.

    Examples
    --------
    >>> import concordant as cc
    >>> prefs = cc.Preferences.from_rankings([["a", "b", "c"], ["b", "a", "c"], ["a", "c", "b"]])
    >>> cc.compare(prefs, ["borda", "copeland"]).names
    ('borda', 'copeland')
    """
    if isinstance(methods, str):
        raise InputError(
            arg("methods", methods) + f" must be a list of methods, not text: give [{methods!r}], for example."
        )
    if not methods:
        raise InputError("There is nothing to compare: give at least one method.")
    request = Request.of(prefs, None, reading, min_ballots=min_ballots)
    unknown = next((name for name in reading if name not in request.reading), None)
    if unknown is not None:
        raise InputError(arg(unknown) + " is not an option for reading data: pass hyper-parameters to method objects.")
    prefs = request.read()
    rankings = tuple(_ranked(prefs, method) for method in progress.steps(methods, "comparing methods"))
    names = tuple(m if isinstance(m, str) else m.name for m in methods)
    held_out = None if folds is None else cross_validate(prefs, methods, folds, seed)
    return replace(compare_rankings(prefs, rankings, names), held_out=held_out)


def _ranked(prefs: Preferences, method: str | Method) -> Ranking:
    """Rank every item, including those that a method would leave out as inactive."""
    return Request(prefs, method, all_items=True).run().ranking


def compare_rankings(prefs: Preferences, rankings: Sequence[Ranking], names: Sequence[str]) -> Comparison:
    """Measure the agreement of rankings of these preferences."""
    ranks = np.stack([ranking.rank_by_slot for ranking in rankings]).astype(np.float64)
    tau = np.zeros((len(rankings), len(rankings)))
    n_instances = 0
    for start, stop in zip(prefs.slot_ptr[:-1].tolist(), prefs.slot_ptr[1:].tolist(), strict=True):
        if stop - start < 2:
            continue
        tau += 1 - 2 * metrics.kendall_matrix(ranks[:, start:stop], normalised=True)
        n_instances += 1
    tau = tau / n_instances if n_instances else np.ones_like(tau)
    return Comparison(tuple(rankings), tuple(names), tau, distances_to_ballots(prefs, ranks), prefs=prefs)


def cross_validate(prefs: Preferences, methods: Sequence[str | Method], folds: int = 5, seed: int = 0) -> HeldOut:
    """Cross-validate every method: predict each fold of the ballots from the others."""
    if not 2 <= folds <= prefs.n_ballots:
        raise InputError(
            arg("folds", shown=str(folds)) + f" is out of range: give 2 to {prefs.n_ballots} (the number of ballots)."
        )
    fold = np.random.default_rng(seed).permutation(prefs.n_ballots) % folds
    distance, n_pairs = np.zeros((folds, len(methods))), np.zeros(folds)
    likelihood, by_pair = np.zeros((folds, len(methods))), np.zeros((folds, len(methods), 2))
    for k in progress.steps(range(folds), "cross-validation"):
        training, test = prefs.take(fold != k), prefs.take(fold == k)
        rankings = [_ranked(training, method) for method in progress.steps(methods)]
        ranks = np.stack([ranking.rank_by_slot for ranking in rankings]).astype(np.float64)
        distance[k] = distances_to_ballots(test, ranks)
        n_pairs[k] = views.win_matrices(test, "ignore").wins.sum()
        for m, ranking in enumerate(rankings):
            likelihood[k, m] = _asked(ranking, "log_likelihood", test)
            by_pair[k, m] = _pair_log_likelihood(ranking, test)
    share = n_pairs / n_pairs.sum() if n_pairs.sum() else np.full(folds, 1 / folds)
    per_ballot = likelihood.sum(axis=0) / prefs.weight.sum()
    log_likelihood = tuple(None if np.isnan(value) else float(value) for value in per_ballot.tolist())
    return HeldOut(folds, share @ distance, log_likelihood, tuple(_per_pair(total) for total in by_pair.sum(axis=0)))


def _asked(ranking: Ranking, question: str, prefs: Preferences) -> Any:
    """Evaluate the model of a ranking on other preferences; NaN if it has no suitable model."""
    judge = getattr(ranking.model, question, None)
    try:
        return judge(prefs) if callable(judge) else np.nan
    except InputError:
        return np.nan


def _pair_log_likelihood(ranking: Ranking, prefs: Preferences) -> Floats:
    """Return (log-probability of the strict pairs, their weight)."""
    return np.broadcast_to(np.asarray(_asked(ranking, "pair_log_likelihood", prefs), np.float64), (2,))


def _per_pair(total: Floats) -> float | None:
    return float(total[0] / total[1]) if total[1] > 0 else None


def _likelihood_of(ranking: Ranking) -> str:
    """Return the outcome that the log-likelihood of a ranking refers to."""
    try:
        known = registry.load(registry.resolve(ranking.method)[0])
    except ConcordantError:  # a method of somebody's own
        return f"what {ranking.method or 'this method'} models"
    kind = known.likelihood_of or f"what {ranking.method} models"
    defaults = {declared.name: declared.default for declared in params_of(known) if declared.name in COUNTED_BY}
    changed = [
        f"{name}={ranking.params[name]}"
        for name in defaults
        if ranking.params.get(name, defaults[name]) != defaults[name]
    ]
    return f"{kind} ({', '.join(changed)})" if changed else kind


def distances_to_ballots(prefs: Preferences, ranks: Floats) -> Floats:
    """Return the weighted share of the ballots' strict pairs that are discordant with each ranking; its ties count
    half.

    ``ranks`` has one row per ranking and one column per slot.
    """
    discordant, total, start = np.zeros(len(ranks)), 0.0, 0
    for part in _parts(prefs):
        matrices = views.win_matrices(part, "ignore")
        for q in np.flatnonzero(matrices.size > 1).tolist():
            wins = matrices.matrix(q)
            ranks_in_instance = ranks[:, start + part.slot_ptr[q] : start + part.slot_ptr[q + 1]]
            total += float(wins.sum())
            for k, rank_by_slot in enumerate(ranks_in_instance):
                sign = np.sign(rank_by_slot[:, None] - rank_by_slot[None, :])
                discordant[k] += float((wins * (sign + 1)).sum()) / 2
        start += part.n_slots
    return discordant / total if total else discordant


def _parts(prefs: Preferences) -> list[Preferences]:
    """Split preferences of many instances, to limit the memory for counting pairs."""
    cells = float((np.diff(prefs.slot_ptr).astype(np.float64) ** 2).sum())
    n_parts = 1 + int(cells // CELLS_AT_ONCE)
    return cut(prefs, n_parts) if n_parts > 1 and prefs.instances is not None else [prefs]


def _over_instances(prefs: Preferences, rankings: Sequence[Ranking]) -> str:
    """Return a sentence on the number of instances in which all methods agree on the order, and on the winner."""
    same, same_first = _agreeing(prefs, rankings)
    n = prefs.n_instances
    return (
        f"All methods give the same order in {int(same.sum()):,} of {n:,} instances, and the same winner in "
        f"{int(same_first.sum()):,}; the instances with the largest differences follow."
        if not same.all()
        else f"All methods give the same order in all {n:,} instances."
    )


def _agreeing(prefs: Preferences, rankings: Sequence[Ranking]) -> tuple[Bools, Bools]:
    """Return for each instance whether all methods give the same ranks, and the same first place."""
    ranks = np.stack([ranking.rank_by_slot for ranking in rankings])
    instance, n = views.instance_of_slot(prefs), prefs.n_instances
    differs, differs_first = (ranks != ranks[0]).any(axis=0), ((ranks == 1) != (ranks[0] == 1)).any(axis=0)
    same, same_first = (
        np.bincount(instance[is_different], minlength=n) == 0 for is_different in (differs, differs_first)
    )
    return same, same_first


def _most_disputed(prefs: Preferences, rankings: Sequence[Ranking]) -> list[str]:
    """Return the instances with the largest differences: by first place, then by the spread of ranks."""
    assert prefs.instances is not None
    ranks = np.stack([ranking.rank_by_slot for ranking in rankings])
    same, same_first = _agreeing(prefs, rankings)
    size = np.maximum(np.diff(prefs.slot_ptr), 1)
    spread = sum_by(views.instance_of_slot(prefs), np.ptp(ranks, axis=0), prefs.n_instances) / size**2
    order = np.lexsort((np.arange(len(size)), -spread, same_first))
    return [prefs.instances[q] for q in order.tolist() if not same[q]][:DISPUTED]


def _written(tiers: list[list[str]], n: int, short: Mapping[str, str]) -> str:
    """Format the first ``n`` items, with ``=`` between tied items and … where a tier is truncated."""
    text, n_left = "", n
    for tier in tiers:
        text += " > " if text else ""
        text += " = ".join([*(short[label] for label in tier[:n_left]), *(["…"] if len(tier) > n_left else [])])
        n_left -= len(tier)
        if n_left <= 0:
            break
    return text


def _joined(names: Sequence[str], max_names: int = 8) -> str:
    """Return names joined for a sentence: a, b and c."""
    if len(names) > max_names:
        return f"{', '.join(names[:max_names])} and {len(names) - max_names:,} more"
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


def _figure(value: float | None, digits: str) -> str:
    return "-" if value is None else format(value, digits)
