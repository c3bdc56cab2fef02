"""A small kernel oracle for tests of rows in memory, and the same oracle or problem with a counter of its own."""

import numpy as np

from harness import RBF, KernelOracle


def oracle(n=40, dtype=np.float64, seed=0):
    x = np.random.default_rng(seed).normal(size=(n, 3))
    return KernelOracle(RBF(0.5), x).replace(dtype=dtype)


def own(stated):
    """Return the same oracle, or the same problem over it, with a counter and a cache of its own."""
    if isinstance(stated, KernelOracle):
        settings = {"ridge": stated.ridge, "z": stated.z, "threads": stated.threads, "cache_mb": stated.cache_mb}
        return KernelOracle(stated.kernel, None, part=stated._part, **settings)
    return stated._over(own)


def whole(kernel):
    """Return all values of a kernel, counted to nobody."""
    return np.array(own(kernel).block(np.arange(kernel.n)))
