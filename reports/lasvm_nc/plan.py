"""What the study of Ertekin, Bottou and Giles measures: its solvers, data sets, repetitions and ladders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from reports.kit.grids import PaperSet

FULL, G, NC, I = SOLVERS = ("full-svm", "lasvm-g", "lasvm-nc", "lasvm-i")  # noqa: E741  the paper's letters
_PRINTED = "second_order_from=none"
LASVM = f"lasvm[{_PRINTED}]"  # figure 2: of 2005, its pairs as printed
ONLINE = f"lasvm[{_PRINTED},finishing=False]"
FORMULATIONS = ("c-svc-nobias", "ramp-svc")
METRICS = ("prbep", "roc-auc", "g-means")
NOISY = ("adult", "banana", "usps-n")
AT_PRINTED = -1.0  # the ramp's s in Table 3


def with_bend(solver: str, s: float) -> str:
    """Return a ramp solver with another s; the paper's -1 is the run of Table 3."""
    return solver if s == AT_PRINTED else f"{solver}[s={s:g}]"


def bookkeeping(solver: str) -> str:
    """Return ``solver`` with a record of where each example lay on the ramp when its turn came."""
    return f"admissions[oracle={solver}]"


@dataclass(frozen=True)
class Plan:
    """Sets, repetitions and ladders. Selections are as ``harness compare`` takes them.

    sets : Table 2's, by name
    n : set -> its training points, which a ladder divides
    repetitions : of Table 3, ``fewer`` of the sets named there
    bends : s of figure 5, each ``bend_repetitions`` times, or ``fewer``
    shares : part of the training points after which figures 2 and 4 look at the model; all of them are Table 3's runs
    share_repetitions : draws of such a part
    followed : the set of Table 1 and figure 2
    """

    sets: Mapping[str, PaperSet]
    n: Mapping[str, int]
    repetitions: int = 10
    fewer: Mapping[str, int] = field(default_factory=dict)
    bends: tuple[float, ...] = (-3.0, -2.0, -1.5, -1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75)
    bend_repetitions: int = 3
    shares: tuple[int, ...] = (64, 32, 16, 8, 4, 2)
    share_repetitions: int = 3
    followed: str = "adult"

    def times(self, name: str, most: int) -> int:
        """Return how often a set is run, ``most`` if it is a small one."""
        return min(most, self.fewer.get(name, most))

    def sizes(self, name: str) -> list[int]:
        """Return the training points of figures 2 and 4, all but the whole."""
        return [self.n[name] // share for share in self.shares]


def _by_name(*sets: PaperSet) -> dict[str, PaperSet]:
    return {each.name: each for each in sets}


PLAN = Plan(
    # usps: gamma = 2 is for smoothed images divided by 16, see the part settings of lasvm-2005
    sets=_by_name(
        PaperSet("adult", "adult", C=100.0, gamma=0.005),
        PaperSet("mnist-8", "mnist[digit=8]", C=100.0, gamma=0.001),
        PaperSet("banana", "banana[split_seed={k}]", C=10.0, gamma=1.0),
        PaperSet("reuters", "reuters", C=1.0, gamma=0.5),
        PaperSet("usps", "usps[split_seed={k},smooth=0.75]", C=1.0, gamma=2 / 256),
        PaperSet("usps-n", "usps[split_seed={k},smooth=0.75,noise=0.1,noise_seed={k}]", C=1.0, gamma=2 / 256),
    ),
    n={"adult": 32_561, "mnist-8": 60_000, "banana": 4000, "reuters": 7770, "usps": 7329, "usps-n": 7329},
    fewer={"adult": 5, "mnist-8": 3},
)

_DIGIT = "digits-in-order[digit=8]"
_TWO = "banana-like[n=1000,n_test=2000,seed={k}]"
QUICK = Plan(
    sets=_by_name(
        PaperSet(
            "adult", "banana-like[n=1000,n_test=2000,spread=0.9,seed={k}]", C=100.0, gamma=1.0, stands_for="adult"
        ),
        PaperSet("mnist-8", _DIGIT, C=100.0, gamma=0.05, stands_for="mnist-8"),
        PaperSet("banana", _TWO, C=10.0, gamma=1.0, stands_for="banana"),
        PaperSet("usps", "digits-in-order[digit=0]", C=1.0, gamma=0.05, stands_for="usps"),
        PaperSet("usps-n", "digits-in-order[digit=0,noise=0.1,noise_seed={k}]", C=1.0, gamma=0.05, stands_for="usps-n"),
    ),
    n={"adult": 1000, "mnist-8": 1198, "banana": 1000, "usps": 1198, "usps-n": 1198},
    repetitions=2,
    bends=(-3.0, -1.0, 0.5),
    bend_repetitions=1,
    shares=(4,),
    share_repetitions=1,
)
