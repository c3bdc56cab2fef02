"""Verification of a bundle: each problem is stated again, and its model certified and scored by the certifier's code.

Solvers do not run. What depends on the machine (times, memory) or on the solver's way (kernel evaluations, iterations, the
trace and columns of a formulation that are made from it) is not verified. The solver, the seed and the limits of a row are
compared with its label, its code and its study, which are parts of the bundle themselves.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import numpy as np

from harness.datasets.dataset import DataSource, measured_sha256
from harness.datasets.fetching import is_address
from harness.datasets.files import FileSource
from harness.measure.outcome import DualBound, Limits, Status
from harness.registry.discovery import Registry
from harness.run import messages
from harness.run.bundle import Bundle
from harness.run.certifier import RunCertifier
from harness.run.channel import BrokenStream, decode
from harness.run.dual_bounds import DualBounds, certified_duals
from harness.run.problem_factory import ProblemFactory
from harness.run.record import CertifiedFigures, Claims, Record
from harness.solver.path import Grid
from harness.support import parameters, selection
from harness.support.arrays import Vector
from harness.support.decimals import UNKNOWN_ROUNDING
from harness.support.errors import UsageError
from harness.support.faults import format_error
from harness.support.files import sha256_of
from harness.support.machine import versions
from harness.support.printable import is_number

_COUNTS = ("support_vectors", "positive_support_vectors", "core_set_size")
_OBJECTIVES = ("primal", "dual", "gap")
_OF_THE_GAP = (
    "relative_gap", "suboptimality", "epsilon", "epsilon_plus", "epsilon_minus", "margin_lower", "margin_upper",
)  # fmt: skip
_VIOLATIONS = ("kkt_violation", "feasibility_violation")
_SCORES = ("train_accuracy", "test_accuracy", "validation_error")
_UNSTATED = UNKNOWN_ROUNDING  # of a figure, relative to max(1, |figure|), for which the certificate states none
_TIE = 1e-9  # part of the largest |f(x)| up to which the sign of f(x) may be rounding
_MOST_CELLS = 1_000_000  # cells of the grid of a path


class Outcome(StrEnum):
    """Result of the verification of a row."""

    AGREES = "agrees"
    DIFFERS = "differs"
    NOT_VERIFIABLE = "not verifiable"


@dataclass(frozen=True)
class VerifiedRow:
    """A row of a bundle that was verified.

    outcome : whether it agrees
    reasons : what differs, or why it cannot be verified, a part of a sentence each
    notes : differences of code and versions, which are no failure
    figures : number of figures that were compared
    unverified : what the figures rest on and the bundle does not show, a part of a sentence; empty: nothing
    """

    record: Record
    outcome: Outcome
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    figures: int = 0
    unverified: str = ""


class _Recertifier(RunCertifier):
    """The certifier, which counts the points whose sign of f(x) may be rounding."""

    ties = 0

    def _accuracy(self, targets: Vector, scores: Vector, points: str) -> float | None:
        self.ties += int(np.count_nonzero(np.abs(scores) <= _TIE * np.max(np.abs(scores), initial=0.0)))
        return super()._accuracy(targets, scores, points)


class Verifier:
    """Verifies the rows of a bundle with the plugins, versions and data of this machine.

    folder : where files of data are searched by their name; None: at the recorded path
    """

    def __init__(self, bundle: Bundle, registry: Registry, folder: Path | None = None) -> None:
        self.bundle, self.registry, self.folder = bundle, registry, folder
        self._factory = ProblemFactory(registry)
        self._data: tuple[str, str] = "", ""  # data key of the last data set, and its SHA-256
        self._bounds = DualBounds(registry)
        self._proven = set[str]()  # runs whose dual value was computed here, as a record names them
        releases = {plugin.distribution or name: plugin.version for name, plugin in registry.plugins.items()}
        self._versions = {name: version for name, version in {**releases, **versions()}.items() if version}

    def rows(self) -> Iterator[VerifiedRow]:
        """Yield the verified rows; those of one data set and kernel follow each other, those that use another's dual last.

        Raises
        ------
        UsageError : the bundle cannot be read, or has no rows.
        """
        records = list(self.bundle.records())
        if not records:
            raise UsageError(f"{self.bundle.path} has no runs.")
        order = sorted(records, key=lambda row: str([row.get("dataset"), row.get("kernel"), "best_dual" in row]))
        yield from map(self._row, order)

    def _row(self, record: Record) -> VerifiedRow:
        notes = tuple(self._notes(record)) if record.measured else ()
        try:
            count, differences, unverified = self._compared(record)
        except UsageError as error:
            reasons = (str(error).rstrip("."),)
        except Exception as error:  # a row may hold anything, and a plugin may raise anything
            reasons = (f"its problem could not be stated or certified: {format_error(error)}",)
        else:
            outcome = Outcome.DIFFERS if differences else Outcome.AGREES
            return VerifiedRow(record, outcome, tuple(differences), notes, count, unverified)
        return VerifiedRow(record, Outcome.NOT_VERIFIABLE, reasons, notes)

    def _notes(self, record: Record) -> Iterator[str]:
        """Yield in what the code or the versions of a row differ from those here."""
        for name, version in (record.get("versions") or {}).items():
            if (here := self._versions.get(name, version)) != version:  # a library that is not here is a solver's own
                yield f"{name} {here}, recorded {version}"
        for name, sha256 in record.fingerprints.items():
            if name not in self.registry.plugins:
                yield f"plugin '{name}' is not installed"
            elif (here := self.registry.plugins[name].fingerprint) != sha256:
                yield f"code of plugin '{name}' {here[:12]}, recorded {str(sha256)[:12]}"

    def _compared(self, record: Record) -> tuple[int, list[str], str]:
        """Return the number of compared figures, what differs, and what the bundle does not show."""
        path, sha256 = record.get("path") or {}, record.get("model_sha256")
        if not record.measured:
            raise UsageError(f"the run has no certified model (status {record.get('status')})")
        if path and "cell" not in path:
            raise UsageError("it is the summary of a path, whose cells are rows of their own")
        if not sha256:
            raise UsageError("no model was kept")
        spec, recorded = self._spec(record), str(record.get("data_sha256"))
        if (here := self._data_sha256(spec)) != recorded:
            return 0, [f"the data of '{spec.dataset}' differ: SHA-256 {here[:12]}, recorded {recorded[:12]}"], ""
        if (content := self.bundle.model(sha256)) is None:
            raise UsageError("its model is not in the bundle")
        differences = []
        if (actual := sha256_of(content)) != sha256:
            differences.append(f"the model has SHA-256 {actual[:12]}, recorded {sha256[:12]}")
        try:
            solved = decode(content, messages.ToCertify)
            value, of = record.get("best_dual"), str(record.get("best_dual_of"))
            bound = None if value is None else DualBound(value, of)  # of another run, which may be in no bundle
            run = _Recertifier(spec, self._factory.dataset(spec), self.registry, bound)
            figures = self._certified(run, spec, path.get("cell"), solved)
        except Exception as error:
            if isinstance(error, BrokenStream) or differences:
                return 0, [*differences, f"the model cannot be certified: {format_error(error)}"], ""
            raise
        parts = len(run.dataset.y_train), len(run.dataset.y_test)
        count, wrong = _differences(record, figures, run.ties / min(filter(None, parts)))
        if not count and not wrong:
            raise UsageError("the record has no figure that can be computed again")
        differences += [*wrong, *_contradictions(record, solved.seed), *self._beyond_study(record)]
        if bound is not None:
            wrong, unverified = self._dual_differences(record, bound)
            return count, [*differences, *wrong], unverified
        if not differences:
            self._keep_dual(record, figures)
        return count, differences, ""

    def _keep_dual(self, record: Record, figures: CertifiedFigures) -> None:
        """Keep the dual value of a row that agrees, for the rows of the same problem that use one."""
        # the value as it is, without what rounding may have added: that differs from machine to machine
        here = {**msgspec.structs.asdict(figures), "status": record["status"], "gap_rounding": 0.0}
        agreed, formulation = Record({**record, **here}), self.registry.formulations[record["formulation"]]
        self._bounds.note(agreed)
        if formulation.bounded_from:
            self._proven.update(dual.of for dual in certified_duals(agreed, formulation))

    def _dual_differences(self, record: Record, bound: DualBound) -> tuple[list[str], str]:
        """Return how the dual value that a row uses contradicts the rows of its problem, and whether none of them shows it.

        bound : the dual value that was recorded
        """
        formulation = self.registry.formulations[record["formulation"]]
        best, given = self._bounds.of(record), record.get("suboptimality")
        distance = None if best is None else best.suboptimality(formulation, record.get("primal"))
        if not is_number(given) or (distance is not None and given >= distance - _UNSTATED):
            return [], ""
        if best is not None and bound.of in self._proven:
            return [f"suboptimality {_numbers(distance, given)}, with the dual value of {best.of}"], ""
        return [], f"the dual value of {bound.of} is not verified"

    def _beyond_study(self, record: Record) -> Iterator[str]:
        """Yield which settings of a row the study that it was measured for does not have."""
        sha256 = str(record.get("study"))
        if (content := self.bundle.study(sha256)) is None:
            return
        if (actual := sha256_of(content)) != sha256:
            yield f"the study has SHA-256 {actual[:12]}, recorded {sha256[:12]}"
            return
        study = json.loads(content)
        solver = [record.get("plugin"), record.get("solver")]
        if solver not in [each[:2] for each in study["solvers"]]:
            yield f"solver {'/'.join(map(str, solver))}, which is not in its study"
        for name in (each.name for each in fields(Limits)):
            if record.get(name) != (limit := study.get("limits", {}).get(name)):
                yield f"{' '.join(name.split('_'))} {record.get(name)}, and {limit} in its study"

    def _certified(
        self, run: RunCertifier, spec: messages.RunSpec, cell: Any, solved: messages.ToCertify
    ) -> CertifiedFigures:
        """Return the figures of a model."""
        if spec.path is None:
            return run.single(self._factory.problem(spec), messages.ToCertify(solved.model, queried=solved.queried))
        finished = messages.FinishedCell(cell, Claims(), model=solved.model)
        return run.cells(self._factory.path(spec), [finished])[0]

    def _data_sha256(self, spec: messages.RunSpec) -> str:
        if self._data[0] != spec.data_key:
            self._data = spec.data_key, measured_sha256(self._factory.dataset(spec))
        return self._data[1]

    # -- what a record says of its problem -------------------------------------------------------------

    def _spec(self, record: Record) -> messages.RunSpec:
        """Return the run of a record.

        Raises
        ------
        UsageError : a plugin or the data are not here.
        """
        for kind, known in (("formulation", self.registry.formulations), ("kernel", self.registry.kernels)):
            if record.get(kind) not in known:
                raise UsageError(self._missing(record, f"the {kind} '{record.get(kind)}' is unknown here"))
        source, path = self._source(record), record.get("path") or {}
        grid = None
        if path.get("cell") is not None:
            costs, widths = ({name: tuple(of) for name, of in path[key].items()} for key in ("costs", "widths"))
            grid = Grid(costs, widths, path["folds"], path.get("start") == "cold")
            if not 0 < grid.size <= _MOST_CELLS:
                raise UsageError(f"its path has {grid.size:,} cells")
        metrics = tuple(name for name in record.get("metrics") or () if name in self.registry.metrics)
        source_name = self.registry.name_of("data set", type(source))
        return messages.RunSpec(
            plugin=str(record.get("plugin")), solver=str(record.get("solver")), parameters={},
            dataset=str(record.get("dataset")), source=source_name, source_parameters=parameters.values_of(source),
            formulation=record["formulation"], problem_parameters=record.get("problem_parameters") or {},
            kernel=record["kernel"], kernel_parameters=record.get("kernel_parameters") or {},
            seed=record.get("seed") or 0, limits=Limits(target_gap=record.get("target_gap")), metrics=metrics, path=grid,
        )  # fmt: skip

    def _missing(self, record: Record, what: str) -> str:
        """Return why something is not known: ``what``, and which plugins may bring it that the run used and that are not here.

        The plugin of the solver is not named: it may bring nothing else, and no solver is needed here.
        """
        absent = [name for name in record.fingerprints if name not in self.registry.plugins]
        if broken := [self.registry.broken[name].sentence for name in absent if name in self.registry.broken]:
            return f"{what}: {broken[0].rstrip('.')}"
        names = " or ".join(f"'{name}'" for name in absent if name != record.get("plugin"))
        known = f": plugin {names} is not installed" if names else ""
        return f"{what}{known}; --plugin-path FILE names the file of its plugin"

    def _source(self, record: Record) -> DataSource:
        """Return the data source of a record; a file is searched in the folder, by its name."""
        label = str(record.get("dataset"))
        name, values = selection.single(label)
        if self.registry.resolve("data set", name) in self.registry.datasets:
            item = selection.Item(name, {key: [text] for key, text in values.items()})
            return self.registry.select_datasets([item])[0]
        if not record.get("data_notes") and not selection.is_path(name):
            raise UsageError(self._missing(record, f"the data set '{name}' is unknown here"))
        files: dict[str, Any] = {"path": name} | {key: text for key, text in values.items() if key == "test"}
        located = {key: self._located(text) for key, text in files.items()}
        if absent := [files[key] for key, file in located.items() if file is None]:
            where = "--data FOLDER names the folder of its file" if self.folder is None else f"not in {self.folder}"
            raise UsageError(f"the data '{absent[0]}' are not here; {where}")
        given = parameters.validated(FileSource, {**values, **located}, owner=f"data file '{name}'")
        return FileSource(**given)

    def _located(self, path: str) -> str | None:
        """Return the path of a file here; None if there is none. An address of a bundle is not fetched."""
        name = Path(urlsplit(path).path if is_address(path) else path).name
        given = self.folder / name if self.folder is not None else Path(path).expanduser()
        return str(given) if name and selection.is_file(given) else None


# -- comparison ----------------------------------------------------------------------------------------------


def _differences(record: Record, certified: CertifiedFigures, ties: float) -> tuple[int, list[str]]:
    """Return the number of compared figures, and those that differ beyond rounding.

    ties : share of the points whose label may be rounding
    """
    here = msgspec.structs.asdict(certified)
    if certified.status is Status.INVALID:
        return 0, [f"the model is not valid: {certified.reason}"]
    rounding = _rounding(here) + min(_rounding(record), _UNSTATED)
    scale = abs(here["primal"] or 0.0)
    if here["relative_gap"] and here["gap"] is not None:
        scale = abs(here["gap"] / here["relative_gap"])
    tolerances = dict.fromkeys(_COUNTS, 0.0) | dict.fromkeys(_OBJECTIVES, rounding * scale)
    tolerances |= dict.fromkeys(_OF_THE_GAP, rounding) | dict.fromkeys(_SCORES, ties)
    compared = [(name, here[name], record.get(name), tolerances.get(name)) for name in (*tolerances, *_VIOLATIONS)]
    if not ties:
        metrics = record.get("metrics") or {}
        compared += [(name, (here["metrics"] or {}).get(name), value, None) for name, value in metrics.items()]
    wrong = [
        f"{' '.join(name.split('_'))} {_numbers(value, recorded)}"
        for name, value, recorded, tolerance in compared
        if recorded is not None and not _agree(value, recorded, tolerance)
    ]
    target, gap = record.get("target_gap"), here["relative_gap"]
    gap = here["suboptimality"] if gap is None else gap
    is_missed = certified.status is Status.MISSED and (gap is None or target is None or gap - target > rounding)
    if is_missed and record.status is not Status.MISSED:
        wrong.append(f"status missed ({certified.reason}), recorded {record.status}")
    is_met = certified.status is None and (gap is None or target is None or target - gap > rounding)
    if is_met and record.status is Status.MISSED:
        wrong.append(f"status missed, and {'it had no target' if target is None else 'the model meets its target'}")
    return sum(recorded is not None for _, _, recorded, _ in compared), wrong


def _contradictions(record: Record, seed: int | None) -> Iterator[str]:
    """Yield which fields of a row on its solver contradict each other, or the seed that was stored with the model."""
    if seed not in (None, record.get("seed")):
        yield f"seed {record.get('seed')}, and the model is of seed {seed}"
    plugin, solver, label = (str(record.get(name)) for name in ("plugin", "solver", "label"))
    sources, code = record.get("sources") or {}, record.get("code_sha256")
    if sources and code is not None and sources.get(plugin) != code:
        yield f"plugin '{plugin}' with code {code[:12]}, which is not among the code that the run used"
    name, _, rest = label.removeprefix(f"{plugin}/").partition("[")
    values = rest.removesuffix("]")
    for key, value in (record.get("parameters") or {}).items():
        pair = f"{key}={parameters.as_text(tuple(value) if isinstance(value, list) else value)}"
        if values == pair or values.startswith(f"{pair},"):
            values = values[len(pair) + 1 :]
    if record.get("label") and (name != solver or values):
        yield f"label '{label}', which is not that of solver '{solver}' with its parameters"


def _rounding(figures: Any) -> float:
    """Return the rounding of the relative gap that a certificate states, else the one that is assumed."""
    rounding = figures.get("gap_rounding")
    return _UNSTATED if rounding is None else abs(float(rounding))


def _agree(value: Any, recorded: Any, tolerance: float | None) -> bool:
    """Return whether a figure is the recorded one up to ``tolerance``; None: up to `_UNSTATED`."""
    if not is_number(value) or not is_number(recorded):
        return bool(value == recorded)
    size = max(abs(value), abs(recorded))
    allowed = _UNSTATED * max(1.0, size) if tolerance is None else tolerance + 1e-12 * size * (tolerance > 0.0)
    return math.isclose(value, recorded, rel_tol=0.0, abs_tol=allowed)


def _numbers(value: Any, recorded: Any) -> str:
    """Return both figures with as many digits as tell them apart."""
    texts = [f"{each:.6g}" if is_number(each) else str(each) for each in (value, recorded)]
    here, there = texts if texts[0] != texts[1] else (repr(value), repr(recorded))
    return f"{'unknown' if value is None else here}, recorded {there}"
