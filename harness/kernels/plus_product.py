"""The kernel k(x_i, x_j) + z_i z_j: every point has one more coordinate z_i, which takes part as an inner product.

The points and their layout stay those of k: no copy of the data, and no matrix of the size of the kernel matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.kernels.columns import Columns
from harness.kernels.counter import Counter
from harness.kernels.engine import Engine
from harness.kernels.oracle import KernelOracle

if TYPE_CHECKING:
    Vector = np.ndarray[Any, np.dtype[np.float64]]
    Block = np.ndarray[Any, np.dtype[Any]]


class PlusProductEngine(Engine):
    """The engine of k + z z' over ``inner``, the engine of k; z, (n,), is not among the features of the points."""

    def __init__(self, inner: Engine, z: Vector) -> None:
        self.inner, self.z = inner, z
        self.kernel, self.dtype, self.threads, self.n = inner.kernel, inner.dtype, inner.threads, inner.n

    @property
    def source(self) -> Any:
        return self.inner.source

    @property
    def n_features(self) -> int:
        return self.inner.n_features

    @property
    def is_mapped(self) -> bool:
        return self.inner.is_mapped

    @property
    def largest(self) -> float:
        return self.inner.largest + float(np.max(self.z**2, initial=0.0))

    @property
    def sums_differences(self) -> bool:
        return self.inner.sums_differences

    def astype(self, dtype: Any) -> PlusProductEngine:
        return PlusProductEngine(self.inner.astype(dtype), self.z)

    def with_threads(self, threads: int) -> PlusProductEngine:
        return self if threads == self.threads else PlusProductEngine(self.inner.with_threads(threads), self.z)

    def subset(self, indices: Block) -> PlusProductEngine:
        return PlusProductEngine(self.inner.subset(indices), self.z[indices])

    def columns(self) -> Columns:
        return self.inner.columns()

    def fill(
        self,
        rows: Block,
        out: Block,
        slots: Block,
        columns: Block | Columns | None,
        after: Callable[[int, int], None] | None,
    ) -> None:
        """Compute into ``out[slots, :m]``; the product is added to a tile while it is in the core's cache."""
        own = self.z[rows].astype(self.dtype)
        index = columns.index if isinstance(columns, Columns) else columns
        across = (self.z if index is None else self.z[index]).astype(self.dtype)

        def finished(start: int, stop: int) -> None:
            for value, slot in zip(own, slots, strict=True):
                out[slot, start:stop] += value * across[start:stop]
            if after is not None:
                after(start, stop)

        self.inner.fill(rows, out, slots, columns, finished)

    def expand(self, support: Block, coef: Block, columns: Block | None) -> Block:
        scores = self.inner.expand(support, coef, columns)
        return scores + (self.z if columns is None else self.z[columns]) * float(self.z[support] @ coef)

    def diagonal(self) -> Block:
        return np.asarray(self.inner.diagonal() + self.z * self.z)


class PlusProduct(KernelOracle):
    """The counted oracle of k + z z': its evaluations are those of k.

    Parameters
    ----------
    plain : the oracle of k, whose counter, cache size, ridge and threads are taken over
    z : (n,) float64, the further coordinate of each point

    New points have no such coordinate: ``expand_new`` is that of k.
    """

    def __init__(self, plain: KernelOracle, z: Vector) -> None:
        if z.shape != (plain.n,):
            raise ValueError(f"z has shape {z.shape} for a kernel over {plain.n} points; give one value for each.")
        engine = PlusProductEngine(plain._engine, z)  # noqa: SLF001 - a sibling, not a solver
        super().__init__(
            plain.kernel, None, cache_mb=plain.cache_mb, ridge=plain.ridge, counter=plain.counter, engine=engine
        )
        self.plain, self.z = plain, z

    @property
    def is_linear(self) -> bool:
        """False: w has the coordinate of z besides those of the features."""
        return False

    def expand(self, dual_coef: Block, rows: Block | None = None) -> Block:
        """Return sum_j dual_coef_j (K[i, j] + z_i z_j), counted as for k."""
        scores = self.plain.expand(dual_coef, rows)
        return scores + (self.z if rows is None else self.z[rows]) * float(self.z @ dual_coef)

    def expand_new(self, dual_coef: Block, points: Any) -> Block:
        """Return sum_j dual_coef_j k(x_j, z) for new points, without the product and without the ridge."""
        return self.plain.expand_new(dual_coef, points)

    @contextmanager
    def _uncounted(self, counter: Counter) -> Iterator[None]:
        with self.plain._uncounted(counter), super()._uncounted(counter):  # noqa: SLF001 - a sibling, not a solver
            yield

    def _view(self, engine: Engine, **changed: Any) -> PlusProduct:
        assert isinstance(engine, PlusProductEngine)
        settings = {"cache_mb": self.cache_mb, "ridge": self.ridge, **changed}
        plain = KernelOracle(self.kernel, None, counter=self.counter, engine=engine.inner, **settings)
        return PlusProduct(plain, engine.z)
