"""An environment for each commit that needs no network: the commit's own code over the running interpreter's libraries.

asv's other kinds of environments download every dependency. This one is a virtual environment without pip whose
path is: the commit's code as pip installs it (packages, entry points and all), then the site-packages of the
interpreter that runs asv. So every commit is measured with today's libraries, a commit is ready in seconds, and
going back and forth between two commits costs nothing, which interleaved measurements need.

Nothing of a checkout is visible: a folder named in a ``.pth`` file is added without reading the ``.pth`` files in
it, and those are what an editable install is made of.
"""

from __future__ import annotations

import os
import shutil
import site
import sys
from pathlib import Path
from typing import Any

from asv import util
from asv.console import log
from asv.environment import Environment, EnvironmentUnavailable

_KEPT = 8  # installed commits; the longest unused go first
_NOT_INSTALLED = "not-installed"  # a file in the folder of a commit that pip could not install


class Overlay(Environment):
    """asv's environment type ``overlay``; ``build_command`` and ``install_command`` do not apply to it.

    python : version of the running interpreter, ``3.11``; another cannot be had this way

    Raises
    ------
    EnvironmentUnavailable : another version of Python, or requirements in asv's ``matrix``, which would be downloads.
    """

    tool_name = "overlay"

    def __init__(
        self, conf: Any, python: str, requirements: dict[str, str], tagged_env_vars: dict[tuple[str, str], str]
    ) -> None:
        running = f"{sys.version_info[0]}.{sys.version_info[1]}"
        if python != running:
            raise EnvironmentUnavailable(f"overlay environments are of Python {running}, not {python}")
        if requirements:
            raise EnvironmentUnavailable(
                f"overlay environments install nothing; they cannot have {sorted(requirements)}"
            )
        self._python, self._requirements = python, requirements  # asv's __init__ asks for the name they make
        super().__init__(conf, python, requirements, tagged_env_vars)
        # the path of a module must not depend on its commit: numba keys its machine code by it
        self._project_path = Path(self._path) / "current"
        self._commits = Path(self._path) / "commits"

    @classmethod
    def matches(cls, python: str) -> bool:
        """Whether ``python`` is the running interpreter's version."""
        return python == f"{sys.version_info[0]}.{sys.version_info[1]}"

    def check_presence(self) -> bool:
        """Whether the environment is there, works, and is over today's site-packages."""
        try:
            if self._pth().read_text() != self._pth_text():
                return False
            self.run_executable("python", ["-c", "pass"])
        except (OSError, util.ProcessError):
            return False
        return True

    def _setup(self) -> None:
        log.info(f"Creating overlay environment for {self.name}")
        util.check_call([sys.executable, "-m", "venv", "--without-pip", self._path])
        self._commits.mkdir()
        self._pth().write_text(self._pth_text())

    def _pth(self) -> Path:
        version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
        return Path(self._path) / "lib" / version / "site-packages" / "overlay.pth"

    def _pth_text(self) -> str:
        outer = [*site.getsitepackages(), *([site.getusersitepackages()] if site.ENABLE_USER_SITE else [])]
        return "".join(f"{folder}\n" for folder in (self._project_path, *outer))

    def install_project(self, conf: Any, repo: Any, commit_hash: str) -> None:
        """Make ``commit_hash`` the installed commit; one that was installed before is only switched to.

        Of a commit that pip cannot install there is a package that cannot be imported, so that each cell fails with
        the reason; asv would measure nothing at all if the newest commit were such a one.
        """
        folder = self._commits / commit_hash
        if not folder.is_dir() or (folder / _NOT_INSTALLED).exists():
            self._set_installed_commit_hash(None)
            self.checkout_project(repo, commit_hash)
            self._install(Path(self._build_root) / (self._repo_subdir or ""), folder)
        os.utime(folder)
        self._switch_to(folder)
        self._forget_old()
        self._set_commit_hash(commit_hash)
        self._set_installed_commit_hash(commit_hash)

    def _install(self, tree: Path, folder: Path) -> None:
        """Install ``tree`` by the running interpreter's pip and setuptools, without looking for anything elsewhere."""
        command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--no-index"]
        unfinished = folder.with_suffix(".new")
        for old in (unfinished, folder):
            shutil.rmtree(old, ignore_errors=True)
        try:
            util.check_call(
                [*command, "--disable-pip-version-check", "--target", str(unfinished), str(tree)],
                timeout=self._install_timeout,
                cwd=self._path,
                env={**os.environ, "PIP_USER": "false", **self.build_env_vars},
            )
        except util.ProcessError:  # asv has logged what pip said
            shutil.rmtree(unfinished, ignore_errors=True)
            (unfinished / "harness").mkdir(parents=True)
            (unfinished / "harness" / "__init__.py").write_text(
                'raise RuntimeError("pip could not install this commit")\n'
            )
            (unfinished / _NOT_INSTALLED).touch()
        unfinished.rename(folder)

    def _switch_to(self, folder: Path) -> None:
        link = self._project_path.with_suffix(".new")
        link.unlink(missing_ok=True)
        link.symlink_to(folder)
        link.replace(self._project_path)

    def _forget_old(self) -> None:
        newest_last = sorted(self._commits.iterdir(), key=lambda path: path.stat().st_mtime)
        for old in newest_last[:-_KEPT]:
            shutil.rmtree(old, ignore_errors=True)

    def run(self, args: list[str], **kwargs: Any) -> Any:
        """Run the environment's python with ``args``."""
        log.debug(f"Running '{' '.join(args)}' in {self.name}")
        return self.run_executable("python", args, **kwargs)
