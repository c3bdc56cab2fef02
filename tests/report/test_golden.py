"""Tables and every sentence of a report, of fabricated records, in one file; see `tests.golden`."""

from pathlib import Path

from harness.call.settings import in_python
from harness.report import curves, formats, progress, table
from harness.report.rows import grouped
from harness.report.verdict import verdict
from tests.golden import assert_same
from tests.report.fabricated import cell, failed, hull, loose, path, record, runs, study, swept

FILE = Path(__file__).with_name("golden.txt")
NOT_BEGUN = {"kernel": None, "kernel_parameters": None, "problem_parameters": {}, "target_gap": 1e-3}
MISSED = {"status": "missed", "reason": "gap above"}
UNSCALED = {
    "unscaled": {
        "widest": ["income", 585296.19],
        "narrowest": ["score", 0.9978],
        "write": "--datasets './a.csv[scale=standard]'",
    }
}
TIMED = {"stopped_by": "time", "time_limit": 1.0, "kernel_evaluation_limit": None}
SMALL_CACHE = {"cache_needed_mb": 11.2, "cache_misses": 900, "cache_mb": 0.1}


def within(solver, gap, evaluations=1100, **changes):
    limited = {"status": "budget", "target_gap": None, "kernel_evaluation_limit": 1000}
    return record(solver, relative_gap=gap, kernel_evaluations=evaluations, **{**limited, **changes})


def free(solver, primal, **changes):
    """Return the run of a model that is no dual solution, and so has no gap of its own."""
    return record(
        solver, **{"primal": primal, "dual": None, "gap": None, "relative_gap": None, "kkt_violation": None, **changes}
    )


def exact(solver="smo-block", **changes):
    return record(solver, primal=10.0, dual=9.99, gap=0.01, relative_gap=1e-3, **changes)


def machine(name):
    return {"id": name * 8, "processor": f"cpu {name}", "cores": 2}


BUDGET = {"status": "budget", "target_gap": None, "kernel_evaluation_limit": 1000, "kernel_evaluations": 1000}
VERDICTS = {
    "the mean of 2 and 4.5": [*runs("a", 1.0, 1.0), *runs("b", 2.0, 4.5), *runs("c", 9.0, 9.0)],
    "a tie on one": [*runs("a", 1.0, 1.0), *runs("b", 1.02, 4.5)],
    "two threads": [*runs("a", 1.0, 1.0, threads=2), *runs("b", 2.0, 4.5)],
    "a tie of two": [*runs("a", 1.0, 1.0), *runs("b", 1.01, 1.02), *runs("c", 9.0, 9.0)],
    "a tie of three": [*runs("a", 1.0), *runs("b", 1.02), *runs("c", 1.01)],
    "it depends on the data set": [*runs("a", 1.0, 9.0), *runs("b", 9.0, 1.1)],
    "it depends on the problem": [*swept("a", 1.0, 9.0), *swept("b", 9.0, 1.1)],
    "one missed": [*runs("a", 1.0, 1.0), *runs("b", 0.1, 0.1, **MISSED)],
    "each missed somewhere": [*runs("a", 1.0), *runs("b", 1.0, 1.0, **MISSED)],
    "missed on a problem": [*swept("a", 1.0), *swept("b", 1.0, 1.0, **MISSED)],
    "out of time": [*runs("a", 1.0), *runs("b", 0.1)[:2], *runs("b", 0.1, status="timeout")[2:], *runs("c", 1.0, status="timeout")],
    "disturbed": [*runs("a", 1.0), *runs("b", 0.1)[:2], *runs("b", 0.1, status="environment")[2:]],
    "one solver": runs("a", 1.0, 1.0),
    "two formulations": [*swept("smo-block", 1.0, 1.0), *swept("libsvm", 2.0, 2.0), *swept("fw", 1.0, 1.0, formulation="l2-svc"),
                         *swept("smo-block", 3.0, 3.0, formulation="l2-svc")],
    "one of two formulations missed": [*swept("smo", 1.0, 1.0), *swept("lasvm[epochs=5]", 0.99, 1.0),
                                       *swept("smo", 1.0, 1.0, formulation="nobias"),
                                       *swept("g", 1.0, 1.0, formulation="nobias", **MISSED)],
    "each has a formulation": [*runs("a", 1.0, formulation="ramp-svc"), *runs("b", 9.0, formulation="reduced-hull")],
    "no rivals and no test figures": [*runs("a", 1.0, test_accuracy=None), *runs("b", 9.0, make=hull, test_accuracy=None)],
    "alone in a formulation": [*runs("a", 1.0), *runs("b", 2.0), *runs("c", 1.0, make=hull)],
    "one solver of two formulations": [*runs("a", 1.0), *runs("a", 1.0, make=hull)],
    "counts differ": [*runs("a", 1.0), *runs("b", 2.0)[1:], record("b", iterations=9, target_gap=1e-3)],
    "one run each, a tie": [record("a", fit_seconds=1.0, target_gap=1e-3), record("b", fit_seconds=1.5, target_gap=1e-3)],
    "one run each": [record("a", fit_seconds=1.0, target_gap=1e-3), record("b", fit_seconds=9.0, target_gap=1e-3)],
    "one is slower": [*loose("lasvm", 1.0, 0.95), *loose("fw", 6.0, 0.95, make=hull)],
    "one is less accurate": [*loose("a", 1.0, 0.95), *loose("b", 6.0, 0.90), *loose("c", 1.1, 0.80)],
    "a front of two": [*loose("a", 1.0, 0.90), *loose("b", 6.0, 0.95)],
    "a tie without a target": [*loose("a", 1.0, 0.95), *loose("b", 1.1, 0.95)],
    "a crash without a target": [*loose("a", 1.0, 0.95), failed("b", "crashed", "signal 6", target_gap=None)],
    "no test figures": [*loose("a", 1.0, None), *loose("b", 6.0, None)],
    "a budget": [within("a", 1e-3), within("b", 1e-2), within("c", 1e-1, status="ok")],
    "over the budget": [within("a", 1e-3, 1600), within("b", 1e-2), within("c", 1e-1)],
    "time limits": [within(name, 1e-3, status="unfinished", **TIMED) for name in "ab"],
    "a time budget": [within("a", 1e-3, **TIMED), within("b", 1e-1, **TIMED)],
    "a borrowed dual": [*runs("smo-block", 1.0, primal=10.0, dual=9.99, relative_gap=1e-3),
                        *runs("pegasos", 9.0, make=free, primal=10.0),
                        *runs("nystroem", 0.1, make=free, primal=15.0, **MISSED)],
    "a budget without duals": [free(name, 10.0, test_accuracy=score, n_test=10_000, **BUDGET)
                               for name, score in (("a", 0.95), ("b", 0.9))],
    "a budget and a dual": [free("pegasos", 10.1, **BUDGET), free("nystroem", 15.0, **BUDGET), exact(**BUDGET)],
    "crashed everywhere": [*runs("a", 1.0), failed("b", "crashed", "signal 11")],
    "never begun": [*runs("a", 1.0), *(failed("b", "skipped", "no", repetition=i, **NOT_BEGUN) for i in range(3))],
}  # fmt: skip
NOTES = {
    "every column": [hull("fw", working_set_size=300, core_set={"oracle": "qp", "ratio": 0.9}), record("smo", threads=2)],
    "medians": [*runs("a", 1.0), *runs("b", 9.0)[:2]],
    "a bound": [record("a", evaluations_at_least=True), record("b")],
    "undecidable": [record("a", undecidable="rounding hides\nthe gap"), record("b")],
    "a fault": [record("a", faults=["the copy was changed"]), record("b", faults=["the copy was changed"])],
    "a busy machine": [record("a", fit_seconds=9.0, cpu_seconds=1.0), record("b")],
    "waiting": [record("a", fit_seconds=9.0, cpu_seconds=0.1, waited_seconds=8.8), record("b")],
    "no core ratio": [record("a", core_set={"oracle": "qp", "ratio": None, "reason": "too large."})],
    "runs of one seed that differ": [record("a"), record("a", repetition=1, iterations=9)],
    "a small cache": [record("smo", "./data/mine.csv[scale=max]", kernel_evaluations=1, **SMALL_CACHE)],
    "a small cache of its own": [record("smo", kernel_evaluations=1, parameters={"cache_mb": 2.0}, **SMALL_CACHE)],
    "no common target": [record("a", relative_gap=1.9e-3, target_gap=None), hull("b", relative_gap=7.7e-2, target_gap=None),
                         record("c", relative_gap=7.7e-2, target_gap=None)],
    "no gaps": [record(name, relative_gap=None, target_gap=None) for name in "ab"],
    "no dual": [free("a", 10.0), free("b", 11.0),
                free("c", 10.0, formulation="eps-svr", problem_parameters={"C": 1.0, "epsilon": 0.1})],
    "a dual": [free("a", 10.0), exact(), free("c", 9.0)],
    "undeclared code": [record("a", undeclared=["/opt/svm-train"]), record("b", undeclared=[f"/usr/bin/{name}" for name in "vwxyz"])],
    "machines": [record("a", machine=machine(name)) for name in "xy"],
    "all reused": [record("a", reused=True), record("a", "banana", reused=True, measured_at="2026-06-01T00:00:00+00:00")],
    "some reused": [record("a", reused=True), record("b")],
    "reasons": [*(failed("a", "timeout", "late", repetition=i) for i in range(2)), failed("a", "crashed", "signal\n11")],
    "not scaled": [record(data_notes=UNSCALED)],
    "a path": [path("smo"), path("lasvm", path={"best": {"C": 8.0, "gamma": 2.0}})],
}  # fmt: skip
LABELLED = {"label_column": "churned", "positive": "yes", "preprocessing": "scaled", **UNSCALED}
SETTINGS = ({"iteration_limit": 1}, {"cache_mb": 1.0}, {"threads": 2}, {"target_gap": 0.5}, {"time_limit": 5.0},
            {"memory_limit": 2**29}, {"code_sha256": "1a2b3c4d"}, {"kernel_evaluation_limit": 1000})  # fmt: skip
OTHER_CELL = {"best": {"C": 1.0, "gamma": 0.5}, "cv_error": 0.0517, "worst_gap": 2e-3}
REGRESSION = {
    "formulation": "eps-svr",
    "metrics": {"mse": 2.0},
    "test_accuracy": None,
    "dataset": "y",
    "path": {"costs": {"C": [8.0]}},
}
BROKEN = path(
    "qp", status="timeout", test_accuracy=None, path={"best": {}, "cv_error": None, "finished": 3, "certified": 2}
)
TABLES = {
    "a comparison": (study(), {"dated": True}),
    "limits and settings": ([record("smo", seed=1), *(record("smo", fit_seconds=3.0, **each) for each in SETTINGS)], {"width": 120}),
    "groups": ([record("smo", data_notes=LABELLED, positive_share=0.2), record("smo", kernel_parameters={"gamma": 0.2}, reused=True),
                record("smo", "banana", data_notes={"label_column": "y"}), record("smo", "banana", machine=machine("b"))], {}),
    "paths": ([path(seed=0), path(seed=1, fit_seconds=3.6, path=OTHER_CELL), path(start="cold", path={"start": "cold"}), BROKEN,
               path(**REGRESSION), record("lasvm")], {"width": 150}),
    "a dual of another run": ([free("pegasos", 11.0), exact(), free("nystroem", 15.0)], {}),
    "cells of paths": ([*(cell(fold=fold, fit_seconds=0.01 * (fold + 1)) for fold in range(3)), cell(start="cold"),
                        cell(fold=None, cell=None, validation_error=None), record("smo")], {}),
    "narrow": ([record("smo-block", metrics={"f1": 1.0, "roc-auc": 0.9}, reused=True), record("libsvm", reused=True)], {"width": 60}),
    "narrow paths": ([path("smo-block", metrics={"f1": 0.71, "roc-auc": 0.86}), path()], {"width": 80}),
}  # fmt: skip
FURTHER = {
    "progress": lambda: [
        progress.line(each) for each in (record(), failed("qp", "timeout", "late"), path(start="cold"))
    ],
    "nothing to draw": lambda: [curves.text([record(relative_gap=None)]).strip()],
    "a plot with a row that has no gap": lambda: (
        curves.text([exact(), free("rff", None)]).splitlines()[1:3]
        + curves.text([exact(), free("rff", None)]).splitlines()[-2:-1]
    ),
    "in Python": lambda: [in_python(text) for text in sentences([path("smo"), record(reused=True, **SMALL_CACHE)])],
    "in Python, a hint": lambda: verdict(grouped([record("a"), record("b")])).further(""),
    "Markdown": lambda: formats.render(
        "markdown", study(), command="harness compare", remarks=["a remark"]
    ).splitlines(),
}


def sentences(records, width=None, **options):
    """Return the blocks of a report that are no tables, a line each, with their kind."""
    blocks = table.blocks(records, table.sheets(records, width), "*", command="harness compare", **options)
    return [f"{kind}: {content}" for kind, content in blocks if kind not in ("table", "space", "heading")]


def text():
    answers = {
        name: [line for line in sentences(records) if not line.startswith("note")] for name, records in VERDICTS.items()
    }
    notes = {name: [line for line in sentences(records, explain=name == "every column") if line.startswith(("note", "explanation"))]
             for name, records in NOTES.items()}  # fmt: skip
    tables = {name: table.render(records, **options).splitlines() for name, (records, options) in TABLES.items()}
    cases = {**answers, **notes, **tables, **{name: lines() for name, lines in FURTHER.items()}}
    return "\n".join("\n".join([f"-- {name}", *lines, ""]) for name, lines in cases.items())


def test_the_reports_are_those_of_the_file():
    assert_same(FILE, text())
