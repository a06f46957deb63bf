"""Expert ranker: learn from judged queries whom to trust, and what each expert's silence means.

Every document is described by what each expert says of it (``features``), and a ranker (``learner``) is trained on the
labels of the training queries. Fusion then is no consensus: an expert who knows better than the crowd is followed, one
who does not is ignored, or turned round.

    features="svd"      per expert the leading singular vectors of its pairwise preferences, and whether it ranked the
                        document at all (``concordant.features.ExpertFeatures``)
    features="fusion"   places, fused scores, agreement with the others (``FusionFeatures``), for boosted trees
    features="both"

``learner`` is any ranker of concordant by name: ``lambdarank`` (the default: linear, one step per query on the
gradient of pairs weighted by the change of ``target``, the pass with the best ``metric`` on the validation queries
kept), ``rank-svm``, ``light-gbm``, ``xgboost``, …; ``settings`` ("trees=500,leaves=8") are its parameters. With a
linear learner a model is a handful of weights per expert: ``experts`` shows them, ``plot_experts()`` draws them.

``scope="combined"`` looks at the summed preferences only, which can learn nothing but the consensus; ``"hybrid"`` pools
experts with little to say, for crowds. ``lr-i``, ``lr-r`` and ``lr-logr`` are the models of the paper.

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
from concordant.errors import InputError, NeedError, ParameterError, arg
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

    silence = "being left out by an expert has a learnt weight of its own"
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

    features: str = param("svd", "features of the documents", choices=("svd", "fusion", "both"))
    counts: str = experts.counts_param()
    components: int = experts.components_param()
    scope: str = experts.scope_param()
    min_preferences: int = experts.min_preferences_param()
    methods: str = fusion.methods_param()
    learner: str = param("lambdarank", "name of the learner")
    settings: str = param("", 'parameters of the learner, like "trees=500,leaves=8"')
    target: str = param("ndcg", "lambdarank: metric whose change weights the pairs", choices=("ndcg", "err", "ap"))
    metric: str = param("ndcg@10", "metric monitored on the validation queries")
    passes: int = param(200, "lambdarank: number of passes over the training queries", low=1)
    learning_rate: float = param(0.01, "lambdarank: learning rate", low=0.0)

    # ---- learning ----
    def fit(self, prefs: Preferences, labels: Labels, *, validation: Validation = None, ranker: object = None) -> Self:
        """Return a copy that has learnt from labelled instances.

        ``validation`` is (prefs, labels) of other instances, or the share of these (0.2) to be drawn for it. ``ranker``
        is an unfitted ranker to train instead of the one that ``learner`` and ``settings`` name.
        """
        chosen: Any = self.ranker() if ranker is None else ranker
        train, valid = self._parts(prefs, labels, validation)
        assert train.prefs.agents is not None
        transformers = [one.fit(train.prefs) for one in self._transformers()]
        columns = _moving_columns(transformers, chosen)
        X = _table(transformers, train.prefs, columns)
        _train(chosen, X, train, None if valid is None else (_table(transformers, valid.prefs, columns), valid))
        learnt: dict[str, Any] = {"agents": tuple(train.prefs.agents.labels), "experts": transformers[0].agents_}
        weights = _linear_weights(chosen, columns)
        learnt |= {"ranker": chosen} if weights is None else {"weights": weights}
        if curve := getattr(chosen, "history_", {}).get("valid"):
            learnt["curve"] = np.array(curve)
        fitted = self.with_learnt(**learnt)
        return (
            fitted if weights is not None else fitted.with_learnt(gain=fitted._gains(train if valid is None else valid))
        )

    def ranker(self) -> Any:
        """Return the ranker that is trained, unfitted, with the settings it has here."""
        cls = registry.LEARNERS.find(_learner_name(self.learner))
        declared = {one.name: one for one in params_of(cls)}
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
        """Whether the learner chooses its best state on validation instances."""
        return "valid" in self.ranker().takes

    def _transformers(self) -> list[PreferenceFeatures]:
        """Return what makes features, as far as ``fit`` went."""
        found: list[PreferenceFeatures] = []
        if self.features != "fusion":
            found.append(experts.ExpertFeatures(self.counts, self.components, self.scope, self.min_preferences))
        if self.features != "svd":
            found.append(fusion.FusionFeatures(self.methods))
        if self.learnt:
            for one in found:
                one.agents_ = self.learnt["experts" if one is found[0] else "agents"]
        return found

    def _gains(self, known: Labelled) -> dict[str, float]:
        """Return what each expert adds to the metric on labelled instances: what is lost when it falls silent."""
        rows = np.flatnonzero(known.is_known)
        label, query = known.label[rows], known.query[rows]

        def quality(prefs: Preferences) -> float:
            found = metrics.evaluate_arrays(self.scores(prefs).score[rows], label, query, self.metric, ties="average")
            return metrics.mean(next(iter(found.values())))

        whole = quality(known.prefs)
        agents = known.prefs.agents
        assert agents is not None
        assert known.prefs.agent is not None
        silent = ((label, known.prefs.take(known.prefs.agent != k)) for k, label in enumerate(agents.labels))
        return {label: whole - quality(prefs) for label, prefs in silent}

    # ---- ranking ----
    def scores(self, prefs: Preferences) -> Outcome:
        """Return the learnt score of every slot and, as the agents' weights, how far each is trusted."""
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
        """Return features times weights without writing the features down."""
        (features,) = self._transformers()
        assert isinstance(features, experts.ExpertFeatures)
        found, p = features.factors(prefs), self.components
        by_expert = weights.reshape(features.n_blocks, 3 * p + 1)
        expert = found.group % features.n_blocks
        said = (found.left * by_expert[expert, :p]).sum(axis=1) + (found.right * by_expert[expert, 2 * p : -1]).sum(
            axis=1
        )
        strength = found.strength.reshape(prefs.n_instances, features.n_blocks, p)
        unsaid = np.einsum("qkp,kp->q", strength, by_expert[:, p : 2 * p]) + by_expert[:, -1].sum()
        score = sum_by(found.slot, said - by_expert[expert, -1], prefs.n_slots)
        return np.asarray(score + unsaid[views.instance_of_slot(prefs)])

    def _fused(self, lists: LabelLists, weight: Floats) -> Ranking:
        """Rank the documents of lists, one per agent; for the usual model with as few steps as there can be."""
        if "weights" not in self.learnt or (self.features, self.scope, self.components) != ("svd", "individual", 1):
            return super()._fused(lists, weight)
        start = time.perf_counter()
        codes, labels, indptr, tier, _ = lists
        level = level_of_lists(indptr, tier, self.counts)
        pairs = PairLists(indptr, self._numbers[0], indptr, np.arange(len(codes)), level, weight)
        left, right, strength = kernels.pair_factors(pairs, self.counts == "binary", TOLERANCE, MAX_ITERATIONS)
        by_entry = np.repeat(self._numbers[1], np.diff(indptr), axis=0)
        said = left * by_entry[:, 0] + right * by_entry[:, 2] - by_entry[:, 3]
        score = sum_by(codes, said, len(labels))
        score += strength @ self._numbers[1][:, 1] + self._numbers[1][:, 3].sum()
        largest = TIE / TIE_TOLERANCE * max(float(score.max()), -float(score.min()))
        score = snap(score, np.zeros(len(score), np.int64), np.array([largest]))
        return Ranking.of_scores(labels, score, self.name, values_of(self), time.perf_counter() - start)

    @cached_property
    def _numbers(self) -> tuple[Int64s, Floats]:
        """The number of every expert, one more at the end, and its weights (u, s, v, unranked)."""
        by_expert = np.asarray(self.learnt["weights"]).reshape(-1, 4)
        return np.arange(len(by_expert) + 1), by_expert

    def _notices(self, prefs: Preferences) -> tuple[Notice, ...]:
        return self.unknown_agents(prefs) if self.scope == "individual" else ()

    # ---- what was learnt ----
    def learnt_sizes(self) -> dict[str, int]:
        """Return the number of features."""
        return {"table": sum(one.n_columns for one in self._transformers())}

    def check_learnt(self) -> None:
        """Refuse a model that has neither weights nor a ranker, or both."""
        if ("weights" in self.learnt) == ("ranker" in self.learnt):
            raise ValueError(f"{self.name} has not exactly one of weights and a ranker")

    @property
    def experts(self) -> dict[str, dict[str, float]]:
        """What every expert's word is worth to a linear model, as scores of the two documents of a list of two.

        ``first`` and ``last`` are what its first and its last document get, ``unranked`` is what one gets that it does
        not list. In longer lists the first and last places are worth the same sum, spread over their neighbours.
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
        """How far each expert is trusted.

        For a linear model on singular vectors it is what the first document of a list of two gets more than the last;
        for any other, how much of the metric is lost on the validation (else the training) queries without the expert.
        """
        if "gain" in self.learnt:
            return dict(self.learnt["gain"])
        if "weights" in self.learnt and self.features == "svd":
            return {name: row["first"] - row["last"] for name, row in self.experts.items()}
        return {}

    def plot_experts(self, path: str | os.PathLike[str] | None = None, *, top: int = 40) -> Any:
        """Draw who is trusted and what being unranked by each means; saved where ``path`` says."""
        from concordant.narrative.plots import plot_experts

        if not self.learnt:
            raise NeedError(f"{self.name} has learnt nothing to draw yet: call fit(prefs, labels) first.")
        rows = self.experts if "weights" in self.learnt and self.features == "svd" else None
        return plot_experts(self.trust, rows, path, top=top, title=self.name)


def _table(transformers: list[PreferenceFeatures], prefs: Preferences, columns: Bools | None = None) -> AnyArray:
    tables = [one.transform(prefs) for one in transformers]
    table = tables[0] if len(tables) == 1 else np.concatenate(tables, axis=1)
    return table if columns is None or columns.all() else np.compress(columns, table, axis=1)


def _moving_columns(transformers: list[PreferenceFeatures], ranker: Any) -> Bools:
    """Say which features a ranker is given: all, but a linear LambdaRank from zero weights no constants of queries.

    The gradients of a query's documents add up to 0, so weights of singular values would stay 0 for ever.
    """
    names = [name for one in transformers for name in one.get_feature_names_out()]
    columns = np.ones(len(names), bool)
    first = transformers[0]
    if _is_linear(ranker) and type(ranker).__name__ == "LambdaRank" and isinstance(first, experts.ExpertFeatures):
        block, p = 3 * first.components + 1, first.components
        columns[: first.n_blocks * block].reshape(first.n_blocks, block)[:, p : 2 * p] = False
    return columns


def _train(ranker: Any, X: AnyArray, train: Labelled, valid: tuple[AnyArray, Labelled] | None) -> None:
    """Fit a ranker to the rows whose labels are known."""
    known = train.is_known
    more = {}
    if valid is not None:
        rows, labelled = valid
        seen = labelled.is_known
        more["valid"] = (rows[seen], labelled.label[seen], labelled.query[seen])
    everything = known.all()
    ranker.fit(X if everything else X[known], train.label[known], qid=train.query[known], **more)


def _is_linear(ranker: Any) -> bool:
    """Say whether a ranker scores by nothing but an inner product with its weights."""
    from concordant.learn import GradientRanker

    return isinstance(ranker, GradientRanker) and not ranker.hidden and ranker.kernel is None


def _linear_weights(ranker: Any, columns: Bools) -> Floats | None:
    """Return the weights of a linear ranker, 0 for the features it was not given; None of any other ranker."""
    if not _is_linear(ranker) or np.shape(ranker.coef_) != (int(columns.sum()),):
        return None
    weights = np.zeros(len(columns))
    weights[columns] = ranker.coef_
    return weights


def _learner_name(name: str) -> str:
    """Return the name of a learner that is a ranker, "ranker" at its end left out or not."""
    known = registry.LEARNERS.names()
    wanted = {registry.fold(name), registry.fold(name) + "ranker"}
    return next((one for one in known if registry.fold(one) in wanted), name)


def _parsed_settings(text: str, declared: Mapping[str, Any]) -> dict[str, Any]:
    """Read "name=value,…" as parameters of a learner."""
    found: dict[str, Any] = {}
    for one in filter(None, (setting.strip() for setting in text.split(","))):
        name, equals, value = (word.strip() for word in one.partition("="))
        if not equals or name not in declared:
            raise ParameterError(
                arg("settings", text)
                + f" names no parameter of the learner in {one!r}: write name=value of {', '.join(declared)}."
            )
        kind = declared[name].kind
        try:
            found[name] = value if kind is str or value in declared[name].words else _READ[kind](value)
        except (KeyError, ValueError):
            raise InputError(
                arg("settings", text) + f": {value!r} is no value of {name}: give {kind.__name__}."
            ) from None
        declared[name].check(found[name])
    return found


_READ: Mapping[type, Any] = {int: int, float: float, bool: {"true": True, "false": False}.__getitem__}
