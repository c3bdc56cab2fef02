"""The commits of a local repository."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import UsageError
from harness_dashboard.processes import git

if TYPE_CHECKING:
    from collections.abc import Mapping

SHOWN = 8  # number of digits of a displayed hash


@dataclass(frozen=True)
class Commit:
    """A commit: its hash, or a substitute, and its time in milliseconds since 1970."""

    name: str
    time: int


class Repository:
    """The commits of a local repository.

    Raises
    ------
    UsageError : the folder is no local git repository.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        if not (self.folder / ".git").exists() and not (self.folder / "objects").is_dir():
            raise UsageError(
                f"{folder} is no local git repository; name a clone as 'repo' in asv.conf.json, or make a page without a "
                "repository: harness dashboard export --single-file page.html."
            )
        lines = git(self.folder, "log", "--all", "--pretty=format:%H %ct").split("\n")
        self.times = {name: int(seconds) * 1000 for name, _, seconds in (line.partition(" ") for line in lines) if name}

    def commit_of(self, record: Mapping[str, Any]) -> Commit | None:
        """Return the commit of a record; None if it has none or the repository does not contain it."""
        name = str(record.get("git_commit") or "").rstrip("+")
        return Commit(name, self.times[name]) if name in self.times else None

    def find(self, revision: str, option: str) -> Commit:
        """Return the commit of a revision such as ``HEAD~2``.

        Raises
        ------
        UsageError : the repository has no such commit; the message names the ``option``.
        """
        try:
            name = git(self.folder, "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}").strip()
        except UsageError:
            raise UsageError(
                f"{option}: the repository {self.folder} has no commit '{revision}'; name a commit, a branch or a tag."
            ) from None
        time = self.times.get(name) or int(git(self.folder, "show", "-s", "--format=%ct", name)) * 1000
        return Commit(name, time)

    def range(self, text: str) -> list[str]:
        """Return the hashes of a range (``HEAD~5..HEAD``: along first parents) or of one revision, oldest first.

        Raises
        ------
        UsageError : a revision is unknown, or the range has no commits.
        """
        if ".." not in text:
            return [self.find(text, "RANGE").name]
        ends = [self.find(end or "HEAD", "RANGE").name for end in re.split(r"\.{2,3}", text, maxsplit=1)]
        commits = git(self.folder, "rev-list", "--first-parent", "--reverse", "--end-of-options", text, "--").split()
        if not commits:
            why = f"both ends are {ends[0][:SHOWN]}" if ends[0] == ends[1] else "the older commit must come first"
            raise UsageError(f"RANGE: there is no commit in {text}: {why}; give a range such as HEAD~5..HEAD.")
        return commits

    def title(self, commit: str) -> str:
        """Return the first line of a commit's message."""
        return git(self.folder, "show", "-s", "--format=%s", commit).strip()

    def has_edits(self) -> bool:
        """Return whether tracked files have edits that are not committed."""
        return (self.folder / ".git").exists() and bool(
            git(self.folder, "status", "--porcelain", "--untracked-files=no").strip()
        )
