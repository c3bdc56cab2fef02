"""Ding, Xu, Random Gradient Descent Tree (2015): what the study compares, on what, and how often."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

VALIDATION, HELD_OUT = METRICS = ("validation-error", "held-out-error")
PRICES = (0.001, 0.01, 0.1, 1.0)
"""C of the soft margin; in figure 4 the best of them by *test* error is shown, in Table 1 the one that validation chooses."""


def tree(share: float, height: int = 10, **more: object) -> str:
    """Return the RGD-tree that is told the share of outliers."""
    extra = "".join(f",{name}={value}" for name, value in more.items())
    return f"rgd-tree[outliers={share:g},height={height}{extra}]"


def boosted(share: float, rounds: int, nodes: int = 50) -> str:
    """Return so many rounds of boosting with trees of height five, which keep so many nodes of a level."""
    return f"rgd-boosted[outliers={share:g},height=5,rounds={rounds},nodes={nodes}]"


@dataclass(frozen=True)
class Method:
    """What tables call a method, and the runs of which one is chosen.

    candidates : solvers with their parameters
    """

    name: str
    formulation: str
    candidates: tuple[str, ...]
    kernel: str = "linear"


def _priced(form: str, prices: tuple[float, ...] = PRICES) -> tuple[str, ...]:
    return tuple(form.format(C=f"{price:g}") for price in prices)


SOFT = Method("soft margin", "c-svc", _priced("smo-block[C={C}]"))
CCCP = Method("ramp-cccp", "ramp-svc", _priced("ramp-cccp[C={C}]"))
PATH = Method("outlier-path", "ramp-svc", _priced("outlier-path[C={C}]"))
BASELINE = (SOFT, CCCP, PATH)
"""The three of the paper; the best of them is its baseline."""
RBF = Method("soft margin, RBF", "c-svc", _priced("smo-block[C={C}]", (0.1, 1.0, 10.0)), kernel="rbf")
DETECTORS = {"isolation-forest": (0.01, 1.0), "local-outlier": (0.01, 1.0), "confident-learning": (0.1,)}
"""Detectors with the C that are tried: each run imports scikit-learn anew, which takes longer than all else."""
FILTERS = tuple(
    Method(f"filtered, {detector}", "c-svc", _priced(f"filtered[detector={detector},oracle=smo-block,C={{C}}]", prices))
    for detector, prices in DETECTORS.items()
)
GUESSES = (0.05, 0.1, 0.15, 0.2, 0.25)
"""Shares of outliers that RGD may be told; validation chooses."""
OF_A_CLASS = (0.05, 0.2, 0.4)
"""The same where each class has a share of its own: flipped labels are few in a large class and many in a small one."""
TREE = Method("rgd-tree", "outlier-margin", tuple(tree(share) for share in GUESSES))
APART = Method(
    "rgd-tree, a share a class",
    "outlier-margin",
    tuple(
        f"rgd-tree[outliers_plus={plus:g},outliers_minus={minus:g},height=30]"
        for plus in OF_A_CLASS
        for minus in OF_A_CLASS
    ),
)
BOOSTED = Method("rgd-boosted", "outlier-margin", tuple(f"rgd-boosted[outliers={share:g}]" for share in GUESSES))
RGD = Method("RGD", "outlier-margin", (*TREE.candidates, *APART.candidates, *BOOSTED.candidates))
"""All candidates of the three; it is what stands for the paper's RGD-SVM, and validation alone chooses."""
METHODS = (SOFT, CCCP, PATH, RBF, *FILTERS, TREE, APART, BOOSTED, RGD)


RIVALS = tuple(
    replace(method, candidates=tuple(each for each in method.candidates if "C=1]" not in each))
    for method in (SOFT, CCCP, FILTERS[0])
)
"""What stands beside the tree in figure 4(a); with C = 1 a certificate of ramp-svc takes minutes there."""


@dataclass(frozen=True)
class Benchmark:
    """A set of Table 1 that is there.

    n : points that are divided; d : features, without the constant column
    stands_for : in a quick plan, the set of the paper that needs a download
    """

    name: str
    of: str
    n: int
    d: int
    rows: str = "all"
    stands_for: str = ""

    @property
    def selection(self) -> str:
        """The data of repetition k."""
        rows = "" if self.rows == "all" else f"rows={self.rows},"
        return f"noisy-split[of={self.of},{rows}seed={{k}}]"

    @property
    def clean(self) -> str:
        """The same division with no label flipped."""
        return self.selection.replace("seed=", "noise=0,seed=")


SMALL_C = 1.0
RAMP_EXACT = f"ramp-exact[C={SMALL_C:g}]"
RAMP = (
    f"ramp-cccp[C={SMALL_C:g}]",
    f"outlier-path[C={SMALL_C:g}]",
    f"lasvm-nc[C={SMALL_C:g}]",
    f"rescaled[oracle=rgd-tree,C={SMALL_C:g}]",
    f"rescaled[oracle=smo-block,C={SMALL_C:g}]",
)
"""What is held against the global optimum of J_s; the last is the hinge's own direction."""
SMALL_SHARE = 0.15
OUTLIER_EXACT = f"outlier-exact[outliers={SMALL_SHARE:g},delta=0]"
MARGINS = tuple(
    f"{name}[outliers={SMALL_SHARE:g},delta={delta:g}]" for delta in (0.0, 0.5) for name in ("rgd-tree", "rgd-boosted")
)


EFFORTS = tuple(
    f"rgd-tree[outliers=0.15,height={height},nodes={nodes},guesses={guesses}]"
    for height, nodes, guesses in ((10, 50, 3), (30, 50, 3), (30, 50, 9), (30, 300, 3))
)
"""Trees that search longer and longer for the same margin: is it the search that costs accuracy, or what is searched for?"""


WHOLE, BOUNDED = "none", "50"  # nodes of a level


@dataclass(frozen=True)
class Promise:
    """A problem of n <= 200 points, and the tree that the theorem speaks of.

    seeds : of the tree; the data are one draw
    ratio : D / rho; epsilon : the width may be less than the optimum's by this share; mu : of the paths, those that may
    fail; share : outliers, of each class where there are two
    """

    name: str
    data: str
    ratio: float
    against: str = "class"
    height: int = 4
    epsilon: float = 0.5
    mu: float = 0.2
    share: float = 0.1
    delta: float = 0.5
    seeds: int = 200

    @property
    def selection(self) -> str:
        """The data, one draw."""
        return f"{self.data[:-1]},ratio={self.ratio:g},outliers={self.share:g}]"

    @property
    def enough(self) -> int:
        """The theorem's height."""
        return math.ceil(3.0 * ((self.ratio + 1.0) / self.epsilon) ** 2 * math.log(self.ratio + 1.0))

    @property
    def bound(self) -> float:
        """The probability that the theorem promises at least."""
        return (1.0 - self.mu) * (1.0 - self.share)

    def tree(self, nodes: str, samples: str = "none") -> str:
        """Return the tree with so many nodes in a level, and so many samples of a node; none: the paper's number."""
        kind = (
            "outliers={0:g},against=origin" if self.against == "origin" else "outliers_plus={0:g},outliers_minus={0:g}"
        )
        shares = kind.format(self.share)
        return (
            f"rgd-tree[{shares},delta={self.delta:g},mu={self.mu:g},height={self.height},nodes={nodes},samples={samples},"
            "probe=none]"
        )


ONE, TWO = "one-class-outliers[n=200,n_test=100,d=5]", "gaussian-outliers[least=80,most=100,test=1,d=5]"


@dataclass(frozen=True)
class Cost:
    """What a level of a tree costs: over n and over d, with two threads, and on points mapped from a file.

    sizes, features : n with d = 100, and d with n = ``narrow``
    threads, mapped : points; 0: not measured
    """

    sizes: tuple[int, ...] = (1000, 10_000, 100_000, 1_000_000)
    features: tuple[int, ...] = (10, 100, 1000, 10_000)
    narrow: int = 5000
    repeats: int = 3
    threads: int = 100_000
    mapped: int = 1_000_000


@dataclass(frozen=True)
class Plan:
    """What is measured.

    gaussian : the data of section 4, each repetition k drawn with its own seed
    shares, ratios : of figures 4(a) and 4(b); ``ratio``, D / rho of figure 4(a), the paper does not tell; ``share``, that of
        figures 4(b) and 4(c)
    rounds, nodes : of boosting; the bound of all trees here, and one that makes the trees of three rounds smaller than one
    rivals : what stands beside the tree in figure 4(a)
    methods, benchmarks : of Table 1; ``absent`` sets of it are not there, and nothing stands in for them
    small, draws : problems whose global optimum is known, by name their selections, and how often each is drawn
    laboured, efforts : sets and ever larger trees
    promises : the last of them are beyond what a height of 4 is promised for
    limit : seconds of wall time, a run
    """

    benchmarks: tuple[Benchmark, ...]
    small: tuple[tuple[str, str], ...]
    promises: tuple[Promise, ...]
    laboured: tuple[str, ...]
    absent: tuple[str, ...] = ("Gisette", "w5a", "a6a", "a7a")
    repetitions: int = 10
    limit: float = 60.0
    gaussian: str = "with-constant[of=gaussian-outliers[outliers={share:g},ratio={ratio:g},seed={{k}}]]"
    shares: tuple[float, ...] = (0.05, 0.1, 0.15, 0.2)
    ratios: tuple[int, ...] = (5, 10, 15, 20, 25, 30)
    ratio: int = 10
    share: float = 0.1
    rounds: tuple[int, ...] = (1, 2, 3, 4)
    nodes: tuple[int, ...] = (50, 15)
    rivals: tuple[Method, ...] = RIVALS
    methods: tuple[Method, ...] = METHODS
    draws: int = 20
    efforts: tuple[str, ...] = EFFORTS
    cost: Cost = Cost()

    @property
    def sets(self) -> dict[str, Benchmark]:
        """The sets of Table 1 by name."""
        return {each.name: each for each in self.benchmarks}


PLAN = Plan(
    benchmarks=(
        Benchmark("BreastCancer", "wdbc", 569, 30),
        Benchmark("AustralianCredit", "australian", 690, 14),
        Benchmark("GermanNumber", "german.numer", 1000, 24),
        Benchmark("SVMGuide1", "svmguide1", 3089, 4, rows="train"),
        Benchmark("Spambase", "spambase", 4601, 57),
        Benchmark("Musk", "musk2", 6598, 165),
    ),
    small=(
        ("SVMGuide1, n = 30", "noisy-split[of=svmguide1,rows=train,n=30,seed={k}]"),
        ("AustralianCredit, n = 30", "noisy-split[of=australian,n=30,seed={k}]"),
    ),
    promises=(
        Promise("one class, D/rho 0.2", ONE, 0.2, "origin"),
        Promise("two classes, D/rho 0.2", TWO, 0.2),
        Promise("one class, D/rho 5", ONE, 5.0, "origin", seeds=50),
        Promise("two classes, D/rho 5", TWO, 5.0, seeds=50),
    ),
    laboured=("GermanNumber", "Spambase"),
)


def _few(*methods: Method) -> tuple[Method, ...]:
    return tuple(replace(each, candidates=each.candidates[:2]) for each in methods)


QUICK = Plan(
    benchmarks=(Benchmark("BreastCancer", "breast-cancer", 569, 30, stands_for="wdbc"),),
    small=(("BreastCancer, n = 20", "noisy-split[of=breast-cancer,n=20,seed={k}]"),),
    promises=(Promise("two classes, D/rho 0.2", TWO, 0.2, seeds=20),),
    laboured=(),
    repetitions=2,
    gaussian="with-constant[of=gaussian-outliers[outliers={share:g},ratio={ratio:g},least=200,most=400,test=5,d=20,seed={{k}}]]",
    shares=(0.05, 0.2),
    ratios=(5, 30),
    rounds=(1, 3),
    nodes=(50,),
    rivals=_few(*RIVALS[:2]),
    methods=(*_few(SOFT, CCCP), replace(TREE, candidates=TREE.candidates[1:3])),
    draws=2,
    cost=Cost(sizes=(1000, 10_000), features=(10, 100), threads=0, mapped=0),
)
"""Generated sets, and one that comes with scikit-learn."""
