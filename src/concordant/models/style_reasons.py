"""Explanations of style control: covariate effects, and the ranks that change because of them."""

from __future__ import annotations

import numpy as np

from concordant.ballots.vocabulary import shorten
from concordant.kernels.links import BRADLEY_TERRY, chances
from concordant.models.fitted import PairModel
from concordant.ranking import Ranking
from concordant.results.coefficients import Coefficient, header_of, rows_of
from concordant.results.explanation import Reason
from concordant.results.scales import line_of

SHOWN = 5  # items that moved most


def style_reasons(ranking: Ranking) -> tuple[Reason, ...]:
    """Explain how covariates changed the ranking of one instance; empty without covariates."""
    if not ranking.coefficients:
        return ()
    model = ranking.model
    unit, _ = line_of(ranking)
    sentences = [_said(coefficient, model, unit) for coefficient in ranking.coefficients]
    if "uncorrected_rank" in ranking.beside:
        sentences.append(_moved(ranking))
    header = header_of(ranking.params.get("level"))
    right = frozenset(range(1, len(header)))
    return (Reason("Covariate effects", sentences, header, rows_of(ranking.coefficients), right),)


def _said(coefficient: Coefficient, model: object, unit: float) -> str:
    """Return a sentence on the effect of one standard deviation of a covariate between otherwise equal items.

    ``unit`` is the unit of the coefficient in scores of the model.
    """
    name = shorten(coefficient.name)
    if coefficient.spread == 0:
        return f"{name} never differs within a ballot, so it has no effect."
    up, down, _ = between_equals(coefficient.per_deviation / unit, model)
    share = 100 * up / (up + down)
    more = f"one standard deviation ({coefficient.spread:.4g}) more of {name}"
    sentence = f"Between otherwise equal items, {more} wins {share:.0f}% of "
    sentence += "the decided comparisons" if 0 < up + down < 1 - 1e-9 else "the comparisons"
    if coefficient.low is not None and coefficient.high is not None and coefficient.low <= 0 <= coefficient.high:
        sentence += ", which is not significant: the interval contains zero"
    return sentence + "."


def between_equals(lead: float, model: object) -> tuple[float, float, float]:
    """Return win, loss and tie probabilities at this score difference, by the model's link or Bradley-Terry."""
    link, tie = (model.link, model.tie[:1]) if isinstance(model, PairModel) else (BRADLEY_TERRY, np.zeros(1))
    up, down, even = chances(link, np.array([lead]), tie)
    return float(up[0]), float(down[0]), float(even[0])


def _moved(ranking: Ranking) -> str:
    """Return a sentence with the items whose rank changes most when covariates are taken into account."""
    before, after = ranking.beside["uncorrected_rank"], ranking.rank_by_slot
    change = before.astype(int) - after
    labels = ranking.vocabulary.take(ranking.slot_item)
    moved_most = sorted(
        (k for k in range(len(change)) if change[k]), key=lambda k: (-abs(int(change[k])), int(after[k]))
    )
    if not moved_most:
        return "Controlling for covariates changes no rank."
    moves = [f"{shorten(labels[k], 30)} from {before[k]} to {after[k]}" for k in moved_most[:SHOWN]]
    n_more = len(moved_most) - SHOWN
    and_more = f" and {n_more:,} more item{'s' * (n_more > 1)}" if n_more > 0 else ""
    return f"Controlling for covariates changes these ranks: {', '.join(moves)}{and_more}."
