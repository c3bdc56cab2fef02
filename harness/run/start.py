"""Start a process of the host's: ``python -m harness.run.start harness.run.worker FD``.

That it ends when its driver does is settled before it imports what takes a second: who is stopped hears nothing of that.
"""

from __future__ import annotations

import runpy
import signal
import sys

from harness.run.parenthood import at_parents_end


def main() -> None:
    """Run the module that the command line names, as if it had been started itself."""
    # a stopped process goes on when its driver ends, sees that it is alone, and ends
    at_parents_end(signal.SIGCONT)
    module = sys.argv.pop(1)
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
