"""asv's graphs for many series: the same files and the same steps, without the work that grows with their square.

asv 0.6 asks for the steps of all series of a benchmark once for each of them, hands every series to its pool by itself
and writes every number with Python's slow encoder. With 1200 series of 170 commits in each of eight benchmarks that
is minutes; a series that never changes, as most counts, needs no search for steps at all.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asv.graph import Graph, GraphSet, _compute_graph_steps
from asv.util import is_na

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Series = list[tuple[int, Any, Any]]
Steps = list[tuple[int, int, float, float, float]]

_CHUNK = 64  # series a task: handing one over costs as much as a short one's search


def steps_of(series: Series) -> Steps | None:
    """Return the steps of a series that never changes (revision, value, weight); None if it has to be searched."""
    known = [(revision, value) for revision, value, weight in series if not is_na(value) and not _worthless(weight)]
    if not known:
        return []
    first, value = known[0]
    if any(other != value for _, other in known):
        return None
    return [(first, known[-1][0] + 1, value, value, 0.0)]


def _worthless(weight: Any) -> bool:
    return weight is not None and weight <= 0


def _search(many: list[Series]) -> list[Steps]:
    return [_compute_graph_steps(series, reraise=False) for series in many]


class QuickGraph(Graph):
    """One graph, its data put in order and its steps found once."""

    _steps: Any
    _data: list[Any] | None = None

    def add_data_point(self, revision: int, value: Any, weight: Any = None) -> None:
        """Add the values of one revision."""
        self._data = None
        super().add_data_point(revision, value, weight)

    def get_data(self) -> list[Any]:
        """Return revision, values and weights in order, without missing ends."""
        if self._data is None:
            self._data = super().get_data()
        return self._data

    def series(self) -> list[Series]:
        """Return revision, value and weight of each series, one list a combination of parameters."""
        data = self.get_data()
        if self.scalar_series:
            return [data]
        return [[(point[0], point[1][j], point[2][j]) for point in data] for j in range(self.n_series)]

    def get_steps(self) -> Any:
        """Return the steps of each series, those of the only one if the benchmark has no parameters."""
        if self._steps is None:
            self._steps = [
                _search([series])[0] if (found := steps_of(series)) is None else found for series in self.series()
            ]
        return self._steps[0] if self.scalar_series else self._steps

    def save(self, html_dir: str) -> None:
        """Write the values by revision, as the pages read them, without spaces."""
        target = Path(html_dir, f"{self.path}.json")
        target.parent.mkdir(parents=True, exist_ok=True)
        values = [point[:2] for point in self.get_data()]
        target.write_text(json.dumps(values, separators=(",", ":")), encoding="utf-8")


class QuickGraphs(GraphSet):
    """The graphs of a site."""

    def get_graph(self, benchmark_name: str, params: dict[str, Any]) -> QuickGraph:
        """Return the graph of a benchmark in an environment, a new one at the first call."""
        path = Graph.get_file_path(params, benchmark_name)
        if path not in self._graphs:
            graph = QuickGraph(benchmark_name, params)
            self._graphs[path] = graph
            self._groups.setdefault(benchmark_name, []).append(graph)
        found: QuickGraph = self._graphs[path]
        return found

    def detect_steps(self, pool: Any = None, dots: Callable[[], None] | None = None) -> None:
        """Find the steps of every series; the pool searches those that change, many at a time."""
        missing: list[tuple[list[Any], int, Series]] = []
        for graph in self._graphs.values():
            series = graph.series()
            graph._steps = [steps_of(each) for each in series]  # noqa: SLF001 (a subclass of ours, made for this)
            missing += [(graph._steps, j, series[j]) for j, found in enumerate(graph._steps) if found is None]  # noqa: SLF001
        chunks = [missing[i : i + _CHUNK] for i in range(0, len(missing), _CHUNK)]
        work = [[series for _, _, series in chunk] for chunk in chunks]
        found_all: Sequence[list[Steps]] = (
            [_search(each) for each in work] if pool is None else pool.map(_search, work, 1)
        )
        for chunk, found in zip(chunks, found_all, strict=True):
            for (steps, j, _), each in zip(chunk, found, strict=True):
                steps[j] = each
            if dots is not None:
                dots()
