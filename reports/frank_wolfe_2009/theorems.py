"""The paper's bounds beside what was measured, and what many points take."""

from __future__ import annotations

from harness import Status
from reports.frank_wolfe_2009.core_sets import ACCURACIES
from reports.frank_wolfe_2009.figures import at, geometry, measured_sets
from reports.frank_wolfe_2009.plan import LARGE_SOLVERS, LEMMA, large_of, lemma_of
from reports.kit.markdown import met, number, table
from reports.kit.results import Results


def bounds(results: Results) -> str:
    """Iterations and core set of fw beside Theorem 3.1 and 3.3."""
    rows = []
    for name in measured_sets(results):
        found = geometry(results, name)
        for epsilon in ACCURACIES if found is not None else ():
            level = at(results, name, "fw", epsilon)
            if level is None or found is None:
                continue
            iterations, core_set = found.iteration_bound(epsilon), found.upper_bound(epsilon)
            rows.append(
                [
                    name,
                    f"{epsilon:.0e}",
                    number(found.zeta),
                    f"{level['iterations']:,}",
                    f"{iterations:.2g}",
                    f"{level['core_set']:,}",
                    f"{core_set:.2g}",
                    met(level["iterations"] <= iterations and level["core_set"] <= core_set),
                ]
            )
    head = ["problem", "epsilon", "delta / Psi*", "iterations", "Theorem 3.1, (29)", "core set", "Theorem 3.3", "holds"]
    return table(head, rows)


def lemma(results: Results) -> str:
    """What the iterations of fw gain beside Lemma 3.1."""
    rows = []
    for name in results.plan.sets:
        for row in results.of(lemma_of(name), LEMMA):
            info = row["info"]
            drop = info["worst_drop"]
            holds = info["least"] >= 1.0 - 1e-6 and (drop is None or drop <= 1.0 + 1e-9)
            rows.append(
                [
                    name,
                    number(info["delta"]),
                    number(row["dual"]),
                    f"{info['steps']:,}",
                    f"{info['drops']:,}",
                    number(info["least"]),
                    number(info["median"]),
                    "" if drop is None else f"{drop:.6f}",
                    met(holds),
                ]
            )
    head = ["problem", "delta", "Psi*, at most", "add, decrease", "drop", "gain / bound: least", "median"]
    return table([*head, "drop: Psi after / before, at most", "holds"], rows)


def large(results: Results) -> str:
    """What each solver takes of time and memory on 10,000 points and more."""
    rows = []
    for n in results.plan.large:
        for solver in LARGE_SOLVERS:
            for row in [each for each in results.runs if (each["set"], each["solver"]) == (large_of(n), solver)]:
                gap, peak = row["relative_gap"], row["peak_rss_bytes"]
                spent = row["cpu"] if row["status"] == Status.OK else None  # a limit is of wall time
                epsilon = None if gap is None else 1.0 - max(0.0, 1.0 - gap) ** 0.5
                rows.append(
                    [
                        f"{n:,}",
                        solver,
                        number(spent),
                        number(row["support_vectors"]),
                        number(epsilon),
                        number(row["kernel_evaluations"], ".2g"),
                        number(None if peak is None else peak / 1e6),
                        met(epsilon is not None and epsilon <= results.plan.large_epsilon),
                    ]
                )
    head = ["n", "solver", "CPU s", "core set", "epsilon_+, certified", "kernel values", "peak memory, MB", "accuracy"]
    return table(head, rows)
