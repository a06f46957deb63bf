"""Plots that compare methods or systems: ranks by method, agreement, means of metrics, and gains and losses per query.

They follow the conventions of ``plots``: each returns a Matplotlib figure, and saves it if there is a path.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from concordant.errors import InputError
from concordant.narrative.lettering import labels
from concordant.narrative.plots import (
    ACCENT,
    FAINT,
    INK,
    apart,
    finish,
    heat_map,
    panels,
    single_figure,
    write_in_cell,
)
from concordant.support.display import Drawn
from concordant.support.palette import LIGHT
from concordant.support.text import interval_heading

if TYPE_CHECKING:
    from concordant.ranking import Ranking
    from concordant.types import Floats

LOSS = LIGHT.series[1]
NAMED = 60  # queries up to which a plot names each
MAX_PANELS = 12
COLOURED = len(LIGHT.series)
Path = str | os.PathLike[str] | None


def plot_ranks(rankings: Sequence[Ranking], names: Sequence[str], path: Path = None, *, top: int = 20) -> Any:
    """Draw a bump chart: the rank of each item by each method, for the items with the best ranks."""
    ranks = np.stack([ranking.rank_by_slot for ranking in rankings])
    first = rankings[0]
    best = ranks.min(axis=0)
    chosen = set(sorted(first.order.tolist(), key=lambda slot: int(best[slot]))[:top])
    shown = [slot for slot in first.order.tolist() if slot in chosen]
    item_labels = labels(first.vocabulary.take(first.slot_item[shown]))
    figure, axes = single_figure(3.8 + 1.5 * len(names), 1.3 + 0.3 * len(shown))
    place = np.arange(len(names))
    for k, slot in enumerate(shown):
        colour = LIGHT.series[k] if k < COLOURED else LIGHT.rest
        axes.plot(
            place, ranks[:, slot], "o-", color=colour, markersize=5, linewidth=1.6, zorder=2 if k < COLOURED else 1
        )
    for side, x, align in ((0, -0.12, "right"), (-1, len(names) - 0.88, "left")):
        by_rank = sorted(range(len(shown)), key=lambda k: (int(ranks[side, shown[k]]), k))
        heights = apart([float(ranks[side, shown[k]]) for k in by_rank], _line(ranks[:, shown], len(shown)))
        for height, k in zip(heights.tolist(), by_rank, strict=True):
            text = (
                f"{item_labels[k]}  {ranks[side, shown[k]]}"
                if side == 0
                else f"{ranks[side, shown[k]]}  {item_labels[k]}"
            )
            colour = LIGHT.series[k] if k < COLOURED else INK
            axes.text(x, height, text, ha=align, va="center", fontsize=8.5, color=colour)
    axes.set_xticks(place, labels(names))
    axes.xaxis.tick_top()
    axes.set_xlim(-1.4, len(names) + 0.4)
    axes.set_yticks([])
    axes.invert_yaxis()
    axes.spines["bottom"].set_visible(False)
    axes.tick_params(axis="x", length=0)
    note = f", {len(shown)} of {len(best):,} items" if len(shown) < len(best) else ""
    axes.set_title(f"ranks by method{note}", loc="left", fontsize=10, color=INK)
    return finish(figure, path)


def _line(ranks: Any, n: int) -> float:
    """Return the height of a line of text in ranks, so that tied items do not overlap."""
    return float(np.ptp(ranks) + 1) / max(n, 1) * 0.95


def plot_agreement(tau: Floats, names: Sequence[str], path: Path = None) -> Any:
    """Draw Kendall's tau between methods as a heat map."""
    n = len(names)
    figure, axes = single_figure(3.4 + 0.6 * max(n, 3), 2.4 + 0.5 * n)
    shown = labels(names)
    image, _ = heat_map(figure, axes, tau, (-1.0, 1.0), shown, shown, "Kendall's tau")
    for i, j in np.argwhere(np.isfinite(tau)).tolist():
        write_in_cell(axes, image, i, j, f"{tau[i, j]:.2f}")
    axes.set_title("agreement of methods", loc="left", fontsize=10, color=INK)
    return finish(figure, path)


def plot_means(values: Mapping[str, Mapping[str, Floats]], path: Path = None) -> Any:
    """Draw the mean of each metric by system with its 95% confidence interval, a panel per metric.

    ``values`` has, by metric and system, the values of all instances; NaN where a metric skips an instance.
    """
    systems = list(next(iter(values.values())))
    figure, axes = panels(len(values), 2.4 + 2.9 * len(values), 1.3 + 0.32 * len(systems))
    place = np.arange(len(systems))
    for k, (metric, by_system) in enumerate(values.items()):
        mean, half = zip(*(mean_with_margin(by_system[name]) for name in systems), strict=True)
        axes[k].errorbar(mean, place, xerr=half, fmt="o", color=ACCENT, ecolor=ACCENT, elinewidth=2.5, markersize=5)
        axes[k].set_yticks(place, labels(systems) if k == 0 else [""] * len(systems))
        axes[k].set_ylim(len(systems) - 0.5, -0.5)
        axes[k].set_xlabel(f"{metric}, 95% CI", color=INK)
        axes[k].grid(axis="x", color=FAINT, linewidth=0.6)
        axes[k].tick_params(axis="y", length=0)
        axes[k].spines["left"].set_visible(False)
    axes[0].set_title("means over queries", loc="left", fontsize=10, color=INK)
    return finish(figure, path)


def mean_with_margin(values: Floats) -> tuple[float, float]:
    """Return the mean, and half the width of its 95% confidence interval (Student's t); 0 for a single value."""
    from scipy.special import stdtrit

    known = values[np.isfinite(values)]
    n = len(known)
    if n < 2:
        return float(known[0]) if n else math.nan, 0.0
    return float(known.mean()), float(stdtrit(n - 1, 0.975) * known.std(ddof=1) / math.sqrt(n))


def drawn_means(values: Sequence[Floats]) -> Drawn:
    """Return the mean of each metric with its 95% confidence interval, for the table of a notebook."""
    means = [mean_with_margin(of_metric) for of_metric in values]
    low, high = ([mean + sign * half for mean, half in means] for sign in (-1, 1))
    return Drawn(interval_heading(), [mean for mean, _ in means], low, high)


def plot_instances(
    values: Mapping[str, Mapping[str, float]], metric: str, path: Path = None, baseline: str | None = None
) -> Any:
    """Draw one bar per instance, sorted, a panel per system.

    With a ``baseline``, the values are differences from it: blue instances gain, orange ones lose.
    """
    if not values or not any(len(by_instance) for by_instance in values.values()):
        raise InputError("There is no instance with a value, so there is nothing to draw: choose another metric.")
    if len(values) > MAX_PANELS:
        raise InputError(f"A plot has room for {MAX_PANELS} systems, but there are {len(values)}: name fewer.")
    longest = max(len(by_instance) for by_instance in values.values())
    has_names = longest <= NAMED
    width = 3.2 * len(values) + (1.6 if has_names else 0.8)
    figure, axes = panels(len(values), width, 1.4 + 0.19 * longest if has_names else 4.2)
    *systems, against = labels([*values, baseline or ""], 22)
    for panel, system, by_instance in zip(axes, systems, values.values(), strict=True):
        _draw_instances(panel, by_instance, has_names, baseline is not None)
        panel.set_xlabel(f"difference in {metric}" if baseline is not None else metric, color=INK)
        panel.set_title(
            _heading(system, by_instance, None if baseline is None else against), loc="left", fontsize=9.5, color=INK
        )
    ends = [panel.get_xlim() for panel in axes]
    for panel in axes:  # one scale, so that bars can be compared between systems
        panel.set_xlim(min(low for low, _ in ends), max(high for _, high in ends))
    return finish(figure, path)


def _draw_instances(panel: Any, by_instance: Mapping[str, float], has_names: bool, are_differences: bool) -> None:
    """Draw the bars of one system, largest value first."""
    ordered = sorted(by_instance, key=lambda name: (-by_instance[name], name))
    value, place = np.array([by_instance[name] for name in ordered]), np.arange(len(ordered))
    colours = [LOSS if are_differences and one < 0 else ACCENT for one in value.tolist()]
    panel.barh(place, value, color=colours, height=0.8 if has_names else 1.0)
    panel.set_yticks(place if has_names else [], labels(ordered) if has_names else [])
    if not has_names:
        panel.set_ylabel(f"{len(ordered):,} instances, sorted", color=INK)
    panel.set_ylim(len(ordered) - 0.5, -0.5)
    panel.axvline(0.0, color=INK, linewidth=0.8)
    panel.grid(axis="x", color=FAINT, linewidth=0.6)
    panel.set_axisbelow(True)
    panel.tick_params(axis="y", length=0, labelsize=7)
    panel.spines["left"].set_visible(False)


def _heading(system: str, by_instance: Mapping[str, float], baseline: str | None) -> str:
    """Return the title of a panel; with a baseline, how many instances gain, lose and are equal."""
    if baseline is None:
        return system or f"{len(by_instance):,} instances"
    gains, losses = (sum(sign * value > 0 for value in by_instance.values()) for sign in (1, -1))
    counts = f"{gains:,} gain, {losses:,} lose, {len(by_instance) - gains - losses:,} equal"
    return f"{system}\nagainst {baseline}\n{counts}" if system else counts
