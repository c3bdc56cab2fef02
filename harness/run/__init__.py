"""Carrying out runs: six kinds of process, the messages between them, and what is kept.

======================  ========================================================================================
driver                  The command, or the caller's own process. Plans a study (`plan.py`), reuses what the store
(`driver.py`)           holds, and has a runner do the rest. It alone writes the store (`store.py`), a row for each run
                        (`record.py`) as it ends. The runner of this machine's processes has, for each job, one worker
                        for each solver and one certifier (`pool.py`); that of an executor's nodes is `node_runner.py`.
                        Models that have no dual are certified with the best dual value that is known of their
                        problem (`dual_bounds.py`); their runs come last in a block.
template                Started, or forked from the command, before the driver reads its options: imports what worker
(`host_process.py`)     and certifier need, and no plugin. They are forked from it; where it fails, or another interpreter
                        is needed, each is started.
worker                  Imports plugins and numba, reads the data without test targets, and forks one child for each
(`worker.py`,           run. It limits the child from outside, ends all that it started, empties its folder
`watch.py`)             (`descendants.py`), and sends the outcome. It knows the state of each warm-up (`warm_up.py`).
child (`child.py`)      Warms the solver up on a few points, states the problem (`problem_factory.py`), and drives the
                        solver. It sends each trace point as it is taken. What it says are claims.
certifier               Reads the data itself, never runs the solver, and certifies and scores models: numbers in
(`certifier.py`)        `Model`, packed by the child and opened here alone.
node (`node.py`)        With an executor (`executors.py`): the engine's process on another machine. It has a
                        pool of its own. The driver's side is `node_runner.py`.
target server           Where a formulation queries targets: in the worker, with the ledger that the record goes by.
(`target_server.py`)    The child has a client and no targets.
======================  ========================================================================================

Messages (`messages.py`), each typed, over a socket (`channel.py`); a child's begin with a secret of its run::

    driver --Prepare--> worker, certifier --Prepared--> driver (at once, before the first run)
    driver --Run--> worker --(fork)--> child
    child --Compiling, Warm, PhaseBegan, Point, FinishedCell, RunResult--> worker
    child --TargetRequest--> worker --TargetReply--> child
    worker --Busy, RunResult--> driver                         (Busy: while a run goes on)
    driver --Certify--> certifier --Certified--> driver        (while the child is ended)

How long each may take is in `allowed.py`. Who does not send its next message in time is killed, and the run is a row.
"""
