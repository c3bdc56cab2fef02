"""What the host promises against a solver that deceives or slips: prevented, detected, or out of reach and said so."""

import json
import subprocess

import pytest

from harness.run.store import Store
from tests.adversaries.plugins import PLUGINS
from tests.adversaries.plugins import cheats as ways
from tests.run.conftest import HARNESS, compared

pytestmark = pytest.mark.slow  # the first one runs them all
PREVENTED = {  # solver -> status, and what its reason says
    "working-set-list": ("error", "yielded working_set=[1"),
    "step-huge": ("error", "it must be a whole number from 0 to 2^63 - 1"),
    "complex": ("invalid", "must be real numbers, got complex128"),
    "text": ("invalid", "must be real numbers, got <U1"),
    "wraps-wrong": ("error", "fw"),
    "info-list": ("error", "yielded info=[1, 2]; it must be a dict"),
    "intercept-text": ("invalid", "the intercept is 0; it must be a finite number"),
}
DETECTED = {
    "doubles-box": ("invalid", "changed its problem: upper differ"),
    "flips-target": ("invalid", "changed its problem: targets differ"),
    "forces-target": ("invalid", "changed its problem: targets differ"),
    "replaces-dict": ("invalid", "changed its problem: upper differ"),
    "forces-points": ("invalid", "changed its problem: points differ"),
    "subclass": ("error", "yielded LateIterate; a solver yields harness.Iterate, not a subclass of it"),
    "objects": ("invalid", "dual_coef is ndarray; expected numbers"),
    "patches-counter": ("error", "a message cannot be read: ValidationError"),
    "infeasible-unseen": ("invalid", "violates the constraints of c-svc-nobias"),
    "junk": ("error", "wrote to a descriptor that is not its own"),
    "forges-result": ("invalid", "it has a result, without a status, a model or a time"),
    "forges-kinds": ("error", "a message cannot be read: ValidationError"),
    "forks-on": ("crashed", "exited with code 0 without a result"),
    "execs": ("error", "closed a descriptor that is not its own, or became another program"),
    "ends-quietly": ("unfinished", "stalled: no pair is left"),
    "disk-full": ("environment", "No space left on device"),
    "init-raises": ("error", "in InitRaises.__post_init__: ValueError: epochs and passes exclude"),
    "label-raises": ("error", "in LabelRaises.label: ZeroDivisionError: division"),
    "skip-true": ("skipped", "skip() returned True; it must return a sentence that says why, or None"),
    "surrogate": ("error", "no model in /data/m?.bin"),
}
HARMLESS = (
    "honest",
    "patches-clock",
    "stray-writes",
    "strange-info",
    "skip-raises",
    "closes-slowly",
    "long-info",
    "small-core",
    "lazy",
    "listed",
    "thread-at-end",
    "pool-at-yield",
    "compiles-late",
    "skip-solves",
)


WAYS = ("honest", *dict.fromkeys((*ways.BEFORE, *ways.AT_END, *ways.INSTEAD)))
OTHERS = ("skip-solves", "skip-raises", "skip-true", "init-raises", "label-raises")


def way_of(record):
    return record["parameters"]["way"] if record["solver"] == "cheat" else record["solver"]


def driven(store, names):
    """Return (exit code, records by way, standard error) of `harness compare` over some of them."""
    chosen = [name for name in names if name not in OTHERS]
    selection = ",".join([f"cheat[way=[{','.join(chosen)}]]", *(name for name in names if name in OTHERS)])
    code, records, errors = compared(
        store, PLUGINS / "cheats.py", selection, "--formulation", "c-svc-nobias",
        "--datasets", "checkerboard[n=200,n_test=50]", "--time-limit", "20",
    )  # fmt: skip
    return code, {way_of(record): record for record in records}, errors


@pytest.fixture(scope="module")
def cheats(tmp_path_factory):
    """One grid of every way to deceive: what :func:`driven` returns of all, and the store."""
    store = tmp_path_factory.mktemp("cheats") / "store.sqlite"
    return *driven(store, (*WAYS, *OTHERS)), store


@pytest.mark.parametrize("solver", [*PREVENTED, *DETECTED])
def test_a_deceit_is_a_row_with_its_status_and_reason(cheats, solver):
    status, reason = (PREVENTED | DETECTED)[solver]
    record = cheats[1][solver]
    assert (record["status"], reason in record["reason"]) == (status, True), record["reason"]


def test_every_solver_has_one_row_and_the_command_says_that_some_failed(cheats):
    code, records, _, _ = cheats
    assert code == 1
    assert set(records) == {*PREVENTED, *DETECTED, *HARMLESS, "patches-certificate", "wide-info", "certifies"}


@pytest.mark.parametrize("solver", HARMLESS)
def test_what_harms_nothing_has_the_figures_of_the_honest_run(cheats, solver):
    honest, record = cheats[1]["honest"], cheats[1][solver]
    assert record["status"] == "ok"
    for name in ("relative_gap", "kernel_evaluations", "support_vectors", "test_accuracy"):
        assert record[name] == honest[name]


def test_a_certificate_patched_in_the_solvers_process_is_not_believed(cheats):
    record = cheats[1]["patches-certificate"]
    assert record["relative_gap"] == pytest.approx(1.0), "of the zero model"
    assert record["trace"][-1]["relative_gap"] == record["relative_gap"]
    assert record["support_vectors"] == 0


def test_no_kernel_value_is_free_and_no_core_set_smaller_than_its_support(cheats):
    honest, certifies, small = (cheats[1][way] for way in ("honest", "certifies", "small-core"))
    assert certifies["kernel_evaluations"] == honest["kernel_evaluations"] + 5 * 20 * 200
    assert small["core_set_size"] == small["support_vectors"] > small["working_set_size"] == 3
    assert honest["working_set_size"] is None


def test_much_that_is_said_with_every_yield_costs_no_point_of_the_trace(cheats):
    with Store(cheats[3]) as store:
        (trace,) = (record["trace"] for record in store.records() if way_of(record) == "wide-info")
    assert cheats[1]["wide-info"]["status"] == "ok"
    assert len(trace) > 10
    assert all(len(point["info"]) <= 1001 for point in trace[:-1])
    assert trace[-1]["reason"] == "end"


def test_a_clock_that_was_patched_does_not_run(cheats):
    assert cheats[1]["patches-clock"]["fit_seconds"] > 0.3, "it slept that long"


def test_a_model_that_is_computed_when_it_is_looked_at_is_computed_on_the_clock(cheats):
    assert cheats[1]["lazy"]["fit_seconds"] > 0.3


def test_cpu_time_that_is_used_off_the_clock_is_shown(cheats):
    assert cheats[1]["pool-at-yield"]["cpu_seconds"] > 0.3, "of a process that is waited for at the end"
    for way in HARMLESS:
        assert cheats[1][way]["unexplained_cpu_seconds"] < 0.05, way


def test_a_large_compilation_in_the_measured_run_is_said(cheats):
    assert cheats[1]["compiles-late"]["faults"] == ["compiled 0.3 s inside the measured run; compile in warm_ups()"]
    assert cheats[1]["honest"]["faults"] == []


def test_skip_is_given_no_problem_that_it_could_solve(cheats):
    (fault,) = cheats[1]["skip-solves"]["faults"]
    assert "AttributeError: 'ProblemSummary' object has no attribute 'targets'" in fault


def test_a_skip_that_raises_costs_its_own_answer_alone_and_is_named(cheats):
    (fault,) = cheats[1]["skip-raises"]["faults"]
    assert fault.startswith("skip-raises's skip() failed: plugin 'cheats', cheats.py:")
    assert "in SkipRaises.skip: ZeroDivisionError: division by zero; the run was carried out" in fault


def test_what_a_solver_says_of_itself_is_cleaned(cheats):
    info = cheats[1]["strange-info"]["info"]
    assert info["huge"].startswith("a whole number of")
    assert info["nan"] == "nan"
    assert all(character.isprintable() for name in info for character in name)
    json.dumps(info, allow_nan=False).encode("utf-8")
    reason = cheats[1]["surrogate"]["reason"]
    assert "\x1b" not in reason
    reason.encode("utf-8")


@pytest.mark.parametrize("form", ["table", "json", "csv", "markdown"])
def test_the_store_that_holds_all_of_it_is_read_in_every_format(cheats, form):
    shown = [*HARNESS, "results", "--store", str(cheats[3]), "--format", form]
    done = subprocess.run(shown, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert all(solver in done.stdout for solver in cheats[1])


def test_a_fault_of_the_machine_is_measured_again_and_one_of_the_solver_is_not(cheats):
    _, records, _ = driven(cheats[3], ("disk-full", "ends-quietly", "doubles-box", "execs"))
    again = {way: record["reused"] for way, record in records.items()}
    assert again == {"disk-full": False, "ends-quietly": True, "doubles-box": True, "execs": True}
