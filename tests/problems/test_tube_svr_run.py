"""tube-svr from the command line: regression metrics, and an epsilon that no tube fits ends in one sentence."""

import json
import subprocess

import pytest

from tests.run.conftest import HARNESS


@pytest.mark.slow
def test_a_tube_too_narrow_is_invalid_and_says_what_to_do(tmp_path):
    command = [
        *HARNESS, "compare", "--plugins", "qp", "--datasets", "diabetes", "--formulation", "tube-svr",
        "--epsilon", "0.05,60", "--store", str(tmp_path / "store.sqlite"), "--format", "json",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    narrow, wide = json.loads(done.stdout)
    assert narrow["status"] == "invalid"
    assert "sigma = 0, so there is no regression function" in narrow["reason"]
    assert "take a larger epsilon" in narrow["reason"]
    assert done.returncode == 1
    assert wide["status"] == "ok"
    assert set(wide["metrics"]) == {"mse", "mae", "r2", "pearson"}
    assert 0.3 < wide["metrics"]["r2"] < 0.6  # least squares: 0.5
    assert wide["metrics"]["pearson"] > 0.5
