"""Train a recommender: hold out some ratings of each user, compare with popularity, then train on all ratings.

The held-out ratings stop training early and give the metrics that the command line and the web app show. Recommenders
that recommend the same list to everyone are the baselines: a model that does not beat them has learnt nothing about
individual users.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from concordant import metrics as measures
from concordant.preferences import Preferences
from concordant.recommend import Recommender, Sweep, split
from concordant.registry import RECOMMENDERS
from concordant.support import progress
from concordant.types import Floats

DEFAULT, FOR_CLICKS = "ordered-partition-mf", "bpr"
BASELINES = ("popular", "consensus-recommender")
HELD_OUT = 0.1  # share of each user's ratings
METRICS = ("ndcg@10", "err")


def are_clicks(prefs: Preferences) -> bool:
    """Return whether preferences only say what each user chose."""
    return prefs.form == "approvals" and prefs.value is None


def default_recommender(prefs: Preferences) -> str:
    """Return the recommender for these preferences."""
    return FOR_CLICKS if are_clicks(prefs) else DEFAULT


@dataclass(frozen=True, eq=False)
class TrainedRecommender:
    """A recommender that was trained on all ratings, and what was measured on held-out ones before."""

    model: Recommender
    values: Mapping[str, Mapping[str, Floats]]
    """Metrics on held-out ratings, one value per user, by recommender: the trained one first, then the baselines."""
    sweeps: tuple[Sweep, ...] = ()
    """What each sweep of the training with held-out ratings achieved."""
    best: Sweep | None = None
    """The sweep with the best metric, after which the training on all ratings stops."""

    @property
    def means(self) -> dict[str, dict[str, float]]:
        """Mean of each metric over users, by recommender."""
        return {name: means_of(values) for name, values in self.values.items()}

    @property
    def params(self) -> dict[str, Any]:
        """The hyper-parameters of the model that differ from the defaults."""
        default = RECOMMENDERS.make(self.model.name).to_dict()["params"]
        own: dict[str, Any] = self.model.to_dict()["params"]
        return {name: value for name, value in own.items() if value != default[name]}

    def about(self) -> dict[str, Any]:
        """Return what a model file says about the training."""
        model = self.model
        facts = {"recommender": model.name, "agents": len(model.agents), "items": len(model.items)}
        wanted = next(iter(self.means.values()), {})
        return facts | {"metrics": self.means, "conventions": measures.conventions(wanted)}


def means_of(values: Mapping[str, Floats]) -> dict[str, float]:
    """Return the mean of each metric over users."""
    return {name: float(measures.mean(by_user)) for name, by_user in values.items()}


def train_recommender(
    prefs: Preferences,
    method: str | None = None,
    params: Mapping[str, Any] | None = None,
    *,
    held_out: float = HELD_OUT,
    metrics: Sequence[str] = METRICS,
    start: Any = None,
) -> TrainedRecommender:
    """Train a recommender, by default the one for these preferences.

    ``held_out`` is the share of each user's ratings on which it is evaluated first, 0 for none; ``start`` is a fitted
    model to continue from.
    """
    method, params = method or default_recommender(prefs), dict(params or {})
    recommender: Recommender = RECOMMENDERS.make(method, **params)
    values: dict[str, Mapping[str, Floats]] = {}
    sweeps: list[Sweep] = []
    best: Sweep | None = None

    with progress.stage(f"Training {recommender.name}", total=2 if held_out else 1) as step:
        if held_out:
            rest, part = split(prefs, held_out, seed=getattr(recommender, "seed", 0))
            step("without the held-out part")
            model = recommender.fit(rest, validation=part, metric=metrics[0], start=start, progress=sweeps.append)
            best = max(sweeps, key=lambda sweep: sweep.quality or 0.0, default=None)
            baselines = [RECOMMENDERS.make(name).fit(rest) for name in BASELINES if name != recommender.name]
            values = {fitted.name: fitted.by_agent(part, metrics) for fitted in (model, *baselines)}
        limit = {name: best.number for name in ("sweeps", "passes") if best and hasattr(recommender, name)}
        step("on all data")
        final: Recommender = RECOMMENDERS.make(method, **{**params, **limit})
        fitted = final.fit(prefs, start=start)
    return TrainedRecommender(fitted, values, tuple(sweeps), best)
