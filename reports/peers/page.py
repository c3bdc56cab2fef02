"""The page, the pictures and the summary of what reports/peers/run.py measured: python reports/peers page [--out FOLDER]."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from reports.kit.journal import read_rows
from reports.kit.markdown import filled
from reports.kit.page import ROOT, Page
from reports.peers import plots, tables
from reports.peers.results import Results

FOLDER = ROOT / "peers"
PICTURES = {"ratios": plots.ratios, "quality": plots.quality, "scaling": plots.scaling}


def _remake(apart: bool) -> None:
    rows = read_rows(FOLDER / "results.jsonl")
    results = Results([{**row, "git_commit": row["label"]} if apart and "status" in row else row for row in rows])
    tables.sections(results)
    with tempfile.TemporaryDirectory() as folder:
        _draw(results, Path(folder))


def _draw(results: Results, out: Path) -> None:
    for name, draw in PICTURES.items():
        draw(results, out / f"{name}.png")


def _sections() -> dict[str, str]:
    return tables.sections(Results(read_rows(FOLDER / "results.jsonl")))


PAGE = Page(FOLDER, _sections, sources=lambda: {"summary.csv": (FOLDER / "summary.csv").read_text()}, remake=_remake)


def make(out: Path) -> None:
    """Write OUT/README.md, the pictures and summary.csv of OUT/results.jsonl; the prose is that of this folder."""
    results = Results(read_rows(out / "results.jsonl"))
    (out / "README.md").write_text(filled((FOLDER / "README.md").read_text(), tables.sections(results)))
    results.summary().to_csv(out / "summary.csv", index=False, float_format="%.6g")
    _draw(results, out)


def main() -> None:
    """Write the page of the folder that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=FOLDER)
    out = parser.parse_args().out
    if not any(row["part"] == "peers" for row in read_rows(out / "results.jsonl")):
        parser.error(f"{out / 'results.jsonl'} holds no measurement; run python reports/peers run --out {out} first.")
    make(out)
    print(f"{out / 'README.md'}, summary.csv and the pictures are written.")
