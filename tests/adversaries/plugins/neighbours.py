"""Solvers that harm their rivals' processes, and runs that something outside stops or limits."""

import inspect
import os
import resource
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from harness import CSVC, Iterate, Metric, Solver, get_solver, hookimpl, parameter
from harness.support.processes import living

WARM_UP_POINTS = 40
WAYS = {"none": lambda: None}  # and the functions of this file without parameters, by name


def rivals():
    """Return the processes of the same template but this run's own: other workers and the certifier."""
    template = int(Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[1])
    return [pid for pid in living(template) if pid not in (os.getpid(), os.getppid())]


def stops_rivals():
    for pid in rivals():
        os.kill(pid, signal.SIGSTOP)


def limits_rivals():
    for pid in rivals():
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (20, 20))
        os.setpriority(os.PRIO_PROCESS, pid, 19)


def by_another(command: str):
    """Do to this process what another one does: ``{pid}`` is this process, ``{worker}`` its worker."""
    code = command.format(pid=os.getpid(), worker=os.getppid())
    subprocess.run([sys.executable, "-c", f"import os, resource; {code}"], check=True)


def stopped():
    by_another("os.kill({pid}, 19)")


def stopped_and_fails():
    stopped()
    raise ValueError("no luck")


def limits_itself_and_fails():
    resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))
    os.nice(5)
    raise ValueError("no luck")


def worker_limited_and_fails():
    by_another("resource.prlimit({worker}, resource.RLIMIT_NOFILE, (20, 20))")
    raise ValueError("no luck")


for name, function in list(vars().items()):
    if inspect.isfunction(function) and not inspect.signature(function).parameters:
        WAYS[name.replace("_", "-")] = function


@dataclass(frozen=True)
class Neighbour(Solver):
    """An exact solver, after what its way does in the measured run."""

    name = "neighbour"
    solves = (CSVC,)
    way: str = parameter("none", "what is done, and to whom")

    def iterates(self, problem, rng):
        if problem.n > WARM_UP_POINTS:
            WAYS[self.way]()
        found = get_solver("smo").solve(problem)
        yield Iterate(dual_coef=found.dual_coef, intercept=found.intercept, done=True)


class Victim(Neighbour):
    """The same solver in a worker of its own."""

    name = "victim"


def stops_the_certifier(targets, scores):
    """Stop the process twice: the host continues it each time."""
    mark = Path(os.environ["STOPPED_MARK"])
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGSTOP)
        os.kill(os.getpid(), signal.SIGSTOP)
    return 1.0


@hookimpl
def harness_solvers():
    return [Neighbour, Victim]


@hookimpl
def harness_metrics():
    return {"stops-the-certifier": Metric(stops_the_certifier, "high")}
