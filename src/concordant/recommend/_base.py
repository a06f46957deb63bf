"""What all recommenders share: who and what is known, lists for agents, scores of held-out ratings, newcomers.

A recommender is a frozen set of hyper-parameters; ``fit(prefs)`` returns a copy that knows agents and items. From then
on ``recommend`` lists what an agent would like best, ``predict`` scores single items, ``score`` says how well held-out
ratings are ranked, ``similar`` lists items like one, and ``fold_in`` gives the same model for other agents, of whom a
few ratings are known, without fitting the items again.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
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
from concordant.settings import Settings
from concordant.support.state import Kind, Pointer, labels, whole
from concordant.types import AnyArray, Floats, Int32s, Int64s

Progress = Callable[[Sweep], None]
AT_ONCE = 1 << 22  # scores held at a time while lists are made
NEWCOMER = "newcomer"


@dataclass(frozen=True, kw_only=True)
class Recommender(Settings):
    """Base class of everything that recommends items to agents."""

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
        """Return a copy fitted to what agents said of items.

        With ``validation``, further ratings by the same agents, fitting ends when ``metric`` of their ranking no longer
        rises, and the best state is kept. ``start`` is a fitted model of the same class to go on from; agents and items
        may have been added since. ``progress`` is called with a ``Sweep`` after each.
        """
        if start is not None and (type(start) is not type(self) or not start.learnt):
            raise InputError(f"A fit of {self.name} goes on from a fitted {self.name} only: give another start.")
        observed = Observed.of(prefs)
        fitted = self._of(observed)
        quality = None if validation is None else Watched(fitted, Observed.of(validation), (metric,))
        return fitted.with_learnt(**fitted._learn(observed, quality, start, progress))

    def _of(self, observed: Observed) -> Self:
        """Return a copy that knows agents, items and what each agent has rated."""
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
        """Return what ``fit`` learns in addition to labels, by name."""

    # ---- what it says ----
    @abstractmethod
    def _scores(self, agents: Int64s) -> Floats:
        """Return the score of every item for these agents, agent x item."""

    @abstractmethod
    def _pair_scores(self, agent: Int32s, item: Int32s) -> Floats:
        """Return the score of every (agent, item); -1 stands for an unknown one."""

    @cached_property
    def agents(self) -> Vocabulary:
        """The agents it knows."""
        return Vocabulary(self._known("agent_labels"))

    @cached_property
    def items(self) -> Vocabulary:
        """The items it can recommend."""
        return Vocabulary(self._known("item_labels"))

    def predict(self, agent: object, item: object) -> Floats:
        """Return the score of each row; an agent or item never seen counts as average."""
        columns = [[column] if isinstance(column, str) else column for column in (agent, item)]
        codes = [_codes(*pair) for pair in zip((self.agents, self.items), columns, strict=True)]
        if len(codes[0]) != len(codes[1]):
            raise InputError(f"There are {len(codes[0])} agents for {len(codes[1])} items: give one of each per row.")
        return self._pair_scores(*codes)

    def recommend(
        self, agent: object = None, n: int = 10, *, exclude_seen: bool = True, items: Iterable[object] | None = None
    ) -> Ranking:
        """Return the ``n`` items with the highest scores for an agent, or for each of several, or of all (None).

        Without ``exclude_seen`` what an agent has rated may come again; ``items`` are the only ones to choose from. For
        one agent the ranking has one instance; for several, one per agent: ``ranking["ann"]``.
        """
        if n < 1:
            raise InputError(arg("n", shown=str(n)) + " items cannot be recommended: give a number of at least 1.")
        single = isinstance(agent, str) or (agent is not None and not isinstance(agent, Iterable))
        names = [agent] if single else None if agent is None else list(dict.fromkeys(agent))  # type: ignore[call-overload]
        if names is None:
            codes = np.arange(len(self.agents))
        elif not names:
            raise InputError("Nobody is named to recommend to: give an agent, several, or None for all.")
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
        """Return how well the items of held-out ratings are ranked: the mean of a metric over agents."""
        return float(metrics.mean(self.by_agent(prefs, [metric])[metric]))

    def by_agent(self, prefs: Preferences, wanted: Sequence[str]) -> dict[str, Floats]:
        """Return metrics of the ranking of every agent's items in held-out ratings, in the order of ``prefs.agents``.

        The ratings are the labels; of preferences without any, the items an agent puts first are relevant. Equal scores
        count as the mean over their orders; NaN for agents who say nothing.
        """
        watched = Watched(self, Observed.of(prefs), tuple(wanted))
        return watched.values(self._pair_scores(watched.agent, watched.item))

    def similar(self, item: object, n: int = 10) -> Ranking:
        """Return the items most like one, by the cosine between what was learnt of both."""
        raise NeedError(
            f"{self.name} learns nothing that says which items are alike: use pmf, or another factorisation."
        )

    def fold_in(self, ratings: Mapping[Any, float] | Preferences) -> Self:
        """Return the same model for other agents, found from a few ratings each, the items as they are.

        ``ratings`` is what one newcomer said of items ({"Heat": 5, …}), or preferences by several. Items the model does
        not know say nothing.
        """
        if isinstance(ratings, Preferences):
            prefs = ratings
        else:
            if not ratings:
                raise InputError("A newcomer without ratings cannot be folded in: use recommend of popular.")
            prefs = Preferences.from_ratings([NEWCOMER] * len(ratings), list(ratings), list(ratings.values()))
        observed = Observed.of(prefs)
        item = self.items.codes(prefs.items.labels)[observed.item]
        if (item < 0).all():
            raise InputError("The model knows none of these items: name items as the ratings it was fitted to did.")
        matched = observed.only(item >= 0, self.items, item)
        return self._of(matched).with_learnt(**self._fold(matched))

    @abstractmethod
    def _fold(self, observed: Observed) -> dict[str, Any]:
        """Return what is learnt of new agents, with the items as they are."""

    def _known(self, name: str) -> Any:
        """Return something learnt by its name, or raise if the model is not fitted."""
        if name not in vars(self):
            raise NeedError(
                f"This {self.name} is not fitted: " + action("refit", "call fit(prefs), or load a model") + "."
            )
        return vars(self)[name]


class Watched:
    """Held-out ratings of agents, to evaluate how well a model ranks them."""

    def __init__(self, model: Recommender, observed: Observed, wanted: Sequence[str]) -> None:
        """Take ratings as labels, or without ratings relevance 1 for the items of a ballot's first tier."""
        self.agent, self.item = observed.known_to(model.agents, model.items)
        self.n, self.group, self.wanted = len(observed.agents), observed.agent, list(wanted)
        label = observed.value
        if label is None:
            first = observed.tier[observed.ptr[:-1][np.diff(observed.ptr) > 0]]
            label = (observed.tier == first[np.unique(observed.ballot, return_inverse=True)[1]]).astype(np.float64)
        self.label: Floats = label - min(0.0, float(label.min(initial=0.0)))  # labels start at 0

    def values(self, score: Floats) -> dict[str, Floats]:
        """Return the metrics of every agent for scores of the entries."""
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
    """Return the columns of the n largest numbers of every row, the largest first, equal ones in their order."""
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
