"""Making the web site: asv's own pages and ours, built aside and put in the old one's place when it is whole."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.dashboard import numbers
from harness.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.dashboard.configuration import Configuration


@dataclass(frozen=True)
class Site:
    """A finished site: its folder, its files and their bytes."""

    folder: Path
    files: int
    bytes: int


def build(configuration: Configuration) -> Site:
    """Make the site of everything measured and exported.

    Raises
    ------
    UsageError : no repository, broken results, or a folder that is no site stands where the site should go.
    """
    from asv.commands import publish
    from asv.plugin_manager import plugin_manager
    from asv.util import UserError

    target = configuration.html_dir
    if target.exists() and not _replaceable(target):
        raise UsageError(f"{target} is no site made before and will not be replaced; name another folder as html_dir.")
    numbers.merge(configuration.results_dir / "benchmarks.json", configuration.results_dir.parent / "exported.json")
    target.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    configuration.asv.html_dir = str(aside / "site")
    try:
        with contextlib.chdir(configuration.folder):
            for plugin in configuration.asv.plugins:
                plugin_manager.import_plugin(plugin)
            with _quick_graphs(publish):
                publish.Publish.run(configuration.asv, None, pull=False)
        if target.exists():
            target.rename(aside / "old")
        (aside / "site").rename(target)
    except UserError as error:
        raise UsageError(f"the site cannot be made: {' '.join(str(error).split())}") from None
    except ModuleNotFoundError as error:
        raise UsageError(f"a plugin named in {configuration.path} cannot be imported: {error}.") from None
    finally:
        configuration.asv.html_dir = str(target)
        shutil.rmtree(aside, ignore_errors=True)
    sizes = [path.stat().st_size for path in target.rglob("*") if path.is_file()]
    return Site(target, len(sizes), sum(sizes))


@contextlib.contextmanager
def _quick_graphs(publish: Any) -> Iterator[None]:
    """Let asv use our graphs: it has no other way to choose them."""
    from harness.dashboard.graphs import QuickGraphs

    usual, publish.GraphSet = publish.GraphSet, QuickGraphs
    try:
        yield
    finally:
        publish.GraphSet = usual


def _replaceable(folder: Path) -> bool:
    """Return whether a folder is empty or a site that asv has made."""
    return folder.is_dir() and (not any(folder.iterdir()) or (folder / "info.json").exists())
