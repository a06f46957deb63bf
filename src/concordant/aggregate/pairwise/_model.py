"""What all score models of comparisons share: hyper-parameters, fitting, uncertainty, warnings.

A model is a subclass that names its likelihood (``link``). The prior keeps scores finite when the comparisons alone do
not, and draws those of items rarely seen to the middle. Its strength is chosen by evidence (``"auto"``, one for all
instances) or given; ``prior=0`` asks for plain maximum likelihood, which is given wherever it exists.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from concordant.errors import InputError
from concordant.method import Method, Outcome
from concordant.models import uncertainty
from concordant.models.clusters import Voters, clustered, dependence
from concordant.models.duels import COUNTS, Counting, Duels, slot_instances
from concordant.models.evidence import choose_prior, log_constant
from concordant.models.fitted import PairModel, share_turned
from concordant.models.notices import Standing, notices, standing
from concordant.models.problem import DAVIDSON, Penalty
from concordant.models.solve import Part, fit
from concordant.params import param
from concordant.preferences import Preferences
from concordant.ranking import snap
from concordant.types import AnyArray, Floats
from concordant.vocabulary import shorten

FALLBACK = 0.01  # the prior where plain maximum likelihood has no finite answer
TIE_OF_FITTED = 1e3  # fitted scores within 1e-9 of each other are one score: rounding of a sum over all duels
LARGEST_COMPLETED = 50_000_000  # entries of ballots completed by what they leave out
ROUGH_STEP = 0.02  # where only the evidence of a prior is wanted
FREE = 0.01  # precision, relative to the scores' prior, of what covariates explain


@dataclass(frozen=True, kw_only=True)
class ScoreModel(Method):
    """Base of the models that give every item a score such that likely winners score higher."""

    link: ClassVar[int]
    learns = ("agent_weights", "covariates")

    prior: float | str = param(
        "auto",
        "precision of the prior that draws scores together; auto chooses it by evidence, 0 is plain likelihood",
        low=0.0,
        words=("auto",),
    )
    prior_kind: str = param(
        "gaussian", "prior on the scores (gaussian) or on their exponentials (gamma)", choices=("gaussian", "gamma")
    )
    likelihood: str = param(
        "total", "weigh the prior against all comparisons (total) or against their mean", choices=("total", "mean")
    )
    counts: str = param(
        "binary", "what a pair adds: one vote, the difference of ranks or ratings, or that of log ranks", choices=COUNTS
    )
    normalise: bool = param(False, "divide differences by the ballot's largest rank or range of ratings")
    missing: str = param(
        "ignore", "what a ballot says of candidates it does not mention", choices=("ignore", "last", "last-free")
    )
    order_effect: bool = param(False, "estimate the advantage of the item shown first (or at home)")
    errors: str = param(
        "auto",
        "standard errors from the curvature (hessian), clustered by voter (sandwich), resampled (bootstrap), or none; "
        "auto clusters where a ballot compares more than two items",
        choices=("auto", "hessian", "sandwich", "bootstrap", "none"),
    )
    level: float = param(0.95, "confidence of the intervals", low=0.01, high=0.9999)
    replicates: int = param(200, "how often the bootstrap resamples", low=2)
    seed: int | None = param(0, "seed of the bootstrap and of the chance to be the best")

    def with_agent_weights(self, weights: Mapping[str, float]) -> Self:
        """Return a copy that multiplies the ballots of these agents by their weights; others count once."""
        return self.with_learnt(agent_weights={str(agent): float(weight) for agent, weight in weights.items()})

    def with_covariates(self, covariates: Mapping[str, Sequence[float] | Mapping[str, float]]) -> Self:
        """Return a copy that explains scores by properties of the items, a row of numbers (or named ones) per item.

        Scores are drawn towards what the properties explain instead of towards zero, so that an item hardly ever
        compared gets the score of items like it. ``ranking.model.coefficients`` says what each property is worth.
        """
        table: dict[str, dict[str, float]] = {}
        for item, row in covariates.items():
            named = row if isinstance(row, Mapping) else {f"x{k + 1}": value for k, value in enumerate(row)}
            table[str(item)] = {str(name): float(value) for name, value in named.items()}
        names = [list(row) for row in table.values()]
        if not names or any(row != names[0] for row in names) or not names[0]:
            raise InputError("Covariates need the same numbers for every item: give one row of equal length per item.")
        if not all(np.isfinite(value) for row in table.values() for value in row.values()):
            raise InputError("A covariate is not a finite number: fill it in or leave the property out.")
        return self.with_learnt(covariates=table)

    def scores(self, prefs: Preferences) -> Outcome:
        """Return the scores with intervals, rank intervals, the chance to be the best, and the fitted model."""
        counting = Counting(
            self.counts, self.normalise, self.missing, self.order_effect, self.learnt.get("agent_weights")
        )
        duels = counting.duels(prefs)
        found = standing(duels, self.link >= DAVIDSON)
        basis, shrink, names = self._basis(prefs, duels)
        voters = None
        if (self.errors == "auto" or isinstance(self.prior, str)) and self._is_clustered(prefs):
            voters = Voters(prefs, counting)
        prior, doubt, start = self._chosen(duels, found, basis, shrink, voters)
        if self.errors == "sandwich":
            voters = Voters(prefs, counting, by_agent=True)
        penalty = self._penalty(prior, duels, found, basis, shrink)
        parts = fit(duels, self.link, penalty, self.errors != "none", start)
        moved = [uncertainty.moved_by_prior(part) for part in parts] if doubt and self.errors != "none" else []
        if voters is not None and self.errors in ("auto", "sandwich"):
            parts = clustered(parts, voters, self.seed)
        if moved and self.errors != "bootstrap":
            parts = [uncertainty.widened(part, by, doubt) for part, by in zip(parts, moved, strict=True)]
        details: dict[str, AnyArray] = {}
        low = high = None
        if self.errors != "none":
            parts, low, high, details = self._intervals(parts, duels)
        score = _gather(parts, [part.score for part in parts], duels)
        largest = np.maximum.reduceat(np.abs(score), duels.slot_ptr[:-1][np.diff(duels.slot_ptr) > 0])
        scale = np.ones(len(duels.ptr) - 1)
        scale[np.diff(duels.slot_ptr) > 0] = np.maximum(largest, 1.0) * TIE_OF_FITTED
        score = snap(score, slot_instances(duels), scale)
        if low is not None and high is not None:
            low, high = np.minimum(low, score), np.maximum(high, score)
        kept = "the prior" if prior > 0 else f"a small prior (precision {FALLBACK:g}) added for them"
        return Outcome(
            score=score,
            low=low,
            high=high,
            fit={**self._fit(parts, duels, score), "prior": prior},
            warnings=notices(prefs, duels, found, parts, kept),
            details=details,
            model=self._model(prefs, counting, parts, score, duels, names),
        )

    def _is_clustered(self, prefs: Preferences) -> bool:
        """Say whether comparisons depend on each other: a ballot gives several, or differences are counted."""
        if self.missing != "ignore":  # every ballot compares all candidates
            candidates = np.diff(prefs.slot_ptr)[prefs.instance_of_ballot]
            return int(candidates.max(initial=0)) > 2 and int(candidates.sum()) <= LARGEST_COMPLETED
        return self.counts != "binary" or int(np.diff(prefs.indptr).max(initial=0)) > 2

    def _chosen(
        self, duels: Duels, found: Standing, basis: Floats | None, shrink: Floats | None, voters: Voters | None
    ) -> tuple[float, float, list[Part] | None]:
        """Return the prior's precision, by evidence where it is "auto", the variance of its logarithm, and a fit."""
        if not isinstance(self.prior, str):
            return self.prior, 0.0, None
        total = duels.by_instance(duels.total)
        unit = float(np.median(total[total > 0])) if self.likelihood == "mean" and (total > 0).any() else 1.0
        known: dict[float, list[Part]] = {}

        def fitted(prior: float, with_errors: bool = False) -> list[Part]:
            nearest = min(known, key=lambda one: abs(np.log(one / prior)), default=None)
            start = None if nearest is None else known[nearest]
            penalty = self._penalty(prior, duels, found, basis, shrink)
            known[prior] = fit(duels, self.link, penalty, with_errors, start, ROUGH_STEP)
            return known[prior]

        times = 1.0  # how often each comparison is counted, so to speak
        if voters is not None and (total > 0).any():
            times = dependence(fitted(voters.typical / unit, with_errors=True), voters)
        best, doubt = choose_prior(lambda prior: log_evidence(fitted(prior), times), times / unit)
        return best, doubt, known[best]

    def _penalty(
        self, prior: float, duels: Duels, found: Standing, basis: Floats | None, shrink: Floats | None
    ) -> Penalty:
        """Return the prior of every instance; where plain likelihood has no answer, a small one."""
        total = duels.by_instance(duels.total)
        unit = total if self.likelihood == "mean" else np.ones(len(total))
        ridge = prior * unit
        if prior == 0:
            ridge = np.where(found.is_settled, 0.0, FALLBACK * unit)
        ridge = np.where(ridge > 0, ridge, np.where(found.is_settled & (total > 0), 0.0, FALLBACK))
        # What evidence says of the spread of scores says nothing of ties and of who was first.
        on_others = np.minimum(ridge, FALLBACK) if isinstance(self.prior, str) else ridge
        ties = duels.by_instance(duels.tied)
        extra = np.where((ties <= 0) | (ties >= total), np.maximum(on_others, FALLBACK), on_others)
        if len(duels.order):
            ahead = duels.by_instance(duels.order * duels.won)
            behind = duels.by_instance(duels.order * duels.lost)
            extra = np.where((ahead <= 0) | (behind <= 0), np.maximum(extra, FALLBACK), extra)
        if basis is not None and (ridge == 0).any():
            ridge = np.where(ridge == 0, FALLBACK, ridge)
        is_gamma = self.prior_kind == "gamma" and basis is None and prior > 0
        return Penalty(ridge, extra, is_gamma, basis, shrink)

    def _basis(self, prefs: Preferences, duels: Duels) -> tuple[Floats | None, Floats | None, list[str]]:
        """Return what the covariates span: orthonormal columns, how free each is, and the names."""
        table: Mapping[str, Mapping[str, float]] | None = self.learnt.get("covariates")
        if table is None:
            return None, None, []
        if prefs.n_instances > 1:
            raise InputError("Covariates are for a single instance: rank the instances one by one.")
        names = list(next(iter(table.values())))
        x = np.empty((duels.n_slots, len(names)))
        for k, label in enumerate(prefs.items.take(prefs.slot_item)):
            if label not in table:
                raise InputError(f"The item {shorten(label)!r} has no covariates: give a row for every item.")
            x[k] = [table[label][name] for name in names]
        x -= x.mean(axis=0)
        spread = x.std(axis=0)
        x /= np.where(spread > 0, spread, 1.0)
        basis, lengths, _ = np.linalg.svd(x, full_matrices=False)
        kept = lengths > 1e-9 * max(lengths.max(initial=0.0), 1e-300)
        return basis[:, kept], lengths[kept] ** 2 / (lengths[kept] ** 2 + FREE), names

    def _intervals(self, parts: list[Part], duels: Duels) -> tuple[list[Part], Floats, Floats, dict[str, AnyArray]]:
        if self.errors == "bootstrap":
            resampled = uncertainty.bootstrap(parts, self.replicates, self.level, self.seed)
            parts = [part for part, _, _ in resampled]
            low = _gather(parts, [lower for _, lower, _ in resampled], duels)
            high = _gather(parts, [upper for _, _, upper in resampled], duels)
        else:
            z = uncertainty.upper_quantile((1 - self.level) / 2)
            half = [z * np.sqrt(part.variance) for part in parts]
            low = _gather(parts, [part.score - h for part, h in zip(parts, half, strict=True)], duels)
            high = _gather(parts, [part.score + h for part, h in zip(parts, half, strict=True)], duels)
        ranks = [uncertainty.rank_intervals(part, self.level) for part in parts]
        details: dict[str, AnyArray] = {
            "stderr": _gather(parts, [np.sqrt(part.variance) for part in parts], duels),
            "rank_low": _gather(parts, [rank[0] for rank in ranks], duels).astype(np.int32),
            "rank_high": _gather(parts, [rank[1] for rank in ranks], duels).astype(np.int32),
            "p_best": _gather(parts, [uncertainty.best_chances(part, self.seed) for part in parts], duels),
        }
        return parts, low, high, details

    def _fit(self, parts: list[Part], duels: Duels, score: Floats) -> dict[str, float]:
        out = {"log_likelihood": float(sum(part.value.sum() for part in parts))}
        if self.counts == "binary":
            out["mean_kendall"] = share_turned(duels, score)
        if len(parts) == 1 and len(parts[0].instances) == 1:
            part = parts[0]
            if len(duels.order):
                out["order_effect"] = float(part.advantage[0])
                out["order_effect_stderr"] = float(np.sqrt(max(part.extra_variance[0, 0], 0.0)))
            if self.link >= DAVIDSON:
                out["tie_parameter"] = float(part.tie[0])
                out["tie_parameter_stderr"] = float(np.sqrt(max(part.extra_variance[0, 1], 0.0)))
        return out

    def _model(
        self, prefs: Preferences, counting: Counting, parts: list[Part], score: Floats, duels: Duels, names: list[str]
    ) -> PairModel:
        advantage, tie = np.zeros(len(duels.ptr) - 1), np.zeros(len(duels.ptr) - 1)
        for part in parts:
            advantage[part.instances], tie[part.instances] = part.advantage, part.tie
        return PairModel(
            self.link,
            prefs.items,
            prefs.instances,
            prefs.slot_ptr,
            prefs.slot_item.astype(np.int64),
            score,
            advantage,
            tie,
            counting,
            _Blocks(parts),
            self._coefficients(prefs, score, names),
        )

    def _coefficients(self, prefs: Preferences, score: Floats, names: list[str]) -> dict[str, float]:
        if not names:
            return {}
        table = self.learnt["covariates"]
        x = np.array([[table[label][name] for name in names] for label in prefs.items.take(prefs.slot_item)])
        x -= x.mean(axis=0)
        spread = np.where(x.std(axis=0) > 0, x.std(axis=0), 1.0)
        standard = x / spread
        worth = np.linalg.solve(standard.T @ standard + FREE * np.eye(len(names)), standard.T @ score) / spread
        return dict(zip(names, worth.tolist(), strict=True))


def log_evidence(parts: list[Part], times: float) -> float:
    """Return the logarithm of the chance of the data under the prior, each comparison counted 1 / times."""
    total = 0.0
    for part in parts:
        size, penalty = np.diff(part.duels.slot_ptr), part.penalty
        kind = "gamma" if penalty.is_gamma else "gaussian"
        free = size if penalty.is_gamma else np.maximum(size - 1, 0)
        free = free + (len(part.duels.order) > 0) + (part.model >= DAVIDSON)
        posterior = (part.value + part.log_prior) / times + log_constant(kind, penalty.ridge / times, size)
        total += float((posterior - 0.5 * (part.log_det - free * np.log(times))).sum())
    return total


class _Blocks(Mapping[int, Floats]):
    """The covariance of every instance that has one, cut out when asked for."""

    def __init__(self, parts: list[Part]) -> None:
        self._place = {
            int(q): (part, k) for part in parts if part.covariance is not None for k, q in enumerate(part.instances)
        }

    def __getitem__(self, instance: int) -> Floats:
        part, k = self._place[instance]
        return next(block for q, _, block in part.blocks if q == k)

    def __iter__(self):  # type: ignore[no-untyped-def]
        return iter(self._place)

    def __len__(self) -> int:
        return len(self._place)


def _gather(parts: list[Part], values: list[AnyArray], duels: Duels) -> Floats:
    """Put the values of all parts where their slots are."""
    if len(parts) == 1:
        return np.asarray(values[0], np.float64)
    out = np.zeros(duels.n_slots)
    for part, own in zip(parts, values, strict=True):
        out[part.slots] = own
    return out
