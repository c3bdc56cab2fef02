"""The constants of block SMO, each with its quantity, its unit and the measurement that fixed it.

A ratio is CPU time without the rule over CPU time with it, on problems drawn for the measurement: in the mean / of the worst
problem. The page of the plugin has the table.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tuning:
    """Thresholds of the strategies; the compiled loops have theirs beside them."""

    # -- whole kernel matrices
    dense_points: int = 2500  # points up to which the whole kernel matrix is computed at once: 1.32 / 3.1
    dense_path_points: int = 5000  # the same along a path, where the matrix serves every C

    # -- the points nearest to a violation, with their whole kernel matrix
    round_cost: float = 1e6  # cost of a round beside its steps, in steps times variables
    round_share: float = 0.25  # the same over its variables times the active points
    dense_payoff: float = 3.0  # cost of the rounds over its entries, from which the matrix pays: .97 / 1.4, .99 / 1.8
    active_factor: float = 2.0  # number of active points over points that are free or violate
    active_least: int = 512  # smallest number of active points
    active_slack: float = 1.1  # smallest number of active points over points that are free or violate
    focus_points: int = 16384  # largest number of points of such a problem: of more, too many matter
    focus_violation: float = 0.5  # violation, in the tolerance of narrowed bounds, below which none is computed

    # -- parking, where the rows of the free variables do not fit
    crowded: float = 0.8  # free variables over rows that fit, above which points are parked: 1.01 / 2.1
    parked_least: float = 0.4  # smallest fraction of the active points that is worth parking
    snapshots: int = 6  # stored coefficients that scores of parked points are updated from: 1.03 / 1.9 for one
    parking_interval: int = 4  # rounds until parking is tried again after it was not worth it

    # -- working sets
    working_set: int = 832  # largest number of variables of a working set; n / 12 of n points: 1.2 on hulls with 832
    working_set_least: int = 256  # smallest number of variables of a working set
    staying_share: float = 0.5  # fraction of a working set that stays in the next one
    inner_violation: float = 0.2  # violation that a descent in a working set leaves, over that before it
    inner_steps: int = 20  # steps of such a descent at most, over its variables

    # -- bounds narrower than the problem's, at a large C: .95 / 1.4, 1.06 / 7.3 at C from 30 to 1e5
    narrow_width: float = 256.0  # width of the bounds, in first bounds, from which narrower ones come first
    widening: float = 4.0  # factor from one width to the next
    narrow_violation: float = 0.3  # tolerance between narrowed bounds, over the mean |linear|
    last_widening: float = 0.9  # fraction of the problem's bounds from which they come next
    # bounds narrowed where SMO is lost after a round over all points: 1.00 / 1.3, 1.04 / 3.6
    lost_violation: float = 20.0  # violation, in that tolerance, that counts as lost
    lost_points: float = 0.1  # fraction of the points that must violate then
    sample_from: int = 1000  # points from which a sample is solved first: 1.00 / 1.7, 1.05 / 3.4
    sample_points: int = 256  # points of the sample
    sample_violation: float = 0.1  # violation that the sample's solution leaves, over the mean |linear|
    sparse_support: float = 0.33  # fraction of the sample that supports, up to which few rows are needed
    sparse_bounded: float = 0.03  # fraction of the sample at its bound, up to which wide bounds do no harm
    sparse_exact: int = 700  # expected support vectors up to which float64 is used at once

    # -- support vectors of the first point where one sum is fixed and must not be 0 (one-class)
    rank_sample: int = 128  # points of the sample whose mean kernel value ranks all points: one-class 1.35 / 3.2
    rank_least: int = 256  # support vectors from which this is worth its cost

    # -- float32 rows: 1.33 / 5.5
    exact_points: int = 700  # points up to which a second precision would cost more than it saves
    exact_points_reused: int = 2500  # the same of hulls, whose violation is small beside their scores, and along a path
    value_rounding: float = 0.25  # typical relative rounding of a float32 value, in machine epsilons
    blur_share: float = 0.25  # rounding of scores over violation, from which float32 rows are of no use
    blur_violation: float = 0.05  # fraction of the violation in place of the target, where that is larger
    target_share: float = 0.75  # target in float32 over tau, at least
    rounding_margin: float = 2.0  # rounding of scores that is left between the target in float32 and tau
    sample_scores: int = 16  # scores that are computed in both precisions
    clear_blur: float = 0.1  # bound of the rounding over the target, up to which it is not measured: 1.11 / 1.6
    rounding_bound: float = 4.0  # bound of the rounding over the largest difference of the sample
    exact_violation: float = 20.0  # distance from a violation, in tau, up to which points are active in float64
    exact_factor: float = 3.0  # active points in float64 over points that are free or violate, before the end is near
    stall_rounds: int = 60  # rounds without halving a small violation, after which float64 is used: 1.03 / 4.4
    stall_violation: float = 0.1  # a small violation, in the tolerance of narrowed bounds

    # -- Newton steps over the free variables: 1.07 / 3.5
    newton_wait: float = 0.125  # steps of a descent at least, over its variables
    newton_fixed: float = 1e5  # fixed cost of a step, in steps times variables
    newton_factor: float = 0.03  # cost of a factor of f variables over f^3, in the same unit
    newton_square: float = 10.0  # cost of the walk over f^2, in the same unit

    # -- where a run pauses and ends
    pause: int = 20_000_000  # steps times variables between two iterates: some milliseconds
    gap_share: float = 0.95  # fraction of the gap to reach, as its denominator comes from older scores


TUNING = Tuning()
