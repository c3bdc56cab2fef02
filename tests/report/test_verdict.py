"""The sentences that name a solver: what they say, how sure, and when they name none."""

import html
import re
from collections import Counter
from itertools import product
from math import exp, log, sqrt
from statistics import mean, median, stdev

import pytest
from harness_dashboard.page import of_records
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from harness.call.result import Result
from harness.report import formats, table
from harness.report.rows import grouped
from harness.report.verdict import verdict
from tests.report.fabricated import failed, loose, record, runs


def hinted(*records, command="harness compare"):
    return verdict(grouped(records)).further(command)


NO_RIVALS = "No winner: each formulation has one solver, and solvers of different formulations are not compared."


def test_a_hint_is_the_command_with_what_it_lacks():
    one = [record("a", fit_seconds=1.0, target_gap=1e-3), record("b", fit_seconds=1.5, target_gap=1e-3)]
    assert hinted(*one)[1:] == ["  harness compare --repeat 3"]
    assert hinted(*one, command="")[0].endswith(": repeat=3")
    assert hinted(*runs("a", 1.0), *runs("b", 1.5)) == []
    without = [*loose("a", 1.0, 0.95), *loose("b", 6.0, 0.95)]
    assert hinted(*without)[1:] == ["  harness compare --target-gap 1e-3"]
    assert hinted(*without[:1]) == []


def test_a_run_over_its_budget_has_no_star():
    changes = {"status": "budget", "target_gap": None, "kernel_evaluation_limit": 1000}
    records = [
        record(name, relative_gap=gap, kernel_evaluations=1100, **changes) for name, gap in (("b", 1e-2), ("c", 1e-1))
    ]
    assert "1.0e-2*" in table.render(records)
    over = record("a", relative_gap=1e-9, kernel_evaluations=1600, **changes)
    assert "*" not in next(line for line in table.render([*records, over]).splitlines() if line.startswith("a "))


def test_a_listing_names_nobody():
    records = [*runs("a", 1.0), *runs("b", 9.0)]
    assert "Take a" in table.render(records, command="")
    assert "Take a" not in table.render(records)


# -- what the sentences say of drawn tables, by an oracle that reads the records alone ------------------------------

STATUSES = ("ok", "ok", "ok", "ok", "ok", "missed", "crashed", "environment")


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
    machines = draw(st.sampled_from([("m",), ("m",), ("m", "k")]))
    for (solver, formulation), dataset, C, machine in product(pairs, sets, costs, machines):
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
            "test_accuracy": draw(st.sampled_from([0.95, 0.95, 0.7])),
            "n_test": 1000,
            "machine": {"id": machine},
        }
        for i in range(repeats):
            figures = {
                "fit_seconds": seconds * (1.0 + 0.1 * i),
                "kernel_evaluations": 100 * seconds,
                "iterations": 500 + uneven * i,
            }
            if status in ("crashed", "environment") and i < astray:
                found.append(failed(solver, status, "signal 11", **own, repetition=i))
            else:
                found.append(record(solver, **own, **figures, repetition=i, status=status if i < astray else "ok"))
    if draw(st.booleans()):
        nothing = {"kernel": None, "kernel_parameters": None, "problem_parameters": {}, "target_gap": targets[names[0]]}
        of = draw(st.sampled_from(["", names[0], "c-svc, nu-svc"]))
        begun = dict.fromkeys(each["dataset"] for each in found)
        nothing["machine"] = {"id": machines[0]}
        found += [failed("z", "skipped", "x", dataset=dataset, formulation=of, **nothing) for dataset in begun]
    return found


class Oracle:
    """What is true of a formulation, slowly: each answer looks through all records."""

    def __init__(self, records, formulation):
        begun = [each for each in records if each["kernel"]]
        shared = {(each["formulation"], *self.unit(each), each["solver"]) for each in begun}
        rivals = Counter(unit[:-1] for unit in shared)
        self.most_units = max(Counter(unit[0] for unit, count in rivals.items() if count > 1).values(), default=1)
        self.own = [each for each in begun if each["formulation"] == formulation]
        # a machine on which every run was lost is no machine of the report
        self.units = {self.unit(each) for each in self.own if each["status"] != "environment"}
        self.solvers = {each["solver"] for each in self.own}
        self.alone = len({each["formulation"] for each in begun}) == 1
        self.rivals = self.solvers | (
            {each["solver"] for each in records if not each["kernel"]} if self.alone else set()
        )

    @staticmethod
    def unit(record):
        return record["dataset"], record["problem_parameters"]["C"], record["machine"]["id"]

    def of(self, solver, unit):
        return [each for each in self.own if each["solver"] == solver and self.unit(each) == unit]

    def did(self, solver, unit):
        return bool(self.of(solver, unit)) and all(each["status"] == "ok" for each in self.of(solver, unit))

    @property
    def able(self):
        lost = {each["solver"] for each in self.own if each["status"] != "ok"}
        return {each for each in self.solvers - lost if all(self.did(each, unit) for unit in self.units)}

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

    def ratio(self, solver, than, unit):
        """Return between which values the time of ``than`` over that of a solver lies."""
        times = [[each["cpu_seconds"] for each in self.of(name, unit)] for name in (solver, than)]
        logs = [log(slow / fast) for fast, slow in zip(*times, strict=False)]
        if len(logs) == 1:
            return median(times[1]) / median(times[0]) / 2.25, median(times[1]) / median(times[0]) * 2.25
        miss = 0.05 / (len(logs) * (len(logs) - 1) * self.most_units)
        half = stats.t.isf(miss / 2, len(logs) - 1) * max(stdev(logs), 0.01) / sqrt(len(logs))
        return exp(mean(logs) - half), exp(mean(logs) + half)

    def middle(self, solver):
        return exp(mean(log(median(each["cpu_seconds"] for each in self.of(solver, unit))) for unit in self.units))

    def faster(self, solver, than):
        ratios = {unit: self.ratio(solver, than, unit) for unit in self.units}
        return [unit for unit, (low, high) in ratios.items() if low > 1.0 and not (low > 1 / 1.05 and high < 1.05)]


RATIO = r"([\d.]+) times as fast as (\w) in CPU time \((?:range|95 % intervals?) ([\d.]+) to ([\d.]+)"


def check_take(oracle, names, rest):
    """Whoever is named did what was asked; the ratio, the tie and the exception are those of the records."""
    assert set(names) <= oracle.able
    if rest.startswith("it alone"):
        assert set(names) == oracle.able
        return
    assert set(names) <= oracle.ranked
    first = min(oracle.ranked, key=oracle.middle)
    assert oracle.middle(names[0]) == pytest.approx(oracle.middle(first))
    for ratio, other, low, high in re.findall(RATIO, rest):
        assert other in oracle.ranked - set(names)
        assert float(ratio) == pytest.approx(oracle.middle(other) / oracle.middle(names[0]), rel=0.06)
        assert float(low) <= float(ratio) <= float(high)
        assert oracle.faster(names[0], other)
        assert not oracle.faster(other, names[0])
        ahead, every = len(oracle.faster(names[0], other)), len(oracle.units)
        assert re.findall(r"clearly on \d of \d", rest) == ([f"clearly on {ahead} of {every}"] if ahead < every else [])
    if "could not be distinguished" in rest:
        assert not any(oracle.faster(names[0], other) or oracle.faster(other, names[0]) for other in names[1:])
        assert "from the least" in rest or len(names) == 2
    if "depends on" in rest:
        assert any(oracle.faster(other, names[0]) for other in names[1:])
        assert len(oracle.units) > 1
    if len(names) == 1:
        assert all(oracle.faster(names[0], other) for other in oracle.ranked - set(names))


def check_place(oracle, place):
    sets, count = {name for name, *_ in oracle.units}, len(oracle.units)
    kind = "data set" if len(sets) == count else "problem"
    assert place in (sets if count == 1 else {f"every {kind}", f"{count} {kind}s"})


def check_failures(records, line):
    lost = [each for each in records if each.failed]
    assert re.match(r"(\d+) of (\d+) runs", line).groups() == (str(len(lost)), str(len(records)))
    for solver, count in re.findall(r"(?:: |, )(\w) [a-z ]+ in (\d+)", line):
        assert int(count) <= sum(each["solver"] == solver for each in lost)


NAME = r"\w(?: \([\w-]+\))?"  # of a solver, with its formulation if it solves several


def runs_of(records, name):
    """Return the runs of a solver, or of one of its formulations, by problem."""
    solver, _, of = name.partition(" (")
    found = {}
    for each in records:
        if each["kernel"] and each["solver"] == solver and (not of or each["formulation"] == of[:-1]):
            key = each["dataset"], each["problem_parameters"]["C"], each["machine"]["id"]
            found.setdefault(key, []).append(each)
    assert all(each["status"] == "ok" for runs in found.values() for each in runs), "named, though a run failed"
    return found


def check_across_formulations(records, line):
    """Nobody who failed anywhere is named, and who is called faster or more accurate is so on some problem."""
    pair = re.match(rf"({NAME}) (?:is [\d.]+ times as fast as|and) ({NAME}) ", line)
    one, two = (runs_of(records, name) for name in pair.groups())
    assert one.keys() == two.keys()
    if ratio := re.search(r"is ([\d.]+) times as fast", line):
        seconds = [[median(r["cpu_seconds"] for r in of[key]) for of in (two, one)] for key in one]
        assert float(ratio[1]) == pytest.approx(exp(mean(log(slow / fast) for slow, fast in seconds)), rel=0.06)
        assert all(slow > 0.4 * fast for slow, fast in seconds), "a tie of one run each is 2.25"
    scores = {pair[1]: one, pair[2]: two}
    if leader := re.search(rf"; ({NAME}) is more accurate", line):
        best = scores.pop(leader[1])
        (other,) = scores.values()
        assert any(best[key][0]["test_accuracy"] > other[key][0]["test_accuracy"] for key in best)
        assert not any(best[key][0]["test_accuracy"] < other[key][0]["test_accuracy"] - 0.05 for key in best)


def check_accuracies(records, line):
    """The first one named has the highest mean accuracy of those who did what was asked."""
    names = re.split(r", | and ", re.match(r"(.+?)(?::| is more accurate)", line)[1])
    scores = [exp(mean(log(of[0]["test_accuracy"]) for of in runs_of(records, name).values())) for name in names]
    assert scores[0] == max(scores)
    if than := re.search(rf"more accurate than ({NAME}) \(", line):
        assert scores[0] > mean(of[0]["test_accuracy"] for of in runs_of(records, than[1]).values())


@settings(max_examples=250, deadline=None)
@given(tables())
def test_the_sentences_say_what_the_records_do(records):
    names = list(dict.fromkeys(each["formulation"] for each in records if each["kernel"]))
    oracles = {name: Oracle(records, name) for name in names}
    lines = verdict(grouped(records)).sentences
    if any(each.failed for each in records):
        check_failures(records, lines.pop(0))
    told, across, any_loose = [], False, any(oracle.loose for oracle in oracles.values())
    for line in lines:
        if line == NO_RIVALS:
            assert all(len(oracle.solvers) == 1 for oracle in oracles.values())
            assert len({each["solver"] for each in records if each["kernel"]}) > 1
            continue
        take = re.fullmatch(r"Take (?P<names>[\w, ]+?)(?: for (?P<of>[\w-]+))?: (?P<rest>.+)", line)
        none = re.fullmatch(r"No winner(?: yet)?(?: for (?P<of>[\w-]+))?: (?P<rest>.+)\.", line)
        if any_loose and "accura" in line:
            check_accuracies(records, line)
            continue
        if not (take or none):
            check_across_formulations(records, line)
            across = True
            continue
        of = (take or none)["of"]
        assert (of is None) == (len(names) == 1)
        (name,) = [of] if of else names
        oracle = oracles[name]
        told.append(name)
        assert not oracle.loose
        if take:
            check_take(oracle, re.split(r", | or ", re.sub(r" or \d+ more", "", take["names"])), take["rest"])
            check_place(
                oracle,
                re.search(r" on ([\w ]+?)(?: \(2 classes of machines\))?, \d(?: to \d)? runs? each", take["rest"])[1],
            )
        elif none["rest"].startswith("no solver "):
            assert not oracle.able
            check_place(oracle, re.search(r" on ([\w ]+)$", none["rest"])[1])
        elif "disturbed" in none["rest"]:
            assert len(oracle.able) < 2
            assert any(each["status"] == "environment" for each in oracle.own)
        else:
            unranked = re.split(r", | and ", re.fullmatch(r"the times of (.+) are not ranked", none["rest"])[1])
            assert (set(unranked), len(oracle.ranked) < 2) == (oracle.able - oracle.ranked, True)
    assert len(told) == len(set(told)), "one verdict each"
    rivals = {name for name, oracle in oracles.items() if len(oracle.rivals) > 1 and not oracle.loose}
    assert rivals == set(told)
    assert not (across and (rivals or any_loose)), "costs are ranked within a formulation, at one target"


@settings(max_examples=25, deadline=None)
@given(tables())
def test_terminal_markdown_python_notebook_and_page_say_the_same(records):
    answer = verdict(grouped(records)).sentences
    result = Result(tuple(records), "", "")
    assert result.verdict == answer
    notebook = result._repr_markdown_().replace("\\", "")
    markdown = formats.render("markdown", records, command="").replace("\\", "")
    whole = html.unescape(of_records(records).partition('id="controls"')[0])
    for text in (table.render(records, width=2000, command=""), result.table, notebook, markdown, whole):
        flat = " ".join(text.split())
        assert [sentence for sentence in answer if sentence not in flat] == []


@settings(max_examples=100, deadline=None)
@given(tables())
def test_a_star_of_costs_is_of_one_problem(records):
    """A star says that somebody else on the same problem, who did what was asked, cost more."""
    (sheet,) = table.sheets(records)
    costs = [i for i, column in enumerate(sheet.columns) if column.line in ("CPU seconds", "kernel evals", "core set")]
    for group, rows in sheet.sections:
        for cells, row in zip(rows, group.rows, strict=True):
            same = [(cell, other) for cell, other in zip(rows, group.rows, strict=True)
                    if other.problem == row.problem and other.formulation == row.formulation and other.complete]  # fmt: skip
            for i in costs:
                if cells[i].best:
                    assert any(not cell[i].best for cell, _ in same)
