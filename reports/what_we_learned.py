"""The page 'What we learned': each claim of the papers, judged by estimates with intervals over every set of its table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from reports.border_2007 import figures as border
from reports.border_2007.parts import AL, BATCH, FULL, SATURATION, SMOTE
from reports.frank_wolfe_2009 import figures as hulls
from reports.frank_wolfe_2009.core_sets import lost
from reports.frank_wolfe_2009.rivals import SPARSE, certified, linear_svc
from reports.frank_wolfe_2009.rivals import times as times_of
from reports.kit.judged import (
    DEPENDS,
    FAILS,
    HOLDS,
    UNTESTED,
    Estimate,
    as_accurate,
    difference,
    exact,
    geometric,
    known,
    listed,
    mean_of,
    pairs,
    share,
    times,
    verdict,
)
from reports.kit.markdown import filled
from reports.kit.page import results_of
from reports.kit.results import Results
from reports.kit.study import ROOT, study_named
from reports.lasvm_2005.plan import COUNTED, LIBSVM, ONE, TWO, tau_of
from reports.lasvm_2005.tables import libsvm_of, measured_sets
from reports.lasvm_nc.plan import FULL as ALL
from reports.lasvm_nc.plan import NC, NOISY, G, I
from reports.lasvm_nc.tables import measured_sets as nc_sets
from reports.random_sampling_2008 import claims as sampling
from reports.random_sampling_2008.plan import plan_of
from reports.random_sampling_2008.tables import theorem_runs
from reports.rgd_tree_2015.plan import RGD, WHOLE
from reports.rgd_tree_2015.selection import Choices
from reports.rgd_tree_2015.tables import ended, widest_margin

PAGE = ROOT / "WHAT_WE_LEARNED.md"
KINDS = (HOLDS, DEPENDS, FAILS, UNTESTED)
SOME = 0.1  # of the points: a small core set
_PAPER, _OURS = "the paper's", "ours"


@dataclass(frozen=True)
class Claim:
    """What a paper says, by what it is judged, and the estimates that answer.

    says : the claim, with its place in the paper
    criterion : when it holds on a set
    whose : criterion it is
    anchor : heading of the study's page that has the figures
    """

    says: str
    study: str
    criterion: str
    judge: Callable[[Results], list[Estimate]]
    whose: str = _OURS
    anchor: str = ""

    @property
    def address(self) -> str:
        """Return the link to the figures."""
        return f"{self.study.replace('-', '_')}/README.md{f'#{self.anchor}' if self.anchor else ''}"


@cache
def _results(study: str) -> Results:
    return results_of(study_named(study))


@cache
def estimates(claim: Claim) -> list[Estimate]:
    """Return the estimates that answer a claim, one or more a set."""
    return claim.judge(_results(claim.study))


def answer(claim: Claim) -> str:
    """Return whether a claim holds."""
    return verdict(estimates(claim))


# -- LASVM -------------------------------------------------------------------------------------------------


def _errors(solver: str) -> Callable[[Results], list[Estimate]]:
    def judge(results: Results) -> list[Estimate]:
        found = []
        for name in measured_sets(results):
            libsvm = libsvm_of(results, name)
            estimate = difference(name, pairs(results, name, tau_of(name, solver), libsvm), "error")
            if estimate is not None:
                found.append(as_accurate(estimate, results.mean(name, libsvm, "error") or 0.0))
        return found

    return judge


def _lasvm_kernels(results: Results) -> list[Estimate]:
    found = [
        times(name, pairs(results, name, tau_of(name, ONE), libsvm_of(results, name)), "kernel_evaluations")
        for name in measured_sets(results)
    ]
    return known(found, lambda each: each.at_most(1.0))


def _lasvm_seconds(results: Results) -> list[Estimate]:
    """The faster of the two LIBSVM that ran in turns with LASVM is the one to beat."""
    found = []
    for name in measured_sets(results):
        both = [
            times(name, pairs(results, name, tau_of(name, ONE), tau_of(name, each)), "cpu")
            for each in (COUNTED, LIBSVM)
        ]
        found.append(max(known(both), key=lambda each: each.value, default=None))
    return known(found, lambda each: each.at_most(1.0))


def _lasvm_memory(results: Results) -> list[Estimate]:
    found = []
    sized = {row["set"] for row in results.runs if row["solver"] == ONE}
    for name in sorted(sized):
        sizes = sorted({row["cache_mb"] for row in results.runs if (row["set"], row["solver"]) == (name, ONE)})
        if len(sizes) < 3:
            continue
        small, large = (results.of(name, ONE, cache_mb=size) for size in (sizes[0], sizes[-1]))
        by_data = {(row["dataset"], row["seed"]): row for row in large}
        both = [(row, by_data[key]) for row in small if (key := (row["dataset"], row["seed"])) in by_data]
        found.append(times(f"{name}, {sizes[0]:g} over {sizes[-1]:g} MB", both, "cpu"))
    return known(found, lambda each: each.at_most(1.3))


def _selected(results: Results) -> list[Estimate]:
    """Each rule with 5,000 support vectors, fewer than half of LIBSVM's: its error beside LIBSVM's."""
    rules = {"": "random", **{f"selection={each},": each for each in ("gradient", "active", "autoactive")}}
    found = [
        difference(told, pairs(results, "adult-split", f"lasvm[{rule}max_support=5000]", LIBSVM), "error")
        for rule, told in rules.items()
    ]
    level = results.mean("adult-split", LIBSVM, "error") or 0.0
    return known(found, lambda each: as_accurate(each, level))


# -- LASVM-NC ----------------------------------------------------------------------------------------------


def _nc_support(results: Results) -> list[Estimate]:
    found = [
        times(name, pairs(results, name, NC, ALL), "support_vectors") for name in nc_sets(results) if name in NOISY
    ]
    return known(found, lambda each: each.at_most(0.5))


def _nc_errors(results: Results) -> list[Estimate]:
    found = []
    for name in nc_sets(results):
        estimate = difference(name, pairs(results, name, NC, ALL), "error")
        if estimate is not None:
            found.append(as_accurate(estimate, results.mean(name, ALL, "error") or 0.0))
    return found


def _nc_kernels(results: Results) -> list[Estimate]:
    found = []
    for less, more, told in ((I, NC, "i / nc"), (I, G, "i / g"), (G, ALL, "g / full"), (NC, ALL, "nc / full")):
        values = [times(name, pairs(results, name, less, more), "kernel_evaluations") for name in nc_sets(results)]
        found += known(values, lambda each: each.at_most(1.0), told)
    return found


# -- random sampling ---------------------------------------------------------------------------------------


def _rounds(results: Results) -> list[Estimate]:
    plan, found, lucky, every = plan_of(results), [], 0, 0
    for each in (*plan.hard, *plan.soft):
        runs = theorem_runs(results, each)
        if runs and runs[0]["info"]["r"] < each.m:
            taken = [float(row["info"]["rounds"]) / each.rounds_bound() for row in runs]
            found.append(mean_of(f"m = {each.m:,}, n = {each.d}, k = {each.k}", taken, ".2f"))
            lucky += sum(row["info"]["successful_rounds"] for row in runs)
            every += sum(row["info"]["rounds"] for row in runs)
    success = share("all rounds", int(lucky), int(every))
    return [
        *known(found, lambda each: each.at_most(1.0), "rounds / bound"),
        *known([success], lambda each: each.at_least(0.5), "successes"),
    ]


def _smaller(results: Results) -> list[Estimate]:
    """The share of runs that ended, with the smallest sample of at most half of the theorem's with which all did."""
    found = []
    for each in plan_of(results).swept:
        for r, label in sorted(plan_of(results).sweep(each).items()):
            runs = [*results.of(each.name, label), *results.stopped(each.name, label)]
            done = sum(row["info"].get("status") == "done" for row in runs)
            if runs and done == len(runs) and 2 * r <= 6 * each.bound**2:
                told = f"m = {each.m:,}, n = {each.d}, k = {each.k}: r = {r:,} of {6 * each.bound**2:,}, share of runs that end"
                found.append(share(told, done, len(runs)))
                break
    return known(found, lambda each: each.at_least(0.5))


def _dimension(results: Results) -> list[Estimate]:
    rows = [
        (each, int(row["info"]["largest"]))
        for each in plan_of(results).small
        for row in sampling.basis_runs(results, each)
    ]
    if not rows:
        return []
    upper = max(largest / (each.k * (each.attributes + 1)) for each, largest in rows)
    lower = max(largest / (each.attributes + 1 + each.k) for each, largest in rows)
    told = f"over {len(rows)} problems"
    return [
        *known([exact(told, upper)], lambda each: each.at_most(1.0), "largest basis / k (n + 1)"),
        *known([exact(told, lower)], lambda each: each.at_most(1.0), "largest basis / (n + 1 + k)"),
    ]


def _tubes(results: Results) -> list[Estimate]:
    found = []
    for each in plan_of(results).tubes:
        taken = [float(row["info"]["rounds"]) / each.rounds_bound() for row in sampling.tube_runs(results, each)]
        found.append(mean_of(f"m = {each.m:,}, n = {each.d}, k = {each.k}", taken, ".2f"))
    return known(found, lambda each: each.at_most(1.0))


def _doubling(results: Results) -> list[Estimate]:
    found = [pair for each in plan_of(results).choosing if (pair := sampling.chosen(results, each)) is not None]
    right = [int(row["info"]["k"]) >= k for k, rows in found for row in rows]
    return known([share("runs whose k separates", sum(right), len(right))], lambda each: each.at_least(0.9))


def _kernel_dimension(results: Results) -> list[Estimate]:
    found = []
    for each in plan_of(results).kernels:
        rows = sampling.kernel_rows(results, each)
        for part, runs in (rows[1] if rows else {}).items():
            values = [float(sampling.extremes_of(row)) / row["support_vectors"] for row in runs]
            found.append(mean_of(f"{each.name}, k = {each.k}, sample {100 * part:.0f} %", values, ".2f"))
    return known(found, lambda each: each.at_most(1.05))


# -- Frank-Wolfe -------------------------------------------------------------------------------------------


def _linear_rate(results: Results) -> list[Estimate]:
    names = [name for name in hulls.measured_sets(results) if results.plan.sets[name].rates]
    fw, gilbert = (
        [
            exact(name, float(factor))
            for name in names
            if (factor := hulls.last_factor(results, name, solver)) is not None
        ]
        for solver in ("fw", "gilbert")
    )
    return [
        *known(fw, lambda each: each.at_most(hulls.LINEAR), "fw"),
        *known(gilbert, lambda each: each.at_least(hulls.LINEAR), "gilbert"),
    ]


def _core_sets(results: Results) -> list[Estimate]:
    loss, size = [], []
    for name in results.plan.sets:
        loss += [
            exact(name, max(float(each["most"] / each["epsilon"]) for each in found))
            for found in [lost(results, name, "fw")]
            if found
        ]
        run = certified(results, name, "fw-fully-corrective")
        size += [] if run is None else [exact(name, float(run["support_vectors"] / run["n_train"]))]
    return [
        *known(loss, lambda each: each.at_most(1.0), "loss / epsilon"),
        *known(size, lambda each: each.at_most(SOME), "share of the points"),
    ]


def _competitive(results: Results) -> list[Estimate]:
    """The fastest hull solver of the papers beside each SMO, where the core set is small; one run each."""
    found = []
    for name in [each.name for each in results.plan.problems if each.peers and each.kernel != "linear"]:
        core = certified(results, name, "fw-fully-corrective")
        runs = [run for solver in results.plan.solvers if (run := certified(results, name, solver))]
        if core is None or core["support_vectors"] > SPARSE * core["n_train"] or not runs:
            continue
        best = min(runs, key=lambda run: run["cpu"])
        for peer in results.plan.peers:
            factor = times_of(best, certified(results, name, peer))
            found.append(geometric(f"{name}, {best['solver']} / {peer}", [] if factor is None else [float(factor)]))
    return known(found, lambda each: each.at_most(1.0))


def _linear(results: Results) -> list[Estimate]:
    found = []
    for name in [each.name for each in results.plan.problems if each.peers and each.kernel == "linear"]:
        runs = [run for solver in results.plan.solvers if (run := certified(results, name, solver))]
        theirs = linear_svc(results, name)
        factor = times_of(min(runs, key=lambda run: run["cpu"]), theirs) if runs else None
        if factor is not None:
            found.append(geometric(f"{name}, fastest of the papers' / LinearSVC", [float(factor)]))
        elif not runs:
            found.append(exact(f"{name}, the papers' solvers that reach the gap", 0.0).at_least(1.0))
    return [each if each.held is not None else each.at_most(1.0) for each in known(found)]


# -- RandSVM, RGD, the border ------------------------------------------------------------------------------


def _randsvm(results: Results) -> list[Estimate]:
    """Beside its own oracle alone, in turns."""
    time, error = [], []
    for name in [each.name for each in results.plan.sets]:
        both = pairs(results, name, "randsvm-1[oracle=smo-block]", "smo-block")
        time.append(times(name, both, "cpu"))
        estimate = difference(name, both, "error")
        error += [] if estimate is None else [as_accurate(estimate, results.mean(name, "smo-block", "error") or 0.0)]
    return [*known(time, lambda each: each.at_most(1.0), "time"), *known(error, aspect="points of error")]


def _rgd(results: Results) -> list[Estimate]:
    choices, found = Choices(results), []
    for name in choices.sets:
        base = choices.baseline(name)
        if base is not None:
            ours, theirs = choices.paired(name, RGD, base[0])
            told = [float(a) - float(b) for a, b in zip(ours, theirs, strict=True)]
            found.append(mean_of(f"{name} against {base[0].name}", told))
    return known(found, lambda each: each.judged(each.high < 0.0, each.low >= 0.0))


def _theorem_2(results: Results) -> list[Estimate]:
    found = []
    for each in results.plan.promises:
        bound, runs = widest_margin(results, each), ended(results, each.name, each.tree(WHOLE))
        if bound is not None and runs and each.height >= each.enough:
            wide = sum(float(row["margin_lower"] or 0.0) / bound >= 1.0 - each.epsilon for row in runs)
            estimate = share(f"{each.name}, promised {each.bound:.2f}", wide, len(runs))
            found += known([estimate], lambda one, least=each.bound: one.at_least(least))  # type: ignore[misc]
    return found


def _no_loss(estimate: Estimate) -> Estimate:
    """Judge a gain in points: no more than one is lost, or some are lost beyond the noise."""
    return estimate.judged(estimate.low >= -1.0, estimate.high < 0.0)


def _pool(results: Results) -> list[Estimate]:
    found = {name: pairs(results, f"{name}{SATURATION}", AL, FULL) for name in results.plan.figure2}
    prbep = [difference(name, both, "metrics.prbep", 100.0) for name, both in found.items()]
    return [
        *known([times(name, both, "cpu") for name, both in found.items()], lambda each: each.at_most(1.0), "time"),
        *known(prbep, _no_loss, "points of PRBEP"),
    ]


def _early(results: Results) -> list[Estimate]:
    found = [difference(name, pairs(results, name, AL, BATCH), "metrics.g-means", 100.0) for name in results.plan.sets]
    return known(found, _no_loss)


def _smote(results: Results) -> list[Estimate]:
    time = [times(name, pairs(results, name, AL, SMOTE), "cpu") for name in results.plan.sets]
    names = border.compared(results)
    ranks = border.average_ranks(results, names)
    place = (
        [exact(f"over {len(names)} sets", 1.0 + sum(each < ranks["al"] for each in ranks.values()))] if ranks else []
    )
    return [
        *known(time, lambda each: each.at_most(1.0), "time"),
        *known(place, lambda each: each.at_most(1.0), "place by mean rank in PRBEP"),
    ]


_ACCURATE = "no more errors beyond the noise, and at most 5 % more of the other's own"
CLAIMS = (
    Claim("One epoch of LASVM and its finishing step is as accurate as LIBSVM (section 3.3, figure 8).", "lasvm-2005",
          f"points of error more than LIBSVM: {_ACCURATE}", _errors(ONE), anchor="lasvm-against-libsvm-in-the-same-runs"),
    Claim("It needs fewer kernel values than LIBSVM (figure 8).", "lasvm-2005", "kernel values over LIBSVM's: at most 1",
          _lasvm_kernels, _PAPER, "lasvm-against-libsvm-in-the-same-runs"),
    Claim("It takes less time than LIBSVM (figures 4 and 8).", "lasvm-2005", "CPU time over the faster LIBSVM's: at most 1",
          _lasvm_seconds, _PAPER, "lasvm-against-libsvm-in-the-same-runs"),
    Claim("Two epochs are as good as the exact solution (section 3.3).", "lasvm-2005",
          f"points of error more than LIBSVM: {_ACCURATE}", _errors(TWO),
          anchor="how-near-one-two-and-five-epochs-come-to-the-optimum"),
    Claim("It gets along with little memory for kernel rows (figure 6).", "lasvm-2005",
          "time with the smallest cache over that with the largest: at most 1.3", _lasvm_memory,
          anchor="figure-6-less-memory-for-kernel-rows"),
    Claim("Selected examples reach LIBSVM's error with fewer support vectors, and sooner (figures 11 and 12).", "lasvm-2005",
          f"with 5,000 support vectors on adult: {_ACCURATE}; no time was measured in turns with LIBSVM", _selected,
          anchor="figures-11-and-12-selection-of-examples-on-adult"),
    Claim("The ramp loss keeps a third to a half of the support vectors where labels are noisy (Table 3).", "lasvm-nc",
          "support vectors over the full SVM's: at most 0.5", _nc_support, _PAPER, "the-order-that-table-3-shows"),
    Claim("It costs no accuracy (Table 3).", "lasvm-nc", f"points of error more than the full SVM: {_ACCURATE}", _nc_errors,
          anchor="the-order-that-table-3-shows"),
    Claim("LASVM-I computes the fewest kernel values, the Full SVM the most (Table 3, figure 7).", "lasvm-nc",
          "kernel values of one over those of the other: at most 1", _nc_kernels, _PAPER, "the-order-that-table-3-shows"),
    Claim("Expected rounds are at most 6 delta ln m, and half of them succeed (Theorems 2.2 and 4.3).", "random-sampling-2008",
          "rounds over the bound: at most 1; share of successes: at least 0.5", _rounds, _PAPER, "rounds-over-m-and-n"),
    Claim("Much smaller samples are sufficient (section 2.3).", "random-sampling-2008",
          "at least half of the runs end with half of the theorem's sample or less", _smaller, anchor="how-small-r-may-be"),
    Claim("The combinatorial dimension is at most k (n + 1), and may be as small as n + 1 + k (Lemma 4.2, figures 4 and 5).",
          "random-sampling-2008", "the largest basis over each bound: at most 1", _dimension, _PAPER,
          "the-combinatorial-dimension-itself-and-the-counterexample"),
    Claim("Tubes of regression are found in as few rounds (Theorems 5.1 and 5.2).", "random-sampling-2008",
          "rounds over the bound: at most 1", _tubes, _PAPER, "tubes-theorems-51-and-52"),
    Claim("Doubling finds a k that separates (section 6).", "random-sampling-2008", "share of runs: at least 0.9", _doubling,
          anchor="choosing-k-section-6"),
    Claim("With kernels the support takes the place of the dimension (section 2).", "random-sampling-2008",
          "mean extremes over the support: at most 1.05", _kernel_dimension),
    Claim("Away steps make Frank-Wolfe converge linearly; without them it does not (Theorem 3.2).", "frank-wolfe-2009",
          "the last factor of ten of the accuracy takes at most twice the iterations of fw, more of gilbert", _linear_rate,
          anchor="linear-rate-and-sublinear-rate"),
    Claim("A core set keeps a margin of 1 - epsilon, and is far smaller than the points (Theorem 3.3).", "frank-wolfe-2009",
          "loss over epsilon: at most 1 (the paper's); share of the points: at most 0.1 (ours)", _core_sets),
    Claim("Where the core set is small it should be competitive (section 5 asks for the study).", "frank-wolfe-2009",
          "time of the fastest hull solver over SMO's, to one gap: at most 1", _competitive),
    Claim("On linear problems too (against LinearSVC).", "frank-wolfe-2009", "time over LinearSVC's, to one gap: at most 1",
          _linear),
    Claim("RandSVM over an exact solver is faster than the solver alone, to nearly its accuracy (Table 1).", "side-by-side",
          f"over smo-block, beside smo-block alone: time at most 1; errors: {_ACCURATE}", _randsvm),
    Claim("RGD is more accurate than soft margins and the ramp losses on data with wrong labels (Table 1, figure 4(d)).",
          "rgd-tree-2015", "points of error more than the best of the three: the whole interval below 0", _rgd, _PAPER,
          "benchmark-data-table-1-and-figure-4d"),
    Claim("Some node of a tree is nearly optimal with the probability of Theorem 2.", "rgd-tree-2015",
          "share of trees with a node that is wide enough: at least what is promised", _theorem_2, _PAPER),
    Claim("Looking at 59 points is as good as looking at all, and faster (section 3.2, figure 2).", "border-2007",
          "time over the full search's: at most 1; PRBEP: at most 1 point lost", _pool),
    Claim("Active learning stops early without a loss, with a part of the labels (section 3.3, Table 1).", "border-2007",
          "g-means less that of all labels: at most 1 point lost", _early),
    Claim("It is faster than SMOTE, and ranks first in PRBEP (Tables 3 and 4).", "border-2007",
          "time over SMOTE's: at most 1; first by its mean rank", _smote, _PAPER),
)  # fmt: skip


def table() -> str:
    """Return the claims with their answers, a paragraph each."""
    blocks = []
    for study in dict.fromkeys(claim.study for claim in CLAIMS):
        blocks.append(f"### {study_named(study).title}")
        for claim in (each for each in CLAIMS if each.study == study):
            word = answer(claim)
            told = "\n".join(f"  * {line}" for line in listed(estimates(claim))) or "  * not measured"
            head = f"* **{claim.says}** {word[0].upper()}{word[1:]} ([figures]({claim.address}))."
            blocks.append(f"{head}\n  * Criterion ({claim.whose}): {claim.criterion}.\n{told}")
    return "\n\n".join(blocks)


def counted() -> str:
    """Return how many claims hold."""
    verdicts = [answer(claim) for claim in CLAIMS]
    kinds = [f"{kind}: {verdicts.count(kind)}" for kind in KINDS if kind in verdicts]
    return f"{len(verdicts)} claims; {', '.join(kinds)}."


def sections() -> dict[str, str]:
    """Return every section of the page by the name of its markers."""
    study = study_named("side-by-side")
    together = study.sections(_results("side-by-side"))
    return {"counted": counted(), "claims": table(), "summary": together["summary"], "seen": together["seen"]}


def write() -> Path:
    """Write the page; the prose between the markers stays."""
    PAGE.write_text(filled(PAGE.read_text(), sections()))
    return PAGE
