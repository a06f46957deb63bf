"""A request for a ranking: the data, how to read them, the method, and where the work runs.

``cc.rank``, ``cc.compare``, ``cc.rank_groups``, ``cc.report``, the commands and the web app all create a ``Request``.
It reads its source once, chooses a method and reports why if none is named, leaves out items on too few ballots and
reports how many, and reduces files to counts if the method needs only counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

from concordant import registry
from concordant.api import Summed, default_choice
from concordant.ballots.form import RAN
from concordant.errors import InputError, ParameterError, arg
from concordant.preferences import Preferences

if TYPE_CHECKING:
    from concordant.io.reduction import Reduced
    from concordant.method import Method
    from concordant.ranking import Ranking
    from concordant.results.scales import EloScale
    from concordant.tables.options import Options

Params = Mapping[str, Any] | Callable[[str], Mapping[str, Any]]
WHERE = ("workers", "cluster", "memory_limit")  # reading options that also say where methods run


class Choice(NamedTuple):
    """The name of a method, and why it was chosen; the reason is empty if the user named the method."""

    name: str
    reason: str = ""


class RankedAnswer(NamedTuple):
    """A ranking, the preferences (None if only sums were kept), notes on how the data were read, and the method."""

    ranking: Ranking
    prefs: Preferences | None
    notes: tuple[str, ...]
    choice: Choice


@dataclass(frozen=True, eq=False)
class Request:
    """What to rank, and how; ``run`` ranks it."""

    source: Any
    """Preferences, a DataFrame, or names of files, folders and patterns."""
    method: str | Method | None = None
    params: Params = field(default_factory=dict)
    """Parameters of the method, or a function that returns them for the name of the method."""
    reading: Mapping[str, Any] = field(default_factory=dict)
    """How to read the source, and where the work runs."""
    min_ballots: float | None = None
    all_items: bool = False
    """Whether methods also rank items that have been inactive for a long time."""
    needs_ballots: bool = False
    """Whether the ballots are used for more than the ranking, so that sums do not suffice."""
    sets_aside: bool = True
    """Whether relevance judgements among the files are set aside with a note; otherwise they are an error."""
    plans: Mapping[str, Any] = field(default_factory=dict)
    """Column plans of files that were already inspected, by file."""
    scale: EloScale | None = None
    """Scale of the scores; None for that of the method."""
    columns: tuple[str, ...] = ()
    """Further columns of the ranking, as in ``ranking.with_columns``."""

    @classmethod
    def of(cls, source: Any, method: str | Method | None, given: Mapping[str, Any], **more: Any) -> Request:
        """Create a request and separate reading options from parameters of the method.

        If both have the same name, it is a parameter of the method.
        """
        request = cls(source, method, given, sets_aside=False, **more)
        if not given or not request.has_columns:
            return request
        from concordant.params import params_of
        from concordant.tables.options import FRAME, PREFERENCES, options_of

        readable = {declared.name for declared in options_of(PREFERENCES if request._are_files else FRAME)}
        if isinstance(method, str):
            readable -= {declared.name for declared in params_of(registry.load(registry.resolve(method)[0]))}
        reading = {name: value for name, value in given.items() if name in readable}
        params = {name: value for name, value in given.items() if name not in readable}
        return replace(request, params=params, reading=reading)

    def by(self, method: str | Method | None, params: Params | None = None) -> Request:
        """Return the request for another method; it shares the data already read."""
        request = replace(self, method=method, params={} if params is None else params)
        vars(request).update({name: vars(self)[name] for name in ("_files", "_whole", "_kept") if name in vars(self)})
        return request

    # ---- what is ranked ----
    @cached_property
    def _are_files(self) -> bool:
        names = self.source if isinstance(self.source, (list, tuple)) else [self.source]
        return bool(names) and all(isinstance(name, (str, PathLike)) for name in names)

    @property
    def has_columns(self) -> bool:
        """Whether the source is files or a DataFrame, whose columns the reading options refer to."""
        if self._are_files or isinstance(self.source, Preferences):
            return self._are_files
        from concordant.tables.frames import is_frame

        return is_frame(self.source)

    @cached_property
    def _options(self) -> Options:
        from concordant.tables.options import PREFERENCES, Options

        return replace(Options.of(PREFERENCES, self.reading), plans=dict(self.plans))

    @property
    def _frame_reading(self) -> Mapping[str, Any]:
        """How to read a frame: a lazy one keeps the agents of pairs only if they are asked for."""
        from concordant.method import needs_agents

        if self.method is None or "agent" in self.reading or not needs_agents(self.chosen_method):
            return self.reading
        return {**self.reading, "agent": "?"}

    @cached_property
    def _frame_options(self) -> Options:
        from concordant.tables.options import FRAME, Options

        return Options.of(FRAME, self._frame_reading)

    @cached_property
    def _files(self) -> tuple[Any, list[Any]]:
        """The files to rank, and the files of relevance judgements among them."""
        if not self._are_files or not self.sets_aside:
            return self.source, []
        from concordant.io.judgements import set_aside

        return set_aside(self.source, self._options)

    @property
    def _aside(self) -> list[str]:
        """Notes on files of relevance judgements, which are not ranked."""
        from concordant.io.judgements import notes_on

        return notes_on(self.judgements)

    @property
    def judgements(self) -> list[Any]:
        """The files of relevance judgements among those of the source."""
        return self._files[1]

    def evaluated(self, ranking: Ranking) -> list[str]:
        """Return a note that evaluates a ranking by the judgements among the files; empty if there are none."""
        if not self.judgements:
            return []
        from concordant.evaluation import evaluate
        from concordant.io import read_labels
        from concordant.metrics import headings

        try:
            result = evaluate(ranking, read_labels(self.judgements))
        except InputError as problem:
            return ["the ranking cannot be evaluated by the judgements: " + str(problem)]
        means = zip(headings(result.per_instance), result.means.values(), strict=True)
        shown = ", ".join(f"{name} {value:.4f}" for name, value in means)
        return [f"evaluated by the judgements: {shown} (means over {result.n_instances:,} judged instances)"]

    @cached_property
    def _whole(self) -> Preferences:
        """All ballots of the source, read once."""
        if isinstance(self.source, Preferences):
            return self.source
        if self._are_files:
            from concordant.io import read_whole

            return read_whole(self._files[0], self._options).noted(*self._aside)
        if self.has_columns:
            return Preferences.from_frame(self.source, **self._frame_reading)
        raise InputError(
            f"The data must be preferences, a DataFrame or file names, not {type(self.source).__name__}: create "
            "preferences with cc.read(path), cc.Preferences.from_rankings(lists) or another from_… constructor."
        )

    @cached_property
    def _kept(self) -> Preferences:
        return self._filtered(self._whole)

    def _filtered(self, prefs: Preferences) -> Preferences:
        return prefs if self.min_ballots is None else prefs.min_ballots(self.min_ballots)

    def read(self) -> Preferences:
        """Return all ballots of the source, read once, without items that are on too few ballots."""
        return self._kept

    @property
    def asks_for_counts(self) -> bool:
        """Whether files are reduced to counts if possible, which may take a long time."""
        if not self._are_files:
            return False
        from concordant.io.paths import asks_for_counts

        return asks_for_counts(self._files[0], self._options)

    @cached_property
    def _reduced(self) -> Reduced | None:
        """The reduced data of files; None if all ballots are read."""
        method = None if self.method is None else self.chosen_method
        if "_whole" in vars(self) or not self.has_columns:
            return None

        def fitting(form: str) -> Method:
            return self.by(_fitting(Summed(form)).name, self.params).chosen_method

        def needs() -> Any:
            from concordant.io.reduction import Needs

            return Needs(method, fitting, self.needs_ballots or self.min_ballots is not None)

        if not self._are_files:
            return self._reduced_frame(needs)
        from concordant.io.signs import may_hold_sums

        if may_hold_sums(self._files[0], self._options):
            from concordant.io.sums import sums_of_files

            if (sums := sums_of_files(self._files[0], self._options, needs())) is not None:
                return sums
        if not self.asks_for_counts:
            return None
        from concordant.io.reduction import reduce_files

        return reduce_files(self._files[0], self._options, needs())

    def _reduced_frame(self, needs: Callable[[], Any]) -> Reduced | None:
        """The sums of a lazy frame, or in a frame of sums; None if the rows are read."""
        from concordant.io.signs import are_sums
        from concordant.tables.frames import lazy_table, names_of

        if are_sums(names_of(self.source)):
            from concordant.io.sums import sums_of_frame

            return sums_of_frame(self.source, needs())
        table = lazy_table(self.source, self._frame_options)
        if table is None or table.plan.layout not in ("ranks", "ratings"):
            return None
        from concordant.io.sums import sums_of_lazy_frame

        return sums_of_lazy_frame(table, needs())

    def gather(self) -> Preferences | Summed:
        """Read the source, or reduce files to what the method needs."""
        return self._whole if self._reduced is None else self._reduced.data

    # ---- the method ----
    @cached_property
    def choice(self) -> Choice:
        """The named method, or else the one that fits the data, and why."""
        if self.method is not None:
            _check_method(self.method)
            return Choice(self.method if isinstance(self.method, str) else self.method.name)
        return _fitting(self.gather())

    @cached_property
    def chosen_params(self) -> Mapping[str, Any]:
        """The parameters of the method."""
        return self.params(self.choice.name) if callable(self.params) else self.params

    @cached_property
    def chosen_method(self) -> Method:
        """The method with its parameters."""
        method = self.method
        _check_method(method)
        if method is None or isinstance(method, str):
            method = registry.make(self.choice.name, **self.chosen_params)
        elif self.params:
            raise InputError("Hyper-parameters cannot be combined with a method object: set them when you create it.")
        return method.of_everybody() if self.all_items else method

    # ---- the ranking ----
    def run(self) -> RankedAnswer:
        """Read or reduce the source, choose the method and rank, on the wanted scale with the wanted columns."""
        answer = self.run_unscaled()
        ranking = answer.ranking if self.scale is None else answer.ranking.on_scale(self.scale)
        return answer._replace(ranking=ranking.with_columns(*self.columns) if self.columns else ranking)

    def run_unscaled(self) -> RankedAnswer:
        """Rank as ``run`` does, on the scale of the method and without further columns."""
        method, data, reduced = self.chosen_method, self.gather(), self._reduced
        few: tuple[str, ...] = ()
        if isinstance(data, Summed):
            from concordant.engine.reduced import rank_sums

            prefs, ranking = None, rank_sums(method, data.sums, data.form)
        else:
            prefs = self._kept if reduced is None else self._filtered(data)
            few = prefs.notes[len(data.notes) :]
            ranking = self._ranked(method, prefs)
        ran = self._whole.meta.get(RAN) if reduced is None else reduced.ran
        if ran:
            ranking = replace(ranking, ran="; ".join(filter(None, [str(ran), ranking.ran])))
        if few:
            from concordant.ranking import Notice

            ranking = replace(ranking, notices=(Notice("few-ballots", few[-1]), *ranking.notices))
        notes = self._whole.notes if reduced is None else (*reduced.notes, *self._aside)
        return RankedAnswer(ranking, prefs, notes, self.choice)

    def _ranked(self, method: Method, prefs: Preferences) -> Ranking:
        """Rank ballots, on the workers if there are any."""
        where = {name: self.reading.get(name) for name in WHERE}
        if not any(where.values()):
            return method.rank(prefs)
        from concordant.engine.executors import running_on
        from concordant.engine.instances import rank_in_chunks
        from concordant.support import memory

        with memory.limited(where["memory_limit"]), running_on(where["workers"], where["cluster"]) as executor:
            return rank_in_chunks(method, prefs, executor)


def _check_method(method: Any) -> None:
    """Reject anything that is neither the name of a method nor a method object."""
    if method is None or isinstance(method, str) or (hasattr(method, "of_everybody") and not isinstance(method, type)):
        return
    shown = f"the class {method.__name__}" if isinstance(method, type) else repr(method)
    raise ParameterError(
        arg("method", shown=shown) + " is not a method: give the name of a method, or a method object."
    )


def _fitting(data: Preferences | Summed) -> Choice:
    row = default_choice(data)
    return Choice(row.method, f"ranked by {row.method}, because the data are {row.reason}")
