"""The tables of MNIST, a digit against the rest: figures 1 to 6."""

from __future__ import annotations

from collections.abc import Iterable

from reports.kit.markdown import beside, met, millions, number, table
from reports.kit.results import Results, change
from reports.lasvm_2005.plan import AVERAGED, AVERAGED_TEN, CACHED, LIBSVM, NAMES, ONE, TWO

CACHE_GROWTH = 30.0  # percent: our mark
SOLVERS = (LIBSVM, ONE, TWO, AVERAGED, AVERAGED_TEN)


def figure4(results: Results) -> str:
    """Figure 4: the multiclass error, and the time of the ten classifiers together."""
    rows = []
    together = [row for row in results.derived if row["derived"] == "multiclass"]
    for solver in SOLVERS:
        for name in dict.fromkeys(row["set"] for row in together):
            found = [row for row in together if (row["set"], row["solver"]) == (name, solver)]
            if not found:
                continue
            last = found[-1]
            rows.append(
                [
                    NAMES[solver],
                    f"{name}, {len(last['digits'])} digits",
                    beside(last["error"], results.published.get("figure4", name, solver, "error"), ".2f"),
                    number(last["cpu"]),
                    number(results.published.get("figure4", name, solver, "seconds"), "g"),
                ]
            )
    return table(["solver", "data", "error %", "seconds", "paper's seconds"], rows)


def digits_of(results: Results) -> list[str]:
    """Return the sets of one digit against the rest, clean labels, by digit, where LASVM has seen every example.

    Of sets of several sizes those of the size at which LIBSVM, then LASVM, has been measured on the most digits.
    """
    sizes: dict[str, list[str]] = {}
    for name in sorted(results.sets):
        if name.startswith("mnist-") and "noise" not in name and results.mean(name, ONE, "error") is not None:
            sizes.setdefault(name[len("mnist-8") :], []).append(name)
    beside_libsvm = {
        size: sum(results.mean(name, LIBSVM, "error") is not None for name in sizes[size]) for size in sizes
    }
    best = max(sizes, key=lambda size: (beside_libsvm[size], len(sizes[size])), default=None)
    return [] if best is None else sizes[best]


def by_digit(results: Results) -> str:
    """Figures 1, 2, 3 and 5, which the paper has as curves: the binary classifiers one by one."""
    rows = []
    for name in digits_of(results):
        cells = [name]
        for quantity, form in (("error", ".2f"), ("support_vectors", ".0f"), ("cpu", "")):
            found = [results.mean(name, solver, quantity) for solver in SOLVERS]
            cells.append(" / ".join(number(value, form) or "-" for value in found))
        rows.append(cells)
    order = "LIBSVM / x1 / x2 / perceptron x1 / x10"
    return table(["digit against the rest", *(f"{title}: {order}" for title in ("error %", "SV", "seconds"))], rows)


def cache_images(results: Results) -> list[str]:
    """Return the numbers of images that figure 6 was measured with, '' for all of them."""
    return list(dict.fromkeys(_cached(results).values()))


def _cached(results: Results) -> dict[str, str]:
    """Return the sets of figure 6 and the number of images of each."""
    return {name: name.partition("-of-")[2] for name in results.sets if name.startswith(CACHED)}


def cache_times(results: Results, solver: str, images: str) -> dict[float, list[float]]:
    """Return for each cache size the changes of time in percent, one a digit, against LIBSVM with the largest cache."""
    found: dict[float, list[float]] = {}
    for name in (name for name, of in _cached(results).items() if of == images):
        for size, relative in _changes(results, name, solver, LIBSVM).items():
            found.setdefault(size, []).append(relative)
    return dict(sorted(found.items()))


def _changes(results: Results, name: str, solver: str, base: str) -> dict[float, float]:
    """Return for each cache size the change of time in percent against ``base`` with its largest cache."""
    runs = [row for row in results.runs if row["set"] == name]
    sizes = sorted({row["cache_mb"] for row in runs if row["solver"] == base})
    if not sizes or len({row["cache_mb"] for row in runs}) < 2:
        return {}
    best = results.median(name, base, "cpu", cache_mb=sizes[-1])
    caches = sorted({row["cache_mb"] for row in runs})
    times = {size: change(best, results.median(name, solver, "cpu", cache_mb=size)) for size in caches}
    return {size: each for size, each in times.items() if each is not None}


def figure6(results: Results) -> str:
    """Figure 6: change of time against LIBSVM with the largest cache, and of LASVM against itself."""
    rows, verdicts = [], []
    for images in cache_images(results):
        lasvm, libsvm = cache_times(results, ONE, images), cache_times(results, LIBSVM, images)
        names = [name for name, of in _cached(results).items() if of == images]
        grown = {name: _changes(results, name, ONE, ONE) for name in names}
        for size in sorted({*lasvm, *libsvm, *(size for each in grown.values() for size in each)}):
            own = [each[size] for each in grown.values() if size in each]
            changes = [number(_mean(each), "+z.0f") for each in (libsvm.get(size, []), lasvm.get(size, []), own)]
            values = [results.mean(name, ONE, "kernel_evaluations", cache_mb=size) for name in names]
            counted = number(millions(_mean(value for value in values if value is not None)))
            rows.append([images or "all", f"{size:g}", *changes, counted, str(len(own))])
        smallest = min(row["cache_mb"] for row in results.runs if row["set"] in names)
        worst = [each[smallest] for each in grown.values() if smallest in each]
        if worst:
            verdicts.append(
                f"* {f'{images} images' if images else 'All images'}: with {smallest:g} MB LASVM's time grows by "
                f"{max(worst):.0f} % on the worst digit; our mark: less than {CACHE_GROWTH:.0f} % {met(max(worst) < CACHE_GROWTH)}."
            )
    headings = ["images", "cache, MB", "LIBSVM, %", "LASVM x1, %", "LASVM x1 against its own largest, %"]
    counts = ["LASVM x1: kernel values, M", "digits"]
    return "\n\n".join([table([*headings, *counts], rows), "\n".join(verdicts)]).strip()


def _mean(values: Iterable[float]) -> float | None:
    found = list(values)
    return sum(found) / len(found) if found else None
