"""The compilers of harness.support.jit for loops that make and return no array: without numba's counts of the users of arrays.

A slice of a counted array costs two locked increments: a loop of a few hundred nanoseconds that slices ten arrays spends as long
on counting. The code for it takes a third of the time of a compilation. The caller of a loop has references to its arguments.
"""

from __future__ import annotations

from functools import partial

from harness.support import jit

compiled = partial(jit.compiled, _nrt=False)
inner = partial(jit.inner, _nrt=False)
inlined = partial(jit.inlined, _nrt=False)
