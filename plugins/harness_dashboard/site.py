"""Making the web site: asv's own pages and ours, built aside and put in the old one's place when it is whole."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness import UsageError
from harness_dashboard import processes

if TYPE_CHECKING:
    from harness_dashboard.configuration import Configuration


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
    target = configuration.html_dir
    if target.exists() and not _replaceable(target):
        raise UsageError(f"{target} is no site made before and will not be replaced; name another folder as html_dir.")
    target.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        processes.asv("publish", configuration, changed={"html_dir": str(aside / "site")})
        if target.exists():
            target.rename(aside / "old")
        (aside / "site").rename(target)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    sizes = [path.stat().st_size for path in target.rglob("*") if path.is_file()]
    return Site(target, len(sizes), sum(sizes))


def _replaceable(folder: Path) -> bool:
    """Return whether a folder is empty or a site that asv has made."""
    return folder.is_dir() and (not any(folder.iterdir()) or (folder / "info.json").exists())
