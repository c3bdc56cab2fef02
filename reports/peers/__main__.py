"""The benchmark against other people's libraries: python reports/peers {map,hole,run,page} [options].

map     drawn problems over n, d, C, gamma and noise: where each library stands beside ours
hole    the problem that took smo-block 80 s, and problems like it, against the solver's own variants
run     the 17 sets
page    tables and plots of what ``run`` measured
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

COMMANDS = {"map": "map_run", "hole": "hole", "run": "run", "page": "page"}


def main() -> None:
    """Carry out the command that the command line names."""
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name not in COMMANDS:
        print(__doc__)
        raise SystemExit(
            0 if name in ("-h", "--help") else f"There is no command '{name}'; there are {', '.join(COMMANDS)}."
        )
    sys.argv[:2] = [f"reports/peers {name}"]
    importlib.import_module(f"reports.peers.{COMMANDS[name]}").main()


if __name__ == "__main__":
    main()
