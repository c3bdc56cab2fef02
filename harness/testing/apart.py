"""Checks in a process of their own: what does not come back to Python, or takes the process with it, is a result too."""

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

_GRACE = 5.0  # seconds beyond its limit in which a check ends by itself, if it runs Python
_ENDS = 2  # of the process: the other checks would end it too


def made_apart(
    suite: type[Checks], names: Sequence[str], target: str, failures: Path
) -> Iterator[tuple[str, list[Result]]]:
    """Make checks in a forked process, one after the other; yield the name of each with its results.

    failures : the folder of the files of failing problems
    """
    left, ended = list(names), 0
    context = multiprocessing.get_context("fork")
    while left and ended < _ENDS:
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=_serve, args=(suite, left, target, failures, sender), daemon=True)
        process.start()
        sender.close()
        found: list[Result] = []
        while left:
            limit = getattr(suite, left[0]).seconds + _GRACE
            try:
                if not receiver.poll(limit):
                    process.kill()
                    reason = f"did not end within {limit:g} s: a loop that neither yields nor ends; it was killed."
                    break
                said = receiver.recv()
            except EOFError:
                process.join()
                reason = f"the code of the plugin ended the process of its checks, with {process.exitcode}."
                break
            if isinstance(said, Result):
                found.append(said)
            elif said == "next":
                yield left.pop(0), found
                found = []
        process.join()
        if left:
            yield left[0], [*found, Result(left.pop(0), "", "failed", reason)]
            ended += 1
    for name in left:
        yield name, [Result(name, "", "skipped", f"not made: {_ENDS} checks before it ended their process")]


def imports_of(file: str, packages: Sequence[str]) -> list[str]:
    """Return those of the packages that the import of a plugin's file takes in, asked of a fresh interpreter."""
    told = (
        "import os, sys; from harness.registry.plugin_files import module_from, plugin_file; before = set(sys.modules)\n"
        "out = open(os.dup(1), 'w'); os.dup2(2, 1)\n"  # the import may print
        f"module_from(plugin_file({file!r}))\n"
        f"print(*sorted(set({tuple(packages)!r}) & (set(sys.modules) - before)), file=out)"
    )
    surroundings = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", told], env=surroundings, capture_output=True, text=True, check=False)
    return done.stdout.split()


def _serve(suite: type[Checks], names: Sequence[str], target: str, failures: Path, sender: Any) -> None:
    """Make the checks in the child. What the plugin prints goes to standard error; compilation is told, for the clock."""
    os.dup2(2, 1)
    compiler().on_change = lambda _: sender.send("compiles")
    for name in names:
        first = True
        cases: dict[str, Case] = {str(case): case for case in suite.cases_of(name) if case is not None}
        for result in suite.each(name):
            told = replace(result, error=None)
            if result.status == "failed" and first and result.case in cases and issubclass(suite, Suite):
                first = False
                case = failing.smallest(suite, result, cases[result.case])
                told = replace(told, file=str(failing.write(failures, target, suite, name, case)))
            sender.send(told)
        sender.send("next")
    sender.close()
    os._exit(0)
