"""Measure what Balcazar, Dai, Tanaka, Watanabe (2008) bound or leave to experiments: rounds, sample sizes, dimensions.

    python reports/random-sampling-2008/run.py --part rounds --n 10000
    python reports/random-sampling-2008/run.py                          # everything: ten minutes
    python reports/random-sampling-2008/report.py                       # tables and plots of it

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
from benchmarks.papers.random_sampling_2008 import parts  # noqa: E402

if __name__ == "__main__":
    command.main(Path(__file__).resolve().parent, parts.PARTS, (), __doc__)
