"""Where work runs: here, in threads, in processes, or on a Dask cluster, all behind one small interface.

An executor takes a function and its arguments (``submit``) and hands out a future, as ``concurrent.futures`` does.
Among the arguments may stand futures of the same executor: their results are handed over where the work is done, so
that parts are merged by the workers and not here (``reduce``). ``hold`` makes something that stays with a worker, such
as a part of the data, to be named in later calls.

Functions are pure, so whatever a lost worker had done is done again: Dask does so by itself, the processes here are
started anew, up to three times. Ctrl-C ends the work and its processes.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import RLock
from types import TracebackType
from typing import Any, Self, TypeVar

from concordant.errors import ConcordantError, InputError, arg
from concordant.support import processes

T = TypeVar("T")
FAN = 4  # partial results merged at a time
RETRIES = 3


class WorkerError(ConcordantError):
    """Workers were lost, and work with them."""


class Executor(ABC):
    """Where work runs."""

    workers: int = 1
    place: str = "this process"

    @abstractmethod
    def submit(self, function: Callable[..., T], *args: Any) -> Any:
        """Begin a call; return its future. Futures of this executor among the arguments stand for their results."""

    def hold(self, make: Callable[..., T], *args: Any) -> Any:
        """Make something that stays where it is made: what is returned stands for it in later calls."""
        return self.submit(make, *args)

    @abstractmethod
    def result(self, future: Any) -> Any:
        """Wait for a call, and return what it returned."""

    def completed(self, futures: Sequence[Any]) -> Iterator[Any]:
        """Go through futures as they are done, or at least in turn."""
        for future in futures:
            self.result(future)
            yield future

    def map(self, function: Callable[..., T], *columns: Iterable[Any]) -> list[T]:
        """Call a function on every row of arguments; return the results in order."""
        futures = [self.submit(function, *row) for row in zip(*columns, strict=True)]
        return [self.result(future) for future in futures]

    def reduce(self, merge: Callable[[list[T]], T], futures: Sequence[Any]) -> T:
        """Merge results a few at a time, on the workers, until one is left, which is returned."""
        level = list(futures)
        while len(level) > 1:
            level = [self.submit(merge, level[k : k + FAN]) for k in range(0, len(level), FAN)]
        found: T = self.result(level[0])
        return found

    def close(self) -> None:  # noqa: B027
        """Let the workers go."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Serial(Executor):
    """Work is done here, at once, when it is submitted."""

    def submit(self, function: Callable[..., T], *args: Any) -> T:
        """Call the function."""
        return function(*args)

    def result(self, future: Any) -> Any:
        """Return what is known already."""
        return future


class Threads(Executor):
    """Work is done by threads of this process: kernels and DuckDB work side by side, Python code takes turns."""

    def __init__(self, workers: int) -> None:
        from concurrent.futures import ThreadPoolExecutor

        self.workers, self.place = workers, f"{workers} threads"
        self._pool = ThreadPoolExecutor(workers)

    def submit(self, function: Callable[..., T], *args: Any) -> Any:
        """Hand a call to a thread as soon as its arguments are there."""
        from concurrent.futures import Future

        awaited = [one for arg in args for one in (arg if isinstance(arg, list) else [arg]) if isinstance(one, Future)]
        for one in awaited:  # no thread waits for another, or all might
            one.exception()
        return self._pool.submit(function, *_settled(args, Future, lambda future: future.result()))

    def result(self, future: Any) -> Any:
        """Wait for a call."""
        return future.result()

    def close(self) -> None:
        """Drop what has not begun, and wait for the rest."""
        self._pool.shutdown(cancel_futures=True)


@dataclass
class Held:
    """A call to a process: what it is, so that it can be made again, and where."""

    worker: int
    function: Callable[..., Any]
    args: tuple[Any, ...]
    future: Any = None
    key: int | None = None
    """The number under which its result stays with the worker; None where it is returned."""
    tries: int = field(default=0)


class Processes(Executor):
    """Work is done by processes of this machine, each with the memory of its own."""

    def __init__(self, workers: int) -> None:
        self.workers, self.place = workers, f"{workers} processes"
        self._pools: list[Any] = [None] * workers
        self._held: list[Held] = []
        self._next = 0

    def submit(self, function: Callable[..., T], *args: Any) -> Held:
        """Hand a call to a process: the one that holds an argument, or else the next in turn."""
        return self._begin(Held(self._worker_of(args), function, args))

    def hold(self, make: Callable[..., T], *args: Any) -> Held:
        """Make something that stays with the next process in turn."""
        held = Held(self._worker_of(args), make, args, key=len(self._held))
        self._held.append(held)
        return self._begin(held)

    def result(self, future: Held) -> Any:
        """Wait for a call; where its process was lost, have it done again by a new one."""
        from concurrent.futures.process import BrokenProcessPool

        while True:
            try:
                return future.future.result()
            except BrokenProcessPool:
                future.tries += 1
                if future.tries > RETRIES:
                    raise WorkerError(
                        "A worker process ended again and again, perhaps for lack of memory: lower "
                        + arg("workers")
                        + " or "
                        + arg("memory_limit")
                        + "."
                    ) from None
                self._begin(future)

    def close(self) -> None:
        """End the processes."""
        for pool in self._pools:
            if pool is not None:
                running = list((pool._processes or {}).values())
                pool.shutdown(wait=False, cancel_futures=True)
                for process in running:
                    process.terminate()
        self._pools = [None] * self.workers

    def pids(self) -> list[int]:
        """Return the process ids of the workers that run."""
        return [pid for pool in self._pools if pool is not None for pid in (pool._processes or {})]

    def reduce(self, merge: Callable[[list[T]], T], futures: Sequence[Held]) -> T:
        """Have every process merge what it holds, and merge the one result of each here: nothing travels twice."""
        by_worker: dict[int, list[Held]] = {}
        for future in futures:
            by_worker.setdefault(future.worker, []).append(future)
        partial = [self.submit(merge, own) for own in by_worker.values()]
        results = [self.result(one) for one in partial]
        return results[0] if len(results) == 1 else merge(results)

    def _worker_of(self, args: tuple[Any, ...]) -> int:
        for given in args:
            for one in given if isinstance(given, list) else [given]:
                if isinstance(one, Held) and one.key is not None:
                    return one.worker
        self._next += 1
        return (self._next - 1) % self.workers

    def _begin(self, held: Held) -> Held:
        from concurrent.futures.process import BrokenProcessPool

        args = _settled(
            held.args, Held, lambda one: _HeldReference(one.key) if one.key is not None else self.result(one)
        )
        call = (_keep, held.key, held.function, args) if held.key is not None else (_call, held.function, args)
        try:
            held.future = self._pool(held.worker).submit(*call)
        except BrokenProcessPool:
            self._pools[held.worker] = None
            held.future = self._pool(held.worker).submit(*call)
        return held

    def _pool(self, worker: int) -> Any:
        """Return the pool of one process; a new one is given what the old one held."""
        pool = self._pools[worker]
        if pool is None or pool._broken:
            import multiprocessing
            from concurrent.futures import ProcessPoolExecutor

            # A fresh interpreter: a forked one would inherit the threads of DuckDB and of the kernels, half of them.
            context = multiprocessing.get_context("spawn")
            with _import_path():
                self._pools[worker] = pool = ProcessPoolExecutor(1, mp_context=context, initializer=_begin_process)
                pool.submit(os.getpid)  # the first call starts the process
            for held in self._held:
                if held.worker == worker and held.future is not None:
                    self._begin(held)
        return pool


_starting = RLock()


@contextmanager
def _import_path() -> Iterator[None]:
    """Keep processes that multiprocessing starts from importing from the working folder; it takes no other flags."""
    with _starting:
        said = processes.import_path()
        before = {name: os.environ.get(name) for name in said}
        os.environ.update(said)
        try:
            yield
        finally:
            for name, value in before.items():
                os.environ.pop(name) if value is None else os.environ.update({name: value})


_kept: dict[int, Any] = {}  # what a worker process holds


@dataclass(frozen=True)
class _HeldReference:
    """Stands for something the worker holds."""

    key: int


def _begin_process() -> None:
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asked; it ends this one
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


@dataclass(frozen=True)
class _Failed:
    """Stands for what could not be made: whoever names it is told why."""

    error: Exception


def _keep(key: int, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    try:
        _kept[key] = _call(function, args)
    except Exception as error:
        _kept[key] = _Failed(error)
        raise


def _call(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    return function(*_settled(args, _HeldReference, _recall))


def _recall(one: _HeldReference) -> Any:
    found = _kept[one.key]
    if isinstance(found, _Failed):
        raise found.error
    return found


def _settled(args: Sequence[Any], kind: type, resolve: Callable[[Any], Any]) -> tuple[Any, ...]:
    """Replace arguments of a kind, also inside lists."""

    def settle(arg: Any) -> Any:
        if isinstance(arg, kind):
            return resolve(arg)
        return [settle(one) for one in arg] if isinstance(arg, list) else arg

    return tuple(map(settle, args))


class Cluster(Executor):
    """Work is done by the workers of a Dask cluster; what a lost worker had made is made again by others."""

    def __init__(self, client: Any, owns: bool = False) -> None:
        self.client, self._owns = client, owns
        self.workers = max(1, len(client.scheduler_info(n_workers=-1)["workers"]))
        self.place = f"a Dask cluster of {self.workers} worker{'s' * (self.workers != 1)} at {client.scheduler.address}"
        self._submitted: list[Any] = []

    def submit(self, function: Callable[..., T], *args: Any) -> Any:
        """Hand a call to the cluster."""
        future = self.client.submit(function, *args, pure=False)
        self._submitted.append(future)
        return future

    def result(self, future: Any) -> Any:
        """Wait for a call."""
        from distributed import CancelledError, KilledWorker

        try:
            return future.result()
        except (KilledWorker, CancelledError, TimeoutError) as problem:
            raise WorkerError(
                f"The cluster lost the workers ({type(problem).__name__}): look at their logs, give them more memory, "
                "or run without a cluster."
            ) from None
        except KeyboardInterrupt:
            self.close()
            raise

    def completed(self, futures: Sequence[Any]) -> Iterator[Any]:
        """Go through futures as they are done."""
        from distributed import as_completed

        for future in as_completed(list(futures), loop=self.client.loop):
            self.result(future)
            yield future

    def close(self) -> None:
        """Take back what has not begun; leave the cluster, which goes on."""
        submitted, self._submitted = self._submitted, []
        if self.client.status == "running":
            self.client.cancel([future for future in submitted if not future.done()])
        if self._owns:
            self.client.close()


def cluster_at(address: str) -> Cluster:
    """Return the executor of the Dask cluster whose scheduler listens at an address like tcp://127.0.0.1:8786."""
    from importlib.util import find_spec

    if not find_spec("distributed"):
        raise InputError("A cluster needs Dask: pip install 'concordant[cluster]', here and on the workers.")
    from distributed import Client

    try:
        client = Client(address, timeout="10s", set_as_default=False)
    except (OSError, ValueError, TimeoutError) as problem:
        why = (str(problem).splitlines() or [type(problem).__name__])[0]
        raise InputError(f"No Dask scheduler answers at {address} ({why}): start one, or check the address.") from None
    if not client.scheduler_info(n_workers=-1)["workers"]:
        client.close()
        raise InputError(f"The Dask scheduler at {address} has no workers: start some with `dask worker {address}`.")
    return Cluster(client, owns=True)


@contextmanager
def running_on(workers: object = None, cluster: object = None) -> Iterator[Executor]:
    """Open an executor for so many processes, or on a cluster (an address, a Dask Client); close what was opened.

    ``workers`` may be an executor that is open already, which stays so.
    """
    if isinstance(workers, Executor):
        yield workers
        return
    executor = _opened(workers, cluster)
    try:
        yield executor
    finally:
        executor.close()


def _opened(workers: object, cluster: object) -> Executor:
    if cluster is not None and workers is not None:
        raise InputError("Both workers and a cluster were named: say where work should run once.")
    if cluster is not None:
        return cluster_at(cluster) if isinstance(cluster, str) else Cluster(cluster)
    if workers is None:
        return Serial()
    if not isinstance(workers, int) or isinstance(workers, bool) or workers < 1:
        raise InputError(arg("workers", workers) + " is not a number of processes: give a whole number of at least 1.")
    return Serial() if workers == 1 else Processes(workers)
