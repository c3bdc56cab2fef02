"""A few threads that share the columns of one request; compiled loops and BLAS release the interpreter lock."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any

_Job = tuple[Callable[[], None], "_Outcome"]


class _Outcome:
    """Counts a request's jobs down and keeps the first error."""

    def __init__(self, jobs: int) -> None:
        self._left = jobs
        self._changed = threading.Condition()
        self.error: BaseException | None = None

    def finished(self, error: BaseException | None) -> None:
        with self._changed:
            self._left -= 1
            self.error = self.error or error
            self._changed.notify()

    def wait(self) -> None:
        with self._changed:
            while self._left:
                self._changed.wait()


def _carry_out(job: Callable[[], None], outcome: _Outcome) -> None:
    try:
        job()
    except BaseException as error:  # the caller raises it, whatever it is
        outcome.finished(error)
    else:
        outcome.finished(None)


def _work(jobs: SimpleQueue[_Job | None]) -> None:
    while (job := jobs.get()) is not None:
        _carry_out(*job)
        del job  # a waiting thread must not keep a request's arrays alive


def _dismiss(jobs: SimpleQueue[_Job | None], size: int) -> None:
    for _ in range(size):
        jobs.put(None)


class Crew:
    """Threads that start with the first request of a process and end with the crew.

    A fork has none of its parent's threads, so that a crew starts afresh in a child.
    """

    def __init__(self) -> None:
        self._process = 0
        self._size = 0
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._blas: Any = None

    def run(self, jobs: Sequence[Callable[[], None]]) -> None:
        """Carry out the jobs at once, one of them in this thread, and raise the first error when all have ended.

        BLAS has one thread meanwhile: every job has a core to itself.
        """
        if len(jobs) == 1:
            jobs[0]()
            return
        self._start(len(jobs) - 1)
        outcome = _Outcome(len(jobs))
        with self._one_blas_thread():
            for job in jobs[1:]:
                self._jobs.put((job, outcome))
            _carry_out(jobs[0], outcome)
            outcome.wait()
        if outcome.error is not None:
            raise outcome.error

    def _start(self, size: int) -> None:
        if self._process != os.getpid():
            self._process, self._size, self._jobs = os.getpid(), 0, SimpleQueue()
        for _ in range(size - self._size):
            threading.Thread(target=_work, args=(self._jobs,), name="harness-kernels", daemon=True).start()
            weakref.finalize(self, _dismiss, self._jobs, 1)
        self._size = max(self._size, size)

    @contextmanager
    def _one_blas_thread(self) -> Iterator[None]:
        if self._blas is None:
            from threadpoolctl import ThreadpoolController

            self._blas = ThreadpoolController().select(user_api="blas")
        with self._blas.limit(limits=1):
            yield
