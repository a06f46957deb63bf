"""Notices about a fitted multinomial model: infinite estimates, uncompared items, agents without preferences,
outliers.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from concordant.models.notices import named, notice_on
from concordant.models.observations.preference_counts import Corpus
from concordant.models.solve.multinomial import Solution
from concordant.ranking import Notice

OUTLIER = 0.1
NOT_CONVERGED = 1e-6


def notices(
    corpus: Corpus, solution: Solution, theta: Mapping[str, float] | None, has_converged: bool = True
) -> tuple[Notice, ...]:
    """Return the warnings that apply, each naming the items (or agents) concerned."""
    instance = corpus.instance_of_slot
    warnings = []
    if corpus.is_separated.any():
        text = (
            "every preference is for an item of one group over an item of another, so only the prior keeps "
            "the scores finite"
        )
        warnings.append(notice_on(corpus.prefs, "unbounded", text, corpus.is_compared & corpus.is_separated[instance]))
    if corpus.is_divided.any():
        text = "no ballot compares items of different groups, so the order across groups depends on the model alone"
        warnings.append(notice_on(corpus.prefs, "disconnected", text, corpus.is_compared & corpus.is_divided[instance]))
    if not corpus.is_compared.all():
        text = "no ballot prefers these items to others or others to them, so they get the middle score"
        warnings.append(notice_on(corpus.prefs, "never-compared", text, ~corpus.is_compared))
    if theta is not None:
        silent = tuple(agent for agent in corpus.prefs.agents or () if agent not in theta)
        if silent:
            text = f"{len(silent):,} of {len(silent) + len(theta):,} agents rank no item above another"
            warnings.append(
                Notice("no-preference", f"{text}, so their adherence cannot be estimated: {named(silent)}", silent)
            )
        outliers = tuple(agent for agent, value in theta.items() if value < OUTLIER)
        if outliers:
            text = f"{len(outliers)} of {len(theta)} agents hardly follow the consensus (theta below {OUTLIER:g})"
            warnings.append(Notice("outlier-agents", f"{text}: {named(outliers)}", outliers))
    if theta is not None and not has_converged:
        text = "the adherences did not converge, so they are approximate"
        warnings.append(Notice("rough-adherence", text, tuple(theta)))
    if solution.gradient.max(initial=0.0) > NOT_CONVERGED:
        affected = np.flatnonzero(solution.gradient > NOT_CONVERGED)
        text = f"the fit did not converge (relative gradient {solution.gradient.max():.1e}): raise the prior"
        warnings.append(notice_on(corpus.prefs, "no-convergence", text, np.isin(instance, affected)))
    return tuple(warnings)
