"""Bordes, Ertekin, Weston, Bottou 2005: the runs behind each figure. Sections 3.3 to 3.5 and 4.4."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from reports.kit.grids import Grid, Options, PaperSet, Part
from reports.kit.libsvm_counted import is_built


def _lasvm(*given: str) -> str:
    """Return LASVM with the parameters that are given; '' stands for none."""
    parameters = ",".join(filter(None, given))
    return f"lasvm[{parameters}]" if parameters else "lasvm"


ONE, TWO, FIVE = _lasvm(), _lasvm("epochs=2"), _lasvm("epochs=5")
_AS_PRINTED = "second_order_from=none"  # however large S is: where a figure is about the algorithm's own course
PRINTED, ONLINE = _lasvm(_AS_PRINTED), _lasvm(_AS_PRINTED, "finishing=False")
LIBSVM = "libsvm"
COUNTED = "libsvm-counted"  # LIBSVM with a counter, where it can be built
SMO = "smo"

# figure 7; tau is every solver's default 1e-3 but for the larger forest set
SETS = {
    each.name: each
    for each in (
        PaperSet("waveform", "waveform[split_seed={k}]", 40.0),
        PaperSet("banana", "banana[split_seed={k}]", 40.0),
        PaperSet("waveform-raetsch", "waveform[realisation={k1}]", 40.0, seeds=10),
        PaperSet("banana-raetsch", "banana[realisation={k1}]", 40.0, seeds=10),
        PaperSet("reuters", "reuters", 40.0),
        PaperSet("usps", "usps[split_seed={k}]", 40.0),
        PaperSet("usps-n", "usps[split_seed={k},noise=0.1,noise_seed={k}]", 40.0),
        PaperSet("adult", "adult", 40.0),
        PaperSet("mnist-8", "mnist[digit=8]", 256.0),
        PaperSet("forest-100k", "covtype[n=100000]", 512.0),
        PaperSet("forest-521k", "covtype[n=521012]", 1250.0, default=False),
    )
}
LARGE = ("forest-100k", "forest-521k")
REPETITIONS = 10

CACHED = "cache of "
CACHES = (8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0)
DELTAS = (1000.0, 100.0, 30.0, 10.0, 5.0, 3.0, 2.0, 1.0, 0.3, 0.1)  # 1000: one REPROCESS, as printed
WAYS = {
    "finishing=False": "one epoch, no finishing",
    "": "one epoch and finishing",
    "epochs=2": "two epochs and finishing",
}

ACTIVE = "active"
CRITERIA = ("random", "gradient", ACTIVE, "autoactive")
ADULT_SUPPORTS = (250, 500, 1000, 1500, 2000, 2500, 3500, 5000, 7500)
MNIST_SUPPORTS = (100, 200, 400, 800, 1200, 1600, 2400)

# how time grows with n: set -> its selection, and the numbers of training points
SCALED = {
    "checkerboard": ("checkerboard[n={n},seed={{k}}]", (1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000)),
    "adult": ("adult-split[n={n},seed={{k}}]", (1000, 2000, 5000, 10_000, 20_000, 32_561)),
}
SCALED_CACHE = 1024.0  # holds the rows of all members at the largest n: no value is computed twice
SEVERAL = 100_000  # training points up to which a size is repeated


def chosen(options: Options, default: Iterable[str] | None = None) -> list[PaperSet]:
    """Return the sets that the command line names, else those of the part."""
    if options.sets is not None:
        return [SETS[name] for name in options.sets]
    names = [each.name for each in SETS.values() if each.default] if default is None else default
    return [SETS[name] for name in names]


def tau_of(name: str, solver: str) -> str:
    """Return ``solver`` with the larger tau that figure 7 has for the larger forest set."""
    if name != "forest-521k":
        return solver
    tau = "tol=0.01" if solver in (LIBSVM, COUNTED) else "tau=0.01"
    return f"{solver[:-1]},{tau}]" if solver.endswith("]") else f"{solver}[{tau}]"


def _repeated(options: Options, each: PaperSet, solvers: Iterable[str], fixed: Iterable[str] = ()) -> list[Grid]:
    repetitions = options.repetitions or (1 if each.name in LARGE else REPETITIONS)
    named = [[tau_of(each.name, solver) for solver in group] for group in (solvers, fixed)]
    return [options.adjusted(grid) for grid in each.grids(named[0], named[1], repetitions)]


def figure8(options: Options) -> list[Grid]:
    """Error, support vectors, kernel values and time of LASVM after one and two epochs, and of LIBSVM."""
    libsvm = (LIBSVM, COUNTED) if is_built() else (LIBSVM,)
    grids = []
    for each in chosen(options):
        fixed = libsvm if each.name in LARGE else (*libsvm, SMO)
        grids += _repeated(options, each, (ONE, TWO), fixed)
    return grids


def figure9(options: Options) -> list[Grid]:
    """The same online iterations, as printed, with and without the finishing step."""
    return [grid for each in chosen(options) for grid in _repeated(options, each, (ONLINE, PRINTED))]


def with_delta_max(way: str, delta_max: float) -> str:
    """Return LASVM with REPROCESS as printed, but repeated; ``way``: the parameters that a curve of figure 10 fixes, or nothing."""
    return _lasvm(_AS_PRINTED, way, f"delta_max={delta_max:g}")


def figure10(options: Options) -> list[Grid]:
    """Banana with REPROCESS repeated until delta < delta_max."""
    solvers = [with_delta_max(way, delta_max) for delta_max in DELTAS for way in WAYS]
    limited = replace(options, repetitions=options.repetitions or 5, limit=options.limit or 600.0)
    return _repeated(limited, SETS["banana"], solvers, (LIBSVM,))


def digit_set(options: Options, digit: int) -> PaperSet:
    """Return MNIST, one digit against the rest; a part of the images has a name of its own."""
    if options.n is None:
        return PaperSet(f"mnist-{digit}", f"mnist[digit={digit}]")
    return PaperSet(f"mnist-{digit}-of-{options.n}", f"mnist[digit={digit},n={options.n}]")


def figure4(options: Options) -> list[Grid]:
    """MNIST, each digit against the rest, with the scores that the ten classifiers decide with together."""
    grids = []
    for repetition in range(options.repetitions or 1):
        for digit in options.digits:
            solvers = (ONE, TWO, LIBSVM) if repetition == 0 else (ONE, TWO)
            grid = digit_set(options, digit).grid(solvers, (repetition,))
            grids.append(options.adjusted(replace(grid, metrics=("test-scores",))))
    return grids


def figure6(options: Options) -> list[Grid]:
    """MNIST with less and more memory for kernel rows; sets of their own, so that no other figure shows these runs.

    With all images LIBSVM is run with the largest cache alone: with the smaller ones it takes hours.
    """
    caches = CACHES if options.cache_mb is None else (options.cache_mb,)
    grids = []
    for digit in options.digits:
        data = digit_set(options, digit)
        for cache in reversed(caches):
            whole = options.n is None and cache < max(caches)
            grid = data.grid((ONE,) if whole else (ONE, LIBSVM), (0,))
            grids.append(options.adjusted(replace(grid, set=f"{CACHED}{data.name}", cache_mb=cache)))
    return grids


def epochs(options: Options) -> list[Grid]:
    """How near one, two and five epochs come to the optimum (section 3.3: five epochs reach the exact solution)."""
    limited = replace(options, repetitions=options.repetitions or 3)
    names = [each.name for each in chosen(options) if options.sets is not None or each.name not in LARGE]
    return [grid for name in names for grid in _repeated(limited, SETS[name], (ONE, TWO, FIVE), (LIBSVM,))]


def selected(criterion: str, max_support: int | None) -> str:
    """Return LASVM with an example selection, stopped at so many support vectors before its finishing step."""
    return _lasvm(
        "" if criterion == "random" else f"selection={criterion}",
        "" if max_support is None else f"max_support={max_support}",
    )


def curve(criterion: str, supports: Iterable[int]) -> list[str]:
    """Return the solvers whose runs are the points of a criterion's curve."""
    whole = [selected(criterion, None)] if criterion == "random" else []  # a criterion costs 50 times as much
    return [selected(criterion, each) for each in supports] + whole


def figure11(options: Options) -> list[Grid]:
    """Selection criteria on random splits of adult (figures 11 and 12)."""
    solvers = [solver for criterion in CRITERIA for solver in curve(criterion, ADULT_SUPPORTS)]
    suffix, part = ("", "") if options.n is None else (f"-of-{options.n}", f",n={options.n}")
    data = PaperSet(f"adult-split{suffix}", f"adult-split[seed={{k}}{part}]")
    return [options.adjusted(grid) for grid in data.grids(solvers, (LIBSVM,), options.repetitions or 5)]


def noise_sets(options: Options) -> list[PaperSet]:
    """Return MNIST-8 without and with label noise."""
    suffix, part = ("", "") if options.n is None else (f"-of-{options.n}", f",n={options.n}")
    noisy = f"mnist-noise[noise_seed={{k}}{part}]"
    return [digit_set(options, 8), PaperSet(f"mnist-8-noise{suffix}", noisy)]


def figure13(options: Options) -> list[Grid]:
    """Selection criteria on MNIST, 8 against the rest, without and with 10 % label noise (figures 13, 14 and 15)."""
    solvers = [solver for criterion in CRITERIA[:3] for solver in curve(criterion, MNIST_SUPPORTS)]
    grids = []
    for data in noise_sets(options):
        grids += data.grids(solvers, (), options.repetitions or 5)
        grids.append(data.grid((LIBSVM,), (0,)))  # with noise it takes hours
    return [options.adjusted(grid) for grid in grids]


def of_size(name: str, n: int) -> PaperSet:
    """Return ``n`` training points of a set, other ones in each repetition."""
    return PaperSet(f"{name}-of-{n}", SCALED[name][0].format(n=n), SCALED_CACHE)


def scaling(options: Options) -> list[Grid]:
    """One epoch with its finishing step on more and more points (section 3.2, 'Computational Cost of LASVM')."""
    grids = []
    for name, (_, sizes) in SCALED.items():
        for n in (n for n in sizes if options.n is None or n <= options.n):
            repetitions = options.repetitions or (3 if n <= SEVERAL else 1)
            grids += [options.adjusted(grid) for grid in of_size(name, n).grids((ONE,), (), repetitions)]
    return grids


PARTS: dict[str, Part] = {
    "figure8": figure8,
    "figure9": figure9,
    "figure10": figure10,
    "epochs": epochs,
    "scaling": scaling,
    "figure4": figure4,
    "figure6": figure6,
    "figure11": figure11,
    "figure13": figure13,
}
