"""Ways of a solver to have labels that it did not query, or to have queried others than it says.

All of them run in the isolated process of a measured run; what becomes of each is in the tests beside this folder.
"""

import sys
from dataclasses import dataclass

import numpy as np
from harness_active.pool_svc import PoolSVC

from harness import Iterate, Solver, hookimpl, parameter
from harness.registry.discovery import shared_registry
from harness.run.messages import TargetReply, TargetRequest

WARM_UP_POINTS = 40
STASH = []  # what was read beside the problem
BEFORE, AT_END, MIDWAY = {}, {}, {}  # functions by way


# -- a run -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LabelCheat(Solver):
    """Queries three labels at a time in an order drawn at random; its model is a pair of opposite labels."""

    name = "label-cheats"
    solves = (PoolSVC,)
    exact = False
    way: str = parameter("", "of cheating; honest, or none, is none")

    def iterates(self, problem, rng):
        order, most = rng.permutation(problem.n), problem.queries_left
        measured = problem.n > WARM_UP_POINTS
        if self.way in BEFORE and measured:
            BEFORE[self.way](problem)
        for count in [*range(3, most, 3), most]:
            problem.query(order[len(problem.queried) : count])
            last = Iterate(pair(problem), done=count == most)
            if self.way in MIDWAY and measured and count == 30:
                MIDWAY[self.way](problem, last)
            if self.way in AT_END and measured and last.done:
                AT_END[self.way](problem, last)
            yield last


def pair(problem):
    """Return the coefficients of a model that rests on one label of each class, where both were queried."""
    coef, labels = np.zeros(problem.n), problem.targets[problem.queried]
    if len(np.unique(labels)) == 2:
        coef[problem.queried[[np.argmax(labels), np.argmin(labels)]]] = [0.5, -0.5]
    return coef


def unknown(problem):
    return np.flatnonzero(np.isnan(problem.targets))


def unqueried(problem, last):
    """Has coefficients where it queried no label."""
    last.dual_coef[unknown(problem)[:2]] = [0.25, -0.25]


def lowers_count(problem, last):
    problem._ledger.count = 1


def lowers_count_midway(problem, last):
    """Says less for a while, for a better curve over labels."""
    problem._ledger.count -= 20


def raises_it_again(problem, last):
    problem._ledger.count += 20


def answers_itself(problem):
    """Puts answers of its own in the place of the host's."""
    vars(problem)["_answer"] = lambda indices: np.where(indices % 2, 1.0, -1.0)


def forges_reply(problem):
    """Queries, and receives the opposite of what is replied."""
    client = problem._answer
    true = client._receive

    def receive():
        reply = true()
        return TargetReply(-reply.targets)

    client._receive = receive


def emitter():
    """Return the function that sends messages from this process, found on the stack."""
    frame = sys._getframe()
    while "emit" not in frame.f_locals:
        frame = frame.f_back
    return frame.f_locals["emit"]


def querying(name, indices):
    """A way that queries labels behind the problem's back, and receives the reply."""

    def query(problem):
        emitter()(TargetRequest(indices))
        problem._answer._receive()

    BEFORE[name] = query


querying("out-of-range", np.array([200]))
querying("no-points", np.array([0.5]))


def uncounted(problem):
    """Queries a label behind the problem's back and enters it without counting it."""
    emitter()(TargetRequest(np.array([7])))
    problem._ledger._known[7] = problem._answer._receive().targets[0]


def floods(problem):
    """Queries and queries, and reads no reply."""
    for _ in range(5000):
        emitter()(TargetRequest(np.array([200])))


def reads_source(problem):
    """Reads the data from where the harness did."""
    source = shared_registry().source_class("checkerboard")(n=200, n_test=50)
    STASH.append(source.load().y_train.astype(int).tolist())


def tells_what_it_read(problem, last):
    last.info = {"found": list(STASH)}


for function in (answers_itself, forges_reply, uncounted, floods, reads_source):
    BEFORE[function.__name__.replace("_", "-")] = function
AT_END |= {"unqueried": unqueried, "lowers-count": lowers_count, "lowers-count-midway": raises_it_again}
AT_END |= {"reads-source": tells_what_it_read}
MIDWAY |= {"unqueried-midway": unqueried, "lowers-count-midway": lowers_count_midway}


@hookimpl
def harness_solvers():
    return [LabelCheat]
