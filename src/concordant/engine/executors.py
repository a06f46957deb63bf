"""Executors that run work in this process, in threads, in processes, or on a Dask cluster, with one interface.

An executor takes a function and its arguments (``submit``) and returns a future, like ``concurrent.futures``. Arguments
may be futures of the same executor: their results are passed between workers, so that the workers can merge parts
(``reduce``). ``hold`` creates an object that stays on a worker, such as a part of the data, for use in later calls.

Functions are pure, so the work of a lost worker can be repeated. Dask does this itself; worker processes are restarted
up to three times. Ctrl-C stops the work and its processes.
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
    """Workers and the results they held were lost."""


class Executor(ABC):
    """Runs functions and returns their results."""

    workers: int = 1
    place: str = "this process"

    @abstractmethod
    def submit(self, function: Callable[..., T], *args: Any) -> Any:
        """Start a call and return its future. Futures among the arguments are replaced by their results."""

    def hold(self, make: Callable[..., T], *args: Any) -> Any:
        """Create an object that stays on its worker; the returned future represents it in later calls."""
        return self.submit(make, *args)

    @abstractmethod
    def result(self, future: Any) -> Any:
        """Wait for a call and return its result."""

    def completed(self, futures: Sequence[Any]) -> Iterator[Any]:
        """Yield futures as they finish (by default in the given order)."""
        for future in futures:
            self.result(future)
            yield future

    def map(self, function: Callable[..., T], *columns: Iterable[Any]) -> list[T]:
        """Call a function on every row of arguments; return the results in order."""
        futures = [self.submit(function, *row) for row in zip(*columns, strict=True)]
        return [self.result(future) for future in futures]

    def reduce(self, merge: Callable[[list[T]], T], futures: Sequence[Any]) -> T:
        """Merge results on the workers, ``FAN`` at a time, until one is left; return it."""
        level = list(futures)
        while len(level) > 1:
            level = [self.submit(merge, level[k : k + FAN]) for k in range(0, len(level), FAN)]
        merged: T = self.result(level[0])
        return merged

    def close(self) -> None:  # noqa: B027
        """Stop the workers."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Serial(Executor):
    """Runs work in this process, immediately on submission."""

    def submit(self, function: Callable[..., T], *args: Any) -> T:
        """Call the function."""
        return function(*args)

    def result(self, future: Any) -> Any:
        """Return the result, which ``submit`` has already computed."""
        return future


class Threads(Executor):
    """Runs work in threads of this process: kernels and DuckDB run in parallel, Python code does not."""

    def __init__(self, workers: int) -> None:
        """Start a pool of this number of threads."""
        from concurrent.futures import ThreadPoolExecutor

        self.workers, self.place = workers, f"{workers} threads"
        self._pool = ThreadPoolExecutor(workers)

    def submit(self, function: Callable[..., T], *args: Any) -> Any:
        """Submit a call to the thread pool once the futures among its arguments are done."""
        from concurrent.futures import Future

        awaited = [
            part for arg in args for part in (arg if isinstance(arg, list) else [arg]) if isinstance(part, Future)
        ]
        for awaited_future in awaited:  # no thread waits for another, or all might
            awaited_future.exception()
        return self._pool.submit(function, *_settled(args, Future, lambda future: future.result()))

    def result(self, future: Any) -> Any:
        """Wait for a call."""
        return future.result()

    def close(self) -> None:
        """Cancel the calls that have not started, and wait for the others."""
        self._pool.shutdown(cancel_futures=True)


@dataclass
class Held:
    """A call to a worker process, with everything needed to repeat it if the process is lost."""

    worker: int
    function: Callable[..., Any]
    args: tuple[Any, ...]
    future: Any = None
    key: int | None = None
    """The key under which the worker keeps the result; None if the result is returned."""
    tries: int = field(default=0)


class Processes(Executor):
    """Runs work in processes on this machine, each with its own memory."""

    def __init__(self, workers: int) -> None:
        """Prepare this number of workers; a process starts with its first call."""
        self.workers, self.place = workers, f"{workers} processes"
        self._pools: list[Any] = [None] * workers
        self._held: list[Held] = []
        self._next = 0

    def submit(self, function: Callable[..., T], *args: Any) -> Held:
        """Submit a call to the process that holds one of its arguments, or else to the next process in turn."""
        return self._begin(Held(self._worker_of(args), function, args))

    def hold(self, make: Callable[..., T], *args: Any) -> Held:
        """Create an object that stays in the process that holds an argument, or else in the next process."""
        held = Held(self._worker_of(args), make, args, key=len(self._held))
        self._held.append(held)
        return self._begin(held)

    def result(self, future: Held) -> Any:
        """Wait for a call; if its process was lost, repeat the call in a new one, up to ``RETRIES`` times."""
        from concurrent.futures.process import BrokenProcessPool

        while True:
            try:
                return future.future.result()
            except BrokenProcessPool:
                future.tries += 1
                if future.tries > RETRIES:
                    raise WorkerError(
                        "A worker process crashed repeatedly, possibly for lack of memory: lower "
                        + arg("workers")
                        + " or "
                        + arg("memory_limit")
                        + "."
                    ) from None
                self._begin(future)

    def close(self) -> None:
        """Stop the processes."""
        for pool in self._pools:
            if pool is not None:
                running = list((pool._processes or {}).values())
                pool.shutdown(wait=False, cancel_futures=True)
                for process in running:
                    process.terminate()
        self._pools = [None] * self.workers

    def pids(self) -> list[int]:
        """Return the process IDs of the running workers."""
        return [pid for pool in self._pools if pool is not None for pid in (pool._processes or {})]

    def reduce(self, merge: Callable[[list[T]], T], futures: Sequence[Held]) -> T:
        """Merge the results of each worker in that worker, then the partial results here: each is sent once."""
        by_worker: dict[int, list[Held]] = {}
        for future in futures:
            by_worker.setdefault(future.worker, []).append(future)
        partial = [self.submit(merge, held) for held in by_worker.values()]
        results = [self.result(future_of_worker) for future_of_worker in partial]
        return results[0] if len(results) == 1 else merge(results)

    def _worker_of(self, args: tuple[Any, ...]) -> int:
        """Return the process that holds one of the arguments, or else the next process in turn."""
        for argument in args:
            for part in argument if isinstance(argument, list) else [argument]:
                if isinstance(part, Held) and part.key is not None:
                    return part.worker
        self._next += 1
        return (self._next - 1) % self.workers

    def _begin(self, held: Held) -> Held:
        """Send a call to its process (a new one if the old one was lost), and store the future in ``held``."""
        from concurrent.futures.process import BrokenProcessPool

        args = _settled(
            held.args,
            Held,
            lambda argument: _HeldReference(argument.key) if argument.key is not None else self.result(argument),
        )
        call = (_keep, held.key, held.function, args) if held.key is not None else (_call, held.function, args)
        try:
            held.future = self._pool(held.worker).submit(*call)
        except BrokenProcessPool:
            self._pools[held.worker] = None
            held.future = self._pool(held.worker).submit(*call)
        return held

    def _pool(self, worker: int) -> Any:
        """Return the pool of one process; a new process first recreates the objects that it has to hold."""
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
    """Keep processes that multiprocessing starts from importing modules from the working folder.

    This is set through environment variables, since multiprocessing passes no interpreter flags.
    """
    with _starting:
        variables = processes.import_path()
        before = {name: os.environ.get(name) for name in variables}
        os.environ.update(variables)
        try:
            yield
        finally:
            for name, value in before.items():
                os.environ.pop(name) if value is None else os.environ.update({name: value})


_kept: dict[int, Any] = {}  # what a worker process holds


@dataclass(frozen=True)
class _HeldReference:
    """Reference to an object that the worker holds."""

    key: int


def _begin_process() -> None:
    """Prepare a worker process: ignore Ctrl-C, which the parent handles, and use one BLAS thread."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asked; it ends this one
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


@dataclass(frozen=True)
class _Failed:
    """Placeholder for a held object that could not be created: calls that use it raise the error."""

    error: Exception


def _keep(key: int, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    """Create an object and keep it in this worker under ``key``; keep the error if that fails."""
    try:
        _kept[key] = _call(function, args)
    except Exception as error:
        _kept[key] = _Failed(error)
        raise


def _call(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Call a function, with references among its arguments replaced by the objects that this worker holds."""
    return function(*_settled(args, _HeldReference, _recall))


def _recall(reference: _HeldReference) -> Any:
    """Return the object that this worker holds, or raise the error that occurred when it was created."""
    value = _kept[reference.key]
    if isinstance(value, _Failed):
        raise value.error
    return value


def _settled(args: Sequence[Any], kind: type, resolve: Callable[[Any], Any]) -> tuple[Any, ...]:
    """Replace the arguments of class ``kind`` by ``resolve(argument)``, also inside lists."""

    def settle(arg: Any) -> Any:
        if isinstance(arg, kind):
            return resolve(arg)
        return [settle(element) for element in arg] if isinstance(arg, list) else arg

    return tuple(map(settle, args))


class Cluster(Executor):
    """Runs work on a Dask cluster; other workers repeat the work of a lost worker."""

    def __init__(self, client: Any, owns: bool = False) -> None:
        """Use a Dask client; ``close`` closes it if ``owns`` is true."""
        self.client, self._owns = client, owns
        self.workers = max(1, len(client.scheduler_info(n_workers=-1)["workers"]))
        self.place = f"a Dask cluster of {self.workers} worker{'s' * (self.workers != 1)} at {client.scheduler.address}"
        self._submitted: list[Any] = []

    def submit(self, function: Callable[..., T], *args: Any) -> Any:
        """Submit a call to the cluster."""
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
                f"The cluster lost its scheduler or its workers ({type(problem).__name__}): check their logs, give the "
                "workers more memory, or run without a cluster."
            ) from None
        except KeyboardInterrupt:
            self.close()
            raise

    def completed(self, futures: Sequence[Any]) -> Iterator[Any]:
        """Yield futures as they finish."""
        from distributed import as_completed

        for future in as_completed(list(futures), loop=self.client.loop):
            self.result(future)
            yield future

    def close(self) -> None:
        """Cancel the calls that have not started; the cluster itself keeps running."""
        submitted, self._submitted = self._submitted, []
        if self.client.status == "running":
            self.client.cancel([future for future in submitted if not future.done()])
        if self._owns:
            self.client.close()


def cluster_at(address: str) -> Cluster:
    """Return the executor of the Dask cluster whose scheduler listens at an address such as tcp://127.0.0.1:8786."""
    from importlib.util import find_spec

    if not find_spec("distributed"):
        raise InputError("A cluster needs Dask: pip install 'concordant[cluster]', here and on the workers.")
    from distributed import Client

    try:
        client = Client(address, timeout="10s", set_as_default=False)
    except (OSError, ValueError, TimeoutError) as problem:
        why = (str(problem).splitlines() or [type(problem).__name__])[0]
        raise InputError(f"No Dask scheduler responds at {address} ({why}): start one, or check the address.") from None
    if not client.scheduler_info(n_workers=-1)["workers"]:
        client.close()
        raise InputError(f"The Dask scheduler at {address} has no workers: start some with `dask worker {address}`.")
    return Cluster(client, owns=True)


@contextmanager
def running_on(workers: object = None, cluster: object = None) -> Iterator[Executor]:
    """Open an executor with this number of processes, or on a cluster (address or Dask Client); close it at the end.

    ``workers`` may be an executor that is already open: it is used, and stays open.
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
    """Return the executor for a number of processes or a cluster; serial if neither is given."""
    if cluster is not None and workers is not None:
        raise InputError(arg("workers") + " and " + arg("cluster") + " cannot be combined: choose one of them.")
    if cluster is not None:
        return cluster_at(cluster) if isinstance(cluster, str) else Cluster(cluster)
    if workers is None:
        return Serial()
    if not isinstance(workers, int) or isinstance(workers, bool) or workers < 1:
        raise InputError(arg("workers", workers) + " must be a whole number of at least 1.")
    return Serial() if workers == 1 else Processes(workers)
