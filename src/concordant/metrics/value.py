"""Metrics as immutable values that can be parsed and printed.

``parse("ndcg@10:letor")`` creates a metric, and ``str`` converts it back. The grammar is ``name[@cutoff][:option…]``,
where an option is the name of a convention (``letor``, ``skip``, ``last-free``, ``normalised``) or ``key=value``
(``threshold=2``); options may also be separated by commas. The names of trec_eval (``P_10``, ``ndcg_cut_10``) follow
trec_eval's definitions: ``ndcg_cut`` uses linear gain. A prefix selects the convention of another tool
(``ir_measures:nDCG@10``, see ``tools``). A metric is declared once, as a frozen dataclass whose fields are declared
with ``param`` and whose docstring starts with a summary.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from concordant.errors import ParameterError, Reference, UnknownNameError, in_words, suggest
from concordant.metrics.tools import translated
from concordant.params import Param, check_params, document, params_of, values_of
from concordant.registry import METRICS, name_of_class

_TEXT = re.compile(r"\s*(?P<name>[a-z][a-z0-9-]*)\s*(?:@\s*(?P<cutoff>[^:,\s]*))?\s*(?::(?P<options>.*))?", re.DOTALL)
_TREC_EVAL = re.compile(r"\s*(?P<name>p|recall|success|map-cut|ndcg-cut)[-.](?P<cutoff>\d+)\s*(?P<options>:.*)?")
_TREC_EVAL_NAMES = {"map-cut": "map", "ndcg-cut": "ndcg"}
_SPELLINGS = {"normalized": "normalised"}


@dataclass(frozen=True)
class Metric:
    """Base class of all metrics."""

    name: ClassVar[str]
    """Name that users write; by default the name of the file or, for classes of other packages, of the class."""
    aliases: ClassVar[tuple[str, ...]] = ()
    kind: ClassVar[str]
    higher_is_better: ClassVar[bool] = True
    explicit: ClassVar[tuple[str, ...]] = ()
    """Options that a heading always contains, because tools define the metric differently."""

    def __init_subclass__(cls) -> None:
        """Name the metric after its file, and add its options to its docstring."""
        document(cls)
        if "name" not in vars(cls):
            cls.name = name_of_class(cls)

    def __post_init__(self) -> None:
        """Validate every option."""
        check_params(self)

    def __str__(self) -> str:
        return self._text(())

    @property
    def heading(self) -> str:
        """Column heading: the name with the conventions in which tools differ, such as ``ndcg@10:exponential``."""
        return self._text(self.explicit)

    @property
    def convention(self) -> str:
        """Definition in words, for metrics that tools define differently; otherwise empty."""
        return ""

    def _text(self, always: tuple[str, ...]) -> str:
        """Return name, cutoff and the options that differ from their defaults or are in ``always``."""
        values = values_of(self)
        cutoff = values.pop("cutoff", None)
        head = self.name if cutoff is None else f"{self.name}@{cutoff}"
        options = [
            _written(declared, values[declared.name])
            for declared in params_of(type(self))
            if declared.name in values and (declared.name in always or values[declared.name] != declared.default)
        ]
        return ":".join([head, *options])


class Description(NamedTuple):
    """Name, kind, summary and options of a metric."""

    name: str
    kind: str
    doc: str
    options: tuple[Param, ...]


def describe() -> list[Description]:
    """Describe all metrics.

    Returns
    -------
    list of Description
        Name, kind ("retrieval" or "distance"), summary and options of every metric.
    """
    return [
        Description(listed.name, "unavailable", listed.summary, ())
        if listed.entry is None
        else Description(listed.name, listed.entry.kind, listed.summary, params_of(listed.entry))
        for listed in METRICS.listing()
    ]


def names() -> dict[str, str]:
    """Return the names and summaries of all metrics.

    Returns
    -------
    dict of str to str
        Summary by name.
    """
    return {described.name: described.doc for described in describe()}


def parse(text: str | Metric) -> Metric:
    """Create a metric from text.

    Parameters
    ----------
    text : str or Metric
        Text such as ``"ndcg@10:letor"``; a metric is returned unchanged.

    Returns
    -------
    Metric
        The metric.

    Raises
    ------
    UnknownNameError
        If no metric has this name.
    ParameterError
        If an option is invalid.

    Examples
    --------
    >>> from concordant import metrics
    >>> metrics.parse("ndcg@10:letor")
    NDCG(empty='zero', cutoff=10, discount='letor', gain='exponential')
    >>> str(metrics.parse("P_5"))
    'p@5'
    """
    if isinstance(text, Metric):
        return text
    if not isinstance(text, str):
        raise ParameterError(f"{text!r} is not a metric: give its name as text, for example 'ndcg@10'.")
    plain = translated(text.lower().replace("_", "-"))
    match = _TEXT.fullmatch(_TREC_EVAL.sub(_of_trec_eval, plain))
    if match is None:
        raise UnknownNameError(f"{text!r} is not a metric: write name@cutoff:option, for example 'ndcg@10:letor'.")
    cls = METRICS.find(match["name"])
    declared = {param.name: param for param in params_of(cls)}
    values: dict[str, Any] = {}
    if match["cutoff"] is not None:
        if "cutoff" not in declared:
            raise ParameterError(f"{cls.name} takes no cutoff: write {cls.name!r} without '@{match['cutoff']}'.")
        values["cutoff"] = _number(cls, declared["cutoff"], match["cutoff"])
    for word in re.split("[:,]", match["options"] or ""):
        if word.strip():
            name, value = _read_option(cls, declared, word.strip())
            if name in values:
                raise ParameterError(f"{text!r} gives {name} twice: give it once.")
            values[name] = value
    try:
        return cls(**values)
    except ParameterError as error:
        raise _of_metric(error, text, match) from None


def _of_metric(error: ParameterError, text: str, found: re.Match[str]) -> ParameterError:
    """Return an error about an option of a metric in the notation in which the metric was given."""
    written = dict(re.findall(r"(\w+)=([^:,]*)", found["options"] or "")) | {"cutoff": found["cutoff"]}

    def words(one: Reference) -> str:
        return f"{one.name} {written.get(one.name) or one.value}"

    return ParameterError(f"{text!r}: {in_words(error, words)}").at(parameter=error.parameter)


def _of_trec_eval(match: re.Match[str]) -> str:
    """Return a metric of trec_eval in the notation of this package."""
    convention = ":linear" if match["name"] == "ndcg-cut" else ""
    return f"{_TREC_EVAL_NAMES.get(match['name'], match['name'])}@{match['cutoff']}{convention}{match['options'] or ''}"


def headings(metrics: Iterable[str | Metric]) -> list[str]:
    """Return the column headings of metrics.

    Parameters
    ----------
    metrics : iterable of str or Metric
        The metrics.

    Returns
    -------
    list of str
        Headings; text that is not a metric is returned unchanged.
    """
    texts = []
    for metric in metrics:
        try:
            texts.append(parse(metric).heading)
        except (ParameterError, UnknownNameError):
            texts.append(str(metric))
    return texts


def conventions(metrics: Iterable[str]) -> dict[str, str]:
    """Return the definitions, in words, of the metrics that tools define differently.

    Parameters
    ----------
    metrics : iterable of str or Metric
        The metrics.

    Returns
    -------
    dict of str to str
        Definition by metric.
    """
    return {name: parse(name).convention for name in metrics if parse(name).convention}


def parse_all(metrics: str | Metric | Iterable[str | Metric]) -> list[Metric]:
    """Create one or several metrics from text.

    Parameters
    ----------
    metrics : str, Metric or iterable of these
        Text may contain several metrics, separated by spaces.

    Returns
    -------
    list of Metric
        The metrics.

    Examples
    --------
    >>> from concordant import metrics
    >>> [str(metric) for metric in metrics.parse_all("ndcg@10 map")]
    ['ndcg@10', 'map']
    """
    if isinstance(metrics, Metric):
        return [metrics]
    if isinstance(metrics, str):
        metrics = metrics.split()
    parsed = list(dict.fromkeys(parse(metric) for metric in metrics))
    if not parsed:
        raise ParameterError("No metric is given: name at least one, for example 'ndcg@10'.")
    return parsed


def _read_option(cls: type[Metric], declared: dict[str, Param], word: str) -> tuple[str, object]:
    """Return the name and value of an option such as ``letor`` or ``threshold=2``, or raise ParameterError."""
    key, equals, text = (part.strip() for part in word.partition("="))
    key = _SPELLINGS.get(key, key)
    if not equals:
        for param in declared.values():
            if key in param.choices:
                return param.name, key
            if param.kind is bool and key == param.name:
                return param.name, True
    elif key in declared:
        param = declared[key]
        if param.choices:
            param.check(text)
            return key, text
        if param.kind is bool:
            if text not in ("true", "false"):
                raise ParameterError(f"{key} of {cls.name} must be true or false, got {text!r}.")
            return key, text == "true"
        return key, _number(cls, param, text)
    words = _option_words(declared)
    hint = suggest(key, words) or (f" Use one of {', '.join(words)}." if words else " It takes none.")
    raise ParameterError(f"{cls.name} has no option {word!r}.{hint}")


def _number(cls: type[Metric], declared: Param, text: str) -> int | float:
    """Return the number of an option, an integer if it is declared so, or raise ParameterError."""
    try:
        return int(text) if declared.kind is int else float(text)
    except ValueError:
        expected = "a whole number" if declared.kind is int else "a number"
        raise ParameterError(f"{declared.name} of {cls.name} must be {expected}, got {text!r}.") from None


def _option_words(declared: dict[str, Param]) -> list[str]:
    """Return the words that can be given as options, for hints in messages."""
    words: list[str] = []
    for param in declared.values():
        if param.choices:
            words.extend(param.choices)
        elif param.kind is bool:
            words.append(param.name)
        elif param.name != "cutoff":
            words.append(f"{param.name}=")
    return words


def _written(declared: Param, value: object) -> str:
    """Return an option in the notation that ``parse`` reads."""
    if declared.choices:
        return str(value)
    if declared.kind is bool:
        return declared.name if value else f"{declared.name}=false"
    number = f"{value:g}"
    return f"{declared.name}={number if float(number) == value else repr(value)}"
