"""How the time of one epoch grows with the number of examples, beside n |S| (section 3.2 of the paper)."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median

from reports.kit.averages import slope
from reports.kit.journal import Row
from reports.kit.markdown import met, number, table
from reports.kit.results import Results, comparable
from reports.lasvm_2005.parts import of_size
from reports.lasvm_2005.plan import ONE

# so much does a time 1.3 times too long at the largest of adult's sizes add to its exponent (1.7 times for checkerboard's)
TOLERANCE = 0.05


@dataclass(frozen=True)
class Size:
    """The runs on ``n`` training points.

    members : |S|, the members of S when the online iterations end (median over the runs)
    seconds : CPU, the finishing step included; of each run
    """

    n: int
    members: float
    seconds: tuple[float, ...]
    runs: list[Row] = field(default_factory=list)

    @property
    def time(self) -> float:
        """The median over the runs."""
        return median(self.seconds)

    @property
    def product(self) -> float:
        """The product n |S|, to which the operations of an epoch are proportional."""
        return self.n * self.members


def measured(results: Results, name: str) -> list[Size]:
    """Return the sizes of a set that have finished runs, the smallest first."""
    found = []
    for n in results.plan.scaled[name][1]:
        at = of_size(results.plan, name, n).name
        members, seconds = (results.values(at, ONE, quantity) for quantity in ("info.online_members", "cpu"))
        if members:
            found.append(Size(n, median(members), tuple(seconds), results.of(at, ONE)))
    return found


def largest(sizes: list[Size]) -> list[Size]:
    """Return the sizes of the last factor of ten."""
    return [each for each in sizes if 10 * each.n >= sizes[-1].n]


def exponents(sizes: list[Size]) -> tuple[float, float] | None:
    """Return p and q of time ~ n^p and n |S| ~ n^q, least squares in logarithms.

    None for fewer than two sizes, and for times that are not comparable.
    """
    if not comparable(*(run for each in sizes for run in each.runs)):
        return None
    time, product = slope([(each.n, each.time) for each in sizes]), slope([(each.n, each.product) for each in sizes])
    return None if time is None or product is None else (time, product)


def scaling(results: Results) -> str:
    """Time and n |S| for each size, and whether time grows faster."""
    rows, lines = [], []
    for name in results.plan.scaled:
        sizes = measured(results, name)
        for each in sizes:
            spread = "" if len(each.seconds) < 2 else f" ({min(each.seconds):.3g}-{max(each.seconds):.3g})"
            rows.append(
                [
                    name,
                    f"{each.n:,}",
                    f"{each.members:,.0f}",
                    f"{each.product:.2e}",
                    f"{each.time:.3g}{spread}",
                    number(1e9 * each.time / each.product),
                    str(len(each.seconds)),
                ]
            )
        found = exponents(sizes)
        if found is not None:
            time, product = found
            text = (
                f"* {name}: time grows like n^{time:.2f}, n |S| like n^{product:.2f} {met(time <= product + TOLERANCE)}"
            )
            last = largest(sizes)
            end = exponents(last)
            text += "" if end is None else f"; from n = {last[0].n:,} on like n^{end[0]:.2f} and n^{end[1]:.2f}"
            lines.append(f"{text}.")
    head = ["set", "n", r"\|S\|", r"n \|S\|", "seconds", r"seconds / (n \|S\|), ns", "runs"]
    return "\n".join([table(head, rows), *([""] if lines else []), *lines])
