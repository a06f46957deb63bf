"""What all methods of this family do with estimated classes and confusion matrices: scores, intervals and notices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from concordant import views
from concordant.aggregate import options
from concordant.aggregate.common import snap_scores
from concordant.ballots.vocabulary import shorten
from concordant.method import Method, Outcome, Reason
from concordant.models.annotators import em
from concordant.models.annotators.answers import Answers, shares_of_votes
from concordant.models.annotators.fitted import AnnotationModel
from concordant.models.notices import named
from concordant.preferences import Preferences
from concordant.ranking import Notice, Ranking
from concordant.types import Floats

if TYPE_CHECKING:
    from concordant.narrative.certainty import Certainty

MAX_EXPLAINED = 50  # items whose votes an explanation lists
TIE_OF_FITTED = 1e-6  # scores this close, relative to the largest, are one score
USELESS = 0.1  # share of the way from guessing to perfection below which an agent is named


class Learnt(NamedTuple):
    """The estimates of a model of annotators."""

    chance: Floats
    """slot x category"""
    confusions: Floats
    """agent x true category x answer"""
    shares: Floats
    counts: Floats
    """agent x answer x true category: expected number of answers"""
    log_likelihood: float
    has_converged: bool
    fit: Mapping[str, float] = {}
    ability: Floats | None = None
    log_ease: Floats | None = None
    agents: Floats | None = None
    """What the ranking tells of each agent; None: its probability of a correct answer."""


@dataclass(frozen=True, kw_only=True)
class AnnotationMethod(Method):
    """Base of the methods that estimate the class of each item and the reliability of each annotator."""

    likelihood_of = "annotations, given the confusion matrices"
    needs = frozenset({"agents", "values"})
    silence = "the agent did not annotate them"
    takes_classes = True
    waives = {
        "condorcet_consistency": "one reliable agent can outweigh many unreliable ones",
        "unanimity": "the answers of an agent that reverses the categories are reversed back",
        "instances_are_independent": "the reliability of the agents is estimated from all instances",
    }
    needs_order: ClassVar[bool] = False
    """Whether the model needs classes in an order."""

    level: float = options.level()

    def learn(self, answers: Answers) -> Learnt:
        """Estimate classes and confusion matrices; every method of the family implements this."""
        raise NotImplementedError

    def scores(self, prefs: Preferences) -> Outcome:
        """Return the posterior mean categories with intervals, and the agents' accuracies."""
        return self.scores_given(prefs, None)

    def scores_given(self, prefs: Preferences, known: Floats | None) -> Outcome:
        """Return the scores where the classes of some slots are known: values of the answers, NaN elsewhere."""
        data = Answers.of(prefs, self.name)
        if known is not None:
            data = data.with_known(known)
        learnt = self.learn(data)
        assert prefs.agents is not None
        outcome = (
            self._classified(prefs, data, learnt) if prefs.classes is not None else self._graded(prefs, data, learnt)
        )
        model = AnnotationModel.of(
            prefs,
            outcome.score,
            agents=prefs.agents,
            categories=data.categories,
            shares=learnt.shares,
            confusions=learnt.confusions,
            posterior=learnt.chance,
            counts=learnt.counts,
            classes=None if prefs.classes is None else tuple(prefs.classes.take(data.categories.astype(np.int64))),
            ability=learnt.ability,
            log_ease=learnt.log_ease,
        )
        p_right = model.accuracy()
        agents = dict(
            zip(prefs.agents.labels, (p_right if learnt.agents is None else learnt.agents).tolist(), strict=True)
        )
        of_answers = float(data.weight @ p_right[data.agent] / max(data.total, 1e-300))
        fit = {"log_likelihood": learnt.log_likelihood, "right_answers": of_answers, **learnt.fit}
        return replace(outcome, agents=agents, fit=fit, warnings=_notices(agents, learnt), model=model)

    def _classified(self, prefs: Preferences, data: Answers, learnt: Learnt) -> Outcome:
        """Return the most likely class of every item, scored by its probability."""
        assert prefs.classes is not None
        likely = learnt.chance.argmax(axis=1)
        score = snap_scores(prefs, learnt.chance.max(axis=1, initial=0.0), TIE_OF_FITTED)
        names = np.array(prefs.classes.take(data.categories[likely].astype(np.int64)), object)
        return Outcome(score=score, beside={"answer": names})

    def assessed(self, prefs: Preferences, ranking: Ranking) -> Sequence[Certainty]:
        """Assess the first places; classes have none, because a probability of a class is not a merit of the item."""
        if prefs.classes is None:
            return super().assessed(prefs, ranking)
        from concordant.narrative.certainty import Certainty

        return [Certainty(self.name, size, ()) for size in np.diff(ranking.slot_ptr).tolist()]

    def reasons(self, prefs: Preferences, ranking: Ranking) -> Sequence[Reason]:
        """Explain a ranking; for classes, with the votes and the probability of the most likely class of each item."""
        if prefs.classes is None or prefs.value is None:
            return super().reasons(prefs, ranking)
        votes = np.zeros((prefs.n_slots, len(prefs.classes)))
        np.add.at(votes, (prefs.entry_slot, prefs.value.astype(np.int64)), views.weight_of_entry(prefs))
        rows = []
        for k in ranking.order[:MAX_EXPLAINED].tolist():
            name = str(ranking.beside["answer"][k])
            share = f"{votes[k, prefs.classes.code(name)]:g} of {votes[k].sum():g}"
            item = shorten(prefs.items[int(prefs.slot_item[k])])
            rows.append([item, shorten(name), share, f"{ranking.score[k]:.3f}"])
        text = "The score of an item is the probability of its most likely class; it says nothing about quality."
        header = ["item", "most likely class", "answers for it", "probability"]
        return [Reason("Most likely classes", [text], header, rows, frozenset([2, 3]))]

    def _graded(self, prefs: Preferences, data: Answers, learnt: Learnt) -> Outcome:
        """Return the posterior mean category of every item, with credible intervals."""
        chance, categories = learnt.chance, data.categories
        mean = chance @ categories
        score = snap_scores(prefs, mean, TIE_OF_FITTED)
        cumulative = np.cumsum(chance, axis=1)
        low, high = (
            categories[np.minimum((cumulative < tail - 1e-12).sum(axis=1), len(categories) - 1)]
            for tail in ((1 - self.level) / 2, (1 + self.level) / 2)
        )
        unit = max(float(np.abs(categories).max(initial=0.0)), 1e-300)  # squares of huge values overflow
        deviation = unit * np.sqrt(np.maximum(chance @ (categories / unit) ** 2 - (mean / unit) ** 2, 0.0))
        return Outcome(
            score=score, low=np.minimum(low, score), high=np.maximum(high, score), details={"stderr": deviation}
        )


def learnt_by(answers: Answers, coding: em.Coding, tolerance: float | None = None) -> tuple[Learnt, em.Fit]:
    """Fit a coding of confusion matrices by expectation-maximisation, starting from the shares of the votes."""
    found = em.fit(answers, coding, shares_of_votes(answers), tolerance or em.CONVERGED)
    learnt = Learnt(
        found.chance,
        found.coding.confusions(found.psi),
        found.coding.shares(found.psi),
        found.counts,
        found.log_likelihood,
        found.has_converged,
        {"steps": float(found.steps)},
    )
    return learnt, found


def _notices(agents: Mapping[str, float], learnt: Learnt) -> tuple[Notice, ...]:
    """Return notices about agents whose answers hardly depend on the item, and about a fit that did not converge."""
    warnings = []
    k = len(learnt.shares)
    # 1 if the rows are different corners, 0 if the answer does not depend on the true category.
    informativeness = (learnt.confusions.max(axis=1).sum(axis=1) - 1) / max(k - 1, 1)
    useless = tuple(agent for agent, value in zip(agents, informativeness.tolist(), strict=True) if value < USELESS)
    if useless and k > 1:
        text = f"the answers of {len(useless)} of {len(agents)} agents hardly depend on the item"
        warnings.append(Notice("outlier-agents", f"{text}: {named(useless)}", useless))
    if not learnt.has_converged:
        warnings.append(Notice("no-convergence", "the category probabilities did not converge", ()))
    return tuple(warnings)
