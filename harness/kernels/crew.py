"""A few threads that share the columns of one request; compiled loops and BLAS release the interpreter lock."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any


class Crew:
    """Threads that start with the first request of a process and end with the crew.

    A fork has none of its parent's threads, so that a crew starts afresh in a child.
    """

    def __init__(self) -> None:
        self._kept: tuple[int, int] = (0, 0)  # process, and number of threads
        self._threads: Any = None
        self._blas: Any = None

    def run(self, jobs: Sequence[Callable[[], None]]) -> None:
        """Carry out the jobs at once, one of them in this thread, and raise the first error when all have ended.

        BLAS has one thread meanwhile: every job has a core to itself.
        """
        if len(jobs) == 1:
            jobs[0]()
            return
        if self._kept[0] != os.getpid() or self._kept[1] < len(jobs) - 1:
            self._kept = os.getpid(), len(jobs) - 1
            self._threads = ThreadPoolExecutor(len(jobs) - 1, thread_name_prefix="harness-kernels")
        if self._blas is None:
            from threadpoolctl import ThreadpoolController

            self._blas = ThreadpoolController().select(user_api="blas")
        with self._blas.limit(limits=1):
            others = [self._threads.submit(job) for job in jobs[1:]]
            try:
                jobs[0]()
            finally:
                wait(others)
        for other in others:
            other.result()
