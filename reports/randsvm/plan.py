"""RandSVM: the sets of Tables 1 and 2, whole and in small, and how long each solver may work on them."""

from __future__ import annotations

from dataclasses import dataclass

from reports.kit.results import Results

OURS = ("randsvm-1[oracle=smo]", "randsvm-1[oracle=smo-block]")
LIBSVM, LIBSVR = "libsvm", "libsvm-svr"


@dataclass(frozen=True)
class Problem:
    """A set of Table 1 or Table 2, or one of ours, with its own C and gamma from the catalogue.

    paper : what the paper calls it; empty: not in the paper
    tenth : the set with a tenth of its points, for the growth of the time and in place of a LIBSVM that was stopped
    goal : RandSVM-1 over smo is to be ten times as fast as LIBSVM here
    limit, patience : seconds of wall time for ours, and for LIBSVM
    delta : of k; none: the solver's own for the task, the paper's
    stands_for : the paper's set in whose place it is, smaller
    """

    name: str
    selection: str
    paper: str = ""
    tenth: str = ""
    goal: bool = False
    limit: float = 600.0
    patience: float = 3600.0
    delta: float | None = None
    stands_for: str = ""

    @property
    def shown(self) -> str:
        """What tables call it."""
        return f"{self.name} (for {self.stands_for})" if self.stands_for else self.name

    @property
    def ours(self) -> tuple[str, ...]:
        """RandSVM-1 over both oracles, with the set's delta."""
        return OURS if self.delta is None else tuple(f"{each[:-1]},delta={self.delta:g}]" for each in OURS)


@dataclass(frozen=True)
class Search:
    """LIBSVM on ringnorm over C and gamma, the wide class at each of the ``means``: Breiman's is 0, the paper's 1."""

    name: str = "ringnorm-search"
    n: int = 1000
    n_test: int = 10_000
    means: tuple[float, ...] = (0.0, 1.0)
    C: tuple[float, ...] = (0.01, 0.1, 1.0, 10.0, 100.0)
    gamma: tuple[float, ...] = (1e-4, 1e-3, 1e-2, 0.05, 0.1, 1.0, 10.0)

    def selection(self, mean: float) -> str:
        """Return the data, as ``harness compare`` takes it."""
        return f"ringnorm[n={self.n},n_test={self.n_test},mean={mean:g}]"


@dataclass(frozen=True)
class Plan:
    """What is measured.

    table1, table2 : classification and regression
    faster, points : the goal: how many times as fast as LIBSVM, within so many points of its accuracy
    signs : sets of Table 2 whose targets are +-1, for the share of right signs
    """

    table1: tuple[Problem, ...]
    table2: tuple[Problem, ...]
    search: Search
    faster: float = 10.0
    points: float = 1.5
    signs: tuple[str, ...] = ("covtype-signs", "covtype-signs-all")

    @property
    def names(self) -> tuple[str, ...]:
        """All sets that can be asked for."""
        return (*(each.name for each in (*self.table1, *self.table2)), self.search.name)

    def named(self, name: str) -> Problem | None:
        """Return a set of Table 1 by its name, None where there is none."""
        return next((each for each in self.table1 if each.name == name), None)


_LONG = 14_400.0  # seconds for LIBSVM on a million points: four hours of the day that the paper waited

PLAN = Plan(
    table1=(
        Problem("twonorm-1e5", "twonorm[n=100000]", "twonorm1"),
        Problem("twonorm-1e6", "twonorm[n=1000000]", "twonorm2", tenth="twonorm-1e5", goal=True, patience=_LONG),
        Problem("ringnorm-1e5", "ringnorm[n=100000]", "ringnorm1"),
        Problem("ringnorm-1e6", "ringnorm[n=1000000]", "ringnorm2", tenth="ringnorm-1e5", patience=_LONG),
        Problem("checkerboard-1e5", "checkerboard[n=100000]", "checkerboard1"),
        Problem("checkerboard-1e6", "checkerboard[n=1000000]", "checkerboard2", tenth="checkerboard-1e5", goal=True),
        Problem("mnist-8", "mnist"),
        Problem("covtype", "covtype"),
        Problem("covtype-all", "covtype[n=none]"),
    ),
    table2=(
        Problem("friedman-1e4", "friedman[n=10000]", "1.(a)"),
        Problem("friedman-1e5", "friedman[n=100000]", "1.(b)"),
        Problem("covtype-signs", "covtype[regression=yes]", "2.(b)"),
        Problem("covtype-signs-all", "covtype[n=none,regression=yes]", "2.(b)"),
        Problem("mnist-digits", "mnist[regression=yes]", "3.", delta=0.9),
        Problem("abalone-rings", "abalone[regression=yes]"),
    ),
    search=Search(),
)

QUICK = Plan(
    table1=(
        Problem("twonorm-2e4", "twonorm[n=20000]", "twonorm1", limit=60.0, patience=60.0, stands_for="twonorm1"),
        Problem("checkerboard-3e4", "checkerboard[n=30000]", "checkerboard1", limit=60.0, patience=60.0, stands_for="checkerboard1"),
    ),
    table2=(
        Problem("friedman-2e3", "friedman[n=2000,n_test=2000]", "1.(a)", limit=60.0, patience=60.0, stands_for="friedman, 1.(a)"),
        Problem("diabetes", "diabetes", limit=60.0, patience=60.0),
    ),
    search=Search(n=300, n_test=2000, C=(0.1, 1.0), gamma=(1e-3, 0.05, 1.0)),
)  # fmt: skip


def plan_of(results: Results) -> Plan:
    """Return the plan that the rows are looked at with."""
    assert isinstance(results.plan, Plan)
    return results.plan
