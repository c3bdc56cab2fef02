"""Labels that must be queried: what the ledger detects, and what nobody can prevent."""

import pytest

from harness.datasets.generators import Checkerboard
from tests.adversaries.plugins import PLUGINS
from tests.run.conftest import check_end, grid

pytestmark = pytest.mark.slow  # the first one runs them all
DETECTED = {  # way -> status, and what its reason says
    "unqueried": ("invalid", "was not queried"),
    "unqueried-midway": ("invalid", "was not queried"),
    "lowers-count": ("invalid", "the constraints of pool-svc"),
    "uncounted": ("error", "it queried targets that it cannot have"),
    "answers-itself": ("invalid", "was not queried"),
    "forges-reply": ("invalid", "the constraints of pool-svc"),
    "floods": ("error", "nobody read the reply"),
}
HARMLESS = ("honest", "lowers-count-midway", "out-of-range", "no-points")  # the record goes by the worker's ledger
OTHERS = (*DETECTED, *HARMLESS, "reads-source")
OPTIONS = ("--formulation", "pool-svc[budget=60],c-svc", "--time-limit", "30")
DATA = Checkerboard(n=200, n_test=50).load()


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Return the records by way."""
    return grid(tmp_path_factory.mktemp("labels"), PLUGINS / "label_cheats.py", "way", OTHERS, *OPTIONS)


@pytest.mark.parametrize("cheat", DETECTED)
def test_a_cheat_is_a_row_with_its_status_and_reason(rows, cheat):
    check_end(rows[cheat], *DETECTED[cheat])


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
