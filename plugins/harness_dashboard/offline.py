"""Make asv's site load nothing over the network: the scripts it wants from three other hosts are ours to give."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from asv.console import log
from asv.publishing import OutputPublisher

if TYPE_CHECKING:
    from collections.abc import Mapping

VENDOR = Path(__file__).parent / "vendor"
"""The scripts of others, with their licences."""

LOCAL = {
    "jquery-3.3.1.min.js": "jquery/jquery.min.js",
    "jquery.flot.min.js": "flot/jquery.flot.js",
    "jquery.flot.time.min.js": "flot/jquery.flot.time.js",
    "jquery.flot.selection.min.js": "flot/jquery.flot.selection.js",
    "jquery.flot.categories.min.js": "flot/jquery.flot.categories.js",
    "jquery.flot.orderBars.js": "flot-orderbars/jquery.flot.orderBars.js",
    "stupidtable.min.js": "stupid-table-plugin/stupidtable.min.js",
    "md5.min.js": "blueimp-md5/md5.min.js",
    "bootstrap.min.js": "bootstrap/bootstrap.min.js",
    "bootstrap.min.css": "bootstrap/bootstrap.min.css",
}
"""The name of a file in asv's address of it -> our copy, below ``vendor``."""

_TAG = re.compile(r"<(script|link|img|iframe)\b[^>]*>", re.IGNORECASE)
_ADDRESS = re.compile(r"""\b(src|href)\s*=\s*["'](?P<url>(?:https?:)?//[^"']+)["']""", re.IGNORECASE)
_CHECKS = re.compile(r"""\s+(?:integrity|crossorigin|referrerpolicy)\s*=\s*["'][^"']*["']""", re.IGNORECASE)


def localized(html: str, local: Mapping[str, str] = LOCAL) -> tuple[str, list[str]]:
    """Return a page that loads our copies, and the addresses for which there is none.

    Links that a person follows (``<a href>``) stay as they are.
    """
    missing: list[str] = []

    def replaced(match: re.Match[str]) -> str:
        tag = match.group()
        found = _ADDRESS.search(tag)
        if found is None:
            return tag
        copy = local.get(Path(urlsplit(found["url"]).path).name)
        if copy is None:
            missing.append(found["url"])
            return tag
        # The hash in the tag is of the file on the other host, and a hash of what stands beside the page proves nothing.
        return _CHECKS.sub("", tag.replace(found["url"], f"vendor/{copy}"))

    return _TAG.sub(replaced, html), missing


class Offline(OutputPublisher):
    """Copies the scripts beside asv's pages and lets the pages load those."""

    name, button_label, description, order = "offline", None, "scripts of others, stored with the site", 90

    @classmethod
    def publish(cls, conf: Any, repo: Any, benchmarks: Any, graphs: Any, revisions: Any) -> None:
        """Rewrite every page of the site that asv has just copied."""
        site = Path(conf.html_dir)
        shutil.copytree(VENDOR, site / "vendor", dirs_exist_ok=True)
        for page in sorted(site.glob("*.html")):
            html, missing = localized(page.read_text(encoding="utf-8"))
            page.write_text(html, encoding="utf-8")
            for address in missing:
                log.warning(
                    f"{page.name} loads {address} over the network: this version of asv is newer than our copies"
                )
