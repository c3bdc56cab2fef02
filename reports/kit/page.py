"""The report of a study: tables between the markers of its page, and its pictures."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from reports.kit.journal import read_rows
from reports.kit.markdown import write
from reports.kit.results import Published, Results
from reports.kit.study import Study


def make(study: Study, arguments: Sequence[str] | None = None) -> None:
    """Write README.md and the pictures of what OUT/results.jsonl holds; the prose between the markers stays."""
    parser = argparse.ArgumentParser(description=study.title)
    parser.add_argument("--out", type=Path, default=study.folder, help="folder of results.jsonl and of what is written")
    out = parser.parse_args(arguments).out
    published = study.folder / "published.csv"
    known = Published.read(published) if published.exists() else Published({})
    results = Results(read_rows(out / "results.jsonl"), known, study.plan)
    if not results.runs:
        parser.error(
            f"{out / 'results.jsonl'} holds no measurement; run python -m reports run {study.name} --out {out} first."
        )
    page = out / "README.md"
    if not page.exists():
        page.write_text((study.folder / "README.md").read_text())
    write(page, study.sections(results))
    for name, draw in study.pictures.items():
        if not draw(results, out / f"{name}.png"):
            (out / f"{name}.png").unlink(missing_ok=True)  # nothing of it was measured
    print(f"{page} and its pictures are written.")
