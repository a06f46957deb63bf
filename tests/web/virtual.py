"""An event loop whose clock jumps to the next timer when nothing else is left to do: hours pass at once, in order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop with a clock of its own."""

    now = 0.0

    def time(self) -> float:
        return self.now

    def _run_once(self) -> None:
        loop: Any = self
        live = [timer.when() for timer in loop._scheduled if not timer.cancelled()]
        if not loop._ready and live:
            self.now = max(self.now, min(live))
        super()._run_once()  # type: ignore[misc]


def run(work: Coroutine[Any, Any, T], loop: Callable[[], asyncio.AbstractEventLoop] = VirtualLoop) -> T:
    """Run a coroutine to its end, in a separate thread: the browser's driver keeps a loop running in the main one."""

    def target() -> T:
        with asyncio.Runner(loop_factory=loop) as runner:
            return runner.run(work)

    with ThreadPoolExecutor(1) as threads:
        return threads.submit(target).result()
