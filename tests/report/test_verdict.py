"""The sentences that name a solver: what they say, how sure, and when they name none."""

import re
from itertools import product
from math import exp, log, sqrt
from statistics import mean, median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.report import table
from harness.report.rows import grouped
from harness.report.verdict import verdict
from tests.report.fabricated import failed, hull, record


def runs(solver, *sets, make=record, **changes):
    """Three runs a data set, the middle one's seconds given."""
    return [
        make(solver, dataset=name, fit_seconds=seconds * by, cpu_seconds=seconds * by, repetition=i, target_gap=1e-3, **changes)
        for name, seconds in zip(("digits", "banana"), sets, strict=False)
        for i, by in enumerate((0.9, 1.0, 1.1))
    ]  # fmt: skip


def swept(solver, *seconds, formulation="c-svc", **changes):
    """Three runs a value of C = 1 and 10."""
    return [each for C, own in zip((1.0, 10.0), seconds, strict=False)
            for each in runs(solver, own, formulation=formulation, problem_parameters={"C": C}, **changes)]  # fmt: skip


def said(*records, command=""):
    lines, shown = verdict(grouped(records), command)
    return "\n".join(lines), shown


AT = "at a certified gap of 1e-3 on 2 data sets, 3 runs each."
SWEPT = AT.replace("data sets", "problems")
ON_DIGITS = AT.replace("2 data sets", "digits")
NO_RIVALS = "No winner: each formulation has one solver, and solvers of different formulations are not compared."


@pytest.mark.parametrize(
    ("records", "sentence"),
    [
        # geometric mean of 2 and 4.5; one run of three is known to a factor of 1.26
        ([*runs("a", 1.0, 1.0), *runs("b", 2.0, 4.5), *runs("c", 9.0, 9.0)],
         f"Take a: 3.0 times (1.3 to 7.2) as fast as b in CPU time {AT}"),
        ([*runs("a", 1.0, 1.0), *runs("b", 1.1, 4.5)],
         f"Take a: 2.2 times (0.69 to 7.2; faster on 1 of 2, a tie on the others) as fast as b in CPU time {AT}"),
        ([*runs("a", 1.0, 1.0, threads=2), *runs("b", 2.0, 4.5)], f"Take a: 3.0 times (1.3 to 7.2) as fast as b {AT}"),
        ([*runs("a", 1.0, 1.0), *runs("b", 1.1, 1.2), *runs("c", 9.0, 9.0)],
         f"Take a or b: their CPU times could not be distinguished {AT} a is 9.0 times (5.6 to 14) as fast as c in CPU time."),
        ([*runs("a", 1.0), *runs("b", 1.4), *runs("c", 1.3)],
         f"Take a, c or b: their CPU times could not be distinguished from the shortest {ON_DIGITS}"),
        ([*runs("a", 1.0, 9.0), *runs("b", 9.0, 1.1)], f"Take a or b: which of them is faster depends on the data set {AT}"),
        ([*swept("a", 1.0, 9.0), *swept("b", 9.0, 1.1)], f"Take a or b: which of them is faster depends on the problem {SWEPT}"),
        ([*runs("a", 1.0, 1.0), *runs("b", 0.1, 0.1, status="missed")],
         "Take a: it alone reached a certified gap of 1e-3 on 2 data sets, 3 runs each."),
        ([*runs("a", 1.0), *runs("b", 1.0, 1.0, status="missed")],
         "No winner: no solver reached a certified gap of 1e-3 on every data set; a reached it in 3 of 3 runs."),
        ([*runs("a", 1.0), *runs("b", 0.1)[:2], *runs("b", 0.1, status="timeout")[2:], *runs("c", 1.0, status="timeout")],
         ("Take a: it alone reached a certified gap of 1e-3 in every run on digits, 3 runs each; "
          "b reached it in 2 of 3 runs.")),
        ([*runs("a", 1.0), *runs("b", 0.1)[:2], *runs("b", 0.1, status="environment")[2:]],
         "No winner yet: the machine disturbed runs of b. Repeat the command: they are measured again."),
        ([*swept("a", 1.0), *swept("b", 1.0, 1.0, status="missed")],
         "No winner: no solver reached a certified gap of 1e-3 on every problem; a reached it in 3 of 3 runs."),
        (runs("a", 1.0, 1.0), ""),
        # --plugins smo-block,libsvm,fw --C 1,10: each solves the formulations that the others prefer, if it can
        ([*swept("smo-block", 1.0, 1.0), *swept("libsvm", 2.0, 2.0), *swept("smo-block", 3.0, 3.0, formulation="l2-svc"),
          *swept("fw", 1.0, 1.0, formulation="l2-svc")],
         (f"Take smo-block for c-svc: 2.0 times (1.3 to 3.2) as fast as libsvm in CPU time {SWEPT}\n"
          f"Take fw for l2-svc: 3.0 times (1.9 to 4.8) as fast as smo-block in CPU time {SWEPT}")),
        # --plugins 'smo,lasvm[epochs=5],lasvm-g' --C 1,10
        ([*swept("smo", 1.0, 1.0), *swept("lasvm[epochs=5]", 0.9, 1.0), *swept("smo", 1.0, 1.0, formulation="c-svc-nobias"),
          *swept("lasvm-g", 1.0, 1.0, formulation="c-svc-nobias", status="missed")],
         (f"Take lasvm[epochs=5] or smo for c-svc: their CPU times could not be distinguished {SWEPT}\n"
          "Take smo for c-svc-nobias: it alone reached a certified gap of 1e-3 on 2 problems, 3 runs each.")),
        ([*runs("ramp-cccp", 1.0, formulation="ramp-svc"), *runs("optsoftmargin", 9.0, formulation="reduced-hull")], NO_RIVALS),
        ([*runs("a", 1.0), *runs("b", 2.0), *runs("c", 1.0, make=hull)],
         f"Take a for c-svc: 2.0 times (1.3 to 3.2) as fast as b in CPU time {ON_DIGITS}"),
        ([*runs("a", 1.0), *runs("a", 1.0, make=hull)], ""),
        ([*runs("a", 1.0), *runs("b", 2.0)[1:], record("b", iterations=9, target_gap=1e-3)],
         "No winner: the times of b are not ranked."),
    ],
)  # fmt: skip
def test_the_sentence(records, sentence):
    assert said(*records) == (sentence, False)


def test_one_run_is_little_and_the_command_that_tells_more_is_shown():
    one = [record("a", fit_seconds=1.0, target_gap=1e-3), record("b", fit_seconds=1.5, target_gap=1e-3)]
    sentence, shown = said(*one, command="harness compare")
    assert sentence.endswith(
        "could not be distinguished at a certified gap of 1e-3 on digits, 1 run each. More runs make this surer:"
    )
    assert shown
    assert not said(*one)[1]


def test_sentences_of_several_formulations_stand_in_lines_of_their_own_above_one_command():
    one = [make(name, fit_seconds=seconds, target_gap=1e-3) for make, name, seconds in
           ((record, "a", 1.0), (record, "b", 9.0), (hull, "a", 1.0), (hull, "c", 1.1))]  # fmt: skip
    *_, first, second, hint, command = table.render(one, width=140, ranking="harness compare --repeat 3").splitlines()
    assert first.startswith("Take a for c-svc: 9.0 times")
    assert second.startswith("Take a or c for l2-svc: their CPU times could not be distinguished")
    assert (hint, command) == ("More runs make this surer:", "  harness compare --repeat 3")


@pytest.mark.parametrize("command", ["", "harness compare"])
def test_runs_that_stop_where_they_want_have_no_winner(command):
    loose = [record("a", target_gap=None, relative_gap=1e-4, fit_seconds=1e-3), record("b", target_gap=None)]
    sentence, shown = said(*loose, command=command)
    assert sentence.startswith("No winner yet. Costs are not ranked: the runs stopped at gaps 1.0e-4 to 3.2e-3. ")
    assert shown == bool(command)
    assert ("--target-gap 1e-3" in sentence) == (not command)
    both = said(*loose, *runs("a", 1.0, make=hull), *runs("b", 9.0, make=hull), command=command)[0]
    assert both.startswith("Take a for l2-svc: 9.0 times")
    assert "\nNo winner yet for c-svc. Costs are not ranked: the runs stopped at" in both
    blind = [record(name, target_gap=None, relative_gap=None) for name in "ab"]
    assert said(*blind, command=command) == (
        "No winner yet. Costs are not ranked: each solver stops by its own rule.",
        False,
    )


def test_a_listing_names_nobody():
    assert said(*runs("a", 1.0), *runs("b", 9.0), command=None) == ("", False)


def test_who_failed_everywhere_is_not_compared():
    assert said(*runs("a", 1.0), failed("b", "crashed", "signal 11"))[0].startswith("Take a: it alone ")


def test_who_was_not_begun_takes_no_data_set_from_the_others():
    none = {"kernel": None, "kernel_parameters": None, "problem_parameters": {}, "target_gap": 1e-3}
    strays = [failed("b", "skipped", "b solves c-svc", repetition=i, **none) for i in range(3)]
    told, _ = said(*runs("a", 1.0), *strays)
    assert told == "Take a: it alone reached a certified gap of 1e-3 on digits, 3 runs each."
    assert said(*runs("a", 1.0), *runs("c", 1.0, make=hull), *strays)[0] == NO_RIVALS


def test_a_ratio_of_single_runs_asks_for_more():
    one = [record("a", fit_seconds=1.0, target_gap=1e-3), record("b", fit_seconds=9.0, target_gap=1e-3)]
    told, shown = said(*one, command="harness compare")
    assert told.endswith("1 run each. More runs make this surer:")
    assert shown


# -- what the sentences say of drawn tables, by an oracle that reads the records alone ------------------------------

STATUSES = ("ok", "ok", "ok", "ok", "missed", "crashed")


@st.composite
def tables(draw):
    """Return the records of solvers that solve some of the formulations, on most problems; and of one that was not begun."""
    names = draw(st.lists(st.sampled_from(["c-svc", "l2-svc", "nu-svc"]), min_size=1, max_size=3, unique=True))
    sets, costs = (
        draw(st.sampled_from([("digits",), ("digits", "banana")])),
        draw(st.sampled_from([(1.0,), (1.0, 10.0)])),
    )
    targets = {name: draw(st.sampled_from([1e-3, 1e-3, 1e-3, None])) for name in names}
    pairs = draw(st.lists(st.sampled_from(list(product("abcd", names))), min_size=1, unique=True))
    found = []
    for (solver, formulation), dataset, C in product(pairs, sets, costs):
        if found and draw(st.integers(0, 9)) == 0:
            continue
        seconds, status = draw(st.sampled_from([1.0, 1.3, 2.0, 8.0])), draw(st.sampled_from(STATUSES))
        repeats, uneven = draw(st.integers(1, 3)), draw(st.integers(0, 9)) == 0
        astray = draw(st.integers(1, repeats))  # so many runs end with the status, if it is not ok
        own = {
            "dataset": dataset,
            "formulation": formulation,
            "problem_parameters": {"C": C},
            "target_gap": targets[formulation],
        }
        for i in range(repeats):
            figures = {
                "fit_seconds": seconds * (1.0 + 0.1 * i),
                "kernel_evaluations": 100 * seconds,
                "iterations": 500 + uneven * i,
            }
            if status == "crashed" and i < astray:
                found.append(failed(solver, "crashed", "signal 11", **own, repetition=i))
            else:
                found.append(record(solver, **own, **figures, repetition=i, status=status if i < astray else "ok"))
    if draw(st.booleans()):
        nothing = {"kernel": None, "kernel_parameters": None, "problem_parameters": {}, "target_gap": targets[names[0]]}
        of = draw(st.sampled_from(["", names[0], "c-svc, nu-svc"]))
        begun = dict.fromkeys(each["dataset"] for each in found)
        found += [failed("z", "skipped", "x", dataset=dataset, formulation=of, **nothing) for dataset in begun]
    return found


class Oracle:
    """What is true of a formulation, slowly: each answer looks through all records."""

    def __init__(self, records, formulation):
        begun = [each for each in records if each["kernel"]]
        self.own = [each for each in begun if each["formulation"] == formulation]
        self.units = {(each["dataset"], each["problem_parameters"]["C"]) for each in self.own}
        self.solvers = {each["solver"] for each in self.own}
        self.alone = len({each["formulation"] for each in begun}) == 1
        self.rivals = self.solvers | (
            {each["solver"] for each in records if not each["kernel"]} if self.alone else set()
        )

    def of(self, solver, unit):
        return [each for each in self.own
                if each["solver"] == solver and (each["dataset"], each["problem_parameters"]["C"]) == unit]  # fmt: skip

    def did(self, solver, unit):
        return bool(self.of(solver, unit)) and all(each["status"] == "ok" for each in self.of(solver, unit))

    @property
    def able(self):
        return {solver for solver in self.solvers if all(self.did(solver, unit) for unit in self.units)}

    @property
    def ranked(self):
        return {solver for solver in self.able
                if all(len({each["iterations"] for each in self.of(solver, unit)}) == 1 for unit in self.units)}  # fmt: skip

    @property
    def loose(self):
        for unit in self.units:
            able = [solver for solver in self.solvers if self.did(solver, unit)]
            if len(able) > 1 and any(each["target_gap"] is None for solver in able for each in self.of(solver, unit)):
                return True
        return False

    def ends(self, solver, unit):
        seconds = [each["cpu_seconds"] for each in self.of(solver, unit)]
        factor = 1.5 ** (1 / sqrt(len(seconds)))
        return min(*seconds, median(seconds) / factor), max(*seconds, median(seconds) * factor)

    def middle(self, solver):
        return exp(mean(log(median(each["cpu_seconds"] for each in self.of(solver, unit))) for unit in self.units))

    def faster(self, solver, than):
        return [unit for unit in self.units if self.ends(solver, unit)[1] < self.ends(than, unit)[0]]


def check_take(oracle, names, rest):
    """Whoever is named did what was asked; the ratio, the tie and the exception are those of the records."""
    assert set(names) <= oracle.able
    if rest.startswith("it alone"):
        assert set(names) == oracle.able
        partly = {
            solver: sum(each["status"] == "ok" for each in oracle.own if each["solver"] == solver)
            for solver in oracle.solvers - oracle.able
        }
        counts = dict(re.findall(r"(\w) (?:reached it|did) in (\d+) of \d+ runs", rest))
        assert len(counts) == min(3, sum(map(bool, partly.values())))
        assert all(partly[solver] == int(count) for solver, count in counts.items())
        assert (" in every run" in rest) == bool(counts)
        return
    assert set(names) <= oracle.ranked
    first = min(oracle.ranked, key=oracle.middle)
    assert oracle.middle(names[0]) == pytest.approx(oracle.middle(first))
    for ratio, low, high, other in re.findall(r"([\d.]+) times \(([\d.]+) to ([\d.]+)[^)]*\) as fast as (\w)", rest):
        assert other in oracle.ranked - set(names)
        assert float(ratio) == pytest.approx(oracle.middle(other) / oracle.middle(names[0]), rel=0.06)
        assert float(low) <= float(ratio) <= float(high)
        assert oracle.faster(names[0], other)
        assert not oracle.faster(other, names[0])
        ahead, every = len(oracle.faster(names[0], other)), len(oracle.units)
        assert re.findall(r"faster on \d of \d", rest) == ([f"faster on {ahead} of {every}"] if ahead < every else [])
    if "could not be distinguished" in rest:
        assert not any(oracle.faster(names[0], other) or oracle.faster(other, names[0]) for other in names[1:])
        assert "from the shortest" in rest or len(names) == 2
    if "depends on" in rest:
        assert any(oracle.faster(other, names[0]) for other in names[1:])
        assert len(oracle.units) > 1
    if len(names) == 1:
        assert all(oracle.faster(names[0], other) for other in oracle.ranked - set(names))


def check_place(oracle, place):
    sets, count = {name for name, _ in oracle.units}, len(oracle.units)
    kind = "data set" if len(sets) == count else "problem"
    assert place in (sets if count == 1 else {f"every {kind}", f"{count} {kind}s"})


@settings(max_examples=400, deadline=None)
@given(tables())
def test_the_sentences_say_what_the_records_do(records):
    names = list(dict.fromkeys(each["formulation"] for each in records if each["kernel"]))
    oracles = {name: Oracle(records, name) for name in names}
    lines, shown = verdict(grouped(records), "harness compare")
    if lines[-1:] == ["More runs make this surer:"] or lines[-1:] == ["To rank them:"]:
        assert shown
        lines.pop()
    told = []
    for line in lines:
        line = re.sub(r" (More runs make this surer|To rank them):$", "", line)
        if line == NO_RIVALS:
            assert all(len(oracle.solvers) == 1 for oracle in oracles.values())
            assert len({each["solver"] for each in records if each["kernel"]}) > 1
            continue
        take = re.fullmatch(r"Take (?P<names>[\w, ]+?)(?: for (?P<of>[\w-]+))?: (?P<rest>.+)", line)
        none = re.fullmatch(r"No winner(?: for (?P<of>[\w-]+))?: (?P<rest>.+)\.", line)
        yet = re.fullmatch(r"No winner yet(?: for (?P<of>[\w -]+))?\. Costs are not ranked: .+", line)
        assert take or none or yet, line
        of = (take or none or yet)["of"]
        assert yet or (of is None) == (len(names) == 1)
        for name in of.split(" and ") if of else names:
            oracle = oracles[name]
            told.append(name)
            assert bool(yet) == oracle.loose
            if take:
                check_take(oracle, re.split(r", | or ", re.sub(r" or \d+ more", "", take["names"])), take["rest"])
                check_place(oracle, re.search(r" on ([\w ]+), \d(?: to \d)? runs? each", take["rest"])[1])
            elif none and none["rest"].startswith("no solver "):
                assert not oracle.able
                check_place(oracle, re.search(r" on ([\w ]+)$", none["rest"].partition(";")[0])[1])
            elif none:
                unranked = re.split(r", | and ", re.fullmatch(r"the times of (.+) are not ranked", none["rest"])[1])
                assert (set(unranked), len(oracle.ranked) < 2) == (oracle.able - oracle.ranked, True)
    assert len(told) == len(set(told)), "one verdict each"
    assert {name for name, oracle in oracles.items() if len(oracle.rivals) > 1} == set(told)
    if not lines:
        assert all(len(oracle.rivals) == 1 for oracle in oracles.values())


@settings(max_examples=100, deadline=None)
@given(tables())
def test_a_star_of_costs_is_of_one_problem(records):
    """A star says that somebody else on the same problem, who did what was asked, cost more."""
    (sheet,) = table.sheets(records, table.whole)
    costs = [sheet.titles.index(title) for title in ("seconds", "kernel evals", "SV")]
    for section, group in zip(sheet.sections, sheet.groups, strict=True):
        for cells, row in zip(section.rows, group.rows, strict=True):
            same = [(cell, other) for cell, other in zip(section.rows, group.rows, strict=True)
                    if other.problem == row.problem and other.formulation == row.formulation and other.complete]  # fmt: skip
            for i in costs:
                if cells[i].best:
                    assert any(not cell[i].best for cell, _ in same)
