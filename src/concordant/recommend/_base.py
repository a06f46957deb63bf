"""Base class of the recommenders: fitting, recommendation lists, evaluation on held-out ratings, and fold-in.

A recommender has immutable hyper-parameters; ``fit(prefs)`` returns a fitted copy. ``recommend`` lists the items with
the highest scores for an agent, ``predict`` scores single items, ``score`` evaluates the ranking of held-out ratings,
``similar`` lists similar items, and ``fold_in`` adapts the model to new agents from a few ratings (cold start), without
refitting the items.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np

from concordant import metrics
from concordant.ballots.vocabulary import Vocabulary, encode
from concordant.errors import InputError, NeedError, action, arg
from concordant.params import values_of
from concordant.preferences import Preferences
from concordant.ranking import Ranking
from concordant.recommend._alternating import Sweep
from concordant.recommend._observed import Observed
from concordant.recommend._unseen import among_unseen, is_implicit, parts_of
from concordant.settings import Settings
from concordant.support.progress import Stage, stage
from concordant.support.state import Kind, Pointer, labels, whole
from concordant.types import AnyArray, Floats, Int32s, Int64s

Progress = Callable[[Sweep], None]
AT_ONCE = 1 << 22  # scores held at a time while lists are made
NEWCOMER = "newcomer"


@dataclass(frozen=True, kw_only=True)
class Recommender(Settings):
    """Base class of all recommenders."""

    word: ClassVar[str] = "recommender"
    learns: ClassVar[Mapping[str, Kind]] = {
        "agent_labels": labels("agents"),
        "item_labels": labels("items"),
        "seen_item": whole("seen", bits=32, below="items"),
        "seen_ptr": Pointer(size="agents", over="seen"),
    }

    # ---- fitting ----
    def fit(
        self,
        prefs: Preferences,
        *,
        validation: Preferences | None = None,
        metric: str = "ndcg@10",
        start: Recommender | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Fit the recommender to ratings or rankings.

        Parameters
        ----------
        prefs : Preferences
            Ballots with agents.
        validation : Preferences, optional
            Held-out ratings by the same agents, for early stopping: the state with the best ``metric`` is kept.
        metric : str, default 'ndcg@10'
            Metric monitored on ``validation``.
        start : Recommender, optional
            Fitted model of the same class from which to continue. Agents and items may have been added since.
        progress : callable, optional
            Called with a ``Sweep`` after each iteration.

        Returns
        -------
        Recommender
            A fitted copy; the object itself remains unfitted.

        Raises
        ------
        InputError
            If there are no ratings or no agents, or ``start`` is not a fitted model of this class.
        NeedError
            If the recommender needs ratings and ``prefs`` has only rankings.
        """
        if start is not None and (type(start) is not type(self) or not start.learnt):
            raise InputError(
                f"Training of {self.name} can only continue from a fitted {self.name} model: give one, or "
                "train from scratch."
            )
        observed = Observed.of(prefs)
        fitted = self._of(observed)
        quality = None if validation is None else Watched(fitted, Observed.of(validation), (metric,))
        with stage(f"training {self.name}") as step:
            return fitted.with_learnt(
                **fitted._learn(observed, quality, start, partial(_report, step, metric, progress))
            )

    def _of(self, observed: Observed) -> Self:
        """Return a copy that stores the agents, the items and what each agent has rated."""
        by_agent = observed.by_agent
        return self.with_learnt(
            agent_labels=tuple(observed.agents.labels),
            item_labels=tuple(observed.items.labels),
            seen_ptr=by_agent.ptr,
            seen_item=by_agent.other,
        )

    @abstractmethod
    def _learn(
        self, observed: Observed, quality: Watched | None, start: Any, progress: Progress | None
    ) -> dict[str, Any]:
        """Return the learnt attributes, other than labels, by name."""

    # ---- what it says ----
    @abstractmethod
    def _scores(self, agents: Int64s) -> Floats:
        """Return the score of every item for these agents, agent x item."""

    @abstractmethod
    def _pair_scores(self, agent: Int32s, item: Int32s) -> Floats:
        """Return the score of every (agent, item) pair; code -1 means unknown."""

    @cached_property
    def agents(self) -> Vocabulary:
        """Agents of the model."""
        return Vocabulary(self._known("agent_labels"))

    @cached_property
    def items(self) -> Vocabulary:
        """Items of the model."""
        return Vocabulary(self._known("item_labels"))

    def predict(self, agent: object, item: object) -> Floats:
        """Predict scores of (agent, item) pairs.

        Parameters
        ----------
        agent : str or array-like of str
            Agent of each pair.
        item : str or array-like of str
            Item of each pair.

        Returns
        -------
        ndarray of float64
            One score per pair; unknown agents and items are treated as average.
        """
        columns = [[column] if isinstance(column, str) else column for column in (agent, item)]
        codes = [_codes(*pair) for pair in zip((self.agents, self.items), columns, strict=True)]
        if len(codes[0]) != len(codes[1]):
            raise InputError(
                f"There are {len(codes[0])} agents for {len(codes[1])} items: give one agent and one item per row."
            )
        return self._pair_scores(*codes)

    def recommend(
        self, agent: object = None, n: int = 10, *, exclude_seen: bool = True, items: Iterable[object] | None = None
    ) -> Ranking:
        """Recommend the items with the highest scores.

        Parameters
        ----------
        agent : str or iterable of str, optional
            Agent or agents; all agents if not given.
        n : int, default 10
            Maximum number of items per agent.
        exclude_seen : bool, default True
            Whether to exclude items that the agent has rated.
        items : iterable of str, optional
            Candidate items; all items if not given.

        Returns
        -------
        Ranking
            The items with their scores. With several agents, ``ranking["ann"]`` is the list of one.

        Raises
        ------
        UnknownNameError
            If the model does not know an agent or item.

        Examples
        --------
        >>> import concordant as cc
        >>> from concordant.recommend import Popular
        >>> prefs = cc.Preferences.from_ratings(["ann", "ann", "bob", "bob"], ["x", "y", "y", "z"], [5, 3, 4, 1])
        >>> Popular().fit(prefs).recommend("ann").items
        ['z']
        """
        if n < 1:
            raise InputError(arg("n", shown=str(n)) + " is out of range: give a whole number of at least 1.")
        single = isinstance(agent, str) or (agent is not None and not isinstance(agent, Iterable))
        names = [agent] if single else None if agent is None else list(dict.fromkeys(agent))  # type: ignore[call-overload]
        if names is None:
            codes = np.arange(len(self.agents))
        elif not names:
            raise InputError("The list of agents is empty: give one agent, several, or None for all.")
        else:
            codes = np.array([self.agents.code(label, "agent") for label in names], np.int64)
        single = single or (agent is None and len(self.agents) == 1)
        allowed = None if items is None else np.array([self.items.code(label, "item") for label in items], np.int64)
        parts = list(self._lists(codes, n, exclude_seen, allowed))
        ptr = np.concatenate([[0], np.cumsum(np.concatenate([sizes for sizes, _, _ in parts]))]).astype(np.int64)
        return Ranking(
            vocabulary=self.items,
            slot_ptr=ptr,
            slot_item=np.concatenate([item for _, item, _ in parts]).astype(np.int32),
            score=np.concatenate([score for _, _, score in parts]),
            instances=None if single else Vocabulary(self.agents.take(codes)),
            method=self.name,
            params=values_of(self),
        )

    def _lists(
        self, agents: Int64s, n: int, exclude_seen: bool, allowed: Int64s | None
    ) -> Iterator[tuple[Int64s, Int64s, Floats]]:
        """Yield, for chunks of agents, the length of every list, its items, best first, and their scores."""
        width = len(self.items)
        seen_ptr, seen_item = self._known("seen_ptr"), self._known("seen_item")
        at_once = max(1, AT_ONCE // max(width, 1))
        for begin, end in pairwise([*range(0, len(agents), at_once), len(agents)]) if len(agents) else ():
            chunk = agents[begin:end]
            score = self._scores(chunk)
            if exclude_seen:
                sizes = seen_ptr[chunk + 1] - seen_ptr[chunk]
                first = np.concatenate([[0], np.cumsum(sizes)])
                entry = np.repeat(seen_ptr[chunk] - first[:-1], sizes) + np.arange(first[-1])
                score[np.repeat(np.arange(len(chunk)), sizes), seen_item[entry]] = -np.inf
            if allowed is not None:
                is_excluded = np.ones(width, bool)
                is_excluded[allowed] = False
                score[:, is_excluded] = -np.inf
            item = _best(score, min(n, width))
            best_score = np.take_along_axis(score, item, axis=1)
            kept = np.isfinite(best_score)
            yield kept.sum(axis=1), item[kept], best_score[kept]

    def score(self, prefs: Preferences, metric: str = "ndcg@10") -> float:
        """Evaluate the ranking of held-out ratings.

        Parameters
        ----------
        prefs : Preferences
            Held-out ratings or rankings.
        metric : str, default 'ndcg@10'
            A metric of ``concordant.metrics``.

        Returns
        -------
        float
            Mean of the metric over agents.
        """
        return float(metrics.mean(self.by_agent(prefs, [metric])[metric]))

    def by_agent(self, prefs: Preferences, wanted: Sequence[str]) -> dict[str, Floats]:
        """Evaluate the ranking of held-out ratings, agent by agent.

        Ratings are used as relevance grades. Without ratings, the items in the first tier of a ballot are relevant. If
        all items of all ballots are relevant, as with clicks, they are ranked among all items that the agent had not
        chosen before. Metrics are averaged over all orders of items with equal scores.

        Parameters
        ----------
        prefs : Preferences
            Held-out ratings or rankings.
        wanted : sequence of str
            Metrics of ``concordant.metrics``.

        Returns
        -------
        dict of str to ndarray
            Values of each metric, in the order of ``prefs.agents``; NaN for agents without ballots.
        """
        observed = Observed.of(prefs)
        watched = [Watched(self, observed, tuple(wanted), part) for part in parts_of(observed, len(self.items))]
        parts = [part.values(self._pair_scores(part.agent, part.item)) for part in watched]
        return {name: np.fmax.reduce([values[name] for values in parts]) for name in parts[0]}

    def similar(self, item: object, n: int = 10) -> Ranking:
        """Return the items most similar to one item, by the cosine between learnt factors.

        Parameters
        ----------
        item : str
            The item.
        n : int, default 10
            Maximum number of items.

        Returns
        -------
        Ranking
            Similar items with their cosines.

        Raises
        ------
        NeedError
            If the recommender learns no item factors.
        """
        raise NeedError(
            f"{self.name} does not learn item factors, so it cannot compare items: use pmf or another factorisation."
        )

    def fold_in(self, ratings: Mapping[Any, float] | Preferences) -> Self:
        """Adapt the model to new agents from a few ratings, with the items fixed (cold start).

        Parameters
        ----------
        ratings : mapping of str to float, or Preferences
            Ratings by one new agent, such as ``{"Heat": 5}``, or ballots of several. Unknown items are ignored.

        Returns
        -------
        Recommender
            A model for the new agents; a single agent from a mapping is called "newcomer".

        Raises
        ------
        InputError
            If there are no ratings, or the model knows none of the items.
        """
        if isinstance(ratings, Preferences):
            prefs = ratings
        else:
            if not ratings:
                raise InputError("A new agent without ratings cannot be folded in: recommend popular items instead.")
            prefs = Preferences.from_ratings([NEWCOMER] * len(ratings), list(ratings), list(ratings.values()))
        observed = Observed.of(prefs)
        item = self.items.codes(prefs.items.labels)[observed.item]
        if (item < 0).all():
            raise InputError(
                "The model knows none of these items: use the item names of the ratings that it was fitted to."
            )
        matched = observed.only(item >= 0, self.items, item)
        return self._of(matched).with_learnt(**self._fold(matched))

    @abstractmethod
    def _fold(self, observed: Observed) -> dict[str, Any]:
        """Return the learnt attributes of new agents, with the items fixed."""

    def _known(self, name: str) -> Any:
        """Return a learnt attribute, or raise NeedError if the model is not fitted."""
        if name not in vars(self):
            raise NeedError(
                f"This {self.name} is not fitted: " + action("refit", "call fit(prefs), or load a model") + "."
            )
        return vars(self)[name]


class Watched:
    """Held-out ratings, or clicks among unseen items, on which the ranking of a model is evaluated."""

    def __init__(
        self, model: Recommender, observed: Observed, wanted: Sequence[str], agents: Int64s | None = None
    ) -> None:
        """Use ratings as labels or, without ratings, label the items in the first tier of a ballot 1.

        Clicks are ranked among the items that their agents have not seen in training: of these ``agents``, or else of
        as many as a validation after every sweep can afford.
        """
        self.n, self.wanted = len(observed.agents), list(wanted)
        if is_implicit(observed):
            agents = parts_of(observed, len(model.items), is_sample=True)[0] if agents is None else agents
            seen = model._known("seen_ptr"), model._known("seen_item")
            self.agent, self.item, self.group, self.label = among_unseen(
                model.agents, model.items, seen, observed, agents
            )
            return
        self.agent, self.item = observed.known_to(model.agents, model.items)
        self.group = observed.agent
        label = observed.value
        if label is None:
            first = observed.tier[observed.ptr[:-1][np.diff(observed.ptr) > 0]]
            label = (observed.tier == first[np.unique(observed.ballot, return_inverse=True)[1]]).astype(np.float64)
        self.label = label - min(0.0, float(label.min(initial=0.0)))  # labels start at 0

    def values(self, score: Floats) -> dict[str, Floats]:
        """Return the metrics of every agent, given the scores of the entries."""
        by_metric = metrics.evaluate_arrays(score, self.label, self.group, self.wanted, ties="average")
        present = np.flatnonzero(np.bincount(self.group, minlength=self.n))
        out = {}
        for name, values in by_metric.items():
            out[name] = np.full(self.n, np.nan)
            out[name][present] = values  # entries stand by agent: groups come in the order of their codes
        return out

    def quality(self, score: Floats) -> float:
        """Return the mean of the first metric over agents."""
        by_metric = metrics.evaluate_arrays(score, self.label, self.group, self.wanted[:1], ties="average")
        return float(metrics.mean(by_metric[self.wanted[0]]))


def _best(score: Floats, n: int) -> Int64s:
    """Return the columns of the n largest numbers of every row, largest first, with ties in column order."""
    width = score.shape[1]
    if n < width:
        last = np.partition(score, width - n, axis=1)[:, [width - n]]
        above, equal = score > last, score == last
        kept = above | (equal & (equal.cumsum(axis=1) <= n - above.sum(axis=1, keepdims=True)))
        place = np.nonzero(kept)[1].reshape(-1, n)
    else:
        place = np.broadcast_to(np.arange(width), score.shape)
    order = np.argsort(-np.take_along_axis(score, place, axis=1), axis=1, kind="stable")
    return np.take_along_axis(place, order, axis=1)


def _codes(vocabulary: Vocabulary, column: object) -> Int32s:
    """Return the codes of a column of labels in a vocabulary, -1 if unknown."""
    codes, labels = encode(column)
    return vocabulary.codes(labels)[codes]


def cosines(rows: AnyArray, chosen: int) -> Floats:
    """Return the cosine between the row ``chosen`` and every row; 0 if one of them is zero."""
    length = np.sqrt((rows * rows).sum(axis=1))
    product = rows @ rows[chosen]
    scale = length * length[chosen]
    return np.asarray(np.divide(product, scale, out=np.zeros(len(rows)), where=scale > 0), np.float64)


def _report(step: Stage, metric: str, progress: Progress | None, sweep: Sweep) -> None:
    """Report a finished sweep as a step of the training, and to the function that ``fit`` was given."""
    quality = "" if sweep.quality is None else f", {metric} {sweep.quality:.4f}"
    step.total = sweep.of
    step(f"sweep {sweep.number}, objective {sweep.objective:,.1f}{quality}", sweep.number)
    if progress is not None:
        progress(sweep)
