"""Runs of the ladder of reports/frank_wolfe_2009, made up."""

from reports.frank_wolfe_2009 import parts
from reports.kit.results import Published, Results
from tests.reports.fabricated import row


def results(*rows):
    return Results(rows, Published({}))


def level(epsilon, iterations, core_set=10, evaluations=2000, seconds=0.5):
    return {
        "epsilon": epsilon,
        "iterations": iterations,
        "core_set": core_set,
        "evaluations": evaluations,
        "seconds": seconds,
    }


def on_ladder(name, solver, *found, **changed):
    label = parts.on_the_ladder(solver, parts.SETS[name])
    info = {"levels": list(found), "delta": 2.0, **changed.pop("info", {})}
    given = {"info": info, "primal": 0.02, "dual": 0.02, "relative_gap": 1e-6, "n_features": 3, **changed}
    return row(name, label, **given)


LINEAR = [level(10.0**-k, 100 * k, core_set=5 * k) for k in range(1, 9)]
HYPERBOLIC = [level(10.0**-k, 2 * 10**k) for k in range(1, 4)]
STOOD = {"last_epsilon": 5e-4, "last_iterations": 4000, "last_seconds": 1.0}


def lemma_row(**changed):
    info = {"steps": 1500, "drops": 2, "least": 1.25, "median": 7.5, "worst_drop": 0.5, "delta": 2.0, **changed}
    return row(parts.lemma_of("usps"), parts.LEMMA, info=info, dual=0.02)
