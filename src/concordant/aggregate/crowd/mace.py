"""MACE: annotators who know the class or spam, each with a competence and a strategy of spamming.

An agent (annotator) shown an item knows its class with a probability, its competence, and then answers correctly.
Otherwise it spams: it draws an answer from a distribution of its own that does not depend on the item, its strategy.
Constant answerers spam with one answer, random clickers with all. Competences and strategies have Dirichlet priors
that are common to all agents, with parameters chosen by marginal likelihood (empirical Bayes), and are estimated by
expectation-maximisation with squared extrapolation.

With about as many parameters per agent as there are classes, MACE needs fewer answers per agent than ``dawid-skene``,
but it cannot learn which classes an agent confuses. ``ranking.agents`` has the competence of each agent. Scores,
intervals and classes are those of ``dawid-skene``.

Cost: classes x answers per step. Reference: D. Hovy, T. Berg-Kirkpatrick, A. Vaswani and E. Hovy, Learning whom to
trust with MACE, NAACL 2013.
"""

from __future__ import annotations

from dataclasses import dataclass

from concordant.aggregate.crowd._annotations import AnnotationMethod, Learnt, learnt_by
from concordant.models.annotators.answers import Answers
from concordant.models.annotators.codings import Spamming


@dataclass(frozen=True, kw_only=True)
class MACE(AnnotationMethod):
    """Expected true category of each item, from annotators who know it or spam."""

    usual_name = "MACE model"

    def learn(self, answers: Answers) -> Learnt:
        """Estimate competences, strategies and category probabilities by EM."""
        learnt, found = learnt_by(answers, Spamming(answers.n_agents, answers.n_classes))
        return learnt._replace(agents=found.coding.blocks(found.psi)[0][:, 0])
