"""``concordant train-fusion``: train a fusion model on runs and relevance judgements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from concordant.cli import _learners as learners
from concordant.cli import _options
from concordant.cli import _shared as shared

if TYPE_CHECKING:
    from concordant.labels import Labels
    from concordant.preferences import Preferences

EPILOG = """\b
Examples:
  concordant train-fusion bm25.run dense.run sparse.run --labels qrels.txt -o model.cc
  concordant train-fusion runs/*.run --labels qrels.txt --counts binary --validation 0.3 -o model.cc
  concordant train-fusion runs/*.run --labels qrels.txt --features both --learner light-gbm -o model.cc
  concordant train-fusion MQ2008-agg/A1.txt --labels MQ2008-agg/A1.txt --metrics ndcg@5:letor,map -o model.cc
  concordant fuse new/*.run --model model.cc -o fused.run

Agents are identified by the tags of their runs: new runs must carry the same tags.
"""
DEFAULT = "expert-ranker"
SHARE = 0.2


class TrainFusionCommand(shared.MethodCommand):
    """Train with the options of the method named, or of the default one."""

    default_method = DEFAULT


@click.command(cls=TrainFusionCommand, epilog=EPILOG)
@click.argument("runs", nargs=-1, required=True, metavar="RUN…")
@_options.labels(required=True)
@_options.method(default=DEFAULT)
@_options.validation(shown=str(SHARE))
@_options.metrics("ndcg@10,map")
@_options.model_output
@_options.plot("the weight of each run")
@_options.json
def command(
    runs: tuple[str, ...],
    labels: str,
    method: str,
    validation: float | None,
    metrics: list[str],
    output: str | None,
    **options: Any,
) -> None:
    """Train a fusion model on judged topics.

    RUN is a TREC run (topic Q0 document rank score tag), or any file of rankings by named agents. Some of the judged
    topics are held out for model selection; the table compares the model with reciprocal rank fusion and the best
    single run on both parts. Use the model with "concordant fuse --model".
    """
    from concordant import registry
    from concordant.errors import InputError
    from concordant.io import read, read_labels

    plot, as_json, params = options.pop("plot"), options.pop("as_json"), shared.pop_params(options)
    learners.refuse_early(output, plot)
    unfitted: Any = registry.make(method, **params)
    if not hasattr(unfitted, "fit"):
        raise InputError(f"{unfitted.name} does not learn from labels: use {DEFAULT} or another supervised method.")
    prefs, known = read(list(runs)), read_labels(labels)
    train, valid = _parts(prefs, known, _share(unfitted, validation), getattr(unfitted, "seed", 0))
    with learners.explained() as messages, shared.progress(f"training {unfitted.name}"):
        more = {} if valid is None else {"validation": (valid, known)}
        model = unfitted.fit(train, known, **more)
    table = {"train": _quality(model, train, known, metrics)}
    if valid is not None:
        table["validation"] = _quality(model, valid, known, metrics)
    _keep(model, output, plot, {"method": model.name, "agents": list(prefs.agents or ()), "metrics": table})
    trust = _trust(model, train)
    if as_json:
        facts = {"method": model.name, "params": model.to_dict()["params"], "sets": table, "trust": trust}
        facts |= {"conventions": learners.conventions(metrics)}
        shared.write_text(shared.to_json({**facts, "warnings": messages, "model": output}), "-")
        return
    shared.tell([*prefs.notes, *_unjudged(prefs, train, valid)], "note: ")
    shared.write_text(_text(table, metrics, trust, model.name), "-")
    shared.tell(messages, "warning: ")
    shared.tell([path for path in (output, plot) if path], "wrote ")


def _unjudged(prefs: Preferences, *parts: Preferences | None) -> list[str]:
    """Return a note on how many topics of the runs have no judgements."""
    count = prefs.n_instances - sum(part.n_instances for part in parts if part is not None)
    return [f"{count:,} topic{'s' * (count > 1)} without judgements left out"] if count else []


def _share(method: Any, share: float | None) -> float:
    """Return the share of topics for validation: the given one, or by default some if the method can use them."""
    if share is not None:
        return share
    return SHARE if getattr(method, "takes_validation", False) else 0.0


def _parts(prefs: Preferences, labels: Labels, share: float, seed: int) -> tuple[Preferences, Preferences | None]:
    """Split the judged topics at random: (training, validation); None for the latter without a share."""
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
            raise InputError(f"{model.name} has no plot of its experts: leave out --plot.")
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
