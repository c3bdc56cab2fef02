"""Ding, Xu, Random Gradient Descent Tree (2015): the runs behind Figure 4, Table 1, and what no library tells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from reports.kit.grids import Grid, Options, Part

REPETITIONS = 10
LIMIT = 60.0  # seconds of wall time, a run
VALIDATION, HELD_OUT = METRICS = ("validation-error", "held-out-error")


# -- Figure 4: the section's own data ---------------------------------------------------------------------

SHARES = (0.05, 0.1, 0.15, 0.2)
RATIOS = (5, 10, 15, 20, 25, 30)
RATIO, SHARE = 10, 0.1  # D / rho of figure 4(a), the paper does not tell; the share of figures 4(b) and 4(c)
ROUNDS = (1, 2, 3, 4)
NODES = (50, 15)
"""Nodes of a level in boosting: the bound of all trees here, and one that makes the trees of three rounds smaller than one."""
PRICES = (0.001, 0.01, 0.1, 1.0)
"""C of the soft margin; in figure 4 the best of them by *test* error is shown, in Table 1 the one that validation chooses."""


def gaussians(share: float, ratio: float) -> str:
    """Return the data of section 4, for each repetition k drawn with its own seed."""
    return f"with-constant[of=gaussian-outliers[outliers={share:g},ratio={ratio:g},seed={{k}}]]"


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


def _repetitions(selection: str, count: int) -> tuple[str, ...]:
    return tuple(selection.format(k=k) for k in range(count))


def share_name(share: float) -> str:
    """Return the set of figure 4(a)."""
    return f"outliers {100 * share:g} %"


def ratio_name(ratio: float) -> str:
    """Return the set of figures 4(b) and 4(c)."""
    return f"D/rho {ratio:g}"


def _grids(name: str, selection: str, count: int, methods: Sequence[Method], options: Options) -> list[Grid]:
    """Return the runs of methods on ``count`` draws; those of a grid share its session, and the data are drawn once for it.

    Trees and SVMs have grids of their own: a filter takes both formulations, and only one of them has a C.
    """
    families: dict[tuple[bool, str], list[Method]] = {}
    for method in methods:
        families.setdefault((method.formulation == TREE.formulation, method.kernel), []).append(method)
    return [
        options.adjusted(
            Grid(
                name,
                _repetitions(selection, options.repetitions or count),
                tuple(dict.fromkeys(solver for method in family for solver in method.candidates)),
                formulations=tuple(dict.fromkeys(method.formulation for method in family)),
                kernel=kernel,
                limit=LIMIT,
            )
        )
        for (_, kernel), family in families.items()
    ]


RIVALS = tuple(
    replace(method, candidates=tuple(each for each in method.candidates if "C=1]" not in each))
    for method in (SOFT, CCCP, FILTERS[0])
)
"""What stands beside the tree in figure 4(a); with C = 1 a certificate of ramp-svc takes minutes there."""


def figure4a(options: Options) -> list[Grid]:
    """Error against the share of outliers, for the tree and for what people would use instead."""
    return [
        grid
        for share in SHARES
        for grid in _grids(share_name(share), gaussians(share, RATIO), REPETITIONS, (told(share), *RIVALS), options)
    ]


def told(share: float) -> Method:
    """Return the tree of height ten that is told the true share."""
    return Method("rgd-tree", TREE.formulation, (tree(share),))


def figure4b(options: Options) -> list[Grid]:
    """Error against D / rho, trees of height ten."""
    return [
        grid
        for ratio in RATIOS
        for grid in _grids(ratio_name(ratio), gaussians(SHARE, ratio), REPETITIONS, (told(SHARE),), options)
    ]


def figure4c(options: Options) -> list[Grid]:
    """Error and time of boosting with trees of height five at the largest D / rho, beside 4(b)'s tree of height ten."""
    ratio = RATIOS[-1]
    rounds = Method(
        "rgd-boosted", BOOSTED.formulation, tuple(boosted(SHARE, count, nodes) for nodes in NODES for count in ROUNDS)
    )
    return _grids(ratio_name(ratio), gaussians(SHARE, ratio), REPETITIONS, (told(SHARE), rounds), options)


# -- Table 1 and Figure 4(d) ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Benchmark:
    """A set of Table 1 that is there.

    n : points that are divided; d : features, without the constant column
    """

    name: str
    of: str
    n: int
    d: int
    rows: str = "all"

    @property
    def selection(self) -> str:
        """The data of repetition k."""
        rows = "" if self.rows == "all" else f"rows={self.rows},"
        return f"noisy-split[of={self.of},{rows}seed={{k}}]"

    @property
    def clean(self) -> str:
        """The same division with no label flipped."""
        return self.selection.replace("seed=", "noise=0,seed=")


SETS = {
    each.name: each
    for each in (
        Benchmark("BreastCancer", "wdbc", 569, 30),
        Benchmark("AustralianCredit", "australian", 690, 14),
        Benchmark("GermanNumber", "german.numer", 1000, 24),
        Benchmark("SVMGuide1", "svmguide1", 3089, 4, rows="train"),
        Benchmark("Spambase", "spambase", 4601, 57),
        Benchmark("Musk", "musk2", 6598, 165),
    )
}
ABSENT = ("Gisette", "w5a", "a6a", "a7a")
"""Sets of Table 1 that are not there; nothing stands in for them."""


def table1(options: Options) -> list[Grid]:
    """Every method's candidates on ten draws of every set; one run gives the validation and the test error."""
    return [
        replace(grid, metrics=METRICS)
        for each in (SETS[name] for name in options.sets or SETS)
        for grid in _grids(each.name, each.selection, REPETITIONS, METHODS, options)
    ]


CLEAN = ", clean"
"""Behind the name of a set none of whose labels is flipped."""


def clean(options: Options) -> list[Grid]:
    """What soft margins learn of the same divisions from the right labels: nobody is asked to do better from wrong ones."""
    return [
        replace(grid, metrics=METRICS)
        for each in (SETS[name] for name in options.sets or SETS)
        for grid in _grids(f"{each.name}{CLEAN}", each.clean, REPETITIONS, (SOFT, RBF), options)
    ]


# -- small problems, whose global optimum is known ---------------------------------------------------------

SMALL = {
    "SVMGuide1, n = 30": "noisy-split[of=svmguide1,rows=train,n=30,seed={k}]",
    "AustralianCredit, n = 30": "noisy-split[of=australian,n=30,seed={k}]",
}
DRAWS = 20
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


def exact(options: Options) -> list[Grid]:
    """Heuristics and the global optimum of the ramp loss and of the margin with outliers, at most 40 points."""
    methods = (
        Method("ramp", "ramp-svc", (RAMP_EXACT, *RAMP)),
        Method("margin", "outlier-margin", (OUTLIER_EXACT, *MARGINS)),
    )
    return [
        replace(grid, metrics=METRICS)
        for name, selection in SMALL.items()
        for grid in _grids(name, selection, DRAWS, methods, options)
    ]


# -- search or criterion? ----------------------------------------------------------------------------------

LABOURED = ("GermanNumber", "Spambase")
EFFORTS = tuple(
    f"rgd-tree[outliers=0.15,height={height},nodes={nodes},guesses={guesses}]"
    for height, nodes, guesses in ((10, 50, 3), (30, 50, 3), (30, 50, 9), (30, 300, 3))
)
"""Trees that search longer and longer for the same margin: is it the search that costs accuracy, or what is searched for?"""


def effort(options: Options) -> list[Grid]:
    """The same share and ever larger trees on two sets of Table 1."""
    method = Method("efforts", TREE.formulation, EFFORTS)
    return [
        replace(grid, metrics=METRICS, set=f"{name}, effort")
        for name in LABOURED
        for grid in _grids(name, SETS[name].selection, REPETITIONS, (method,), options)
    ]


# -- Theorem 2 and 4: how often some node of the tree is as good as they say --------------------------------

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
PROMISES = (
    Promise("one class, D/rho 0.2", ONE, 0.2, "origin"),
    Promise("two classes, D/rho 0.2", TWO, 0.2),
    Promise("one class, D/rho 5", ONE, 5.0, "origin", seeds=50),
    Promise("two classes, D/rho 5", TWO, 5.0, seeds=50),
)
"""The last two are beyond what a height of 4 is promised for."""


def theorem(options: Options) -> list[Grid]:
    """The whole tree, and the one that keeps fifty nodes of a level, from so many seeds."""
    return [
        options.adjusted(
            Grid(
                each.name,
                (each.selection,),
                tuple(each.tree(nodes) for nodes in (WHOLE, BOUNDED)),
                seeds=tuple(range(options.repetitions or each.seeds)),
                formulations=("outlier-margin",),
                kernel="linear",
                limit=LIMIT,
            )
        )
        for each in PROMISES
    ]


PARTS: dict[str, Part] = {
    "figure4a": figure4a,
    "figure4b": figure4b,
    "figure4c": figure4c,
    "table1": table1,
    "clean": clean,
    "exact": exact,
    "effort": effort,
    "theorem": theorem,
}
