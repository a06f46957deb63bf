"""A ranker with a freely chosen loss.

    LossRanker(loss="exponential")       the loss of RankBoost, with a linear model
    LossRanker(loss=MyLoss(margin=2))    a subclass of concordant.losses.base.Loss

Models (linear, network or kernel), solvers, queries, pairs and weights are the same as for the other rankers. The
exponential loss exp(-(f_i - f_j)) penalises badly misordered pairs most heavily; it costs O(n) per query of n rows.

Reference: Y. Freund, R. Iyer, R. Schapire, Y. Singer, An efficient boosting algorithm for combining preferences, JMLR
2003.
"""

from __future__ import annotations

from dataclasses import dataclass

from concordant import losses
from concordant.errors import ParameterError, arg
from concordant.learn._gradient import RidgeRanker
from concordant.losses.base import Loss


@dataclass(eq=False, repr=False)
class LossRanker(RidgeRanker):
    """Ranker that minimises a chosen loss.

    Parameters
    ----------
    loss : str or Loss, default 'exponential'
        Name of a loss (``concordant losses`` lists all) or an instance of a subclass of ``Loss``.
    """

    loss: str | Loss = "exponential"

    def _loss(self) -> Loss:
        """Return the loss, from its name if that is given."""
        if isinstance(self.loss, Loss):
            return self.loss
        if not isinstance(self.loss, str):
            raise ParameterError(
                arg("loss", self.loss) + " is not a loss: give a name or an instance of a subclass of Loss."
            )
        return losses.load(self.loss)()
