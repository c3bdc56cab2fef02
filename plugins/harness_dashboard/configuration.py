"""asv's configuration file, read as asv reads it, with every folder made absolute."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import UsageError
from harness_dashboard import history

FILE_NAME = "asv.conf.json"
OURS = ".harness_dashboard.inside_asv"
"""What the file names as our plugin of asv."""

_FOLDERS = ("benchmark_dir", "env_dir", "results_dir", "html_dir")


@dataclass(frozen=True)
class Configuration:
    """A configuration file and what it says.

    path : the file, absolute; relative names in it are relative to its folder
    asv : asv's own ``Config``, its folders and a local repository made absolute
    """

    path: Path
    asv: Any

    @property
    def folder(self) -> Path:
        """The folder of the file: asv's working directory."""
        return self.path.parent

    @property
    def results_dir(self) -> Path:
        """Where asv keeps its numbers."""
        return Path(self.asv.results_dir)

    @property
    def html_dir(self) -> Path:
        """Where the site is made."""
        return Path(self.asv.html_dir)

    @property
    def records_dir(self) -> Path:
        """Where the records stand that asv cannot keep: status, reason and trace of each run."""
        return history.records_folder(self.results_dir)


def load(path: str | Path = FILE_NAME) -> Configuration:
    """Read asv's configuration file: JSON, comments allowed.

    Raises
    ------
    UsageError : asv is not installed, the file is missing, is no JSON object, or names no repository.
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
            f"--config: there is no file {path}. Go to the folder that has one, or name it; in the repository of a plugin of "
            "your own write one: harness dashboard init."
        )
    try:
        read = load_json(str(path), Config.api_version, js_comments=True)
        config = Config.from_json(read)
    except (UserError, ValueError, TypeError, OSError) as error:  # TypeError: JSON, but no object
        raise UsageError(f"--config: {path} cannot be used: {' '.join(str(error).split())}") from None
    for name in _FOLDERS:
        setattr(config, name, str((path.parent / getattr(config, name)).resolve()))
    if (path.parent / config.repo).is_dir():
        config.repo = str((path.parent / config.repo).resolve())
    return Configuration(path, config)
