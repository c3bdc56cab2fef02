"""What the host promises against a solver that deceives or slips: prevented, detected, or out of reach and said so."""

import json
import os
import subprocess

import pytest

from harness.run.store import Store
from tests.adversaries.plugins import PLUGINS
from tests.adversaries.plugins import cheats as ways
from tests.run.conftest import HARNESS, check_end, compared

pytestmark = pytest.mark.slow  # the first one runs them all
CAUGHT = {  # way -> status, and what its reason says
    "working-set-list": ("error", "yielded working_set=[1"),
    "step-huge": ("error", "whole number from 0 to 2^63"),
    "complex": ("invalid", "got complex128"),
    "text": ("invalid", "got <U1"),
    "wraps-wrong": ("error", "fw"),
    "info-list": ("error", "yielded info=[1, 2]"),
    "intercept-text": ("invalid", "the intercept is 0; it"),
    "doubles-box": ("invalid", "changed its problem: upper differ"),
    "flips-target": ("invalid", "changed its problem: targets differ"),
    "forces-target": ("invalid", "changed its problem: targets differ"),
    "forces-points": ("invalid", "changed its problem: points differ"),
    "subclass": ("error", "yielded LateIterate"),
    "objects": ("invalid", "dual_coef is ndarray; expected numbers"),
    "patches-counter": ("error", "cannot be read: ValidationError"),
    "infeasible-unseen": ("invalid", "constraints of c-svc-nobias"),
    "junk": ("error", "wrote to a descriptor"),
    "forges-result": ("invalid", "it has a result, without"),
    "forges-kinds": ("error", "cannot be read: ValidationError"),
    "execs": ("error", "closed a descriptor"),
    "ends-quietly": ("unfinished", "stalled: no pair is left"),
    "disk-full": ("environment", "No space left on device"),
    "init-raises": ("error", "in InitRaises.__post_init__: ValueError"),
    "label-raises": ("error", "in LabelRaises.label: ZeroDivisionError"),
    "skip-true": ("skipped", "skip() returned True"),
    "surrogate": ("error", "no model in /data/m?.bin"),
}
HARMLESS = (
    "honest", "patches-clock", "stray-writes", "strange-info", "skip-raises", "closes-slowly", "long-info", "small-core",
    "lazy", "listed", "thread-at-end", "pool-at-yield", "compiles-late", "skip-solves",
)  # fmt: skip
WAYS = ("honest", *dict.fromkeys((*ways.BEFORE, *ways.AT_END, *ways.INSTEAD)))
OTHERS = ("skip-solves", "skip-raises", "skip-true", "init-raises", "label-raises")


def way_of(record):
    return record["parameters"]["way"] if record["solver"] == "cheat" else record["solver"]


def driven(store, names):
    """Return (exit code, records by way) of `harness compare` over some of them."""
    chosen = [name for name in names if name not in OTHERS]
    selection = ",".join([f"cheat[way=[{','.join(chosen)}]]", *(name for name in names if name in OTHERS)])
    options = ("--formulation", "c-svc-nobias", "--time-limit", "20")
    code, records, _ = compared(store, PLUGINS / "cheats.py", selection, *options)
    return code, {way_of(record): record for record in records}


@pytest.fixture(scope="module")
def cheats(tmp_path_factory):
    """One grid of every way to deceive: what :func:`driven` returns of all, and the store."""
    store = tmp_path_factory.mktemp("cheats") / "store.sqlite"
    return *driven(store, (*WAYS, *OTHERS)), store


@pytest.mark.parametrize("solver", CAUGHT)
def test_a_deceit_is_a_row_with_its_status_and_reason(cheats, solver):
    check_end(cheats[1][solver], *CAUGHT[solver])


def test_every_solver_has_one_row_and_the_command_says_that_some_failed(cheats):
    code, records, _ = cheats
    assert code == 1
    assert set(records) == {*CAUGHT, *HARMLESS, "patches-certificate", "wide-info", "certifies"}


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
    with Store(cheats[2]) as store:
        (trace,) = (record["trace"] for record in store.records() if way_of(record) == "wide-info")
    assert cheats[1]["wide-info"]["status"] == "ok"
    assert len(trace) > 10
    assert all(len(point["info"]) <= 1001 for point in trace[:-1])
    assert trace[-1]["reason"] == "end"


@pytest.mark.parametrize("way", ["patches-clock", "lazy"])
def test_a_patched_clock_does_not_run_and_a_model_is_computed_on_it(cheats, way):
    assert cheats[1][way]["fit_seconds"] > 0.3, "it slept that long"


def test_cpu_time_that_is_used_off_the_clock_is_shown(cheats):
    assert cheats[1]["pool-at-yield"]["cpu_seconds"] > 0.3, "of a process that is waited for at the end"
    for way in HARMLESS:
        assert cheats[1][way]["unexplained_cpu_seconds"] < 0.05, way


def test_what_is_no_failure_is_said_among_the_faults(cheats):
    for way, words in (
        ("compiles-late", "compiled 0.3 s inside the measured run"),
        ("skip-solves", "'ProblemSummary' object has no attribute"),
        ("skip-raises", "in SkipRaises.skip: ZeroDivisionError"),
    ):
        faults = cheats[1][way]["faults"]
        assert any(words in fault for fault in faults), faults
    assert cheats[1]["honest"]["faults"] == []


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
    shown = [*HARNESS, "results", "--store", str(cheats[2]), "--format", form]
    wide = {**os.environ, "COLUMNS": "200"}  # a narrow table breaks long names
    done = subprocess.run(shown, capture_output=True, text=True, timeout=60, check=False, env=wide)
    assert (done.returncode, done.stderr) == (0, "")
    assert all(solver in done.stdout for solver in cheats[1])


def test_a_fault_of_the_machine_is_measured_again_and_one_of_the_solver_is_not(cheats):
    _, records = driven(cheats[2], ("disk-full", "ends-quietly", "doubles-box", "execs"))
    again = {way: record["reused"] for way, record in records.items()}
    assert again == {"disk-full": False, "ends-quietly": True, "doubles-box": True, "execs": True}
