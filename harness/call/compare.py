"""The call itself: from keywords and objects to settings, through the same runner as the command, to a result."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from harness.call import request, study_file
from harness.call.objects import Objects
from harness.call.result import Result, command_of
from harness.call.settings import IN_PYTHON, in_python
from harness.call.study_file import StudyFile
from harness.registry.entries import check_not_in_plugin
from harness.report.progress import reporter
from harness.run import host_process
from harness.run.dual_bounds import with_suboptimality
from harness.support.errors import HarnessError, UsageError


@contextlib.contextmanager
def _named_as_arguments() -> Iterator[None]:
    """Context in which an error names the arguments of Python, not the options of the command."""
    try:
        yield
    except HarnessError as error:
        error.args = (in_python(str(error)), *error.args[1:])
        raise


@_named_as_arguments()
def compare(
    plugins: Any = None,
    datasets: Any = None,
    *,
    study: str | Path | None = None,
    plugin_path: str | Path | Iterable[str | Path] = (),
    store: str | Path | None = None,
    fresh: bool = False,
    quiet: bool = False,
    yes: bool = False,
    **options: Any,
) -> Result:
    """Run solvers on data sets and return what it cost: what ``harness compare`` does, with objects where it takes names.

    Every run has a process of its own and is stored at once; the same call again reuses it.

    Parameters
    ----------
    plugins : solvers: a selection such as ``"lasvm[epochs=[1,2]],fw"``, a :class:`Solver` class or instance, or a list of
        these. The file that defines a class is imported again, so a script calls this under ``if __name__ == "__main__":``
    datasets : names and paths as on the command line, what :func:`data` returns, ``(X, y)``, ``(X, y, X_test, y_test)``, a
        pandas frame, a :class:`Dataset`, a list of these, or a dict of these by name. None: digits and breast-cancer
    study : a study file, whose options count where none is given here
    plugin_path : files of plugins that are not installed
    store : the result store; None: the user's own
    fresh : measure again what is in the store
    quiet : no progress
    yes : allow more than a million runs
    options : those of the command, by name: ``C=[1, 10]``, ``gamma="scale"``, ``target_gap=1e-3``, ``time_limit="5m"``,
        ``repeat=3``, ``path={"C": [1, 10]}``, ``formulation=harness.CSVC`` or ``{"c-svc": {"C": 10}}``, ``kernel=RBF(gamma=0.1)``

    Raises
    ------
    UsageError, DataError : what the command refuses, in the same words.
    NotKept : the results could not be stored; the error has them in ``records``.
    KeyboardInterrupt : passed on; what was measured is in the store, and the same call goes on from there.
    """
    for name in options:
        if name in IN_PYTHON:
            raise UsageError(f"harness.compare: {name} is an option of the command; in Python use {IN_PYTHON[name]}.")
    check_not_in_plugin("harness.compare")
    if study is None and not options.get("executor"):  # a study sets the threads, an executor has processes elsewhere
        host_process.begin(options.get("threads", 1))
    paths = [str(path) for path in ([plugin_path] if isinstance(plugin_path, str | Path) else plugin_path)]
    studies = [study_file.parsed(study)] if study is not None else []
    files = [*(path for file in studies for path in file.plugin_paths), *paths]
    objects = Objects(request.loaded(files, allow_broken=True))
    settings = objects.resolve({"plugins": plugins, "datasets": datasets, "plugin_path": paths, **options})
    sources = [*studies, StudyFile("harness.compare", Path.cwd(), settings)]
    path = Path(store) if store else None
    planned = request.build_study(sources, objects.registry, fresh=fresh, many=yes, store=path)
    records = request.run_study(planned, objects.registry, reporter(quiet=quiet, spelled=in_python), quiet=quiet)
    further = {"study": study and str(study), "store": store and str(store), "fresh": fresh, "yes": yes}
    command = command_of({**settings, **further})
    return Result(tuple(with_suboptimality(records)), command, planned.sha256, objects.registry)
