"""``concordant recommend``: train and evaluate recommenders, and recommend items to known and new users."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from concordant.cli import _learners as learners
from concordant.cli import _options
from concordant.cli import _shared as shared
from concordant.cli._help import Group, option
from concordant.tables.options import UNRATED

if TYPE_CHECKING:
    from concordant.params import Param
    from concordant.preferences import Preferences

DEFAULT = "ordered-partition-mf"  # as in analysis.recommending, which takes long to import

EPILOG = """\b
Examples:
  concordant recommend train ratings.csv -o model.zip
  concordant recommend for model.zip ann bob -n 5
  concordant recommend for model.zip --ratings new-user.csv
  concordant recommend evaluate model.zip later-ratings.csv
"""
TRAIN_EPILOG = """\b
Examples:
  concordant recommend train ratings.csv -o model.zip
  concordant recommend train ml-1m/ratings.dat --method pmf --factors 20 --ridge auto -o model.zip
  concordant recommend train ratings.csv --validation 0 --sweeps 20 -o model.zip
  concordant recommend train more-ratings.csv --resume model.zip -o model.zip
  concordant recommend train clicks.csv -o model.zip
"""
FOR_EPILOG = """\b
Examples:
  concordant recommend for model.zip ann
  concordant recommend for model.zip ann bob --number 5 --csv -o lists.csv
  concordant recommend for model.zip --all --json -o lists.json
  concordant recommend for model.zip --ratings new-user.csv
  concordant recommend for model.zip --like "Casablanca"
"""
EVALUATE_EPILOG = """\b
Examples:
  concordant recommend evaluate model.zip test.csv
  concordant recommend evaluate model.zip test.csv --metrics err,ndcg@1,ndcg@5 --json
"""


class TrainCommand(shared.MethodCommand):
    """Train with the options of the recommender named, or of the default one."""

    default_method = DEFAULT
    hints = {"method": ('--method NAME --help adds its options, "concordant recommenders" lists them',)}

    def params_of(self, name: str) -> tuple[Param, ...]:
        """Return the hyper-parameters of a recommender by its name in any spelling."""
        from concordant.params import params_of
        from concordant.registry import RECOMMENDERS

        return params_of(RECOMMENDERS.find(name))


@click.group(cls=Group, epilog=EPILOG)
def command() -> None:
    """Train and evaluate recommenders, and recommend items.

    The input is a table of agents (users), items and ratings, or MovieLens files. Some recommenders also accept
    rankings by named agents.
    """


@command.command(cls=TrainCommand, epilog=TRAIN_EPILOG)
@click.argument("file", nargs=-1, required=True, metavar="FILE…")
@_options.method("recommenders")
@_options.validation(0.1)
@_options.metrics("ndcg@10,err")
@option("--resume", metavar="MODEL", heading="input", help="Saved model to resume training from.")
@_options.model_output
@_options.json
@shared.reading_options("preferences", hidden=UNRATED)
def train(
    file: tuple[str, ...],
    method: str | None,
    validation: float,
    metrics: list[str],
    resume: str | None,
    output: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Train a recommender on ratings (default: ordered-partition-mf) or clicks (bpr).

    Some ratings of each agent are held out for early stopping, and a table compares the model with non-personalised
    baselines on them. The model is then trained on all ratings and can be used with "concordant recommend for".
    """
    from concordant import saving
    from concordant.analysis.recommending import are_clicks, default_recommender, train_recommender
    from concordant.registry import RECOMMENDERS

    params = shared.pop_params(options)
    learners.refuse_early(output, None)
    if method is not None:
        RECOMMENDERS.make(method, **params)  # a wrong parameter is reported before the file is read
    start = None if resume is None else _loaded(resume)
    prefs = shared.read_preferences(file, options)
    method = method or default_recommender(prefs)
    trained = train_recommender(prefs, method, params, held_out=validation, metrics=metrics, start=start)
    model, table, best = trained.model, trained.means, trained.best
    about = {**trained.about(), "conventions": learners.conventions(metrics)}
    if output is not None:
        saving.save(model, output, about=about)
    if as_json:
        sweeps = [sweep._asdict() for sweep in trained.sweeps]
        facts = {**about, "params": model.to_dict()["params"], "sweeps": sweeps}
        shared.write_text(shared.to_json({**facts, "model": output}), "-")
        return
    shared.tell(prefs.notes, "note: ")
    if table:
        rows = [[name, *(f"{value:.4f}" for value in values.values())] for name, values in table.items()]
        shared.write_text(
            shared.table(
                [f"held-out {'clicks' if are_clicks(prefs) else 'ratings'}", *learners.headings(metrics)],
                rows,
                set(range(1, 1 + len(metrics))),
            ),
            "-",
        )
    known = f"{model.name}: {len(model.agents):,} agents and {len(model.items):,} items"
    shared.tell([f"{known}, after {best.number} of {len(trained.sweeps)} sweeps" if best else known], "")
    shared.tell([output] if output else [], "wrote ")


@command.command("for", epilog=FOR_EPILOG)
@click.argument("model")
@click.argument("agent", nargs=-1, metavar="AGENT…")
@option("--all", "everybody", is_flag=True, heading="input", help="Recommend to all agents in the model.")
@option("--ratings", metavar="FILE", heading="input", help="File with ratings of new users, who are folded in.")
@option("--like", metavar="ITEM", heading="input", help="Find items similar to this one.")
@option("--number", "-n", type=click.IntRange(1), default=10, show_default=True, metavar="N", heading="output",
        help="Number of items per agent.")  # fmt: skip
@option("--seen/--no-seen", default=False, heading="output", help="Include items that the agent has already rated.")
@shared.output_options(all_rows="--all-rows")
@shared.reading_options("preferences", hidden=UNRATED)
def for_(
    model: str,
    agent: tuple[str, ...],
    everybody: bool,
    ratings: str | None,
    like: str | None,
    number: int,
    seen: bool,
    output: shared.Output,
    **options: Any,
) -> None:
    """Recommend items to agents.

    New users with a file of --ratings (one user, if it has no agents) are folded in; the model does not change.
    """
    from concordant.support.display import DisplayTable

    fitted = _loaded(model)
    if sum([bool(agent), everybody, ratings is not None, like is not None]) != 1:
        raise click.UsageError("Specify the users: AGENT…, --all, --ratings FILE of new users, or --like ITEM.")
    if like is not None:
        ranking = fitted.similar(like, number)
    elif ratings is not None:
        ranking = fitted.fold_in(_new_users(ratings, options)).recommend(None, number, exclude_seen=not seen)
    else:
        ranking = fitted.recommend(None if everybody else list(agent), number, exclude_seen=not seen)
    lists = {"": ranking} if ranking.instances is None else dict(zip(ranking.instances, ranking, strict=True))
    rows = [
        (who, rank + 1, item, float(score))
        for who, ranking_of in lists.items()
        for rank, (item, score) in enumerate(zip(ranking_of.items, ranking_of.scores, strict=True))
    ]
    header = ["agent", "rank", "item", "score"]
    first = 1 if ranking.instances is None else 0  # a single list needs no column of names

    def data() -> object:
        plain = {
            who: [
                {"item": item, "score": float(score)}
                for item, score in zip(ranking_of.items, ranking_of.scores, strict=True)
            ]
            for who, ranking_of in lists.items()
        }
        return plain[""] if ranking.instances is None else plain

    output.show(
        data=data,
        columns=lambda: {name: [row[k] for row in rows] for k, name in enumerate(header) if k >= first},
        blocks=lambda: [
            DisplayTable(
                header[first:],
                [[who, str(rank), item, f"{score:.4f}"][first:] for who, rank, item, score in rows],
                {1 - first, 3 - first},
                fitted.name,
            )
        ],
        title="recommendations",
    )


@command.command(epilog=EVALUATE_EPILOG)
@click.argument("model")
@click.argument("file", nargs=-1, required=True, metavar="FILE…")
@_options.metrics("ndcg@10,ndcg@5,err")
@_options.json
@shared.reading_options("preferences", hidden=UNRATED)
def evaluate(model: str, file: tuple[str, ...], metrics: list[str], as_json: bool, **options: Any) -> None:
    """Evaluate a recommender on held-out ratings.

    Metrics are averaged over agents. Unknown agents and items get average scores.
    """
    from concordant.analysis.recommending import means_of

    fitted, prefs = _loaded(model), shared.read_preferences(file, options)
    means = means_of(fitted.by_agent(prefs, metrics))
    strangers = sum(label not in fitted.agents for label in (prefs.agents or ()))
    facts = {"recommender": fitted.name, "agents": prefs.n_agents, "unknown_agents": strangers, "metrics": means}
    facts |= {"conventions": learners.conventions(metrics)}
    if as_json:
        shared.write_text(shared.to_json(facts), "-")
        return
    shared.tell(prefs.notes, "note: ")
    rows = [[fitted.name, *(f"{value:.4f}" for value in means.values())]]
    shared.write_text(shared.table(["model", *learners.headings(metrics)], rows, set(range(1, 1 + len(metrics)))), "-")
    if strangers:
        shared.tell([f"{strangers:,} of {prefs.n_agents:,} agents are not in the model"], "note: ")


def _new_users(path: str, options: dict[str, Any]) -> Preferences:
    """Read new users' ratings; a table without agents belongs to one user."""

    from concordant.errors import InputError
    from concordant.preferences import Preferences as Container
    from concordant.recommend import NEWCOMER

    prefs = shared.read_preferences((path,), options)
    if prefs.agents is not None:
        return prefs
    if prefs.value is None:
        raise InputError(f"{path} has neither agents nor ratings: give a table of items and ratings.")
    items = [prefs.items[code] for code in prefs.item.tolist()]
    return Container.from_ratings([NEWCOMER] * len(items), items, prefs.value)


def _loaded(path: str) -> Any:
    """Load a trained recommender; reject other files."""
    from concordant.cli._models import load_model
    from concordant.errors import InputError

    model = load_model(path, "recommender")
    if not model.learnt:
        raise InputError(f"{path} is not a trained recommender: use a file saved by `concordant recommend train`.")
    return model
