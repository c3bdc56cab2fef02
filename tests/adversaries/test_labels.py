"""Labels that must be queried: what isolation keeps from a solver, what the ledger detects, what nobody can prevent."""

import pytest

from harness.datasets.generators import Checkerboard
from tests.adversaries.plugins import PLUGINS
from tests.adversaries.plugins import label_cheats as ways
from tests.run.conftest import compared

pytestmark = pytest.mark.slow  # the first one runs them all
DETECTED = {  # way -> status, and what its reason says
    "unqueried": ("invalid", "the label of that point was not queried"),
    "unqueried-midway": ("invalid", "the label of that point was not queried"),
    "lowers-count": ("invalid", "violates the constraints of pool-svc"),
    "uncounted": ("invalid", "it queried targets that it cannot have: of the points 0 to 199, each once"),
    "answers-itself": ("invalid", "the label of that point was not queried"),
    "forges-reply": ("invalid", "violates the constraints of pool-svc"),
    "out-of-range": ("invalid", "it queried targets that it cannot have: of the points 0 to 199, each once"),
    "no-points": ("invalid", "it queried targets that it cannot have: of the points 0 to 199, each once"),
    "floods": ("error", "a query of targets, and nobody read the reply"),
}
HARMLESS = ("honest", "lowers-count-midway")  # the record goes by the worker's ledger
OTHERS = (*DETECTED, *HARMLESS, "works-while-waiting", "reads-source")
GIVEN = (
    "--datasets", "checkerboard[n=200,n_test=50]", "--formulation", "pool-svc[budget=60],c-svc", "--time-limit", "30",
)  # fmt: skip
SEEDS = (0, 1)  # of a search: the second run is of a worker that has run the solver's warm-up itself
DATA = Checkerboard(n=200, n_test=50).load()


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Return the records by way (of seekers of test labels: by where) and seed."""
    store = tmp_path_factory.mktemp("labels") / "store.sqlite"
    asked = [
        (f"label-cheat[way={ways.EVERYWHERE}],seeks-test-labels[where={ways.EVERYWHERE}]", "0,1"),
        (f"label-cheat[way=[{','.join(OTHERS)}]]", "0"),
    ]
    return {
        (record["parameters"].get("way") or f"test {record['parameters']['where']}", record["seed"]): record
        for solvers, seeds in asked
        for record in compared(store, PLUGINS / "label_cheats.py", solvers, *GIVEN, "--seeds", seeds)[1]
    }


@pytest.mark.parametrize("cheat", DETECTED)
def test_a_cheat_is_a_row_with_its_status_and_reason(rows, cheat):
    status, reason = DETECTED[cheat]
    record = rows[cheat, 0]
    assert (record["status"], reason in record["reason"]) == (status, True), record["reason"]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_process_of_a_solver_holds_no_label_that_was_not_queried_and_none_of_a_test_point(rows, seed):
    unqueried, of_test = rows[ways.EVERYWHERE, seed], rows[f"test {ways.EVERYWHERE}", seed]
    assert unqueried["status"] == of_test["status"] == "ok", (unqueried["reason"], of_test["reason"])
    assert unqueried["info"]["found"] == []
    assert DATA.y_test.astype(int).tolist() not in of_test["info"]["found"]


def test_work_done_while_waiting_for_a_reply_is_on_the_clock(rows):
    record = rows["works-while-waiting", 0]
    assert record["status"] == "ok"
    assert record["fit_seconds"] > 20 * 0.04, "of 20 queries of 0.1 s each a worker that answers at once covers half"


def test_who_reads_the_data_where_the_harness_did_has_all_labels_and_is_not_caught(rows):
    record = rows["reads-source", 0]
    assert (record["status"], record["figures"]["labels_used"]) == ("ok", 60)
    assert DATA.y_train.astype(int).tolist() in record["info"]["found"]


@pytest.mark.parametrize("cheat", HARMLESS)
def test_the_count_of_labels_is_the_workers(rows, cheat):
    record = rows[cheat, 0]
    assert (record["status"], record["figures"]["labels_used"]) == ("ok", 60), record["reason"]
    assert record["trace"][-1]["queried"] == 60
    for point in record["trace"][:-1]:
        assert point["queried"] == 3 * point["iteration"], "three at a time, whatever the solver's process says"
    assert rows["answers-itself", 0]["trace"] == []
    assert rows[f"test {ways.EVERYWHERE}", 0]["figures"] is None
