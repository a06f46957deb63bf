"""Dawid-Skene: the true category of every item and the reliability of every annotator, from categorical annotations.

Every item has a true category (relevant or not; one to five stars). An agent (annotator) shown an item of category k
answers l with probability C[k, l], its confusion matrix; agents answer independently. Expectation-maximisation
alternates between the posterior probabilities of every item's category, given the confusion matrices, and the confusion
matrices, given these probabilities; it starts from the vote shares.

Ratings (or ranks) are the categories. The score of an item is its posterior mean category; ``low`` and ``high`` bound a
credible interval of the category at ``level``. ``ranking.agents`` has the accuracy of each agent, ``ranking.model`` the
confusion matrices and the posterior probabilities. Every agent's matrix is shrunk towards the pooled matrix of all
agents by ``smoothing`` pseudo-answers per true category, so an agent with few answers is treated as average.
Nominal answers (classes without an order, ``Preferences.from_answers``) have no mean: the score of an item is then the
probability of its most likely class, the column ``answer`` of the ranking names this class, and items whose class is
most certain come first.

``confusion="one-coin"`` gives each agent a single accuracy (at least that of guessing), with all errors equally likely:
this is better if agents have few answers.

If all agents make the same mistake, the model cannot detect it. Use it for judgements in few categories by many agents
of varying quality; use ``mpm`` if ratings are a matter of taste or scale.

Cost: categories x answers per step. References: A. P. Dawid and A. M. Skene, Maximum likelihood estimation of observer
error-rates using the EM algorithm, Applied Statistics, 1979; V. C. Raykar et al., Learning from crowds, JMLR, 2010
(smoothing).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from concordant import views
from concordant.aggregate import options
from concordant.aggregate.common import snap_scores
from concordant.ballots.segments import sum_by
from concordant.ballots.vocabulary import Vocabulary, shorten
from concordant.errors import InputError, NeedError, action, arg
from concordant.method import Method, Outcome, Reason
from concordant.models.fitted import FittedModel
from concordant.models.notices import named
from concordant.params import param
from concordant.preferences import Preferences
from concordant.ranking import Notice, Ranking
from concordant.support import memory, progress
from concordant.types import Bools, Floats, Int64s

if TYPE_CHECKING:
    from concordant.narrative.certainty import Certainty

MAX_CATEGORIES = 30
MAX_EXPLAINED = 50  # items whose votes an explanation lists
MAX_CLASSES = 1_000  # of nominal answers
MAX_STEPS = 300
CONVERGED = 1e-7  # change of a chance
TIE_OF_FITTED = 1e-6  # scores this close, relative to the largest, are one score
USELESS = 0.1  # share of the way from guessing to perfection below which an agent is named


@dataclass(frozen=True, kw_only=True)
class DawidSkene(Method):
    """Expected true category of each item, with annotator reliability estimated by EM."""

    usual_name = "Dawid-Skene"
    likelihood_of = "annotations, given the confusion matrices"
    needs = frozenset({"agents", "values"})
    silence = "the agent did not annotate them"
    takes_classes = True
    waives = {
        "condorcet_consistency": "one reliable agent can outweigh many unreliable ones",
        "unanimity": "the answers of an agent that reverses the categories are reversed back",
        "instances_are_independent": "the reliability of the agents is estimated from all instances",
    }
    aliases = {"one-coin": {"confusion": "one-coin"}}

    confusion: str = param(
        "full", "confusion matrix (full) or one accuracy (one-coin) per agent", choices=("full", "one-coin")
    )
    smoothing: float = param(
        2.0, "number of pseudo-answers per category, from an average agent, added for each agent", low=0.0
    )
    level: float = options.level()

    def scores(self, prefs: Preferences) -> Outcome:
        """Return the posterior mean categories with intervals, and the agents' accuracies."""
        data = _Answers(prefs)
        learnt = data.learn(self.confusion, self.smoothing)
        p_right = np.einsum("akk,k->a", learnt.table, learnt.shares)
        assert prefs.agents is not None
        agents = dict(zip(prefs.agents.labels, p_right.tolist(), strict=True))
        of_answers = float(data.weight @ p_right[data.agent] / max(data.weight.sum(), 1e-300))
        outcome = (
            self._classified(prefs, data, learnt) if prefs.classes is not None else self._graded(prefs, data, learnt)
        )
        model = DawidSkeneModel.of(
            prefs,
            outcome.score,
            agents=prefs.agents,
            categories=data.categories,
            shares=learnt.shares,
            confusions=learnt.table,
            posterior=learnt.chance,
            classes=None if prefs.classes is None else tuple(prefs.classes.take(data.categories.astype(np.int64))),
        )
        fit = {"log_likelihood": learnt.log_likelihood, "right_answers": of_answers}
        return replace(outcome, agents=agents, fit=fit, warnings=_notices(agents, learnt), model=model)

    def _classified(self, prefs: Preferences, data: _Answers, learnt: Learnt) -> Outcome:
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

    def _graded(self, prefs: Preferences, data: _Answers, learnt: Learnt) -> Outcome:
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


@dataclass(frozen=True, eq=False, repr=False)
class DawidSkeneModel(FittedModel):
    """Categories (worst first) with their shares, confusion matrices by agent, and category probabilities by slot."""

    agents: Vocabulary
    categories: Floats
    shares: Floats
    confusions: Floats
    """agent x true category x answer"""
    posterior: Floats
    """slot x category: posterior probabilities of the true category"""
    classes: tuple[str, ...] | None = None
    """Names of the categories of nominal answers, which have no order"""

    def confusion(self, agent: object) -> Floats:
        """Return the confusion matrix of one agent: a row with P(answer) per true category."""
        return np.asarray(self.confusions[self.agents.code(agent, "agent")])

    def chances(self, first: Int64s, second: Int64s) -> tuple[Floats, Floats, Floats]:
        """Return the probabilities that the first slot of each pair has a higher, a lower, or the same category."""
        if self.classes is not None:
            raise NeedError(
                "Classes without an order do not compare items: use posterior, the probability of each class."
            )
        p_first, p_second = self.posterior[first], self.posterior[second]
        same = (p_first * p_second).sum(axis=1)
        up = (p_first * (np.cumsum(p_second, axis=1) - p_second)).sum(axis=1)
        return up, np.maximum(1 - up - same, 0.0), same

    def log_likelihood(self, prefs: Preferences) -> float:
        """Return the log-likelihood of other answers; an unknown agent gets the mean confusion matrix."""
        prefs, _ = self.known_part(prefs)
        answers = _Answers(self._in_my_codes(prefs), self.categories)
        code = self.agents.codes(prefs.agents) if prefs.agents is not None else np.zeros(0, np.int64)
        with_usual = np.concatenate([self.confusions, self.confusions.mean(axis=0, keepdims=True)])
        return answers.expect(with_usual[code], self.shares)[1]

    def _in_my_codes(self, prefs: Preferences) -> Preferences:
        """Return nominal answers with the codes of this model's classes; unknown classes get codes of their own."""
        if (self.classes is None) != (prefs.classes is None):
            raise NeedError("The model and the answers differ in scale: give classes to both, or numbers to both.")
        if self.classes is None or prefs.classes is None:
            return prefs
        known = Vocabulary(self.classes).codes(prefs.classes)
        n_codes = int(self.categories.max(initial=-1.0)) + 1
        strange = n_codes + np.arange(len(known))
        code = np.where(known >= 0, self.categories[known], strange)
        names = [f"class {k}" for k in range(n_codes + len(known))]
        return prefs.replace(value=code[prefs.value.astype(np.int64)], classes=names)  # type: ignore[union-attr]

    def drawn(self, n: int, slots: Int64s, rng: np.random.Generator) -> tuple[Int64s, Int64s]:
        """Draw the answers of random agents that rate all candidates: slots best first, and tiers."""
        if self.classes is not None:
            raise NeedError("Classes without an order do not rank items: no ballots can be drawn from this model.")
        truth = _draw(np.broadcast_to(self.posterior[slots], (n, len(slots), len(self.categories))), rng)
        agent = rng.integers(0, len(self.confusions), n)
        answer = _draw(self.confusions[agent[:, None], truth], rng)
        order = np.argsort(-answer, axis=1, kind="stable")
        sorted_answer = np.take_along_axis(answer, order, axis=1)
        tier = np.cumsum(np.diff(sorted_answer, axis=1, prepend=sorted_answer[:, :1]) != 0, axis=1)
        return slots[order], tier


def _draw(chance: Floats, rng: np.random.Generator) -> Int64s:
    """Draw a category from each distribution along the last axis (inverse of the cumulative distribution)."""
    cumulative = np.cumsum(chance, axis=-1)
    return np.asarray((cumulative < rng.random(chance.shape[:-1])[..., None] * cumulative[..., -1:]).sum(axis=-1))


class Learnt(NamedTuple):
    """The estimates of expectation-maximisation."""

    chance: Floats
    """slot x category"""
    table: Floats
    """agent x true category x answer"""
    shares: Floats
    log_likelihood: float
    has_converged: bool


class _Answers:
    """The annotations: agent, slot and answer."""

    def __init__(self, prefs: Preferences, categories: Floats | None = None) -> None:
        if prefs.value is None or prefs.agent is None or prefs.agents is None:
            raise NeedError(
                "dawid-skene needs the rating that each agent gave: "
                + action("values", "build the preferences with from_ratings")
                + ", and give the agents with "
                + arg("agent")
                + "."
            )
        value = -prefs.value if prefs.scale == "rank" else prefs.value
        self.categories = np.unique(value) if categories is None else categories
        code = np.minimum(np.searchsorted(self.categories, value), len(self.categories) - 1)
        if (self.categories[code] != value).any():
            stranger = value[self.categories[code] != value][0]
            what = f"The value {stranger:g}" if prefs.classes is None else "An answer"
            raise InputError(
                f"{what} is not one of the categories of this model: remove the ratings with other values."
            )
        self._check_size(prefs)
        self.answer: Int64s = code.astype(np.int64)
        self.slot = prefs.entry_slot
        self.agent = prefs.agent[views.ballot_of_entry(prefs)].astype(np.int64)
        self.weight = views.weight_of_entry(prefs)
        self.n_slots, self.n_agents = prefs.n_slots, len(prefs.agents)

    def _check_size(self, prefs: Preferences) -> None:
        """Reject too many categories: they are free text or measurements, or their matrices do not fit into memory."""
        n = len(self.categories)
        if prefs.classes is not None:
            if n > MAX_CLASSES:
                raise InputError(
                    f"The answers take {n:,} different classes, more than {MAX_CLASSES:,}: check that their column is "
                    "right, or decide by majority vote."
                )
            memory.require(
                24.0 * (prefs.n_agents or 0) * n**2, f"dawid-skene on {n:,} classes", "decide by majority vote"
            )
        elif n > MAX_CATEGORIES:
            raise InputError(
                f"The values take {len(self.categories):,} different levels, too many for categories: round "
                f"them to at most {MAX_CATEGORIES}, or use mpm or mean-rating."
            )

    def learn(self, confusion: str, smoothing: float) -> Learnt:
        """Estimate confusion matrices and category probabilities by EM, starting from the votes."""
        k = len(self.categories)
        votes = sum_by(self.slot * k + self.answer, self.weight, self.n_slots * k).reshape(self.n_slots, k)
        n_answers = votes.sum(axis=1)
        shares = votes.sum(axis=0) / max(votes.sum(), 1e-300)
        chance = np.where(n_answers[:, None] > 0, votes / np.where(n_answers > 0, n_answers, 1.0)[:, None], shares)
        estimates = self.fit(chance, n_answers > 0, confusion, smoothing)
        for _ in progress.iterations(range(MAX_STEPS), "expectation-maximisation"):
            previous = chance
            chance, log_likelihood = self.expect(*estimates)
            estimates = self.fit(chance, n_answers > 0, confusion, smoothing)
            if np.abs(chance - previous).max(initial=0.0) < CONVERGED:
                return Learnt(chance, *estimates, log_likelihood, True)
        return Learnt(chance, *estimates, log_likelihood, False)

    def fit(self, chance: Floats, is_answered: Bools, confusion: str, smoothing: float) -> tuple[Floats, Floats]:
        """M-step: return every agent's confusion matrix and the category shares, given the probabilities by slot.

        Counts are smoothed by pseudo-answers of an average agent.
        """
        k = len(self.categories)
        key, n = self.agent * k + self.answer, self.n_agents * k
        columns = [sum_by(key, self.weight * chance[self.slot, true], n) for true in range(k)]
        counts = np.stack(columns, axis=1).reshape(self.n_agents, k, k).transpose(0, 2, 1)
        of_all = counts.sum(axis=0) + 1e-9 * (1 + k * np.eye(k))
        shares = chance[is_answered].mean(axis=0) if is_answered.any() else np.full(k, 1 / k)
        if confusion == "one-coin":
            total = counts.sum(axis=(1, 2))
            usual_right = of_all.trace() / of_all.sum()
            p_right = np.einsum("akk->a", counts) + smoothing * usual_right
            p_right = np.where(total + smoothing > 0, p_right / np.maximum(total + smoothing, 1e-300), usual_right)
            p_right = np.maximum(p_right, 1 / k)
            p_wrong = (1 - p_right) / max(k - 1, 1)
            table = p_wrong[:, None, None] * (1 - np.eye(k)) + p_right[:, None, None] * np.eye(k)
        else:
            table = counts + max(smoothing, 1e-9) * of_all / of_all.sum(axis=1, keepdims=True)
            table = table / table.sum(axis=2, keepdims=True)
        return table, np.maximum(shares, 1e-12)

    def expect(self, table: Floats, shares: Floats) -> tuple[Floats, float]:
        """E-step: return the category probabilities of every slot, and the log-likelihood of all answers."""
        log_table, k = np.log(np.maximum(table, 1e-300)), len(self.categories)
        log_by_category = [
            sum_by(self.slot, self.weight * log_table[self.agent, true, self.answer], self.n_slots) for true in range(k)
        ]
        joint = np.stack(log_by_category, axis=1) + np.log(shares)
        total = np.logaddexp.reduce(joint, axis=1, keepdims=True)
        return np.exp(joint - total), float(total.sum())


def _notices(agents: Mapping[str, float], learnt: Learnt) -> tuple[Notice, ...]:
    """Return notices about agents whose answers hardly depend on the item, and about a fit that did not converge."""
    warnings = []
    k = len(learnt.shares)
    # 1 if the rows are different corners, 0 if the answer does not depend on the true category.
    informativeness = (learnt.table.max(axis=1).sum(axis=1) - 1) / max(k - 1, 1)
    useless = tuple(agent for agent, value in zip(agents, informativeness.tolist(), strict=True) if value < USELESS)
    if useless and k > 1:
        text = f"the answers of {len(useless)} of {len(agents)} agents hardly depend on the item"
        warnings.append(Notice("outlier-agents", f"{text}: {named(useless)}", useless))
    if not learnt.has_converged:
        warnings.append(
            Notice("no-convergence", f"the category probabilities did not converge in {MAX_STEPS} steps", ())
        )
    return tuple(warnings)
