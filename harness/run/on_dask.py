"""Nodes of a Dask cluster: a scheduler that is there, or one of this machine's for as long as the command."""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from time import monotonic
from typing import Any

import dask
import distributed

from harness.registry.executor import Executor, OnNode
from harness.run.executors import number
from harness.support.errors import UsageError

_ANSWER_SECONDS = 10  # of the scheduler, to a command that starts
_ASKED_EACH = 1.0  # second, how many workers there are


def _on_worker(on_node: OnNode, task: bytes, dask_worker: Any = None) -> bytes:
    """Call ``on_node``; Dask gives ``dask_worker`` where all are asked at once."""
    return on_node(task, str((dask_worker or distributed.get_worker()).name))


def _client(address: Any) -> Any:
    """Return a client, within a bound of our own: the handshake of distributed waits for ever where a port is silent."""
    answer = Future[Any]()

    def connect() -> None:
        try:
            answer.set_result(distributed.Client(address, timeout=_ANSWER_SECONDS))
        except BaseException as error:
            answer.set_exception(error)

    threading.Thread(target=connect, daemon=True).start()
    return answer.result(_ANSWER_SECONDS + 1)


class OnDask(Executor):
    """Dask's scheduler; a node is a worker, by its name, which its nanny starts again under the same name."""

    def __init__(self, place: str, workers: str) -> None:
        for name in ("distributed", "distributed.client", "distributed.scheduler", "tornado.application"):
            logging.getLogger(name).setLevel(logging.CRITICAL)  # what is lost is said in a sentence
        if workers and place != "local":
            raise UsageError(f"dask://{place} has the workers that were started for it; leave workers= out.")
        if place != "local" and not re.search(r":\d+$", place):
            raise UsageError(f"dask://{place} names no scheduler; write dask://{place or 'HOST'}:8786 or dask://local.")
        count = number("workers", workers) if workers else len(os.sched_getaffinity(0))
        self._cluster: Any = None
        if place == "local":
            # its workers' profiler would look at them a hundred times a second
            with dask.config.set({"distributed.worker.profile.enabled": False}):
                self._cluster = distributed.LocalCluster(
                    n_workers=count,
                    threads_per_worker=1,
                    host="127.0.0.1",
                    dashboard_address="127.0.0.1:0",
                    silence_logs=logging.CRITICAL,
                )
        try:
            self._client: Any = _client(self._cluster or place)
            self._refuse_other_versions(place)
        except BaseException as error:
            self.close()
            if isinstance(error, UsageError) or not isinstance(error, Exception):
                raise
            raise UsageError(
                f"no Dask scheduler answers at {place} (is it the port of a dashboard?); start one there: "
                "dask scheduler --host 127.0.0.1, and workers: dask worker HOST:PORT --nthreads 1."
            ) from error
        self._asked, self._slots = 0.0, 0
        self._left_out: set[str] = set()
        super().__init__(self._client.get_executor(pure=False), 0)

    def _refuse_other_versions(self, place: str) -> None:
        there = self._client.get_versions()["scheduler"]["packages"]["distributed"]
        if there != distributed.__version__:
            raise UsageError(
                f"the scheduler at {place} is of distributed {there}, and here is {distributed.__version__}: install the same one."
            )

    def _workers(self) -> dict[str, Any]:
        """Return what the scheduler knows of the workers that are not left out, by address."""
        found: dict[str, Any] = self._client.scheduler_info(n_workers=-1)["workers"]
        return {address: known for address, known in found.items() if str(known["name"]) not in self._left_out}

    def submit(self, on_node: OnNode, task: bytes, nodes: Sequence[str] = ()) -> Future[bytes]:
        workers = self._workers() if nodes or self._left_out else {}
        there = [address for address, known in workers.items() if str(known["name"]) in nodes] or list(workers)
        # others are allowed: a task whose workers are all lost would wait for ever
        where = {"workers": there, "allow_other_workers": True} if there else {}
        found: Future[bytes] = self.futures.submit(_on_worker, on_node, task, **where)
        return found

    def everywhere(self, on_node: OnNode, task: bytes) -> Sequence[bytes]:
        return list(self._client.run(_on_worker, on_node, task, workers=list(self._workers())).values())

    def slots(self) -> int:
        if monotonic() - self._asked > _ASKED_EACH:
            self._asked, self._slots = monotonic(), sum(known["nthreads"] for known in self._workers().values())
        return self._slots

    def running(self) -> Mapping[str, int]:
        tasks = self._client.processing()
        return {str(known["name"]): len(tasks.get(address, ())) for address, known in self._workers().items()}

    def leave_out(self, node: str) -> bool:
        self._left_out.add(node)  # it is not closed: on a shared scheduler others may use it
        self._asked = 0.0
        return True

    def format_error(self, error: BaseException) -> str:
        if isinstance(error, distributed.KilledWorker):
            last = error.last_worker.address
            return f"the workers that had them were lost, {error.allowed_failures + 1} in all, the last one at {last}"
        if isinstance(error, OSError):  # what is raised where a connection is closed
            return "its scheduler does not answer"
        return super().format_error(error)

    def close(self) -> None:
        for each in ("_client", "_cluster"):
            if (opened := vars(self).pop(each, None)) is not None:
                opened.close()
