"""Exceptions of concordant. Every message says what is wrong, where, and what to do.

A message that names a parameter is a ``Sentence``: ``InputError("The file is large: use " + arg("reduce", True) +
".")``. Its text uses the Python syntax (``reduce=True``), and it records the parameters that it names, so that the
command line can show ``--reduce`` and the web app the label of its control: each interface passes its own function to
``in_words``. ``phrase("{} and {} contradict each other.", arg("since"), arg("all_items"))`` keeps a longer sentence in
one piece. ``action("fit", "call fit(prefs, labels)")`` names an action that each interface describes in its own words.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import NamedTuple, Self


class Reference(NamedTuple):
    """A parameter or an action that a sentence names; it is plain text, so that other processes can read it."""

    name: str
    shown: str = ""
    """The value in Python syntax, a placeholder such as COLUMN, or empty."""
    value: str = ""
    """The same without quotes."""
    of: str = ""
    """What the parameter belongs to: "" for reading and the method in use, "write", "sort", "evaluate" or a method's
    name; ACTION for an action and ROLE for the column that has a role, whose Python wording is ``shown``.
    """
    before: str = ""
    """The clause around it, which an interface without the parameter leaves out."""
    after: str = ""

    @property
    def is_text(self) -> bool:
        """Whether the value is text that an interface may have to quote."""
        return self.shown != self.value

    def __str__(self) -> str:
        return self.shown if self.of in (ACTION, ROLE) else f"{self.name}={self.shown}"

    @property
    def plain(self) -> str:
        """The wording for an interface that has no control for this parameter."""
        shown = "" if self.value == "True" else self.value
        return f"{self.name.replace('_', ' ')} {shown}".strip()

    def rendered(self, words: Words) -> str:
        """Return the wording of an interface, or else that of Python; a clause may be left out."""
        said = words(self)
        if said is None:
            return "" if self.before else str(self)
        return self.before + said + self.after


ACTION, ROLE = "action", "role"
Words = Callable[[Reference], str | None]  # how a face names a parameter; None where it has none of that name


class Sentence(str):
    """Text that records the parameters it names; an f-string converts it to plain text, ``+`` and ``join`` keep it."""

    __slots__ = ("parts",)
    parts: tuple[str | Reference, ...]

    def __new__(cls, *parts: str | Reference) -> Sentence:
        """Concatenate texts, sentences and references."""
        flat = [
            text_or_reference
            for part in parts
            for text_or_reference in (part.parts if isinstance(part, Sentence) else (part,))
            if text_or_reference
        ]
        texts = (part if isinstance(part, str) else part.rendered(str) for part in flat)
        sentence = super().__new__(cls, "".join(texts))
        sentence.parts = tuple(flat)
        return sentence

    def rendered(self, words: Words) -> str:
        """Return the text with parameters as an interface names them, or as in Python if the interface lacks them."""
        return "".join(part if isinstance(part, str) else part.rendered(words) for part in self.parts)

    @property
    def references(self) -> Iterator[Reference]:
        """The parameters it names, in order."""
        return (part for part in self.parts if isinstance(part, Reference))

    def each(self, change: Callable[[str], str]) -> Sentence:
        """Return the sentence with a change applied to each text between the parameters."""
        return Sentence(*(change(part) if isinstance(part, str) else part for part in self.parts))

    def of_method(self, name: str, params: Collection[str]) -> Sentence:
        """Return the sentence as a message of a method, so that its parameters are those of the method."""
        return Sentence(
            *(
                part._replace(of=name) if isinstance(part, Reference) and not part.of and part.name in params else part
                for part in self.parts
            )
        )

    def join(self, texts: Iterable[str]) -> Sentence:
        """Join texts with this sentence as the separator."""
        return Sentence(*(part for k, text in enumerate(texts) for part in ((self, text) if k else (text,))))

    def __add__(self, other: str) -> Sentence:
        return Sentence(self, other)

    def __radd__(self, other: str) -> Sentence:
        return Sentence(other, self)

    def __str__(self) -> str:  # also of an error, whose text it is
        return self

    def __reduce__(self) -> tuple[type[Sentence], tuple[str | Reference, ...]]:
        return Sentence, self.parts


def arg(name: str, value: object = ..., *, shown: str | None = None, of: str = "") -> Sentence:
    """Name a parameter in a message: ``winner=``, with a value ``reduce=True``, with ``shown`` text ``by=COLUMN``."""
    if shown is not None or value is ...:
        return Sentence(Reference(name, shown or "", shown or "", of))
    plain = str.__str__(value) if isinstance(value, str) else repr(value)
    return Sentence(Reference(name, repr(value), plain, of))


def clause(before: str, said: Sentence, after: str = "") -> Sentence:
    """Return a clause around a parameter; an interface without the parameter leaves it out."""
    (reference,) = said.references
    return Sentence(reference._replace(before=before, after=after))


def action(name: str, text: str) -> Sentence:
    """Name an action: ``text`` in Python; the command line and the web app use their own wording for this name."""
    return Sentence(Reference(name, text, text, ACTION))


def phrase(template: str, *values: object) -> Sentence:
    """Return a sentence in which parameters or other values replace each {} of ``template``."""
    first, *texts = template.split("{}")
    return Sentence(first, *(part for pair in zip(values, texts, strict=True) for part in map(str, pair)))


def in_words(message: object, words: Words) -> str:
    """Return an error, a notice or a note in the wording of an interface (Python, command line or web)."""
    text = str(message)
    return text.rendered(words) if isinstance(text, Sentence) else text


class ConcordantError(Exception):
    """Base class of all errors of concordant, with a message for the user.

    ``path``, ``line``, ``column`` (of a table) and ``item`` give the location, if available; the message begins with
    the first two. ``parameter`` is the first parameter that the message names, or the invalid one.
    """

    path: str | None = None
    line: int | None = None
    column: str | None = None
    item: str | None = None
    meant: str | None = None

    def __init__(
        self,
        message: str = "",
        *,
        path: str | None = None,
        line: int | None = None,
        column: str | None = None,
        item: str | None = None,
    ) -> None:
        self.path, self.line, self.column, self.item = path, line, column, item
        where = f"{path}, line {line}: " if path and line else f"{path}: " if path else ""
        super().__init__(Sentence(where, str(message)))

    def at(
        self,
        *,
        column: str | None = None,
        item: str | None = None,
        path: str | None = None,
        parameter: str | None = None,
    ) -> Self:
        """Return this error with its location and the parameter that it is about."""
        self.column, self.item, self.path = column or self.column, item or self.item, path or self.path
        self.meant = parameter or self.meant
        return self

    @property
    def message(self) -> Sentence:
        """The text, with references to the parameters that it names."""
        return Sentence(str(self))

    @property
    def parameter(self) -> str | None:
        """The first parameter that the message names: usually the one that fixes the problem."""
        return self.meant or next((one.name for one in self.message.references if one.of not in (ACTION, ROLE)), None)


class InputError(ConcordantError, ValueError):
    """The data cannot be interpreted as preferences, labels or features."""


class FormatError(InputError):
    """A file cannot be read; has the path of the file and, if known, the line."""


class MemoryLimitError(InputError):
    """There is too little memory or disk space; the data are valid."""


class ParameterError(ConcordantError, ValueError):
    """A hyper-parameter has a value outside its range, or an unknown name."""


class NeedError(ConcordantError, ValueError):
    """A method requires data that these preferences do not contain (agents, values, order, labels)."""


class UnknownNameError(ConcordantError, LookupError):
    """There is no method, metric, format, instance or item of that name."""


class UnknownColumnError(UnknownNameError, InputError):
    """A table has no column of that name."""


class OneQueryWarning(UserWarning):
    """A ranker received so many rows for one query that the query column is probably missing."""


def suggest(name: str, known: list[str]) -> str:
    """Return ``" Did you mean …?"`` for the closest known names, or an empty string."""
    import difflib

    def distance(other: str) -> tuple[float, int]:
        return -difflib.SequenceMatcher(a=other, b=name).ratio(), abs(len(other) - len(name))

    close = sorted(difflib.get_close_matches(name, list(dict.fromkeys(known)), n=3, cutoff=0.6), key=distance)
    return f" Did you mean {' or '.join(close)}?" if close else ""
