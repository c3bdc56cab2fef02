"""Start the processes of the dashboard: git, commands of the harness, and asv. No other module starts processes."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from harness import UsageError

if TYPE_CHECKING:
    from harness_dashboard.configuration import Configuration

_EXIT_SECONDS = 10.0  # [s] time for asv to end its benchmarks after Ctrl-C and after SIGTERM


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder and return what it prints.

    Raises
    ------
    UsageError : git is not installed, or it failed; the message has its last line of output.
    """
    return _output(["git", "-C", str(folder), *arguments], f"git {arguments[0]} failed in {folder}")


def harness(*arguments: str) -> str:
    """Run a command of the harness and return what it prints.

    Raises
    ------
    UsageError : the command failed; the message has its last line of output.
    """
    return _output([sys.executable, "-P", "-m", "harness", *arguments], f"harness {arguments[0]} failed")


def _output(command: list[str], failed: str) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    except OSError as error:
        raise UsageError(f"git cannot be run ({error.strerror}); the dashboard needs it: install git.") from None
    if done.returncode:
        raise UsageError(f"{failed}: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
    return done.stdout


@contextlib.contextmanager
def _exit_at_sigterm() -> Iterator[None]:
    """Let SIGTERM raise `SystemExit`, so that child processes can be ended first."""

    def leave(number: int, _frame: object) -> NoReturn:
        signal.signal(number, signal.SIG_IGN)
        sys.exit(128 + number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def asv(task: str, configuration: Configuration, variables: Mapping[str, str] | None = None, **settings: Any) -> Any:
    """Run a task of `inside_asv` in asv's process and return its result.

    settings : settings of the task, JSON data; ``changed`` has the changed settings of asv's configuration
    variables : additional environment variables of the process

    Raises
    ------
    UsageError : the task failed; the message has asv's reason.
    KeyboardInterrupt : asv was interrupted.
    SystemExit : SIGTERM ended this process, and with it asv and its benchmarks.
    """
    request = json.dumps({"path": str(configuration.path), **settings})
    environment = {**os.environ, **(variables or {}), "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    # -P, as the folder may be a checkout with other code than that of this plugin
    command = [sys.executable, "-P", "-c", "from harness_dashboard.inside_asv import main; main()", task]
    with (
        _exit_at_sigterm(),
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=configuration.folder, env=environment
        ) as process,
    ):
        try:
            text = process.communicate(request)[0]
        except BaseException as error:
            steps = (process.terminate, process.kill)
            for step in (process.poll, *steps) if isinstance(error, KeyboardInterrupt) else steps:
                step()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_EXIT_SECONDS)
            raise
    try:
        answer = json.loads(text)
    except ValueError:
        raise UsageError(
            f"asv ended with exit code {process.returncode} and no result; see its output above."
        ) from None
    if "error" in answer:
        raise UsageError(answer["error"])
    if answer.get("interrupted"):
        raise KeyboardInterrupt
    return answer["result"]
