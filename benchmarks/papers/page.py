"""The report of a study: tables between the markers of its page, and its pictures."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from benchmarks.papers.markdown import write
from benchmarks.papers.results import Published, Results
from benchmarks.peers.measure import read_rows

Sections = Callable[[Results], dict[str, str]]
Picture = Callable[[Results, Path], bool]
"""Draws to a path and returns whether there was anything to draw."""


def make(
    folder: Path,
    sections: Sections,
    pictures: Mapping[str, Picture],
    doc: str | None,
    arguments: Sequence[str] | None = None,
) -> None:
    """Write README.md and the pictures of what OUT/results.jsonl holds.

    folder : of the study: published.csv where the paper has numbers, and README.md with the prose and the markers of the tables
    """
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=folder, help="folder of results.jsonl and of what is written")
    out = parser.parse_args(arguments).out
    published = folder / "published.csv"
    known = Published.read(published) if published.exists() else Published({})
    results = Results(read_rows(out / "results.jsonl"), known)
    if not results.runs:
        parser.error(f"{out / 'results.jsonl'} holds no measurement; run {folder.name}/run.py --out {out} first.")
    page = out / "README.md"
    if not page.exists():
        page.write_text((folder / "README.md").read_text())
    write(page, sections(results))
    for name, draw in pictures.items():
        if not draw(results, out / f"{name}.png"):
            (out / f"{name}.png").unlink(missing_ok=True)  # nothing of it was measured
    print(f"{page} and its pictures are written.")
