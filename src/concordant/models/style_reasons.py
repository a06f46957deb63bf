"""Style control in words: what covariates were worth, and what taking them into account changed."""

from __future__ import annotations

import numpy as np

from concordant.ballots.vocabulary import shorten
from concordant.kernels.links import BRADLEY_TERRY, chances
from concordant.models.fitted import PairModel
from concordant.ranking import Ranking
from concordant.results.coefficients import HEADER, Coefficient, rows_of
from concordant.results.explanation import Reason

SHOWN = 5  # items that moved most


def style_reasons(ranking: Ranking) -> tuple[Reason, ...]:
    """Say what covariates of what was compared did to the ranking of one instance; nothing where there are none."""
    if not ranking.coefficients:
        return ()
    model = ranking.model
    sentences = [_said(one, model) for one in ranking.coefficients]
    if "uncorrected_rank" in ranking.beside:
        sentences.append(_moved(ranking))
    right = frozenset(range(1, len(HEADER)))
    return (Reason("What covariates are worth", sentences, HEADER, rows_of(ranking.coefficients), right),)


def _said(one: Coefficient, model: object) -> str:
    name = shorten(one.name)
    if one.spread == 0:
        return f"{name} never differs inside a ballot, so it says nothing."
    up, down, _ = _between_equals(one.per_deviation, model)
    share = 100 * up / (up + down)
    said = f"Between equals, one standard deviation ({one.spread:.4g}) more of {name} wins {share:.0f}% of "
    said += "the comparisons that are decided" if 0 < up + down < 1 - 1e-9 else "the comparisons"
    if one.low is not None and one.high is not None and one.low <= 0 <= one.high:
        said += ", which may be chance: the interval holds zero"
    return said + "."


def _between_equals(lead: float, model: object) -> tuple[float, float, float]:
    link, tie = (model.link, model.tie[:1]) if isinstance(model, PairModel) else (BRADLEY_TERRY, np.zeros(1))
    up, down, even = chances(link, np.array([lead]), tie)
    return float(up[0]), float(down[0]), float(even[0])


def _moved(ranking: Ranking) -> str:
    before, after = ranking.beside["uncorrected_rank"], ranking.rank_by_slot
    change = before.astype(int) - after
    labels = ranking.vocabulary.take(ranking.slot_item)
    most = sorted((k for k in range(len(change)) if change[k]), key=lambda k: (-abs(int(change[k])), int(after[k])))
    if not most:
        return "With everything else equal the ranking stays as it is without them."
    moves = [f"{shorten(labels[k], 30)} from {before[k]} to {after[k]}" for k in most[:SHOWN]]
    more = f" and {len(most) - SHOWN:,} more items" if len(most) > SHOWN else ""
    return f"With everything else equal these change rank: {', '.join(moves)}{more}."
