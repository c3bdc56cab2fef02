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
_ENDS = 2  # deaths of the process after which the remaining checks are skipped


def made_apart(
    suite: type[Checks], names: Sequence[str], target: str, failures: Path
) -> Iterator[tuple[str, list[Result]]]:
    """Run checks in a forked process, one after the other; yield the name of each with its results.

    failures : the folder for the files of failing problems
    """
    remaining, ended = list(names), 0
    context = multiprocessing.get_context("fork")
    while remaining and ended < _ENDS:
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=_serve, args=(suite, remaining, target, failures, sender), daemon=True)
        process.start()
        sender.close()
        results: list[Result] = []
        while remaining:
            limit = getattr(suite, remaining[0]).seconds + _GRACE
            try:
                if not receiver.poll(limit):
                    process.kill()
                    reason = f"killed after {limit:g} s: it neither yielded nor ended."
                    break
                message = receiver.recv()
            except EOFError:
                process.join()
                reason = f"the plugin ended the process of its checks with exit code {process.exitcode}."
                break
            if isinstance(message, Result):
                results.append(message)
            elif message == "next":
                yield remaining.pop(0), results
                results = []
        process.join()
        if remaining:
            yield remaining[0], [*results, Result(remaining.pop(0), "", "failed", reason)]
            ended += 1
    for name in remaining:
        yield name, [Result(name, "", "skipped", f"skipped after {_ENDS} checks that ended their process")]


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


def _serve(suite: type[Checks], names: Sequence[str], target: str, failures: Path, sender: Any) -> None:
    """Run the checks in the child, with standard output sent to standard error and a message for each compilation."""
    os.dup2(2, 1)
    compiler().on_change = lambda _: sender.send("compiles")
    for name in names:
        first = True
        cases: dict[str, Case] = {str(case): case for case in suite.cases_of(name) if case is not None}
        for result in suite.each(name):
            message = replace(result, error=None)
            if result.status == "failed" and first and result.case in cases and issubclass(suite, Suite):
                first = False
                case = failing.smallest(suite, result, cases[result.case])
                message = replace(message, file=str(failing.write(failures, target, suite, name, case)))
            sender.send(message)
        sender.send("next")
    sender.close()
    os._exit(0)
