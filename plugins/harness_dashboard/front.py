"""Which page is where in the site: ours in front, asv's front page as ``history.html``, each with the way to the other.

asv's scripts find their place by what stands behind the ``#`` alone, so its page works under any name.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from harness_dashboard.commits import SHOWN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness_dashboard.commits import Called

PAGES = Path(__file__).parent / "pages"
FRONT, HISTORY = "index.html", "history.html"
NO_PAGE = "#commit/"
"""asv puts a commit's hash behind an address, whether there is one or not: links that begin so are taken off by history.js."""
FORWARD = "solvers.html"
"""Where our page was before: links to it lead to the front page, with what stands behind the ``#``."""

_ADDED = """  <meta name="viewport" content="width=device-width, initial-scale=1">
    <link rel="stylesheet" href="solvers/history.css">
    <script src="solvers/history.js"></script>
  """


def arrange(site: Path, called: Mapping[str, Called]) -> None:
    """Put our pages into the site that asv has just written, and ours in front.

    called : how the commits are called, by their hashes
    """
    shutil.copytree(PAGES, site / "solvers", dirs_exist_ok=True)
    asvs = (site / FRONT).read_text(encoding="utf-8")
    (site / HISTORY).write_text(linked(asvs), encoding="utf-8")
    (site / "solvers" / "index.html").replace(site / FRONT)
    (site / "solvers" / "forward.html").replace(site / FORWARD)
    feed = site / "regressions.xml"
    if feed.exists():
        feed.write_text(_of_history(feed.read_text(encoding="utf-8"), called), encoding="utf-8")


def _of_history(feed: str, called: Mapping[str, Called]) -> str:
    """Return asv's feed with links to where its page is, with commits by their names, and without links to no page."""
    feed = feed.replace(f'href="{FRONT}#', f'href="{HISTORY}#')
    feed = re.sub(rf'&lt;a href="{NO_PAGE}[^"]*"&gt;(.*?)&lt;/a&gt;', r"\1", feed)
    for commit, known in called.items():
        if not commit.startswith(known.name):
            feed = feed.replace(commit, quote(known.name)).replace(commit[:SHOWN], known.name)
    return feed


def linked(html: str) -> str:
    """Return asv's front page with ours in its navigation, before the tab of a single benchmark, and what mends it."""
    entry = f'<li id="nav-li-solvers"><a href="{FRONT}">Compare solvers</a></li>\n        '
    html = re.sub(r'(?=<li id="nav-li-graphdisplay">)', entry, html, count=1)
    return re.sub(r"(?=</head>)", _ADDED, html, count=1)


def renamed(index: dict[str, Any], called: Mapping[str, Called]) -> dict[str, Any]:
    """Return asv's ``index.json`` with the names of commits that are called otherwise than by their own hash.

    asv shows the first ``hash_length`` letters and looks for a commit by how it begins: all are of one length.
    """
    hashes = index["revision_to_hash"]
    names = {number: known.name if (known := called.get(each)) else each[:SHOWN] for number, each in hashes.items()}
    if all(each.startswith(names[number]) for number, each in hashes.items()):
        return index
    length = max(map(len, names.values()))
    named = {number: name.ljust(length) for number, name in names.items()}
    return {**index, "revision_to_hash": named, "hash_length": length}
