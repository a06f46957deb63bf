"""A metric is a small value: frozen, printable, parseable.

``parse("ndcg@10:letor")`` makes one, ``str`` writes it back. The grammar is ``name[@cutoff][:option…]`` where an
option is a word that names a convention (``letor``, ``skip``, ``last-free``, ``normalised``) or ``key=value``
(``threshold=2``); a comma may stand between options too. The names of trec_eval (``P_10``, ``ndcg_cut_10``) mean
what they mean there, which for ``ndcg_cut`` is linear gain. A prefix asks for the convention of another tool
(``ir_measures:nDCG@10``, see ``tools``). Everything comes from the one declaration of the metric:
a frozen dataclass whose fields are declared with ``param`` and whose first docstring sentence describes it.
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
    """What every metric can do: check itself, print itself."""

    name: ClassVar[str]
    """What users write: unless declared the name of the file, or of a class of another package."""
    aliases: ClassVar[tuple[str, ...]] = ()
    kind: ClassVar[str]
    higher_is_better: ClassVar[bool] = True
    explicit: ClassVar[tuple[str, ...]] = ()
    """Options that a heading always names, because other tools mean something else by the same name."""

    def __init_subclass__(cls) -> None:
        """Name the metric after its file, and add its options to its docstring."""
        document(cls)
        if "name" not in vars(cls):
            cls.name = name_of_class(cls)

    def __post_init__(self) -> None:
        """Check every option against its declaration."""
        check_params(self)

    def __str__(self) -> str:
        return self._text(())

    @property
    def heading(self) -> str:
        """The name for the head of a column, with the conventions in which tools differ: ``ndcg@10:exponential``."""
        return self._text(self.explicit)

    @property
    def convention(self) -> str:
        """What is computed, in words, where tools differ under the same name; empty elsewhere."""
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
    """What a list of metrics shows of one of them."""

    name: str
    kind: str
    doc: str
    options: tuple[Param, ...]


def describe() -> list[Description]:
    """Describe every metric: name, kind ("retrieval" or "distance"), one line of doc, declared options."""
    return [
        Description(listed.name, "unavailable", listed.summary, ())
        if listed.entry is None
        else Description(listed.name, listed.entry.kind, listed.summary, params_of(listed.entry))
        for listed in METRICS.listing()
    ]


def names() -> dict[str, str]:
    """Return the one-line description of every metric by its name."""
    return {described.name: described.doc for described in describe()}


def parse(text: str | Metric) -> Metric:
    """Read a metric from text such as ``"ndcg@10:letor"``; a metric is returned as it is."""
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
                raise ParameterError(f"{text!r} gives {name} twice: keep one of the two.")
            values[name] = value
    try:
        return cls(**values)
    except ParameterError as error:
        raise _of_metric(error, text, match) from None


def _of_metric(error: ParameterError, text: str, found: re.Match[str]) -> ParameterError:
    """Return an error about a parameter of a metric in the words the metric was written in."""
    written = dict(re.findall(r"(\w+)=([^:,]*)", found["options"] or "")) | {"cutoff": found["cutoff"]}

    def words(one: Reference) -> str:
        return f"{one.name} {written.get(one.name) or one.value}"

    return ParameterError(f"{text!r}: {in_words(error, words)}").at(parameter=error.parameter)


def _of_trec_eval(match: re.Match[str]) -> str:
    """Return a metric of trec_eval as it is written here."""
    convention = ":linear" if match["name"] == "ndcg-cut" else ""
    return f"{_TREC_EVAL_NAMES.get(match['name'], match['name'])}@{match['cutoff']}{convention}{match['options'] or ''}"


def headings(metrics: Iterable[str | Metric]) -> list[str]:
    """Return the heading of every metric; a text that is not a metric stays as it is."""
    texts = []
    for metric in metrics:
        try:
            texts.append(parse(metric).heading)
        except (ParameterError, UnknownNameError):
            texts.append(str(metric))
    return texts


def conventions(metrics: Iterable[str]) -> dict[str, str]:
    """Return what is computed, in words, for the metrics that tools define differently."""
    return {name: parse(name).convention for name in metrics if parse(name).convention}


def parse_all(metrics: str | Metric | Iterable[str | Metric]) -> list[Metric]:
    """Read one metric or several; text may hold several separated by spaces."""
    if isinstance(metrics, Metric):
        return [metrics]
    if isinstance(metrics, str):
        metrics = metrics.split()
    parsed = list(dict.fromkeys(parse(metric) for metric in metrics))
    if not parsed:
        raise ParameterError("No metric is given: name at least one, for example 'ndcg@10'.")
    return parsed


def _read_option(cls: type[Metric], declared: dict[str, Param], word: str) -> tuple[str, object]:
    """Return the name and value of an option such as ``letor``, ``normalised`` or ``threshold=2``, or raise."""
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
                raise ParameterError(f"{key}={text} of {cls.name} is neither true nor false: write one of them.")
            return key, text == "true"
        return key, _number(cls, param, text)
    words = _option_words(declared)
    hint = suggest(key, words) or (f" Use one of {', '.join(words)}." if words else " It takes none.")
    raise ParameterError(f"{cls.name} has no option {word!r}.{hint}")


def _number(cls: type[Metric], declared: Param, text: str) -> int | float:
    """Return the number of an option, whole if it is declared so, or raise."""
    try:
        return int(text) if declared.kind is int else float(text)
    except ValueError:
        expected = "a whole number" if declared.kind is int else "a number"
        raise ParameterError(f"{declared.name} {text!r} of {cls.name} is not a number: give {expected}.") from None


def _option_words(declared: dict[str, Param]) -> list[str]:
    """Return the words that may be written as options, for hints in messages."""
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
    """Return an option as text, as ``parse`` reads it."""
    if declared.choices:
        return str(value)
    if declared.kind is bool:
        return declared.name if value else f"{declared.name}=false"
    number = f"{value:g}"
    return f"{declared.name}={number if float(number) == value else repr(value)}"
