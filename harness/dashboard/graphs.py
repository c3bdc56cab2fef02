"""asv's graphs for many series: the same files and the same steps, without the work that grows with their square.

asv 0.6 asks for the steps of all series of a benchmark once for each of them, hands every series to its pool by itself
and writes every number with Python's slow encoder. With 1200 series of 170 commits in each of eight benchmarks that
is minutes; a series that never changes, as most counts, needs no search for steps at all.
"""

from __future__ import annotations

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


def _known(values: Sequence[Any]) -> list[Any]:
    return [None if value is None or value != value else value for value in values]


def compact(points: Sequence[tuple[int, Any]]) -> str:
    """Return revisions and values as JSON, six digits and no spaces: on a large site numbers are most of the bytes."""
    written: dict[Any, str] = {None: "null"}

    def number(value: Any) -> str:
        text = written.get(value)
        if text is None:
            text = "null" if value != value else _shortest(value)
            written[value] = text
        return text

    lines = []
    for revision, value in points:
        is_list = isinstance(value, (list, tuple))
        lines.append(f"[{revision},[{','.join(map(number, value))}]]" if is_list else f"[{revision},{number(value)}]")
    return f"[{','.join(lines)}]"


def _shortest(value: float) -> str:
    short = f"{value:.6g}".replace("e+0", "e").replace("e+", "e").replace("e-0", "e-")
    whole = short.rstrip("0") if "." not in short and "e" not in short else short
    zeros = len(short) - len(whole)
    return f"{whole}e{zeros}" if zeros > 2 and whole not in ("", "-") else short


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
            self._data = self._plain_data() if self._is_plain() else super().get_data()
        return self._data

    def _is_plain(self) -> bool:
        """Return whether each revision was measured at most once, as in every exported result: there is no mean to take."""
        return (
            self.n_series is not None and not self.scalar_series and all(len(v) <= 1 for v in self.data_points.values())
        )

    def _plain_data(self) -> list[Any]:
        nothing = [None] * self.n_series
        points = []
        for revision, values in sorted(self.data_points.items()):
            weights = self.data_weights[revision]
            points.append(
                (revision, _known(values[0]) if values else nothing, _known(weights[0]) if weights else nothing)
            )
        measured = [i for i, (_, values, _) in enumerate(points) if any(value is not None for value in values)]
        return points[measured[0] : measured[-1] + 1] if measured else []

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
        target.write_text(compact([point[:2] for point in self.get_data()]), encoding="utf-8")


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
