"""Plots of results: scores with confidence intervals, scores over time, pairwise wins, agent weights, learning curves.

Each function returns a Matplotlib figure, and saves it to ``path`` if given (svg, png or pdf, by extension). Matplotlib
is an optional dependency: ``pip install concordant[plots]``.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from concordant import views
from concordant.errors import ConcordantError, InputError, arg
from concordant.narrative import lettering
from concordant.narrative.lettering import label, labels
from concordant.preferences import Preferences
from concordant.results.rendering import are_counts
from concordant.support.files import replace_file
from concordant.support.palette import LIGHT, is_dark
from concordant.support.text import tick_labels

if TYPE_CHECKING:
    from concordant.analysis.groups.comparison import GroupComparison
    from concordant.ranking import Ranking
    from concordant.types import Floats, Int64s

INK, ACCENT, FAINT = LIGHT.ink, LIGHT.series[0], LIGHT.line
LETTER = 0.085  # inches of a character of a label
DASHES = ("-", "--", ":")  # of series beyond the number of colours
ENDINGS = (".svg", ".png", ".pdf")
STRETCHES = 600  # of time, drawn of a history
BANDS = 3  # confidence intervals drawn of a history


def plot_ranking(ranking: Ranking, path: str | os.PathLike[str] | None = None, *, top: int = 30) -> Any:
    """Draw the scores of the best items with their confidence intervals, best first."""
    ranking._single("plot()")
    n = min(top, len(ranking.items))
    figure, axes = single_figure(7.0, 1.1 + 0.27 * n)
    place = np.arange(n)
    score = ranking.scores[:n]
    if ranking.low is not None and ranking.high is not None:
        axes.hlines(place, ranking.low[:n], ranking.high[:n], color=ACCENT, linewidth=3, alpha=0.35)
        name = f"{_score(ranking)}, {_level(ranking)} CI"
    else:
        name = _score(ranking)
    if are_counts(ranking):
        axes.barh(place, score, color=ACCENT, alpha=0.75, height=0.6)
    else:
        axes.plot(score, place, "o", color=ACCENT, markersize=5)
    ranks = zip(labels(ranking.items[:n]), _ranks(ranking)[:n], strict=True)
    axes.set_yticks(place, [f"{item}  {rank}" for item, rank in ranks])
    axes.set_ylim(n - 0.5, -0.5)
    axes.set_xlabel(name, color=INK)
    axes.grid(axis="x", color=FAINT, linewidth=0.6)
    _title(axes, ranking, f"{n} of {len(ranking.items):,} items" if n < len(ranking.items) else "")
    return finish(figure, path)


def plot_matrix(
    ranking: Ranking, prefs: Preferences, path: str | os.PathLike[str] | None = None, *, top: int = 40
) -> Any:
    """Draw the share of ballots in which the row beats the column (ties half), items in the order of the ranking."""
    ranking._single("plot_matrix()")
    if prefs.n_instances != 1:
        raise InputError(
            "These are not the preferences that were ranked: give the preferences of this ranking, with one instance."
        )
    n = min(top, len(ranking.items))
    chosen = views.order_of(prefs, ranking)[:n]
    matrices = views.win_matrices(prefs, "ignore")
    wins, ties = (m[np.ix_(chosen, chosen)] for m in (matrices.matrix(), matrices.tie_matrix()))
    compared = wins + wins.T + ties
    share = np.full((n, n), np.nan)
    np.divide(wins + ties / 2, compared, out=share, where=compared > 0)
    names = labels(ranking.items[:n])
    side, edge = max(0.27 * n, 2.4), LETTER * max(map(len, names), default=0)
    figure, axes = single_figure(side + edge + 1.4, side + edge + 0.5)
    image, bar = heat_map(figure, axes, share, (0.0, 1.0), names, names, "row beats column")
    bar.set_ticks([0, 0.25, 0.5, 0.75, 1], labels=["0%", "25%", "50%", "75%", "100%"])
    for i in range(n):  # an item and itself are not a pair
        axes.fill_between([i - 0.5, i + 0.5], i - 0.5, i + 0.5, color=LIGHT.surface, linewidth=0, zorder=-1)
    if n <= 12:
        for i, j in np.argwhere(compared > 0).tolist():
            write_in_cell(axes, image, i, j, f"{100 * share[i, j]:.0f}")
    _title(axes, ranking, "hatched: never compared" if (compared[~np.eye(n, dtype=bool)] == 0).any() else "")
    return finish(figure, path)


def heat_map(
    figure: Any,
    axes: Any,
    values: Floats,
    ends: tuple[float, float],
    rows: Sequence[str],
    columns: Sequence[str],
    name: str,
) -> tuple[Any, Any]:
    """Draw values as coloured cells, hatched where a value is unknown; return the image and its colour bar."""
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import Rectangle

    size = (len(columns), len(rows))
    if np.isnan(values).any():
        area = Rectangle((-0.5, -0.5), *size, fc=LIGHT.surface, ec=LIGHT.rest, hatch="/////", linewidth=0, zorder=-2)
        axes.add_patch(area)
    colours = LinearSegmentedColormap.from_list("below-above", LIGHT.diverging).with_extremes(bad=(0, 0, 0, 0))
    known = np.ma.masked_invalid(values)
    image = axes.imshow(known, cmap=colours, vmin=ends[0], vmax=ends[1], interpolation="nearest", aspect="auto")
    axes.set_yticks(np.arange(size[1]), rows)
    axes.set_xticks(np.arange(size[0]), columns, rotation=90)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    bar = figure.colorbar(image, ax=axes, fraction=0.046, pad=0.03)
    bar.outline.set_visible(False)
    bar.ax.tick_params(colors=INK, labelsize=9)
    bar.set_label(name, color=INK)
    numbers(bar.ax.yaxis)
    return image, bar


def write_in_cell(axes: Any, image: Any, row: int, column: int, text: str, size: float = 8) -> None:
    """Write text into a cell of a heat map, dark or white, whichever is easier to read."""
    red, green, blue, _ = image.cmap(image.norm(image.get_array()[row, column]))
    colour = "white" if is_dark(red, green, blue) else INK
    axes.text(column, row, text, ha="center", va="center", fontsize=size, color=colour)


def plot_history(
    ranking: Ranking,
    path: str | os.PathLike[str] | None = None,
    *,
    top: int = 10,
    items: Sequence[object] | None = None,
) -> Any:
    """Draw the scores of the best items, or of the given items, over time.

    The first ``BANDS`` of them have bands of their confidence intervals; more would hide each other.

    A line ends at the last game of its item, with the item's name. Only the last row in each of ``STRETCHES`` equal
    intervals of time is drawn.
    """
    ranking._single("plot_history()")
    history = ranking.history
    chosen = [str(item) for item in items] if items else ranking.items[:top]
    parts = [(item, part) for item in chosen if len(part := history.of(item))]
    if not parts:
        raise InputError("None of these items was ever rated, so there is no history to draw: choose other items.")
    begin, end = (pick([float(pick(part.time)) for _, part in parts]) for pick in (min, max))
    figure, axes = single_figure(10.0, 5.2)
    axes.spines["left"].set_visible(True)
    from matplotlib.patheffects import withStroke

    _show_time(axes.xaxis, history.is_dated)
    at_right_edge, n_bands = [], min(BANDS, len(parts))
    style: dict[str, Any] = {"fontsize": 8.5, "path_effects": [withStroke(linewidth=2.5, foreground="white")]}
    names = labels([item for item, _ in parts])
    for k, (name, (_, part)) in enumerate(zip(names, parts, strict=True)):
        part = part.take(_last_of_stretches(part.time, begin, end))
        colour, dashes = LIGHT.series[k % len(LIGHT.series)], DASHES[k // len(LIGHT.series) % len(DASHES)]
        if part.low is not None and part.high is not None and k < BANDS:
            axes.fill_between(part.time, part.low, part.high, step="post", color=colour, alpha=0.16, linewidth=0)
        axes.plot(part.time, part.score, dashes, color=colour, linewidth=1.4, drawstyle="steps-post")
        axes.plot(part.time[-1:], part.score[-1:], "o", color=colour, markersize=3)
        if part.time[-1] > end - 0.1 * (end - begin):
            at_right_edge.append((float(part.score[-1]), name, colour))
        else:
            place = (part.time[-1], part.score[-1])
            axes.annotate(name, place, (4, 0), textcoords="offset points", va="center", color=colour, **style)
    axes.margins(x=0.01)
    lowest, highest = (pick([float(pick(part.score)) for _, part in parts]) for pick in (min, max))
    margin = 0.12 * (highest - lowest) or 1.0  # unsure beginnings may leave the picture
    low, high = axes.set_ylim(lowest - margin, highest + margin)
    spread = apart([score for score, _, _ in sorted(at_right_edge)], 0.042 * (high - low))
    for height, (_, name, colour) in zip(spread, sorted(at_right_edge), strict=True):
        axes.annotate(
            name, (1.0, height), (6, 0), xycoords=("axes fraction", "data"), textcoords="offset points",
            va="center", color=colour, **style,
        )  # fmt: skip
    has_band = history.low is not None
    of_some = "" if n_bands == len(parts) else f" of the first {n_bands}"
    axes.set_ylabel(f"{_score(ranking)}, {_level(ranking)} CI{of_some}" if has_band else _score(ranking), color=INK)
    axes.set_xlabel("" if history.is_dated else "time", color=INK)
    axes.grid(color=FAINT, linewidth=0.6)
    _title(axes, ranking, f"{len(parts)} of {len(ranking.items):,} items" if len(parts) < len(ranking.items) else "")
    return finish(figure, path)


def _last_of_stretches(time: Floats, begin: float, end: float) -> Int64s:
    """Return the first row, and the last row in every interval of time between begin and end."""
    stretch = np.floor((time - begin) / max(end - begin, 1e-300) * STRETCHES)
    return np.unique(np.append(0, np.flatnonzero(np.append(np.diff(stretch) > 0, True))))


def apart(heights: Sequence[float], gap: float) -> Floats:
    """Move ascending heights as little as possible so that they are ``gap`` apart.

    Isotonic regression (pool adjacent violators) of height - k * gap.
    """
    groups: list[list[float]] = []  # [sum of wished places of the first, size]
    for k, height in enumerate(heights):
        groups.append([height - k * gap, 1.0])
        while len(groups) > 1 and groups[-2][0] / groups[-2][1] > groups[-1][0] / groups[-1][1]:
            total, size = groups.pop()
            groups[-1] = [groups[-1][0] + total, groups[-1][1] + size]
    shifted = np.repeat([total / size for total, size in groups], [int(size) for _, size in groups])
    return np.asarray(shifted + gap * np.arange(len(heights)))


def plot_groups(found: GroupComparison, path: str | os.PathLike[str] | None = None, *, top: int = 40) -> Any:
    """Draw a heat map (items x groups) of score differences from the other groups; a star marks significant ones."""
    items = found.whole.items[: min(top, len(found.whole.items))]
    groups = found.names[:top]
    difference = found.matrix(items, groups)
    largest = float(np.nanmax(np.abs(difference), initial=0.0)) or 1.0
    rows, columns = labels(items), labels(groups)
    edges = [LETTER * max(map(len, names), default=0) for names in (rows, columns)]
    figure, axes = single_figure(
        edges[0] + 1.4 + max(0.55 * len(groups), 3.2), edges[1] + 0.5 + max(0.27 * len(items), 1.4)
    )
    name = "difference from the other groups"
    image, _ = heat_map(figure, axes, difference, (-largest, largest), rows, columns, name)
    for i, j in np.ndindex(difference.shape):
        cell = found.cells.get((groups[j], items[i]))
        if cell is not None and cell.holds:
            write_in_cell(axes, image, i, j, "★", 9)
    items_note = "" if len(items) == len(found.whole.items) else f"{len(items)} of {len(found.whole.items):,} items"
    groups_note = "" if len(groups) == len(found.names) else f"{len(groups)} of {len(found.names):,} groups"
    marks = ["★ significant", *(["hatched: unknown"] if np.isnan(difference).any() else [])]
    _title(
        axes,
        found.whole,
        ", ".join(filter(None, [f"by {label(found.by, 20)}", items_note, groups_note, *marks])),
    )
    return finish(figure, path)


def plot_agents(ranking: Ranking, path: str | os.PathLike[str] | None = None, *, top: int = 40) -> Any:
    """Draw the weight (theta) of every agent, largest first."""
    if not ranking.agents:
        name, option = ranking.method or "This method", arg("adherence", True)
        if "adherence" in ranking.params:
            raise InputError(f"{name} learns agent weights only on request: give " + option + ".")
        raise InputError(f"{name} has no agent weights: use a method with weights, such as mpm with " + option + ".")
    agents: Mapping[str, float] = ranking.agents
    ordered = sorted(agents.items(), key=lambda pair: -pair[1])
    n = min(top, len(ordered))
    if n < len(ordered):  # the extremes are what people look for
        ordered = [*ordered[: n - n // 2], *ordered[-(n // 2) :]]
    figure, axes = single_figure(6.5, 1.1 + 0.25 * n)
    place, weight = np.arange(n), np.array([weight for _, weight in ordered])
    axes.barh(place, weight, color=ACCENT, alpha=0.75, height=0.7)
    axes.set_yticks(place, labels(agent for agent, _ in ordered))
    axes.set_ylim(n - 0.5, -0.5)
    axes.set_xlabel("weight", color=INK)
    axes.grid(axis="x", color=FAINT, linewidth=0.6)
    _title(axes, ranking, f"highest and lowest {n} of {len(agents):,} agents" if n < len(agents) else "")
    return finish(figure, path)


def plot_experts(
    trust: Mapping[str, float],
    rows: Mapping[str, Mapping[str, float]] | None,
    path: str | os.PathLike[str] | None = None,
    *,
    top: int = 40,
    title: str = "experts",
) -> Any:
    """Draw the weights of experts, highest first, and (with ``rows``) the effect of their lists.

    ``rows`` hold, by expert, the scores of its first, its last and an unranked document.
    """
    ordered = sorted(trust, key=lambda name: -trust[name])
    n = min(top, len(ordered))
    if n < len(ordered):
        ordered = [*ordered[: n - n // 2], *ordered[-(n // 2) :]]
    figure, axes = panels(1 if rows is None else 2, 5.5 if rows is None else 9.0, 1.2 + 0.25 * n)
    place = np.arange(n)
    axes[0].barh(place, [trust[name] for name in ordered], color=ACCENT, alpha=0.75, height=0.7)
    axes[0].set_yticks(place, labels(ordered))
    axes[0].set_xlabel("trust" if rows is None else "trust: first minus last", color=INK)
    if rows is not None:
        marks = (("first", "o", ACCENT), ("last", "v", INK), ("unranked", "x", LIGHT.series[1]))
        for kind, mark, colour in marks:
            axes[1].plot([rows[name][kind] for name in ordered], place, mark, color=colour, markersize=5, label=kind)
        axes[1].set_yticks(place, [""] * n)
        axes[1].set_xlabel("score of a document", color=INK)
        axes[1].legend(frameon=False, fontsize=8, labelcolor=INK)
    for panel in axes:
        panel.set_ylim(n - 0.5, -0.5)
        panel.axvline(0.0, color=FAINT, linewidth=1.0)
        panel.grid(axis="x", color=FAINT, linewidth=0.6)
        panel.set_axisbelow(True)
        panel.tick_params(axis="y", length=0)
    note = f", highest and lowest {n} of {len(trust):,}" if n < len(trust) else ""
    axes[0].set_title(f"{label(title)}{note}", loc="left", fontsize=10, color=INK)
    return finish(figure, path)


def plot_learning_curve(
    history: Mapping[str, Sequence[float]],
    path: str | os.PathLike[str] | None = None,
    *,
    title: str = "learning curve",
    metric: str = "metric",
) -> Any:
    """Draw the training loss of a ranker by iteration and, if available, the metric on the validation set.

    ``history`` is the ``history_`` of a fitted ranker: the loss (or the error of boosting) and ``valid``.
    """
    name = next((key for key in ("loss", "error", *history) if len(history.get(key, ()))), None)
    if name is None:
        raise InputError("The history is empty, so there is no curve to draw: fit an iterative ranker.")
    figure, axes = single_figure(6.5, 3.8)
    axes.spines["left"].set_visible(True)
    axes.plot(np.arange(1, len(history[name]) + 1), history[name], color=ACCENT)
    axes.set_xlabel("iteration", color=INK)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_ylabel(f"{metric}, validation" if name == "valid" else f"{name}, training", color=ACCENT)
    axes.grid(color=FAINT, linewidth=0.6)
    valid = history.get("valid", ())
    if len(valid) and name != "valid":
        best = int(np.argmax(valid))
        second_axes = axes.twinx()
        second_axes.plot(np.arange(1, len(valid) + 1), valid, color=INK, linewidth=1.2)
        second_axes.plot(best + 1, valid[best], "o", color=INK, markersize=5)
        second_axes.set_ylabel(f"{metric}, validation (best {valid[best]:.4f} at {best + 1})", color=INK)
        second_axes.tick_params(colors=INK, labelsize=9)
        numbers(second_axes.yaxis)
        for side in ("top", "left"):
            second_axes.spines[side].set_visible(False)
    axes.set_title(label(title), loc="left", fontsize=10, color=INK)
    return finish(figure, path)


def check_path(path: str | os.PathLike[str]) -> None:
    """Reject a file name that does not end in .svg, .png or .pdf."""
    if not str(path).lower().endswith(ENDINGS):
        raise InputError(f"{os.fspath(path)!r} does not have a supported extension: use .svg, .png or .pdf.")


def panels(columns: int, width: float, height: float, label_size: int = 9) -> tuple[Any, list[Any]]:
    """Return a Matplotlib figure with n axes side by side, in the common style."""
    try:
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator
    except ImportError:
        raise ConcordantError("Plots need Matplotlib: pip install concordant[plots].") from None
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = list(figure.subplots(1, columns, squeeze=False)[0])
    for panel in axes:
        panel.spines[["top", "right"]].set_visible(False)
        panel.tick_params(colors=INK, labelsize=label_size)
        panel.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
        for axis in (panel.xaxis, panel.yaxis):
            numbers(axis)
    return figure, axes


def numbers(axis: Any, grouped: bool = True) -> None:
    """Write the numbers of an axis in full, with the same decimals and with thousands separators."""
    from matplotlib.ticker import Formatter

    class Numbers(Formatter):
        def __call__(self, value: float, pos: int | None = None) -> str:
            return self.format_ticks([value])[0]

        def format_ticks(self, values: Sequence[float]) -> list[str]:
            texts = tick_labels([float(value) for value in values])
            return texts if grouped else [text.replace(",", "") for text in texts]

    axis.set_major_formatter(Numbers())


def _show_time(axis: Any, is_dated: bool) -> None:
    """Write times as dates, and numbers, which may be years, without separators."""
    if not is_dated:
        numbers(axis, grouped=False)
        return
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    axis.axis_date()
    axis.set_major_locator(locator := AutoDateLocator(minticks=3, maxticks=8))  # type: ignore[no-untyped-call]
    axis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]


def single_figure(width: float, height: float) -> tuple[Any, Any]:
    """Return a figure with one pair of axes, without left spine and ticks."""
    figure, (axes,) = panels(1, width, height)
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.set_axisbelow(True)
    return figure, axes


def _title(axes: Any, ranking: Ranking, note: str) -> None:
    """Set the title: method, instance and a note, separated by commas."""
    words = [ranking.method or "ranking"]
    if ranking.instances is not None:
        words.append(label(ranking.instances[0]))
    axes.set_title(", ".join([*words, note] if note else words), loc="left", fontsize=10, color=INK)


def _score(ranking: Ranking) -> str:
    return "score" if ranking.converted is None else "Elo rating"


def _level(ranking: Ranking) -> str:
    level = ranking.params.get("level", 0.95)
    return f"{level:.0%}" if isinstance(level, float) else ""


def _ranks(ranking: Ranking) -> list[str]:
    """Return each rank as text, with its confidence interval if the method has one."""
    ranks = ranking.ranks.tolist()
    if "rank_low" not in ranking.details:
        return [f"({rank})" for rank in ranks]
    low: Floats = ranking.detail("rank_low")
    high: Floats = ranking.detail("rank_high")
    ends = zip(low.tolist(), high.tolist(), strict=True)
    return [f"({a})" if a == b else f"({a}–{b})" for a, b in ends]


def finish(figure: Any, path: str | os.PathLike[str] | None) -> Any:
    """Return the figure with fonts for its labels; save it first if there is a path."""
    lettering.letter(figure)
    if path is not None:
        check_path(path)
        buffer = io.BytesIO()
        figure.savefig(buffer, dpi=150, format=os.path.splitext(path)[1].lower().removeprefix("."))
        replace_file(path, buffer.getvalue())
    return figure
