"""Report sections on a recommender: items for a user and for a new user, similar items, and its evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from concordant.analysis.recommending import HELD_OUT, TrainedRecommender, are_clicks
from concordant.ballots.vocabulary import shorten
from concordant.errors import NeedError
from concordant.narrative.verdict import Chip, Verdict
from concordant.preferences import Preferences
from concordant.ranking import Ranking
from concordant.recommend import Observed
from concordant.reporting.about_comparison import (
    contrast_of,
    contrast_sentence,
    dots_of,
    metrics_table,
    span_of,
)
from concordant.reporting.metric_texts import metric_name
from concordant.reporting.sections import Part, ReportTable, Scale, Section, Text, Track
from concordant.support.text import capital
from concordant.types import Floats

TOP = 10  # items of a list
ENOUGH = 5  # items that the default user has not rated
BETTER = "Better than the same list for everyone"
NO_BETTER = "Not shown to be better than the same list for everyone"
TITLES = {
    "bpr": "Bayesian personalised ranking",
    "cofi-rank": "CofiRank",
    "consensus-recommender": "Consensus of all users",
    "ordered-partition-mf": "Ordered-partition matrix factorisation",
    "plackett-luce-mf": "Plackett-Luce matrix factorisation",
    "pmf": "Probabilistic matrix factorisation",
    "popular": "Popular items",
}


@dataclass(frozen=True, eq=False)
class Recommendations:
    """A trained recommender with the ratings (or clicks) that it was trained on."""

    prefs: Preferences
    trained: TrainedRecommender
    note: str = ""
    """Why the model was not evaluated, if it was not."""

    @property
    def title(self) -> str:
        """The usual name of the recommender."""
        return title_of(self.trained.model.name)

    @property
    def are_clicks(self) -> bool:
        """Whether users chose items without rating them."""
        return are_clicks(self.prefs)

    @property
    def noun(self) -> tuple[str, str]:
        """What the data consist of."""
        return ("click", "clicks") if self.are_clicks else ("rating", "ratings")

    @cached_property
    def observed(self) -> Observed:
        """The ratings by user and by item."""
        return Observed.of(self.prefs)

    @cached_property
    def count(self) -> tuple[Any, Any]:
        """The number of ratings of each user, and of each item."""
        observed = self.observed
        by_user = np.bincount(observed.agent, minlength=len(observed.agents))
        return by_user, np.bincount(observed.item, minlength=len(observed.items))

    @cached_property
    def default_user(self) -> str:
        """The user with the most ratings, of those with enough items left to recommend."""
        by_user = self.count[0]
        left = len(self.prefs.items) - by_user
        has_enough = left >= min(ENOUGH, left.max())
        return self.observed.agents[int(np.argmax(np.where(has_enough, by_user, -1)))]

    def users(self, limit: int) -> list[str]:
        """Return the users with the most ratings."""
        return self.observed.agents.take(np.argsort(-self.count[0], kind="stable")[:limit])

    def items(self, limit: int) -> list[str]:
        """Return the items with the most ratings."""
        return self.observed.items.take(np.argsort(-self.count[1], kind="stable")[:limit])

    @property
    def score(self) -> str:
        """What the scores of the model are."""
        model: Any = self.trained.model
        is_rating = model.name == "pmf" or (model.name == "ordered-partition-mf" and model.beta < 1)
        return "predicted rating" if is_rating and not self.are_clicks else "score"

    def rated_by(self, user: str) -> list[tuple[str, float | None]]:
        """Return the items of a user with their ratings, best first."""
        observed = self.observed
        entries = np.flatnonzero(observed.agent == observed.agents.code(user, "agent"))
        values = [None] * len(entries) if observed.value is None else observed.value[entries].tolist()
        rated = zip(observed.items.take(observed.item[entries]), values, strict=True)
        return sorted(rated, key=lambda pair: (-(pair[1] or 0.0), pair[0]))

    @cached_property
    def scale(self) -> tuple[float, float] | None:
        """The lowest and the highest rating; None without ratings."""
        value = self.observed.value
        return None if value is None else (float(value.min()), float(value.max()))


def title_of(name: str) -> str:
    """Return the usual name of a recommender."""
    return TITLES.get(name, name)


# ---- lists ----
def user_section(of: Recommendations, user: str) -> Section:
    """Show the items recommended for a user, and the user's own ratings."""
    ranking = of.trained.model.recommend(user, TOP)
    rated = of.rated_by(user)
    n = f"{len(rated):,} {of.noun[len(rated) != 1]}"
    parts: list[Part] = list(recommended(of, ranking, f"Recommended for {shorten(user, 40)}"))
    if not len(ranking.items):
        parts.append(Text(f"Nothing is left to recommend: the user has {n}, one for every item."))
    parts.append(_rated_table(of, user, rated, n))
    return Section("recommend", "Recommendations", tuple(parts))


def _rated_table(of: Recommendations, user: str, rated: list[tuple[str, float | None]], n: str) -> ReportTable:
    """Return the items that a user has rated, with what the model predicts for them."""
    predicted = of.trained.model.predict([user] * len(rated), [item for item, _ in rated])
    header: tuple[str, ...] = ("Item", capital(of.score))
    rows: list[tuple[str, ...]] = [(shorten(item), f"{p:.2f}") for (item, _), p in zip(rated, predicted, strict=True)]
    if not of.are_clicks and of.scale is not None:
        header = ("Item", "Rating", capital(of.score))
        rows = [(row[0], f"{value:g}", row[1]) for row, (_, value) in zip(rows, rated, strict=True)]
    right = frozenset(range(1, len(header)))
    return ReportTable(f"{n} by {shorten(user, 40)}", header, tuple(rows), right, frozenset([0]))


def recommended(of: Recommendations, ranking: Ranking, title: str) -> tuple[Part, ...]:
    """Return recommended items with their scores and what all users say about them."""
    if not len(ranking.items):
        return ()
    scores: Floats = np.asarray(ranking.scores)
    low, high = float(scores.min()), float(scores.max())
    if of.score != "score" and of.scale is not None:
        low, high = min(low, of.scale[0]), max(high, of.scale[1])
    pad = 0.04 * (high - low) or 1.0
    plot = f"{capital(of.score)} (plot)"
    count = of.count[1][of.observed.items.codes(list(ranking.items))]
    rows = tuple(
        (str(k + 1), shorten(item), f"{score:.2f}", Track(float(score)), f"{n:,}")
        for k, (item, score, n) in enumerate(zip(ranking.items, scores.tolist(), count.tolist(), strict=True))
    )
    header = ("Rank", "Item", capital(of.score), plot, f"{capital(of.noun[1])} by all users")
    table = ReportTable(
        title, header, rows, frozenset([2, 4]), frozenset([1]), Scale(low - pad, high + pad, plot),
        minor=frozenset([4]),
    )  # fmt: skip
    is_beyond = of.score != "score" and of.scale is not None and (high > of.scale[1] or low < of.scale[0])
    beyond = "Predicted ratings are not limited to the scale of the ratings."
    return (table, Text(beyond)) if is_beyond else (table,)


def similar_section(of: Recommendations, item: str) -> Section | None:
    """Show the items most similar to one; None if the model does not compare items."""
    try:
        ranking = of.trained.model.similar(item, TOP)
    except NeedError:
        return None
    rows = tuple(
        (str(k + 1), shorten(name), f"{round(cosine, 2) + 0.0:.2f}", Track(float(cosine)))
        for k, (name, cosine) in enumerate(zip(ranking.items, ranking.scores, strict=True))
    )
    scale = Scale(-1.0, 1.0, "Similarity (plot)", 0.0)
    table = ReportTable(
        f"Most similar to {shorten(item, 40)}", ("Rank", "Item", "Similarity", "Similarity (plot)"), rows,
        frozenset([2]), frozenset([1]), scale,
    )  # fmt: skip
    note = "Similar items are liked by the same users: cosine between the latent factors of the items, at most 1."
    return Section("similar", "Similar items", (table,), note)


# ---- evaluation ----
def quality_section(of: Recommendations) -> Section:
    """Show the metrics on held-out ratings next to recommendations that are the same for everyone."""
    values, noun = of.trained.values, of.noun[1]
    if not values:
        return Section("quality", "Evaluation", (Text(of.note, "lead"),))
    metric = next(iter(next(iter(values.values()))))
    n = int((~np.isnan(values[of.trained.model.name][metric])).sum())
    parts: list[Part] = [Text(_said(of, metric), "lead")]
    title = f"Mean over {n:,} users with held-out {noun}"
    parts += metrics_table(values, TITLES, title)
    how = (
        f"{HELD_OUT:.0%} of the {noun} of each user were held out at random, at least two; users with fewer than four "
        f"are left out. The recommenders were trained on the other {noun}. "
    )
    how += (
        "Held-out items are ranked among all items that the user had not chosen before."
        if of.are_clicks
        else "Each user's held-out items are ranked by the recommender and compared with the ratings."
    )
    best = of.trained.best
    if best is not None:
        how += (
            f" Training stopped after sweep {best.number}, where {metric_name(metric)} on the held-out "
            f"{noun} was highest, so the value of the model is slightly optimistic."
        )
    return Section("quality", "Evaluation", (*parts, Text(how)))


def _said(of: Recommendations, metric: str) -> str:
    contrast = contrast_of(of.trained.values, metric)
    if contrast is None:
        mean = of.trained.means[of.trained.model.name][metric]
        return f"On held-out {of.noun[1]}, {of.title} has {metric_name(metric)} {mean:.3f}."
    name = {"popular": "recommending popular items", "consensus-recommender": "the consensus of all users"}
    baseline = name.get(contrast.baseline, contrast.baseline)
    return contrast_sentence(contrast, of.title, baseline, metric, f"On held-out {of.noun[1]}")


def recommender_verdict(of: Recommendations) -> Verdict:
    """Return the verdict: whether personal recommendations are better than the same list for everyone."""
    values, model = of.trained.values, of.trained.model
    numbers = (
        (f"{len(model.agents):,}", "users"),
        (f"{len(model.items):,}", "items"),
        (f"{len(of.observed.item):,}", of.noun[1]),
    )
    over = f"Evaluation on held-out {of.noun[1]}"
    verdict = Verdict(over, "Not evaluated", False, of.note, (), numbers, of.title, model.name)
    if not values:
        return verdict
    metric = next(iter(next(iter(values.values()))))
    contrast = contrast_of(values, metric)
    figure = dots_of(values, metric, {**TITLES, model.name: "this model", "consensus-recommender": "Consensus"})
    verdict = replace(verdict, headline=BETTER, sentence=_said(of, metric), figure=figure)
    if contrast is not None and contrast.is_better and contrast.is_significant:
        return verdict
    baseline = "popular" if contrast is None else contrast.baseline
    chip = Chip(f"{title_of(baseline)} may do as well", "warn", "quality")
    return replace(verdict, headline=NO_BETTER, chips=(chip,))


def data_rows(of: Recommendations) -> list[tuple[str, str]]:
    """Return facts on the ratings."""
    by_user, by_item = of.count
    n = len(of.observed.item)
    filled = n / max(len(by_user) * len(by_item), 1)
    rows: Mapping[str, str] = {
        of.noun[1]: f"{n:,}",
        "users": f"{len(by_user):,}, with {span_of(by_user)} {of.noun[1]} each",
        "items": f"{len(by_item):,}, with {span_of(by_item)} {of.noun[1]} each",
        "known": f"{filled:.1%} of all pairs of a user and an item",
    }
    scale = () if of.scale is None else (("ratings range", f"{of.scale[0]:g} to {of.scale[1]:g}"),)
    return [*rows.items(), *scale]
