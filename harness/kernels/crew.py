"""A few threads that share a request; compiled loops and BLAS release the interpreter lock."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

Job = Callable[[int, int], None]

WORTH = 1 << 17  # values that are worth waking another thread for
_TURNS = 4  # parts a thread: cores are not equally fast, least of all where others use them too


class Crew:
    """Threads that start with the first request of a process and end with the crew.

    A fork has none of its parent's threads, so a child process starts new ones.
    """

    def __init__(self) -> None:
        self._started: tuple[int, int] = (0, 0)  # process id, and number of threads
        self._threads: Any = None
        self._blas: Any = None

    def __reduce__(self) -> Any:
        return Crew, ()

    def share(self, job: Job, count: int, values: int, threads: int, *, widest: int = 1 << 62, grain: int = 1) -> None:
        """Do ``job(start, stop)`` for all parts of 0 to ``count``; a thread that has done one takes the next.

        The first error is raised when all threads have ended. BLAS has one thread meanwhile: each has a core to itself.

        Parameters
        ----------
        values : that each of the ``count`` takes to compute or to read; another thread is woken for many only
        threads : at most
        widest : of a part
        grain : of which every part's beginning is a multiple
        """
        threads = max(1, min(threads, count * values // WORTH))
        part = min(widest, count) if threads == 1 else min(widest, -(-count // (threads * _TURNS)))
        part = max(1, part // grain) * grain
        starts = iter(range(0, count, part))  # under the interpreter lock no two threads are given the same

        def work() -> None:
            for start in starts:
                job(start, min(start + part, count))

        if threads == 1:
            work()
            return
        if self._started[0] != os.getpid() or self._started[1] < threads - 1:
            self._started = os.getpid(), threads - 1
            self._threads = ThreadPoolExecutor(threads - 1, thread_name_prefix="harness-kernels")
        if self._blas is None:
            from threadpoolctl import ThreadpoolController

            self._blas = ThreadpoolController().select(user_api="blas")
        with self._blas.limit(limits=1):
            others = [self._threads.submit(work) for _ in range(threads - 1)]
            try:
                work()
            finally:
                wait(others)
        for other in others:
            other.result()
