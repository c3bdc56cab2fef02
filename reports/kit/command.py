"""The command of a study: measure the parts that are asked for, each run on disk before the next one starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from reports.kit.grids import read
from reports.kit.journal import Journal, Row, header
from reports.kit.running import Runner
from reports.kit.study import Study


def run(study: Study, arguments: Sequence[str] | None = None) -> Journal:
    """Measure what the command line asks for; return the journal.

    arguments : of the command line; None: the program's
    """
    parts = study.parts(study.plan)
    asked = read(arguments, parts, tuple(study.sets(study.plan)), study.folder, study.title)
    journal = Journal(asked.out / "results.jsonl", resume=True)
    journal.append({**header(), "parts": list(asked.parts)})
    runner = Runner(journal, plugins=study.plugins, store=asked.store, keep=asked.keep, fresh=asked.fresh)
    options = replace(asked.options, measured=journal.rows, plan=study.plan)
    for name in asked.parts:
        print(f"-- {name}", flush=True)
        rows: list[Row] = []
        for grid in parts[name](options):
            rows += runner.run(grid)
        together = study.finish.get(name)
        for row in together(rows, options) if together else ():
            journal.append(row)
            print(_told(row), flush=True)
    study.complete(journal)
    print(f"All of it is in {journal.path}; tables and plots: python -m reports page {study.name}")
    return journal


def _told(row: dict[str, Any]) -> str:
    error = "" if row.get("error") is None else f"  error {row['error']:.2f} %"
    return f"{row['set']:32} {row['solver']:44} seed {row['seed']} {row['cpu']:9.3f} CPU s{error}"
