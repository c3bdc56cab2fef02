"""The state of LASVM as its compiled loops see it: a few arrays, and the names of their rows."""

from __future__ import annotations

from typing import Any, NamedTuple

# indices into Members.counts
TOP, HOLES, CLOCK, TICK, WIDTH, ROWS, FREE_ROWS, SPARE, ZEROS, I_MAX, I_MIN = range(11)
WANTED, GAPS, AT, STAGE, BORN, OPERATIONS, PAUSE, SWEEP, CAUGHT = range(11, 20)
N_COUNTS = 20
G_MAX, G_MIN = range(2)  # into Members.extremes
MEMBER, ROW_OF, LISTED = range(3)
ALPHA, GRAD, LOWER, UPPER, DIAGONAL = range(5)
RISE, FALL = range(2)
SLOT_OF, SEEN, USED = range(3)
HOLE, ZERO, FREE_ROW, GAP, BORN_SLOT, BORN_FROM, WHERE = range(7)

DONE, NEED_ROW, STALE, PAUSED, BAILED, STEPPED = range(6)


class Members(NamedTuple):
    """The state of LASVM, changed in place by the compiled loops.

    A few arrays with many rows each: passing many arrays would double the time to compile.

    slots : (3, n) int: per slot MEMBER (example or -1), ROW_OF (row of the pool or -1), LISTED (1 if among the ZERO slots)
    reals : (5, n): per slot ALPHA, GRAD, LOWER, UPPER, DIAGONAL
    ways : (2, n) float32: per slot RISE (0 if alpha < upper, else -inf), FALL (0 if alpha > lower, else inf)
    rows : (3, n + 2) int: per row of the pool SLOT_OF (-1: free), SEEN (length of the log when it was last brought
        up to date), USED (tick of its last use)
    lists : (7, n + 2) int: stacks HOLE and FREE_ROW; ZERO (slots with alpha = 0); GAP (slots whose values a row lacks);
        BORN_SLOT and BORN_FROM (members that entered during this block of candidates); WHERE, per example its slot or -1
    log : slots in the order of their filling
    coef : (n,) dual_coef as of the last ``hot.write``
    pool : kernel values, row r from r counts[WIDTH] on
    counts, extremes : scalars, see the indices above
    """

    slots: Any
    reals: Any
    ways: Any
    rows: Any
    lists: Any
    log: Any
    coef: Any
    pool: Any
    counts: Any
    extremes: Any


class Box(NamedTuple):
    """What PROCESS needs to know of all n examples: targets, lower and upper bounds, diagonal of K."""

    targets: Any
    lower: Any
    upper: Any
    diagonal: Any
