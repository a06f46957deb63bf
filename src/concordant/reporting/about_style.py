"""Report section on style control: covariate effects in words, and the ranks and scores that change because of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from concordant.ballots.vocabulary import shorten
from concordant.errors import ConcordantError
from concordant.models.fitted import FittedModel
from concordant.models.style_reasons import between_equals
from concordant.narrative.sentences import listed
from concordant.ranking import Ranking
from concordant.reporting.about_ranking import LABEL
from concordant.reporting.sections import Cell, Columns, Fold, Part, ReportTable, Section, Text, Track
from concordant.reporting.study import Study
from concordant.results.coefficients import Coefficient, header_of, rows_of
from concordant.results.rendering import interval_column
from concordant.results.scales import line_of
from concordant.support.text import capital, number_format, p_value, short_number

EFFECTS = "Covariate effects"
CHANGES = 10  # rows of the table of the largest changes


def uncontrolled(study: Study) -> Ranking | None:
    """Return the ranking by the same method without covariates, on the same scale; None without covariates."""
    ranking = study.ranking
    if not isinstance(ranking.model, FittedModel) or not ranking.coefficients:
        return None
    try:
        without = ranking.model.uncorrected
    except ConcordantError:
        return None
    without = without if ranking.converted is None else without.on_scale(ranking.converted.scale)
    return without.by(ranking.sorted_by)


def style_section(study: Study, without: Ranking | None) -> Section | None:
    """Show covariate effects and the largest changes; None without covariates.

    ``without`` is the ranking without covariates, as ``uncontrolled`` returns it.
    """
    ranking = study.ranking
    if not ranking.coefficients:
        return None
    score = study.field.score
    if ranking.n_instances != 1:
        return Section("style", "Style control", (_table(ranking),))
    words: list[Part] = [
        Text(_said(coefficient, ranking, score), "lead" if k == 0 else "plain")
        for k, coefficient in enumerate(ranking.coefficients)
    ]
    names = [shorten(coefficient.name, 30) for coefficient in ranking.coefficients]
    words.append(Text(f"The {score}s are for equal {listed(names)} on all sides.", "left-out"))
    words.append(Fold("Table of covariate effects", (_table(ranking),)))
    if without is None or without.n_instances != 1:
        return Section("style", "Style control", tuple(words))
    return Section("style", "Style control", (Columns((tuple(words), _changes(study, without))),))


def with_other(section: Section, without: Ranking) -> Section:
    """Return a section of a ranking whose inline plots also have the scores without covariates, as hollow dots.

    What the section on style control shows is left out: columns of uncorrected ranks and scores.
    """
    if without.n_instances != 1:
        return section
    shown = [shorten(label, LABEL) for label in without.items]
    count = Counter(shown)  # two long labels may look the same
    scores = {
        label: score for label, score in zip(shown, without.scores.tolist(), strict=True) if count[label] == 1
    }  # fmt: skip
    parts = [_with_dots(part, scores) if isinstance(part, ReportTable) else part for part in section.parts]
    place = next((k + 1 for k, part in enumerate(parts) if part != section.parts[k]), 0)
    if not place:
        return section
    legend = Text("A hollow circle is the score without style control.", "left-out")
    return replace(section, parts=(*parts[:place], legend, *parts[place:]))


def _with_dots(table: ReportTable, scores: dict[str, float]) -> ReportTable:
    """Return a table with hollow dots in the inline plots of the rows of these items, if it plots scores."""
    if table.scale is None or table.scale.is_bar or not table.labels:
        return table
    column = min(table.labels)
    rows = [tuple(_with_dot(cell, scores.get(_text(row[column]))) for cell in row) for row in table.rows]
    others = [cell.other for row in rows for cell in row if isinstance(cell, Track) and cell.other is not None]
    if not others:
        return table
    scale = replace(table.scale, low=min(table.scale.low, *others), high=max(table.scale.high, *others))
    return _without_columns(replace(table, rows=tuple(rows), scale=scale))


def _without_columns(table: ReportTable) -> ReportTable:
    """Return a table without the columns of uncorrected ranks and scores."""
    kept = [k for k, name in enumerate(table.header) if not name.lower().startswith("uncorrected ")]
    place = {k: new for new, k in enumerate(kept)}
    right, labels, minor = (
        frozenset(place[k] for k in columns if k in place) for columns in (table.right, table.labels, table.minor)
    )
    header = tuple(table.header[k] for k in kept)
    rows = tuple(tuple(row[k] for k in kept) for row in table.rows)
    return replace(table, header=header, rows=rows, right=right, labels=labels, minor=minor)


def _with_dot(cell: Cell, score: float | None) -> Cell:
    return replace(cell, other=score) if isinstance(cell, Track) else cell


def _text(cell: Cell) -> str:
    return cell if isinstance(cell, str) else getattr(cell, "text", "")


# ---- effects ----
def _said(coefficient: Coefficient, ranking: Ranking, score: str) -> str:
    """Return a sentence on the effect of one standard deviation of a covariate, on the scale of the scores."""
    name = shorten(coefficient.name, 60)
    if coefficient.spread == 0:
        return f"{name} never differs within a ballot, so it has no effect."
    effect, spread = coefficient.per_deviation, coefficient.spread
    verb = "raises" if effect >= 0 else "lowers"
    points = " points" if ranking.converted is not None else ""
    amount = short_number(abs(effect), 3)
    said = f"One standard deviation ({short_number(spread, 3)}) more of {name} {verb} the {score} by {amount}{points}"
    if coefficient.low is not None and coefficient.high is not None and coefficient.p is not None:
        ends = sorted((abs(effect) / effect if effect else 1.0) * end * spread for end in _ends(coefficient))
        interval = " to ".join(_signed(end) for end in ends)
        said += f" ({interval_column(ranking)} {interval}, {p_value(coefficient.p)})"
    unit, _ = line_of(ranking)
    up, down, _ = between_equals(effect / unit, ranking.model)
    share = f"{100 * up / (up + down):.0f}%"
    what = "decided comparisons" if up + down < 1 - 1e-9 else "comparisons"
    said += f": between otherwise equal items, this side wins {share} of the {what}."
    if coefficient.low is not None and coefficient.high is not None and coefficient.low <= 0 <= coefficient.high:
        said += " The effect is not significant."
    return said


def _ends(coefficient: Coefficient) -> tuple[float, float]:
    assert coefficient.low is not None
    assert coefficient.high is not None
    return coefficient.low, coefficient.high


def _signed(value: float) -> str:
    return short_number(value, 3).replace("-", "−")


def _table(ranking: Ranking) -> ReportTable:
    """Return the table of covariate effects; with several instances, a row per instance and covariate."""
    header, rows = header_of(ranking.params.get("level")), rows_of(ranking.coefficients)
    if ranking.n_instances == 1:
        right = frozenset(range(1, len(header)))
        return ReportTable(EFFECTS, header, tuple(map(tuple, rows)), right, frozenset([0]))
    header = ("instance", *header)
    named = tuple(
        (shorten(coefficient.instance or "", LABEL), *row)
        for coefficient, row in zip(ranking.coefficients, rows, strict=True)
    )
    right = frozenset(range(2, len(header)))
    return ReportTable(EFFECTS, header, named, right, frozenset([0, 1]))


# ---- changes ----
def _changes(study: Study, without: Ranking) -> tuple[Part, ...]:
    """Return the table of the items whose rank changes most, or else whose score does."""
    ranking, item = study.ranking, study.field.item
    before = dict(zip(without.items, zip(without.ranks.tolist(), without.scores.tolist(), strict=True), strict=True))
    each = [
        (label, *before[label], rank, score)
        for label, rank, score in zip(ranking.items, ranking.ranks.tolist(), ranking.scores.tolist(), strict=True)
        if label in before
    ]
    each.sort(key=lambda row: (-abs(row[1] - row[3]), -abs(row[2] - row[4])))
    shown = each[:CHANGES]
    n_moved = sum(rank != rank_before for _, rank_before, _, rank, _ in each)
    text = f"Style control changes the rank of {n_moved:,} of {len(each):,} {item[int(len(each) != 1)]}."
    write = number_format([row[2] for row in shown], [row[4] for row in shown])
    rows = tuple(
        (shorten(label, LABEL), write(score_before), write(score), f"{rank_before:,} → {rank:,}")
        for label, rank_before, score_before, rank, score in shown
    )
    header = (capital(item[0]), "Without", "With", "Rank")
    title = f"Largest changes of rank, and the {study.field.score} without and with style control"
    return (Text(text), ReportTable(title, header, rows, frozenset([1, 2, 3]), frozenset([0])))
