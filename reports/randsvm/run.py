"""Measure what RandSVM's Tables 1 and 2 have: RandSVM-1 over our oracles beside LIBSVM.

    python reports/randsvm/run.py --part table1 --sets checkerboard-1e6
    HARNESS_DATA=<raw folder> python reports/randsvm/run.py               # everything: an hour, 20 minutes of it LIBSVM's limits
    python reports/randsvm/report.py                                      # tables and plots of it

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
from benchmarks.papers.randsvm import parts  # noqa: E402

if __name__ == "__main__":
    command.main(Path(__file__).resolve().parent, parts.PARTS, (*parts.SETS, *parts.REGRESSION), __doc__)
