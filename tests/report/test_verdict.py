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


def said(*records):
    return "\n".join(verdict(grouped(records)).sentences)


def hinted(*records, command="harness compare"):
    return verdict(grouped(records)).further(command)


AT = "at a certified gap of 1e-3 on 2 data sets, 3 runs each."
SWEPT = AT.replace("data sets", "problems")
ON_DIGITS = AT.replace("2 data sets", "digits")
NO_RIVALS = "No winner: each formulation has one solver, and solvers of different formulations are not compared."


@pytest.mark.parametrize(
    ("records", "sentence"),
    [
        # geometric mean of 2 and 4.5; all solvers have the same noise, and no time is known better than to 1 %
        ([*runs("a", 1.0, 1.0), *runs("b", 2.0, 4.5), *runs("c", 9.0, 9.0)],
         f"Take a: 3.0 times as fast as b in CPU time (range 1.8 to 4.9) {AT}"),
        ([*runs("a", 1.0, 1.0), *runs("b", 1.02, 4.5)],
         f"Take a: 2.1 times as fast as b in CPU time (range 0.93 to 4.9; clearly on 1 of 2, a tie on the others) {AT}"),
        ([*runs("a", 1.0, 1.0, threads=2), *runs("b", 2.0, 4.5)],
         f"Take a: 3.0 times as fast as b in wall time (range 1.8 to 4.9) {AT}"),
        ([*runs("a", 1.0, 1.0), *runs("b", 1.01, 1.02), *runs("c", 9.0, 9.0)],
         f"Take a or b: their CPU times could not be distinguished {AT} a is 9.0 times as fast as c in CPU time (range 8.2 to 9.8)."),
        ([*runs("a", 1.0), *runs("b", 1.02), *runs("c", 1.01)],
         f"Take a, c or b: their CPU times could not be distinguished from the least {ON_DIGITS}"),
        ([*runs("a", 1.0, 9.0), *runs("b", 9.0, 1.1)], f"Take a or b: which of them is ahead depends on the data set {AT}"),
        ([*swept("a", 1.0, 9.0), *swept("b", 9.0, 1.1)], f"Take a or b: which of them is ahead depends on the problem {SWEPT}"),
        ([*runs("a", 1.0, 1.0), *runs("b", 0.1, 0.1, status="missed")],
         ("6 of 12 runs failed: b missed the target in 6 of 6.\n"
          "Take a: it alone reached a certified gap of 1e-3 in every run on 2 data sets, 3 runs each.")),
        ([*runs("a", 1.0), *runs("b", 1.0, 1.0, status="missed")],
         ("6 of 9 runs failed: b missed the target in 6 of 6.\n"
          "No winner: no solver reached a certified gap of 1e-3 on every data set.")),
        ([*runs("a", 1.0), *runs("b", 0.1)[:2], *runs("b", 0.1, status="timeout")[2:], *runs("c", 1.0, status="timeout")],
         ("4 of 9 runs failed: b ran out of time in 1 of 3, c ran out of time in 3 of 3.\n"
          "Take a: it alone reached a certified gap of 1e-3 in every run on digits, 3 runs each.")),
        ([*runs("a", 1.0), *runs("b", 0.1)[:2], *runs("b", 0.1, status="environment")[2:]],
         ("1 of 6 runs failed: b was disturbed by the machine in 1 of 3. Repeat the command: disturbed runs are measured again.\n"
          "No winner yet: the machine disturbed runs of b.")),
        ([*swept("a", 1.0), *swept("b", 1.0, 1.0, status="missed")],
         ("6 of 9 runs failed: b missed the target in 6 of 6.\n"
          "No winner: no solver reached a certified gap of 1e-3 on every problem.")),
        (runs("a", 1.0, 1.0), ""),
        # --plugins smo-block,libsvm,fw --C 1,10: each solves the formulations that the others prefer, if it can
        ([*swept("smo-block", 1.0, 1.0), *swept("libsvm", 2.0, 2.0), *swept("smo-block", 3.0, 3.0, formulation="l2-svc"),
          *swept("fw", 1.0, 1.0, formulation="l2-svc")],
         (f"Take smo-block for c-svc: 2.0 times as fast as libsvm in CPU time (range 1.8 to 2.2) {SWEPT}\n"
          f"Take fw for l2-svc: 3.0 times as fast as smo-block in CPU time (range 2.7 to 3.3) {SWEPT}")),
        # --plugins 'smo,lasvm[epochs=5],lasvm-g' --C 1,10
        ([*swept("smo", 1.0, 1.0), *swept("lasvm[epochs=5]", 0.99, 1.0), *swept("smo", 1.0, 1.0, formulation="c-svc-nobias"),
          *swept("lasvm-g", 1.0, 1.0, formulation="c-svc-nobias", status="missed")],
         ("6 of 24 runs failed: lasvm-g missed the target in 6 of 6.\n"
          f"Take lasvm[epochs=5] or smo for c-svc: their CPU times could not be distinguished {SWEPT}\n"
          "Take smo for c-svc-nobias: it alone reached a certified gap of 1e-3 in every run on 2 problems, 3 runs each.")),
        ([*runs("ramp-cccp", 1.0, formulation="ramp-svc"), *runs("optsoftmargin", 9.0, formulation="reduced-hull")],
         ("ramp-cccp is 9.0 times as fast as optsoftmargin in CPU time (range 8.5 to 9.6) on digits, 3 runs each; "
          "their test accuracies could not be distinguished.")),
        ([*runs("a", 1.0), *runs("b", 2.0), *runs("c", 1.0, make=hull)],
         f"Take a for c-svc: 2.0 times as fast as b in CPU time (range 1.9 to 2.1) {ON_DIGITS}"),
        ([*runs("a", 1.0), *runs("a", 1.0, make=hull)], ""),
        ([*runs("a", 1.0), *runs("b", 2.0)[1:], record("b", iterations=9, target_gap=1e-3)],
         "No winner: the times of b are not ranked."),
    ],
)  # fmt: skip
def test_the_sentence(records, sentence):
    assert said(*records) == sentence


def test_one_run_is_little_and_the_command_that_tells_more_is_shown():
    one = [record("a", fit_seconds=1.0, target_gap=1e-3), record("b", fit_seconds=1.5, target_gap=1e-3)]
    assert said(*one).endswith("could not be distinguished at a certified gap of 1e-3 on digits, 1 run each.")
    assert hinted(*one) == ["More runs make this surer:", "  harness compare --repeat 3"]
    assert hinted(*one, command="") == ["More runs make this surer: repeat=3"]
    assert hinted(*runs("a", 1.0), *runs("b", 1.5)) == []
    clear = [one[0], record("b", fit_seconds=9.0, target_gap=1e-3)]
    assert hinted(*clear) == []


def test_sentences_of_several_formulations_stand_in_lines_of_their_own_above_one_command():
    one = [make(name, fit_seconds=seconds, target_gap=1e-3) for make, name, seconds in
           ((record, "a", 1.0), (record, "b", 9.0), (hull, "a", 1.0), (hull, "c", 1.1))]  # fmt: skip
    *_, first, second, hint, command = table.render(one, width=140, command="harness compare").splitlines()
    assert first.startswith("Take a for c-svc: 9.0 times")
    assert second.startswith("Take a or c for l2-svc: their CPU times could not be distinguished")
    assert (hint, command) == ("More runs make this surer:", "  harness compare --repeat 3")


def loose(solver, seconds, accuracy, make=record, **changes):
    return [make(solver, target_gap=None, fit_seconds=seconds, test_accuracy=accuracy, n_test=10_000, **changes)]


@pytest.mark.parametrize(
    ("records", "sentence"),
    [
        ([*loose("lasvm", 1.0, 0.95), *loose("fw", 6.0, 0.95, make=hull)],
         ("lasvm is 6.0 times as fast as fw in CPU time (range 2.7 to 14) on digits, 1 run each; "
          "their test accuracies could not be distinguished.")),
        ([*loose("a", 1.0, 0.95), *loose("b", 6.0, 0.90), *loose("c", 1.1, 0.80)],
         ("a is more accurate than c on digits, 1 run each; their CPU times could not be distinguished.\n"
          "a is 6.0 times as fast as b in CPU time (range 2.7 to 14) and more accurate.")),
        ([*loose("a", 1.0, 0.90), *loose("b", 6.0, 0.95)],
         "Nobody is ahead of a or b in both CPU time and test accuracy on digits, 1 run each."),
        ([*loose("a", 1.0, 0.95), *loose("b", 1.1, 0.95)],
         "The CPU times and test accuracies of a and b could not be distinguished on digits, 1 run each."),
        ([*loose("a", 1.0, 0.95), failed("b", "crashed", "signal 6", target_gap=None)],
         "1 of 2 runs failed: b crashed in 1 of 1.\nTake a: it alone did what was asked in every run on digits, 1 run each."),
        ([*loose("a", 1.0, None), *loose("b", 6.0, None)], ""),
        (loose("a", 1.0, 0.9), ""),
    ],
)  # fmt: skip
def test_without_a_target_the_answer_is_who_is_behind_in_time_and_test_accuracy(records, sentence):
    assert said(*records) == sentence
    several = len({each["solver"] for each in records}) > 1
    command = ["To rank by a certified target:", "  harness compare --target-gap 1e-3"]
    assert hinted(*records) == (command if several else [])


def test_a_budget_ranks_by_the_gap_that_was_reached():
    def within(solver, gap, **changes):
        return record(
            solver,
            relative_gap=gap,
            **{
                "status": "budget",
                "kernel_evaluations": 1100,
                "target_gap": None,
                "kernel_evaluation_limit": 1000,
                **changes,
            },
        )

    done = within("c", 1e-1, status="ok")
    records = [within("a", 1e-3), within("b", 1e-2), done]
    nearer = "Take a: 10 times as near to the optimum as b by certified gap (range 10 to 10)"
    answer = f"{nearer} within kernel evals <= 1,000 on digits, 1 run each."
    assert said(*records).splitlines()[0] == answer
    assert "1.0e-3*" in table.render(records)
    over = said(within("a", 1e-3, kernel_evaluations=1600), within("b", 1e-2), within("c", 1e-1))
    assert over.splitlines()[0] == "a went over the budget of kernel evaluations by more than half: not ranked."
    assert over.splitlines()[1].startswith("Take b: 10 times as near to the optimum as c by certified gap")
    text = table.render([*records[1:], within("a", 1e-9, kernel_evaluations=1600)])
    assert "*" not in next(line for line in text.splitlines() if line.startswith("a "))
    timed = [within(name, 1e-3, stopped_by="time", time_limit=1.0) for name in "ab"]
    assert said(*timed).startswith("2 of 2 runs failed: a was stopped by the time limit in 1 of 1, b was stopped by")


def test_a_listing_names_nobody():
    records = [*runs("a", 1.0), *runs("b", 9.0)]
    assert "Take a" in table.render(records, command="")
    assert "Take a" not in table.render(records)


def test_who_failed_everywhere_is_not_compared():
    assert said(*runs("a", 1.0), failed("b", "crashed", "signal 11")).splitlines()[1].startswith("Take a: it alone ")


def test_who_was_not_begun_takes_no_data_set_from_the_others():
    none = {"kernel": None, "kernel_parameters": None, "problem_parameters": {}, "target_gap": 1e-3}
    strays = [failed("b", "skipped", "b solves c-svc", repetition=i, **none) for i in range(3)]
    assert (
        said(*runs("a", 1.0), *strays)
        == "Take a: it alone reached a certified gap of 1e-3 in every run on digits, 3 runs each."
    )


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
        self.units = {self.unit(each) for each in self.own}
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


RATIO = r"([\d.]+) times as fast as (\w) in CPU time \(range ([\d.]+) to ([\d.]+)"


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


def check_front(records, line):
    """Nobody who failed anywhere is named, and who is called faster or more accurate than another one is nowhere less so."""
    begun = [each for each in records if each["kernel"]]
    formulations = {name: {each["formulation"] for each in begun if each["solver"] == name} for name in "abcd"}

    def places(name):
        solver, _, of = name.partition(" (")
        found = {}
        for each in begun:
            if each["solver"] == solver and (not of or each["formulation"] == of[:-1]):
                key = each["dataset"], each["problem_parameters"]["C"], each["machine"]["id"]
                found.setdefault(key, []).append(each)
        assert of or len(formulations[solver]) == 1
        assert all(each["status"] == "ok" for runs in found.values() for each in runs)
        return found

    names = r"\w(?: \([\w-]+\))?"
    for a, ratio, b in re.findall(rf"({names}) is ([\d.]+) times as fast as ({names})", line):
        one, two = places(a), places(b)
        assert one.keys() == two.keys()
        middles = [
            median(r["cpu_seconds"] for r in two[key]) / median(r["cpu_seconds"] for r in one[key]) for key in one
        ]
        assert float(ratio) == pytest.approx(exp(mean(map(log, middles))), rel=0.06)
        assert max(middles) > 1.0
        for key in one:
            assert min(r["cpu_seconds"] for r in one[key]) <= 1.6 * max(r["cpu_seconds"] for r in two[key])
            assert one[key][0]["test_accuracy"] >= two[key][0]["test_accuracy"] - 0.05
    for a, b in re.findall(rf"({names}) is more accurate than ({names})", line):
        one, two = places(a), places(b)
        assert any(one[key][0]["test_accuracy"] > two[key][0]["test_accuracy"] for key in one)
        assert not any(one[key][0]["test_accuracy"] < two[key][0]["test_accuracy"] - 0.05 for key in one)


@settings(max_examples=250, deadline=None)
@given(tables())
def test_the_sentences_say_what_the_records_do(records):
    names = list(dict.fromkeys(each["formulation"] for each in records if each["kernel"]))
    oracles = {name: Oracle(records, name) for name in names}
    lines = verdict(grouped(records)).sentences
    if any(each.failed for each in records):
        check_failures(records, lines.pop(0))
    told, front = [], False
    for line in lines:
        if line == NO_RIVALS:
            assert all(len(oracle.solvers) == 1 for oracle in oracles.values())
            assert len({each["solver"] for each in records if each["kernel"]}) > 1
            continue
        take = re.fullmatch(r"Take (?P<names>[\w, ]+?)(?: for (?P<of>[\w-]+))?: (?P<rest>.+)", line)
        none = re.fullmatch(r"No winner(?: yet)?(?: for (?P<of>[\w-]+))?: (?P<rest>.+)\.", line)
        if not (take or none):
            check_front(records, line)
            front = True
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
    if front:
        assert not rivals or any(oracle.loose for oracle in oracles.values())


@settings(max_examples=25, deadline=None)
@given(tables())
def test_terminal_markdown_python_notebook_and_page_say_the_same(records):
    answer = verdict(grouped(records)).sentences
    result = Result(tuple(records), "", "")
    assert result.verdict == answer
    page = html.unescape(result._repr_html_())
    markdown = formats.render("markdown", records, command="").replace("\\", "")
    whole = html.unescape(of_records(records).partition('id="controls"')[0])
    for text in (table.render(records, width=2000, command=""), result.table, page, markdown, whole):
        flat = " ".join(text.split())
        assert [sentence for sentence in answer if sentence not in flat] == []


@settings(max_examples=100, deadline=None)
@given(tables())
def test_a_star_of_costs_is_of_one_problem(records):
    """A star says that somebody else on the same problem, who did what was asked, cost more."""
    (sheet,) = table.sheets(records, table.whole)
    costs = [sheet.titles.index(each) for each in ("CPU seconds", "kernel evals", "core set") if each in sheet.titles]
    for section, group in zip(sheet.sections, sheet.groups, strict=True):
        for cells, row in zip(section.rows, group.rows, strict=True):
            same = [(cell, other) for cell, other in zip(section.rows, group.rows, strict=True)
                    if other.problem == row.problem and other.formulation == row.formulation and other.complete]  # fmt: skip
            for i in costs:
                if cells[i].best:
                    assert any(not cell[i].best for cell, _ in same)
