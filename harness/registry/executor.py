"""What an executor is: it carries blocks of runs to nodes. This file imports nothing of the harness."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent import futures

OnNode = Callable[..., bytes]
"""What is called on a node: ``on_node(task)`` or ``on_node(task, name_of_the_node)``. It returns the answer to the task."""


class Executor:
    """Carries blocks of runs to nodes. An engine with the interface of `concurrent.futures` needs nothing more than this class.

    A task is bytes, and so is its answer. A task holds one block: all chosen solvers on one problem and repetition, which
    one node runs in turns. Queues, heartbeats and lost nodes are the engine's affair.

    futures : the engine; another one is reached by methods of a subclass
    slots : tasks that it carries out at the same time
    """

    def __init__(self, futures: futures.Executor, slots: int) -> None:
        self.futures, self._slots = futures, slots

    def submit(self, on_node: OnNode, task: bytes, nodes: Sequence[str] = ()) -> futures.Future[bytes]:
        """Have a node call ``on_node(task)``; one of ``nodes``, by name, where the engine can choose.

        The future is cancelled where the engine itself is lost, and has an error where the task cannot be carried out.
        """
        return self.futures.submit(on_node, task)

    def everywhere(self, on_node: OnNode, task: bytes) -> Sequence[bytes]:
        """Return the answers of every node that is there, of one of them where the engine cannot choose."""
        return [self.submit(on_node, task).result()]

    def slots(self) -> int:
        """Return how many tasks are carried out at the same time; 0: no node is there."""
        return self._slots

    def running(self) -> Mapping[str, int]:
        """Return how many tasks each node has, by its name; empty where the engine does not say."""
        return {}

    def leave_out(self, node: str) -> bool:
        """Give a node no more tasks; return whether the engine can."""
        return False

    def format_error(self, error: BaseException) -> str:
        """Return why a task could not be carried out, the end of a sentence."""
        return f"{type(error).__name__}: {error}"

    def close(self) -> None:
        """Forget what was not carried out, and end what was started for it."""
        self.futures.shutdown(wait=True, cancel_futures=True)
