"""Where tasks are run: in processes of this machine, or on the workers of a dask scheduler.

A task's numbers depend on its own seed alone, so they are the same wherever it is run, and in
whatever order tasks end.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import platform
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Future,
    ProcessPoolExecutor,
    as_completed,
)
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Protocol, TypeVar

from joblib import Parallel, delayed, effective_n_jobs, wrap_non_picklable_objects
from threadpoolctl import threadpool_limits

from verify.rates.fingerprint import packages_digest

if TYPE_CHECKING:
    from dask.distributed import Client

T = TypeVar("T")
R = TypeVar("R")
WATCH_SECONDS = 1.0
"""Between looks at whether the main process is still there."""
CONNECT_SECONDS = 10
"""After which a scheduler that does not answer is given up."""


class Backend(Protocol):
    """Runs a function on items, wherever that is."""

    def completed(self, call: Callable[[T], R], items: Sequence[T]) -> Iterator[tuple[int, R]]:
        """Each item's place and result, as they come; the first items are begun first."""


class LostWorkers(RuntimeError):
    """Workers that ended while they had work to do, in a sentence."""


class Processes:
    """Processes of this machine."""

    def __init__(self, jobs: int = 1) -> None:
        self.jobs = jobs
        self._copies: Copies | None = None

    def completed(self, call: Callable[[T], R], items: Sequence[T]) -> Iterator[tuple[int, R]]:
        """Each item's place and result, as they come. Workers begin now, and not with the first
        result: there may be threads by then."""
        return _told_of_lost(self._begun(call, items))

    def _begun(self, call: Callable[[T], R], items: Sequence[T]) -> Iterator[tuple[int, R]]:
        # Processes, not threads: the work is many small numpy calls, which would contend for the
        # interpreter.
        jobs = effective_n_jobs(self.jobs)
        if FORKS and jobs > 1:
            if self._copies is None or self._copies.ended:
                self._copies = Copies(jobs)
            return self._copies.completed(call, items)
        main = os.getpid()
        calls = (delayed(_placed)(call, place, item, main) for place, item in enumerate(items))
        found: Iterator[tuple[int, R]] = Parallel(
            n_jobs=jobs, return_as="generator_unordered", batch_size=1
        )(calls)
        return found

    def close(self) -> None:
        """End the workers, if there are any."""
        if self._copies is not None:
            self._copies.end()
            self._copies = None


def _told_of_lost(results: Iterator[R]) -> Iterator[R]:
    try:
        yield from results
    except BrokenExecutor as error:
        raise LostWorkers(
            "a process ended in the middle of its work without a word: killed, out of memory,"
            " or by code that it ran"
        ) from error


def _placed(call: Callable[[T], R], place: int, item: T, main: int) -> tuple[int, R]:
    if os.getppid() == main:
        _end_with(main)
    return place, call(item)


FORKS = sys.platform == "linux"
"""Whether workers are copies of this process. Elsewhere copies are not safe, and workers begin with
nothing."""


class Copies:
    """Workers that are copies of this process.

    They have what it knows, such as the plans that estimators searched for while bounds were looked
    up: no worker searches for them again. They begin at once, before there are threads, which a
    copy does not have.
    """

    def __init__(self, jobs: int) -> None:
        others = set(multiprocessing.active_children())
        fork = multiprocessing.get_context("fork")
        self._pool = ProcessPoolExecutor(jobs, fork, _begun, (os.getpid(),))
        self._pool.submit(os.getpid).result()
        self._workers = set(multiprocessing.active_children()) - others
        self.ended = False

    def completed(self, call: Callable[[T], R], items: Sequence[T]) -> Iterator[tuple[int, R]]:
        """Each item's place and result, as they come; workers end if no more is asked for."""
        packed = (wrap_non_picklable_objects((call, item), keep_wrapper=False) for item in items)
        futures = {
            self._pool.submit(_run_unpacked, work): place for place, work in enumerate(packed)
        }
        try:
            for future in as_completed(futures):
                yield futures.pop(future), future.result()
        finally:
            if futures:
                self.end()

    def end(self) -> None:
        """Whatever they are doing."""
        self.ended = True
        self._pool.shutdown(wait=False, cancel_futures=True)
        for worker in self._workers:
            worker.terminate()
        for worker in self._workers:  # whose time then counts as that of this process
            worker.join()


def _begun(main: int) -> None:
    """Ctrl-C is the main process's to heed, which ends its workers; each has one thread."""
    threadpool_limits(limits=1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _end_with(main)


def _run_unpacked(work: tuple[Callable[[T], R], T]) -> R:
    call, item = work
    return call(item)


@cache
def _end_with(parent: int) -> None:
    """End this process when its parent is gone, which if killed outright tells no one."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(WATCH_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


# --- dask -----------------------------------------------------------------------------------------


class BadScheduler(ValueError):
    """A scheduler that cannot be used, in a sentence."""


class OtherSources(RuntimeError):
    """A worker whose packages or libraries are not those of the run."""


@dataclass(frozen=True)
class Dask:
    """The workers of a dask scheduler. What a lost worker had is run again by another."""

    client: Client
    own: tuple[ModuleType, ...] = ()
    """A user's own modules: they travel by value, since workers need not have them."""
    tell: Callable[[str], None] = print

    def completed(self, call: Callable[[T], R], items: Sequence[T]) -> Iterator[tuple[int, R]]:
        """Each item's place and result, as they come."""
        from dask.distributed import KilledWorker

        try:
            with self._watched():
                yield from self._completed(call, items)
        except KilledWorker as error:
            raise LostWorkers(
                "workers ended one after the other in the middle of the same work: out of memory,"
                " or by code that they ran"
            ) from error
        except (CancelledError, OSError) as error:
            if self.client.status == "running":
                raise
            raise LostWorkers("the scheduler is gone") from error

    def _completed(self, call: Callable[[T], R], items: Sequence[T]) -> Iterator[tuple[int, R]]:
        import cloudpickle  # comes with dask
        from dask.distributed import as_completed as completed_in_cluster

        digest = packages_digest()
        with _by_value(self.own):
            places = {
                self.client.submit(
                    _unpacked,
                    cloudpickle.dumps((call, item)),
                    digest,
                    pure=False,
                    priority=-place,
                ): place
                for place, item in enumerate(items)
            }
        try:
            for future in completed_in_cluster(places):
                yield places[future], future.result()
        finally:
            if self.client.status == "running":
                self.client.cancel(list(places))

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """Say so when there is nobody to work; dask waits for workers to come, for ever."""
        ended = threading.Event()

        def watch() -> None:
            while not ended.wait(WATCH_SECONDS):
                if self.client.status == "running" and not self.client.scheduler_info()["workers"]:
                    self.tell("the scheduler has no workers: waiting for one (Ctrl-C to stop)")
                    return

        threading.Thread(target=watch, daemon=True).start()
        try:
            yield
        finally:
            ended.set()

    def close(self) -> None:
        """Leave the scheduler, which goes on."""
        self.client.close()


def connect(
    address: str, own: Sequence[ModuleType] = (), tell: Callable[[str], None] = print
) -> Dask:
    """The workers of the scheduler at an address; raises `BadScheduler`."""
    try:
        return Dask(_client(address), tuple(own), tell)
    except ImportError:
        raise BadScheduler("dask is not installed: pip install 'tracebound[dask]'") from None
    except TimeoutError:
        raise BadScheduler(f"what answers at {address} is no dask scheduler, or too slow") from None
    except (OSError, ValueError) as error:
        raise BadScheduler(f"no scheduler answers at {address} ({error})") from None
    except Exception as error:  # of what dask makes of another service's words
        why = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise BadScheduler(f"what answers at {address} is no dask scheduler ({why})") from None


def _client(address: str) -> Client:
    """Made in a thread: with another service behind the port it would wait for ever."""
    from dask.distributed import Client

    made: Future[Client] = Future()

    def make() -> None:
        try:
            made.set_result(Client(address, timeout=CONNECT_SECONDS))
        except BaseException as error:
            made.set_exception(error)

    threading.Thread(target=make, daemon=True).start()
    return made.result(2 * CONNECT_SECONDS)


@contextmanager
def _by_value(modules: Sequence[ModuleType]) -> Iterator[None]:
    import cloudpickle

    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)


def _unpacked(packed: bytes, digest: str) -> object:
    """Run a packed call, if this process has the sources of the one that packed it."""
    if packages_digest() != digest:
        raise OtherSources(
            f"the worker on {platform.node()} has other versions of tracebound, numpy, scipy,"
            " scikit-learn or Python than this process: its numbers could be others"
        )
    call, item = pickle.loads(packed)
    return call(item)
