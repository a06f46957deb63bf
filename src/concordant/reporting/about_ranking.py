"""Report sections on the ranking, its uncertainty, and pairwise wins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from concordant import registry
from concordant.ballots.vocabulary import in_sentence, shorten_apart
from concordant.io import write
from concordant.narrative.certainty import Certainty, percent
from concordant.ranking import Ranking
from concordant.reporting.sections import (
    DotPlot,
    Download,
    Fold,
    HeatMap,
    Part,
    ReportTable,
    Scale,
    Section,
    Text,
    Track,
)
from concordant.reporting.study import Study
from concordant.results.rendering import interval_column
from concordant.support.text import capital
from concordant.types import Floats

LABEL = 120  # characters of a label that a table shows; the csv file has all
MATRIX = 100  # items of the picture of who beats whom
PLAIN = 100_000  # bytes of a csv file that is embedded as it is
MATRIX_TABLE = 30  # items up to which the counts are a table, too
EMBEDDED = 400_000  # bytes of a file that is embedded; of a larger one the report says where it is
ROWS = 100_000  # rows up to which it is written at all
COUNTING = ("positional", "voting")  # families whose scores count votes, points or wins
RATING = ("mean-rating", "median-rank", "score")  # but not these


def ranking_section(study: Study, top: int) -> Section | None:
    """Show the ranking with scores, confidence intervals and P(best); None with several instances."""
    ranking = study.ranking
    if ranking.n_instances != 1:
        return None
    field = study.field
    parts: list[Part] = [ranking_table(ranking, top, f"{capital(field.item[1])}, best first", item=field.item[0])]
    parts += first_place(ranking)
    if ranking.verdict:
        parts.append(Text(f"{capital(ranking.verdict)}."))
    parts += left_out(ranking, top, field.item[1])
    return Section("ranking", "Ranking", tuple(parts), method_note(ranking))


def method_note(ranking: Ranking) -> str:
    """Return the usual name of a method with its idea, as a line under a heading; empty for an unknown method."""
    if not ranking.method or ranking.method not in registry.names():
        return ""
    idea = registry.METHODS.listed(ranking.method).summary
    converted = "" if ranking.converted is None else " Scores are on the Elo scale."
    return f"{registry.title_of(ranking.method, ranking.params)}: {idea}{converted}"


def first_place(ranking: Ranking) -> list[Text]:
    """Return what would change the first place; the verdict, which precedes the ranking, states its certainty."""
    if (ranking.fit or {}).get("seats", 1) > 1:  # a direct comparison decides no seat
        return []
    certainty = replace(ranking.certainty, method="")
    return [Text(sentence) for sentence in (certainty.outlook(), *_swing(certainty)) if sentence]


def _swing(certainty: Certainty) -> list[str]:
    """Return a sentence on the number of votes that would have to change for the runner-up to win."""
    if certainty.basis != "votes" or certainty.votes is None or certainty.votes[0] <= certainty.votes[1]:
        return []
    votes = int((certainty.votes[0] - certainty.votes[1]) // 2) + 1
    return [
        f"If {votes:,} of the {certainty.votes[0]:,.6g} votes for {in_sentence(certainty.first[0])} changed, "
        f"{in_sentence(certainty.runner_up or '')} would win the direct comparison."
    ]


def ranking_table(ranking: Ranking, top: int, title: str = "Items, best first", *, item: str = "item") -> ReportTable:
    """Return the table of the best items of one instance, with inline plots of scores and intervals.

    ``item`` is what an item is called.
    """
    n = min(top, len(ranking.items))
    tracks, scale = tracks_of(ranking, n)
    columns = ranking.written(n)
    header, cells = ["Rank", capital(item)], [columns["rank"], shorten_apart(ranking.items[:n], LABEL)]
    right = {0}
    if "rank_low" in ranking.details:
        header.append(f"{interval_column(ranking)} of rank")
        cells.append(_ranges(ranking.detail("rank_low")[:n], ranking.detail("rank_high")[:n]))
        right.add(len(header) - 1)
    if "elected" in ranking.details and (ranking.fit or {}).get("seats", 1) > 1:
        header.append("Seat")
        cells.append(["" if not p else "elected" if p == 1 else "tied" for p in ranking.detail("elected")[:n].tolist()])
    if not _is_order(ranking):
        header += ["Score", scale.title]
        cells += [columns["score"], tracks]  # type: ignore[list-item]
        right.add(len(header) - 2)
    if (interval := interval_column(ranking)) in columns:
        header.append(interval)
        cells.append(columns[interval])
        right.add(len(header) - 1)
    if "p_best" in ranking.details:
        header.append("P(best)")
        cells.append([percent(p) for p in ranking.detail("p_best")[:n].tolist()])
        right.add(len(header) - 1)
    for name in (name.replace("_", " ") for name in ranking.beside):
        header.append(name)
        cells.append(columns[name])
        right.add(len(header) - 1)
    rows = tuple(zip(*cells, strict=True))
    shown = {"Seat", "Score", scale.title, *header[:2]}
    minor = frozenset(k for k, name in enumerate(header) if name not in shown)
    return ReportTable(title, tuple(header), rows, frozenset(right), frozenset([1]), scale, minor=minor)


def _is_order(ranking: Ranking) -> bool:
    """Return whether the scores say no more than the order: the number of items ranked below, by a voting rule."""
    return (
        ranking.low is None
        and _counts_votes(ranking.method)
        and registry.family(ranking.method) != "positional"
        and bool((ranking.scores == len(ranking.items) - ranking.ranks).all())
    )


def tracks_of(ranking: Ranking, n: int) -> tuple[list[Track], Scale]:
    """Return the inline plots of the best n scores, and their common axis."""
    score: Floats = ranking.scores[:n]
    low, high = (None if ends is None else ends[:n] for ends in (ranking.low, ranking.high))
    ends = [values for values in (score, low, high) if values is not None]
    lowest, highest = (float(np.min(ends)), float(np.max(ends))) if n else (0.0, 1.0)
    if low is None and lowest >= 0 and _counts_votes(ranking.method):
        bars = Scale(0.0, highest or 1.0, "Score (plot)", is_bar=True)
        return [Track(value) for value in score.tolist()], bars
    if low is None or high is None:
        title = "Score (plot)"
        tracks = [Track(value) for value in score.tolist()]
    else:
        title = f"{interval_column(ranking)} (plot)"
        each = zip(score.tolist(), low.tolist(), high.tolist(), strict=True)
        tracks = [Track(value, a, b) for value, a, b in each]
    return tracks, Scale(lowest, highest if highest > lowest else lowest + 1.0, title)


def _counts_votes(method: str) -> bool:
    """Return whether the scores of a method are numbers of votes, points or wins, so that zero means none."""
    return method in registry.modules() and method not in RATING and registry.family(method) in COUNTING


def dot_plot(ranking: Ranking, top: int) -> DotPlot:
    """Return a separate plot of scores and confidence intervals."""
    n = min(top, len(ranking.items))
    tracks, scale = tracks_of(ranking, n)
    labels = tuple(f"{rank}  {item}" for rank, item in zip(ranking.ranks[:n].tolist(), ranking.items[:n], strict=True))
    return DotPlot(
        f"{registry.title_of(ranking.method, ranking.params)}: {scale.title.removesuffix(' (plot)')}",
        labels,
        tuple(tracks),
        scale,
    )


def left_out(ranking: Ranking, top: int, what: str) -> list[Part]:
    """Return a note on omitted rows, and the complete table as a file."""
    longest = int(np.diff(ranking.slot_ptr).max(initial=0))
    if longest <= top:
        return embedded(ranking, "Download the ranking (csv)")
    sentence = f"The table shows the first {top:,} of {longest:,} {what}."
    return [Text(sentence, "left-out"), *embedded(ranking, f"Download all {longest:,} {what} (csv)")]


def embedded(ranking: Ranking, says: str) -> list[Part]:
    """Return a ranking as an embedded file, or, if it is too large, a note on where all of it is."""
    file = download(ranking, says) if len(ranking.score) <= ROWS else None
    if file is not None and len(file.content) <= EMBEDDED:
        return [file]
    note = f"All {len(ranking.score):,} rows are too large for this page: "
    note += "the web app and “concordant rank FILE -o ranking.csv” write them to a file."
    return [Text(note, "left-out screen")]


def download(data: Ranking | Mapping[str, Any], says: str, name: str = "ranking") -> Download:
    """Return the ranking, or columns, as an embedded csv file, zipped if it is large."""
    content = csv_of(data)
    if len(content) <= PLAIN:
        return Download(f"{name}.csv", "text/csv", content, says)
    import io
    import zipfile

    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo(f"{name}.csv"), content, zipfile.ZIP_DEFLATED)  # of no date: always the same
    return Download(f"{name}.zip", "application/zip", out.getvalue(), f"{says.removesuffix('(csv)')}(zipped csv)")


def csv_of(data: Ranking | Mapping[str, Any]) -> bytes:
    """Return a ranking, or columns, as csv, escaped so that spreadsheets do not interpret cells as formulas."""
    import io

    out = io.BytesIO()
    write(data, out, format="csv", spreadsheet=True)  # type: ignore[arg-type]
    return out.getvalue()


def matrix_section(study: Study) -> Section | None:
    """Show pairwise wins in the order of the ranking; None with several instances or too many items."""
    ranking = study.ranking
    if ranking.n_instances != 1 or not study.data.may_compare or len(ranking.items) < 2:
        return None
    if study.prefs.classes is not None:
        return None
    n = min(MATRIX, len(ranking.items))
    chosen = study.order[:n]
    wins, ties = (m[np.ix_(chosen, chosen)] for m in (study.data.matrices.matrix(), study.data.matrices.tie_matrix()))
    have_met = (wins + wins.T + ties) > 0
    np.fill_diagonal(have_met, True)
    field = study.field
    what = "that the row wins against the column" if study.prefs.form == "pairs" else "who prefer the row to the column"
    if study.prefs.form != "pairs" and field.ballot[1] == "ballots":
        what = "that rank the row above the column"
    heat = HeatMap(
        f"{capital(field.ballot[1])} {what}; ties count half",
        tuple(shorten_apart(ranking.items[:n], 40)),
        tuple(map(tuple, wins.tolist())),
        tuple(map(tuple, ties.tolist())),
        field.ballot[1],
    )
    note = "Rows and columns are in the order of the ranking: where it agrees with the majority, cells above the "
    note += "diagonal are blue and cells below are orange."
    parts: list[Part] = []
    if not have_met.all():
        never = f"{int((~have_met).sum()) // 2:,} pairs of these {field.item[1]} were never compared"
        parts.append(Text(f"{never}; their cells are hatched."))
    parts.append(heat)
    if n <= MATRIX_TABLE:
        parts.append(Fold("Table of counts", (_counts(heat),)))
    if n < len(ranking.items):
        shown = f"The heat map shows the first {n} of {len(ranking.items):,} {field.item[1]}."
        parts.append(Text(shown, "left-out"))
    return Section("duels", "Head to head", tuple(parts), note)


def _counts(heat: HeatMap) -> ReportTable:
    """Return the wins of the row over the column as a table, for screen readers."""
    rows = [
        (label, *("" if i == j else f"{wins:,.6g}" for j, wins in enumerate(heat.wins[i])))
        for i, label in enumerate(heat.labels)
    ]
    header = ("wins of row over column", *heat.labels)
    return ReportTable(
        "Wins of the row over the column", header, tuple(rows), frozenset(range(1, len(header))), frozenset([0])
    )


def _ranges(low: Floats, high: Floats) -> list[str]:
    ends = zip(low.tolist(), high.tolist(), strict=True)
    return [f"{a}" if a == b else f"{a}–{b}" for a, b in ends]
