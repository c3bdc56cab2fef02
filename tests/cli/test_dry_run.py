"""How many runs there would be: said at once, before any is made or carried out, and by --dry-run with their time."""

import json
import re
import resource
import time

import pytest

from harness.run.driver import forecast
from harness.run.plan import Study
from harness.run.record import Limits, Record
from harness.run.store import Store

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


def test_with_yes_what_does_not_fit_into_memory_is_refused(invoke, slow):
    done = invoke("compare", "--plugin-path", slow, "--plugins", "quick", *DATA, "--repeat", "1e12", "--yes")
    assert done.exit_code == 2
    assert re.search(
        r"1,000,000,000,000 runs; their results take about [\d,.]+ GB of memory, this machine", done.stderr
    )


@pytest.mark.usefixtures("warm_sessions")
def test_a_dry_run_says_what_there_is_and_carries_nothing_out(invoke, slow, tmp_path):
    store = tmp_path / "store.sqlite"
    common = ("compare", "--plugin-path", slow, *DATA, "--store", str(store), "--time-limit", "2m")
    wider = (*common, "--plugins", "quick,sleeper", "--seeds", "0-2", "--dry-run")

    first = invoke(*wider)
    assert (first.exit_code, first.stderr) == (0, "")
    assert first.stdout.splitlines() == [
        "6 runs: 2 solvers x 3 seeds; nothing is carried out",
        f"0 of them in the store {store}",
        "quick: 3 runs to carry out, 3 of unknown time, at most 6 min",
        "sleeper: 3 runs to carry out, 3 of unknown time, at most 6 min",
        "together: 6 runs, 6 of unknown time, at most 12 min",
    ]
    assert not store.exists()

    assert invoke(*common, "--plugins", "quick").exit_code == 0
    before = store.read_bytes()
    facts = json.loads(invoke(*wider, "--format", "json", "--jobs", "2").stdout)
    assert {name: facts[name] for name in ("runs", "in_store", "to_carry_out", "of_unknown_time")} == {
        "runs": 6, "in_store": 1, "to_carry_out": 5, "of_unknown_time": 3,
    }  # fmt: skip
    assert facts["these_at_most_seconds"] == 180.0
    assert 0 < facts["solvers"]["quick"]["seconds"] < 2.0
    text = invoke(*wider).stdout
    assert "1 of them in the store" in text
    assert re.search(r"^quick: 2 runs to carry out, about \S+ s$", text, flags=re.MULTILINE)
    assert "0 of them in the store" in invoke(*wider, "--fresh").stdout
    assert store.read_bytes() == before
    assert "--dry-run is shown as table or json, not csv" in invoke(*wider, "--format", "csv").stderr


def test_the_estimate_is_the_median_of_the_same_solver_and_data_within_the_limit(tmp_path, slow):
    from harness.registry import load_registry

    path = tmp_path / "store.sqlite"
    like = {"plugin": "slow_plugin", "solver": "sleeper", "dataset": "twonorm[n=200]", "status": "ok", "key": "x"}
    with Store(path) as store:
        for changed in (
            {"fit_seconds": 1.0}, {"fit_seconds": 3.0}, {"fit_seconds": 500.0}, {"fit_seconds": None, "status": "crashed"},
            {"fit_seconds": 70.0, "dataset": "twonorm"}, {"fit_seconds": 80.0, "solver": "quick"},
        ):  # fmt: skip
            store.append(Record({**like, "measured_at": "2020-01-01", **changed}))
    registry = load_registry([slow])
    chosen = registry.select_solvers("sleeper,quick,slow_plugin/raiser,skipper")
    study = Study(chosen, registry.select_datasets(DATA[1]), repeat=4, store=path, limits=Limits(seconds=2.0))
    found = forecast(study, registry)
    assert [(cost.to_do, cost.seconds, cost.unknown, cost.most) for cost in found.values()] == [
        (4, 8.0, 0, 0.0), (4, 8.0, 0, 0.0), (4, 0.0, 4, 8.0), (4, 0.0, 4, 8.0)
    ]  # fmt: skip
    unlimited = forecast(Study(chosen, study.datasets, store=path), registry)
    assert [(cost.seconds, cost.most) for cost in unlimited.values()] == [(3.0, 0.0), (80.0, 0.0), *[(0.0, None)] * 2]
