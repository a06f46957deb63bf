"""``concordant train-fusion``: train a fusion model on runs and relevance judgements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from concordant.cli import _learners as learners
from concordant.cli import _options
from concordant.cli import _shared as shared
from concordant.support import progress
from concordant.tables.options import UNRATED

if TYPE_CHECKING:
    from concordant.labels import Labels
    from concordant.preferences import Preferences

EPILOG = """\b
Examples:
  concordant train-fusion bm25.run dense.run sparse.run --labels qrels.txt -o model.cc
  concordant train-fusion runs/*.run --labels qrels.txt --counts binary --validation 0.3 -o model.cc
  concordant train-fusion runs/*.run --labels qrels.txt --features both --learner light-gbm -o model.cc
  concordant train-fusion A1.txt A2.txt A3.txt --valid A4.txt --metrics ndcg@5:letor,map -o model.cc
  concordant train-fusion lists.csv --agent engine --instance query --item doc --labels qrels.txt -o model.cc
  concordant fuse new/*.run --model model.cc -o fused.run
  concordant rank A5.txt --model model.cc --csv -o ranking.csv

Agents are identified by name (the tag of a run, the column of a LETOR file): new data must use the same names.
"""
DEFAULT = "expert-ranker"
SAME = ("instance", "item")  # columns that judgements in a table may share with the rankings
SHARE = 0.2


class TrainFusionCommand(shared.MethodCommand):
    """Train with the options of the method named, or of the default one."""

    default_method = DEFAULT


@click.command(cls=TrainFusionCommand, epilog=EPILOG)
@click.argument("runs", nargs=-1, required=True, metavar="RUN…")
@_options.labels(multiple=True)
@_options.valid
@_options.method(default=DEFAULT)
@_options.validation(shown=str(SHARE))
@_options.metrics("ndcg@10,map")
@_options.model_output
@_options.plot("the weight of each run")
@_options.json
@shared.reading_options("preferences", hidden=UNRATED | {"memory_limit"})
def command(
    runs: tuple[str, ...],
    labels: tuple[str, ...],
    valid: str | None,
    method: str,
    validation: float | None,
    metrics: list[str],
    output: str | None,
    **options: Any,
) -> None:
    """Train a fusion model on judged topics.

    RUN is a TREC run (topic Q0 document rank score tag), a LETOR file, or any other file of rankings by named agents.
    --labels may be repeated; without it, the judgements in the LETOR files are used. Some of the judged topics are held
    out for model selection, unless --valid names others; the table compares the model with reciprocal rank fusion and
    the best single run on both parts. Use the model with "concordant rank --model" and "concordant fuse --model".
    """
    from concordant import registry
    from concordant.errors import InputError
    from concordant.request import Request

    if valid is not None and validation is not None:
        raise click.UsageError("--valid and --validation cannot be combined: leave out one of them.")
    plot, as_json, params = options.pop("plot"), options.pop("as_json"), shared.pop_params(options)
    learners.refuse_early(output, plot)
    unfitted: Any = registry.make(method, **params)
    if not hasattr(unfitted, "fit"):
        raise InputError(f"{unfitted.name} does not learn from labels: use {DEFAULT} or another supervised method.")
    reading = shared.pop_reading_options(options)
    prefs, known = (
        Request(runs, reading=reading).read(),
        _judgements(labels, [*runs, *([valid] if valid else [])], reading),
    )
    if valid is None:
        train, held_out = _parts(prefs, known, _share(unfitted, validation), getattr(unfitted, "seed", 0))
    else:
        _check_validated(unfitted)
        train, _ = _parts(prefs, known, 0.0, 0)
        held_out, _ = _parts(Request((valid,), reading=reading).read(), known, 0.0, 0)
    with learners.explained() as messages, progress.stage(f"training {unfitted.name}"):
        more = {} if held_out is None else {"validation": (held_out, known)}
        model = unfitted.fit(train, known, **more)
    table = {"train": _quality(model, train, known, metrics)}
    if held_out is not None:
        table["validation"] = _quality(model, held_out, known, metrics)
    _keep(model, output, plot, {"method": model.name, "agents": list(prefs.agents or ()), "metrics": table})
    trust = _trust(model, train)
    if as_json:
        facts = {"method": model.name, "params": model.to_dict()["params"], "sets": table, "trust": trust}
        facts |= {"conventions": learners.conventions(metrics)}
        shared.write_text(shared.to_json({**facts, "warnings": messages, "model": output}), "-")
        return
    shared.tell([*prefs.notes, *_unjudged(prefs, train, held_out if valid is None else None)], "note: ")
    shared.write_text(_text(table, metrics, trust, model.name), "-")
    shared.tell(messages, "warning: ")
    shared.tell([path for path in (output, plot) if path], "wrote ")


def _judgements(paths: tuple[str, ...], files: list[str], reading: dict[str, Any]) -> Labels:
    """Read the judgements from the named files, or from the files of rankings."""
    from concordant.errors import ConcordantError, InputError
    from concordant.io import read_labels

    columns = {role: f"?{reading[role]}" for role in SAME if role in reading}
    skip = {"skip_bad_rows": True} if reading.get("skip_bad_rows") else {}
    if paths:
        return read_labels(list(paths), **columns, **skip)
    try:
        return read_labels(files, **columns, **skip)
    except ConcordantError as problem:
        raise InputError("The rankings contain no relevance judgements: name their file with --labels.") from problem


def _check_validated(method: Any) -> None:
    """Reject validation topics for a method that does not use them."""
    if not getattr(method, "takes_validation", False):
        raise click.UsageError(f"{method.name} does not use validation topics: leave out --valid.")


def _unjudged(prefs: Preferences, *parts: Preferences | None) -> list[str]:
    """Return a note on how many topics of the runs have no judgements."""
    count = prefs.n_instances - sum(part.n_instances for part in parts if part is not None)
    return [f"{count:,} topic{'s' * (count > 1)} without judgements left out"] if count else []


def _share(method: Any, share: float | None) -> float:
    """Return the share of topics for validation: as given; by default ``SHARE`` if the method uses it, else 0."""
    if share is not None:
        return share
    return SHARE if getattr(method, "takes_validation", False) else 0.0


def _parts(prefs: Preferences, labels: Labels, share: float, seed: int) -> tuple[Preferences, Preferences | None]:
    """Split the judged topics at random into (training, validation); the latter is None if the share is 0."""
    import numpy as np

    from concordant.errors import InputError

    judged = [] if labels.instances is None or prefs.instances is None else labels.instances.labels
    topics = sorted(set(judged).intersection(prefs.instances.labels if prefs.instances is not None else ()))
    if not topics:
        raise InputError("The runs and the judgements have no common topic: check that both use the same topic names.")
    count = round(share * len(topics)) if share else 0
    if not count:
        return prefs.select(instances=topics), None
    drawn = np.random.default_rng(seed).permutation(len(topics))
    held_out = {topics[k] for k in drawn[: min(count, len(topics) - 1)].tolist()}
    return (
        prefs.select(instances=[topic for topic in topics if topic not in held_out]),
        prefs.select(instances=sorted(held_out)),
    )


def _quality(model: Any, prefs: Preferences, labels: Labels, metrics: list[str]) -> dict[str, Any]:
    """Return the mean metrics of the model, of reciprocal rank fusion and of the best single run."""
    from concordant import registry
    from concordant.evaluation import evaluate

    def means(ranked: Any) -> dict[str, float]:
        return evaluate(ranked, labels, metrics, queries="shared").means

    assert prefs.agents is not None
    single = {agent: means(registry.make("rrf").rank(prefs.select(agents=[agent]))) for agent in prefs.agents.labels}
    best = max(single, key=lambda agent: next(iter(single[agent].values())))
    systems = {model.name: means(model.rank(prefs)), "rrf": means(registry.make("rrf").rank(prefs)), best: single[best]}
    return {"topics": prefs.n_instances, "best": best, "systems": systems}


def _trust(model: Any, prefs: Preferences) -> dict[str, float]:
    weights = model.rank(prefs).agents or {}
    return dict(sorted(weights.items(), key=lambda pair: -pair[1]))


def _keep(model: Any, output: str | None, plot: str | None, about: dict[str, Any]) -> None:
    """Save the model and plot its weights, if requested."""
    from concordant import saving
    from concordant.errors import InputError

    if output is not None:
        saving.save(model, output, about=about)
    if plot is not None:
        if not hasattr(model, "plot_experts"):
            raise InputError(f"{model.name} has no expert weights to plot: leave out --plot.")
        model.plot_experts(plot)


def _text(table: dict[str, Any], metrics: list[str], trust: dict[str, float], name: str) -> str:
    """Return the table of metrics by set and system, and the table of the weights of runs."""
    rows = [
        [
            part if k == 0 else "",
            f"{set_result['topics']:,}" if k == 0 else "",
            f"best run: {system}" if k == 2 else system,
            *(f"{values[metric]:.4f}" for metric in values),
        ]
        for part, set_result in table.items()
        for k, (system, values) in enumerate(set_result["systems"].items())
    ]
    shown = shared.table(
        ["set", "topics", "system", *learners.headings(metrics)], rows, {1, *range(3, 3 + len(metrics))}, name
    )
    if not trust:
        return shown
    trusted = shared.table(["run", "trust"], [[agent, f"{value:.4f}"] for agent, value in trust.items()], {1})
    return f"{shown.rstrip()}\n\n{trusted}"
