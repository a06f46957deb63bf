"""Completions of several models for a prompt, each with a score (UltraFeedback): ratings, one ballot per prompt."""

from __future__ import annotations

from typing import Any

import numpy as np

from concordant.ballots.vocabulary import join_columns
from concordant.tables.bad_rows import STRICT_HINT, left_out
from concordant.tables.derived import Column, DerivedTable, rows_of
from concordant.tables.options import Options
from concordant.tables.rows import InputTable

SCORES = ("overall_score", "score", "rating", "fine-grained_score")
MODEL, SCORE, PROMPT = "model of the completion", "score of the completion", "number of the prompt"
MAX_COMPLETIONS, AT_ONCE = 64, 8


def arrange(table: Any, options: Options) -> InputTable | None:
    """Return a row per completion; None if the completions have no models or no scores."""
    resolve = getattr(table, "resolve", lambda _: None)
    score = next((name for name in SCORES if resolve(f"completions.0.{name}") is not None), None)
    if score is None or resolve("completions.0.model") is None:
        return None
    models, scores = [], []
    for start in range(0, MAX_COMPLETIONS, AT_ONCE):
        names = [f"completions.{k}" for k in range(start, start + AT_ONCE)]
        texts, numbers = table.fetch([f"{name}.model" for name in names], [f"{name}.{score}" for name in names])
        models += list(texts.values())
        scores += list(numbers.values())
        if (models[-1][0] < 0).all():
            break
    codes, labels = join_columns(models)
    code, value = np.stack(codes, 1), np.stack(scores, 1)
    is_rated = (code >= 0) & ~np.isnan(value)
    notes = [f"completions of several models: the ratings are their {score}, and each prompt is a ballot"]
    lacking = np.flatnonzero(((code >= 0) & np.isnan(value)).any(axis=1))
    if len(lacking) and options.strict:
        raise table.error(int(lacking[0]), "a completion has no score" + STRICT_HINT)
    if len(lacking):
        count = int(((code >= 0) & np.isnan(value)).sum())
        notes.append(left_out("the completion has no score", count, table.place(int(lacking[0]))))
    rows, k = np.nonzero(is_rated)
    kept = rows_of((code[rows, k].astype(np.int32), labels), np.arange(len(rows)))
    columns: dict[str, Column] = {MODEL: kept, SCORE: value[rows, k], PROMPT: (rows + 1).astype(np.float64)}
    roles = {"item": MODEL, "rating": SCORE, "ballot": PROMPT, "instance": None, "agent": None}
    return DerivedTable(table, rows, columns, notes=notes, roles=roles)
