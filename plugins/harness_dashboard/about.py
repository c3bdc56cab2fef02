"""What the pages of a solver and of a data set say beside its results: as it is installed where the site is made.

A store may be of another machine: a solver or data set that is not installed here, or whose name another plugin has
taken, has no entry, and its page says what the records say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness import about_dataset, about_solver

if TYPE_CHECKING:
    from collections.abc import Mapping


def about(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is known of the solvers and data sets of a table of cells by their bare names.

    The bare name of ``fw[epsilon=0.01]`` is ``fw``, that of the data set ``twonorm[n=2000]`` is ``twonorm``.
    """
    plugins = {facts["base"]: facts["plugin"] for facts in table["solver_facts"]}
    solvers = {
        name: found for name, plugin in plugins.items() if (found := about_solver(name)) and found["plugin"] == plugin
    }
    sets = {str(facts["set"]).partition("[")[0] for facts in table["dataset_facts"]}
    return {"solvers": solvers, "datasets": {name: found for name in sorted(sets) if (found := about_dataset(name))}}
