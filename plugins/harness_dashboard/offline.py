"""Make the site load nothing over the network, and let its pages say that nothing else may run in them.

The scripts that asv wants from three other hosts are ours to give. Every page has a content security policy: scripts are
files of the site, so markup that came in by a text of a store would still carry out nothing.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from asv.console import log
from asv.publishing import OutputPublisher

from harness_dashboard.untrusted import POLICY

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

_INLINE = re.compile(r"<script\b(?![^>]*\bsrc\s*=)[^>]*>(?P<code>.*?)</script\s*>", re.IGNORECASE | re.DOTALL)
_HANDLER = re.compile(r"""\s+on[a-z]+\s*=\s*(?:"[^"]*"|'[^']*')""", re.IGNORECASE)
_OPEN_TAG = re.compile(r"<[a-z][^>]*>", re.IGNORECASE)
_HEAD = re.compile(r"<head\b[^>]*>", re.IGNORECASE)
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


def sealed(html: str) -> tuple[str, dict[str, str]]:
    """Return a page with the policy, and its scripts that now are files: name -> text.

    What stood in attributes named ``onerror`` and the like is left out: no policy worth having would let it run.
    """
    files: dict[str, str] = {}

    def moved(match: re.Match[str]) -> str:
        name = f"inline-{hashlib.sha256(match['code'].encode()).hexdigest()[:12]}.js"
        files[name] = match["code"]
        return f'<script src="{name}"></script>'

    html = _INLINE.sub(moved, html)
    html = _OPEN_TAG.sub(lambda tag: _HANDLER.sub("", tag.group()), html)
    meta = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    return _HEAD.sub(lambda head: f"{head.group()}\n    {meta}", html, count=1), files


class Offline(OutputPublisher):
    """Copies the scripts beside the pages, lets the pages load those, and seals the pages; the last of all."""

    name, button_label, description, order = "offline", None, "scripts of others, stored with the site", 110

    @classmethod
    def publish(cls, conf: Any, repo: Any, benchmarks: Any, graphs: Any, revisions: Any) -> None:
        """Rewrite every page of the site."""
        site = Path(conf.html_dir)
        shutil.copytree(VENDOR, site / "vendor", dirs_exist_ok=True)
        for page in sorted(site.glob("*.html")):
            html, missing = localized(page.read_text(encoding="utf-8"))
            html, scripts = sealed(html)
            page.write_text(html, encoding="utf-8")
            for name, code in scripts.items():
                (site / name).write_text(code, encoding="utf-8")
            for address in missing:
                log.warning(
                    f"{page.name} loads {address} over the network: this version of asv is newer than our copies"
                )
