"""Bordes, Ertekin, Weston, Bottou 2005: the runs behind each figure. Sections 3.3 to 3.5 and 4.4."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

from reports.kit.grids import Grid, Options, PaperSet, Part
from reports.kit.libsvm_counted import is_built
from reports.lasvm_2005.plan import (
    AVERAGED,
    AVERAGED_TEN,
    CACHED,
    COUNTED,
    CRITERIA,
    EACH,
    FIVE,
    LIBSVM,
    ONE,
    ONLINE,
    PRINTED,
    SECOND,
    SMO,
    TAUS,
    TWO,
    WAYS,
    Plan,
    curve,
    tau_of,
    with_delta_max,
)
from reports.lasvm_2005.settings import settings


def chosen(plan: Plan, options: Options, default: Iterable[str] | None = None) -> list[PaperSet]:
    """Return the sets that the command line names, else those of the part."""
    if options.sets is not None:
        return [plan.sets[name] for name in options.sets]
    names = [each.name for each in plan.sets.values() if each.default] if default is None else default
    return [plan.sets[name] for name in names]


def _repeated(
    plan: Plan, options: Options, each: PaperSet, solvers: Iterable[str], fixed: Iterable[str] = ()
) -> list[Grid]:
    repetitions = options.repetitions or (1 if each.name in plan.large else plan.repetitions)
    named = [[tau_of(each.name, solver) for solver in group] for group in (solvers, fixed)]
    return [options.adjusted(grid) for grid in each.grids(named[0], named[1], repetitions)]


def figure8(plan: Plan, options: Options) -> list[Grid]:
    """Error, support vectors, kernel values and time of LASVM after one and two epochs, and of LIBSVM."""
    libsvm = (LIBSVM, COUNTED) if is_built() else (LIBSVM,)
    grids = []
    for each in chosen(plan, options):
        fixed = libsvm if each.name in TAUS else (*libsvm, EACH)  # as printed it would take hours there
        fixed = fixed if each.name in plan.large else (*fixed, SMO)
        grids += _repeated(plan, options, each, (ONE, TWO), fixed)
    return grids


def figure9(plan: Plan, options: Options) -> list[Grid]:
    """The same online iterations, as printed, with and without the finishing step."""
    return [grid for each in chosen(plan, options) for grid in _repeated(plan, options, each, (ONLINE, PRINTED))]


def pairs(plan: Plan, options: Options) -> list[Grid]:
    """Pairs chosen as printed, to second order from 1,000 members on, and to second order always."""
    names = chosen(plan, options, plan.paired)
    return [grid for each in names for grid in _repeated(plan, options, each, (PRINTED, ONE, SECOND))]


def figure10(plan: Plan, options: Options) -> list[Grid]:
    """Banana with REPROCESS repeated until delta < delta_max."""
    solvers = [with_delta_max(way, delta_max) for delta_max in plan.deltas for way in WAYS]
    limited = replace(options, limit=options.limit or 600.0)
    return _repeated(plan, limited, plan.sets["banana"], solvers, (LIBSVM,))


def cut(data: PaperSet, n: int | None, **given: int) -> PaperSet:
    """Return a set of the plan with ``n`` training points, None: all; then it has a name of its own."""
    suffix, part = ("", "") if n is None else (f"-of-{n}", f",n={n}")
    return replace(data, name=f"{data.name}{suffix}", selection=data.selection.format(n=part, **given))


def digit_set(plan: Plan, n: int | None, digit: int) -> PaperSet:
    """Return MNIST, one digit against the rest; a part of the images has a name of its own."""
    found = cut(plan.image, n, digit=digit)
    return replace(found, name=found.name.replace("mnist", f"mnist-{digit}"))


def digits(plan: Plan, options: Options) -> list[int]:
    """Return the digits of the plan that the command line asks for."""
    return [digit for digit in plan.digits if digit in options.digits]


def figure4(plan: Plan, options: Options) -> list[Grid]:
    """MNIST, each digit against the rest, with the scores that the ten classifiers decide with together; figures 1 to 5."""
    grids = []
    for repetition in range(options.repetitions or 1):
        for digit in digits(plan, options):
            data = digit_set(plan, options.n, digit)
            solvers = (ONE, TWO, LIBSVM) if repetition == 0 else (ONE, TWO)
            grids.append(data.grid(solvers, (repetition,)))
            averaged = data.grid((AVERAGED, AVERAGED_TEN), (repetition,))
            grids.append(replace(averaged, formulations=("mistake-driven",)))
    return [options.adjusted(replace(grid, metrics=("test-scores",))) for grid in grids]


def figure6(plan: Plan, options: Options) -> list[Grid]:
    """MNIST with less and more memory for kernel rows; sets of their own, so that no other figure shows these runs.

    With all images LIBSVM is run with the largest cache alone: with the smaller ones it takes hours.
    """
    caches = plan.caches if options.cache_mb is None else (options.cache_mb,)
    grids = []
    for n in dict.fromkeys((plan.few, None)) if options.n is None else (options.n,):
        for digit in digits(plan, options):
            data = digit_set(plan, n, digit)
            for cache in reversed(caches):
                whole = n is None and plan.few is not None and cache < max(caches)
                found = data.grids((ONE,), () if whole else (LIBSVM,), options.repetitions or plan.cached_seeds)
                grids += [replace(grid, set=f"{CACHED}{data.name}", cache_mb=cache) for grid in found]
    return [options.adjusted(grid) for grid in grids]


def epochs(plan: Plan, options: Options) -> list[Grid]:
    """How near one, two and five epochs come to the optimum (section 3.3: five epochs reach the exact solution)."""
    limited = replace(options, repetitions=options.repetitions or min(3, plan.repetitions))
    sets = [each for each in chosen(plan, options) if options.sets is not None or each.name not in plan.large]
    return [grid for each in sets for grid in _repeated(plan, limited, each, (ONE, TWO, FIVE), (LIBSVM,))]


def figure11(plan: Plan, options: Options) -> list[Grid]:
    """Selection criteria on random splits of adult (figures 11 and 12)."""
    solvers = [solver for criterion in CRITERIA for solver in curve(criterion, plan.adult_supports)]
    data = cut(plan.split, options.n)
    return [options.adjusted(grid) for grid in data.grids(solvers, (LIBSVM,), options.repetitions or plan.splits)]


def _criteria_on(plan: Plan, options: Options, data: PaperSet) -> list[Grid]:
    solvers = [solver for criterion in CRITERIA[:3] for solver in curve(criterion, plan.mnist_supports)]
    grids = data.grids(solvers, (), options.repetitions or plan.images_repeated)
    return [options.adjusted(grid) for grid in (*grids, data.grid((LIBSVM,), (0,)))]  # with noise it takes hours


def figure13(plan: Plan, options: Options) -> list[Grid]:
    """Selection criteria on MNIST, 8 against the rest."""
    return _criteria_on(plan, options, digit_set(plan, options.n, 8))


def figure14(plan: Plan, options: Options) -> list[Grid]:
    """The same with 10 % of the training labels flipped (figures 14 and 15)."""
    return _criteria_on(plan, options, cut(plan.noisy, options.n))


def of_size(plan: Plan, name: str, n: int) -> PaperSet:
    """Return ``n`` training points of a set, other ones in each repetition."""
    return PaperSet(f"{name}-of-{n}", plan.scaled[name][0].format(n=n), plan.scaled_cache)


def scaling(plan: Plan, options: Options) -> list[Grid]:
    """One epoch with its finishing step on more and more points (section 3.2, 'Computational Cost of LASVM')."""
    grids = []
    for name, (_, sizes) in plan.scaled.items():
        for n in (n for n in sizes if options.n is None or n <= options.n):
            repetitions = options.repetitions or (min(3, plan.repetitions) if n <= plan.several else 1)
            grids += [options.adjusted(grid) for grid in of_size(plan, name, n).grids((ONE,), (), repetitions)]
    return grids


PARTS: dict[str, Callable[[Plan, Options], list[Grid]]] = {
    "figure8": figure8,
    "figure9": figure9,
    "pairs": pairs,
    "figure10": figure10,
    "epochs": epochs,
    "scaling": scaling,
    "figure4": figure4,
    "figure6": figure6,
    "figure11": figure11,
    "figure13": figure13,
    "figure14": figure14,
    "settings": settings,
    "original": lambda plan, options: [],  # these two measure by themselves, see the study's ``finish``
    "stream": lambda plan, options: [],
}


def parts(plan: Plan) -> dict[str, Part]:
    """Return the parts of the study by name, with the sizes of ``plan``."""
    return {name: partial(part, plan) for name, part in PARTS.items()}
