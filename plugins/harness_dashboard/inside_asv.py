"""Our plugin of asv, which runs in asv's process, and all uses of asv's undocumented functions (asv 0.6.6 to 0.6.x).

`main` reads a request from the standard input and writes its result, both as JSON. ``asv.conf.json`` names this module as
``"plugins": [".harness_dashboard.inside_asv"]``, so that asv's commands find our environments and pages. asv documents its files,
its configuration, and its plugins, which are subclasses of ``Environment``, ``Repo`` and ``OutputPublisher``. Not documented are:

``get_environments``, ``plugin_manager``, ``MachineCollection`` : used as by asv's commands
``Run.run``, ``Publish.run`` : the functions of asv's commands; ``_machine_file`` moves the description of the machine from the
    user's home to the project. `setup` replaces ``Publish.run`` by `publish`
``Environment`` : ``_python`` and ``_requirements``, which its ``__init__`` uses for its name; ``_path``, the folder;
    ``_setup``, which creates it; ``_set_commit_hash`` and ``_set_installed_commit_hash``, the commit that is installed

tests/dashboard/test_asv.py fails if a newer asv lacks one of them.
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
from harness_dashboard import history, publishers  # noqa: F401  asv needs the import of the publishers
from harness_dashboard.configuration import OURS, load

SUPPORTED_ASV = "asv>=0.6.6,<0.7"
_MAX_INSTALLED = 8  # largest number of installed commits; the least recently used are removed
_NOT_INSTALLED = "not-installed"  # name of a file in the folder of a commit that pip could not install


class Overlay(Environment):
    """asv's environment type ``overlay``: the code of a commit over the libraries of the running interpreter.

    asv's other types of environments download every dependency. This one is a virtual environment without pip whose path is the
    commit's code as pip installs it (with packages and entry points), then the site-packages of the interpreter that runs asv. So
    all commits are measured with the same libraries, a commit is installed in seconds, and switching between two installed commits
    takes no time, which measurements in turns need.

    Editable installs are not visible, as they use ``.pth`` files and a folder in a ``.pth`` file is added without reading the
    ``.pth`` files in it. ``build_command`` and ``install_command`` do not apply.

    python : version of the running interpreter, such as ``3.11``; no other is supported

    Raises
    ------
    EnvironmentUnavailable : ``python`` is another version, or asv's ``matrix`` has requirements, which would be downloaded.
    """

    tool_name = "overlay"

    def __init__(
        self, conf: Any, python: str, requirements: dict[str, str], tagged_env_vars: dict[tuple[str, str], str]
    ) -> None:
        running = f"{sys.version_info[0]}.{sys.version_info[1]}"
        if python != running:
            raise EnvironmentUnavailable(f"overlay environments have Python {running}, not {python}")
        if requirements:
            raise EnvironmentUnavailable(
                f"overlay environments install no requirements; remove {sorted(requirements)} from the matrix"
            )
        self._python, self._requirements = python, requirements
        super().__init__(conf, python, requirements, tagged_env_vars)
        self.folder = Path(self._path)
        # the path of a module must be the same for all commits, as numba's cache of machine code uses it as a key
        self.current = self.folder / "current"
        self.commits = self.folder / "commits"

    @classmethod
    def matches(cls, python: str) -> bool:
        """Return whether ``python`` is the version of the running interpreter."""
        return python == f"{sys.version_info[0]}.{sys.version_info[1]}"

    def check_presence(self) -> bool:
        """Return whether the environment exists, works, and has the current site-packages."""
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
        """The file that defines the path."""
        return self.folder / "lib" / f"python{self.python}" / "site-packages" / "overlay.pth"

    def pth_text(self) -> str:
        """Return the lines with the folders of the path, with this harness if the commit does not contain one (a plugin)."""
        outer = [*site.getsitepackages(), *([site.getusersitepackages()] if site.ENABLE_USER_SITE else [])]
        this_harness = [str(Path(str(module.__file__)).parents[1]) for module in (harness, harness_dashboard)]
        installed = str(self.current / "harness")
        add_harness = f"import os, sys; sys.path += [] if os.path.isdir({installed!r}) else {this_harness!r}"
        return "".join(f"{line}\n" for line in (self.current, add_harness, *outer))

    def install_project(self, conf: Any, repo: Any, commit_hash: str) -> None:
        """Make ``commit_hash`` the installed commit, by a link if it was installed before.

        For a commit that pip cannot install, a package is created whose import fails with the reason, so that each cell fails with
        it. Otherwise asv would not measure any commit if pip cannot install the newest.
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
        for old in newest_last[:-_MAX_INSTALLED]:
            shutil.rmtree(old, ignore_errors=True)
        self._set_commit_hash(commit_hash)
        self._set_installed_commit_hash(commit_hash)

    def install(self, tree: Path, folder: Path, timeout: float) -> None:
        """Install ``tree`` by pip and setuptools of the running interpreter, without the network."""
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
        except util.ProcessError:  # asv has logged the output of pip
            shutil.rmtree(unfinished, ignore_errors=True)
            (unfinished / "harness").mkdir(parents=True)
            (unfinished / "harness" / "__init__.py").write_text(
                'raise RuntimeError("pip could not install this commit")\n'
            )
            (unfinished / _NOT_INSTALLED).touch()
        unfinished.rename(folder)

    def run(self, args: list[str], **kwargs: Any) -> Any:
        """Run the Python of the environment with ``args``."""
        log.debug(f"Running '{' '.join(args)}' in {self.name}")
        return self.run_executable("python", args, **kwargs)


# -- tasks -------------------------------------------------------------------------------------------------


def environments(conf: Any) -> list[str]:
    """Return the names of asv's environments, ``overlay-py3.11``."""
    return [environment.name for environment in get_environments(conf, None, verbose=False)]


def measure(conf: Any, *, commits: list[str], machine: str, machine_file: str, **arguments: Any) -> None:
    """Measure commits, after writing asv's description of the machine to ``machine_file``.

    arguments : further arguments of ``Run.run``
    """
    Path(machine_file).parent.mkdir(parents=True, exist_ok=True)
    MachineCollection.save(machine, {**Machine.get_defaults(), "machine": machine}, _path=machine_file)
    Run.run(
        conf, range_spec=commits, machine=machine, _machine_file=machine_file, launch_method=conf.launch_method, **arguments
    )  # fmt: skip
    log.flush()


_ASV_PUBLISH = Publish.run  # asv's function, which `setup` replaces


def setup() -> None:
    """Set the folder of our benchmarks and make ``asv publish`` make our site; asv calls this function of a plugin."""
    os.environ[history.BENCHMARKS] = str(Path(history.__file__).with_name("benchmarks"))
    Publish.run = staticmethod(publish)


def publish(conf: Any, range_spec: Any = None, pull: bool = False) -> None:
    """Make the site without asv's list of regressions; without results of asv it has only our pages."""
    benchmarks = Path(conf.results_dir, "benchmarks.json")
    if not benchmarks.exists():
        benchmarks.parent.mkdir(parents=True, exist_ok=True)
        util.write_json(str(benchmarks), {}, Benchmarks.api_version)
    Regressions.publish = staticmethod(lambda *_: None)  # asv's are steps of medians; our page has confirmed changes
    _ASV_PUBLISH(conf, range_spec, pull)


# -- one request -------------------------------------------------------------------------------------------

# task -> its function, and the start of the message if it fails
TASKS: dict[str, tuple[Callable[..., Any], str]] = {
    "environments": (environments, "asv cannot measure"),
    "measure": (measure, "asv cannot measure"),
    "publish": (publish, "the site cannot be made"),
}


def answer(task: str, path: str, changed: dict[str, str] | None = None, **settings: Any) -> dict[str, Any]:
    """Run a task; return a dict with ``result``, ``error`` (a sentence) or ``interrupted``."""
    run_task, failure = TASKS[task]
    try:
        conf = load(path).asv
        setup()
        for name in conf.plugins:
            if name != OURS:
                plugin_manager.import_plugin(name)
        vars(conf).update(changed or {})
        return {"result": run_task(conf, **settings)}
    except UsageError as error:
        return {"error": str(error)}
    except ModuleNotFoundError as error:
        return {"error": f"a plugin named in {path} cannot be imported: {error}."}
    except KeyboardInterrupt:
        return {"interrupted": True}
    except (util.UserError, util.ProcessError, EnvironmentUnavailable) as error:
        if str(error) == "Interrupted.":
            return {"interrupted": True}
        return {"error": f"{failure}: {' '.join(str(error).split())}"}
    except Exception as error:  # results from an unknown source, which asv does not validate, may cause any exception
        log.debug(traceback.format_exc())
        return {"error": f"{failure}: asv ended with {type(error).__name__}: {' '.join(str(error).split())}"}


def _interrupt(number: int, _frame: object) -> None:
    signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def main() -> None:
    """Answer the request on the standard input; asv's output goes to standard error. SIGTERM acts as Ctrl-C, which asv handles."""
    signal.signal(signal.SIGTERM, _interrupt)
    request = json.load(sys.stdin)
    log.enable()
    with os.fdopen(os.dup(1), "w") as channel:
        os.dup2(2, 1)
        json.dump(answer(sys.argv[1], **request), channel)
