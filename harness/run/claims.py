"""Who measures a run: drivers that share a store carry each run out once.

A claim is a row of the store's table ``claims``, written before the run starts and deleted with the commit of its
record. A driver that died leaves its claims behind: another on the same machine sees that its process is gone; one on
another machine sees that the claim has not been renewed for some minutes.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sqlite3
import uuid
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from harness.machine import now, started

RENEWAL_SECONDS = 30.0
LAPSE_SECONDS = 300.0
"""So long a claim of another machine stands without being renewed, by the clock of the driver that waits for it."""

TABLE = (
    "CREATE TABLE IF NOT EXISTS claims (key TEXT PRIMARY KEY, driver TEXT NOT NULL, pid INTEGER NOT NULL, "
    "started INTEGER NOT NULL, place TEXT NOT NULL, host TEXT NOT NULL, claimed_at TEXT NOT NULL, "
    "renewals INTEGER NOT NULL DEFAULT 0)"
)
_live: set[str] = set()  # of this process's own drivers


@dataclass(frozen=True)
class Driver:
    """A session that carries out runs.

    name : its own; a process may have several one after another
    started : when its process started, in clock ticks since the machine's start
    place : the start of the machine and the process namespace that ``pid`` is a number of
    """

    name: str
    pid: int
    started: int
    place: str
    host: str

    def __str__(self) -> str:
        return f"pid {self.pid}" if self.place == _place() else f"pid {self.pid} on {self.host}"

    def dead(self) -> bool | None:
        """Return whether it cannot go on; None if it is of another machine."""
        if self.place != _place():
            return None
        if self.pid == os.getpid():
            return self.name not in _live
        return started(self.pid) != self.started

    def end(self) -> None:
        """Say that this process carries out no more runs as this driver."""
        _live.discard(self.name)


def this_driver() -> Driver:
    """Return a new driver of this process; it lives until :meth:`Driver.end`."""
    pid = os.getpid()
    driver = Driver(uuid.uuid4().hex, pid, started(pid) or 0, _place(), os.uname().nodename)
    _live.add(driver.name)
    return driver


class Claims:
    """The claims of an open store, as one connection sees them; all methods belong into a transaction of it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._run = connection.execute
        self._renewed: dict[
            str, tuple[tuple[str, int], float]
        ] = {}  # key -> what was seen of its claim, and since when

    def take(self, key: str, driver: Driver) -> Driver | None:
        """Claim a run, in the place of a driver that died if need be; return who else has claimed it."""
        columns = "driver, pid, started, place, host"
        found = self._run(f"SELECT {columns}, renewals FROM claims WHERE key = ?", (key,)).fetchone()
        if found is not None:
            *who, renewals = found
            holder = Driver(*who)
            dead = holder.dead()
            if not (self._lapsed(key, holder.name, renewals) if dead is None else dead):
                return holder
        values = (key, driver.name, driver.pid, driver.started, driver.place, driver.host, now()["measured_at"])
        self._run(f"INSERT OR REPLACE INTO claims (key, {columns}, claimed_at) VALUES (?, ?, ?, ?, ?, ?, ?)", values)
        return None

    def living(self) -> list[Driver]:
        """Return the drivers with claims that may go on; of another machine's one cannot say, so they are among them."""
        found = self._run("SELECT DISTINCT driver, pid, started, place, host FROM claims").fetchall()
        return [driver for driver in (Driver(*who) for who in found) if not driver.dead()]

    def _lapsed(self, key: str, name: str, renewals: int) -> bool:
        """Return whether a claim was seen unchanged for long enough. Clocks of two machines are never compared."""
        seen, since = self._renewed.get(key, (None, 0.0))
        if seen != (name, renewals):
            self._renewed[key] = (name, renewals), monotonic()
            return False
        return monotonic() - since > LAPSE_SECONDS

    def renew(self, driver: Driver) -> None:
        """Say that a driver goes on."""
        self._run("UPDATE claims SET renewals = renewals + 1 WHERE driver = ?", (driver.name,))

    def release(self, driver: Driver, key: str | None = None) -> None:
        """Give back a driver's claim of a run, or all of its claims."""
        one = "" if key is None else " AND key = ?"
        self._run(f"DELETE FROM claims WHERE driver = ?{one}", (driver.name, *([] if key is None else [key])))


@functools.cache
def _place() -> str:
    with contextlib.suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    return os.uname().nodename
