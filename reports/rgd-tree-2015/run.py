"""Measure what Ding, Xu (Random Gradient Descent Tree, 2015) publish, and how far from global optima everybody is.

    HARNESS_DATA=<raw folder> python reports/rgd-tree-2015/run.py --part table1
    HARNESS_DATA=<raw folder> python reports/rgd-tree-2015/run.py               # everything: an hour or more
    python reports/rgd-tree-2015/report.py                                      # tables and plots of it

Every run is in results.jsonl before the next one starts. The same command again goes on where it stopped: what was
measured with the same code, data and machine is taken from the harness's store; with --keep whatever code measured it.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from benchmarks.papers import command  # noqa: E402
from benchmarks.papers.rgd_tree_2015 import parts  # noqa: E402

if __name__ == "__main__":
    command.main(Path(__file__).resolve().parent, parts.PARTS, tuple(parts.SETS), __doc__)
