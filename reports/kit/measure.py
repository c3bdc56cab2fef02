"""Run a plan by `harness.compare`, block by block; the table is written after each block, every run is stored at once."""

from __future__ import annotations

import itertools
import json
import math
import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

import harness
from harness.registry.discovery import load_registry
from harness.support.errors import NotKept
from harness.support.machine import git_commit, machine, now
from reports.kit import rows
from reports.kit.study import Block, Study

_OF_PLAN = ("figure", "plugins", "traced")
_OF_SET = ("set", "datasets", "protocol", "runs")
MISSING = "missing"
"""Status of a row for a data set or a solver that is not available."""


class Measuring:
    """Measures parts of a study into a folder.

    failures : runs so far that failed, or that could not be measured
    """

    def __init__(
        self, study: Study, folder: Path, *, quick: bool = False, store: Path | None = None, fresh: bool = False,
        keep: bool = False, quiet: bool = False,
    ) -> None:  # fmt: skip
        """Continue from the results in the folder; ``keep`` : do not repeat any of them, whatever code measured them."""
        self.study, self.path, self.quick, self.quiet = study, folder / "results.parquet", quick, quiet
        self.store = store or harness.default_store().with_name("papers.sqlite")
        self.fresh, self.keep, self.failures = fresh, keep, 0
        self.results = study.results(folder)
        self._registry = load_registry(study.plugin_paths)
        self._here = {"commit": git_commit() or "", "machine": _machine_line(machine())}

    def part(self, name: str, sets: Sequence[str] | None = None, limit: float | None = None) -> None:
        """Measure a part: the blocks of a figure, or what the study measures itself; ``limit`` : seconds in a solver."""
        blocks = [block for block in self.study.plan(self.quick) if block["figure"] == name]
        if name in self.study.later:
            blocks += self.study.later[name](self.quick, self.results)
        comparisons: dict[str, list[Block]] = {}
        for block in blocks:
            if sets is None or block["set"] in sets:
                alike = {option: value for option, value in block.items() if option not in _OF_SET}
                comparisons.setdefault(json.dumps(alike, sort_keys=True, default=str), []).append(block)
        for place, group in enumerate(comparisons.values()):
            names = ", ".join(dict.fromkeys(str(block["set"]) for block in group))
            self._print(f"{self.study.name} {name}: {place + 1} of {len(comparisons)}: {names}")
            self._run_blocks(group, {} if limit is None else {"time_limit": limit})
        if name in self.study.measurements:
            self._print(f"{self.study.name} {name}")
            self._measure_custom(name)

    def _print(self, text: str) -> None:
        if not self.quiet:
            print(text, flush=True)

    def _run_blocks(self, group: Sequence[Block], further: Mapping[str, Any]) -> None:
        """Run blocks that differ in their data alone as one comparison; report and leave out missing data sets and solvers."""
        options = {name: value for name, value in group[0].items() if name not in (*_OF_SET, *_OF_PLAN)} | further
        plugins = list(group[0]["plugins"])
        datasets = [name for block in group for name in block["datasets"]]
        if self.keep:
            plugins, datasets = self._missing_runs(group, plugins)
        if not (plugins and datasets):
            return
        try:
            records = self._compare(plugins, datasets, options)
        except NotKept as error:
            self._add(group, plugins, error.records)
            raise
        except harness.HarnessError as error:
            if len(datasets) > 1:  # the others may be there
                for block in group:
                    for name in block["datasets"]:
                        if name in datasets:
                            self._run_blocks([{**block, "datasets": [name]}], further)
            elif len(plugins) > 1:
                for name in plugins:
                    self._run_blocks([{**group[0], "plugins": [name], "datasets": datasets}], further)
            else:
                self._add_missing(group[0], plugins[0], datasets[0], str(error))
            return
        self._add(group, plugins, records)

    def _compare(self, plugins: list[str], datasets: list[str], options: dict[str, Any]) -> Sequence[Mapping[str, Any]]:
        result = harness.compare(
            ",".join(plugins), datasets, plugin_path=self.study.plugin_paths, store=self.store, fresh=self.fresh,
            quiet=self.quiet, **{"repeat": 1, **options},
        )  # fmt: skip
        expected = [*self.study.expected, harness.Status.OK]
        self.failures += sum(record["status"] not in expected for record in result.records)
        # skipped runs have no row
        skipped = (record for record in result.records if record["status"] == harness.Status.SKIPPED)
        for message in dict.fromkeys(f"{record['label']} was skipped: {record['reason']}" for record in skipped):
            self._print(message)
        return result.records

    def _add(self, group: Sequence[Block], plugins: Sequence[str], records: Sequence[Mapping[str, Any]]) -> None:
        solvers = self._solvers(plugins)
        measured = [_final_run(record) for record in records if record["status"] != harness.Status.SKIPPED]
        tables = []
        for block in group:
            labels = self._datasets(block["datasets"])
            of_block = (record for record in measured if record["dataset"] in labels)
            tables.append(self._table(block, of_block, solvers, labels))
        self._keep(*tables)

    def _solvers(self, plugins: Sequence[str]) -> list[tuple[str, Any]]:
        return [(text, item) for text in plugins for item in self._registry.select_solvers(text)]

    def _datasets(self, datasets: Sequence[str]) -> dict[str, str]:
        return {source.label: text for text in datasets for source in self._registry.select_datasets(text)}

    def _missing_runs(self, group: Sequence[Block], plugins: list[str]) -> tuple[list[str], list[str]]:
        """Return the solvers and data sets of which a run is still missing."""
        every = self.results.every
        every, lacking = every[(every["figure"] == group[0]["figure"]) & (every["status"] != MISSING)], []
        for block in group:
            runs = every[every["set"] == block["set"]]
            for name in ("kernel", "C", "gamma"):  # empty: not recorded, or not of the formulation
                runs = runs[runs[name].isin([block[name], "", math.nan])] if name in block else runs
            have = set(zip(runs["solver"], runs["dataset"], runs["seed"], strict=True))
            for plugin, dataset in itertools.product(plugins, block["datasets"]):
                if any((plugin, dataset, seed) not in have for seed in block.get("seeds", [0])):
                    lacking.append((plugin, dataset))
        return tuple(list(dict.fromkeys(names)) for names in zip(*lacking, strict=True)) if lacking else ([], [])

    def _table(
        self, block: Block, records: Iterable[Mapping[str, Any]], solvers: Sequence[tuple[str, Any]], labels: Mapping[str, str],
    ) -> pd.DataFrame:  # fmt: skip
        def of_record(record: Mapping[str, Any]) -> tuple[dict[str, Any], list[tuple[str, int, float]]]:
            stored = record if block.get("traced") else {**record, "trace": None}
            problem, kernel = record["problem_parameters"] or {}, record["kernel_parameters"] or {}
            return {
                **self._of_run(block["figure"]), "set": block["set"], "solver": _selection_of(record, solvers),
                "seed": record["seed"], "dataset": labels[record["dataset"]],
                "formulation": record["formulation"], "C": problem.get("C"), "gamma": kernel.get("gamma"), "kernel": record["kernel"],
                "cache_mb": record["cache_mb"], "status": str(record["status"]), "reason": rows.reason_of(record),
                "session": f"{record['study'][:8]} {(record['git_commit'] or '')[:7]}", "commit": record["git_commit"],
                "load": record["load_average"], "date": record["measured_at"],
            }, list(rows.quantities(stored))  # fmt: skip

        return rows.tidy(map(of_record, records))

    def _of_run(self, figure: str) -> dict[str, Any]:
        how = "--quick" if self.quick else "--full"
        command = shlex.join(["harness", "reproduce", self.study.name, how, "--part", figure])
        return {"paper": self.study.name, "figure": figure, "command": command, **self._here}

    def _add_missing(self, block: Block, solver: str, dataset: str, reason: str) -> None:
        self.failures += 1
        self._print(f"{block['set']}, {solver}: not measured: {reason}")
        what = {"set": block["set"], "solver": solver, "dataset": dataset, "status": MISSING, "reason": reason}
        self._keep(rows.tidy([({**self._of_run(block["figure"]), **what, "date": now()}, ())]))

    def _measure_custom(self, name: str) -> None:
        session = now()
        runs: dict[tuple[Any, ...], list[tuple[str, int, float]]] = {}
        of_run: dict[tuple[Any, ...], dict[str, Any]] = {}
        for row in self.study.measurements[name](self.quick):
            key = tuple(row.get(column, "") for column in rows.IDENTITY if column != "figure")
            runs.setdefault(key, []).append((row["quantity"], row.get("point", rows.END), row["value"]))
            values = {column: value for column, value in row.items() if column in rows.OF_RUN}
            here = {"status": harness.Status.OK, "session": session, "date": session, "load": os.getloadavg()[0]}
            of_run.setdefault(key, {**self._of_run(name), **here, **values})
        self._keep(rows.tidy((of_run[key], quantities) for key, quantities in runs.items()))

    def _keep(self, *tables: pd.DataFrame) -> None:
        # read again: another process may measure other parts into the same folder
        whole = rows.joined([rows.read(self.path), *tables], self.results.expressed)
        if not self.quick:
            whole = _with_protocol(whole, self.study.plan(False))
        rows.write(whole, self.path)
        self.results = replace(self.results, table=whole)


def _with_protocol(table: pd.DataFrame, plan: Sequence[Block]) -> pd.DataFrame:
    """Return the table with its column ``protocol``: the plan's text, and whether there are fewer runs than in the paper."""
    key = ["figure", "set", "solver"]
    ends = table[table["status"] == harness.Status.OK].drop_duplicates([*key, *rows.REPETITION])
    have = ends.groupby(key).size().to_dict()
    protocols: dict[tuple[str, str, str], str] = {}
    for block in plan:
        for solver in block["plugins"]:
            key = (block["figure"], block["set"], solver)
            few = have.get(key, 0) < block.get("runs", 0)
            texts = [block.get("protocol", ""), f"{have.get(key, 0)} of {block['runs']} runs" if few else ""]
            protocols[key] = "; ".join(text for text in texts if text)
    columns = (table[name] for name in ("figure", "set", "solver", "protocol"))
    return table.assign(protocol=[protocols.get(tuple(key), protocol) for *key, protocol in zip(*columns, strict=True)])


def _final_run(record: Any) -> Mapping[str, Any]:
    """Return a record; of a path, its final run with the chosen values, with the costs of the choice in its info."""
    last = record.cells[-1] if record.cells else {}
    if not last or (last["path"] or {}).get("cell", 0) is not None:
        return dict(record)
    taken = {
        "choice_seconds": record["fit_seconds"], "choice_cpu": record["cpu_seconds"], "cv_error": record["path"]["cv_error"],
    }  # fmt: skip
    worse = {} if record["status"] == harness.Status.OK else {"status": record["status"], "reason": record["reason"]}
    return {**last, **worse, "info": {**(last["info"] or {}), **taken}}


def _selection_of(record: Mapping[str, Any], solvers: Sequence[tuple[str, Any]]) -> str:
    """Return the selection a record belongs to; ``lasvm-nc[s=0]`` differs from ``lasvm-nc`` in the problem alone."""
    values = {**(record["problem_parameters"] or {}), **(record["kernel_parameters"] or {})}

    def fits(item: Any) -> Iterator[bool]:
        solver = getattr(item, "solver", None)
        yield solver is not None and getattr(solver, "label", solver) == record["label"]
        yield from (values.get(name) == value for name, value in getattr(item, "problem_values", {}).items())

    fitting = [(text, item) for text, item in solvers if all(fits(item))]
    if not fitting:
        return str(record["label"])
    return max(fitting, key=lambda pair: len(getattr(pair[1], "problem_values", {})))[0]


def _machine_line(environment: Mapping[str, Any]) -> str:
    return f"{environment['processor']}, {environment['cores']} cores, {environment['memory_bytes'] / 2**30:.0f} GB"
