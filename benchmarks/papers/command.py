"""The command of a study: measure the parts that are asked for, each run on disk before the next one starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.papers.grids import Options, Part, read
from benchmarks.papers.running import Row, Runner
from benchmarks.peers.measure import Journal, header

Finish = Callable[[list[Row], Options], list[Row]]
"""Takes a part's rows, each with its record, and returns what they give together."""


def main(
    folder: Path,
    parts: Mapping[str, Part],
    sets: Sequence[str],
    doc: str | None,
    *,
    finish: Mapping[str, Finish] | None = None,
    arguments: Sequence[str] | None = None,
) -> Journal:
    """Measure what the command line asks for; return the journal.

    Parameters
    ----------
    folder : of the study, where results.jsonl goes unless ``--out`` says otherwise
    finish : part -> what its runs give together (the multiclass error of ten classifiers)
    arguments : None: the program's
    """
    asked = read(arguments, parts, sets, folder, doc)
    journal = Journal(asked.out / "results.jsonl", resume=True)
    journal.append({**header(), "parts": list(asked.parts)})
    runner = Runner(journal, store=asked.store, keep=asked.keep, fresh=asked.fresh)
    options = replace(asked.options, measured=journal.rows)
    for name in asked.parts:
        print(f"-- {name}", flush=True)
        rows: list[Row] = []
        for grid in parts[name](options):
            rows += runner.run(grid)
        together = (finish or {}).get(name)
        for row in together(rows, options) if together else ():
            journal.append(row)
            print(_told(row), flush=True)
    print(f"All of it is in {journal.path}; tables and plots: python {folder.parent.name}/{folder.name}/report.py")
    return journal


def _told(row: dict[str, Any]) -> str:
    return f"{row['set']:32} {row['solver']:44} seed {row['seed']} {row['cpu']:9.3f} CPU s  error {row['error']:.2f} %"
