"""Ordinal annotators: ordered classes, from annotators with a slope and thresholds each (cumulative logit model).

Every item has a true class on an ordered scale (grades, severities, stars). An agent (annotator) shown an item of class
k (0 … K - 1) answers at most l with probability logistic(c_l - s (k - (K - 1) / 2)). Its thresholds c say how it uses
the scale (strict, lenient, only the middle), and its slope s how well it tells classes apart: 0 is a random clicker or
a constant answerer. Parameters have Gaussian priors that are common to all agents, with means and variances from the
data (empirical Bayes), and are estimated by expectation-maximisation with squared extrapolation.

With as many parameters per agent as there are classes, the model needs fewer answers than ``dawid-skene`` on the same
scale, because it knows that neighbouring classes are confused first. Classes without an order are rejected:
``Preferences.from_answers`` needs ``categories``. Scores, intervals and ``ranking.agents`` are those of
``dawid-skene``.

Cost: classes x answers per step, and agents x classes^4 for the parameters. Reference: F. Samejima, Estimation of
latent ability using a response pattern of graded scores, Psychometrika, 1969.
"""

from __future__ import annotations

from dataclasses import dataclass

from concordant.aggregate.crowd._annotations import AnnotationMethod, Learnt, learnt_by
from concordant.models.annotators.answers import Answers
from concordant.models.annotators.codings import OneCoin
from concordant.models.annotators.thresholds import Thresholds


@dataclass(frozen=True, kw_only=True)
class OrdinalAnnotators(AnnotationMethod):
    """Expected true class of each item on an ordered scale, with slope and thresholds by annotator."""

    usual_name = "ordinal model of annotators"
    takes_classes = False
    aliases = {"ordinal": {}}

    def learn(self, answers: Answers) -> Learnt:
        """Estimate slopes, thresholds and class probabilities by EM."""
        coding = Thresholds if answers.n_classes > 1 else OneCoin
        return learnt_by(answers, coding(answers.n_agents, answers.n_classes))[0]
