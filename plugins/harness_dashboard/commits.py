"""The commits that measurements belong to: those of a repository, or one made for each state of code that was measured."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import UsageError
from harness_dashboard.configuration import OURS
from harness_dashboard.processes import git
from harness_dashboard.untrusted import moment, word

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


SHOWN = 8
"""Digits of a hash where people read it."""

_MEASURED_AS = "Measured-as"
"""The trailer of a commit made for a state of code: what it is called where people read it."""

_NAME = re.compile(r"[\w.+-]{1,40}(?:, no commit)?(?: \(\d+\))?", re.ASCII)
_HASH = re.compile(r"[0-9a-f]{7,64}\+?")
_URL = re.compile(r"(?:https?|ssh|git)://(?:[^/@\s]*@)?(?P<host>[\w.-]+)(?::\d+)?/(?P<path>[\w./~+-]+)")
_SCP = re.compile(
    r"(?:[\w.-]+@)?(?P<host>[\w-]+(?:\.[\w-]+)+):(?P<path>[\w./~+-]+)"
)  # git@example.org:group/project.git


@dataclass(frozen=True)
class Commit:
    """A commit: its hash (or a stand-in for it) and its time in milliseconds since 1970."""

    name: str
    time: int


@dataclass(frozen=True)
class Called:
    """How a commit is called where people read it.

    name : the first digits of its hash, with ``+`` if the tree was changed; of a state of code in a dashboard of stores
        alone those of the commit that was measured, or the version of the harness where git knew none
    title : the first line of its message
    """

    name: str
    title: str


def short(git_commit: str) -> str:
    """Return the first digits of a record's commit, with ``+`` if its tree was changed; nothing of what is no hash."""
    return git_commit[:SHOWN] + "+" * git_commit.endswith("+") if _HASH.fullmatch(git_commit) else ""


def called(folder: str | Path) -> dict[str, Called]:
    """Return how every commit of a local repository is called, by its hash; none where there is no repository."""
    if not _is_repository(Path(folder)):
        return {}
    form = f"--format=%H%n%(trailers:key={_MEASURED_AS},valueonly,separator=%x20)%n%s"
    found = {}
    for entry in filter(None, git(Path(folder), "log", "-z", "--all", form).split("\0")):
        commit, name, title = entry.split("\n", 2)
        found[commit] = Called(name.strip() if _NAME.fullmatch(name.strip()) else commit[:SHOWN], title)
    return found


def web_address(folder: str | Path) -> tuple[str, str] | None:
    """Return the pages of the project and of its commits, as the repository's remote has them; None if it has none.

    The second is what the hash is put behind. Of a remote's URL no name of a user and no password is kept.
    """
    text = str(folder)
    if _is_repository(Path(text)):
        remotes = git(Path(text), "config", "--get-regexp", r"^remote\..*\.url$", accepted=(0, 1)).splitlines()
        urls = dict(line.split(" ", 1) for line in remotes if " " in line)
        text = urls.get("remote.origin.url") or next(iter(urls.values()), "")
    found = _URL.fullmatch(text) or _SCP.fullmatch(text)
    if found is None:
        return None
    host, path = found["host"].lower(), found["path"].strip("/").removesuffix(".git")
    page = f"https://{host}/{path}"
    return page, f"{page}/{'commits' if host == 'bitbucket.org' else 'commit'}/"


def _is_repository(folder: Path) -> bool:
    return (folder / ".git").exists() or (folder / "objects").is_dir()


class Repository:
    """The commits of a local repository.

    Raises
    ------
    UsageError : the folder holds none.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        if not _is_repository(self.folder):
            raise UsageError(
                f"{folder} is no local git repository, so there are no commits to show results of; name a clone as "
                "'repo' in asv.conf.json, or make a dashboard without one: harness dashboard export --standalone FOLDER."
            )
        lines = git(self.folder, "log", "--all", "--pretty=format:%H %ct").split("\n")
        self.times = {name: int(seconds) * 1000 for name, _, seconds in (line.partition(" ") for line in lines) if name}

    def of(self, record: Mapping[str, Any]) -> Commit | None:
        """Return the commit a record was measured at, None if it names none or one that is not here."""
        name = str(record.get("git_commit") or "").rstrip("+")
        return Commit(name, self.times[name]) if name in self.times else None

    def named(self, revision: str, what: str) -> Commit:
        """Return the commit that a revision such as ``HEAD~2`` names; ``what`` the user calls it, for the sentence.

        Raises
        ------
        UsageError : the repository has no such commit.
        """
        try:
            name = git(self.folder, "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}").strip()
        except UsageError:
            raise UsageError(
                f"{what}: the repository {self.folder} has no commit '{revision}'; name a commit, a branch or a tag."
            ) from None
        time = self.times.get(name) or int(git(self.folder, "show", "-s", "--format=%ct", name)) * 1000
        return Commit(name, time)

    def range(self, text: str) -> list[str]:
        """Return the hashes of a range (``HEAD~5..HEAD``: along first parents) or of one revision, oldest first.

        Raises
        ------
        UsageError : an unknown revision, or a range without commits.
        """
        if ".." not in text:
            return [self.named(text, "RANGE").name]
        for end in filter(None, re.split(r"\.{2,3}", text, maxsplit=1)):
            self.named(end, "RANGE")
        found = git(self.folder, "rev-list", "--first-parent", "--reverse", "--end-of-options", text, "--").split()
        if not found:
            raise UsageError(f"RANGE: there is no commit in {text}; the older one comes first, as in HEAD~5..HEAD.")
        return found

    def title(self, commit: str) -> str:
        """Return the first line of a commit's message."""
        return git(self.folder, "show", "-s", "--format=%s", commit).strip()

    def edited(self) -> str:
        """Return a sentence of the edits that no commit has, so that nobody takes them for measured; empty without any."""
        if not (self.folder / ".git").exists():
            return ""
        files = git(self.folder, "status", "--porcelain", "--untracked-files=no").splitlines()
        what = "1 file has" if len(files) == 1 else f"{len(files)} files have"
        return f"{what} edits that are not committed: they are not measured" if files else ""

    def on_branches(self, branches: Sequence[str | None]) -> set[str]:
        """Return the commits of these branches, of the checked out one where a branch is None."""
        return set(git(self.folder, "rev-list", *[branch or "HEAD" for branch in branches], "--").split())


@dataclass
class _State:
    """One state of code: what has been seen of it."""

    commit: Commit
    git_commit: str
    versions: dict[str, Any]
    code: dict[str, str] = field(default_factory=dict)

    def fits(self, git_commit: str, versions: Any, plugin: str, code: str) -> bool:
        return self.git_commit == git_commit and self.versions == versions and self.code.get(plugin, code) == code

    @property
    def name(self) -> str:
        """The commit that was measured, ``929e25f1+`` where its tree was changed; the version if git knew none."""
        return short(self.git_commit) or f"{word(self.versions.get('svm-harness'), 'unknown')}, no commit"

    @property
    def title(self) -> str:
        """The version, and when it was first measured."""
        harness = self.versions.get("svm-harness", "of unknown version")
        return f"svm-harness {harness}, measured {_date(self.commit.time)}"

    def message(self, name: str) -> str:
        """Return what distinguishes the state, in words; ``name`` is what it is called."""
        libraries = ", ".join(f"{name} {number}" for name, number in self.versions.items() if name != "svm-harness")
        code = "\n".join(f"{plugin}: {code[:32]}" for plugin, code in sorted(self.code.items()))
        made = f"commit {self.git_commit}\n" if self.git_commit else ""
        return f"{self.title}\n\n{made}{libraries}\n\n{code}\n\n{_MEASURED_AS}: {name}\n"


class States:
    """The states of code in the order in which they were first measured, as commits of a repository without files.

    The code of a plugin is known by its hash alone, so two runs are of one state if commit and versions agree and no
    plugin had two different hashes.
    """

    def __init__(self) -> None:
        self._states: list[_State] = []

    def of(self, record: Mapping[str, Any]) -> Commit:
        """Return the state that a record is of, a new one if none fits."""
        commit, versions = str(record.get("git_commit") or ""), record.get("versions") or {}
        plugin, code = str(record.get("plugin")), str(record.get("code_sha256") or "")
        state = next((each for each in reversed(self._states) if each.fits(commit, versions, plugin, code)), None)
        if state is None:
            began = int(1000 * moment(record.get("measured_at")).timestamp())
            state = _State(Commit(f"state-{len(self._states)}", began), commit, versions)
            self._states.append(state)
        state.code[plugin] = code
        return state.commit

    def commit_all(self, folder: Path) -> dict[str, str]:
        """Make the repository, its branch ``main``; return the hash of each state's commit."""
        folder.mkdir(parents=True, exist_ok=True)
        git(folder, "init", "-q", "--initial-branch=main")
        lines = []
        for state, name in zip(self._states, self._names(), strict=True):
            message = state.message(name)
            lines.append(f"commit refs/heads/main\ncommitter svm-harness <> {state.commit.time // 1000} +0000")
            lines.append(f"data {len(message.encode())}\n{message}")
        git(folder, "fast-import", "--quiet", content="\n".join(lines) + "\n")
        hashes = git(folder, "rev-list", "--reverse", "--topo-order", "main").split()
        return {state.commit.name: name for state, name in zip(self._states, hashes, strict=True)}

    def called(self) -> dict[str, Called]:
        """Return how the states are called, by the names of their commits."""
        return {
            state.commit.name: Called(name, state.title)
            for state, name in zip(self._states, self._names(), strict=True)
        }

    def _names(self) -> list[str]:
        """Return what the states are called: those of one commit are numbered."""
        names = [state.name for state in self._states]
        seen: Counter[str] = Counter()
        found = []
        for name in names:
            seen[name] += 1
            found.append(f"{name} ({seen[name]})" if names.count(name) > 1 else name)
        return found


def _date(milliseconds: int) -> str:
    return f"{datetime.fromtimestamp(milliseconds / 1000):%Y-%m-%d}"


def configuration_text(project: str) -> str:
    """Return the configuration file of a dashboard without a repository of its user's."""
    content = {
        "version": 1,
        "project": project,
        "project_url": "#",
        "repo": "code",
        "dvcs": "git",
        "branches": ["main"],
        "environment_type": "virtualenv",
        "show_commit_url": "#",
        "results_dir": "results",
        "html_dir": "html",
        "plugins": [OURS[0]],
        "regressions_thresholds": {
            r"grid\.time_fit": 0.3,
            r"grid\.peakmem_fit": 0.3,
            r"grid\.track_relative_gap": 1.0,
            r"grid\.track_kernel_evaluations": 0.01,
        },
    }
    return json.dumps(content, indent=2) + "\n"
