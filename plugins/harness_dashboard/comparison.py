"""Our own pages in asv's site: the solvers of a commit side by side.

The pages are static (``pages/``, put in their places by `front`) and read what is written beside them (`data`).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from asv.publishing import OutputPublisher

from harness import is_number
from harness_dashboard import commits, front, history
from harness_dashboard.data import compact, write_data
from harness_dashboard.numbers import PREFIX, rounded
from harness_dashboard.records import read_all


class Comparison(OutputPublisher):
    """Puts our pages and their data in front of asv's own."""

    name, button_label, description, order = "comparison", None, "solvers side by side", 100

    @classmethod
    def publish(cls, conf: Any, repo: Any, benchmarks: Any, graphs: Any, revisions: Any) -> None:
        """Write the pages into the site that asv has just copied."""
        site = Path(conf.html_dir)
        called = commits.called(conf.repo)
        front.arrange(site, called)
        records = read_all(history.records_folder(conf.results_dir))
        write_data(records, site / "solvers" / "data", project=str(conf.project), beside=True, called=called)


class Known(OutputPublisher):
    """Takes the combinations that were never measured out of asv's list: a grid of names has many."""

    name, button_label, description, order = "known", None, "only what was measured", 2

    @classmethod
    def publish(cls, conf: Any, repo: Any, benchmarks: Any, graphs: Any, revisions: Any) -> None:
        """Rewrite the lists that asv has just written; of other benchmarks than ours nothing is taken."""
        for path in Path(conf.html_dir, "graphs").rglob("summary.json"):
            rows = json.loads(path.read_bytes())
            if isinstance(rows, list) and all(isinstance(row, dict) for row in rows):
                known = [row for row in rows if row["last_value"] is not None or not row["name"].startswith(PREFIX)]
                shorter = [{name: _short(value) for name, value in row.items()} for row in known]
                path.write_text(compact(shorter), encoding="utf-8")


def _short(value: Any) -> Any:
    return rounded(value) if isinstance(value, float) and is_number(value) else value
