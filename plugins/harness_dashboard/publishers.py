"""Publishers of asv that add our pages to its site and make the site load nothing over the network.

asv calls the subclasses of ``OutputPublisher`` in their order.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from asv.console import log
from asv.publishing import OutputPublisher

from harness_dashboard import history, page
from harness_dashboard.records import read_all

if TYPE_CHECKING:
    from collections.abc import Mapping

# our page, and asv's front page, whose scripts only use the part of the address after ``#``
FRONT, HISTORY = "index.html", "history.html"
HERE = Path(__file__).parent
# name of a file in an address of asv's pages -> our copy, below ``vendor``
LOCAL = {path.name: path.relative_to(HERE / "vendor").as_posix() for path in HERE.glob("vendor/*/*.min.*")} | {
    "jquery.flot.orderBars.js": "flot-orderbars/jquery.flot.orderBars.js"
}

_TAG = re.compile(r"<(script|link|img|iframe)\b[^>]*>", re.IGNORECASE)
_ADDRESS = re.compile(r"""\b(src|href)\s*=\s*["'](?P<url>(?:https?:)?//[^"']+)["']""", re.IGNORECASE)
_CHECKS = re.compile(r"""\s+(?:integrity|crossorigin|referrerpolicy)\s*=\s*["'][^"']*["']""", re.IGNORECASE)
_ADDED = """  <meta name="viewport" content="width=device-width, initial-scale=1">
    <link rel="stylesheet" href="history.css">
    <script src="history.js"></script>
  """


class Comparison(OutputPublisher):
    """Publisher that makes our page the front page, with links between it and asv's."""

    name, button_label, description, order = "comparison", None, "solvers side by side", 100

    @classmethod
    def publish(cls, conf: Any, repo: Any, benchmarks: Any, graphs: Any, revisions: Any) -> None:
        """Rename asv's front page and write ours in its place."""
        site = Path(conf.html_dir)
        (site / HISTORY).write_text(with_link((site / FRONT).read_text(encoding="utf-8")), encoding="utf-8")
        for name in ("history.css", "history.js"):
            shutil.copy(page.PAGES / name, site / name)
        records = read_all(history.records_folder(conf.results_dir))
        (site / FRONT).write_text(
            page.page(records, project=str(conf.project), command="harness dashboard build", asv=bool(len(benchmarks))),
            encoding="utf-8",
        )


def with_link(html: str) -> str:
    """Return asv's front page with a link to ours, and without asv's regressions, which are only steps of medians."""
    entry = f'<li id="nav-li-solvers"><a href="{FRONT}">Compare solvers</a></li>\n        '
    html = re.sub(r'<li id="nav-li-regressions">.*?</li>\s*', "", html)
    html = re.sub(r'<link rel="alternate"[^>]*title="Regressions"[^>]*>\s*', "", html)
    html = re.sub(r'(?=<li id="nav-li-graphdisplay">)', entry, html, count=1)
    return re.sub(r"(?=</head>)", _ADDED, html, count=1)


class Offline(OutputPublisher):
    """Publisher that copies third-party scripts into the site and makes the pages load the copies; it runs last."""

    name, button_label, description, order = "offline", None, "scripts of others, stored with the site", 110

    @classmethod
    def publish(cls, conf: Any, repo: Any, benchmarks: Any, graphs: Any, revisions: Any) -> None:
        """Rewrite every page of the site except ours, which contains its scripts."""
        site = Path(conf.html_dir)
        shutil.copytree(HERE / "vendor", site / "vendor", dirs_exist_ok=True)
        for path in sorted({*site.glob("*.html")} - {site / FRONT}):
            html, missing = localized(path.read_text(encoding="utf-8"))
            path.write_text(html, encoding="utf-8")
            for address in missing:
                log.warning(
                    f"{path.name} loads {address} over the network, as this version of asv is newer than our copies"
                )


def localized(html: str, local: Mapping[str, str] = LOCAL) -> tuple[str, list[str]]:
    """Return a page that loads our copies, and the addresses without a copy.

    Links (``<a href>``) do not change.
    """
    missing: list[str] = []

    def replaced(match: re.Match[str]) -> str:
        tag = match.group()
        address = _ADDRESS.search(tag)
        if address is None:
            return tag
        copy = local.get(Path(urlsplit(address["url"]).path).name)
        if copy is None:
            missing.append(address["url"])
            return tag
        # without the attributes with the hash of the original file, which may differ from the copy
        return _CHECKS.sub("", tag.replace(address["url"], f"vendor/{copy}"))

    return _TAG.sub(replaced, html), missing
