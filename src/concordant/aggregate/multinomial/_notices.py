"""What a reader must know of a fitted multinomial model: infinite estimates, items nobody compared, outliers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from concordant.models.counts import Corpus
from concordant.models.multinomial import Solution
from concordant.ranking import Notice
from concordant.types import Bools

OUTLIER = 0.1
NOT_CONVERGED = 1e-6


def notices(
    corpus: Corpus, solution: Solution, theta: Mapping[str, float] | None, has_converged: bool = True
) -> tuple[Notice, ...]:
    """Return the warnings that apply, each naming the items (or agents) concerned."""
    owner = corpus.instance_of_slot
    found = []
    if corpus.is_separated.any():
        text = "all preferences lead from one set of items into another, so only the prior keeps the scores finite"
        found.append(_on_items(corpus, "unbounded", text, corpus.is_compared & corpus.is_separated[owner]))
    if corpus.is_divided.any():
        text = "the items fall into groups that no ballot compares, so their order across groups rests on the model"
        found.append(_on_items(corpus, "disconnected", text, corpus.is_compared & corpus.is_divided[owner]))
    if not corpus.is_compared.all():
        text = "nobody prefers these items to others or others to them, so they stand in the middle"
        found.append(_on_items(corpus, "never-compared", text, ~corpus.is_compared))
    if theta is not None:
        outliers = tuple(agent for agent, value in theta.items() if value < OUTLIER)
        if outliers:
            text = f"{len(outliers)} of {len(theta)} agents hardly follow the consensus (theta below {OUTLIER:g})"
            found.append(Notice("outlier-agents", f"{text}: {', '.join(outliers[:5])}{_more(len(outliers))}", outliers))
    if theta is not None and not has_converged:
        text = "the adherences were still moving when the search for them ended: read them as rough"
        found.append(Notice("rough-adherence", text, tuple(theta)))
    if solution.gradient.max(initial=0.0) > NOT_CONVERGED:
        affected = np.flatnonzero(solution.gradient > NOT_CONVERGED)
        text = f"the fit did not converge (relative gradient {solution.gradient.max():.1e}): raise the prior"
        found.append(_on_items(corpus, "no-convergence", text, np.isin(owner, affected)))
    return tuple(found)


def _on_items(corpus: Corpus, name: str, text: str, slots: Bools) -> Notice:
    prefs = corpus.prefs
    items = tuple(prefs.items.take(np.unique(prefs.slot_item[slots])))
    where = ""
    if prefs.instances is not None and len(prefs.instances) > 1:
        instances = np.unique(corpus.instance_of_slot[slots])
        where = f" in {len(instances)} of {len(prefs.instances)} instances"
    return Notice(name, f"{text}{where}: {', '.join(items[:5])}{_more(len(items))}", items)


def _more(n: int) -> str:
    return f" and {n - 5} more" if n > 5 else ""
