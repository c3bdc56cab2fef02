"""asv's graphs for many series: the same files and the same steps, without the work that grows with their square.

asv 0.6 asks for the steps of all series of a benchmark once for each of them, hands every series to its pool by itself
and writes every number with Python's slow encoder. With 1200 series of 170 commits in each of eight benchmarks that
is minutes; a series that never changes, as most counts, needs no search for steps at all.
"""

from __future__ import annotations

import functools
import math
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from asv.graph import RESAMPLED_POINTS, Graph, GraphSet, _compute_graph_steps, _fill_missing_data, resample_data

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Series = list[tuple[int, Any, Any]]
Steps = list[tuple[int, int, float, float, float]]

_RUN, _JUMP = 4, 0.02
_CHUNK = 16  # series a task: handing one over costs as much as a short one's search


def steps_of(series: Series) -> Steps | None:
    """Return the steps of a series without noise (revision, value, weight); None if they have to be searched for.

    A count is the same at every commit but those that change it. Runs of equal values, each at least `_RUN` long and
    apart by more than `_JUMP` of the smaller one, are steps as they stand: no search can find better ones.
    """
    runs: list[list[Any]] = []  # first and last revision, value, length
    last = None
    for revision, value, weight in series:
        if value is None or value != value or (weight is not None and weight <= 0):
            continue
        if value == last:
            runs[-1][1] = revision
            runs[-1][3] += 1
        elif runs and runs[-1][3] < _RUN:
            return None
        else:
            runs.append([revision, revision, value, 1])
            last = value
    if len(runs) > 1 and (runs[-1][3] < _RUN or not _well_apart([value for _, _, value, _ in runs])):
        return None
    return [(first, end + 1, value, value, 0.0) for first, end, value, _ in runs]


def _well_apart(values: list[float]) -> bool:
    return min(abs(b - a) for a, b in pairwise(values)) > _JUMP * min(abs(value) for value in values)


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

    def get_summary_graphs(self, dots: Callable[[], None] | None = None) -> Iterator[Graph]:
        """Return the sparkline of each benchmark: the geometric mean of its series, short gaps filled."""
        for name, graphs in self._groups.items():
            summary = Graph(name, {"summary": ""})
            for revision, value in resample_data(_geometric_means(graphs), RESAMPLED_POINTS):
                summary.add_data_point(revision, value)
            yield summary
            if dots is not None:
                dots()


def _geometric_means(graphs: Sequence[QuickGraph]) -> list[tuple[int, float | None]]:
    """Return revision and geometric mean over all series of these graphs, as asv's front page shows them."""
    revisions = sorted({point[0] for graph in graphs for point in graph.get_data()})
    place = {revision: i for i, revision in enumerate(revisions)}
    parts = []
    for graph in graphs:
        values = np.full((len(revisions), graph.n_series), np.nan)
        for revision, value, _ in graph.get_data():
            values[place[revision]] = np.array([value] if graph.scalar_series else value, dtype=float)
        parts.append(values)
    if not revisions:
        return []
    table = np.concatenate(parts, axis=1)
    known = np.isfinite(table)
    filled = table.copy()
    for j in np.flatnonzero(_has_gap(known)):
        column = _fill_missing_data([value if math.isfinite(value) else None for value in table[:, j].tolist()])
        filled[:, j] = np.array(column, dtype=float)
    counted = np.isfinite(filled)
    number = counted.sum(axis=1)
    with np.errstate(divide="ignore"):  # the mean over a zero is zero
        means = np.exp(np.where(counted, np.log(np.abs(filled)), 0.0).sum(axis=1) / np.maximum(number, 1))
    signed = np.where(np.where(counted, filled, 0.0).sum(axis=1) >= 0, means, -means)
    return [
        (revision, float(value) if some else None)
        for revision, value, some in zip(revisions, signed, known.any(axis=1), strict=True)
    ]


def _has_gap(known: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return for each column whether something is missing between two values."""
    first = known.argmax(axis=0)
    last = known.shape[0] - 1 - known[::-1].argmax(axis=0)
    return np.asarray(known.any(axis=0) & (known.sum(axis=0) < last - first + 1))


def quick_ranges(repo: Any, branches: Sequence[str | None]) -> None:
    """Let a repository answer which commits lie between two without a process each: regressions ask for every number."""
    ask = functools.cache(repo.get_hashes_from_range)
    chains = [repo.get_branch_commits(branch) for branch in branches]  # newest first
    places = [{commit: i for i, commit in enumerate(chain)} for chain in chains]

    def between(span: str) -> list[str]:
        older, dots, newer = span.partition("..")
        for chain, place in zip(chains, places, strict=True):
            if dots and older in place and newer in place:
                return list(chain[place[newer] : place[older]])
        return list(ask(span))

    repo.get_hashes_from_range = between
