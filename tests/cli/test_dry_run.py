"""How many runs there would be: said at once, before any is made or carried out, and by --dry-run."""

import resource
import time

import pytest

DATA = ("--datasets", "twonorm[n=200]")
LISTS = ",".join(map(str, range(2000)))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--seeds", "0-999999999"), "1,000,000,000 seeds = 1,000,000,000 runs"),
        (("--seeds", "0-9999", "--C", ",".join(map(str, range(1, 301)))), "300 values of C x 10,000 seeds = 3,000,000 runs"),
        (("--plugins", f"smo[C=[{LISTS}],gamma=[{LISTS}]]"), "4,000,001 solvers = 4,000,001 runs"),
        (("--kernel", f"poly[gamma=[{LISTS}],coef0=[{LISTS}]]"), "4,000,000 kernels = 4,000,000 runs"),
        (("--datasets", f"twonorm[n=[{LISTS}],seed=[{LISTS}]]"), "4,000,001 data sets = 4,000,001 runs"),
    ],
)  # fmt: skip
def test_a_grid_of_millions_is_refused_before_it_is_made(invoke, slow, arguments, told):
    """Each would take minutes and gigabytes: counted, it is a sentence at once."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_virtual_bytes() + 2**30, hard))
    began = time.process_time()
    try:
        done = invoke("compare", "--plugin-path", slow, "--plugins", "quick", *DATA, *arguments)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    assert done.exit_code == 2
    assert done.stderr == f"harness: {told}; above 1,000,000 they are only carried out with --yes.\n"
    assert time.process_time() - began < 5.0


def _virtual_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


@pytest.mark.usefixtures("warm_sessions")
def test_a_dry_run_says_what_there_is_and_carries_nothing_out(invoke, slow, tmp_path):
    store = tmp_path / "store.sqlite"
    common = ("compare", "--plugin-path", slow, *DATA, "--store", str(store), "--time-limit", "2m")
    wider = (*common, "--plugins", "quick,slow_plugin/skipper", "--seeds", "0-2", "--dry-run")

    first = invoke(*wider)
    assert (first.exit_code, first.stderr) == (0, "")
    assert first.stdout.splitlines() == [
        "6 runs: 2 solvers x 3 seeds; nothing is carried out",
        f"0 of them in the store {store}",
        "6 to carry out, at most 0.2 h",
    ]
    assert not store.exists()

    assert invoke(*common, "--plugins", "quick").exit_code == 0
    before = store.read_bytes()
    told = [f"1 of them in the store {store}", "5 to carry out, at most 0.0833 h"]
    assert invoke(*wider, "--jobs", "2").stdout.splitlines()[1:] == told
    assert "0 of them in the store" in invoke(*wider, "--fresh").stdout
    other = invoke(*common, "--plugins", "quick", "--formulation", "eps-svr", "--dry-run").stdout
    assert "1 of them a row without a run" in other
    assert store.read_bytes() == before


def test_a_data_set_may_have_a_number_called_test(invoke):
    drawn = "gaussian-outliers[least=20,most=30,test=1,d=2]"
    done = invoke("compare", "--plugins", "rgd-tree", "--datasets", drawn, "--dry-run")
    assert (done.exit_code, done.stderr) == (0, "")


@pytest.mark.usefixtures("warm_sessions")
def test_parts_that_are_merged_are_the_whole_study(invoke, slow, tmp_path):
    study = ("compare", "--plugin-path", slow, "--plugins", "quick,quick[shift=0.5]", *DATA, "--seeds", "0-2", "-q")
    stores = [str(tmp_path / f"part-{i}.sqlite") for i in (1, 2)]
    for i, store in enumerate(stores, start=1):
        assert invoke(*study, "--part", f"{i}/2", "--store", store).exit_code == 0
    everything = str(tmp_path / "all.sqlite")
    assert invoke("results", "merge", *stores, "--into", everything).exit_code == 0
    whole = invoke(*study, "--store", everything, "--dry-run").stdout
    assert f"6 of them in the store {everything}" in whole
    assert "0 to carry out" in whole
    said = invoke(*study, "--part", "2/2", "--store", everything, "--dry-run").stdout.splitlines()
    assert said[0] in (
        "2 runs: part 2/2 of 2 solvers x 3 seeds; nothing is carried out",
        "4 runs: part 2/2 of 2 solvers x 3 seeds; nothing is carried out",
    )
    assert said[-1] == "0 to carry out"


def test_an_empty_part_is_a_sentence_and_no_failure(invoke, slow, tmp_path):
    study = ("compare", "--plugin-path", slow, "--plugins", "quick", *DATA, "--store", str(tmp_path / "s.sqlite"))
    done = invoke(*study, "--part", "3/3")
    assert done.exit_code == 0
    assert "note: part 3/3 has no runs: there are fewer than 3 blocks of runs" in done.stderr
