"""Table 1 and Figure 4(d): what validation chooses, beside the paper's errors, and which differences are no chance."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import mean, stdev

from harness import Status
from reports.kit.journal import Row
from reports.kit.markdown import NOT_MEASURED, met, number, table
from reports.kit.results import Printed, Results, inside
from reports.kit.signed_ranks import holm, signed_ranks
from reports.rgd_tree_2015.parts import CLEAN
from reports.rgd_tree_2015.plan import (
    APART,
    BASELINE,
    BOOSTED,
    CCCP,
    HELD_OUT,
    METHODS,
    PATH,
    RBF,
    RGD,
    SOFT,
    TREE,
    VALIDATION,
    Method,
)

ALPHA = 0.05


@dataclass(frozen=True)
class Choice:
    """The candidate of one draw that validation chose, its error on the test part, and the least of all candidates'."""

    solver: str
    error: float
    least: float
    cpu: float


class Choices:
    """The choices of every method on every set, by the draw of the data.

    kind : what stands behind the sets' names: nothing, or that no label is flipped
    """

    def __init__(self, results: Results, kind: str = "") -> None:
        self.published, self.sizes = results.published, results.plan.sets
        self._rows: dict[tuple[str, str], dict[tuple[str, bool], Row]] = {}
        for row in results.runs:
            # a tree none of whose nodes separates has a model all the same, and does not claim to be done
            scored = row["status"] in (Status.OK, Status.UNFINISHED)
            name = row["set"].removesuffix(kind)
            if (
                name in self.sizes
                and name + kind == row["set"]
                and scored
                and inside(row, f"metrics.{HELD_OUT}") is not None
            ):
                self._rows.setdefault((name, row["dataset"]), {})[row["solver"], row["gamma"] is None] = row

    @property
    def methods(self) -> list[Method]:
        """The methods with runs."""
        return [method for method in METHODS if any(self.of(name, method) for name in self.sets)]

    @property
    def sets(self) -> list[str]:
        """The sets with runs, as Table 1 has them in order."""
        found = {name for name, _ in self._rows}
        return [name for name in self.sizes if name in found]

    def of(self, name: str, method: Method) -> dict[str, Choice]:
        """Return what validation chose on each draw; of equal errors the first candidate's is taken."""
        chosen = {}
        for (found, dataset), rows in self._rows.items():
            keys = [(solver, method.kernel == "linear") for solver in method.candidates]
            runs = [rows[key] for key in keys if key in rows]
            if found != name or not runs:
                continue
            best = min(runs, key=lambda row: row["metrics"][VALIDATION])
            least = min(row["metrics"][HELD_OUT] for row in runs)
            spent = sum(row["cpu"] for row in runs)
            chosen[dataset] = Choice(best["solver"], best["metrics"][HELD_OUT], least, spent)
        return chosen

    def errors(self, name: str, method: Method) -> list[float]:
        """Return the test errors of the choices, in percent."""
        return [each.error for each in self.of(name, method).values()]

    def mean(self, name: str, method: Method) -> float | None:
        """Return the mean test error of the choices, None where nothing was measured."""
        errors = self.errors(name, method)
        return mean(errors) if errors else None

    def baseline(self, name: str) -> tuple[Method, float] | None:
        """Return the best of the paper's three methods and its mean test error."""
        known = [(each, error) for each in BASELINE if (error := self.mean(name, each)) is not None]
        return min(known, key=lambda pair: pair[1]) if known else None

    def paired(self, name: str, first: Method, second: Method) -> tuple[list[float], list[float]]:
        """Return the test errors of two methods on the draws that both were run on."""
        one, other = self.of(name, first), self.of(name, second)
        both = [dataset for dataset in one if dataset in other]
        return [one[dataset].error for dataset in both], [other[dataset].error for dataset in both]


def table1(choices: Choices) -> str:
    """Mean test errors and their standard deviations, a line a set; the least of a line is bold."""
    rows, methods = [], choices.methods
    for name in choices.sets:
        means = {method: choices.mean(name, method) for method in methods}
        least = min(value for value in means.values() if value is not None)
        cells = []
        for method, value in means.items():
            errors = choices.errors(name, method)
            text = "" if value is None else f"{value:.1f}"
            text = f"**{text}**" if value is not None and value <= least + 0.05 else text
            cells.append(text + (f" ± {stdev(errors):.1f}" if len(errors) > 1 else ""))
        draws = max(len(choices.of(name, method)) for method in methods)
        sizes = f"{choices.sizes[name].n} x {choices.sizes[name].d}"
        rows.append([name, sizes, _printed(choices, name), *cells, str(draws)])
    return table(["set", "n x d", "paper: RGD", *(method.name for method in methods), "draws"], rows)


def _printed(choices: Choices, name: str) -> str:
    printed = choices.published.get("table1", name, "rgd-tree", "error")
    if isinstance(printed, Printed):
        printed.note(choices.mean(name, RGD))
    return number(printed, ".1f")


def figure4d(choices: Choices) -> str:
    """RGD against the best of the other three, as Figure 4(d) has it, and against the paper's own error."""
    rows = []
    for name in choices.sets:
        base, ours = choices.baseline(name), choices.mean(name, RGD)
        if base is None or ours is None:
            continue
        printed = choices.published.get("table1", name, "rgd-tree", "error")
        better = 100.0 * (1.0 - float(ours) / float(base[1]))  # of errors, which no machine changes
        claimed = choices.published.get("figure4d", name, "rgd-tree", "improvement")
        if isinstance(claimed, Printed):
            claimed.note(better)
        claim = "" if claimed is None else f" (more than {claimed:g} %) {met(better > claimed)}"
        reached = "" if printed is None else met(ours <= printed)
        ahead = "ahead" if better > 0.0 else "level" if better == 0.0 else "behind"
        rows.append([name, f"{ours:.2f}", f"{base[1]:.2f}, {base[0].name}", ahead, f"{better:+.0f} %{claim}",
                     f"{number(printed, '.1f')} {reached}"])  # fmt: skip
    head = ["set", "RGD %", "best of the other three %", "RGD is", "error lower by (paper)", "paper's RGD %"]
    return table(head, rows)


def _against(choices: Choices) -> list[Method]:
    """Return the methods that RGD is tested against: not its own parts."""
    return [method for method in choices.methods if method not in (TREE, APART, BOOSTED, RGD)]


def ranks_over_draws(choices: Choices) -> str:
    """Signed ranks of RGD and each other method over the draws of a set, Holm's correction within the set."""
    others = _against(choices)
    rows = []
    for name in choices.sets:
        pairs = {method: choices.paired(name, RGD, method) for method in others}
        tested = [method for method in others if pairs[method][0]]
        corrected = dict(zip(tested, holm([signed_ranks(*pairs[method]) for method in tested]), strict=True))
        cells = []
        for method in others:
            if method not in corrected:
                cells.append("")
                continue
            ours, theirs = (mean(errors) for errors in pairs[method])
            sure = corrected[method] < ALPHA
            word = ("better" if ours < theirs else "worse") if sure else "no difference"
            cells.append(f"{word}, {corrected[method]:.3f}")
        rows.append([name, *cells])
    return table(["RGD against", *(method.name for method in others)], rows if others else [])


def ranks_over_sets(choices: Choices) -> str:
    """Signed ranks of RGD and each other method over the sets' mean errors, Holm's correction over the methods."""
    others = _against(choices)
    pairs = {}
    for method in others:
        both = [name for name in choices.sets if choices.of(name, method) and choices.of(name, RGD)]
        means = [[mean(errors) for errors in choices.paired(name, RGD, method)] for name in both]
        if means:
            pairs[method] = [first for first, _ in means], [second for _, second in means]
    raw = [signed_ranks(*pair) for pair in pairs.values()]
    rows = []
    for (method, (ours, theirs)), p_value, corrected in zip(pairs.items(), raw, holm(raw), strict=True):
        wins = sum(a < b for a, b in zip(ours, theirs, strict=True))
        difference = mean(a - b for a, b in zip(ours, theirs, strict=True))
        rows.append(
            [method.name, str(len(ours)), str(wins), f"{difference:+.2f}", f"{p_value:.3f}", f"{corrected:.3f}"]
        )
    head = ["RGD against", "sets", "RGD better on", "mean difference, points", "p", "p, Holm"]
    return table(head, rows)


def hinge(choices: Choices) -> str:
    """Whether the ramp loss is at least as good as the hinge under flipped labels."""
    rows, wins = [], {CCCP: [0, 0], PATH: [0, 0]}
    for name in choices.sets:
        cells = [number(choices.mean(name, SOFT), ".2f")]
        for method in (CCCP, PATH):
            hinged, ramp = choices.paired(name, SOFT, method)
            if not ramp:
                cells.append("")
                continue
            holds = mean(ramp) <= mean(hinged)
            wins[method] = [wins[method][0] + holds, wins[method][1] + 1]
            cells.append(f"{mean(ramp):.2f} {met(holds)}")
        rows.append([name, *cells])
    if not rows:
        return NOT_MEASURED
    told = [
        f"* {method.name} is at least as good as the hinge on {won} of {count} sets {met(2 * won >= count)}."
        for method, (won, count) in wins.items()
        if count
    ]
    return "\n".join([*told, "", table(["set", "soft margin %", "ramp-cccp %", "outlier-path %"], rows)])


def clean(noisy: Choices, right: Choices) -> str:
    """What flipped labels cost: the soft margins from right labels, beside the best from flipped ones and the paper's RGD."""
    rows = []
    for name in right.sets:
        known = {method: error for method in METHODS if (error := noisy.mean(name, method)) is not None}
        if not known:
            continue
        best = min(known, key=lambda method: known[method])
        printed = noisy.published.get("table1", name, "rgd-tree", "error")
        cells = [number(right.mean(name, method), ".2f") for method in (SOFT, RBF)]
        least = min((value for method in (SOFT, RBF) if (value := right.mean(name, method)) is not None), default=None)
        told = "" if least is None or printed is None else "yes" if printed < least else "no"
        rows.append([name, *cells, f"{known[best]:.2f}, {best.name}", number(noisy.mean(name, RGD), ".2f"),
                     number(printed, ".1f"), told])  # fmt: skip
    head = ["set", "right labels: linear %", "right labels: RBF %", "flipped labels: best of all %", "RGD %",
            "paper's RGD %", "paper below the right labels"]  # fmt: skip
    return table(head, rows)


def costs(choices: Choices) -> str:
    """CPU seconds of all candidates of a method on a draw, and what the best candidate by test error would have given."""
    rows = []
    for name in choices.sets:
        for method in METHODS:
            found = choices.of(name, method).values()
            if found:
                rows.append([name, method.name, str(len(method.candidates)), number(mean(each.cpu for each in found)),
                             number(mean(each.error for each in found), ".2f"),
                             number(mean(each.least for each in found), ".2f"),
                             _most_frequent([each.solver for each in found])])  # fmt: skip
    head = ["set", "method", "candidates", "CPU s, all of them", "chosen %", "least of all %", "chosen most often"]
    return table(head, rows)


def _most_frequent(solvers: list[str]) -> str:
    return f"`{max(dict.fromkeys(solvers), key=solvers.count)}`"


def sections(results: Results) -> dict[str, str]:
    """Return the sections of Table 1 by the name of their markers."""
    choices = Choices(results)
    return {
        "figure4d": figure4d(choices),
        "table1": table1(choices),
        "over-draws": ranks_over_draws(choices),
        "over-sets": ranks_over_sets(choices),
        "hinge": hinge(choices),
        "clean": clean(choices, Choices(results, CLEAN)),
        "costs": costs(choices),
    }
