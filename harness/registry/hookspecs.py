"""The hooks of the harness: everything a plugin can add, in one file.

A plugin is a module with functions of these names, marked with ``harness.hookimpl``, discovered through an
entry point in the group ``harness`` or given as ``--plugin-path my_solver.py``. Registration hooks
return what they add and must be cheap: import heavy libraries inside the solver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    import click

    from harness.datasets.dataset import DataSource
    from harness.kernels.functions import Kernel
    from harness.problems.problem import Problem
    from harness.registry.executor import Executor
    from harness.registry.metric import Metric
    from harness.solver.protocol import Solver

GROUP = "harness"
hookspec = pluggy.HookspecMarker(GROUP)
hookimpl = pluggy.HookimplMarker(GROUP)
FORMATS = {
    "table": "What the terminal shows: a table for each data set, the best in bold.",
    "json": "Every record with all its fields, a list of objects.",
    "csv": "Every record, a line each; nested fields are JSON.",
    "markdown": "The table, for pages and issues.",
    "latex": "The table, for papers: booktabs, with BibTeX entries of the solvers.",
    "parquet": "Every record, for data frames; a binary file.",
}
"""The report formats of the host, and what each is: a plugin's has another name."""
OBSERVERS = ("harness_run_started", "harness_run_finished")


@hookspec
def harness_solvers() -> Iterable[type[Solver]]:
    """Return solver classes; the first one should carry the plugin's name."""
    return ()


@hookspec
def harness_datasets() -> Iterable[type[DataSource]]:
    """Return data source classes."""
    return ()


@hookspec
def harness_kernels() -> Iterable[type[Kernel]]:
    """Return kernel classes."""
    return ()


@hookspec
def harness_formulations() -> Iterable[type[Problem]]:
    """Return formulations: what solvers solve, each with its parameters, feasible set, certificate, laws and zoo."""
    return ()


@hookspec
def harness_metrics() -> Mapping[str, Metric | Callable[[Any, Any], float]]:
    """Return test metrics by name: each takes (targets, scores f(x)), both (n,), and returns a number.

    ``harness.Metric(log_loss, better="low", low=0.0)`` says what the numbers mean. A plain function ranks nobody.
    """
    return {}


@hookspec
def harness_report_formats() -> Mapping[str, Callable[..., str]]:
    """Return output formats by name: each turns the records of a comparison, a list of dicts, into text.

    The name is also the suffix of files that mean it. A renderer with a parameter ``command`` receives the command line
    that made the comparison, or an empty string. `harness.report.table.report_table` gives the table of the terminal.
    """
    return {}


@hookspec
def harness_commands() -> Iterable[click.Command]:
    """Return click commands or groups: each becomes a sub-command of ``harness`` under its own name.

    Only plugins whose module has the name of this function in its text are imported for the help.
    """
    return ()


@hookspec
def harness_executors() -> Mapping[str, Callable[..., Executor]]:
    """Return executors by the scheme of their URL: each function makes one, which is closed after the comparison.

    For ``mpi://PLACE?slots=8`` the function of ``mpi`` is called with ``("PLACE", slots="8")``. An engine with the interface of
    `concurrent.futures` is one line: ``{"mpi": lambda place, slots="1": harness.Executor(MPIPoolExecutor(), int(slots))}``. What
    is wrong with the place is a `harness.UsageError`, an engine that is not installed an ``ImportError``.
    """
    return {}


@hookspec
def harness_run_started(spec: Mapping[str, Any]) -> None:
    """Observe a run that starts; ``spec`` has its fields. Observers cannot change it."""


@hookspec
def harness_run_finished(record: Mapping[str, Any]) -> None:
    """Observe a finished run's record, failed ones included. Observers cannot change it."""
