"""Nodes of a Dask cluster: a scheduler that is there, or one of this machine's for as long as the command."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from time import monotonic
from typing import Any

import dask
import distributed

from harness.errors import UsageError
from harness.executor import Executor, OnNode
from harness.run.executors import number

_ANSWER_SECONDS = 10
_ASKED_EACH = 1.0  # second, how many workers there are


def _on_worker(on_node: OnNode, task: bytes, dask_worker: Any = None) -> bytes:
    """Call ``on_node``; Dask gives ``dask_worker`` where all are asked at once."""
    return on_node(task, str((dask_worker or distributed.get_worker()).name))


class OnDask(Executor):
    """Dask's scheduler; a node is a worker, by its name, which its nanny starts again under the same name."""

    def __init__(self, place: str, workers: str) -> None:
        for name in ("distributed", "distributed.client", "distributed.scheduler", "tornado.application"):
            logging.getLogger(name).setLevel(logging.CRITICAL)  # what is lost is said in a sentence
        if workers and place != "local":
            raise UsageError(f"dask://{place} has the workers that were started for it; leave workers= out.")
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
            self._client: Any = distributed.Client(self._cluster or place, timeout=_ANSWER_SECONDS)
            self._refuse_other_versions(place)
        except (OSError, ValueError) as error:  # TimeoutError is an OSError
            self.close()
            raise UsageError(
                f"no Dask scheduler answers at {place} ({str(error).splitlines()[0]}); start one there: "
                "dask scheduler --host 127.0.0.1, and workers: dask worker HOST:PORT --nthreads 1."
            ) from None
        except BaseException:
            self.close()
            raise
        self._asked, self._slots = 0.0, 0
        super().__init__(self._client.get_executor(pure=False), 0)

    def _refuse_other_versions(self, place: str) -> None:
        there = self._client.get_versions()["scheduler"]["packages"]["distributed"]
        if there != distributed.__version__:
            raise UsageError(
                f"the scheduler at {place} is of distributed {there}, and here is {distributed.__version__}: install the same one."
            )

    def _workers(self) -> dict[str, Any]:
        """Return what the scheduler knows of its workers, by address."""
        found: dict[str, Any] = self._client.scheduler_info(n_workers=-1)["workers"]
        return found

    def _addresses(self, nodes: Sequence[str]) -> list[str]:
        return [address for address, known in self._workers().items() if str(known["name"]) in nodes]

    def submit(self, on_node: OnNode, task: bytes, nodes: Sequence[str] = ()) -> Future[bytes]:
        there = self._addresses(nodes) if nodes else []
        where = {"workers": there, "allow_other_workers": True} if there else {}
        found: Future[bytes] = self.futures.submit(_on_worker, on_node, task, **where)
        return found

    def everywhere(self, on_node: OnNode, task: bytes) -> Sequence[bytes]:
        return list(self._client.run(_on_worker, on_node, task).values())

    def slots(self) -> int:
        if monotonic() - self._asked > _ASKED_EACH:
            self._asked, self._slots = monotonic(), sum(self._client.nthreads().values())
        return self._slots

    def running(self) -> Mapping[str, int]:
        tasks = self._client.processing()
        return {str(known["name"]): len(tasks.get(address, ())) for address, known in self._workers().items()}

    def leave_out(self, node: str) -> bool:
        self._client.retire_workers(workers=self._addresses([node]), close_workers=True)
        self._asked = 0.0
        return True

    def told(self, error: BaseException) -> str:
        if isinstance(error, distributed.KilledWorker):
            last = error.last_worker.address
            return f"the workers that had them were lost, {error.allowed_failures + 1} in all, the last one at {last}"
        return super().told(error)

    def close(self) -> None:
        for each in ("_client", "_cluster"):
            if (opened := vars(self).pop(each, None)) is not None:
                opened.close()
