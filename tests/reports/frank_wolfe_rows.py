"""Runs of reports/frank_wolfe_2009, made up."""

from reports.frank_wolfe_2009.plan import CORE_SETS, LEMMA, PLAN, VERTEX, lemma_of, margins_of, product_of
from reports.kit.results import Published, Results
from tests.reports.fabricated import row


def results(*rows, plan=PLAN):
    return Results(rows, Published({}), plan)


def level(epsilon, iterations, core_set=10, evaluations=2000, cpu=0.5, **more):
    return {
        "epsilon": epsilon,
        "iterations": iterations,
        "core_set": core_set,
        "evaluations": evaluations,
        "cpu": cpu,
        **more,
    }


def on_ladder(name, solver, *found, **changed):
    info = {"levels": list(found), "delta": 2.0, **changed.pop("info", {})}
    given = {"info": info, "primal": 0.02, "dual": 0.02, "relative_gap": 1e-6, "n_features": 3, **changed}
    return row(name, PLAN.ladder_of(solver, name), **given)


LINEAR = [level(10.0**-k, 100 * k, core_set=5 * k) for k in range(1, 9)]
HYPERBOLIC = [level(10.0**-k, 2 * 10**k) for k in range(1, 4)]
STOOD = {"last_epsilon": 5e-4, "last_iterations": 4000, "last_cpu": 1.0}


def lemma_row(**changed):
    info = {"steps": 1500, "drops": 2, "least": 1.25, "median": 7.5, "worst_drop": 0.5, "delta": 2.0, **changed}
    return row(lemma_of("usps"), LEMMA, info=info, dual=0.02)


def margin_rows(name, *margins, solvers=CORE_SETS):
    """Core sets of these optimal margins at epsilon = 0.1, 0.01 ...; that of all points is 1."""
    found = [level(10.0**-k, 5, margin=[margin, margin]) for k, margin in enumerate(margins, start=1)]
    info = {"levels": found, "delta": 2.0, "margin": [1.0, 1.0]}
    return [row(margins_of(name), PLAN.margins_by(solver, name), info=info) for solver in solvers]


def product_rows(name):
    info = {"product": 0.02, "iteration": 0.03, "ratio": [1.4, 1.5, 1.6]}
    return [row(product_of(name), PLAN.turns_of(solver), info=info, n_features=3) for solver in VERTEX]
