"""What saturates first on many nodes: driver, scheduler or nodes. Costs are measured here; the cluster is simulated.

    python benchmarks/nodes.py

Tasks go round: the driver packs one, the scheduler hands it on, a node carries it out, the scheduler hands its answer back, the
driver stores it. Each of them does one thing at a time. Prints a line for each length of a run and number of nodes.
"""

from __future__ import annotations

import heapq
import itertools
import tempfile
import time
from pathlib import Path

from harness import Executor, compare
from harness.run.executors import DaskExecutor
from harness.run.node_runner import _TASKS_PER_SLOT
from harness.run.store import Store

RUNS, NODES, LENGTHS = 1_000_000, (10, 100, 1_000), (0.013, 0.1, 1.0, 10.0)


def cost_of_a_run(count: int = 1000) -> float:
    """Return CPU seconds of the driver for a row: 1.6 times those of storing it, by a profile."""
    with tempfile.TemporaryDirectory() as folder:
        row = compare("smo", "twonorm[n=100]", store=Path(folder) / "one.sqlite", quiet=True).records[0]
        with Store(Path(folder) / "s.sqlite") as store:
            began = time.process_time()
            for _ in range(count // 20):
                store.append(*[row] * 20)
            return 1.6 * (time.process_time() - began) / count


def cost_of_a_task(count: int = 500) -> float:
    """Return CPU seconds of Dask's client and scheduler, both in this process, for a task of 20 kB."""
    executor: Executor = DaskExecutor("local", "1")
    began = time.process_time()
    for each in [executor.submit(lambda task, _: task, bytes(20_000)) for _ in range(count)]:
        each.result()
    seconds = (time.process_time() - began) / count
    executor.close()
    return seconds


def simulated(nodes: int, length: float, run: float, task: float) -> tuple[float, str]:
    """Return runs a second, and who is busy the most."""
    size = 2  # runs of a block: two solvers
    service = {"driver": run * size / 2, "scheduler": task / 2, "node": size * length}  # of either way
    way = ("driver", "scheduler", "node", "scheduler", "driver")
    free: dict[object, float] = {}
    busy = dict.fromkeys(service, 0.0)
    order, done, tasks = itertools.count(), 0, min(RUNS // size, 20 * _TASKS_PER_SLOT * nodes)
    events = [(0.0, next(order), token, 0) for token in range(_TASKS_PER_SLOT * nodes)]
    while done < tasks:
        at, _, token, step = heapq.heappop(events)
        who = way[step]
        server: object = (who, token % nodes) if who == "node" else who
        end = max(at, free.get(server, 0.0)) + service[who]
        free[server] = end
        busy[who] += service[who] / (nodes if who == "node" else 1)
        done += step == len(way) - 1
        heapq.heappush(events, (end, next(order), token, (step + 1) % len(way)))
    return done * size / end, max(busy, key=lambda who: busy[who])


if __name__ == "__main__":
    run, task = cost_of_a_run(), cost_of_a_task()
    print(f"driver {1e3 * run:.2f} ms a run; client and scheduler {1e3 * task:.2f} ms a task (CPU)")
    for length, nodes in itertools.product(LENGTHS, NODES):
        rate, who = simulated(nodes, length, run, task)
        told = f"{rate:,.0f} runs/s ({rate * length / nodes:.0%} of ideal), 1e6 runs in {RUNS / rate / 3600:.2g} h"
        print(f"runs of {length:g} s, {nodes} nodes: {told}; busiest: {who}")
