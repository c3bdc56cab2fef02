"""What the rows say in a few sentences, each with its numbers and what is claimed of them as a mark."""

from __future__ import annotations

from collections.abc import Iterable

from reports.frank_wolfe_2009.core_sets import ACCURACIES, lost
from reports.frank_wolfe_2009.figures import LINEAR, MODERATE, at, geometry, last_factor, measured_sets
from reports.frank_wolfe_2009.plan import CORE_SETS, LEMMA, LINEAR_RATE, lemma_of
from reports.kit.markdown import NOT_MEASURED, met, number
from reports.kit.measured import ratio
from reports.kit.results import Results

GROWING = "simplices"  # made so that core sets grow
FEW = 2.0  # times as many, at most: "hardly more"
BEST = "fw-fully-corrective"


def between(values: Iterable[float]) -> str:
    """Return the least and the largest of values as text."""
    found = sorted(values)
    low, high = number(found[0]), number(found[-1])
    return low if low == high else f"{low} to {high}"


def growth(results: Results, name: str, solver: str, quantity: str, before: float) -> float | None:
    """Return a quantity at epsilon = 1e-3 over that at ``before``, of one run; None where one of them was not reached."""
    last, first = at(results, name, solver, MODERATE), at(results, name, solver, before)
    return last[quantity] / first[quantity] if last and first else None


def rates(results: Results) -> str:
    """The last factor of ten: of the solvers with a linear rate, and of gilbert."""
    names = [name for name in measured_sets(results) if results.plan.sets[name].rates]
    linear = [each for name in names for solver in LINEAR_RATE if (each := last_factor(results, name, solver))]
    other = [each for name in names if (each := last_factor(results, name, "gilbert"))]
    if not linear or not other:
        return ""
    return (
        f"The last factor of ten of the accuracy took {between(linear)} times as many iterations in all of "
        f"{', '.join(LINEAR_RATE)}: a linear rate {met(max(linear) <= LINEAR)}; of gilbert {between(other)} times as many: "
        f"none {met(min(other) > LINEAR)}."
    )


def evaluations(results: Results) -> str:
    """Kernel values from epsilon = 0.1 to 1e-3, and those of cvm, which keeps no rows."""
    names = [name for name in measured_sets(results) if name != GROWING]
    kept = [solver for solver in results.plan.solvers if solver != "cvm"]
    more = [each for name in names for solver in kept if (each := growth(results, name, solver, "evaluations", 0.1))]
    if not more:
        return ""
    text = (
        f"From epsilon = 0.1 to 1e-3 kernel values grew by a factor of {between(more)}: one row of the kernel matrix for each "
        f"point that ever was in the core set {met(max(more) <= FEW)}"
    )
    pairs = [[at(results, name, solver, MODERATE) for solver in ("cvm", "fw")] for name in names]
    times = [found for cvm, fw in pairs if cvm and fw and (found := ratio(cvm["evaluations"], fw["evaluations"]))]
    return f"{text}; cvm, which keeps none, computed {between(times)} times as many as fw." if times else f"{text}."


def core_sets(results: Results) -> str:
    """Core sets below epsilon = 1e-2, and what the margins of core sets lose."""
    lines = []
    names = [name for name in measured_sets(results) if name != GROWING]
    more = [each for name in names for solver in CORE_SETS if (each := growth(results, name, solver, "core_set", 1e-2))]
    if more:
        lines.append(
            f"From epsilon = 1e-2 to 1e-3 core sets grew by a factor of {between(more)} {met(max(more) <= FEW)}: they are the "
            f"support of the optimum{_on_simplices(results)}."
        )
    for solver in CORE_SETS:
        found = [each for name in results.plan.sets for each in lost(results, name, solver)]
        if found:
            share = max(each["most"] / each["epsilon"] for each in found)
            lines.append(
                f"A core set of {solver} lost at most {share:.2g} epsilon of the margin; Theorem 3.3 allows epsilon "
                f"{met(share <= 1.0)}."
            )
    return "\n* ".join(lines)


def _on_simplices(results: Results) -> str:
    found = growth(results, GROWING, "fw", "core_set", 0.1) if GROWING in measured_sets(results) else None
    return (
        ""
        if found is None
        else f". On the simplices that of fw grew by a factor of {number(found)} from epsilon = 0.1 on"
    )


def theorems(results: Results) -> str:
    """How near single iterations and whole runs of fw come to what the paper allows."""
    gains = [row["info"]["least"] for name in results.plan.sets for row in results.of(lemma_of(name), LEMMA)]
    shares = [
        (level["iterations"] / found.iteration_bound(epsilon), level["core_set"] / found.upper_bound(epsilon))
        for name in measured_sets(results)
        for epsilon in ACCURACIES
        if (found := geometry(results, name)) and (level := at(results, name, "fw", epsilon))
    ]
    if not gains or not shares:
        return ""
    steps, points = (max(found) for found in zip(*shares, strict=True))
    return (
        f"The least that an iteration of fw gained was {between(gains)} times what Lemma 3.1 promises; in all fw took at most "
        f"{steps:.1g} of the iterations that Theorem 3.1 allows, its core set at most {points:.1g} of what Theorem 3.3 allows "
        f"{met(max(steps, points) <= 1.0)}."
    )


def fastest(results: Results) -> str:
    """Where fw-fully-corrective is the fastest to epsilon = 1e-3, and where it is not."""
    first, later = [], []
    for name in measured_sets(results):
        reached = {solver: level for solver in results.plan.solvers if (level := at(results, name, solver, MODERATE))}
        own = reached.pop(BEST, None)
        times = {solver: ratio(level["cpu"], own["cpu"]) for solver, level in reached.items() if own}
        known = {solver: each for solver, each in times.items() if each is not None}
        if own and known:
            other = min(known, key=lambda solver: known[solver])
            text = f"{name} ({own['core_set']:,} points, {other} {number(known[other])})"
            (first if known[other] > 1.0 else later).append(text)
    if not first and not later:
        return ""
    return (
        f"To epsilon = 1e-3 {BEST} was the fastest of the solvers on {', '.join(first) or 'no problem'}, and not on "
        f"{', '.join(later) or 'any other'}; given are its core set and the time of the fastest other one over its own."
    )


def seen(results: Results) -> str:
    """Return all sentences, a line each."""
    said = [each(results) for each in (rates, evaluations, core_sets, theorems, fastest)]
    return "\n".join(f"* {each}" for each in said if each) or NOT_MEASURED
