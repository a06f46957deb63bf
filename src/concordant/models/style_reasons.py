"""Style control in words: what covariates were worth, and what taking them into account changed."""

from __future__ import annotations

import numpy as np

from concordant.ballots.vocabulary import shorten
from concordant.kernels.links import BRADLEY_TERRY, chances
from concordant.models.fitted import PairModel
from concordant.ranking import Ranking
from concordant.results.coefficients import Coefficient, header_of, rows_of
from concordant.results.explanation import Reason

SHOWN = 5  # items that moved most


def style_reasons(ranking: Ranking) -> tuple[Reason, ...]:
    """Explain what covariates of the comparisons did to the ranking of one instance; empty where there are none."""
    if not ranking.coefficients:
        return ()
    model = ranking.model
    sentences = [_said(coefficient, model) for coefficient in ranking.coefficients]
    if "uncorrected_rank" in ranking.beside:
        sentences.append(_moved(ranking))
    header = header_of(ranking.params.get("level"))
    right = frozenset(range(1, len(header)))
    return (Reason("Covariate effects", sentences, header, rows_of(ranking.coefficients), right),)


def _said(coefficient: Coefficient, model: object) -> str:
    """Return a sentence on the effect of one standard deviation of a covariate between otherwise equal items."""
    name = shorten(coefficient.name)
    if coefficient.spread == 0:
        return f"{name} never differs inside a ballot, so it says nothing."
    up, down, _ = _between_equals(coefficient.per_deviation, model)
    share = 100 * up / (up + down)
    sentence = f"Between equals, one standard deviation ({coefficient.spread:.4g}) more of {name} wins {share:.0f}% of "
    sentence += "the comparisons that are decided" if 0 < up + down < 1 - 1e-9 else "the comparisons"
    if coefficient.low is not None and coefficient.high is not None and coefficient.low <= 0 <= coefficient.high:
        sentence += ", which may be chance: the interval holds zero"
    return sentence + "."


def _between_equals(lead: float, model: object) -> tuple[float, float, float]:
    """Return the chances of win, loss and tie for this lead under the model's link (Bradley-Terry without one)."""
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
        return "With everything else equal the ranking stays as it is without them."
    moves = [f"{shorten(labels[k], 30)} from {before[k]} to {after[k]}" for k in moved_most[:SHOWN]]
    and_more = f" and {len(moved_most) - SHOWN:,} more items" if len(moved_most) > SHOWN else ""
    return f"With everything else equal these change rank: {', '.join(moves)}{and_more}."
