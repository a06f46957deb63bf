"""Rows for preference tuning (DPO): a prompt, the chosen and the rejected answer, and the models that wrote them.

If columns name the models (``chosen_model``, ``rejected_model``), the models are the items: a row is a win of the model
whose answer was chosen. Equal scores of both answers (``score_chosen``, ``score_rejected``) are a tie. Without names of
models, the two texts are compared, as in any table with a winner and a loser.
"""

from __future__ import annotations

import numpy as np

from concordant.ballots.vocabulary import Vocabulary
from concordant.tables.derived import Column, DerivedTable
from concordant.tables.options import Options, normalise
from concordant.tables.rows import InputTable

TIE = "tie (equal scores)"


def arrange(table: InputTable, _: Options) -> InputTable | None:
    """Return the table with models as winner and loser; None if no columns name the models."""
    by_plain = {normalise(name): name for name in table.columns}
    models = _both(by_plain, "model", "generator", "source")
    if models is None:
        return None
    scores = _both(by_plain, "score", "rating")
    roles: dict[str, str | None] = {"winner": models[0], "loser": models[1]}
    n_rows = len(table.fetch([models[0]], [])[0][models[0]][0])
    added: dict[str, Column] = {}
    if scores is not None:
        values = table.fetch([], list(scores))[1]
        is_tie = values[scores[0]] == values[scores[1]]
        added[TIE] = np.where(is_tie, 0, 1).astype(np.int32), Vocabulary(["yes", "no"])
        roles["tie"] = TIE
    notes = ["answers for preference tuning: their models are compared"]
    return DerivedTable(table, np.arange(n_rows), added, notes=notes, roles=roles, used=scores or ())


def _both(by_plain: dict[str, str], *stems: str) -> tuple[str, str] | None:
    """Return the columns of the chosen and the rejected answer for the first of these words that has both."""
    for stem in stems:
        for form in ("{side} {stem}", "{stem} {side}"):
            names = [by_plain.get(form.format(side=side, stem=stem)) for side in ("chosen", "rejected")]
            if names[0] is not None and names[1] is not None:
                return names[0], names[1]
    return None
