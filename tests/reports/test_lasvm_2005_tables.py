"""reports/lasvm_2005: what the tables and pictures make of rows."""

from dataclasses import replace

import pytest

from reports.kit.grids import Options
from reports.kit.libsvm_counted import COUNT
from reports.kit.markdown import NOT_MEASURED, missing
from reports.lasvm_2005 import digits, growth, parts, plan, plots, selection, tables
from tests.reports.fabricated import HEADER, assert_whole, every_run, row
from tests.reports.lasvm_2005_rows import FOLDER, results


def compared(name, counted, cpu=10.0, **changed):
    """LIBSVM with a counter, scikit-learn's, and SMO on a set."""
    return [
        row(name, plan.COUNTED, kernel_evaluations=None, info={COUNT: counted}, cpu=2.0 * cpu, **changed),
        row(name, plan.LIBSVM, kernel_evaluations=None, cpu=cpu, **changed),
        row(name, plan.SMO, kernel_evaluations=4 * counted, cpu=30.0, **changed),
    ]


def test_the_verdict_tells_what_is_met_and_what_is_missed():
    rows = [
        row("adult", "lasvm", error=15.0, cpu=4.0, kernel_evaluations=3e8),
        row("adult", plan.EACH, error=15.0, cpu=40.0, kernel_evaluations=1.5e8),
        *compared("adult", 6e8, error=14.8),
        row("usps", "lasvm", error=1.0, cpu=6.0, kernel_evaluations=1e6),
        *compared("usps", 2e6, error=0.5),
    ]
    text = tables.verdict(results(*rows))
    assert "| adult | +0.20 (met) | 0.50 (**missed**) | 0.36 | 0.25 | 0.12 | 0.40 (met) | 0.75 |" in text
    assert "| usps | +0.50 (**missed**) | 0.50 (met) | 0.55 |  | 0.12 | 0.60 (**missed**) | 1.18 |" in text
    text = tables.figure8(results(*rows))
    assert "| adult | LIBSVM | 14.80 (14.90) |  | 100 (11327) | 600 (1,760) | 20 | 1079 |" in text
    assert "| adult | LIBSVM, scikit-learn's | 14.80 |  | 100 | - | 10 |  |" in text


def test_nothing_is_divided_that_was_not_measured_in_turns():
    for other in ({"git_commit": "b"}, {"machine": "another"}):
        rows = [row("adult", "lasvm", error=15.0), *compared("adult", 600_000_000, error=14.8, **other)]
        cells = "not in turns | 0.36 |  | not in turns | not in turns | 0.75 |"
        assert f"| adult | +0.20 (met) | {cells}" in tables.verdict(results(*rows))
    mixed = [
        row("adult", "lasvm", error=15.0),
        *compared("adult", 6e8, error=14.8),
        row("adult", "lasvm", error=15.0, seed=1, git_commit="b"),
    ]
    assert "+0.20 (met) | not in turns | 0.36 |  | not in turns | not in turns | 0.75 |" in tables.verdict(
        results(*mixed)
    ), "one of several runs"


def test_without_a_counter_scikit_learn_s_libsvm_stands_for_it():
    rows = [row("adult", "lasvm", error=15.0), row("adult", "libsvm", kernel_evaluations=None, error=14.8)]
    assert "| adult | LIBSVM | 14.80 (14.90) |  | 100 (11327) | - (1,760) |" in tables.figure8(results(*rows))
    assert "| adult | +0.20 (met) |  | 0.36 |" in tables.verdict(results(*rows))


def test_the_newest_run_counts_and_stopped_ones_do_not():
    found = results(
        row("usps", "lasvm", cpu=9.0),
        row("usps", "lasvm", cpu=2.0, measured_at="2026-01-03"),
        row("usps", "lasvm", cpu=4.0, seed=1),
        row("usps", "lasvm", cpu=99.0, seed=2, status="timeout", reason="still running at the time limit"),
    )
    assert found.values("usps", "lasvm", "cpu") == [2.0, 4.0]
    assert found.mean("usps", "lasvm", "cpu") == 3.0
    assert found.spread("usps", "lasvm", "cpu") == pytest.approx(2.0**0.5)
    assert "* usps, lasvm, usps, seed 2: still running at the time limit" in missing(found)
    both = [row("usps", "lasvm", seed=seed, status="timeout", reason="still running") for seed in (0, 1)]
    assert missing(results(*both)) == "* usps, lasvm, 2 runs: still running"


def test_runs_with_another_cache_are_not_mixed():
    found = results(*(row("usps", "lasvm", cpu=cache, cache_mb=cache) for cache in (8.0, 40.0)))
    assert found.values("usps", "lasvm", "cpu") == [40.0], "those of the cache measured last"
    again = results(*(row("usps", "lasvm", cpu=cache, cache_mb=cache) for cache in (8.0, 40.0, 8.0)))
    assert again.values("usps", "lasvm", "cpu") == [8.0]
    assert found.values("usps", "lasvm", "cpu", cache_mb=8.0) == [8.0]


def test_figure_9_is_the_change_over_the_runs_without_finishing():
    rows = [row("banana", plan.ONLINE, error=20.0, support_vectors=400, cpu=1.0)]
    rows.append(row("banana", plan.PRINTED, error=5.0, support_vectors=100, cpu=3.0))
    assert "| banana | -75 (-79) | -75 (-74) | +200 (+185) | 20.00 | 5.00 |" in tables.figure9(results(*rows))


def grown(power, members=0.6):
    """Runs on checkerboard whose time grows like n^power, and S like n^members; the first run of three is the median."""
    return [
        row(
            parts.of_size(plan.PLAN, "checkerboard", n).name, "lasvm", dataset=f"draw {draw}", n_train=n,
            cpu=scale * 1e-6 * n**power, info={"online_members": 2.0 * n**members},
        )
        for n in plan.PLAN.scaled["checkerboard"][1]
        for draw, scale in enumerate((1.0, 0.5, 3.0))
    ]  # fmt: skip


def test_time_may_grow_like_n_times_s():
    text = tables.scaling(results(*grown(1.5)))
    assert "| checkerboard | 10,000 | 502 | 5.02e+06 | 1 (0.5-3) | 199 | 3 |" in text
    line = (
        "* checkerboard: time grows like n^1.50, n |S| like n^1.60 (met); from n = 100,000 on like n^1.50 and n^1.60."
    )
    assert line in text.splitlines()
    assert "n^1.64, n |S| like n^1.60 (met)" in tables.scaling(results(*grown(1.64)))
    assert "n^1.66, n |S| like n^1.60 (**missed**)" in tables.scaling(results(*grown(1.66)))
    assert "grows like" not in tables.scaling(results(*grown(1.5)[:3])), "no exponent of one size"


def test_the_growth_over_the_largest_sizes_is_told_apart():
    rows = grown(1.0)
    for each in rows:
        each["cpu"] += 1e-11 * each["n_train"] ** 2  # more than the rest from 100,000 points on
    found = growth.measured(results(*rows), "checkerboard")
    assert [each.n for each in growth.largest(found)] == [100_000, 300_000, 1_000_000]
    whole, last = growth.exponents(found)[0], growth.exponents(growth.largest(found))[0]
    assert last > whole + 0.2
    assert f"time grows like n^{whole:.2f}, n |S| like n^1.60 (met); from n = 100,000 on like n^{last:.2f} and" in (
        tables.scaling(results(*rows))
    )


def test_the_tolerance_of_the_exponents_is_a_time_1_3_times_too_long_at_adult_s_largest_size():
    sizes = plan.PLAN.scaled["adult"][1]
    even = [growth.Size(n, 1.0, (float(n),)) for n in sizes]
    late = [*even[:-1], growth.Size(sizes[-1], 1.0, (1.3 * sizes[-1],))]
    assert growth.exponents(even) == pytest.approx((1.0, 1.0))
    assert growth.exponents(late)[0] == pytest.approx(1.0 + growth.TOLERANCE, abs=0.005)


def cached(name, *runs, scale=1.0):
    """Runs of figure 6 on one set, each a solver, its cache in MB and its CPU seconds."""
    return [row(f"{plan.CACHED}{name}", by, cpu=cpu * scale, cache_mb=cache) for by, cache, cpu in runs]


def test_figure_6_compares_with_libsvm_s_largest_cache():
    runs = ("libsvm", 8.0, 4.0), ("libsvm", 64.0, 2.0), ("lasvm", 8.0, 1.5), ("lasvm", 64.0, 1.0)
    rows = cached("mnist-0", *runs) + cached("mnist-1", *runs, scale=10.0)
    text = digits.figure6(results(*rows))
    assert "| all | 8 | +100 | -25 | +50 | 1 | 2 |" in text
    assert "| all | 64 | +0 | -50 | +0 | 1 | 2 |" in text
    assert (
        "* All images: with 8 MB LASVM's time grows by 50 % on the worst digit; asked for: less than 30 % (**missed**)."
        in text
    )


def test_figure_6_does_not_mix_numbers_of_images_and_needs_libsvm_with_one_cache_alone():
    rows = cached("mnist-8-of-100", ("lasvm", 8.0, 1.1), ("lasvm", 64.0, 1.0), ("libsvm", 64.0, 2.0))
    rows += cached("mnist-8", ("lasvm", 8.0, 30.0), ("lasvm", 64.0, 20.0), ("libsvm", 64.0, 200.0))
    text = digits.figure6(results(*rows))
    assert "| 100 | 8 |  | -45 | +10 | 1 | 1 |" in text
    assert "| all | 8 |  | -85 | +50 | 1 | 1 |" in text
    assert (
        "* 100 images: with 8 MB LASVM's time grows by 10 % on the worst digit; asked for: less than 30 % (met)."
        in text
    )
    assert "* All images: with 8 MB LASVM's time grows by 50 %" in text


def test_digits_of_different_sizes_are_not_mixed():
    found = [row(name, plan.ONE) for name in ("mnist-8", "mnist-9-of-100", "mnist-0-of-100")]
    stopped = row("mnist-1-of-100", "lasvm[max_support=20]")
    assert digits.digits_of(results(*found, stopped)) == ["mnist-0-of-100", "mnist-9-of-100"]
    assert digits.digits_of(results(stopped)) == []
    compared = [row("mnist-8", solver) for solver in (plan.ONE, plan.LIBSVM)]
    assert digits.digits_of(results(*found, *compared)) == ["mnist-8"]  # LIBSVM beside it says more than another digit


def test_differences_from_the_published_numbers_are_named():
    near = row("usps", "lasvm", error=0.43, support_vectors=201, kernel_evaluations=1.08e6)
    assert tables.differences(results(near)) == "None beyond that."
    far = row("usps", "lasvm", error=0.9, support_vectors=402, kernel_evaluations=2.16e6)
    assert tables.differences(results(far)).splitlines() == [
        "* usps, LASVM x1: error 0.90 % against 0.43 % published.",
        "* usps, LASVM x1: 402 SV against 201 published (2.00 times).",
        "* usps, LASVM x1: 2.16 million kernel values against 1.08 published (2.00 times).",
    ]
    larger = row("adult", "lasvm", error=15.0, support_vectors=11_268, kernel_evaluations=1.252e9)
    assert "1,252 million kernel values against 626 published" in tables.differences(results(larger))


def test_selection_says_when_a_criterion_is_as_good_as_libsvm():
    rows = [row("adult-split", "libsvm", error=15.0, support_vectors=11_000, cpu=50.0, info={})]
    for criterion, error, support in (("active", 14.9, 1500), ("gradient", 20.0, 1500)):
        solver = plan.selected(criterion, 1500)
        rows.append(row("adult-split", solver, error=error, support_vectors=support, cpu=1.0, info={"visited": 1600}))
    rows.append(row("adult-split", "lasvm", error=15.1, cpu=10.0, info={"visited": 32_000}))
    curves = selection.figures(plan.PLAN)["figure11"]
    assert "| ACTIVE | 1600 | 1500 | 14.90 |" in selection.points(results(*rows), curves)
    share = "after 1 s, 0.1 times the time of a whole RANDOM epoch."
    assert selection.reached(results(*rows), curves).splitlines() == [
        "* RANDOM does not reach LIBSVM's error of 15.00 %: at best 15.10 % with 100 support vectors after 10 s.",
        f"* GRADIENT does not reach LIBSVM's error of 15.00 %: at best 20.00 % with 1,500 support vectors {share}",
        f"* ACTIVE reaches LIBSVM's error of 15.00 % with 1,500 support vectors {share}",
    ]
    without = selection.reached(results(*rows[1:]), curves)
    assert f"* ACTIVE: at best 14.90 % with 1,500 support vectors {share}" in without.splitlines()
    assert selection.reached(results(), curves) == NOT_MEASURED
    near = row("adult-split", plan.selected("active", 1000), error=15.1, cpu=0.5)
    within = "; within 0.15 points of it with 100 support vectors after 0.5 s, 0.05 times"
    assert within in selection.reached(results(*rows, near), curves)
    elsewhere = [{**each, "git_commit": "b"} if each["solver"] == "lasvm" else each for each in rows]
    assert "RANDOM epoch" not in selection.reached(results(*elsewhere), curves), "another commit's epoch"


def test_nothing_of_figures_6_and_9_and_of_growth_is_divided_that_was_not_measured_in_turns():
    runs = cached("mnist-0", ("libsvm", 8.0, 4.0), ("libsvm", 64.0, 2.0), ("lasvm", 8.0, 1.5), ("lasvm", 64.0, 1.0))
    runs[-1]["git_commit"] = "b"
    text = digits.figure6(results(*runs))
    assert "| all | 8 | +100 | -25 |  | 1 | 0 |" in text
    assert "| all | 64 | +0 |  | +0 | 1 | 1 |" in text
    assert "grows by" not in text, "not the smallest cache against the largest"
    rows = [row("banana", plan.ONLINE, error=20.0), row("banana", plan.PRINTED, error=5.0, git_commit="b")]
    assert "| banana |  (-79) |  (-74) |  (+185) | 20.00 | 5.00 |" in tables.figure9(results(*rows))
    rows = grown(1.5)
    rows[-1]["git_commit"] = "b"
    assert "grows like" not in tables.scaling(results(*rows))


def pair(name, seed, original, own, **changed):
    """A pair of runs of LASVM's program and ours."""
    found = {
        "derived": "original", "group": "named", "set": name, "solver": "lasvm", "seed": seed, "n": 10_000, "cpu": own,
        "original_cpu": original, "kernel_evaluations": 3e6, "original_kernel_evaluations": 2e6, "members": 5,
        "original_members": 5, "relative_gap": 2e-3, "original_gap": 1e-3, "git_commit": "a",
    }  # fmt: skip
    return {**found, **changed}


def test_the_authors_program_is_compared_by_pairs_of_one_commit():
    old = [pair("twonorm", k, 100.0, 1.0, git_commit="old") for k in range(5)]
    rows = [*old, pair("twonorm", 0, 3.0, 1.0), pair("twonorm", 1, 4.0, 2.0), pair("twonorm", 2, 9.0, 1.5)]
    rows.append(pair("adult", 0, 7.0, 1.0, n=32_561))
    text = tables.sections(results(*rows))["original"]
    assert "| twonorm | 4 | 1.5 | 2.67 (**missed**) | 2.00 to 6.00 | 1.50 | 3 |" in text
    assert "| adult | 7 | 1 | 7.00 (**missed**) | 7.00 to 7.00 | 1.50 | 1 |" in text, "an eighth is asked for"
    rows = [pair("a", 0, 3.0, 1.0, group="drawn 41"), pair("b", 0, 12.0, 1.0, group="drawn 41")]
    rows.append(pair("usps", 0, 3.0, 2.0, group="beside"))
    text = tables.sections(results(*rows))["untuned"]
    assert "| seed 41 | 2 | 3.00 (met) | 6.00 | 12.00 | 1.50 (1.50 to 1.50) | 2.00 (2.00 to 2.00) |" in text
    assert "| catalogue: usps | 1 | 1.50 (**missed**) | 1.50 |" in text


@pytest.mark.slow
def test_a_whole_study_has_all_its_tables_and_pictures(tmp_path):
    small = replace(plan.PLAN, digits=(0, 8), splits=1)
    rows = every_run(parts.parts(small), Options(repetitions=1), info={"visited": 500, "online_members": 90})
    for solver in (plan.LIBSVM, plan.ONE):
        rows.append(
            {"derived": "multiclass", "set": "mnist", "solver": solver, "digits": [0, 1], "error": 1.0, "cpu": 2.0}
        )
    rows += [pair("twonorm", 0, 3.0, 1.0), pair("a", 0, 3.0, 1.0, group="drawn 41")]
    rows.append(
        {
            "derived": "stream", "set": "checkerboard", "examples": 10, "finished": True, "cpu": 1.0, "seconds": 1.0, "members": 2,
            "support_vectors": 2, "kernel_evaluations": 1e6, "error": 1.0, "peak_mb": 2.0, "before_mb": 1.0,
        }
    )  # fmt: skip
    found = results(HEADER, *rows, plan=small)
    assert_whole(tables, plots, found, results(HEADER), FOLDER, tmp_path)
