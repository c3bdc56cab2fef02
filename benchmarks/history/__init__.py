"""What asv measures at every commit: the cells of ``../grid.json`` and the harness itself.

This code runs under old versions of the harness, so it uses only what those have, and says of the rest that it is
not there. What is set here must be set before numpy and numba are imported: one thread, and a folder of machine
code that belongs to the installed source (see machine_code.py).
"""

import os
import sys

from . import machine_code

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "BLIS_NUM_THREADS"):
    os.environ[_name] = "1"
os.environ.update(machine_code.environment())

if sys.argv[1:2] == ["run_server"]:  # asv's forkserver: what it imports and compiles, no number pays for
    from . import warm

    warm.prepare()
