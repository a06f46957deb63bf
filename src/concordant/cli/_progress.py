"""Progress bar of a command: on standard error, if it is a terminal, for work that takes longer than a second.

The work reports its stages (``support/progress.py``), and a thread draws them, so that the bar also moves during one
long call to compiled code. Without long work, nothing is drawn and rich is not imported.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from concordant.support import progress
from concordant.support.text import visible

if TYPE_CHECKING:
    from rich.progress import Progress

DELAY = 1.2  # seconds of work before the first bar
PAUSE = 0.3  # seconds before a bar returns, so that short stages do not flicker
EVERY = 0.1  # seconds between two drawings
BESIDE, SHORTEST = 48, 20  # columns for the bar and the times, and at least for the text


@contextmanager
def shown() -> Iterator[None]:
    """Show a bar on standard error for the stages of the work in this context; nothing if it is not a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    bar = _Bar()
    try:
        with progress.listen(bar.tell, hide=bar.hide):
            yield
    finally:
        bar.end()


class _Bar:
    """The latest report, and the thread that draws it from the first stage on."""

    def __init__(self) -> None:
        self.state, self.reported, self.due = progress.Progress(), 0.0, 0.0
        self.drawn: Progress | None = None
        self.lock, self.ended = threading.Lock(), threading.Event()
        self.thread: threading.Thread | None = None

    def tell(self, state: progress.Progress) -> None:
        """Store a report; remove the bar when the work is done."""
        self.state, self.reported = state, time.monotonic()
        if self.thread is None:
            self.due = self.reported + DELAY
            self.thread = threading.Thread(target=self._draw, daemon=True)
            self.thread.start()
        elif not state.text:
            self.hide()

    def hide(self) -> None:
        """Remove the bar, to make room for output or because the work is done, until the next report."""
        self.state = progress.Progress()
        if self.drawn is not None:
            with self.lock:
                self._clear()

    def end(self) -> None:
        """Remove the bar for good."""
        self.ended.set()
        self.hide()
        if self.thread is not None:
            self.thread.join(1)

    def _clear(self) -> None:
        bar, self.drawn = self.drawn, None
        self.due = time.monotonic() + PAUSE
        if bar is not None:
            bar.stop()

    def _draw(self) -> None:
        """Redraw the latest report at intervals."""
        while not self.ended.wait(EVERY):
            if time.monotonic() < self.due or not self.state.text:
                continue
            bar = _new_bar() if self.drawn is None else self.drawn  # rich is imported before the lock is taken
            with self.lock:
                if self.ended.is_set() or not self.state.text or time.monotonic() < self.due:
                    continue
                _update(bar, self.state, time.monotonic() - self.reported)
                if self.drawn is None:
                    self.drawn = bar
                    bar.start()
                bar.refresh()


def _new_bar() -> Progress:
    """Return a bar with text, share and times in one line, which is removed at its end."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
    from rich.table import Column

    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True)),
        BarColumn(bar_width=14, table_column=Column(width=14)),
        TextColumn("{task.fields[times]}", markup=False, table_column=Column(no_wrap=True)),
        console=Console(stderr=True),
        auto_refresh=False,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    bar.add_task("", total=None, times="")
    return bar


def _update(bar: Progress, state: progress.Progress, waited: float) -> None:
    """Set the bar to a report made ``waited`` seconds ago; without a number of steps, it only shows movement."""
    from rich.text import Text

    (task,) = bar.tasks
    share = f"{min(state.done / state.total, 1):4.0%}" if state.total else ""
    times = [share, progress.duration(state.seconds + waited), progress.time_left(state, waited)]
    task.total = state.total
    text = Text(visible(state.text, colours=False))
    text.truncate(max(bar.console.width - BESIDE, SHORTEST), overflow="ellipsis")
    bar.update(task.id, completed=state.done, description=text.plain, times="  ".join(filter(None, times)))
