"""Figures 11 to 15: which criterion for the next example needs how many examples, support vectors and seconds."""

from __future__ import annotations

from dataclasses import dataclass

from reports.kit.markdown import NOT_MEASURED, millions, number, table
from reports.kit.results import Results, ratio
from reports.lasvm_2005.parts import ADULT_SUPPORTS, CRITERIA, LIBSVM, MNIST_SUPPORTS, ONE, curve


@dataclass(frozen=True)
class Curves:
    """The curves of a figure: on a set, criteria that stop at some numbers of support vectors.

    whole : the set's name with all its points
    """

    whole: str
    criteria: tuple[str, ...]
    supports: tuple[int, ...]

    def measured(self, results: Results) -> str:
        """Return the name under which the set was measured: all points, else a part of them."""
        parts = [name for name in results.sets if name.startswith(f"{self.whole}-of-")]
        selected = any(row["set"] == self.whole and "max_support" in row["solver"] for row in results.runs)
        return self.whole if selected or not parts else parts[-1]

    def solvers(self, criterion: str) -> list[str]:
        """Return the solvers whose runs are the points of a criterion's curve, the smallest first."""
        return curve(criterion, self.supports)


def figures() -> dict[str, Curves]:
    """Return the curves of each figure: 11 with 12, 13, 14 with its half of 15."""
    return {
        "figure11": Curves("adult-split", CRITERIA, ADULT_SUPPORTS),
        "figure13": Curves("mnist-8", CRITERIA[:3], MNIST_SUPPORTS),
        "figure14": Curves("mnist-8-noise", CRITERIA[:3], MNIST_SUPPORTS),
    }


def points(results: Results, curves: Curves) -> str:
    """Each criterion stopped at some numbers of support vectors, then finished; LIBSVM at the end."""
    name = curves.measured(results)
    rows = [
        [criterion.upper(), *_point(results, name, solver)]
        for criterion in curves.criteria
        for solver in curves.solvers(criterion)
        if results.of(name, solver)
    ]
    if results.of(name, LIBSVM):
        rows.append(["LIBSVM", *_point(results, name, LIBSVM)])
    return table(["criterion", "examples", "SV", "error %", "sd", "seconds", "kernel values, M", "runs"], rows)


def _point(results: Results, name: str, solver: str) -> list[str]:
    runs = results.of(name, solver)
    return [
        number(results.mean(name, solver, "info.visited"), ".0f") or number(float(runs[-1]["n_train"]), ".0f"),
        number(results.mean(name, solver, "support_vectors"), ".0f"),
        number(results.mean(name, solver, "error"), ".2f"),
        number(results.spread(name, solver, "error"), ".2f"),
        number(results.median(name, solver, "cpu")),
        number(millions(results.mean(name, solver, "kernel_evaluations"))) or "-",
        str(len(runs)),
    ]


def reached(results: Results, curves: Curves) -> str:
    """Say for each criterion with how many support vectors and after what time it is as good as LIBSVM, if ever."""
    name = curves.measured(results)
    level, whole = results.mean(name, LIBSVM, "error"), results.median(name, ONE, "cpu")
    if level is None:
        return NOT_MEASURED
    lines = []
    for criterion in curves.criteria:
        errors = {each: results.mean(name, each, "error") for each in curves.solvers(criterion)}
        known = {each: error for each, error in errors.items() if error is not None}
        if not known:
            continue
        good = [each for each, error in known.items() if error <= level]
        at = good[0] if good else min(known, key=lambda each: known[each])
        size, seconds = results.mean(name, at, "support_vectors"), results.median(name, at, "cpu")
        share = ratio(seconds, whole)
        after = f"{number(size, '.0f')} support vectors after {number(seconds)} s"
        after += "" if share is None or at == ONE else f", {number(share)} times the time of a whole RANDOM epoch"
        if good:
            lines.append(f"* {criterion.upper()} reaches LIBSVM's error of {level:.2f} % with {after}.")
        else:
            best = f"at best {known[at]:.2f} % with {after}"
            lines.append(f"* {criterion.upper()} does not reach LIBSVM's error of {level:.2f} %: {best}.")
    return "\n".join(lines)


def sections(results: Results) -> dict[str, str]:
    """Return the sections of these figures by the name of their markers."""
    found = {}
    for name, curves in figures().items():
        found[name] = reached(results, curves)
        found[f"{name}-points"] = points(results, curves)
    return found
