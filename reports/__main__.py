"""The studies of papers: python -m reports run STUDY [options], python -m reports page STUDY.

run    measure the parts that are asked for; the same command again goes on where it stopped
page   write the tables and pictures of what was measured
"""

from __future__ import annotations

import sys

from reports.kit import command, page
from reports.kit.study import study_named


def main(arguments: list[str]) -> None:
    """Carry out what the command line asks for."""
    if len(arguments) < 2 or arguments[0] not in ("run", "page"):
        raise SystemExit(__doc__)
    carried_out = command.run if arguments[0] == "run" else page.make
    carried_out(study_named(arguments[1]), arguments[2:])


if __name__ == "__main__":
    main(sys.argv[1:])
