"""Virtual environments for solvers whose libraries the host's own has not, or has in versions that exclude theirs.

An environment holds what its requirements need beside the host's packages, no more: the host's import paths come behind
its own, for pip too, which leaves out what the host has, and for the workers. What it has wins. A solver whose
requirements the host's packages meet runs in the host's environment, and is measured there as it always was.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib.util
import json
import os
import site
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import harness
from harness.registry.entries import OWN
from harness.run.descendants import delete
from harness.support.errors import UsageError
from harness.support.files import user_cache, writable_folder, write_whole

if TYPE_CHECKING:
    from packaging.requirements import Requirement

_WHOLE = "requires.json"  # written last: a folder without it is what a killed installation left
_WORKER_IMPORTS = "import harness.run.worker, harness.run.child, numba"  # beside those of its plugin
_ERROR_LINES = 3  # lines of a failed command that are shown
_NO_INDEX = "after connection broken by"  # so pip says of an index that does not answer


def root() -> Path:
    """Return the folder of the environments."""
    return user_cache("HARNESS_CACHE").absolute() / "environments"


def installed() -> dict[str, tuple[str, ...]]:
    """Return the names of the environments' folders, each with what it was made for; empty of one that is not whole."""
    files = {folder.name: folder / _WHOLE for folder in sorted(root().glob("*")) if folder.is_dir()}
    return {name: tuple(json.loads(file.read_text())) if file.is_file() else () for name, file in files.items()}


def lacking(requires: Sequence[str], path: Sequence[str] | None = None) -> list[str]:
    """Return the requirements that no package on the import ``path`` meets; None: that of this process, the host's."""
    return [text for text in requires if not _is_met(_requirement(text), sys.path if path is None else path)]


def _requirement(text: str) -> Requirement:
    """Return a parsed requirement; most comparisons have none, and do without the import."""
    from packaging.requirements import Requirement

    return Requirement(text)


def _is_met(requirement: Requirement, path: Sequence[str]) -> bool:
    if requirement.marker is not None and not requirement.marker.evaluate():
        return True
    version = _version(requirement.name, path)
    return version is not None and requirement.specifier.contains(version, prereleases=True)


def _version(name: str, path: Sequence[str]) -> str | None:
    """Return the version of a package that is imported from ``path``, the first one there; None if there is none."""
    return next((package.version for package in metadata.distributions(name=name, path=list(path))), None)


def environment_of(requires: Sequence[str]) -> Environment | None:
    """Return the environment, made or not, that workers of these requirements run in; None: the host's."""
    if not lacking(requires):
        return None
    texts = sorted(str(_requirement(text)) for text in requires)
    content = json.dumps([texts, sys.version_info[:2], sys.prefix, harness.__version__])
    sha256 = hashlib.sha256(content.encode()).hexdigest()
    return Environment(tuple(requires), root() / f"{_requirement(requires[0]).name}-{sha256[:12]}")


def missing(solver: str, requires: Sequence[str]) -> str:
    """Return why a solver cannot run, and what to do; empty where the host or an environment has what it requires."""
    environment = environment_of(requires)
    fault = "" if environment is None else environment.fault()
    return fault and f"{solver} needs {', '.join(requires)}; {fault}: `harness peers install {solver}` makes one."


def own_versions(requires: Sequence[str]) -> dict[str, str]:
    """Return the versions of what workers have for these requirements: of what is required, and of all in their environment."""
    if not requires:
        return {}
    from packaging.utils import canonicalize_name

    environment = environment_of(requires)
    path, folder = (sys.path, []) if environment is None else (environment.path, [str(environment.packages)])
    names = {_requirement(text).name for text in requires}
    names |= {package.metadata["Name"] for package in metadata.distributions(path=folder)}
    versions = {str(canonicalize_name(name)): _version(name, path) for name in names}
    return {name: version for name, version in sorted(versions.items()) if version is not None}


@dataclass(frozen=True)
class Environment:
    """A virtual environment for a set of requirements, in a folder that they name: made or not."""

    requires: tuple[str, ...]
    folder: Path

    @property
    def python(self) -> str:
        """Its interpreter."""
        return str(self.folder / "bin" / "python")

    @property
    def packages(self) -> Path:
        """The folder of its packages."""
        return self.folder / f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"

    @property
    def path(self) -> list[str]:
        """Where its processes import from: its own packages, then whatever this process does."""
        return [str(self.packages), *(path for path in sys.path if path)]

    def fault(self) -> str:
        """Return why it cannot be used; empty if it can."""
        if not (self.folder / _WHOLE).is_file():
            return "it has no environment yet"
        lost = [] if Path(self.python).exists() else ["its interpreter"]
        lost += lacking(self.requires, self.path)
        return f"its environment {self.folder} has lost {', '.join(lost)}" if lost else ""

    def install(self) -> None:
        """Make it, where it cannot be used yet: whole, or not at all.

        Raises
        ------
        UsageError : the cache folder cannot be written, or a command failed; its own words are in the sentence.
        """
        with (writable_folder(root()) / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # one at a time
            if not self.fault():
                return  # another process made it meanwhile
            with contextlib.ExitStack() as unfinished:
                delete(self.folder)
                unfinished.callback(delete, self.folder)
                self._make(lock.fileno())
                unfinished.pop_all()

    def remove(self) -> bool:
        """Take it away; return whether anything of it was there."""
        there = self.folder.exists()
        (self.folder / _WHOLE).unlink(missing_ok=True)  # first: what is half there is no environment
        delete(self.folder)
        return there

    def _make(self, lock: int) -> None:
        has_pip = importlib.util.find_spec("pip") is not None  # its import path serves
        venv = [sys.executable, "-P", "-m", "venv", *(["--without-pip"] if has_pip else []), str(self.folder)]
        self._call(venv, lock, "no virtual environment could be made")
        # of packages that are installed to be edited the import paths say nothing: their .pth files do
        hosts = [folder for folder in (*site.getsitepackages(), site.getusersitepackages()) if folder in sys.path]
        lines = [f"import site; site.addsitedir({folder!r})\n" for folder in hosts]
        write_whole(self.packages / "harness-host.pth", "".join(lines).encode())
        names = ", ".join(self.requires)
        # the requirements of the harness too, so that it runs beside them
        needs = {text for package in metadata.distributions(name=OWN) for text in package.requires or ()}
        ours = sorted(text for text in needs if "extra ==" not in text)
        pip = [self.python, "-P", "-m", "pip", "install", "--no-input"]
        self._call([*pip, *self.requires, *ours], lock, f"{names} could not be installed beside the harness")
        self._call([self.python, "-P", "-c", _WORKER_IMPORTS], lock, f"the harness does not run beside {names}")
        if lost := lacking(self.requires, self.path):
            raise UsageError(f"{', '.join(lost)} is not met by what was installed for it: is another package meant?")
        write_whole(self.folder / _WHOLE, json.dumps(self.requires).encode())

    def _call(self, command: Sequence[str], lock: int, failed: str) -> None:
        """Run a command, which holds the lock for as long as it lives; UsageError with its last lines where it fails."""
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
            stdin=subprocess.DEVNULL, pass_fds=(lock,), env=os.environ | {"PYTHONPATH": os.pathsep.join(self.path)},
        )  # fmt: skip
        if not done.returncode:
            return
        lines = [line.strip() for line in done.stdout.splitlines() if line.strip()] or [f"exit code {done.returncode}"]
        errors = [line[len("error: ") :] for line in lines if line.lower().startswith("error: ")]
        reason = "; ".join(errors[:_ERROR_LINES] or lines[-_ERROR_LINES:])
        if _NO_INDEX in done.stdout:
            reason += "; no package index could be reached: go online, or name a folder of wheels by PIP_FIND_LINKS"
        raise UsageError(f"{failed}: {reason.rstrip('.')}.")
