"""The executors that come with the harness, and how one is chosen: ``SCHEME://PLACE?OPTION=VALUE``."""

from __future__ import annotations

import atexit
import contextlib
import functools
import inspect
import logging
import os
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from time import monotonic
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from harness.registry.executor import Executor, OnNode
from harness.support.errors import UsageError
from harness.support.faults import format_error
from harness.support.parameters import did_you_mean

if TYPE_CHECKING:
    from harness.registry.discovery import Registry

_ANSWER_SECONDS = 10  # seconds in which a scheduler answers a command that starts
_CLOSE_SECONDS = 3.0  # seconds in which an engine closes, unless something goes on there
_COUNT_SECONDS = 1.0  # seconds between two counts of the workers


def threads(place: str, workers: str = "2") -> Executor:
    """Threads of the driver, as if this machine were a node: ``threads://local?workers=2`` tries a study without an engine."""
    if place != "local":
        raise UsageError(f"threads://{place} is no place; threads are of this machine: threads://local?workers=2.")
    slots = _count(workers)
    return Executor(ThreadPoolExecutor(slots), slots)


def _count(workers: str) -> int:
    if not workers.isdecimal() or not int(workers):
        raise UsageError(f"workers={workers!r} in the executor's URL must be a whole number above 0.")
    return int(workers)


class DaskExecutor(Executor):
    """Workers of a Dask cluster: ``dask://HOST:PORT`` of its scheduler, or ``dask://local?workers=2``, which ends with the command.

    A node is a worker, by its name, which its nanny starts again under the same name.
    """

    def __init__(self, place: str, workers: str = "") -> None:
        import distributed

        for name in ("distributed", "distributed.client", "distributed.scheduler", "tornado.application"):
            logging.getLogger(name).setLevel(logging.CRITICAL)  # what is lost is said in a sentence
        if workers and place != "local":
            raise UsageError(f"dask://{place} has the workers that were started for it; leave workers= out.")
        if place != "local" and not re.search(r":\d+$", place):
            raise UsageError(f"dask://{place} names no scheduler; write dask://{place or 'HOST'}:8786 or dask://local.")
        count = _count(workers) if workers else len(os.sched_getaffinity(0))
        self._counted, self._left_out, self._opened = 0.0, set[str](), contextlib.ExitStack()
        cluster = self._open(lambda: _local_cluster(count)) if place == "local" else place
        try:
            # within a bound of our own: the handshake waits for ever where a port is silent
            connect = functools.partial(distributed.Client, cluster, timeout=_ANSWER_SECONDS)
            self._client = self._open(connect, _ANSWER_SECONDS + 1)
            there = self._client.get_versions()["scheduler"]["packages"]["distributed"]
            if there != distributed.__version__:
                versions = f"is of distributed {there}, and here is {distributed.__version__}"
                raise UsageError(f"the scheduler at {place} {versions}: install the same one.")
        except BaseException as error:
            self.close()
            if isinstance(error, UsageError) or not isinstance(error, Exception):
                raise
            raise UsageError(
                f"no Dask scheduler answers at {place} (is it the port of a dashboard?); start one there: "
                "dask scheduler --host 127.0.0.1, and workers: dask worker HOST:PORT --nthreads 1."
            ) from error
        super().__init__(self._client.get_executor(pure=False), 0)

    def _open(self, function: Callable[[], Any], seconds: float | None = None) -> Any:
        """Return what a function opens, which :meth:`close` closes."""
        opened = _in_thread(function, seconds)
        self._opened.callback(_in_thread, opened.close, _CLOSE_SECONDS)
        return opened

    def _workers(self) -> dict[str, tuple[str, int]]:
        """Return the address of each worker that is not left out, with its name and number of threads."""
        workers = self._client.scheduler_info(n_workers=-1)["workers"]
        known = {address: (str(worker["name"]), worker["nthreads"]) for address, worker in workers.items()}
        return {address: worker for address, worker in known.items() if worker[0] not in self._left_out}

    def submit(self, on_node: OnNode, task: bytes, nodes: Sequence[str] = ()) -> Future[bytes]:
        workers = self._workers() if nodes or self._left_out else {}
        addresses = [address for address, (name, _) in workers.items() if name in nodes] or list(workers)
        # others are allowed: a task whose workers are all lost would wait for ever
        where = {"workers": addresses, "allow_other_workers": True} if addresses else {}
        future: Future[bytes] = self.futures.submit(_on_dask_worker, on_node, task, **where)
        return future

    def everywhere(self, on_node: OnNode, task: bytes) -> Sequence[bytes]:
        return list(self._client.run(_on_dask_worker, on_node, task, workers=list(self._workers())).values())

    def slots(self) -> int:
        if monotonic() - self._counted > _COUNT_SECONDS:
            self._counted, self._slots = monotonic(), sum(threads for _, threads in self._workers().values())
        return self._slots

    def running(self) -> Mapping[str, int]:
        tasks = self._client.processing()
        return {name: len(tasks.get(address, ())) for address, (name, _) in self._workers().items()}

    def leave_out(self, node: str) -> bool:
        self._left_out.add(node)  # it is not closed: on a shared scheduler others may use it
        self._counted = 0.0
        return True

    def format_error(self, error: BaseException) -> str:
        import distributed

        if isinstance(error, distributed.KilledWorker):
            last = error.last_worker.address
            return f"the workers that had them were lost, {error.allowed_failures + 1} in all, the last one at {last}"
        if isinstance(error, OSError):  # what is raised where a connection is closed
            return "its scheduler does not answer"
        return super().format_error(error)

    def close(self) -> None:
        with contextlib.suppress(Exception):  # what is lost, or takes longer, ends with this process
            self._opened.close()


def _on_dask_worker(on_node: OnNode, task: bytes, dask_worker: Any = None) -> bytes:
    """Call ``on_node``; Dask gives ``dask_worker`` where a function is called on all workers."""
    import distributed

    return on_node(task, str((dask_worker or distributed.get_worker()).name))


def _local_cluster(workers: int) -> Any:
    import dask
    from distributed.deploy import local, spec

    atexit.unregister(spec.close_clusters)  # it fails where a start was interrupted; the workers end with this process
    # the workers' profiler would look at them a hundred times a second
    with dask.config.set({"distributed.worker.profile.enabled": False}):
        options = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "silence_logs": logging.CRITICAL}
        return local.LocalCluster(n_workers=workers, threads_per_worker=1, **options)


def _in_thread(function: Callable[[], Any], seconds: float | None = None) -> Any:
    """Return what a function returns in a thread that an interrupt leaves alone; TimeoutError after so many seconds."""
    result = Future[Any]()

    def call() -> None:
        try:
            result.set_result(function())
        except BaseException as error:
            result.set_exception(error)

    threading.Thread(target=call, daemon=True).start()
    return result.result(seconds)


EXECUTORS: dict[str, Callable[..., Executor]] = {"dask": DaskExecutor, "threads": threads}


def select_executor(url: str, registry: Registry) -> Callable[[], Executor]:
    """Return what opens the executor that a URL names.

    Raises
    ------
    UsageError : it names none; and where it is opened: nothing answers there, or its extra is not installed.
    """
    scheme, separator, rest = url.partition("://")
    scheme = registry.resolve("executor", scheme)
    if not separator or scheme not in registry.executors:
        known = {name: f"{name}://{'local?workers=2' if name in EXECUTORS else 'PLACE'}" for name in registry.executors}
        is_address = re.fullmatch(r"[\w.-]+:\d+", url)
        guess = f"dask://{url}" if is_address else known.get(url)
        near = f" (did you mean '{guess}'?)" if guess else did_you_mean(scheme, known)
        raise UsageError(f"{url!r} is no executor{near}; known: {', '.join(known.values())}.")
    place, _, query = rest.partition("?")
    make, options = registry.executors[scheme], dict(parse_qsl(query, keep_blank_values=True))
    signature = inspect.signature(make)
    try:
        signature.bind(place, **options)
    except TypeError as error:
        names = ", ".join(list(signature.parameters)[1:]) or "none"
        raise UsageError(f"{url!r} is no executor: {error}; the options of {scheme}:// are: {names}.") from None

    def open_executor() -> Executor:
        try:
            return make(place, **options)
        except ImportError as error:
            remedy = f"pip install 'svm-harness[{scheme}]'"
            raise UsageError(f"{scheme}:// needs what is not installed ({error.name or error}): {remedy}.") from None
        except UsageError:
            raise
        except Exception as error:
            raise UsageError(f"{scheme}://{place} cannot be used: {format_error(error)}.") from error

    return open_executor
