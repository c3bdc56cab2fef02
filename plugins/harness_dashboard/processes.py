"""The processes that the dashboard starts: git, and asv in its own folder with its own variables. No other module does."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import UsageError

if TYPE_CHECKING:
    from harness_dashboard.configuration import Configuration

_LEAVE = 10.0  # seconds that asv has after Ctrl-C, of which the terminal has told it too


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder and return what it prints.

    Raises
    ------
    UsageError : there is no git, or it failed; the sentence has its last line.
    """
    return _output(["git", "-C", str(folder), *arguments], f"git {arguments[0]} failed in {folder}")


def harness(*arguments: str) -> str:
    """Run a command of the harness and return what it prints.

    Raises
    ------
    UsageError : it failed; the sentence has its last line.
    """
    return _output([sys.executable, "-P", "-m", "harness", *arguments], f"harness {arguments[0]} failed")


def _output(command: list[str], failed: str) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    except OSError as error:
        raise UsageError(f"git cannot be run ({error.strerror}); the dashboard needs it, install git.") from None
    if done.returncode:
        raise UsageError(f"{failed}: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
    return done.stdout


def asv(task: str, configuration: Configuration, variables: Mapping[str, str] | None = None, **settings: Any) -> Any:
    """Let asv carry out a task of `inside_asv` and return its result.

    settings : of the task, JSON data; those of asv's configuration that differ for this call as ``changed``
    variables : of the process's environment, beside those of this one

    Raises
    ------
    UsageError : asv cannot do it, in its words.
    KeyboardInterrupt : passed on.
    """
    request = json.dumps({"path": str(configuration.path), **settings})
    environment = {**os.environ, **(variables or {}), "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    # -P: the folder may be a checkout, whose code is not that of the plugin that runs
    command = [sys.executable, "-P", "-c", "from harness_dashboard.inside_asv import main; main()", task]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=configuration.folder, env=environment
    ) as process:
        try:
            text = process.communicate(request)[0]
        except KeyboardInterrupt:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_LEAVE)
            process.terminate()
            raise
    try:
        answer = json.loads(text)
    except ValueError:
        raise UsageError(f"asv ended with {process.returncode} and no answer; what it said is above.") from None
    if "error" in answer:
        raise UsageError(answer["error"])
    if answer.get("interrupted"):
        raise KeyboardInterrupt
    return answer["result"]
