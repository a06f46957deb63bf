"""Rankings of a fixed set of labels as a matrix of ranks, one row per ranking, and their rank correlation."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from concordant.errors import InputError
from concordant.preferences import Preferences
from concordant.types import AnyArray, Floats


class LabelRanks(NamedTuple):
    """Ranks by row and label (1 is best, equal for ties, NaN if unranked), names of the labels, and row weights."""

    rank: Floats
    labels: list[Any]
    weight: Floats | None

    @classmethod
    def of(cls, y: Any, n_rows: int) -> LabelRanks:
        """Read a matrix or DataFrame of ranks (rows x labels), or preferences with one ballot per row."""
        if isinstance(y, Preferences):
            return cls._of_preferences(y, n_rows)
        names = [str(name) for name in getattr(y, "columns", ())]
        try:
            rank = np.asarray(y, np.float64)
        except (TypeError, ValueError):
            raise InputError(
                "y must contain ranks as numbers: 1 for the best label, and NaN for labels without a rank."
            ) from None
        if rank.ndim != 2 or len(rank) != n_rows:
            raise InputError(
                f"y must have one row per row of X ({n_rows:,}) and one column per label, got shape {rank.shape}."
            )
        if np.isinf(rank).any():
            raise InputError("y contains infinity: give finite ranks, or NaN for labels that are not ranked.")
        if not rank.size or np.isnan(rank).all():
            raise InputError("y contains no ranks: give the rank of at least one label.")
        return cls(rank, names or list(range(rank.shape[1])), None)

    def refuse_nothing_to_learn(self, weight: Floats) -> None:
        """Raise InputError if no row with positive weight orders two labels."""
        used = self.rank[weight > 0]
        best, worst = np.fmin.reduce(used, axis=1), np.fmax.reduce(used, axis=1)
        if len(self.labels) > 1 and not (best < worst).any():
            raise InputError("There is nothing to learn: no row of y ranks one label above another. Check y.")

    def aligned_to(self, labels: list[Any]) -> Floats:
        """Return the ranks with columns as in ``labels``, matched by name if both have names, otherwise by position."""
        without_names = list(range(len(labels)))
        if without_names in (self.labels, labels):
            if len(self.labels) != len(labels):
                raise InputError(
                    f"y has {len(self.labels)} labels, but the model was fitted to {len(labels)}: give the "
                    "same labels as in fit."
                )
            return self.rank
        place = {label: k for k, label in enumerate(labels)}
        for unknown in (label for label in self.labels if label not in place):
            raise InputError(f"y ranks the label {unknown!r}, which was not in the training data: leave it out.")
        aligned = np.full((len(self.rank), len(labels)), np.nan)
        aligned[:, [place[label] for label in self.labels]] = self.rank
        return aligned

    @classmethod
    def _of_preferences(cls, prefs: Preferences, n_rows: int) -> LabelRanks:
        """Use ballots as rows, in the order of the instances or agents that identify them, otherwise in input order."""
        if prefs.n_ballots != n_rows:
            raise InputError(f"y has {prefs.n_ballots:,} ballots for {n_rows:,} rows of X: give one ballot per row.")
        row: AnyArray = np.arange(n_rows)
        for codes, names in ((prefs.instance, prefs.instances), (prefs.agent, prefs.agents)):
            if codes is not None and names is not None and len(names) == n_rows == len(np.unique(codes)):
                row = codes
                break
        rank = np.full((n_rows, prefs.n_items), np.nan)
        rank[np.repeat(row, np.diff(prefs.indptr)), prefs.item] = prefs.tier + 1.0
        weight = np.empty(n_rows)
        weight[row] = prefs.weight
        return cls(rank, list(prefs.items), None if prefs.has_unit_weights else weight)


def tau_by_row(truth: Floats, predicted: Floats) -> Floats:
    """Return Kendall's tau-b of every row over the labels that both rank; NaN if the true ranks are all tied.

    If only the predicted ranks are all tied, tau is 0.
    """
    n, k = truth.shape
    together, in_truth, in_prediction = np.zeros(n), np.zeros(n), np.zeros(n)
    for a in range(k):
        for b in range(a + 1, k):
            truth_sign, predicted_sign = truth[:, b] - truth[:, a], predicted[:, b] - predicted[:, a]
            is_known = ~np.isnan(truth_sign) & ~np.isnan(predicted_sign)
            truth_sign, predicted_sign = (
                np.sign(np.where(is_known, difference, 0.0)) for difference in (truth_sign, predicted_sign)
            )
            together += truth_sign * predicted_sign
            in_truth += np.abs(truth_sign)
            in_prediction += np.abs(predicted_sign)
    scale = np.sqrt(in_truth * np.maximum(in_prediction, 1.0))
    return np.where(in_truth > 0, together / np.where(in_truth > 0, scale, 1.0), np.nan)
