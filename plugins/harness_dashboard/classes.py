"""Classes of problems by formulation, number of points, dimension and density, each of which may be 'all'."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from harness.report import scaling
from harness.report.figures import is_number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SIZES = ((1_000.0, "up to 1,000"), (5_000.0, "1,000 to 5,000"), (50_000.0, "5,000 to 50,000"), (None, "more"))
DIMENSIONS = ((10.0, "up to 10"), (100.0, "10 to 100"), (None, "over 100"))
SPARSE = 0.25  # largest fraction of nonzero values of a sparse data set


def classes(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the classes of the problems of a table of `tables`, and the growth of times with the size of the data set.

    ``place`` has the index of the problem of each row, ``kinds`` the index of each class in ``problems``.
    """
    nothing = [None] * table["rows"]
    keys = list(zip(*(table["columns"].get(name, nothing) for name in ("dataset", "problem")), strict=True))
    problems = sorted(set(keys), key=lambda key: (key[0], -1 if key[1] is None else key[1]))
    facts = [
        {**table["dataset_facts"][dataset], **({} if problem is None else table["problems"][problem])}
        for dataset, problem in problems
    ]
    kinds, chosen = subsets(facts)
    place = [problems.index(key) for key in keys]
    times = (table["columns"].get(name, nothing) for name in ("solver", "target_gap", "seconds_to"))
    return {
        "sizes": SIZES, "dimensions": DIMENSIONS, "sparse": SPARSE,
        "formulations": sorted({kind.split("|")[0] for kind in kinds} - {""}), "kinds": kinds, "place": place,
        "problems": chosen, "scaling": scaling.fits(zip([facts[each] for each in place], *times, strict=True)),
    }  # fmt: skip


def subsets(facts: Sequence[Mapping[str, Any]]) -> tuple[dict[str, int], list[tuple[int, ...]]]:
    """Return the classes that have problems, and the problems of each class.

    The first is ``{"formulation|size|dimension|density": index in the second}``, with '' for all.
    """
    members: dict[tuple[str, ...], list[int]] = {}
    for problem, fact in enumerate(facts):
        share = fact.get("density")
        kind = (
            str(fact.get("formulation") or ""), _place(fact.get("n_train"), SIZES), _place(fact.get("n_features"), DIMENSIONS),
            "" if not is_number(share) else "sparse" if share <= SPARSE else "dense",
        )  # fmt: skip
        for each in {*itertools.product(*((name, "") for name in kind))}:
            members.setdefault(each, []).append(problem)
    chosen: dict[tuple[int, ...], int] = {}
    kinds = {"|".join(kind): chosen.setdefault(tuple(of), len(chosen)) for kind, of in sorted(members.items())}
    return kinds, list(chosen)


def _place(value: Any, ends: Sequence[tuple[float | None, str]]) -> str:
    """Return the index of the interval that contains the value; '' if the value is unknown."""
    if not is_number(value):
        return ""
    return str(next(i for i, (high, _) in enumerate(ends) if high is None or value <= high))
