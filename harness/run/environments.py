"""Virtual environments for solvers whose libraries the host's own has not, or has in versions that exclude theirs.

An environment holds what its requirements need beside the host's packages, no more: the host's import paths come behind
its own, for pip too, which leaves out what the host has, and for the workers. What it has wins. A solver whose
requirements the host's packages meet runs in the host's environment, and is measured there as it always was.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import json
import os
import shutil
import site
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import harness
from harness.registry.entries import OWN
from harness.run.descendants import delete
from harness.support.errors import UsageError
from harness.support.files import user_cache, writable_folder, write_whole

_WHOLE = "requires.json"  # written last: a folder without it is what a killed installation left
_TRIED = "import harness.run.worker, harness.run.child, numba"  # what a worker needs of the host, beside its plugin
_TOLD_LINES = 3
_UNREACHED = "after connection broken by"  # so pip says of an index that does not answer


def root() -> Path:
    """Return the folder of the environments."""
    return user_cache("HARNESS_CACHE").absolute() / "environments"


def installed() -> dict[str, tuple[str, ...]]:
    """Return the names of the environments' folders, each with what it was made for; empty of one that is not whole."""
    found = {folder.name: folder / _WHOLE for folder in sorted(root().glob("*")) if folder.is_dir()}
    return {name: tuple(json.loads(file.read_text())) if file.is_file() else () for name, file in found.items()}


def lacking(requires: Sequence[str], path: Sequence[str] | None = None) -> list[str]:
    """Return the requirements that no package on the import ``path`` meets; None: that of this process, the host's."""

    def met(asked: Requirement) -> bool:
        have = _version(asked.name, sys.path if path is None else path)
        needless = asked.marker is not None and not asked.marker.evaluate()
        return needless or (have is not None and asked.specifier.contains(have, prereleases=True))

    return [text for text in requires if not met(Requirement(text))]


def _version(name: str, path: Sequence[str]) -> str | None:
    """Return the version of a package that is imported from ``path``, the first one there; None if there is none."""
    return next((each.version for each in metadata.distributions(name=name, path=list(path))), None)


def environment_of(requires: Sequence[str]) -> Environment | None:
    """Return the environment, made or not, that workers of these requirements run in; None: the host's own."""
    if not lacking(requires):
        return None
    asked = sorted(str(Requirement(text)) for text in requires)
    told = json.dumps([asked, sys.version_info[:2], sys.prefix, harness.__version__])
    name = f"{Requirement(requires[0]).name}-{hashlib.sha256(told.encode()).hexdigest()[:12]}"
    return Environment(tuple(requires), root() / name)


def missing(solver: str, requires: Sequence[str]) -> str:
    """Return why a solver cannot run, and what to do; empty where the host or an environment has what it requires."""
    environment = environment_of(requires)
    fault = "" if environment is None else environment.fault()
    return fault and f"{solver} needs {', '.join(requires)}; {fault}: `harness peers install {solver}` makes one."


def own_versions(requires: Sequence[str]) -> dict[str, str]:
    """Return the versions of what workers have for these requirements: of what is required, and of what the host has in others."""
    environment = environment_of(requires)
    path, folder = (sys.path, []) if environment is None else (environment.path, [str(environment.packages)])
    asked = {str(canonicalize_name(Requirement(text).name)) for text in requires}
    names = asked | {str(canonicalize_name(each.metadata["Name"])) for each in metadata.distributions(path=folder)}
    found = {name: version for name in sorted(names) if (version := _version(name, path)) is not None}
    return {name: found[name] for name in found if name in asked or found[name] != _version(name, sys.path)}


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
        base = str(self.folder)
        return Path(sysconfig.get_path("purelib", "venv", {"base": base, "platbase": base}))

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
                return  # somebody else made it meanwhile
            delete(self.folder)
            try:
                self._make(lock.fileno())
            except BaseException:
                delete(self.folder)
                raise

    def remove(self) -> bool:
        """Take it away; return whether anything of it was there."""
        there = self.folder.exists()
        (self.folder / _WHOLE).unlink(missing_ok=True)  # first: what is half there is no environment
        delete(self.folder)
        return there

    def _make(self, lock: int) -> None:
        # the tool that the host's packages came by: uv, where they came without pip and it is on the path. uv heeds
        # neither pip's configuration nor the host's packages, and so installs those that are needed once more
        uv, pip = shutil.which("uv"), importlib.util.find_spec("pip") is not None
        if uv is not None and not pip:
            venv, tool = [uv, "venv", "--python", sys.executable], [uv, "pip", "install", "--python", self.python]
        else:
            venv = [sys.executable, "-P", "-m", "venv", *(["--without-pip"] if pip else [])]
            tool = [self.python, "-P", "-m", "pip", "install", "--no-input"]
        self._call([*venv, str(self.folder)], lock, "no virtual environment could be made")
        # of packages that are installed to be edited the import paths say nothing: their .pth files do
        hosts = [folder for folder in (*site.getsitepackages(), site.getusersitepackages()) if folder in sys.path]
        lines = [f"import site; site.addsitedir({folder!r})\n" for folder in hosts]
        write_whole(self.packages / "harness-host.pth", "".join(lines).encode())
        seen = {"PYTHONPATH": os.pathsep.join(self.path)}
        asked = ", ".join(self.requires)
        of_host = {each for found in metadata.distributions(name=OWN) for each in found.requires or ()}
        ours = sorted(each for each in of_host if "extra ==" not in each)  # so that the harness runs beside them
        self._call([*tool, *self.requires, *ours], lock, f"{asked} could not be installed beside the harness", seen)
        self._call([self.python, "-P", "-c", _TRIED], lock, f"the harness does not run beside {asked}", seen)
        if lost := lacking(self.requires, self.path):
            raise UsageError(f"{', '.join(lost)} is not met by what was installed for it: is another package meant?")
        write_whole(self.folder / _WHOLE, json.dumps(self.requires).encode())

    def _call(self, command: Sequence[str], lock: int, failed: str, variables: Mapping[str, str] | None = None) -> None:
        """Carry a command out, which holds the lock for as long as it lives; a failure is a sentence with its own words."""
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, check=False,
            pass_fds=(lock,), env={**os.environ, **(variables or {})},
        )  # fmt: skip
        if not done.returncode:
            return
        told = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        told = told or [f"exit code {done.returncode}"]
        first = next((place for place, line in enumerate(told) if line.lower().startswith("error")), -_TOLD_LINES)
        said = "; ".join(line.removeprefix("ERROR: ") for line in told[first:][:_TOLD_LINES])
        if any(_UNREACHED in line for line in told):
            said += "; no package index could be reached: go online, or name a folder of wheels by PIP_FIND_LINKS"
        raise UsageError(f"{failed}: {said.rstrip('.')}.")
