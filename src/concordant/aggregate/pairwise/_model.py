"""Base of the score models of pairwise comparisons: hyper-parameters, fitting, uncertainty, warnings.

A model is a subclass that names its likelihood (``link``). The prior keeps scores finite if the comparisons alone do
not, and shrinks the scores of rarely compared items towards 0. Its precision is chosen by marginal likelihood
(``"auto"``, one for all instances) or given; ``prior=0`` is maximum likelihood if it exists.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from concordant.aggregate import options
from concordant.aggregate.common import snap_scores
from concordant.errors import InputError, ParameterError, arg, phrase
from concordant.kernels import links
from concordant.method import Method, Outcome
from concordant.models.clusters import Agents, Voters, dependence
from concordant.models.effects import ON_COEFFICIENTS, Effects, refuse
from concordant.models.fitted import PairModel, share_discordant
from concordant.models.judges import JudgedModel, JudgeEffects, Shrinkage, choose_shrinkage
from concordant.models.likelihoods.evidence import PriorSearch, settled_on, settled_prior
from concordant.models.likelihoods.observed import Observed, ObservedDuels
from concordant.models.likelihoods.priors import Covariates, Prior
from concordant.models.notices import LOOSE, OF_PAIRS, Standing, duel_standing, is_settled, notice_on, standing_notices
from concordant.models.observations.contestants import Contest, Design, contest_of
from concordant.models.observations.designs import Designed, duel_standing_of, item_duels
from concordant.models.observations.duels import COUNTS, Counting, Duels
from concordant.models.observations.judged import JUDGE_EFFECTS, JudgedDuels
from concordant.models.solve.objectives import Fit
from concordant.models.solve.strategies import fit, with_errors
from concordant.models.style_reasons import style_reasons
from concordant.models.uncertainty import ScoreErrors, UncertaintyOptions
from concordant.params import param
from concordant.preferences import Preferences
from concordant.ranking import Notice, Ranking
from concordant.results.explanation import Reason
from concordant.results.scales import line_of
from concordant.support.lazy import LazyMapping
from concordant.support.state import LARGEST_WEIGHT, ByLabel, TableKind, optional
from concordant.types import Bools, Floats

if TYPE_CHECKING:
    from concordant.aggregate.pairwise._contributions import Contributions

FALLBACK = 0.01  # the prior where plain maximum likelihood has no finite answer
TIE_OF_FITTED = 1e-9  # fitted scores within 1e-9 of each other are one score: rounding of a sum over all duels
LARGEST_COMPLETED = 50_000_000  # entries of ballots completed by what they leave out


@dataclass(frozen=True, kw_only=True)
class ScoreModel(Method):
    """Base of the models in which the score difference determines the win probability."""

    link: ClassVar[int]
    waives = {
        "condorcet_consistency": "an item that wins every comparison narrowly can score below one that wins "
        "most of them clearly"
    }
    takes_teams: ClassVar[bool] = True
    errors_by_ballots = True
    learns = {"agent_weights": optional(ByLabel(low=0, high=LARGEST_WEIGHT)), "covariates": optional(TableKind())}

    prior: float | str = param(
        "auto",
        "precision of the prior (regularisation); auto: by marginal likelihood, 0: maximum likelihood",
        low=0.0,
        words=("auto",),
    )
    prior_kind: str = param(
        "gaussian", "prior on the scores (gaussian) or on their exponentials (gamma)", choices=("gaussian", "gamma")
    )
    likelihood: str = param(
        "total",
        "weigh the prior against the total log-likelihood or its mean per comparison",
        choices=("total", "mean"),
    )
    counts: str = param(
        "binary",
        "weight of a pair: 1, the difference of ranks or ratings, or the difference of log ranks",
        choices=COUNTS,
    )
    normalise: bool = param(False, "divide differences by the ballot's largest rank or its range of ratings")
    missing: str = options.missing("ignore", choices=("ignore", "last", "last-free"))
    order_effect: bool = param(False, "estimate position bias (home advantage) of the item shown first")
    judge_effects: str = param(
        "none",
        "effects of judges (agents), shrunk to their mean: discrimination (skill), position bias (bias), or both",
        choices=JUDGE_EFFECTS,
    )
    style_control: bool = options.style_control()
    team_strength: str = options.team_strength()
    errors: str = param(
        "auto",
        "standard errors from the Hessian alone (hessian), clustered by agent (sandwich), by resampling agents or "
        "comparisons (bootstrap), or none; auto corrects for ties and clusters ballots of more than two items",
        choices=("auto", "hessian", "sandwich", "bootstrap", "none"),
    )
    level: float = options.level()
    replicates: int = param(200, "number of bootstrap resamples", low=2, high=1e5)
    seed: int | None = param(0, "seed for the bootstrap and the probability of being best", low=0)

    @property
    def log_odds(self) -> float | None:
        """Score difference that multiplies the odds of a win by e; None for a probit model."""
        return None if self.link == links.THURSTONE else 1.0

    def with_agent_weights(self, weights: Mapping[str, float]) -> Self:
        """Return a copy that multiplies the ballots of these agents by their weights; other agents have weight 1."""
        return self.with_learnt(agent_weights={str(agent): float(weight) for agent, weight in weights.items()})

    def with_covariates(self, covariates: Mapping[str, Sequence[float] | Mapping[str, float]]) -> Self:
        """Return a copy that models scores by item covariates: a row of numbers, or of named numbers, per item.

        Scores are shrunk towards the value predicted from the covariates instead of towards 0, so an item with few
        comparisons gets the score of similar items. ``ranking.model.coefficients`` has the effect of each covariate.
        """
        table: dict[str, dict[str, float]] = {}
        for item, row in covariates.items():
            named = row if isinstance(row, Mapping) else {f"x{k + 1}": value for k, value in enumerate(row)}
            table[str(item)] = {str(name): float(value) for name, value in named.items()}
        names = [list(row) for row in table.values()]
        if not names or any(row != names[0] for row in names) or not names[0]:
            raise InputError("The items do not have the same covariates: give every item a row with the same columns.")
        if not all(np.isfinite(value) for row in table.values() for value in row.values()):
            raise InputError("A covariate is not a finite number: impute the value or drop the covariate.")
        return self.with_learnt(covariates=table)

    def scores(self, prefs: Preferences) -> Outcome:
        """Return the scores with intervals, rank intervals, the probability of being best, and the fitted model."""
        counting, contest = self._counting(), self._contest(prefs)
        contest_prefs, design = (prefs, None) if contest is None else (contest.prefs, contest.design)
        observed, standing, settled = self._observed(contest_prefs, design)
        duels = counted(observed)
        covariates = self._covariates(prefs)
        judged = observed if isinstance(observed, JudgedDuels) else None
        voters = None
        if (self.errors == "auto" or isinstance(self.prior, str)) and self._is_clustered(contest_prefs):
            voters = Voters(contest_prefs, counting, design=design)
        prior_of = partial(self._prior, duels=duels, settled=settled, covariates=covariates, design=design)
        chosen = self._chosen(observed, prior_of, voters)
        prior, doubt = chosen.prior, chosen.doubt
        if self.errors == "sandwich":
            voters = Voters(contest_prefs, counting, by_agent=True, design=design)
        parts = fit(observed, chosen.applied(prior_of(prior), observed), chosen.start)
        score = snap_scores(prefs, _gather(parts, prefs.n_slots), TIE_OF_FITTED, min_scale=1.0)
        errors = None
        if self.errors != "none":
            by_voter = voters if self.errors in ("auto", "sandwich") else None
            options_of_errors = UncertaintyOptions(self.errors, self.level, self.replicates, self.seed)
            agents = (
                Agents(contest_prefs, counting)
                if self.errors == "bootstrap" and contest_prefs.agents is not None
                else None
            )
            errors = ScoreErrors(prefs, parts, score, options_of_errors, doubt, by_voter, agents)
        prior_text = "the prior" if prior > 0 else f"a small prior (precision {FALLBACK:g}) added for them"
        effects = Effects.of(self, prefs, design, parts, errors)
        effect_notices = [] if effects is None else effects.notices()
        judges = None if judged is None else JudgeEffects.of(prefs, judged, parts, errors, self.level)
        return Outcome(
            score=score,
            agents=None if judges is None else judges.discrimination,
            fit=self._fit(parts, duels, score, chosen, errors),
            warnings=(
                *standing_notices(prefs, standing, OF_PAIRS, prior_text),
                *_unconverged(prefs, parts),
                *effect_notices,
            ),
            uncertainty=errors,
            model=self._model(prefs, counting, parts, score, covariates, errors, effects, judges),
            beside={} if effects is None else effects.beside(),
            coefficients=None if effects is None or not effects.design.names else partial(getattr, effects, "known"),
        )

    def _counting(self) -> Counting:
        has_order = self.order_effect or self.judge_effects in ("bias", "both")
        return Counting(self.counts, self.normalise, self.missing, has_order, self.learnt.get("agent_weights"))

    def _contest(self, prefs: Preferences) -> Contest | None:
        """Return the contestants if there are teams or covariates, else None.

        Reject settings that do not support them.
        """
        contest = contest_of(prefs, self.team_strength, self.style_control)
        if contest is not None:
            if self.missing != "ignore":
                refuse(arg("missing", self.missing), arg("missing", "ignore"))
            if self.counts != "binary" and not contest.design.is_single:
                refuse(arg("counts", self.counts), arg("counts", "binary"))
            if self.judge_effects != "none":
                refuse(arg("judge_effects", self.judge_effects), arg("judge_effects", "none"))
        return contest

    def _judged(self, prefs: Preferences) -> JudgedDuels:
        """Return the counts by judge; reject settings that do not support effects of judges."""
        usual = {"counts": "binary", "missing": "ignore"} | (
            {} if self.errors in ("auto", "hessian", "none") else {"errors": "hessian"}
        )
        for name, value in usual.items():
            if getattr(self, name) != value:
                given = arg("judge_effects", self.judge_effects), arg(name, getattr(self, name))
                raise ParameterError(phrase("{} does not support {}: use {}.", *given, arg(name, value)))
        return JudgedDuels.of(prefs, self._counting(), self.link, self.judge_effects)

    def _observed(self, contest_prefs: Preferences, design: Design | None) -> tuple[Observed, Standing, Bools]:
        """Return pairwise counts, connected groups of items, and which instances have finite scores without a prior."""
        has_tie = links.has_tie_parameter(self.link)
        if self.judge_effects != "none":
            judged = self._judged(contest_prefs)
            standing = duel_standing(judged.duels)
            return judged, standing, is_settled(judged.duels, standing, has_tie)
        duels = self._counting().duels(contest_prefs)
        if design is None:
            standing = duel_standing(duels)
            return ObservedDuels(duels, self.link), standing, is_settled(duels, standing, has_tie)
        standing = duel_standing_of(design, duels)
        if design.is_single:
            settled = is_settled(item_duels(design, duels), standing, has_tie)
        else:  # a tie parameter could grow with the scores, but teams always have some prior
            settled = is_settled(replace(duels, slot_ptr=design.slot_ptr), standing, has_tie_parameter=False)
        return Designed(ObservedDuels(duels, self.link), design), standing, settled

    def ranks_apart(self, prefs: Preferences) -> bool:
        """Return whether instances can be ranked separately: not if errors or the prior need all instances together.

        The marginal likelihood of a prior is a sum over instances; errors clustered by voter and bootstrap errors
        are not.
        """
        if self._contest(prefs) is not None or self.judge_effects != "none":
            return False
        is_clustered = self.errors == "sandwich" or (self.errors == "auto" and self._is_clustered(prefs))
        if is_clustered or self.errors == "bootstrap":
            return False
        is_sum = self.likelihood == "total" and "covariates" not in self.learnt and not self._is_clustered(prefs)
        return is_sum or not isinstance(self.prior, str)

    def prior_search(self, prefs: Preferences) -> PriorSearch:
        """Return the search for the prior of these preferences."""
        contest = self._contest(prefs)
        contest_prefs, design = (prefs, None) if contest is None else (contest.prefs, contest.design)
        observed, _, settled = self._observed(contest_prefs, design)
        prior_of = partial(self._prior, duels=counted(observed), settled=settled, covariates=None, design=design)
        return PriorSearch(observed, prior_of)

    def reasons(self, prefs: Preferences, ranking: Ranking) -> Sequence[Reason]:
        """Explain the scores of the top items by their opponents and by covariate effects."""
        from concordant.aggregate.pairwise._contributions import told
        from concordant.narrative.sentences import Scene

        contributions = self.contributions(prefs, ranking)
        of_opponents = [] if contributions is None else told(Scene(prefs, ranking, self.missing), contributions)
        return [*super().reasons(prefs, ranking), *of_opponents, *style_reasons(ranking)]

    def contributions(self, prefs: Preferences, ranking: Ranking) -> Contributions | None:
        """Return the contributions to the score of each item of one instance.

        None with teams, with covariates of the comparisons, with effects of judges, or if the fitted model was not
        kept.
        """
        from concordant.aggregate.pairwise._contributions import Contributions

        model = ranking.model
        if not isinstance(model, PairModel) or ranking.fit is None or "prior" not in ranking.fit:
            return None
        if self._contest(prefs) is not None or self.judge_effects != "none":
            return None
        q = 0 if ranking.instance is None or model.instances is None else model.instances.code(ranking.instance)
        counting, trust = self._counting(), self.learnt.get("agent_weights")
        if trust is not None and prefs.agents is not None:  # an instance may lack agents that others have
            known_agents = set(prefs.agents.labels)
            counting = replace(
                counting, trust={agent: weight for agent, weight in trust.items() if agent in known_agents}
            )
        duels = counting.duels(prefs)
        settled = is_settled(duels, duel_standing(duels), links.has_tie_parameter(self.link))
        prior = self._prior(ranking.fit["prior"], duels, settled, self._covariates(prefs))
        advantage, tie = float(model.advantage[q]), float(model.tie[q])
        return Contributions(duels, self.link, ranking.own_score, advantage, tie, prior, *line_of(ranking))

    def settled(self, strength: float, doubt: float) -> Self:
        """Return a copy with this prior, and the variance of its logarithm, as already chosen."""
        return settled_on(self, strength, doubt)

    def _is_clustered(self, prefs: Preferences) -> bool:
        """Return whether comparisons are dependent: a ballot contains several of them, or differences are counted."""
        if self.missing != "ignore":  # every ballot compares all candidates
            candidates = np.diff(prefs.slot_ptr)[prefs.instance_of_ballot]
            return int(candidates.max(initial=0)) > 2 and int(candidates.sum()) <= LARGEST_COMPLETED
        if self.counts != "binary":
            return True
        return prefs.said_form != "pairs" and int(np.diff(prefs.indptr).max(initial=0)) > 2

    def _chosen(self, observed: Observed, prior_of: Callable[[float], Prior], voters: Voters | None) -> Shrinkage:
        """Return the prior's precision ("auto": by marginal likelihood), the variance of its logarithm, and a fit to
        start from.
        """
        total = observed.total
        unit = float(np.median(total[total > 0])) if self.likelihood == "mean" and (total > 0).any() else 1.0
        if isinstance(observed, JudgedDuels):
            return choose_shrinkage(observed, prior_of, self.prior, unit)
        if not isinstance(self.prior, str):
            return Shrinkage(self.prior)
        if (settled := settled_prior(self)) is not None:
            return Shrinkage(*settled)
        search = PriorSearch(observed, prior_of)
        if voters is not None and (total > 0).any():  # how often each comparison is counted, so to speak
            times = dependence([with_errors(part) for part in search.fitted(voters.typical / unit)], voters)
            best, doubt = search.best(times, unit)
        else:
            times = search.dispersion(unit)
            best, doubt = search.best(times, times * unit)
        return Shrinkage(best, doubt, search.fitted(best))

    def _prior(
        self, prior: float, duels: Duels, settled: Bools, covariates: Covariates | None, design: Design | None = None
    ) -> Prior:
        """Return the prior of every instance; a weak one if the likelihood alone has no maximum.

        ``settled`` says, by instance, whether the comparisons alone give finite scores.
        """
        total, ties = duels.totals
        unit = total if self.likelihood == "mean" else np.ones(len(total))
        ridge = prior * unit
        if prior == 0:
            ridge = np.where(settled, 0.0, FALLBACK * unit)
        ridge = np.where(ridge > 0, ridge, np.where(settled & (total > 0), 0.0, FALLBACK))
        # What evidence says of the spread of scores says nothing of ties and of who was first.
        on_others = np.minimum(ridge, FALLBACK) if isinstance(self.prior, str) else ridge
        is_unknown = ((ties <= 0) | (ties >= total)) & links.has_tie_parameter(self.link)
        extra = np.where(is_unknown, np.maximum(on_others, FALLBACK), on_others)
        if len(duels.order):
            ahead = duels.by_instance(duels.order * duels.won)
            behind = duels.by_instance(duels.order * duels.lost)
            extra = np.where((ahead <= 0) | (behind <= 0), np.maximum(extra, FALLBACK), extra)
        if design is not None and not design.is_single:  # teams can be without an answer in ways that are not seen
            ridge = np.maximum(ridge, ON_COEFFICIENTS)
        if covariates is None:
            return Prior(ridge, extra, self.prior_kind == "gamma" and prior > 0, on_coefficients=ON_COEFFICIENTS)
        ridge = np.where(ridge == 0, FALLBACK, ridge)
        return Prior(ridge, extra, False, covariates.basis, covariates.shrink, ON_COEFFICIENTS)

    def _covariates(self, prefs: Preferences) -> Covariates | None:
        table: Mapping[str, Mapping[str, float]] | None = self.learnt.get("covariates")
        return None if table is None else Covariates.of(prefs, table)

    def _fit(
        self, parts: list[Fit], duels: Duels, score: Floats, chosen: Shrinkage, errors: ScoreErrors | None
    ) -> Mapping[str, float]:
        """Return the fit statistics; slow ones are computed on first access."""
        figures = {"log_likelihood": float(sum(part.value.sum() for part in parts))}
        later: dict[str, Callable[[], float]] = {}
        design = parts[0].observed.design if isinstance(parts[0].observed, Designed) else None
        figures |= chosen.deviations()
        if self.counts == "binary" and design is None:
            later["mean_kendall"] = partial(share_discordant, duels, score)
        if len(parts) == 1 and len(parts[0].instances) == 1:
            extras = (("order_effect", len(duels.order) > 0), ("tie_parameter", links.has_tie_parameter(self.link)))
            for which, (name, is_fitted) in enumerate(extras):
                if is_fitted:
                    figures[name] = float((parts[0].advantage, parts[0].tie)[which][0])
                    later[f"{name}_stderr"] = partial(errors.extra_error, which) if errors else float
        return LazyMapping({**figures, "prior": chosen.prior}, later)

    def _model(
        self,
        prefs: Preferences,
        counting: Counting,
        parts: list[Fit],
        score: Floats,
        covariates: Covariates | None,
        errors: ScoreErrors | None,
        effects: Effects | None = None,
        judges: JudgeEffects | None = None,
    ) -> PairModel:
        """Return the fitted model with the parameters of all instances."""
        advantage, tie = np.zeros(prefs.n_instances), np.zeros(prefs.n_instances)
        for part in parts:
            advantage[part.instances], tie[part.instances] = part.advantage, part.tie
        of_items = {} if covariates is None else covariates.coefficients(score)
        of_comparisons = {} if effects is None else effects.values
        if twice := sorted(of_items.keys() & of_comparisons.keys()):
            raise InputError(
                f"{twice[0]!r} names both an item covariate and a covariate of the comparisons: rename one of them."
            )
        of_judges = {} if judges is None else {"judges": judges}
        return (PairModel if judges is None else JudgedModel).of(
            prefs,
            score,
            link=self.link,
            advantage=advantage,
            tie=tie,
            counting=counting,
            coefficients=of_items | of_comparisons,
            effects=effects,
            errors=errors,
            **of_judges,
        )


def _unconverged(prefs: Preferences, parts: list[Fit]) -> list[Notice]:
    """Return a notice about instances whose fit did not converge."""
    is_unconverged = np.zeros(prefs.n_instances, bool)
    for part in parts:
        is_unconverged[part.instances] = part.slack > LOOSE * (1 + part.observed.total)
    if not is_unconverged.any():
        return []
    text = "the fit did not converge, so the scores are approximate; raise the prior"
    return [notice_on(prefs, "no-convergence", text, np.repeat(is_unconverged, np.diff(prefs.slot_ptr)))]


def counted(observed: Observed) -> Duels:
    """Return the pairwise counts of observations, without their design."""
    assert isinstance(observed.plain, ObservedDuels)
    return observed.plain.duels


def _gather(parts: list[Fit], n_slots: int) -> Floats:
    """Join the scores of all parts into one array by slot."""
    out = np.zeros(n_slots)
    for part in parts:
        out[part.slots] = part.score
    return out
