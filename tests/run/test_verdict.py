"""How the host words what it observed of a child: its output, and what was done to it from outside."""

import os

import pytest

from harness import Status
from harness.run.messages import FitResult
from harness.run.record import Claims
from harness.run.watch import Observed, outcome_claims
from tests.run.conftest import SPEC


@pytest.mark.parametrize(("status", "recorded"), [("ok", "ok"), ("error", "environment"), ("memory", "environment")])
def test_a_run_that_failed_after_something_was_done_to_it_from_outside_is_the_machines_fault(status, recorded):
    result = FitResult(Claims(status=Status(status), reason="no luck"))
    claims = outcome_claims(Observed(SPEC, result=result, disturbance="its process was stopped"))
    assert (claims.status, "no luck" in claims.reason) == (recorded, True)


def test_of_what_a_child_prints_the_end_is_recorded():
    observed, (out, into) = Observed(SPEC, result=FitResult(Claims(status=Status.OK))), os.pipe()
    for number in range(40):
        os.write(into, f"{number:02d}".encode() * 1000)
        observed.read_output(out)
    os.close(into)
    os.close(out)
    output = outcome_claims(observed).output
    assert output.endswith("3939")
    assert (observed.output_bytes, len(output) < 5_000) == (80_000, True)
