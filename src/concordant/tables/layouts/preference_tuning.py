"""Rows for preference tuning (DPO): a prompt, the chosen and the rejected answer, and the models that wrote them.

If columns name the models (``chosen_model``, ``rejected_model``), the models are the items: a row is a win of the model
whose answer was chosen. Equal scores of both answers (``score_chosen``, ``score_rejected``) are a tie. Without names of
models, the two texts are compared, as in any table with a winner and a loser; of a conversation (a list of messages),
the last message is the text.
"""

from __future__ import annotations

import numpy as np

from concordant.ballots.vocabulary import Vocabulary
from concordant.tables.cells import encode_cells
from concordant.tables.derived import Column, DerivedTable, rows_of
from concordant.tables.nested import parsed
from concordant.tables.options import Options, normalise
from concordant.tables.rows import InputTable

TIE = "tie (equal scores)"


def arrange(table: InputTable, _: Options) -> InputTable | None:
    """Return the table with models as winner and loser; None if no columns name the models."""
    by_plain = {normalise(name): name for name in table.columns}
    models = _both(by_plain, "model", "model name", "generator", "policy", "source")
    if models is None:
        return _last_messages(table, by_plain["chosen"], by_plain["rejected"])
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


def _last_messages(table: InputTable, chosen: str, rejected: str) -> InputTable | None:
    """Return the table with the last message of each conversation; None if the texts are not conversations."""
    texts = table.fetch([chosen, rejected], [])[0]
    starts = {label[:1] for _, labels in texts.values() for label in labels[:1]}
    if not starts or not starts <= {"[", "{"}:
        return None
    last = {name: [_last_message(label) for label in labels.labels] for name, (_, labels) in texts.items()}
    if any(text is None for found in last.values() for text in found):
        return None
    added: dict[str, Column] = {}
    for name, (codes, _) in texts.items():  # the code -1 of a missing text leads to the last entry, None
        added[name] = rows_of(encode_cells([*last[name], None], name), codes.astype(np.int64))
    n_rows = len(texts[chosen][0])
    notes = ["answers for preference tuning: the last messages of the conversations are compared"]
    return DerivedTable(table, np.arange(n_rows), added, notes=notes, roles={"winner": chosen, "loser": rejected})


def _last_message(text: str) -> str | None:
    """Return the content of the last message of a conversation in JSON; None if the text is something else."""
    value = parsed(text)
    message = value[-1] if isinstance(value, list) and value else value
    content = message.get("content", message.get("value")) if isinstance(message, dict) else None
    return content if isinstance(content, str) else None


def _both(by_plain: dict[str, str], *stems: str) -> tuple[str, str] | None:
    """Return the columns of the chosen and the rejected answer for the first of these words that has both."""
    for stem in stems:
        for form in ("{side} {stem}", "{stem} {side}"):
            names = [by_plain.get(form.format(side=side, stem=stem)) for side in ("chosen", "rejected")]
            if names[0] is not None and names[1] is not None:
                return names[0], names[1]
    return None
