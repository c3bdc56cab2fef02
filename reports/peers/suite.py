"""What is measured: the data sets, the solvers, and the tolerances that a black box is tightened through."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PLUGINS = tuple(HERE / f"{name}.py" for name in ("probes", "families", "shares"))  # of the benchmark alone

# the quality asked of everyone, certified by the harness in float64 over all training points
KKT_TARGET = 1.05e-3  # 1.0e-3 to two digits: solvers that stop at 1e-3 by their own float32 values read 1.0e-3 here
GAP_TARGET = 1e-3
DEFAULT_TOL = 1e-3
LADDER = (1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6)


@dataclass(frozen=True)
class DataSet:
    """One set of the suite: what it is called here and how the harness is asked for it."""

    name: str
    selection: str
    quick: bool = False


# C and gamma are the sources' defaults, from the papers (``harness describe NAME``)
SETS = {
    each.name: each
    for each in (
        DataSet("banana", "banana", quick=True),
        DataSet("waveform", "waveform", quick=True),
        DataSet("satimage-4", "satimage", quick=True),
        DataSet("usps", "usps", quick=True),
        DataSet("reuters", "reuters", quick=True),
        DataSet("letter-A", "letter", quick=True),
        DataSet("checkerboard-10k", "checkerboard[n=10000]", quick=True),
        DataSet("twonorm-10k", "twonorm[n=10000]", quick=True),
        DataSet("ringnorm-10k", "ringnorm[n=10000]", quick=True),
        DataSet("covtype-20k", "covtype[n=20000,n_test=5000]"),
        DataSet("mnist8-20k", "mnist[n=20000]"),
        DataSet("adult", "adult"),
        DataSet("checkerboard-100k", "checkerboard[n=100000]"),
        DataSet("twonorm-100k", "twonorm[n=100000]"),
        DataSet("ringnorm-100k", "ringnorm[n=100000]"),
        DataSet("mnist8-60k", "mnist"),
        DataSet("covtype-100k", "covtype[n=100000,n_test=5000]"),
    )
}

COUNTED_ONLY = (DataSet("waveform-breiman-10k", "waveform-breiman[n=10000]"),)  # LIBSVM's count is published

# family -> selection for n points; the sizes that the suite measures are not measured again
SCALING = {
    "checkerboard": ("checkerboard[n={n}]", (2000, 5000, 10_000, 20_000, 50_000, 100_000)),
    "twonorm": ("twonorm[n={n}]", (2000, 5000, 10_000, 20_000, 50_000, 100_000)),
    "adult": ("adult-part[n={n}]", (2000, 4000, 8000, 16_000, 32_561)),
    "covtype": ("covtype[n={n},n_test=5000]", (5000, 10_000, 20_000, 50_000, 100_000)),
}
SAME_DATA = {"adult-part[n=32561]": "adult", "mnist[n=60000]": "mnist"}


def scaling_sets() -> list[DataSet]:
    """Return the subsets of the scaling study, the smallest first, that the suite does not hold."""
    known = {each.selection for each in SETS.values()}
    found = []
    for family, (pattern, sizes) in SCALING.items():
        for n in sizes:
            selection = pattern.format(n=n)
            selection = SAME_DATA.get(selection, selection)
            if selection not in known:
                found.append(DataSet(f"{family}-{n}", selection))
    return found


@dataclass(frozen=True)
class Peer:
    """A solver of the suite.

    threaded : it uses more than one thread; others take no part in the measurement with two
    longest : seconds after which a run of it is stopped whatever ours took
    """

    label: str
    name: str
    threaded: bool
    longest: float


PEERS = (
    Peer("sklearnex", "sklearnex", threaded=True, longest=200.0),
    Peer("sklearnex[dtype=float32]", "oneDAL float32", threaded=True, longest=80.0),
    Peer("libsvm", "scikit-learn SVC", threaded=False, longest=75.0),
    Peer("libsvm-official", "LIBSVM", threaded=True, longest=30.0),
    Peer("thundersvm", "ThunderSVM", threaded=True, longest=40.0),
)
FLOAT32 = "sklearnex[dtype=float32]"
OF_TWO_THREADS = ("sklearnex", FLOAT32)  # the others only where --solvers names them


def our_solver(names: Iterable[str]) -> str:
    """Return the solver that is measured against the peers: smo-block where it is there."""
    return "smo-block" if "smo-block" in names else "smo"


def certifies(kkt: float | None, gap: float | None) -> bool:
    """Return whether a certificate is of the quality that is asked of everyone."""
    return kkt is not None and gap is not None and kkt <= KKT_TARGET and gap <= GAP_TARGET


def next_rung(tol: float, kkt: float, gap: float) -> float | None:
    """Return the tolerance to try after ``tol`` left a violation and a relative gap; None: there is none left.

    Rungs that leave twice the target or more, were both proportional to the tolerance, are passed over: what is
    tried certifies earlier than that, not later.
    """
    excess = max(kkt / KKT_TARGET, gap / GAP_TARGET)
    below = [rung for rung in LADDER if rung < tol * (1.0 - 1e-9)]
    for rung in below:
        if excess * rung / tol < 2.0 or rung == below[-1]:
            return rung
    return None


def stalled(before: dict[str, Any], after: dict[str, Any]) -> bool:
    """Return whether a tighter tolerance changed nothing: what still misses its target fell by less than a tenth."""
    missed = [(name, target) for name, target in (("kkt", KKT_TARGET), ("gap", GAP_TARGET)) if after[name] > target]
    return bool(missed) and all(after[name] > 0.9 * before[name] for name, _ in missed)
