"""Run checks in a child process, so that code that hangs or ends the process becomes a failed result."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.testing import failing
from harness.testing.checks import Result
from harness.testing.running import compiler
from harness.testing.suite import Suite

if TYPE_CHECKING:
    from harness.problems.cases import Case
    from harness.testing.checks import Checks

_GRACE = 5.0  # seconds after the limit of a check before its process is killed
_NEXT, _COMPILES = "next", "compiles"  # messages: the check is complete; a compilation has begun or ended


def made_apart(
    suite: type[Checks], names: Sequence[str], target: str, failures: Path
) -> Iterator[tuple[str, list[Result]]]:
    """Run checks in a forked process, one after the other; yield the name of each with its results.

    A problem on which the process ends or hangs is a failure of that check, and left out of the following ones.

    failures : the folder for the files of failing problems
    """
    remaining = list(names)
    context = multiprocessing.get_context("fork")
    results: list[Result] = []  # those of the check that runs
    while remaining:
        receiver, sender = context.Pipe(duplex=False)
        made = [result.case for result in results]
        process = context.Process(target=_serve, args=(suite, remaining, made, target, failures, sender), daemon=True)
        process.start()
        sender.close()
        case = ""  # the problem that the check runs on
        while remaining:
            limit = getattr(suite, remaining[0]).seconds + _GRACE
            try:
                if not receiver.poll(limit):
                    process.kill()
                    how = f"killed after {limit:g} s, as it neither yielded nor ended."
                    break
                message = receiver.recv()
            except EOFError:
                process.join()
                how = f"stopped, as the plugin ended the process with exit code {process.exitcode}."
                break
            if isinstance(message, Result):
                results.append(message)
            elif message == _NEXT:
                yield remaining.pop(0), results
                results = []
            elif message != _COMPILES:
                (case,) = message
        process.join()
        if remaining:
            results.append(suite.stopped(remaining[0], case, how))
            if not case:
                yield remaining.pop(0), results
                results = []


def imports_of(file: str, packages: Sequence[str]) -> list[str]:
    """Return the ``packages`` that a new interpreter imports when it imports a plugin's file."""
    code = (
        "import os, sys; from harness.registry.plugin_files import module_from, plugin_file; before = set(sys.modules)\n"
        "out = open(os.dup(1), 'w'); os.dup2(2, 1)\n"  # the import may print
        f"module_from(plugin_file({file!r}))\n"
        f"print(*sorted(set({tuple(packages)!r}) & (set(sys.modules) - before)), file=out)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    process = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    return process.stdout.split()


def _serve(
    suite: type[Checks], names: Sequence[str], made: Sequence[str], target: str, failures: Path, sender: Any
) -> None:
    """Run the checks in the child, with standard output sent to standard error and a message for each compilation.

    made : names of the problems that the first check has been made on
    """
    os.dup2(2, 1)
    compiler().on_change = lambda _: sender.send(_COMPILES)
    for name in names:
        first = True
        cases: dict[str, Case] = {str(case): case for case in suite.cases_of(name) if case is not None}
        for result in suite.each(name, made, lambda label: sender.send((label,))):
            message = replace(result, error=None)
            if result.status == "failed" and first and result.case in cases and issubclass(suite, Suite):
                first = False
                case = failing.smallest(suite, result, cases[result.case])
                message = replace(message, file=str(failing.write(failures, target, suite, name, case)))
            sender.send(message)
        sender.send(_NEXT)
        made = []
    sender.close()
    os._exit(0)
