"""Tables and plots of what reports/peers/run.py measured.

    python reports/peers/report.py [--out reports/peers]

Reads OUT/results.jsonl, writes OUT/ratios.png, scaling.png, quality.png and summary.csv, and the tables of OUT/README.md
between its markers ``<!-- begin NAME -->`` and ``<!-- end NAME -->``; the prose between them stays as it is.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from reports.kit.journal import read_rows  # noqa: E402
from reports.kit.markdown import filled  # noqa: E402
from reports.peers import plots, tables  # noqa: E402
from reports.peers.results import Results  # noqa: E402

FRAME = """# Against the SVM libraries that people use on a CPU

<!-- begin machine -->
<!-- end machine -->

## What to pick

## Where we lose, and why

![Time of each library over ours, one thread and two](ratios.png)

## Time to a certified quality

<!-- begin certified -->
<!-- end certified -->

## Default stopping

<!-- begin default -->
<!-- end default -->

![KKT violation and relative gap that each leaves at its defaults](quality.png)

## How far from the limit, and how many kernel values

<!-- begin limits -->
<!-- end limits -->

## Scaling

![Time against the number of points](scaling.png)

<!-- begin scaling -->
<!-- end scaling -->

## Memory and warm start

<!-- begin probes -->
<!-- end probes -->
"""


def main() -> None:
    """Write the report of the folder that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "reports" / "peers")
    out = parser.parse_args().out
    rows = read_rows(out / "results.jsonl")
    if not any(row["part"] == "peers" for row in rows):
        parser.error(f"{out / 'results.jsonl'} holds no measurement; run reports/peers/run.py --out {out} first.")
    results = Results(rows)
    page = out / "README.md"
    text = page.read_text() if page.exists() else FRAME
    page.write_text(filled(text, tables.sections(results)))
    results.summary().to_csv(out / "summary.csv", index=False, float_format="%.6g")
    plots.ratios(results, out / "ratios.png")
    plots.quality(results, out / "quality.png")
    plots.scaling(results, out / "scaling.png")
    print(f"{page}, summary.csv, ratios.png, quality.png and scaling.png are in {out}")


if __name__ == "__main__":
    main()
