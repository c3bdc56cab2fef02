"""reports/first_comparison: a tiny run, and what its picture draws of rows."""

from dataclasses import replace

import pytest

from reports.first_comparison.study import STUDY, Panel, Plan
from reports.kit import command, page
from reports.kit.journal import read_rows

TINY = Plan((Panel("twonorm", "twonorm[n=80,n_test=50]"),), hulls_mb=10.0)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.usefixtures("warm_sessions")
def test_a_tiny_comparison_and_its_page(tmp_path):
    tiny = replace(STUDY, plan=TINY)
    command.run(tiny, ["--out", str(tmp_path), "--store", str(tmp_path / "store.sqlite"), "--limit", "60"])
    runs = [each for each in read_rows(tmp_path / "results.jsonl") if "status" in each]
    assert [(each["solver"], each["formulation"], each["status"]) for each in runs] == [
        ("lasvm", "c-svc", "ok"),
        ("lasvm[epochs=2]", "c-svc", "ok"),
        ("libsvm", "c-svc", "ok"),
        ("fw", "l2-svc", "ok"),
    ]
    assert len(runs[0]["trace"]) > 1
    page.make(tiny, tmp_path)
    assert (tmp_path / "anytime.png").read_bytes().startswith(b"\x89PNG")
