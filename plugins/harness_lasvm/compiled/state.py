"""The state of LASVM that its loops change: arrays and records, each place in them by its name.

The members of S live in *slots* 0 .. top - 1. A removed member leaves a hole that the next one fills, so no column of
a stored row ever moves; a hole has alpha 0 and is eligible for nothing. A *row* of the pool stores K(s, slots) for one
member. Rows are brought up to date when they are used: ``log`` lists the slots in the order of their filling, a row
counts the entries of the log that it includes, and since K is symmetric the values it lacks stand in the rows of the slots
filled since. Only if such a row was dropped for lack of memory must kernel values be computed anew; then the loops
return ``NEED_ROW`` with nothing changed, and are called again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

# why a loop returned, or what a step of it did
DONE, NEED_ROW, STALE, PAUSED, BAILED, STEPPED, CLEAN_DUE = range(7)


def record(whole: str, real: str = "") -> Any:
    """Return the type of a record of whole numbers and real ones: ``r.name`` in compiled loops, ``r["name"]`` outside."""
    return np.dtype([(name, np.int64) for name in whole.split()] + [(name, np.float64) for name in real.split()])


SLOT = record("member row listed", "lower upper")
ROW = record("slot logged used")
EXAMPLE = record("slot", "target lower upper diagonal")
STACKS = record("hole free_row zero entered place")
NOW = record(
    "top holes free_rows zeros entered clock caught_up tick width rows spare"
    " i_max i_min needed at stage operations pause sweep",
    "g_max g_min gained",
)
SUMS = record("i_high i_low support skipped reversed uncleaned", "gap high low threshold target")


class Members(NamedTuple):
    """The state, changed in place.

    slots : (n,) records: member (the example in it, or -1), row (of the pool, or -1), listed (1 if among the zero slots),
        lower, upper
    alpha, grad, diagonal : (n,) per slot
    rise, fall : (n,) float32 per slot: 0 if alpha < upper, else -inf; 0 if alpha > lower, else inf
    rows : (n + 2,) records, per row of the pool: slot (-1: free), logged (length of the log when it was last brought up to
        date), used (tick of its last use)
    examples : (n,) records: slot (-1: no member), target, lower, upper, diagonal (K_kk)
    stacks : (n + 2,) records: hole, free_row, zero (slots with alpha = 0),
        entered (slot of a member that entered from among the fetched candidates), place (its row of their values)
    log : slots in the order of their filling
    pool : kernel values, row r from r width on
    now : (1,) record: top; holes, free_rows, zeros, entered (sizes of the stacks); clock (length of the log), caught_up
        (its length when all rows were last brought up to date together); tick (uses of rows), width, rows (that the pool
        has room for), spare (the row that the next candidate's values go into); g_max, g_min, i_max, i_min (the largest g
        over alpha < upper, the smallest over alpha > lower, their slots, -1 where nothing is eligible); needed (slot whose
        row is needed); at (candidate in work), stage (1 if it was
        PROCESSed), operations (PROCESS and REPROCESS so far), pause (after how many a loop returns), sweep (whether
        REPROCESS removes blatant non support vectors), gained (what the steps of LASVM added to the dual so far)
    """

    slots: Any
    alpha: Any
    grad: Any
    diagonal: Any
    rise: Any
    fall: Any
    rows: Any
    examples: Any
    stacks: Any
    log: Any
    pool: Any
    now: Any


class Candidates(NamedTuple):
    """Examples whose kernel values were fetched.

    examples : (c,) in the order of their visits
    places : (c,) row of ``values`` of each, -1 for those that were members
    values : (f, top) their kernel values with the slots that were there then
    among : (f, f) between them
    """

    examples: Any
    places: Any
    values: Any
    among: Any
