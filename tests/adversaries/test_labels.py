"""Labels that must be queried: what the ledger detects, and what nobody can prevent."""

import pytest

from harness.datasets.generators import Checkerboard
from tests.adversaries.plugins import PLUGINS
from tests.run.conftest import compared

pytestmark = pytest.mark.slow  # the first one runs them all
DETECTED = {  # way -> status, and what its reason says
    "unqueried": ("invalid", "the label of that point was not queried"),
    "unqueried-midway": ("invalid", "the label of that point was not queried"),
    "lowers-count": ("invalid", "violates the constraints of pool-svc"),
    "uncounted": ("error", "are refused: it queried targets that it cannot have: of the points 0 to 199, each once"),
    "answers-itself": ("invalid", "the label of that point was not queried"),
    "forges-reply": ("invalid", "violates the constraints of pool-svc"),
    "floods": ("error", "a query of targets, and nobody read the reply"),
}
HARMLESS = ("honest", "lowers-count-midway", "out-of-range", "no-points")  # the record goes by the worker's ledger
OTHERS = (*DETECTED, *HARMLESS, "reads-source")
GIVEN = (
    "--datasets", "checkerboard[n=200,n_test=50]", "--formulation", "pool-svc[budget=60],c-svc", "--time-limit", "30",
)  # fmt: skip
DATA = Checkerboard(n=200, n_test=50).load()


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Return the records by way."""
    store = tmp_path_factory.mktemp("labels") / "store.sqlite"
    _, records, _ = compared(store, PLUGINS / "label_cheats.py", f"label-cheat[way=[{','.join(OTHERS)}]]", *GIVEN)
    return {record["parameters"]["way"]: record for record in records}


@pytest.mark.parametrize("cheat", DETECTED)
def test_a_cheat_is_a_row_with_its_status_and_reason(rows, cheat):
    status, reason = DETECTED[cheat]
    record = rows[cheat]
    assert (record["status"], reason in record["reason"]) == (status, True), record["reason"]


def test_who_reads_the_data_where_the_harness_did_has_all_labels_and_is_not_caught(rows):
    record = rows["reads-source"]
    assert (record["status"], record["figures"]["labels_used"]) == ("ok", 60)
    assert DATA.y_train.astype(int).tolist() in record["info"]["found"]


@pytest.mark.parametrize("cheat", HARMLESS)
def test_the_count_of_labels_is_the_workers(rows, cheat):
    record = rows[cheat]
    assert (record["status"], record["figures"]["labels_used"]) == ("ok", 60), record["reason"]
    assert record["trace"][-1]["queried"] == 60
    for point in record["trace"][:-1]:
        assert point["queried"] == 3 * point["iteration"], "three at a time, whatever the solver's process says"
    assert rows["answers-itself"]["trace"] == []
