"""Progress of long work: loops report their steps, and a listener (the terminal, the web app) shows them.

::

    with progress.stage("comparing methods", total=len(names)) as step:
        for name in names:
            step(name)  # begins the next step
            ...

Stages nest: a step of the outer stage advances by the fraction of the inner one. Without a listener (``listen``), a
stage costs about a microsecond and a step less. Threads and worker processes have no listener.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple, Self, TypeVar

T = TypeVar("T")
MIN_SHARE = 0.01  # of the work, before the remaining time is estimated


class Progress(NamedTuple):
    """What is being done; ``done`` of ``total`` steps (with fractions), or ``total`` is None if it is not known.

    ``seconds`` have passed since the first of these steps began. The text is empty once no stage is open any more.
    """

    text: str = ""
    done: float = 0.0
    total: float | None = None
    seconds: float = 0.0


Listener = Callable[[Progress], None]


class _Reporter:
    """The open stages of a listener, outermost first."""

    def __init__(self, tell: Listener, hide: Callable[[], None], every: float, clock: Callable[[], float]) -> None:
        self.tell, self.hide, self.every, self.clock = tell, hide, every, clock
        self.stages: list[Stage] = []
        self.last = -math.inf

    def report(self, *, is_due: bool = False) -> None:
        """Tell the state, but not more often than wanted; the begin and the end of the work are always told."""
        now = self.clock()
        if is_due or now - self.last >= self.every or not self.stages:
            self.last = now
            self.tell(self.state(now))

    def state(self, now: float) -> Progress:
        """Return the texts of the outermost and the innermost stage, and the steps of the outermost countable one."""
        if not self.stages:
            return Progress()
        texts = [stage.text for stage in self.stages if stage.text]
        ends = dict.fromkeys(texts[:1] + texts[-1:])
        inner, shown = 0.0, Progress(seconds=now - self.stages[0].start)
        for stage in reversed(self.stages):
            if stage.total and stage.total > 1:  # a single step shows nothing
                stage.inner = inner = max(inner, stage.inner)  # a step with several stages does not go back
                done = min(stage.done + inner, stage.total)
                inner, shown = done / stage.total, Progress("", done, stage.total, now - stage.start)
        return shown._replace(text=" – ".join(ends))


_reporter: ContextVar[_Reporter | None] = ContextVar("reporter", default=None)


class Stage:
    """A piece of work with an optional number of steps; ``stage`` creates it."""

    __slots__ = ("_begun", "_reporter", "_step", "done", "inner", "start", "title", "total")

    def __init__(self, title: str, total: float | None = None) -> None:
        """Create a stage that reports to the current listener, if there is one."""
        self.title, self.total = title, total
        self.done, self._begun, self._step = 0.0, 0, ""
        self.inner = 0.0
        self._reporter = _reporter.get()

    @property
    def text(self) -> str:
        """The title, with the name of the current step."""
        return f"{self.title}: {self._step}" if self._step and self.title else self.title or self._step

    def __enter__(self) -> Self:
        if self._reporter is not None:
            self.start = self._reporter.clock()
            self._reporter.stages.append(self)
            self._reporter.report(is_due=len(self._reporter.stages) == 1)
        return self

    def __exit__(self, *_: object) -> None:
        if self._reporter is not None:
            self._reporter.stages.remove(self)
            self._reporter.report()

    def __call__(self, step: str = "", done: float | None = None) -> None:
        """Begin the next step, with its name; ``done`` is the number of finished steps if calls do not count them."""
        if self._reporter is None:
            return
        self.done = self._begun if done is None else done
        self.inner = 0.0
        self._begun += 1
        self._step = step
        self._reporter.report()


stage = Stage


def steps(items: Collection[T], title: str = "") -> Iterator[T]:
    """Iterate over items; each is a step of a stage."""
    with Stage(title, len(items)) as step:
        for item in items:
            step()
            yield item


def iterations(items: Iterable[T], title: str) -> Iterator[T]:
    """Iterate over items of a loop that ends on convergence: the number of steps is not known in advance."""
    with Stage(title) as step:
        if not is_heard():
            yield from items
            return
        for number, item in enumerate(items, 1):
            step(f"iteration {number}")
            yield item


def is_heard() -> bool:
    """Return whether there is a listener, for reports that are expensive to compute."""
    return _reporter.get() is not None


def hide() -> None:
    """Ask the listener to make room for output, before something is printed."""
    if (reporter := _reporter.get()) is not None:
        reporter.hide()


@contextmanager
def listen(
    tell: Listener,
    *,
    hide: Callable[[], None] = lambda: None,
    every: float = 0.0,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[None]:
    """Call ``tell`` with the progress of the work in this context, at most once in ``every`` seconds.

    ``hide`` is called before output. Outer listeners hear nothing in the meantime.
    """
    token = _reporter.set(_Reporter(tell, hide, every, clock))
    try:
        yield
    finally:
        _reporter.reset(token)


def remaining(progress: Progress, waited: float = 0.0) -> float | None:
    """Estimate the remaining seconds, ``waited`` seconds after a report; None if too little is known."""
    if not progress.total or progress.done < MIN_SHARE * progress.total:
        return None
    return (progress.seconds + waited) * (progress.total - progress.done) / progress.done


def time_left(progress: Progress, waited: float = 0.0) -> str:
    """Return the estimated remaining time in words, "about 9 s left"; empty if it is not known."""
    left = remaining(progress, waited)
    return "" if left is None else f"about {estimated(left)} left"


def estimated(seconds: float) -> str:
    """Return an estimated time in words: 9 s, 40 s, 12 min, 1.5 h."""
    if seconds < 55:
        unit = 1 if seconds < 10 else 5
        return f"{max(unit * round(seconds / unit), 1)} s"
    return f"{max(round(seconds / 60), 1)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def duration(seconds: float) -> str:
    """Return elapsed time as on a clock: 0:07, 12:30, 1:02:03."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"{minutes}:{rest:02}"
