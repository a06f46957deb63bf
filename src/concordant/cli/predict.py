"""``concordant predict``: score feature rows with a trained ranker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from concordant.cli import _learners as learners
from concordant.cli import _options
from concordant.cli import _shared as shared
from concordant.cli._help import Command, option

if TYPE_CHECKING:
    from concordant.io.formats.features import Features
    from concordant.types import Floats, Int64s

EPILOG = """\b
Examples:
  concordant predict model.zip new.csv
  concordant predict model.zip test.txt --evaluate --metrics ndcg@5,map
  concordant predict model.zip test.txt -o test.run
  concordant predict model.zip new.parquet -o scores.parquet

Scores rank the rows of one query; scores of different queries are not comparable.
"""
FORMATS = ("csv", "json", "jsonl", "parquet", "run")


@click.command(cls=Command, epilog=EPILOG)
@click.argument("model")
@click.argument("file", nargs=-1, required=True, metavar="FILE…")
@option("--evaluate", is_flag=True, heading="output", help="Print metrics against the labels instead of scores.")
@_options.metrics("ndcg@10,map")
@_options.output
@_options.to(*FORMATS)
@_options.json
@shared.reading_options("features", hidden={"weight"})
def command(
    model: str,
    file: tuple[str, ...],
    evaluate: bool,
    metrics: list[str],
    output: str,
    to: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Score rows of features with a trained model.

    MODEL is a file saved by "concordant train". Features are matched by the names of their columns, or by position for
    LETOR and svmlight files. Labels are optional; with labels, metrics are printed as well. Scores are written as csv,
    json, jsonl, parquet or run.
    """
    from concordant import saving
    from concordant.analysis import training

    ranker, about = _loaded(model), saving.read_about(model)
    columns, features = _saved_columns(about, ranker.n_features_in_, model)
    roles = {role: f"?{columns.get(role, '')}" for role in ("label", "query", "item")}
    how = {**roles, **shared.pop_reading_options(options)}
    features_read = learners.read(file, how, features)
    shared.tell([] if as_json else features_read.notes, "note: ")
    with learners.explained() as messages:
        scores = training.predict(ranker, features_read.X, features_read.query)
    values = (
        training.evaluate(scores, features_read, metrics) if features_read.has_labels and features_read.y.any() else {}
    )
    shared.tell(messages, "warning: ")
    if evaluate:
        _print_metrics(values, features_read, as_json, output)
        return
    kind = to or ("json" if as_json else _format_of(output))
    _write(_columns(scores, features_read), scores, features_read, output, kind, str(about.get("method", "concordant")))
    if values and not as_json:
        told_values = ", ".join(f"{name} {value:.4f}" for name, value in values.items())
        queries = "1 query" if features_read.n_queries == 1 else f"{features_read.n_queries:,} queries"
        shared.tell([f"{told_values} over {queries}"], "note: ")


def _loaded(path: str) -> Any:
    """Load a fitted ranker; reject other files."""
    from concordant.cli._models import load_model
    from concordant.errors import FormatError

    ranker = load_model(path, "ranker")
    if not hasattr(ranker, "predict"):
        raise FormatError(
            f"{type(ranker).__name__} does not score rows: use a model saved by `concordant train`.", path=path
        )
    if not hasattr(ranker, "n_features_in_"):
        raise FormatError("the model is not fitted: train it first.", path=path)
    return ranker


def _saved_columns(about: dict[str, Any], n_features: int, path: str) -> tuple[dict[str, str], list[str]]:
    """Return the columns and features in the model file; reject invalid ones."""
    from concordant.errors import FormatError

    columns = about.get("columns") or {}
    features = about.get("features") or [str(k + 1) for k in range(n_features)]
    are_texts = isinstance(columns, dict) and isinstance(features, list)
    if not are_texts or not all(isinstance(name, str) for name in (*columns.values(), *features)):
        raise FormatError(
            "the column or feature names in the model file are not text: train the model again.", path=path
        )
    if len(features) != n_features or len(set(features)) < n_features:
        raise FormatError(
            f"the model file does not name each of its {n_features} features: train the model again.", path=path
        )
    return columns, features


def _columns(scores: Floats, features: Features) -> dict[str, Any]:
    """Return query, row or document, score and rank (1 is best in its query) of each row, in input order."""
    columns: dict[str, Any] = {}
    if features.queries is not None:
        columns["query"] = [features.queries[code] for code in features.query.tolist()]
    columns["item" if features.items is not None else "row"] = _names(features)
    return {**columns, "score": scores, "rank": _ranks(scores, features.query)}


def _names(features: Features) -> list[Any]:
    return list(features.items) if features.items is not None else list(range(1, len(features.y) + 1))


def _ranks(scores: Floats, query: Int64s) -> Int64s:
    """Return the rank of each row in its query; equal scores share the better rank (1, 2, 2, 4)."""
    import numpy as np

    from concordant.ballots.segments import is_new

    order = np.lexsort((-scores, query))
    place = np.arange(len(order))
    columns = (query[order], scores[order])
    query_start, tie_start = (np.maximum.accumulate(np.where(is_new(*columns[:k]), place, 0)) for k in (1, 2))
    rank = np.empty(len(order), np.int64)
    rank[order] = tie_start - query_start + 1
    return rank


def _format_of(output: str) -> str:
    ending = output.rpartition(".")[2].lower()
    return {"trec": "run", "pq": "parquet", "ndjson": "jsonl"}.get(ending, ending if ending in FORMATS else "csv")


def _write(columns: dict[str, Any], scores: Floats, features: Features, output: str, format: str, tag: str) -> None:
    """Write the scores in this format."""
    if format == "run":
        _write_run(scores, features, output, tag)
    elif format == "parquet":
        from concordant.errors import InputError
        from concordant.io import write_table

        if output == "-":
            raise InputError("A parquet file cannot be printed on the terminal: use --output FILE.")
        write_table(columns, output, "parquet")
    elif format in ("json", "jsonl"):
        plain = [column.tolist() if hasattr(column, "tolist") else column for column in columns.values()]
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*plain, strict=True)]
        lines = [shared.to_json(rows)] if format == "json" else [_one_line(row) for row in rows]
        shared.write_text("\n".join(lines), output)
    else:
        shared.write_text(shared.to_csv(columns), output)


def _one_line(row: dict[str, Any]) -> str:
    import json

    return json.dumps(row, ensure_ascii=False, allow_nan=False)


def _write_run(scores: Floats, features: Features, output: str, tag: str) -> None:
    """Write a TREC run, the documents of every query by decreasing score."""
    import numpy as np

    from concordant.ballots.vocabulary import Vocabulary, encode, shorten
    from concordant.errors import InputError
    from concordant.io import write
    from concordant.ranking import Ranking

    item, vocabulary = encode([str(name) for name in _names(features)])
    order = np.argsort(features.query, kind="stable")
    key = features.query[order] * len(vocabulary) + item[order]
    if len(np.unique(key)) < len(key):
        ordered = np.sort(key)
        twice = vocabulary[int(ordered[1:][ordered[1:] == ordered[:-1]][0]) % len(vocabulary)]
        raise InputError(f"The document {shorten(twice)!r} occurs twice in its query: remove one of the rows.")
    ptr = np.searchsorted(features.query[order], np.arange(features.n_queries + 1)).astype(np.int64)
    names = features.queries if features.queries is not None else Vocabulary(["1"])
    ranking = Ranking(
        vocabulary=vocabulary, slot_ptr=ptr, slot_item=item[order], score=scores[order], instances=names, method=tag
    )
    shared.tell(write(ranking, output, format="trec", tag=tag), "note: ")


def _print_metrics(values: dict[str, float], features: Features, as_json: bool, output: str) -> None:
    """Print the metrics, or write them as JSON."""
    from concordant.errors import InputError

    if not values:
        raise InputError(
            "The rows cannot be evaluated: they have no labels, or all labels are 0. Give rows with relevance labels."
        )
    if as_json:
        facts = {"queries": features.n_queries, "rows": len(features.y), "metrics": values}
        shared.write_text(shared.to_json(facts), output)
        return
    header = ["queries", "rows", *values]
    row = [f"{features.n_queries:,}", f"{len(features.y):,}", *(f"{value:.4f}" for value in values.values())]
    shared.write_text(shared.table(header, [row], set(range(len(header)))), output)
