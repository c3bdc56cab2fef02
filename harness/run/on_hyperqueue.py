"""Nodes of HyperQueue: each task is a process of its own on cores of its own, and leaves its answer as a file.

Its Python client waits with the interpreter's lock held, so what has ended is seen by the files. They lie in the server's
folder, which its workers share.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
import uuid
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from time import monotonic
from typing import Any, ClassVar

from hyperqueue import Client, Job
from hyperqueue.cluster import LocalCluster, WorkerConfig
from hyperqueue.ffi.protocol import ResourceRequest
from hyperqueue.task.function import PythonEnv

from harness.errors import UsageError
from harness.executor import Executor, OnNode
from harness.files import write_whole
from harness.run.executors import number

_LOOK_SECONDS, _ASK_SECONDS = 0.05, 1.0
_SLOTS = 32  # where nobody says how many workers the server has


def _to_file(on_node: OnNode, task: bytes, answer: str) -> None:
    if Path(answer).parent.exists():  # else nobody waits for it any more
        write_whole(Path(answer), on_node(task))


class _Failed(Exception):
    """A task that could not be carried out: the last line of its traceback."""


class OnHyperQueue(Executor):
    """HyperQueue's server. It starts a process for each task, so a task should be long."""

    task_seconds: ClassVar[float] = 20.0

    def __init__(self, place: str, workers: str, slots: str, cpus: str) -> None:
        if place != "local" and not Path(place).is_dir():
            raise UsageError(
                f"hq://{place}: there is no such folder; name that of a server: hq server start --server-dir FOLDER."
            )
        self._folder = tempfile.TemporaryDirectory(
            prefix="harness-", dir=None if place == "local" else place, ignore_cleanup_errors=True
        )
        self._cpus, self._cluster = number("cpus", cpus), None
        if place == "local":
            count = number("workers", workers) if workers else len(os.sched_getaffinity(0))
            self._cluster, place = _local(Path(self._folder.name) / "server", count, self._cpus)
            slots = slots or str(count)
        elif workers:
            raise UsageError(
                f"hq://{place} has the workers that were started for it; say slots= for how many tasks wait."
            )
        self._slots = number("slots", slots) if slots else _SLOTS
        try:
            self._client = Client(place, python_env=PythonEnv(sys.executable))
        except RuntimeError as error:  # which has the traces of its threads
            self._folder.cleanup()
            raise UsageError(
                f"no HyperQueue server answers for the folder {place} ({str(error).splitlines()[0]}); start one there: "
                f"hq server start --server-dir {place}."
            ) from None
        self._waiting: dict[Path, tuple[Any, Future[bytes]]] = {}
        self._end, self._lock = threading.Event(), threading.Lock()
        self._looking = threading.Thread(target=self._look, daemon=True)
        self._looking.start()

    def submit(self, on_node: OnNode, task: bytes, nodes: Sequence[str] = ()) -> Future[bytes]:
        answer = Path(self._folder.name) / uuid.uuid4().hex
        job, future = Job(self._folder.name, name="harness"), Future[bytes]()
        job.function(
            _to_file, args=(on_node, task, str(answer)), env={"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            stdout=None, stderr=None, resources=ResourceRequest(cpus=self._cpus),
        )  # fmt: skip
        future.set_running_or_notify_cancel()
        with self._lock:
            self._waiting[answer] = self._client.submit(job), future
        return future

    def _look(self) -> None:
        """Settle what has ended; the loss of the server cancels all."""
        asked = monotonic()
        while not self._end.wait(_LOOK_SECONDS):
            with self._lock:
                for answer in [each for each in self._waiting if each.exists()]:
                    _, future = self._waiting.pop(answer)
                    future.set_result(answer.read_bytes())
                    answer.unlink()
                if monotonic() - asked > _ASK_SECONDS and self._waiting:
                    asked = monotonic()
                    self._ask()

    def _ask(self) -> None:
        by_job = {job.id: (answer, future) for answer, (job, future) in self._waiting.items()}
        try:
            failed = self._client.connection.get_failed_tasks(list(by_job))
        except Exception as error:
            for _, future in by_job.values():
                future.set_exception(ConnectionError(f"the HyperQueue server is gone ({error})"))
            self._waiting.clear()
            return
        for job, tasks in failed.items():
            for each in tasks.values():
                answer, future = by_job[job]
                del self._waiting[answer]
                future.set_exception(_Failed((each.error.strip().splitlines() or ["no reason"])[-1]))

    def told(self, error: BaseException) -> str:
        return str(error)

    def close(self) -> None:
        self._end.set()
        self._looking.join()
        if self._cluster is not None:
            self._cluster.stop()
        self._folder.cleanup()


def _local(folder: Path, workers: int, cpus: int) -> tuple[Any, str]:
    """Start a server and workers in this process; what they print is nothing that was asked for."""
    folder.mkdir()
    before = {each: signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGTSTP)}
    kept, nothing = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nothing, 1)
        cluster = LocalCluster(str(folder))
        for _ in range(workers):
            cluster.start_worker(WorkerConfig(cores=cpus))
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nothing)
    # its workers take these signals for themselves: a driver that is told to end would go on without them
    if threading.current_thread() is threading.main_thread():
        for each, handler in before.items():
            signal.signal(each, handler)
    return cluster, str(cluster.cluster.server_dir)
