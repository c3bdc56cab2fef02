"""reports/frank_wolfe_2009: a tiny run through the real sessions, its page, and a whole study made up."""

from pathlib import Path

import pytest

from harness.registry import load_registry
from reports.frank_wolfe_2009 import figures, parts, plots, rivals, tables, theorems
from reports.frank_wolfe_2009.study import STUDY
from reports.kit import command, page
from reports.kit.grids import Options
from reports.kit.journal import read_rows
from reports.kit.running import slim
from reports.kit.study import PLUGINS
from tests.reports.fabricated import HEADER, assert_whole, row
from tests.reports.frank_wolfe_rows import LINEAR, lemma_row, level, on_ladder, results

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.usefixtures("warm_sessions"),
]  # sessions start a process for each solver, and compile
FOLDER = Path(__file__).resolve().parents[2] / "reports" / "frank_wolfe_2009"


def test_a_run_that_was_killed_keeps_what_its_trace_has():
    record = {"info": None, "trace": [{"info": {"a": 1}}, {"info": {"a": 2}}], "metrics": None}
    assert slim(record)["info"] == {"a": 2}
    assert slim({**record, "info": {"a": 3}})["info"] == {"a": 3}
    assert slim({**record, "trace": []})["info"] == {}


@pytest.mark.slow
def test_a_ladder_and_its_page(tmp_path, monkeypatch):
    tiny = parts.Hulls("wdbc", "twonorm[n=80,n_test=50]", least=1e-3, rates=True, peers=True, lemma=True)
    monkeypatch.setattr(parts, "SETS", {"wdbc": tiny})
    for module in (figures, tables, plots, rivals, theorems):
        monkeypatch.setattr(module, "SETS", {"wdbc": tiny})
    for module in (parts, tables, plots, rivals):
        monkeypatch.setattr(module, "SOLVERS", ("fw", "cvm"))
    monkeypatch.setattr(parts, "LARGE", ())
    out = tmp_path / "out"
    given = ["--out", str(out), "--store", str(tmp_path / "store.sqlite"), "--limit", "60"]
    command.run(STUDY, given)
    runs = [each for each in read_rows(out / "results.jsonl") if "status" in each]
    assert [each["status"] for each in runs] == ["ok"] * 7
    first = next(each for each in runs if each["solver"].startswith("ladder[oracle=fw,"))
    assert [level["epsilon"] for level in first["info"]["levels"]] == pytest.approx([1e-1, 1e-2, 1e-3])
    assert {each["formulation"] for each in runs} == {"l2-svc"}
    assert all(each["relative_gap"] <= parts.GAP for each in runs if each["set"] == parts.peers_of("wdbc"))
    page.make(STUDY, out)
    text = (out / "README.md").read_text()
    assert f"| wdbc | fw | {first['info']['levels'][1]['iterations']:,} |" in text
    assert (out / "rates.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("part", parts.PARTS)
def test_every_solver_and_set_of_a_part_is_there(part):
    registry = load_registry(list(PLUGINS))
    for grid in parts.PARTS[part](Options()):
        assert len(registry.select_solvers(grid.solvers)) == len(grid.solvers)
        assert len(registry.select_datasets(grid.datasets)) == 1


def test_the_command_line_names_sets_and_limit():
    (grid,) = parts.ladder(Options(sets=("covtype-linear",), limit=3.0))
    assert (grid.set, grid.kernel, grid.limit) == ("covtype-linear", "linear", 3.0)
    assert {grid.target_gap for grid in parts.peers(Options())} == {parts.GAP}


def whole():
    rows = [
        on_ladder(name, solver, *(level(10.0**-k, 10 * k + place, core_set=3 * k) for k in range(1, 5)))
        for name in parts.SETS
        for place, solver in enumerate(parts.SOLVERS)
    ]
    usps = [each for each in rows if each["set"] != "usps"]
    usps += [on_ladder("usps", solver, *LINEAR) for solver in parts.SOLVERS]
    usps = [each for each in usps if parts.SETS[each["set"]].seconds > 0.0]
    peers = [
        row(parts.peers_of(name), solver, cpu=1.0 + place, support_vectors=9, n_features=3)
        for name in parts.SETS
        for place, solver in enumerate((*parts.SOLVERS, *parts.PEERS, parts.NEWTON, *parts.LINEAR_PEERS))
    ]
    many = [row(parts.large_of(n), solver, peak_rss_bytes=10**8) for n in parts.LARGE for solver in parts.LARGE_SOLVERS]
    return [HEADER, *usps, *peers, *many, lemma_row()]


@pytest.mark.slow
def test_a_whole_study_has_all_its_tables_and_pictures(tmp_path):
    found = results(*whole())
    assert_whole(tables, plots, found, results(HEADER), FOLDER, tmp_path)
