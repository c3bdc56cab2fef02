"""Figures 11 to 15: which criterion for the next example needs how many examples, support vectors and seconds."""

from __future__ import annotations

from dataclasses import dataclass

from reports.kit.markdown import NOT_MEASURED, millions, number, table
from reports.kit.results import Results, ratio
from reports.lasvm_2005.plan import CRITERIA, LIBSVM, ONE, Plan, curve

NEAR = 0.15  # points of error: so much above LIBSVM's is nearly as good


@dataclass(frozen=True)
class Curves:
    """The curves of a figure: on a set, criteria that stop at some numbers of support vectors.

    whole : the set's name with all its points
    cut : errors above so many times LIBSVM's are outside the picture; None: none are, and its axis is logarithmic
    """

    whole: str
    criteria: tuple[str, ...]
    supports: tuple[int, ...]
    cut: float | None = None

    def measured(self, results: Results) -> str:
        """Return the name under which the set was measured: all points, else a part of them."""
        parts = [name for name in results.sets if name.startswith(f"{self.whole}-of-")]
        selected = any(row["set"] == self.whole and "max_support" in row["solver"] for row in results.runs)
        return self.whole if selected or not parts else parts[-1]

    def solvers(self, criterion: str) -> list[str]:
        """Return the solvers whose runs are the points of a criterion's curve, the smallest first."""
        return curve(criterion, self.supports)


def figures(plan: Plan) -> dict[str, Curves]:
    """Return the curves of each figure: 11 with 12, 13, 14."""
    return {
        "figure11": Curves("adult-split", CRITERIA, plan.adult_supports, cut=1.12),
        "figure13": Curves("mnist-8", CRITERIA[:3], plan.mnist_supports),
        "figure14": Curves("mnist-8-noise", CRITERIA[:3], plan.mnist_supports),
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
    """Say for each criterion with how many support vectors and after what time it is as good as LIBSVM, and nearly so.

    Where LIBSVM was not measured, how good it becomes.
    """
    name = curves.measured(results)
    level = results.mean(name, LIBSVM, "error")
    lines = []
    for criterion in curves.criteria:
        errors = {each: results.mean(name, each, "error") for each in curves.solvers(criterion)}
        known = {each: error for each, error in errors.items() if error is not None}
        if not known:
            continue
        best = min(known, key=lambda each: known[each])
        at_best = f"at best {known[best]:.2f} % with {_costs(results, name, best)}"
        if level is None:
            lines.append(f"* {criterion.upper()}: {at_best}.")
            continue
        good, near = (
            next((each for each, error in known.items() if error <= level + margin), None) for margin in (0.0, NEAR)
        )
        if good:
            text = f"reaches LIBSVM's error of {level:.2f} % with {_costs(results, name, good)}"
        else:
            text = f"does not reach LIBSVM's error of {level:.2f} %: {at_best}"
        if near not in (None, good or best):
            text += f"; within {NEAR} points of it with {_costs(results, name, near)}"
        lines.append(f"* {criterion.upper()} {text}.")
    return "\n".join(lines) or NOT_MEASURED


def _costs(results: Results, name: str, solver: str) -> str:
    size, seconds = results.mean(name, solver, "support_vectors"), results.median(name, solver, "cpu")
    text = f"{number(size, ',.0f')} support vectors after {number(seconds)} s"
    share = ratio(seconds, results.median(name, ONE, "cpu"))
    if solver == ONE or share is None:
        return text
    return f"{text}, {number(share)} times the time of a whole RANDOM epoch"


def sections(results: Results) -> dict[str, str]:
    """Return the sections of these figures by the name of their markers."""
    found = {}
    for name, curves in figures(results.plan).items():
        found[name] = reached(results, curves)
        found[f"{name}-points"] = points(results, curves)
    return found
