"""The faults that every tool is given: Python text for a file of its own, the same for all of them."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """One fault.

    work : statements of the function that is measured; ``at_import``: those of the file that holds it
    says : what a result that tells of it has in it, a regular expression; empty: the run ends as any other, and is measured
    way : how the command is used: ``run``, ``pair`` (two at once on the same results), ``kill`` (the driver is killed, and
        the command given again), ``full`` (no space for results), ``damaged`` (a result file is changed, then read)
    wounds : where a result file is damaged: in the middle of each of so many parts, and bytes there
    """

    name: str
    title: str
    work: str = "pass"
    at_import: str = ""
    says: str = ""
    way: str = "run"
    wounds: tuple[int, int] = (1, 64)

    def source(self) -> str:
        """Return the text that defines ``work()``, which also notes that it was called."""
        lines = ["import os, sys, time", self.at_import.strip(), "", "", "def work():", _CALLED]
        return "\n".join([*lines, textwrap.indent(textwrap.dedent(self.work).strip(), "    "), ""])


_CALLED = "    with open(os.environ['ROBUSTNESS_CALLS'], 'a') as calls:\n        calls.write(__name__ + '\\n')"
_ENDED = r"exit|ended|crash|died|kill|terminat|signal"
_LATE = r"time ?(d )?(out|limit)|timeout|still running|killed after"
_DAEMON = """
if os.fork() == 0:
    os.setsid()
    end = time.monotonic() + 90
    while time.monotonic() < end:
        time.sleep(0.05)
        if os.fork():
            os._exit(0)
    os._exit(0)
"""
_POOL = """
from concurrent.futures import ProcessPoolExecutor
global pool
import multiprocessing
pool = ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork"))
list(pool.map(abs, [1, 2]))
"""
_TYPING = """
import numba
from numba.extending import overload
def g(x): return x
@overload(g)
def typed(x):
    while True: time.sleep(0.1)
@numba.njit
def f(x): return g(x)
f(1.0)
"""
_FILES = """
import tempfile
open("left_cwd", "wb").write(b"x" * 1_000_000)
tempfile.mkdtemp(prefix="left_tmp")
"""
_DAMAGED = r"damage|corrupt|cannot be read|invalid|malformed|left out|checksum|decode"
_ESCAPES = r"raise RuntimeError('no luck \x1b]0;title\x07 \x1b[2J')"

GOOD = Fault("good", "A run as it should be")
FAULTS: Sequence[Fault] = (
    Fault("raise", "raises an exception", "raise RuntimeError('no luck')", says="no luck"),
    Fault("exit", "calls `sys.exit(0)`", "sys.exit(0)", says=_ENDED),
    Fault("import-raise", "raises at import", at_import="raise RuntimeError('no luck')", says="no luck"),
    Fault("import-exit", "calls `os._exit(0)` at import", at_import="os._exit(0)", says=_ENDED),
    Fault("import-hang", "hangs at import", at_import="time.sleep(3600)", says=f"{_LATE}|import"),
    Fault("hang", "hangs in the run, limit 3 s", "time.sleep(3600)", says=_LATE),
    Fault("stop", "stops its own process (SIGSTOP)", "os.kill(os.getpid(), 19)", says=_LATE),
    Fault("segfault", "segmentation fault", "import ctypes; ctypes.string_at(0)", says=r"SIGSEGV|[Ss]egmentation|signal 11|-11"),
    Fault("memory", "takes 1.3 GB, limit 1 GB", "x = bytearray(b'x') * 1_300_000_000; time.sleep(0.5)", says="memory|1 GB|1\\.0 GB"),
    Fault("pool", "leaves a process pool open", _POOL),
    Fault("daemon", "leaves a daemon that forks and exits", _DAEMON),
    Fault("typing", "compilation by numba never ends", _TYPING, says=_LATE),
    Fault("message", "raises with a message of 100 MB", "raise RuntimeError('no luck ' * 12_500_000)", says="no luck"),
    Fault("flood", "prints 200 MB", "for _ in range(200):\n    print('x' * 1_000_000)"),
    Fault("files", "leaves files in the working folder and in TMPDIR", _FILES),
    Fault("shm", "leaves a file in /dev/shm", "open(os.environ['ROBUSTNESS_SHM'], 'wb').write(b'x')"),
    Fault("escapes", "has terminal escapes in its message", _ESCAPES, says="no luck"),
    Fault("pair", "two commands at once on the same results", "time.sleep(1)", way="pair"),
    Fault("kill", "the command is killed (SIGKILL), then given again", "time.sleep(1)", way="kill"),
    Fault("full", "no space for results", way="full"),
    Fault("damaged", "a result file is damaged, 64 bytes in its middle", says=_DAMAGED, way="damaged"),
    Fault("scattered", "a result file is damaged, 16 bytes in each eighth of it", says=_DAMAGED, way="damaged", wounds=(8, 16)),
)  # fmt: skip
