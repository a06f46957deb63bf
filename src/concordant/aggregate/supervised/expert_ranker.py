"""Expert ranker: learning to rank on features of each expert's preferences, including unlisted documents.

Every document is described by features of each expert's preferences (``features``), and a ranker (``learner``) is
trained on the labels of the training queries. The result is not a consensus: a reliable expert can outweigh the
majority, and an unreliable one is ignored or reversed.

    features="svd"      per expert the leading singular vectors of its pairwise preferences, and whether it ranked the
                        document at all (``concordant.features.ExpertFeatures``)
    features="fusion"   places, fused scores, agreement with the others (``FusionFeatures``), for boosted trees
    features="both"

``learner`` is any ranker of concordant by name: ``lambdarank`` (the default: linear, one step per query on the gradient
of pairs weighted by the change of ``target``, the pass with the best ``metric`` on the validation queries kept),
``rank-svm``, ``light-gbm``, ``xgboost``, …; ``settings`` ("trees=500,leaves=8") are its parameters. With a linear
learner the model has a few weights per expert: ``experts`` lists them, ``plot_experts()`` draws them.

``scope="combined"`` uses only the summed preferences, so it can learn nothing but the consensus; ``"hybrid"`` pools
experts with few preferences, for crowds. ``lr-i``, ``lr-r`` and ``lr-logr`` are the models of the paper.

Cost: training is linear in passes x documents x experts for a linear learner (five folds of 1,700 queries take
seconds), ranking linear in the entries. Reference: M. Volkovs, H. Larochelle and R. Zemel, Learning to rank by
aggregating expert preferences, CIKM 2012.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from concordant import kernels, metrics, registry, views
from concordant.aggregate.common import snap_scores
from concordant.aggregate.supervised._base import Labelled, SupervisedMethod, Validation
from concordant.ballots.segments import sum_by
from concordant.errors import InputError, NeedError, ParameterError, action, arg
from concordant.features import experts, fusion
from concordant.features.base import PreferenceFeatures
from concordant.features.pairwise import MAX_ITERATIONS, TOLERANCE, level_of_lists
from concordant.kernels.bundles import LabelLists, PairLists
from concordant.labels import Labels
from concordant.method import Outcome
from concordant.params import param, params_of, values_of
from concordant.preferences import Preferences
from concordant.ranking import TIE_TOLERANCE, Notice, Ranking, snap
from concordant.support.state import ByLabel, floats, labels, optional, part
from concordant.types import AnyArray, Bools, Floats, Int64s

TIE = 1e-10  # scores this close, relative to the largest, are one score
SENTENCES = ("first", "last", "unranked")


@dataclass(frozen=True, kw_only=True)
class ExpertRanker(SupervisedMethod):
    """Learning to rank on features of each expert's preferences, trained on labelled queries."""

    usual_name = "Expert ranker"
    silence = "each expert has a learnt weight for documents that it does not list"
    aliases = {
        "lr-i": {"counts": "binary"},
        "lr-r": {"counts": "scaled-difference"},
        "lr-logr": {"counts": "log"},
    }
    learns = {
        **SupervisedMethod.learns,
        "experts": labels("experts"),
        "weights": optional(floats("table")),
        "ranker": optional(part("table")),
        "gain": optional(ByLabel()),
        "curve": optional(floats("curve")),
    }

    features: str = param(
        "svd",
        "document features: from the SVD of the pairwise matrices, from fusion methods, or both",
        choices=("svd", "fusion", "both"),
    )
    counts: str = experts.counts_param()
    components: int = experts.components_param()
    scope: str = experts.scope_param()
    min_preferences: int = experts.min_preferences_param()
    methods: str = fusion.methods_param()
    learner: str = param("lambdarank", "name of the learner")
    settings: str = param("", 'parameters of the learner, like "trees=500,leaves=8"')
    target: str = param("ndcg", "metric whose change weights the pairs (lambdarank)", choices=("ndcg", "err", "ap"))
    metric: str = param("ndcg@10", "metric monitored on the validation queries")
    passes: int = param(200, "number of passes over the training queries (lambdarank)", low=1)
    learning_rate: float = param(0.01, "learning rate (lambdarank)", low=0.0)

    # ---- learning ----
    def fit(self, prefs: Preferences, labels: Labels, *, validation: Validation = None, ranker: object = None) -> Self:
        """Return a copy that has learnt from labelled instances.

        ``validation`` is (prefs, labels) of other instances, or the share of these instances to hold out (0.2).
        ``ranker`` is an unfitted ranker that replaces ``learner`` and ``settings``.
        """
        trained: Any = self.ranker() if ranker is None else ranker
        train, valid = self._parts(prefs, labels, validation)
        assert train.prefs.agents is not None
        transformers = [transformer.fit(train.prefs) for transformer in self._transformers()]
        columns = _moving_columns(transformers, trained)
        X = _table(transformers, train.prefs, columns)
        _train(trained, X, train, None if valid is None else (_table(transformers, valid.prefs, columns), valid))
        learnt: dict[str, Any] = {"agents": tuple(train.prefs.agents.labels), "experts": transformers[0].agents_}
        weights = _linear_weights(trained, columns)
        learnt |= {"ranker": trained} if weights is None else {"weights": weights}
        if curve := getattr(trained, "history_", {}).get("valid"):
            learnt["curve"] = np.array(curve)
        fitted = self.with_learnt(**learnt)
        return (
            fitted if weights is not None else fitted.with_learnt(gain=fitted._gains(train if valid is None else valid))
        )

    def ranker(self) -> Any:
        """Return the unfitted ranker with the settings of this method."""
        cls = registry.LEARNERS.find(_learner_name(self.learner))
        declared = {parameter.name: parameter for parameter in params_of(cls)}
        settings: dict[str, Any] = {"seed": self.seed} if "seed" in declared else {}
        if "metric" in declared:
            settings["metric"] = self.metric
        if cls.__name__ == "LambdaRank":
            settings |= {"target": self.target, "solver": "sgd", "batch": 1, "alpha": 0.0}
            settings["standardise"] = False  # the paper learns from the factors as they are
            settings |= {"max_iter": self.passes, "patience": self.passes, "learning_rate": self.learning_rate}
        return cls(**settings | _parsed_settings(self.settings, declared))

    @property
    def takes_validation(self) -> bool:
        """Whether the learner uses validation instances to select its best state."""
        return "valid" in self.ranker().takes

    def _transformers(self) -> list[PreferenceFeatures]:
        """Return the transformers that compute features; they are fitted if this method is fitted."""
        transformers: list[PreferenceFeatures] = []
        if self.features != "fusion":
            transformers.append(experts.ExpertFeatures(self.counts, self.components, self.scope, self.min_preferences))
        if self.features != "svd":
            transformers.append(fusion.FusionFeatures(self.methods))
        if self.learnt:
            for transformer in transformers:
                transformer.agents_ = self.learnt["experts" if transformer is transformers[0] else "agents"]
        return transformers

    def _gains(self, labelled: Labelled) -> dict[str, float]:
        """Return, for each expert, the decrease of the metric on labelled instances when it is left out."""
        rows = np.flatnonzero(labelled.is_known)
        label, query = labelled.label[rows], labelled.query[rows]

        def quality(prefs: Preferences) -> float:
            values = metrics.evaluate_arrays(self.scores(prefs).score[rows], label, query, self.metric, ties="average")
            return metrics.mean(next(iter(values.values())))

        with_all = quality(labelled.prefs)
        agents = labelled.prefs.agents
        assert agents is not None
        assert labelled.prefs.agent is not None
        without = ((label, labelled.prefs.take(labelled.prefs.agent != k)) for k, label in enumerate(agents.labels))
        return {label: with_all - quality(prefs) for label, prefs in without}

    # ---- ranking ----
    def scores(self, prefs: Preferences) -> Outcome:
        """Return the learnt score of every slot and, as the agents' weights, the trust in each."""
        weights = self.learnt.get("weights")
        if weights is None:
            score = np.asarray(self.learnt["ranker"].predict(_table(self._transformers(), prefs)), np.float64)
        elif self.features == "svd":
            score = self._linear_scores(prefs, weights)
        else:
            score = _table(self._transformers(), prefs) @ weights
        trusted = self.trust
        assert prefs.agents is not None
        by_agent = {label: trusted[label] for label in prefs.agents.labels if label in trusted}
        return Outcome(snap_scores(prefs, score, TIE), agents=by_agent or None, warnings=self._notices(prefs))

    def _linear_scores(self, prefs: Preferences, weights: Floats) -> Floats:
        """Return features times weights without building the feature table.

        Every expert has a block of weights: p for the left singular vectors, p for the singular values, p for the right
        singular vectors, and one for "unranked".
        """
        (features,) = self._transformers()
        assert isinstance(features, experts.ExpertFeatures)
        factors, p = features.factors(prefs), self.components
        by_expert = weights.reshape(features.n_blocks, 3 * p + 1)
        expert = factors.group % features.n_blocks
        if_ranked = (factors.left * by_expert[expert, :p]).sum(axis=1) + (
            factors.right * by_expert[expert, 2 * p : -1]
        ).sum(axis=1)
        strength = factors.strength.reshape(prefs.n_instances, features.n_blocks, p)
        for_all = np.einsum("qkp,kp->q", strength, by_expert[:, p : 2 * p]) + by_expert[:, -1].sum()
        score = sum_by(factors.slot, if_ranked - by_expert[expert, -1], prefs.n_slots)
        return np.asarray(score + for_all[views.instance_of_slot(prefs)])

    def _fused(self, lists: LabelLists, weight: Floats) -> Ranking:
        """Rank the documents of lists, one per agent, with a fast path for the default model (svd, one component)."""
        if "weights" not in self.learnt or (self.features, self.scope, self.components) != ("svd", "individual", 1):
            return super()._fused(lists, weight)
        start = time.perf_counter()
        codes, labels, indptr, tier, _ = lists
        level = level_of_lists(indptr, tier, self.counts)
        pairs = PairLists(indptr, self._numbers[0], indptr, np.arange(len(codes)), level, weight)
        left, right, strength = kernels.pair_factors(pairs, self.counts == "binary", TOLERANCE, MAX_ITERATIONS)
        by_entry = np.repeat(self._numbers[1], np.diff(indptr), axis=0)
        if_ranked = left * by_entry[:, 0] + right * by_entry[:, 2] - by_entry[:, 3]
        score = sum_by(codes, if_ranked, len(labels))
        score += strength @ self._numbers[1][:, 1] + self._numbers[1][:, 3].sum()
        largest = TIE / TIE_TOLERANCE * max(float(score.max()), -float(score.min()))
        score = snap(score, np.zeros(len(score), np.int64), np.array([largest]))
        return Ranking.of_scores(labels, score, self.name, values_of(self), time.perf_counter() - start)

    @cached_property
    def _numbers(self) -> tuple[Int64s, Floats]:
        """The index pointer 0 .. n of n experts, and the weights of each (u, s, v, unranked)."""
        by_expert = np.asarray(self.learnt["weights"]).reshape(-1, 4)
        return np.arange(len(by_expert) + 1), by_expert

    def _notices(self, prefs: Preferences) -> tuple[Notice, ...]:
        return self.unknown_agents(prefs) if self.scope == "individual" else ()

    # ---- what was learnt ----
    def learnt_sizes(self) -> dict[str, int]:
        """Return the number of features."""
        return {"table": sum(transformer.n_columns for transformer in self._transformers())}

    def check_learnt(self) -> None:
        """Reject a model that has neither weights nor a ranker, or both."""
        if ("weights" in self.learnt) == ("ranker" in self.learnt):
            raise ValueError(f"{self.name} must have either weights or a ranker")

    @property
    def experts(self) -> dict[str, dict[str, float]]:
        """The effect of every expert in a linear model, as scores of the two documents of a list of two.

        ``first`` and ``last`` are the scores of its first and its last document, ``unranked`` that of a document it
        does not list. In longer lists the first and last places have the same total effect, spread over the adjacent
        places.
        """
        weights = self.learnt.get("weights")
        if weights is None or self.features != "svd":
            raise NeedError(
                f"{self.name} has no weights per expert: fit it with "
                + arg("features", "svd")
                + " and a linear learner such as lambdarank."
            )
        (features,) = self._transformers()
        assert isinstance(features, experts.ExpertFeatures)
        table = weights.reshape(features.n_blocks, -1)[:, [0, 2 * self.components, -1]]
        return {
            name: dict(zip(SENTENCES, row, strict=True))
            for name, row in zip(features.blocks, table.tolist(), strict=True)
        }

    @property
    def trust(self) -> dict[str, float]:
        """The trust in each expert.

        For a linear model on singular vectors it is the score difference between the two documents of a list of two;
        for other models, the decrease of the metric on the validation (or training) queries without the expert.
        """
        if "gain" in self.learnt:
            return dict(self.learnt["gain"])
        if "weights" in self.learnt and self.features == "svd":
            return {name: row["first"] - row["last"] for name, row in self.experts.items()}
        return {}

    def plot_experts(self, path: str | os.PathLike[str] | None = None, *, top: int = 40) -> Any:
        """Draw the trust in every expert and the effect of being unranked by it; saved to ``path`` if given."""
        from concordant.narrative.plots import plot_experts

        if not self.learnt:
            raise NeedError(f"{self.name} is not trained: " + action("fit", "call fit(prefs, labels)") + ".")
        rows = self.experts if "weights" in self.learnt and self.features == "svd" else None
        return plot_experts(self.trust, rows, path, top=top, title=self.name)


def _table(transformers: list[PreferenceFeatures], prefs: Preferences, columns: Bools | None = None) -> AnyArray:
    """Return the concatenated features of all transformers, reduced to ``columns`` if given."""
    tables = [transformer.transform(prefs) for transformer in transformers]
    table = tables[0] if len(tables) == 1 else np.concatenate(tables, axis=1)
    return table if columns is None or columns.all() else np.compress(columns, table, axis=1)


def _moving_columns(transformers: list[PreferenceFeatures], ranker: Any) -> Bools:
    """Return the features that a ranker uses: a linear LambdaRank cannot use those that are constant within a query.

    The gradients of a query's documents sum to 0, so weights of singular values would stay at 0.
    """
    names = [name for transformer in transformers for name in transformer.get_feature_names_out()]
    columns = np.ones(len(names), bool)
    first = transformers[0]
    if _is_linear(ranker) and type(ranker).__name__ == "LambdaRank" and isinstance(first, experts.ExpertFeatures):
        block, p = 3 * first.components + 1, first.components
        columns[: first.n_blocks * block].reshape(first.n_blocks, block)[:, p : 2 * p] = False
    return columns


def _train(ranker: Any, X: AnyArray, train: Labelled, valid: tuple[AnyArray, Labelled] | None) -> None:
    """Fit a ranker to the rows whose labels are known."""
    known = train.is_known
    options = {}
    if valid is not None:
        rows, labelled = valid
        valid_known = labelled.is_known
        options["valid"] = (rows[valid_known], labelled.label[valid_known], labelled.query[valid_known])
    is_all = known.all()
    ranker.fit(X if is_all else X[known], train.label[known], qid=train.query[known], **options)


def _is_linear(ranker: Any) -> bool:
    """Return whether a ranker scores by an inner product with its weights."""
    from concordant.learn import GradientRanker

    return isinstance(ranker, GradientRanker) and not ranker.hidden and ranker.kernel is None


def _linear_weights(ranker: Any, columns: Bools) -> Floats | None:
    """Return the weights of a linear ranker, 0 for features it does not use; None for any other ranker."""
    if not _is_linear(ranker) or np.shape(ranker.coef_) != (int(columns.sum()),):
        return None
    weights = np.zeros(len(columns))
    weights[columns] = ranker.coef_
    return weights


def _learner_name(name: str) -> str:
    """Return the registered name of a learner; the ending "ranker" may be omitted."""
    known = registry.LEARNERS.names()
    wanted = {registry.fold(name), registry.fold(name) + "ranker"}
    return next((learner for learner in known if registry.fold(learner) in wanted), name)


def _parsed_settings(text: str, declared: Mapping[str, Any]) -> dict[str, Any]:
    """Parse "name=value,…" as parameters of a learner."""
    settings: dict[str, Any] = {}
    for setting in filter(None, (piece.strip() for piece in text.split(","))):
        name, equals, value = (word.strip() for word in setting.partition("="))
        if not equals or name not in declared:
            raise ParameterError(
                arg("settings", text)
                + f" contains {setting!r}, which sets no parameter of the learner: write name=value, where "
                f"name is one of {', '.join(declared)}."
            )
        kind = declared[name].kind
        try:
            settings[name] = value if kind is str or value in declared[name].words else _READ[kind](value)
        except (KeyError, ValueError):
            raise InputError(
                arg("settings", text) + f": {name} must be of type {kind.__name__}, got {value!r}."
            ) from None
        declared[name].check(settings[name])
    return settings


_READ: Mapping[type, Any] = {int: int, float: float, bool: {"true": True, "false": False}.__getitem__}
