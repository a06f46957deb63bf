"""Dawid-Skene: the true category of every item and the reliability of every annotator, from categorical annotations.

Every item has a true category (relevant or not; one to five stars). An agent (annotator) shown an item of category k
answers l with probability C[k, l], its confusion matrix; agents answer independently. Expectation-maximisation
alternates between the posterior probabilities of every item's category, given the confusion matrices, and the confusion
matrices, given these probabilities. It starts from the vote shares, and squared extrapolation (SQUAREM) makes it
converge in a few dozen steps.

Ratings (or ranks) are the categories. The score of an item is its posterior mean category; ``low`` and ``high`` bound a
credible interval of the category at ``level``. ``ranking.agents`` has the accuracy of each agent, ``ranking.model`` the
confusion matrices and the posterior probabilities. The rows of every agent's matrix have Dirichlet priors that are
common to all agents, so an agent with few answers is treated as average. ``smoothing="auto"`` chooses the priors by
marginal likelihood (empirical Bayes); a number adds so many answers of the average agent to each row, and 0 is maximum
likelihood, as published.
Nominal answers (classes without an order, ``Preferences.from_answers``) have no mean: the score of an item is then the
probability of its most likely class, the column ``answer`` of the ranking names this class, and items whose class is
most certain come first.

``confusion="one-coin"`` gives each agent a single accuracy (at least that of guessing), with all errors equally likely:
this is better if agents have few answers.

If all agents make the same mistake, the model cannot detect it. Use it for judgements in few categories by many agents
of varying quality; use ``ordinal-annotators`` for ordered categories, ``mace`` if many agents are spammers, ``glad`` if
items differ in difficulty, and ``mpm`` if ratings are a matter of taste or scale. ``concordant crowd`` compares them by
held-out likelihood.

Cost: categories x answers per step; a million answers take less than a second. References: A. P. Dawid and A. M. Skene,
Maximum likelihood estimation of observer error-rates using the EM algorithm, Applied Statistics, 1979; V. C. Raykar et
al., Learning from crowds, JMLR, 2010 (priors).
"""

from __future__ import annotations

from dataclasses import dataclass

from concordant.aggregate.crowd._annotations import AnnotationMethod, Learnt, learnt_by
from concordant.models.annotators.answers import Answers
from concordant.models.annotators.codings import Full, OneCoin
from concordant.params import param


@dataclass(frozen=True, kw_only=True)
class DawidSkene(AnnotationMethod):
    """Expected true category of each item, with annotator reliability estimated by EM."""

    usual_name = "Dawid-Skene"
    aliases = {"one-coin": {"confusion": "one-coin"}}

    confusion: str = param(
        "full", "confusion matrix (full) or one accuracy (one-coin) per agent", choices=("full", "one-coin")
    )
    smoothing: float | str = param(
        "auto",
        "number of pseudo-answers per category, from an average agent, added for each agent; auto: prior chosen by "
        "marginal likelihood",
        low=0.0,
        words=("auto",),
    )

    def learn(self, answers: Answers) -> Learnt:
        """Estimate confusion matrices and category probabilities by EM."""
        coding = Full if self.confusion == "full" else OneCoin
        smoothing = None if isinstance(self.smoothing, str) else float(self.smoothing)
        return learnt_by(answers, coding(answers.n_agents, answers.n_classes, smoothing))[0]
