"""The loops of the kernel are compiled once a precision, whatever arrays a caller has."""

import subprocess
import sys

SCRIPT = """
import numpy as np, scipy.sparse
from harness import RBF, KernelOracle
from harness.kernels import compiled

rng = np.random.default_rng(0)
x = rng.normal(size=(300, 40))
fixed, rows = x.copy(), np.arange(0, 300, 2)
fixed.flags.writeable = rows.flags.writeable = False
rare = scipy.sparse.csr_array(x * (rng.random(x.shape) < 0.03))
for points in (x, fixed, rare):
    oracle = KernelOracle(RBF(gamma=0.1), points)
    for part in (oracle, oracle.restrict(rows), oracle.restrict(np.arange(299, 10, -2))):
        for some in (np.arange(3), np.arange(100)[::-2], np.arange(60)[::3]):
            part.block(some), part.block(some, np.arange(90)[::-1]), part.expand(np.ones(part.n), some)
names = "add_by_point", "rare_columns", "scan", "dense_rows", "gather", "lay_out"
print(*(len(getattr(compiled, name).signatures) for name in names))
"""


def test_each_loop_has_one_signature():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1"] * 6
