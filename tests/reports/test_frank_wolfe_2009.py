"""reports/frank-wolfe-2009: the ladder and the generated sets, a tiny run through the real sessions, and the tables."""

import math
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from benchmarks.papers import command, page, running, solvers, sources
from benchmarks.papers.frank_wolfe_2009 import figures, parts, plots, rivals, tables, theorems
from benchmarks.papers.grids import Options
from benchmarks.papers.markdown import NOT_MEASURED
from benchmarks.papers.results import Published, Results
from benchmarks.papers.running import slim
from benchmarks.peers.measure import read_rows
from harness import L2SVC, RBF, HardMargin, Iterate, KernelOracle, Linear, get_solver
from harness.registry import load_registry
from tests.plugins.points import overlapping
from tests.reports.fabricated import HEADER, cells, row

pytestmark = pytest.mark.timeout(900)  # sessions start a process for each solver, and compile
FOLDER = Path(__file__).resolve().parents[2] / "reports" / "frank-wolfe-2009"


def results(*rows):
    return Results(rows, Published({}))


# -- the ladder --------------------------------------------------------------------------------------------


def climbed(ladder, problem):
    return list(ladder.iterates(problem, np.random.default_rng(0)))


def hulls(seed=0, n=60):
    x, y = overlapping(seed, n=n)
    return L2SVC.build(KernelOracle(RBF(0.5), x), y, {"C": 2.0})


def test_each_level_is_a_run_from_scratch():
    *_, last = climbed(solvers.Ladder(oracle="fw", least=1e-4, per_decade=1, seconds=300.0), hulls())
    assert last.done
    assert [level["epsilon"] for level in last.info["levels"]] == pytest.approx([1e-1, 1e-2, 1e-3, 1e-4])
    for level in last.info["levels"]:
        problem = hulls()
        *_, alone = get_solver("fw", epsilon=level["epsilon"]).iterates(problem, np.random.default_rng(0))
        assert level["iterations"] == alone.step
        assert level["core_set"] == alone.core_set
        assert level["evaluations"] == problem.kernel.counter.evaluations
        assert level["seconds"] > 0.0


def test_delta_is_half_the_largest_squared_distance_and_not_counted():
    problem = hulls()
    first = next(iter(solvers.Ladder(oracle="fw").iterates(problem, np.random.default_rng(0))))
    alone = hulls()
    next(iter(get_solver("fw", epsilon=0.1).iterates(alone, np.random.default_rng(0))))
    assert problem.kernel.counter.evaluations == alone.kernel.counter.evaluations
    gram = alone.kernel.block(np.arange(60), np.arange(60)) + 0.0
    diagonal = alone.kernel.diagonal()
    pairs = [
        diagonal[i] + diagonal[j] - 2.0 * gram[i, j]
        for i, j in combinations(range(60), 2)
        if alone.targets[i] != alone.targets[j]
    ]
    assert first.info["delta"] == pytest.approx(0.5 * max(pairs))


def test_hulls_that_meet_end_the_ladder():
    x, y = np.array([[0.0], [2.0], [1.0], [3.0]]), np.array([1.0, 1.0, -1.0, -1.0])
    problem = HardMargin.build(KernelOracle(Linear(), x), y, {})
    *_, last = climbed(solvers.Ladder(oracle="fw"), problem)
    assert not last.done
    assert last.info["levels"] == []
    assert last.info["ended"] == "hulls intersect"


def test_a_level_that_is_not_reached_leaves_where_it_stood(monkeypatch):
    class GivesUp:
        def with_target_gap(self, gap):
            self.gap = gap
            return self

        def iterates(self, problem, rng):
            coef = np.zeros(problem.n)
            yield Iterate(coef, step=1, core_set=2, info={"epsilon_plus": 0.5})
            yield Iterate(coef, step=7, core_set=2, done=self.gap > 0.05, info={"epsilon_plus": 0.02})

    monkeypatch.setattr(solvers, "get_solver", lambda name: GivesUp())
    *_, last = climbed(solvers.Ladder(oracle="x", least=1e-3, per_decade=1), hulls())
    assert [level["iterations"] for level in last.info["levels"]] == [7]
    assert (last.done, last.info["last_epsilon"], last.info["last_iterations"]) == (False, 0.02, 7)


def test_a_ladder_ends_with_its_cpu_time():
    *_, last = climbed(solvers.Ladder(oracle="fw", seconds=1e-9), hulls())
    assert not last.done
    assert last.info["ended"] == "its 1e-09 s of CPU time are over"
    assert len(last.info["levels"]) <= 1


def test_a_run_that_was_killed_keeps_what_its_trace_has():
    record = {"info": None, "trace": [{"info": {"a": 1}}, {"info": {"a": 2}}], "metrics": None}
    assert slim(record)["info"] == {"a": 2}
    assert slim({**record, "info": {"a": 3}})["info"] == {"a": 3}
    assert slim({**record, "trace": []})["info"] == {}


def test_the_accuracies_of_a_ladder():
    assert solvers.Ladder(least=1e-2, per_decade=2).accuracies == pytest.approx([1e-1, 10**-1.5, 1e-2])
    assert solvers.Ladder(least=0.1).accuracies == pytest.approx([0.1])


# -- the generated sets ------------------------------------------------------------------------------------


def test_mushrooms_are_one_hot_and_separable():
    data = sources.MushroomsLike(n=150).load()
    assert data.x_train.shape[0] == data.x_test.shape[0] == 150
    assert set(np.unique(data.x_train)) == {0.0, 1.0}
    assert (data.x_train.sum(axis=1) == 22).all()
    assert min((data.y_train > 0).mean(), (data.y_train < 0).mean()) > 0.2
    problem = HardMargin.build(KernelOracle(Linear(), data.x_train), data.y_train, {})
    found = problem.certify(*_model(get_solver("fw", epsilon=0.5), problem))
    assert found.margin_lower > 0.0
    other = sources.MushroomsLike(n=150, seed=1).load()
    assert other.sha256 != data.sha256


def _model(solver, problem):
    *_, last = solver.iterates(problem, np.random.default_rng(0))
    return last.dual_coef, last.intercept


@pytest.mark.parametrize(("m", "height"), [(3, 0.5), (4, 1.0)])
@pytest.mark.parametrize("epsilon", [0.3, 0.1, 0.03, 0.001])
def test_the_least_core_set_of_the_simplices(m, height, epsilon):
    data = sources.Simplices(m=m, height=height).load()
    whole = HardMargin.build(KernelOracle(Linear(), data.x_train), data.y_train, {})
    exact = get_solver("qp")

    def margin(members):
        part = whole.restrict(np.array(members))
        found = exact.solve(part)
        return part.certify(found.dual_coef, found.intercept).margin_upper

    optimum = margin(range(2 * m))
    assert optimum == pytest.approx(math.sqrt(height**2 + 2.0 / m), rel=1e-6)
    # by symmetry only the numbers of points matter
    fitting = [
        k + other
        for k in range(1, m + 1)
        for other in range(1, m + 1)
        if (1.0 - epsilon) * margin([*range(k), *range(m, m + other)]) <= optimum * (1.0 + 1e-9)
    ]
    assert sources.least_core_set(m, height, epsilon) == min(fitting)


# -- a tiny run --------------------------------------------------------------------------------------------


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
    command.main(FOLDER, parts.PARTS, tuple(parts.SETS), "", arguments=given)
    runs = [each for each in read_rows(out / "results.jsonl") if "status" in each]
    assert [each["status"] for each in runs] == ["ok"] * 7
    first = next(each for each in runs if each["solver"].startswith("ladder[oracle=fw,"))
    assert [level["epsilon"] for level in first["info"]["levels"]] == pytest.approx([1e-1, 1e-2, 1e-3])
    assert {each["formulation"] for each in runs} == {"l2-svc"}
    assert all(each["relative_gap"] <= parts.GAP for each in runs if each["set"] == parts.peers_of("wdbc"))
    page.make(FOLDER, tables.sections, plots.PICTURES, "", arguments=["--out", str(out)])
    text = (out / "README.md").read_text()
    assert f"| wdbc | fw | {first['info']['levels'][1]['iterations']:,} |" in text
    assert (out / "rates.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("part", parts.PARTS)
def test_every_solver_and_set_of_a_part_is_there(part):
    registry = load_registry(list(running.PLUGINS))
    for grid in parts.PARTS[part](Options()):
        assert len(registry.select_solvers(grid.solvers)) == len(grid.solvers)
        assert len(registry.select_datasets(grid.datasets)) == 1


def test_the_command_line_names_sets_and_limit():
    (grid,) = parts.ladder(Options(sets=("covtype-linear",), limit=3.0))
    assert (grid.set, grid.kernel, grid.limit) == ("covtype-linear", "linear", 3.0)
    assert {grid.target_gap for grid in parts.peers(Options())} == {parts.GAP}


# -- what the tables make of rows --------------------------------------------------------------------------


def level(epsilon, iterations, core_set=10, evaluations=2000, seconds=0.5):
    return {
        "epsilon": epsilon,
        "iterations": iterations,
        "core_set": core_set,
        "evaluations": evaluations,
        "seconds": seconds,
    }


def on_ladder(name, solver, *found, **changed):
    label = parts.on_the_ladder(solver, parts.SETS[name])
    info = {"levels": list(found), "delta": 2.0, **changed.pop("info", {})}
    given = {"info": info, "primal": 0.02, "dual": 0.02, "relative_gap": 1e-6, "n_features": 3, **changed}
    return row(name, label, **given)


LINEAR = [level(10.0**-k, 100 * k, core_set=5 * k) for k in range(1, 9)]
HYPERBOLIC = [level(10.0**-k, 2 * 10**k) for k in range(1, 4)]
STOOD = {"last_epsilon": 5e-4, "last_iterations": 4000, "last_seconds": 1.0}


def test_the_verdict_tells_a_linear_rate_from_one_of_1_over_k():
    gilbert = on_ladder("usps", "gilbert", *HYPERBOLIC, status="budget", reason="stopped", info=STOOD)
    good = tables.verdict(results(on_ladder("usps", "fw", *LINEAR), gilbert))
    assert good == (
        "* usps: fw reaches epsilon = 1e-08 in 800 iterations and 0.5 s, the last factor of ten with 1.14 times the "
        "iterations (met); gilbert reaches 1e-03 in 2,000 iterations and stands at epsilon_+ = 0.0005 after 4,000 "
        "iterations when its time is over (met)."
    )
    slow = on_ladder("usps", "fw", *HYPERBOLIC)
    assert "fw ends at epsilon = 1e-03, the last factor of ten with 10.00 times the iterations (**missed**)" in (
        tables.verdict(results(slow, gilbert))
    )
    far = on_ladder("usps", "fw", *(level(10.0**-k, 2 * 10**k) for k in range(1, 9)))
    assert "with 10.00 times the iterations (**missed**); gilbert" in tables.verdict(results(far, gilbert))
    both = tables.verdict(results(on_ladder("usps", "fw", *LINEAR), on_ladder("usps", "gilbert", *LINEAR)))
    assert both.endswith("gilbert reaches 1e-08 in 800 iterations (**missed**).")


def test_rates_are_a_line_a_solver():
    found = tables.rates(results(on_ladder("usps", "fw", *LINEAR), on_ladder("usps", "mdm", *HYPERBOLIC)))
    assert found.splitlines()[2:] == [
        "| usps | fw | 200 | 400 | 600 | 800 |  | 1e-08 | 1.14 |",
        "| usps | mdm | 200 |  |  |  |  | 1e-03 | 10.00 |",
    ]


def test_bounds_of_the_core_set():
    (found,) = {figures.geometry(results(on_ladder("usps", "fw", *LINEAR)), "usps")}
    assert found.zeta == pytest.approx(100.0)
    assert found.sigma == pytest.approx((81.0, 99.0))
    assert found.lower_bound(0.1) == pytest.approx((407.0, 497.0))
    iterations = 6.0 + 10.0 * 100.0 * math.log(100.0) + 32.0 * 100.0 / 0.1
    assert found.upper_bound(0.1) == pytest.approx(2.0 + 2.0 * iterations)
    text = tables.core_sets(results(on_ladder("usps", "fw", *LINEAR)))
    assert "| usps | 1,000 | 1e-01 | 5 |  |  |  | 407 - 497 | 7.3e+04 |" in text


def test_the_geometry_is_that_of_the_smallest_gap():
    rough = on_ladder("usps", "gilbert", *HYPERBOLIC, primal=0.01, dual=0.03, relative_gap=0.67)
    exact = on_ladder("usps", "fw", *LINEAR)
    for order in ((rough, exact), (exact, rough)):
        assert figures.geometry(results(*order), "usps").psi_lower == 0.02
    assert figures.geometry(results(), "usps") is None


def test_kernel_evaluations_are_in_rows():
    found = tables.moderate(results(on_ladder("usps", "fw", *LINEAR)), "evaluations")
    assert found.splitlines()[-1] == "| usps | 2 |  |  |  |  |  |  |"


def test_the_peers_must_be_certified():
    name = parts.peers_of("usps")
    runs = [
        row(name, "fw", cpu=1.0, support_vectors=30),
        row(name, "gilbert", cpu=0.1, relative_gap=0.1),
        row(name, "fw-fully-corrective", cpu=3.0, support_vectors=30),
        row(name, rivals.SMO, cpu=2.0),
        row(name, rivals.BLOCK, cpu=0.5),
    ]
    text = rivals.peers(results(*runs))
    assert "| usps | 3 % | **1** |  |  |  |  | 3 |  | 2 | **0.5** |" in text
    said = rivals.against_smo(results(*runs))
    assert said == (
        "* usps: the fastest, fw, is 2.0 times as fast as smo (met); slower than smo: fw-fully-corrective; "
        "0.5 times as fast as smo-block (**missed**); slower than smo-block: fw, fw-fully-corrective."
    )
    dense = [{**each, "support_vectors": 500} for each in runs]
    assert rivals.against_smo(results(*dense)) == NOT_MEASURED
    assert f"* {name}, gilbert: relative gap 0.1; " in tables.stopped(results(*runs))


def test_the_fastest_certified_run_of_the_library_counts():
    name = parts.peers_of("wdbc-linear")
    rough, good, exact, *_ = parts.LINEAR_PEERS
    runs = [
        row(name, rough, cpu=0.1, relative_gap=0.5, n_features=3),
        row(name, good, cpu=1.0, n_features=3),
        row(name, exact, cpu=2.0, n_features=3),
        row(name, parts.NEWTON, cpu=4.0, support_vectors=100, n_features=3),
        row(name, "fw", cpu=6.0, n_features=3),
    ]
    found = results(*runs)
    assert rivals.linear_svc(found, "wdbc-linear")["solver"] == good
    assert (
        rivals.linear_peers(found)
        .splitlines()[-1]
        .startswith("| wdbc-linear | 1,000 x 3 | 10 % | 1 | [tol=1e-6,scaling=10] | 4 | 4.00 | 6 |  |")
    )
    assert rivals.against_library(found) == (
        "* wdbc-linear: fw-newton takes 4.00 times as long as LinearSVC (met); more than 5 times: "
        "fw, gilbert, fw-pairwise, mdm, nearest-point, fw-fully-corrective, cvm."
    )
    late = [each for each in runs if each["solver"] != parts.NEWTON]
    assert "fw takes 6.00 times as long as LinearSVC (**missed**)" in rivals.against_library(results(*late))
    without = [runs[0], runs[3]]
    assert rivals.against_library(results(*without)) == (
        "* wdbc-linear: no model of LinearSVC has the gap; the least is 0.5, after 0.1 s. fw-newton takes 4 s."
    )
    assert tables.stopped(found) == "Nothing.", "a tolerance that is too loose is no failure"


def test_the_bounds_stand_beside_what_was_measured():
    text = theorems.bounds(results(on_ladder("usps", "fw", *LINEAR)))
    assert text.splitlines()[-1] == "| usps | 1e-03 | 100 | 300 | 3.2e+06 | 15 | 6.4e+06 | (met) |"
    beyond = [level(1e-1, 10**8)]
    assert "(**missed**)" in theorems.bounds(results(on_ladder("usps", "fw", *beyond)))


def lemma_row(**changed):
    info = {"steps": 1500, "drops": 2, "least": 1.25, "median": 7.5, "worst_drop": 0.5, "delta": 2.0, **changed}
    return row(parts.lemma_of("usps"), parts.LEMMA, info=info, dual=0.02)


def test_gains_are_judged_by_the_lemma():
    assert theorems.lemma(results(lemma_row())).splitlines()[-1] == (
        "| usps | 2 | 0.02 | 1,500 | 2 | 1.25 | 7.5 | 0.500000 | (met) |"
    )
    assert "| 1.25 | 7.5 |  | (met) |" in theorems.lemma(results(lemma_row(worst_drop=None)))
    assert "(**missed**)" in theorems.lemma(results(lemma_row(least=0.9)))
    assert "(**missed**)" in theorems.lemma(results(lemma_row(worst_drop=1.1)))


def test_many_points_say_time_memory_and_what_is_certified():
    name = parts.large_of(100_000)
    good = row(name, parts.NEWTON, cpu=9.0, support_vectors=3129, relative_gap=1e-6, peak_rss_bytes=int(3e8))
    late = row(name, "fw", cpu=120.0, status="budget", reason="stopped", relative_gap=0.75, peak_rss_bytes=None)
    lines = theorems.large(results(good, late)).splitlines()
    assert lines[-1].startswith("| 100,000 | fw-newton | 9 | 3,129 | 5e-07 |")
    assert lines[-1].endswith("| 300 | (met) |")
    assert "| 100,000 | fw | 120 |" in lines[-2]
    assert "| 0.5 |" in lines[-2]
    assert lines[-2].endswith("|  | (**missed**) |")


# -- the peers and the lemma, measured ---------------------------------------------------------------------


@pytest.mark.parametrize("formulation", [L2SVC, HardMargin])
def test_smo_without_a_cap_finds_the_nearest_points(formulation):
    x, y = overlapping(0, n=60)
    settings = {"C": 2.0} if formulation is L2SVC else {}
    problem = formulation.build(KernelOracle(RBF(2.0), x), y, settings)
    found = problem.certify(*_model(solvers.UncappedSMO().with_target_gap(1e-4), problem))
    assert found.feasibility_violation < 1e-12
    assert found.relative_gap <= 1e-4
    exact = get_solver("qp").solve(problem)
    assert found.margin_upper == pytest.approx(problem.certify(exact.dual_coef, exact.intercept).margin_upper, rel=1e-4)


def test_the_library_s_model_is_certified_as_one_of_l2_svc():
    x, y = overlapping(0, n=200)
    problem = L2SVC.build(KernelOracle(Linear(), x), y, {"C": 2.0})
    *_, found = solvers.LinearSVCPeer(tol=1e-10, scaling=100.0).iterates(problem, np.random.default_rng(0))
    assert problem.certify(found.dual_coef, found.intercept).relative_gap < 1e-2
    *_, biased = solvers.LinearSVCPeer(tol=1e-10, scaling=0.01).iterates(problem, np.random.default_rng(0))
    assert problem.certify(biased.dual_coef, biased.intercept).relative_gap > 1e-2
    assert found.info["conversion_cpu_seconds"] >= 0.0
    assert "linear kernel" in solvers.LinearSVCPeer().skip(hulls())


def test_gains_are_those_of_single_iterations():
    problem = hulls()
    *_, last = solvers.Decrease(epsilon=1e-2).iterates(problem, np.random.default_rng(0))
    assert last.done
    psi, kinds, epsilons = [], [], []
    for k in range(last.step + 1):
        *_, found = get_solver("fw", epsilon=1e-2, max_iterations=max(1, k)).iterates(hulls(), np.random.default_rng(0))
        if k == 0:
            found = next(iter(get_solver("fw").iterates(hulls(), np.random.default_rng(0))))
        psi.append(0.5 * found.info["norm"] ** 2)
        kinds.append(found.info["kind"])
        epsilons.append(found.info["epsilon"])
    ratios = []
    for k in range(1, len(psi)):
        if kinds[k] != "drop":
            share = epsilons[k - 1] ** 2 * psi[-1]
            promised = psi[k - 1] * share / (share + last.info["delta"])
            ratios.append((psi[k - 1] - psi[k]) / promised)
    assert last.info["steps"] == len(ratios)
    assert last.info["drops"] == kinds.count("drop")
    assert last.info["least"] == pytest.approx(min(ratios), rel=1e-6)
    assert last.info["median"] == pytest.approx(np.median(ratios), rel=1e-6)


def test_stopped_runs_say_where_they_stood():
    run = on_ladder("usps", "gilbert", *HYPERBOLIC, status="budget", reason="stopped at the limit", info=STOOD)
    assert tables.stopped(results(run)) == (
        "* usps, gilbert: reached 1e-03; epsilon_+ = 0.0005 after 4,000 iterations; stopped at the limit"
    )
    assert tables.stopped(results(on_ladder("usps", "fw", *LINEAR))) == "Nothing."
    nowhere = {**STOOD, "last_epsilon": "inf"}  # as a record spells it
    started = on_ladder("usps", "cvm", *HYPERBOLIC, status="budget", reason="stopped at the limit", info=nowhere)
    assert tables.stopped(results(started)) == "* usps, cvm: reached 1e-03; stopped at the limit"
    stalled = on_ladder("usps", "fw", *LINEAR, info={"ended": "stalled"})
    assert tables.stopped(results(stalled)).endswith("reached 1e-08; stalled")


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


def test_a_whole_study_has_all_its_tables_and_pictures(tmp_path):
    found = results(*whole())
    for name, text in tables.sections(found).items():
        assert NOT_MEASURED not in text, name
        assert len(set(cells(text))) <= 1, f"{name}: a line with more or fewer cells than the head"
    for name, draw in plots.PICTURES.items():
        assert draw(found, tmp_path / f"{name}.png"), name
        assert (tmp_path / f"{name}.png").stat().st_size > 10_000
        assert not draw(results(HEADER), tmp_path / "nothing.png"), "nothing to draw"


def test_every_section_has_its_place_in_the_page():
    text = (FOLDER / "README.md").read_text()
    for name in tables.sections(results(HEADER)):
        assert f"<!-- begin {name} -->\n" in text
        assert f"<!-- end {name} -->" in text
    assert all(f"({name}.png)" in text for name in plots.PICTURES)
