"""Measure what Ertekin, Huang, Bottou, Giles (Learning on the Border, 2007) publish, with labels that are bought.

    HARNESS_DATA=<raw folder> python reports/border-2007/run.py --part table1,undersampling --sets grain
    HARNESS_DATA=<raw folder> python reports/border-2007/run.py                 # everything but mnist-8: an hour
    python reports/border-2007/report.py                                        # tables and plots of it

mnist-8 is measured where it is named: --sets mnist-8. Every run is in results.jsonl before the next one starts. The same
command again goes on where it stopped: what was measured with the same code, data and machine is taken from the
harness's store; with --keep whatever code measured it. ``undersampling`` and ``figure7`` go on from what AL reached in
``table1``.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from benchmarks.papers import command  # noqa: E402
from benchmarks.papers.border_2007 import description, parts, visits, whole  # noqa: E402

if __name__ == "__main__":
    journal = command.main(Path(__file__).resolve().parent, whole.PARTS, whole.SETS, __doc__, finish=whole.FINISH)
    description.complete(journal, parts.EVERY.values())
    visits.complete(journal)
