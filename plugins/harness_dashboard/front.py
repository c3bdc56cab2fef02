"""Which page is where in the site: ours in front, asv's front page as ``history.html``, each with the way to the other.

asv's scripts find their place by what stands behind the ``#`` alone, so its page works under any name.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

PAGES = Path(__file__).parent / "pages"
FRONT, HISTORY = "index.html", "history.html"
FORWARD = "solvers.html"
"""Where our page was before: links to it lead to the front page, with what stands behind the ``#``."""


def arrange(site: Path) -> None:
    """Put our pages into the site that asv has just written, and ours in front."""
    shutil.copytree(PAGES, site / "solvers", dirs_exist_ok=True)
    asvs = (site / FRONT).read_text(encoding="utf-8")
    (site / HISTORY).write_text(linked(asvs), encoding="utf-8")
    (site / "solvers" / "index.html").replace(site / FRONT)
    (site / "solvers" / "forward.html").replace(site / FORWARD)
    feed = site / "regressions.xml"
    if feed.exists():  # asv's links in it are to where its page was
        text = feed.read_text(encoding="utf-8")
        feed.write_text(text.replace(f'href="{FRONT}#', f'href="{HISTORY}#'), encoding="utf-8")


def linked(html: str) -> str:
    """Return asv's front page with ours in its navigation, before the tab of a single benchmark."""
    entry = f'<li id="nav-li-solvers"><a href="{FRONT}">Compare solvers</a></li>\n        '
    return re.sub(r'(?=<li id="nav-li-graphdisplay">)', entry, html, count=1)
