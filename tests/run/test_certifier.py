"""The fields of a path's cells against the same figures computed one by one, from points and coefficients alone."""

from dataclasses import asdict, replace
from types import SimpleNamespace

import numpy as np
import pytest

from harness import (
    CSVC,
    RBF,
    Certificate,
    CertifiedRun,
    Column,
    Dataset,
    Grid,
    HarnessError,
    KernelOracle,
    Limits,
    Linear,
    PluginError,
    SolutionPath,
    Status,
    get_solver,
)
from harness.measure.path_drive import drive_path
from harness.problems import L2SVC, EpsSVR
from harness.registry.discovery import load_registry
from harness.registry.plugin_validation import check_class
from harness.run.certifier import RunCertifier
from harness.run.messages import FinishedCell, Model, RunSpec
from harness.run.record import Claims, Record
from tests.run.conftest import SPEC, check_end

GRID = Grid({"C": (0.5, 4.0)}, {"gamma": (0.2, 1.0)}, 3)


def data(task="classification", n=60, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n + 20, 2))
    f = np.sin(2.0 * x).sum(axis=1) + 0.3 * rng.normal(size=n + 20)
    y = f if task == "regression" else np.where(f > 0.3, 1.0, -1.0)
    return Dataset("d", x[:n], y[:n], x[n:], y[n:], task=task, sha256="")


def certifier_of(formulation, dataset, grid=GRID, kernel=RBF, **limits):
    path = SolutionPath(grid, formulation, kernel, dataset.x_train, dataset.y_train)
    spec = RunSpec("p", "s", {}, "d", "d", {}, formulation.name, {}, "rbf", {}, 0, 0, Limits(**limits), path=grid)
    return RunCertifier(spec, dataset, load_registry()), path


def certified(made, points):
    certifier, path = made
    return [Record.of(figures) for figures in certifier.cells(path, points)]


@pytest.mark.parametrize(
    ("formulation", "solver"), [(CSVC, "qp"), (L2SVC, "fw"), (EpsSVR, "qp"), ("tube-svr", "qp")], ids=str
)
def test_figures_are_those_of_each_cell_alone(formulation, solver):
    formulation = load_registry().formulation(formulation) if isinstance(formulation, str) else formulation
    dataset = data(formulation.task)
    made = _, path = certifier_of(formulation, dataset)
    solved = [found.outcome for found in drive_path(get_solver(solver), path, 0, Limits())]
    points = [
        FinishedCell(cell.index, Claims(status="ok"), model=Model.of((outcome.dual_coef, outcome.intercept)).packed())
        for cell, outcome in zip(path.cells, solved, strict=True)
    ]
    for cell, outcome, figures in zip(path.cells, solved, certified(made, points), strict=True):
        members, rest = path.order[path.members(cell)], path.order[path.left_out(cell)]
        kernel = KernelOracle(RBF(gamma=cell.values["gamma"]), dataset.x_train[members])
        problem = formulation.build(kernel, dataset.y_train[members], {"C": cell.values["C"]})
        expected = asdict(problem.certify(outcome.dual_coef, outcome.intercept))
        for name in ("primal", "dual", "relative_gap", "kkt_violation"):
            assert figures.get(name) == pytest.approx(expected[name], rel=1e-9, abs=1e-10), name
        scores = problem.scores_new(outcome.dual_coef, outcome.intercept, dataset.x_train[rest])
        wrong = np.mean((scores - dataset.y_train[rest]) ** 2)
        if formulation.task == "classification":
            wrong = np.mean(np.where(scores >= 0.0, 1.0, -1.0) != dataset.y_train[rest])
        assert figures["validation_error"] == pytest.approx(wrong, rel=1e-9)
        assert figures["support_vectors"] == np.count_nonzero(outcome.dual_coef)
        assert figures["n_train"] == len(members)
        assert "test_accuracy" not in figures


def test_models_that_are_none_are_refused_by_their_cell_and_the_others_stand():
    models = [
        Model.of((np.zeros(40), 0.0)),
        None,
        Model.of((np.full(40, 1e6), 0.0)),
        Model(0.0, np.array([50]), np.array([0.1])),
    ]
    cells = [FinishedCell(k, Claims(), model=model.packed() if model else b"") for k, model in enumerate(models)]
    found = certified(certifier_of(CSVC, data()), cells)
    assert "status" not in found[0]
    assert found[1]["n_train"] == 40
    for record, reason in zip(
        found[1:], ("ended without one", "violates the constraints", "not among the 40"), strict=True
    ):
        check_end(record, Status.INVALID, reason)


def test_a_model_that_is_no_dual_solution_is_scored():
    dataset = data()
    made = _, path = certifier_of(CSVC, dataset, target_gap=1e-3)
    support, coef = np.array([3, 9]), np.array([1.0, -2.0])
    model = Model(0.25, support, free_coef=coef, extra_coef=np.array([0.5]), extra_points=(np.array([[0.1, 0.2]]),))
    (found,) = certified(made, [FinishedCell(0, Claims(), model=model.packed())])
    cell = path.cells[0]
    points = np.vstack([dataset.x_train[path.order[path.members(cell)][support]], [[0.1, 0.2]]])
    rest = path.order[path.left_out(cell)]
    scores = RBF(gamma=0.2).block(dataset.x_train[rest], points) @ np.array([1.0, -2.0, 0.5]) + 0.25
    wrong = np.mean(np.where(scores >= 0.0, 1.0, -1.0) != dataset.y_train[rest])
    assert found["validation_error"] == pytest.approx(wrong)
    assert found["status"] == Status.MISSED
    assert "relative_gap" not in found
    assert found["primal"] > 0.0


def test_weights_have_a_gap_and_errors_in_each_cell():
    dataset, weights = data(), np.array([0.9, 0.8])
    made = _, path = certifier_of(CSVC, dataset, Grid({"C": (0.5, 4.0)}, {}, 3), Linear, target_gap=1e-9)
    model = Model(0.25, weights=weights).packed()
    found = certified(made, [FinishedCell(cell.index, Claims(), model=model) for cell in path.cells])
    for cell, figures in zip(path.cells, found, strict=True):
        members, rest = path.members(cell), path.order[path.left_out(cell)]
        x, y = dataset.x_train[path.order[members]], dataset.y_train[path.order[members]]
        margins = y * (x @ weights + 0.25)
        value = 0.5 * weights @ weights + cell.values["C"] * np.maximum(0.0, 1.0 - margins).sum()
        assert figures["primal"] == pytest.approx(value)
        assert 0.0 < figures["relative_gap"] < 1.0
        assert "the certified relative gap is" in figures["reason"]
        assert figures["train_accuracy"] == pytest.approx(np.mean(margins > 0.0))
        wrong = np.mean(np.sign(dataset.x_train[rest] @ weights + 0.25) != dataset.y_train[rest])
        assert figures["validation_error"] == pytest.approx(wrong)


def test_a_gap_within_the_target_whose_rounding_is_not_says_so():
    spec = replace(SPEC, limits=Limits(target_gap=1e-4))
    certifier = RunCertifier(spec, None, None)
    found = certifier._missed(Certificate(primal=1.0, dual=1.0, relative_gap=0.0, gap_rounding=2e-4), None, "")
    assert found["reason"] == "the certified relative gap is 0, but may be 2.0e-4 by rounding, above 1e-4"


@pytest.mark.parametrize("cells", [[12], [-1], [0, 0]])
def test_cells_that_the_path_does_not_have_are_no_message(cells):
    made = certifier_of(CSVC, data())
    with pytest.raises(HarnessError, match="of a path that has 12"):
        certified(made, [FinishedCell(cell, Claims(), model=Model.of((np.zeros(40), 0.0)).packed()) for cell in cells])


# -- columns of a formulation: what the certifier makes of its figures, and which declarations are refused.

RUN = CertifiedRun(np.zeros(2), 0.0, np.zeros(2), None)
COLUMNS = (Column("share", "points", "low", "what it is"), Column("other_one"), Column("late"))


@pytest.mark.parametrize(
    ("figures", "expected", "faults"),
    [
        ({"share": np.float64(0.5), "other_one": lambda: 1 // 0, "late": lambda: 3}, {"share": 0.5, "late": 3}, ["no other one: "]),
        ({"share": 2, "more": 1}, {"share": 2}, ["no more: "]),
        ({"share": "high", "late": np.ones(2), "other_one": 2}, {"share": "high", "other_one": 2}, ["no late: "]),
        (lambda run: {"share": run.dual_coef.size, "late": float("nan")}, {"share": 2, "late": None}, []),
        (lambda run: {"share": 1 // 0}, {}, ["own has no figures: "]),
    ],
)  # fmt: skip
def test_a_figure_that_fails_costs_itself_alone(figures, expected, faults):
    certifier = RunCertifier(None, None, None)
    problem = SimpleNamespace(
        name="own", columns=COLUMNS, figures=figures if callable(figures) else lambda run: figures
    )
    found = certifier._figures(problem, RUN)
    assert found["figures"] == expected
    assert {type(each) for each in found["figures"].values()} <= {float, int, str, type(None)}, "plain values"
    assert [fault.startswith(begin) for fault, begin in zip(certifier.faults, faults, strict=True)] == [True] * len(
        faults
    )
    assert list(found["columns"]) == ["share", "other_one", "late"]
    assert found["columns"]["share"] == {"title": "share", "unit": "points", "better": "low", "meaning": "what it is"}
    assert found["columns"]["other_one"]["title"] == "other\none"
    assert certifier._figures(SimpleNamespace(columns=(), figures=None), RUN) == {}, "nor asked for without columns"


def test_what_a_certificate_is_not_is_said_by_the_formulation_s_name():
    class Numbered(CSVC):
        name = "numbered"

        def certificate(self, dual_coef, intercept, scores):
            return 0.0

    problem = Numbered.build(KernelOracle(RBF(), np.eye(2)), [1.0, -1.0])
    with pytest.raises(PluginError, match="'numbered' certified a float"):
        problem.certify(np.zeros(2), 0.0)


@pytest.mark.parametrize("values", [("My Margin",), ("margin", "", "up")])
def test_a_column_that_cannot_be(values):
    with pytest.raises(PluginError, match=r"lower-case letters|better='up'"):
        Column(*values)


@pytest.mark.parametrize("columns", [["margin"], (Column("a"), Column("a"))])
def test_columns_that_a_formulation_cannot_declare(columns):
    with pytest.raises(PluginError, match=r"a tuple of harness\.Column"):
        check_class("formulation", type("Own", (CSVC,), {"name": "own", "columns": columns}))
