"""What we add to the site that asv makes: our pages in front, no steps below the noise, no load over the network.

asv finds these classes among the subclasses of ``OutputPublisher`` and calls them in their order.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from asv import util
from asv.console import log
from asv.plugins.regressions import Regressions
from asv.publishing import OutputPublisher

from harness.report.figures import is_number
from harness_dashboard import history, page, regressions
from harness_dashboard.numbers import PREFIX, rounded
from harness_dashboard.records import read_all

if TYPE_CHECKING:
    from collections.abc import Mapping

FRONT, HISTORY = "index.html", "history.html"
"""Our page, and asv's front page: its scripts find their place by what stands behind the ``#`` alone."""

HERE = Path(__file__).parent
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
_ADDED = """  <meta name="viewport" content="width=device-width, initial-scale=1">
    <link rel="stylesheet" href="history.css">
    <script src="history.js"></script>
  """


class Known(OutputPublisher):
    """Takes the combinations that were never measured out of asv's list: a grid of names has many."""

    name, button_label, description, order = "known", None, "only what was measured", 2

    @classmethod
    def publish(cls, conf: Any, repo: Any, benchmarks: Any, graphs: Any, revisions: Any) -> None:
        """Rewrite the lists that asv has just written; of other benchmarks than ours nothing is taken."""
        for path in Path(conf.html_dir, "graphs").rglob("summary.json"):
            rows = json.loads(path.read_bytes())
            if all(isinstance(row, dict) for row in rows):
                known = [row for row in rows if row["last_value"] is not None or not row["name"].startswith(PREFIX)]
                shorter = [{name: _short(value) for name, value in row.items()} for row in known]
                path.write_text(page.compact(shorter), encoding="utf-8")


def _short(value: Any) -> Any:
    return rounded(value) if isinstance(value, float) and is_number(value) else value


class Believed(OutputPublisher):
    """Takes out of asv's regressions, their feed and the list of the benchmarks what the samples do not bear out."""

    name, button_label, description, order = "believed", None, "steps beyond the noise", Regressions.order + 1

    @classmethod
    def publish(cls, conf: Any, repo: Any, benchmarks: Any, graphs: Any, revisions: Any) -> None:
        """Rewrite what asv has just written."""
        site = Path(conf.html_dir)
        samples = regressions.Samples(Path(conf.results_dir), benchmarks, revisions)
        parameters = {f"{graph.path}.json": graph.params for _, graph in graphs if "summary" not in graph.params}
        for each in {json.dumps(given, sort_keys=True): given for given in parameters.values()}.values():
            regressions.settle_summary(site, samples, each)
        file = site / "regressions.json"
        found = util.load_json(str(file))["regressions"]
        kept = regressions.believed(found, samples, parameters)
        if kept != found:
            util.write_json(str(file), {"regressions": kept}, compact=True)
            commits_of = {place: commit for commit, place in revisions.items()}
            Regressions._save_feed(conf, benchmarks, kept, revisions, commits_of)  # noqa: SLF001 (see inside_asv)


class Comparison(OutputPublisher):
    """Puts our page in front of asv's own, each with the way to the other."""

    name, button_label, description, order = "comparison", None, "solvers side by side", 100

    @classmethod
    def publish(cls, conf: Any, repo: Any, benchmarks: Any, graphs: Any, revisions: Any) -> None:
        """Move asv's front page, and write ours in its place."""
        site = Path(conf.html_dir)
        (site / HISTORY).write_text(linked((site / FRONT).read_text(encoding="utf-8")), encoding="utf-8")
        for name in ("history.css", "history.js"):
            shutil.copy(page.PAGES / name, site / name)
        feed = site / "regressions.xml"
        if feed.exists():
            text = feed.read_text(encoding="utf-8")
            feed.write_text(text.replace(f'href="{FRONT}#', f'href="{HISTORY}#'), encoding="utf-8")
        records = read_all(history.records_folder(conf.results_dir))
        (site / FRONT).write_text(
            page.page(records, project=str(conf.project), command="harness dashboard build", site=True),
            encoding="utf-8",
        )


def linked(html: str) -> str:
    """Return asv's front page with ours in its navigation, before the tab of a single benchmark, and what mends it."""
    entry = f'<li id="nav-li-solvers"><a href="{FRONT}">Compare solvers</a></li>\n        '
    html = re.sub(r'(?=<li id="nav-li-graphdisplay">)', entry, html, count=1)
    return re.sub(r"(?=</head>)", _ADDED, html, count=1)


class Offline(OutputPublisher):
    """Copies the scripts of others beside the pages and lets the pages load those; the last of all."""

    name, button_label, description, order = "offline", None, "scripts of others, stored with the site", 110

    @classmethod
    def publish(cls, conf: Any, repo: Any, benchmarks: Any, graphs: Any, revisions: Any) -> None:
        """Rewrite every page of the site but ours, which has all in it."""
        site = Path(conf.html_dir)
        shutil.copytree(HERE / "vendor", site / "vendor", dirs_exist_ok=True)
        for path in sorted({*site.glob("*.html")} - {site / FRONT}):
            html, missing = localized(path.read_text(encoding="utf-8"))
            path.write_text(html, encoding="utf-8")
            for address in missing:
                log.warning(f"{path.name} loads {address} over the network: asv is newer than our copies")


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
