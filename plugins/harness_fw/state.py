"""What the compiled loops share: the state of a run and the names of its places.

Points are in an order of the solver's own, the points of hull 0 first, then those of hull 1 (polytope-distance has
hull 0 alone), and everything is signed: s is the label, or 1 in polytope-distance,

    row_i[l] = s_i s_l k(x_i, x_l)        scores[l] = s_l <w, phi(x_l)> = sum_i weight_i row_i[l]

so that all hulls need one code: the point to go to has the smallest score of its hull, the point to leave has the
largest one among the support, and w = u_0 + u_1 is the sum of the hulls' signed points u_g = sum_i weight_i s_i phi(x_i).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from harness import RowBuffer

from harness.arrays import Index, Vector

# the rules, see rules.py
FW, GILBERT, PAIRWISE, MDM, NEAREST = range(5)
# why a loop came back
STEPS, DONE, MISSING, TOUCHING, STALLED = range(5)
# places in State.figures: |w|^2, epsilon_+, epsilon_-, the least epsilon and the least |w|^2 so far
NORM, PLUS, MINUS, LEAST, SHORTEST = range(5)
# kinds of steps and their places in State.counts, after TAKEN; IDLE: iterations in a row that made neither |w|^2
# nor epsilon smaller than ever; KIND: the kind of the last step, WANTED: points it is about, READ: rows read
TAKEN, ADD, DECREASE, DROP, PAIR, SWAP, BOTH, IDLE, KIND, WANTED, READ = range(11)
KINDS = ("", "add", "decrease", "drop", "pair", "swap", "both")
# what a step does to a wanted point besides its change: nothing, out of the support, to the cap
FREE, OUT, CAPPED = range(3)

SEGMENT = 512  # scores updated and searched at a time: they and the rows stay in the first-level cache
MOST = 4  # points that a step is about, at most


class State(NamedTuple):
    """Everything the loops change; n points, hulls g = 0 .. G-1, capacity rows in memory.

    scores : (n,) s_l <w, phi(x_l)>
    parts : (2, n) s_l <u_g, phi(x_l)> for the rule NEAREST on two hulls, whose sum the scores are; else (0, 0)
    closed : (n,) inf where a weight is at its cap, else 0; (0,) if weights have no cap
    diagonal : (n,) k(x_l, x_l); read only
    rows : (capacity, n) signed rows; read only for the loops
    slot : (n,) place of a point's row in ``rows``, -1 if it is not there; read only for the loops
    used : (capacity,) iteration that last used the row in each place
    begin : (G + 1,) points begin[g] .. begin[g + 1] - 1 are those of hull g; read only
    support, weight : (n,) hull g's support and its weights, packed from place begin[g] on; weights > 0 with sum 1
    position : (n,) place of a point in ``support``, -1 outside
    size : (G,) support vectors of each hull
    near, far : (G,) point with the smallest score below its cap, support vector with the largest score
    mean : (G,) <u_g, w>
    own : (G,) <u_g, u_g>, for NEAREST
    wanted : (MOST,) the points the next step is about; counts[WANTED] of them
    gram : (MOST, MOST) signed kernel values between the wanted points
    on : (MOST, 2) signed <u_g, x> of the wanted points, for NEAREST
    coefs, ends : (MOST,) what the step adds to the weight of a wanted point; FREE, OUT or CAPPED
    keep : (G,) what the step multiplies the weights of a hull by, before it adds
    figures, counts : see the constants of this module
    scratch : (3 SEGMENT / 2,)
    """

    scores: Vector
    parts: Vector
    closed: Vector
    diagonal: Vector
    rows: Vector
    slot: Index
    used: Index
    begin: Index
    support: Index
    weight: Vector
    position: Index
    size: Index
    near: Index
    far: Index
    mean: Vector
    own: Vector
    wanted: Index
    gram: Vector
    on: Vector
    coefs: Vector
    ends: Index
    keep: Vector
    figures: Vector
    counts: Index
    scratch: Vector


def new_state(diagonal: Vector, begin: Index, buffer: RowBuffer, *, parts: bool = False, capped: bool = False) -> State:
    """Return a state without support, on the rows of ``buffer``."""
    n, hulls = len(diagonal), len(begin) - 1
    return State(
        scores=np.zeros(n),
        parts=np.zeros((2, n) if parts else (0, 0)),
        closed=np.zeros(n if capped else 0),
        diagonal=diagonal,
        rows=buffer.rows,
        slot=buffer.slot_of,
        used=buffer.last_used,
        begin=np.asarray(begin, dtype=np.int64),
        support=np.zeros(n, dtype=np.int64),
        weight=np.zeros(n),
        position=np.full(n, -1, dtype=np.int64),
        size=np.zeros(hulls, dtype=np.int64),
        near=np.zeros(hulls, dtype=np.int64),
        far=np.zeros(hulls, dtype=np.int64),
        mean=np.zeros(hulls),
        own=np.zeros(hulls),
        wanted=np.zeros(MOST, dtype=np.int64),
        gram=np.zeros((MOST, MOST)),
        on=np.zeros((MOST, 2)),
        coefs=np.zeros(MOST),
        ends=np.zeros(MOST, dtype=np.int64),
        keep=np.ones(hulls),
        figures=np.array([0.0, 0.0, 0.0, np.inf, np.inf]),
        counts=np.zeros(11, dtype=np.int64),
        scratch=np.empty(SEGMENT + SEGMENT // 2),
    )
