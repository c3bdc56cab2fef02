"""What runs in asv's own process, and all that is used of asv's undocumented side. It holds for asv 0.6.6 to 0.6.x.

`main` reads a request from its standard input and writes one answer, both JSON. ``asv.conf.json`` names this module as
``"plugins": [".harness_dashboard.inside_asv"]``, so that asv's own commands find our kinds of environments and pages.
The documented side are asv's files, its configuration, and the plugins that it finds among the subclasses of
``Environment``, ``Repo`` and ``OutputPublisher``. Beyond it:

``get_environments``, ``plugin_manager``, ``MachineCollection`` : as asv's commands use them
``Run.run``, ``Publish.run`` : what asv's command calls; only so can the description of the machine stand in the project
    instead of in the user's home (``_machine_file``). `setup` puts `published` in the place of the second
``Environment`` : ``_python`` and ``_requirements`` before its ``__init__``, which asks for the name they make; ``_path``,
    the folder; ``_setup``, which makes it; ``_set_commit_hash`` and ``_set_installed_commit_hash``, by which asv knows
    what is installed

tests/dashboard/test_asv.py says which of them has changed when a newer asv lacks one.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import site
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from asv import util
from asv.benchmarks import Benchmarks
from asv.commands.publish import Publish
from asv.commands.run import Run
from asv.console import log
from asv.environment import Environment, EnvironmentUnavailable, get_environments
from asv.machine import Machine, MachineCollection
from asv.plugin_manager import plugin_manager
from asv.plugins.regressions import Regressions

import harness
import harness_dashboard
from harness import UsageError
from harness_dashboard import history, publishers  # noqa: F401  asv finds the publishers that are imported
from harness_dashboard.configuration import OURS, load

HOLDS_FOR = "asv>=0.6.6,<0.7"
_KEPT = 8  # installed commits; the longest unused go first
_NOT_INSTALLED = "not-installed"  # a file in the folder of a commit that pip could not install


class Overlay(Environment):
    """asv's environment type ``overlay``: a commit's own code over the running interpreter's libraries, no network.

    asv's other kinds of environments download every dependency. This one is a virtual environment without pip whose
    path is: the commit's code as pip installs it (packages, entry points and all), then the site-packages of the
    interpreter that runs asv. So every commit is measured with today's libraries, a commit is ready in seconds, and
    going back and forth between two commits costs nothing, which interleaved measurements need.

    Nothing of a checkout is visible: a folder named in a ``.pth`` file is added without reading the ``.pth`` files in
    it, and those are what an editable install is made of. ``build_command`` and ``install_command`` do not apply.

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
        self._python, self._requirements = python, requirements
        super().__init__(conf, python, requirements, tagged_env_vars)
        self.folder = Path(self._path)
        # the path of a module must not depend on its commit: numba keys its machine code by it
        self.current = self.folder / "current"
        self.commits = self.folder / "commits"

    @classmethod
    def matches(cls, python: str) -> bool:
        """Whether ``python`` is the running interpreter's version."""
        return python == f"{sys.version_info[0]}.{sys.version_info[1]}"

    def check_presence(self) -> bool:
        """Whether the environment is there, works, and is over today's site-packages."""
        try:
            if self.pth.read_text() != self.pth_text():
                return False
            self.run_executable("python", ["-c", "pass"])
        except (OSError, util.ProcessError):
            return False
        return True

    def _setup(self) -> None:
        log.info(f"Creating overlay environment for {self.name}")
        util.check_call([sys.executable, "-m", "venv", "--without-pip", str(self.folder)])
        self.commits.mkdir()
        self.pth.write_text(self.pth_text())

    @property
    def pth(self) -> Path:
        """The file that makes the path."""
        return self.folder / "lib" / f"python{self.python}" / "site-packages" / "overlay.pth"

    def pth_text(self) -> str:
        """Return the folders of the path; a commit of a plugin's repository has no harness of its own and gets this one."""
        outer = [*site.getsitepackages(), *([site.getusersitepackages()] if site.ENABLE_USER_SITE else [])]
        ours = [str(Path(str(module.__file__)).parents[1]) for module in (harness, harness_dashboard)]
        own = str(self.current / "harness")
        this = f"import os, sys; sys.path += [] if os.path.isdir({own!r}) else {ours!r}"
        return "".join(f"{line}\n" for line in (self.current, this, *outer))

    def install_project(self, conf: Any, repo: Any, commit_hash: str) -> None:
        """Make ``commit_hash`` the installed commit; one that was installed before is only switched to.

        Of a commit that pip cannot install there is a package that cannot be imported, so that each cell fails with
        the reason; asv would measure nothing at all if the newest commit were such a one.
        """
        folder = self.commits / commit_hash
        if not folder.is_dir() or (folder / _NOT_INSTALLED).exists():
            self._set_installed_commit_hash(None)
            log.info(f"installing {commit_hash[:8]}")
            checkout = self.folder / "project"
            repo.checkout(str(checkout), commit_hash)
            self.install(checkout / (conf.repo_subdir or ""), folder, conf.install_timeout)
        os.utime(folder)
        link = self.current.with_suffix(".new")
        link.unlink(missing_ok=True)
        link.symlink_to(folder)
        link.replace(self.current)
        newest_last = sorted(self.commits.iterdir(), key=lambda path: path.stat().st_mtime)
        for old in newest_last[:-_KEPT]:
            shutil.rmtree(old, ignore_errors=True)
        self._set_commit_hash(commit_hash)
        self._set_installed_commit_hash(commit_hash)

    def install(self, tree: Path, folder: Path, timeout: float) -> None:
        """Install ``tree`` by the running interpreter's pip and setuptools, without looking for anything elsewhere."""
        command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--no-index"]
        unfinished = folder.with_suffix(".new")
        for old in (unfinished, folder):
            shutil.rmtree(old, ignore_errors=True)
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        try:
            util.check_call(
                [*command, "--disable-pip-version-check", "--target", str(unfinished), str(tree)],
                timeout=timeout,
                cwd=str(self.folder),
                env={**environment, "PIP_USER": "false", **self.build_env_vars},
            )
        except util.ProcessError:  # asv has logged what pip said
            shutil.rmtree(unfinished, ignore_errors=True)
            (unfinished / "harness").mkdir(parents=True)
            (unfinished / "harness" / "__init__.py").write_text(
                'raise RuntimeError("pip could not install this commit")\n'
            )
            (unfinished / _NOT_INSTALLED).touch()
        unfinished.rename(folder)

    def run(self, args: list[str], **kwargs: Any) -> Any:
        """Run the environment's python with ``args``."""
        log.debug(f"Running '{' '.join(args)}' in {self.name}")
        return self.run_executable("python", args, **kwargs)


# -- tasks -------------------------------------------------------------------------------------------------


def environments(conf: Any) -> list[str]:
    """Return the names of asv's environments, ``overlay-py3.11``."""
    return [environment.name for environment in get_environments(conf, None, verbose=False)]


def measure(conf: Any, *, commits: list[str], machine: str, machine_file: str, **arguments: Any) -> None:
    """Measure commits; asv's description of the machine is written to ``machine_file`` first.

    arguments : of ``Run.run``
    """
    Path(machine_file).parent.mkdir(parents=True, exist_ok=True)
    MachineCollection.save(machine, {**Machine.get_defaults(), "machine": machine}, _path=machine_file)
    Run.run(
        conf, range_spec=commits, machine=machine, _machine_file=machine_file, launch_method=conf.launch_method, **arguments
    )  # fmt: skip
    log.flush()


_PUBLISH = Publish.run  # as asv has it


def setup() -> None:
    """Say where our benchmarks are, and let ``asv publish`` make our site; asv calls this where it imports the plugin."""
    os.environ[history.BENCHMARKS] = str(Path(history.__file__).with_name("benchmarks"))
    Publish.run = staticmethod(published)


def published(conf: Any, range_spec: Any = None, pull: bool = False) -> None:
    """Make the site, without asv's list of regressions; without results of asv it has our pages alone."""
    listed = Path(conf.results_dir, "benchmarks.json")
    if not listed.exists():
        listed.parent.mkdir(parents=True, exist_ok=True)
        util.write_json(str(listed), {}, Benchmarks.api_version)
    Regressions.publish = staticmethod(lambda *_: None)  # steps of medians: our page has what was measured twice
    _PUBLISH(conf, range_spec, pull)


# -- one request -------------------------------------------------------------------------------------------

TASKS: dict[str, tuple[Callable[..., Any], str]] = {
    "environments": (environments, "asv cannot measure"),
    "measure": (measure, "asv cannot measure"),
    "publish": (published, "the site cannot be made"),
}
"""Task -> what carries it out, and how the sentence begins that says why it cannot be done."""


def answer(task: str, path: str, changed: dict[str, str] | None = None, **settings: Any) -> dict[str, Any]:
    """Carry out a task: ``result``, ``error`` with a sentence, or ``interrupted``."""
    carry_out, cannot = TASKS[task]
    try:
        conf = load(path).asv
        setup()
        for name in conf.plugins:
            if name != OURS:
                plugin_manager.import_plugin(name)
        vars(conf).update(changed or {})
        return {"result": carry_out(conf, **settings)}
    except UsageError as error:
        return {"error": str(error)}
    except ModuleNotFoundError as error:
        return {"error": f"a plugin named in {path} cannot be imported: {error}."}
    except KeyboardInterrupt:
        return {"interrupted": True}
    except (util.UserError, util.ProcessError, EnvironmentUnavailable) as error:
        if str(error) == "Interrupted.":
            return {"interrupted": True}
        return {"error": f"{cannot}: {' '.join(str(error).split())}"}
    except Exception as error:  # the results may be somebody else's, and asv believes them
        log.debug(traceback.format_exc())
        return {"error": f"{cannot}: asv ended with {type(error).__name__}: {' '.join(str(error).split())}"}


def _interrupt(number: int, _frame: object) -> None:
    signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def main() -> None:
    """Answer one request; whatever asv prints meanwhile is for people. SIGTERM is Ctrl-C, at which asv ends its benchmarks."""
    signal.signal(signal.SIGTERM, _interrupt)
    request = json.load(sys.stdin)
    log.enable()
    with os.fdopen(os.dup(1), "w") as channel:
        os.dup2(2, 1)
        json.dump(answer(sys.argv[1], **request), channel)
