"""Tables and pictures of what reports/border-2007/run.py measured, beside the published numbers.

    python reports/border-2007/report.py

Needs the extra ``report``. The prose of README.md stays; the tables between its markers are written anew.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from benchmarks.papers import page  # noqa: E402
from benchmarks.papers.border_2007 import whole  # noqa: E402

if __name__ == "__main__":
    page.make(Path(__file__).resolve().parent, whole.sections, whole.PICTURES, __doc__)
