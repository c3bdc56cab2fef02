"""reports/side_by_side: what its tables make of rows, and a tiny run through the real sessions."""

from dataclasses import replace

import pytest

from reports.kit import command, page
from reports.kit.grids import PaperSet
from reports.kit.journal import read_rows
from reports.side_by_side.plan import EXACT, Entry, Plan
from reports.side_by_side.study import STUDY

SMALL = Plan(
    (PaperSet("a", "twonorm[n=60,n_test=80,seed={k}]"),),
    caps=(0.1,),
    entries=(Entry("today", EXACT), Entry("random sampling 2008", "optsoftmargin[D={cap}]", "reduced-hull")),
    repetitions=1,
)


@pytest.mark.slow
def test_a_tiny_run_and_its_page(tmp_path):
    study = replace(STUDY, plan=SMALL)
    command.run(study, ["--out", str(tmp_path), "--store", str(tmp_path / "store.sqlite")])
    runs = [each for each in read_rows(tmp_path / "results.jsonl") if "status" in each]
    assert {(each["solver"], each["formulation"], each["status"]) for each in runs} == {
        (EXACT, "c-svc", "ok"),
        ("optsoftmargin[D=0.1]", "reduced-hull", "ok"),
    }
    page.make(study, tmp_path)
    assert "| a | today | `smo-block` | c-svc |" in (tmp_path / "README.md").read_text()
    assert (tmp_path / "errors.png").read_bytes().startswith(b"\x89PNG")
