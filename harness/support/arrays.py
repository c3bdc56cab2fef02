"""Names for the arrays that functions take and return: the shape by the word, the numbers by the type.

Public: ``from harness.support.arrays import Vector``. numpy's types know no shapes, so the docstring of what uses a name says
how long each side is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Vector = np.ndarray[Any, np.dtype[np.float64]]
"""(n,) float64: coefficients, scores, a diagonal."""

Matrix = np.ndarray[Any, np.dtype[np.float64]]
"""(m, n) float64."""

Block = np.ndarray[Any, np.dtype[Any]]
"""(q, m), float64 or float32 as was asked for: kernel values, points, or what either is computed from."""

Array = np.ndarray[Any, np.dtype[Any]]
"""Any shape and any type: what a user gave, or labels of any kind."""

Index = np.ndarray[Any, np.dtype[np.intp]]
"""(q,) numbers of points, places or slots; int64 on every machine that the harness runs on."""

Mask = np.ndarray[Any, np.dtype[np.bool_]]
"""(n,) truth values."""
