"""What all score models of comparisons share: hyper-parameters, fitting, uncertainty, warnings.

A model is a subclass that names its likelihood (``link``). The prior keeps scores finite when the comparisons alone do
not, and draws those of items rarely seen to the middle. Its strength is chosen by evidence (``"auto"``, one for all
instances) or given; ``prior=0`` asks for plain maximum likelihood, which is given wherever it exists.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar, Self

import numpy as np

from concordant.aggregate import options
from concordant.aggregate.common import snap_scores
from concordant.errors import InputError
from concordant.method import Method, Outcome
from concordant.models.clusters import Voters, dependence
from concordant.models.duels import COUNTS, Counting, Duels
from concordant.models.evidence import choose_prior, log_constant
from concordant.models.fitted import PairModel, share_turned
from concordant.models.notices import LOOSE, OF_PAIRS, duel_standing, is_settled, notice_on, standing_notices
from concordant.models.problem import DAVIDSON, Penalty
from concordant.models.solve import Part, fit, with_errors
from concordant.models.uncertainty import Asked, DuelErrors, LaterFigures
from concordant.params import param
from concordant.preferences import Preferences
from concordant.ranking import Notice
from concordant.types import Bools, Floats
from concordant.vocabulary import shorten

FALLBACK = 0.01  # the prior where plain maximum likelihood has no finite answer
TIE_OF_FITTED = 1e-9  # fitted scores within 1e-9 of each other are one score: rounding of a sum over all duels
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
    missing: str = options.missing("ignore", choices=("ignore", "last", "last-free"))
    order_effect: bool = param(False, "estimate the advantage of the item shown first (or at home)")
    errors: str = param(
        "auto",
        "standard errors from the curvature (hessian), clustered by voter (sandwich), resampled (bootstrap), or none; "
        "auto clusters where a ballot compares more than two items",
        choices=("auto", "hessian", "sandwich", "bootstrap", "none"),
    )
    level: float = options.level()
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
        found = duel_standing(duels)
        settled = is_settled(duels, found, self.link >= DAVIDSON)
        covariates = self._covariates(prefs)
        voters = None
        if (self.errors == "auto" or isinstance(self.prior, str)) and self._is_clustered(prefs):
            voters = Voters(prefs, counting)
        prior, doubt, start = self._chosen(duels, settled, covariates, voters)
        if self.errors == "sandwich":
            voters = Voters(prefs, counting, by_agent=True)
        parts = fit(duels, self.link, self._penalty(prior, duels, settled, covariates), start)
        score = snap_scores(prefs, _gather(parts, duels), TIE_OF_FITTED, least=1.0)
        errors = None
        if self.errors != "none":
            by_voter = voters if self.errors in ("auto", "sandwich") else None
            asked = Asked(self.errors, self.level, self.replicates, self.seed)
            errors = DuelErrors(parts, score, asked, by_voter, doubt)
        kept = "the prior" if prior > 0 else f"a small prior (precision {FALLBACK:g}) added for them"
        return Outcome(
            score=score,
            fit=self._fit(parts, duels, score, prior, errors),
            warnings=(*standing_notices(prefs, found, OF_PAIRS, kept), *_unconverged(prefs, parts)),
            uncertainty=errors,
            model=self._model(prefs, counting, parts, score, covariates, errors),
        )

    def _is_clustered(self, prefs: Preferences) -> bool:
        """Say whether comparisons depend on each other: a ballot gives several, or differences are counted."""
        if self.missing != "ignore":  # every ballot compares all candidates
            candidates = np.diff(prefs.slot_ptr)[prefs.instance_of_ballot]
            return int(candidates.max(initial=0)) > 2 and int(candidates.sum()) <= LARGEST_COMPLETED
        return self.counts != "binary" or int(np.diff(prefs.indptr).max(initial=0)) > 2

    def _chosen(
        self, duels: Duels, settled: Bools, covariates: Covariates | None, voters: Voters | None
    ) -> tuple[float, float, list[Part] | None]:
        """Return the prior's precision, by evidence where it is "auto", the variance of its logarithm, and a fit."""
        if not isinstance(self.prior, str):
            return self.prior, 0.0, None
        total = duels.by_instance(duels.total)
        unit = float(np.median(total[total > 0])) if self.likelihood == "mean" and (total > 0).any() else 1.0
        known: dict[float, list[Part]] = {}

        def fitted(prior: float) -> list[Part]:
            nearest = min(known, key=lambda one: abs(np.log(one / prior)), default=None)
            start = None if nearest is None else known[nearest]
            known[prior] = fit(duels, self.link, self._penalty(prior, duels, settled, covariates), start, ROUGH_STEP)
            return known[prior]

        times = 1.0  # how often each comparison is counted, so to speak
        if voters is not None and (total > 0).any():
            times = dependence([with_errors(part) for part in fitted(voters.typical / unit)], voters)
        best, doubt = choose_prior(lambda prior: log_evidence(fitted(prior), times), times / unit)
        return best, doubt, known[best]

    def _penalty(self, prior: float, duels: Duels, settled: Bools, covariates: Covariates | None) -> Penalty:
        """Return the prior of every instance; where plain likelihood has no answer, a small one."""
        total = duels.by_instance(duels.total)
        unit = total if self.likelihood == "mean" else np.ones(len(total))
        ridge = prior * unit
        if prior == 0:
            ridge = np.where(settled, 0.0, FALLBACK * unit)
        ridge = np.where(ridge > 0, ridge, np.where(settled & (total > 0), 0.0, FALLBACK))
        # What evidence says of the spread of scores says nothing of ties and of who was first.
        on_others = np.minimum(ridge, FALLBACK) if isinstance(self.prior, str) else ridge
        ties = duels.by_instance(duels.tied)
        extra = np.where((ties <= 0) | (ties >= total), np.maximum(on_others, FALLBACK), on_others)
        if len(duels.order):
            ahead = duels.by_instance(duels.order * duels.won)
            behind = duels.by_instance(duels.order * duels.lost)
            extra = np.where((ahead <= 0) | (behind <= 0), np.maximum(extra, FALLBACK), extra)
        if covariates is None:
            return Penalty(ridge, extra, self.prior_kind == "gamma" and prior > 0)
        return Penalty(np.where(ridge == 0, FALLBACK, ridge), extra, False, covariates.basis, covariates.shrink)

    def _covariates(self, prefs: Preferences) -> Covariates | None:
        table: Mapping[str, Mapping[str, float]] | None = self.learnt.get("covariates")
        return None if table is None else Covariates.of(prefs, table)

    def _fit(
        self, parts: list[Part], duels: Duels, score: Floats, prior: float, errors: DuelErrors | None
    ) -> Mapping[str, float]:
        out = {"log_likelihood": float(sum(part.value.sum() for part in parts))}
        if self.counts == "binary":
            out["mean_kendall"] = share_turned(duels, score)
        later: dict[str, Callable[[], float]] = {}
        if len(parts) == 1 and len(parts[0].instances) == 1:
            others = (("order_effect", len(duels.order) > 0), ("tie_parameter", self.link >= DAVIDSON))
            for which, (name, is_fitted) in enumerate(others):
                if is_fitted:
                    out[name] = float((parts[0].advantage, parts[0].tie)[which][0])
                    later[f"{name}_stderr"] = partial(errors.extra_error, which) if errors else float
        return LaterFigures({**out, "prior": prior}, later) if later else {**out, "prior": prior}

    def _model(
        self,
        prefs: Preferences,
        counting: Counting,
        parts: list[Part],
        score: Floats,
        covariates: Covariates | None,
        errors: DuelErrors | None,
    ) -> PairModel:
        advantage, tie = np.zeros(prefs.n_instances), np.zeros(prefs.n_instances)
        for part in parts:
            advantage[part.instances], tie[part.instances] = part.advantage, part.tie
        worth = {} if covariates is None else covariates.coefficients(score)
        return PairModel.of(
            prefs,
            score,
            model=self.link,
            advantage=advantage,
            tie=tie,
            counting=counting,
            coefficients=worth,
            errors=errors,
        )


@dataclass(frozen=True, eq=False)
class Covariates:
    """Properties of the items that explain their scores: standardised columns, and what they span."""

    names: list[str]
    standard: Floats
    spread: Floats

    @classmethod
    def of(cls, prefs: Preferences, table: Mapping[str, Mapping[str, float]]) -> Covariates:
        """Look up the properties of the candidates of the only instance."""
        if prefs.n_instances > 1:
            raise InputError("Covariates are for a single instance: rank the instances one by one.")
        names, labels = list(next(iter(table.values()))), prefs.items.take(prefs.slot_item)
        lacking = next((label for label in labels if label not in table), None)
        if lacking is not None:
            raise InputError(f"The item {shorten(lacking)!r} has no covariates: give a row for every item.")
        x = np.array([[table[label][name] for name in names] for label in labels])
        x -= x.mean(axis=0)
        spread = np.where(x.std(axis=0) > 0, x.std(axis=0), 1.0)
        return cls(names, x / spread, spread)

    @cached_property
    def _svd(self) -> tuple[Floats, Floats]:
        basis, lengths, _ = np.linalg.svd(self.standard, full_matrices=False)
        kept = lengths > 1e-9 * max(lengths.max(initial=0.0), 1e-300)
        return basis[:, kept], lengths[kept] ** 2

    @property
    def basis(self) -> Floats:
        """Orthonormal columns that span what the properties explain."""
        return self._svd[0]

    @property
    def shrink(self) -> Floats:
        """How free of the prior each of these columns is, 1 being entirely free."""
        return np.asarray(self._svd[1] / (self._svd[1] + FREE))

    def coefficients(self, score: Floats) -> dict[str, float]:
        """Return what a unit of each property is worth."""
        x = self.standard
        worth = np.linalg.solve(x.T @ x + FREE * np.eye(len(self.names)), x.T @ score) / self.spread
        return dict(zip(self.names, worth.tolist(), strict=True))


def _unconverged(prefs: Preferences, parts: list[Part]) -> list[Notice]:
    loose = np.zeros(prefs.n_instances, bool)
    for part in parts:
        loose[part.instances] = part.slack > LOOSE * (1 + part.duels.by_instance(part.duels.total))
    if not loose.any():
        return []
    text = "the fit did not converge, so the scores are approximate; raise the prior"
    return [notice_on(prefs, "no-convergence", text, np.repeat(loose, np.diff(prefs.slot_ptr)))]


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


def _gather(parts: list[Part], duels: Duels) -> Floats:
    """Put the scores of all parts where their slots are."""
    out = np.zeros(duels.n_slots)
    for part in parts:
        out[part.slots] = part.score
    return out
