"""Read asv's configuration file as asv does, with absolute folders."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import UsageError
from harness_dashboard import history

FILE_NAME = "asv.conf.json"
OURS = ".harness_dashboard.inside_asv"  # our plugin of asv in the configuration file

_FOLDERS = ("benchmark_dir", "env_dir", "results_dir", "html_dir")


@dataclass(frozen=True)
class Configuration:
    """A configuration file and its content.

    path : absolute path of the file; relative paths in it are relative to its folder
    asv : asv's ``Config`` with absolute folders and an absolute local repository
    """

    path: Path
    asv: Any

    @property
    def folder(self) -> Path:
        """Folder of the file, which is asv's working directory."""
        return self.path.parent

    @property
    def results_dir(self) -> Path:
        """Folder of asv's results."""
        return Path(self.asv.results_dir)

    @property
    def html_dir(self) -> Path:
        """Folder of the site."""
        return Path(self.asv.html_dir)

    @property
    def records_dir(self) -> Path:
        """Folder of the records with status, reason and trace of each run, which asv does not store."""
        return history.records_folder(self.results_dir)


def load(path: str | Path = FILE_NAME) -> Configuration:
    """Read asv's configuration file: JSON, comments allowed.

    Raises
    ------
    UsageError : asv is not installed, or the file is missing, is no JSON object, or names no repository.
    """
    if importlib.util.find_spec("asv") is None:
        raise UsageError("the dashboard needs asv, which is not installed; run `pip install 'svm-harness[asv]'`.")
    from asv.config import Config
    from asv.util import UserError, load_json

    path = Path(path).absolute()
    if path.is_dir():
        path = path / FILE_NAME
    if not path.is_file():
        raise UsageError(
            f"--config: there is no file {path}. Change to its folder or name it; in the repository of your plugin create one: "
            "harness dashboard init."
        )
    try:
        config = Config.from_json(load_json(str(path), Config.api_version, js_comments=True))
    except (UserError, ValueError, TypeError, OSError) as error:  # TypeError: the JSON is no object
        raise UsageError(f"--config: {path} cannot be used: {' '.join(str(error).split())}") from None
    for name in _FOLDERS:
        setattr(config, name, str((path.parent / getattr(config, name)).resolve()))
    if (path.parent / config.repo).is_dir():
        config.repo = str((path.parent / config.repo).resolve())
    return Configuration(path, config)
